/* What must hold of a graph. Readers make graphs that pass, or refuse; a pass that breaks one is found here.
 * Two things depend on the file alone: operands that nothing defines, and names that are defined twice. */
#include "ir/bits.h"
#include "ir/ir.h"

#include <stdlib.h>

struct verify {
    const struct ir_model *m;
    struct diag *d;
};

static struct str name_of(const struct ir_model *m, uint32_t value)
{
    uint32_t name = m->values[value].name;
    return name < m->names.n ? names_text(&m->names, name) : (struct str){0};
}

static int bad_graph(const struct verify *k, uint32_t graph, const char *what, uint32_t expected,
                     uint32_t found)
{
    return diag_error(k->d, IR_EINPUT, "graph %u: %s: expected %u but found %u", graph, what, expected,
                      found);
}

static int bad_node(const struct verify *k, uint32_t node, const char *expected, const char *found)
{
    const struct ir_node *n = &k->m->nodes[node];
    return diag_error_at(k->d, IR_EINPUT, NULL, NULL, n->off, "node %u '%.*s': expected %s but found %s",
                         node, STR_ARG(ir_node_name(k->m, n)), expected, found);
}

/* ---- graphs */

static bool holds(const struct ir_graph *g, uint32_t node)
{
    return node >= g->first_node && node - g->first_node < g->n_nodes;
}

/* Nodes stand in the order of graphs, and each belongs to one. */
static int check_nodes(const struct verify *k, uint32_t graph)
{
    const struct ir_model *m = k->m;
    const struct ir_graph *g = &m->graphs[graph];
    uint32_t first = graph ? g[-1].first_node + g[-1].n_nodes : 0;
    if (g->first_node > m->n_nodes || g->n_nodes > m->n_nodes - g->first_node)
        return bad_graph(k, graph, "nodes up to", m->n_nodes, g->first_node);
    if (g->first_node != first)
        return bad_graph(k, graph, "first node", first, g->first_node);
    if (graph == m->n_graphs - 1 && g->first_node + g->n_nodes != m->n_nodes)
        return bad_graph(k, graph, "nodes up to", m->n_nodes, g->first_node + g->n_nodes);
    return 0;
}

static int check_parent(const struct verify *k, uint32_t graph)
{
    const struct ir_model *m = k->m;
    const struct ir_graph *g = &m->graphs[graph];
    if (g->kind != IR_GRAPH_BODY)
        return g->depth ? bad_graph(k, graph, "depth", 0, g->depth) : 0;
    if (g->parent_node >= m->n_nodes)
        return bad_graph(k, graph, "parent node below", m->n_nodes, g->parent_node);
    uint32_t outer = g->parent;
    if (outer >= graph)
        return bad_graph(k, graph, "graph of the parent node below", graph, outer);
    if (!holds(&m->graphs[outer], g->parent_node))
        return bad_graph(k, graph, "graph of the parent node", ir_node_graph(m, g->parent_node), outer);
    if (g->depth != m->graphs[outer].depth + 1) /* so parents form no cycle */
        return bad_graph(k, graph, "depth", m->graphs[outer].depth + 1, g->depth);
    return 0;
}

static int check_graph(const struct verify *k, uint32_t graph)
{
    const struct ir_model *m = k->m;
    const struct ir_graph *g = &m->graphs[graph];
    int rc = check_nodes(k, graph);
    if (rc)
        return rc;
    if (g->first_param > m->n_params || g->n_params > m->n_params - g->first_param)
        return bad_graph(k, graph, "parameters up to", m->n_params, g->first_param);
    bool several = m->format == IR_PT2 && g->kind == IR_GRAPH_MAIN; /* programs of one archive */
    if ((g->kind == IR_GRAPH_MAIN) != (graph == 0) && !several)
        return bad_graph(k, graph, "kind", IR_GRAPH_MAIN, g->kind);
    if (g->kind == IR_GRAPH_FUNCTION && (g->op >= m->n_ops || m->ops[g->op].function != graph))
        return bad_graph(k, graph, "operator below", m->n_ops, g->op);
    if (m->n_segs && g->n_nodes && !g->n_segs)
        return bad_graph(k, graph, "segments from", 1, 0);
    for (uint32_t i = 0; i < g->n_segs; i++)
        if (g->segs[i] >= m->n_segs)
            return bad_graph(k, graph, "segments below", m->n_segs, g->segs[i]);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] >= m->n_values)
            return bad_graph(k, graph, "inputs below", m->n_values, g->inputs[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] != IR_NONE && g->outputs[i] >= m->n_values)
            return bad_graph(k, graph, "outputs below", m->n_values, g->outputs[i]);
    return check_parent(k, graph);
}

/* The bodies of one node. */
static int check_list(const struct verify *k, const struct ir_body *first, uint32_t bodies, uint32_t *entries)
{
    const struct ir_model *m = k->m;
    if (first->node >= m->n_nodes || !m->nodes[first->node].has_body)
        return bad_graph(k, first->graph, "node with bodies below", m->n_nodes, first->node);
    for (uint32_t b = first->graph; b != IR_NONE; b = m->graphs[b].next_body) {
        if (b >= m->n_graphs || m->graphs[b].kind != IR_GRAPH_BODY ||
            m->graphs[b].parent_node != first->node || *entries == bodies)
            return bad_node(k, first->node, "its own bodies in its list", "others");
        ++*entries;
    }
    return 0;
}

/* Each body is in exactly the list of its parent: as many list entries as there are bodies, all of them
 * right. */
static int check_bodies(const struct verify *k)
{
    const struct ir_model *m = k->m;
    uint32_t bodies = 0, entries = 0, parents = 0;
    int rc = 0;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        bodies += m->graphs[g].kind == IR_GRAPH_BODY;
    for (uint32_t n = 0; n < m->n_nodes; n++)
        parents += m->nodes[n].has_body;
    for (uint32_t i = 0; rc == 0 && i < m->n_bodies; i++) {
        if (i && m->bodies[i].node <= m->bodies[i - 1].node)
            return bad_graph(k, m->bodies[i].graph, "node with bodies after", m->bodies[i - 1].node,
                             m->bodies[i].node);
        rc = check_list(k, &m->bodies[i], bodies, &entries);
    }
    if (rc == 0 && entries != bodies)
        rc = bad_graph(k, 0, "bodies in nodes' lists", bodies, entries);
    if (rc == 0 && parents != m->n_bodies)
        rc = bad_graph(k, 0, "nodes with bodies", m->n_bodies, parents);
    return rc;
}

/* ---- values */

static int bad_value(const struct verify *k, uint32_t value, const char *what, uint32_t limit, uint32_t found)
{
    return diag_error(k->d, IR_EINPUT, "value %u '%.*s': %s: expected %u but found %u", value,
                      STR_ARG(name_of(k->m, value)), what, limit, found);
}

static int check_def(const struct verify *k, uint32_t value)
{
    const struct ir_model *m = k->m;
    const struct ir_value *v = &m->values[value];
    switch ((enum ir_value_kind)v->kind) {
    case IR_VALUE_UNDEFINED:
        return 0; /* reported where it is used */
    case IR_VALUE_INPUT:
        if (v->def >= m->graphs[v->graph].n_inputs)
            return bad_value(k, value, "input position below", m->graphs[v->graph].n_inputs, v->def);
        return 0;
    case IR_VALUE_PARAM:
        if (v->def >= m->n_params)
            return bad_value(k, value, "parameter below", m->n_params, v->def);
        if (m->params[v->def].value != value)
            return bad_value(k, value, "value of its parameter", value, m->params[v->def].value);
        return 0;
    case IR_VALUE_NODE:
        if (v->def >= m->n_nodes)
            return bad_value(k, value, "node below", m->n_nodes, v->def);
        if (!holds(&m->graphs[v->graph], v->def))
            return bad_value(k, value, "graph of its node", v->graph, ir_node_graph(m, v->def));
        if (v->out >= ir_node_n_out(&m->nodes[v->def]))
            return bad_value(k, value, "output position below", ir_node_n_out(&m->nodes[v->def]), v->out);
        return 0;
    }
    return bad_value(k, value, "kind up to", IR_VALUE_PARAM, v->kind);
}

static int check_value(const struct verify *k, uint32_t value)
{
    const struct ir_model *m = k->m;
    const struct ir_value *v = &m->values[value];
    if (v->name >= m->names.n)
        return bad_value(k, value, "name below", m->names.n, v->name);
    if (v->graph >= m->n_graphs)
        return bad_value(k, value, "graph below", m->n_graphs, v->graph);
    if (v->shape >= m->n_shapes)
        return bad_value(k, value, "shape below", m->n_shapes, v->shape);
    return check_def(k, value);
}

/* ---- nodes */

static bool visible(const struct ir_model *m, uint32_t value, uint32_t graph)
{
    uint32_t defined = m->values[value].graph;
    while (graph != defined) {
        if (m->graphs[graph].kind != IR_GRAPH_BODY || m->graphs[graph].depth <= m->graphs[defined].depth)
            return false;
        graph = m->graphs[graph].parent;
    }
    return true;
}

static int undefined(const struct verify *k, const char *user, struct str user_name, uint64_t offset,
                     uint32_t value)
{
    return diag_error_at(k->d, IR_EINPUT, NULL, NULL, offset,
                         "%s '%.*s': expected a definition of '%.*s' but found none", user,
                         STR_ARG(user_name), STR_ARG(name_of(k->m, value)));
}

static int check_use(const struct verify *k, uint32_t node, uint32_t graph, uint32_t value)
{
    const struct ir_model *m = k->m;
    const struct ir_node *n = &m->nodes[node];
    if (value >= m->n_values)
        return bad_node(k, node, "operands that are values", "a number out of range");
    if (m->values[value].kind == IR_VALUE_UNDEFINED)
        return undefined(k, "node", ir_node_name(m, n), n->off, value);
    if (m->values[value].graph == graph || visible(m, value, graph))
        return 0;
    return bad_node(k, node, "operands in scope", "one of another graph");
}

static int check_result(const struct verify *k, uint32_t node, uint32_t i, uint32_t value)
{
    const struct ir_model *m = k->m;
    if (value >= m->n_values)
        return bad_node(k, node, "outputs that are values", "a number out of range");
    const struct ir_value *v = &m->values[value];
    uint32_t out = i < UINT16_MAX ? i : UINT16_MAX;
    bool ours = v->kind == IR_VALUE_NODE && v->def == node && v->out == out;
    return ours ? 0 : bad_node(k, node, "outputs that it defines", "another's");
}

static bool inside(uint64_t off, uint64_t len, struct ir_span seg)
{
    return off >= seg.off && off - seg.off <= seg.len && len <= seg.len - (off - seg.off);
}

static int check_node(const struct verify *k, uint32_t node, uint32_t graph)
{
    const struct ir_model *m = k->m;
    const struct ir_node *n = &m->nodes[node];
    uint32_t end = n[1].operands;
    if (n->op >= m->n_ops || n->operands > n->outputs || n->outputs > end || end > m->n_operands)
        return bad_node(k, node, "operator and operands in range", "a number out of range");
    if (!inside(n->off, n->len, (struct ir_span){0, m->size}))
        return bad_node(k, node, "a span inside the source", "one outside");
    if (m->n_segs && !inside(n->off, n->len, m->segs[ir_node_seg(m, n)].span))
        return bad_node(k, node, "an enclosing segment", "none");
    int rc = 0;
    for (uint32_t i = n->operands; rc == 0 && i < n->outputs; i++)
        if (m->operands[i] != IR_NONE)
            rc = check_use(k, node, graph, m->operands[i]);
    for (uint32_t i = n->outputs; rc == 0 && i < end; i++)
        if (m->operands[i] != IR_NONE)
            rc = check_result(k, node, i - n->outputs, m->operands[i]);
    return rc;
}

static int check_inside(const struct verify *k, uint32_t graph)
{
    const struct ir_graph *g = &k->m->graphs[graph];
    int rc = 0;
    for (uint32_t n = g->first_node; rc == 0 && n < g->first_node + g->n_nodes; n++)
        rc = check_node(k, n, graph);
    return rc;
}

static int check_outputs(const struct verify *k, uint32_t graph)
{
    const struct ir_model *m = k->m;
    const struct ir_graph *g = &m->graphs[graph];
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t v = g->outputs[i];
        if (v == IR_NONE)
            continue;
        if (m->values[v].kind == IR_VALUE_UNDEFINED)
            return undefined(k, "output of graph", g->name, DIAG_NO_OFFSET, v);
        if (!visible(m, v, graph))
            return bad_graph(k, graph, "graph of its outputs", graph, m->values[v].graph);
    }
    return 0;
}

/* ---- segments */

static int check_segs(const struct verify *k)
{
    const struct ir_model *m = k->m;
    for (uint32_t i = 0; i < m->n_segs; i++) {
        const struct ir_seg *s = &m->segs[i];
        bool fits = inside(s->span.off, s->span.len, (struct ir_span){0, m->size});
        if (s->parent != IR_NONE)
            fits = fits && s->parent < i && inside(s->span.off, s->span.len, m->segs[s->parent].span);
        if (!fits)
            return diag_error_at(k->d, IR_EINPUT, NULL, NULL, s->span.off,
                                 "segment %u: expected it inside its parent but found it outside", i);
    }
    return 0;
}

/* ---- one definition per name and graph */

/* Values by graph: start[g] .. start[g + 1] in `order`. */
static void group(const struct ir_model *m, uint32_t *start, uint32_t *order)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        start[m->values[v].graph + 1]++;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        start[g + 1] += start[g];
    for (uint32_t v = m->n_values; v-- > 0;)
        order[--start[m->values[v].graph + 1]] = v;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        start[g] = start[g + 1];
    start[m->n_graphs] = m->n_values;
}

static int check_once(const struct verify *k, const uint32_t *start, const uint32_t *order, uint32_t *seen)
{
    const struct ir_model *m = k->m;
    for (uint32_t g = 0; g < m->n_graphs; g++) {
        for (uint32_t i = start[g]; i < start[g + 1]; i++) {
            uint32_t name = m->values[order[i]].name;
            if (names_text(&m->names, name).n == 0)
                continue;
            if (seen[name] == g + 1)
                return diag_error(k->d, IR_EINPUT, "expected one definition of '%.*s' but found two",
                                  STR_ARG(names_text(&m->names, name)));
            seen[name] = g + 1;
        }
    }
    return 0;
}

/* Has each value a name of its own, as where graphs do not use one name each? Then none is defined twice.
 * IR_EMEM. */
static int names_differ(const struct ir_model *m, bool *yes)
{
    uint8_t *seen = calloc(bits_size(m->names.n), 1);
    *yes = seen != NULL;
    for (uint32_t v = 0; *yes && v < m->n_values; v++) {
        uint32_t name = m->values[v].name;
        *yes = !bits_has(seen, name);
        bits_add(seen, name, true);
    }
    free(seen);
    return seen ? 0 : IR_EMEM;
}

static int check_each_graph(const struct verify *k)
{
    const struct ir_model *m = k->m;
    uint32_t *start = calloc((size_t)m->n_graphs + 1, sizeof *start);
    uint32_t *order = calloc((size_t)m->n_values + 1, sizeof *order);
    uint32_t *seen = calloc((size_t)m->names.n + 1, sizeof *seen);
    int rc;
    if (start && order && seen) {
        group(m, start, order);
        rc = check_once(k, start, order, seen);
    } else {
        rc = diag_nomem(k->d);
    }
    free(start);
    free(order);
    free(seen);
    return rc;
}

static int check_ssa(const struct verify *k)
{
    bool differ;
    if (names_differ(k->m, &differ) != 0)
        return diag_nomem(k->d);
    return differ ? 0 : check_each_graph(k);
}

int ir_verify(struct ir_model *m, struct diag *d)
{
    struct verify k = {m, d};
    int rc = m->n_graphs ? 0 : diag_error(d, IR_EINPUT, "expected a main graph but found none");
    for (uint32_t g = 0; rc == 0 && g < m->n_graphs; g++)
        rc = check_graph(&k, g);
    if (rc == 0)
        rc = check_segs(&k);
    if (rc == 0)
        rc = check_bodies(&k);
    for (uint32_t v = 0; rc == 0 && v < m->n_values; v++)
        rc = check_value(&k, v);
    for (uint32_t g = 0; rc == 0 && g < m->n_graphs; g++)
        rc = check_inside(&k, g);
    for (uint32_t g = 0; rc == 0 && g < m->n_graphs; g++)
        rc = check_outputs(&k, g);
    return rc ? rc : check_ssa(&k);
}
