#include "ir/str.h"

bool str_is_one_of(struct str a, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(a, words[i]))
            return true;
    return false;
}

size_t str_count(struct str a, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < a.n; i++)
        n += a.s[i] == c;
    return n;
}

ptrdiff_t str_rchr(struct str a, char c)
{
    const char *p = a.n ? memrchr(a.s, c, a.n) : NULL;
    return p ? p - a.s : -1;
}

/* Eight bytes at a time: EACH * c has the byte c eight times. The highest bit of a byte of the result is set
 * where one of x's is zero, and nowhere when none is. */
#define EACH (UINT64_MAX / 255)
static uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH) & ~x;
}

static bool word_has(uint64_t word, char x, char y)
{
    uint64_t zero = zero_bytes(word ^ EACH * (unsigned char)x) | zero_bytes(word ^ EACH * (unsigned char)y);
    return (zero & EACH * 0x80) != 0;
}

bool str_has_either(struct str a, char x, char y)
{
    uint64_t word;
    size_t i = 0;
    if (a.n >= sizeof word) {
        for (; a.n - i > sizeof word; i += sizeof word) {
            memcpy(&word, a.s + i, sizeof word);
            if (word_has(word, x, y))
                return true;
        }
        memcpy(&word, a.s + a.n - sizeof word, sizeof word); /* some of them once more */
        return word_has(word, x, y);
    }
    for (; i < a.n; i++)
        if (a.s[i] == x || a.s[i] == y)
            return true;
    return false;
}

ptrdiff_t str_find(struct str a, struct str needle)
{
    if (needle.n == 0)
        return 0;
    const char *p = a.n ? memmem(a.s, a.n, needle.s, needle.n) : NULL;
    return p ? p - a.s : -1;
}

size_t str_decimal(char *out, uint64_t v)
{
    char digits[STR_DECIMAL_MAX];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    memcpy(out, digits + n, sizeof digits - n);
    return sizeof digits - n;
}

static bool is_cont(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* Length of the valid UTF-8 sequence at s (of n > 0 bytes), or 0: overlong forms, surrogates and code points
 * past U+10FFFF are not valid. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
    unsigned char c = s[0];
    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    size_t len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if (!is_cont(s[i]))
            return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f))
        return 0;
    if ((c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

bool str_is_utf8(struct str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t len = utf8_len((const unsigned char *)s.s + i, s.n - i);
        if (!len)
            return false;
        i += len;
    }
    return true;
}

/* Valid three bytes of U+200E, U+200F (marks of direction), U+2028, U+2029 (ends of a line and a paragraph),
 * U+202A to U+202E and U+2066 to U+2069 (embedded and isolated directions)? They would show a row in another
 * order, or as two. */
static bool is_layout(const unsigned char *s)
{
    if (s[0] != 0xe2 || (s[1] != 0x80 && s[1] != 0x81))
        return false;
    if (s[1] == 0x81)
        return s[2] >= 0xa6 && s[2] <= 0xa9;
    return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae);
}

/* Length of the run at s that may be printed as it is, 0 if its first byte must be escaped. */
static size_t plain_len(const unsigned char *s, size_t n)
{
    if (s[0] < 0x20 || s[0] == 0x7f || s[0] == '\\')
        return 0;
    size_t len = utf8_len(s, n);
    if (len == 2 && s[0] == 0xc2 && s[1] < 0xa0) /* C1 controls */
        return 0;
    return len == 3 && is_layout(s) ? 0 : len;
}

static size_t escape_byte(char out[4], unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    out[0] = '\\';
    if (c == '\t' || c == '\n' || c == '\\') {
        out[1] = c == '\t' ? 't' : c == '\n' ? 'n' : '\\';
        return 2;
    }
    out[1] = 'x';
    out[2] = hex[c >> 4];
    out[3] = hex[c & 15];
    return 4;
}

static bool plain_word(uint64_t x)
{
    uint64_t control = x - EACH * 0x20, del = zero_bytes(x ^ EACH * 0x7f),
             backslash = zero_bytes(x ^ EACH * '\\');
    return ((x | control | del | backslash) & EACH * 0x80) == 0;
}

/* Is it printable ASCII that needs no escape, as nearly every name is? */
static bool all_plain(struct str in)
{
    uint64_t word = EACH * ' ';
    size_t i = 0;
    for (; in.n - i >= sizeof word; i += sizeof word) {
        memcpy(&word, in.s + i, sizeof word);
        if (!plain_word(word))
            return false;
    }
    if (in.n >= sizeof word) /* the last ones, some of them once more */
        memcpy(&word, in.s + in.n - sizeof word, sizeof word);
    else if (in.n)
        memcpy(&word, in.s, in.n);
    return plain_word(word);
}

/* Takes what stands first in `in` and may be printed in one piece, or one byte that must be escaped, into
 * `buf`. What to print for it. */
static struct str next_piece(struct str *in, char buf[4])
{
    size_t taken = plain_len((const unsigned char *)in->s, in->n);
    struct str piece = {in->s, taken};
    if (!taken) {
        taken = 1;
        piece = (struct str){buf, escape_byte(buf, (unsigned char)in->s[0])};
    }
    *in = str_sub(*in, taken, in->n - taken);
    return piece;
}

size_t str_escape(char *out, size_t cap, struct str in)
{
    if (all_plain(in)) {
        size_t n = in.n < cap ? in.n : cap ? cap - 1 : 0;
        if (n)
            memcpy(out, in.s, n);
        if (cap)
            out[n] = '\0';
        return in.n;
    }
    size_t need = 0, end = 0; /* end: bytes written; whole sequences only */
    while (in.n) {
        char buf[4];
        struct str piece = next_piece(&in, buf);
        if (end == need && cap > piece.n && end < cap - piece.n) {
            memcpy(out + end, piece.s, piece.n);
            end += piece.n;
        }
        need += piece.n;
    }
    if (cap)
        out[end] = '\0';
    return need;
}

bool str_eq_escaped(struct str escaped, struct str raw)
{
    while (raw.n) {
        char buf[4];
        struct str piece = next_piece(&raw, buf);
        if (!str_starts(escaped, piece))
            return false;
        escaped = str_sub(escaped, piece.n, escaped.n - piece.n);
    }
    return escaped.n == 0;
}

int str_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Length of the escape at s, 0 if it is none. */
static size_t unescape_byte(char *out, const char *s, size_t n)
{
    if (n >= 2 && (s[1] == 't' || s[1] == 'n' || s[1] == '\\')) {
        *out = s[1] == 't' ? '\t' : s[1] == 'n' ? '\n' : '\\';
        return 2;
    }
    if (n < 4 || s[1] != 'x' || str_hex_digit(s[2]) < 0 || str_hex_digit(s[3]) < 0)
        return 0;
    *out = (char)(str_hex_digit(s[2]) << 4 | str_hex_digit(s[3]));
    return 4;
}

bool str_unescape(char *out, size_t *n, struct str in)
{
    *n = 0;
    for (size_t i = 0; i < in.n;) {
        size_t taken = 1;
        if (in.s[i] != '\\')
            out[*n] = in.s[i];
        else if (!(taken = unescape_byte(out + *n, in.s + i, in.n - i))) {
            *n = i;
            return false;
        }
        i += taken;
        ++*n;
    }
    return true;
}
