/* Types of graph inputs, outputs and value_info. */
#include "schema/onnx_reader.h"

static int dim_walk(int64_t *dim, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    *dim = IR_DIM_UNKNOWN;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (wire_is_varint(&f, ONNX_DIM_VALUE))
            *dim = (int64_t)f.value < 0 ? IR_DIM_UNKNOWN : (int64_t)f.value; /* some exporters write -1 */
        else if (wire_is_len(&f, ONNX_DIM_PARAM))
            *dim = IR_DIM_UNKNOWN;
    }
    *bad = w.at;
    return rc;
}

static int shape_walk(struct onnx_info *info, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    info->has_shape = true;
    while ((rc = wire_next(&w, &f)) == 1) {
        int64_t dim;
        if (!wire_is_len(&f, ONNX_SHAPE_DIM))
            continue;
        int error = dim_walk(&dim, wire_str(&f), bad);
        if (error)
            return error;
        if (info->rank < IR_RANK_MAX)
            info->dims[info->rank] = dim;
        if (info->rank < UINT32_MAX)
            info->rank++;
    }
    *bad = w.at;
    return rc;
}

static int tensor_type_walk(struct onnx_info *info, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (wire_is_varint(&f, ONNX_TENSOR_TYPE_ELEM)) {
            info->dtype = (int32_t)f.value;
        } else if (wire_is_len(&f, ONNX_TENSOR_TYPE_SHAPE)) {
            int error = shape_walk(info, wire_str(&f), bad);
            if (error)
                return error;
        }
    }
    *bad = w.at;
    return rc;
}

/* Members of a oneof: another member clears what was set, the same one adds to it. */
static void choose(struct onnx_info *info, uint32_t kind)
{
    if (info->kind == kind)
        return;
    info->kind = kind;
    info->dtype = 0;
    info->has_shape = false;
    info->rank = 0;
}

static int type_walk(struct onnx_info *info, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (f.type != WIRE_LEN)
            continue;
        int error = 0;
        switch (f.number) {
        case ONNX_TYPE_TENSOR:
        case ONNX_TYPE_SPARSE_TENSOR:
            choose(info, f.number);
            error = tensor_type_walk(info, wire_str(&f), bad);
            break;
        case ONNX_TYPE_SEQUENCE:
        case ONNX_TYPE_MAP:
        case ONNX_TYPE_OPAQUE:
        case ONNX_TYPE_OPTIONAL:
            choose(info, f.number);
            break;
        default:
            break;
        }
        if (error)
            return error;
    }
    *bad = w.at;
    return rc;
}

int onnx_info_walk(struct onnx_info *info, struct str body, const uint8_t **bad)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    info->name = (struct str){0};
    info->kind = info->rank = 0;
    info->dtype = 0;
    info->has_shape = false;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (wire_is_len(&f, ONNX_VALUE_INFO_NAME)) {
            info->name = wire_str(&f);
        } else if (wire_is_len(&f, ONNX_VALUE_INFO_TYPE)) {
            int error = type_walk(info, wire_str(&f), bad);
            if (error)
                return error;
        }
    }
    *bad = w.at;
    return rc;
}
