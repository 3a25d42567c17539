/* The elements of small tensors of integer type: shapes, axes and the like that passes reckon with. */
#include "schema/onnx_reader.h"

/* Size of an element in raw_data, and the list that holds elements otherwise; 0 = not a type that is read. */
static unsigned element_size(int64_t dtype, uint32_t *list)
{
    *list = ONNX_TENSOR_INT32_DATA;
    switch (dtype) {
    case IR_DTYPE_UINT8:
    case IR_DTYPE_INT8:
    case IR_DTYPE_BOOL:
        return 1;
    case IR_DTYPE_UINT16:
    case IR_DTYPE_INT16:
        return 2;
    case IR_DTYPE_INT32:
        return 4;
    case IR_DTYPE_INT64:
        *list = ONNX_TENSOR_INT64_DATA;
        return 8;
    case IR_DTYPE_UINT32:
        *list = ONNX_TENSOR_UINT64_DATA;
        return 4;
    case IR_DTYPE_UINT64:
        *list = ONNX_TENSOR_UINT64_DATA;
        return 8;
    default:
        return 0;
    }
}

static int add_elements(struct onnx_elements *e, const struct wire_field *f)
{
    struct wire_ints it = wire_ints(f);
    uint64_t v;
    int rc;
    while ((rc = wire_ints_next(&it, &v)) == 1) {
        if (e->n == IR_INTS_MAX) {
            e->too_many = true;
            return 0;
        }
        e->v[e->n++] = (int64_t)v;
    }
    return rc;
}

int onnx_elements_walk(struct onnx_elements *e, const struct onnx_tensor *t, struct str body,
                       const uint8_t **bad)
{
    uint32_t list;
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    if (!element_size(t->dtype, &list))
        return 0;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (f.number == list) {
            *bad = f.start;
            int error = add_elements(e, &f);
            if (error)
                return error;
        } else if (wire_is_len(&f, ONNX_TENSOR_RAW_DATA)) {
            e->raw = wire_str(&f);
            e->has_raw = true;
        }
    }
    *bad = w.at;
    return rc;
}

static bool is_signed(int64_t dtype)
{
    return dtype == IR_DTYPE_INT8 || dtype == IR_DTYPE_INT16 || dtype == IR_DTYPE_INT32 ||
           dtype == IR_DTYPE_INT64;
}

static int64_t raw_element(const unsigned char *p, unsigned size, bool sign)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)p[i] << (8 * i);
    if (sign && size < 8 && v >> (8 * size - 1))
        v |= UINT64_MAX << (8 * size);
    return (int64_t)v;
}

uint32_t onnx_count(uint32_t rank, const int64_t *dims)
{
    uint64_t n = 1;
    if (rank > IR_RANK_MAX)
        return IR_INTS_MAX + 1;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] == 0)
            return 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > IR_INTS_MAX)
            return IR_INTS_MAX + 1;
        n *= (uint64_t)dims[i];
        if (n > IR_INTS_MAX)
            return IR_INTS_MAX + 1;
    }
    return (uint32_t)n;
}

bool onnx_elements_done(struct onnx_elements *e, const struct onnx_tensor *t)
{
    uint32_t list, n = t->negative ? IR_INTS_MAX + 1 : onnx_count(t->rank, t->dims);
    unsigned size = element_size(t->dtype, &list);
    if (!size || t->external || n > IR_INTS_MAX)
        return false;
    if (!e->has_raw)
        return !e->too_many && e->n == n;
    if (e->n || e->raw.n != (size_t)n * size)
        return false;
    for (; e->n < n; e->n++)
        e->v[e->n] =
            raw_element((const unsigned char *)e->raw.s + (size_t)e->n * size, size, is_signed(t->dtype));
    return true;
}
