/* Graphs, and the program that they belong to. */
#include "schema/pt2_reader.h"

/* ---- graphs ---- */

int pt2_new_graph(uint32_t *out, struct pt2_reader *r, struct ir_graph g)
{
    struct ir_model *m = r->m;
    *out = IR_NONE;
    int rc = pt2_room(r, &m->graphs, &r->cap_graphs, (size_t)m->n_graphs + 1, sizeof *m->graphs);
    if (rc != 0)
        return rc;
    g.n_segs = 1;
    if (!(g.segs = arena_alloc(&m->arena, 1, sizeof *g.segs)))
        return pt2_no_memory(r);
    g.segs[0] = r->program;
    *out = m->n_graphs;
    m->graphs[m->n_graphs++] = g;
    return 0;
}

static int push_id(struct pt2_reader *r, uint32_t value)
{
    int rc = pt2_room(r, &r->ids, &r->cap_ids, (size_t)r->n_ids + 1, sizeof *r->ids);
    if (rc == 0)
        r->ids[r->n_ids++] = value;
    return rc;
}

/* The ids pushed so far become a list of the graph's. */
static int take_ids(struct pt2_reader *r, uint32_t **list, uint32_t *n)
{
    *list = arena_alloc(&r->m->arena, r->n_ids, sizeof **list);
    if (!*list)
        return pt2_no_memory(r);
    if (r->n_ids)
        memcpy(*list, r->ids, r->n_ids * sizeof **list);
    *n = r->n_ids;
    r->n_ids = 0;
    return 0;
}

/* The name of a graph input or output that is a tensor, NAME_NONE for another kind. */
static uint32_t graph_tensor(struct pt2_reader *r, uint32_t token, const char *what, int *rc)
{
    uint32_t kind;
    if ((*rc = pt2_union(&kind, r, token, what)) != 0 || !str_is(json_raw(r->json, kind), "as_tensor"))
        return NAME_NONE;
    return pt2_tensor_name(r, kind + 1, rc);
}

/* An input: `arg` is what it gets, NULL in a main graph. */
static int read_graph_input(struct pt2_reader *r, uint32_t token, const struct pt2_arg *arg)
{
    int rc;
    uint32_t name = graph_tensor(r, token, "inputs", &rc), value;
    if (rc != 0 || name == NAME_NONE)
        return rc;
    if (arg && arg->same)
        return pt2_bind(r, token, name, arg->value);
    if (r->m->graphs[r->graph].kind == IR_GRAPH_MAIN && (rc = pt2_param(r, token, name)) != 0)
        return rc < 0 ? rc : 0;
    struct ir_value v = {.kind = IR_VALUE_INPUT, .def = r->n_ids};
    if ((rc = pt2_value_new(&value, r, token, name, v)) != 0)
        return rc;
    r->m->layouts[value].from = arg ? arg->value : IR_NONE;
    return push_id(r, value);
}

static int read_graph_inputs(struct pt2_reader *r, uint32_t graph, const struct pt2_body *body)
{
    uint32_t list, i = 0;
    int rc = pt2_need(&list, r, graph, "inputs", JSON_KIND_ARRAY);
    if (rc != 0)
        return rc;
    uint32_t n_args = body && body->n_args >= json_count(r->json, list) ? body->n_args : 0;
    r->m->graphs[r->graph].first_param = r->m->n_params;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE;
         t = json_next(r->json, list, t), i++)
        rc = read_graph_input(r, t, i < n_args ? &r->args[body->first_arg + i] : NULL);
    if (rc == 0 && !body)
        rc = pt2_weights(r);
    struct ir_graph *g = &r->m->graphs[r->graph];
    g->n_params = r->m->n_params - g->first_param;
    return rc != 0 ? rc : take_ids(r, &g->inputs, &g->n_inputs);
}

static int read_graph_outputs(struct pt2_reader *r, uint32_t graph)
{
    uint32_t list;
    int rc = pt2_need(&list, r, graph, "outputs", JSON_KIND_ARRAY);
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE; t = json_next(r->json, list, t)) {
        uint32_t name = graph_tensor(r, t, "outputs", &rc);
        if (rc != 0 || name == NAME_NONE)
            continue;
        uint32_t value = pt2_lookup(r, name);
        rc = value == IR_NONE ? pt2_fail(r, t, "output \"%.*s\" is defined nowhere",
                                         STR_ARG(names_text(&r->m->names, name)))
                              : push_id(r, value);
    }
    struct ir_graph *g = &r->m->graphs[r->graph];
    return rc != 0 ? rc : take_ids(r, &g->outputs, &g->n_outputs);
}

static int read_graph(struct pt2_reader *r, uint32_t id, uint32_t token, const struct pt2_body *body)
{
    struct ir_model *m = r->m;
    uint32_t metas, nodes;
    int rc;
    r->graph = id;
    r->node = IR_NONE;
    m->graphs[id].first_node = m->n_nodes;
    if ((rc = pt2_need(&metas, r, token, "tensor_values", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_metas_read(r, metas)) != 0 || (rc = read_graph_inputs(r, token, body)) != 0 ||
        (rc = pt2_need(&nodes, r, token, "nodes", JSON_KIND_ARRAY)) != 0)
        return rc;
    for (uint32_t t = json_first(r->json, nodes); rc == 0 && t != JSON_NONE; t = json_next(r->json, nodes, t))
        rc = pt2_node_read(r, t);
    r->node = IR_NONE;
    m->graphs[id].n_nodes = m->n_nodes - m->graphs[id].first_node;
    return rc != 0 ? rc : read_graph_outputs(r, token);
}

/* ---- the program ---- */

/* A module; its second call is listed as "name@1". */
static int read_module(struct pt2_reader *r, uint32_t entry)
{
    struct ir_model *m = r->m;
    uint32_t token;
    struct str fqn;
    int rc;
    if ((rc = pt2_expect(r, entry, JSON_KIND_OBJECT, "module_call_graph")) != 0 ||
        (rc = pt2_need(&token, r, entry, "fqn", JSON_KIND_STRING)) != 0 ||
        (rc = pt2_string(&fqn, r, token, "fqn")) != 0)
        return rc;
    if (fqn.n == 0 || str_chr(fqn, '@') >= 0)
        return 0;
    uint32_t id = names_intern(&r->fqn_index, fqn);
    if (id == NAME_NONE)
        return pt2_no_memory(r);
    if (id < m->n_modules)
        return 0;
    rc = pt2_room(r, &m->modules, &r->cap_modules, (size_t)m->n_modules + 1, sizeof *m->modules);
    if (rc == 0)
        m->modules[m->n_modules++] = fqn;
    return rc;
}

static int read_modules(struct pt2_reader *r, uint32_t graph_module)
{
    uint32_t list = json_get(r->json, graph_module, "module_call_graph");
    if (list == JSON_NONE)
        return 0;
    int rc = pt2_expect(r, list, JSON_KIND_ARRAY, "module_call_graph");
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE; t = json_next(r->json, list, t))
        rc = read_module(r, t);
    return rc;
}

static int read_metadata(struct pt2_reader *r, struct pt2_program *prog, uint32_t graph_module)
{
    uint32_t metadata = json_get(r->json, graph_module, "metadata");
    if (metadata == JSON_NONE)
        return 0;
    int rc = pt2_expect(r, metadata, JSON_KIND_OBJECT, "graph_module.metadata");
    prog->meta = json_raw(r->json, metadata);
    return rc == 0 && r->program == 0 ? pt2_custom_read(r, metadata, false) : rc;
}

/* Where the model has no metadata its tags stand at the first node. */
static int read_first_node(struct pt2_reader *r, const struct pt2_program *prog, uint32_t graph)
{
    uint32_t nodes = json_get(r->json, graph, "nodes"), first = json_first(r->json, nodes);
    if (prog->meta.n || r->program != 0 || first == JSON_NONE)
        return 0;
    return pt2_custom_read(r, json_get(r->json, first, "metadata"), true);
}

int pt2_program_read(struct pt2_reader *r, uint32_t program)
{
    uint32_t gm, graph, signature, id;
    struct pt2_program *prog = &r->pt2.programs[program];
    int rc;
    if ((rc = pt2_need(&gm, r, 0, "graph_module", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_need(&graph, r, gm, "graph", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_need(&signature, r, gm, "signature", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_specs_read(r, signature)) != 0 || (rc = read_modules(r, gm)) != 0 ||
        (rc = read_metadata(r, prog, gm)) != 0)
        return rc;
    struct ir_graph main_graph = {.kind = IR_GRAPH_MAIN,
                                  .name = prog->name,
                                  .parent_node = IR_NONE,
                                  .next_body = IR_NONE,
                                  .op = IR_NONE};
    if ((rc = pt2_new_graph(&id, r, main_graph)) != 0)
        return rc;
    prog->graph = id;
    r->n_bodies = r->n_args = 0;
    rc = read_graph(r, id, graph, NULL);
    for (uint32_t i = 0; rc == 0 && i < r->n_bodies; i++) {
        struct pt2_body body = r->bodies[i]; /* the list moves as it grows */
        rc = read_graph(r, body.graph, body.token, &body);
    }
    return rc != 0 ? rc : read_first_node(r, prog, graph);
}
