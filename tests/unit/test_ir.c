#include "ir/ir.h"

#include "tests/unit/onnx_build.h"

Test(ir, equal_shapes_have_equal_ids)
{
    struct ir_model m;
    ir_model_init(&m, NULL, 0);
    int64_t a[] = {3, 4}, b[] = {4, 3}, c[] = {3, 4}, d[] = {3, 4, 5};
    uint32_t x = ir_shape_intern(&m, 2, a);
    cr_assert_neq(x, IR_SHAPE_UNKNOWN);
    cr_assert_eq(ir_shape_intern(&m, 2, c), x);
    cr_assert_neq(ir_shape_intern(&m, 2, b), x);
    cr_assert_neq(ir_shape_intern(&m, 3, d), x);
    a[0] = 99; /* the dims were copied */
    cr_assert_eq(m.shapes[x].dims[0], 3);
    cr_assert_eq(m.shapes[x].dims[1], 4);
    cr_assert_eq(m.shapes[x].rank, 2);
    ir_model_free(&m);
}

Test(ir, a_scalar_is_not_an_unknown_shape)
{
    struct ir_model m;
    ir_model_init(&m, NULL, 0);
    uint32_t scalar = ir_shape_intern(&m, 0, NULL);
    cr_assert_neq(scalar, IR_SHAPE_UNKNOWN);
    cr_assert_eq(ir_shape_intern(&m, 0, NULL), scalar);
    ir_model_free(&m);
}

Test(ir, a_rank_beyond_the_bound_is_unknown)
{
    struct ir_model m;
    ir_model_init(&m, NULL, 0);
    int64_t dims[IR_RANK_MAX + 1] = {0};
    cr_assert_eq(ir_shape_intern(&m, IR_RANK_MAX + 1, dims), IR_SHAPE_UNKNOWN);
    cr_assert_neq(ir_shape_intern(&m, IR_RANK_MAX, dims), IR_SHAPE_UNKNOWN);
    ir_model_free(&m);
}

Test(ir, shapes_end_at_the_memory_limit)
{
    struct ir_model m;
    ir_model_init(&m, NULL, 10000);
    uint32_t id = 0;
    for (int64_t i = 0; i < 100000 && id != IR_NONE; i++)
        id = ir_shape_intern(&m, 1, &i);
    cr_assert_eq(id, IR_NONE);
    ir_model_free(&m);
}

Test(ir, the_last_entry_of_a_key_counts)
{
    struct ir_entry entries[] = {{.key = STR_LIT("k"), .value = STR_LIT("1")},
                                 {.key = STR_LIT("other"), .value = STR_LIT("2")},
                                 {.key = STR_LIT("k"), .value = STR_LIT("3")}};
    struct ir_model m = {.meta = entries, .n_meta = 3};
    cr_assert_eq(ir_meta(&m, "k"), &entries[2]);
    cr_assert_eq(ir_meta(&m, "other"), &entries[1]);
    cr_assert_null(ir_meta(&m, "none"));
}

Test(ir, opset_of_a_domain)
{
    struct ir_opset opsets[] = {{STR_LIT(""), 17}, {STR_LIT("com.microsoft"), 1}};
    struct ir_model m = {.opsets = opsets, .n_opsets = 2};
    cr_assert_eq(ir_opset(&m, ""), 17);
    cr_assert_eq(ir_opset(&m, "com.microsoft"), 1);
    cr_assert_eq(ir_opset(&m, "x"), 0);
}

/* Main: node 1 is an If; its then_branch's node 0 is a Loop with a list of bodies; a function holds an If. */
static struct pb nested_model(void)
{
    struct pb inner = {0}, then = {0}, loop = {0}, attr = {0}, branch = {0}, graph = {0}, fn_if = {0},
              fn = {0};
    add_node(&inner, "Relu", "x", "i");
    pb_text(&attr, 1, "bodies");
    pb_bytes(&attr, 11, inner.b, inner.n);
    pb_sub(&attr, 11, inner);
    loop = make_node("Lo/op", "", "l");
    pb_sub(&loop, 5, attr);
    pb_sub(&then, 1, loop);
    add_node(&graph, "Relu", "x", "y");
    branch = make_node("If", "c", "z");
    add_body(&branch, "then_branch", then);
    pb_sub(&graph, 1, branch);
    add_input(&graph, "x");
    add_input(&graph, "c");
    struct pb m = make_model(graph), body = {0};
    add_node(&body, "Relu", "q", "p");
    fn_if = make_node("If", "q", "r");
    add_body(&fn_if, "else:branch", body);
    pb_text(&fn, 1, "50%");
    pb_names(&fn, 4, "q");
    pb_sub(&fn, 7, fn_if);
    pb_text(&fn, 10, "my.domain");
    pb_sub(&m, 25, fn);
    struct pb second = {0};
    pb_text(&second, 1, "f");
    pb_text(&second, 13, "v2");
    pb_sub(&m, 25, second);
    return m;
}

Test(ir, graph_paths)
{
    struct reading r;
    read_bytes(&r, nested_model());
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    const char *want[] = {"-",
                          "fn:my.domain:50%25",
                          "fn::f:v2",
                          "/1:If/then_branch",
                          "fn:my.domain:50%25/0:If/else%3Abranch",
                          "/1:If/then_branch/0:Lo%2Fop/bodies",
                          "/1:If/then_branch/0:Lo%2Fop/bodies[1]"};
    cr_assert_eq(r.m.n_graphs, sizeof want / sizeof *want);
    for (uint32_t g = 0; g < r.m.n_graphs; g++)
        cr_assert_str_eq(ir_graph_path(&r.m, g), want[g]);
    reading_free(&r);
}

Test(ir, getters_accept_what_is_not_there)
{
    struct reading r;
    struct pb graph = {0};
    add_node(&graph, "Relu", "x,", "y");
    add_input(&graph, "x");
    read_graph(&r, graph);
    const struct ir_node *n = &r.m.nodes[0];
    cr_assert_eq(ir_node_input(&r.m, n, 7), IR_NONE);
    cr_assert_eq(ir_node_output(&r.m, n, 1), IR_NONE);
    cr_assert_eq(ir_value_node(&r.m, IR_NONE), IR_NONE);
    cr_assert_eq(ir_value_name(&r.m, IR_NONE).n, 0);
    cr_assert_eq(ir_value_node(&r.m, ir_node_input(&r.m, n, 0)), IR_NONE);
    cr_assert_eq(ir_value_node(&r.m, ir_node_output(&r.m, n, 0)), 0);
    cr_assert_eq(ir_shape_of(&r.m, IR_NONE), &r.m.shapes[IR_SHAPE_UNKNOWN]);
    reading_free(&r);
}

Test(ir, a_model_that_was_never_read_can_be_freed)
{
    struct ir_model m;
    ir_model_init(&m, NULL, 0);
    ir_model_free(&m);
    cr_assert_null(m.shapes);
}
