/* The longest common subsequence of two lists of keys (Myers' O(ND) algorithm), where it takes few edits. */
#ifndef SACTAG_LIB_ALIGN_H
#define SACTAG_LIB_ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* What is aligned: fewer than 2^32 keys each, as rows are numbered. */
struct key_lists {
    const uint64_t *a, *b;
    size_t n_a, n_b;
};

typedef void (*align_fn)(void *ctx, size_t i, size_t j);

/* Calls `same` for each pair of positions, in falling order. At most max_edits keys may be left over: returns
 * 1 when there were more (nothing has been called), 0, or IR_EMEM (not reported). Time (n_a + n_b) * edits,
 * memory edits squared. */
int align(const struct key_lists *l, size_t max_edits, align_fn same, void *ctx);

#endif
