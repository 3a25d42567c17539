/* `--specialize`: a model with copies of functions in the place of the one that a plan was made for, and its
 * plan. */
#ifndef SACTAG_LIB_SPECIALIZE_H
#define SACTAG_LIB_SPECIALIZE_H

#include "lib/model.h"

struct specialized {
    void *bytes;         /* the model with copies */
    sactag_model *model; /* of bytes */
    struct plan plan;    /* of model */
};

/* Does the plan ask for it? */
static inline bool specialize_wanted(const struct plan *p)
{
    return p->clones.n_copies > 0;
}

/* Writes the model with the copies to memory, reads that back and decides again: now all runs agree.
 * Initializers take memory then, too; external data does not. 0, or an error (reported). To be freed in each
 * case. */
int specialize(struct specialized *out, sactag_model *m, const struct plan *p, struct diag *d);
void specialized_free(struct specialized *s);

#endif
