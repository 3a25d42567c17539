/* Bodies: how the count goes on through nested graphs, which run once, as alternatives or several times (enum
 * ir_runs; POLICY.md 2 "Graphs within graphs"). Rows are gone through in execution order; this file knows the
 * bodies that are open at each, and settles the counts when one is left. */
#include "passes/decide.h"

#include <stdlib.h>

/* A nested graph that is being gone through. */
struct open_body {
    uint32_t frame;
    uint32_t start;   /* first row in it */
    uint32_t sibling; /* second branch, or body whose test came first: first row of that one; else IR_NONE */
};

bool is_body(const struct state *s, uint32_t frame)
{
    return frame != FRAME_MAIN && s->m->graphs[s->walk.frames[frame].graph].kind == IR_GRAPH_BODY;
}

enum ir_runs runs_of(const struct state *s, uint32_t frame)
{
    return s->m->graphs[s->walk.frames[frame].graph].runs;
}

/* Does the node that runs the body of `frame` belong to the call of this mm? Then the call is around it. */
static bool call_around(const struct decider *k, uint32_t frame, const struct mm *mm)
{
    const struct state *s = k->s;
    uint32_t owner = k->owner[frame];
    return whole_graph(s) ||
           (owner != IR_NONE && s->region_of[owner] == s->first_region[mm->block] + mm->call);
}

bool called_in_body(const struct decider *k, const struct mm *mm)
{
    const struct state *s = k->s;
    for (uint32_t f = walk_step(&s->walk, mm->step).frame; f != FRAME_MAIN; f = s->walk.frames[f].parent)
        if (is_body(s, f) && !call_around(k, f, mm))
            return true;
    return false;
}

/* Does the call start and end inside the body that rows [start, end) are, so that each run of the body is a
 * call of its own? Not where the node that runs the body belongs to the call itself. */
static bool call_within(const struct decider *k, uint32_t frame, const struct mm *mm, uint32_t start,
                        uint32_t end)
{
    uint32_t call = call_id(k, mm); /* rows of an iteration come again; their mms are the same */
    return k->row_mm[k->first_row[call]] >= k->row_mm[start] &&
           k->row_mm[k->last_row[call]] <= k->row_mm[end - 1] && !call_around(k, frame, mm);
}

const char *frame_owner(struct state *s, uint32_t frame)
{
    const struct ir_node *n = &s->m->nodes[s->walk.frames[frame].node];
    struct str name = ir_node_name(s->m, n), op = ir_node_op(s->m, n)->type;
    char *text;
    if (name.n && str_eq(name, ir_value_name(s->m, ir_node_output(s->m, n, 0))))
        text = arena_printf(&s->arena, "'%.*s' (%.*s)", STR_ARG(name), STR_ARG(op));
    else
        text = arena_printf(&s->arena, "'%.*s'", STR_ARG(name.n ? name : op));
    return text ? text : "a node"; /* without memory the plan fails anyway */
}

/* Into k->net (all zero before): what rows [start, end), all decided, added to the count of each call. */
static void take_net(struct decider *k, uint32_t start, uint32_t end)
{
    for (uint32_t i = end; i-- > start;) {
        const struct mm *mm = &k->s->mms[k->row_mm[i]];
        if (mm->block != IR_NONE) /* its first row in there has the last word */
            k->net[call_id(k, mm)] = k->count[call_id(k, mm)] - k->before[i];
    }
}

static void clear_net(struct decider *k, uint32_t start, uint32_t end)
{
    for (uint32_t i = start; i < end; i++)
        if (k->s->mms[k->row_mm[i]].block != IR_NONE)
            k->net[call_id(k, &k->s->mms[k->row_mm[i]])] = 0;
}

/* Row i of an iterated body, which counts k->net mms of its call an iteration: do all iterations decide it
 * alike? */
static int check_iterations(struct decider *k, const struct open_body *o, uint32_t i, int64_t trips)
{
    struct state *s = k->s;
    uint32_t net = k->net[call_id(k, &s->mms[k->row_mm[i]])];
    if (net % 2 == 0 || trips == 1 || trips == 0)
        return 0;
    const char *loop = frame_owner(s, o->frame);
    if (trips < 0)
        return diag_error(
            s->d, IR_EPOLICY,
            "the body of %s counts %u mm%s an iteration and its trip count is not known: iterations "
            "would disagree, and so would all mms after it",
            loop, net, net == 1 ? "" : "s");
    char *why =
        arena_printf(&s->plan->arena, "mm '%.*s' in the body of %s: iterations 0 and 1 decide differently",
                     STR_ARG(row_name(s, i)), loop);
    if (!why)
        return IR_EMEM;
    row_varies(s, i, why);
    return 0;
}

/* A call's count after all iterations of a body, of which one was gone through and added `net`. Where their
 * number is not known (-1) that one has to do. */
static uint32_t count_iterations(uint32_t count, uint32_t net, int64_t trips)
{
    if (trips == 0)
        return count - net;
    uint64_t more = trips < 0 ? 0 : (uint64_t)trips - 1;
    if (more > UINT32_MAX)
        more = UINT32_MAX - 1 + more % 2;
    return count_add(count, more * net);
}

/* An iterated body whose iterations are not listed one by one has been gone through once, to row `end`, and
 * its test before it, which runs once more. */
static int close_loop(struct decider *k, const struct open_body *o, uint32_t end)
{
    struct state *s = k->s;
    int64_t trips = trip_count(s, o->frame);
    uint32_t start = o->sibling != IR_NONE ? o->sibling : o->start;
    int rc = 0;
    take_net(k, start, end);
    for (uint32_t i = start; !rc && i < end; i++) {
        const struct mm *mm = &s->mms[k->row_mm[i]];
        bool counts = mm->block != IR_NONE && mm->counted && !s->plan->rows[i].forced;
        if (counts && !call_within(k, o->frame, mm, start, end))
            rc = check_iterations(k, o, i, trips);
    }
    for (uint32_t i = start; i < end; i++) { /* further iterations go on counting; none takes it back */
        const struct mm *mm = &s->mms[k->row_mm[i]];
        if (mm->block == IR_NONE || call_within(k, o->frame, mm, start, end))
            continue;
        uint32_t *count = &k->count[call_id(k, mm)];
        *count = count_iterations(*count, k->net[call_id(k, mm)], trips);
        k->net[call_id(k, mm)] = 0;
        if (i < o->start)
            *count = count_add(*count, k->other[i]);
    }
    clear_net(k, start, end);
    return rc;
}

/* The first of two graphs, rows [start, end), is done: what it added is noted, for the second. */
static void note_first(struct decider *k, uint32_t start, uint32_t end)
{
    take_net(k, start, end);
    for (uint32_t i = start; i < end; i++) {
        const struct mm *mm = &k->s->mms[k->row_mm[i]];
        k->other[i] = mm->block == IR_NONE ? 0 : k->net[call_id(k, mm)];
        if (mm->block != IR_NONE)
            k->net[call_id(k, mm)] = 0;
    }
}

/* The first branch, rows [start, end), is done: the other one starts from the counts that it started from. */
static void close_first(struct decider *k, uint32_t start, uint32_t end)
{
    note_first(k, start, end);
    for (uint32_t i = start; i < end; i++)
        if (k->s->mms[k->row_mm[i]].block != IR_NONE)
            k->count[call_id(k, &k->s->mms[k->row_mm[i]])] -= k->other[i];
}

/* The branches are done: rows [a, b) and [b, end). They must agree where the call goes on. */
static int check_branches(struct decider *k, uint32_t frame, uint32_t a, uint32_t b, uint32_t end)
{
    struct state *s = k->s;
    int rc = 0;
    take_net(k, b, end);
    for (uint32_t i = a; i < b; i++)
        if (s->mms[k->row_mm[i]].block != IR_NONE)
            k->net[call_id(k, &s->mms[k->row_mm[i]])] -= k->other[i];
    for (uint32_t i = a; !rc && i < end; i++) { /* what is left is not 0 where they differ */
        const struct mm *mm = &s->mms[k->row_mm[i]];
        if (mm->block != IR_NONE && k->last_row[call_id(k, mm)] >= end && k->net[call_id(k, mm)])
            rc = diag_error(s->d, IR_EPOLICY,
                            "the branches of %s end on different counts, and more mms of block '%.*s' "
                            "follow: what they get "
                            "would depend on the branch",
                            frame_owner(s, frame), STR_ARG(s->plan->blocks[mm->block].fqn));
    }
    clear_net(k, a, end);
    return rc;
}

/* Is `frame` in, or inside, a graph that `node` of frame `parent` runs? */
static bool under(const struct state *s, uint32_t frame, uint32_t node, uint32_t parent)
{
    while (frame != FRAME_MAIN &&
           !(s->walk.frames[frame].node == node && s->walk.frames[frame].parent == parent))
        frame = s->walk.frames[frame].parent;
    return frame != FRAME_MAIN;
}

bool inside_frame(const struct state *s, uint32_t frame, uint32_t outer)
{
    while (frame != FRAME_MAIN && frame != outer)
        frame = s->walk.frames[frame].parent;
    return frame == outer;
}

/* One of a node's alternatives is done. */
static int close_branch(struct decider *k, struct nest *n, uint32_t next, uint32_t end)
{
    const struct open_body *o = &n->open[n->n - 1];
    const struct frame *f = &k->s->walk.frames[o->frame];
    if (o->sibling != IR_NONE)
        return check_branches(k, o->frame, o->sibling, o->start, end);
    if (!under(k->s, next, f->node, f->parent))
        return check_branches(k, o->frame, o->start, o->start, end);
    close_first(k, o->start, end);
    n->first.node = f->node, n->first.parent = f->parent, n->first.start = o->start;
    return 0;
}

/* The test of a loop is done; its body follows, or has no rows. */
static int close_test(struct decider *k, struct nest *n, uint32_t next, uint32_t end)
{
    const struct open_body *o = &n->open[n->n - 1];
    const struct frame *f = &k->s->walk.frames[o->frame];
    if (!under(k->s, next, f->node, f->parent))
        return close_loop(k, o, end);
    note_first(k, o->start, end);
    n->first.node = f->node, n->first.parent = f->parent, n->first.start = o->start;
    return 0;
}

/* The innermost open body is done; the next row, `end`, is in frame `next`. */
static int close_body(struct decider *k, struct nest *n, uint32_t next, uint32_t end)
{
    const struct open_body *o = &n->open[n->n - 1];
    switch (runs_of(k->s, o->frame)) {
    case IR_RUNS_EITHER:
        return close_branch(k, n, next, end);
    case IR_RUNS_TEST:
        return close_test(k, n, next, end);
    case IR_RUNS_COUNTED:
    case IR_RUNS_OVER:
    case IR_RUNS_WHILE:
        return k->listed[o->frame] ? 0 : close_loop(k, o, end);
    case IR_RUNS_ONCE:
    case IR_RUNS_UNKNOWN:
        break;
    }
    return 0;
}

static int leave_bodies(struct decider *k, struct nest *n, uint32_t next, uint32_t end)
{
    while (n->n && !inside_frame(k->s, next, n->open[n->n - 1].frame)) {
        int rc = close_body(k, n, next, end);
        if (rc)
            return rc;
        n->n--;
    }
    return 0;
}

/* Rows lie in a graph of which nobody knows how it runs. */
static void note_unknown(struct decider *k, uint32_t frame)
{
    if (runs_of(k->s, frame) != IR_RUNS_UNKNOWN || k->met[frame])
        return;
    k->met[frame] = true;
    if (k->n_unknown++ == 0)
        k->unknown = frame;
}

void warn_unknown_bodies(const struct decider *k)
{
    const struct state *s = k->s;
    if (!k->n_unknown)
        return;
    const struct ir_node *n = &s->m->nodes[s->walk.frames[k->unknown].node];
    const struct ir_op *op = ir_node_op(s->m, n);
    diag_warn(s->d,
              "mms lie in %u graph%s of which it is not known how often %s run (the first in node '%.*s', "
              "%.*s%s%.*s): taken to run once, where the node stands",
              k->n_unknown, k->n_unknown == 1 ? "" : "s", k->n_unknown == 1 ? "it is" : "they are",
              STR_ARG(ir_node_label(s->m, n)), STR_ARG(op->domain), op->domain.n ? ":" : "",
              STR_ARG(op->type));
}

static int enter_bodies(struct decider *k, struct nest *n, uint32_t frame, uint32_t row)
{
    struct state *s = k->s;
    uint32_t have = n->n ? n->open[n->n - 1].frame : FRAME_MAIN;
    size_t from = n->n;
    for (uint32_t f = frame; f != FRAME_MAIN && f != have; f = s->walk.frames[f].parent) {
        if (!is_body(s, f))
            continue;
        if (grow(&n->open, &n->cap, n->n + 1, sizeof *n->open) != 0)
            return IR_EMEM;
        note_unknown(k, f);
        bool second = s->walk.frames[f].node == n->first.node && s->walk.frames[f].parent == n->first.parent;
        n->open[n->n++] = (struct open_body){f, row, second ? n->first.start : IR_NONE};
        if (second)
            n->first.node = IR_NONE;
    }
    for (size_t i = from, j = n->n; i + 1 < j; i++, j--) { /* outermost first */
        struct open_body t = n->open[i];
        n->open[i] = n->open[j - 1];
        n->open[j - 1] = t;
    }
    return 0;
}

/* The steps of the nodes that run bodies. */
int find_owners(struct decider *k)
{
    const struct walk *w = &k->s->walk;
    k->owner = arena_alloc(&k->s->arena, w->n_frames, sizeof *k->owner);
    if (!k->owner)
        return IR_EMEM;
    memset(k->owner, 0xff, (size_t)w->n_frames * sizeof *k->owner);
    for (uint32_t i = 0; w->n_frames > 1 && i < w->n_steps; i++) {
        struct step st = walk_step(w, i);
        for (uint32_t b = ir_node_body(w->m, &w->m->nodes[st.node]); b != IR_NONE;
             b = w->m->graphs[b].next_body) {
            uint32_t frame = walk_child(w, st.frame, st.node, b);
            if (frame != IR_NONE)
                k->owner[frame] = i;
        }
    }
    return 0;
}

void nest_init(struct nest *n)
{
    *n = (struct nest){.first = {IR_NONE, IR_NONE, IR_NONE}};
}

void nest_free(struct nest *n)
{
    free(n->open);
}

int nest_move(struct decider *k, struct nest *n, uint32_t frame, uint32_t row)
{
    if (n->n == 0 && frame == FRAME_MAIN)
        return 0;
    int rc = 0;
    if (k->next_restart < k->n_restarts && k->restarts[k->next_restart].row == row)
        rc = leave_bodies(k, n, k->restarts[k->next_restart++].frame, row);
    if (!rc)
        rc = leave_bodies(k, n, frame, row);
    return rc ? rc : enter_bodies(k, n, frame, row);
}
