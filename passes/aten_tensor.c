#include "passes/aten_tensor.h"

void tensor_set_contiguous(struct tensor *t)
{
    int64_t stride = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        t->stride[i] = stride;
        if (t->size[i] > 1 && __builtin_mul_overflow(stride, t->size[i], &stride))
            stride = INT64_MAX;
    }
}

bool tensor_load(struct tensor *t, const struct ir_model *m, uint32_t value)
{
    if (value == IR_NONE || m->values[value].shape == IR_SHAPE_UNKNOWN)
        return false;
    const struct ir_shape *s = ir_shape_of(m, value);
    const struct ir_layout *l = m->layouts ? &m->layouts[value] : NULL;
    *t = (struct tensor){
        .value = value, .rank = s->rank, .known = l && l->known, .grad = l && l->requires_grad};
    for (uint32_t i = 0; i < t->rank; i++)
        t->dim[i] = t->size[i] = s->dims[i];
    if (!l || !l->known) {
        tensor_set_contiguous(t);
        return true;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        t->size[i] = m->shapes[l->sizes].dims[i];
        t->stride[i] = m->shapes[l->strides].dims[i];
    }
    return true;
}

bool tensor_is_empty(const struct tensor *t)
{
    bool empty = false;
    for (uint32_t i = 0; i < t->rank; i++)
        empty |= t->size[i] == 0;
    return empty;
}

bool tensor_is_contiguous(const struct tensor *t)
{
    int64_t expect = 1;
    if (!t->known || tensor_is_empty(t))
        return true;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->size[i] == 1)
            continue;
        if (t->stride[i] != expect || __builtin_mul_overflow(expect, t->size[i], &expect))
            return false;
    }
    return true;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

struct tensor tensor_transpose(struct tensor t)
{
    if (t.rank < 2)
        return t;
    uint32_t i = t.rank - 2;
    swap(&t.dim[i], &t.dim[i + 1]);
    swap(&t.size[i], &t.size[i + 1]);
    swap(&t.stride[i], &t.stride[i + 1]);
    t.transposed = !t.transposed;
    return t;
}

struct tensor tensor_squeeze_first(struct tensor t)
{
    t.rank--;
    memmove(t.dim, t.dim + 1, t.rank * sizeof *t.dim);
    memmove(t.size, t.size + 1, t.rank * sizeof *t.size);
    memmove(t.stride, t.stride + 1, t.rank * sizeof *t.stride);
    return t;
}

/* Dimensions from the slowest to the fastest: by stride, then as they stand. */
static void memory_order(const struct tensor *t, uint32_t order[IR_RANK_MAX])
{
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t at = i;
        while (at > 0 && t->stride[order[at - 1]] < t->stride[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

struct tensor tensor_autocast(struct tensor t, const struct ir_model *m, const struct ir_graph *g)
{
    uint8_t dtype = m->values[t.value].dtype, want = g->autocast;
    bool floating = dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16;
    if (!want || !floating || dtype == want)
        return t;
    uint32_t order[IR_RANK_MAX] = {0};
    int64_t stride = 1;
    memory_order(&t, order);
    for (uint32_t i = t.rank; i-- > 0;) {
        t.stride[order[i]] = stride;
        if (t.size[order[i]] > 1 && __builtin_mul_overflow(stride, t.size[order[i]], &stride))
            stride = INT64_MAX;
    }
    t.grad &= !g->no_grad;
    return t;
}
