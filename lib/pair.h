/* Which row of one plan is which row of another: by what an mm is, not by where it stands.
 *
 *     FQN        same module, in order, where both plans have as many mms of it (of its call, of one rhs)
 *     node       same name, unless a tool made it up of operator and number ("MatMul_12", "linear_3")
 *                of tags alone, also same graph, name, output and operator
 *     structure  same fingerprint (both plans have a model)
 *     place      between the same neighbours: the same nearby structure, or just the same rhs
 *
 * Each step looks only at rows that no step before it matched. Linear, but for aligning by place, which is
 * linear times PAIR_EDITS at most. */
#ifndef SACTAG_LIB_PAIR_H
#define SACTAG_LIB_PAIR_H

#include "lib/model.h"

#define PAIR_EDITS 256 /* between two neighbours; with more, rows are matched by their keys alone */

struct pairing {
    uint32_t n_a, n_b;
    struct sactag_row *a, *b;  /* rows of both */
    uint32_t *b_of_a, *a_of_b; /* IR_NONE: none */
    uint8_t *by;               /* per row of b: enum sactag_matched */
};

/* 0 or IR_EMEM (not reported). To be freed in each case. */
int pair_rows(struct pairing *p, const sactag_plan *a, const sactag_plan *b);
/* The rows of both, none matched. */
int pair_none(struct pairing *p, const sactag_plan *a, const sactag_plan *b);
void pair_free(struct pairing *p);

/* A key of what tells a node within its model, wherever it stands: graph, name, output, operator. */
uint64_t pair_identity(const struct sactag_row *r);

#endif
