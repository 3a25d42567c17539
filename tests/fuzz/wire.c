/* The walker over wire format against a plain second decoder: same fields, same spans, same errors. Whatever
 * is a record inside is walked, too; and an edit spliced in is what comes out. */
#include "fuzz.h"
#include "schema/splice.h"
#include "schema/wire.h"

#include <stdlib.h>

#define NEST_MOST 32

/* ---- the second decoder, byte by byte */

struct plain {
    const uint8_t *p, *end;
    bool bad;
};

static uint64_t plain_varint(struct plain *c)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (c->p == c->end)
            break;
        uint8_t b = *c->p++;
        if (i == 9 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80)
            return v;
    }
    c->bad = true;
    return 0;
}

static void plain_skip(struct plain *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->p))
        c->bad = true;
    else
        c->p += n;
}

/* Past the body of a field of this tag; a group with all that is in it. */
static void plain_body(struct plain *c, uint64_t tag)
{
    uint64_t open[WIRE_GROUP_DEPTH + 1];
    unsigned depth = 0;

    do {
        switch (tag & 7) {
        case WIRE_VARINT:
            plain_varint(c);
            break;
        case WIRE_I64:
            plain_skip(c, 8);
            break;
        case WIRE_I32:
            plain_skip(c, 4);
            break;
        case WIRE_LEN: {
            uint64_t n = plain_varint(c);
            if (!c->bad)
                plain_skip(c, n);
            break;
        }
        case WIRE_GROUP:
            if (depth == WIRE_GROUP_DEPTH)
                c->bad = true;
            open[depth++] = tag >> 3;
            break;
        case WIRE_END_GROUP:
            if (depth == 0 || open[--depth] != tag >> 3)
                c->bad = true;
            break;
        default:
            c->bad = true;
        }
        if (c->bad || depth == 0)
            return;
        tag = plain_varint(c);
        c->bad |= tag >> 3 == 0 || tag >> 3 > WIRE_FIELD_MAX;
    } while (!c->bad);
}

/* ---- comparing */

static void same_field(const struct wire_field *f, const struct wire *w, int rc, const uint8_t *from)
{
    struct plain c = {from, w->end, false};
    uint64_t tag = plain_varint(&c);
    const uint8_t *body = c.p;

    c.bad |= tag >> 3 == 0 || tag >> 3 > WIRE_FIELD_MAX;
    if (!c.bad)
        plain_body(&c, tag);
    must((rc < 0) == c.bad);
    must(f->start == from);
    if (rc < 0) {
        must(w->at == from);
        must(wire_error_text(rc)[0]);
        return;
    }
    must(f->number == tag >> 3 && f->type == (tag & 7) && w->at == c.p);
    struct plain value = {body, w->end, false};
    uint64_t v = f->type == WIRE_VARINT || f->type == WIRE_LEN ? plain_varint(&value) : 0;
    if (f->type == WIRE_VARINT)
        must(f->value == v);
    if (f->type == WIRE_LEN)
        must(f->len == v && f->body == value.p && f->body + f->len == w->at);
    if (f->type == WIRE_I32)
        must(f->value == ((uint64_t)body[0] | (uint64_t)body[1] << 8 | (uint64_t)body[2] << 16 |
                          (uint64_t)body[3] << 24));
}

/* The next length-delimited field is the one that wire_next() comes to, or fails at. */
static void same_len(struct wire w)
{
    struct wire by_field = w;
    struct wire_field f;
    struct wire_len len;
    int want, got = wire_next_len(&w, &len);

    do
        want = wire_next(&by_field, &f);
    while (want == 1 && f.type != WIRE_LEN);
    must(got == want && w.at == by_field.at && w.end == by_field.end);
    if (got == 1)
        must(len.start == f.start && len.number == f.number && len.body.s == (const char *)f.body &&
             len.body.n == f.len);
}

static void integers(const struct wire_field *f)
{
    struct wire_ints it = wire_ints(f);
    uint64_t v, n = 0;
    int rc;

    while ((rc = wire_ints_next(&it, &v)) == 1)
        n++;
    must(rc <= 0 && n <= (f->type == WIRE_LEN ? f->len : 1));
}

static bool is_record(const uint8_t *p, uint64_t n)
{
    struct wire w = wire_over(p, n);
    struct wire_field f;
    int rc;

    while ((rc = wire_next(&w, &f)) == 1)
        ;
    return rc == 0;
}

/* One byte goes in at the end of the innermost first record; without it, the result is the input again. */
static void spliced(const uint8_t *bytes, size_t n)
{
    struct splice s;
    struct wire w = wire_over(bytes, n);
    struct wire_field f;
    uint32_t record = SPLICE_TOP;
    uint64_t at = n;
    uint32_t depth = 0;

    splice_init(&s, bytes, n);
    while (depth < NEST_MOST && wire_next(&w, &f) == 1) {
        if (f.type != WIRE_LEN || f.len == 0 || !is_record(f.body, f.len))
            continue;
        record = splice_record(&s, (uint64_t)(f.body - bytes), f.len, record);
        must(record != SPLICE_TOP);
        at = (uint64_t)(f.body - bytes) + f.len;
        w = wire_into(&f);
        depth++;
    }
    must(splice_edit(&s, (struct splice_edit){at, 0, (const uint8_t *)"\x08\x01", 2, record}) == 0);
    must(splice_measure(&s) == 0);
    splice_end(&s);
    must(s.out_size >= 2 && s.out_size <= n + 2 + depth);
    splice_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_bound bound = fuzz_begin();
    struct wire open[NEST_MOST];
    struct wire_field f;
    uint32_t depth = 0;

    open[0] = wire_over(bytes, n);
    for (;;) {
        struct wire *w = &open[depth];
        const uint8_t *from = w->at;
        same_len(*w);
        int rc = wire_next(w, &f);
        if (rc == 0) {
            must(from == w->end);
            if (depth-- == 0)
                break;
            continue;
        }
        same_field(&f, w, rc, from);
        struct wire_ahead ahead = {bytes, w->end};
        wire_prefetch(&ahead, w->at);
        must(ahead.at >= w->at && ahead.at <= w->end);
        if (rc < 0)
            w->at = w->end; /* on with what encloses it */
        else if (f.type == WIRE_VARINT || f.type == WIRE_LEN)
            integers(&f);
        if (rc == 1 && f.type == WIRE_LEN && depth + 1 < NEST_MOST && is_record(f.body, f.len))
            open[++depth] = wire_into(&f);
    }
    if (is_record(bytes, n))
        spliced(bytes, n);
    fuzz_end(bound, n);
    return 0;
}
