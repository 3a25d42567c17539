/* A piece of text somebody else owns: not NUL-terminated, any byte may occur in it (names come from
 * strangers). */
#ifndef SACTAG_IR_STR_H
#define SACTAG_IR_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *s; /* may be NULL when n is 0 */
    size_t n;      /* bytes */
};

/* For printf("%.*s", STR_ARG(x)). Text longer than INT_MAX is cut. */
#define STR_ARG(x) (int)((x).n > 0x7fffffff ? 0x7fffffff : (x).n), (x).s ? (x).s : ""
#define STR_LIT(lit)                                                                                         \
    (struct str)                                                                                             \
    {                                                                                                        \
        lit, sizeof(lit) - 1                                                                                 \
    }

static inline struct str str_of(const char *z)
{
    return (struct str){z, z ? strlen(z) : 0};
}

/* A reference to a text in 8 bytes: its address, which has 48 bits wherever a program is not given more on
 * request, and above it its length. No text has the length STR_REF_FAR: so are those marked that are longer,
 * or whose address is. */
#define STR_REF_LEN_AT  48
#define STR_REF_ADDRESS ((UINT64_C(1) << STR_REF_LEN_AT) - 1)
#define STR_REF_FAR     UINT16_MAX

/* False: it cannot be referred to so. */
static inline bool str_ref(uint64_t *ref, struct str a)
{
    uint64_t at = (uintptr_t)a.s;
    *ref = (uint64_t)a.n << STR_REF_LEN_AT | at;
    return a.n < STR_REF_FAR && at <= STR_REF_ADDRESS;
}

static inline struct str str_of_ref(uint64_t ref)
{
    return (struct str){(const char *)(uintptr_t)(ref & STR_REF_ADDRESS), (size_t)(ref >> STR_REF_LEN_AT)};
}

/* For functions that do nothing but fetch into the cache: gcc takes such a one for a function without effect,
 * and drops its calls unless it is inlined before that. */
#define PREFETCHES __attribute__((always_inline)) static inline void

/* Fetches n bytes into the cache. */
#define CACHE_LINE 64
PREFETCHES prefetch_lines(const void *at, size_t n)
{
    for (size_t i = 0; i < n; i += CACHE_LINE)
        __builtin_prefetch((const char *)at + i);
}

/* Texts from this length on fill lines of the cache by themselves: copying them to where others lie gains
 * nothing. */
#define STR_LONG 97

/* Fetches text into the cache: both ends, as most of it lies on two lines. */
PREFETCHES str_prefetch(struct str a)
{
    if (a.n) {
        __builtin_prefetch(a.s);
        __builtin_prefetch(a.s + a.n - 1);
    }
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}

/* Is it one of n words? */
bool str_is_one_of(struct str a, const char *const *words, size_t n);
#define STR_IS_ONE_OF(a, words) str_is_one_of((a), (words), sizeof(words) / sizeof *(words))

static inline bool str_starts(struct str a, struct str prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.s, prefix.s, prefix.n) == 0);
}

static inline bool str_ends(struct str a, struct str suffix)
{
    return a.n >= suffix.n && (suffix.n == 0 || memcmp(a.s + a.n - suffix.n, suffix.s, suffix.n) == 0);
}

static inline struct str str_sub(struct str a, size_t from, size_t n)
{
    return (struct str){from ? a.s + from : a.s, n}; /* a.s may be NULL, which may not be added to */
}

/* Offset of the first / last occurrence of c, or -1. */
static inline ptrdiff_t str_chr(struct str a, char c)
{
    const char *p = a.n ? memchr(a.s, c, a.n) : NULL;
    return p ? p - a.s : -1;
}
ptrdiff_t str_rchr(struct str a, char c);

/* How often it holds c. */
size_t str_count(struct str a, char c);

/* Does it hold one of two bytes? For short texts, where it is cheaper than to search twice. */
bool str_has_either(struct str a, char x, char y);

/* Offset of the first occurrence of needle, or -1. */
ptrdiff_t str_find(struct str a, struct str needle);

/* The number in decimal, without a NUL; returns its length. */
#define STR_DECIMAL_MAX 20
size_t str_decimal(char *out, uint64_t v);

/* Is it valid UTF-8? (Overlong forms, surrogates and code points past U+10FFFF are not.) */
bool str_is_utf8(struct str s);

/* The escapes of FORMATS.md: \t \n \\ \xHH for what would break a row or drive a terminal (control bytes,
 * DEL, bytes that are not valid UTF-8, the C1 controls, and the characters that end lines or turn the
 * direction of text). Writes at most `cap` bytes with the NUL; returns the length the whole needs, without
 * the NUL, like snprintf. */
size_t str_escape(char *out, size_t cap, struct str in);

/* The text that str_escape() was given; `out` has room for in.n bytes. False: a backslash that begins none of
 * the escapes; *n is then where it stands, else the length. */
bool str_unescape(char *out, size_t *n, struct str in);

/* Is `escaped` what str_escape() makes of `raw`? */
bool str_eq_escaped(struct str escaped, struct str raw);

/* 0 to 15; -1 when c is none of 0-9 and a-f. */
int str_hex_digit(char c);

#endif
