/* Decoding on demand: what passes ask of a node or a parameter. */
#include "schema/onnx_reader.h"

int onnx_entry_walk(struct str *key, struct str *value, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    if (wire_pair(key, value, body))
        return 0;
    *key = *value = (struct str){0};
    while ((rc = wire_next(&w, &f)) == 1) {
        if (wire_is_len(&f, ONNX_ENTRY_KEY))
            *key = wire_str(&f);
        else if (wire_is_len(&f, ONNX_ENTRY_VALUE))
            *value = wire_str(&f);
    }
    *bad = w.at;
    return rc;
}

/* Reports that a node's record is malformed inside. */
static int bad_node(struct ir_model *m, uint32_t node, const char *field, int error, const uint8_t *bad)
{
    struct str name = ir_node_name(m, &m->nodes[node]);
    uint64_t offset = bad ? (uint64_t)(bad - m->bytes) : m->nodes[node].off;
    return diag_error_at(m->diag, IR_EINPUT, NULL, field, offset, "node %u '%.*s': %s",
                         ir_node_index(m, node), STR_ARG(name), wire_error_text(error));
}

/* Bounds the time that long records take which are asked for again and again. */
static int spend(struct ir_model *m, uint64_t fields)
{
    struct onnx_work *work = m->reader;
    if (fields <= ONNX_LONG_RECORD)
        return 0;
    work->spent += fields;
    if (work->spent <= work->max)
        return 0;
    return diag_error(m->diag, IR_EINPUT,
                      "attributes and constants that are long and used often take too much work");
}

/* ---- attributes */

/* The scalar and text fields of an AttributeProto, and which others are there. */
struct attr_fields {
    struct str body; /* all of it */
    struct str name, s, ref;
    int64_t i, type;
    double f;
    uint32_t seen;   /* bit n: field n */
    uint64_t fields; /* walked to find it */
};

static double float_of(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

static int attr_fields_walk(struct attr_fields *a, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    *a = (struct attr_fields){.body = body};
    while ((rc = wire_next(&w, &f)) == 1) {
        a->fields++;
        if (f.number < 32)
            a->seen |= UINT32_C(1) << f.number;
        if (f.type == WIRE_LEN && f.number == ONNX_ATTR_NAME)
            a->name = wire_str(&f);
        else if (f.type == WIRE_LEN && f.number == ONNX_ATTR_S)
            a->s = wire_str(&f);
        else if (f.type == WIRE_LEN && f.number == ONNX_ATTR_REF_ATTR_NAME)
            a->ref = wire_str(&f);
        else if (f.type == WIRE_VARINT && f.number == ONNX_ATTR_I)
            a->i = (int64_t)f.value;
        else if (f.type == WIRE_VARINT && f.number == ONNX_ATTR_TYPE)
            a->type = (int32_t)f.value;
        else if (f.type == WIRE_I32 && f.number == ONNX_ATTR_F)
            a->f = float_of(f.value);
    }
    *bad = w.at;
    return rc;
}

/* By `type` when it is set, else by the field that is there (IR version 1 had no `type`). */
static enum ir_attr_kind attr_kind(const struct attr_fields *a)
{
    static const struct {
        int64_t type;
        uint32_t field;
        enum ir_attr_kind kind;
    } table[] = {
        {ONNX_ATTR_IS_FLOAT, ONNX_ATTR_F, IR_ATTR_FLOAT},
        {ONNX_ATTR_IS_INT, ONNX_ATTR_I, IR_ATTR_INT},
        {ONNX_ATTR_IS_STRING, ONNX_ATTR_S, IR_ATTR_STR},
        {ONNX_ATTR_IS_TENSOR, ONNX_ATTR_T, IR_ATTR_TENSOR},
        {ONNX_ATTR_IS_GRAPH, ONNX_ATTR_G, IR_ATTR_GRAPH},
        {ONNX_ATTR_IS_INTS, ONNX_ATTR_INTS, IR_ATTR_INTS},
        {ONNX_ATTR_IS_GRAPHS, ONNX_ATTR_GRAPHS, IR_ATTR_GRAPH},
    };
    if (a->ref.n)
        return IR_ATTR_REF;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (a->type ? a->type == table[k].type : (a->seen >> table[k].field & 1) != 0)
            return table[k].kind;
    return IR_ATTR_OTHER;
}

static int attr_ints(struct ir_attr *out, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    out->ints_known = true;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (f.number != ONNX_ATTR_INTS)
            continue;
        struct wire_ints it = wire_ints(&f);
        uint64_t v;
        *bad = f.start;
        while ((rc = wire_ints_next(&it, &v)) == 1 && out->n_ints < IR_INTS_MAX)
            out->ints[out->n_ints++] = (int64_t)v;
        if (rc < 0)
            return rc;
        if (rc == 1) { /* one more than there is room for */
            out->ints_known = false;
            return 0;
        }
    }
    *bad = w.at;
    return rc;
}

/* Header and small integer contents of the attribute's tensor, whose occurrences merge. 0 or an enum
 * wire_error; out->shape is IR_NONE when memory is exhausted. */
static int attr_tensor(struct ir_model *m, struct ir_attr *out, struct attr_fields *a, const uint8_t **bad)
{
    struct onnx_tensor t;
    struct onnx_elements e = {.n = 0};
    struct wire_field f;
    onnx_tensor_init(&t);
    for (int pass = 0; pass < 2; pass++) { /* elements are read once the type is known */
        struct wire w = onnx_wire(a->body);
        while (wire_next(&w, &f) == 1) {
            if (!wire_is_len(&f, ONNX_ATTR_T))
                continue;
            int rc = pass ? onnx_elements_walk(&e, &t, wire_str(&f), bad)
                          : onnx_tensor_walk(&t, m, wire_str(&f), bad);
            if (rc)
                return rc;
        }
    }
    a->fields += 2 * t.fields;
    out->dtype = onnx_tensor_dtype(&t);
    out->shape = onnx_tensor_shape(&t, m);
    if (out->shape == IR_NONE)
        return 0;
    out->ints_known = onnx_elements_done(&e, &t);
    out->n_ints = out->ints_known ? e.n : 0;
    memcpy(out->ints, e.v, out->n_ints * sizeof *e.v);
    return 0;
}

static void attr_init(struct ir_attr *out)
{
    out->kind = IR_ATTR_OTHER;
    out->i = 0;
    out->f = 0;
    out->s = (struct str){0};
    out->n_ints = 0;
    out->ints_known = false;
    out->shape = IR_SHAPE_UNKNOWN;
    out->dtype = 0;
}

/* The attribute whose fields are `a`; its lists and tensors are still to be read. */
static int attr_decode(struct ir_model *m, uint32_t node, struct ir_attr *out, struct attr_fields *a)
{
    const uint8_t *bad = NULL;
    int rc = 0;
    attr_init(out);
    out->kind = attr_kind(a);
    out->i = a->i;
    out->f = a->f;
    out->s = out->kind == IR_ATTR_REF ? a->ref : a->s;
    if (out->kind == IR_ATTR_INTS)
        rc = attr_ints(out, a->body, &bad);
    else if (out->kind == IR_ATTR_TENSOR)
        rc = attr_tensor(m, out, a, &bad);
    if (out->shape == IR_NONE)
        return diag_nomem(m->diag);
    if (rc)
        return bad_node(m, node, "attribute", rc, bad);
    rc = spend(m, a->fields);
    return rc ? rc : 1;
}

/* The part of a node's record where its attributes lie. */
static struct str attrs_of(const struct ir_model *m, const struct ir_node *n)
{
    struct str record = ir_span_bytes(m, ir_node_span(n));
    if (n->attrs_end != ONNX_FAR)
        record.n = n->attrs_end;
    return str_sub(record, n->attrs_at, record.n - n->attrs_at);
}

static int find_attr(struct ir_model *m, uint32_t node, struct str attrs, const char *name,
                     struct ir_attr *out)
{
    struct wire w = onnx_wire(attrs);
    struct wire_field f;
    struct attr_fields found = {0}; /* of the last one of that name, which wins */
    struct str wanted = str_of(name);
    const uint8_t *bad = NULL;
    uint64_t fields = 0;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        struct attr_fields a;
        fields++;
        if (!wire_is_len(&f, ONNX_NODE_ATTRIBUTE))
            continue;
        int error = attr_fields_walk(&a, wire_str(&f), &bad);
        if (error)
            return bad_node(m, node, "attribute", error, bad);
        fields += a.fields;
        if (str_eq(a.name, wanted))
            found = a;
    }
    if (rc)
        return bad_node(m, node, NULL, rc, w.at);
    found.fields = fields;
    return found.body.s ? attr_decode(m, node, out, &found) : spend(m, fields);
}

static int source_attr(struct ir_model *m, uint32_t node, const char *name, struct ir_attr *out)
{
    struct onnx_work *work = m->reader;
    struct str attrs = attrs_of(m, &m->nodes[node]);
    bool found;
    if (onnx_memo_get(&work->memo, attrs, name, &found, out))
        return found;
    int rc = find_attr(m, node, attrs, name, out);
    if (rc >= 0)
        onnx_memo_put(&work->memo, attrs, name, rc ? out : NULL);
    return rc;
}

/* ---- metadata */

static int source_meta(struct ir_model *m, uint32_t node, const char *key, struct str *out)
{
    struct wire w = onnx_wire(ir_span_bytes(m, ir_node_span(&m->nodes[node])));
    struct wire_field f;
    struct str wanted = str_of(key);
    uint64_t fields = 0;
    int rc, found = 0;
    while ((rc = wire_next(&w, &f)) == 1) {
        struct str k, v;
        const uint8_t *bad = NULL;
        fields++;
        if (!wire_is_len(&f, ONNX_NODE_METADATA_PROPS))
            continue;
        int error = onnx_entry_walk(&k, &v, wire_str(&f), &bad);
        if (error)
            return bad_node(m, node, "metadata_props", error, bad);
        if (str_eq(k, wanted)) {
            *out = v;
            found = 1;
        }
    }
    if (rc)
        return bad_node(m, node, NULL, rc, w.at);
    rc = spend(m, fields);
    return rc ? rc : found;
}

/* ---- constants */

/* What is known of the value without reading the tensor again: few elements of an integer type? */
static bool may_be_ints(const struct ir_model *m, const struct ir_param *p)
{
    const struct ir_value *v = &m->values[p->value];
    const struct ir_shape *s = &m->shapes[v->shape];
    return onnx_dtype_is_integer(v->dtype) && onnx_count(s->rank, s->dims) <= IR_INTS_MAX;
}

static int source_param_ints(struct ir_model *m, uint32_t param, int64_t *out, uint32_t *n)
{
    const struct ir_param *p = &m->params[param];
    struct str body = ir_span_bytes(m, p->span);
    struct onnx_tensor t;
    struct onnx_elements e = {.n = 0};
    const uint8_t *bad = NULL;
    if (p->sparse || p->external || !may_be_ints(m, p))
        return 0;
    onnx_tensor_init(&t);
    int rc = onnx_tensor_walk(&t, m, body, &bad);
    if (rc == 0)
        rc = onnx_elements_walk(&e, &t, body, &bad);
    if (rc)
        return diag_error_at(m->diag, IR_EINPUT, NULL, NULL, bad ? (uint64_t)(bad - m->bytes) : p->span.off,
                             "initializer '%.*s': %s", STR_ARG(t.name), wire_error_text(rc));
    if ((rc = spend(m, 2 * t.fields)) != 0)
        return rc;
    if (!onnx_elements_done(&e, &t))
        return 0;
    memcpy(out, e.v, e.n * sizeof *out);
    *n = e.n;
    return 1;
}

const struct ir_source onnx_source = {
    .attr = source_attr, .meta = source_meta, .param_ints = source_param_ints};
