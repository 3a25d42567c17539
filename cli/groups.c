#include "cli/groups.h"
#include "cli/print.h"

#include <stdlib.h>
#include <string.h>

/* ---- names that count up ---- */

static size_t segment(struct sactag_text t, size_t at)
{
    const char *dot = at < t.n ? memchr(t.s + at, '.', t.n - at) : NULL;
    return dot ? (size_t)(dot - t.s) - at : t.n - at;
}

/* A decimal number without leading zeros. */
static bool number(const char *s, size_t n, uint64_t *out)
{
    *out = 0;
    if (n == 0 || n > 18 || (s[0] == '0' && n > 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(s[i] - '0');
    }
    return true;
}

/* The one segment in which two names of equally many segments differ. */
static bool one_difference(struct sactag_text a, struct sactag_text b, struct sactag_text *in_a,
                           struct sactag_text *in_b)
{
    size_t i = 0, j = 0, found = 0;

    for (;;) {
        size_t n = segment(a, i), m = segment(b, j);
        struct sactag_text x = {a.s + i, n}, y = {b.s + j, m};
        if (!same_text(x, y)) {
            if (found++)
                return false;
            *in_a = x, *in_b = y;
        }
        i += n, j += m;
        if (i == a.n || j == b.n)
            return found && i == a.n && j == b.n;
        i++, j++;
    }
}

struct sactag_text varying_number(struct sactag_text first, struct sactag_text last)
{
    struct sactag_text a = {NULL, 0}, b = {NULL, 0};
    uint64_t x, y;

    if (first.n && last.n && one_difference(first, last, &a, &b) && number(a.s, a.n, &x) &&
        number(b.s, b.n, &y))
        return a;
    return (struct sactag_text){NULL, 0};
}

bool name_counts_up(struct sactag_text first, struct sactag_text now, struct sactag_text next)
{
    struct sactag_text a = {NULL, 0}, b = {NULL, 0}, v = varying_number(first, next);
    uint64_t x, y;

    return v.n && one_difference(now, next, &a, &b) && number(a.s, a.n, &x) && number(b.s, b.n, &y) &&
           y == x + 1 && a.s - now.s == v.s - first.s;
}

size_t put_name_range(FILE *f, struct sactag_text first, struct sactag_text last)
{
    struct sactag_text from = varying_number(first, last), to = varying_number(last, first);
    size_t head = (size_t)(from.s - first.s) + from.n;
    size_t width = put_text(f, (struct sactag_text){first.s, head});

    fputc('-', f);
    width += put_text(f, to) + 1;
    return width + put_text(f, (struct sactag_text){first.s + head, first.n - head});
}

/* ---- rows and forced shapes ---- */

struct sactag_text relative_fqn(const struct sactag_row *r)
{
    struct sactag_text t = r->fqn, b = r->block;

    if (b.n && t.n > b.n && t.s[b.n] == '.' && memcmp(t.s, b.s, b.n) == 0)
        return (struct sactag_text){t.s + b.n + 1, t.n - b.n - 1};
    return t;
}

static bool same_row(const sactag_plan *p, uint32_t i, uint32_t j)
{
    struct sactag_row a, b;

    sactag_plan_row(p, i, &a);
    sactag_plan_row(p, j, &b);
    return a.call == b.call && a.rhs.k == b.rhs.k && a.rhs.n == b.rhs.n && a.policy == b.policy &&
           same_text(a.reason, b.reason) && same_text(relative_fqn(&a), relative_fqn(&b));
}

static bool same_rows(const struct groups *g, const sactag_plan *p, uint32_t a, uint32_t b)
{
    uint32_t n = g->first[a + 1] - g->first[a];

    if (g->first[b + 1] - g->first[b] != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!same_row(p, g->order[g->first[a] + i], g->order[g->first[b] + i]))
            return false;
    return true;
}

static bool same_forced(const struct sactag_block *a, const struct sactag_block *b)
{
    if (a->n_forced != b->n_forced)
        return false;
    for (size_t i = 0; i < a->n_forced; i++) {
        const struct sactag_forced *x = &a->forced[i], *y = &b->forced[i];
        if (x->rhs.k != y->rhs.k || x->rhs.n != y->rhs.n || !same_text(x->fqn, y->fqn) ||
            !same_text(x->also, y->also))
            return false;
    }
    return true;
}

/* ---- grouping ---- */

/* Rows by block, each block's in execution order: a counting sort. `block` has room for each row's. */
static void sort_rows(struct groups *g, const sactag_plan *p, uint32_t *block)
{
    size_t n = sactag_plan_count(p);
    struct sactag_row r;

    for (size_t i = 0; i < n; i++) {
        sactag_plan_row(p, i, &r);
        block[i] = r.block_index;
        if (r.block_index < g->n_blocks)
            g->first[r.block_index + 1]++;
    }
    for (uint32_t b = 0; b < g->n_blocks; b++)
        g->first[b + 1] += g->first[b];
    uint32_t in_blocks = g->first[g->n_blocks];
    for (size_t i = n; i-- > 0;) /* from the end, moving each block's end down to its beginning */
        if (block[i] < g->n_blocks)
            g->order[--g->first[block[i] + 1]] = (uint32_t)i;
    for (uint32_t b = 0; b < g->n_blocks; b++) /* now first[b + 1] is where b begins */
        g->first[b] = g->first[b + 1];
    g->first[g->n_blocks] = in_blocks;
}

static void group_blocks(struct groups *g, const sactag_plan *p)
{
    struct sactag_block first, last, now;

    for (uint32_t b = 0; b < g->n_blocks; b++) {
        g->by_name[b] = g->by_rows[b] = g->by_forced[b] = b;
        if (b == 0)
            continue;
        sactag_plan_block(p, b - 1, &last);
        sactag_plan_block(p, b, &now);
        sactag_plan_block(p, g->by_name[b - 1], &first);
        if (!name_counts_up(first.fqn, last.fqn, now.fqn))
            continue;
        g->by_name[b] = g->by_name[b - 1];
        if (same_rows(g, p, b - 1, b) && last.calls == now.calls)
            g->by_rows[b] = g->by_rows[b - 1];
        if (same_forced(&last, &now))
            g->by_forced[b] = g->by_forced[b - 1];
    }
}

bool groups_make(struct groups *g, const sactag_plan *p)
{
    size_t n = sactag_plan_block_count(p), rows = sactag_plan_count(p);

    memset(g, 0, sizeof *g);
    g->n_blocks = (uint32_t)n;
    g->first = calloc(n + 1, sizeof *g->first);
    g->order = calloc(rows + 1, sizeof *g->order);
    g->by_name = calloc(n + 1, sizeof *g->by_name);
    g->by_rows = calloc(n + 1, sizeof *g->by_rows);
    g->by_forced = calloc(n + 1, sizeof *g->by_forced);
    uint32_t *block = malloc((rows + 1) * sizeof *block);
    bool ok = block && g->first && g->order && g->by_name && g->by_rows && g->by_forced;
    if (ok) {
        sort_rows(g, p, block);
        group_blocks(g, p);
    }
    free(block);
    return ok;
}

void groups_free(struct groups *g)
{
    free(g->first);
    free(g->order);
    free(g->by_name);
    free(g->by_rows);
    free(g->by_forced);
    memset(g, 0, sizeof *g);
}

uint32_t group_last(const struct groups *g, const uint32_t *leader, uint32_t b)
{
    uint32_t last = b;

    while (last + 1 < g->n_blocks && leader[last + 1] == b)
        last++;
    return last;
}
