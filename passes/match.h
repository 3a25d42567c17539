/* Matching configured FQNs against modules. */
#ifndef SACTAG_PASSES_MATCH_H
#define SACTAG_PASSES_MATCH_H

#include "passes/plan.h"

/* Does `name` hit module `fqn` of block `block`? Literally: the FQN is known to be what it says. Source of
 * the three ways: POLICY.md 2 "Names that match"; substring is torchtitan's `name in
 * f"{base_fqn}.{module_fqn}"`. The block itself is a module of its own ("layers.0." to substring, as torch's
 * named_modules gives it an empty relative name). *steps counts what the comparison takes. A file that holds
 * a plan chooses both its names and its modules: past MATCH_STEPS_MAX nothing matches, and who decides
 * reports it.
 */
#define MATCH_STEPS_MAX UINT64_C(2000000000) /* some seconds */
bool match_literal(enum match how, struct str name, struct str fqn, struct str block, uint64_t *steps);

/* Could it, if containers that are never called are missing from fqn ("layers.0.gate" for
 * layers.0.moe.router.gate)? How many are, at least; 0: it could not. */
uint32_t match_loose(enum match how, struct str name, struct str fqn, struct str block);

/* How unlike two names are: edits, a shared last component counting as near. For suggestions. */
uint32_t name_distance(struct str a, struct str b);

#endif
