#include "schema/pt2_custom.h"

#include "ir/diag.h"

#include <criterion/criterion.h>

static void expect_strip(const char *raw, const char *want)
{
    struct arena a;
    struct str out;
    arena_init(&a, 0);
    cr_expect_eq(custom_strip(&out, str_of(raw), &a), 0);
    cr_expect_eq(out.s == NULL, want == NULL, "%s", raw);
    if (want)
        cr_expect(str_is(out, want), "%s gives %.*s", raw, STR_ARG(out));
    arena_free(&a);
}

/* Texts are the inside of a JSON string, so quotes in them are escaped. */
Test(pt2_custom, takes_out_tags_only)
{
    expect_strip("{\\\"sac.policy\\\": \\\"save\\\"}", NULL);
    expect_strip("{\\\"sac.policy\\\": \\\"save\\\", \\\"sac.reason\\\": \\\"odd:1\\\"}", NULL);
    expect_strip("{\\\"a\\\": 1, \\\"sac.policy\\\": \\\"save\\\"}", "{\\\"a\\\": 1}");
    expect_strip("{ \\\"a\\\" : 1 , \\\"sac.x\\\": [2, {}], \\\"sac.y\\\": null }", "{ \\\"a\\\" : 1 }");
    expect_strip("{\\\"a\\\":1,\\\"sac.x\\\":2,\\\"b\\\":3}", "{\\\"a\\\":1,\\\"b\\\":3}");
    expect_strip("{\\\"sac.x\\\":2, \\\"b\\\":3}", "{\\\"b\\\":3}");
    expect_strip("{\\\"sac.x\\\":2, \\\"sac.y\\\":2, \\\"b\\\":3, \\\"sac.z\\\":2}", "{\\\"b\\\":3}");
    expect_strip("{\\\"sac\\\": 1, \\\"xsac.y\\\": 2, \\\"Sac.y\\\": 3}",
                 "{\\\"sac\\\": 1, \\\"xsac.y\\\": 2, \\\"Sac.y\\\": 3}");
    expect_strip("{\\\"a\\\": {\\\"sac.x\\\": 1}}", "{\\\"a\\\": {\\\"sac.x\\\": 1}}"); /* not its own key */
}

Test(pt2_custom, escapes_do_not_hide_a_tag_or_move_a_cut)
{
    expect_strip("{\\u0022a\\u0022: 1, \\u0022sac.x\\u0022: 2}", "{\\u0022a\\u0022: 1}");
    expect_strip("{\\\"\\\\u0073ac.x\\\": 2, \\\"a\\\": 1}", "{\\\"a\\\": 1}");
    expect_strip("{\\\"e\\\": \\\"\\u00e9\\ud83d\\ude00\\\\\\\\\\\", \\\"sac.x\\\": 2}",
                 "{\\\"e\\\": \\\"\\u00e9\\ud83d\\ude00\\\\\\\\\\\"}");
    expect_strip("{\\\"e\\\": \\\"\\ud83d\\u0022, \\\"sac.x\\\": 2}", "{\\\"e\\\": \\\"\\ud83d\\u0022}");
    expect_strip("{\\\"e\\\": \\\"\xc3\xa9\\\", \\\"sac.x\\\": 2}", "{\\\"e\\\": \\\"\xc3\xa9\\\"}");
}

Test(pt2_custom, what_is_no_object_stays)
{
    expect_strip("", "");
    expect_strip("{}", "{}");
    expect_strip("[\\\"sac.x\\\"]", "[\\\"sac.x\\\"]");
    expect_strip("sac.x", "sac.x");
    expect_strip("{\\\"sac.x\\\": }", "{\\\"sac.x\\\": }");
    struct arena a;
    struct str out = STR_LIT("x");
    arena_init(&a, 0);
    cr_expect_eq(custom_strip(&out, (struct str){0}, &a), 0);
    cr_expect_null(out.s);
    arena_free(&a);
}

static const struct annot two[] = {
    {.kind = ANNOT_META, .key = {"sac.policy", 10}, .value = {"save", 4}},
    {.kind = ANNOT_META, .key = {"sac.r", 5}, .value = {"a\"b\\\n\xc3\xa9", 7}}};
#define POLICY "\\\"sac.policy\\\": \\\"save\\\""
#define REASON "\\\"sac.r\\\": \\\"a\\\\\\\"b\\\\\\\\\\\\n\\\\u00e9\\\""

static void expect_add(const char *raw, size_t n, const char *want)
{
    struct arena a;
    struct str out, back;
    arena_init(&a, 0);
    cr_expect_eq(custom_add(&out, raw ? str_of(raw) : (struct str){0}, two, n, &a), 0);
    cr_expect(str_is(out, want), "%s gives %.*s", raw ? raw : "nothing", STR_ARG(out));
    cr_expect_eq(custom_strip(&back, out, &a), 0);
    if (raw && strcmp(raw, "{}") != 0 && strcmp(raw, "{ }") != 0)
        cr_expect(str_is(back, raw), "%s comes back as %.*s", raw, STR_ARG(back));
    arena_free(&a);
}

/* The text is what Python's json.dumps(json.dumps({...})) gives. */
Test(pt2_custom, adds_after_what_is_there)
{
    expect_add(NULL, 1, "{" POLICY "}");
    expect_add(NULL, 2, "{" POLICY ", " REASON "}");
    expect_add("{}", 1, "{" POLICY "}");
    expect_add("{ }", 1, "{" POLICY " }");
    expect_add("{\\\"a\\\": 1}", 1, "{\\\"a\\\": 1, " POLICY "}");
    expect_add(" {\\\"a\\\":\\\"b\\\" } ", 2, " {\\\"a\\\":\\\"b\\\", " POLICY ", " REASON " } ");
    expect_add("{\\u0022a\\u0022: [1]\\n}", 1, "{\\u0022a\\u0022: [1], " POLICY "\\n}");
    expect_add("{\\\"a\\\": 1}", 0, "{\\\"a\\\": 1}");
}

Test(pt2_custom, adds_to_objects_only)
{
    static const char *const bad[] = {"", "[]", "3", "null", "\\\"text\\\"", "{", "{\\\"a\\\": }", "{} {}"};
    struct arena a;
    struct str out;
    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(custom_add(&out, str_of(bad[i]), two, 1, &a), IR_EINPUT, "%s", bad[i]);
        cr_expect_eq(custom_add(&out, str_of(bad[i]), two, 0, &a), 0, "%s", bad[i]);
    }
    arena_free(&a);
}

Test(pt2_custom, alike_but_for_tags)
{
    static const struct {
        const char *x, *y;
        bool alike;
    } cases[] = {{NULL, NULL, true},
                 {NULL, "{}", true},
                 {NULL, "{\\\"sac.x\\\": 1}", true},
                 {"{ }", "{\\\"sac.x\\\": 1}", true},
                 {"{\\\"a\\\": 1}", "{\\\"a\\\": 1, \\\"sac.x\\\": 1}", true},
                 {"{\\\"a\\\": 1}", "{\\\"a\\\": 2, \\\"sac.x\\\": 1}", false},
                 {NULL, "[]", false},
                 {"{\\\"a\\\": 1}", NULL, false}};
    struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool alike = !cases[i].alike;
        cr_expect_eq(custom_alike(&alike, str_of(cases[i].x), str_of(cases[i].y), &a), 0);
        cr_expect_eq(alike, cases[i].alike, "case %zu", i);
    }
    arena_free(&a);
}
