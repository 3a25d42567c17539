#include "lib/json_reader.h"

#include <stdio.h>

#define DEPTH_MAX  32 /* of our documents: 4 */
#define FOUND_MOST 60 /* bytes of what was found that a message shows */

static int no_memory(struct json_reader *r)
{
    return diag_nomem(r->d);
}

int json_reader_open(struct json_reader *r, struct str text, struct arena *arena, struct diag *d)
{
    struct json_error error = {0};

    *r = (struct json_reader){.arena = arena, .d = d, .at.text = text};
    int e = json_parse(&r->j, text, DEPTH_MAX, 0, &error);
    if (e == IR_EMEM)
        return no_memory(r);
    if (e)
        return plan_file_error(d, locate(&r->at, error.offset < text.n ? error.offset : text.n), "%s",
                               error.message);
    return 0;
}

void json_reader_close(struct json_reader *r)
{
    json_free(&r->j);
}

struct place json_place(struct json_reader *r, uint32_t token)
{
    size_t offset = r->j.tokens[token].start;

    if (json_kind(&r->j, token) == JSON_KIND_STRING)
        offset--; /* its quote */
    if (offset < r->at.at)
        r->at = (struct locator){.text = r->at.text};
    return locate(&r->at, offset);
}

int json_expected(struct json_reader *r, const char *where, const char *what, uint32_t token)
{
    struct str raw = json_raw(&r->j, token);
    bool nested = json_kind(&r->j, token) <= JSON_KIND_ARRAY;
    const char *quote = json_kind(&r->j, token) == JSON_KIND_STRING ? "'" : "";
    struct str found = nested ? str_of(json_kind_name(json_kind(&r->j, token))) : raw;

    return plan_file_error(r->d, json_place(r, token), "%s: expected %s but found %s%.*s%s%s", where, what,
                           quote, (int)(found.n < FOUND_MOST ? found.n : FOUND_MOST), found.s ? found.s : "",
                           found.n > FOUND_MOST ? "..." : "", quote);
}

static int unknown_member(struct json_reader *r, const char *where, uint32_t name)
{
    struct str raw = json_raw(&r->j, name);

    return plan_file_error(r->d, json_place(r, name), "%s: unknown member '%.*s'", where,
                           (int)(raw.n < FOUND_MOST ? raw.n : FOUND_MOST), raw.s);
}

/* Of the member whose name is `token`; the number of names when it has none of them. */
static size_t find_name(const struct json_reader *r, const struct json_object *want, uint32_t token)
{
    struct str raw = json_raw(&r->j, token);
    size_t i = 0;

    while (i < want->n && !str_is(raw, want->names[i]))
        i++;
    return i;
}

int json_members(struct json_reader *r, const char *where, uint32_t object, const struct json_object *want,
                 uint32_t *found)
{
    for (size_t i = 0; i < want->n; i++)
        found[i] = JSON_NONE;
    if (json_kind(&r->j, object) != JSON_KIND_OBJECT)
        return json_expected(r, where, "an object", object);
    for (uint32_t t = json_first(&r->j, object); t != JSON_NONE; t = json_next_member(&r->j, object, t)) {
        size_t i = find_name(r, want, t);
        if (i == want->n && !want->others)
            return unknown_member(r, where, t);
        if (i == want->n)
            continue;
        if (found[i] != JSON_NONE)
            return plan_file_error(r->d, json_place(r, t), "%s: a second member '%s'", where, want->names[i]);
        found[i] = t + 1;
    }
    for (size_t i = 0; want->all && i < want->n; i++)
        if (found[i] == JSON_NONE)
            return plan_file_error(r->d, json_place(r, object), "%s: expected a member '%s'", where,
                                   want->names[i]);
    return 0;
}

int json_read_text(struct json_reader *r, const char *where, uint32_t token, bool nullable, struct str *out)
{
    struct str text;

    *out = (struct str){NULL, 0};
    if (nullable && json_kind(&r->j, token) == JSON_KIND_NULL)
        return 0;
    if (json_kind(&r->j, token) != JSON_KIND_STRING)
        return json_expected(r, where, nullable ? "a string or null" : "a string", token);
    int e = json_text(&text, &r->j, token, r->arena);
    char *copy = e ? NULL : arena_alloc(r->arena, text.n + 1, 1);
    if (!copy)
        return no_memory(r);
    if (!str_unescape(copy, &out->n, text))
        return json_expected(r, where, "t, n, xHH or a backslash after each backslash", token);
    out->s = copy;
    return 0;
}

int json_read_word(struct json_reader *r, const char *where, uint32_t token, const char *const *words,
                   size_t n, size_t *choice)
{
    char what[160] = "";
    struct str raw = json_raw(&r->j, token);

    for (*choice = 0; json_kind(&r->j, token) == JSON_KIND_STRING && *choice < n; ++*choice)
        if (str_is(raw, words[*choice]))
            return 0;
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    return json_expected(r, where, what, token);
}

int json_read_bool(struct json_reader *r, const char *where, uint32_t token, bool *out)
{
    enum json_kind type = json_kind(&r->j, token);

    *out = type == JSON_KIND_TRUE;
    return type == JSON_KIND_TRUE || type == JSON_KIND_FALSE
               ? 0
               : json_expected(r, where, "true or false", token);
}
