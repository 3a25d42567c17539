#include "passes/walk.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* An operand counts as if this much were kept for it: it is looked at each time that its node runs. */
#define OPERAND_BYTES 8

void walk_free(struct walk *w)
{
    free(w->frames);
    free(w->steps);
    free(w->local);
    free(w->counts);
    free(w->child_of);
    free(w->origins);
    *w = (struct walk){0};
}

static uint64_t child_hash(uint32_t parent, uint32_t node, uint32_t graph)
{
    uint32_t key[3] = {parent, node, graph};
    return XXH3_64bits(key, sizeof key);
}

static int child_insert(struct walk *w, uint32_t frame)
{
    const struct frame *f = &w->frames[frame];
    size_t i = child_hash(f->parent, f->node, f->graph) & w->child_mask;
    while (w->child_of[i] != IR_NONE)
        i = (i + 1) & w->child_mask;
    w->child_of[i] = frame;
    return 0;
}

/* Keeps the table at most half full. */
static int child_reserve(struct walk *w)
{
    if (w->child_of && (size_t)w->n_frames * 2 <= w->child_mask)
        return 0;
    size_t n = w->child_of ? (w->child_mask + 1) * 2 : 64;
    uint32_t *t = malloc(n * sizeof *t);
    if (!t)
        return IR_EMEM;
    for (size_t i = 0; i < n; i++)
        t[i] = IR_NONE;
    free(w->child_of);
    w->child_of = t;
    w->child_mask = n - 1;
    for (uint32_t i = 1; i < w->n_frames; i++)
        child_insert(w, i);
    return 0;
}

uint32_t walk_child(const struct walk *w, uint32_t parent, uint32_t node, uint32_t graph)
{
    if (!w->child_of)
        return IR_NONE;
    size_t i = child_hash(parent, node, graph) & w->child_mask;
    for (; w->child_of[i] != IR_NONE; i = (i + 1) & w->child_mask) {
        const struct frame *f = &w->frames[w->child_of[i]];
        if (f->parent == parent && f->node == node && f->graph == graph)
            return w->child_of[i];
    }
    return IR_NONE;
}

static int number_values(struct walk *w)
{
    struct ir_model *m = w->m;
    w->counts = calloc(m->n_graphs ? m->n_graphs : 1, sizeof *w->counts);
    if (!w->counts)
        return IR_EMEM;
    if (w->flat) {
        w->counts[0] = m->n_values;
        return 0;
    }
    w->local = malloc((size_t)(m->n_values ? m->n_values : 1) * sizeof *w->local);
    if (!w->local)
        return IR_EMEM;
    for (uint32_t v = 0; v < m->n_values; v++)
        w->local[v] = w->counts[m->values[v].graph]++;
    return 0;
}

static int push_frame(struct walk *w, uint32_t parent, uint32_t node, uint32_t graph, uint32_t *out)
{
    struct ir_model *m = w->m;
    if (grow(&w->frames, &w->cap_frames, (size_t)w->n_frames + 1, sizeof *w->frames) != 0)
        return IR_EMEM;
    if (w->counts[graph] > UINT32_MAX - 1 - w->n_slots)
        return IR_EMEM;
    uint32_t id = w->n_frames++;
    struct frame *f = &w->frames[id];
    *f = (struct frame){parent, node, graph, w->n_slots, IR_NONE, IR_NONE, id, 0};
    w->n_slots += w->counts[graph];
    if (parent != IR_NONE) {
        struct frame *p = &w->frames[parent];
        f->sibling = p->child;
        p->child = id;
        f->depth = p->depth + 1;
        if (m->graphs[graph].kind != IR_GRAPH_FUNCTION)
            f->function = p->function;
    }
    *out = id;
    if (child_reserve(w) != 0)
        return IR_EMEM;
    return parent == IR_NONE ? 0 : child_insert(w, id);
}

/* One graph that is being walked: where we are in its order, and which nested graph of the current node is
 * next. */
struct level {
    uint32_t frame, at;
    uint32_t body; /* next nested graph of the current node */
    bool entered;  /* has the current node's function been entered? */
    bool opened;   /* have the current node's bodies been looked at? */
};

struct walker {
    struct walk *w;
    struct level *stack;
    size_t n, cap;
    uint32_t **order; /* per graph, made when first walked */
    struct walk_limits limits;
    struct diag *d;
};

static int graph_order(struct walker *k, uint32_t graph)
{
    struct ir_model *m = k->w->m;
    if (k->order[graph])
        return 0;
    uint32_t *o = malloc((size_t)(m->graphs[graph].n_nodes + 1) * sizeof *o);
    if (!o)
        return IR_EMEM;
    k->order[graph] = o;
    bool sorted = true;
    int rc = ir_order(m, graph, o, &sorted, k->d);
    if (!sorted)
        k->w->sorted = false;
    return rc;
}

static int charge(struct walker *k, size_t bytes)
{
    if (!k->limits.memory || arena_charge(k->limits.memory, bytes) == 0)
        return 0;
    return diag_error(
        k->d, IR_EINPUT,
        "the nodes that run, with calls of functions expanded, need more memory than the limit of "
        "%zu bytes",
        k->limits.memory->limit);
}

static int open_frame(struct walker *k, uint32_t parent, uint32_t node, uint32_t graph, uint32_t *frame)
{
    size_t slot = WALK_SLOT_BYTES + (k->w->flat ? 0 : sizeof *k->w->origins);
    int rc = charge(k, sizeof(struct frame) + k->w->counts[graph] * slot);
    return rc ? rc : push_frame(k->w, parent, node, graph, frame);
}

static int enter(struct walker *k, uint32_t parent, uint32_t node, uint32_t graph)
{
    struct walk *w = k->w;
    if (k->n >= k->limits.depth)
        return diag_error(k->d, IR_EINPUT, "functions and nested graphs call each other more than %u deep",
                          k->limits.depth);
    for (uint32_t f = parent; f != IR_NONE; f = w->frames[f].parent)
        if (w->frames[f].graph == graph) {
            struct str name = w->m->graphs[graph].name;
            return diag_error(k->d, IR_EINPUT, "function '%.*s' calls itself", STR_ARG(name));
        }
    if (w->n_frames >= k->limits.steps)
        return diag_error(k->d, IR_EINPUT, "calls of functions expand to more than %u graphs", w->n_frames);
    int rc = graph_order(k, graph);
    if (rc)
        return rc;
    if (grow(&k->stack, &k->cap, k->n + 1, sizeof *k->stack) != 0)
        return IR_EMEM;
    uint32_t frame = IR_NONE;
    rc = open_frame(k, parent, node, graph, &frame);
    if (rc)
        return rc;
    k->stack[k->n++] = (struct level){frame, 0, IR_NONE, false, false};
    return 0;
}

static int emit(struct walker *k, uint32_t node, uint32_t frame)
{
    struct walk *w = k->w;
    if (w->n_steps >= k->limits.steps || w->n_steps == UINT32_MAX - 1)
        return diag_error(k->d, IR_EINPUT, "calls of functions expand to more than %llu nodes",
                          (unsigned long long)k->limits.steps);
    size_t operands = w->flat ? 0 : ir_node_n_in(&w->m->nodes[node]); /* what is flat runs once */
    int rc = charge(k, sizeof *w->steps + operands * OPERAND_BYTES);
    if (rc)
        return rc;
    if (grow(&w->steps, &w->cap_steps, (size_t)w->n_steps + 1, sizeof *w->steps) != 0)
        return IR_EMEM;
    w->steps[w->n_steps++] = (struct step){node, frame};
    return 0;
}

/* One move of the innermost graph: into a body or a function of its current node, or past that node. */
static int advance(struct walker *k)
{
    struct walk *w = k->w;
    struct ir_model *m = w->m;
    struct level *l = &k->stack[k->n - 1];
    const struct ir_graph *g = &m->graphs[w->frames[l->frame].graph];
    if (l->at == g->n_nodes) {
        k->n--;
        return 0;
    }
    uint32_t node = k->order[w->frames[l->frame].graph][l->at];
    const struct ir_node *n = &m->nodes[node];
    uint32_t function = m->ops[n->op].function;
    if (function != IR_NONE && !l->entered) {
        l->entered = true;
        return enter(k, l->frame, node, function);
    }
    if (!l->opened) {
        l->opened = true;
        l->body = ir_node_body(m, n);
    }
    if (l->body != IR_NONE) {
        uint32_t body = l->body;
        l->body = m->graphs[body].next_body;
        return enter(k, l->frame, node, body);
    }
    l->at++;
    l->entered = l->opened = false;
    return function == IR_NONE ? emit(k, node, l->frame) : 0;
}

int walk_build(struct walk *w, struct ir_model *m, uint64_t max_steps, struct diag *d)
{
    return walk_build_from(w, m, 0, &(struct walk_limits){.steps = max_steps}, d);
}

/* One graph whose nodes run as they stand, and within the limit: no list of steps is needed. */
static int walk_as_it_stands(struct walker *k, uint32_t root, bool *done)
{
    struct walk *w = k->w;
    const struct ir_graph *g = &w->m->graphs[root];
    uint32_t frame;
    *done = false;
    if (!w->flat || g->first_node != 0 || g->n_nodes > k->limits.steps)
        return 0;
    int rc = ir_in_order(w->m, root, done, k->d);
    if (rc || !*done)
        return rc;
    w->n_steps = g->n_nodes;
    return open_frame(k, IR_NONE, IR_NONE, root, &frame);
}

static int walk_in_order(struct walker *k, uint32_t root)
{
    const struct ir_model *m = k->w->m;
    k->order = calloc(m->n_graphs ? m->n_graphs : 1, sizeof *k->order);
    int rc = k->order ? enter(k, IR_NONE, IR_NONE, root) : IR_EMEM;
    while (!rc && k->n > 0)
        rc = advance(k);
    for (uint32_t g = 0; k->order && g < m->n_graphs; g++)
        free(k->order[g]);
    free(k->order);
    free(k->stack);
    return rc;
}

int walk_build_from(struct walk *w, struct ir_model *m, uint32_t root, const struct walk_limits *limits,
                    struct diag *d)
{
    *w = (struct walk){.m = m, .flat = m->n_graphs == 1, .sorted = true};
    struct walker k = {.w = w, .limits = *limits, .d = d};
    if (!k.limits.depth)
        k.limits.depth = WALK_DEPTH;
    bool done = false;
    int rc = number_values(w);
    if (!rc)
        rc = walk_as_it_stands(&k, root, &done);
    if (rc || done)
        return rc;
    rc = walk_in_order(&k, root);
    if (!rc && !w->flat)
        w->origins = calloc((size_t)w->n_slots + 1, sizeof *w->origins);
    return rc || w->flat || w->origins ? rc : IR_EMEM;
}

/* The frame whose graph defines the value: a body sees what encloses it. */
static struct use owner(const struct walk *w, struct use u)
{
    while (u.value != IR_NONE && w->frames[u.frame].graph != w->m->values[u.value].graph) {
        u.frame = w->frames[u.frame].parent;
        if (u.frame == IR_NONE)
            return (struct use){FRAME_MAIN, IR_NONE};
    }
    return u;
}

/* From a value that its frame owns to where the frame has it from: false when it is made there. */
static bool one_call_on(const struct walk *w, struct use *u)
{
    const struct ir_model *m = w->m;
    const struct ir_value *v = &m->values[u->value];
    const struct frame *f = &w->frames[u->frame];
    if (v->kind == IR_VALUE_INPUT && m->graphs[f->graph].kind == IR_GRAPH_FUNCTION) {
        *u = owner(w, (struct use){f->parent, ir_node_input(m, &m->nodes[f->node], v->def)});
        return true;
    }
    uint32_t graph = v->kind == IR_VALUE_NODE ? m->ops[m->nodes[v->def].op].function : IR_NONE;
    if (graph == IR_NONE)
        return false;
    uint32_t child = walk_child(w, u->frame, v->def, graph);
    if (child == IR_NONE || v->out >= m->graphs[graph].n_outputs)
        *u = (struct use){u->frame, IR_NONE};
    else
        *u = owner(w, (struct use){child, m->graphs[graph].outputs[v->out]});
    return true;
}

/* Calls within calls make long ways, which many values share: what a way led to is kept for all that it went
 * through. */
struct use walk_resolve_nested(const struct walk *w, struct use u)
{
    struct use first = owner(w, u), end = first;
    while (end.value != IR_NONE) {
        struct origin known = w->origins[walk_slot(w, end)];
        if (known.frame_1) {
            end = (struct use){known.frame_1 - 1, known.value};
            break;
        }
        if (!one_call_on(w, &end))
            break;
    }
    for (u = first; u.value != IR_NONE;) {
        struct origin *o = &w->origins[walk_slot(w, u)];
        if (o->frame_1)
            break;
        *o = (struct origin){end.frame + 1, end.value};
        if (!one_call_on(w, &u))
            break;
    }
    return end;
}

int walk_attr(const struct walk *w, struct step s, const char *name, struct ir_attr *out)
{
    char ref[256];
    for (;;) {
        int rc = w->m->source->attr(w->m, s.node, name, out);
        if (rc != 1 || out->kind != IR_ATTR_REF)
            return rc;
        const struct frame *f = &w->frames[w->frames[s.frame].function];
        if (f->parent == IR_NONE || out->s.n >= sizeof ref)
            return 0;
        memcpy(ref, out->s.s, out->s.n);
        ref[out->s.n] = '\0';
        name = ref;
        s = (struct step){f->node, f->parent};
    }
}

int64_t walk_attr_int(const struct walk *w, struct step s, const char *name, int64_t otherwise)
{
    struct ir_attr a;
    return walk_attr(w, s, name, &a) == 1 && a.kind == IR_ATTR_INT ? a.i : otherwise;
}

struct use walk_back(const struct walk *w, struct use u, bool (*through)(struct str type))
{
    u = walk_resolve(w, u);
    for (int i = 0; i < WALK_BACK_MAX; i++) {
        struct step def = walk_def(w, u);
        if (def.node == IR_NONE || !through(ir_node_op(w->m, &w->m->nodes[def.node])->type))
            break;
        u = walk_resolve(w, walk_input(w, def, 0));
    }
    return u;
}

int walk_makers(const struct walk *w, uint32_t **of_slot)
{
    *of_slot = NULL;
    if (!w->steps)
        return 0;
    uint32_t *of = malloc(((size_t)w->n_slots + 1) * sizeof *of);
    if (!of)
        return IR_EMEM;
    memset(of, 0xff, (size_t)w->n_slots * sizeof *of);
    for (uint32_t i = 0; i < w->n_steps; i++)
        for (uint32_t j = 0; j < ir_node_n_out(&w->m->nodes[walk_step(w, i).node]); j++) {
            struct use u = walk_output(w, walk_step(w, i), j);
            if (u.value != IR_NONE)
                of[walk_slot(w, u)] = i;
        }
    *of_slot = of;
    return 0;
}
