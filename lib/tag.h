/* Tagging and stripping, whatever the format and the carrier: a plan's decisions → annotations and the
 * model's `sac.plan` entry → bytes; and back, what the tags of a model say. */
#ifndef SACTAG_LIB_TAG_H
#define SACTAG_LIB_TAG_H

#include "ir/ir.h"
#include "passes/plan.h"
#include "schema/digest.h"
#include "schema/sink.h"

struct tag_options {
    enum carrier carrier;
    bool all;               /* --tag all; noted in sac.plan */
    int64_t set_ir_version; /* ONNX: 0 leaves it as it is */
    uint32_t copies; /* of functions, which --specialize has just added to the model; noted in sac.plan */
};

/* Writes the model with the plan's tags to a sink. Tags that the model carries already are replaced, so that
 * tagging a tagged model is the same as tagging the original. `p` was made from `m`. 0, or IR_EPOLICY (one
 * node cannot carry two policies), IR_EINPUT (tags that cannot be replaced), IR_EIO, IR_EMEM; reported. */
int tag_write(struct ir_model *m, struct plan *p, const struct tag_options *o, struct sink *to,
              struct diag *d);

/* Writes the model as it was before it was tagged. Without sac.plan: as it is, with a note, or a
 * warning when nodes carry tags. */
int strip_write(struct ir_model *m, struct sink *to, struct diag *d);

/* The digest of TAGS.md 4, of a tagged model too. */
int tag_digest(struct ir_model *m, char out[DIGEST_TEXT], struct diag *d);

/* "metadata", "attribute", "popart". */
const char *carrier_name(enum carrier c);

/* What a node's tag says. Text is the model's. */
struct tag {
    uint32_t node;
    enum policy policy;
    struct str reason; /* empty: the carrier has none */
    struct str block;  /* empty: the carrier has no region */
    uint32_t call;
};

struct tags {
    bool tagged; /* the model carries sac.plan */
    enum carrier carrier;
    char digest[DIGEST_TEXT]; /* as sac.plan has it; "" without */
    struct tag *tags;         /* by node */
    uint32_t n;
};

/* Reads the tags of a model, on whichever carrier sac.plan names; without sac.plan (lost, or written by
 * others) on whichever is found. A tag with a value that means nothing is warned of and left out. */
int tags_load(struct tags *out, struct ir_model *m, struct diag *d);
void tags_free(struct tags *t);

#endif
