/* What the parts of the pass over nodes that are no mms share. */
#ifndef SACTAG_PASSES_NEIGHBOURS_H
#define SACTAG_PASSES_NEIGHBOURS_H

#include "passes/pass.h"

/* Is it this op? A .pt2's type without its overload stands for all of them. */
bool op_is(const struct ir_op *op, const char *domain, const char *type);

/* Attention in several nodes, per step. In the scratch arena. */
struct attention {
    uint8_t *with_v; /* it is a product with V */
    uint8_t *scores; /* it lies on the way to one: products of Q and K, scales, masks, softmax */
};

/* Within each region. `is_mm`, per node: the plan has a row for it, which decides. 0 or IR_EMEM. */
int find_attention(struct attention *out, struct state *s, const uint8_t *is_mm);

#endif
