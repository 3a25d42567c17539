/* What the parts of the mm pass share. */
#ifndef SACTAG_PASSES_MM_H
#define SACTAG_PASSES_MM_H

#include "passes/pass.h"

/* One flag per step, set for backward; NULL when the graph holds none. */
int find_backward(struct state *s, uint8_t **out);

/* Sets an mm's bias: a Gemm's input C, or what the one Add that reads the product adds. */
int find_bias(struct state *s, struct mm *mm);

/* Sets what PyTorch runs for it, its rhs there, and an assumption where the file cannot tell. */
void lower_mm(struct state *s, struct mm *mm);

/* Sets how many products right before each mm were computed away. */
int find_folded(struct state *s);

/* Warns of nodes whose products are out of reach; "(WHICH NAME)" tells which. */
void warn_hidden(struct diag *d, uint32_t n, const char *which, struct str name);

/* Is "Op" or "domain:Op" one that can be an mm, without further ops of the options? Any of a .pt2 can. */
bool mm_op_named(struct str op);

#endif
