/* Operands' names → values.
 *
 * A name table with one binding per name, and the tree of graphs walked depth first: entering a graph binds
 * its definitions, leaving it takes them back; what they shadowed is kept in a list. Each definition
 * and each use is touched once, however deep or broad the graphs are nested. Graphs nested directly in one
 * graph are neighbours in m->graphs, so the walk needs no stack: the way back is the parent node. */
#include "schema/onnx_reader.h"

/* Notes what a name means until the graph that is entered is left again. */
static int shadow(struct onnx_reader *r, uint32_t name, uint32_t value)
{
    int rc = onnx_room(r, &r->shadowed, &r->cap_shadowed, (size_t)r->n_shadowed + 1, sizeof *r->shadowed);
    if (rc == 0)
        r->shadowed[r->n_shadowed++] = (struct onnx_shadowed){name, value};
    return rc;
}

static int bind_all(struct onnx_reader *r, uint32_t graph)
{
    const struct onnx_graph *g = &r->graphs[graph];
    for (uint32_t v = g->first_value; v < g->first_value + g->n_values; v++) {
        uint32_t name = r->m->values[v].name;
        if (names_text(&r->m->names, name).n == 0)
            continue;
        int rc = r->bind[name] == IR_NONE ? 0 : shadow(r, name, r->bind[name]);
        if (rc)
            return rc;
        r->bind[name] = v;
    }
    return 0;
}

static void unbind_all(struct onnx_reader *r, uint32_t graph)
{
    const struct onnx_graph *g = &r->graphs[graph];
    for (uint32_t v = g->first_value; v < g->first_value + g->n_values; v++)
        r->bind[r->m->values[v].name] = IR_NONE;
    while (r->n_shadowed > g->shadowed) {
        struct onnx_shadowed s = r->shadowed[--r->n_shadowed];
        r->bind[s.name] = s.value;
    }
}

/* Replaces a name id by the value it means; a name that nothing defines gets a value of its own. */
static int resolve(struct onnx_reader *r, uint32_t graph, uint32_t *ref)
{
    uint32_t name = *ref;
    if (name == IR_NONE)
        return 0;
    if (r->bind[name] == IR_NONE) {
        uint32_t v;
        int rc = onnx_new_value(
            r, &v,
            (struct ir_value){.name = name, .graph = graph, .def = IR_NONE, .kind = IR_VALUE_UNDEFINED});
        if (rc == 0)
            rc = shadow(r, name, IR_NONE);
        if (rc)
            return rc;
        r->bind[name] = v;
    }
    *ref = r->bind[name];
    return 0;
}

static int enter(struct onnx_reader *r, uint32_t graph)
{
    struct ir_model *m = r->m;
    const struct ir_graph *g = &m->graphs[graph];
    r->graphs[graph].shadowed = r->n_shadowed;
    int rc = bind_all(r, graph);
    for (uint32_t n = g->first_node; rc == 0 && n < g->first_node + g->n_nodes; n++) {
        const struct ir_node *node = &m->nodes[n];
        for (uint32_t i = 0; rc == 0 && i < ir_node_n_in(node); i++)
            rc = resolve(r, graph, &m->operands[node->operands + i]);
    }
    for (uint32_t i = 0; rc == 0 && i < g->n_outputs; i++)
        rc = resolve(r, graph, &g->outputs[i]);
    return rc;
}

/* One main graph or function with everything nested in it. */
static int resolve_tree(struct onnx_reader *r, uint32_t root)
{
    uint32_t graph = root;
    int rc = enter(r, graph);
    while (rc == 0) {
        struct onnx_graph *g = &r->graphs[graph];
        if (g->next_child < g->n_children) {
            graph = g->first_child + g->next_child++;
            rc = enter(r, graph);
            continue;
        }
        unbind_all(r, graph);
        if (graph == root)
            return 0;
        graph = r->m->graphs[graph].parent;
    }
    return rc;
}

int onnx_resolve(struct onnx_reader *r)
{
    r->graph = r->node = IR_NONE;
    for (uint32_t i = 0; i < r->n_bind; i++)
        r->bind[i] = IR_NONE;
    int rc = 0;
    for (uint32_t g = 0; rc == 0 && g <= r->n_functions; g++)
        rc = resolve_tree(r, g);
    return rc;
}
