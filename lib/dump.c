/* Looking inside a model: the IR as text, and as a drawing for Graphviz. */
#include "lib/model.h"

#include <stdlib.h>

int sactag_dump_ir(sactag_model *m, sactag_put put, void *ctx, sactag_diag *d)
{
    model_reports_to(m, d);
    return model_reported(m, ir_print(&m->ir, put, ctx));
}

static const char *colour(void *rows, uint32_t node)
{
    const struct plan_row *const *row_of = rows;
    const struct plan_row *r = row_of[node];

    if (!r)
        return NULL;
    if (r->policy == POLICY_SAVE)
        return "palegreen";
    if (r->policy == POLICY_RECOMPUTE)
        return r->forced ? "orange" : "gold";
    return "lightgrey";
}

int sactag_dot(sactag_model *m, const sactag_plan *p, sactag_put put, void *ctx, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);
    const struct plan_row **row_of = calloc((size_t)m->ir.n_nodes + 1, sizeof *row_of);
    int e;

    if (!row_of) {
        e = diag_nomem(diag);
    } else {
        for (uint32_t i = 0; p && p->model == m && i < p->plan->n_rows; i++)
            row_of[p->plan->rows[i].node] = &p->plan->rows[i];
        e = ir_dot(&m->ir, colour, row_of, put, ctx);
    }
    free(row_of);
    return model_reported(m, e);
}
