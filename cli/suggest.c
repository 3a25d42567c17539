#include "cli/suggest.h"

#include <string.h>

#define LONGEST 64 /* longer words are not typing mistakes of ours */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edit distance where swapping two neighbouring letters counts as one edit (Damerau, restricted). */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST + 1];
    size_t *before = row[0], *last = row[1], *now = row[2];

    for (size_t j = 0; j <= nb; j++) {
        last[j] = j;
        before[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t edit = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = min3(edit, last[j] + 1, now[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        size_t *free_row = before;
        before = last, last = now, now = free_row;
    }
    return last[nb];
}

const char *suggest(const char *typed, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t best_distance = 0, typed_len = strlen(typed);

    if (typed_len == 0 || typed_len > LONGEST)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t len = words[i] ? strlen(words[i]) : 0;
        if (len == 0 || len > LONGEST)
            continue;
        size_t d = distance(typed, typed_len, words[i], len);
        size_t allowed = len < 4 ? 1 : len < 8 ? 2 : 3;
        if (typed_len >= 3 && strncmp(typed, words[i], typed_len) == 0)
            d = 0; /* the beginning of a word is meant as that word */
        if (d <= allowed && (!best || d < best_distance)) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}
