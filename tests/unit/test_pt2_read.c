#include "tests/unit/pt2_build.h"

static void open_text(struct opened *o, const char *program)
{
    open_bytes(o, flat_archive(program));
}

static void open_file(struct opened *o, const char *path)
{
    open_bytes(o, read_file(path));
    cr_assert_eq(o->rc, 0, "%s: %s", path, first_error(&o->d));
    cr_expect_eq(ir_verify(&o->m, &o->d), 0, "%s: %s", path, first_error(&o->d));
}

static bool value_is(const struct opened *o, uint32_t value, const char *name)
{
    return str_is(ir_value_name(&o->m, value), name);
}

static const struct ir_node *node(const struct opened *o, uint32_t n)
{
    return &o->m.nodes[n];
}

static void expect_dims(const struct opened *o, uint32_t shape, uint32_t rank, const int64_t *dims)
{
    const struct ir_shape *s = &o->m.shapes[shape];
    cr_assert_eq(s->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        cr_expect_eq(s->dims[i], dims[i]);
}

Test(pt2_read, is_told_by_its_first_bytes)
{
    cr_expect(pt2_looks_like((const uint8_t *)"PK\3\4", 4));
    cr_expect(pt2_looks_like((const uint8_t *)"PK\5\6rest", 8));
    cr_expect_not(pt2_looks_like((const uint8_t *)"PK\3", 3));
    cr_expect_not(pt2_looks_like((const uint8_t *)"\x08\x07", 2));
    cr_expect_not(pt2_looks_like((const uint8_t *)"", 0));
}

Test(pt2_read, a_small_program)
{
    struct opened o;
    open_text(&o, SMALL);
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    struct ir_model *m = &o.m;
    cr_expect_eq(ir_verify(m, &o.d), 0, "%s", first_error(&o.d));
    cr_expect_eq(m->format, IR_PT2);
    cr_expect(m->bytes == o.bytes.b && m->size == o.bytes.n);
    cr_expect(str_is(m->producer, "torch") && str_is(m->producer_version, "2.6.0"));
    cr_expect_eq(ir_opset(m, "aten"), 10);
    cr_expect_eq(m->ir_version, 0);
    cr_expect_not(m->decomposed);
    cr_assert_eq(m->n_graphs, 1);
    cr_expect(m->graphs[0].kind == IR_GRAPH_MAIN && m->graphs[0].n_nodes == 2);

    cr_assert_eq(m->n_params, 1);
    cr_expect(value_is(&o, m->params[0].value, "fc.weight"));
    cr_expect(!m->params[0].buffer && !m->params[0].no_grad && m->params[0].bytes == 48);
    cr_assert_eq(m->graphs[0].n_inputs, 1);
    cr_expect(value_is(&o, m->graphs[0].inputs[0], "x"));
    cr_assert_eq(m->graphs[0].n_outputs, 1);
    cr_expect(value_is(&o, m->graphs[0].outputs[0], "relu"));
    cr_assert_eq(m->n_modules, 1, "neither the root nor a second call");
    cr_expect(str_is(m->modules[0], "fc"));

    const struct ir_op *op = ir_node_op(m, node(&o, 0));
    cr_expect(str_is(op->domain, "torch") && str_is(op->type, "aten.linear.default") &&
              op->function == IR_NONE);
    cr_expect(str_is(ir_node_name(&o.m, node(&o, 0)), "linear"));
    cr_assert(ir_node_n_in(node(&o, 0)) == 2 && ir_node_n_out(node(&o, 0)) == 1);
    cr_expect(value_is(&o, ir_node_input(m, node(&o, 0), 0), "x"));
    cr_expect(value_is(&o, ir_node_input(m, node(&o, 0), 1), "fc.weight"));
    uint32_t y = ir_node_output(m, node(&o, 0), 0);
    cr_expect(value_is(&o, y, "linear") && m->values[y].dtype == 1);
    expect_dims(&o, m->values[y].shape, 2, (int64_t[]){2, 3});
    expect_dims(&o, m->layouts[y].sizes, 2, (int64_t[]){2, 3});
    expect_dims(&o, m->layouts[y].strides, 2, (int64_t[]){3, 1});
    cr_expect(m->layouts[y].known);
    cr_expect(m->layouts[y].requires_grad, "what a parameter goes into needs a gradient");
    cr_expect_not(m->layouts[m->graphs[0].inputs[0]].requires_grad);
    cr_expect(m->layouts[m->graphs[0].outputs[0]].requires_grad);

    /* the span is the node's JSON in the archive */
    const char *linear = strstr((char *)o.bytes.b + 65, "{\"target\"");
    cr_expect_eq(node(&o, 0)->off, (uint64_t)(linear - (char *)o.bytes.b));
    struct str text = pt2_text(m, 0);
    cr_expect(text.s == linear && text.n == node(&o, 0)->len && text.s[text.n - 1] == '}');
    cr_expect(str_find(text, STR_LIT("aten.relu")) < 0 && str_find(text, STR_LIT("nn_module_stack")) > 0);
    close_model(&o);
}

Test(pt2_read, metadata_on_demand)
{
    struct opened o;
    struct str s;
    open_file(&o, "tests/pt2/custom.pt2");
    uint32_t last = o.m.n_nodes - 1;
    cr_expect_eq(o.m.source->meta(&o.m, last, "nn_module_stack", &s), 1);
    cr_expect(str_is(s, "L__self__,,__main__.Multi"));
    cr_expect_eq(o.m.source->meta(&o.m, last, "custom", &s), 1);
    cr_expect(str_is(s, "{\"a\": {\"b\": \"\\u00e9\\\"q\\\\\"}}"), "%.*s", STR_ARG(s));
    cr_expect_eq(o.m.source->meta(&o.m, last, "a", &s), 1, "a member of custom");
    cr_expect(str_is(s, "{\"b\": \"\\u00e9\\\"q\\\\\"}"), "as JSON, for it is no string: %.*s", STR_ARG(s));
    cr_expect_eq(o.m.source->meta(&o.m, last, "b", &s), 0);
    cr_expect_eq(o.m.source->meta(&o.m, 0, "custom", &s), 0);
    cr_assert_eq(o.m.n_meta, 1);
    cr_expect(str_is(o.m.meta[0].key, "who") && str_is(o.m.meta[0].value, "me"));
    cr_expect_not_null(ir_meta(&o.m, "who"));
    close_model(&o);
}

Test(pt2_read, arguments_on_demand)
{
    static const char *const args[][2] = {
        {"i", "{\"as_int\": -3}"},
        {"s", "{\"as_string\": \"a\\\"b\"}"},
        {"f", "{\"as_float\": 0.5}"},
        {"inf", "{\"as_float\": \"-Infinity\"}"},
        {"t", "{\"as_bool\": true}"},
        {"l", "{\"as_ints\": [1, -2]}"},
        {"m", "{\"as_sym_ints\": [{\"as_int\": 4}, {\"as_int\": 5}]}"},
        {"n", "{\"as_sym_ints\": [{\"as_int\": 4}, {\"as_name\": \"z\"}]}"},
        {"none", "{\"as_none\": true}"},
        {"d", "{\"as_scalar_type\": 13}"},
        {"dev", "{\"as_device\": {\"type\": \"cuda\", \"index\": 1}}"},
        {"", "{\"as_sym_int\": {\"as_name\": \"z\"}}"},
    };
    struct pb list = {0}, program = {0};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        char arg[128];
        int n = snprintf(arg, sizeof arg, "%s{\"name\": \"%s\", \"arg\": %s}", i ? ", " : "", args[i][0],
                         args[i][1]);
        pb_raw(&list, arg, (size_t)n);
    }
    pb_raw(&list, "", 1);
    program.b = malloc(4096);
    snprintf((char *)program.b, 4096,
             PROGRAM(GRAPH("", "", NODE("torch.ops.x.y.default", "%s", "", ""), ""), "", "", ""),
             (char *)list.b);
    struct opened o;
    open_text(&o, (char *)program.b);
    pb_free(&list);
    pb_free(&program);
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    struct ir_attr a;
    int (*attr)(struct ir_model *, uint32_t, const char *, struct ir_attr *) = o.m.source->attr;
    cr_expect(attr(&o.m, 0, "i", &a) == 1 && a.kind == IR_ATTR_INT && a.i == -3);
    cr_expect(attr(&o.m, 0, "#0", &a) == 1 && a.kind == IR_ATTR_INT && a.i == -3);
    cr_expect(attr(&o.m, 0, "s", &a) == 1 && a.kind == IR_ATTR_STR && str_is(a.s, "a\"b"));
    cr_expect(attr(&o.m, 0, "f", &a) == 1 && a.kind == IR_ATTR_FLOAT && a.f == 0.5);
    cr_expect(attr(&o.m, 0, "inf", &a) == 1 && a.kind == IR_ATTR_FLOAT && a.f < -1e300);
    cr_expect(attr(&o.m, 0, "t", &a) == 1 && a.kind == IR_ATTR_INT && a.i == 1);
    cr_expect(attr(&o.m, 0, "l", &a) == 1 && a.kind == IR_ATTR_INTS && a.n_ints == 2 && a.ints[1] == -2 &&
              a.ints_known);
    cr_expect(attr(&o.m, 0, "m", &a) == 1 && a.kind == IR_ATTR_INTS && a.n_ints == 2 && a.ints[1] == 5 &&
              a.ints_known);
    cr_expect(attr(&o.m, 0, "n", &a) == 1 && a.kind == IR_ATTR_INTS && !a.ints_known);
    cr_expect(attr(&o.m, 0, "d", &a) == 1 && a.kind == IR_ATTR_INT && a.i == 13 && a.dtype == 16);
    cr_expect(attr(&o.m, 0, "dev", &a) == 1 && a.kind == IR_ATTR_STR && str_is(a.s, "cuda"));
    cr_expect(attr(&o.m, 0, "#11", &a) == 1 && a.kind == IR_ATTR_OTHER);
    cr_expect_eq(attr(&o.m, 0, "none", &a), 0);
    cr_expect_eq(attr(&o.m, 0, "absent", &a), 0);
    cr_expect_eq(attr(&o.m, 0, "#12", &a), 0);
    int64_t ints[IR_INTS_MAX];
    uint32_t n = 9;
    cr_expect(o.m.source->param_ints(&o.m, 0, ints, &n) == 0 && n == 0);
    close_model(&o);
}

Test(pt2_read, several_outputs_and_none)
{
    struct opened o;
    open_file(&o, "tests/pt2/outputs.pt2");
    cr_expect(ir_node_n_out(node(&o, 0)) == 2 &&
              value_is(&o, ir_node_output(&o.m, node(&o, 0), 1), "getitem_1"));
    cr_expect_eq(o.m.values[ir_node_output(&o.m, node(&o, 0), 1)].dtype, 7, "int64");
    cr_expect_not(o.m.layouts[ir_node_output(&o.m, node(&o, 0), 1)].requires_grad);
    cr_expect(ir_node_n_out(node(&o, 1)) == 2 &&
              value_is(&o, ir_node_output(&o.m, node(&o, 1), 0), "getitem_2"));
    cr_expect_eq(o.m.graphs[0].n_outputs, 1, "None and 3 are no values");
    close_model(&o);
}

static int count(void *n, const char *text, size_t len)
{
    (void)text;
    *(size_t *)n += len;
    return 0;
}

/* Sanitizers see it when an array that is not there is pointed into. */
Test(pt2_read, a_graph_without_operands_is_printed)
{
    struct opened o;
    size_t n = 0;
    open_text(&o, PROGRAM(GRAPH("", "", NODE("torch.ops.aten.rand.default", "", "", ""), ""), "", "", ""));
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    cr_expect_eq(o.m.n_operands, 0);
    cr_expect_eq(ir_print(&o.m, count, &n), 0);
    cr_expect_gt(n, 0);
    close_model(&o);
}

Test(pt2_read, symbolic_sizes)
{
    struct opened o;
    open_file(&o, "tests/pt2/dynamic.pt2");
    uint32_t x = o.m.graphs[0].inputs[0];
    expect_dims(&o, o.m.values[x].shape, 3, (int64_t[]){IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, 8});
    expect_dims(&o, o.m.layouts[x].sizes, 3, (int64_t[]){3, 5, 8});
    expect_dims(&o, o.m.layouts[x].strides, 3, (int64_t[]){40, 8, 1});
    cr_expect(o.m.layouts[x].known);
    bool python = false;
    for (uint32_t i = 0; i < o.m.n_ops; i++)
        python |= str_is(o.m.ops[i].domain, "python") && str_is(o.m.ops[i].type, "_operator.mul");
    cr_expect(python);
    close_model(&o);
}

Test(pt2_read, branches_see_the_operands_of_cond)
{
    struct opened o;
    open_file(&o, "tests/pt2/cond.pt2");
    cr_assert_eq(o.m.n_graphs, 3);
    uint32_t cond = o.m.graphs[1].parent_node;
    cr_expect(str_is(ir_node_op(&o.m, node(&o, cond))->type, "higher_order.cond"));
    cr_expect(ir_node_body(&o.m, node(&o, cond)) == 1 && o.m.graphs[1].next_body == 2 &&
              o.m.graphs[2].next_body == IR_NONE);
    cr_expect(str_is(o.m.graphs[1].attr, "true_graph_0") && o.m.graphs[1].depth == 1);
    cr_expect(o.m.graphs[1].n_inputs == 0 && o.m.graphs[1].n_nodes == 1);
    const struct ir_node *linear = node(&o, o.m.graphs[2].first_node);
    cr_expect(value_is(&o, ir_node_input(&o.m, linear, 1), "b.weight"));
    cr_expect_eq(o.m.values[ir_node_input(&o.m, linear, 1)].kind, IR_VALUE_PARAM);
    cr_expect_eq(ir_node_input(&o.m, linear, 0), o.m.graphs[0].inputs[0], "x is the same value inside");
    cr_expect_str_eq(ir_graph_path(&o.m, 2), "/2:higher_order.cond/false_graph_0");
    close_model(&o);
}

Test(pt2_read, what_a_body_walks_over_or_carries_is_its_own)
{
    struct opened o;
    open_file(&o, "tests/pt2/map.pt2");
    cr_assert_eq(o.m.graphs[1].n_inputs, 1);
    uint32_t row = o.m.graphs[1].inputs[0];
    expect_dims(&o, o.m.values[row].shape, 1, (int64_t[]){8});
    cr_expect_eq(o.m.layouts[row].from, o.m.graphs[0].inputs[0]);
    const struct ir_node *matmul = node(&o, o.m.graphs[1].first_node);
    cr_expect(value_is(&o, ir_node_input(&o.m, matmul, 1), "a.weight"));
    close_model(&o);
    open_file(&o, "tests/pt2/while.pt2");
    cr_assert_eq(o.m.n_graphs, 3);
    cr_expect_eq(o.m.graphs[2].n_inputs, 2, "what is carried, but not the weight");
    cr_expect_neq(o.m.layouts[o.m.graphs[2].inputs[1]].from, IR_NONE);
    close_model(&o);
}

/* A program with one node of two graphs, which get c and x and what else is said. */
static void open_node(struct opened *o, const char *target, const char *more)
{
    static const char graph[] =
        "{\"name\": \"\", \"arg\": {\"as_graph\": {\"name\": \"g\", \"graph\": " GRAPH("", "", "", "") "}}}";
    static const char args[] =
        "{\"name\": \"\", \"arg\": {\"as_tensors\": [{\"name\": \"c\"}, {\"name\": \"c\"}]}}, "
        "{\"name\": \"\", \"arg\": {\"as_tensors\": [{\"name\": \"x\"}]}}";
    char text[4096];
    snprintf(
        text, sizeof text,
        "{\"graph_module\": {\"graph\": {\"inputs\": [" TENSOR("c") ", " TENSOR(
            "x") "], \"outputs\": [], "
                 "\"tensor_values\": {}, \"nodes\": [{\"target\": \"torch.ops.higher_order.%s\", \"outputs\": [], "
                 "\"metadata\": {}, \"inputs\": [%s, %s, %s%s]}]}, \"signature\": {\"input_specs\": []}}}",
        target, graph, graph, args, more);
    open_text(o, text);
    cr_assert_eq(o->rc, 0, "%s: %s", target, first_error(&o->d));
    cr_assert_eq(o->m.n_graphs, 3);
}

Test(pt2_read, how_operators_run_their_graphs)
{
    static const struct {
        const char *target;
        enum ir_runs first, second;
    } table[] = {
        {"cond", IR_RUNS_EITHER, IR_RUNS_EITHER},
        {"while_loop", IR_RUNS_TEST, IR_RUNS_WHILE},
        {"map_impl", IR_RUNS_OVER, IR_RUNS_OVER},
        {"scan", IR_RUNS_OVER, IR_RUNS_OVER},
        {"associative_scan", IR_RUNS_WHILE, IR_RUNS_WHILE},
        {"wrap_with_set_grad_enabled", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"wrap_with_autocast", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"invoke_subgraph", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"hints_wrapper", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"strict_mode", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"run_const_graph", IR_RUNS_ONCE, IR_RUNS_ONCE},
        {"flex_attention", IR_RUNS_UNKNOWN, IR_RUNS_UNKNOWN},
        {"autograd_function_apply", IR_RUNS_UNKNOWN, IR_RUNS_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct opened o;
        open_node(&o, table[i].target, "");
        cr_expect_eq(o.m.graphs[1].runs, table[i].first, "%s", table[i].target);
        cr_expect_eq(o.m.graphs[2].runs, table[i].second, "%s", table[i].target);
        close_model(&o);
    }
}

/* map walks over the first list after its graph, along axis 0; scan over the second, along the axis that
 * follows, if one does. */
Test(pt2_read, what_is_walked_over)
{
    static const struct {
        const char *target, *more;
        uint32_t over;
        int32_t axis;
    } table[] = {
        {"map_impl", "", 0, 0},
        {"map_impl", ", " ARG("", "{\"as_int\": 1}"), 0, 0},
        {"scan", "", 2, 0},
        {"scan", ", " ARG("", "{\"as_int\": 1}") ", " ARG("", "{\"as_bool\": true}"), 2, 1},
        {"scan", ", " ARG("", "{\"as_int\": -2}"), 2, -2},
        {"scan", ", " ARG("", "{\"as_int\": 4294967296}"), 2, IR_RANK_MAX},
        {"scan", ", " ARG("", "{\"as_tensors\": []}"), 2, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct opened o;
        open_node(&o, table[i].target, table[i].more);
        cr_expect_eq(o.m.graphs[1].over, table[i].over, "%zu", i);
        cr_expect_eq(o.m.graphs[1].axis, table[i].axis, "%zu: %d", i, o.m.graphs[1].axis);
        close_model(&o);
    }
}

Test(pt2_read, modes_of_nested_graphs)
{
    struct opened o;
    open_file(&o, "tests/pt2/nograd.pt2");
    cr_assert_eq(o.m.n_graphs, 2);
    cr_expect(!o.m.graphs[0].no_grad && o.m.graphs[1].no_grad && !o.m.graphs[1].autocast);
    uint32_t inner = ir_node_output(&o.m, node(&o, o.m.graphs[1].first_node), 0);
    cr_expect_not(o.m.layouts[inner].requires_grad);
    cr_expect_not(o.m.layouts[ir_node_output(&o.m, node(&o, 0), 0)].requires_grad);
    cr_expect(o.m.layouts[ir_node_output(&o.m, node(&o, 1), 0)].requires_grad, "a Linear after it");
    close_model(&o);
    open_file(&o, "tests/pt2/autocast.pt2");
    cr_expect(!o.m.graphs[1].no_grad && o.m.graphs[1].autocast == 16, "bfloat16");
    close_model(&o);
}

Test(pt2_read, packaged_layout)
{
    struct opened o;
    open_file(&o, "tests/pt2/packed.pt2");
    cr_assert_eq(pt2_of(&o.m)->n_programs, 1);
    cr_expect(str_is(pt2_of(&o.m)->programs[0].name, "model"));
    cr_expect(pt2_of(&o.m)->programs[0].stored);
    cr_expect_eq(o.m.n_nodes, 4);
    close_model(&o);
}

Test(pt2_read, several_programs)
{
    struct opened o;
    open_file(&o, "tests/pt2/programs.pt2");
    const struct pt2 *p = pt2_of(&o.m);
    cr_assert_eq(p->n_programs, 2);
    cr_assert_eq(o.m.n_graphs, 5);
    cr_expect(str_is(p->programs[0].name, "prefill") && p->programs[0].graph == 0);
    cr_expect(str_is(p->programs[1].name, "decode") && p->programs[1].graph == 2);
    cr_expect(o.m.graphs[2].kind == IR_GRAPH_MAIN && str_is(o.m.graphs[2].name, "decode"));
    cr_expect_str_eq(ir_graph_path(&o.m, 0), "-");
    cr_expect_str_eq(ir_graph_path(&o.m, 2), "program:decode");
    cr_expect_str_eq(ir_graph_path(&o.m, 4), "program:decode/2:higher_order.cond/false_graph_0");
    cr_expect(o.m.graphs[0].n_params == 3 && o.m.graphs[2].n_params == 3 && o.m.graphs[2].first_param == 3);
    cr_expect_eq(o.m.n_modules, 2, "each once");
    uint32_t last = o.m.n_nodes - 1;
    cr_expect_eq(ir_node_seg(&o.m, &o.m.nodes[last]), 1);
    cr_expect(str_starts(pt2_text(&o.m, last), STR_LIT("{\"target\": \"torch.ops.aten.linear.default\"")));
    close_model(&o);
}

Test(pt2_read, a_compressed_program)
{
    struct opened o;
    struct str s;
    open_file(&o, "tests/pt2/ops.pt2");
    cr_expect_not(pt2_of(&o.m)->programs[0].stored);
    cr_expect_gt(o.m.n_nodes, 1000);
    cr_expect(str_starts(pt2_text(&o.m, 7), STR_LIT("{\"target\"")));
    cr_expect_eq(o.m.source->meta(&o.m, 7, "nn_module_stack", &s), 1);
    close_model(&o);
}

Test(pt2_read, tied_parameters_are_one_value)
{
    struct opened o;
    open_text(
        &o,
        PROGRAM(
            GRAPH(TENSOR("p_a") ", " TENSOR("p_b"), TENSOR("y"),
                  NODE("torch.ops.aten.add.Tensor",
                       ARG("self", TENSOR("p_a")) ", " ARG("other", TENSOR("p_b")), TENSOR("y"), ""),
                  ""),
            "{\"parameter\": {\"arg\": {\"name\": \"p_a\"}, \"parameter_name\": \"b.w\"}}, {\"parameter\": {\"arg\": {\"name\": \"p_b\"}, \"parameter_name\": \"b.w\"}}",
            "", ""));
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    cr_expect_eq(o.m.n_params, 1);
    cr_expect_eq(ir_node_input(&o.m, node(&o, 0), 0), ir_node_input(&o.m, node(&o, 0), 1));
    cr_expect_eq(ir_verify(&o.m, &o.d), 0);
    close_model(&o);
}

Test(pt2_read, buffers_and_constants)
{
    struct opened o;
    open_text(
        &o,
        PROGRAM(
            GRAPH(TENSOR("b_a") ", " TENSOR("c_b") ", {\"as_int\": 3}, {\"as_none\": true}", "", "", ""),
            "{\"buffer\": {\"arg\": {\"name\": \"b_a\"}, \"buffer_name\": \"m.mask\", \"persistent\": true}}, {\"tensor_constant\": {\"arg\": {\"name\": \"c_b\"}, \"tensor_constant_name\": \"k\"}}, {\"custom_obj\": {\"arg\": {}}}, {\"token\": {}}",
            "", ""));
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    cr_assert_eq(o.m.n_params, 2);
    cr_expect(o.m.params[0].buffer && value_is(&o, o.m.params[0].value, "m.mask"));
    cr_expect(o.m.params[1].buffer && value_is(&o, o.m.params[1].value, "k"));
    cr_expect_eq(o.m.graphs[0].n_inputs, 0);
    close_model(&o);
}

/* The small program, packaged, with a list of its weights. */
static struct pb packaged(const char *config)
{
    struct zip_build z = {0};
    zip_add(&z, "m/data/weights/model_weights_config.json", config);
    zip_add(&z, "m/models/model.json", SMALL);
    zip_add(&z, "m/archive_format", "pt2");
    return zip_done(&z, false);
}

#define WEIGHT(fqn, place, is_param, meta)                                                                   \
    "\"" fqn "\": {\"path_name\": \"" place "\", \"is_param\": " is_param                                    \
    ", \"use_pickle\": false, \"tensor_meta\": " meta "}"
#define SIX META("[" INT(6) ", " INT(4) "]", "[" INT(4) ", " INT(1) "]", "true")

Test(pt2_read, weights_that_are_not_used_are_parameters_too)
{
    struct opened o;
    open_bytes(&o, packaged("{\"config\": {" WEIGHT("dead.weight", "weight_1", "true", SIX) ", " WEIGHT(
                       "fc.weight", "weight_0", "true",
                       SIX) ", " WEIGHT("tied.weight", "weight_0", "true",
                                        SIX) ", " WEIGHT("mask", "weight_2", "false",
                                                         SIX) ", " WEIGHT("object", "custom_obj_0", "true",
                                                                          "null") "}}"));
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    cr_expect_eq(ir_verify(&o.m, &o.d), 0, "%s", first_error(&o.d));
    cr_assert_eq(o.m.n_params, 2, "not a buffer, not a name of what is used under another one");
    cr_expect_eq(o.m.graphs[0].n_params, 2);
    uint32_t dead = o.m.params[1].value;
    cr_expect(value_is(&o, dead, "dead.weight") && o.m.values[dead].kind == IR_VALUE_PARAM &&
              !o.m.params[1].no_grad);
    expect_dims(&o, o.m.values[dead].shape, 2, (int64_t[]){6, 4});
    expect_dims(&o, o.m.values[o.m.params[0].value].shape, 2, (int64_t[]){3, 4});
    close_model(&o);
}

Test(pt2_read, lists_of_weights_that_are_none)
{
    static const char *const fine[] = {
        "[]",
        "{}",
        "{\"config\": 7}",
        "{\"config\": {\"a\": 7}}",
        "{\"config\": {\"a\": {}}}",
        "{\"config\": {\"a\": {\"path_name\": 7, \"is_param\": true, \"tensor_meta\": {}}}}"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        struct opened o;
        open_bytes(&o, packaged(fine[i]));
        cr_expect(o.rc == 0 && o.m.n_params == 1, "%s: %s", fine[i], first_error(&o.d));
        close_model(&o);
    }
    struct opened o;
    open_bytes(&o, packaged("{"));
    cr_expect_eq(o.rc, IR_EINPUT);
    cr_expect_str_eq(first_error(&o.d),
                     "member \"m/data/weights/model_weights_config.json\": is not valid JSON");
    close_model(&o);
    open_bytes(&o, packaged("{\"config\": {" WEIGHT("a", "b", "true", "{}") "}}"));
    cr_expect_eq(o.rc, IR_EINPUT);
    cr_expect_str_eq(first_error(&o.d), "\"sizes\" is missing");
    close_model(&o);
}

/* ---- refusals ---- */

static void refuse(struct pb bytes, const char *message, const char *field)
{
    struct opened o;
    open_bytes(&o, bytes);
    cr_expect_eq(o.rc, IR_EINPUT, "%s", message);
    cr_assert_eq(o.d.n, 1, "%s: %zu messages", message, o.d.n);
    cr_expect_str_eq(o.d.items[0].message, message);
    if (field && o.d.items[0].field)
        cr_expect_str_eq(o.d.items[0].field, field, "%s", message);
    close_model(&o);
}

static void refuse_text(const char *program, const char *message, const char *field)
{
    refuse(flat_archive(program), message, field);
}

static struct pb archive_of(const char *name, const char *text)
{
    struct zip_build z = {0};
    zip_add(&z, name, text);
    return zip_done(&z, false);
}

Test(pt2_read, other_archives_are_named)
{
    refuse(
        archive_of("model/code/__torch__.py", "x"),
        "a TorchScript archive, not torch.export's: export the model with torch.export.export and torch.export.save",
        NULL);
    refuse(archive_of("archive/data.pkl", "x"), "weights written by torch.save: they hold no graph", NULL);
    refuse(archive_of("a.npy", "x"), "a NumPy archive: it holds no graph", NULL);
    refuse(archive_of("m/data/aotinductor/model/x.so", "x"),
           "an archive of compiled code (AOTInductor): it holds no graph", NULL);
    refuse(archive_of("readme.txt", "x"), "a zip archive, but not torch.export's", NULL);
    refuse(archive_of("m/models/model.json", "{}"),
           "a zip archive, but not torch.export's: \"archive_format\" is not \"pt2\"", NULL);
    struct zip_build z = {0};
    zip_add(&z, "serialized_exported_program.json", SMALL);
    zip_add(&z, "a/serialized_exported_program.json", SMALL);
    refuse(zip_done(&z, false), "the archive holds several programs in layouts that do not go together",
           NULL);
}

Test(pt2_read, a_wrong_checksum)
{
    struct zip_build z = {0};
    zip_add_how(&z, "serialized_exported_program.json", SMALL, strlen(SMALL), (struct zip_how){.crc_xor = 1});
    refuse(zip_done(&z, false), "member \"serialized_exported_program.json\": its checksum is wrong", "zip");
}

Test(pt2_read, a_method_of_compression_that_is_not_known)
{
    struct zip_build z = {0};
    zip_add_how(&z, "serialized_exported_program.json", SMALL, strlen(SMALL),
                (struct zip_how){.method = 93, .unpacked = 2 * strlen(SMALL), .unpacked_crc = 1});
    refuse(zip_done(&z, false),
           "member \"serialized_exported_program.json\": is compressed in a way that is not understood",
           "zip");
}

/* Deflated zeros: 1 MiB in about a kilobyte. */
static struct pb bomb(uint64_t claim, uint32_t crc)
{
    struct pb raw = {0}, zeros = {0};
    z_stream s = {0};
    zeros.b = calloc(1, 1 << 20);
    raw.b = malloc(1 << 16);
    cr_assert_eq(deflateInit2(&s, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = zeros.b;
    s.avail_in = 1 << 20;
    s.next_out = raw.b;
    s.avail_out = 1 << 16;
    cr_assert_eq(deflate(&s, Z_FINISH), Z_STREAM_END);
    raw.n = s.total_out;
    deflateEnd(&s);
    struct zip_build z = {0};
    zip_add_how(&z, "serialized_exported_program.json", raw.b, raw.n,
                (struct zip_how){.method = 8,
                                 .unpacked = claim,
                                 .unpacked_crc = crc ? crc : (uint32_t)crc32_z(0, zeros.b, 1 << 20)});
    pb_free(&raw);
    pb_free(&zeros);
    return zip_done(&z, false);
}

Test(pt2_read, bombs)
{
    static const char name[] = "member \"serialized_exported_program.json\": ";
    char message[128];
    snprintf(message, sizeof message, "%sunpacks to too many times its size", name);
    refuse(bomb(UINT64_C(1) << 30, 0), message, "zip");
    snprintf(message, sizeof message, "%scannot be unpacked: its size or checksum is wrong", name);
    refuse(bomb(1000, 0), message, "zip"); /* more comes out than was said */
    refuse(bomb(2 << 20, 0), message, "zip");
    refuse(bomb(1 << 20, 1), message, "zip");
    refuse(bomb(1 << 20, 0), "the program is not valid JSON: expected a value", "program");
}

Test(pt2_read, deep_graphs)
{
    /* a graph in a node of a graph in a node of ... */
    struct pb text = {0};
    static const char head[] =
        "{\"inputs\": [], \"outputs\": [], \"tensor_values\": {}, \"nodes\": [{\"target\": \"torch.ops.higher_order.cond\", \"outputs\": [], \"metadata\": {}, \"inputs\": [{\"name\": \"\", \"arg\": {\"as_graph\": {\"name\": \"g\", \"graph\": ";
    static const char end[] = "{\"inputs\": [], \"outputs\": [], \"tensor_values\": {}, \"nodes\": []}";
    for (int depth = 63; depth <= 66; depth += depth == 63 ? 1 : 2) {
        pb_raw(&text, "{\"graph_module\": {\"graph\": ", 26);
        for (int i = 0; i < depth; i++)
            pb_raw(&text, head, sizeof head - 1);
        pb_raw(&text, end, sizeof end - 1);
        for (int i = 0; i < depth; i++)
            pb_raw(&text, "}}}]}]}", 7);
        static const char tail[] = ", \"signature\": {\"input_specs\": []}}}";
        pb_raw(&text, tail, sizeof tail);
        struct opened o;
        open_text(&o, (char *)text.b);
        if (depth <= 64) {
            cr_expect_eq(o.rc, 0, "%s", first_error(&o.d));
            cr_expect_eq(o.m.n_graphs, (uint32_t)depth + 1);
            cr_expect_eq(ir_verify(&o.m, &o.d), 0, "%s", first_error(&o.d));
        } else {
            cr_expect_eq(o.rc, IR_EINPUT);
            cr_expect_str_eq(first_error(&o.d), "graphs are nested more than 64 deep");
        }
        close_model(&o);
        text.n = 0;
    }
    pb_free(&text);
    struct pb deep = {0};
    for (int i = 0; i < 100000; i++)
        pb_raw(&deep, "[", 1);
    pb_raw(&deep, "", 1);
    refuse_text((char *)deep.b, "the program is not valid JSON: nested too deeply", "program");
    pb_free(&deep);
}

Test(pt2_read, limits)
{
    struct opened o;
    struct pt2_limits limits = {.max_nodes = 1};
    struct pb bytes = flat_archive(SMALL);
    o.bytes = bytes;
    diag_init(&o.d);
    ir_model_init(&o.m, &o.d, 0);
    o.rc = pt2_read(&o.m, bytes.b, bytes.n, &limits, &o.d);
    cr_expect_eq(o.rc, IR_EINPUT);
    cr_expect_str_eq(first_error(&o.d), "more than 1 nodes");
    ir_model_free(&o.m);
    ir_model_init(&o.m, &o.d, 4096); /* memory */
    o.rc = pt2_read(&o.m, bytes.b, bytes.n, NULL, &o.d);
    cr_expect(o.rc == IR_EMEM || o.rc == IR_EINPUT);
    close_model(&o);
}

Test(pt2_read, graphs_that_are_none)
{
    refuse_text("[]", "\"program\": expected an object but found an array", "program");
    refuse_text("{}", "\"graph_module\" is missing", "program");
    refuse_text("{\"graph_module\": {\"graph\": {}, \"signature\": {}}}", "\"input_specs\" is missing",
                "program");
    refuse_text("{\"graph_module\": {\"graph\": {}, \"signature\": {\"input_specs\": []}}}",
                "\"tensor_values\" is missing", "graph_module.graph");
    refuse_text(
        PROGRAM(
            GRAPH("", "", NODE("torch.ops.aten.t.default", ARG("self", TENSOR("x")), TENSOR("t"), ""), ""),
            "", "", ""),
        "uses \"x\", which nothing before it defines", "graph_module.graph.nodes[0]");
    refuse_text(PROGRAM(GRAPH(TENSOR("x"), "", NODE("a", "", TENSOR("x"), ""), ""), "", "", ""),
                "value \"x\" is defined twice", "graph_module.graph.nodes[0]");
    refuse_text(PROGRAM(GRAPH(TENSOR("x") ", " TENSOR("x"), "", "", ""), "", "", ""),
                "value \"x\" is defined twice", "graph_module.graph");
    refuse_text(PROGRAM(GRAPH("", TENSOR("x"), "", ""), "", "", ""), "output \"x\" is defined nowhere",
                "graph_module.graph");
    refuse_text(
        PROGRAM(GRAPH("", "",
                      NODE("a", ARG("n", "{\"as_tensor\": {\"name\": \"x\"}, \"as_int\": 1}"), "", ""), ""),
                "", "", ""),
        "\"arg\": expected an object with one member", "graph_module.graph.nodes[0]");
    refuse_text(PROGRAM(GRAPH(TENSOR("x"), "", "", "\"x\": " META("[" INT(-1) "]", "[" INT(1) "]", "true")),
                        "", "", ""),
                "\"sizes\": expected a number, at least 0", "graph_module.graph");
    refuse_text(
        PROGRAM(GRAPH(TENSOR("x"), "", "", "\"x\": " META("[{\"as_float\": 1}]", "[]", "true")), "", "", ""),
        "\"sizes\": expected \"as_int\" or \"as_expr\"", "graph_module.graph");
    refuse_text(
        PROGRAM(
            GRAPH("", "", "", ""),
            "{\"parameter\": {\"arg\": {\"name\": \"a\"}, \"parameter_name\": \"w\"}}, {\"buffer\": {\"arg\": {\"name\": \"a\"}, \"buffer_name\": \"v\"}}",
            "", ""),
        "argument \"a\" stands twice in the signature", "program");
}

Test(pt2_read, a_newer_schema_is_warned_of)
{
    struct opened o;
    struct pb text = {0};
    pb_raw(&text, SMALL, sizeof SMALL);
    *strstr((char *)text.b, "\"major\": 8") = '"';
    strstr((char *)text.b, "\"major\": 8")[9] = '9';
    open_text(&o, (char *)text.b);
    cr_expect_eq(o.rc, 0);
    cr_assert_eq(o.d.n, 1);
    cr_expect_eq(o.d.items[0].level, DIAG_WARNING);
    cr_expect_str_eq(o.d.items[0].message, "schema version 9 of the program is newer than what is known (8)");
    close_model(&o);
    pb_free(&text);
}

Test(pt2_read, more_dimensions_than_are_kept)
{
    struct pb dims = {0}, program = {0};
    for (int i = 0; i < 70; i++)
        pb_raw(&dims, i ? ", {\"as_int\": 1}" : "{\"as_int\": 1}", i ? 15 : 13);
    pb_raw(&dims, "", 1);
    const char *list = (const char *)dims.b;
    program.b = malloc(16384);
    snprintf((char *)program.b, 16384,
             PROGRAM(GRAPH(TENSOR("x"), "", "", "\"x\": " META("[%s]", "[%s]", "true")), "", "", ""), list,
             list);
    struct opened o;
    open_text(&o, (char *)program.b);
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    uint32_t x = o.m.graphs[0].inputs[0];
    cr_expect_eq(o.m.values[x].shape, IR_SHAPE_UNKNOWN);
    cr_expect_not(o.m.layouts[x].known);
    close_model(&o);
    pb_free(&dims);
    pb_free(&program);
}

/* ---- every wrong thing at every place ---- */

/* A token of well-formed JSON: its end. Strings are skipped whole. */
static size_t token_end(const char *s, size_t i)
{
    if (s[i] == '"') {
        for (i++; s[i] != '"'; i++)
            i += s[i] == '\\';
        return i + 1;
    }
    if (s[i] == '{' || s[i] == '[') {
        int depth = 0;
        do {
            if (s[i] == '"') {
                i = token_end(s, i);
                continue;
            }
            depth += s[i] == '{' || s[i] == '[';
            depth -= s[i] == '}' || s[i] == ']';
            i++;
        } while (depth);
        return i;
    }
    while (s[i] && !strchr(",]} ", s[i]))
        i++;
    return i;
}

/* A program with nested graphs, lists, symbolic sizes and metadata. */
static const char *const rich = PROGRAM(
    GRAPH(
        TENSOR("p_w") ", " TENSOR("x"), TENSOR("y"),
        NODE("torch.ops.aten.linear.default", ARG("input", TENSOR("x")) ", " ARG("weight", TENSOR("p_w")), TENSOR("l"), "\"nn_module_stack\": \"k,fc,L\", \"custom\": \"{\\\"a\\\": 1}\"") ", " NODE(
            "torch.ops.higher_order.cond",
            ARG("", TENSOR("l")) ", " ARG(
                "",
                "{\"as_graph\": {\"name\": \"g\", \"graph\": " GRAPH(
                    TENSOR("l"), TENSOR("u"),
                    NODE("torch.ops.aten.t.default", ARG("self", TENSOR("l")), TENSOR("u"), ""),
                    "") "}}") ", " ARG("",
                                       "{\"as_tensors\": [{\"name\": \"l\"}]}") ", " ARG("",
                                                                                         "{\"as_optional_tensors\": [{\"as_none\": true}]}"),
            "{\"as_tensors\": [{\"name\": \"y\"}]}, {\"as_none\": true}", ""),
        "\"p_w\": " META("[" INT(3) ", {\"as_expr\": {\"expr_str\": \"s0\", \"hint\": {\"as_int\": 4}}}]",
                         "[" INT(4) ", " INT(1) "]", "true")),
    "{\"parameter\": {\"arg\": {\"name\": \"p_w\"}, \"parameter_name\": \"fc.weight\"}}", "{\"fqn\": \"fc\"}",
    ", \"metadata\": {\"custom\": \"{\\\"k\\\": \\\"v\\\"}\"}");

Test(pt2_read, every_wrong_type_at_every_place)
{
    static const char *const wrong[] = {"null", "true",       "7",  "\"text\"", "[]",  "{}",
                                        "[[]]", "{\"a\": 1}", "-1", "1e99",     "\"\""};
    struct opened o;
    int accepted = 0, refused = 0;
    open_text(&o, rich);
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    cr_expect_eq(ir_verify(&o.m, &o.d), 0, "%s", first_error(&o.d));
    close_model(&o);
    for (size_t i = 0; rich[i]; i++) {
        bool token = strchr("\"{[-0123456789tfn", rich[i]) && (i == 0 || strchr(" :,[{", rich[i - 1]));
        if (!token)
            continue;
        size_t end = token_end(rich, i);
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            struct pb text = {0};
            pb_raw(&text, rich, i);
            pb_raw(&text, wrong[k], strlen(wrong[k]));
            pb_raw(&text, rich + end, strlen(rich + end) + 1);
            open_text(&o, (char *)text.b);
            cr_expect(o.rc == 0 || o.rc == IR_EINPUT, "%s at %zu: %d", wrong[k], i, o.rc);
            cr_expect(o.rc == 0 || (strlen(first_error(&o.d)) > 10 && o.d.n == 1), "%s at %zu: %zu messages",
                      wrong[k], i, o.d.n);
            if (o.rc == 0)
                cr_expect_eq(ir_verify(&o.m, &o.d), 0, "%s at %zu: %s", wrong[k], i, first_error(&o.d));
            for (uint32_t n = 0; o.rc == 0 && n < o.m.n_nodes; n++) { /* decoding on demand copes too */
                struct ir_attr a;
                struct str s;
                cr_expect_geq(o.m.source->attr(&o.m, n, "#0", &a), 0);
                cr_expect_geq(o.m.source->attr(&o.m, n, "self", &a), 0);
                cr_expect_geq(o.m.source->meta(&o.m, n, "nn_module_stack", &s), 0);
                cr_expect_geq(o.m.source->meta(&o.m, n, "a", &s), 0);
            }
            o.rc == 0 ? accepted++ : refused++;
            close_model(&o);
            pb_free(&text);
        }
    }
    cr_expect_gt(accepted, 300); /* keys nobody reads, devices, expressions, ... */
    cr_expect_gt(refused, 800);
}

Test(pt2_read, every_cut_of_the_text)
{
    struct opened o;
    for (size_t n = 0; n < strlen(rich); n++) {
        struct pb text = {0};
        pb_raw(&text, rich, n);
        pb_raw(&text, "", 1);
        open_text(&o, (char *)text.b);
        cr_expect_eq(o.rc, IR_EINPUT, "cut at %zu", n);
        cr_expect_eq(o.d.n, 1);
        cr_expect_not_null(strstr(first_error(&o.d), "the program is not valid JSON: "));
        close_model(&o);
        pb_free(&text);
    }
}

Test(pt2_read, every_cut_of_an_archive)
{
    struct pb whole = read_file("tests/pt2/packed.pt2");
    for (size_t n = 0; n < whole.n; n += n < 200 || n > whole.n - 200 ? 1 : 97) {
        struct pb bytes = {0};
        struct opened o;
        pb_raw(&bytes, whole.b, n);
        open_bytes(&o, bytes);
        cr_expect_eq(o.rc, IR_EINPUT, "cut at %zu", n);
        cr_expect_eq(o.d.n, 1);
        close_model(&o);
    }
    pb_free(&whole);
}
