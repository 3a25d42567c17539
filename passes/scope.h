/* What the parts of the scope pass share. */
#ifndef SACTAG_PASSES_SCOPE_H
#define SACTAG_PASSES_SCOPE_H

#include "passes/pass.h"

/* The scope of this text, made when it is not there (*fresh). IR_NONE when memory is exhausted. */
uint32_t scope_id(struct state *s, struct str raw, enum scope_kind kind, bool *fresh);

/* The scope that a .pt2 gives a node; 0 when none, or one that is too deep. Returns 0 or a negative error. */
int scope_from_stack(struct state *s, uint32_t node, uint32_t *out);

#endif
