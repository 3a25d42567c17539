/* The batched matrix products that PyTorch breaks an einsum up into. */
#ifndef SACTAG_PASSES_EINSUM_H
#define SACTAG_PASSES_EINSUM_H

#include "ir/str.h"

#include <stdint.h>

#define EINSUM_OPERANDS 24 /* with more the products are not listed; all are bmm, which nothing counts */
#define EINSUM_DIMS     64 /* distinct dimensions of all operands together; PyTorch's own bound */
#define EINSUM_COMPUTED UINT32_MAX

struct einsum_operand {
    uint32_t rank;
    const int64_t *dim; /* negative: symbolic */
    const int64_t
        *size; /* what a symbolic one was for the exporter; negative: not known, taken to be more than 1 */
};

struct einsum {
    struct einsum_operand operands[EINSUM_OPERANDS];
    uint32_t n;
    const int64_t *path; /* pairs of operands in the order of contraction; NULL: from left to right */
    uint32_t n_path;
};

/* One bmm: [batch, .., k] times [batch, k, n]; -1 where symbolic. */
struct einsum_product {
    int64_t batch, k, n;
    uint32_t right; /* operand that the right side is, or EINSUM_COMPUTED */
};

/* In the order in which they run. Returns how many; 0 also for an equation that makes no sense. */
int einsum_products(struct einsum_product out[EINSUM_OPERANDS], const struct einsum *e, struct str equation);

#endif
