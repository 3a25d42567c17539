/* Annotations: what to add to which node or to the model. All that the passes and a writer share.
 *
 * A writer puts each annotation into the record it names and nothing else; it knows keys and values, not
 * policies. */
#ifndef SACTAG_IR_ANNOT_H
#define SACTAG_IR_ANNOT_H

#include "ir/str.h"

#include <stdint.h>

#define ANNOT_MODEL UINT32_MAX /* `node` of an annotation of the model itself */

enum annot_kind {
    ANNOT_META,     /* a metadata_props entry (.pt2: a member of metadata.custom) */
    ANNOT_ATTR_STR, /* a string attribute; ONNX only */
    ANNOT_ATTR_INT  /* an integer attribute; ONNX only */
};

struct annot {
    uint32_t node; /* node id in the model, or ANNOT_MODEL */
    enum annot_kind kind;
    struct str key;   /* unique per node and kind */
    struct str value; /* ANNOT_META, ANNOT_ATTR_STR */
    int64_t i;        /* ANNOT_ATTR_INT */
};

/* In the order in which they are to be written: by node id, a node's own in the given order, the model's
 * last. */
struct annots {
    const struct annot *a;
    size_t n;
};

#endif
