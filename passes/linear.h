/* Names of modules and Linears: shared between passes/linear.c and passes/block.c. */
#ifndef SACTAG_PASSES_LINEAR_H
#define SACTAG_PASSES_LINEAR_H

#include "passes/pass.h"

/* Could a node of module `fqn` have the scope `atoms`? Scopes leave out containers that are never called, so
 * the atoms must be a subsequence of the unqualified names of fqn and its ancestors, the last one being fqn's
 * own; its _k suffix is ignored when `stem`. */
bool scope_fits(const struct str *atoms, uint32_t n, struct str fqn, bool stem);

/* The FQN of a scope's module inside `base` (a module's FQN that the first `from` atoms stand for). In the
 * arena, NULL text when memory is exhausted. *certain: every atom was a known module. *same: how many modules
 * the first ambiguous atom could be (1 if none was ambiguous); `nth` (from 0) picks one of them. */
struct str scope_resolve(struct state *s, struct scope *sc, struct str base, uint32_t from, uint32_t nth,
                         bool *certain, uint32_t *same);

/* Records that module `fqn` is a Linear, as this mm shows. 0 or IR_EMEM. */
int linear_mark(struct state *s, struct str fqn, const struct mm *mm, enum evidence ev, bool loose);

/* The FQN of module "base.last". NULL text when memory is exhausted. */
struct str fqn_join(struct arena *a, struct str base, struct str last);

#endif
