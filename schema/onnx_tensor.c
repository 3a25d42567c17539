/* Tensors: header, and where the data lie. */
#include "schema/onnx_reader.h"

void onnx_tensor_init(struct onnx_tensor *t)
{
    t->name = (struct str){0};
    t->rank = 0;
    t->negative = t->external = false;
    t->n_data = 0;
    t->dtype = 0;
    t->data = (struct ir_span){0};
    t->bytes = t->fields = 0;
}

static int add_dims(struct onnx_tensor *t, const struct wire_field *f)
{
    struct wire_ints it = wire_ints(f);
    uint64_t v;
    int rc;
    while ((rc = wire_ints_next(&it, &v)) == 1) {
        int64_t dim = (int64_t)v;
        t->negative |= dim < 0;
        if (t->rank < IR_RANK_MAX)
            t->dims[t->rank] = dim;
        if (t->rank < UINT32_MAX)
            t->rank++;
        t->fields++;
    }
    return rc;
}

static bool is_data(uint32_t number)
{
    switch (number) {
    case ONNX_TENSOR_FLOAT_DATA:
    case ONNX_TENSOR_INT32_DATA:
    case ONNX_TENSOR_STRING_DATA:
    case ONNX_TENSOR_INT64_DATA:
    case ONNX_TENSOR_RAW_DATA:
    case ONNX_TENSOR_DOUBLE_DATA:
    case ONNX_TENSOR_UINT64_DATA:
        return true;
    default:
        return false;
    }
}

bool onnx_dtype_is_integer(int64_t dtype)
{
    switch (dtype) {
    case IR_DTYPE_UINT8:
    case IR_DTYPE_INT8:
    case IR_DTYPE_UINT16:
    case IR_DTYPE_INT16:
    case IR_DTYPE_INT32:
    case IR_DTYPE_INT64:
    case IR_DTYPE_BOOL:
    case IR_DTYPE_UINT32:
    case IR_DTYPE_UINT64:
    case IR_DTYPE_UINT4:
    case IR_DTYPE_INT4:
    case IR_DTYPE_UINT2:
    case IR_DTYPE_INT2:
        return true;
    default:
        return false;
    }
}

/* A decimal number, or 0 when it is none or too large: external_data says offsets and lengths in text. */
static uint64_t decimal(struct str s)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(unsigned char)s.s[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return 0;
    }
    return v;
}

static int tensor_field(struct onnx_tensor *t, uint64_t *external_length, const struct ir_model *m,
                        const struct wire_field *f, const uint8_t **bad)
{
    if (f->number == ONNX_TENSOR_DIMS)
        return add_dims(t, f);
    if (wire_is_varint(f, ONNX_TENSOR_DATA_TYPE))
        t->dtype = (int32_t)f->value;
    else if (wire_is_varint(f, ONNX_TENSOR_DATA_LOCATION))
        t->external = f->value == 1;
    if (f->type != WIRE_LEN)
        return 0;
    if (is_data(f->number)) {
        t->data = onnx_span(m, wire_str(f));
        t->bytes += f->len;
        t->n_data += f->len > 0;
    } else if (f->number == ONNX_TENSOR_NAME) {
        t->name = wire_str(f);
    } else if (f->number == ONNX_TENSOR_EXTERNAL_DATA) {
        struct str key, value;
        int rc = onnx_entry_walk(&key, &value, wire_str(f), bad);
        if (rc == 0 && str_is(key, "length"))
            *external_length = decimal(value);
        return rc;
    }
    return 0;
}

int onnx_tensor_walk(struct onnx_tensor *t, const struct ir_model *m, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    uint64_t external_length = 0;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        *bad = f.start;
        t->fields++;
        int error = tensor_field(t, &external_length, m, &f, bad);
        if (error)
            return error;
    }
    *bad = w.at;
    if (t->external)
        t->bytes = external_length;
    return rc;
}

uint8_t onnx_tensor_dtype(const struct onnx_tensor *t)
{
    return t->dtype > 0 && t->dtype <= UINT8_MAX ? (uint8_t)t->dtype : 0;
}

uint32_t onnx_tensor_shape(const struct onnx_tensor *t, struct ir_model *m)
{
    return t->rank > IR_RANK_MAX ? IR_SHAPE_UNKNOWN : ir_shape_intern(m, t->rank, t->dims);
}

/* ---- recording */

static int record_span(struct onnx_reader *r, struct ir_span span)
{
    struct ir_model *m = r->m;
    int rc = onnx_room(r, &m->data, &r->cap_data, m->n_data + 1, sizeof *m->data);
    if (rc == 0)
        m->data[m->n_data++] = span;
    return rc;
}

static int record_data(struct onnx_reader *r, const struct onnx_tensor *t, struct str body)
{
    struct wire w = onnx_wire(body);
    struct wire_len f;
    uint64_t least = onnx_dtype_is_integer(t->dtype) ? ONNX_SMALL_INTS + 1 : 1;
    int rc = 0;
    if (t->n_data == 1 && t->data.len) /* as nearly always */
        return t->data.len < least ? 0 : record_span(r, t->data);
    while (rc == 0 && wire_next_len(&w, &f) == 1)
        if (is_data(f.number) && f.body.n >= least)
            rc = record_span(r, onnx_span(r->m, f.body));
    return rc;
}

int onnx_tensor_record(struct onnx_reader *r, struct onnx_tensor *t, struct str body)
{
    struct ir_model *m = r->m;
    onnx_tensor_init(t);
    int rc = onnx_tensor_walk(t, m, body, &r->bad);
    if (rc)
        return onnx_malformed(r, rc);
    if (t->external) {
        rc = onnx_room(r, &m->external, &r->cap_external, (size_t)m->n_external + 1, sizeof *m->external);
        if (rc)
            return rc;
        m->external[m->n_external++] = onnx_span(m, body);
    }
    return t->n_data ? record_data(r, t, body) : 0;
}

int onnx_sparse_record(struct onnx_reader *r, struct onnx_tensor *t, struct str body)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    struct onnx_tensor part, dense;
    int rc;
    onnx_tensor_init(t);
    onnx_tensor_init(&dense);
    while ((rc = wire_next(&w, &f)) == 1) {
        r->bad = f.start;
        if (f.number == ONNX_SPARSE_DIMS && (rc = add_dims(&dense, &f)) != 0)
            return onnx_malformed(r, rc);
        if (f.type != WIRE_LEN || (f.number != ONNX_SPARSE_VALUES && f.number != ONNX_SPARSE_INDICES))
            continue;
        if ((rc = onnx_tensor_record(r, &part, wire_str(&f))) != 0)
            return rc;
        if (f.number == ONNX_SPARSE_VALUES)
            *t = part;
    }
    if (rc) {
        r->bad = w.at;
        return onnx_malformed(r, rc);
    }
    t->rank = dense.rank;
    t->negative = dense.negative;
    for (uint32_t i = 0; i < dense.rank && i < IR_RANK_MAX; i++)
        t->dims[i] = dense.dims[i];
    return 0;
}

/* ---- graphs that are searched for tensors only */

static int later(struct onnx_reader *r, struct str graph)
{
    int rc = onnx_room(r, &r->todo, &r->cap_todo, (size_t)r->n_todo + 1, sizeof *r->todo);
    if (rc == 0)
        r->todo[r->n_todo++] = graph;
    return rc;
}

int onnx_attr_tensors(struct onnx_reader *r, struct str attr)
{
    struct wire w = onnx_wire(attr);
    struct wire_field f;
    struct onnx_tensor t;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (f.type != WIRE_LEN)
            continue;
        int error = 0;
        switch (f.number) {
        case ONNX_ATTR_T:
        case ONNX_ATTR_TENSORS:
            error = onnx_tensor_record(r, &t, wire_str(&f));
            break;
        case ONNX_ATTR_SPARSE_TENSOR:
        case ONNX_ATTR_SPARSE_TENSORS:
            error = onnx_sparse_record(r, &t, wire_str(&f));
            break;
        case ONNX_ATTR_G:
        case ONNX_ATTR_GRAPHS:
            error = later(r, wire_str(&f));
            break;
        default:
            break;
        }
        if (error)
            return error;
    }
    r->bad = w.at;
    return rc ? onnx_malformed(r, rc) : 0;
}

static int node_tensors(struct onnx_reader *r, struct str node)
{
    struct wire w = onnx_wire(node);
    struct wire_field f;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        int error = wire_is_len(&f, ONNX_NODE_ATTRIBUTE) ? onnx_attr_tensors(r, wire_str(&f)) : 0;
        if (error)
            return error;
    }
    r->bad = w.at;
    return rc ? onnx_malformed(r, rc) : 0;
}

static int one_graph_tensors(struct onnx_reader *r, struct str graph)
{
    struct wire w = onnx_wire(graph);
    struct wire_field f;
    struct onnx_tensor t;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        int error = 0;
        if (wire_is_len(&f, ONNX_GRAPH_NODE))
            error = node_tensors(r, wire_str(&f));
        else if (wire_is_len(&f, ONNX_GRAPH_INITIALIZER))
            error = onnx_tensor_record(r, &t, wire_str(&f));
        else if (wire_is_len(&f, ONNX_GRAPH_SPARSE_INITIALIZER))
            error = onnx_sparse_record(r, &t, wire_str(&f));
        if (error)
            return error;
    }
    r->bad = w.at;
    return rc ? onnx_malformed(r, rc) : 0;
}

int onnx_graph_tensors(struct onnx_reader *r, struct str graph)
{
    int rc = later(r, graph);
    while (rc == 0 && r->n_todo)
        rc = one_graph_tensors(r, r->todo[--r->n_todo]);
    return rc;
}
