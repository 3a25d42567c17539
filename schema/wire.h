/* Protobuf's wire format over bytes in memory: one field after the other, as spans. Allocates nothing, copies
 * nothing, never reads a byte that it does not need: the body of a length-delimited field stays untouched.
 *
 * Bounds. Every step moves forward and stays inside [at, end). A varint has at most 10 bytes (it may be
 * longer than it need be) and 64 bits. Groups, which protobuf gave up, are skipped as one field; they may
 * nest WIRE_GROUP_DEPTH deep. */
#ifndef SACTAG_SCHEMA_WIRE_H
#define SACTAG_SCHEMA_WIRE_H

#include "ir/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WIRE_GROUP_DEPTH 64         /* no ONNX field is a group: what nests deeper is an attack */
#define WIRE_FIELD_MAX   0x1fffffff /* field numbers have 29 bits */

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_I64 = 1,
    WIRE_LEN = 2,
    WIRE_GROUP = 3, /* the whole group, end tag included */
    WIRE_END_GROUP = 4,
    WIRE_I32 = 5
};

/* What wire_next() returns: 1 for a field, 0 at the end, or one of these. */
enum wire_error {
    WIRE_TRUNCATED = -1, /* a field runs past the end of its record */
    WIRE_OVERFLOW = -2,  /* a varint of more than 64 bits or 10 bytes */
    WIRE_NUMBER = -3,    /* field number 0 or above 2^29 - 1 */
    WIRE_BAD_TYPE = -4,  /* wire type 6 or 7 */
    WIRE_BAD_GROUP = -5, /* an end of a group that was not begun, or not ended */
    WIRE_TOO_DEEP = -6   /* groups nested beyond WIRE_GROUP_DEPTH */
};

/* The reason as text for messages, such as "a field runs past the end of its record". */
const char *wire_error_text(int error);

/* A cursor over one record. After an error `at` is the start of the field that failed. */
struct wire {
    const uint8_t *at, *end;
};

struct wire_field {
    const uint8_t *start; /* first byte of the tag; the field ends where the cursor stands */
    const uint8_t *body;  /* LEN: after the length. Others: after the tag */
    uint64_t len;         /* of the body */
    uint64_t value;       /* VARINT, I32, I64 */
    uint32_t number;
    uint32_t type; /* enum wire_type */
};

static inline struct wire wire_over(const uint8_t *bytes, uint64_t n)
{
    return (struct wire){bytes, n ? bytes + n : bytes}; /* bytes may be NULL when there are none */
}

static inline struct wire wire_into(const struct wire_field *f)
{
    return wire_over(f->body, f->len);
}

static inline struct str wire_str(const struct wire_field *f)
{
    return (struct str){(const char *)f->body, (size_t)f->len};
}

/* The slow cases of the two functions below. */
const uint8_t *wire_varint_long(const uint8_t *p, const uint8_t *end, uint64_t *value, int *error);
int wire_next_other(struct wire *w, struct wire_field *f, uint64_t tag);

/* Reads a varint at p; returns where it ends, or NULL with *error set. */
static inline const uint8_t *wire_varint(const uint8_t *p, const uint8_t *end, uint64_t *value, int *error)
{
    if (p < end && *p < 0x80) {
        *value = *p;
        return p + 1;
    }
    if (end - p > 1 && p[1] < 0x80) { /* the length of most records */
        *value = (p[0] & 0x7fU) | (uint64_t)p[1] << 7;
        return p + 2;
    }
    return wire_varint_long(p, end, value, error);
}

/* The next field: 1, 0 at the end, or an enum wire_error. */
static inline int wire_next(struct wire *w, struct wire_field *f)
{
    const uint8_t *p = w->at;
    if (p == w->end)
        return 0;
    int error = WIRE_TRUNCATED;
    uint64_t tag;
    f->start = p;
    f->value = 0;
    p = wire_varint(p, w->end, &tag, &error);
    if (!p)
        return error < 0 ? error : WIRE_TRUNCATED; /* always negative, which an analyzer cannot know */
    f->number = (uint32_t)(tag >> 3);
    f->type = tag & 7;
    f->body = p;
    /* Nearly all fields of a model are length-delimited; the compiler sees one short path for them. */
    if (f->type == WIRE_LEN && tag >> 3 && tag >> 3 <= WIRE_FIELD_MAX) {
        p = wire_varint(p, w->end, &f->len, &error);
        if (!p)
            return error < 0 ? error : WIRE_TRUNCATED;
        if (f->len > (uint64_t)(w->end - p))
            return WIRE_TRUNCATED;
        f->body = p;
        w->at = p + f->len;
        return 1;
    }
    if (f->type == WIRE_VARINT && tag >> 3 && tag >> 3 <= WIRE_FIELD_MAX && p < w->end && *p < 0x80) {
        f->value = *p;
        f->len = 1;
        w->at = p + 1;
        return 1;
    }
    return wire_next_other(w, f, tag);
}

/* A length-delimited field: what those who ask for no other get, in registers. */
struct wire_len {
    const uint8_t *start; /* as in wire_field */
    struct str body;
    uint32_t number;
};

int wire_next_len_other(struct wire *w, struct wire_len *f);

/* The next length-delimited field, past fields of other types: 1, 0 at the end, or an enum wire_error. Here
 * is the form that nearly all have, with a tag of one byte and a length of one or two. */
static inline int wire_next_len(struct wire *w, struct wire_len *f)
{
    const uint8_t *p = w->at;
    if (w->end - p > 2 && (p[0] & 0x87) == WIRE_LEN && p[0] >> 3) {
        const uint8_t *body = p + 2;
        uint32_t n = p[1];
        if (n >= 0x80)
            n = (n & 0x7f) | (uint32_t)*body++ << 7;
        if (n < 1U << 14 && n <= (uint64_t)(w->end - body)) {
            *f = (struct wire_len){p, {(const char *)body, n}, p[0] >> 3};
            w->at = body + n;
            return 1;
        }
    }
    struct wire rest = *w;
    struct wire_len other;
    int rc = wire_next_len_other(&rest, &other);
    *w = rest;
    *f = other;
    return rc;
}

/* Hopping from length to length waits for memory at each hop, unless what lies ahead is asked for in time.
 * Who walks a large record calls this at every field: lines are asked for as fast as they are used, where a
 * burst of them would keep the memory busy and the next field waiting. */
#define WIRE_AHEAD 4096
#define WIRE_GRAIN 256
struct wire_ahead {
    const uint8_t *at; /* up to where lines were asked for */
    const uint8_t *end;
};

/* Asks for the lines of the next WIRE_AHEAD bytes that were not asked for before, WIRE_GRAIN bytes at a time.
 * Pages that are not in memory are not fetched by it. */
PREFETCHES wire_prefetch(struct wire_ahead *a, const uint8_t *at)
{
    const uint8_t *p = a->at > at ? a->at : at;
    if (p - at > WIRE_AHEAD - WIRE_GRAIN)
        return;
    const uint8_t *end = a->end - at > WIRE_AHEAD ? at + WIRE_AHEAD : a->end;
    for (; end - p >= WIRE_GRAIN; p += WIRE_GRAIN)
        prefetch_lines(p, WIRE_GRAIN);
    a->at = p;
}

/* Is it this field, length-delimited / a varint? A field of another wire type than the schema's is an unknown
 * field, as protobuf reads it. */
static inline bool wire_is_len(const struct wire_field *f, uint32_t number)
{
    return f->number == number && f->type == WIRE_LEN;
}

static inline bool wire_is_varint(const struct wire_field *f, uint32_t number)
{
    return f->number == number && f->type == WIRE_VARINT;
}

/* Splits a record of two fields, 1 and 2, both length-delimited and in this order, as every writer has
 * metadata entries (key, value) and value_info (name, type). False: it has another form, or the first is
 * long: walk it. */
static inline bool wire_pair(struct str *one, struct str *two, struct str body)
{
    const uint8_t *p = (const uint8_t *)body.s;
    size_t n = body.n, at, len;
    if (n < 4 || p[0] != (1 << 3 | WIRE_LEN) || p[1] >= 0x80)
        return false;
    at = 2 + (size_t)p[1];
    if (at + 2 > n || p[at] != (2 << 3 | WIRE_LEN))
        return false;
    *one = str_sub(body, 2, p[1]);
    len = p[at + 1];
    at += 2;
    if (len >= 0x80) {
        if (at == n || p[at] >= 0x80)
            return false;
        len = (len & 0x7f) | (size_t)p[at++] << 7;
    }
    *two = str_sub(body, at, len);
    return len == n - at;
}

/* Numbers of a repeated integer field, packed or not: calls it once for each occurrence of the field. Takes
 * the next of them: 1, 0 when there are no more, or an enum wire_error.
 *
 *     for (struct wire_ints it = wire_ints(&field); (rc = wire_ints_next(&it, &v)) == 1;) ... */
struct wire_ints {
    struct wire packed;
    uint64_t single;
    bool has_single;
};
struct wire_ints wire_ints(const struct wire_field *f);
int wire_ints_next(struct wire_ints *it, uint64_t *value);

#endif
