#include "cli/print_diff.h"

#include <string.h>

void diff_line(const struct diff_page *p, size_t i, struct diff_line *x)
{
    memset(x, 0, sizeof *x);
    x->c = sactag_changes_get(p->changes, i);
    if (x->c.a != SIZE_MAX)
        sactag_plan_row(p->a.plan, x->c.a, &x->a);
    if (x->c.b != SIZE_MAX)
        sactag_plan_row(p->b.plan, x->c.b, &x->b);
    x->at = x->c.b != SIZE_MAX ? &x->b : &x->a;
    x->counts = change_counts(p, &x->c);
}

int print_diff(const struct diff_page *p)
{
    switch (p->o->format) {
    case FORMAT_TSV:
        return print_diff_tsv(p);
    case FORMAT_JSON:
        return print_diff_json(p);
    case FORMAT_TEXT:
        break;
    }
    return print_diff_text(p);
}
