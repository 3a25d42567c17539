/* mm: which steps multiply matrices, the shape of their rhs, and what PyTorch runs for them.
 *
 * Needs walk, facts and scope. The literal rule (`onnx`) looks at the node alone; rule `torch` is
 * passes/lower.c's for ONNX and passes/aten.c's for a .pt2. Backward nodes are no mms. */
#include "passes/mm.h"

#include "passes/aten.h"
#include "passes/match.h"

#include <stdlib.h>

static const struct {
    const char *domain, *type;
    enum mm_kind kind;
} mm_ops[] = {
#define MM_OP(domain, type, kind) {domain, type, kind},
#include "passes/mm_ops.def"
#undef MM_OP
};

/* "Op" or "domain:Op". */
static bool op_named(const struct ir_op *op, struct str name)
{
    ptrdiff_t colon = str_rchr(name, ':');
    if (colon < 0)
        return op->domain.n == 0 && str_eq(op->type, name);
    return str_eq(op->domain, str_sub(name, 0, (size_t)colon)) &&
           str_eq(op->type, str_sub(name, (size_t)colon + 1, name.n - (size_t)colon - 1));
}

static enum mm_kind kind_of_op(const struct state *s, const struct ir_op *op)
{
    if (op->function != IR_NONE)
        return MM_KIND_NONE;
    if (str_is(op->domain, "torch"))
        return MM_KIND_ATEN;
    for (size_t i = 0; i < sizeof mm_ops / sizeof *mm_ops; i++)
        if (str_is(op->domain, mm_ops[i].domain) && str_is(op->type, mm_ops[i].type))
            return mm_ops[i].kind;
    for (uint32_t i = 0; i < s->o->n_mm_ops; i++)
        if (op_named(op, s->o->mm_ops[i]))
            return MM_KIND_EXTRA;
    return MM_KIND_NONE;
}

bool mm_op_named(struct str op)
{
    ptrdiff_t colon = str_rchr(op, ':');
    struct str domain = str_sub(op, 0, colon < 0 ? 0 : (size_t)colon);
    struct str type = str_sub(op, (size_t)(colon + 1), op.n - (size_t)(colon + 1));

    if (str_is(domain, "torch"))
        return true;
    for (size_t i = 0; i < sizeof mm_ops / sizeof *mm_ops; i++)
        if (str_is(domain, mm_ops[i].domain) && str_is(type, mm_ops[i].type))
            return mm_ops[i].kind != QUANTISED && mm_ops[i].kind != HIDDEN;
    return false;
}

/* "Op", or "domain:Op", in the scratch arena; NULL when memory is exhausted. */
static const char *op_text(struct state *s, const struct ir_op *op)
{
    return op->domain.n ? arena_printf(&s->arena, "%.*s:%.*s", STR_ARG(op->domain), STR_ARG(op->type))
                        : arena_strdup(&s->arena, op->type.s, op->type.n);
}

/* How far a name is from an op's, the right type in another domain being nearest. */
static uint32_t op_distance(struct str name, const struct ir_op *op, const char *text)
{
    ptrdiff_t colon = str_rchr(name, ':');
    struct str type = str_sub(name, (size_t)(colon + 1), name.n - (size_t)(colon + 1));
    return str_eq(type, op->type) ? 0 : name_distance(name, str_of(text));
}

/* A further op that no node has is a mistake more often than not. */
static int warn_missing(struct state *s, struct str name)
{
    const char *closest = NULL;
    uint32_t least = (uint32_t)name.n / 2 + 1;
    for (uint32_t i = 0; i < s->m->n_ops; i++) {
        if (op_named(&s->m->ops[i], name))
            return 0;
        const char *text = op_text(s, &s->m->ops[i]);
        if (!text)
            return IR_EMEM;
        uint32_t distance = op_distance(name, &s->m->ops[i], text);
        if (distance < least) {
            least = distance;
            closest = text;
        }
    }
    diag_warn(s->d, "no node has the operator '%.*s' that --mm-ops names%s%s%s", STR_ARG(name),
              closest ? " (did you mean '" : "", closest ? closest : "", closest ? "'?)" : "");
    return 0;
}

/* Of all programs at once: the operators are the model's. */
static int find_missing(struct state *s)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && s->root == 0 && i < s->o->n_mm_ops; i++)
        rc = warn_missing(s, s->o->mm_ops[i]);
    return rc;
}

/* Ops that multiply and give no mm: how many nodes have one, and the first's. */
struct tally {
    uint32_t n;
    struct str op;
};

static void count_op(struct tally *t, const struct ir_op *op)
{
    if (t->n++ == 0)
        t->op = op->type;
}

struct collector {
    struct state *s;
    uint8_t *kind_of;  /* enum mm_kind per op id */
    uint8_t *backward; /* of find_backward() */
    struct tally quantised, hidden;
};

static int classify_ops(struct collector *c)
{
    const struct ir_model *m = c->s->m;
    c->kind_of = arena_alloc(&c->s->arena, m->n_ops ? m->n_ops : 1, 1);
    if (!c->kind_of)
        return IR_EMEM;
    for (uint32_t i = 0; i < m->n_ops; i++)
        c->kind_of[i] = (uint8_t)kind_of_op(c->s, &m->ops[i]);
    return find_missing(c->s);
}

/* ---- the literal rule ---- */

static int64_t dim_at(const struct ir_shape *x, uint32_t from_end)
{
    return x->rank >= from_end ? x->dims[x->rank - from_end] : IR_DIM_UNKNOWN;
}

static void literal_shape(struct state *s, struct mm *mm, struct step st)
{
    struct fact rhs = facts_get(&s->facts, walk_input(&s->walk, st, 1));
    const struct ir_shape *x = fact_shape(&s->facts, rhs);
    bool tb = false;
    if (mm->kind == GEMM || mm->kind == FUSED)
        tb = walk_attr_int(&s->walk, st, "transB", 0) != 0;
    mm->unknown_rank = rhs.shape == IR_SHAPE_UNKNOWN && mm->kind != GEMM;
    mm->rhs = (struct mm_shape){dim_at(x, tb ? 1 : 2), dim_at(x, tb ? 2 : 1)};
    mm->literal = mm->kind == GEMM || (rhs.shape != IR_SHAPE_UNKNOWN && x->rank == 2);
    mm->transposed = tb;
}

/* ---- the pass ---- */

static int add_mm(struct state *s, uint32_t step, enum mm_kind kind, struct mm **out)
{
    if (arena_charge(&s->arena, sizeof *s->mms) != 0 ||
        grow(&s->mms, &s->cap_mms, (size_t)s->n_mms + 1, sizeof *s->mms) != 0)
        return IR_EMEM;
    struct mm *mm = &s->mms[s->n_mms++];
    *mm = (struct mm){.step = step, .kind = kind, .block = IR_NONE};
    mm->bias.value = mm->weight.value = mm->weight_name = IR_NONE;
    *out = mm;
    return 0;
}

static int add_aten(struct state *s, uint32_t step)
{
    struct aten_mm lowered[ATEN_MM_MAX];
    int n = aten_lower(s->m, walk_step(&s->walk, step).node, lowered);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++) {
        struct mm *mm;
        const struct aten_mm *a = &lowered[i];
        if (a->kind == ATEN_KIND_BMM && !a->matrix)
            continue;
        int rc = add_mm(s, step, MM_KIND_ATEN, &mm);
        if (rc)
            return rc;
        mm->aten = a->kind == ATEN_KIND_MM ? ATEN_MM : a->kind == ATEN_KIND_ADDMM ? ATEN_ADDMM : ATEN_OTHER;
        mm->aten_rhs = (struct mm_shape){a->k, a->n};
        mm->rhs = (struct mm_shape){a->literal_k, a->literal_n};
        mm->literal = a->matrix;
        mm->assumption = a->assumed ? "assumed-contiguous" : NULL;
        mm->transposed = a->transposed;
        if (a->weight != IR_NONE)
            mm->weight = (struct use){FRAME_MAIN, a->weight};
    }
    return 0;
}

static int collect_step(struct collector *c, uint32_t step, enum mm_kind kind)
{
    struct state *s = c->s;
    struct mm *mm;
    if (kind == QUANTISED || kind == HIDDEN) {
        count_op(kind == HIDDEN ? &c->hidden : &c->quantised, step_op(s, step));
        return 0;
    }
    if (kind == MM_KIND_ATEN)
        return add_aten(s, step);
    if (add_mm(s, step, kind, &mm) != 0)
        return IR_EMEM;
    literal_shape(s, mm, walk_step(&s->walk, step));
    if (kind == EINSUM)
        mm->literal = mm->unknown_rank = false;
    return 0;
}

static enum mm_kind kind_of_step(const struct collector *c, uint32_t step)
{
    return (enum mm_kind)c->kind_of[step_node(c->s, step)->op];
}

static int collect(struct collector *c)
{
    struct state *s = c->s;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++) {
        enum mm_kind kind = kind_of_step(c, i);
        if (i + NODES_AHEAD < s->walk.n_steps && kind_of_step(c, i + NODES_AHEAD) != MM_KIND_NONE)
            ir_node_prefetch(s->m, step_node(s, i + NODES_AHEAD));
        if (kind != MM_KIND_NONE && !(c->backward && c->backward[i]))
            rc = collect_step(c, i, kind);
    }
    return rc;
}

/* Who reads each product. */
static int count_uses(struct state *s)
{
    const struct walk *w = &s->walk;
    uint32_t *of = malloc((size_t)(w->n_slots ? w->n_slots : 1) * sizeof *of);
    if (!of)
        return IR_EMEM;
    memset(of, 0xff, (size_t)w->n_slots * sizeof *of);
    for (uint32_t i = 0; i < s->n_mms; i++) {
        struct use u = walk_output(w, walk_step(w, s->mms[i].step), 0);
        if (u.value != IR_NONE)
            of[walk_slot(w, u)] = i;
    }
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct ir_node *n = &s->m->nodes[walk_step(w, i).node];
        for (uint32_t j = 0; j < ir_node_n_in(n); j++) {
            struct use u = walk_resolve(w, walk_input(w, walk_step(w, i), j));
            uint32_t k = u.value == IR_NONE ? IR_NONE : of[walk_slot(w, u)];
            if (k != IR_NONE) {
                s->mms[k].uses++;
                s->mms[k].user = i;
            }
        }
    }
    free(of);
    return 0;
}

static void warn_unknown_ranks(const struct state *s)
{
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < s->n_mms; i++)
        if (s->mms[i].unknown_rank && n++ == 0)
            first = s->mms[i].step;
    if (n)
        diag_warn(
            s->d,
            "the rank of the right operand of %u %s (the first: '%.*s') cannot be known: not counted as mm",
            n, n == 1 ? "product" : "products", STR_ARG(node_name(s, first)));
}

/* Products that no row tells of. */
static void warn_left_out(const struct collector *c)
{
    const struct state *s = c->s;
    warn_unknown_ranks(s);
    if (c->quantised.n)
        diag_note(s->d, "%u quantised matmul%s (%.*s) have no gradient: not tagged", c->quantised.n,
                  c->quantised.n == 1 ? "" : "s", STR_ARG(c->quantised.op));
    if (c->hidden.n)
        warn_hidden(s->d, c->hidden.n, "the first of op ", c->hidden.op);
    if (s->m->format == IR_PT2 && s->root == 0) /* of all programs at once */
        aten_warn(s->m, s->d);
}

/* What PyTorch runs for each, and what is counted under the rule in force. */
static int apply_rule(struct state *s)
{
    bool torch = s->o->rule == MM_TORCH;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        if (i + NODES_AHEAD < s->n_mms)
            ir_node_prefetch(s->m, step_node(s, s->mms[i + NODES_AHEAD].step));
        if (mm->kind != MM_KIND_ATEN) {
            int rc = find_bias(s, mm);
            if (rc)
                return rc;
            lower_mm(s, mm);
        }
        mm->counted = torch ? mm->aten == ATEN_MM : mm->literal;
        if (!torch) /* it is of `aten` */
            mm->assumption = NULL;
    }
    return 0;
}

int pass_mm(struct state *s)
{
    struct collector c = {.s = s};
    int rc = classify_ops(&c);
    if (!rc)
        rc = find_backward(s, &c.backward);
    if (!rc)
        rc = collect(&c);
    if (!rc)
        rc = count_uses(s);
    if (!rc)
        rc = apply_rule(s);
    if (!rc)
        rc = find_folded(s);
    if (!rc && s->walk.flat && !s->all) /* shapes were asked for the last time: much, in a large graph */
        rc = facts_seal(&s->facts);
    if (!rc)
        warn_left_out(&c);
    return rc;
}
