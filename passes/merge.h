/* Plans of several programs in one archive, as one plan. */
#ifndef SACTAG_PASSES_MERGE_H
#define SACTAG_PASSES_MERGE_H

#include "passes/plan.h"

/* Appends plan `q` of another main graph of the same model to `p`. A block of the same FQN goes on counting
 * its calls, so that regions keep names of their own. `q` is empty afterwards: p owns what it held. 0 or
 * IR_EMEM (both still to be freed). */
int plan_merge(struct plan *p, struct plan *q);

#endif
