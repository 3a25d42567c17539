#include "ir/ir.h"

#include "tests/unit/onnx_build.h"

/* x → MatMul(w) → If(c) with one body that uses y from outside → z; a function f. */
static void read_small(struct reading *r)
{
    struct pb body = {0}, graph = {0}, branch = {0}, fn = {0};
    add_node(&graph, "MatMul", "x,w", "y");
    add_node(&body, "Relu", "y", "b");
    add_output(&body, "b");
    branch = make_node("If", "c", "z");
    add_body(&branch, "then_branch", body);
    pb_sub(&graph, 1, branch);
    add_param(&graph, "w", 4, 8);
    add_input(&graph, "x");
    add_input(&graph, "c");
    add_output(&graph, "z");
    pb_text(&fn, 1, "f");
    pb_names(&fn, 4, "p");
    pb_names(&fn, 5, "q");
    pb_sub(&fn, 7, make_node("Relu", "p", "q"));
    struct pb m = make_model(graph);
    pb_sub(&m, 25, fn);
    read_bytes(r, m);
    cr_assert_eq(r->rc, 0, "%s", reading_message(r));
}

static void bad(struct reading *r, const char *part)
{
    cr_assert_eq(ir_verify(&r->m, &r->d), IR_EINPUT);
    cr_assert_eq(r->d.n, 1);
    cr_assert(strstr(reading_message(r), part), "expected '%s' in '%s'", part, reading_message(r));
    reading_free(r);
}

Test(verify, a_good_graph)
{
    struct reading r;
    read_small(&r);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
    reading_free(&r);
}

Test(verify, operands_must_be_defined)
{
    struct reading r;
    struct pb graph = {0};
    add_node(&graph, "MatMul", "x,nowhere", "y");
    add_input(&graph, "x");
    read_graph(&r, graph);
    bad(&r, "node 'y': expected a definition of 'nowhere' but found none");
}

Test(verify, outputs_must_be_defined)
{
    struct reading r;
    struct pb graph = {0};
    add_node(&graph, "Relu", "x", "y");
    add_input(&graph, "x");
    add_output(&graph, "nowhere");
    pb_text(&graph, 2, "g");
    read_graph(&r, graph);
    bad(&r, "output of graph 'g': expected a definition of 'nowhere' but found none");
}

Test(verify, one_definition_per_name_and_graph)
{
    struct reading r;
    read_small(&r);
    r.m.values[operand(&r, 0, 0)].name = r.m.values[operand(&r, 0, 1)].name;
    bad(&r, "expected one definition of 'w' but found two");
}

static void rename_value(uint32_t *list, uint32_t n, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < n; i++)
        list[i] = list[i] == a ? b : list[i] == b ? a : list[i];
}

/* Numbers two values the other way round. */
static void swap_values(struct ir_model *m, uint32_t a, uint32_t b)
{
    struct ir_value v = m->values[a];
    m->values[a] = m->values[b];
    m->values[b] = v;
    rename_value(m->operands, m->n_operands, a, b);
    for (uint32_t i = 0; i < m->n_params; i++)
        rename_value(&m->params[i].value, 1, a, b);
    for (uint32_t g = 0; g < m->n_graphs; g++) {
        rename_value(m->graphs[g].inputs, m->graphs[g].n_inputs, a, b);
        rename_value(m->graphs[g].outputs, m->graphs[g].n_outputs, a, b);
    }
}

Test(verify, values_of_graphs_in_any_order)
{
    struct reading r;
    read_small(&r);
    swap_values(&r.m, 0, r.m.n_values - 1);
    cr_assert_neq(r.m.values[0].graph, r.m.values[r.m.n_values - 1].graph);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
    r.m.values[operand(&r, 0, 0)].name = r.m.values[operand(&r, 0, 1)].name;
    bad(&r, "expected one definition of 'w' but found two");
}

Test(verify, numbers_in_range)
{
    struct reading r;
    read_small(&r);
    r.m.nodes[0].op = r.m.n_ops & IR_OP_MAX;
    bad(&r, "expected operator and operands in range");
    read_small(&r);
    r.m.nodes[0].outputs = UINT32_MAX;
    bad(&r, "in range");
    read_small(&r);
    r.m.nodes[0].outputs = r.m.nodes[0].operands - 1;
    bad(&r, "in range");
    read_small(&r);
    r.m.nodes[r.m.n_nodes].operands = r.m.n_operands + 1;
    bad(&r, "in range");
    read_small(&r);
    r.m.operands[r.m.nodes[0].operands] = r.m.n_values;
    bad(&r, "expected operands that are values");
    read_small(&r);
    r.m.operands[r.m.nodes[0].operands + 2] = r.m.n_values;
    bad(&r, "expected outputs that are values");
    read_small(&r);
    r.m.values[0].name = r.m.names.n;
    bad(&r, "name below");
    read_small(&r);
    r.m.values[0].graph = r.m.n_graphs;
    bad(&r, "graph below");
    read_small(&r);
    r.m.values[0].shape = r.m.n_shapes;
    bad(&r, "shape below");
    read_small(&r);
    r.m.values[0].kind = 99;
    bad(&r, "kind up to");
    read_small(&r);
    r.m.graphs[0].inputs[0] = r.m.n_values;
    bad(&r, "inputs below");
    read_small(&r);
    r.m.graphs[0].outputs[0] = r.m.n_values;
    bad(&r, "outputs below");
}

Test(verify, definitions_point_back)
{
    struct reading r;
    read_small(&r);
    r.m.params[0].value = operand(&r, 0, 0);
    bad(&r, "value of its parameter");
    read_small(&r);
    r.m.values[ir_node_output(&r.m, &r.m.nodes[0], 0)].def = 1;
    bad(&r, "expected outputs that it defines");
    read_small(&r);
    r.m.values[ir_node_output(&r.m, &r.m.nodes[0], 0)].out = 1;
    bad(&r, "output position below");
    read_small(&r);
    r.m.values[operand(&r, 0, 0)].def = 2;
    bad(&r, "input position below");
}

Test(verify, operands_must_be_in_scope)
{
    struct reading r;
    read_small(&r);
    uint32_t body_node = r.m.graphs[2].first_node, fn_node = r.m.graphs[1].first_node;
    uint32_t body_out = ir_node_output(&r.m, &r.m.nodes[body_node], 0);
    r.m.operands[r.m.nodes[1].operands] = body_out; /* the main graph looks into the body */
    bad(&r, "expected operands in scope");
    read_small(&r);
    r.m.operands[r.m.nodes[fn_node].operands] = operand(&r, 0, 0); /* a function looks into the main graph */
    bad(&r, "expected operands in scope");
    read_small(&r);
    r.m.graphs[1].outputs[0] = operand(&r, 0, 0);
    bad(&r, "graph of its outputs");
}

Test(verify, graphs_and_their_bodies)
{
    struct reading r;
    read_small(&r);
    r.m.graphs[2].depth = 7;
    bad(&r, "depth: expected 1 but found 7");
    read_small(&r);
    r.m.graphs[0].depth = 1;
    bad(&r, "depth: expected 0 but found 1");
    read_small(&r);
    r.m.graphs[2].parent_node = r.m.n_nodes;
    bad(&r, "parent node below");
    read_small(&r);
    r.m.graphs[2].parent_node = 0;
    bad(&r, "expected its own bodies in its list");
    read_small(&r);
    r.m.graphs[2].parent = 2;
    bad(&r, "graph of the parent node below: expected 2 but found 2");
    read_small(&r);
    r.m.graphs[2].parent = 1;
    bad(&r, "graph of the parent node: expected 0 but found 1");
    read_small(&r);
    r.m.n_bodies = 0;
    bad(&r, "bodies in nodes' lists: expected 1 but found 0");
    read_small(&r);
    r.m.nodes[0].has_body = 1;
    bad(&r, "nodes with bodies: expected 1 but found 2");
    read_small(&r);
    r.m.nodes[1].has_body = 0;
    bad(&r, "node with bodies below: expected 4 but found 1");
    read_small(&r);
    r.m.bodies[0].node = r.m.n_nodes;
    bad(&r, "node with bodies below: expected 4 but found 4");
    read_small(&r);
    r.m.graphs[2].next_body = 2; /* a ring */
    bad(&r, "expected its own bodies in its list");
    read_small(&r);
    r.m.graphs[0].n_nodes++;
    bad(&r, "first node: expected 3 but found 2");
    read_small(&r);
    r.m.graphs[2].n_nodes--;
    bad(&r, "nodes up to: expected 4 but found 3");
    read_small(&r);
    r.m.graphs[0].n_nodes = UINT32_MAX;
    bad(&r, "nodes up to");
    read_small(&r);
    r.m.graphs[0].n_nodes--;
    bad(&r, "first node: expected 1 but found 2");
    read_small(&r);
    r.m.graphs[0].n_params = 2;
    bad(&r, "parameters up to");
    read_small(&r);
    r.m.graphs[1].kind = IR_GRAPH_MAIN;
    bad(&r, "kind");
    read_small(&r);
    r.m.ops[r.m.graphs[1].op].function = IR_NONE;
    bad(&r, "operator below");
}

Test(verify, spans_lie_in_the_source_and_in_each_other)
{
    struct reading r;
    read_small(&r);
    r.m.nodes[0].len = r.m.size & IR_SIZE_MAX;
    bad(&r, "expected a span inside the source");
    read_small(&r);
    r.m.graphs[0].segs[0] = r.m.n_segs;
    bad(&r, "segments below: expected");
    read_small(&r);
    r.m.graphs[0].n_segs = 0;
    bad(&r, "segments from: expected 1 but found 0");
    read_small(&r);
    r.m.graphs[0].segs[0] = r.m.n_segs - 1; /* another graph's */
    bad(&r, "expected an enclosing segment");
    read_small(&r);
    uint32_t inner = r.m.n_segs - 1;
    cr_assert_neq(r.m.segs[inner].parent, IR_NONE);
    r.m.segs[inner].span.off = 0;
    bad(&r, "expected it inside its parent but found it outside");
    read_small(&r);
    r.m.segs[inner].parent = inner;
    bad(&r, "expected it inside its parent");
}

Test(verify, no_graph_at_all)
{
    struct diag d;
    struct ir_model m;
    diag_init(&d);
    ir_model_init(&m, &d, 0);
    cr_assert_eq(ir_verify(&m, &d), IR_EINPUT);
    ir_model_free(&m);
    diag_free(&d);
}
