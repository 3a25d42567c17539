#include "lib/align.h"

#include "ir/diag.h"

#include <stdlib.h>
#include <string.h>

/* furthest[k]: how many keys of `a` d edits lead past on diagonal k = i - j. What it held before each d is
 * kept, since the way is read off backwards. */
struct search {
    const uint64_t *a, *b;
    int64_t n, m, max;
    int64_t *furthest; /* 2 * max + 3, centred on max + 1 */
    int64_t **kept;    /* per d: furthest[-d .. d] */
};

static int64_t *at(const struct search *s, int64_t k)
{
    return &s->furthest[k + s->max + 1];
}

/* Goes by insertion or deletion to diagonal k, and along it while the keys are equal. */
static int64_t advance(const struct search *s, int64_t d, int64_t k)
{
    int64_t i = k == -d || (k != d && *at(s, k - 1) < *at(s, k + 1)) ? *at(s, k + 1) : *at(s, k - 1) + 1;
    int64_t j = i - k;

    while (i < s->n && j < s->m && s->a[i] == s->b[j])
        i++, j++;
    *at(s, k) = i;
    return i;
}

static int keep(struct search *s, int64_t d)
{
    size_t n = (size_t)(2 * d + 3);

    s->kept[d] = malloc(n * sizeof **s->kept);
    if (!s->kept[d])
        return IR_EMEM;
    memcpy(s->kept[d], at(s, -d - 1), n * sizeof **s->kept);
    return 0;
}

/* The number of edits, s->max + 1 when there are more, or IR_EMEM. */
static int64_t find(struct search *s)
{
    for (int64_t d = 0; d <= s->max; d++) {
        if (keep(s, d))
            return IR_EMEM;
        for (int64_t k = -d; k <= d; k += 2)
            if (advance(s, d, k) >= s->n && s->n - k >= s->m)
                return d;
    }
    return s->max + 1;
}

static void go_back(const struct search *s, int64_t edits, align_fn same, void *ctx)
{
    int64_t i = s->n, j = s->m;

    for (int64_t d = edits; d >= 0; d--) {
        const int64_t *before = s->kept[d] + d + 1; /* [0] is diagonal 0 */
        int64_t k = i - j;
        int64_t from = k == -d || (k != d && before[k - 1] < before[k + 1]) ? k + 1 : k - 1;
        int64_t i0 = d ? before[from] : 0, j0 = d ? i0 - from : 0;
        while (i > i0 && j > j0 && s->a[i - 1] == s->b[j - 1])
            same(ctx, (size_t)--i, (size_t)--j);
        i = i0, j = j0;
    }
}

int align(const struct key_lists *l, size_t max_edits, align_fn same, void *ctx)
{
    size_t most = l->n_a + l->n_b;
    struct search s = {.a = l->a, .b = l->b, .n = (int64_t)l->n_a, .m = (int64_t)l->n_b};
    int64_t edits = IR_EMEM;

    s.max = (int64_t)(max_edits < most ? max_edits : most);
    s.furthest = calloc((size_t)(2 * s.max + 3), sizeof *s.furthest);
    s.kept = calloc((size_t)s.max + 1, sizeof *s.kept);
    if (s.furthest && s.kept)
        edits = find(&s);
    if (edits >= 0 && edits <= s.max)
        go_back(&s, edits, same, ctx);
    for (int64_t d = 0; s.kept && d <= s.max; d++)
        free(s.kept[d]);
    free(s.kept);
    free(s.furthest);
    return edits < 0 ? IR_EMEM : edits > s.max;
}
