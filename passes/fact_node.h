/* One node's facts: what the operators in passes/fact_ops.c and fact_views.c work with.
 *
 * Interning a shape may move model.shapes: keep copies of struct ir_shape across it, never pointers (dims
 * stay put). */
#ifndef SACTAG_PASSES_FACT_NODE_H
#define SACTAG_PASSES_FACT_NODE_H

#include "passes/facts.h"

/* Longer integer tensors are no shapes. */
#define INTS_MAX IR_INTS_MAX

struct node_facts {
    struct facts *f;
    struct step s;
    struct fact *out; /* of output 0 */
    struct fact none; /* stands for one that is not there */
    struct fact in[3];
    uint32_t n_in;
    uint32_t stated; /* shape id of output 0 as the file states it: most often what is inferred, too */
};

typedef void (*fact_op)(struct node_facts *k);

/* What computes the facts of an op's outputs, or NULL. An op with several outputs may write theirs itself. */
fact_op fact_op_of(const struct ir_op *op);

/* ---- integers */

/* Room for the elements of a small integer tensor; *id is for struct fact. NULL (and *id 0) when they are too
 * many, or memory is exhausted. Elements asked for before may have moved. */
int64_t *facts_ints_new(struct facts *f, uint32_t n, uint32_t *id);

/* The elements of a fact's tensor, until the next facts_ints_new(); NULL (and *n 0) when they are not known.
 * Each may be FACT_INT_UNKNOWN. */
const int64_t *facts_ints(const struct facts *f, struct fact x, uint32_t *n);

/* An integer list that is an attribute in old opsets and an input in new ones. Complete lists only. */
bool node_list(const struct node_facts *k, const char *attr, uint32_t input, int64_t out[INTS_MAX],
               uint32_t *n);

/* Is there such a list at all, known or not? */
bool node_has_list(const struct node_facts *k, const char *attr, uint32_t input);

int64_t clamp_index(int64_t v, int64_t lo, int64_t hi);

/* ---- shapes */

/* The shape of input i, of rank 0 when it is not known; and whether it is. */
const struct ir_shape *node_shape(const struct node_facts *k, uint32_t i);
bool node_known(const struct node_facts *k, uint32_t i);

/* The id of a shape; IR_SHAPE_UNKNOWN for a rank over IR_RANK_MAX, or when memory is exhausted. */
uint32_t facts_intern(const struct facts *f, uint32_t rank, const int64_t *dims);

/* Gives output 0 a shape; or a rank alone. */
void node_set_shape(struct node_facts *k, uint32_t rank, const int64_t *dims);
void node_set_rank(struct node_facts *k, uint32_t rank);

/* An axis as the ONNX text allows it, negative from the end; -1 if out of range. */
int64_t axis_in_rank(int64_t axis, uint32_t rank);

/* ONNX's broadcasting, of one dimension and of shapes by their ids. */
int64_t broadcast_dim(int64_t a, int64_t b);
uint32_t broadcast_shapes(const struct facts *f, uint32_t x, uint32_t y);

/* ---- layout */

/* The dimensions from the slowest to the fastest; as they stand where the fact says nothing. */
void order_of(const struct facts *f, struct fact x, uint32_t rank, int64_t *order);

/* The id of such an order for struct fact; 0 when it is contiguous. */
uint32_t order_intern(const struct facts *f, uint32_t rank, const int64_t *order);

/* Elementwise operators write a dense output in the order of their first full operand. */
void node_keep_order(struct node_facts *k, struct fact from);

/* ---- operators */

/* Views: PyTorch makes no copy, so the layout follows the input's. passes/fact_views.c. */
void op_identity(struct node_facts *k);
void op_transpose(struct node_facts *k);
void op_reshape(struct node_facts *k);
void op_unsqueeze(struct node_facts *k);
void op_squeeze(struct node_facts *k);
void op_slice(struct node_facts *k);
void op_gather(struct node_facts *k);
void op_expand(struct node_facts *k);
void op_split(struct node_facts *k);

/* Shape arithmetic: passes/fact_ints.c. */
void op_arith(struct node_facts *k);
void op_concat(struct node_facts *k);
void op_constant(struct node_facts *k);
void op_constant_of_shape(struct node_facts *k);
void op_shape(struct node_facts *k);

/* Elementwise, with broadcasting: passes/fact_ops.c. */
void op_broadcast(struct node_facts *k);

#endif
