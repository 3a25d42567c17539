#include "lib/align.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct found {
    size_t n, last_i, last_j;
    const uint64_t *a, *b;
    bool rising;
};

static void take(void *ctx, size_t i, size_t j)
{
    struct found *f = ctx;
    f->rising |= f->n && (i >= f->last_i || j >= f->last_j);
    cr_assert_eq(f->a[i], f->b[j]);
    f->n++;
    f->last_i = i;
    f->last_j = j;
}

/* Length of the longest common subsequence of two words, as align() finds it. */
static size_t common(const char *x, const char *y, size_t max_edits, int want)
{
    uint64_t a[64], b[64];
    struct found f = {.a = a, .b = b};

    for (size_t i = 0; x[i]; i++)
        a[i] = (uint64_t)x[i];
    for (size_t j = 0; y[j]; j++)
        b[j] = (uint64_t)y[j];
    const struct key_lists lists = {a, b, strlen(x), strlen(y)};
    cr_assert_eq(align(&lists, max_edits, take, &f), want, "%s %s", x, y);
    cr_assert(!f.rising);
    return f.n;
}

/* The same by the textbook's table. */
static size_t by_table(const char *x, const char *y)
{
    size_t t[40][40] = {{0}}, n = strlen(x), m = strlen(y);
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++)
            t[i][j] = x[i - 1] == y[j - 1]        ? t[i - 1][j - 1] + 1
                      : t[i - 1][j] > t[i][j - 1] ? t[i - 1][j]
                                                  : t[i][j - 1];
    return t[n][m];
}

Test(align, small_lists)
{
    cr_expect_eq(common("abc", "abc", 8, 0), 3);
    cr_expect_eq(common("", "", 8, 0), 0);
    cr_expect_eq(common("abc", "", 8, 0), 0);
    cr_expect_eq(common("", "abc", 8, 0), 0);
    cr_expect_eq(common("abcabba", "cbabac", 8, 0), 4);
    cr_expect_eq(common("xaby", "ab", 8, 0), 2);
    cr_expect_eq(common("ab", "xaby", 8, 0), 2);
}

Test(align, too_many_edits)
{
    cr_expect_eq(common("abcdef", "uvwxyz", 11, 1), 0);
    cr_expect_eq(common("abcdef", "uvwxyz", 12, 0), 0);
    cr_expect_eq(common("abcdef", "xbcdef", 1, 1), 0);
    cr_expect_eq(common("abcdef", "xbcdef", 2, 0), 5);
    cr_expect_eq(common("abc", "abc", 0, 0), 3);
}

Test(align, as_long_as_any)
{
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        char x[33], y[33];
        size_t n = (size_t)round % 32, m = (size_t)(round * 7) % 32;
        for (size_t i = 0; i < 33; i++) {
            seed = seed * 1103515245u + 12345u;
            x[i] = (char)('a' + (seed >> 16) % 4);
            y[i] = (char)('a' + (seed >> 20) % 4);
        }
        x[n] = y[m] = 0;
        cr_assert_eq(common(x, y, 80, 0), by_table(x, y), "%s %s", x, y);
    }
}
