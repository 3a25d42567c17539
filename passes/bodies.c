/* Bodies: rows that lie in nested graphs (If, Loop, Scan) and in functions, where one node runs several
 * times. */
#include "passes/decide.h"

#include <stdlib.h>

#define COUNT_MAX (1 << 16) /* iterations counted one by one; of more, only the parity matters */

/* A nested graph that is being gone through. */
struct open_body {
    uint32_t frame;
    uint32_t start;   /* first row in it */
    uint32_t sibling; /* second branch of an If: first row of the first one; else IR_NONE */
};

/* Is the whole call inside rows [start, end)? Then the body restarts its count each time it runs. */
static bool call_within(const struct decider *k, uint32_t call, uint32_t start, uint32_t end)
{
    return k->first_row[call] >= start && k->last_row[call] < end;
}

static bool is_body(const struct state *s, uint32_t frame)
{
    return frame != FRAME_MAIN && s->m->graphs[s->walk.frames[frame].graph].kind == IR_GRAPH_BODY;
}

/* How often a Loop runs its body, or -1. */
static int64_t trip_count(struct state *s, uint32_t frame)
{
    const struct frame *f = &s->walk.frames[frame];
    struct step loop = {f->node, f->parent};
    if (!str_is(ir_node_op(s->m, &s->m->nodes[f->node])->type, "Loop"))
        return -1;
    struct fact x = facts_get(&s->facts, walk_input(&s->walk, loop, 0));
    if (!x.ints || s->facts.ints[x.ints - 1] != 1 || s->facts.ints[x.ints] == FACT_INT_UNKNOWN)
        return -1;
    return s->facts.ints[x.ints] < 0 ? 0 : s->facts.ints[x.ints];
}

static struct str frame_owner(const struct state *s, uint32_t frame)
{
    const struct ir_node *n = &s->m->nodes[s->walk.frames[frame].node];
    return n->name.n ? n->name : ir_node_op(s->m, n)->type;
}

/* Row `row` is decided otherwise in another run of its node; `why` tells which, for the first such row. */
static void vary(struct state *s, uint32_t row, const char *why)
{
    s->plan->rows[row].varies = true;
    if (s->plan->n_varies++ == 0)
        s->plan->varies_why = str_of(why);
}

static struct str row_name(const struct state *s, uint32_t row)
{
    return s->m->nodes[s->plan->rows[row].node].name;
}

/* A Loop's body has been gone through once, rows [start, end): what of the other iterations? */
static int close_loop(struct decider *k, const struct open_body *o, uint32_t end)
{
    struct state *s = k->s;
    int64_t trips = trip_count(s, o->frame);
    for (uint32_t i = o->start; i < end; i++) {
        const struct mm *mm = &s->mms[k->row_mm[i]];
        if (mm->block == IR_NONE || !mm->counted || s->plan->rows[i].forced)
            continue;
        uint32_t call = call_id(k, mm), net = 0;
        if (call_within(k, call, o->start, end))
            continue;
        for (uint32_t j = o->start; j < end; j++) {
            const struct mm *other = &s->mms[k->row_mm[j]];
            net += other->block == mm->block && other->call == mm->call && other->counted &&
                   !s->plan->rows[j].forced;
        }
        if (net % 2 == 0 || trips == 1 || trips == 0)
            continue;
        if (trips < 0)
            return diag_error_at(
                s->d, IR_EPOLICY, s->m->nodes[s->plan->rows[i].node].name.n ? "" : NULL, NULL, DIAG_NO_OFFSET,
                "the body of '%.*s' counts %u mm%s an iteration and its trip count is not known: "
                "iterations would disagree, and so would all mms after it",
                STR_ARG(frame_owner(s, o->frame)), net, net == 1 ? "" : "s");
        if (!s->plan->rows[i].varies) {
            char *why = arena_printf(&s->plan->arena,
                                     "mm '%.*s' in the body of '%.*s': iterations 0 and 1 decide differently",
                                     STR_ARG(row_name(s, i)), STR_ARG(frame_owner(s, o->frame)));
            if (!why)
                return IR_EMEM;
            vary(s, i, why);
        }
    }
    for (uint32_t i = o->start; i < end && trips > 1;
         i++) { /* the iterations after the first go on counting */
        const struct mm *mm = &s->mms[k->row_mm[i]];
        if (mm->block != IR_NONE && mm->counted && !s->plan->rows[i].forced &&
            !call_within(k, call_id(k, mm), o->start, end))
            k->count[call_id(k, mm)] +=
                (uint32_t)(trips - 1 < COUNT_MAX ? trips - 1 : COUNT_MAX + (trips - 1) % 2);
    }
    return 0;
}

/* The other branch of an If starts from the counts that this one, rows [start, end), started from. */
static void uncount(struct decider *k, uint32_t start, uint32_t end)
{
    for (uint32_t i = start; i < end; i++) {
        const struct mm *mm = &k->s->mms[k->row_mm[i]];
        if (mm->block != IR_NONE && mm->counted && !k->s->plan->rows[i].forced)
            k->count[call_id(k, mm)]--;
    }
}

/* Both branches of an If are done: rows [a, b) and [b, end). They must agree where the call goes on. */
static int check_branches(struct decider *k, uint32_t frame, uint32_t a, uint32_t b, uint32_t end)
{
    struct state *s = k->s;
    for (uint32_t i = a; i < end; i++) {
        const struct mm *mm = &s->mms[k->row_mm[i]];
        if (mm->block == IR_NONE || k->last_row[call_id(k, mm)] < end)
            continue;
        uint32_t net[2] = {0, 0};
        for (uint32_t j = a; j < end; j++) {
            const struct mm *o = &s->mms[k->row_mm[j]];
            if (o->block == mm->block && o->call == mm->call && o->counted && !s->plan->rows[j].forced)
                net[j >= b]++;
        }
        if ((net[0] ^ net[1]) & 1)
            return diag_error(
                s->d, IR_EPOLICY,
                "the branches of '%.*s' count %u and %u mms, and more mms of block '%.*s' follow: what they "
                "get would depend on the branch",
                STR_ARG(frame_owner(s, frame)), net[0], net[1], STR_ARG(s->plan->blocks[mm->block].fqn));
    }
    return 0;
}

/* Is `frame` in, or inside, a graph that `node` of frame `parent` runs? */
static bool under(const struct state *s, uint32_t frame, uint32_t node, uint32_t parent)
{
    while (frame != FRAME_MAIN &&
           !(s->walk.frames[frame].node == node && s->walk.frames[frame].parent == parent))
        frame = s->walk.frames[frame].parent;
    return frame != FRAME_MAIN;
}

static bool inside_frame(const struct state *s, uint32_t frame, uint32_t outer)
{
    while (frame != FRAME_MAIN && frame != outer)
        frame = s->walk.frames[frame].parent;
    return frame == outer;
}

/* The innermost open body is done; the next row, `end`, is in frame `next`. */
static int close_body(struct decider *k, struct nest *n, uint32_t next, uint32_t end)
{
    struct state *s = k->s;
    const struct open_body *o = &n->open[n->n - 1];
    uint32_t node = s->walk.frames[o->frame].node, parent = s->walk.frames[o->frame].parent;
    struct str op = ir_node_op(s->m, &s->m->nodes[node])->type;
    if (str_is(op, "Loop") || str_is(op, "Scan"))
        return close_loop(k, o, end);
    if (!str_is(op, "If"))
        return 0;
    if (o->sibling != IR_NONE)
        return check_branches(k, o->frame, o->sibling, o->start, end);
    if (!under(s, next, node, parent))
        return check_branches(k, o->frame, o->start, end, end);
    uncount(k, o->start, end);
    n->branch.node = node, n->branch.parent = parent, n->branch.start = o->start;
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
        bool second =
            s->walk.frames[f].node == n->branch.node && s->walk.frames[f].parent == n->branch.parent;
        n->open[n->n++] = (struct open_body){f, row, second ? n->branch.start : IR_NONE};
        if (second)
            n->branch.node = IR_NONE;
    }
    for (size_t i = from, j = n->n; i + 1 < j; i++, j--) { /* outermost first */
        struct open_body t = n->open[i];
        n->open[i] = n->open[j - 1];
        n->open[j - 1] = t;
    }
    return 0;
}

void nest_init(struct nest *n)
{
    *n = (struct nest){.branch = {IR_NONE, IR_NONE, IR_NONE}};
}

void nest_free(struct nest *n)
{
    free(n->open);
}

int nest_move(struct decider *k, struct nest *n, uint32_t frame, uint32_t row)
{
    if (n->n == 0 && frame == FRAME_MAIN)
        return 0;
    int rc = leave_bodies(k, n, frame, row);
    return rc ? rc : enter_bodies(k, n, frame, row);
}

static const char *policy_word(enum policy p)
{
    return p == POLICY_SAVE ? "save" : p == POLICY_RECOMPUTE ? "recompute" : "none";
}

/* Runs of one body node that disagree. */
int compare_runs(struct state *s)
{
    struct plan *p = s->plan;
    if (s->walk.n_frames == 1)
        return 0;
    uint32_t *first = malloc((size_t)s->m->n_nodes * sizeof *first);
    if (!first)
        return IR_EMEM;
    memset(first, 0xff, (size_t)s->m->n_nodes * sizeof *first);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < p->n_rows; i++) {
        uint32_t *f = &first[p->rows[i].node];
        if (*f == IR_NONE) {
            *f = i;
        } else if (p->rows[*f].policy != p->rows[i].policy) {
            char *why = arena_printf(
                &p->arena,
                "mm '%.*s' of a function body: the calls for '%.*s' (%s) and '%.*s' (%s) decide "
                "differently",
                STR_ARG(row_name(s, i)), STR_ARG(p->rows[*f].fqn), policy_word(p->rows[*f].policy),
                STR_ARG(p->rows[i].fqn), policy_word(p->rows[i].policy));
            rc = why ? 0 : IR_EMEM;
            if (why)
                vary(s, i, why);
            p->rows[*f].varies = true;
        }
    }
    free(first);
    return rc;
}
