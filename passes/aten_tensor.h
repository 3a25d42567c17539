/* Tensors as PyTorch's operators see them: sizes, strides, and what needs a gradient. */
#ifndef SACTAG_PASSES_ATEN_TENSOR_H
#define SACTAG_PASSES_ATEN_TENSOR_H

#include "ir/ir.h"

struct tensor {
    uint32_t value; /* or IR_NONE: a result of the operator's own */
    uint32_t rank;
    int64_t dim[IR_RANK_MAX];    /* IR_DIM_UNKNOWN when symbolic */
    int64_t size[IR_RANK_MAX];   /* as the exporter saw them */
    int64_t stride[IR_RANK_MAX]; /* in elements */
    bool known;                  /* size and stride are */
    bool grad;                   /* requires a gradient */
    bool transposed;             /* of `value` */
};

/* A value of a .pt2; false when there is none, or its rank is not known. Where strides are not known they are
 * row-major. */
bool tensor_load(struct tensor *t, const struct ir_model *m, uint32_t value);

/* Row-major strides. */
void tensor_set_contiguous(struct tensor *t);

/* Has it no elements? */
bool tensor_is_empty(const struct tensor *t);

/* Are its strides row-major, as far as they are known? */
bool tensor_is_contiguous(const struct tensor *t);

/* The last two dimensions change places. A view requires a gradient where its base does, even under
 * no_grad(). */
struct tensor tensor_transpose(struct tensor t);

/* Without its first dimension, which is 1. */
struct tensor tensor_squeeze_first(struct tensor t);

/* What autocast makes of an operand in a graph: a copy in its own type when it has another floating type (not
 * double), which keeps the order of the dimensions and has no gaps. */
struct tensor tensor_autocast(struct tensor t, const struct ir_model *m, const struct ir_graph *g);

#endif
