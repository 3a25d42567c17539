/* What the files of the ONNX reader share; nobody else includes this.
 *
 *     onnx_read.c        the model's own fields, and the order of things
 *     onnx_graph.c       graphs and functions: definitions, types, initializers
 *     onnx_node.c        nodes: operands as names, operators, nested graphs
 *     onnx_meta.c        nodes' metadata, as far as passes ask it of every node
 *     onnx_scope.c       operands' names → values
 *     onnx_tensor.c      tensors: header, and where the data lie
 *     onnx_elements.c    elements of small tensors of integer type
 *     onnx_runs.c        how nodes run the graphs in their attributes
 *     onnx_type.c        types of graph inputs, outputs and value_info
 *     onnx_source.c      attributes, metadata and constants on demand
 *     onnx_memo.c        what attributes were found to be
 *     onnx_report.c      memory and messages
 *     onnx_guess.c       what a file that is no model may be */
#ifndef SACTAG_SCHEMA_ONNX_READER_H
#define SACTAG_SCHEMA_ONNX_READER_H

#include "schema/onnx_fields.h"
#include "schema/onnx_memo.h"
#include "schema/onnx_read.h"
#include "schema/wire.h"

/* What is known of a graph while reading. */
struct onnx_graph {
    uint32_t first_seg, last_seg; /* its occurrences, chained by seg_next */
    uint32_t first_child, n_children;
    uint32_t first_value, n_values; /* definitions */
    uint32_t shadowed;              /* onnx_scope.c: so many names were when it was entered */
    uint32_t next_child;            /* onnx_scope.c */
};

/* ir_node.attrs_at and attrs_end: where the node's first attribute begins and its last one ends, counted from
 * the start of its record. attrs_end 0: it has none. */
#define ONNX_FAR UINT16_MAX /* too far for 16 bits */

#define RECENT_OPS     64
#define RECENT_CLASSES 32
#define RECENT_TYPES   64

/* m->reader: what decoding on demand has cost so far, and found. */
struct onnx_work {
    uint64_t spent, max;
    struct onnx_memo memo;
};

/* A name that a node refers to, hashed when it was met. */
struct onnx_ref {
    struct str name;
    uint32_t hash;
};

struct onnx_refs {
    struct onnx_ref *a;
    uint32_t n;
    size_t cap;
};

/* onnx_scope.c: what a name meant outside the graph that has been entered. */
struct onnx_shadowed {
    uint32_t name, value;
};

struct onnx_reader {
    struct ir_model *m;
    struct diag *d;
    uint32_t max_depth;
    uint64_t max_nodes;
    bool or_plan;

    /* Where we are, for messages. */
    uint32_t graph;          /* IR_NONE: at the model's level */
    uint32_t seg;            /* of that graph: the one being walked */
    uint32_t node;           /* node being read, or IR_NONE */
    const char *here;        /* record of the graph being read: a node, an initializer, an input */
    const uint8_t *bad;      /* where the walker stopped */
    struct wire_ahead ahead; /* what of the file is on its way into the cache */

    /* Room in the model's arrays. */
    size_t cap_graphs, cap_nodes, cap_values, cap_operands, cap_params, cap_ops, cap_segs, cap_opsets,
        cap_meta, cap_data, cap_external;
    size_t names_charged;

    struct onnx_graph *graphs; /* beside m->graphs */
    size_t cap_tmp_graphs;
    uint32_t *seg_next; /* beside m->segs */
    size_t cap_seg_next;
    uint32_t n_functions;

    uint32_t *bind; /* name id → value. While graphs are walked: the last definition of that name. */
    size_t cap_bind;
    uint32_t n_bind;

    struct names op_index;           /* key of an operator → op id */
    uint32_t recent_ops[RECENT_OPS]; /* ids */
    char *op_key;                    /* scratch */
    size_t cap_op_key;

    struct names list_index; /* name_scopes up to the last element → number in m->scope_lists, less one */
    struct str last_list;
    uint32_t last_list_id;
    uint32_t n_lists; /* of m->scope_lists */
    size_t cap_lists;
    uint32_t n_kept; /* of m->lists */
    size_t cap_kept;
    struct names class_index; /* class_hierarchy up to the last element → index into m->classes */
    size_t cap_classes;
    struct onnx_class {
        struct str head;
        uint32_t cls;
    } recent_classes[RECENT_CLASSES]; /* the last of those that are alike */

    struct names type_index; /* bytes of a TypeProto → index into types */
    struct onnx_type {
        uint32_t shape;
        uint8_t dtype;
    } * types;
    size_t cap_types;
    struct onnx_recent {
        struct str bytes;
        struct onnx_type type;
    } recent_types[RECENT_TYPES]; /* the last of those that are alike */

    /* Of the graph being walked. */
    uint32_t *inputs, n_inputs;
    size_t cap_inputs;
    uint32_t *outputs, n_outputs; /* name ids */
    size_t cap_outputs;
    struct str *attrs;
    uint32_t n_attrs;
    size_t cap_attrs;
    struct str *infos; /* ValueInfoProtos of names not defined so far */
    uint32_t n_infos;
    size_t cap_infos;
    uint32_t next_info; /* name id that the next value_info may have */

    /* Of the node being walked. */
    struct onnx_refs ins, outs;
    uint32_t last_body, node_seg;
    struct str node_scopes, node_classes; /* its metadata */

    char *text, *text_end; /* room for texts that are kept */

    struct onnx_shadowed *shadowed;
    uint32_t n_shadowed;
    size_t cap_shadowed;

    struct str *todo; /* graphs to be searched for tensors only */
    uint32_t n_todo;
    size_t cap_todo;
};

/* Room for `need` elements; 0 or a negative ir_err (reported). What it takes is charged to the model's memory
 * limit. */
int onnx_room_more(struct onnx_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size);

/* Takes back what was charged for an array that is freed. */
void onnx_uncharge(struct onnx_reader *r, size_t bytes);

static inline int onnx_room(struct onnx_reader *r, void *array_ptr, size_t *cap, size_t need,
                            size_t elem_size)
{
    return need <= *cap ? 0 : onnx_room_more(r, array_ptr, cap, need, elem_size);
}

/* Reports, with the place, that bytes are malformed (an enum wire_error; r->bad says where), that memory ran
 * out or its limit is reached, or what the format says. Return the ir_err. */
int onnx_malformed(struct onnx_reader *r, int wire_error);
int onnx_no_memory(struct onnx_reader *r);
int onnx_fail(struct onnx_reader *r, const uint8_t *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a text to where others of its kind lie. Passes go through such texts again and again: spread over
 * the whole file, each look would wait for memory, and for where its page is. Copies live as long as the
 * model. */
int onnx_keep_text(struct onnx_reader *r, struct str *text);

/* ---- onnx_graph.c */

int onnx_read_graph(struct onnx_reader *r, uint32_t graph);

/* The id of a name, IR_NONE for the empty one. */
int onnx_intern(struct onnx_reader *r, uint32_t *id, const struct onnx_ref *ref);

/* Defines output i of the node being read, IR_NONE if it is omitted; an error when the graph has a definition
 * of that name already. */
int onnx_define_output(struct onnx_reader *r, uint32_t *value, const struct onnx_ref *ref, uint32_t i);

int onnx_new_value(struct onnx_reader *r, uint32_t *value, struct ir_value v);

static inline struct ir_span onnx_span(const struct ir_model *m, struct str s)
{
    return (struct ir_span){(uint64_t)((const uint8_t *)s.s - m->bytes), s.n};
}

static inline struct wire onnx_wire(struct str s)
{
    return wire_over((const uint8_t *)s.s, s.n);
}

/* ---- onnx_node.c */

int onnx_read_node(struct onnx_reader *r, struct str body);
/* Its id; the domain "ai.onnx" becomes the empty one. */
int onnx_intern_op(struct onnx_reader *r, uint32_t *id, struct ir_op *op);
int onnx_new_graph(struct onnx_reader *r, uint32_t *id, struct ir_graph g);
/* One more occurrence of a graph: a segment inside segment `parent`. */
int onnx_new_occurrence(struct onnx_reader *r, uint32_t graph, struct str body, uint32_t parent);

/* ---- onnx_meta.c: 0 or a negative ir_err (reported) */

/* An entry of the node being read; and the end of that node. */
int onnx_note_metadata(struct onnx_reader *r, struct str entry);
int onnx_note_list(struct onnx_reader *r);

/* ---- onnx_tensor.c. The walkers return 0 or an enum wire_error with *bad set, unless said otherwise. */

struct onnx_tensor {
    struct str name;
    uint32_t rank; /* may pass IR_RANK_MAX: then dims holds the first ones only */
    bool negative; /* a dimension below 0 */
    bool external;
    int64_t dims[IR_RANK_MAX];
    int64_t dtype;       /* as it stands there: may be none of enum ir_dtype */
    struct ir_span data; /* the last data field */
    uint64_t n_data;     /* data fields that are not empty */
    uint64_t bytes;      /* in all data fields; of external data, their length */
    uint64_t fields;     /* walked so far, dims included */
};

void onnx_tensor_init(struct onnx_tensor *t);
/* Adds what a TensorProto says: called once for each occurrence when occurrences merge. */
int onnx_tensor_walk(struct onnx_tensor *t, const struct ir_model *m, struct str body, const uint8_t **bad);
bool onnx_dtype_is_integer(int64_t dtype);
/* dtype as an ir_value has it. */
uint8_t onnx_tensor_dtype(const struct onnx_tensor *t);
/* Shape id, IR_NONE when memory is exhausted. */
uint32_t onnx_tensor_shape(const struct onnx_tensor *t, struct ir_model *m);

/* While reading: walks the tensor, and records its data fields and whether they are external. 0 or a negative
 * ir_err (reported), as the three below. */
int onnx_tensor_record(struct onnx_reader *r, struct onnx_tensor *t, struct str body);
/* A sparse tensor: t becomes the values' name and type with the dense dims. */
int onnx_sparse_record(struct onnx_reader *r, struct onnx_tensor *t, struct str body);
/* Tensors in a graph that is not read (training_info, defaults of a function's attributes). */
int onnx_graph_tensors(struct onnx_reader *r, struct str graph);
int onnx_attr_tensors(struct onnx_reader *r, struct str attr);

/* ---- onnx_elements.c */

/* Number of elements that dims say; IR_INTS_MAX + 1 for more than IR_INTS_MAX, and when it cannot be told. */
uint32_t onnx_count(uint32_t rank, const int64_t *dims);

/* Elements of a tensor of integer type, occurrence by occurrence. */
struct onnx_elements {
    int64_t v[IR_INTS_MAX];
    uint32_t n;
    bool too_many;
    struct str raw;
    bool has_raw;
};
int onnx_elements_walk(struct onnx_elements *e, const struct onnx_tensor *t, struct str body,
                       const uint8_t **bad);
/* Are they complete: as many as the shape says? Decodes raw_data. */
bool onnx_elements_done(struct onnx_elements *e, const struct onnx_tensor *t);

/* ---- onnx_type.c */

struct onnx_info {
    struct str name;
    uint32_t kind; /* field number of TypeProto's oneof that is set last, 0 = none */
    int64_t dtype;
    bool has_shape;
    uint32_t rank; /* may pass IR_RANK_MAX */
    int64_t dims[IR_RANK_MAX];
};
/* A ValueInfoProto. 0 or an enum wire_error with *bad set. */
int onnx_info_walk(struct onnx_info *info, struct str body, const uint8_t **bad);

/* ---- onnx_scope.c: 0 or a negative ir_err (reported). */
int onnx_resolve(struct onnx_reader *r);

/* ---- onnx_runs.c: 0 or a negative ir_err (reported). */
int onnx_set_runs(struct ir_model *m);

/* ---- onnx_source.c */
extern const struct ir_source onnx_source;
/* Key and value of a StringStringEntryProto. */
int onnx_entry_walk(struct str *key, struct str *value, struct str body, const uint8_t **bad);

/* ---- onnx_guess.c: "a gzip file", or NULL. */
const char *onnx_guess(const uint8_t *bytes, uint64_t size);

#endif
