/* `sactag linears` for people. */
#include "cli/row.h"
#include "cli/style.h"
#include "cli/text.h"

#include <string.h>

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
    put_key(p, "linears");
    fprintf(p->f, "%zu\n", n);
    if (n == 0)
        return 0;
    linear_widths(p->plan, &fqn, &weight);
    style(p->f, p->color, FAINT);
    fprintf(p->f, "\n%-*s  %-*s  %-*s  %-9s  block\n", (int)fqn, "module", 13, "in x out", (int)weight,
            "weight", "from");
    style(p->f, p->color, RESET);
    for (size_t i = 0; i < n; i++) {
        sactag_plan_linear(p->plan, i, &l);
        put_linear(p->f, &l, fqn, weight);
    }
    return 0;
}
