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

int64_t *facts_ints_new(struct facts *f, uint32_t n, uint32_t *id);
const int64_t *facts_ints(const struct facts *f, struct fact x, uint32_t *n);
bool ints_complete(const int64_t *v, uint32_t n);
/* An integer list that is an attribute in old opsets and an input in new ones. Complete lists only. */
bool node_list(const struct node_facts *k, const char *attr, uint32_t input, int64_t out[INTS_MAX],
               uint32_t *n);
bool node_has_list(const struct node_facts *k, const char *attr, uint32_t input);
const struct ir_shape *node_shape(const struct node_facts *k, uint32_t i);
bool node_known(const struct node_facts *k, uint32_t i);
uint32_t facts_intern(const struct facts *f, uint32_t rank, const int64_t *dims);
void node_set_shape(struct node_facts *k, uint32_t rank, const int64_t *dims);
void node_set_rank(struct node_facts *k, uint32_t rank);
/* An axis as the ONNX text allows it, negative from the end; -1 if out of range. */
int64_t axis_in_rank(int64_t axis, uint32_t rank);
int64_t broadcast_dim(int64_t a, int64_t b);
uint32_t broadcast_shapes(const struct facts *f, uint32_t x, uint32_t y);
void order_of(const struct facts *f, struct fact x, uint32_t rank, int64_t *order);
uint32_t order_intern(const struct facts *f, uint32_t rank, const int64_t *order);
/* Elementwise operators write a dense output in the order of their first full operand. */
void node_keep_order(struct node_facts *k, struct fact from);
int64_t clamp_index(int64_t v, int64_t lo, int64_t hi);

/* Views: PyTorch makes no copy, so the layout follows the input's. */
void op_identity(struct node_facts *k);
void op_transpose(struct node_facts *k);
void op_reshape(struct node_facts *k);
void op_unsqueeze(struct node_facts *k);
void op_squeeze(struct node_facts *k);
void op_slice(struct node_facts *k);
void op_gather(struct node_facts *k);
void op_expand(struct node_facts *k);
void op_split(struct node_facts *k);

#endif
