/* Runs: one node may have several rows, for calls of its function, iterations of its body, or products of its
 * own. Where they decide differently it cannot be tagged, and the first two that do are named. */
#include "passes/decide.h"

#include <stdlib.h>

void row_varies(struct state *s, uint32_t row, const char *why)
{
    s->plan->rows[row].varies = true;
    if (s->plan->n_varies++ == 0)
        s->plan->varies_why = str_of(why);
}

struct str row_name(const struct state *s, uint32_t row)
{
    const struct ir_node *n = &s->m->nodes[s->plan->rows[row].node];
    return ir_node_label(s->m, n);
}

static const char *policy_word(enum policy p)
{
    return p == POLICY_SAVE ? "save" : p == POLICY_RECOMPUTE ? "recompute" : "none";
}

static struct str call_name(const struct state *s, uint32_t frame)
{
    const struct ir_node *n = &s->m->nodes[s->walk.frames[frame].node];
    return ir_node_label(s->m, n);
}

/* Two frames → the first two on the ways to them that differ: what calls them lies in one frame. */
static void find_parting(const struct frame *frames, uint32_t *f, uint32_t *g)
{
    while (*f != *g && frames[*f].parent != frames[*g].parent) {
        bool deeper = frames[*f].depth > frames[*g].depth;
        if (frames[*g].depth >= frames[*f].depth)
            *g = frames[*g].parent;
        if (deeper)
            *f = frames[*f].parent;
    }
}

/* Calls are told apart by what they are made for; where that is the same, by the nodes that make them. */
static char *calls_disagree(struct state *s, uint32_t a, uint32_t b)
{
    const struct plan_row *x = &s->plan->rows[a], *y = &s->plan->rows[b];
    struct str one = x->fqn, other = y->fqn;
    bool by_node = !one.n || !other.n || str_eq(one, other);
    if (by_node) {
        uint32_t f = x->frame, g = y->frame;
        find_parting(s->walk.frames, &f, &g);
        one = call_name(s, f);
        other = call_name(s, g);
    }
    return arena_printf(
        &s->plan->arena,
        "mm '%.*s' of a function body: the calls %s '%.*s' (%s) and '%.*s' (%s) decide differently",
        STR_ARG(row_name(s, b)), by_node ? "by node" : "for", STR_ARG(one), policy_word(x->policy),
        STR_ARG(other), policy_word(y->policy));
}

/* The innermost iterated body around, or FRAME_MAIN. */
static uint32_t loop_around(const struct state *s, uint32_t frame)
{
    while (frame != FRAME_MAIN && !ir_is_iterated(&s->m->graphs[s->walk.frames[frame].graph]))
        frame = s->walk.frames[frame].parent;
    return frame;
}

/* Names the two runs of a node that rows a and b are. NULL when memory is exhausted. */
static char *disagreement(struct state *s, uint32_t a, uint32_t b)
{
    const struct plan_row *x = &s->plan->rows[a], *y = &s->plan->rows[b];
    const char *was = policy_word(x->policy), *is = policy_word(y->policy);
    uint32_t loop = loop_around(s, y->frame);
    if (x->frame == y->frame && loop == FRAME_MAIN)
        return arena_printf(&s->plan->arena,
                            "node '%.*s' runs several mms, which decide differently (%s, %s)",
                            STR_ARG(row_name(s, b)), was, is);
    if (x->frame == y->frame)
        return arena_printf(&s->plan->arena,
                            "mm '%.*s' in the body of %s: iterations decide differently (%s, %s)",
                            STR_ARG(row_name(s, b)), frame_owner(s, loop), was, is);
    s->plan->varies_by_call = true;
    return calls_disagree(s, a, b);
}

int compare_runs(struct state *s)
{
    struct plan *p = s->plan;
    uint32_t *first = malloc((size_t)(s->m->n_nodes ? s->m->n_nodes : 1) * sizeof *first);
    if (!first)
        return IR_EMEM;
    memset(first, 0xff, (size_t)s->m->n_nodes * sizeof *first);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < p->n_rows; i++) {
        uint32_t *f = &first[p->rows[i].node];
        if (*f == IR_NONE)
            *f = i;
        if (p->rows[*f].policy == p->rows[i].policy)
            continue;
        const char *why = p->n_varies ? "" : disagreement(s, *f, i);
        rc = why ? 0 : IR_EMEM;
        if (why)
            row_varies(s, i, why);
        p->rows[*f].varies = true;
    }
    free(first);
    return rc;
}
