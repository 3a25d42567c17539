/* The graph. Every type of the intermediate representation on one page.
 *
 * One model holds all its graphs in flat arrays: graphs, nodes and values are numbered by position, and refer
 * to each other by number (IR_NONE = no such thing). The nodes of one graph are neighbours in `nodes`. Text
 * and tensors stay where they lie in the source; what is decoded seldom (attributes, metadata) is decoded
 * when asked for, through the functions that the reader of the format supplies (struct ir_source). Tensor
 * data is never decoded, but for integer constants of at most IR_INTS_MAX elements when a pass asks for them
 * (shape arithmetic).
 *
 * Ownership: everything belongs to the model and lives until ir_model_free(): `names`, `shapes` and `arena`
 * are freed there; arrays lie in the arena, or are the reader's own and freed by its free_reader. Not
 * thread-safe per model. */
#ifndef SACTAG_IR_IR_H
#define SACTAG_IR_IR_H

#include "ir/arena.h"
#include "ir/diag.h"
#include "ir/names.h"
#include "ir/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IR_NONE        UINT32_MAX
#define IR_RANK_MAX    64 /* numpy's bound; a tensor of higher rank is taken as of unknown rank */
#define IR_DIM_UNKNOWN (-1)
#define IR_INTS_MAX    64                        /* integer constants with more elements are not read */
#define IR_SIZE_MAX    ((UINT64_C(1) << 48) - 1) /* of a source: no file that can be mapped is as long */

enum ir_format { IR_ONNX, IR_PT2 };

/* A run of bytes in the source. */
struct ir_span {
    uint64_t off, len;
};

/* One occurrence of a length-delimited record that encloses nodes: the model's graph field, a node that holds
 * a graph in an attribute, that attribute, a function. A writer patches these lengths. Protobuf merges a
 * field that occurs twice, so one graph may lie in several. */
struct ir_seg {
    struct ir_span span; /* the body, without its length prefix */
    uint32_t parent;     /* segment that encloses this one, IR_NONE for those directly in the model */
};

/* Rank and dims; interned, so equal shapes have equal ids. */
struct ir_shape {
    uint32_t rank;
    const int64_t *dims; /* IR_DIM_UNKNOWN where symbolic or unknown */
};
#define IR_SHAPE_UNKNOWN 0 /* shape id 0: not even the rank is known (a scalar's is: 0) */

/* A kind of node: interned, so nodes of one kind share an id. */
struct ir_op {
    struct str domain;   /* "" for ai.onnx; "torch" for ATen operators of a .pt2 */
    struct str type;     /* "MatMul"; "aten.linear.default" */
    struct str overload; /* "" but for model-local functions that use it */
    uint32_t function;   /* graph id of the model-local function that defines it, or IR_NONE */
};

/* Element types: ONNX's numbers (TensorProto.DataType), for every format. */
enum ir_dtype {
    IR_DTYPE_UNKNOWN = 0,
    IR_DTYPE_FLOAT = 1,
    IR_DTYPE_UINT8 = 2,
    IR_DTYPE_INT8 = 3,
    IR_DTYPE_UINT16 = 4,
    IR_DTYPE_INT16 = 5,
    IR_DTYPE_INT32 = 6,
    IR_DTYPE_INT64 = 7,
    IR_DTYPE_STRING = 8,
    IR_DTYPE_BOOL = 9,
    IR_DTYPE_FLOAT16 = 10,
    IR_DTYPE_DOUBLE = 11,
    IR_DTYPE_UINT32 = 12,
    IR_DTYPE_UINT64 = 13,
    IR_DTYPE_COMPLEX64 = 14,
    IR_DTYPE_COMPLEX128 = 15,
    IR_DTYPE_BFLOAT16 = 16,
    IR_DTYPE_FLOAT8E4M3FN = 17,
    IR_DTYPE_FLOAT8E4M3FNUZ = 18,
    IR_DTYPE_FLOAT8E5M2 = 19,
    IR_DTYPE_FLOAT8E5M2FNUZ = 20,
    IR_DTYPE_UINT4 = 21,
    IR_DTYPE_INT4 = 22,
    IR_DTYPE_FLOAT4E2M1 = 23,
    IR_DTYPE_FLOAT8E8M0 = 24,
    IR_DTYPE_UINT2 = 25,
    IR_DTYPE_INT2 = 26
};

enum ir_value_kind {
    IR_VALUE_UNDEFINED, /* used, but nothing defines it: reported by ir_verify */
    IR_VALUE_NODE,      /* output of a node */
    IR_VALUE_INPUT,     /* graph input, function input, loop variable */
    IR_VALUE_PARAM      /* initializer (dense or sparse), or a parameter / buffer of a .pt2 */
};

struct ir_value {
    uint32_t name;  /* name id */
    uint32_t graph; /* graph that defines it (of the first use, when undefined) */
    uint32_t def;   /* IR_VALUE_NODE: node id. IR_VALUE_INPUT: position. IR_VALUE_PARAM: index into params */
    uint32_t shape; /* shape id: of the initializer; else of value_info or of the graph input/output's type */
    uint8_t kind;   /* enum ir_value_kind */
    uint8_t dtype;  /* enum ir_dtype */
    uint16_t out;   /* IR_VALUE_NODE: which output (65535 = that or more) */
};

/* A parameter's header. */
struct ir_param {
    uint32_t value;
    bool graph_input : 1; /* also listed as a graph input (IR version 3 style, or overridable) */
    bool external : 1;    /* its data lie in another file */
    bool sparse : 1;      /* sparse_initializer: dims are those of the dense tensor */
    bool buffer : 1;      /* .pt2: a buffer or constant, not a parameter */
    bool no_grad : 1;     /* .pt2: requires_grad is false */
    struct ir_span span;  /* the whole TensorProto */
    uint64_t bytes;       /* size of the data as stored (inline or external length), 0 unknown */
};

enum ir_graph_kind { IR_GRAPH_MAIN, IR_GRAPH_BODY, IR_GRAPH_FUNCTION };

/* How a node runs a graph that it holds; the reader of the format tells. */
enum ir_runs {
    IR_RUNS_ONCE,    /* where the node stands; several graphs one after the other */
    IR_RUNS_EITHER,  /* one of the node's graphs runs, which one is told while the program runs */
    IR_RUNS_COUNTED, /* at most as often as the node's first operand says, as long as a condition holds:
                        before the first iteration the second operand, then the graph's first output. Both may
                        be missing. The graph's second input is the condition that let it in */
    IR_RUNS_OVER,    /* once for each slice of an operand: `over`, along `axis` */
    IR_RUNS_WHILE,   /* nobody knows how often */
    IR_RUNS_TEST,    /* before each iteration of the graph that follows, and once after the last */
    IR_RUNS_UNKNOWN  /* the reader does not know the operator */
};

struct ir_graph {
    enum ir_graph_kind kind;
    enum ir_runs runs;    /* BODY */
    uint32_t over;        /* BODY that runs OVER: an operand of its node */
    int32_t axis;         /* ... and of its axes; from the end when negative */
    struct str name;      /* GraphProto.name; function name */
    uint32_t parent_node; /* BODY: node whose attribute holds it */
    uint32_t parent;      /* BODY: that node's graph, which comes before it */
    struct str attr;      /* BODY: that attribute's name ("then_branch", "body") */
    uint32_t attr_index;  /* BODY: which graph of that attribute it is (a list of graphs shares one name) */
    uint32_t next_body;   /* next body of the same node, IR_NONE at the end */
    uint32_t op;          /* FUNCTION: op id that calls it */
    uint32_t depth;       /* nesting: 0 main and functions */
    uint32_t *segs;       /* the segments that directly enclose its nodes, ascending */
    uint32_t n_segs;
    uint32_t first_node, n_nodes;
    uint32_t *inputs, n_inputs;   /* value ids; initializers that are inputs as well are listed too */
    uint32_t *outputs, n_outputs; /* value ids */
    struct str *attr_params;      /* FUNCTION: names of attributes that a call passes (ref_attr_name) */
    uint32_t n_attr_params;
    uint32_t first_param, n_params; /* initializers declared here */
    bool no_grad;                   /* .pt2: runs without gradients (torch.no_grad() stands around it) */
    uint8_t autocast;               /* .pt2: enum ir_dtype that autocast multiplies matrices in; 0 = none */
};

/* As small as can be: there are more of them than of anything else. Its record in the source, its name, its
 * graph and segment, what is nested in it and its counts are asked for through functions. One element more
 * than there are nodes ends the operands of the last. */
struct ir_node {
    uint64_t off : 48, name_at : 16; /* where its record begins; its name, from there */
    uint64_t len : 48, name_len : 16;
    uint32_t op : 31;      /* op id */
    uint32_t has_body : 1; /* graphs are nested in its attributes: model.bodies */
    uint32_t operands;     /* first of its value ids in model.operands; the next node's follow its own */
    uint32_t outputs;      /* first of its outputs there, which follow the inputs */
    /* The reader's own: the part of the record where decoding on demand looks for attributes. */
    uint16_t attrs_at, attrs_end;
};
#define IR_OP_MAX (UINT32_MAX >> 1)

/* name_at of a name that lies farther off, or is longer, than 16 bits say: it is in model.far_names. */
#define IR_NAME_FAR UINT16_MAX

struct ir_far_name {
    uint32_t node;
    struct str name;
};

/* A node with graphs in its attributes. */
struct ir_body {
    uint32_t node, graph; /* the first of them */
};

enum ir_attr_kind {
    IR_ATTR_OTHER,
    IR_ATTR_INT,
    IR_ATTR_FLOAT,
    IR_ATTR_STR,
    IR_ATTR_INTS,
    IR_ATTR_TENSOR,
    IR_ATTR_GRAPH,
    IR_ATTR_REF
};

struct ir_attr {
    enum ir_attr_kind kind;
    int64_t i;
    double f;
    struct str s;    /* STR: the value. REF: name of the function's attribute it stands for */
    uint32_t shape;  /* TENSOR: shape id */
    uint8_t dtype;   /* TENSOR: enum ir_dtype */
    bool ints_known; /* n_ints / ints are complete */
    uint32_t n_ints; /* INTS; also TENSOR of integer type with at most IR_INTS_MAX elements: its elements */
    int64_t ints[IR_INTS_MAX];
};

struct ir_model;

/* What the reader of a format decodes on demand. Each returns 1 (found), 0 (absent) or a negative ir_err
 * (reported). */
struct ir_source {
    int (*attr)(struct ir_model *m, uint32_t node, const char *name, struct ir_attr *out);
    /* Node metadata by key; the last entry of that key wins. Text lives as long as the model. */
    int (*meta)(struct ir_model *m, uint32_t node, const char *key, struct str *out);
    /* Elements of an integer parameter (initializer), at most IR_INTS_MAX. Absent also: too many of them, or
     * external. */
    int (*param_ints)(struct ir_model *m, uint32_t param, int64_t *out, uint32_t *n);
};

/* .pt2: how a tensor lies in memory, which decides the operator that PyTorch runs. Symbolic sizes and strides
 * are here what they were for the exporter's example inputs (IR_DIM_UNKNOWN when it does not say). */
struct ir_layout {
    uint32_t sizes, strides; /* shape ids, of one rank */
    uint32_t from; /* input of a nested graph that walks over, or starts from, this outer value; IR_NONE */
    bool known;    /* sizes and strides are */
    bool requires_grad; /* in training; the file says it of parameters and inputs, the rest follows */
};

struct ir_entry {
    struct str key, value;
    struct ir_span span; /* the entry with its tag and length */
};

/* What exporter metadata say of the first node in the file with a list of scopes. */
struct ir_scope_list {
    uint64_t module; /* the last element but one, a str_ref(); NULL text: the list has none */
    uint32_t cls;    /* of its list of classes: index into model.classes; IR_NONE: it has none */
    uint32_t node;   /* IR_NONE: nothing is known of the list */
};

struct ir_opset {
    struct str domain;
    int64_t version;
};

struct ir_model {
    enum ir_format format;
    const uint8_t *bytes; /* the source, mapped or borrowed; of a .pt2 the whole archive */
    uint64_t size;

    int64_t ir_version; /* 0 when absent */
    struct str producer, producer_version;
    struct ir_opset *opsets;
    uint32_t n_opsets;
    struct ir_entry *meta; /* model metadata_props, in order */
    uint32_t n_meta;

    struct ir_graph *graphs; /* graphs[0] is the main graph; further programs of a .pt2 are main graphs too.
                              * Their nodes stand in the order of graphs */
    uint32_t n_graphs;
    struct ir_node *nodes; /* and one more */
    uint32_t n_nodes;
    struct ir_body *bodies; /* by node */
    uint32_t n_bodies;
    size_t cap_bodies;
    struct ir_far_name *far_names; /* by node */
    uint32_t n_far_names;
    size_t cap_far_names;
    struct ir_value *values;
    uint32_t n_values;
    uint32_t *operands;
    uint32_t n_operands;
    struct ir_param *params;
    uint32_t n_params;
    struct ir_op *ops;
    uint32_t n_ops;
    struct ir_seg *segs;
    uint32_t n_segs;
    struct names names;        /* of values */
    struct ir_layout *layouts; /* per value; NULL unless .pt2 */
    struct str *modules;       /* .pt2: FQN of every module, from module_call_graph */
    uint32_t n_modules;
    bool decomposed; /* .pt2: not torch.export's form for training; was traced without grad */

    struct ir_shape *shapes; /* shapes[0] is the unknown one */
    uint32_t n_shapes;
    size_t cap_shapes;
    struct names shape_index; /* dims bytes → shape id - 1 */

    /* Tensor data fields anywhere in the source, ascending: what the digest leaves out. */
    struct ir_span *data;
    size_t n_data;
    /* TensorProtos whose data lie in another file, ascending: initializers, tensors in attributes, values and
     * indices of sparse tensors. */
    struct ir_span *external;
    uint32_t n_external;

    /* What a reader has noted of each node while its record was at hand, so that no pass goes through all of
     * them again: they lie far apart in memory. */
    bool noted;
    bool gradient_names; /* an output of a node ends in "_grad", or a node's name may be a gradient's */
    /* Per node the number of its list of scopes (name_scopes metadata): lists of one number are equal but for
     * their last element. IR_NONE: it has no list; 0: it has one, to be looked at. NULL: no node has one. */
    uint32_t *scope_lists;
    uint32_t n_scope_lists;      /* numbers are below */
    struct ir_scope_list *lists; /* by number, as far as n_lists */
    uint32_t n_lists;
    struct str *classes; /* of modules, as far as lists tell */
    uint32_t n_classes;

    const struct ir_source *source;
    void *reader; /* the reader's own, in the arena or freed by free_reader */
    void (*free_reader)(struct ir_model *m);
    struct arena arena;
    struct diag *diag; /* where on-demand decoding reports; borrowed */
};

/* memory_limit bounds the arena and what a reader charges to it; 0 = none. When there was no memory even for
 * this, m->shapes is NULL: readers check that and report IR_EMEM. Freeing is right in every case. */
void ir_model_init(struct ir_model *m, struct diag *d, size_t memory_limit);
void ir_model_free(struct ir_model *m);

/* The id of a shape; IR_SHAPE_UNKNOWN when rank > IR_RANK_MAX; IR_NONE when memory is exhausted. */
uint32_t ir_shape_intern(struct ir_model *m, uint32_t rank, const int64_t *dims);

static inline const struct ir_shape *ir_shape_of(const struct ir_model *m, uint32_t value)
{
    return &m->shapes[value == IR_NONE ? IR_SHAPE_UNKNOWN : m->values[value].shape];
}

/* The bytes of a span. */
static inline struct str ir_span_bytes(const struct ir_model *m, struct ir_span s)
{
    return (struct str){(const char *)m->bytes + s.off, (size_t)s.len};
}

/* Does its node run a graph several times? */
static inline bool ir_is_iterated(const struct ir_graph *g)
{
    return g->kind == IR_GRAPH_BODY && (g->runs == IR_RUNS_COUNTED || g->runs == IR_RUNS_OVER ||
                                        g->runs == IR_RUNS_WHILE || g->runs == IR_RUNS_TEST);
}

static inline struct ir_span ir_node_span(const struct ir_node *n)
{
    return (struct ir_span){n->off, n->len};
}

/* Places a node's record, which lies in the source. */
static inline void ir_node_place(struct ir_node *n, struct ir_span span)
{
    n->off = span.off & IR_SIZE_MAX;
    n->len = span.len & IR_SIZE_MAX;
}

/* Names the node with that number, which is placed, and is the last one that has been named so far or comes
 * after it. 0, or -1 when memory or its limit is exhausted. */
int ir_node_set_name(struct ir_model *m, uint32_t node, struct str name);

/* The name of a node whose name_at is IR_NAME_FAR. */
struct str ir_far_name(const struct ir_model *m, uint32_t node);

/* May be empty, and need not be unique. */
static inline struct str ir_node_name(const struct ir_model *m, const struct ir_node *n)
{
    if (n->name_at == IR_NAME_FAR)
        return ir_far_name(m, (uint32_t)(n - m->nodes));
    return n->name_len ? (struct str){(const char *)m->bytes + n->off + n->name_at, n->name_len}
                       : (struct str){NULL, 0};
}

static inline uint32_t ir_node_n_in(const struct ir_node *n)
{
    return n->outputs - n->operands;
}

static inline uint32_t ir_node_n_out(const struct ir_node *n)
{
    return n[1].operands - n->outputs;
}

/* Value ids of a node's i-th input and output; IR_NONE for one that is omitted, or past the last. */
static inline uint32_t ir_node_input(const struct ir_model *m, const struct ir_node *n, uint32_t i)
{
    return i < ir_node_n_in(n) ? m->operands[n->operands + i] : IR_NONE;
}

static inline uint32_t ir_node_output(const struct ir_model *m, const struct ir_node *n, uint32_t i)
{
    return i < ir_node_n_out(n) ? m->operands[n->outputs + i] : IR_NONE;
}

/* The graph that a node belongs to. */
uint32_t ir_find_graph(const struct ir_model *m, uint32_t node);
static inline uint32_t ir_node_graph(const struct ir_model *m, uint32_t node)
{
    return m->n_graphs == 1 ? 0 : ir_find_graph(m, node);
}

/* Says that a graph is the first one nested in node number `node`, which comes after all that this was said
 * of, and is at `n`. 0, or -1 when memory or its limit is exhausted. */
int ir_node_set_body(struct ir_model *m, struct ir_node *n, uint32_t node, uint32_t graph);

/* The first graph nested in a node's attributes, or IR_NONE. */
uint32_t ir_find_body(const struct ir_model *m, uint32_t node);
static inline uint32_t ir_node_body(const struct ir_model *m, const struct ir_node *n)
{
    return n->has_body ? ir_find_body(m, (uint32_t)(n - m->nodes)) : IR_NONE;
}

/* The segment that directly encloses a node. */
uint32_t ir_find_seg(const struct ir_model *m, const struct ir_node *n);
static inline uint32_t ir_node_seg(const struct ir_model *m, const struct ir_node *n)
{
    const struct ir_graph *g = &m->graphs[ir_node_graph(m, (uint32_t)(n - m->nodes))];
    return g->n_segs == 1 ? g->segs[0] : ir_find_seg(m, n);
}

static inline struct str ir_value_name(const struct ir_model *m, uint32_t value)
{
    return value == IR_NONE ? ((struct str){NULL, 0}) : names_text(&m->names, m->values[value].name);
}

/* Does a node's name look like one of backward: "layer/MatMul_Grad/..."? A first, cheap look. */
static inline bool ir_may_be_gradient(struct str name)
{
    return str_chr(name, '/') >= 0 && str_find(name, STR_LIT("rad/")) >= 0;
}

/* What messages call a node: its name, else that of its first output. */
static inline struct str ir_node_label(const struct ir_model *m, const struct ir_node *n)
{
    struct str name = ir_node_name(m, n);
    return name.n ? name : ir_value_name(m, ir_node_output(m, n, 0));
}

/* The node that defines a value, or IR_NONE. */
static inline uint32_t ir_value_node(const struct ir_model *m, uint32_t value)
{
    return value != IR_NONE && m->values[value].kind == IR_VALUE_NODE ? m->values[value].def : IR_NONE;
}

static inline const struct ir_op *ir_node_op(const struct ir_model *m, const struct ir_node *n)
{
    return &m->ops[n->op];
}

/* The type of an aten operator without its overload: "aten.add_" of "aten.add_.Tensor". */
static inline struct str ir_without_overload(struct str type)
{
    ptrdiff_t dot = str_rchr(type, '.');
    return dot > 0 ? str_sub(type, 0, (size_t)dot) : type;
}

/* Position of a node in its own graph's node list: `index` in FORMATS.md. */
static inline uint32_t ir_node_index(const struct ir_model *m, uint32_t node)
{
    return node - m->graphs[ir_node_graph(m, node)].first_node;
}

/* Fetches what will be read of a node's attributes into the cache: nodes lie far apart in the source. */
PREFETCHES ir_node_prefetch(const struct ir_model *m, const struct ir_node *n)
{
    if (n->attrs_end) {
        __builtin_prefetch(m->bytes + n->off + n->attrs_at);
        __builtin_prefetch(m->bytes + n->off + n->attrs_end);
    }
}

/* The model metadata entry of a key (the last, as protobuf maps read), or NULL. */
const struct ir_entry *ir_meta(const struct ir_model *m, const char *key);

/* Opset version of a domain ("" = ai.onnx), or 0. */
int64_t ir_opset(const struct ir_model *m, const char *domain);

/* The `graph` of FORMATS.md for a graph id: "-", "/3:If/then_branch", "fn:domain:name", "program:name" for a
 * further program of a .pt2; components escaped with %2F, %3A and %25. In the model's arena; NULL when memory
 * is exhausted. */
const char *ir_graph_path(struct ir_model *m, uint32_t graph);

/* What must hold of a graph: numbers in range, SSA (each value defined once per scope), operands defined,
 * bodies' parents. 0, or IR_EINPUT with a message that names the value or node: "expected X but found Y".
 * Cycles are found by ir_order(). */
int ir_verify(struct ir_model *m, struct diag *d);

/* Execution order of one graph's nodes: `order` receives n_nodes node ids. File order when that is
 * topological; else Kahn's algorithm with the smallest index first, so the order is stable (*sorted = false
 * then). A node depends on what its nested bodies use from this graph. IR_EINPUT names a node on a cycle.
 * Linear but for a heap's log. */
int ir_order(struct ir_model *m, uint32_t graph, uint32_t *order, bool *sorted, struct diag *d);

/* Is the file's order topological? 0, or IR_EMEM (reported). */
int ir_in_order(const struct ir_model *m, uint32_t graph, bool *yes, struct diag *d);

/* Stable text form (`--dump-ir`). `put` receives the text in pieces; a non-zero return stops, and is
 * returned. Names are escaped. 0, or IR_EMEM (reported to m->diag). */
typedef int (*ir_put)(void *ctx, const char *text, size_t n);
int ir_print(struct ir_model *m, ir_put put, void *ctx);

/* The same as Graphviz (`--dot`): nodes with their edges, a cluster for each graph, parameters left out.
 * `paint` gives a node's fill colour, or NULL; it may be NULL itself. */
typedef const char *(*ir_paint)(void *ctx, uint32_t node);
int ir_dot(struct ir_model *m, ir_paint paint, void *paint_ctx, ir_put put, void *ctx);

#endif
