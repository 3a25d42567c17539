/* Facts of shape arithmetic: operators whose small integer tensors are followed element by element, since
 * Reshape, Slice and their like read shapes from them. */
#include "passes/fact_node.h"

static int64_t int_op(struct str type, int64_t a, int64_t b)
{
    int64_t r;
    if (a == FACT_INT_UNKNOWN || b == FACT_INT_UNKNOWN)
        return FACT_INT_UNKNOWN;
    if (str_is(type, "Add"))
        return __builtin_add_overflow(a, b, &r) ? FACT_INT_UNKNOWN : r;
    if (str_is(type, "Sub"))
        return __builtin_sub_overflow(a, b, &r) ? FACT_INT_UNKNOWN : r;
    if (str_is(type, "Mul"))
        return __builtin_mul_overflow(a, b, &r) ? FACT_INT_UNKNOWN : r;
    if (str_is(type, "Div"))
        return b == 0 || b == -1 ? FACT_INT_UNKNOWN : a / b;
    if (str_is(type, "Min"))
        return a < b ? a : b;
    if (str_is(type, "Max"))
        return a > b ? a : b;
    return FACT_INT_UNKNOWN;
}

void op_arith(struct node_facts *k)
{
    op_broadcast(k);
    uint32_t na, nb;
    if (k->n_in != 2 || !facts_ints(k->f, k->in[0], &na) || !facts_ints(k->f, k->in[1], &nb) || !na || !nb)
        return;
    uint32_t n = na > nb ? na : nb, id;
    if ((na != n && na != 1) || (nb != n && nb != 1))
        return;
    int64_t *out = facts_ints_new(k->f, n, &id);
    if (!out)
        return;
    const int64_t *a = facts_ints(k->f, k->in[0], &na), *b = facts_ints(k->f, k->in[1], &nb);
    struct str type = ir_node_op(k->f->w->m, &k->f->w->m->nodes[k->s.node])->type;
    for (uint32_t i = 0; i < n; i++)
        out[i] = int_op(type, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
    k->out->ints = id;
}

static void concat_ints(struct node_facts *k, uint32_t n_in)
{
    uint32_t total = 0, n, id;
    for (uint32_t i = 0; i < n_in; i++) {
        struct fact x = facts_get(k->f, walk_input(k->f->w, k->s, i));
        const struct ir_shape *s = fact_shape(k->f, x);
        if (facts_ints(k->f, x, &n))
            total += n;
        else if (x.shape != IR_SHAPE_UNKNOWN && s->rank == 1 && s->dims[0] >= 0 && s->dims[0] <= INTS_MAX)
            total += (uint32_t)s->dims[0];
        else
            return;
        if (total > INTS_MAX)
            return;
    }
    int64_t *out = facts_ints_new(k->f, total, &id);
    if (!out)
        return;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n_in; i++) {
        struct fact x = facts_get(k->f, walk_input(k->f->w, k->s, i));
        const int64_t *v = facts_ints(k->f, x, &n);
        if (!v)
            n = (uint32_t)fact_shape(k->f, x)->dims[0];
        for (uint32_t j = 0; j < n; j++)
            out[at++] = v ? v[j] : FACT_INT_UNKNOWN;
    }
    k->out->ints = id;
}

void op_concat(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    uint32_t n_in = ir_node_n_in(&w->m->nodes[k->s.node]), rank = 0;
    int64_t dims[IR_RANK_MAX], axis = -1;
    for (uint32_t i = 0; i < n_in; i++) {
        const struct ir_shape *x = fact_shape(k->f, facts_get(k->f, walk_input(w, k->s, i)));
        bool is_known = facts_get(k->f, walk_input(w, k->s, i)).shape != IR_SHAPE_UNKNOWN;
        if (is_known && !rank) {
            rank = x->rank;
            axis = axis_in_rank(walk_attr_int(w, k->s, "axis", 1), rank);
            memcpy(dims, x->dims, rank * sizeof *dims);
            if (i > 0 && axis >= 0)
                dims[axis] = IR_DIM_UNKNOWN;
        } else if (axis >= 0 && rank) {
            bool add = is_known && x->rank == rank && x->dims[axis] >= 0 && dims[axis] >= 0;
            if (!add || __builtin_add_overflow(dims[axis], x->dims[axis], &dims[axis]))
                dims[axis] = IR_DIM_UNKNOWN;
        }
    }
    if (rank)
        node_set_shape(k, rank, dims);
    if (rank <= 1)
        concat_ints(k, n_in);
}

void op_shape(struct node_facts *k)
{
    k->out->grad = false;
    if (!node_known(k, 0))
        return;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    int64_t start = clamp_index(walk_attr_int(k->f->w, k->s, "start", 0), -(int64_t)x->rank, x->rank);
    int64_t end = clamp_index(walk_attr_int(k->f->w, k->s, "end", x->rank), -(int64_t)x->rank, x->rank);
    start += start < 0 ? x->rank : 0;
    end += end < 0 ? x->rank : 0;
    int64_t n = end > start ? end - start : 0;
    node_set_shape(k, 1, &n);
    uint32_t id;
    int64_t *out = facts_ints_new(k->f, (uint32_t)n, &id);
    for (int64_t i = 0; out && i < n; i++)
        out[i] = x->dims[start + i] < 0 ? FACT_INT_UNKNOWN : x->dims[start + i];
    k->out->ints = id;
}

/* The one value that ConstantOfShape fills its output with, where it is an integer. */
static int64_t fill_value(const struct node_facts *k)
{
    struct ir_attr a;
    if (walk_attr(k->f->w, k->s, "value", &a) != 1 || a.kind != IR_ATTR_TENSOR)
        return 0;
    return a.ints_known && a.n_ints == 1 ? a.ints[0] : FACT_INT_UNKNOWN;
}

static void fill_vector(struct node_facts *k)
{
    const struct ir_shape *x = fact_shape(k->f, *k->out);
    if (k->out->shape == IR_SHAPE_UNKNOWN || x->rank != 1 || x->dims[0] < 0 || x->dims[0] > INTS_MAX)
        return;
    uint32_t n = (uint32_t)x->dims[0], id;
    int64_t fill = fill_value(k), *out = facts_ints_new(k->f, n, &id);
    if (!out)
        return;
    for (uint32_t i = 0; i < n; i++)
        out[i] = fill;
    k->out->ints = id;
}

void op_constant_of_shape(struct node_facts *k)
{
    uint32_t n;
    const int64_t *v = facts_ints(k->f, k->in[0], &n);
    if (v && n <= IR_RANK_MAX) {
        int64_t dims[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            dims[i] = v[i] < 0 ? IR_DIM_UNKNOWN : v[i];
        node_set_shape(k, n, dims);
    } else if (node_known(k, 0) && node_shape(k, 0)->rank == 1 && node_shape(k, 0)->dims[0] >= 0 &&
               node_shape(k, 0)->dims[0] <= IR_RANK_MAX) {
        node_set_rank(k, (uint32_t)node_shape(k, 0)->dims[0]);
    }
    fill_vector(k);
}

/* An output that is these integers. */
static void set_ints(struct node_facts *k, const int64_t *ints, uint32_t n)
{
    uint32_t id;
    int64_t *out = facts_ints_new(k->f, n, &id);
    if (out)
        memcpy(out, ints, n * sizeof *out);
    k->out->ints = id;
}

void op_constant(struct node_facts *k)
{
    struct ir_attr a;
    const struct walk *w = k->f->w;
    if (walk_attr(w, k->s, "value", &a) == 1 && a.kind == IR_ATTR_TENSOR) {
        k->out->shape = a.shape;
        if (a.ints_known)
            set_ints(k, a.ints, a.n_ints);
    } else if (walk_attr(w, k->s, "value_int", &a) == 1 && a.kind == IR_ATTR_INT) {
        node_set_shape(k, 0, NULL);
        set_ints(k, &a.i, 1);
    } else if (walk_attr(w, k->s, "value_ints", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known) {
        int64_t n = a.n_ints;
        node_set_shape(k, 1, &n);
        set_ints(k, a.ints, a.n_ints);
    } else if (walk_attr(w, k->s, "value_float", &a) == 1) {
        node_set_shape(k, 0, NULL);
    } else if (walk_attr(w, k->s, "value_floats", &a) == 1) {
        node_set_rank(k, 1);
    }
}
