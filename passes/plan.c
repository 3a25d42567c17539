#include "passes/plan.h"

#include "passes/fqn.h"
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

/* Parameters, and graph inputs that are parameters by their names (a model exported with its weights as
 * inputs): FQN.weight and FQN.bias are; another dotted name only beside such ones, under the same top module,
 * and of static shape (past_key_values.0.key is an activation). */
static int find_params(struct state *s)
{
    struct ir_model *m = s->m;
    struct names tops;
    names_init(&tops);
    s->is_param = arena_alloc(&s->arena, m->n_values ? m->n_values : 1, 1);
    int rc = s->is_param ? 0 : IR_EMEM;
    for (uint32_t pass = 0; !rc && pass < 2; pass++)
        for (uint32_t v = 0; !rc && v < m->n_values; v++) {
            const struct ir_value *x = &m->values[v];
            enum param_kind kind = PARAM_NO_NAME;
            struct str fqn = {0};
            if (!s->in_program[x->graph])
                continue;
            if (x->kind == IR_VALUE_PARAM)
                s->is_param[v] = 1;
            if (s->is_param[v] || x->kind != IR_VALUE_INPUT || x->graph != s->root)
                continue;
            rc = fqn_of_param(&kind, &fqn, ir_value_name(m, v), &s->arena);
            bool sure = kind == PARAM_WEIGHT || kind == PARAM_BIAS || kind == PARAM_KERNEL;
            if (rc || kind == PARAM_NO_NAME || !static_shape(m, v))
                continue;
            if (sure)
                rc = names_intern(&tops, top_of(fqn)) == NAME_NONE ? IR_EMEM : 0;
            s->is_param[v] = sure || (pass == 1 && names_find(&tops, top_of(fqn)) != NAME_NONE);
        }
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
                           (x->kind == IR_GRAPH_BODY && s->in_program[m->nodes[x->parent_node].graph]);
    }
    return s->in_program ? 0 : IR_EMEM;
}

int pass_walk(struct state *s)
{
    int rc = find_program(s);
    if (!rc)
        rc = walk_build_from(&s->walk, s->m, s->root, s->o->max_steps, s->d);
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
    {"policy", "the alternation", pass_policy},
    {"summary", "Linears and counts", pass_summary},
    {"specialize", "copies of functions, one for each way they decide", pass_specialize},
    {"regions", "checkpoint regions and what crosses them", pass_regions},
};

static void state_free(struct state *s)
{
    walk_free(&s->walk);
    facts_free(&s->facts);
    modules_free(&s->modules);
    names_free(&s->scope_index);
    free(s->scopes);
    free(s->mms);
    free(s->named);
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

/* One main graph. The plan is to be freed in each case. */
static int decide(struct plan *p, struct ir_model *m, uint32_t root, const struct policy_options *o,
                  struct diag *d)
{
    *p = (struct plan){.blocks_how = "auto"};
    arena_init(&p->arena, 0);
    struct state s = {.m = m, .root = root, .plan = p, .d = d};
    arena_init(&s.arena, 0);
    names_init(&s.scope_index);
    int rc = copy_options(p, o);
    s.o = &p->options;
    for (size_t i = 0; !rc && i < sizeof passes / sizeof *passes; i++)
        rc = passes[i].run(&s);
    state_free(&s);
    return rc;
}

int plan_make(struct plan *p, struct ir_model *m, const struct policy_options *o, struct diag *d)
{
    int rc = decide(p, m, 0, o, d);
    for (uint32_t g = 1; !rc && g < m->n_graphs; g++) { /* further programs of one archive */
        struct plan q;
        if (m->graphs[g].kind != IR_GRAPH_MAIN)
            continue;
        rc = decide(&q, m, g, o, d);
        if (!rc)
            rc = plan_merge(p, &q);
        plan_free(&q);
    }
    if (rc == IR_EMEM)
        diag_error(d, IR_EMEM, "memory exhausted while deciding");
    if (rc) {
        plan_free(p);
        return rc;
    }
    if (p->n_varies && p->clones.n_copies == 0)
        diag_warn(d, "%.*s: such a node cannot be tagged", STR_ARG(p->varies_why));
    return 0;
}

void plan_free(struct plan *p)
{
    arena_free(&p->arena);
    *p = (struct plan){.blocks_how = "auto"};
}

/* ---- annotations ---- */

static int by_node(const void *x, const void *y)
{
    const struct plan_row *const *a = x, *const *b = y;
    if ((*a)->node != (*b)->node)
        return (*a)->node < (*b)->node ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static struct str policy_text(enum policy p)
{
    return p == POLICY_SAVE ? STR_LIT("save") : STR_LIT("recompute");
}

static int region_text(struct plan *p, const struct plan_row *r, struct str *out)
{
    struct str fqn = p->blocks[r->block].fqn;
    bool plain = str_is_utf8(fqn) && str_chr(fqn, '\0') < 0; /* what a carrier cannot hold is escaped, once */
    size_t n = plain ? fqn.n : str_escape(NULL, 0, fqn);
    char *text = arena_alloc(&p->arena, n + 16, 1);
    if (!text)
        return IR_EMEM;
    if (plain)
        memcpy(text, fqn.s, n);
    else
        str_escape(text, n + 1, fqn);
    n += (size_t)snprintf(text + n, 16, "#%u", r->call);
    *out = (struct str){text, n};
    return 0;
}

/* One node's annotations; `shared`: the node runs more than once, so region and reason of one run would
 * mislead. */
static int annotate(struct plan *p, const struct plan_row *r, bool shared, enum carrier c, struct annot *a,
                    size_t *n)
{
    struct str region = {0};
    int rc = shared || c == CARRIER_POPART ? 0 : region_text(p, r, &region);
    if (rc)
        return rc;
    switch (c) {
    case CARRIER_ATTRIBUTE:
        a[(*n)++] =
            (struct annot){r->node, ANNOT_ATTR_STR, STR_LIT("__sac_policy"), policy_text(r->policy), 0};
        if (!shared)
            a[(*n)++] = (struct annot){r->node, ANNOT_ATTR_STR, STR_LIT("__sac_region"), region, 0};
        break;
    case CARRIER_POPART:
        a[(*n)++] = (struct annot){r->node,
                                   ANNOT_ATTR_INT,
                                   STR_LIT("__recompute_output_in_backward_pass"),
                                   {0},
                                   r->policy == POLICY_SAVE ? 1 : 2};
        break;
    case CARRIER_METADATA:
    default:
        a[(*n)++] = (struct annot){r->node, ANNOT_META, STR_LIT("sac.policy"), policy_text(r->policy), 0};
        if (!shared) {
            a[(*n)++] = (struct annot){r->node, ANNOT_META, STR_LIT("sac.reason"), r->reason, 0};
            a[(*n)++] = (struct annot){r->node, ANNOT_META, STR_LIT("sac.region"), region, 0};
        }
        break;
    }
    return 0;
}

int plan_annotate(struct annots *out, struct plan *p, const struct ir_model *m, enum carrier carrier,
                  struct diag *d)
{
    (void)m;
    *out = (struct annots){0};
    if (p->n_varies)
        return diag_error(d, IR_EPOLICY, "%.*s: one node cannot carry both", STR_ARG(p->varies_why));
    const struct plan_row **rows = malloc((size_t)(p->n_rows ? p->n_rows : 1) * sizeof *rows);
    struct annot *a = arena_alloc(&p->arena, (size_t)p->n_rows * 3 + 1, sizeof *a);
    size_t n = 0;
    uint32_t n_rows = 0;
    int rc = rows && a ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < p->n_rows; i++)
        if (p->rows[i].policy != POLICY_NONE)
            rows[n_rows++] = &p->rows[i];
    if (!rc)
        qsort(rows, n_rows, sizeof *rows, by_node);
    for (uint32_t i = 0; !rc && i < n_rows; i++) {
        bool again = i > 0 && rows[i - 1]->node == rows[i]->node;
        bool shared = i + 1 < n_rows && rows[i + 1]->node == rows[i]->node;
        if (!again)
            rc = annotate(p, rows[i], shared, carrier, a, &n);
    }
    free(rows);
    if (rc)
        return diag_error(d, rc, "memory exhausted while tagging");
    *out = (struct annots){a, n};
    return 0;
}
