/* The longest common subsequence of two lists of keys (Myers' O(ND) algorithm), where it takes few edits. */
#ifndef SACTAG_LIB_ALIGN_H
#define SACTAG_LIB_ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* Calls `same` for each pair of positions, in falling order. At most max_edits of the lists may be left over:
 * returns 1 when there were more (nothing has been called), 0, or IR_EMEM (not reported). Time (n + m) *
 * edits, memory edits squared. */
int align(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t max_edits,
          void (*same)(void *ctx, size_t i, size_t j), void *ctx);

#endif
