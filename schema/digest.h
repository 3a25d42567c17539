/* The digest of a model (TAGS.md 4): XXH3-128 over the stripped model's bytes without the contents of its
 * tensor data fields, of which only key and length take part. So it is the same for a model, the tagged model
 * and the stripped one, and weights are not read to compute it. */
#ifndef SACTAG_SCHEMA_DIGEST_H
#define SACTAG_SCHEMA_DIGEST_H

#include "ir/ir.h"
#include "schema/sink.h"

#define DIGEST_TEXT 33 /* 32 hexadecimal digits and a NUL */

struct sink_digest {
    struct sink sink;
    void *state;
    const struct ir_span *skip; /* what to leave out, by its place in the source, ascending; borrowed */
    size_t n_skip, i;
};

/* Hashes the bytes that are put but for those of `skip`. IR_EMEM when memory is exhausted. */
int sink_digest_init(struct sink_digest *s, const struct ir_span *skip, size_t n_skip, struct diag *d);
void sink_digest_free(struct sink_digest *s);

/* The digest of what has been put so far, in canonical (big-endian) form. */
void sink_digest_text(const struct sink_digest *s, char out[DIGEST_TEXT]);

#endif
