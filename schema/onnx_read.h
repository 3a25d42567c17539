/* An ONNX model's bytes → the IR of ir/ir.h.
 *
 * Walks Model → Graph → Node itself. What is read of a node: its names and operands, the keys of its
 * attributes, and of its metadata the lists of scopes and classes that passes ask of every node. Tensor data
 * are skipped by length: no byte of a weight is touched. The rest is decoded when a pass asks (m->source).
 * Text stays where it lies in `bytes`, but for short ones that passes read again and again.
 *
 * Order of things in the model. graphs[0] is the main graph, then come the functions in file order, then
 * nested graphs breadth first, so that the nodes of one graph, and the graphs nested directly in one graph,
 * are neighbours. m->segs holds one record for each occurrence of the model's graph field and for each
 * function; for a nested graph the node that holds it, the attribute, and each occurrence of the graph field.
 *
 * Names. A value's name means what is defined in the graph itself, else in the graphs around it (wherever the
 * definition stands); a function sees only its own. Two definitions of one name in one graph are an error.
 * Domain "ai.onnx" is read as "".
 *
 * m->data: bodies of raw_data, string_data and of packed float_data, int32_data, ... of all tensors anywhere,
 * training_info included, ascending; not those of at most ONNX_SMALL_INTS bytes in tensors of integer type,
 * nor empty ones. (An element of a list that is not packed has no body and is no data field here.)
 * m->external: TensorProtos with data_location EXTERNAL. */
#ifndef SACTAG_SCHEMA_ONNX_READ_H
#define SACTAG_SCHEMA_ONNX_READ_H

#include "ir/ir.h"

/* Bounds on what a hostile file can make us do; 0 stands for the default. Memory is bounded by the limit that
 * the model was initialised with, to which all arrays are charged at their capacity. */
struct onnx_limits {
    uint32_t max_depth; /* graphs nested in graphs: passes keep a frame for each level */
    uint64_t max_nodes; /* in all graphs; node ids have 32 bits */
    uint64_t max_work; /* fields walked on demand (m->source) in records of more than ONNX_LONG_RECORD: a node
                          in a function is asked for its attributes at each call, however long it is */
    bool or_plan;      /* what is no model might have been meant for a plan file: the error says so */
};
#define ONNX_MAX_DEPTH 64
#define ONNX_MAX_NODES UINT64_C(50000000)
#define ONNX_MAX_WORK  UINT64_C(1000000000)

#define ONNX_LONG_RECORD 256
#define ONNX_SMALL_INTS  256

/* Fills m, which ir_model_init() made; `bytes` must live as long as m. limits may be NULL. 0, or
 * IR_EINPUT: no ONNX model, malformed, not SSA, over a limit; the message says what and where.
 * IR_EMEM: memory ran out.
 * After an error m may only be freed. Linear in size; no recursion. */
int onnx_read(struct ir_model *m, const uint8_t *bytes, uint64_t size, const struct onnx_limits *limits,
              struct diag *d);

#endif
