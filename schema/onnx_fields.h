/* Field numbers of onnx.proto, for code that walks messages by hand. */
#ifndef SACTAG_SCHEMA_ONNX_FIELDS_H
#define SACTAG_SCHEMA_ONNX_FIELDS_H

enum onnx_model_field {
    ONNX_MODEL_IR_VERSION = 1,
    ONNX_MODEL_PRODUCER_NAME = 2,
    ONNX_MODEL_PRODUCER_VERSION = 3,
    ONNX_MODEL_GRAPH = 7,
    ONNX_MODEL_OPSET_IMPORT = 8,
    ONNX_MODEL_METADATA_PROPS = 14,
    ONNX_MODEL_TRAINING_INFO = 20,
    ONNX_MODEL_FUNCTIONS = 25
};

enum onnx_training_field { ONNX_TRAINING_INITIALIZATION = 1, ONNX_TRAINING_ALGORITHM = 2 };

enum onnx_opset_field { ONNX_OPSET_DOMAIN = 1, ONNX_OPSET_VERSION = 2 };

/* The metadata that passes ask of every node. */
#define ONNX_SCOPE_KEY "pkg.torch.onnx.name_scopes"
#define ONNX_CLASS_KEY "pkg.torch.onnx.class_hierarchy"

enum onnx_entry_field { ONNX_ENTRY_KEY = 1, ONNX_ENTRY_VALUE = 2 };

enum onnx_function_field {
    ONNX_FUNCTION_NAME = 1,
    ONNX_FUNCTION_INPUT = 4,
    ONNX_FUNCTION_OUTPUT = 5,
    ONNX_FUNCTION_ATTRIBUTE = 6,
    ONNX_FUNCTION_NODE = 7,
    ONNX_FUNCTION_DOMAIN = 10,
    ONNX_FUNCTION_ATTRIBUTE_PROTO = 11,
    ONNX_FUNCTION_VALUE_INFO = 12,
    ONNX_FUNCTION_OVERLOAD = 13
};

enum onnx_graph_field {
    ONNX_GRAPH_NODE = 1,
    ONNX_GRAPH_NAME = 2,
    ONNX_GRAPH_INITIALIZER = 5,
    ONNX_GRAPH_INPUT = 11,
    ONNX_GRAPH_OUTPUT = 12,
    ONNX_GRAPH_VALUE_INFO = 13,
    ONNX_GRAPH_SPARSE_INITIALIZER = 15
};

enum onnx_node_field {
    ONNX_NODE_INPUT = 1,
    ONNX_NODE_OUTPUT = 2,
    ONNX_NODE_NAME = 3,
    ONNX_NODE_OP_TYPE = 4,
    ONNX_NODE_ATTRIBUTE = 5,
    ONNX_NODE_DOMAIN = 7,
    ONNX_NODE_OVERLOAD = 8,
    ONNX_NODE_METADATA_PROPS = 9
};

enum onnx_attr_field {
    ONNX_ATTR_NAME = 1,
    ONNX_ATTR_F = 2,
    ONNX_ATTR_I = 3,
    ONNX_ATTR_S = 4,
    ONNX_ATTR_T = 5,
    ONNX_ATTR_G = 6,
    ONNX_ATTR_FLOATS = 7,
    ONNX_ATTR_INTS = 8,
    ONNX_ATTR_STRINGS = 9,
    ONNX_ATTR_TENSORS = 10,
    ONNX_ATTR_GRAPHS = 11,
    ONNX_ATTR_TYPE = 20,
    ONNX_ATTR_REF_ATTR_NAME = 21,
    ONNX_ATTR_SPARSE_TENSOR = 22,
    ONNX_ATTR_SPARSE_TENSORS = 23
};

/* AttributeProto.type: what an attribute is. */
enum onnx_attr_type {
    ONNX_ATTR_IS_FLOAT = 1,
    ONNX_ATTR_IS_INT = 2,
    ONNX_ATTR_IS_STRING = 3,
    ONNX_ATTR_IS_TENSOR = 4,
    ONNX_ATTR_IS_GRAPH = 5,
    ONNX_ATTR_IS_INTS = 7,
    ONNX_ATTR_IS_GRAPHS = 10
};

enum onnx_value_info_field { ONNX_VALUE_INFO_NAME = 1, ONNX_VALUE_INFO_TYPE = 2 };

enum onnx_tensor_field {
    ONNX_TENSOR_DIMS = 1,
    ONNX_TENSOR_DATA_TYPE = 2,
    ONNX_TENSOR_FLOAT_DATA = 4,
    ONNX_TENSOR_INT32_DATA = 5,
    ONNX_TENSOR_STRING_DATA = 6,
    ONNX_TENSOR_INT64_DATA = 7,
    ONNX_TENSOR_NAME = 8,
    ONNX_TENSOR_RAW_DATA = 9,
    ONNX_TENSOR_DOUBLE_DATA = 10,
    ONNX_TENSOR_UINT64_DATA = 11,
    ONNX_TENSOR_EXTERNAL_DATA = 13,
    ONNX_TENSOR_DATA_LOCATION = 14
};

enum onnx_sparse_field { ONNX_SPARSE_VALUES = 1, ONNX_SPARSE_INDICES = 2, ONNX_SPARSE_DIMS = 3 };

enum onnx_type_field {
    ONNX_TYPE_TENSOR = 1,
    ONNX_TYPE_SEQUENCE = 4,
    ONNX_TYPE_MAP = 5,
    ONNX_TYPE_OPAQUE = 7,
    ONNX_TYPE_SPARSE_TENSOR = 8,
    ONNX_TYPE_OPTIONAL = 9
};

/* Of TypeProto.Tensor and TypeProto.SparseTensor alike. */
enum onnx_tensor_type_field { ONNX_TENSOR_TYPE_ELEM = 1, ONNX_TENSOR_TYPE_SHAPE = 2 };

enum onnx_shape_field { ONNX_SHAPE_DIM = 1 };

enum onnx_dim_field { ONNX_DIM_VALUE = 1, ONNX_DIM_PARAM = 2 };

#endif
