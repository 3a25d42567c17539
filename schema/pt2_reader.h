/* What the files of the .pt2 reader share; nobody else includes this.
 *
 *     pt2_read.c     what stands around a program's graph, and the order of things
 *     pt2_archive.c  the archive: its programs, and their text
 *     pt2_report.c   memory and messages
 *     pt2_graph.c    a program's JSON → graphs, with their inputs and outputs
 *     pt2_node.c     nodes: operator, operands, nested graphs
 *     pt2_values.c   tensor values: shapes, layouts, parameters
 *     pt2_grad.c     which values require a gradient
 *     pt2_source.c   arguments and metadata on demand */
#ifndef SACTAG_SCHEMA_PT2_READER_H
#define SACTAG_SCHEMA_PT2_READER_H

#include "schema/json.h"
#include "schema/pt2_read.h"

/* What the graph's signature says of an argument's name. */
struct pt2_spec {
    uint32_t epoch; /* program it was set in */
    bool buffer;    /* or a constant */
    struct str fqn;
    uint32_t place_epoch; /* where this name is a place in the archive: the program that uses what is there */
    uint32_t value_epoch; /* where this name is an FQN: the program, */
    uint32_t value;       /* and its value there (tied parameters share one) */
};

/* What a name stands for in the graph that is being read. */
struct pt2_binding {
    uint32_t epoch; /* graph it was set in */
    uint32_t value;
    uint32_t meta_epoch, meta; /* token of its tensor meta */
};

/* A nested graph to be read. */
struct pt2_body {
    uint32_t token;             /* of the graph */
    uint32_t graph;             /* its number */
    uint32_t first_arg, n_args; /* what its inputs get, in reader.args */
};

/* An argument that a nested graph gets. */
struct pt2_arg {
    uint32_t value; /* IR_NONE: no tensor */
    bool same;      /* the input is this very value */
};

struct pt2_reader {
    struct pt2 pt2; /* first: m->reader points here */
    struct ir_model *m;
    struct diag *d; /* while reading */
    uint32_t max_depth;
    uint64_t max_nodes;

    size_t cap_graphs, cap_nodes, cap_values, cap_layouts, cap_operands, cap_params, cap_ops, cap_modules,
        cap_meta, cap_unpacked;
    size_t names_charged;
    struct names member_index; /* name → number of a member */
    struct names op_index;     /* target → op id */
    struct names fqn_index;    /* modules that are known */

    struct pt2_spec *specs;       /* by name id */
    struct pt2_binding *bindings; /* by name id */
    size_t cap_specs, cap_bindings;
    struct pt2_body *bodies;
    uint32_t n_bodies;
    size_t cap_bodies;
    struct pt2_arg *args;
    uint32_t n_args;
    size_t cap_args;
    uint32_t *ids; /* scratch: inputs or outputs of the graph */
    uint32_t n_ids;
    size_t cap_ids;

    /* Where we are, for messages. */
    struct json *json;             /* of the program being read */
    uint32_t program, graph, node; /* IR_NONE: none */

    /* pt2_source.c: tokens of the node that was asked about last. */
    struct json cache;
    uint32_t cached;
};

/* Room for `need` elements, zeroed; 0 or a negative ir_err (reported). What it takes is charged to the
 * model's memory limit. */
int pt2_room_more(struct pt2_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size);

static inline int pt2_room(struct pt2_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size)
{
    return need <= *cap ? 0 : pt2_room_more(r, array_ptr, cap, need, elem_size);
}

/* ---- pt2_report.c */

/* Reports that memory ran out, or the model's limit is reached. Returns the ir_err. */
int pt2_no_memory(struct pt2_reader *r);
/* Where p is: counted from the start of the archive, or of the program's unpacked text. */
uint64_t pt2_offset_of(const struct pt2_reader *r, const char *p);
/* Reports at a token of the program. Returns IR_EINPUT. */
int pt2_fail(struct pt2_reader *r, uint32_t token, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The member `name` of an object must be there and of a type. 0 and *out, or IR_EINPUT (reported). */
int pt2_need(uint32_t *out, struct pt2_reader *r, uint32_t object, const char *name, enum json_kind type);
/* A token must be of a type; `what` is for the message. */
int pt2_expect(struct pt2_reader *r, uint32_t token, enum json_kind type, const char *what);
/* A string's text. 0 or a negative ir_err (reported). */
int pt2_string(struct str *out, struct pt2_reader *r, uint32_t token, const char *what);
/* A union: an object whose one member's name says what its value is. *kind is the name's token. */
int pt2_union(uint32_t *kind, struct pt2_reader *r, uint32_t token, const char *what);
/* A string's name id; NAME_NONE after an error (*rc). */
uint32_t pt2_name(struct pt2_reader *r, uint32_t token, const char *what, int *rc);

/* ---- pt2_archive.c: 0 or a negative ir_err (reported) */
/* Finds the programs of the archive, and fills m->segs and their text. */
int pt2_load_programs(struct pt2_reader *r);
/* Calls pt2_weights_read() with the program's list of weights, if it has one. */
int pt2_weights(struct pt2_reader *r);

/* ---- pt2_graph.c: 0 or a negative ir_err (reported), as pt2_node.c */
int pt2_program_read(struct pt2_reader *r, uint32_t program);
/* A graph of the program being read; it lies in that program's segment. */
int pt2_new_graph(uint32_t *out, struct pt2_reader *r, struct ir_graph g);

/* ---- pt2_node.c */
/* The next node of the graph being read. Its nested graphs are added to r->bodies. */
int pt2_node_read(struct pt2_reader *r, uint32_t token);
/* A tensor is {"name": "x"}: the id of that name; NAME_NONE after an error (*rc). */
uint32_t pt2_tensor_name(struct pt2_reader *r, uint32_t token, int *rc);

/* ---- pt2_values.c: 0 or a negative ir_err (reported), unless said otherwise. */
/* Notes which token describes each tensor of the graph being read. */
int pt2_metas_read(struct pt2_reader *r, uint32_t tensor_values);
/* Notes which arguments are parameters, buffers and constants. */
int pt2_specs_read(struct pt2_reader *r, uint32_t signature);
/* A new value of the graph being read, named by the text of name id `name`, or its FQN. */
int pt2_value_new(uint32_t *out, struct pt2_reader *r, uint32_t token, uint32_t name, struct ir_value v);
/* Binds a name of the graph being read; defined twice is an error. */
int pt2_bind(struct pt2_reader *r, uint32_t token, uint32_t name, uint32_t value);
/* What a name stands for, or IR_NONE. */
uint32_t pt2_lookup(const struct pt2_reader *r, uint32_t name);
/* If the signature says that an input is a parameter, buffer or constant: defines it, or binds it to the
 * value that it is tied to, and returns 1; else 0. */
int pt2_param(struct pt2_reader *r, uint32_t token, uint32_t name);
/* Weights that the graph of the program does not use, from the list of weights (torch ≥ 2.8) in r->json: a
 * Linear that is never called. */
int pt2_weights_read(struct pt2_reader *r);
/* enum ir_dtype of torch's ScalarType. */
uint8_t pt2_dtype(int64_t scalar_type);

/* ---- pt2_grad.c */
/* The file says it of parameters and inputs only. */
void pt2_grad(struct ir_model *m);

/* ---- pt2_source.c */
extern const struct ir_source pt2_source;
/* The members of metadata.custom → m->meta; only those that begin with PT2_TAG, or all. */
int pt2_custom_read(struct pt2_reader *r, uint32_t metadata, bool tags_only);

#endif
