/* Specialize: which functions must be copied so that each body node has one policy (`--specialize`).
 *
 * Needs policy. Two runs of a function are alike when their rows decide alike and their inner calls are alike
 * in turn; runs that are alike share a copy. The first kind of run keeps the function itself. The graph is
 * not changed: the writer does that (schema/onnx_clone.h). */
#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>

/* Something that happens in a run: a row decided, or a call whose kind is known. */
struct event {
    uint32_t run;  /* frame of the function */
    uint32_t node; /* of the row, or that calls */
    uint32_t what; /* policy; or CALL + kind of the inner run */
};
#define CALL 16u

struct specializer {
    struct state *s;
    struct event *events;
    size_t n, cap;
    size_t *first;      /* per frame: its first event; one more at the end */
    struct names kinds; /* function and events as bytes → kind */
    uint32_t *kind_of;  /* per frame */
    uint32_t *copy_of;  /* per kind: which copy of its function, 0 = itself */
    uint32_t *run_of;   /* per kind: a run of it */
    uint32_t n_copies;
};

static bool is_function(const struct state *s, uint32_t frame)
{
    return frame != FRAME_MAIN && s->m->graphs[s->walk.frames[frame].graph].kind == IR_GRAPH_FUNCTION;
}

static int by_run(const void *x, const void *y)
{
    const struct event *a = x, *b = y;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int add_event(struct specializer *k, struct event e)
{
    if (grow(&k->events, &k->cap, k->n + 1, sizeof *k->events) != 0)
        return IR_EMEM;
    k->events[k->n++] = e;
    return 0;
}

/* All rows and calls, by the run they happen in. */
static int collect(struct specializer *k)
{
    struct state *s = k->s;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->plan->n_rows; i++) {
        const struct plan_row *r = &s->plan->rows[i];
        rc = add_event(k, (struct event){s->walk.frames[r->frame].function, r->node, (uint32_t)r->policy});
    }
    for (uint32_t f = 1; !rc && f < s->walk.n_frames; f++)
        if (is_function(s, f))
            rc = add_event(k, (struct event){s->walk.frames[s->walk.frames[f].parent].function,
                                             s->walk.frames[f].node, CALL + f});
    if (rc)
        return rc;
    if (k->n)
        qsort(k->events, k->n, sizeof *k->events, by_run);
    size_t at = 0;
    for (uint32_t f = 0; f <= s->walk.n_frames; f++) {
        while (at < k->n && k->events[at].run < f)
            at++;
        k->first[f] = at;
    }
    return 0;
}

/* What a run is, as bytes: the function, then for each event its node and what happens. Inner runs come after
 * outer ones in the walk, so going backwards their kinds are known. */
static int find_kind(struct specializer *k, uint32_t frame)
{
    struct state *s = k->s;
    size_t n = k->first[frame + 1] - k->first[frame], at = 0;
    uint32_t *key = arena_alloc(&s->arena, 2 * n + 1, sizeof *key);
    if (!key)
        return IR_EMEM;
    key[at++] = s->walk.frames[frame].graph;
    for (size_t i = k->first[frame]; i < k->first[frame + 1]; i++) {
        struct event *e = &k->events[i];
        if (e->what >= CALL)
            e->what = CALL + k->kind_of[e->what - CALL];
        key[at++] = e->node;
        key[at++] = e->what;
    }
    k->kind_of[frame] = names_intern(&k->kinds, (struct str){(const char *)key, at * sizeof *key});
    return k->kind_of[frame] == NAME_NONE ? IR_EMEM : 0;
}

/* Copies of each function, numbered in the order in which they first run. */
static int number_copies(struct specializer *k)
{
    struct state *s = k->s;
    uint32_t *seen = arena_alloc(&s->arena, s->m->n_graphs, sizeof *seen);
    k->copy_of = arena_alloc(&s->arena, (size_t)k->kinds.n + 1, sizeof *k->copy_of);
    k->run_of = arena_alloc(&s->arena, (size_t)k->kinds.n + 1, sizeof *k->run_of);
    if (!seen || !k->copy_of || !k->run_of)
        return IR_EMEM;
    for (uint32_t f = 1; f < s->walk.n_frames; f++) {
        uint32_t kind = k->kind_of[f], graph = s->walk.frames[f].graph;
        if (!is_function(s, f) || k->run_of[kind] != 0)
            continue;
        k->run_of[kind] = f;
        k->copy_of[kind] = seen[graph]++;
        k->n_copies += k->copy_of[kind] > 0;
    }
    return 0;
}

/* Is there an op of this name in the function's domain already? */
static bool taken(const struct ir_model *m, const struct ir_op *op, struct str name)
{
    for (uint32_t i = 0; i < m->n_ops; i++)
        if (str_eq(m->ops[i].domain, op->domain) && str_eq(m->ops[i].type, name))
            return true;
    return false;
}

static int copy_name(struct specializer *k, uint32_t kind, struct str *out)
{
    struct state *s = k->s;
    const struct ir_op *op = &s->m->ops[s->m->graphs[s->walk.frames[k->run_of[kind]].graph].op];
    char *text = arena_printf(&s->plan->arena, "%.*s.sac%u", STR_ARG(op->type), k->copy_of[kind]);
    while (text && taken(s->m, op, str_of(text)))
        text = arena_printf(&s->plan->arena, "%s_", text);
    *out = str_of(text);
    return text ? 0 : IR_EMEM;
}

/* The calls of a run that go to copies. */
static int calls_of_run(struct specializer *k, uint32_t frame, const struct str *names,
                        struct clone_call **calls, uint32_t *n)
{
    size_t count = k->first[frame + 1] - k->first[frame];
    *n = 0;
    *calls = arena_alloc(&k->s->plan->arena, count ? count : 1, sizeof **calls);
    for (size_t i = k->first[frame]; *calls && i < k->first[frame + 1]; i++) {
        const struct event *e = &k->events[i];
        if (e->what >= CALL && k->copy_of[e->what - CALL] > 0)
            (*calls)[(*n)++] = (struct clone_call){e->node, names[e->what - CALL]};
    }
    return *calls ? 0 : IR_EMEM;
}

static int append(struct specializer *k, struct clones *out, const struct clone_call *calls, uint32_t n)
{
    struct clone_call *more = arena_alloc(&k->s->plan->arena, (size_t)out->n_calls + n + 1, sizeof *more);
    if (!more)
        return IR_EMEM;
    if (out->n_calls)
        memcpy(more, out->calls, out->n_calls * sizeof *more);
    if (n)
        memcpy(more + out->n_calls, calls, n * sizeof *more);
    out->calls = more;
    out->n_calls += n;
    return 0;
}

static int publish(struct specializer *k)
{
    struct state *s = k->s;
    struct clones *out = &s->plan->clones;
    struct str *names = arena_alloc(&s->arena, (size_t)k->kinds.n + 1, sizeof *names);
    out->copies = arena_alloc(&s->plan->arena, (size_t)k->n_copies + 1, sizeof *out->copies);
    int rc = names && out->copies ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < k->kinds.n; i++)
        if (k->copy_of[i] > 0)
            rc = copy_name(k, i, &names[i]);
    for (uint32_t i = 0; !rc && i < k->kinds.n; i++) {
        uint32_t frame = k->run_of[i], n;
        struct clone_call *calls;
        if (frame == FRAME_MAIN)
            continue;
        rc = calls_of_run(k, frame, names, &calls, &n);
        if (!rc && k->copy_of[i] > 0)
            out->copies[out->n_copies++] = (struct clone){s->walk.frames[frame].graph, names[i], calls, n};
        else if (!rc)
            rc = append(k, out, calls, n);
    }
    struct clone_call *calls = NULL;
    uint32_t n = 0;
    if (!rc)
        rc = calls_of_run(k, FRAME_MAIN, names, &calls, &n);
    return rc ? rc : append(k, out, calls, n);
}

int pass_specialize(struct state *s)
{
    struct specializer k = {.s = s};
    if (!s->o->specialize || s->plan->n_varies == 0)
        return 0;
    k.first = arena_alloc(&s->arena, (size_t)s->walk.n_frames + 2, sizeof *k.first);
    k.kind_of = arena_alloc(&s->arena, (size_t)s->walk.n_frames + 1, sizeof *k.kind_of);
    if (!k.first || !k.kind_of)
        return IR_EMEM;
    names_init(&k.kinds);
    int rc = collect(&k);
    for (uint32_t f = s->walk.n_frames; !rc && f-- > 1;)
        if (is_function(s, f))
            rc = find_kind(&k, f);
    for (size_t i = k.first[FRAME_MAIN]; !rc && i < k.first[FRAME_MAIN + 1]; i++)
        if (k.events[i].what >= CALL)
            k.events[i].what = CALL + k.kind_of[k.events[i].what - CALL];
    if (!rc)
        rc = number_copies(&k);
    if (!rc)
        rc = publish(&k);
    names_free(&k.kinds);
    free(k.events);
    return rc;
}
