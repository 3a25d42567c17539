/* docs/plan.schema.json against what is printed and read. The validator below knows the part of JSON Schema
 * that the file uses, and fails on any other keyword. */
#include "sactag.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct validator {
    json_t *root;
    bool closed;     /* members that the schema does not name are wrong, too */
    char wrong[512]; /* the first thing that is */
};

static void fail(struct validator *v, const char *where, const char *what)
{
    if (!v->wrong[0])
        snprintf(v->wrong, sizeof v->wrong, "%s: %s", where, what);
}

static bool has_type(const json_t *j, const char *type)
{
    return (strcmp(type, "object") == 0 && json_is_object(j)) ||
           (strcmp(type, "array") == 0 && json_is_array(j)) ||
           (strcmp(type, "string") == 0 && json_is_string(j)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(j)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(j)) ||
           (strcmp(type, "null") == 0 && json_is_null(j));
}

static bool type_ok(const json_t *j, const json_t *type)
{
    if (json_is_string(type))
        return has_type(j, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (has_type(j, json_string_value(json_array_get(type, i))))
            return true;
    return false;
}

static bool matches(const char *pattern, const char *s)
{
    regex_t r;
    cr_assert_eq(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0, "%s", pattern);
    bool ok = regexec(&r, s, 0, NULL, 0) == 0;
    regfree(&r);
    return ok;
}

static bool one_of(const json_t *list, const json_t *j)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), j))
            return true;
    return false;
}

static void validate(struct validator *v, json_t *schema, json_t *j, const char *where);

static void validate_members(struct validator *v, json_t *schema, json_t *j, const char *where)
{
    json_t *properties = json_object_get(schema, "properties"), *member;
    bool closed = v->closed || json_is_false(json_object_get(schema, "additionalProperties"));
    const char *key;
    char inner[256];

    json_object_foreach(j, key, member)
    {
        json_t *s = json_object_get(properties, key);
        snprintf(inner, sizeof inner, "%s.%s", where, key);
        if (s)
            validate(v, s, member, inner);
        else if (closed)
            fail(v, inner, "not in the schema");
    }
}

static void validate_keyword(struct validator *v, json_t *schema, const char *key, json_t *arg, json_t *j,
                             const char *where)
{
    char inner[256];

    if (strcmp(key, "type") == 0 && !type_ok(j, arg))
        fail(v, where, "another type");
    else if (strcmp(key, "enum") == 0 && !one_of(arg, j))
        fail(v, where, "none of the choices");
    else if (strcmp(key, "const") == 0 && !json_equal(arg, j))
        fail(v, where, "another value");
    else if (strcmp(key, "pattern") == 0 && json_is_string(j) &&
             !matches(json_string_value(arg), json_string_value(j)))
        fail(v, where, "does not match");
    else if (strcmp(key, "minimum") == 0 && json_is_integer(j) &&
             json_integer_value(j) < json_integer_value(arg))
        fail(v, where, "too small");
    else if (strcmp(key, "minLength") == 0 && json_is_string(j) && json_string_length(j) < 1)
        fail(v, where, "too short");
    else if (strcmp(key, "required") == 0 && json_is_object(j))
        for (size_t i = 0; i < json_array_size(arg); i++) {
            if (!json_object_get(j, json_string_value(json_array_get(arg, i))))
                fail(v, where, json_string_value(json_array_get(arg, i)));
        }
    else if (strcmp(key, "items") == 0 && json_is_array(j))
        for (size_t i = 0; i < json_array_size(j); i++) {
            snprintf(inner, sizeof inner, "%s[%zu]", where, i);
            validate(v, arg, json_array_get(j, i), inner);
        }
    else if (strcmp(key, "properties") == 0 && json_is_object(j))
        validate_members(v, schema, j, where);
    else if (strcmp(key, "$ref") == 0)
        validate(
            v,
            json_object_get(json_object_get(v->root, "$defs"), json_string_value(arg) + strlen("#/$defs/")),
            j, where);
    else if (strcmp(key, "if") == 0) {
        struct validator test = {.root = v->root};
        validate(&test, arg, j, where);
        if (!test.wrong[0])
            validate(v, json_object_get(schema, "then"), j, where);
    }
}

static void validate(struct validator *v, json_t *schema, json_t *j, const char *where)
{
    static const char *const known[] = {
        "$schema",  "title", "description", "$defs",   "then",    "additionalProperties",
        "type",     "enum",  "const",       "pattern", "minimum", "minLength",
        "required", "items", "properties",  "$ref",    "if"};
    json_t *arg;
    const char *key;

    cr_assert(json_is_object(schema), "%s", where);
    json_object_foreach(schema, key, arg)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], key) != 0)
            i++;
        cr_assert_lt(i, sizeof known / sizeof *known, "%s: keyword %s", where, key);
        validate_keyword(v, schema, key, arg, j, where);
    }
}

static json_t *load_schema(void)
{
    json_error_t e;
    json_t *schema = json_load_file("docs/plan.schema.json", JSON_REJECT_DUPLICATES, &e);
    cr_assert_not_null(schema, "line %d: %s", e.line, e.text);
    return schema;
}

/* "" or what is wrong. */
static const char *check(json_t *schema, json_t *j, bool closed)
{
    static struct validator v;
    v = (struct validator){.root = schema, .closed = closed};
    validate(&v, schema, j, "plan");
    return v.wrong;
}

struct buffer {
    char *s;
    size_t n;
};

static int append(void *ctx, const char *text, size_t n)
{
    struct buffer *b = ctx;
    b->s = realloc(b->s, b->n + n + 1);
    memcpy(b->s + b->n, text, n);
    b->n += n;
    b->s[b->n] = 0;
    return 0;
}

static json_t *print(const sactag_plan *p)
{
    struct buffer text = {0};
    json_error_t e;
    cr_assert_eq(sactag_plan_to_json(p, "m.onnx", append, &text, NULL), 0);
    json_t *j = json_loads(text.s, JSON_REJECT_DUPLICATES, &e);
    cr_assert_not_null(j, "line %d: %s", e.line, e.text);
    free(text.s);
    return j;
}

/* Each key that the schema names is in the document, so that the schema has none too many. */
static void all_there(json_t *schema, json_t *j, const char *const *lacking, const char *where)
{
    json_t *sub;
    const char *key;

    json_object_foreach(json_object_get(schema, "properties"), key, sub)
    {
        bool lacks = false;
        for (size_t i = 0; lacking[i]; i++)
            lacks |= strcmp(lacking[i], key) == 0;
        json_t *member = json_object_get(j, key);
        cr_expect(lacks != (member != NULL), "%s.%s", where, key);
        if (json_is_object(member))
            all_there(sub, member, lacking, key);
        if (json_is_array(member) && json_is_object(json_array_get(member, 0)))
            all_there(json_object_get(sub, "items"), json_array_get(member, 0), lacking, key);
    }
}

Test(plan_schema, what_is_printed_is_valid)
{
    static const char *const plan_lacks[] = {"carrier", NULL};
    const char *fqns[] = {"moe.router.gate"};
    json_t *schema = load_schema(), *j;
    struct sactag_options o;
    sactag_model *m, *tagged;
    sactag_plan *p, *tags;
    void *bytes;
    size_t n;

    sactag_options_init(&o);
    o.fqns = fqns, o.n_fqns = 1;
    cr_assert_eq(sactag_open(&m, "tests/cases/toy/model_train.onnx", NULL, NULL), 0);
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    j = print(p);
    cr_expect_str_eq(check(schema, j, true), "");
    all_there(schema, j, plan_lacks, "plan");
    json_decref(j);

    cr_assert_eq(sactag_tag_buffer(m, p, &bytes, &n, NULL, NULL), 0);
    cr_assert_eq(sactag_open_buffer(&tagged, bytes, n, NULL, NULL), 0);
    cr_assert_eq(sactag_read_tags(&tags, tagged, NULL), 0);
    j = print(tags);
    cr_expect_str_eq(check(schema, j, true), "");
    cr_expect_not_null(json_object_get(json_object_get(j, "summary"), "carrier"));
    json_decref(j);

    sactag_plan_free(tags);
    sactag_close(tagged);
    free(bytes);
    sactag_plan_free(p);
    sactag_close(m);
    json_decref(schema);
}

/* What the schema refuses is refused when read, and what it lets pass is read. */
Test(plan_schema, agrees_with_the_reader)
{
    static const struct {
        const char *path[3]; /* "#" = the first element */
        const char *value;   /* JSON; NULL removes the member */
        bool good;
    } cases[] = {
        {{"version"}, "2", false},
        {{"version"}, "1", true},
        {{"sactag"}, "\"linears\"", false},
        {{"rows"}, NULL, false},
        {{"options"}, NULL, false},
        {{"summary"}, NULL, true},
        {{"blocks"}, NULL, true},
        {{"later"}, "[1]", true},
        {{"model", "digest"}, "\"12\"", false},
        {{"model", "digest"}, NULL, false},
        {{"model", "later"}, "1", true},
        {{"options", "match"}, "\"fuzzy\"", false},
        {{"options", "match"}, "\"glob\"", true},
        {{"options", "profile"}, "\"titan\"", true},
        {{"options", "profile"}, "\"x\"", false},
        {{"options", "later"}, "true", false},
        {{"options", "strict"}, "1", false},
        {{"options", "fqns"}, "[\"\"]", false},
        {{"options", "fqns"}, "[\"a\", \"b\"]", true},
        {{"options", "force_shapes"}, "[\"8x\"]", false},
        {{"options", "force_shapes"}, "[\"8x4\"]", true},
        {{"options", "order"}, NULL, false},
        {{"rows", "#", "policy"}, "\"keep\"", false},
        {{"rows", "#", "policy"}, "\"recompute\"", true},
        {{"rows", "#", "rhs"}, "\"?x?\"", true},
        {{"rows", "#", "rhs"}, "\"8\"", false},
        {{"rows", "#", "index"}, "-1", false},
        {{"rows", "#", "index"}, "\"1\"", false},
        {{"rows", "#", "op"}, "\"\"", false},
        {{"rows", "#", "op"}, "null", false},
        {{"rows", "#", "call"}, "-1", false},
        {{"rows", "#", "evidence"}, "null", true},
        {{"rows", "#", "evidence"}, "\"guess\"", false},
        {{"rows", "#", "reason"}, "null", true},
        {{"rows", "#", "reason"}, "3", false},
        {{"rows", "#", "node"}, NULL, false},
        {{"rows", "#", "later"}, "{}", true},
    };
    json_t *schema = load_schema(), *whole;
    struct sactag_options o;
    sactag_model *m;
    sactag_plan *p;

    sactag_options_init(&o);
    cr_assert_eq(sactag_open(&m, "tests/cases/toy/model_train.onnx", NULL, NULL), 0);
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    whole = print(p);
    sactag_plan_free(p);
    sactag_close(m);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *j = json_deep_copy(whole), *at = j;
        const char *const *path = cases[i].path;
        size_t k = 0;
        for (; k < 2 && path[k + 1]; k++)
            at = path[k][0] == '#' ? json_array_get(at, 0) : json_object_get(at, path[k]);
        if (cases[i].value)
            json_object_set_new(at, path[k], json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(at, path[k]);
        char *text = json_dumps(j, 0);
        const char *wrong = check(schema, j, false);
        int e = sactag_plan_from_text(&p, text, strlen(text), NULL);
        cr_expect_eq(wrong[0] == 0, cases[i].good, "%s by the schema: %s", path[k], wrong);
        cr_expect_eq(e == 0, cases[i].good, "%s when read: %d", path[k], e);
        sactag_plan_free(p);
        free(text);
        json_decref(j);
    }
    json_decref(whole);
    json_decref(schema);
}
