/* A plan for people: head and rows (cli/text_head.c, cli/text_rows.c), then what is forced, and the sums. */
#include "cli/style.h"
#include "cli/text.h"

#include <inttypes.h>
#include <string.h>

size_t put_group(FILE *f, const sactag_plan *plan, uint32_t first, uint32_t last)
{
    struct sactag_block a, b;

    sactag_plan_block(plan, first, &a);
    if (first == last)
        return put_text(f, a.fqn);
    sactag_plan_block(plan, last, &b);
    return put_name_range(f, a.fqn, b.fqn);
}

/* `file`: what each line is about, or NULL. */
static size_t put_forced(FILE *f, const struct groups *g, const sactag_plan *plan, const char *file)
{
    size_t lines = 0;
    char shape[SHAPE_MAX];

    for (uint32_t b = 0; b < g->n_blocks; b++) {
        struct sactag_block block;
        if (g->by_forced[b] != b)
            continue;
        sactag_plan_block(plan, b, &block);
        for (size_t i = 0; block.calls && i < block.n_forced; i++, lines++) {
            const struct sactag_forced *x = &block.forced[i];
            if (file) {
                fputs("sactag: ", f);
                put_text(f, text_of(file));
                fputs(": ", f);
            }
            put_group(f, plan, b, group_last(g, g->by_forced, b));
            fprintf(f, ": forced rhs %s (", shape_text(shape, x->rhs));
            put_text(f, x->fqn.n ? x->fqn : text_of("--force-shape"));
            fputc(')', f);
            if (x->also.n) {
                fputs("; also forces ", f);
                put_text(f, x->also);
            }
            fputc('\n', f);
        }
    }
    return lines;
}

bool print_forced(FILE *f, const sactag_plan *plan, const char *file)
{
    struct groups g;
    bool ok = groups_make(&g, plan);

    if (ok)
        put_forced(f, &g, plan, file);
    groups_free(&g);
    return ok;
}

struct sums {
    uint32_t saved, recomputed, forced, saved_addmm, recomputed_addmm;
};

static void add_row(struct sums *s, const struct sactag_row *r)
{
    bool addmm = r->reason.n >= 5 && memcmp(r->reason.s, "addmm", 5) == 0;

    s->saved_addmm += addmm && r->policy == SACTAG_SAVE;
    s->recomputed_addmm += addmm && r->policy == SACTAG_RECOMPUTE;
}

/* "4 saved, 3 recomputed (1 forced)"; addmm stands with those that it is among. */
static void put_counts(FILE *f, const struct sums *s)
{
    fprintf(f, "%" PRIu32 " saved", s->saved);
    if (s->saved_addmm)
        fprintf(f, " (%" PRIu32 " addmm)", s->saved_addmm);
    fprintf(f, ", %" PRIu32 " recomputed", s->recomputed);
    if (s->forced && s->recomputed_addmm)
        fprintf(f, " (%" PRIu32 " forced, %" PRIu32 " addmm)", s->forced, s->recomputed_addmm);
    else if (s->forced)
        fprintf(f, " (%" PRIu32 " forced)", s->forced);
    else if (s->recomputed_addmm)
        fprintf(f, " (%" PRIu32 " addmm)", s->recomputed_addmm);
}

static void put_sum(const struct page *p, const struct groups *g, uint32_t b)
{
    struct sactag_block block;
    struct sactag_row r;

    sactag_plan_block(p->plan, b, &block);
    struct sums s = {.saved = block.saved, .recomputed = block.recomputed, .forced = block.forced_rows};
    for (uint32_t i = g->first[b]; i < g->first[b + 1]; i++) {
        sactag_plan_row(p->plan, g->order[i], &r);
        add_row(&s, &r);
    }
    put_group(p->f, p->plan, b, group_last(g, g->by_rows, b));
    fputs(": ", p->f);
    if (block.calls == 0)
        fputs("not called, ", p->f);
    if (block.calls > 1)
        fprintf(p->f, "%" PRIu32 " calls, ", block.calls);
    if (s.saved + s.recomputed == 0)
        fputs("no mms", p->f);
    else
        put_counts(p->f, &s);
    fputc('\n', p->f);
}

static void put_sums(const struct page *p, const struct groups *g)
{
    for (uint32_t b = 0; b < g->n_blocks; b++)
        if (g->by_rows[b] == b)
            put_sum(p, g, b);
}

static void put_total(const struct page *p, const struct sactag_summary *summary)
{
    size_t n = sactag_plan_count(p->plan);
    struct sums s = {.saved = summary->saved, .recomputed = summary->recomputed, .forced = summary->forced};
    struct sactag_row r;

    for (size_t i = 0; summary->addmm && i < n; i++) {
        sactag_plan_row(p->plan, i, &r);
        add_row(&s, &r);
    }
    style(p->f, p->color, BOLD);
    fputs("total: ", p->f);
    put_counts(p->f, &s);
    if (summary->outside)
        fprintf(p->f, ", %" PRIu32 " outside blocks", summary->outside);
    style(p->f, p->color, RESET);
    fputc('\n', p->f);
}

int print_plan_text(const struct page *p)
{
    struct groups g;
    struct sactag_summary s;
    bool ok = groups_make(&g, p->plan);

    sactag_plan_summary(p->plan, &s);
    if (ok) {
        put_header(p, &g, &s);
        ok = put_rows(p, &g);
    }
    if (ok && s.rows) {
        fputc('\n', p->f);
        if (put_forced(p->f, &g, p->plan, NULL))
            fputc('\n', p->f);
        put_sums(p, &g);
        put_total(p, &s);
    }
    groups_free(&g);
    return ok ? 0 : message_nomem(&p->o->voice);
}
