/* `sactag diff` for people: the style of a unified diff, one hunk after the other, each within one call of
 * one block. */
#include "cli/groups.h"
#include "cli/print_diff.h"
#include "cli/row.h"
#include "cli/style.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MARK '\001' /* where the region's name goes in a text; no escaped name holds it */

/* A run of changes in one call of one block. */
struct section {
    size_t from, to; /* changes */
    struct sactag_text block;
    uint32_t call;
    bool many_calls;
    size_t changed, added, removed, reason;
    char *text; /* what is shown of it; NULL when nothing changed */
    size_t n;   /* bytes */
};

struct widths {
    size_t name, rhs, policy, reason;
};

struct text {
    const struct diff_page *p;
    struct section *sections;
    size_t n;
    struct widths w;
};

/* ---- sections ---- */

static bool many_calls(const sactag_plan *plan, const struct sactag_row *r)
{
    struct sactag_block b;

    if (r->block_index >= sactag_plan_block_count(plan))
        return false;
    sactag_plan_block(plan, r->block_index, &b);
    return b.calls > 1;
}

static void count(struct section *s, const struct diff_line *x)
{
    if (!x->counts)
        return;
    s->changed += x->c.kind == SACTAG_CHANGED;
    s->reason += x->c.kind == SACTAG_REASON;
    s->added += x->c.kind == SACTAG_ADDED;
    s->removed += x->c.kind == SACTAG_REMOVED;
}

static void find_sections(struct text *t, size_t n)
{
    struct section *s = NULL;
    struct diff_line x;

    for (size_t i = 0; i < n; i++) {
        diff_line(t->p, i, &x);
        if (!s || s->call != x.at->call || !same_text(s->block, x.at->block)) {
            s = &t->sections[t->n++];
            *s = (struct section){.from = i, .block = x.at->block, .call = x.at->call};
        }
        s->many_calls |= many_calls(x.at == &x.b ? t->p->b.plan : t->p->a.plan, x.at);
        s->to = i + 1;
        count(s, &x);
    }
}

static bool shown(const struct section *s)
{
    return s->changed + s->added + s->removed + s->reason > 0;
}

/* ---- cells ---- */

static void measure_row(struct widths *w, const struct sactag_row *r)
{
    char shape[SHAPE_MAX];

    widen(&w->name, cell_name(NULL, r));
    widen(&w->rhs, strlen(shape_text(shape, r->rhs)));
    widen(&w->policy, strlen(sactag_policy_name(r->policy)));
    widen(&w->reason, cell_text(NULL, r->reason));
}

static void measure(struct text *t)
{
    struct diff_line x;

    for (size_t s = 0; s < t->n; s++)
        for (size_t i = t->sections[s].from; shown(&t->sections[s]) && i < t->sections[s].to; i++) {
            diff_line(t->p, i, &x);
            if (x.c.a != SIZE_MAX && x.counts)
                measure_row(&t->w, &x.a);
            if (x.c.b != SIZE_MAX)
                measure_row(&t->w, &x.b);
        }
}

/* ---- lines ---- */

static void put_row(const struct text *t, FILE *f, char sign, const struct sactag_row *r,
                    struct sactag_text cause)
{
    char shape[SHAPE_MAX];
    const char *color = sign == '-' ? RED : sign == '+' ? GREEN : "";
    struct row row;

    style(f, t->p->color, color);
    row_begin(&row, f);
    row_put(&row, &sign, 1);
    row_gap(&row, cell_name(&row, r), t->w.name + 2);
    row_gap(&row, row_word(&row, shape_text(shape, r->rhs)), t->w.rhs + 2);
    row_gap(&row, row_word(&row, sactag_policy_name(r->policy)), t->w.policy + 2);
    size_t width = row_text(&row, r->reason);
    if (cause.n) {
        row_gap(&row, width, t->w.reason + 2);
        row_word(&row, "because ");
        row_text(&row, cause);
    }
    row_flush(&row);
    if (*color)
        style(f, t->p->color, RESET);
    fputc('\n', f);
}

static void put_line(const struct text *t, FILE *f, const struct diff_line *x)
{
    const struct sactag_text none = {NULL, 0};

    if (!x->counts) {
        put_row(t, f, ' ', &x->b, none);
        return;
    }
    if (x->c.kind != SACTAG_ADDED)
        put_row(t, f, '-', &x->a, none);
    if (x->c.kind != SACTAG_REMOVED)
        put_row(t, f, '+', &x->b, x->c.cause);
}

/* ---- hunks ---- */

/* Which mms of their call a hunk shows, in a and in b; both count from 1. */
struct range {
    size_t a, b, n_a, n_b;
};

static void put_hunk_head(const struct text *t, FILE *f, const struct range *r)
{
    style(f, t->p->color, CYAN);
    fprintf(f, "@@ -%zu,%zu +%zu,%zu @@", r->n_a ? r->a : r->a - 1, r->n_a, r->n_b ? r->b : r->b - 1, r->n_b);
    style(f, t->p->color, RESET);
    fprintf(f, " %c\n", NAME_MARK);
}

/* Changes from i on belong to one hunk as long as at most twice the context lies between them. Returns the
 * end of the last one. */
static size_t hunk_end(const struct text *t, const struct section *s, size_t i)
{
    size_t end = i, gap = 2 * (size_t)t->p->o->context;

    for (; i < s->to && i - end <= gap; i++) {
        struct sactag_change c = sactag_changes_get(t->p->changes, i);
        if (change_counts(t->p, &c))
            end = i + 1;
    }
    return end;
}

static void pass(struct range *at, const struct sactag_change *c)
{
    at->a += c->a != SIZE_MAX;
    at->b += c->b != SIZE_MAX;
}

static void put_hunk(const struct text *t, FILE *f, struct range at, size_t from, size_t to)
{
    struct range r = at, end = at;
    struct diff_line x;

    for (size_t i = from; i < to; i++) {
        struct sactag_change c = sactag_changes_get(t->p->changes, i);
        pass(&end, &c);
    }
    r.n_a = end.a - at.a;
    r.n_b = end.b - at.b;
    put_hunk_head(t, f, &r);
    for (size_t i = from; i < to; i++) {
        diff_line(t->p, i, &x);
        put_line(t, f, &x);
    }
}

static void put_hunks(const struct text *t, FILE *f, const struct section *s)
{
    struct range at = {1, 1, 0, 0};
    size_t passed = s->from, context = t->p->o->context;

    for (size_t i = s->from; i < s->to;) {
        struct sactag_change c = sactag_changes_get(t->p->changes, i);
        if (!change_counts(t->p, &c)) {
            i++;
            continue;
        }
        size_t from = i - passed > context ? i - context : passed, end = hunk_end(t, s, i);
        size_t to = s->to - end > context ? end + context : s->to;
        for (; passed < from; passed++) {
            c = sactag_changes_get(t->p->changes, passed);
            pass(&at, &c);
        }
        put_hunk(t, f, at, from, to);
        for (; passed < to; passed++) {
            c = sactag_changes_get(t->p->changes, passed);
            pass(&at, &c);
        }
        i = to;
    }
}

/* "2 changed, 1 added". */
static void put_counts(FILE *f, size_t changed, size_t reason, size_t added, size_t removed)
{
    const struct {
        size_t n;
        const char *word;
    } parts[] = {
        {changed, "changed"}, {added, "added"}, {removed, "removed"}, {reason, "for another reason"}};
    const char *sep = "";

    for (size_t i = 0; i < 4; i++) {
        if (!parts[i].n)
            continue;
        fprintf(f, "%s%zu %s", sep, parts[i].n, parts[i].word);
        sep = ", ";
    }
}

static bool render(struct text *t, struct section *s)
{
    FILE *f = open_memstream(&s->text, &s->n);

    if (!f)
        return false;
    if (t->p->o->stat) {
        fprintf(f, "%c: ", NAME_MARK);
        put_counts(f, s->changed, s->reason, s->added, s->removed);
        fputc('\n', f);
    } else {
        put_hunks(t, f, s);
    }
    return fclose(f) == 0;
}

/* ---- the whole ---- */

/* "layers.0", "layers.0#1" for the second call of it. */
static void put_region(FILE *f, const struct sactag_row *r, bool with_call)
{
    if (r->block.n)
        put_text(f, r->block);
    else
        fputs("outside all blocks", f);
    if (r->block.n && with_call)
        fprintf(f, "#%" PRIu32, r->call);
}

static void put_name(FILE *f, const struct section *first, const struct section *last)
{
    struct sactag_row r = {.block = first->block, .call = first->call};

    if (first == last) {
        put_region(f, &r, first->many_calls);
        return;
    }
    put_name_range(f, first->block, last->block);
    if (first->many_calls)
        fprintf(f, "#%" PRIu32, first->call);
}

/* The first section's text, for all up to `last`. */
static void put_section(const struct text *t, const struct section *first, const struct section *last)
{
    FILE *f = t->p->f;
    const char *s = first->text, *end = s + first->n, *mark;

    while ((mark = memchr(s, NAME_MARK, (size_t)(end - s))) != NULL) {
        fwrite(s, 1, (size_t)(mark - s), f);
        put_name(f, first, last);
        s = mark + 1;
    }
    fwrite(s, 1, (size_t)(end - s), f);
}

static bool alike(const struct section *first, const struct section *now, const struct section *next)
{
    return next->text && first->call == next->call && first->many_calls == next->many_calls &&
           first->n == next->n && memcmp(first->text, next->text, first->n) == 0 &&
           name_counts_up(first->block, now->block, next->block);
}

static void put_sections(const struct text *t)
{
    for (size_t i = 0; i < t->n;) {
        const struct section *first = &t->sections[i], *last = first;
        i++;
        if (!first->text)
            continue;
        while (t->p->o->merge && i < t->n && alike(first, last, &t->sections[i]))
            last = &t->sections[i++];
        put_section(t, first, last);
    }
}

static void put_side(const struct text *t, const char *sign, const struct diff_side *s)
{
    style(t->p->f, t->p->color, BOLD);
    fprintf(t->p->f, "%s ", sign);
    put_text(t->p->f, text_of(s->name));
    fprintf(t->p->f, " (%s)", s->kind);
    style(t->p->f, t->p->color, RESET);
    fputc('\n', t->p->f);
}

/* "2 changed, 1 added, 27 same; matched: 26 by fqn, 3 by node". */
static void put_total(const struct text *t)
{
    struct sactag_change_summary s = sactag_changes_summary(t->p->changes);
    const char *sep = "; matched: ";
    FILE *f = t->p->f;

    put_counts(f, s.changed, s.reason, s.added, s.removed);
    fprintf(f, "%s%zu same", s.changed + s.reason + s.added + s.removed ? ", " : "", s.same);
    for (int m = SACTAG_BY_FQN; m <= SACTAG_BY_PLACE; m++) {
        if (!s.matched[m])
            continue;
        fprintf(f, "%s%zu by %s", sep, s.matched[m], sactag_matched_name((enum sactag_matched)m));
        sep = ", ";
    }
    fputc('\n', f);
}

static bool print_all(struct text *t, size_t n)
{
    bool any = false, ok = true;

    find_sections(t, n);
    measure(t);
    for (size_t i = 0; ok && i < t->n; i++) {
        any |= shown(&t->sections[i]);
        ok = !shown(&t->sections[i]) || render(t, &t->sections[i]);
    }
    if (!ok)
        return false;
    if (any && !t->p->o->stat) {
        put_side(t, "---", &t->p->a);
        put_side(t, "+++", &t->p->b);
        ok = put_option_changes(t->p);
    }
    put_sections(t);
    if (t->p->o->stat)
        put_total(t);
    return ok;
}

int print_diff_text(const struct diff_page *p)
{
    size_t n = sactag_changes_count(p->changes);
    struct text t = {.p = p, .sections = calloc(n + 1, sizeof *t.sections)};
    bool ok = t.sections && print_all(&t, n);

    for (size_t i = 0; i < t.n; i++)
        free(t.sections[i].text);
    free(t.sections);
    return ok ? 0 : message_nomem(&p->o->voice);
}
