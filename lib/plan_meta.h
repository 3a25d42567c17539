/* The model's `sac.plan` entry: JSON that says with which options the model was tagged, its regions and
 * digest, and how to undo the tagging (docs/TAGS.md 4).
 *
 *     version     1
 *     carrier     "metadata", "attribute", "popart"
 *     tag         "mm", "all"
 *     digest      of the untagged model
 *     options     what the plan was made with
 *     regions     [{"region": "BLOCK#CALL", "inputs": [NAME...], "outputs": [NAME...]}...]; the name of a
 * value that is not the main graph's is {"graph": PATH, "name": NAME}
 *
 * and for strip, of an ONNX model:
 *
 *     keys        entries of these keys ...
 *     nodes       ... on these nodes are ours: a list of numbers, see below
 *     of          nodes in the model
 *     fields      what had the same keys: ["NODE/INDEX/HEX"...], "model/INDEX/HEX"
 *     widths      length prefixes that were wider than need be: [[WIDTH, NODES, SEGMENTS]...]
 *     ir_version  the field that it had before, in hexadecimal; "" when there was none
 *     copies      how many copies of functions --specialize added; strip leaves them, and says so
 *
 * The last four are left out when empty. A list of rising numbers is text: "3,1*4,7" is 3, then four times
 * one more, then seven more: 3 4 5 6 7 14. Names are escaped as everywhere (FORMATS.md), so that any name can
 * be told from any other. The same plan of the same model is the same text. */
#ifndef SACTAG_LIB_PLAN_META_H
#define SACTAG_LIB_PLAN_META_H

#include "lib/tag.h"
#include "schema/onnx_write.h"

#define PLAN_META_KEY     "sac.plan"
#define PLAN_META_VERSION 1

struct plan_meta {
    enum carrier carrier;
    bool all;
    uint32_t copies; /* of functions, which strip leaves */
    bool regions;    /* their list is there, as readers need it; stripping does not */
    char digest[DIGEST_TEXT];
    struct onnx_undo undo;
    struct ir_span entry; /* in the model */
    struct arena arena;
};

/* Makes the text, with a digest of 32 zeros at `*digest`, which is filled in once it is known. *text is to be
 * freed. IR_EMEM, reported. */
int plan_meta_text(char **text, char **digest, struct ir_model *m, const struct plan *p,
                   const struct tag_options *o, const struct onnx_undo *undo, struct diag *d);

/* Reads the entry of a tagged model. 1; 0 when the model is not tagged: entries that cannot be read are
 * somebody else's, with a warning. IR_EINPUT: a newer version, or two entries that could both be ours.
 * IR_EMEM. Errors are reported. To be freed in each case. */
int plan_meta_read(struct plan_meta *out, struct ir_model *m, struct diag *d);
void plan_meta_free(struct plan_meta *pm);

#endif
