/* Tagged models: what the tags say of each mm that the policy finds. */
#ifndef SACTAG_LIB_TAGGED_H
#define SACTAG_LIB_TAGGED_H

#include "lib/model.h"
#include "lib/tag.h"

struct tagged {
    struct tags tags;
    bool all;             /* tagged with --tag all: nodes that are no mms carry tags, too */
    bool regions;         /* sac.plan lists them as readers need it */
    uint32_t *tag_of;     /* node → number of its tag, IR_NONE */
    sactag_plan *decided; /* what the policy says */
    bool recorded;        /* ... by the options in sac.plan */
};

/* Reads the tags and decides; o NULL: by the options that the model was tagged with (those of a model without
 * sac.plan are the defaults). Reported. To be freed in each case. */
int tagged_read(struct tagged *t, sactag_model *m, const struct sactag_options *o, struct diag *d);
void tagged_free(struct tagged *t);

static inline const struct tag *tagged_tag(const struct tagged *t, uint32_t node)
{
    return t->tag_of[node] == IR_NONE ? NULL : &t->tags.tags[t->tag_of[node]];
}

/* Is this the block that the tag names? */
bool tag_in_block(const struct tag *tag, struct str block);

#endif
