/* Trips: how often a node runs a graph that it holds. */
#include "passes/decide.h"

enum truth { NO, YES, NOT_KNOWN };

/* The one integer that a value is; false where that is not known. */
static bool one_int(int64_t *out, const struct state *s, struct use u)
{
    struct fact x = facts_get(&s->facts, u);
    if (!x.ints || s->facts.ints[x.ints - 1] != 1 || s->facts.ints[x.ints] == FACT_INT_UNKNOWN)
        return false;
    *out = s->facts.ints[x.ints];
    return true;
}

/* A condition; one that is left out holds. */
static enum truth truth(const struct state *s, struct use u)
{
    int64_t v;
    return u.value == IR_NONE ? YES : !one_int(&v, s, u) ? NOT_KNOWN : v ? YES : NO;
}

static bool copies(struct str op)
{
    return str_is(op, "Identity") || str_is(op, "Cast");
}

/* Is there another iteration after each? `start` is whether there is a first one. */
static enum truth goes_on(const struct state *s, uint32_t frame, enum truth start)
{
    const struct ir_graph *g = &s->m->graphs[s->walk.frames[frame].graph];
    if (g->n_outputs == 0)
        return NOT_KNOWN;
    struct use u = {frame, g->outputs[0]}, from = walk_back(&s->walk, u, copies);
    if (from.value == IR_NONE)
        return NOT_KNOWN;
    const struct ir_value *v = &s->m->values[from.value];
    if (from.frame == frame && v->kind == IR_VALUE_INPUT && v->def == 1)
        return start; /* handed through */
    return truth(s, u);
}

static int64_t counted(const struct state *s, uint32_t frame)
{
    const struct walk *w = &s->walk;
    const struct step node = {w->frames[frame].node, w->frames[frame].parent};
    struct use most = walk_input(w, node, 0);
    int64_t n = INT64_MAX;
    bool known = most.value == IR_NONE || one_int(&n, s, most);
    enum truth start = truth(s, walk_input(w, node, 1));
    if ((known && n <= 0) || start == NO)
        return 0;
    enum truth more = goes_on(s, frame, start);
    if (!known || start == NOT_KNOWN)
        return -1;
    if (more == NO || n == 1)
        return 1;
    return more == YES && most.value != IR_NONE ? n : -1;
}

static int64_t walked_over(const struct state *s, uint32_t frame)
{
    const struct frame *f = &s->walk.frames[frame];
    const struct ir_graph *g = &s->m->graphs[f->graph];
    struct use u = walk_input(&s->walk, (struct step){f->node, f->parent}, g->over);
    const struct ir_shape *x = fact_shape(&s->facts, facts_get(&s->facts, u));
    int64_t axis = g->axis < 0 ? (int64_t)g->axis + x->rank : g->axis;
    return axis < 0 || axis >= x->rank ? -1 : x->dims[axis] < 0 ? -1 : x->dims[axis];
}

int64_t trip_count(const struct state *s, uint32_t frame)
{
    switch (s->m->graphs[s->walk.frames[frame].graph].runs) {
    case IR_RUNS_COUNTED:
        return counted(s, frame);
    case IR_RUNS_OVER:
        return walked_over(s, frame);
    case IR_RUNS_ONCE:
    case IR_RUNS_UNKNOWN:
    case IR_RUNS_EITHER:
        return 1;
    case IR_RUNS_WHILE:
    case IR_RUNS_TEST:
        break;
    }
    return -1;
}
