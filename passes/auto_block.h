/* `--blocks auto`: which modules are the blocks, from the FQNs of the Linears alone. */
#ifndef SACTAG_PASSES_AUTO_BLOCK_H
#define SACTAG_PASSES_AUTO_BLOCK_H

#include "ir/names.h"
#include "ir/str.h"

/* Numbered containers: modules that differ in one number, "layers." + N, "encoder.encoder_layer_" + N. */
struct auto_blocks {
    struct names stems; /* of the chosen containers: everything before the number */
};

/* Chooses among the containers of the given Linears' FQNs: the innermost ones whose members are composite
 * (hold Linears in two submodules, or directly and in one); failing that the outermost ones that hold
 * Linears; failing that none: then the whole graph is one block. The FQNs must outlive the result. 0 or
 * IR_EMEM. */
int auto_choose(struct auto_blocks *out, const struct str *linears, uint32_t n_linears);
void auto_free(struct auto_blocks *b);

/* The innermost member of a chosen container that `fqn` is or lies in: a part of fqn. Else empty. */
struct str auto_member(const struct auto_blocks *b, struct str fqn);

/* Is `fqn` itself a member of a chosen container? */
bool auto_is_member(const struct auto_blocks *b, struct str fqn);

#endif
