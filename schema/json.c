/* Tokens, by libjsmn, of text that has been checked. */
#include "schema/json_scan.h"

#include "ir/diag.h"

#include <errno.h>
#include <stdlib.h>

#define JSMN_STATIC
#define JSMN_PARENT_LINKS /* closing a bracket then costs its depth, not all that came before it */
#include <jsmn.h>

static enum json_kind type_of(const struct json *j, const jsmntok_t *t)
{
    if (t->type == JSMN_OBJECT)
        return JSON_KIND_OBJECT;
    if (t->type == JSMN_ARRAY)
        return JSON_KIND_ARRAY;
    if (t->type == JSMN_STRING)
        return JSON_KIND_STRING;
    switch (j->text.s[t->start]) {
    case 't':
        return JSON_KIND_TRUE;
    case 'f':
        return JSON_KIND_FALSE;
    case 'n':
        return JSON_KIND_NULL;
    default:
        return JSON_KIND_NUMBER;
    }
}

/* Turns jsmn's tokens into ours, in place: ours are no larger, so writing never overtakes reading. */
static void convert(struct json *j, void *tokens)
{
    _Static_assert(sizeof(struct json_token) <= sizeof(jsmntok_t), "converted in place");
    char *from = tokens;
    j->tokens = tokens;
    for (uint32_t i = 0; i < j->n; i++) {
        jsmntok_t t;
        memcpy(&t, from + (size_t)i * sizeof t, sizeof t);
        struct json_token own = {(uint32_t)t.start, (uint32_t)t.end, i + 1, type_of(j, &t)};
        memcpy(&j->tokens[i], &own, sizeof own);
    }
}

/* `next` of brackets is the first token behind their end; what else there is holds no tokens (a member's name
 * neither: its value comes after it). */
static void set_next(struct json *j)
{
    uint32_t open[JSON_DEPTH_MAX], depth = 0;
    for (uint32_t i = 0; i < j->n; i++) {
        while (depth && j->tokens[i].start >= j->tokens[open[depth - 1]].end)
            j->tokens[open[--depth]].next = i;
        if (j->tokens[i].type <= JSON_KIND_ARRAY)
            open[depth++] = i;
    }
    while (depth)
        j->tokens[open[--depth]].next = j->n;
}

static int tokenise(struct json *out, struct str text, size_t n, struct json_error *e)
{
    jsmn_parser parser;
    jsmntok_t *t = malloc(n * sizeof *t);
    if (!t)
        return IR_EMEM;
    jsmn_init(&parser);
    int found = jsmn_parse(&parser, text.s, text.n, t, (unsigned)n); /* ≤ text.n < 2³¹ */
    if (found < 0 || (size_t)found != n) {                           /* the two disagree: trust neither */
        free(t);
        *e = (struct json_error){"not JSON", parser.pos};
        return IR_EINPUT;
    }
    out->n = (uint32_t)n;
    convert(out, t);
    set_next(out);
    return 0;
}

int json_parse(struct json *out, struct str text, uint32_t max_depth, size_t max_bytes, struct json_error *e)
{
    *out = (struct json){.text = text};
    *e = (struct json_error){0};
    if (text.n == 0) /* which may be NULL, to which nothing may be added */
        text = STR_LIT("");
    if (text.n > JSON_TEXT_MAX) {
        e->message = "over 2 GiB of JSON";
        return IR_EINPUT;
    }
    size_t tokens;
    int rc = json_scan(text, max_depth, &tokens, e);
    if (rc != 0)
        return rc;
    if (max_bytes && tokens > max_bytes / sizeof(jsmntok_t)) {
        e->message = "too many values for the memory limit";
        return IR_EINPUT;
    }
    return tokenise(out, text, tokens, e);
}

void json_free(struct json *j)
{
    free(j->tokens);
    *j = (struct json){0};
}

const char *json_kind_name(enum json_kind t)
{
    static const char *const names[] = {"an object", "an array", "a string", "a number",
                                        "true",      "false",    "null"};
    return names[t];
}

uint32_t json_get(const struct json *j, uint32_t object, const char *name)
{
    if (object == JSON_NONE || json_kind(j, object) != JSON_KIND_OBJECT)
        return JSON_NONE;
    uint32_t found = JSON_NONE;
    for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_next_member(j, object, k))
        if (str_is(json_raw(j, k), name))
            found = k + 1;
    return found;
}

uint32_t json_count(const struct json *j, uint32_t t)
{
    bool object = json_kind(j, t) == JSON_KIND_OBJECT;
    uint32_t n = 0;
    for (uint32_t i = json_first(j, t); i != JSON_NONE;
         i = object ? json_next_member(j, t, i) : json_next(j, t, i))
        n++;
    return n;
}

bool json_int(int64_t *out, const struct json *j, uint32_t t)
{
    struct str s = json_raw(j, t);
    char buf[24];
    if (json_kind(j, t) != JSON_KIND_NUMBER || s.n >= sizeof buf)
        return false;
    memcpy(buf, s.s, s.n);
    buf[s.n] = '\0';
    char *end;
    errno = 0;
    long long v = strtoll(buf, &end, 10);
    if (errno || end != buf + s.n)
        return false;
    *out = v;
    return true;
}
