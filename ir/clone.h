/* Clones: copies of model-local functions under new names, and the calls that go to them. What `--specialize`
 * asks of a writer; all that passes and writer share. */
#ifndef SACTAG_IR_CLONE_H
#define SACTAG_IR_CLONE_H

#include "ir/str.h"

#include <stdint.h>

/* A call that goes to a function of another name. */
struct clone_call {
    uint32_t node; /* node id */
    struct str op; /* its new op_type */
};

/* A copy of a function. Its body's calls are those of the original, but for these. */
struct clone {
    uint32_t function; /* graph id of the original */
    struct str name;
    struct clone_call *calls; /* by node id */
    uint32_t n_calls;
};

struct clones {
    struct clone_call *calls; /* in the main graph and in originals, by node id */
    uint32_t n_calls;
    struct clone *copies; /* by function */
    uint32_t n_copies;
};

#endif
