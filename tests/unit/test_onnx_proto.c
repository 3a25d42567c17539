/* The schema: that it is what the format says, and what the hand-written walkers take it for. */
#include "schema/onnx.pb-c.h"
#include "schema/onnx_fields.h"

#include "tests/unit/onnx_build.h"

struct expected {
    const ProtobufCMessageDescriptor *message;
    const char *field;
    unsigned number;
    ProtobufCType type;
    bool repeated;
};

#define INT64  PROTOBUF_C_TYPE_INT64
#define INT32  PROTOBUF_C_TYPE_INT32
#define STRING PROTOBUF_C_TYPE_STRING
#define BYTES  PROTOBUF_C_TYPE_BYTES
#define SUB    PROTOBUF_C_TYPE_MESSAGE
#define ENUM   PROTOBUF_C_TYPE_ENUM
#define FLOAT  PROTOBUF_C_TYPE_FLOAT

static void check(const struct expected *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(e[i].message, e[i].field);
        cr_assert_not_null(f, "%s has no field %s", e[i].message->name, e[i].field);
        cr_assert_eq(f->id, e[i].number, "%s.%s", e[i].message->name, e[i].field);
        cr_assert_eq(f->type, e[i].type, "%s.%s", e[i].message->name, e[i].field);
        cr_assert_eq(f->label == PROTOBUF_C_LABEL_REPEATED, e[i].repeated, "%s.%s", e[i].message->name,
                     e[i].field);
    }
}

Test(onnx_proto, numbers_that_the_reader_uses)
{
    const ProtobufCMessageDescriptor *model = &onnx__model_proto__descriptor,
                                     *graph = &onnx__graph_proto__descriptor,
                                     *node = &onnx__node_proto__descriptor,
                                     *attr = &onnx__attribute_proto__descriptor,
                                     *tensor = &onnx__tensor_proto__descriptor,
                                     *function = &onnx__function_proto__descriptor,
                                     *type = &onnx__type_proto__descriptor,
                                     *sparse = &onnx__sparse_tensor_proto__descriptor;
    const struct expected e[] = {
        {model, "ir_version", ONNX_MODEL_IR_VERSION, INT64, false},
        {model, "producer_name", ONNX_MODEL_PRODUCER_NAME, STRING, false},
        {model, "producer_version", ONNX_MODEL_PRODUCER_VERSION, STRING, false},
        {model, "graph", ONNX_MODEL_GRAPH, SUB, false},
        {model, "opset_import", ONNX_MODEL_OPSET_IMPORT, SUB, true},
        {model, "metadata_props", ONNX_MODEL_METADATA_PROPS, SUB, true},
        {model, "training_info", ONNX_MODEL_TRAINING_INFO, SUB, true},
        {model, "functions", ONNX_MODEL_FUNCTIONS, SUB, true},
        {graph, "node", ONNX_GRAPH_NODE, SUB, true},
        {graph, "name", ONNX_GRAPH_NAME, STRING, false},
        {graph, "initializer", ONNX_GRAPH_INITIALIZER, SUB, true},
        {graph, "input", ONNX_GRAPH_INPUT, SUB, true},
        {graph, "output", ONNX_GRAPH_OUTPUT, SUB, true},
        {graph, "value_info", ONNX_GRAPH_VALUE_INFO, SUB, true},
        {graph, "sparse_initializer", ONNX_GRAPH_SPARSE_INITIALIZER, SUB, true},
        {node, "input", ONNX_NODE_INPUT, STRING, true},
        {node, "output", ONNX_NODE_OUTPUT, STRING, true},
        {node, "name", ONNX_NODE_NAME, STRING, false},
        {node, "op_type", ONNX_NODE_OP_TYPE, STRING, false},
        {node, "attribute", ONNX_NODE_ATTRIBUTE, SUB, true},
        {node, "domain", ONNX_NODE_DOMAIN, STRING, false},
        {node, "overload", ONNX_NODE_OVERLOAD, STRING, false},
        {node, "metadata_props", ONNX_NODE_METADATA_PROPS, SUB, true},
        {attr, "name", ONNX_ATTR_NAME, STRING, false},
        {attr, "f", ONNX_ATTR_F, FLOAT, false},
        {attr, "i", ONNX_ATTR_I, INT64, false},
        {attr, "s", ONNX_ATTR_S, BYTES, false},
        {attr, "t", ONNX_ATTR_T, SUB, false},
        {attr, "g", ONNX_ATTR_G, SUB, false},
        {attr, "floats", ONNX_ATTR_FLOATS, FLOAT, true},
        {attr, "ints", ONNX_ATTR_INTS, INT64, true},
        {attr, "strings", ONNX_ATTR_STRINGS, BYTES, true},
        {attr, "tensors", ONNX_ATTR_TENSORS, SUB, true},
        {attr, "graphs", ONNX_ATTR_GRAPHS, SUB, true},
        {attr, "type", ONNX_ATTR_TYPE, ENUM, false},
        {attr, "ref_attr_name", ONNX_ATTR_REF_ATTR_NAME, STRING, false},
        {attr, "sparse_tensor", ONNX_ATTR_SPARSE_TENSOR, SUB, false},
        {attr, "sparse_tensors", ONNX_ATTR_SPARSE_TENSORS, SUB, true},
        {tensor, "dims", ONNX_TENSOR_DIMS, INT64, true},
        {tensor, "data_type", ONNX_TENSOR_DATA_TYPE, INT32, false},
        {tensor, "float_data", ONNX_TENSOR_FLOAT_DATA, FLOAT, true},
        {tensor, "int32_data", ONNX_TENSOR_INT32_DATA, INT32, true},
        {tensor, "string_data", ONNX_TENSOR_STRING_DATA, BYTES, true},
        {tensor, "int64_data", ONNX_TENSOR_INT64_DATA, INT64, true},
        {tensor, "name", ONNX_TENSOR_NAME, STRING, false},
        {tensor, "raw_data", ONNX_TENSOR_RAW_DATA, BYTES, false},
        {tensor, "double_data", ONNX_TENSOR_DOUBLE_DATA, PROTOBUF_C_TYPE_DOUBLE, true},
        {tensor, "uint64_data", ONNX_TENSOR_UINT64_DATA, PROTOBUF_C_TYPE_UINT64, true},
        {tensor, "external_data", ONNX_TENSOR_EXTERNAL_DATA, SUB, true},
        {tensor, "data_location", ONNX_TENSOR_DATA_LOCATION, ENUM, false},
        {function, "name", ONNX_FUNCTION_NAME, STRING, false},
        {function, "input", ONNX_FUNCTION_INPUT, STRING, true},
        {function, "output", ONNX_FUNCTION_OUTPUT, STRING, true},
        {function, "attribute", ONNX_FUNCTION_ATTRIBUTE, STRING, true},
        {function, "node", ONNX_FUNCTION_NODE, SUB, true},
        {function, "domain", ONNX_FUNCTION_DOMAIN, STRING, false},
        {function, "attribute_proto", ONNX_FUNCTION_ATTRIBUTE_PROTO, SUB, true},
        {function, "value_info", ONNX_FUNCTION_VALUE_INFO, SUB, true},
        {function, "overload", ONNX_FUNCTION_OVERLOAD, STRING, false},
        {type, "tensor_type", ONNX_TYPE_TENSOR, SUB, false},
        {type, "sequence_type", ONNX_TYPE_SEQUENCE, SUB, false},
        {type, "map_type", ONNX_TYPE_MAP, SUB, false},
        {type, "opaque_type", ONNX_TYPE_OPAQUE, SUB, false},
        {type, "sparse_tensor_type", ONNX_TYPE_SPARSE_TENSOR, SUB, false},
        {type, "optional_type", ONNX_TYPE_OPTIONAL, SUB, false},
        {sparse, "values", ONNX_SPARSE_VALUES, SUB, false},
        {sparse, "indices", ONNX_SPARSE_INDICES, SUB, false},
        {sparse, "dims", ONNX_SPARSE_DIMS, INT64, true},
    };
    check(e, sizeof e / sizeof *e);
}

Test(onnx_proto, numbers_of_later_versions)
{
    const struct expected e[] = {
        {&onnx__model_proto__descriptor, "configuration", 26, SUB, true},
        {&onnx__node_proto__descriptor, "device_configurations", 10, SUB, true},
        {&onnx__node_device_configuration_proto__descriptor, "pipeline_stage", 3, INT32, false},
        {&onnx__sharding_spec_proto__descriptor, "sharded_dim", 4, SUB, true},
        {&onnx__sharding_spec_proto__descriptor, "index_to_device_group_map", 3, SUB, true},
        {&onnx__simple_sharded_dim_proto__descriptor, "num_shards", 3, INT64, false},
        {&onnx__int_int_list_entry_proto__descriptor, "value", 2, INT64, true},
        {&onnx__device_configuration_proto__descriptor, "num_devices", 2, INT32, false},
        {&onnx__graph_proto__descriptor, "metadata_props", 16, SUB, true},
        {&onnx__tensor_proto__descriptor, "metadata_props", 16, SUB, true},
        {&onnx__function_proto__descriptor, "metadata_props", 14, SUB, true},
        {&onnx__value_info_proto__descriptor, "metadata_props", 4, SUB, true},
    };
    check(e, sizeof e / sizeof *e);
    cr_assert_eq(ONNX__TENSOR_PROTO__DATA_TYPE__INT2, 26);
    cr_assert_eq(ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E8M0, 24);
    cr_assert_eq(ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT4E2M1, 23);
    cr_assert_eq(ONNX__VERSION__IR_VERSION, 13);
}

/* What protobuf-c writes, we read. */
Test(onnx_proto, a_packed_model_is_read)
{
    Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    Onnx__ValueInfoProto x = ONNX__VALUE_INFO_PROTO__INIT;
    Onnx__TensorProto w = ONNX__TENSOR_PROTO__INIT;
    Onnx__AttributeProto attr = ONNX__ATTRIBUTE_PROTO__INIT;
    Onnx__NodeProto gemm = ONNX__NODE_PROTO__INIT;
    Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    char *in[] = {(char[]){"x"}, (char[]){"w"}}, *out[] = {(char[]){"y"}};
    int64_t dims[] = {16, 32};
    float data[512] = {0};
    tensor.has_elem_type = 1, tensor.elem_type = 1;
    type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE, type.tensor_type = &tensor;
    x.name = in[0], x.type = &type;
    w.name = in[1], w.n_dims = 2, w.dims = dims, w.has_data_type = 1, w.data_type = 1;
    w.n_float_data = 512, w.float_data = data;
    attr.name = (char[]){"transB"}, attr.has_i = 1, attr.i = 1, attr.has_type = 1;
    attr.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    gemm.n_input = 2, gemm.input = in, gemm.n_output = 1, gemm.output = out, gemm.op_type = (char[]){"Gemm"};
    gemm.n_attribute = 1, gemm.attribute = (Onnx__AttributeProto *[]){&attr};
    graph.n_node = 1, graph.node = (Onnx__NodeProto *[]){&gemm};
    graph.n_initializer = 1, graph.initializer = (Onnx__TensorProto *[]){&w};
    graph.n_input = 1, graph.input = (Onnx__ValueInfoProto *[]){&x};
    opset.has_version = 1, opset.version = 17;
    entry.key = (char[]){"k"}, entry.value = (char[]){"v"};
    model.has_ir_version = 1, model.ir_version = 8, model.graph = &graph;
    model.n_opset_import = 1, model.opset_import = (Onnx__OperatorSetIdProto *[]){&opset};
    model.n_metadata_props = 1, model.metadata_props = (Onnx__StringStringEntryProto *[]){&entry};

    struct pb bytes = {malloc(onnx__model_proto__get_packed_size(&model)), 0};
    cr_assert_not_null(bytes.b);
    bytes.n = onnx__model_proto__pack(&model, bytes.b);
    struct reading r;
    struct ir_attr a;
    read_bytes(&r, bytes);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(ir_opset(&r.m, ""), 17);
    cr_assert(str_is(ir_meta(&r.m, "k")->value, "v"));
    cr_assert_eq(operand(&r, 0, 0), r.m.graphs[0].inputs[0]);
    cr_assert_eq(operand(&r, 0, 1), r.m.params[0].value);
    cr_assert_eq(ir_shape_of(&r.m, operand(&r, 0, 1))->dims[1], 32);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "transB", &a), 1);
    cr_assert(a.kind == IR_ATTR_INT && a.i == 1);
    reading_free(&r);
}
