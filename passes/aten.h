/* Which matrix products PyTorch really runs for a node of a .pt2.
 *
 * In training, linear, matmul, einsum, tensordot, ... are not operators of their own: PyTorch breaks them up
 * into mm, addmm, bmm and views, and selective checkpointing sees those. Which ones follows from ranks,
 * sizes, strides, the bias and what requires a gradient; a .pt2 records all of that. Checked against
 * PyTorch 2.6; the rules are those of at::native's linear, matmul, einsum and tensordot. */
#ifndef SACTAG_PASSES_ATEN_H
#define SACTAG_PASSES_ATEN_H

#include "ir/ir.h"

#define ATEN_MM_MAX 16 /* products of one node; an einsum of more operands than that runs bmm only */

enum aten_product { ATEN_KIND_MM, ATEN_KIND_ADDMM, ATEN_KIND_BMM };

struct aten_mm {
    enum aten_product kind;
    int64_t batch; /* BMM; IR_DIM_UNKNOWN when symbolic */
    int64_t k, n;  /* rows and columns of the right operand as multiplied; IR_DIM_UNKNOWN when symbolic */
    uint32_t
        weight; /* parameter that the right operand is, through transposes, views and casts; or IR_NONE */
    bool transposed; /* ... through an odd number of transposes */
    bool matrix;     /* the node's own right operand has rank 2: its literal rhs is (literal_k, literal_n) */
    int64_t literal_k, literal_n;
    bool assumed; /* strides are not known: contiguous ones were assumed, and it matters */
};

/* The products of a node, in the order in which they run. Returns how many (0: none), or a negative ir_err
 * (reported). Works node by node; nothing but the model's on-demand decoding is changed. */
int aten_lower(struct ir_model *m, uint32_t node, struct aten_mm out[ATEN_MM_MAX]);

/* Does this node multiply matrices inside, out of reach (lstm, cdist, ...)? Eager PyTorch might run mms
 * there. */
bool aten_hides(struct ir_model *m, uint32_t node);

/* Where the model was traced without grad and already broken up (m->decomposed): would training have run an
 * mm where this node is a bmm? Such a node multiplies by an expanded rank-2
 * parameter that is trained. */
bool aten_misleads(const struct ir_model *m, uint32_t node);

/* Warns of a .pt2's nodes that are not decided as they train: those that mislead and those that hide. */
void aten_warn(struct ir_model *m, struct diag *d);

#endif
