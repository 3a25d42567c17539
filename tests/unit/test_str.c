#include "ir/str.h"

#include <criterion/criterion.h>

Test(str, comparisons_are_by_bytes)
{
    cr_assert(str_eq(STR_LIT("a\0b"), STR_LIT("a\0b")));
    cr_assert(!str_eq(STR_LIT("a\0b"), STR_LIT("a\0c")));
    cr_assert(str_eq((struct str){NULL, 0}, STR_LIT("")));
    cr_assert(str_is(STR_LIT("layers"), "layers"));
    cr_assert(!str_is(STR_LIT("layers"), "layer"));
    cr_assert(!str_is(STR_LIT("a\0b"), "a"));
}

Test(str, prefixes_and_suffixes)
{
    cr_assert(str_starts(STR_LIT("layers.0"), STR_LIT("layers")));
    cr_assert(str_starts(STR_LIT("x"), STR_LIT("")));
    cr_assert(!str_starts(STR_LIT("lay"), STR_LIT("layers")));
    cr_assert(str_ends(STR_LIT("gate.weight"), STR_LIT(".weight")));
    cr_assert(!str_ends(STR_LIT("weight"), STR_LIT(".weight")));
    cr_assert(str_ends((struct str){NULL, 0}, STR_LIT("")));
}

Test(str, searching)
{
    cr_assert_eq(str_chr(STR_LIT("a.b.c"), '.'), 1);
    cr_assert_eq(str_rchr(STR_LIT("a.b.c"), '.'), 3);
    cr_assert_eq(str_chr(STR_LIT("abc"), '.'), -1);
    cr_assert_eq(str_rchr((struct str){NULL, 0}, '.'), -1);
    for (size_t n = 0; n < 20; n++) {
        char text[20];
        memset(text, 'a', sizeof text);
        cr_assert(!str_has_either((struct str){text, n}, 'x', '\\'));
        for (size_t i = 0; i < n; i++) {
            text[i] = i % 2 ? 'x' : '\\';
            cr_assert(str_has_either((struct str){text, n}, 'x', '\\'));
            cr_assert(!str_has_either((struct str){text, i}, 'x', '\\'), "not past its end");
            text[i] = (char)(i % 2 ? 'x' ^ 0x80 : '\\' + 1);
        }
    }
    cr_assert_eq(str_find(STR_LIT("moe.router.gate"), STR_LIT("router")), 4);
    cr_assert_eq(str_find(STR_LIT("moe"), STR_LIT("router")), -1);
    cr_assert_eq(str_find(STR_LIT("moe"), STR_LIT("")), 0);
    cr_assert_eq(str_find((struct str){NULL, 0}, STR_LIT("x")), -1);
    cr_assert_eq(str_find(STR_LIT("a\0b"), STR_LIT("\0b")), 1);
}

static void escapes_to(struct str in, const char *want)
{
    char buf[256];
    size_t n = str_escape(buf, sizeof buf, in);
    cr_assert_str_eq(buf, want);
    cr_assert_eq(n, strlen(want));
    cr_assert_eq(str_escape(NULL, 0, in), strlen(want));
    cr_assert(str_eq_escaped(str_of(want), in));
}

Test(str, equal_when_escaped)
{
    struct str raw = STR_LIT("a\tb\x01");
    cr_assert(str_eq_escaped(STR_LIT("a\\tb\\x01"), raw));
    cr_assert_not(str_eq_escaped(STR_LIT("a\\tb\\x0"), raw), "cut");
    cr_assert_not(str_eq_escaped(STR_LIT("a\\tb\\x01c"), raw), "longer");
    cr_assert_not(str_eq_escaped(raw, raw), "not escaped");
    cr_assert_not(str_eq_escaped(STR_LIT("a\\x09b\\x01"), raw), "escaped in another way");
    cr_assert_not(str_eq_escaped((struct str){NULL, 0}, raw));
    cr_assert(str_eq_escaped((struct str){NULL, 0}, (struct str){NULL, 0}));
}

Test(str, escape_control_bytes)
{
    escapes_to(STR_LIT("plain /layers.0/MatMul"), "plain /layers.0/MatMul");
    escapes_to(STR_LIT("a\tb\nc\\d"), "a\\tb\\nc\\\\d");
    escapes_to(STR_LIT("\0\x01\x1b[31m\x7f\r"), "\\x00\\x01\\x1b[31m\\x7f\\x0d");
    escapes_to((struct str){NULL, 0}, "");
}

Test(str, escape_keeps_valid_utf8)
{
    escapes_to(STR_LIT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    escapes_to(STR_LIT("\xc2\xa0"), "\xc2\xa0");
}

Test(str, escape_c1_controls_and_invalid_utf8)
{
    escapes_to(STR_LIT("\xc2\x9b"), "\\xc2\\x9b");          /* CSI */
    escapes_to(STR_LIT("\xff\xfe"), "\\xff\\xfe");          /* never valid */
    escapes_to(STR_LIT("\xc0\x80"), "\\xc0\\x80");          /* overlong NUL */
    escapes_to(STR_LIT("\xe0\x80\x80"), "\\xe0\\x80\\x80"); /* overlong */
    escapes_to(STR_LIT("\xf0\x80\x80\x80"), "\\xf0\\x80\\x80\\x80");
    escapes_to(STR_LIT("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* surrogate */
    escapes_to(STR_LIT("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    escapes_to(STR_LIT("\xe2\x82"), "\\xe2\\x82"); /* cut off */
    escapes_to(STR_LIT("\xe2x\x82"), "\\xe2x\\x82");
}

Test(str, escape_line_ends_and_directions)
{
    escapes_to(STR_LIT("\xe2\x80\xa8\xe2\x80\xa9"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
    escapes_to(STR_LIT("a\xe2\x80\x8e\xe2\x80\x8f"), "a\\xe2\\x80\\x8e\\xe2\\x80\\x8f");
    escapes_to(STR_LIT("\xe2\x80\xaa\xe2\x80\xae"), "\\xe2\\x80\\xaa\\xe2\\x80\\xae");
    escapes_to(STR_LIT("\xe2\x81\xa6\xe2\x81\xa9"), "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
    /* Their neighbours: U+200D, U+2010, U+2027, U+202F, U+2065, U+206A. */
    escapes_to(STR_LIT("\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"),
               "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa");
}

Test(str, escape_never_writes_past_the_room)
{
    char buf[16];
    for (size_t cap = 1; cap <= 12; cap++) {
        memset(buf, '#', sizeof buf);
        cr_assert_eq(str_escape(buf, cap, STR_LIT("a\x01\xe2\x82\xac\n")), 10);
        cr_assert_leq(strlen(buf), cap - 1);
        for (size_t i = cap; i < sizeof buf; i++)
            cr_assert_eq(buf[i], '#');
    }
    /* Whole sequences only: never half an escape. */
    str_escape(buf, 4, STR_LIT("a\x01z"));
    cr_assert_str_eq(buf, "a");
    str_escape(buf, 5, STR_LIT("a\xe2\x82\xac"));
    cr_assert_str_eq(buf, "a\xe2\x82\xac");
    str_escape(buf, 4, STR_LIT("a\xe2\x82\xac"));
    cr_assert_str_eq(buf, "a");
}

Test(str, knows_utf8)
{
    static const char *const good[] = {
        "", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80", "a\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "\xe2\x82"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(str_is_utf8(str_of(good[i])), "%zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!str_is_utf8(str_of(bad[i])), "%zu", i);
}

static void unescapes_to(struct str in, struct str want)
{
    char out[64];
    size_t n = 99;
    cr_assert(str_unescape(out, &n, in), "%.*s", STR_ARG(in));
    cr_assert(str_eq((struct str){out, n}, want), "%.*s", STR_ARG(in));
}

Test(str, unescape)
{
    unescapes_to(STR_LIT("plain /layers.0/MatMul"), STR_LIT("plain /layers.0/MatMul"));
    unescapes_to(STR_LIT("a\\tb\\nc\\\\d"), STR_LIT("a\tb\nc\\d"));
    unescapes_to(STR_LIT("\\x00\\x1b[\\xff\\x2d"), STR_LIT("\0\x1b[\xff-"));
    unescapes_to(STR_LIT("\\\\x41"), STR_LIT("\\x41"));
    unescapes_to((struct str){NULL, 0}, (struct str){NULL, 0});
}

Test(str, unescape_tells_where_it_fails)
{
    static const char *const bad[] = {"ab\\", "ab\\x", "ab\\x4", "ab\\xg0", "ab\\x4G", "ab\\q", "ab\\X41"};
    char out[16];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n = 99;
        cr_expect(!str_unescape(out, &n, str_of(bad[i])), "%s", bad[i]);
        cr_expect_eq(n, 2, "%s: %zu", bad[i], n);
    }
}

Test(str, words_and_counts)
{
    static const char *const words[] = {"Add", "Cast"};
    cr_assert(STR_IS_ONE_OF(STR_LIT("Cast"), words) && STR_IS_ONE_OF(STR_LIT("Add"), words));
    cr_assert(!STR_IS_ONE_OF(STR_LIT("CastLike"), words) && !STR_IS_ONE_OF(STR_LIT(""), words));
    cr_assert_eq(str_count(STR_LIT("a.b..c"), '.'), 3);
    cr_assert_eq(str_count((struct str){NULL, 0}, '.'), 0);
}
