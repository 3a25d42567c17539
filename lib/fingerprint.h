/* Structural fingerprints: what a node is, not what it is called. Two nodes with one fingerprint have the
 * same operator and attributes and read operands of the same fingerprints. Names of values, nodes and
 * parameters take no part, nor do tags, nor what a file may leave out (types, shapes of results). Of a
 * parameter its dims count; of tensors in attributes at most FINGERPRINT_DATA bytes. Linear in the size of
 * the graph. */
#ifndef SACTAG_LIB_FINGERPRINT_H
#define SACTAG_LIB_FINGERPRINT_H

#include "ir/ir.h"

#define FINGERPRINT_DATA    256
/* Nodes that a partial fingerprint looks at, one behind the other, itself included. */
#define FINGERPRINT_NEAR    4
#define FINGERPRINT_NEAREST 2

struct fingerprints {
    uint64_t *full; /* per node: all that it computes from, back to the inputs */
    uint64_t *near; /* per node: the last few nodes that it computes from */
    uint64_t *nearest;
};

/* 0 or IR_EMEM (not reported). To be freed in each case. */
int fingerprints_make(struct fingerprints *f, struct ir_model *m);
void fingerprints_free(struct fingerprints *f);

#endif
