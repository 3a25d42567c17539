#include "schema/splice.h"

#include "ir/arena.h"

#include <stdlib.h>
#include <string.h>

void splice_init(struct splice *s, const uint8_t *bytes, uint64_t size)
{
    *s = (struct splice){.bytes = bytes, .size = size, .out_size = size};
}

void splice_free(struct splice *s)
{
    free(s->records);
    free(s->edits);
    splice_init(s, s->bytes, s->size);
}

uint8_t splice_varint_width(uint64_t n)
{
    uint8_t width = 1;
    while (n >>= 7)
        width++;
    return width;
}

uint8_t splice_varint(uint8_t out[SPLICE_PREFIX_MAX], uint64_t n, uint8_t width)
{
    uint8_t need = splice_varint_width(n);
    if (width < need)
        width = need;
    if (width > SPLICE_PREFIX_MAX)
        width = SPLICE_PREFIX_MAX;
    for (uint8_t i = 0; i < width; i++, n >>= 7)
        out[i] = (uint8_t)((n & 0x7f) | (i + 1 < width ? 0x80 : 0));
    return width;
}

uint8_t splice_prefix_width(const uint8_t *bytes, uint64_t off)
{
    /* All bytes of a varint but its last have the high bit set, and so has not the last one of the tag
     * before it. */
    uint8_t width = 1;
    while (width < SPLICE_PREFIX_MAX && off > width && bytes[off - width - 1] & 0x80)
        width++;
    return width;
}

uint32_t splice_record(struct splice *s, uint64_t off, uint64_t len, uint32_t parent)
{
    if (s->n_records >= SPLICE_TOP ||
        grow(&s->records, &s->cap_records, s->n_records + 1, sizeof *s->records) != 0)
        return SPLICE_TOP;
    s->records[s->n_records] = (struct splice_record){
        .off = off, .len = len, .parent = parent, .width = splice_prefix_width(s->bytes, off)};
    return (uint32_t)s->n_records++;
}

int splice_edit(struct splice *s, struct splice_edit e)
{
    if (grow(&s->edits, &s->cap_edits, s->n_edits + 1, sizeof *s->edits) != 0)
        return -1;
    s->edits[s->n_edits++] = e;
    return 0;
}

/* Passes a change of length on to a record, or to the whole. */
static int add_delta(struct splice *s, uint32_t record, int64_t delta)
{
    if (record == SPLICE_TOP)
        return __builtin_add_overflow(s->out_size, (uint64_t)delta, &s->out_size) == (delta >= 0) ? -1 : 0;
    struct splice_record *r = &s->records[record];
    return __builtin_add_overflow(r->delta, delta, &r->delta) ? -1 : 0;
}

int splice_measure(struct splice *s)
{
    s->out_size = s->size;
    for (size_t i = 0; i < s->n_edits; i++) {
        const struct splice_edit *e = &s->edits[i];
        if (add_delta(s, e->record, (int64_t)e->n_ins - (int64_t)e->del) != 0)
            return -1;
    }
    /* What a record encloses comes after it, so that backwards each is complete before its parent. */
    for (size_t i = s->n_records; i-- > 0;) {
        struct splice_record *r = &s->records[i];
        int64_t grown;
        r->n_prefix = splice_varint(r->prefix, splice_length(r), r->want);
        if (__builtin_add_overflow(r->delta, (int64_t)r->n_prefix - r->width, &grown) ||
            add_delta(s, r->parent, grown) != 0)
            return -1;
    }
    return s->out_size > INT64_MAX ? -1 : 0;
}

static int compare_records(const void *a, const void *b)
{
    const struct splice_record *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

/* Which edit comes first: by place, then the inner record's. (A record that ends where another one ends and
 * began later is the inner one.) */
static int compare_edits(const void *a, const void *b, void *records)
{
    const struct splice_edit *x = a, *y = b;
    const struct splice_record *r = records;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    if (x->record == y->record)
        return 0;
    if (x->record == SPLICE_TOP || y->record == SPLICE_TOP)
        return x->record == SPLICE_TOP ? 1 : -1;
    return r[x->record].off > r[y->record].off ? -1 : 1;
}

static void sort_edits(struct splice *s)
{
    for (size_t i = 1; i < s->n_edits; i++) {
        if (compare_edits(&s->edits[i - 1], &s->edits[i], s->records) > 0) {
            qsort_r(s->edits, s->n_edits, sizeof *s->edits, compare_edits, s->records);
            return;
        }
    }
}

static void sort_records(struct splice *s)
{
    for (size_t i = 1; i < s->n_records; i++) {
        if (compare_records(&s->records[i - 1], &s->records[i]) > 0) {
            qsort(s->records, s->n_records, sizeof *s->records, compare_records);
            return;
        }
    }
}

void splice_end(struct splice *s)
{
    sort_edits(s); /* before the records, to which the edits refer by number */
    sort_records(s);
}

struct splice_cursor splice_begin(const struct splice *s)
{
    return (struct splice_cursor){.s = s};
}

/* Passes the source on from where the cursor stands. */
static int run(struct splice_cursor *c, uint64_t to, struct sink *sink)
{
    if (to <= c->at)
        return 0;
    int rc = sink_put(sink, c->s->bytes + c->at, (size_t)(to - c->at), c->at);
    c->at = to;
    return rc;
}

int splice_write(struct splice_cursor *c, uint64_t upto, struct sink *to)
{
    const struct splice *s = c->s;
    bool last = upto >= s->size;
    for (;;) {
        const struct splice_record *r = c->record < s->n_records ? &s->records[c->record] : NULL;
        const struct splice_edit *e = c->edit < s->n_edits ? &s->edits[c->edit] : NULL;
        uint64_t at_r = r ? r->off - r->width : UINT64_MAX;
        uint64_t at_e = e ? e->off : UINT64_MAX;
        uint64_t next = at_r < at_e ? at_r : at_e;
        if (next > s->size || (!last && next >= upto))
            return run(c, last ? s->size : upto, to);
        int rc = run(c, next, to);
        if (rc == 0 && r && at_r < at_e) {
            rc = sink_put(to, r->prefix, r->n_prefix, SINK_NEW);
            c->at = r->off;
            c->record++;
        } else if (rc == 0 && e) {
            rc = sink_put(to, e->ins, e->n_ins, SINK_NEW);
            c->at = e->off + e->del;
            c->edit++;
        }
        if (rc)
            return rc;
    }
}
