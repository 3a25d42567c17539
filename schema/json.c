#include "schema/json.h"

#include "ir/diag.h"

#include <errno.h>
#include <stdlib.h>

#define JSMN_STATIC
#define JSMN_PARENT_LINKS /* closing a bracket then costs its depth, not all that came before it */
#include <jsmn.h>

/* ---- checking ---- */

struct scan {
    const char *p, *end;
    const char *base;
    uint32_t depth, max_depth;
    uint8_t is_object[JSON_DEPTH_MAX / 8]; /* a bit for each open bracket */
    size_t tokens;
    const char *error;
};

static int fail(struct scan *s, const char *message)
{
    s->error = message;
    return -1;
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* At the backslash. */
static int scan_escape(struct scan *s)
{
    static const char plain[] = {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'};
    s->p++;
    if (s->p == s->end)
        return fail(s, "text ends in a string");
    char c = *s->p++;
    if (c != 'u')
        return memchr(plain, c, sizeof plain) ? 0 : fail(s, "unknown escape in a string");
    if (s->end - s->p < 4)
        return fail(s, "text ends in a string");
    for (int i = 0; i < 4; i++, s->p++)
        if (hex_value(*s->p) < 0)
            return fail(s, "expected four hexadecimal digits after \\u");
    return 0;
}

/* At the opening quote. */
static int scan_string(struct scan *s)
{
    s->p++;
    s->tokens++;
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p;
        if (c == '"') {
            s->p++;
            return 0;
        }
        if (c < 0x20)
            return fail(s, "control character in a string");
        if (c != '\\')
            s->p++;
        else if (scan_escape(s) != 0)
            return -1;
    }
    return fail(s, "text ends in a string");
}

static bool take(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

static bool take_digits(struct scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && is_digit(*s->p))
        s->p++;
    return s->p > from;
}

static bool at(const struct scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static int scan_number(struct scan *s)
{
    if (at(s, '-'))
        s->p++;
    if (take(s, "Infinity"))
        return 0;
    if (at(s, '0'))
        s->p++;
    else if (!take_digits(s))
        return fail(s, "expected a value");
    if (at(s, '.')) {
        s->p++;
        if (!take_digits(s))
            return fail(s, "expected a digit after the decimal point");
    }
    if (at(s, 'e') || at(s, 'E')) {
        s->p++;
        if (at(s, '+') || at(s, '-'))
            s->p++;
        if (!take_digits(s))
            return fail(s, "expected a digit in the exponent");
    }
    return 0;
}

static int scan_primitive(struct scan *s)
{
    s->tokens++;
    if (take(s, "true") || take(s, "false") || take(s, "null") || take(s, "NaN"))
        return 0;
    return scan_number(s);
}

static int open_bracket(struct scan *s, bool object)
{
    if (s->depth >= s->max_depth)
        return fail(s, "nested too deeply");
    uint8_t bit = (uint8_t)(1u << (s->depth % 8));
    uint8_t *byte = &s->is_object[s->depth / 8];
    *byte = object ? *byte | bit : (uint8_t)(*byte & ~bit);
    s->depth++;
    s->tokens++;
    s->p++;
    return 0;
}

static bool in_object(const struct scan *s)
{
    return s->depth && (s->is_object[(s->depth - 1) / 8] >> ((s->depth - 1) % 8) & 1);
}

/* A member's name and its colon. */
static int scan_name(struct scan *s)
{
    skip_space(s);
    if (!at(s, '"'))
        return fail(s, "expected a member's name");
    if (scan_string(s) != 0)
        return -1;
    skip_space(s);
    if (!at(s, ':'))
        return fail(s, "expected a colon");
    s->p++;
    return 0;
}

/* A value up to where the next one is expected: a bracket that opens leaves its first element to come.
 * Returns 1 when a value is complete, 0 when one is to come, -1 on an error. */
static int scan_value(struct scan *s)
{
    skip_space(s);
    if (s->p == s->end)
        return fail(s, "text ends where a value is expected");
    if (*s->p == '"')
        return scan_string(s) == 0 ? 1 : -1;
    bool object = *s->p == '{';
    if (!object && *s->p != '[')
        return scan_primitive(s) == 0 ? 1 : -1;
    if (open_bracket(s, object) != 0)
        return -1;
    skip_space(s);
    if (at(s, object ? '}' : ']')) {
        s->p++;
        s->depth--;
        return 1;
    }
    return object ? scan_name(s) : 0;
}

/* After a complete value: closes brackets until a comma asks for another value (1) or all is closed (0). */
static int scan_after(struct scan *s)
{
    while (s->depth) {
        bool object = in_object(s);
        skip_space(s);
        if (at(s, ',')) {
            s->p++;
            return object && scan_name(s) != 0 ? -1 : 1;
        }
        if (!at(s, object ? '}' : ']'))
            return fail(s, object ? "expected a comma or }" : "expected a comma or ]");
        s->p++;
        s->depth--;
    }
    skip_space(s);
    return s->p == s->end ? 0 : fail(s, "more text after the value");
}

static int scan_text(struct scan *s)
{
    for (;;) {
        int done = scan_value(s);
        if (done < 0)
            return -1;
        if (done == 0)
            continue;
        int more = scan_after(s);
        if (more <= 0)
            return more;
    }
}

/* ---- tokens ---- */

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
    /* `next`: from the last token on, what a token holds is already known. A member's name holds nothing
     * here (its value follows it), so brackets alone have content, and theirs ends where they do. */
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
    struct scan s = {.p = text.s, .base = text.s, .end = text.s + text.n};
    s.max_depth = max_depth < JSON_DEPTH_MAX ? max_depth : JSON_DEPTH_MAX;
    if (scan_text(&s) != 0) {
        *e = (struct json_error){s.error, (size_t)(s.p - s.base)};
        return IR_EINPUT;
    }
    size_t bytes = s.tokens * sizeof(jsmntok_t); /* tokens ≤ text.n < 2³¹ */
    if (max_bytes && bytes > max_bytes) {
        e->message = "too many values for the memory limit";
        return IR_EINPUT;
    }
    jsmntok_t *t = malloc(bytes);
    if (!t)
        return IR_EMEM;
    jsmn_parser parser;
    jsmn_init(&parser);
    int n = jsmn_parse(&parser, text.s, text.n, t, (unsigned)s.tokens);
    if (n < 0 || (size_t)n != s.tokens) { /* the two disagree: trust neither */
        free(t);
        *e = (struct json_error){"not JSON", parser.pos};
        return IR_EINPUT;
    }
    out->n = (uint32_t)n;
    convert(out, t);
    return 0;
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

/* ---- strings ---- */

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

/* The code unit of "\uXXXX" at s, or -1. */
static int32_t code_unit(struct str s)
{
    if (s.n < 6 || s.s[0] != '\\' || s.s[1] != 'u')
        return -1;
    int32_t c = 0;
    for (int i = 2; i < 6; i++) {
        int h = hex_value(s.s[i]);
        if (h < 0)
            return -1;
        c = c << 4 | h;
    }
    return c;
}

/* "\uXXXX", or two of them that are one code point; *n is what was read. At most as long in UTF-8. */
static uint32_t code_point(struct str s, size_t *n)
{
    int32_t hi = code_unit(s);
    *n = 6;
    if (hi < 0xd800 || hi > 0xdfff)
        return hi < 0 ? 0xfffd : (uint32_t)hi;
    int32_t lo = hi < 0xdc00 && s.n >= 12 ? code_unit(str_sub(s, 6, 6)) : -1;
    if (lo < 0xdc00 || lo > 0xdfff)
        return 0xfffd;
    *n = 12;
    return 0x10000 + ((uint32_t)(hi - 0xd800) << 10) + (uint32_t)(lo - 0xdc00);
}

size_t json_unescape(char *out, struct str raw)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    for (size_t i = 0; i < raw.n;) {
        char c = raw.s[i];
        if (c != '\\' || i + 1 == raw.n) {
            out[n++] = c;
            i++;
            continue;
        }
        size_t used = 2;
        if (raw.s[i + 1] == 'u') {
            n += put_utf8(out + n, code_point(str_sub(raw, i, raw.n - i), &used));
        } else {
            const char *e = memchr(from, raw.s[i + 1], sizeof from - 1);
            out[n++] = e ? to[e - from] : raw.s[i + 1];
        }
        i += used < raw.n - i ? used : raw.n - i;
    }
    return n;
}

int json_text(struct str *out, const struct json *j, uint32_t t, struct arena *a)
{
    *out = (struct str){0};
    if (json_kind(j, t) != JSON_KIND_STRING)
        return IR_EINPUT;
    struct str raw = json_raw(j, t);
    if (str_chr(raw, '\\') < 0) {
        *out = raw;
        return 0;
    }
    char *p = arena_alloc(a, raw.n + 1, 1);
    if (!p)
        return IR_EMEM;
    *out = (struct str){p, json_unescape(p, raw)};
    return 0;
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

/* The code point of the valid UTF-8 sequence at s (n > 0 bytes), *len its length; U+FFFD and 1 for a byte
 * that begins none. */
static uint32_t utf8_point(const unsigned char *s, size_t n, size_t *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *len = 1;
    if (s[0] < 0x80)
        return s[0];
    size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < want)
        return 0xfffd;
    uint32_t c = s[0] & (0x7fu >> want);
    for (size_t i = 1; i < want; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0xfffd;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < least[want] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0xfffd;
    *len = want;
    return c;
}

static size_t put_unit(char *out, uint32_t u)
{
    static const char hex[] = "0123456789abcdef";
    if (out) {
        out[0] = '\\';
        out[1] = 'u';
        for (int i = 0; i < 4; i++)
            out[2 + i] = hex[u >> (12 - 4 * i) & 15];
    }
    return 6;
}

static size_t put_escaped(char *out, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *e = c && c < 0x80 ? memchr(from, (int)c, sizeof from - 1) : NULL;
    if (e) {
        if (out) {
            out[0] = '\\';
            out[1] = to[e - from];
        }
        return 2;
    }
    if (c >= 0x20 && c < 0x7f) {
        if (out)
            out[0] = (char)c;
        return 1;
    }
    if (c < 0x10000)
        return put_unit(out, c);
    put_unit(out, 0xd800 + ((c - 0x10000) >> 10));
    put_unit(out ? out + 6 : NULL, 0xdc00 + ((c - 0x10000) & 0x3ff));
    return 12;
}

size_t json_escape(char *out, struct str s)
{
    size_t n = 0;
    for (size_t i = 0, len; i < s.n; i += len) {
        uint32_t c = utf8_point((const unsigned char *)s.s + i, s.n - i, &len);
        n += put_escaped(out ? out + n : NULL, c);
    }
    return n;
}
