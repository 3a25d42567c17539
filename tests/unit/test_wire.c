#include "schema/wire.h"

#include "tests/unit/pb.h"

#include <stdio.h>

/* Walks all fields; the last result of wire_next(), and how many fields there were. */
static int walk(const void *bytes, size_t n, size_t *fields)
{
    /* Exactly as long as it is, so that a sanitizer sees a byte read too far. */
    uint8_t *exact = malloc(n ? n : 1);
    cr_assert_not_null(exact);
    memcpy(exact, bytes, n);
    struct wire w = wire_over(exact, n);
    struct wire_field f;
    int rc;
    *fields = 0;
    while ((rc = wire_next(&w, &f)) == 1) {
        ++*fields;
        cr_assert(f.start >= exact && f.start < w.at && w.at <= exact + n);
        cr_assert(f.body > f.start && f.body + f.len == w.at);
    }
    if (rc == 0)
        cr_assert_eq(w.at, exact + n);
    free(exact);
    return rc;
}

static int result(const void *bytes, size_t n)
{
    size_t fields;
    return walk(bytes, n, &fields);
}

Test(wire, fields_of_all_types)
{
    struct pb p = {0};
    pb_int(&p, 1, 300);
    pb_text(&p, 2, "MatMul");
    pb_raw(&p, "\x1d\x01\x02\x03\x84", 5);     /* field 3, fixed32 */
    pb_raw(&p, "\x21\x01\0\0\0\0\0\0\x80", 9); /* field 4, fixed64 */
    pb_raw(&p, "\x2b\x08\x01\x2c", 4);         /* field 5, a group with one varint */
    pb_int(&p, WIRE_FIELD_MAX, UINT64_MAX);
    struct wire w = wire_over(p.b, p.n);
    struct wire_field f;
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(wire_is_varint(&f, 1));
    cr_assert_eq(f.value, 300);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(wire_is_len(&f, 2));
    cr_assert(str_is(wire_str(&f), "MatMul"));
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(f.number == 3 && f.type == WIRE_I32 && f.value == 0x84030201 && f.len == 4);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(f.number == 4 && f.type == WIRE_I64 && f.value == 0x8000000000000001 && f.len == 8);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(f.number == 5 && f.type == WIRE_GROUP && f.len == 3);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(wire_is_varint(&f, WIRE_FIELD_MAX));
    cr_assert_eq(f.value, UINT64_MAX);
    cr_assert_eq(wire_next(&w, &f), 0);
    pb_free(&p);
}

Test(wire, nothing_is_a_record)
{
    cr_assert_eq(result("", 0), 0);
    struct wire w = wire_over(NULL, 0);
    struct wire_field f;
    cr_assert_eq(wire_next(&w, &f), 0);
}

Test(wire, every_truncation_is_found)
{
    struct pb p = {0};
    pb_int(&p, 1, 1u << 20);
    pb_text(&p, 700, "some text");
    pb_raw(&p, "\x1d\x01\x02\x03\x04", 5);
    pb_raw(&p, "\x21\x01\x02\x03\x04\x05\x06\x07\x08", 9);
    pb_raw(&p, "\x2b\x33\x3a\x01x\x34\x2c", 7);
    size_t whole = 0, fields;
    for (size_t n = 0; n <= p.n; n++) {
        int rc = walk(p.b, n, &fields);
        whole += rc == 0;
        cr_assert(rc == 0 || rc == WIRE_TRUNCATED || rc == WIRE_BAD_GROUP, "%zu bytes: %d", n, rc);
    }
    cr_assert_eq(whole, 6, "only cuts between fields are no truncation");
    pb_free(&p);
}

Test(wire, an_error_leaves_the_cursor_at_its_field)
{
    struct pb p = {0};
    pb_int(&p, 1, 5);
    pb_raw(&p,
           "\x12\x7f"
           "abc",
           5);
    struct wire w = wire_over(p.b, p.n);
    struct wire_field f;
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(wire_next(&w, &f), WIRE_TRUNCATED);
    cr_assert_eq(w.at, p.b + 2);
    pb_free(&p);
}

Test(wire, varints_may_be_longer_than_need_be)
{
    for (unsigned width = 1; width <= 10; width++) {
        struct pb p = {0};
        pb_wide(&p, 2 << 3 | 2, width);
        pb_wide(&p, 3, width);
        pb_raw(&p, "abc", 3);
        pb_wide(&p, 1 << 3, width);
        pb_wide(&p, 1, width);
        struct wire w = wire_over(p.b, p.n);
        struct wire_field f;
        cr_assert_eq(wire_next(&w, &f), 1, "width %u", width);
        cr_assert(str_is(wire_str(&f), "abc"));
        cr_assert_eq(wire_next(&w, &f), 1);
        cr_assert(wire_is_varint(&f, 1) && f.value == 1);
        cr_assert_eq(wire_next(&w, &f), 0);
        pb_free(&p);
    }
}

Test(wire, varints_end_at_64_bits)
{
    size_t fields;
    cr_assert_eq(walk("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &fields), 0);
    cr_assert_eq(fields, 1);
    cr_assert_eq(result("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11), WIRE_OVERFLOW);
    cr_assert_eq(result("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12), WIRE_OVERFLOW);
}

Test(wire, lengths_that_overflow_are_truncations)
{
    cr_assert_eq(result("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), WIRE_TRUNCATED);
    cr_assert_eq(result("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10), WIRE_TRUNCATED);
    cr_assert_eq(result("\x0b\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x0c", 12), WIRE_TRUNCATED);
}

Test(wire, field_numbers_and_wire_types_out_of_range)
{
    cr_assert_eq(result("\x00\x01", 2), WIRE_NUMBER);
    cr_assert_eq(result("\x02\x00", 2), WIRE_NUMBER);
    cr_assert_eq(result("\x82\x80\x80\x80\x10\x00", 6), WIRE_NUMBER); /* 2^29 */
    cr_assert_eq(result("\x0e\x00", 2), WIRE_BAD_TYPE);
    cr_assert_eq(result("\x0f\x00", 2), WIRE_BAD_TYPE);
    cr_assert_eq(result("\x0b\x0e\x0c", 3), WIRE_BAD_TYPE);
    cr_assert_eq(result("\x0b\x00\x0c", 3), WIRE_NUMBER);
}

Test(wire, groups_must_match)
{
    size_t fields;
    cr_assert_eq(walk("\x0b\x0c\x08\x01", 4, &fields), 0);
    cr_assert_eq(fields, 2, "a group is one field");
    cr_assert_eq(result("\x0c", 1), WIRE_BAD_GROUP);             /* ended, never begun */
    cr_assert_eq(result("\x0b", 1), WIRE_BAD_GROUP);             /* begun, never ended */
    cr_assert_eq(result("\x0b\x14", 2), WIRE_BAD_GROUP);         /* another one's end */
    cr_assert_eq(result("\x0b\x13\x0c\x14", 4), WIRE_BAD_GROUP); /* crossed */
    cr_assert_eq(result("\x0b\x13\x14\x0c", 4), 0);
}

Test(wire, groups_nest_only_so_deep)
{
    uint8_t deep[2 * WIRE_GROUP_DEPTH + 2];
    memset(deep, 0x0b, WIRE_GROUP_DEPTH);
    memset(deep + WIRE_GROUP_DEPTH, 0x0c, WIRE_GROUP_DEPTH);
    cr_assert_eq(result(deep, 2 * WIRE_GROUP_DEPTH), 0);
    memset(deep, 0x0b, WIRE_GROUP_DEPTH + 1);
    memset(deep + WIRE_GROUP_DEPTH + 1, 0x0c, WIRE_GROUP_DEPTH + 1);
    cr_assert_eq(result(deep, sizeof deep), WIRE_TOO_DEEP);
    size_t n = 1 << 20;
    uint8_t *many = malloc(n);
    cr_assert_not_null(many);
    memset(many, 0x0b, n);
    cr_assert_eq(result(many, n), WIRE_TOO_DEEP);
    free(many);
}

static size_t numbers(const struct wire_field *f, uint64_t *out, int *rc)
{
    struct wire_ints it = wire_ints(f);
    size_t n = 0;
    while ((*rc = wire_ints_next(&it, &out[n])) == 1)
        n++;
    return n;
}

Test(wire, integers_packed_or_not)
{
    struct pb p = {0}, packed = {0};
    pb_varint(&packed, 7);
    pb_varint(&packed, 300);
    pb_varint(&packed, UINT64_MAX);
    pb_sub(&p, 8, packed);
    pb_int(&p, 8, 9);
    pb_bytes(&p, 8, "", 0);
    pb_raw(&p, "\x45\x01\0\0\0", 5); /* field 8 as fixed32: no integer of a varint list */
    pb_bytes(&p, 8, "\x01\x80", 2);  /* cut off */
    struct wire w = wire_over(p.b, p.n);
    struct wire_field f;
    uint64_t v[8];
    int rc;
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(numbers(&f, v, &rc), 3);
    cr_assert(rc == 0 && v[0] == 7 && v[1] == 300 && v[2] == UINT64_MAX);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(numbers(&f, v, &rc), 1);
    cr_assert(rc == 0 && v[0] == 9);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(numbers(&f, v, &rc), 0);
    cr_assert_eq(rc, 0);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(numbers(&f, v, &rc), 0);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert_eq(numbers(&f, v, &rc), 1);
    cr_assert_eq(rc, WIRE_TRUNCATED);
    pb_free(&p);
}

Test(wire, a_field_of_another_type_is_another_field)
{
    struct wire_field f;
    struct wire w = wire_over((const uint8_t *)"\x0a\x00", 2);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(wire_is_len(&f, 1));
    cr_assert(!wire_is_len(&f, 2));
    cr_assert(!wire_is_varint(&f, 1));
    w = wire_over((const uint8_t *)"\x08\x00", 2);
    cr_assert_eq(wire_next(&w, &f), 1);
    cr_assert(!wire_is_len(&f, 1));
}

Test(wire, every_error_has_a_text)
{
    for (int e = WIRE_TOO_DEEP; e < 0; e++)
        for (int other = e + 1; other <= 0; other++)
            cr_assert_str_neq(wire_error_text(e), wire_error_text(other));
}

/* Walks the length-delimited fields; the last result of wire_next_len(), and their numbers as text. */
static int walk_len(const void *bytes, size_t n, char *numbers, size_t *end)
{
    uint8_t *exact = malloc(n ? n : 1); /* exactly as long as it is */
    cr_assert_not_null(exact);
    memcpy(exact, bytes, n);
    struct wire w = wire_over(exact, n);
    struct wire_len f;
    int rc;
    numbers[0] = 0;
    while ((rc = wire_next_len(&w, &f)) == 1) {
        cr_assert((const uint8_t *)f.body.s > f.start && (const uint8_t *)f.body.s + f.body.n == w.at);
        sprintf(numbers + strlen(numbers), "%u:%zu ", f.number, f.body.n);
    }
    *end = (size_t)(w.at - exact);
    free(exact);
    return rc;
}

Test(wire, length_delimited_fields_alone)
{
    char numbers[500];
    size_t end;
    struct pb p = {0};
    char text[16400] = {0};
    size_t n[] = {0, 1, 127, 128, 16383, 16384, 5};
    pb_int(&p, 3, 300);
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        pb_bytes(&p, 1 + (unsigned)i, text, n[i]);
    pb_int(&p, 4, 1);
    pb_text(&p, 15, "a");
    pb_text(&p, 16, "two bytes of tag");
    pb_raw(&p, "\x1d\x01\x02\x03\x04", 5); /* field 3, fixed32 */
    pb_raw(&p, "\x8a\x00\x02zz", 5);       /* field 1, its tag longer than it need be */
    pb_raw(&p, "\x0a\x82\x80\x00zz", 6);   /* field 1, its length longer than it need be */
    pb_raw(&p, "\x0a\x82\x00zz", 5);
    pb_raw(&p, "\x0a\x00", 2);
    cr_expect_eq(walk_len(p.b, p.n, numbers, &end), 0);
    cr_expect_str_eq(numbers, "1:0 2:1 3:127 4:128 5:16383 6:16384 7:5 15:1 16:16 1:2 1:2 1:2 1:0 ");
    cr_expect_eq(end, p.n);
    pb_free(&p);
    static const struct {
        const char *bytes;
        size_t n, end;
        int rc;
        const char *numbers;
    } bad[] = {
        {"\x0a", 1, 0, WIRE_TRUNCATED, ""},
        {"\x0a\x80", 2, 0, WIRE_TRUNCATED, ""},
        {"\x0a\x01", 2, 0, WIRE_TRUNCATED, ""},
        {"\x0a\x02z", 3, 0, WIRE_TRUNCATED, ""},
        {"\x0a\x81\x01z", 4, 0, WIRE_TRUNCATED, ""},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01z", 12, 0, WIRE_TRUNCATED, ""},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02z", 12, 0, WIRE_OVERFLOW, ""},
        {"\x02\x01z", 3, 0, WIRE_NUMBER, ""},
        {"\x0a\x01z\x08\x01\x0f\x01z", 8, 5, WIRE_BAD_TYPE, "1:1 "},
        {"\x0a\x01z\x08\x01\x0c\x01z", 8, 5, WIRE_BAD_GROUP, "1:1 "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(walk_len(bad[i].bytes, bad[i].n, numbers, &end), bad[i].rc, "%zu", i);
        cr_expect_str_eq(numbers, bad[i].numbers, "%zu", i);
        cr_expect_eq(end, bad[i].end, "%zu", i);
    }
}

Test(wire, prefetching_stays_inside)
{
    uint8_t bytes[3 * WIRE_AHEAD] = {0};
    struct wire_ahead ahead = {bytes, bytes + sizeof bytes};
    wire_prefetch(&ahead, bytes);
    cr_assert_eq(ahead.at, bytes + WIRE_AHEAD);
    wire_prefetch(&ahead, bytes + WIRE_GRAIN - 1); /* too few for once more */
    cr_assert_eq(ahead.at, bytes + WIRE_AHEAD);
    wire_prefetch(&ahead, bytes + WIRE_GRAIN + 100);
    cr_assert_eq(ahead.at, bytes + WIRE_AHEAD + WIRE_GRAIN);
    wire_prefetch(&ahead, bytes + sizeof bytes - WIRE_GRAIN - 10);
    cr_assert_eq(ahead.at, bytes + sizeof bytes - 10);
    wire_prefetch(&ahead, ahead.end);
    cr_assert_eq(ahead.at, ahead.end);
}
