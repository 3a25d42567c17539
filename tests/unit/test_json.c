#include "schema/json.h"

#include "ir/diag.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int parse(struct json *j, const char *text, struct json_error *e)
{
    return json_parse(j, str_of(text), 64, 0, e);
}

static void accept(const char *text, uint32_t tokens)
{
    struct json j;
    struct json_error e;
    cr_expect_eq(parse(&j, text, &e), 0, "%s: %s", text, e.message);
    cr_expect_eq(j.n, tokens, "%s: %u tokens", text, j.n);
    json_free(&j);
}

static void refuse(const char *text, const char *message, size_t offset)
{
    struct json j;
    struct json_error e;
    cr_expect_eq(parse(&j, text, &e), IR_EINPUT, "%s", text);
    cr_expect_str_eq(e.message, message, "%s", text);
    cr_expect_eq(e.offset, offset, "%s: at %zu", text, e.offset);
    cr_expect_null(j.tokens);
}

Test(json, accepts_all_of_json)
{
    accept("null", 1);
    accept(" true ", 1);
    accept("false\n", 1);
    accept("-0", 1);
    accept("12.5e-3", 1);
    accept("0E+2", 1);
    accept("\"\"", 1);
    accept("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\xc3\xa9\"", 1);
    accept("[]", 1);
    accept("{}", 1);
    accept("[ [ ] , { } ]", 3);
    accept("{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"e\"}", 12);
    accept("[NaN, Infinity, -Infinity]", 4); /* as Python writes them */
}

Test(json, refuses_what_is_not_json)
{
    refuse("", "text ends where a value is expected", 0);
    refuse("  ", "text ends where a value is expected", 2);
    refuse("[1 2]", "expected a comma or ]", 3);
    refuse("[1,]", "expected a value", 3);
    refuse("[,1]", "expected a value", 1);
    refuse("{\"a\" 1}", "expected a colon", 5);
    refuse("{\"a\":1 \"b\":2}", "expected a comma or }", 7);
    refuse("{\"a\":1,}", "expected a member's name", 7);
    refuse("{a:1}", "expected a member's name", 1);
    refuse("{\"a\":}", "expected a value", 5);
    refuse("{1:2}", "expected a member's name", 1);
    refuse("[1}", "expected a comma or ]", 2);
    refuse("[[1]", "expected a comma or ]", 4);
    refuse("{\"a\":1", "expected a comma or }", 6);
    refuse("1 2", "more text after the value", 2);
    refuse("\"a", "text ends in a string", 2);
    refuse("\"a\\", "text ends in a string", 3);
    refuse("\"\\x\"", "unknown escape in a string", 3);
    refuse("\"\\u12g4\"", "expected four hexadecimal digits after \\u", 5);
    refuse("\"\\u12", "text ends in a string", 3);
    refuse("\"a\nb\"", "control character in a string", 2);
    refuse("01", "more text after the value", 1);
    refuse("1.", "expected a digit after the decimal point", 2);
    refuse("1e", "expected a digit in the exponent", 2);
    refuse("-", "expected a value", 1);
    refuse("tru", "expected a value", 0);
    refuse("nul", "expected a value", 0);
    refuse("+1", "expected a value", 0);
    refuse("'a'", "expected a value", 0);
    refuse("\xef\xbb\xbf{}", "expected a value", 0);
}

Test(json, no_text_is_not_json)
{
    struct json j;
    struct json_error e;
    cr_assert_eq(json_parse(&j, (struct str){NULL, 0}, 64, 0, &e), IR_EINPUT);
    cr_assert_eq(e.offset, 0);
}

Test(json, a_nul_byte_ends_nothing)
{
    struct json j;
    struct json_error e;
    cr_expect_eq(json_parse(&j, (struct str){"[1]\0", 4}, 8, 0, &e), IR_EINPUT);
    cr_expect_eq(e.offset, 3);
    cr_expect_eq(json_parse(&j, (struct str){"[\"a\0b\"]", 7}, 8, 0, &e), IR_EINPUT);
    cr_expect_str_eq(e.message, "control character in a string");
}

Test(json, depth_is_bounded)
{
    char text[201];
    struct json j;
    struct json_error e;
    for (int n = 1; n <= 100; n++) {
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        int rc = json_parse(&j, (struct str){text, (size_t)n * 2}, 50, 0, &e);
        cr_expect_eq(rc, n <= 50 ? 0 : IR_EINPUT, "%d deep: %d", n, rc);
        if (rc != 0) {
            cr_expect_str_eq(e.message, "nested too deeply");
            cr_expect_eq(e.offset, 50);
        }
        json_free(&j);
    }
}

Test(json, deep_text_takes_linear_time_and_no_stack)
{
    size_t n = 4u << 20;
    char *text = malloc(n);
    struct json j;
    struct json_error e;
    memset(text, '[', n);
    cr_expect_eq(json_parse(&j, (struct str){text, n}, UINT32_MAX, 0, &e), IR_EINPUT);
    cr_expect_str_eq(e.message, "nested too deeply");
    cr_expect_eq(e.offset, JSON_DEPTH_MAX);
    text[0] = '[';
    for (size_t i = 1; i + 1024 < n; i += 1024) { /* 512 deep, again and again */
        memset(text + i, '[', 512);
        memset(text + i + 512, ']', 511);
        text[i + 1023] = ',';
        text[i + 511] = '1';
    }
    size_t used = 1 + (n - 2) / 1024 * 1024;
    text[used - 1] = ']';
    cr_expect_eq(json_parse(&j, (struct str){text, used}, 1024, 0, &e), 0, "%s at %zu", e.message, e.offset);
    cr_expect_eq(j.n, 1 + (used - 1) / 1024 * 512);
    json_free(&j);
    free(text);
}

Test(json, memory_is_bounded)
{
    struct json j;
    struct json_error e;
    cr_expect_eq(json_parse(&j, str_of("[1,1,1,1,1,1,1,1,1,1]"), 8, 100, &e), IR_EINPUT);
    cr_expect_str_eq(e.message, "too many values for the memory limit");
    cr_expect_eq(json_parse(&j, str_of("[1,1]"), 8, 100, &e), 0);
    json_free(&j);
}

Test(json, walking)
{
    struct json j;
    struct json_error e;
    cr_assert_eq(parse(&j, "{\"a\": [1, [2, 3], \"x\"], \"b\": {}, \"a2\": {\"a\": 7}, \"b\": 5}", &e), 0);
    uint32_t a = json_get(&j, 0, "a");
    cr_expect_eq(json_kind(&j, a), JSON_KIND_ARRAY);
    cr_expect_eq(json_count(&j, a), 3);
    cr_expect_eq(json_count(&j, 0), 4);
    uint32_t x = json_first(&j, a);
    cr_expect(str_is(json_raw(&j, x), "1"));
    x = json_next(&j, a, x);
    cr_expect(str_is(json_raw(&j, x), "[2, 3]"));
    x = json_next(&j, a, x);
    cr_expect(str_is(json_raw(&j, x), "x"));
    cr_expect_eq(json_next(&j, a, x), JSON_NONE);
    int64_t v = 0;
    cr_expect(json_int(&v, &j, json_get(&j, 0, "b")) && v == 5, "the last of a name counts");
    cr_expect(json_int(&v, &j, json_get(&j, json_get(&j, 0, "a2"), "a")) && v == 7);
    cr_expect_eq(json_get(&j, 0, "c"), JSON_NONE);
    cr_expect_eq(json_get(&j, a, "a"), JSON_NONE, "an array has no members");
    cr_expect_eq(json_get(&j, JSON_NONE, "a"), JSON_NONE);
    json_free(&j);
}

Test(json, integers)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t v;
    } cases[] = {{"0", true, 0},
                 {"-12", true, -12},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"9223372036854775808", false, 0},
                 {"99999999999999999999999999", false, 0},
                 {"1.0", false, 0},
                 {"1e3", false, 0},
                 {"Infinity", false, 0},
                 {"\"1\"", false, 0},
                 {"true", false, 0},
                 {"null", false, 0},
                 {"[1]", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j;
        struct json_error e;
        int64_t v = 0;
        cr_assert_eq(parse(&j, cases[i].text, &e), 0);
        cr_expect_eq(json_int(&v, &j, 0), cases[i].ok, "%s", cases[i].text);
        cr_expect_eq(v, cases[i].v, "%s", cases[i].text);
        json_free(&j);
    }
}

Test(json, strings)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"\"plain\"", "plain"},
                 {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
                 {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
                 {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
                 {"\"\\ud83dx\"", "\xef\xbf\xbdx"}, /* a lone half */
                 {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                                        "A"}, /* followed by no half */
                 {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j;
        struct json_error e;
        struct arena a;
        struct str s;
        arena_init(&a, 0);
        cr_assert_eq(parse(&j, cases[i].text, &e), 0);
        cr_expect_eq(json_text(&s, &j, 0, &a), 0);
        cr_expect(str_is(s, cases[i].want), "%s gives %.*s", cases[i].text, STR_ARG(s));
        json_free(&j);
        arena_free(&a);
    }
}

Test(json, a_number_is_no_string)
{
    struct json j;
    struct json_error e;
    struct arena a;
    struct str s;
    arena_init(&a, 0);
    cr_assert_eq(parse(&j, "5", &e), 0);
    cr_expect_eq(json_text(&s, &j, 0, &a), IR_EINPUT);
    json_free(&j);
}

/* What Python's json.dumps() makes of these. */
Test(json, escaping)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"odd:3", "odd:3"},
                 {"\"\\\b\f\n\r\t", "\\\"\\\\\\b\\f\\n\\r\\t"},
                 {"\x01\x1f\x7f", "\\u0001\\u001f\\u007f"},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\\u00e9\\u20ac\\ud83d\\ude00"},
                 {"a\xff"
                  "b\xc3",
                  "a\\ufffd"
                  "b\\ufffd"},
                 {"\xc0\x80\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[64];
        size_t n = json_escape(NULL, str_of(cases[i].text));
        cr_assert_lt(n, sizeof buf);
        cr_expect_eq(json_escape(buf, str_of(cases[i].text)), n);
        cr_expect(str_is((struct str){buf, n}, cases[i].want), "%.*s", (int)n, buf);
    }
}
