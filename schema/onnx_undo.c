/* What gives way to tags, and what an earlier run's record of that may say. */
#include "schema/onnx_writer.h"

struct str onnx_key_of(struct str body)
{
    struct wire w = wire_over((const uint8_t *)body.s, body.n);
    struct wire_field f;
    struct str key = {0}, value;
    int rc;
    if (wire_pair(&key, &value, body))
        return key;
    key = (struct str){0};
    while ((rc = wire_next(&w, &f)) == 1)
        if (wire_is_len(&f, ONNX_ENTRY_KEY))
            key = wire_str(&f);
    if (rc)
        key.n = 0;
    return key;
}

_Static_assert((int)ONNX_ENTRY_KEY == (int)ONNX_ATTR_NAME, "onnx_key_of() reads both");

bool onnx_gives_way(uint32_t number, struct str body)
{
    struct wire w = wire_over((const uint8_t *)body.s, body.n);
    struct wire_field f;
    int rc;
    if (number != ONNX_NODE_ATTRIBUTE)
        return true;
    while ((rc = wire_next(&w, &f)) == 1) {
        switch (f.number) {
        case ONNX_ATTR_T:
        case ONNX_ATTR_G:
        case ONNX_ATTR_TENSORS:
        case ONNX_ATTR_GRAPHS:
        case ONNX_ATTR_SPARSE_TENSOR:
        case ONNX_ATTR_SPARSE_TENSORS:
            return false;
        default:
            break;
        }
    }
    return rc == 0;
}

bool onnx_undo_owns(const struct onnx_undo *u, const struct wire_field *f)
{
    if (!wire_is_len(f, u->attributes ? ONNX_NODE_ATTRIBUTE : ONNX_NODE_METADATA_PROPS) || !u->n_keys)
        return false;
    struct str key = onnx_key_of(wire_str(f));
    for (uint32_t i = 0; i < u->n_keys; i++)
        if (str_eq(key, u->keys[i]))
            return true;
    return false;
}

/* Reads bytes that should be one field and nothing else. */
static bool one_field(struct wire_field *f, struct str bytes)
{
    struct wire w = wire_over((const uint8_t *)bytes.s, bytes.n);
    return wire_next(&w, f) == 1 && w.at == w.end;
}

struct str onnx_entry_value(struct str field)
{
    struct wire_field f;
    struct str value = {0};
    if (!one_field(&f, field) || f.type != WIRE_LEN)
        return value;
    struct wire w = wire_into(&f);
    while (wire_next(&w, &f) == 1)
        if (wire_is_len(&f, ONNX_ENTRY_VALUE))
            value = wire_str(&f);
    return value;
}

static bool field_ok(const struct onnx_undo *u, const struct onnx_field *x, const char *model_key)
{
    struct wire_field f;
    if (!one_field(&f, x->bytes))
        return false;
    if (x->node == ANNOT_MODEL)
        return wire_is_len(&f, ONNX_MODEL_METADATA_PROPS) && str_is(onnx_key_of(wire_str(&f)), model_key);
    return onnx_undo_owns(u, &f) && onnx_gives_way(f.number, wire_str(&f));
}

/* Fields in order, those of nodes on nodes that are tagged. */
static bool fields_ok(const struct onnx_undo *u, const char *model_key)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < u->n_fields; i++) {
        const struct onnx_field *x = &u->fields[i], *last = i ? x - 1 : NULL;
        if (last && (x->node < last->node || (x->node == last->node && x->index <= last->index)))
            return false;
        while (n < u->n_nodes && u->nodes[n] < x->node)
            n++;
        if (x->node != ANNOT_MODEL && (n == u->n_nodes || u->nodes[n] != x->node))
            return false;
        if (!field_ok(u, x, model_key))
            return false;
    }
    return true;
}

bool onnx_undo_ok(const struct onnx_undo *u, const char *model_key)
{
    struct wire_field f;
    for (uint32_t i = 0; i < u->n_nodes; i++)
        if (u->nodes[i] >= u->of || (i && u->nodes[i] <= u->nodes[i - 1]))
            return false;
    for (uint32_t i = 0; i < u->n_widths; i++)
        if (u->widths[i].width < 2 || u->widths[i].width > SPLICE_PREFIX_MAX)
            return false;
    if (u->ir_version && u->ir_version_was.n &&
        (!one_field(&f, u->ir_version_was) || !wire_is_varint(&f, ONNX_MODEL_IR_VERSION)))
        return false;
    return fields_ok(u, model_key);
}
