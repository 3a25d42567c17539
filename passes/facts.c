#include "passes/facts.h"

#include <stdlib.h>

/* Longer integer tensors are no shapes. */
#define INTS_MAX IR_INTS_MAX

struct node_facts {
    struct facts *f;
    struct step s;
    struct fact *out; /* of output 0 */
    struct fact in[3];
    uint32_t n_in;
};

/* ---- small integers ---- */

static int64_t *ints_new(struct facts *f, uint32_t n, uint32_t *id)
{
    *id = 0;
    if (n > INTS_MAX || f->n_ints + n + 1 >= UINT32_MAX)
        return NULL;
    if (grow(&f->ints, &f->cap_ints, f->n_ints + n + 1, sizeof *f->ints) != 0)
        return NULL;
    f->ints[f->n_ints] = n;
    *id = (uint32_t)f->n_ints + 1;
    f->n_ints += n + 1;
    return f->ints + *id;
}

static const int64_t *ints_get(const struct facts *f, struct fact x, uint32_t *n)
{
    *n = 0;
    if (!x.ints)
        return NULL;
    *n = (uint32_t)f->ints[x.ints - 1];
    return f->ints + x.ints;
}

static bool ints_complete(const int64_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == FACT_INT_UNKNOWN)
            return false;
    return true;
}

/* An integer list that is an attribute in old opsets and an input in new ones. Complete lists only. */
static bool list_arg(const struct node_facts *k, const char *attr, uint32_t input, int64_t out[INTS_MAX],
                     uint32_t *n)
{
    struct ir_attr a;
    *n = 0;
    if (walk_attr(k->f->w, k->s, attr, &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known) {
        *n = a.n_ints;
        memcpy(out, a.ints, a.n_ints * sizeof *out);
        return true;
    }
    uint32_t count;
    struct fact x = facts_get(k->f, walk_input(k->f->w, k->s, input));
    const int64_t *v = ints_get(k->f, x, &count);
    if (!v || !ints_complete(v, count))
        return false;
    *n = count;
    memcpy(out, v, count * sizeof *out);
    return true;
}

static bool has_list_arg(const struct node_facts *k, const char *attr, uint32_t input)
{
    struct ir_attr a;
    return walk_attr(k->f->w, k->s, attr, &a) == 1 || walk_input(k->f->w, k->s, input).value != IR_NONE;
}

/* Interning a shape may move model.shapes: keep copies of struct ir_shape across it, never pointers (dims
 * stay put). */

/* ---- shapes ---- */

static const struct ir_shape *shape_of(const struct node_facts *k, uint32_t i)
{
    return &k->f->w->m->shapes[i < 3 ? k->in[i].shape : IR_SHAPE_UNKNOWN];
}

static bool known(const struct node_facts *k, uint32_t i)
{
    return i < 3 && i < k->n_in && k->in[i].shape != IR_SHAPE_UNKNOWN;
}

static uint32_t intern(const struct facts *f, uint32_t rank, const int64_t *dims)
{
    if (rank > IR_RANK_MAX)
        return IR_SHAPE_UNKNOWN;
    uint32_t id = ir_shape_intern(f->w->m, rank, dims);
    return id == IR_NONE ? IR_SHAPE_UNKNOWN : id;
}

static void set(struct node_facts *k, uint32_t rank, const int64_t *dims)
{
    k->out->shape = intern(k->f, rank, dims);
}

static void set_unknown_dims(struct node_facts *k, uint32_t rank)
{
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < rank && i < IR_RANK_MAX; i++)
        dims[i] = IR_DIM_UNKNOWN;
    set(k, rank, dims);
}

/* An axis as the ONNX text allows it, negative from the end; -1 if out of range. */
static int64_t axis_in(int64_t axis, uint32_t rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? axis : -1;
}

static int64_t broadcast_dim(int64_t a, int64_t b)
{
    if (a == 1)
        return b;
    if (b == 1 || a == b)
        return a;
    return a == IR_DIM_UNKNOWN ? b : a; /* one unknown: the other, unless it is 1 (above) */
}

static uint32_t broadcast(const struct facts *f, uint32_t x, uint32_t y)
{
    if (x == IR_SHAPE_UNKNOWN || y == IR_SHAPE_UNKNOWN)
        return IR_SHAPE_UNKNOWN;
    const struct ir_shape *a = &f->w->m->shapes[x], *b = &f->w->m->shapes[y];
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        int64_t p = i + a->rank >= rank ? a->dims[i + a->rank - rank] : 1;
        int64_t q = i + b->rank >= rank ? b->dims[i + b->rank - rank] : 1;
        dims[i] = broadcast_dim(p, q);
    }
    return intern(f, rank, dims);
}

/* ---- the order of dimensions in memory ---- */

bool fact_contiguous(const struct facts *f, struct fact x)
{
    if (x.gaps)
        return false;
    if (!x.order)
        return true;
    const struct ir_shape *order = &f->w->m->shapes[x.order], *shape = fact_shape(f, x);
    int64_t last = -1;
    for (uint32_t i = 0; i < order->rank; i++) {
        int64_t d = order->dims[i];
        if (d < (int64_t)shape->rank && shape->dims[d] == 1)
            continue;
        if (d < last)
            return false;
        last = d;
    }
    return true;
}

static void order_of(const struct facts *f, struct fact x, uint32_t rank, int64_t *order)
{
    const struct ir_shape *o = &f->w->m->shapes[x.order];
    for (uint32_t i = 0; i < rank; i++)
        order[i] = x.order && o->rank == rank ? o->dims[i] : (int64_t)i;
}

static uint32_t order_intern(const struct facts *f, uint32_t rank, const int64_t *order)
{
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != (int64_t)i)
            return intern(f, rank, order);
    return 0;
}

/* Elementwise operators write a dense output in the order of their first full operand. */
static void keep_order(struct node_facts *k, struct fact from)
{
    k->out->order = from.order;
    k->out->guessed = from.guessed;
}

/* A slice along `axis` leaves gaps unless every slower dimension has one element. */
static void slice_layout(struct node_facts *k, int64_t axis)
{
    struct fact in = k->in[0];
    uint32_t rank = shape_of(k, 0)->rank;
    int64_t order[IR_RANK_MAX];
    k->out->order = in.order;
    k->out->gaps = in.gaps;
    k->out->guessed = in.guessed;
    order_of(k->f, in, rank, order);
    for (uint32_t i = 0; i < rank && order[i] != axis; i++)
        if (shape_of(k, 0)->dims[order[i]] != 1)
            k->out->gaps = true;
}

/* ---- operators ---- */

typedef void (*op_fn)(struct node_facts *k);

static void op_same(struct node_facts *k)
{
    k->out->shape = k->in[0].shape;
    keep_order(k, k->in[0]);
}

static void op_identity(struct node_facts *k)
{
    op_same(k);
    k->out->ints = k->in[0].ints;
    k->out->gaps = k->in[0].gaps;
}

/* Kernels that write a new contiguous tensor whatever they read. */
static void op_same_contiguous(struct node_facts *k)
{
    k->out->shape = k->in[0].shape;
}

static void op_cast(struct node_facts *k)
{
    op_same(k);
    k->out->ints = k->in[0].ints;
    int64_t to = walk_attr_int(k->f->w, k->s, "to", 0);
    bool is_float = to == 1 || to == 10 || to == 11 || to == 16 || to == 0;
    k->out->grad = k->out->grad && is_float;
}

static void op_broadcast(struct node_facts *k)
{
    uint32_t shape = k->n_in ? k->in[0].shape : IR_SHAPE_UNKNOWN;
    for (uint32_t i = 1; i < k->n_in; i++) {
        struct fact x = i < 3 ? k->in[i] : facts_get(k->f, walk_input(k->f->w, k->s, i));
        shape = broadcast(k->f, shape, x.shape);
    }
    k->out->shape = shape;
    for (uint32_t i = 0; i < k->n_in && i < 3; i++)
        if (k->in[i].shape == shape && shape != IR_SHAPE_UNKNOWN) {
            keep_order(k, k->in[i]);
            return;
        }
}

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

static void op_arith(struct node_facts *k)
{
    op_broadcast(k);
    uint32_t na, nb;
    if (k->n_in != 2 || !ints_get(k->f, k->in[0], &na) || !ints_get(k->f, k->in[1], &nb) || !na || !nb)
        return;
    uint32_t n = na > nb ? na : nb, id;
    if ((na != n && na != 1) || (nb != n && nb != 1))
        return;
    int64_t *out = ints_new(k->f, n, &id);
    if (!out)
        return;
    const int64_t *a = ints_get(k->f, k->in[0], &na), *b = ints_get(k->f, k->in[1], &nb);
    struct str type = ir_node_op(k->f->w->m, &k->f->w->m->nodes[k->s.node])->type;
    for (uint32_t i = 0; i < n; i++)
        out[i] = int_op(type, a[na == 1 ? 0 : i], b[nb == 1 ? 0 : i]);
    k->out->ints = id;
}

static void op_compare(struct node_facts *k)
{
    op_broadcast(k);
    k->out->grad = false;
}

static void op_where(struct node_facts *k)
{
    op_broadcast(k);
}

static void op_no_grad_unknown(struct node_facts *k)
{
    k->out->grad = false;
}

/* Batch dimensions broadcast, [..., M, K] x [..., K, N]. */
static void matmul_shape(struct node_facts *k, bool ta, bool tb)
{
    if (!known(k, 0) || !known(k, 1))
        return;
    const struct ir_shape left = *shape_of(k, 0), right = *shape_of(k, 1), *a = &left, *b = &right;
    if (a->rank == 0 || b->rank == 0)
        return;
    int64_t dims[IR_RANK_MAX];
    uint32_t ra = a->rank > 1 ? a->rank - 2 : 0, rb = b->rank > 1 ? b->rank - 2 : 0;
    uint32_t batch = ra > rb ? ra : rb, n = 0;
    for (uint32_t i = 0; i < batch; i++) {
        int64_t p = i + ra >= batch ? a->dims[i + ra - batch] : 1,
                q = i + rb >= batch ? b->dims[i + rb - batch] : 1;
        dims[n++] = broadcast_dim(p, q);
    }
    if (a->rank > 1)
        dims[n++] = a->dims[a->rank - (ta ? 1 : 2)];
    if (b->rank > 1)
        dims[n++] = b->dims[b->rank - (tb ? 2 : 1)];
    set(k, n, dims);
    if (a->rank == 2 && b->rank > 2 && k->in[0].grad && n >= 2) { /* folded: computed transposed */
        int64_t order[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            order[i] = i;
        order[n - 2] = n - 1, order[n - 1] = n - 2;
        k->out->order = order_intern(k->f, n, order);
    }
}

static void op_matmul(struct node_facts *k)
{
    matmul_shape(k, false, false);
}

static void op_fused_matmul(struct node_facts *k)
{
    matmul_shape(k, walk_attr_int(k->f->w, k->s, "transA", 0) != 0,
                 walk_attr_int(k->f->w, k->s, "transB", 0) != 0);
}

static void op_transpose(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    struct ir_attr a;
    bool given = walk_attr(w, k->s, "perm", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known;
    if (!known(k, 0)) {
        if (given)
            set_unknown_dims(k, a.n_ints);
        return;
    }
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    uint32_t rank = x->rank;
    if (given && a.n_ints != rank)
        return;
    int64_t dims[IR_RANK_MAX], order[IR_RANK_MAX], from[IR_RANK_MAX], to[IR_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        to[i] = -1;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t p = given ? a.ints[i] : (int64_t)(rank - 1 - i);
        if (p < 0 || p >= (int64_t)rank || to[p] >= 0)
            return;
        dims[i] = x->dims[p];
        to[p] = i;
    }
    order_of(k->f, k->in[0], rank, from);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = to[from[i]];
    set(k, rank, dims);
    k->out->order = order_intern(k->f, rank, order);
    k->out->gaps = k->in[0].gaps;
    k->out->guessed = true; /* a .contiguous() after it leaves no trace in the file */
}

static void op_reshape(struct node_facts *k)
{
    struct ir_attr a;
    int64_t want[INTS_MAX], dims[INTS_MAX];
    uint32_t n = 0;
    bool elements = false;
    if (walk_attr(k->f->w, k->s, "shape", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known) {
        n = a.n_ints, elements = true;
        memcpy(want, a.ints, n * sizeof *want);
    } else {
        const int64_t *v = k->n_in > 1 ? ints_get(k->f, k->in[1], &n) : NULL;
        if (v) {
            memcpy(want, v, n * sizeof *want);
            elements = true;
        } else if (known(k, 1) && shape_of(k, 1)->rank == 1 && shape_of(k, 1)->dims[0] >= 0 &&
                   shape_of(k, 1)->dims[0] <= IR_RANK_MAX) {
            set_unknown_dims(k, (uint32_t)shape_of(k, 1)->dims[0]);
        }
    }
    k->out->guessed = k->in[0].guessed && !fact_contiguous(k->f, k->in[0]);
    if (!elements || n > IR_RANK_MAX)
        return;
    bool zero_is_zero = walk_attr_int(k->f->w, k->s, "allowzero", 0) != 0;
    int64_t rest = -1, product = 1, total = 1;
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = want[i];
        if (want[i] == FACT_INT_UNKNOWN || want[i] < -1)
            dims[i] = IR_DIM_UNKNOWN;
        else if (want[i] == 0 && !zero_is_zero)
            dims[i] = known(k, 0) && i < shape_of(k, 0)->rank ? shape_of(k, 0)->dims[i] : IR_DIM_UNKNOWN;
        if (want[i] == -1)
            rest = i;
        else if (dims[i] < 0 || __builtin_mul_overflow(product, dims[i], &product))
            product = -1, total = -1;
        if (product < 0)
            product = -1;
    }
    for (uint32_t i = 0; known(k, 0) && total >= 0 && i < shape_of(k, 0)->rank; i++)
        if (shape_of(k, 0)->dims[i] < 0 || __builtin_mul_overflow(total, shape_of(k, 0)->dims[i], &total))
            total = -1;
    if (rest >= 0)
        dims[rest] = known(k, 0) && total >= 0 && product > 0 ? total / product : IR_DIM_UNKNOWN;
    set(k, n, dims);
    if (k->in[0].ints)
        k->out->ints = k->in[0].ints;
}

static void op_flatten(struct node_facts *k)
{
    set_unknown_dims(k, 2);
}

static void op_unsqueeze(struct node_facts *k)
{
    int64_t axes[INTS_MAX], dims[IR_RANK_MAX], order[IR_RANK_MAX], from[IR_RANK_MAX];
    uint32_t n;
    k->out->ints = k->in[0].ints;
    if (!known(k, 0) || !list_arg(k, "axes", 1, axes, &n) || shape_of(k, 0)->rank + n > IR_RANK_MAX)
        return;
    uint32_t rank = shape_of(k, 0)->rank + n, at = 0;
    bool added[IR_RANK_MAX] = {false};
    for (uint32_t i = 0; i < n; i++) {
        int64_t a = axis_in(axes[i], rank);
        if (a < 0)
            return;
        added[a] = true;
    }
    int64_t where[IR_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        if (!added[i] && at < shape_of(k, 0)->rank)
            where[at] = i;
        dims[i] = added[i] || at >= shape_of(k, 0)->rank ? 1 : shape_of(k, 0)->dims[at++];
    }
    set(k, rank, dims);
    order_of(k->f, k->in[0], rank - n, from);
    uint32_t m = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (added[i])
            order[m++] = i;
    for (uint32_t i = 0; i < rank - n && m < rank; i++)
        order[m++] = where[from[i]];
    if (k->in[0].order && m == rank)
        k->out->order = order_intern(k->f, rank, order);
    k->out->gaps = k->in[0].gaps;
    k->out->guessed = k->in[0].guessed;
}

/* The input without the dimensions marked `gone`. */
static void drop_dims(struct node_facts *k, const bool *gone)
{
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    int64_t dims[IR_RANK_MAX] = {0}, order[IR_RANK_MAX], from[IR_RANK_MAX], to[IR_RANK_MAX];
    uint32_t rank = 0, m = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        to[i] = rank;
        if (!gone[i])
            dims[rank++] = x->dims[i];
    }
    order_of(k->f, k->in[0], x->rank, from);
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[from[i]])
            order[m++] = to[from[i]];
    set(k, rank, dims);
    k->out->order = order_intern(k->f, rank, order);
    k->out->gaps = k->in[0].gaps;
    k->out->guessed = k->in[0].guessed;
}

static void op_squeeze(struct node_facts *k)
{
    int64_t axes[INTS_MAX];
    uint32_t n;
    bool gone[IR_RANK_MAX] = {false};
    k->out->ints = k->in[0].ints;
    if (!known(k, 0))
        return;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    if (list_arg(k, "axes", 1, axes, &n)) {
        for (uint32_t i = 0; i < n; i++) {
            int64_t a = axis_in(axes[i], x->rank);
            if (a < 0)
                return;
            gone[a] = true;
        }
    } else if (has_list_arg(k, "axes", 1)) {
        return;
    } else {
        for (uint32_t i = 0; i < x->rank; i++) {
            if (x->dims[i] < 0)
                return;
            gone[i] = x->dims[i] == 1;
        }
    }
    drop_dims(k, gone);
}

static void concat_ints(struct node_facts *k, uint32_t n_in)
{
    uint32_t total = 0, n, id;
    for (uint32_t i = 0; i < n_in; i++) {
        struct fact x = facts_get(k->f, walk_input(k->f->w, k->s, i));
        const struct ir_shape *s = fact_shape(k->f, x);
        if (ints_get(k->f, x, &n))
            total += n;
        else if (x.shape != IR_SHAPE_UNKNOWN && s->rank == 1 && s->dims[0] >= 0 && s->dims[0] <= INTS_MAX)
            total += (uint32_t)s->dims[0];
        else
            return;
        if (total > INTS_MAX)
            return;
    }
    int64_t *out = ints_new(k->f, total, &id);
    if (!out)
        return;
    uint32_t at = 0;
    for (uint32_t i = 0; i < n_in; i++) {
        struct fact x = facts_get(k->f, walk_input(k->f->w, k->s, i));
        const int64_t *v = ints_get(k->f, x, &n);
        if (!v)
            n = (uint32_t)fact_shape(k->f, x)->dims[0];
        for (uint32_t j = 0; j < n; j++)
            out[at++] = v ? v[j] : FACT_INT_UNKNOWN;
    }
    k->out->ints = id;
}

static void op_concat(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    uint32_t n_in = w->m->nodes[k->s.node].n_in, rank = 0;
    int64_t dims[IR_RANK_MAX], axis = -1;
    for (uint32_t i = 0; i < n_in; i++) {
        const struct ir_shape *x = fact_shape(k->f, facts_get(k->f, walk_input(w, k->s, i)));
        bool is_known = facts_get(k->f, walk_input(w, k->s, i)).shape != IR_SHAPE_UNKNOWN;
        if (is_known && !rank) {
            rank = x->rank;
            axis = axis_in(walk_attr_int(w, k->s, "axis", 1), rank);
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
        set(k, rank, dims);
    if (rank <= 1)
        concat_ints(k, n_in);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* How many elements start:end:step takes of dim, or unknown. */
static int64_t slice_count(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (dim < 0 || step == 0 || step == INT64_MIN)
        return IR_DIM_UNKNOWN;
    if (start < 0)
        start += dim;
    if (end < 0)
        end = end < INT64_MIN + dim ? INT64_MIN : end + dim;
    if (step > 0) {
        start = clamp(start, 0, dim), end = clamp(end, 0, dim);
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    start = clamp(start, -1, dim - 1), end = clamp(end, -1, dim - 1);
    return start > end ? (start - end - 1) / -step + 1 : 0;
}

static void slice_ints(struct node_facts *k, int64_t start, int64_t end, int64_t step)
{
    uint32_t n, id;
    if (!ints_get(k->f, k->in[0], &n))
        return;
    int64_t count = slice_count(n, start, end, step);
    if (count < 0 || count > INTS_MAX)
        return;
    int64_t *out = ints_new(k->f, (uint32_t)count, &id);
    if (!out)
        return;
    const int64_t *v = ints_get(k->f, k->in[0], &n);
    int64_t at = start < 0 ? start + n : start;
    at = step > 0 ? clamp(at, 0, n) : clamp(at, -1, (int64_t)n - 1);
    for (int64_t i = 0; i < count; i++, at += step)
        out[i] = v[at];
    k->out->ints = id;
}

static void op_slice(struct node_facts *k)
{
    int64_t starts[INTS_MAX], ends[INTS_MAX], axes[INTS_MAX], steps[INTS_MAX], dims[IR_RANK_MAX];
    uint32_t ns, ne, na, nt;
    if (!known(k, 0))
        return;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    keep_order(k, k->in[0]);
    k->out->gaps = k->in[0].gaps;
    bool have = list_arg(k, "starts", 1, starts, &ns) && list_arg(k, "ends", 2, ends, &ne) && ns == ne;
    bool have_axes = list_arg(k, "axes", 3, axes, &na), have_steps = list_arg(k, "steps", 4, steps, &nt);
    bool all_axes = !have_axes && !has_list_arg(k, "axes", 3);
    if (!have_steps && has_list_arg(k, "steps", 4))
        have = false;
    if ((have_axes && have && na != ns) || (have_steps && have && nt != ns))
        have = false;
    uint32_t n = have_axes ? na : have ? ns : 0;
    if (!have_axes && !all_axes)
        n = 0;
    if (!have && !have_axes) { /* any dimension may be cut */
        for (uint32_t i = 0; i < x->rank; i++)
            dims[i] = IR_DIM_UNKNOWN;
        k->out->gaps = true;
        k->out->guessed = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t a = axis_in(have_axes ? axes[i] : (int64_t)i, x->rank), step = have_steps ? steps[i] : 1;
        if (a < 0)
            return;
        bool whole = have && step == 1 && starts[i] == 0 &&
                     (ends[i] >= INT32_MAX || (x->dims[a] >= 0 && ends[i] >= x->dims[a]));
        if (whole)
            continue;
        dims[a] = have ? slice_count(x->dims[a], starts[i], ends[i], step) : IR_DIM_UNKNOWN;
        slice_layout(k, a);
        if (step != 1)
            k->out->gaps = true;
    }
    set(k, x->rank, dims);
    if (have && x->rank == 1 && ns == 1)
        slice_ints(k, starts[0], ends[0], have_steps ? steps[0] : 1);
}

static void op_gather(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    if (!known(k, 0) || !known(k, 1))
        return;
    const struct ir_shape shape = *shape_of(k, 0), index = *shape_of(k, 1), *x = &shape, *ix = &index;
    int64_t a = axis_in(walk_attr_int(w, k->s, "axis", 0), x->rank);
    if (a < 0 || x->rank - 1 + ix->rank > IR_RANK_MAX)
        return;
    int64_t dims[IR_RANK_MAX];
    uint32_t n = 0, count, picks, id;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i == (uint32_t)a)
            for (uint32_t j = 0; j < ix->rank; j++)
                dims[n++] = ix->dims[j];
        else
            dims[n++] = x->dims[i];
    }
    if (ix->rank == 0) { /* tensor[i]: a view */
        bool gone[IR_RANK_MAX] = {false};
        gone[a] = true;
        slice_layout(k, a);
        bool gaps = k->out->gaps;
        drop_dims(k, gone);
        k->out->gaps = gaps;
    } else {
        set(k, n, dims);
    }
    const int64_t *v = ints_get(k->f, k->in[0], &count), *p = ints_get(k->f, k->in[1], &picks);
    if (!v || !p || x->rank != 1)
        return;
    int64_t *out = ints_new(k->f, picks, &id);
    if (!out)
        return;
    v = ints_get(k->f, k->in[0], &count), p = ints_get(k->f, k->in[1], &picks);
    for (uint32_t i = 0; i < picks; i++) {
        int64_t at = p[i] == FACT_INT_UNKNOWN ? -1 : axis_in(p[i], count);
        out[i] = at < 0 ? FACT_INT_UNKNOWN : v[at];
    }
    k->out->ints = id;
}

static void op_expand(struct node_facts *k)
{
    uint32_t n;
    const int64_t *v = k->n_in > 1 ? ints_get(k->f, k->in[1], &n) : NULL;
    k->out->gaps = true;
    if (v && n <= IR_RANK_MAX && known(k, 0)) {
        int64_t dims[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            dims[i] = v[i] < 0 ? IR_DIM_UNKNOWN : v[i];
        k->out->shape = broadcast(k->f, k->in[0].shape, intern(k->f, n, dims));
        if (k->out->shape == k->in[0].shape)
            op_identity(k);
    } else if (known(k, 1) && known(k, 0) && shape_of(k, 1)->rank == 1 && shape_of(k, 1)->dims[0] >= 0 &&
               shape_of(k, 1)->dims[0] <= IR_RANK_MAX) {
        uint32_t r = (uint32_t)shape_of(k, 1)->dims[0];
        set_unknown_dims(k, r > shape_of(k, 0)->rank ? r : shape_of(k, 0)->rank);
    }
}

static void op_rank_of_input(struct node_facts *k)
{
    if (known(k, 0))
        set_unknown_dims(k, shape_of(k, 0)->rank);
}

static void op_shape(struct node_facts *k)
{
    k->out->grad = false;
    if (!known(k, 0))
        return;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    int64_t start = clamp(walk_attr_int(k->f->w, k->s, "start", 0), -(int64_t)x->rank, x->rank);
    int64_t end = clamp(walk_attr_int(k->f->w, k->s, "end", x->rank), -(int64_t)x->rank, x->rank);
    start += start < 0 ? x->rank : 0;
    end += end < 0 ? x->rank : 0;
    int64_t n = end > start ? end - start : 0;
    set(k, 1, &n);
    uint32_t id;
    int64_t *out = ints_new(k->f, (uint32_t)n, &id);
    for (int64_t i = 0; out && i < n; i++)
        out[i] = x->dims[start + i] < 0 ? FACT_INT_UNKNOWN : x->dims[start + i];
    k->out->ints = id;
}

static void op_scalar(struct node_facts *k)
{
    k->out->grad = false;
    set(k, 0, NULL);
}

static void op_vector(struct node_facts *k)
{
    k->out->grad = false;
    set_unknown_dims(k, 1);
}

static void op_constant_of_shape(struct node_facts *k)
{
    uint32_t n;
    const int64_t *v = ints_get(k->f, k->in[0], &n);
    if (v && n <= IR_RANK_MAX) {
        int64_t dims[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            dims[i] = v[i] < 0 ? IR_DIM_UNKNOWN : v[i];
        set(k, n, dims);
    } else if (known(k, 0) && shape_of(k, 0)->rank == 1 && shape_of(k, 0)->dims[0] >= 0 &&
               shape_of(k, 0)->dims[0] <= IR_RANK_MAX) {
        set_unknown_dims(k, (uint32_t)shape_of(k, 0)->dims[0]);
    }
    if (k->out->shape != IR_SHAPE_UNKNOWN && fact_shape(k->f, *k->out)->rank == 1) {
        struct ir_attr a;
        int64_t count = fact_shape(k->f, *k->out)->dims[0], fill = 0;
        if (walk_attr(k->f->w, k->s, "value", &a) == 1 && a.kind == IR_ATTR_TENSOR)
            fill = a.ints_known && a.n_ints == 1 ? a.ints[0] : FACT_INT_UNKNOWN;
        uint32_t id;
        int64_t *out = count >= 0 && count <= INTS_MAX ? ints_new(k->f, (uint32_t)count, &id) : NULL;
        for (int64_t i = 0; out && i < count; i++)
            out[i] = fill;
        if (out)
            k->out->ints = id;
    }
}

static void op_constant(struct node_facts *k)
{
    struct ir_attr a;
    const struct walk *w = k->f->w;
    uint32_t id = 0;
    if (walk_attr(w, k->s, "value", &a) == 1 && a.kind == IR_ATTR_TENSOR) {
        k->out->shape = a.shape;
        int64_t *out = a.ints_known ? ints_new(k->f, a.n_ints, &id) : NULL;
        if (out)
            memcpy(out, a.ints, a.n_ints * sizeof *out);
        k->out->ints = id;
    } else if (walk_attr(w, k->s, "value_int", &a) == 1 && a.kind == IR_ATTR_INT) {
        set(k, 0, NULL);
        int64_t *out = ints_new(k->f, 1, &id);
        if (out)
            out[0] = a.i;
        k->out->ints = id;
    } else if (walk_attr(w, k->s, "value_ints", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known) {
        int64_t n = a.n_ints;
        set(k, 1, &n);
        int64_t *out = ints_new(k->f, a.n_ints, &id);
        if (out)
            memcpy(out, a.ints, a.n_ints * sizeof *out);
        k->out->ints = id;
    } else if (walk_attr(w, k->s, "value_float", &a) == 1) {
        set(k, 0, NULL);
    } else if (walk_attr(w, k->s, "value_floats", &a) == 1) {
        set_unknown_dims(k, 1);
    }
}

static void op_reduce(struct node_facts *k)
{
    int64_t axes[INTS_MAX];
    uint32_t n;
    if (!known(k, 0))
        return;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    bool keep = walk_attr_int(k->f->w, k->s, "keepdims", 1) != 0, gone[IR_RANK_MAX] = {false};
    if (list_arg(k, "axes", 1, axes, &n) && n > 0) {
        for (uint32_t i = 0; i < n; i++) {
            int64_t a = axis_in(axes[i], x->rank);
            if (a < 0)
                return;
            gone[a] = true;
        }
    } else if (has_list_arg(k, "axes", 1)) {
        if (keep)
            set_unknown_dims(k, x->rank);
        return;
    } else {
        if (walk_attr_int(k->f->w, k->s, "noop_with_empty_axes", 0) != 0) {
            op_same(k);
            return;
        }
        for (uint32_t i = 0; i < x->rank; i++)
            gone[i] = true;
    }
    int64_t dims[IR_RANK_MAX];
    uint32_t r = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[i] || keep)
            dims[r++] = gone[i] ? 1 : x->dims[i];
    set(k, r, dims);
}

static void op_arg(struct node_facts *k)
{
    k->out->grad = false;
    if (!known(k, 0))
        return;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    int64_t a = axis_in(walk_attr_int(k->f->w, k->s, "axis", 0), x->rank), dims[IR_RANK_MAX];
    bool keep = walk_attr_int(k->f->w, k->s, "keepdims", 1) != 0;
    uint32_t r = 0;
    if (a < 0)
        return;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != (uint32_t)a || keep)
            dims[r++] = i == (uint32_t)a ? 1 : x->dims[i];
    set(k, r, dims);
}

static void op_onehot(struct node_facts *k)
{
    k->out->grad = false;
    if (known(k, 0) && shape_of(k, 0)->rank < IR_RANK_MAX)
        set_unknown_dims(k, shape_of(k, 0)->rank + 1);
}

static void op_nonzero(struct node_facts *k)
{
    int64_t dims[2] = {known(k, 0) ? (int64_t)shape_of(k, 0)->rank : IR_DIM_UNKNOWN, IR_DIM_UNKNOWN};
    k->out->grad = false;
    set(k, 2, dims);
}

static void op_gathernd(struct node_facts *k)
{
    if (!known(k, 0) || !known(k, 1) || shape_of(k, 1)->rank == 0)
        return;
    const struct ir_shape shape = *shape_of(k, 0), index = *shape_of(k, 1), *x = &shape, *ix = &index;
    int64_t last = ix->dims[ix->rank - 1], batch = walk_attr_int(k->f->w, k->s, "batch_dims", 0);
    int64_t rank = (int64_t)x->rank + ix->rank - last - 1 - batch;
    if (last >= 0 && last <= (int64_t)x->rank && rank >= 0 && rank <= IR_RANK_MAX)
        set_unknown_dims(k, (uint32_t)rank);
}

static void op_gather_elements(struct node_facts *k)
{
    if (known(k, 1))
        k->out->shape = k->in[1].shape;
}

static void op_topk(struct node_facts *k)
{
    if (!known(k, 0))
        return;
    int64_t dims[IR_RANK_MAX], n_k[INTS_MAX];
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    int64_t a = axis_in(walk_attr_int(k->f->w, k->s, "axis", -1), x->rank);
    uint32_t n;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (a >= 0)
        dims[a] = list_arg(k, "k", 1, n_k, &n) && n == 1 ? n_k[0] : IR_DIM_UNKNOWN;
    if (a >= 0 && dims[a] < 0)
        dims[a] = IR_DIM_UNKNOWN;
    set(k, x->rank, dims);
}

/* Conv, pooling, Resize, Pad, Tile: the rank, and of Conv the channels. */
static void op_conv(struct node_facts *k)
{
    if (!known(k, 0))
        return;
    int64_t dims[IR_RANK_MAX];
    uint32_t rank = shape_of(k, 0)->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == 0 ? shape_of(k, 0)->dims[0] : IR_DIM_UNKNOWN;
    if (rank > 1 && known(k, 1) && shape_of(k, 1)->rank == rank)
        dims[1] = shape_of(k, 1)->dims[0];
    set(k, rank, dims);
}

static void op_tile(struct node_facts *k)
{
    uint32_t n = 0;
    if (!known(k, 0))
        return;
    const int64_t *v = k->n_in > 1 ? ints_get(k->f, k->in[1], &n) : NULL;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!v || n != x->rank || v[i] < 0 || x->dims[i] < 0 ||
            __builtin_mul_overflow(x->dims[i], v[i], &dims[i]))
            dims[i] = IR_DIM_UNKNOWN;
    set(k, x->rank, dims);
}

static void op_einsum(struct node_facts *k)
{
    struct ir_attr a;
    if (walk_attr(k->f->w, k->s, "equation", &a) != 1 || a.kind != IR_ATTR_STR)
        return;
    ptrdiff_t arrow = str_find(a.s, STR_LIT("->"));
    if (arrow < 0)
        return;
    uint32_t rank = 0;
    for (size_t i = (size_t)arrow + 2; i < a.s.n; i++) {
        if (a.s.s[i] == '.')
            return;
        rank += a.s.s[i] != ' ';
    }
    set_unknown_dims(k, rank);
}

/* Every output of Split is a slice along its axis. */
static void op_split(struct node_facts *k)
{
    if (!known(k, 0))
        return;
    const struct walk *w = k->f->w;
    const struct ir_shape shape = *shape_of(k, 0), *x = &shape;
    const struct ir_node *node = &w->m->nodes[k->s.node];
    int64_t a = axis_in(walk_attr_int(w, k->s, "axis", 0), x->rank), sizes[INTS_MAX], dims[IR_RANK_MAX];
    uint32_t n;
    if (a < 0)
        return;
    bool given = list_arg(k, "split", 1, sizes, &n) && n == node->n_out;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (node->n_out > 1)
        slice_layout(k, a);
    struct fact layout = *k->out;
    for (uint32_t i = 0; i < node->n_out; i++) {
        struct use u = walk_output(w, k->s, i);
        if (u.value == IR_NONE)
            continue;
        if (given)
            dims[a] = sizes[i] < 0 ? IR_DIM_UNKNOWN : sizes[i];
        else if (!has_list_arg(k, "split", 1) && x->dims[a] >= 0)
            dims[a] = x->dims[a] % node->n_out == 0 ? x->dims[a] / node->n_out : IR_DIM_UNKNOWN;
        else
            dims[a] = IR_DIM_UNKNOWN;
        struct fact *out = &k->f->of[walk_slot(w, u)];
        *out = layout;
        out->done = true;
        out->shape = intern(k->f, x->rank, dims);
    }
}

/* If, Loop and Scan: what the bodies return. */
static void op_body(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    const struct ir_model *m = w->m;
    const struct ir_node *node = &m->nodes[k->s.node];
    struct str type = ir_node_op(m, node)->type;
    bool loop = str_is(type, "Loop"), scan = str_is(type, "Scan");
    uint32_t carried = loop ? (node->n_in > 2 ? node->n_in - 2 : 0) : node->n_out;
    for (uint32_t i = 0; i < node->n_out; i++) {
        struct use u = walk_output(w, k->s, i);
        if (u.value == IR_NONE)
            continue;
        struct fact merged = {.done = true, .grad = k->out->grad, .fixed = false};
        bool first = true;
        for (uint32_t b = node->body; b != IR_NONE; b = m->graphs[b].next_body) {
            uint32_t frame = walk_child(w, k->s.frame, k->s.node, b), at = i + (loop ? 1 : 0);
            if (frame == IR_NONE || at >= m->graphs[b].n_outputs)
                continue;
            struct fact x = facts_get(k->f, (struct use){frame, m->graphs[b].outputs[at]});
            if (first)
                merged.shape = x.shape;
            else if (merged.shape != x.shape)
                merged.shape = IR_SHAPE_UNKNOWN;
            merged.grad |= x.grad;
            first = false;
        }
        if (scan || i >= carried)
            merged.shape = IR_SHAPE_UNKNOWN;
        k->f->of[walk_slot(w, u)] = merged;
    }
}

static const struct {
    const char *type;
    op_fn fn;
} table[] = {
    {"Abs", op_same},
    {"Add", op_arith},
    {"And", op_compare},
    {"ArgMax", op_arg},
    {"ArgMin", op_arg},
    {"AveragePool", op_rank_of_input},
    {"BatchNormalization", op_same},
    {"BiasGelu", op_same},
    {"Cast", op_cast},
    {"CastLike", op_same},
    {"Ceil", op_same},
    {"Celu", op_same},
    {"Clip", op_same},
    {"Concat", op_concat},
    {"Constant", op_constant},
    {"ConstantOfShape", op_constant_of_shape},
    {"Conv", op_conv},
    {"ConvTranspose", op_rank_of_input},
    {"Cos", op_same},
    {"CumSum", op_same_contiguous},
    {"DequantizeLinear", op_same},
    {"Div", op_arith},
    {"Dropout", op_same},
    {"Einsum", op_einsum},
    {"Elu", op_same},
    {"Equal", op_compare},
    {"Erf", op_same},
    {"Exp", op_same},
    {"Expand", op_expand},
    {"EyeLike", op_same_contiguous},
    {"FastGelu", op_same},
    {"Flatten", op_flatten},
    {"Floor", op_same},
    {"FusedGemm", op_fused_matmul},
    {"FusedMatMul", op_fused_matmul},
    {"Gather", op_gather},
    {"GatherElements", op_gather_elements},
    {"GatherND", op_gathernd},
    {"Gelu", op_same},
    {"Gemm", op_fused_matmul},
    {"GemmFastGelu", op_matmul},
    {"Greater", op_compare},
    {"GreaterOrEqual", op_compare},
    {"GroupNormalization", op_same},
    {"HardSigmoid", op_same},
    {"HardSwish", op_same},
    {"Hardmax", op_same_contiguous},
    {"Identity", op_identity},
    {"If", op_body},
    {"InstanceNormalization", op_same_contiguous},
    {"IsInf", op_compare},
    {"IsNaN", op_compare},
    {"LayerNormalization", op_same_contiguous},
    {"LeakyRelu", op_same},
    {"Less", op_compare},
    {"LessOrEqual", op_compare},
    {"Log", op_same},
    {"LogSoftmax", op_same_contiguous},
    {"Loop", op_body},
    {"LpNormalization", op_same},
    {"MatMul", op_matmul},
    {"Max", op_arith},
    {"MaxPool", op_rank_of_input},
    {"Mean", op_broadcast},
    {"Min", op_arith},
    {"Mish", op_same},
    {"Mod", op_broadcast},
    {"Mul", op_arith},
    {"Neg", op_same},
    {"NonZero", op_nonzero},
    {"Not", op_compare},
    {"OneHot", op_onehot},
    {"Or", op_compare},
    {"PRelu", op_same},
    {"Pad", op_rank_of_input},
    {"Pow", op_broadcast},
    {"QuantizeLinear", op_same},
    {"QuickGelu", op_same},
    {"RMSNormalization", op_same_contiguous},
    {"Range", op_vector},
    {"Reciprocal", op_same},
    {"ReduceL1", op_reduce},
    {"ReduceL2", op_reduce},
    {"ReduceLogSum", op_reduce},
    {"ReduceLogSumExp", op_reduce},
    {"ReduceMax", op_reduce},
    {"ReduceMean", op_reduce},
    {"ReduceMin", op_reduce},
    {"ReduceProd", op_reduce},
    {"ReduceSum", op_reduce},
    {"ReduceSumSquare", op_reduce},
    {"Relu", op_same},
    {"Reshape", op_reshape},
    {"Resize", op_rank_of_input},
    {"Round", op_same},
    {"Scan", op_body},
    {"ScatterElements", op_same_contiguous},
    {"ScatterND", op_same_contiguous},
    {"Selu", op_same},
    {"Shape", op_shape},
    {"Sigmoid", op_same},
    {"Sign", op_same},
    {"SimplifiedLayerNormalization", op_same_contiguous},
    {"Sin", op_same},
    {"Size", op_scalar},
    {"SkipLayerNormalization", op_same_contiguous},
    {"SkipSimplifiedLayerNormalization", op_same_contiguous},
    {"Slice", op_slice},
    {"Softmax", op_same_contiguous},
    {"Softplus", op_same},
    {"Softsign", op_same},
    {"Split", op_split},
    {"Sqrt", op_same},
    {"Squeeze", op_squeeze},
    {"Sub", op_arith},
    {"Sum", op_broadcast},
    {"Swish", op_same},
    {"Tanh", op_same},
    {"ThresholdedRelu", op_same},
    {"Tile", op_tile},
    {"TopK", op_topk},
    {"TransposeMatMul", op_fused_matmul},
    {"Transpose", op_transpose},
    {"Trilu", op_same_contiguous},
    {"Unsqueeze", op_unsqueeze},
    {"Where", op_where},
    {"Xor", op_compare},
    {"NonMaxSuppression", op_no_grad_unknown},
};

static op_fn find_op(const struct ir_op *op)
{
    if (op->domain.n && !str_is(op->domain, "com.microsoft"))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(op->type, table[i].type))
            return table[i].fn;
    return NULL;
}

/* ---- the pass ---- */

/* A parameter that training would move: float, and not known to be a buffer. */
static bool trainable(const struct ir_model *m, uint32_t value)
{
    const struct ir_value *v = &m->values[value];
    bool is_float = v->dtype == 1 || v->dtype == 10 || v->dtype == 11 || v->dtype == 16;
    const struct ir_param *p = v->kind == IR_VALUE_PARAM ? &m->params[v->def] : NULL;
    return is_float && !(p && (p->buffer || p->no_grad));
}

/* What holds before any node ran: parameters, graph inputs, what a loop carries in. */
static struct fact leaf(const struct facts *f, struct use u)
{
    const struct ir_model *m = f->w->m;
    const struct ir_value *v = &m->values[u.value];
    struct fact x = {.shape = v->shape, .done = true};
    if (f->is_param[u.value]) {
        x.grad = trainable(m, u.value);
        x.fixed = true;
    } else if (v->kind == IR_VALUE_INPUT && u.frame != FRAME_MAIN) {
        const struct frame *fr = &f->w->frames[u.frame];
        if (str_is(ir_node_op(m, &m->nodes[fr->node])->type, "Loop") && v->def >= 2) {
            struct use outer = {fr->parent, ir_node_input(m, &m->nodes[fr->node], v->def)};
            outer = walk_resolve(f->w, outer);
            if (outer.value != IR_NONE && f->of[walk_slot(f->w, outer)].done) {
                struct fact o = f->of[walk_slot(f->w, outer)];
                x.grad = o.grad;
                if (x.shape == IR_SHAPE_UNKNOWN)
                    x.shape = o.shape;
            }
        }
    }
    return x;
}

struct fact facts_get(const struct facts *f, struct use u)
{
    u = walk_resolve(f->w, u);
    if (u.value == IR_NONE)
        return (struct fact){.done = true};
    const struct fact *x = &f->of[walk_slot(f->w, u)];
    return x->done ? *x : leaf(f, u);
}

/* Small integers in an initializer, read when a node first asks for them. */
static void load_ints(struct facts *f, struct use u)
{
    struct ir_model *m = f->w->m;
    u = walk_resolve(f->w, u);
    if (u.value == IR_NONE || m->values[u.value].kind != IR_VALUE_PARAM)
        return;
    const struct ir_value *v = &m->values[u.value];
    struct fact *x = &f->of[walk_slot(f->w, u)];
    if (x->done || (v->dtype != 7 && v->dtype != 6) || m->shapes[v->shape].rank > 1)
        return;
    *x = leaf(f, u);
    int64_t got[IR_INTS_MAX];
    uint32_t n, id;
    if (m->source->param_ints(m, v->def, got, &n) != 1)
        return;
    int64_t *out = ints_new(f, n, &id);
    if (out)
        memcpy(out, got, n * sizeof *out);
    x->ints = id;
}

static uint32_t merge_shapes(struct facts *f, uint32_t inferred, uint32_t stated)
{
    if (inferred == IR_SHAPE_UNKNOWN || stated == inferred)
        return stated == IR_SHAPE_UNKNOWN ? inferred : stated;
    if (stated == IR_SHAPE_UNKNOWN)
        return inferred;
    const struct ir_shape *a = &f->w->m->shapes[inferred], *b = &f->w->m->shapes[stated];
    if (a->rank != b->rank)
        return inferred;
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] >= 0 ? a->dims[i] : b->dims[i];
    return intern(f, a->rank, dims);
}

static void visit(struct facts *f, struct step s, op_fn fn)
{
    const struct walk *w = f->w;
    const struct ir_model *m = w->m;
    const struct ir_node *node = &m->nodes[s.node];
    struct fact out = {.done = true, .fixed = true};
    struct node_facts k = {.f = f, .s = s, .out = &out, .n_in = node->n_in};
    for (uint32_t i = 0; i < node->n_in; i++) {
        struct use u = walk_input(w, s, i);
        if (u.value == IR_NONE)
            continue;
        load_ints(f, u);
        struct fact x = facts_get(f, u);
        if (i < 3)
            k.in[i] = x;
        out.grad |= x.grad;
        out.fixed &= x.fixed;
    }
    struct fact base = out;
    if (fn)
        fn(&k);
    for (uint32_t i = 0; i < node->n_out; i++) {
        struct use u = walk_output(w, s, i);
        if (u.value == IR_NONE)
            continue;
        struct fact *x = &f->of[walk_slot(w, u)];
        if (!x->done)
            *x = i == 0 ? out : base;
        x->grad &= base.grad;
        x->fixed = base.fixed;
        x->shape = merge_shapes(f, x->shape, m->values[u.value].shape);
        const struct ir_shape *order = &m->shapes[x->order];
        if (x->order && order->rank != m->shapes[x->shape].rank)
            x->order = 0;
    }
}

int facts_build(struct facts *f, const struct walk *w, const uint8_t *is_param, struct diag *d)
{
    *f = (struct facts){.w = w, .is_param = is_param, .d = d};
    const struct ir_model *m = w->m;
    f->of = calloc(w->n_slots ? w->n_slots : 1, sizeof *f->of);
    op_fn *fns = calloc(m->n_ops ? m->n_ops : 1, sizeof *fns);
    if (f->of && fns) {
        for (uint32_t i = 0; i < m->n_ops; i++)
            fns[i] = find_op(&m->ops[i]);
        for (uint32_t i = 0; i < w->n_steps; i++)
            visit(f, w->steps[i], fns[m->nodes[w->steps[i].node].op]);
    }
    bool ok = f->of && fns;
    free(fns);
    return ok ? 0 : IR_EMEM;
}

void facts_free(struct facts *f)
{
    free(f->of);
    free(f->ints);
    *f = (struct facts){0};
}
