#include "ir/ir.h"

#include <stdio.h>
#include <stdlib.h>

void ir_model_init(struct ir_model *m, struct diag *d, size_t memory_limit)
{
    *m = (struct ir_model){.diag = d};
    arena_init(&m->arena, memory_limit);
    names_init(&m->names);
    names_init(&m->shape_index);
    if (grow(&m->shapes, &m->cap_shapes, 1, sizeof *m->shapes) == 0) {
        m->shapes[IR_SHAPE_UNKNOWN] = (struct ir_shape){0};
        m->n_shapes = 1;
    }
}

void ir_model_free(struct ir_model *m)
{
    if (m->free_reader)
        m->free_reader(m);
    names_free(&m->names);
    names_free(&m->shape_index);
    free(m->shapes);
    free(m->far_names);
    free(m->bodies);
    arena_free(&m->arena);
    *m = (struct ir_model){0};
}

uint32_t ir_shape_intern(struct ir_model *m, uint32_t rank, const int64_t *dims)
{
    if (rank > IR_RANK_MAX)
        return IR_SHAPE_UNKNOWN;
    if (!m->shapes)
        return IR_NONE;
    size_t bytes = rank * sizeof *dims;
    /* Dims are looked up as the bytes they are; a name's id and its shape's differ by the unknown one. */
    uint32_t id = names_find(&m->shape_index, (struct str){(const char *)dims, bytes});
    if (id != NAME_NONE)
        return id + 1;
    int64_t *copy = arena_alloc(&m->arena, rank, sizeof *dims);
    if (!copy || grow(&m->shapes, &m->cap_shapes, (size_t)m->n_shapes + 1, sizeof *m->shapes) != 0) {
        m->arena.failed = true;
        return IR_NONE;
    }
    if (rank)
        memcpy(copy, dims, bytes);
    id = names_intern(&m->shape_index, (struct str){(const char *)copy, bytes});
    if (id == NAME_NONE) {
        m->arena.failed = true;
        return IR_NONE;
    }
    m->shapes[m->n_shapes++] = (struct ir_shape){rank, copy};
    return id + 1;
}

/* ---- nodes */

/* Few nodes have what stands apart, in lists by node: each element begins with the node's number. Room for
 * one more element. */
static int room_apart(struct ir_model *m, void *list_ptr, size_t *cap, uint32_t n, size_t size)
{
    size_t before = *cap;
    if (grow(list_ptr, cap, (size_t)n + 1, size) != 0)
        return -1;
    return arena_charge(&m->arena, (*cap - before) * size);
}

/* The element of a node, or NULL. */
static const void *find_apart(const void *list, uint32_t n, size_t size, uint32_t node)
{
    const char *at = list;
    uint32_t of;
    while (n) {
        const char *mid = at + n / 2 * size;
        memcpy(&of, mid, sizeof of);
        if (of == node)
            return mid;
        if (of < node)
            at = mid + size;
        n = of < node ? n - n / 2 - 1 : n / 2;
    }
    return NULL;
}

/* A node that is named again, as the last of two names counts, keeps its place in the list. */
static int add_far_name(struct ir_model *m, uint32_t node, struct str name)
{
    struct ir_far_name *last = m->n_far_names ? &m->far_names[m->n_far_names - 1] : NULL;
    if (last && last->node == node) {
        last->name = name;
        return 0;
    }
    if (room_apart(m, &m->far_names, &m->cap_far_names, m->n_far_names, sizeof *m->far_names) != 0)
        return -1;
    m->far_names[m->n_far_names++] = (struct ir_far_name){node, name};
    return 0;
}

int ir_node_set_name(struct ir_model *m, uint32_t node, struct str name)
{
    struct ir_node *n = &m->nodes[node];
    uint64_t at = name.n ? (uint64_t)((uintptr_t)name.s - (uintptr_t)(m->bytes + n->off)) : 0;
    bool near = at < IR_NAME_FAR && name.n <= UINT16_MAX && at + name.n <= n->len;
    n->name_at = near ? (uint16_t)at : IR_NAME_FAR;
    n->name_len = near ? (uint16_t)name.n : 0;
    return near ? 0 : add_far_name(m, node, name);
}

struct str ir_far_name(const struct ir_model *m, uint32_t node)
{
    const struct ir_far_name *x = find_apart(m->far_names, m->n_far_names, sizeof *x, node);
    return x ? x->name : (struct str){NULL, 0};
}

uint32_t ir_find_graph(const struct ir_model *m, uint32_t node)
{
    uint32_t lo = 0, hi = m->n_graphs; /* the last one that begins at it or before it: others are empty */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->graphs[mid].first_node <= node)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

int ir_node_set_body(struct ir_model *m, struct ir_node *n, uint32_t node, uint32_t graph)
{
    if (room_apart(m, &m->bodies, &m->cap_bodies, m->n_bodies, sizeof *m->bodies) != 0)
        return -1;
    m->bodies[m->n_bodies++] = (struct ir_body){node, graph};
    n->has_body = 1;
    return 0;
}

uint32_t ir_find_body(const struct ir_model *m, uint32_t node)
{
    const struct ir_body *x = find_apart(m->bodies, m->n_bodies, sizeof *x, node);
    return x ? x->graph : IR_NONE;
}

uint32_t ir_find_seg(const struct ir_model *m, const struct ir_node *n)
{
    const struct ir_graph *g = &m->graphs[ir_node_graph(m, (uint32_t)(n - m->nodes))];
    uint32_t lo = 0, hi = g->n_segs;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->segs[g->segs[mid]].span.off <= n->off)
            lo = mid;
        else
            hi = mid;
    }
    return hi ? g->segs[lo] : IR_NONE;
}

const struct ir_entry *ir_meta(const struct ir_model *m, const char *key)
{
    for (uint32_t i = m->n_meta; i-- > 0;)
        if (str_is(m->meta[i].key, key))
            return &m->meta[i];
    return NULL;
}

int64_t ir_opset(const struct ir_model *m, const char *domain)
{
    for (uint32_t i = 0; i < m->n_opsets; i++)
        if (str_is(m->opsets[i].domain, domain))
            return m->opsets[i].version;
    return 0;
}

/* Text that is measured first (buf NULL), then written. */
struct path {
    char *buf;
    size_t n;
};

static void put(struct path *p, const char *s, size_t n)
{
    if (p->buf && n)
        memcpy(p->buf + p->n, s, n);
    p->n += n;
}

/* A component: the separators of a path are escaped in it. */
static void put_component(struct path *p, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        const char *esc = c == '/' ? "%2F" : c == ':' ? "%3A" : c == '%' ? "%25" : NULL;
        put(p, esc ? esc : &s.s[i], esc ? 3 : 1);
    }
}

static void put_body(struct path *p, const struct ir_model *m, uint32_t graph)
{
    const struct ir_graph *g = &m->graphs[graph];
    char num[16];
    put(p, "/", 1);
    put(p, num, (size_t)snprintf(num, sizeof num, "%u:", ir_node_index(m, g->parent_node)));
    put_component(p, ir_node_op(m, &m->nodes[g->parent_node])->type);
    put(p, "/", 1);
    put_component(p, g->attr);
    if (g->attr_index)
        put(p, num, (size_t)snprintf(num, sizeof num, "[%u]", g->attr_index));
}

static void put_root(struct path *p, const struct ir_model *m, uint32_t graph)
{
    const struct ir_graph *g = &m->graphs[graph];
    if (g->kind == IR_GRAPH_MAIN && graph != 0) {
        put(p, "program:", 8);
        put_component(p, g->name);
    }
    if (g->kind != IR_GRAPH_FUNCTION)
        return;
    const struct ir_op *op = &m->ops[g->op];
    put(p, "fn:", 3);
    put_component(p, op->domain);
    put(p, ":", 1);
    put_component(p, op->type);
    if (op->overload.n) {
        put(p, ":", 1);
        put_component(p, op->overload);
    }
}

const char *ir_graph_path(struct ir_model *m, uint32_t graph)
{
    if (graph == 0)
        return "-";
    uint32_t depth = m->graphs[graph].depth;
    uint32_t *chain = arena_alloc(&m->arena, (size_t)depth + 1, sizeof *chain);
    if (!chain)
        return NULL;
    uint32_t n = 0, root = graph;
    while (m->graphs[root].kind == IR_GRAPH_BODY && n < depth) {
        chain[n++] = root;
        root = m->graphs[root].parent;
    }
    struct path p = {0};
    for (int pass = 0; pass < 2; pass++) {
        p.n = 0;
        put_root(&p, m, root);
        for (uint32_t i = n; i-- > 0;)
            put_body(&p, m, chain[i]);
        if (!p.buf && !(p.buf = arena_alloc(&m->arena, p.n + 1, 1)))
            return NULL;
    }
    return p.buf;
}
