#include "passes/fact_node.h"

int64_t *facts_ints_new(struct facts *f, uint32_t n, uint32_t *id)
{
    *id = 0;
    if (n > INTS_MAX || f->n_ints + n + 1 >= UINT32_MAX)
        return NULL;
    if (grow(&f->ints, &f->cap_ints, f->n_ints + n + 1, sizeof *f->ints) != 0) {
        f->no_memory = true;
        return NULL;
    }
    f->ints[f->n_ints] = n;
    *id = (uint32_t)f->n_ints + 1;
    f->n_ints += n + 1;
    return f->ints + *id;
}

const int64_t *facts_ints(const struct facts *f, struct fact x, uint32_t *n)
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

bool node_list(const struct node_facts *k, const char *attr, uint32_t input, int64_t out[INTS_MAX],
               uint32_t *n)
{
    struct ir_attr a;
    struct use u = walk_input(k->f->w, k->s, input);
    *n = 0;
    if (u.value == IR_NONE) {
        if (walk_attr(k->f->w, k->s, attr, &a) != 1 || a.kind != IR_ATTR_INTS || !a.ints_known)
            return false;
        *n = a.n_ints;
        memcpy(out, a.ints, a.n_ints * sizeof *out);
        return true;
    }
    uint32_t count;
    struct fact x = facts_get(k->f, u);
    const int64_t *v = facts_ints(k->f, x, &count);
    if (!v || !ints_complete(v, count))
        return false;
    *n = count;
    memcpy(out, v, count * sizeof *out);
    return true;
}

bool node_has_list(const struct node_facts *k, const char *attr, uint32_t input)
{
    struct ir_attr a;
    return walk_input(k->f->w, k->s, input).value != IR_NONE || walk_attr(k->f->w, k->s, attr, &a) == 1;
}

const struct ir_shape *node_shape(const struct node_facts *k, uint32_t i)
{
    return &k->f->w->m->shapes[i < 3 ? k->in[i].shape : IR_SHAPE_UNKNOWN];
}

bool node_known(const struct node_facts *k, uint32_t i)
{
    return i < 3 && i < k->n_in && k->in[i].shape != IR_SHAPE_UNKNOWN;
}

uint32_t facts_intern(const struct facts *f, uint32_t rank, const int64_t *dims)
{
    if (rank > IR_RANK_MAX)
        return IR_SHAPE_UNKNOWN;
    uint32_t id = ir_shape_intern(f->w->m, rank, dims);
    return id == IR_NONE ? IR_SHAPE_UNKNOWN : id;
}

void node_set_shape(struct node_facts *k, uint32_t rank, const int64_t *dims)
{
    const struct ir_shape *stated = &k->f->w->m->shapes[k->stated];
    bool same = k->stated != IR_SHAPE_UNKNOWN && stated->rank == rank &&
                (rank == 0 || memcmp(stated->dims, dims, rank * sizeof *dims) == 0);
    k->out->shape = same ? k->stated : facts_intern(k->f, rank, dims);
}

void node_set_rank(struct node_facts *k, uint32_t rank)
{
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < rank && i < IR_RANK_MAX; i++)
        dims[i] = IR_DIM_UNKNOWN;
    node_set_shape(k, rank, dims);
}

int64_t axis_in_rank(int64_t axis, uint32_t rank)
{
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? axis : -1;
}

int64_t broadcast_dim(int64_t a, int64_t b)
{
    if (a == 1)
        return b;
    if (b == 1 || a == b)
        return a;
    return a == IR_DIM_UNKNOWN ? b : a; /* one unknown: the other, unless it is 1 (above) */
}

uint32_t broadcast_shapes(const struct facts *f, uint32_t x, uint32_t y)
{
    if (x == y || x == IR_SHAPE_UNKNOWN || y == IR_SHAPE_UNKNOWN)
        return x == y ? x : IR_SHAPE_UNKNOWN;
    const struct ir_shape *a = &f->w->m->shapes[x], *b = &f->w->m->shapes[y];
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[IR_RANK_MAX];
    bool is_x = a->rank == rank, is_y = b->rank == rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t p = i + a->rank >= rank ? a->dims[i + a->rank - rank] : 1;
        int64_t q = i + b->rank >= rank ? b->dims[i + b->rank - rank] : 1;
        dims[i] = broadcast_dim(p, q);
        is_x &= dims[i] == p;
        is_y &= dims[i] == q;
    }
    return is_x ? x : is_y ? y : facts_intern(f, rank, dims);
}

void order_of(const struct facts *f, struct fact x, uint32_t rank, int64_t *order)
{
    const struct ir_shape *o = &f->w->m->shapes[x.order];
    for (uint32_t i = 0; i < rank; i++)
        order[i] = x.order && o->rank == rank ? o->dims[i] : (int64_t)i;
}

uint32_t order_intern(const struct facts *f, uint32_t rank, const int64_t *order)
{
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != (int64_t)i)
            return facts_intern(f, rank, order);
    return 0;
}

void node_keep_order(struct node_facts *k, struct fact from)
{
    k->out->order = from.order;
    k->out->guessed = from.guessed;
}

int64_t clamp_index(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}
