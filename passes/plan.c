#include "passes/plan.h"

#include "passes/fqn.h"
#include "passes/linear.h"
#include "passes/merge.h"
#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>

/* The first component of a dotted name. */
static struct str top_of(struct str fqn)
{
    ptrdiff_t dot = str_chr(fqn, '.');
    return dot < 0 ? fqn : str_sub(fqn, 0, (size_t)dot);
}

static bool static_shape(const struct ir_model *m, uint32_t value)
{
    const struct ir_shape *x = ir_shape_of(m, value);
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] < 0)
            return false;
    return x->rank > 0;
}

/* Is a graph input a parameter by its name? `tops`: the top modules of those that are for sure; on the second
 * pass all are known. */
static int input_is_param(struct state *s, uint32_t value, bool second, struct names *tops)
{
    enum param_kind kind;
    struct str fqn;
    int rc = param_name(s, ir_value_name(s->m, value), &kind, &fqn);
    bool sure = kind == PARAM_WEIGHT || kind == PARAM_BIAS || kind == PARAM_KERNEL;
    if (rc || kind == PARAM_NO_NAME || !static_shape(s->m, value))
        return rc;
    if (sure && names_intern(tops, top_of(fqn)) == NAME_NONE)
        return IR_EMEM;
    bits_add(s->is_param, value, sure || (second && names_find(tops, top_of(fqn)) != NAME_NONE));
    return 0;
}

/* Parameters, and graph inputs that are parameters by their names (a model exported with its weights as
 * inputs): FQN.weight and FQN.bias are; another dotted name only beside such ones, under the same top module,
 * and of static shape (past_key_values.0.key is an activation). */
static int find_params(struct state *s)
{
    const struct ir_model *m = s->m;
    const struct ir_graph *root = &m->graphs[s->root];
    struct names tops;
    names_init(&tops);
    s->is_param = arena_alloc(&s->arena, bits_size(m->n_values), 1);
    int rc = s->is_param ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < m->n_params; i++) {
        const struct ir_value *v = &m->values[m->params[i].value];
        bits_add(s->is_param, m->params[i].value, v->kind == IR_VALUE_PARAM && s->in_program[v->graph]);
    }
    for (int pass = 0; !rc && pass < 2; pass++)
        for (uint32_t i = 0; !rc && i < root->n_inputs; i++)
            if (m->values[root->inputs[i]].kind == IR_VALUE_INPUT)
                rc = input_is_param(s, root->inputs[i], pass == 1, &tops);
    names_free(&tops);
    return rc;
}

/* Bodies belong to the main graph that they lie in; functions to all. A parent's graph comes before its
 * bodies. */
static int find_program(struct state *s)
{
    const struct ir_model *m = s->m;
    s->in_program = arena_alloc(&s->arena, m->n_graphs, sizeof *s->in_program);
    for (uint32_t g = 0; s->in_program && g < m->n_graphs; g++) {
        const struct ir_graph *x = &m->graphs[g];
        s->in_program[g] = x->kind == IR_GRAPH_FUNCTION || g == s->root ||
                           (x->kind == IR_GRAPH_BODY && s->in_program[x->parent]);
    }
    return s->in_program ? 0 : IR_EMEM;
}

int pass_walk(struct state *s)
{
    const struct walk_limits limits = {s->o->max_steps, s->o->max_depth, &s->arena};
    int rc = find_program(s);
    if (!rc)
        rc = walk_build_from(&s->walk, s->m, s->root, &limits, s->d);
    if (!rc && !s->walk.sorted)
        diag_note(s->d, "the nodes are not in topological order: ordered, stably");
    if (!rc)
        rc = find_params(s);
    return rc ? rc : facts_build(&s->facts, &s->walk, s->is_param, s->d);
}

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

/* One main graph. The plan is to be freed in each case. */
static int decide(struct plan *p, struct ir_model *m, uint32_t root, const struct policy_options *o, bool all,
                  struct diag *d)
{
    *p = (struct plan){.blocks_how = "auto"};
    arena_init(&p->arena, o->max_memory);
    struct state s = {.m = m, .root = root, .plan = p, .all = all, .d = d};
    arena_init(&s.arena, o->max_memory);
    names_init(&s.scope_index);
    int rc = copy_options(p, o);
    s.o = &p->options;
    for (size_t i = 0; !rc && i < sizeof passes / sizeof *passes; i++) {
        rc = passes[i].run(&s);
        /* What is taken for not known may be so for want of memory: the next pass is not to decide by it. */
        if (!rc && (m->arena.failed || s.arena.failed || s.facts.no_memory || p->arena.failed))
            rc = IR_EMEM;
    }
    if (rc == IR_EMEM)
        rc = no_memory(m, s.arena.over || p->arena.over ? o->max_memory : 0, d);
    state_free(&s);
    return rc;
}

/* All main graphs. */
static int decide_all(struct plan *p, struct ir_model *m, const struct policy_options *o, bool all,
                      struct diag *d)
{
    m->arena.failed = false;
    int rc = decide(p, m, 0, o, all, d);
    for (uint32_t g = 1; !rc && g < m->n_graphs; g++) { /* further programs of one archive */
        struct plan q;
        if (m->graphs[g].kind != IR_GRAPH_MAIN)
            continue;
        rc = decide(&q, m, g, o, all, d);
        if (!rc && plan_merge(p, &q) != 0)
            rc = no_memory(m, p->arena.over ? o->max_memory : 0, d);
        plan_free(&q);
    }
    if (rc)
        plan_free(p);
    return rc;
}

int plan_make(struct plan *p, struct ir_model *m, const struct policy_options *o, struct diag *d)
{
    int rc = decide_all(p, m, o, false, d);
    if (rc)
        return rc;
    if (p->n_varies && p->clones.n_copies == 0)
        diag_warn(d, "%.*s: such a node cannot be tagged", STR_ARG(p->varies_why));
    return 0;
}

int plan_neighbours(struct plan *p, struct ir_model *m, struct diag *d)
{
    struct plan again;
    if (p->neighbours)
        return 0;
    int rc = decide_all(&again, m, &p->options, true, NULL); /* what is to be said was said the first time */
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

/* ---- annotations ---- */

/* What is written on one node; both the plan's rows and its neighbours come down to it. */
struct mark {
    uint32_t node, block, call;
    enum policy policy;
    struct str reason;
    bool shared; /* the node runs more than once: region and reason of one run would mislead */
};

static int by_node(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return a->node == b->node ? 0 : a->node < b->node ? -1 : 1;
}

static struct str policy_text(enum policy p)
{
    return p == POLICY_SAVE ? STR_LIT("save") : STR_LIT("recompute");
}

static int region_text(struct plan *p, const struct mark *k, struct str *out)
{
    struct str fqn = p->blocks[k->block].fqn;
    bool plain = str_is_utf8(fqn) && str_chr(fqn, '\0') < 0; /* what a carrier cannot hold is escaped, once */
    size_t n = plain ? fqn.n : str_escape(NULL, 0, fqn);
    char *text = arena_alloc(&p->arena, n + 16, 1);
    if (!text)
        return IR_EMEM;
    if (plain)
        memcpy(text, fqn.s, n);
    else
        str_escape(text, n + 1, fqn);
    n += (size_t)snprintf(text + n, 16, "#%u", k->call);
    *out = (struct str){text, n};
    return 0;
}

/* One node's annotations. */
static void annotate(const struct mark *k, struct str region, enum carrier c, struct annot *a, size_t *n)
{
    switch (c) {
    case CARRIER_ATTRIBUTE:
        a[(*n)++] =
            (struct annot){k->node, ANNOT_ATTR_STR, STR_LIT("__sac_policy"), policy_text(k->policy), 0};
        if (!k->shared)
            a[(*n)++] = (struct annot){k->node, ANNOT_ATTR_STR, STR_LIT("__sac_region"), region, 0};
        break;
    case CARRIER_POPART:
        a[(*n)++] = (struct annot){k->node,
                                   ANNOT_ATTR_INT,
                                   STR_LIT("__recompute_output_in_backward_pass"),
                                   {0},
                                   k->policy == POLICY_SAVE ? 1 : 2};
        break;
    case CARRIER_METADATA:
    default:
        a[(*n)++] = (struct annot){k->node, ANNOT_META, STR_LIT("sac.policy"), policy_text(k->policy), 0};
        if (!k->shared) {
            a[(*n)++] = (struct annot){k->node, ANNOT_META, STR_LIT("sac.reason"), k->reason, 0};
            a[(*n)++] = (struct annot){k->node, ANNOT_META, STR_LIT("sac.region"), region, 0};
        }
        break;
    }
}

/* Rows stand in execution order, which most often is the nodes'. */
static void sort_marks(struct mark *marks, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (marks[i].node < marks[i - 1].node) {
            qsort(marks, n, sizeof *marks, by_node);
            return;
        }
}

/* All that is to be written, by node, each node once. */
static uint32_t collect_marks(struct mark *marks, const struct plan *p, bool all, enum carrier c)
{
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const struct plan_row *r = &p->rows[i];
        if (r->policy != POLICY_NONE)
            marks[n++] = (struct mark){r->node, r->block, r->call, r->policy, r->reason, false};
    }
    for (uint32_t i = 0; all && i < p->n_neighbours; i++) {
        const struct plan_neighbour *r = &p->neighbours[i];
        if (!r->bare || c == CARRIER_METADATA)
            marks[n++] = (struct mark){r->node, r->block, r->call, r->policy, str_of(r->reason), r->shared};
    }
    sort_marks(marks, n);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && marks[kept - 1].node == marks[i].node)
            marks[kept - 1].shared = true;
        else
            marks[kept++] = marks[i];
    }
    return kept;
}

/* Nodes of one region stand together, so its name is made once and not for each. */
static int annotate_all(struct plan *p, const struct mark *marks, uint32_t n_marks, enum carrier c,
                        struct annot *a, size_t *n)
{
    struct str region = {0};
    const struct mark *named = NULL;
    for (uint32_t i = 0; i < n_marks; i++) {
        const struct mark *k = &marks[i];
        bool wanted = !k->shared && c != CARRIER_POPART;
        if (wanted && (!named || named->block != k->block || named->call != k->call)) {
            int rc = region_text(p, k, &region);
            if (rc)
                return rc;
            named = k;
        }
        annotate(k, region, c, a, n);
    }
    return 0;
}

int plan_annotate(struct annots *out, struct plan *p, bool all, enum carrier carrier, struct diag *d)
{
    *out = (struct annots){0};
    if (p->n_varies)
        return diag_error(d, IR_EPOLICY, "%.*s: one node cannot carry both%s", STR_ARG(p->varies_why),
                          p->varies_by_call ? " (--specialize makes a copy of the function for each)" : "");
    size_t most = (size_t)p->n_rows + p->n_neighbours;
    struct mark *marks = malloc((most ? most : 1) * sizeof *marks);
    struct annot *a = arena_alloc(&p->arena, most * 3 + 1, sizeof *a);
    size_t n = 0;
    int rc = marks && a ? 0 : IR_EMEM;
    if (!rc)
        rc = annotate_all(p, marks, collect_marks(marks, p, all, carrier), carrier, a, &n);
    free(marks);
    if (rc && p->arena.over)
        return diag_error(d, IR_EINPUT, "tagging needs more memory than the limit of %zu bytes",
                          p->arena.limit);
    if (rc)
        return diag_error(d, rc, "out of memory");
    *out = (struct annots){a, n};
    return 0;
}
