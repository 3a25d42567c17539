#include "passes/plan.h"

#include "passes/merge.h"
#include "passes/match.h"
#include "passes/pass.h"

#include <stdlib.h>

static const struct pass passes[] = {
    {"walk", "nodes in execution order, calls expanded, and what is known of each value", pass_walk},
    {"scope", "the module that each node says it belongs to", pass_scope},
    {"mm", "which nodes are matrix products, and their rhs shapes", pass_mm},
    {"modules", "the modules that the file tells of", pass_modules},
    {"linear", "modules, FQNs and Linears", pass_linear},
    {"order", "execution order where a tool lost it", pass_order},
    {"block", "blocks and their calls", pass_block},
    {"forced", "the rhs shapes that each block forces to recompute", pass_forced},
    {"linears", "Linears, as the plan tells of them", pass_linears},
    {"policy", "the alternation", pass_policy},
    {"summary", "counts", pass_summary},
    {"misses", "what was asked for and came to nothing", pass_misses},
    {"specialize", "copies of functions, one for each way they decide", pass_specialize},
    {"regions", "checkpoint regions and what crosses them", pass_regions},
    {"neighbours", "the nodes that are no mms, for --tag all", pass_neighbours},
};

static void state_free(struct state *s)
{
    walk_free(&s->walk);
    facts_free(&s->facts);
    modules_free(&s->modules);
    scopes_free(s);
    free(s->mms);
    free(s->named.a);
    free(s->region_of);
    arena_free(&s->arena);
}

static int copy_text(struct arena *a, struct str **list, uint32_t n)
{
    struct str *copy = arena_alloc(a, n ? n : 1, sizeof *copy);
    if (!copy)
        return IR_EMEM;
    for (uint32_t i = 0; i < n; i++) {
        copy[i].s = arena_strdup(a, (*list)[i].s, (*list)[i].n);
        copy[i].n = (*list)[i].n;
        if (!copy[i].s)
            return IR_EMEM;
    }
    *list = copy;
    return 0;
}

static int copy_options(struct plan *p, const struct policy_options *o)
{
    p->options = *o;
    int rc = copy_text(&p->arena, &p->options.fqns, o->n_fqns);
    if (!rc)
        rc = copy_text(&p->arena, &p->options.blocks, o->n_blocks);
    if (!rc)
        rc = copy_text(&p->arena, &p->options.mm_ops, o->n_mm_ops);
    struct mm_shape *force = arena_alloc(&p->arena, o->n_force ? o->n_force : 1, sizeof *force);
    if (rc || !force)
        return IR_EMEM;
    if (o->n_force)
        memcpy(force, o->force, o->n_force * sizeof *force);
    p->options.force = force;
    return 0;
}

/* `limit` is the one that was passed, 0 when there is really no memory; the model has one of its own. */
static int no_memory(const struct ir_model *m, size_t limit, struct diag *d)
{
    if (!limit && m->arena.over)
        limit = m->arena.limit;
    if (limit)
        return diag_error(d, IR_EINPUT, "deciding needs more memory than the limit of %zu bytes", limit);
    return diag_nomem(d);
}

int check_match_steps(const struct state *s)
{
    if (s->match_steps <= MATCH_STEPS_MAX)
        return 0;
    return diag_error(s->d, IR_EINPUT,
                      "comparing %u --fqn and %u --blocks with the names of the model takes too long",
                      s->o->n_fqns, s->o->n_blocks);
}

/* What is decided, and how. */
struct task {
    struct ir_model *m;
    const struct policy_options *o;
    bool all; /* the nodes that are no mms, too */
    struct diag *d;
};

/* One main graph. The plan is to be freed in each case. */
static int decide(struct plan *p, const struct task *t, uint32_t root)
{
    size_t limit = t->o->max_memory;
    *p = (struct plan){.blocks_how = "auto"};
    arena_init(&p->arena, limit);
    struct state s = {.m = t->m, .root = root, .plan = p, .all = t->all, .d = t->d};
    arena_init(&s.arena, limit);
    names_init(&s.scope_index);
    int rc = copy_options(p, t->o);
    s.o = &p->options;
    for (size_t i = 0; !rc && i < sizeof passes / sizeof *passes; i++) {
        rc = passes[i].run(&s);
        /* What is taken for not known may be so for want of memory: the next pass is not to decide by it. */
        if (!rc && (t->m->arena.failed || s.arena.failed || s.facts.no_memory || p->arena.failed))
            rc = IR_EMEM;
        if (!rc)
            rc = check_match_steps(&s);
    }
    if (rc == IR_EMEM)
        rc = no_memory(t->m, s.arena.over || p->arena.over ? limit : 0, t->d);
    state_free(&s);
    return rc;
}

/* All main graphs: the programs of an archive are decided one by one, and their plans are put together. */
static int decide_all(struct plan *p, const struct task *t)
{
    struct ir_model *m = t->m;
    m->arena.failed = false;
    int rc = decide(p, t, 0);
    for (uint32_t g = 1; !rc && g < m->n_graphs; g++) {
        struct plan q;
        if (m->graphs[g].kind != IR_GRAPH_MAIN)
            continue;
        rc = decide(&q, t, g);
        if (!rc && plan_merge(p, &q) != 0)
            rc = no_memory(m, p->arena.over ? t->o->max_memory : 0, t->d);
        plan_free(&q);
    }
    if (rc)
        plan_free(p);
    return rc;
}

int plan_make(struct plan *p, struct ir_model *m, const struct policy_options *o, struct diag *d)
{
    const struct task t = {m, o, false, d};
    int rc = decide_all(p, &t);
    if (rc)
        return rc;
    if (p->n_varies && p->clones.n_copies == 0)
        diag_warn(d, "%.*s: such a node cannot be tagged", STR_ARG(p->varies_why));
    return 0;
}

int plan_neighbours(struct plan *p, struct ir_model *m, struct diag *d)
{
    const struct task t = {m, &p->options, true, NULL}; /* what is to be said was said the first time */
    struct plan again;
    if (p->neighbours)
        return 0;
    int rc = decide_all(&again, &t);
    if (rc)
        return diag_error(d, rc, "memory exhausted while deciding");
    p->neighbours = again.neighbours;
    p->n_neighbours = again.n_neighbours;
    arena_adopt(&p->arena, &again.arena);
    plan_free(&again);
    return 0;
}

void plan_free(struct plan *p)
{
    arena_free(&p->arena);
    *p = (struct plan){.blocks_how = "auto"};
}
