/* Neighbours: the policy of every node of a region that is no mm, for --tag all (TAGS.md 4).
 *
 * Needs everything before it. In this order: what crosses a region's border is saved; random ops and TopK
 * are; of attention that was broken up, scores and softmax are recomputed and the product with V is saved;
 * then the save list decides; the rest is recomputed. What depends on no input (transposed weights,
 * constants) belongs to the region that alone uses it, wherever it stands. */
#include "passes/neighbours.h"

#include "passes/fact_node.h"
#include "passes/mm.h"

#include <stdlib.h>

enum list { ALWAYS, SEED, TITAN };
enum when { ANYWHERE, AFTER_GEMM };

static const struct save_op {
    enum list list;
    const char *domain, *type, *reason;
} save_ops[] = {
#define SAVE_OP(list, domain, type, reason) {list, domain, type, reason},
#include "passes/neighbour_ops.def"
};

static const struct {
    enum when when;
    const char *domain, *type;
} bare_ops[] = {
#define BARE_OP(when, domain, type) {when, domain, type},
#include "passes/neighbour_ops.def"
};

struct finder {
    struct state *s;
    uint8_t *is_mm;             /* per node: has a row */
    const struct save_op **row; /* per op id: its row under the list in force, or NULL */
    uint32_t *region_of;        /* the state's, in which place_fixed() moves steps */
    struct attention attention;
    struct plan_neighbour *out;
    size_t n, cap;
};

/* ---- the tables ---- */

/* The type of an aten operator without its overload. */
static struct str packet(const struct ir_op *op)
{
    return str_is(op->domain, "torch") ? ir_without_overload(op->type) : op->type;
}

bool op_is(const struct ir_op *op, const char *domain, const char *type)
{
    return str_is(op->domain, domain) && (str_is(op->type, type) || str_is(packet(op), type));
}

static const struct save_op *find_row(const struct ir_op *op, enum list list)
{
    for (size_t i = 0; i < sizeof save_ops / sizeof *save_ops; i++)
        if ((save_ops[i].list == ALWAYS || save_ops[i].list == list) &&
            op_is(op, save_ops[i].domain, save_ops[i].type))
            return &save_ops[i];
    return NULL;
}

static void look_up_ops(struct finder *f)
{
    const struct ir_model *m = f->s->m;
    for (uint32_t i = 0; i < m->n_ops; i++)
        f->row[i] = find_row(&m->ops[i], f->s->o->titan ? TITAN : SEED);
}

/* ---- conditions that no table says ---- */

/* Is a Dropout known to be off? Of ONNX's the third operand says so from opset 12 on, nothing before. */
static bool is_off(struct finder *f, struct step st, const struct ir_op *op)
{
    struct state *s = f->s;
    struct ir_attr a;
    if (str_is(op->domain, "torch"))
        return str_ends(packet(op), STR_LIT("dropout")) && walk_attr(&s->walk, st, "train", &a) == 1 &&
               a.kind == IR_ATTR_INT && a.i == 0;
    if (op->domain.n || !str_is(op->type, "Dropout") || ir_opset(s->m, "") < 12)
        return false;
    struct use u = walk_input(&s->walk, st, 2);
    uint32_t n = 0;
    const int64_t *v = u.value == IR_NONE ? NULL : facts_ints(&s->facts, facts_get(&s->facts, u), &n);
    return u.value == IR_NONE || (v && n == 1 && v[0] == 0);
}

/* aten.max takes the largest of all elements; ReduceMax does when no axes are given. */
static bool reduces_all(struct finder *f, struct step st)
{
    struct ir_attr a;
    return walk_input(&f->s->walk, st, 1).value == IR_NONE && walk_attr(&f->s->walk, st, "axes", &a) != 1 &&
           walk_attr_int(&f->s->walk, st, "noop_with_empty_axes", 0) == 0;
}

/* The op that makes an operand, and the step that it is; NULL when no node does. */
static const struct ir_op *maker(struct finder *f, struct step *st, uint32_t operand)
{
    const struct walk *w = &f->s->walk;
    *st = walk_def(w, walk_resolve(w, walk_input(w, *st, operand)));
    return st->node == IR_NONE ? NULL : ir_node_op(f->s->m, &f->s->m->nodes[st->node]);
}

/* Is the first operand a Gemm's, or the sum of a MatMul and something? */
static bool after_gemm(struct finder *f, struct step st)
{
    const struct ir_op *op = maker(f, &st, 0);
    if (!op || !op_is(op, "", "Add"))
        return op && op_is(op, "", "Gemm");
    for (uint32_t i = 0; i < 2; i++) {
        struct step term = st;
        op = maker(f, &term, i);
        if (op && op_is(op, "", "MatMul"))
            return true;
    }
    return false;
}

/* Would an attribute on it be misread? */
static bool is_bare(struct finder *f, uint32_t step)
{
    const struct ir_op *op = step_op(f->s, step);
    for (size_t i = 0; i < sizeof bare_ops / sizeof *bare_ops; i++)
        if (op_is(op, bare_ops[i].domain, bare_ops[i].type))
            return bare_ops[i].when == ANYWHERE || after_gemm(f, walk_step(&f->s->walk, step));
    return false;
}

/* The row that holds for a step, or NULL. */
static const struct save_op *row_of(struct finder *f, uint32_t step)
{
    struct step st = walk_step(&f->s->walk, step);
    const struct ir_op *op = step_op(f->s, step);
    const struct save_op *r = f->row[f->s->m->nodes[st.node].op];
    if (!r || (r->list == ALWAYS && is_off(f, st, op)))
        return NULL;
    return str_is(op->type, "ReduceMax") && !reduces_all(f, st) ? NULL : r;
}

/* ---- regions ---- */

static bool step_fixed(struct finder *f, uint32_t step)
{
    const struct walk *w = &f->s->walk;
    const struct ir_node *n = &f->s->m->nodes[walk_step(w, step).node];
    for (uint32_t i = 0; i < ir_node_n_out(n); i++) {
        struct use u = walk_output(w, walk_step(w, step), i);
        if (u.value != IR_NONE)
            return facts_fixed(&f->s->facts, u);
    }
    return false;
}

#define SEVERAL (IR_NONE - 1) /* in used_in: regions, or one and what is outside all */
#define NOWHERE (IR_NONE - 2) /* in used_in: nothing uses it */

static void add_use(uint32_t *used_in, uint32_t region)
{
    if (*used_in == NOWHERE)
        *used_in = region;
    else if (*used_in != region)
        *used_in = SEVERAL;
}

/* What is the same every time goes to the region that alone uses it; what more than one uses stays outside.
 * From the last step to the first, so that users are known. */
static int place_fixed(struct finder *f)
{
    struct state *s = f->s;
    const struct walk *w = &s->walk;
    size_t n = (size_t)w->n_slots + 1;
    uint32_t *used_in = malloc(n * sizeof *used_in);
    if (!used_in)
        return IR_EMEM;
    for (size_t i = 0; i < n; i++)
        used_in[i] = NOWHERE;
    const struct ir_graph *g = &s->m->graphs[s->root];
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct use u = walk_resolve(w, (struct use){FRAME_MAIN, g->outputs[i]});
        if (u.value != IR_NONE)
            used_in[walk_slot(w, u)] = SEVERAL;
    }
    for (uint32_t i = w->n_steps; i-- > 0;) {
        const struct ir_node *node = &s->m->nodes[walk_step(w, i).node];
        uint32_t in = NOWHERE;
        for (uint32_t j = 0; j < ir_node_n_out(node); j++) {
            struct use u = walk_output(w, walk_step(w, i), j);
            uint32_t used = u.value == IR_NONE ? NOWHERE : used_in[walk_slot(w, u)];
            if (used != NOWHERE)
                add_use(&in, used);
        }
        if (!f->is_mm[walk_step(w, i).node] && step_fixed(f, i))
            f->region_of[i] = in == NOWHERE ? f->region_of[i] : in == SEVERAL ? IR_NONE : in;
        for (uint32_t j = 0; j < ir_node_n_in(node); j++) {
            struct use u = walk_resolve(w, walk_input(w, walk_step(w, i), j));
            if (u.value != IR_NONE)
                add_use(&used_in[walk_slot(w, u)], f->region_of[i]);
        }
    }
    free(used_in);
    return 0;
}

/* ---- the result ---- */

static bool leaves(const struct finder *f, uint32_t step)
{
    const struct walk *w = &f->s->walk;
    for (uint32_t j = 0; j < ir_node_n_out(&f->s->m->nodes[walk_step(w, step).node]); j++) {
        struct use u = walk_output(w, walk_step(w, step), j);
        if (u.value != IR_NONE && f->s->leaves[walk_slot(w, u)])
            return true;
    }
    return false;
}

static void decide(struct finder *f, uint32_t step, struct plan_neighbour *n)
{
    const struct save_op *row = row_of(f, step);
    n->policy = POLICY_SAVE;
    if (leaves(f, step))
        n->reason = "boundary";
    else if (f->attention.with_v[step])
        n->reason = "attention";
    else if (row && (row->list == ALWAYS || !f->attention.scores[step]))
        n->reason = row->reason;
    else {
        n->policy = POLICY_RECOMPUTE;
        n->reason = f->attention.scores[step] ? "scores" : "rest";
    }
}

static int add_neighbour(struct finder *f, uint32_t step)
{
    const struct plan_region *r = &f->s->plan->regions[f->region_of[step]];
    if (grow(&f->out, &f->cap, f->n + 1, sizeof *f->out) != 0)
        return IR_EMEM;
    struct plan_neighbour *n = &f->out[f->n++];
    *n = (struct plan_neighbour){.node = walk_step(&f->s->walk, step).node,
                                 .block = r->block,
                                 .call = r->call,
                                 .bare = is_bare(f, step)};
    decide(f, step, n);
    return 0;
}

static int by_node(const void *x, const void *y)
{
    const struct plan_neighbour *a = x, *b = y;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->policy > b->policy) - (a->policy < b->policy);
}

/* One for each node. Runs that decide differently (a value leaves its region in one call only): what is saved
 * is right for all. */
static int publish(struct finder *f)
{
    struct plan *p = f->s->plan;
    if (f->n)
        qsort(f->out, f->n, sizeof *f->out, by_node);
    p->neighbours = arena_alloc(&p->arena, f->n ? f->n : 1, sizeof *p->neighbours);
    if (!p->neighbours)
        return IR_EMEM;
    for (size_t i = 0; i < f->n; i++) {
        struct plan_neighbour *last = p->n_neighbours ? &p->neighbours[p->n_neighbours - 1] : NULL;
        if (last && last->node == f->out[i].node) {
            last->shared = true;
            last->bare |= f->out[i].bare;
        } else {
            p->neighbours[p->n_neighbours++] = f->out[i];
        }
    }
    return 0;
}

static int find_all(struct finder *f)
{
    struct state *s = f->s;
    uint8_t *backward;
    int rc = find_backward(s, &backward);
    if (!rc)
        rc = place_fixed(f);
    if (!rc)
        rc = find_attention(&f->attention, s, f->is_mm);
    look_up_ops(f);
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++)
        if (f->region_of[i] != IR_NONE && !f->is_mm[walk_step(&s->walk, i).node] &&
            !(backward && backward[i]))
            rc = add_neighbour(f, i);
    return rc ? rc : publish(f);
}

int pass_neighbours(struct state *s)
{
    if (!s->all)
        return 0;
    struct finder f = {.s = s,
                       .is_mm = arena_alloc(&s->arena, (size_t)s->m->n_nodes + 1, 1),
                       .row = arena_alloc(&s->arena, (size_t)s->m->n_ops + 1, sizeof *f.row),
                       .region_of = s->region_of};
    if (!f.is_mm || !f.row)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->plan->n_rows; i++)
        f.is_mm[s->plan->rows[i].node] = 1;
    int rc = find_all(&f);
    free(f.out);
    return rc;
}
