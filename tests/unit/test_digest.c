#include "schema/digest.h"

#include "tests/unit/pb.h"

#include <string.h>

/* Expected digests are those that the xxhsum program prints (xxhsum -H2). */

static void digest(char out[DIGEST_TEXT], const char *text, const struct ir_span *skip, size_t n_skip,
                   size_t piece, uint64_t base)
{
    struct sink_digest s;
    size_t n = strlen(text);
    cr_assert_eq(sink_digest_init(&s, skip, n_skip, NULL), 0);
    for (size_t at = 0; at < n; at += piece) {
        size_t k = n - at < piece ? n - at : piece;
        cr_assert_eq(sink_put(&s.sink, text + at, k, base == SINK_NEW ? SINK_NEW : base + at), 0);
    }
    cr_assert_eq(s.sink.finish(&s.sink), 0);
    sink_digest_text(&s, out);
    sink_digest_free(&s);
}

Test(digest, is_canonical_xxh3)
{
    char got[DIGEST_TEXT];
    digest(got, "", NULL, 0, 1, 0);
    cr_assert_str_eq(got, "99aa06d3014798d86001c324468d497f");
    digest(got, "sactag", NULL, 0, 6, 0);
    cr_assert_str_eq(got, "4a3bd08f70652f5e8acf38af653a2a06");
}

Test(digest, leaves_out_what_it_is_told_to)
{
    static const struct ir_span skip[] = {{102, 3}, {105, 1}, {108, 0}, {110, 6}, {900, 5}};
    char want[DIGEST_TEXT], got[DIGEST_TEXT];
    digest(want, "abghij", NULL, 0, 100, SINK_NEW);
    for (size_t piece = 1; piece < 20; piece++) {
        digest(got, "abcdefghijklmnop", skip, 5, piece, 100);
        cr_assert_str_eq(got, want, "in pieces of %zu", piece);
    }
}

/* What is new has no place in the source: nothing of it is left out. */
Test(digest, takes_new_bytes_in_full)
{
    static const struct ir_span skip[] = {{0, 100}};
    char want[DIGEST_TEXT], got[DIGEST_TEXT];
    digest(want, "abc", NULL, 0, 3, SINK_NEW);
    digest(got, "abc", skip, 1, 3, SINK_NEW);
    cr_assert_str_eq(got, want);
    digest(want, "", NULL, 0, 3, SINK_NEW);
    digest(got, "abc", skip, 1, 2, 97);
    cr_assert_str_eq(got, want);
}
