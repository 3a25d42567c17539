/* Splicing: a list of edits over a source, written out as runs of the source and small new runs.
 *
 * Edits lie in length-delimited records that enclose each other. A record that encloses an edit is *touched*:
 * its length prefix is rewritten, as short as can be (or as wide as asked), which may make the prefix of what
 * encloses it change in turn. Everything else is passed on as it is, from where it lies. A few words for each
 * edit and each touched record; time linear in them, but for sorting those that were not added in order. */
#ifndef SACTAG_SCHEMA_SPLICE_H
#define SACTAG_SCHEMA_SPLICE_H

#include "schema/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLICE_TOP        UINT32_MAX /* `record` of an edit that lies in no record */
#define SPLICE_PREFIX_MAX 10         /* a 64-bit varint's bytes */

struct splice_record {
    uint64_t off, len;                 /* body in the source */
    int64_t delta;                     /* how much longer the new body is */
    uint32_t parent;                   /* or SPLICE_TOP */
    uint8_t width;                     /* of the prefix in the source */
    uint8_t want;                      /* width asked for, 0 = as short as can be */
    uint8_t n_prefix;                  /* bytes of the new prefix, */
    uint8_t prefix[SPLICE_PREFIX_MAX]; /* which is this */
};

struct splice_edit {
    uint64_t off, del;  /* this much of the source goes; */
    const uint8_t *ins; /* this comes; borrowed */
    uint32_t n_ins;
    uint32_t record; /* innermost record that it lies in, or SPLICE_TOP */
};

struct splice {
    const uint8_t *bytes; /* source; borrowed */
    uint64_t size;
    struct splice_record *records; /* a parent before what it encloses; by offset, once ended */
    struct splice_edit *edits;     /* by offset, once ended */
    size_t n_records, cap_records, n_edits, cap_edits;
    uint64_t out_size; /* once measured */
};

void splice_init(struct splice *s, const uint8_t *bytes, uint64_t size);
void splice_free(struct splice *s);

/* Adds a record that will be touched; its parent must have been added before, and no record twice. `off` is
 * where its body starts, right behind its prefix. Its number, or SPLICE_TOP when memory is exhausted. */
uint32_t splice_record(struct splice *s, uint64_t off, uint64_t len, uint32_t parent);

/* Width of the length prefix that ends at `off` (of a well-formed source). */
uint8_t splice_prefix_width(const uint8_t *bytes, uint64_t off);

/* Bytes of the shortest varint of n. */
uint8_t splice_varint_width(uint64_t n);

/* Writes the varint of n in `width` bytes (at least what it needs); returns the bytes written. */
uint8_t splice_varint(uint8_t out[SPLICE_PREFIX_MAX], uint64_t n, uint8_t width);

/* Adds an edit. Edits do not overlap. Of two at one place without deletion between them, the one in the inner
 * record comes first; in the same record there is at most one. -1 when memory is exhausted. */
int splice_edit(struct splice *s, struct splice_edit e);

/* All records and edits have been added: computes the new lengths. -1 when one would pass 2^63. Records keep
 * their numbers. */
int splice_measure(struct splice *s);

/* Length of a record's body, once measured. */
static inline uint64_t splice_length(const struct splice_record *r)
{
    return r->len + (uint64_t)r->delta;
}

/* After measuring: ready to be written. From now on records have no numbers. */
void splice_end(struct splice *s);

/* Where writing has got to. Two splices of one source can be written side by side. */
struct splice_cursor {
    const struct splice *s;
    uint64_t at; /* in the source */
    size_t record, edit;
};

struct splice_cursor splice_begin(const struct splice *s);

/* Writes what comes from the source up to `upto` (the end: all). 0 or what the sink said. */
int splice_write(struct splice_cursor *c, uint64_t upto, struct sink *to);

#endif
