/* What attributes were found to be, by the bytes that they were read from: most nodes of one operator have
 * equal ones. Bytes of the source do not change, so what was found once holds. */
#ifndef SACTAG_SCHEMA_ONNX_MEMO_H
#define SACTAG_SCHEMA_ONNX_MEMO_H

#include "ir/ir.h"

#define ONNX_MEMO_BITS  5  /* of the number of a slot */
#define ONNX_MEMO_BYTES 64 /* longer attributes are read each time, */
#define ONNX_MEMO_NAME  16 /* as are those with longer names, */
#define ONNX_MEMO_INTS  8  /* or with more elements */
#define ONNX_MEMO_ATTR  (offsetof(struct ir_attr, ints) + ONNX_MEMO_INTS * sizeof(int64_t))

struct onnx_memo {
    struct slot {
        struct str bytes; /* NULL text: empty */
        char name[ONNX_MEMO_NAME];
        bool found;
        uint32_t n_ints;
        char attr[ONNX_MEMO_ATTR]; /* a struct ir_attr, as far as its elements go */
    } slots[1 << ONNX_MEMO_BITS];
};

/* Was attribute `name` looked for in such bytes? Then *found tells whether it is there, and `out` is it. */
bool onnx_memo_get(const struct onnx_memo *t, struct str bytes, const char *name, bool *found,
                   struct ir_attr *out);

/* Notes what was found (`out`), or with NULL that it is not there. The bytes live as long as the memo. */
void onnx_memo_put(struct onnx_memo *t, struct str bytes, const char *name, const struct ir_attr *out);

#endif
