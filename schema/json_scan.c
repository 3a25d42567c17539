/* Is a text JSON? */
#include "schema/json_scan.h"

#include "ir/diag.h"

struct scan {
    const char *p, *end; /* where we are, and the end of the text */
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
        if (json_hex_digit(*s->p) < 0)
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

int json_scan(struct str text, uint32_t max_depth, size_t *tokens, struct json_error *e)
{
    struct scan s = {.p = text.s, .end = text.s + text.n};
    s.max_depth = max_depth < JSON_DEPTH_MAX ? max_depth : JSON_DEPTH_MAX;
    if (scan_text(&s) != 0) {
        *e = (struct json_error){s.error, (size_t)(s.p - text.s)};
        return IR_EINPUT;
    }
    *tokens = s.tokens;
    return 0;
}
