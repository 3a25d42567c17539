/* Facts of operators that PyTorch runs as views, or that change what dimensions mean. */
#include "passes/fact_node.h"

void op_identity(struct node_facts *k)
{
    k->out->shape = k->in[0].shape;
    k->out->ints = k->in[0].ints;
    k->out->gaps = k->in[0].gaps;
    k->out->expanded = k->in[0].expanded;
    node_keep_order(k, k->in[0]);
}

/* A slice along `axis` leaves gaps unless every slower dimension has one element. */
static void slice_layout(struct node_facts *k, int64_t axis)
{
    struct fact in = k->in[0];
    uint32_t rank = node_shape(k, 0)->rank;
    int64_t order[IR_RANK_MAX];
    k->out->order = in.order;
    k->out->gaps = in.gaps;
    k->out->guessed = in.guessed;
    order_of(k->f, in, rank, order);
    for (uint32_t i = 0; i < rank && order[i] != axis; i++)
        if (node_shape(k, 0)->dims[order[i]] != 1)
            k->out->gaps = true;
}

void op_transpose(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    struct ir_attr a;
    bool given = walk_attr(w, k->s, "perm", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known;
    if (!node_known(k, 0)) {
        if (given)
            node_set_rank(k, a.n_ints);
        return;
    }
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
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
    node_set_shape(k, rank, dims);
    k->out->order = order_intern(k->f, rank, order);
    k->out->gaps = k->in[0].gaps;
    k->out->guessed = true; /* a .contiguous() after it leaves no trace in the file */
}

/* Dims of both sides of a reshape with numbers for those that are not known: the i-th one of the input is
 * taken for the i-th one of the output. False if there are not as many, or the elements are not. */
static bool number_dims(const struct ir_shape *x, int64_t *from, uint32_t n, int64_t *to)
{
    static const int64_t primes[] = {10007, 10009, 10037, 10039};
    const uint32_t n_primes = sizeof primes / sizeof *primes;
    uint32_t a = 0, b = 0;
    int64_t total = 1, product = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        from[i] = x->dims[i] >= 0 ? x->dims[i] : primes[a++ % n_primes];
        if (from[i] == 0 || __builtin_mul_overflow(total, from[i], &total))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        to[i] = to[i] >= 0 ? to[i] : primes[b++ % n_primes];
        if (to[i] == 0 || __builtin_mul_overflow(product, to[i], &product))
            return false;
    }
    return a == b && a <= n_primes && total == product;
}

/* The strides that PyTorch's view() gives to a dense tensor, or false where reshape() must copy: a dim is
 * split as it lies, and dims are merged that lie next to each other. */
static bool view_strides(const int64_t *from, const int64_t *stride, uint32_t rank, const int64_t *to,
                         uint32_t n, int64_t *out)
{
    uint32_t left = n;
    int64_t base = stride[rank - 1], old = 1, made = 1;
    for (uint32_t d = rank; d-- > 0;) {
        old *= from[d];
        if (d > 0 && (from[d - 1] == 1 || stride[d - 1] == old * base))
            continue;
        while (left > 0 && (made < old || to[left - 1] == 1)) {
            out[--left] = made * base;
            made *= to[left];
        }
        if (made != old)
            return false;
        if (d > 0)
            base = stride[d - 1], old = made = 1;
    }
    return left == 0;
}

/* A reshape that merges only what lies together is a view. */
static void view_layout(struct node_facts *k, uint32_t n, const int64_t *dims)
{
    const struct ir_shape *x = node_shape(k, 0);
    int64_t order[IR_RANK_MAX], from[IR_RANK_MAX], to[IR_RANK_MAX], out[IR_RANK_MAX], size = 1;
    int64_t stride[IR_RANK_MAX] = {0};
    if (!node_known(k, 0) || x->rank == 0 || k->in[0].gaps || fact_contiguous(k->f, k->in[0]))
        return;
    memcpy(to, dims, n * sizeof *to);
    if (!number_dims(x, from, n, to))
        return;
    order_of(k->f, k->in[0], x->rank, order);
    for (uint32_t i = x->rank; i-- > 0;) {
        stride[order[i]] = size;
        size *= from[order[i]];
    }
    if (!view_strides(from, stride, x->rank, to, n, out))
        return;
    for (uint32_t i = 0; i < n; i++) { /* slowest first */
        uint32_t at = i;
        for (; at > 0 && out[order[at - 1]] < out[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    k->out->order = order_intern(k->f, n, order);
}

/* The shape that a Reshape asks for; false when it is not known. */
static bool wanted_shape(const struct node_facts *k, int64_t want[INTS_MAX], uint32_t *n)
{
    struct ir_attr a;
    if (k->n_in < 2 && walk_attr(k->f->w, k->s, "shape", &a) == 1 && a.kind == IR_ATTR_INTS && a.ints_known) {
        *n = a.n_ints;
        memcpy(want, a.ints, *n * sizeof *want);
        return true;
    }
    const int64_t *v = k->n_in > 1 ? facts_ints(k->f, k->in[1], n) : NULL;
    if (v)
        memcpy(want, v, *n * sizeof *want);
    return v != NULL;
}

/* A 0 keeps the input's dim (known or not, it is the same on both sides), a -1 what the others leave. */
static void reshape_dims(const struct node_facts *k, const int64_t *want, uint32_t n, int64_t *dims)
{
    const struct ir_shape *x = node_shape(k, 0);
    int64_t rest = -1, product = 1, total = 1; /* of dims that are not kept: 0 and -1 when not known */
    bool kept[IR_RANK_MAX] = {false};
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = want[i] < 0 ? IR_DIM_UNKNOWN : want[i];
        if (want[i] == 0 && walk_attr_int(k->f->w, k->s, "allowzero", 0) == 0) {
            kept[i] = i < x->rank;
            dims[i] = kept[i] ? x->dims[i] : IR_DIM_UNKNOWN;
        }
        if (want[i] == -1)
            rest = i;
        else if (!kept[i] && (dims[i] < 0 || __builtin_mul_overflow(product, dims[i], &product)))
            product = 0;
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (!kept[i] && total >= 0 && (x->dims[i] < 0 || __builtin_mul_overflow(total, x->dims[i], &total)))
            total = -1;
    if (rest >= 0 && node_known(k, 0) && total >= 0 && product > 0)
        dims[rest] = total / product;
}

void op_reshape(struct node_facts *k)
{
    int64_t want[INTS_MAX], dims[IR_RANK_MAX];
    uint32_t n = 0;
    bool wanted = wanted_shape(k, want, &n);
    k->out->guessed = k->in[0].guessed && !fact_contiguous(k->f, k->in[0]);
    if (!wanted && node_known(k, 1) && node_shape(k, 1)->rank == 1 && node_shape(k, 1)->dims[0] >= 0 &&
        node_shape(k, 1)->dims[0] <= IR_RANK_MAX)
        node_set_rank(k, (uint32_t)node_shape(k, 1)->dims[0]);
    if (!wanted || n > IR_RANK_MAX)
        return;
    reshape_dims(k, want, n, dims);
    view_layout(k, n, dims);
    node_set_shape(k, n, dims);
    if (k->in[0].ints)
        k->out->ints = k->in[0].ints;
}

void op_unsqueeze(struct node_facts *k)
{
    int64_t axes[INTS_MAX], dims[IR_RANK_MAX], order[IR_RANK_MAX], from[IR_RANK_MAX];
    uint32_t n;
    k->out->ints = k->in[0].ints;
    if (!node_known(k, 0) || !node_list(k, "axes", 1, axes, &n) || node_shape(k, 0)->rank + n > IR_RANK_MAX)
        return;
    uint32_t rank = node_shape(k, 0)->rank + n, at = 0;
    bool added[IR_RANK_MAX] = {false};
    for (uint32_t i = 0; i < n; i++) {
        int64_t a = axis_in_rank(axes[i], rank);
        if (a < 0)
            return;
        added[a] = true;
    }
    int64_t where[IR_RANK_MAX] = {0};
    for (uint32_t i = 0; i < rank; i++) {
        if (!added[i] && at < node_shape(k, 0)->rank)
            where[at] = i;
        dims[i] = added[i] || at >= node_shape(k, 0)->rank ? 1 : node_shape(k, 0)->dims[at++];
    }
    node_set_shape(k, rank, dims);
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
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
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
    node_set_shape(k, rank, dims);
    k->out->order = order_intern(k->f, rank, order);
    k->out->gaps = k->in[0].gaps;
    k->out->guessed = k->in[0].guessed;
}

void op_squeeze(struct node_facts *k)
{
    int64_t axes[INTS_MAX];
    uint32_t n;
    bool gone[IR_RANK_MAX] = {false};
    k->out->ints = k->in[0].ints;
    if (!node_known(k, 0))
        return;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    if (node_list(k, "axes", 1, axes, &n)) {
        for (uint32_t i = 0; i < n; i++) {
            int64_t a = axis_in_rank(axes[i], x->rank);
            if (a < 0)
                return;
            gone[a] = true;
        }
    } else if (node_has_list(k, "axes", 1)) {
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
        start = clamp_index(start, 0, dim), end = clamp_index(end, 0, dim);
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    start = clamp_index(start, -1, dim - 1), end = clamp_index(end, -1, dim - 1);
    return start > end ? (start - end - 1) / -step + 1 : 0;
}

static void slice_ints(struct node_facts *k, int64_t start, int64_t end, int64_t step)
{
    uint32_t n, id;
    if (!facts_ints(k->f, k->in[0], &n))
        return;
    int64_t count = slice_count(n, start, end, step);
    if (count < 0 || count > INTS_MAX)
        return;
    int64_t *out = facts_ints_new(k->f, (uint32_t)count, &id);
    if (!out)
        return;
    const int64_t *v = facts_ints(k->f, k->in[0], &n);
    int64_t at = start < 0 ? start + n : start;
    at = step > 0 ? clamp_index(at, 0, n) : clamp_index(at, -1, (int64_t)n - 1);
    for (int64_t i = 0; i < count; i++, at += step)
        out[i] = v[at];
    k->out->ints = id;
}

/* What a Slice takes of each axis, as far as the file tells. */
struct slices {
    int64_t starts[INTS_MAX], ends[INTS_MAX], axes[INTS_MAX], steps[INTS_MAX];
    uint32_t n_ends; /* starts and ends */
    uint32_t n;      /* axes that are cut */
    bool known;      /* where they are cut is known */
    bool anywhere;   /* which axes are cut is not: any may be */
};

static void read_slices(const struct node_facts *k, struct slices *c)
{
    uint32_t n_ends = 0, n_axes, n_steps;
    bool ends = node_list(k, "starts", 1, c->starts, &c->n_ends) &&
                node_list(k, "ends", 2, c->ends, &n_ends) && n_ends == c->n_ends;
    bool axes = node_list(k, "axes", 3, c->axes, &n_axes),
         steps = node_list(k, "steps", 4, c->steps, &n_steps);
    c->known =
        ends && (!axes || n_axes == n_ends) && (steps ? n_steps == n_ends : !node_has_list(k, "steps", 4));
    c->anywhere = !axes && (!c->known || node_has_list(k, "axes", 3));
    c->n = axes ? n_axes : c->anywhere ? 0 : n_ends;
    for (uint32_t i = 0; !axes && i < c->n; i++)
        c->axes[i] = i;
    uint32_t n = c->n > c->n_ends ? c->n : c->n_ends;
    for (uint32_t i = 0; !(steps && n_steps == n) && i < n; i++)
        c->steps[i] = 1;
}

/* What the i-th cut leaves of axis a, and what it does to the layout. */
static void cut_axis(struct node_facts *k, const struct slices *c, uint32_t i, int64_t a, int64_t *left)
{
    int64_t dim = node_shape(k, 0)->dims[a], step = c->steps[i];
    bool whole = c->known && step == 1 && c->starts[i] == 0 &&
                 (c->ends[i] >= INT32_MAX || (dim >= 0 && c->ends[i] >= dim));
    if (whole)
        return;
    *left = c->known ? slice_count(dim, c->starts[i], c->ends[i], step) : IR_DIM_UNKNOWN;
    if (step < 0) { /* flip(), which copies: PyTorch's slices only go forwards */
        k->out->gaps = false;
        return;
    }
    slice_layout(k, a);
    if (step != 1)
        k->out->gaps = true;
}

void op_slice(struct node_facts *k)
{
    struct slices c;
    int64_t dims[IR_RANK_MAX];
    if (!node_known(k, 0))
        return;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    node_keep_order(k, k->in[0]);
    k->out->gaps = k->in[0].gaps;
    read_slices(k, &c);
    for (uint32_t i = 0; c.anywhere && i < x->rank; i++)
        dims[i] = IR_DIM_UNKNOWN;
    if (c.anywhere)
        k->out->gaps = k->out->guessed = true;
    for (uint32_t i = 0; i < c.n; i++) {
        int64_t a = axis_in_rank(c.axes[i], x->rank);
        if (a < 0)
            return;
        cut_axis(k, &c, i, a, &dims[a]);
    }
    node_set_shape(k, x->rank, dims);
    if (c.known && x->rank == 1 && c.n_ends == 1)
        slice_ints(k, c.starts[0], c.ends[0], c.steps[0]);
}

void op_gather(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    if (!node_known(k, 0) || !node_known(k, 1))
        return;
    const struct ir_shape shape = *node_shape(k, 0), index = *node_shape(k, 1), *x = &shape, *ix = &index;
    int64_t a = axis_in_rank(walk_attr_int(w, k->s, "axis", 0), x->rank);
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
        node_set_shape(k, n, dims);
    }
    const int64_t *v = facts_ints(k->f, k->in[0], &count), *p = facts_ints(k->f, k->in[1], &picks);
    if (!v || !p || x->rank != 1)
        return;
    int64_t *out = facts_ints_new(k->f, picks, &id);
    if (!out)
        return;
    v = facts_ints(k->f, k->in[0], &count), p = facts_ints(k->f, k->in[1], &picks);
    for (uint32_t i = 0; i < picks; i++) {
        int64_t at = p[i] == FACT_INT_UNKNOWN ? -1 : axis_in_rank(p[i], count);
        out[i] = at < 0 ? FACT_INT_UNKNOWN : v[at];
    }
    k->out->ints = id;
}

void op_expand(struct node_facts *k)
{
    uint32_t n;
    const int64_t *v = k->n_in > 1 ? facts_ints(k->f, k->in[1], &n) : NULL;
    k->out->gaps = k->out->expanded = true;
    if (v && n <= IR_RANK_MAX && node_known(k, 0)) {
        int64_t dims[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            dims[i] = v[i] < 0 ? IR_DIM_UNKNOWN : v[i];
        k->out->shape = broadcast_shapes(k->f, k->in[0].shape, facts_intern(k->f, n, dims));
        if (k->out->shape == k->in[0].shape)
            op_identity(k);
    } else if (node_known(k, 1) && node_known(k, 0) && node_shape(k, 1)->rank == 1 &&
               node_shape(k, 1)->dims[0] >= 0 && node_shape(k, 1)->dims[0] <= IR_RANK_MAX) {
        uint32_t r = (uint32_t)node_shape(k, 1)->dims[0];
        node_set_rank(k, r > node_shape(k, 0)->rank ? r : node_shape(k, 0)->rank);
    }
}

/* Every output of Split is a slice along its axis. */
void op_split(struct node_facts *k)
{
    if (!node_known(k, 0))
        return;
    const struct walk *w = k->f->w;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    const struct ir_node *node = &w->m->nodes[k->s.node];
    int64_t a = axis_in_rank(walk_attr_int(w, k->s, "axis", 0), x->rank), sizes[INTS_MAX], dims[IR_RANK_MAX];
    uint32_t n;
    if (a < 0)
        return;
    bool listed = node_list(k, "split", 1, sizes, &n), given = listed && n == ir_node_n_out(node);
    bool equal = !listed && !node_has_list(k, "split", 1);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (ir_node_n_out(node) > 1)
        slice_layout(k, a);
    struct fact layout = *k->out;
    for (uint32_t i = 0; i < ir_node_n_out(node); i++) {
        struct use u = walk_output(w, k->s, i);
        if (u.value == IR_NONE)
            continue;
        if (given)
            dims[a] = sizes[i] < 0 ? IR_DIM_UNKNOWN : sizes[i];
        else if (equal && x->dims[a] >= 0)
            dims[a] =
                x->dims[a] % ir_node_n_out(node) == 0 ? x->dims[a] / ir_node_n_out(node) : IR_DIM_UNKNOWN;
        else
            dims[a] = IR_DIM_UNKNOWN;
        struct fact *out = &k->f->of[walk_slot(w, u)];
        *out = layout;
        out->done = true;
        out->shape = facts_intern(k->f, x->rank, dims);
    }
}
