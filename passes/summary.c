/* Summary: what the plan tells besides its rows: counts, and a note on routers. Needs policy. */
#include "passes/decide.h"

#include <stdlib.h>

#define ROUTER_HOPS 16 /* nodes between a router's mm and its TopK: softmax, bias, reshape */

static void count_row(struct plan *p, const struct plan_row *r)
{
    struct plan_block none = {0}, *b = r->block == IR_NONE ? &none : &p->blocks[r->block];
    bool saved = r->policy == POLICY_SAVE, recomputed = r->policy == POLICY_RECOMPUTE;
    b->saved += saved;
    b->recomputed += recomputed;
    b->forced_rows += r->forced;
    p->n_saved += saved;
    p->n_recomputed += recomputed;
    p->n_forced += r->forced;
    p->n_addmm += r->addmm && r->block != IR_NONE;
    p->n_outside += r->block == IR_NONE;
}

void plan_count(struct plan *p)
{
    p->n_saved = p->n_recomputed = p->n_forced = p->n_addmm = p->n_outside = 0;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        p->blocks[i].saved = p->blocks[i].recomputed = p->blocks[i].forced_rows = 0;
    for (uint32_t i = 0; i < p->n_rows; i++)
        count_row(p, &p->rows[i]);
}

/* The row whose mm decides this TopK, or IR_NONE. */
static uint32_t router_row(const struct state *s, uint32_t topk, const uint32_t *row_of)
{
    const struct walk *w = &s->walk;
    struct step at = walk_step(w, topk);
    for (int hops = 0; hops < ROUTER_HOPS && at.node != IR_NONE; hops++) {
        if (row_of[at.node] != IR_NONE)
            return row_of[at.node];
        at = walk_def(w, walk_resolve(w, walk_input(w, at, 0)));
    }
    return IR_NONE;
}

/* A router that is recomputed must choose the same experts again. Said once per model. */
static int note_router(struct state *s)
{
    const struct plan *p = s->plan;
    uint32_t *row_of = malloc((size_t)(s->m->n_nodes ? s->m->n_nodes : 1) * sizeof *row_of);
    if (!row_of)
        return IR_EMEM;
    memset(row_of, 0xff, (size_t)s->m->n_nodes * sizeof *row_of);
    for (uint32_t i = p->n_rows; i-- > 0;)
        row_of[p->rows[i].node] = i;
    for (uint32_t i = 0; i < s->walk.n_steps; i++) {
        struct str type = step_op(s, i)->type;
        if (!str_is(type, "TopK") && !str_is(type, "aten.topk.default"))
            continue;
        uint32_t r = router_row(s, i, row_of);
        if (r == IR_NONE || p->rows[r].policy != POLICY_RECOMPUTE)
            continue;
        diag_note(
            s->d,
            "'%.*s' is recomputed and decides a TopK (MoE routing): recomputed routing must be deterministic",
            STR_ARG(p->rows[r].fqn));
        break;
    }
    free(row_of);
    return 0;
}

int pass_summary(struct state *s)
{
    struct plan *p = s->plan;
    plan_count(p);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        p->n_evidence[p->rows[i].evidence]++;
        p->n_assumed += p->rows[i].assumed;
    }
    for (uint32_t i = 0; i < s->n_mms; i++)
        p->n_rules_differ += s->mms[i].literal != (s->mms[i].aten == ATEN_MM);
    return note_router(s);
}
