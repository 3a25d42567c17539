/* Execution order: the file's where it is topological, else Kahn's algorithm. */
#include "ir/ir.h"

#include <stdlib.h>

struct order {
    const struct ir_model *m;
    uint32_t graph, first, n;

    uint32_t *todo; /* nested graphs still to be searched for uses */
    uint32_t n_todo;
    size_t cap_todo;

    uint32_t *start; /* users of node i: edges[start[i]] .. edges[start[i + 1]] */
    uint32_t *edges;
    uint32_t *missing; /* dependencies not yet placed, per node */
    uint32_t *heap, n_heap;
};

/* ---- what a node uses of its graph: its own operands, and those of all that is nested in it */

typedef int (*use_fn)(struct order *o, uint32_t user, uint32_t def);

static int use(struct order *o, uint32_t user, uint32_t value, use_fn fn)
{
    const struct ir_value *v = value == IR_NONE ? NULL : &o->m->values[value];
    if (!v || v->graph != o->graph || v->kind != IR_VALUE_NODE)
        return 0;
    return fn(o, user, v->def - o->first);
}

static int add_bodies(struct order *o, const struct ir_node *n)
{
    for (uint32_t b = ir_node_body(o->m, n); b != IR_NONE; b = o->m->graphs[b].next_body) {
        if (grow(&o->todo, &o->cap_todo, (size_t)o->n_todo + 1, sizeof *o->todo) != 0)
            return IR_EMEM;
        o->todo[o->n_todo++] = b;
    }
    return 0;
}

static int node_uses(struct order *o, uint32_t user, const struct ir_node *n, use_fn fn)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < ir_node_n_in(n); i++)
        rc = use(o, user, o->m->operands[n->operands + i], fn);
    return rc ? rc : add_bodies(o, n);
}

static int all_uses(struct order *o, uint32_t user, use_fn fn)
{
    const struct ir_model *m = o->m;
    o->n_todo = 0;
    int rc = node_uses(o, user, &m->nodes[o->first + user], fn);
    while (rc == 0 && o->n_todo) {
        const struct ir_graph *g = &m->graphs[o->todo[--o->n_todo]];
        for (uint32_t n = g->first_node; rc == 0 && n < g->first_node + g->n_nodes; n++)
            rc = node_uses(o, user, &m->nodes[n], fn);
        for (uint32_t i = 0; rc == 0 && i < g->n_outputs; i++)
            rc = use(o, user, g->outputs[i], fn);
    }
    return rc;
}

static int for_all(struct order *o, use_fn fn)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < o->n; i++)
        rc = all_uses(o, i, fn);
    return rc;
}

/* ---- in order as it stands? */

static int is_later(struct order *o, uint32_t user, uint32_t def)
{
    (void)o;
    return def >= user;
}

/* Does the i-th node read what it or a later one makes? */
static bool reads_later(const struct order *o, uint32_t i)
{
    const struct ir_model *m = o->m;
    const struct ir_node *n = &m->nodes[o->first + i];
    for (uint32_t j = n->operands; j < n->outputs; j++) {
        const struct ir_value *v = m->operands[j] == IR_NONE ? NULL : &m->values[m->operands[j]];
        if (v && v->kind == IR_VALUE_NODE && v->graph == o->graph && v->def >= o->first + i)
            return true;
    }
    return false;
}

static int in_order(struct order *o, bool *yes)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < o->n; i++)
        rc = o->m->nodes[o->first + i].has_body ? all_uses(o, i, is_later) : reads_later(o, i);
    *yes = rc == 0;
    return rc == 1 ? 0 : rc;
}

static struct order of_graph(const struct ir_model *m, uint32_t graph)
{
    const struct ir_graph *g = &m->graphs[graph];
    return (struct order){.m = m, .graph = graph, .first = g->first_node, .n = g->n_nodes};
}

int ir_in_order(const struct ir_model *m, uint32_t graph, bool *yes, struct diag *d)
{
    struct order o = of_graph(m, graph);
    int rc = in_order(&o, yes);
    free(o.todo);
    return rc ? diag_nomem(d) : 0;
}

/* ---- Kahn's algorithm over a heap of node numbers */

static int count(struct order *o, uint32_t user, uint32_t def)
{
    if (o->start[def + 1] == UINT32_MAX)
        return IR_EMEM;
    o->start[def + 1]++;
    o->missing[user]++;
    return 0;
}

static int connect(struct order *o, uint32_t user, uint32_t def)
{
    o->edges[--o->start[def + 1]] = user;
    return 0;
}

static int build(struct order *o)
{
    o->start = calloc((size_t)o->n + 2, sizeof *o->start);
    o->missing = calloc((size_t)o->n + 1, sizeof *o->missing);
    o->heap = calloc((size_t)o->n + 1, sizeof *o->heap);
    if (!o->start || !o->missing || !o->heap)
        return IR_EMEM;
    int rc = for_all(o, count);
    if (rc)
        return rc;
    for (uint32_t i = 0; i <= o->n; i++)
        if (__builtin_add_overflow(o->start[i + 1], o->start[i], &o->start[i + 1]))
            return IR_EMEM;
    uint32_t total = o->start[o->n + 1];
    o->edges = calloc((size_t)total + 1, sizeof *o->edges);
    if (!o->edges)
        return IR_EMEM;
    /* connect() counts each end down to its start: afterwards start[i + 1] is where node i's users begin. */
    return for_all(o, connect);
}

static uint32_t users_of(const struct order *o, uint32_t i, const uint32_t **users)
{
    uint32_t end = o->start[i + 2];
    *users = o->edges + o->start[i + 1];
    return end - o->start[i + 1];
}

static void push(struct order *o, uint32_t node)
{
    uint32_t i = o->n_heap++;
    while (i && o->heap[(i - 1) / 2] > node) {
        o->heap[i] = o->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    o->heap[i] = node;
}

static uint32_t pop(struct order *o)
{
    uint32_t top = o->heap[0], last = o->heap[--o->n_heap], i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= o->n_heap)
            break;
        if (child + 1 < o->n_heap && o->heap[child + 1] < o->heap[child])
            child++;
        if (o->heap[child] >= last)
            break;
        o->heap[i] = o->heap[child];
        i = child;
    }
    o->heap[i] = last;
    return top;
}

/* Places what can be placed; how many that were. */
static uint32_t place(struct order *o, uint32_t *out)
{
    uint32_t placed = 0;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->missing[i] == 0)
            push(o, i);
    while (o->n_heap) {
        uint32_t i = pop(o);
        const uint32_t *users;
        uint32_t n = users_of(o, i, &users);
        out[placed++] = o->first + i;
        for (uint32_t u = 0; u < n; u++)
            if (--o->missing[users[u]] == 0)
                push(o, users[u]);
    }
    return placed;
}

/* ---- cycles */

/* Every node left waits for another that is left: whoever follows these backwards comes to a cycle. Here the
 * heap, which is empty, keeps for each node left one that it waits for. */
static uint32_t on_cycle(struct order *o)
{
    uint32_t some = IR_NONE;
    for (uint32_t i = 0; i < o->n; i++) {
        const uint32_t *users;
        uint32_t n = o->missing[i] ? users_of(o, i, &users) : 0;
        for (uint32_t u = 0; u < n; u++)
            o->heap[users[u]] = i;
        if (o->missing[i])
            some = i;
    }
    for (uint32_t step = 0; step < o->n; step++)
        some = o->heap[some];
    return some;
}

static int cycle(struct order *o, struct diag *d)
{
    uint32_t i = on_cycle(o);
    const struct ir_node *n = &o->m->nodes[o->first + i];
    const struct ir_op *op = ir_node_op(o->m, n);
    return diag_error_at(d, IR_EINPUT, NULL, NULL, n->off,
                         "expected a graph without cycles but found node %u '%.*s' (%.*s) on one", i,
                         STR_ARG(ir_node_name(o->m, n)), STR_ARG(op->type));
}

static int sort(struct order *o, uint32_t *out, struct diag *d)
{
    int rc = build(o);
    if (rc)
        return rc;
    return place(o, out) == o->n ? 0 : cycle(o, d);
}

int ir_order(struct ir_model *m, uint32_t graph, uint32_t *order, bool *sorted, struct diag *d)
{
    struct order o = of_graph(m, graph);
    for (uint32_t i = 0; i < o.n; i++)
        order[i] = o.first + i;
    int rc = in_order(&o, sorted);
    if (!rc && !*sorted)
        rc = sort(&o, order, d);
    if (rc == IR_EMEM)
        diag_nomem(d);
    free(o.todo);
    free(o.start);
    free(o.edges);
    free(o.missing);
    free(o.heap);
    return rc;
}
