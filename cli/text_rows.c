/* The rows as a table. It is gone through twice: columns are measured, then printed. */
#include "cli/row.h"
#include "cli/style.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t group_width(const sactag_plan *plan, uint32_t first, uint32_t last)
{
    struct sactag_block a, b;
    size_t width;

    sactag_plan_block(plan, first, &a);
    width = text_width(a.fqn, CELL_MOST);
    if (first != last) {
        sactag_plan_block(plan, last, &b);
        width += varying_number(b.fqn, a.fqn).n + 1;
    }
    return width < CELL_MOST ? width : CELL_MOST;
}

/* A row with what its cells need: the text of each is put together while it is printed or measured. */
struct line {
    struct sactag_row r;
    uint32_t last;    /* last block of the group that the row stands for */
    uint32_t ordinal; /* among the mms of its call, from 1 */
    bool many_calls;
    bool shown;
};

struct table {
    const struct page *p;
    const struct groups *g;
    struct ordinal {
        uint32_t call, n;
    } * ordinals; /* per block: the call that is being gone through, and its rows so far */
    size_t block, ordinal, name, evidence, rhs; /* widths of columns */
};

static void next_line(struct table *t, size_t i, struct line *l)
{
    struct sactag_block b;

    sactag_plan_row(t->p->plan, i, &l->r);
    l->last = l->ordinal = 0;
    l->many_calls = false;
    l->shown = true;
    if (l->r.block_index >= t->g->n_blocks)
        return;
    uint32_t index = l->r.block_index;
    struct ordinal *o = &t->ordinals[index];
    if (o->call != l->r.call)
        *o = (struct ordinal){l->r.call, 0};
    l->ordinal = ++o->n;
    l->last = index;
    if (t->p->o->merge) {
        l->shown = t->g->by_rows[index] == index;
        l->last = l->shown ? group_last(t->g, t->g->by_rows, index) : index;
    }
    sactag_plan_block(t->p->plan, index, &b);
    l->many_calls = b.calls > 1;
}

static void rewind_table(struct table *t)
{
    memset(t->ordinals, 0, (t->g->n_blocks + 1) * sizeof *t->ordinals);
}

/* Cells are put into a row, or with NULL for it only measured. */
static size_t block_cell(const struct table *t, const struct line *l, struct row *row)
{
    const sactag_plan *plan = t->p->plan;
    char call[16];
    size_t width;

    if (l->ordinal == 0)
        return row ? row_word(row, "-") : 1;
    if (!row) {
        width = group_width(plan, l->r.block_index, l->last);
    } else if (l->last == l->r.block_index) {
        width = row_text(row, l->r.block);
    } else {
        row_flush(row);
        width = put_group(row->f, plan, l->r.block_index, l->last);
    }
    if (!l->many_calls)
        return width;
    size_t n = (size_t)snprintf(call, sizeof call, "#%" PRIu32, l->r.call);
    if (row)
        row_put(row, call, n);
    return width + n;
}

/* What tags do not tell is left out. */
static const char *rhs_cell(const struct table *t, char *out, struct sactag_shape s)
{
    return t->p->tags && s.k < 0 && s.n < 0 ? "-" : shape_text(out, s);
}

/* Is this a row of a block whose rows are those of the block before it, which was measured? */
static bool repeats_row(const struct table *t, const struct line *l)
{
    return l->ordinal && l->r.fqn.n && t->g->by_rows[l->r.block_index] != l->r.block_index;
}

static void measure_line(struct table *t, const struct line *l)
{
    char shape[SHAPE_MAX], ordinal[DECIMAL_MAX];

    if (l->ordinal <= 1 || l->many_calls) /* the other rows of a call show the same block */
        widen(&t->block, block_cell(t, l, NULL));
    widen(&t->evidence, strlen(sactag_evidence_name(l->r.evidence)));
    if (repeats_row(t, l))
        return;
    widen(&t->ordinal, decimal(ordinal, l->ordinal));
    widen(&t->name, cell_name(NULL, &l->r));
    widen(&t->rhs, strlen(rhs_cell(t, shape, l->r.rhs)));
}

static void measure(struct table *t)
{
    size_t n = sactag_plan_count(t->p->plan);
    struct line l;

    t->block = 5, t->ordinal = 1, t->name = 2, t->evidence = 4, t->rhs = 3; /* as wide as their titles */
    rewind_table(t);
    for (size_t i = 0; i < n; i++) {
        next_line(t, i, &l);
        if (l.shown)
            measure_line(t, &l);
    }
}

static void row_style(const struct table *t, struct row *row, const char *code)
{
    if (t->p->color)
        row_word(row, code);
}

static void put_policy(const struct table *t, struct row *row, enum sactag_policy policy)
{
    row_style(t, row, policy == SACTAG_SAVE ? GREEN : policy == SACTAG_RECOMPUTE ? YELLOW : FAINT);
    row_pad(row, row_word(row, sactag_policy_name(policy)), 9);
    row_style(t, row, RESET);
    row_word(row, "  ");
}

static void put_line(const struct table *t, const struct line *l)
{
    struct row row;
    char shape[SHAPE_MAX], ordinal[DECIMAL_MAX] = "-";
    bool forced = l->r.reason.n > 7 && memcmp(l->r.reason.s, "forced:", 7) == 0;

    row_begin(&row, t->p->f);
    row_gap(&row, block_cell(t, l, &row), t->block + 2);
    row_pad(&row, l->ordinal ? decimal(ordinal, l->ordinal) : 1, t->ordinal);
    row_word(&row, ordinal);
    row_word(&row, "  ");
    row_gap(&row, cell_name(&row, &l->r), t->name + 2);
    if (!t->p->tags)
        row_gap(&row, row_word(&row, sactag_evidence_name(l->r.evidence)), t->evidence + 2);
    row_gap(&row, row_word(&row, rhs_cell(t, shape, l->r.rhs)), t->rhs + 2);
    put_policy(t, &row, l->r.policy);
    if (forced)
        row_style(t, &row, BOLD);
    row_text(&row, l->r.reason);
    if (forced)
        row_style(t, &row, RESET);
    row_end(&row);
}

static void put_titles(const struct table *t)
{
    FILE *f = t->p->f;

    style(t->p->f, t->p->color, FAINT);
    fprintf(f, "%-*s  %*s  %-*s  ", (int)t->block, "block", (int)t->ordinal, "#", (int)t->name, "mm");
    if (!t->p->tags)
        fprintf(f, "%-*s  ", (int)t->evidence, "from");
    fprintf(f, "%-*s  %-9s  %s", (int)t->rhs, "rhs", "policy", "reason");
    style(t->p->f, t->p->color, RESET);
    fputc('\n', f);
}

bool put_rows(const struct page *p, const struct groups *g)
{
    size_t n = sactag_plan_count(p->plan);
    struct table t = {.p = p, .g = g};
    struct line l;

    t.ordinals = calloc((size_t)g->n_blocks + 1, sizeof *t.ordinals);
    if (!t.ordinals)
        return false;
    if (n > 0) {
        measure(&t);
        fputc('\n', p->f);
        put_titles(&t);
        rewind_table(&t);
    }
    for (size_t i = 0; i < n; i++) {
        next_line(&t, i, &l);
        if (l.shown)
            put_line(&t, &l);
    }
    free(t.ordinals);
    return true;
}
