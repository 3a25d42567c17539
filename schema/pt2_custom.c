#include "schema/pt2_custom.h"

#include "ir/diag.h"
#include "schema/json.h"
#include "schema/pt2_read.h"

#include <stdlib.h>

/* A custom string, decoded and tokenised. */
struct custom {
    struct str raw;
    char *text;   /* decoded */
    uint32_t *at; /* byte of text → byte of raw; one more for the end */
    struct json json;
};

static void custom_close(struct custom *c)
{
    free(c->text);
    free(c->at);
    json_free(&c->json);
}

/* Length of the piece of a JSON string at raw that decodes together: an escape, a surrogate pair, a byte. */
static size_t piece(struct str raw)
{
    if (raw.s[0] != '\\' || raw.n < 2)
        return 1;
    if (raw.s[1] != 'u' || raw.n < 6)
        return 2;
    char buf[8];
    bool two = raw.n >= 12 && raw.s[6] == '\\' && raw.s[7] == 'u';
    bool pair = two && json_unescape(buf, str_sub(raw, 0, 12)) == 4 && (uint8_t)buf[0] >= 0xf0;
    return pair ? 12 : 6;
}

static size_t decode(struct custom *c)
{
    size_t n = 0;
    for (size_t i = 0, len; i < c->raw.n; i += len) {
        len = piece(str_sub(c->raw, i, c->raw.n - i));
        size_t out = json_unescape(c->text + n, str_sub(c->raw, i, len));
        for (size_t k = 0; k < out; k++)
            c->at[n + k] = (uint32_t)i;
        n += out;
    }
    c->at[n] = (uint32_t)c->raw.n;
    return n;
}

/* 1 when raw holds an object, 0 when not, IR_EMEM. To be closed in any case. */
static int custom_open(struct custom *c, struct str raw)
{
    *c = (struct custom){.raw = raw};
    c->text = malloc(raw.n + 1);
    c->at = malloc((raw.n + 1) * sizeof *c->at);
    if (!c->text || !c->at)
        return IR_EMEM;
    struct json_error e;
    int rc = json_parse(&c->json, (struct str){c->text, decode(c)}, JSON_DEPTH_MAX, 0, &e);
    if (rc == IR_EMEM)
        return rc;
    return rc == 0 && json_kind(&c->json, 0) == JSON_KIND_OBJECT;
}

/* Where a token begins and ends in raw, with the quotes of a string. */
static uint32_t start_of(const struct custom *c, uint32_t t)
{
    const struct json_token *k = &c->json.tokens[t];
    return c->at[k->start - (k->type == JSON_KIND_STRING)];
}

static uint32_t end_of(const struct custom *c, uint32_t t)
{
    const struct json_token *k = &c->json.tokens[t];
    return c->at[k->end + (k->type == JSON_KIND_STRING)];
}

static bool is_tag(const struct custom *c, uint32_t name)
{
    struct str raw = json_raw(&c->json, name), tag = STR_LIT(PT2_TAG);
    char buf[64]; /* enough for the prefix, however it is escaped */
    size_t n = json_unescape(buf, str_sub(raw, 0, raw.n < sizeof buf ? raw.n : sizeof buf));
    return str_starts((struct str){buf, n}, tag);
}

/* Copies raw without the runs that tags take up: each with the comma before it, or, where nothing is kept
 * before it, up to the next member. Returns how many members are kept. */
static uint32_t copy_kept(struct str *out, char *p, const struct custom *c)
{
    const struct json *j = &c->json;
    uint32_t kept = 0, from = 0, last = 0; /* from: what is copied next; last: end of the last member kept */
    size_t n = 0;
    for (uint32_t k = json_first(j, 0), next; k != JSON_NONE; k = next) {
        next = json_next_member(j, 0, k);
        uint32_t to = start_of(c, k);
        if (!is_tag(c, k)) {
            last = end_of(c, k + 1);
            kept++;
            continue;
        }
        to = kept ? last : to;
        if (to > from) {
            memcpy(p + n, c->raw.s + from, to - from);
            n += to - from;
        }
        from = kept || next == JSON_NONE ? end_of(c, k + 1) : start_of(c, next);
        last = from;
    }
    memcpy(p + n, c->raw.s + from, c->raw.n - from);
    *out = (struct str){p, n + c->raw.n - from};
    return kept;
}

int custom_strip(struct str *out, struct str raw, struct arena *a)
{
    struct custom c;
    *out = raw;
    if (!raw.s)
        return 0;
    int rc = custom_open(&c, raw);
    if (rc == 1 && json_first(&c.json, 0) != JSON_NONE) {
        char *p = arena_alloc(a, raw.n + 1, 1);
        rc = p ? 1 : IR_EMEM;
        if (p && copy_kept(out, p, &c) == 0)
            *out = (struct str){0};
    }
    custom_close(&c);
    return rc < 0 ? rc : 0;
}

/* custom_strip(), and nothing is left of an empty object. */
static int bare(struct str *out, struct str raw, struct arena *a)
{
    int rc = custom_strip(out, raw, a);
    if (rc != 0 || !out->s)
        return rc;
    struct custom c;
    rc = custom_open(&c, *out);
    if (rc == 1 && json_first(&c.json, 0) == JSON_NONE)
        *out = (struct str){0};
    custom_close(&c);
    return rc < 0 ? rc : 0;
}

int custom_alike(bool *alike, struct str x, struct str y, struct arena *a)
{
    struct str bx, by;
    if (bare(&bx, x, a) != 0 || bare(&by, y, a) != 0)
        return IR_EMEM;
    *alike = (bx.s == NULL) == (by.s == NULL) && str_eq(bx, by);
    return 0;
}

/* `"key": "value"`, escaped twice: as JSON, and that as the inside of a JSON string. */
static int put_member(struct str *out, const struct annot *m, struct arena *a)
{
    size_t key = json_escape(NULL, m->key), value = json_escape(NULL, m->value), n = key + value + 6;
    char *once = malloc(n);
    if (!once)
        return IR_EMEM;
    once[0] = '"';
    json_escape(once + 1, m->key);
    memcpy(once + 1 + key, "\": \"", 4);
    json_escape(once + 5 + key, m->value);
    once[n - 1] = '"';
    char *twice = arena_alloc(a, json_escape(NULL, (struct str){once, n}) + 1, 1);
    if (twice)
        *out = (struct str){twice, json_escape(twice, (struct str){once, n})};
    free(once);
    return twice ? 0 : IR_EMEM;
}

/* The members with commas between, and before the first when `comma`. */
static int put_members(struct str *out, bool comma, const struct annot *members, size_t n, struct arena *a)
{
    size_t total = 0, at = 0;
    struct str *texts = arena_alloc(a, n, sizeof *texts);
    if (!texts)
        return IR_EMEM;
    for (size_t i = 0; i < n; i++) {
        if (put_member(&texts[i], &members[i], a) != 0)
            return IR_EMEM;
        total += texts[i].n + 2;
    }
    char *p = arena_alloc(a, total + 1, 1);
    if (!p)
        return IR_EMEM;
    for (size_t i = 0; i < n; i++) {
        if (comma || i) {
            memcpy(p + at, ", ", 2);
            at += 2;
        }
        memcpy(p + at, texts[i].s, texts[i].n);
        at += texts[i].n;
    }
    *out = (struct str){p, at};
    return 0;
}

/* `raw` with `text` before byte `at` of it. */
static int insert(struct str *out, struct str raw, size_t at, struct str text, struct arena *a)
{
    char *p = arena_alloc(a, raw.n + text.n + 1, 1);
    if (!p)
        return IR_EMEM;
    memcpy(p, raw.s, at);
    memcpy(p + at, text.s, text.n);
    memcpy(p + at + text.n, raw.s + at, raw.n - at);
    *out = (struct str){p, raw.n + text.n};
    return 0;
}

/* Where the members of the object in raw end, and whether it has any. 0, IR_EINPUT: there is none, IR_EMEM.
 */
static int find_end(size_t *at, bool *any, struct str raw)
{
    struct custom c;
    int rc = custom_open(&c, raw);
    if (rc == 1) {
        uint32_t last = JSON_NONE;
        for (uint32_t k = json_first(&c.json, 0); k != JSON_NONE; k = json_next_member(&c.json, 0, k))
            last = k + 1;
        *any = last != JSON_NONE;
        *at = *any ? end_of(&c, last) : c.at[c.json.tokens[0].start + 1];
    }
    custom_close(&c);
    return rc == 1 ? 0 : rc == 0 ? IR_EINPUT : rc;
}

int custom_add(struct str *out, struct str raw, const struct annot *members, size_t n, struct arena *a)
{
    struct str text = {0};
    size_t at = 1;
    bool any = false;
    *out = raw;
    if (n == 0)
        return 0;
    int rc = raw.s ? find_end(&at, &any, raw) : 0;
    if (rc == 0)
        rc = put_members(&text, any, members, n, a);
    return rc != 0 ? rc : insert(out, raw.s ? raw : STR_LIT("{}"), at, text, a);
}
