/* Protobuf bytes made by hand: what a test feeds in and what it expects. Shares no code with the library. */
#ifndef SACTAG_TESTS_PB_H
#define SACTAG_TESTS_PB_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pb {
    uint8_t *b;
    size_t n;
};

static inline void pb_raw(struct pb *p, const void *bytes, size_t n)
{
    p->b = realloc(p->b, p->n + n + 1);
    cr_assert_not_null(p->b);
    if (n)
        memcpy(p->b + p->n, bytes, n);
    p->n += n;
}

static inline void pb_varint(struct pb *p, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        pb_raw(p, &byte, 1);
        v >>= 7;
    } while (v);
}

/* A varint longer than it need be. */
static inline void pb_wide(struct pb *p, uint64_t v, unsigned width)
{
    for (unsigned i = 0; i < width; i++, v >>= 7) {
        uint8_t byte = (uint8_t)((v & 0x7f) | (i + 1 < width ? 0x80 : 0));
        pb_raw(p, &byte, 1);
    }
}

static inline void pb_int(struct pb *p, unsigned field, uint64_t v)
{
    pb_varint(p, field << 3);
    pb_varint(p, v);
}

static inline void pb_bytes(struct pb *p, unsigned field, const void *bytes, size_t n)
{
    pb_varint(p, field << 3 | 2);
    pb_varint(p, n);
    pb_raw(p, bytes, n);
}

static inline void pb_text(struct pb *p, unsigned field, const char *z)
{
    pb_bytes(p, field, z, strlen(z));
}

/* A record whose length prefix has `width` bytes. */
static inline void pb_bytes_wide(struct pb *p, unsigned field, const void *bytes, size_t n, unsigned width)
{
    pb_varint(p, field << 3 | 2);
    pb_wide(p, n, width);
    pb_raw(p, bytes, n);
}

/* Adds a record and frees what it was made from. */
static inline void pb_sub(struct pb *p, unsigned field, struct pb sub)
{
    pb_bytes(p, field, sub.b, sub.n);
    free(sub.b);
}

static inline void pb_sub_wide(struct pb *p, unsigned field, struct pb sub, unsigned width)
{
    pb_bytes_wide(p, field, sub.b, sub.n, width);
    free(sub.b);
}

/* A metadata_props entry. */
static inline void pb_entry(struct pb *p, unsigned field, const char *key, const char *value)
{
    struct pb e = {0};
    pb_text(&e, 1, key);
    pb_text(&e, 2, value);
    pb_sub(p, field, e);
}

static inline void pb_free(struct pb *p)
{
    free(p->b);
    *p = (struct pb){0};
}

static inline void pb_same(const void *got, size_t n, const struct pb *want)
{
    size_t i = 0;
    while (i < n && i < want->n && ((const uint8_t *)got)[i] == want->b[i])
        i++;
    cr_assert(n == want->n && i == n, "expected %zu bytes but found %zu, the first difference is at %zu",
              want->n, n, i);
}

#endif
