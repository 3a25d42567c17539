/* What JSON strings stand for, and how to write them. */
#include "schema/json_scan.h"

#include "ir/diag.h"

/* ---- reading ---- */

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

/* The code unit of the escape \u with four digits at s, or -1. */
static int32_t code_unit(struct str s)
{
    if (s.n < 6 || s.s[0] != '\\' || s.s[1] != 'u')
        return -1;
    int32_t c = 0;
    for (int i = 2; i < 6; i++) {
        int h = json_hex_digit(s.s[i]);
        if (h < 0)
            return -1;
        c = c << 4 | h;
    }
    return c;
}

/* Such an escape, or two of them that are one code point; *n is what was read. At most as long in UTF-8. */
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

/* ---- writing ---- */

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
