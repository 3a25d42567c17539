/* Iterations: which rows there are. Every mm has one; those in the body of a loop whose trip count is known
 * and small have one for each iteration, so that nothing need be assumed of how iterations decide. */
#include "passes/decide.h"

#include <stdlib.h>

#define TRIPS_MAX  64        /* iterations listed one by one; no row tells them apart beyond */
#define LISTED_MAX (1 << 20) /* rows in all that iterations may make */

/* An iterated body whose rows are being listed. */
struct open_loop {
    uint32_t frame, start;
    size_t restarts; /* index of the first in it */
    bool branches;   /* alternatives lie in it: which rows an iteration has is not known */
};

struct lister {
    struct decider *k;
    struct open_loop *open;
    size_t n, cap;
};

static int note_restart(struct decider *k, uint32_t row, uint32_t frame)
{
    if (grow(&k->restarts, &k->cap_restarts, k->n_restarts + 1, sizeof *k->restarts) != 0)
        return IR_EMEM;
    k->restarts[k->n_restarts++] = (struct restart){row, frame};
    return 0;
}

static int list_row(struct decider *k, uint32_t mm)
{
    if (grow(&k->row_mm, &k->cap_rows, (size_t)k->n_rows + 1, sizeof *k->row_mm) != 0)
        return IR_EMEM;
    k->row_mm[k->n_rows++] = mm;
    return 0;
}

/* One more iteration of a body whose rows are listed: `n` of them, with `n_restarts` restarts in it. */
static int list_again(struct decider *k, const struct open_loop *o, uint32_t n, size_t n_restarts)
{
    uint32_t base = k->n_rows;
    int rc = note_restart(k, base, o->frame);
    for (size_t i = 0; !rc && i < n_restarts; i++) {
        struct restart r = k->restarts[o->restarts + i];
        rc = note_restart(k, r.row - o->start + base, r.frame);
    }
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = list_row(k, k->row_mm[o->start + i]);
    return rc;
}

/* The rows of the innermost open body are listed once: again for each further iteration, if that many are
 * known. */
static int close_listing(struct lister *l)
{
    struct decider *k = l->k;
    const struct open_loop o = l->open[--l->n];
    int64_t trips = trip_count(k->s, o.frame);
    uint32_t n = k->n_rows - o.start;
    if (o.branches || trips < 1 || trips > TRIPS_MAX ||
        (uint64_t)n * (uint64_t)trips + k->n_rows > LISTED_MAX)
        return 0;
    k->listed[o.frame] = true;
    int rc = 0;
    size_t n_restarts = k->n_restarts - o.restarts;
    for (int64_t t = 1; !rc && t < trips; t++)
        rc = list_again(k, &o, n, n_restarts);
    return rc;
}

static int open_listing(struct lister *l, uint32_t frame)
{
    const struct state *s = l->k->s;
    uint32_t have = l->n ? l->open[l->n - 1].frame : FRAME_MAIN;
    size_t from = l->n;
    bool branches = false;
    for (uint32_t f = frame; f != FRAME_MAIN && f != have; f = s->walk.frames[f].parent) {
        if (!is_body(s, f))
            continue;
        branches |= runs_of(s, f) == IR_RUNS_EITHER;
        if (!ir_is_iterated(&s->m->graphs[s->walk.frames[f].graph]))
            continue;
        if (grow(&l->open, &l->cap, l->n + 1, sizeof *l->open) != 0)
            return IR_EMEM;
        l->open[l->n++] = (struct open_loop){f, l->k->n_rows, l->k->n_restarts, branches};
    }
    for (size_t i = 0; i < from; i++)
        l->open[i].branches |= branches;
    for (size_t i = from, j = l->n; i + 1 < j; i++, j--) { /* outermost first */
        struct open_loop t = l->open[i];
        l->open[i] = l->open[j - 1];
        l->open[j - 1] = t;
    }
    return 0;
}

int list_rows(struct decider *k)
{
    struct state *s = k->s;
    struct lister l = {.k = k};
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        uint32_t frame = walk_step(&s->walk, s->mms[i].step).frame;
        if (!row_wanted(s, &s->mms[i]))
            continue;
        while (!rc && l.n && !inside_frame(s, frame, l.open[l.n - 1].frame))
            rc = close_listing(&l);
        if (!rc && frame != FRAME_MAIN)
            rc = open_listing(&l, frame);
        if (!rc)
            rc = list_row(k, i);
    }
    while (!rc && l.n)
        rc = close_listing(&l);
    free(l.open);
    return rc;
}
