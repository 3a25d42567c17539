#include "cli/groups.h"
#include "cli/print.h"
#include "cli/row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOLD   "\033[1m"
#define FAINT  "\033[2m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RESET  "\033[0m"

static void style(const struct page *p, const char *code)
{
    if (p->color)
        fputs(code, p->f);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- names of groups ---- */

/* "layers.0-31" for the blocks first..last, or one name. Returns the width. */
static size_t put_group(FILE *f, const sactag_plan *plan, uint32_t first, uint32_t last)
{
    struct sactag_block a, b;

    sactag_plan_block(plan, first, &a);
    if (first == last)
        return put_text(f, a.fqn);
    sactag_plan_block(plan, last, &b);
    return put_name_range(f, a.fqn, b.fqn);
}

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

/* ---- header ---- */

static void key(const struct page *p, const char *name)
{
    style(p, FAINT);
    fprintf(p->f, "%-9s", name);
    style(p, RESET);
}

static void put_format(const struct page *p, const struct sactag_info *info)
{
    key(p, "format");
    fputs(info->format, p->f);
    if (info->ir_version)
        fprintf(p->f, ", IR version %" PRId64, info->ir_version);
    if (info->opset)
        fprintf(p->f, ", opset %" PRId64, info->opset);
    if (info->producer.n) {
        fputs(", by ", p->f);
        put_text(p->f, info->producer);
    }
    if (info->producer_version.n) {
        fputc(' ', p->f);
        put_text(p->f, info->producer_version);
    }
    fputc('\n', p->f);
}

static void put_model(const struct page *p)
{
    struct sactag_info info;

    sactag_get_info(p->in->m, &info);
    key(p, "model");
    put_text(p->f, text_of(p->in->base));
    fputc('\n', p->f);
    put_format(p, &info);
    key(p, "nodes");
    fprintf(p->f, "%" PRIu64, info.nodes);
    if (info.graphs > 1)
        fprintf(p->f, " in %" PRIu64 " graphs", info.graphs);
    fputc('\n', p->f);
}

static void put_flags(FILE *f, const char *name, const struct strings *list)
{
    for (size_t i = 0; i < list->n; i++) {
        fprintf(f, " --%s ", name);
        put_text(f, text_of(list->s[i]));
    }
}

/* The options that the plan was made with, as they would be typed. */
static void put_options(const struct page *p)
{
    static const char *const match[] = {NULL, "exact", "substring", "glob"};
    static const char *const rule[] = {NULL, "onnx", "torch"};
    const struct sactag_options *x = &p->o->policy;
    char shape[SHAPE_MAX];

    if (!x->n_fqns && !x->n_force_shapes && !x->n_blocks && !x->n_mm_ops && !x->match && !x->mm_rule &&
        !x->profile && !x->order && !x->strict && !x->specialize)
        return;
    style(p, FAINT);
    fputs("options ", p->f); /* each option brings a space of its own */
    style(p, RESET);
    put_flags(p->f, "fqn", &p->o->fqns);
    for (size_t i = 0; i < x->n_force_shapes; i++)
        fprintf(p->f, " --force-shape %s", shape_text(shape, x->force_shapes[i]));
    if (x->match)
        fprintf(p->f, " --match %s", match[x->match]);
    if (x->profile)
        fputs(" --profile titan", p->f);
    put_flags(p->f, "blocks", &p->o->blocks);
    if (x->mm_rule)
        fprintf(p->f, " --mm-rule %s", rule[x->mm_rule]);
    put_flags(p->f, "mm-ops", &p->o->mm_ops);
    fputs(x->order ? " --order file" : "", p->f);
    fputs(x->strict ? " --strict" : "", p->f);
    fputs(x->specialize ? " --specialize" : "", p->f);
    fputc('\n', p->f);
}

static void put_mms(const struct page *p, const struct sactag_summary *s)
{
    bool torch = s->mm_rule == SACTAG_MM_TORCH;

    key(p, "mms");
    fprintf(p->f, "%" PRIu32 " (rule %s", s->rows, torch ? "torch" : "onnx");
    if (s->rules_differ)
        fprintf(p->f, "; rule %s would differ in %" PRIu32 " row%s", torch ? "onnx" : "torch",
                s->rules_differ, plural(s->rules_differ));
    fputs(")\n", p->f);
    if (s->assumed) {
        key(p, "assumed");
        fprintf(p->f, "%" PRIu32 " row%s rest%s on what the file cannot tell: see their reasons\n",
                s->assumed, plural(s->assumed), s->assumed == 1 ? "s" : "");
    }
}

#define RANGES_MOST 8 /* more ranges of block names are only counted */

static void put_blocks(const struct page *p, const struct groups *g, const struct sactag_summary *s)
{
    const char *sep = ": ";
    uint32_t ranges = 0, left_off = 0;

    key(p, "blocks");
    if (strcmp(s->blocks_how, "whole") == 0) {
        fputs("the whole graph is one\n", p->f);
        return;
    }
    fprintf(p->f, "%" PRIu32 " (%s)", g->n_blocks, s->blocks_how);
    for (uint32_t b = 0; b < g->n_blocks; b = group_last(g, g->by_name, b) + 1) {
        uint32_t last = group_last(g, g->by_name, b);
        if (++ranges > RANGES_MOST) {
            left_off += last - b + 1;
            continue;
        }
        fputs(sep, p->f);
        put_group(p->f, p->plan, b, last);
        sep = ", ";
    }
    if (left_off)
        fprintf(p->f, " and %" PRIu32 " more", left_off);
    fputc('\n', p->f);
}

/* "28 of 28 known: 20 param, 8 scope". */
static void put_evidence(const struct page *p, const struct sactag_summary *s)
{
    const char *sep = ": ";
    uint32_t known = s->rows - s->evidence[SACTAG_EV_NONE] - s->evidence[SACTAG_EV_NEIGHBOUR];

    key(p, "names");
    fprintf(p->f, "%" PRIu32 " of %" PRIu32 " known", known, s->rows);
    for (int i = SACTAG_EV_PARAM; i <= SACTAG_EV_NEIGHBOUR; i++) {
        if (s->evidence[i] == 0)
            continue;
        fprintf(p->f, "%s%" PRIu32 " %s", sep, s->evidence[i], sactag_evidence_name((enum sactag_evidence)i));
        sep = ", ";
    }
    fputc('\n', p->f);
}

static void put_header(const struct page *p, const struct groups *g, const struct sactag_summary *s)
{
    put_model(p);
    if (p->tags) {
        key(p, "tags");
        if (s->rows)
            fprintf(p->f, "%" PRIu32 " (carrier %s)\n", s->rows, s->carrier ? s->carrier : "?");
        else
            fputs("none\n", p->f);
        return;
    }
    put_options(p);
    put_mms(p, s);
    if (s->rows) {
        put_blocks(p, g, s);
        put_evidence(p, s);
    }
}

/* ---- rows ---- */

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

    style(t->p, FAINT);
    fprintf(f, "%-*s  %*s  %-*s  ", (int)t->block, "block", (int)t->ordinal, "#", (int)t->name, "mm");
    if (!t->p->tags)
        fprintf(f, "%-*s  ", (int)t->evidence, "from");
    fprintf(f, "%-*s  %-9s  %s", (int)t->rhs, "rhs", "policy", "reason");
    style(t->p, RESET);
    fputc('\n', f);
}

static bool put_table(const struct page *p, const struct groups *g)
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

/* ---- what is forced, and the sums ---- */

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
    style(p, BOLD);
    fputs("total: ", p->f);
    put_counts(p->f, &s);
    if (summary->outside)
        fprintf(p->f, ", %" PRIu32 " outside blocks", summary->outside);
    style(p, RESET);
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
        ok = put_table(p, &g);
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

/* ---- Linears ---- */

static void linear_widths(const sactag_plan *plan, size_t *fqn, size_t *weight)
{
    struct sactag_linear l;
    size_t n = sactag_plan_linear_count(plan);

    *fqn = 6, *weight = 6;
    for (size_t i = 0; i < n; i++) {
        sactag_plan_linear(plan, i, &l);
        widen(fqn, text_width(l.fqn, CELL_MOST));
        widen(weight, text_width(l.weight, CELL_MOST));
    }
}

static size_t text_or_dash(struct row *row, struct sactag_text t)
{
    return t.n ? row_text(row, t) : row_word(row, "-");
}

static void put_linear(FILE *f, const struct sactag_linear *l, size_t fqn, size_t weight)
{
    struct row row;
    char shape[SHAPE_MAX];

    row_begin(&row, f);
    row_gap(&row, text_or_dash(&row, l->fqn), fqn + 2);
    row_gap(&row, row_word(&row, shape_text(shape, (struct sactag_shape){l->in, l->out})), 13 + 2);
    row_gap(&row, text_or_dash(&row, l->weight), weight + 2);
    row_gap(&row, row_word(&row, sactag_evidence_name(l->evidence)), 9 + 2);
    text_or_dash(&row, l->block);
    row_end(&row);
}

int print_linears_text(const struct page *p)
{
    struct sactag_linear l;
    size_t n = sactag_plan_linear_count(p->plan), fqn, weight;

    put_model(p);
    key(p, "linears");
    fprintf(p->f, "%zu\n", n);
    if (n == 0)
        return 0;
    linear_widths(p->plan, &fqn, &weight);
    style(p, FAINT);
    fprintf(p->f, "\n%-*s  %-*s  %-*s  %-9s  block\n", (int)fqn, "module", 13, "in x out", (int)weight,
            "weight", "from");
    style(p, RESET);
    for (size_t i = 0; i < n; i++) {
        sactag_plan_linear(p->plan, i, &l);
        put_linear(p->f, &l, fqn, weight);
    }
    return 0;
}
