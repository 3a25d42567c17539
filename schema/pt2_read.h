/* A torch.export archive (.pt2) → the IR of ir/ir.h.
 *
 * The archive is a zip file that holds one or more programs as JSON. Only its directory, the programs
 * and their lists of weights are read; weights are never touched and nothing is ever unpickled. Two layouts:
 *
 *     serialized_exported_program.json               torch ≤ 2.7: one program (perhaps in a folder)
 *     STEM/models/NAME.json, STEM/archive_format     torch ≥ 2.8: programs by name
 *
 * What becomes what. Operator torch.ops.aten.linear.default is domain "torch", type "aten.linear.default";
 * what is not under torch.ops (_operator.mul) has domain "python". Operands are the tensor arguments in
 * order, lists flattened; other arguments are attributes, decoded on demand by name, or by position as "#0"
 * and so on (higher-order operators name none). A parameter's, buffer's or constant's value is named by its
 * FQN, not by the graph's argument name; parameters that are tied to one FQN are one value. A package lists
 * its weights: those that the graph does not use are parameters as well. A node's name is its "name", else
 * that of its first output. Values that are no tensors (symbolic sizes, tokens, objects) are left out.
 *
 * Graphs. Each program's main graph is of kind IR_GRAPH_MAIN, graphs[0] that of the first; nested graphs (of
 * cond, map_impl, wrap_with_set_grad_enabled, ...) follow their program's main graph, breadth first. A nested
 * graph's input that is the same tensor as an operand of the operator that calls it is not a value of its
 * own: inside, its name stands for the outer value. Those that differ (the slices that map walks over, what a
 * loop carries) are inputs, with `from` in their layout.
 *
 * Metadata. m->meta holds the members of graph_module.metadata.custom of the first program; if it has no such
 * metadata, those of its first node's metadata.custom that begin with PT2_TAG. A node's metadata by key: its
 * own entries, then the members of its "custom".
 *
 * Offsets. m->bytes is the archive. m->segs[i] is where program i's text lies in it, so ir_node_seg() tells a
 * node's program. A node's span is its JSON object, when the program is stored, as torch writes it; of a
 * compressed program, which can be read but not tagged, it is the whole member. pt2_text() gives a node's
 * JSON. */
#ifndef SACTAG_SCHEMA_PT2_READ_H
#define SACTAG_SCHEMA_PT2_READ_H

#include "ir/ir.h"
#include "schema/zip_dir.h"

/* Bounds on what a hostile file can make us do; 0 stands for the default. Memory is bounded by the limit that
 * the model was initialised with; the tokens of a program, freed when it is read, by the same again. */
struct pt2_limits {
    uint32_t max_depth; /* graphs nested in graphs */
    uint64_t max_nodes; /* in all graphs */
};
#define PT2_MAX_DEPTH 64
#define PT2_MAX_NODES UINT64_C(50000000)

/* A compressed program may unpack to this many times its size, plus the base: JSON of graphs repeats itself,
 * so real ones come near 40. */
#define PT2_MAX_RATIO 128
#define PT2_MAX_BASE  (UINT64_C(16) << 20)

#define PT2_TAG "sac." /* what keys of our tags begin with */

/* One program of the archive. */
struct pt2_program {
    struct str name; /* "model"; empty in the flat layout */
    uint32_t member; /* number in zip.members */
    struct str text; /* its JSON */
    bool stored;     /* text lies in the archive as it is */
    uint32_t graph;  /* its main graph */
    struct str meta; /* the object graph_module.metadata in text; absent in programs of torch ≤ 2.4 */
};

/* m->reader of a model whose format is IR_PT2: what the writer needs. */
struct pt2 {
    struct zip_dir zip;
    struct pt2_program *programs;
    uint32_t n_programs;
    struct ir_span *unpacked; /* per node of compressed programs: its place in the program's text */
};

/* Is it a zip archive, by its first bytes? (No ONNX model starts like that.) */
bool pt2_looks_like(const uint8_t *bytes, uint64_t size);

/* Fills m, which ir_model_init() made; `bytes` must live as long as m. limits may be NULL. 0, or
 * IR_EINPUT: not a torch.export archive, malformed, over a limit; the message says what and where.
 * IR_EMEM: memory ran out.
 * After an error m may only be freed. Linear in the size of directory and programs; no recursion. */
int pt2_read(struct ir_model *m, const uint8_t *bytes, uint64_t size, const struct pt2_limits *limits,
             struct diag *d);

static inline const struct pt2 *pt2_of(const struct ir_model *m)
{
    return m->reader;
}

/* A node's JSON. */
struct str pt2_text(const struct ir_model *m, uint32_t node);

#endif
