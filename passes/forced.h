/* What the parts of the forced pass share. */
#ifndef SACTAG_PASSES_FORCED_H
#define SACTAG_PASSES_FORCED_H

#include "passes/decide.h"

/* What one configured FQN hit. */
struct hits {
    const bool *tied;  /* per module: another Linear has its weight */
    uint32_t linears;  /* in blocks: their shapes are forced */
    uint32_t left_out; /* components, at least, where scopes leave out containers; 0: no Linear may be it */
    uint32_t outside;  /* modules outside every block */
    bool full_outside; /* ... one of them has this name in full */
    uint32_t untold;   /* modules of which the file has nothing but the name */
    uint32_t wrong;    /* a module that is no Linear, in the first block that has one; IR_NONE */
    struct str first_loose, first_outside;
};

/* IR_EPOLICY: the name hit `module`, which is no Linear. Says what it is, and which Linears lie inside. */
int not_a_linear(struct state *s, struct str name, uint32_t module);

/* The name hit no Linear of any block. Says what is the matter: an error (IR_EPOLICY) under --strict, or when
 * it may be the name of an mm that has lost its own; else a warning, and 0. */
int name_missed(struct state *s, struct str name, const struct hits *h);

#endif
