#include "schema/onnx_read.h"

#include "tests/unit/onnx_build.h"

#include <stdio.h>

static uint32_t find_value(const struct reading *r, uint32_t graph, const char *name)
{
    for (uint32_t v = 0; v < r->m.n_values; v++)
        if (r->m.values[v].graph == graph && str_is(ir_value_name(&r->m, v), name))
            return v;
    return IR_NONE;
}

static const struct ir_value *value(const struct reading *r, uint32_t graph, const char *name)
{
    uint32_t v = find_value(r, graph, name);
    cr_assert_neq(v, IR_NONE, "no value '%s' in graph %u", name, graph);
    return &r->m.values[v];
}

static void has_shape(const struct reading *r, const char *name, int rank, const int64_t *dims)
{
    uint32_t shape = value(r, 0, name)->shape;
    const struct ir_shape *s = &r->m.shapes[shape];
    if (rank < 0) {
        cr_assert_eq(shape, IR_SHAPE_UNKNOWN, "the shape of '%s' is known", name);
        return;
    }
    cr_assert_neq(shape, IR_SHAPE_UNKNOWN, "the shape of '%s' is not known", name);
    cr_assert_eq(s->rank, (uint32_t)rank, "rank of '%s'", name);
    for (int i = 0; i < rank; i++)
        cr_assert_eq(s->dims[i], dims[i], "dimension %d of '%s'", i, name);
}

/* ---- a model as it usually is */

Test(onnx_read, a_whole_model)
{
    struct reading r;
    struct pb g = {0}, m = {0}, opset = {0}, ai = {0};
    add_node(&g, "MatMul", "x,w", "y");
    add_node(&g, "Relu", "y", "z");
    pb_text(&g, 2, "main_graph");
    add_param(&g, "w", 4, 8);
    add_input(&g, "x");
    add_output(&g, "z");
    pb_int(&m, 1, 10);
    pb_text(&m, 2, "pytorch");
    pb_text(&m, 3, "2.6.0");
    pb_sub(&m, 7, g);
    pb_int(&ai, 2, 18);
    pb_text(&ai, 1, "ai.onnx");
    pb_sub(&m, 8, ai);
    pb_text(&opset, 1, "com.microsoft");
    pb_int(&opset, 2, 1);
    pb_sub(&m, 8, opset);
    pb_entry(&m, 14, "key", "value");
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.ir_version, 10);
    cr_assert(str_is(r.m.producer, "pytorch"));
    cr_assert(str_is(r.m.producer_version, "2.6.0"));
    cr_assert_eq(ir_opset(&r.m, ""), 18, "ai.onnx is the empty domain");
    cr_assert_eq(ir_opset(&r.m, "com.microsoft"), 1);
    cr_assert(str_is(ir_meta(&r.m, "key")->value, "value"));
    cr_assert_eq(r.m.n_graphs, 1);
    cr_assert(str_is(r.m.graphs[0].name, "main_graph"));
    cr_assert_eq(r.m.n_nodes, 2);
    cr_assert_eq(r.m.n_params, 1);
    cr_assert_eq(r.m.n_values, 4);
    cr_assert(str_is(ir_node_op(&r.m, &r.m.nodes[0])->type, "MatMul"));
    cr_assert(str_is(ir_node_name(&r.m, &r.m.nodes[1]), "z"));
    cr_assert_eq(ir_node_body(&r.m, &r.m.nodes[0]), IR_NONE);
    cr_assert_eq(operand(&r, 0, 1), r.m.params[0].value);
    cr_assert_eq(operand(&r, 1, 0), ir_node_output(&r.m, &r.m.nodes[0], 0));
    cr_assert_eq(r.m.graphs[0].n_inputs, 1);
    cr_assert_eq(r.m.graphs[0].inputs[0], operand(&r, 0, 0));
    cr_assert_eq(r.m.graphs[0].outputs[0], ir_node_output(&r.m, &r.m.nodes[1], 0));
    cr_assert_eq(value(&r, 0, "x")->kind, IR_VALUE_INPUT);
    cr_assert_eq(value(&r, 0, "w")->kind, IR_VALUE_PARAM);
    cr_assert_eq(value(&r, 0, "y")->kind, IR_VALUE_NODE);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
}

Test(onnx_read, an_empty_graph_is_a_graph)
{
    struct reading r;
    read_graph(&r, (struct pb){0});
    cr_assert_eq(r.m.n_graphs, 1);
    cr_assert_eq(r.m.n_nodes, 0);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
}

static int put_nowhere(void *ctx, const char *text, size_t n)
{
    (void)text;
    *(size_t *)ctx += n;
    return 0;
}

/* Lists that are empty are no NULL pointers (a sanitizer sees them in printing). */
Test(onnx_read, a_node_without_operands)
{
    struct reading r;
    struct pb g = {0};
    size_t n = 0;
    pb_sub(&g, 1, (struct pb){0});
    read_graph(&r, g);
    cr_assert_not_null(r.m.operands);
    cr_assert_not_null(r.m.values);
    cr_assert_not_null(r.m.params);
    cr_assert_eq(ir_print(&r.m, put_nowhere, &n), 0);
    cr_assert_gt(n, 0);
    reading_free(&r);
}

Test(onnx_read, the_last_of_a_field_counts)
{
    struct reading r;
    struct pb n = {0}, g = {0}, m = {0};
    pb_text(&n, 4, "Old");
    pb_text(&n, 7, "old.domain");
    pb_text(&n, 3, "old name");
    pb_text(&n, 4, "New");
    pb_text(&n, 3, "new name");
    pb_text(&n, 7, "ai.onnx");
    pb_sub(&g, 1, n);
    pb_text(&g, 2, "old");
    pb_text(&g, 2, "new");
    pb_int(&m, 1, 3);
    pb_sub(&m, 7, g);
    pb_int(&m, 1, 9);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    cr_assert_eq(r.m.ir_version, 9);
    cr_assert(str_is(r.m.graphs[0].name, "new"));
    cr_assert(str_is(ir_node_name(&r.m, &r.m.nodes[0]), "new name"));
    cr_assert(str_is(r.m.ops[r.m.nodes[0].op].type, "New"));
    cr_assert_eq(r.m.ops[r.m.nodes[0].op].domain.n, 0);
    reading_free(&r);
}

Test(onnx_read, nodes_of_one_kind_share_an_operator)
{
    struct reading r;
    struct pb g = {0}, n = {0}, o = {0};
    add_node(&g, "MatMul", "", "a");
    add_node(&g, "MatMul", "", "b");
    n = make_node("MatMul", "", "c");
    pb_text(&n, 7, "my");
    pb_sub(&g, 1, n);
    o = make_node("MatMul", "", "d");
    pb_text(&o, 8, "my");
    pb_sub(&g, 1, o);
    add_node(&g, "MatMulmy", "", "e");
    read_graph(&r, g);
    cr_assert_eq(r.m.n_ops, 4);
    cr_assert_eq(r.m.nodes[0].op, r.m.nodes[1].op);
    cr_assert(str_is(r.m.ops[r.m.nodes[2].op].domain, "my"));
    cr_assert(str_is(r.m.ops[r.m.nodes[3].op].overload, "my"));
    reading_free(&r);
}

Test(onnx_read, omitted_operands_and_outputs)
{
    struct reading r;
    struct pb g = {0}, n = {0};
    pb_names(&n, 2, "first"); /* outputs before, between and after inputs */
    pb_names(&n, 1, "x,,x");
    pb_bytes(&n, 2, "", 0);
    pb_bytes(&n, 1, "", 0);
    pb_names(&n, 2, "third");
    pb_sub(&g, 1, n);
    add_input(&g, "x");
    read_graph(&r, g);
    const struct ir_node *node = &r.m.nodes[0];
    cr_assert_eq(ir_node_n_in(node), 4);
    cr_assert_eq(ir_node_n_out(node), 3);
    cr_assert_eq(operand(&r, 0, 0), find_value(&r, 0, "x"));
    cr_assert_eq(operand(&r, 0, 1), IR_NONE);
    cr_assert_eq(operand(&r, 0, 2), find_value(&r, 0, "x"));
    cr_assert_eq(operand(&r, 0, 3), IR_NONE);
    cr_assert_eq(ir_node_output(&r.m, node, 0), find_value(&r, 0, "first"));
    cr_assert_eq(ir_node_output(&r.m, node, 1), IR_NONE);
    cr_assert_eq(ir_node_output(&r.m, node, 2), find_value(&r, 0, "third"));
    cr_assert_eq(value(&r, 0, "third")->out, 2);
    reading_free(&r);
}

Test(onnx_read, names_may_hold_any_byte)
{
    struct reading r;
    struct pb g = {0}, n = {0};
    pb_bytes(&n, 2, "a\0b", 3);
    pb_bytes(&n, 2, "a\0c", 3);
    pb_text(&n, 2, "a");
    pb_bytes(&n, 2, "\xff\n", 2);
    pb_sub(&g, 1, n);
    read_graph(&r, g);
    cr_assert_eq(r.m.n_values, 4, "text after a NUL counts");
    cr_assert(str_eq(ir_value_name(&r.m, 1), STR_LIT("a\0c")));
    reading_free(&r);
}

Test(onnx_read, unknown_fields_and_groups_are_skipped)
{
    struct reading r;
    struct pb g = {0}, n = make_node("Relu", "x", "y"), m = {0};
    pb_raw(&n, "\xa3\x06\x08\x01\xa4\x06", 6); /* group 100 */
    pb_int(&n, 3, 5);                          /* name as a varint: an unknown field */
    pb_text(&n, 99, "later versions");
    pb_sub(&g, 1, n);
    pb_raw(&g, "\x0d\1\2\3\4", 5); /* node as fixed32 */
    pb_text(&g, 77, "x");
    add_input(&g, "x");
    pb_raw(&m, "\x3b\x3c", 2); /* graph as a group */
    pb_text(&m, 5, "model_version as text");
    pb_text(&m, 1, "ir_version as text");
    pb_sub(&m, 7, g);
    pb_int(&m, 500, 1);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.n_nodes, 1);
    cr_assert(str_is(ir_node_name(&r.m, &r.m.nodes[0]), "y"));
    cr_assert_eq(r.m.ir_version, 0);
    reading_free(&r);
}

/* ---- segments */

/* The bytes before a span hold its length: what a writer relies on. */
static void has_prefix(const struct reading *r, struct ir_span span)
{
    cr_assert_geq(span.off, 2);
    cr_assert_lt(span.len, 128);
    cr_assert_eq(r->m.bytes[span.off - 1], (uint8_t)span.len);
}

Test(onnx_read, a_graph_may_come_in_parts)
{
    struct reading r;
    struct pb a = {0}, b = {0}, m = {0};
    add_node(&a, "Relu", "w", "y"); /* uses what the other part defines */
    pb_text(&a, 2, "first");
    add_output(&a, "z");
    add_node(&b, "Relu", "y", "z");
    add_param(&b, "w", 2, 2);
    pb_text(&b, 2, "second");
    pb_sub(&m, 7, a);
    pb_int(&m, 1, 8);
    pb_sub(&m, 7, b);
    pb_sub(&m, 7, (struct pb){0});
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.n_graphs, 1);
    cr_assert_eq(r.m.n_nodes, 2);
    cr_assert_eq(r.m.n_segs, 3);
    cr_assert(str_is(r.m.graphs[0].name, "second"));
    cr_assert_eq(operand(&r, 0, 0), r.m.params[0].value);
    for (uint32_t n = 0; n < 2; n++) {
        struct ir_span s = r.m.segs[ir_node_seg(&r.m, &r.m.nodes[n])].span,
                       node = ir_node_span(&r.m.nodes[n]);
        cr_assert(node.off > s.off && node.off + node.len <= s.off + s.len);
        has_prefix(&r, s);
        has_prefix(&r, node);
    }
    cr_assert_neq(ir_node_seg(&r.m, &r.m.nodes[0]), ir_node_seg(&r.m, &r.m.nodes[1]));
    reading_free(&r);
}

Test(onnx_read, an_omitted_operand_is_no_initializer_without_a_name)
{
    struct reading r;
    struct pb g = {0};
    add_param(&g, "", 2, 2);
    add_node(&g, "Clip", "x,,m", "y");
    add_input(&g, "x");
    add_input(&g, "m");
    read_graph(&r, g);
    cr_assert_eq(operand(&r, 0, 1), IR_NONE);
    cr_assert_neq(operand(&r, 0, 2), IR_NONE);
    cr_assert_eq(r.m.n_params, 1);
    reading_free(&r);
}

Test(onnx_read, many_occurrences_of_a_graph)
{
    enum { N = 9 };
    struct reading r;
    struct pb m = {0};
    pb_int(&m, 1, 8);
    for (int i = 0; i < N; i++) { /* every third holds no node */
        struct pb g = {0};
        char out[] = {(char)('a' + i), 0};
        if (i % 3)
            add_node(&g, "Constant", "", out);
        pb_sub(&m, 7, g);
    }
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.n_nodes, 6);
    for (uint32_t n = 0; n < r.m.n_nodes; n++) {
        struct ir_span s = r.m.segs[ir_node_seg(&r.m, &r.m.nodes[n])].span,
                       node = ir_node_span(&r.m.nodes[n]);
        cr_assert(node.off > s.off && node.off + node.len == s.off + s.len);
    }
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
}

/* A node whose name stands behind `before` bytes of doc_string. */
static void add_named(struct pb *graph, size_t before, const char *name, size_t n, const char *again)
{
    struct pb node = {0};
    char *doc = calloc(1, before + 1);
    cr_assert(doc);
    pb_text(&node, 4, "Constant");
    pb_bytes(&node, 6, doc, before);
    pb_bytes(&node, 3, name, n);
    if (again)
        pb_text(&node, 3, again);
    pb_sub(graph, 1, node);
    free(doc);
}

Test(onnx_read, names_that_are_long_or_far_from_the_start_of_their_node)
{
    enum { LONG = 70000 };
    struct reading r;
    struct pb g = {0};
    char *name = malloc(LONG);
    cr_assert(name);
    memset(name, 'n', LONG);
    size_t n[] = {5, UINT16_MAX, UINT16_MAX + 1, LONG, 7, 0, 9, 3};
    add_named(&g, 10, name, n[0], NULL);
    add_named(&g, 10, name, n[1], NULL);
    add_named(&g, 10, name, n[2], NULL);
    add_named(&g, 10, name, n[3], NULL);
    add_named(&g, LONG, name, n[4], NULL);
    add_named(&g, LONG, name, n[5], NULL);
    add_named(&g, LONG, name, LONG, "nnnnnnnnn"); /* the last of two counts */
    add_named(&g, 10, name, n[7], NULL);
    for (size_t before = UINT16_MAX - 12; before < UINT16_MAX + 2; before++)
        add_named(&g, before, name, 8, NULL);
    read_graph(&r, g);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    for (uint32_t i = 0; i < r.m.n_nodes; i++) {
        struct str got = ir_node_name(&r.m, &r.m.nodes[i]);
        size_t want = i < sizeof n / sizeof *n ? n[i] : 8;
        cr_assert(str_eq(got, (struct str){name, want}), "name of node %u has %zu bytes", i, got.n);
    }
    reading_free(&r);
    free(name);
}

Test(onnx_read, no_file_has_as_many_bytes)
{
    struct reading r = {.rc = 0};
    static const uint8_t byte[1] = {0};
    diag_init(&r.d);
    ir_model_init(&r.m, &r.d, 0);
    cr_assert_eq(onnx_read(&r.m, byte, UINT64_C(1) << 48, NULL, &r.d), IR_EINPUT);
    cr_assert_str_eq(reading_message(&r), "the file is larger than 2^48 bytes");
    reading_free(&r);
}

Test(onnx_read, segments_lead_from_a_nested_node_to_the_model)
{
    struct reading r;
    struct pb inner = {0}, outer = {0}, loop = {0}, branch = {0}, g = {0};
    add_node(&inner, "Relu", "x", "i");
    loop = make_node("Loop", "", "l");
    add_body(&loop, "body", inner);
    pb_sub(&outer, 1, loop);
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", outer);
    pb_sub(&g, 1, branch);
    add_input(&g, "x");
    read_graph(&r, g);
    uint32_t inner_node = r.m.graphs[2].first_node, seg = ir_node_seg(&r.m, &r.m.nodes[inner_node]),
             steps = 0;
    struct ir_span inside = ir_node_span(&r.m.nodes[inner_node]);
    for (; seg != IR_NONE; seg = r.m.segs[seg].parent, steps++) {
        struct ir_span s = r.m.segs[seg].span;
        cr_assert(inside.off > s.off && inside.off + inside.len <= s.off + s.len);
        has_prefix(&r, s);
        inside = s;
    }
    cr_assert_eq(steps, 7, "graph, attribute, node, graph, attribute, node, graph");
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
}

Test(onnx_read, occurrences_of_g_are_one_graph_each_of_graphs_is_one)
{
    struct reading r;
    struct pb g1 = {0}, g2 = {0}, l1 = {0}, l2 = {0}, attr = {0}, n = make_node("Op", "", "o"), g = {0};
    add_node(&g1, "A", "", "a");
    add_node(&l1, "C", "", "a"); /* the name of another graph's value */
    add_node(&l2, "D", "", "d");
    add_node(&g2, "B", "a", "b");
    pb_sub(&attr, 6, g1);
    pb_sub(&attr, 11, l1);
    pb_sub(&attr, 6, g2);
    pb_sub(&attr, 11, l2);
    pb_text(&attr, 1, "bodies"); /* after what it names */
    pb_sub(&n, 5, attr);
    pb_sub(&g, 1, n);
    read_graph(&r, g);
    cr_assert_eq(r.m.n_graphs, 4);
    const struct ir_graph *merged = &r.m.graphs[ir_node_body(&r.m, &r.m.nodes[0])];
    cr_assert_eq(merged->n_nodes, 2);
    cr_assert(str_is(merged->attr, "bodies"));
    cr_assert_eq(operand(&r, merged->first_node + 1, 0),
                 ir_node_output(&r.m, &r.m.nodes[merged->first_node], 0));
    const struct ir_graph *second = &r.m.graphs[merged->next_body];
    cr_assert(str_is(r.m.ops[r.m.nodes[second->first_node].op].type, "C"));
    cr_assert_eq(second->attr_index, 1);
    cr_assert_eq(r.m.graphs[second->next_body].next_body, IR_NONE);
    cr_assert_eq(r.m.n_segs, 1 + 1 + 1 + 4);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
    reading_free(&r);
}

/* ---- functions */

static struct pb make_function(const char *domain, const char *name, const char *in, const char *out)
{
    struct pb f = {0};
    pb_text(&f, 1, name);
    pb_names(&f, 4, in);
    pb_names(&f, 5, out);
    if (domain)
        pb_text(&f, 10, domain);
    return f;
}

Test(onnx_read, functions_define_operators)
{
    struct reading r;
    struct pb g = {0}, call = make_node("Linear", "x", "y"), over = make_node("Linear", "x", "z"), m, f, o,
              attr = {0};
    pb_text(&call, 7, "my");
    pb_text(&over, 7, "my");
    pb_text(&over, 8, "v2");
    pb_sub(&g, 1, call);
    pb_sub(&g, 1, over);
    add_node(&g, "Linear", "x", "w"); /* of ai.onnx: no function */
    add_input(&g, "x");
    f = make_function("my", "Linear", "a,b", "c");
    pb_sub(&f, 7, make_node("Relu", "a", "c"));
    pb_text(&f, 6, "axis");
    pb_text(&attr, 1, "alpha");
    pb_sub(&f, 11, attr);
    o = make_function("my", "Linear", "", "");
    pb_text(&o, 13, "v2");
    struct pb first = {0};
    pb_sub(&first, 25, f); /* before the graph */
    m = make_model(g);
    pb_raw(&first, m.b, m.n);
    pb_free(&m);
    pb_sub(&first, 25, o);
    pb_sub(&first, 25, make_function("ai.onnx", "Norm", "", ""));
    read_bytes(&r, first);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.n_graphs, 4);
    cr_assert_eq(r.m.graphs[0].kind, IR_GRAPH_MAIN);
    cr_assert_eq(r.m.ops[r.m.nodes[0].op].function, 1);
    cr_assert_eq(r.m.ops[r.m.nodes[1].op].function, 2);
    cr_assert_eq(r.m.ops[r.m.nodes[2].op].function, IR_NONE);
    const struct ir_graph *fn = &r.m.graphs[1];
    cr_assert_eq(fn->kind, IR_GRAPH_FUNCTION);
    cr_assert(str_is(fn->name, "Linear"));
    cr_assert_eq(fn->op, r.m.nodes[0].op);
    cr_assert_eq(fn->n_inputs, 2);
    cr_assert(str_is(ir_value_name(&r.m, fn->inputs[1]), "b"));
    cr_assert_eq(fn->outputs[0], ir_node_output(&r.m, &r.m.nodes[fn->first_node], 0));
    cr_assert_eq(fn->n_attr_params, 2);
    cr_assert(str_is(fn->attr_params[0], "axis"));
    cr_assert(str_is(fn->attr_params[1], "alpha"));
    cr_assert_eq(r.m.ops[r.m.graphs[3].op].domain.n, 0);
    cr_assert_eq(ir_node_seg(&r.m, &r.m.nodes[fn->first_node]), 0);
    cr_assert_eq(r.m.segs[0].parent, IR_NONE);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
    reading_free(&r);
}

Test(onnx_read, one_function_per_operator)
{
    struct pb m = make_model((struct pb){0});
    pb_sub(&m, 25, make_function("", "f", "", ""));
    pb_sub(&m, 25, make_function("ai.onnx", "f", "", ""));
    refuses(m, "expected one definition of function 'f' but found two");
}

/* ---- names */

Test(onnx_read, inner_graphs_see_the_outer_names)
{
    struct reading r;
    struct pb inner = {0}, then = {0}, other = {0}, loop = {0}, branch = {0}, g = {0};
    add_node(&inner, "Relu", "x", "i1");    /* of the main graph */
    add_node(&inner, "Relu", "late", "i2"); /* defined after the If */
    add_node(&inner, "Relu", "t", "i3");    /* of the then branch */
    add_node(&inner, "Relu", "mine", "i4"); /* its own, which hides the main graph's */
    add_input(&inner, "mine");
    loop = make_node("Loop", "mine", "l");
    add_body(&loop, "body", inner);
    pb_sub(&then, 1, loop);
    add_node(&then, "Relu", "x", "t");
    add_node(&other, "Relu", "t", "e"); /* the sibling's: not seen */
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", then);
    add_body(&branch, "else_branch", other);
    pb_sub(&g, 1, branch);
    add_node(&g, "Relu", "x", "late");
    add_node(&g, "Relu", "i1", "last"); /* an inner graph's: not seen */
    add_node(&g, "Relu", "mine", "use");
    add_input(&g, "x");
    add_input(&g, "mine");
    read_graph(&r, g);
    uint32_t in = r.m.graphs[3].first_node;
    cr_assert_eq(operand(&r, in, 0), find_value(&r, 0, "x"));
    cr_assert_eq(operand(&r, in + 1, 0), find_value(&r, 0, "late"));
    cr_assert_eq(operand(&r, in + 2, 0), find_value(&r, 1, "t"));
    cr_assert_eq(operand(&r, in + 3, 0), find_value(&r, 3, "mine"));
    cr_assert_eq(operand(&r, r.m.graphs[1].first_node, 0), find_value(&r, 0, "mine"));
    cr_assert_eq(operand(&r, 3, 0), find_value(&r, 0, "mine"), "back in the main graph");
    const struct ir_value *lost = &r.m.values[operand(&r, r.m.graphs[2].first_node, 0)];
    cr_assert_eq(lost->kind, IR_VALUE_UNDEFINED);
    cr_assert_eq(lost->graph, 2);
    cr_assert_eq(r.m.values[operand(&r, 2, 0)].kind, IR_VALUE_UNDEFINED);
    cr_assert_eq(r.m.values[operand(&r, 2, 0)].graph, 0);
    reading_free(&r);
}

Test(onnx_read, bodies_may_pass_on_outer_values)
{
    struct reading r;
    struct pb body = {0}, branch = {0}, g = {0};
    add_output(&body, "x");
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", body);
    pb_sub(&g, 1, branch);
    add_input(&g, "x");
    read_graph(&r, g);
    cr_assert_eq(r.m.graphs[1].outputs[0], find_value(&r, 0, "x"));
    reading_free(&r);
}

Test(onnx_read, functions_see_only_their_own_names)
{
    struct reading r;
    struct pb g = {0}, f = make_function("", "f", "p", "q"), m, body = {0}, branch;
    add_node(&g, "Relu", "x", "y");
    add_input(&g, "x");
    pb_sub(&f, 7, make_node("Relu", "x", "q"));
    add_node(&body, "Relu", "p", "b");
    add_node(&body, "Relu", "y", "c");
    branch = make_node("If", "p", "z");
    add_body(&branch, "then_branch", body);
    pb_sub(&f, 7, branch);
    m = make_model(g);
    pb_sub(&m, 25, f);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    uint32_t fn = r.m.graphs[1].first_node, in = r.m.graphs[2].first_node;
    cr_assert_eq(r.m.values[operand(&r, fn, 0)].kind, IR_VALUE_UNDEFINED);
    cr_assert_eq(operand(&r, in, 0), find_value(&r, 1, "p"));
    cr_assert_eq(r.m.values[operand(&r, in + 1, 0)].kind, IR_VALUE_UNDEFINED);
    reading_free(&r);
}

Test(onnx_read, an_undefined_name_is_one_value_per_graph)
{
    struct reading r;
    struct pb a = {0}, b = {0}, branch, g = {0};
    add_node(&a, "Relu", "u", "a1");
    add_node(&a, "Relu", "u", "a2");
    add_node(&b, "Relu", "u", "b1");
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", a);
    add_body(&branch, "else_branch", b);
    pb_sub(&g, 1, branch);
    add_input(&g, "x");
    read_graph(&r, g);
    cr_assert_eq(operand(&r, 1, 0), operand(&r, 2, 0));
    cr_assert_neq(operand(&r, 1, 0), operand(&r, 3, 0));
    cr_assert(str_is(ir_value_name(&r.m, operand(&r, 3, 0)), "u"));
    cr_assert_eq(r.m.n_values, 2 + 3 + 2);
    reading_free(&r);
}

Test(onnx_read, an_initializer_that_is_an_input_is_one_value)
{
    for (int input_first = 0; input_first < 2; input_first++) {
        struct reading r;
        struct pb g = {0};
        int64_t dims[] = {-1, -1};
        add_input(&g, "before");
        if (input_first)
            pb_sub(&g, 11, make_info("w", 2, dims));
        add_param(&g, "w", 4, 8);
        if (!input_first)
            pb_sub(&g, 11, make_info("w", 2, dims));
        add_param(&g, "v", 1, 1);
        read_graph(&r, g);
        cr_assert_eq(r.m.n_values, 3);
        cr_assert_eq(r.m.n_params, 2);
        cr_assert(r.m.params[0].graph_input);
        cr_assert(!r.m.params[1].graph_input);
        cr_assert_eq(r.m.graphs[0].n_inputs, 2);
        cr_assert_eq(r.m.graphs[0].inputs[1], r.m.params[0].value);
        cr_assert_eq(value(&r, 0, "w")->kind, IR_VALUE_PARAM);
        cr_assert_eq(value(&r, 0, "w")->def, 0);
        has_shape(&r, "w", 2, (int64_t[]){4, 8});
        cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
        reading_free(&r);
    }
}

Test(onnx_read, two_definitions_of_a_name_are_refused)
{
    struct pb g = {0};
    add_node(&g, "A", "", "twice");
    add_node(&g, "B", "", "twice");
    refuses(make_model(g), "'twice' but found two: output of a node, and output of a node");
    g = (struct pb){0};
    add_node(&g, "A", "", "twice,twice");
    refuses(make_model(g), "'twice'");
    g = (struct pb){0};
    add_param(&g, "w", 1, 1);
    add_param(&g, "w", 1, 1);
    refuses(make_model(g), "'w' but found two: initializer, and initializer");
    g = (struct pb){0};
    add_input(&g, "x");
    add_input(&g, "x");
    refuses(make_model(g), "'x' but found two: input, and input");
    g = (struct pb){0};
    add_param(&g, "w", 1, 1);
    add_input(&g, "w");
    add_input(&g, "w");
    refuses(make_model(g), "'w' but found two: initializer, and input");
    g = (struct pb){0};
    add_input(&g, "w");
    add_param(&g, "w", 1, 1);
    add_param(&g, "w", 1, 1);
    refuses(make_model(g), "'w' but found two: initializer, and initializer");
    g = (struct pb){0};
    add_node(&g, "A", "", "x");
    add_input(&g, "x");
    refuses(make_model(g), "'x' but found two: output of a node, and input");
    g = (struct pb){0};
    add_param(&g, "w", 1, 1);
    add_node(&g, "A", "", "w");
    refuses(make_model(g), "'w' but found two: initializer, and output of a node");
}

Test(onnx_read, the_place_of_a_second_definition)
{
    struct reading r;
    struct pb body = {0}, branch = make_node("If", "", "z"), g = {0};
    add_node(&body, "A", "", "t");
    add_node(&body, "B", "", "t");
    add_body(&branch, "then_branch", body);
    add_node(&g, "C", "", "c");
    pb_sub(&g, 1, branch);
    read_bytes(&r, make_model(g));
    cr_assert_eq(r.rc, IR_EINPUT);
    cr_assert_str_eq(r.d.items[0].field, "graph.node[1].then_branch.node[1]");
    cr_assert_eq(r.d.items[0].offset, r.m.nodes[3].off);
    reading_free(&r);
}

Test(onnx_read, what_has_no_name_is_nobody)
{
    struct reading r;
    struct pb g = {0};
    int64_t dims[] = {1};
    pb_sub(&g, 5, make_tensor(NULL, 1, 1, dims));
    pb_sub(&g, 5, make_tensor("", 1, 1, dims));
    add_input(&g, "");
    add_output(&g, "");
    add_node(&g, "Relu", ",", "y");
    read_graph(&r, g);
    cr_assert_eq(r.m.n_params, 2);
    cr_assert_eq(r.m.graphs[0].n_inputs, 1);
    cr_assert_eq(r.m.graphs[0].outputs[0], IR_NONE);
    cr_assert_eq(operand(&r, 0, 0), IR_NONE);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0, "%s", reading_message(&r));
    reading_free(&r);
}

/* ---- shapes and types */

Test(onnx_read, dims_of_initializers_packed_or_not)
{
    struct reading r;
    struct pb g = {0}, packed = {0}, t = {0};
    add_param(&g, "plain", 3, 5);
    pb_varint(&packed, 2);
    pb_varint(&packed, 7);
    pb_sub(&t, 1, packed);
    pb_int(&t, 1, 9); /* both forms in one list */
    pb_int(&t, 2, 16);
    pb_text(&t, 8, "packed");
    pb_sub(&g, 5, t);
    pb_sub(&g, 5, make_tensor("scalar", 7, 0, NULL));
    int64_t zero[] = {0, 4};
    pb_sub(&g, 5, make_tensor("zero", 7, 2, zero));
    read_graph(&r, g);
    has_shape(&r, "plain", 2, (int64_t[]){3, 5});
    has_shape(&r, "packed", 3, (int64_t[]){2, 7, 9});
    has_shape(&r, "scalar", 0, NULL);
    has_shape(&r, "zero", 2, zero);
    cr_assert_eq(value(&r, 0, "packed")->dtype, 16);
    cr_assert_eq(value(&r, 0, "plain")->dtype, 1);
    reading_free(&r);
}

Test(onnx_read, negative_dims_of_an_initializer_are_refused)
{
    struct pb g = {0};
    int64_t dims[] = {4, -1};
    pb_sub(&g, 5, make_tensor("we\nird", 1, 2, dims));
    refuses(make_model(g), "initializer 'we\\nird' has a negative dimension");
}

Test(onnx_read, a_rank_beyond_the_bound_is_unknown)
{
    struct reading r;
    struct pb g = {0};
    int64_t dims[IR_RANK_MAX + 1];
    for (size_t i = 0; i <= IR_RANK_MAX; i++)
        dims[i] = 1;
    pb_sub(&g, 5, make_tensor("over", 1, IR_RANK_MAX + 1, dims));
    pb_sub(&g, 5, make_tensor("at", 1, IR_RANK_MAX, dims));
    pb_sub(&g, 11, make_info("in", IR_RANK_MAX + 1, dims));
    read_graph(&r, g);
    has_shape(&r, "over", -1, NULL);
    has_shape(&r, "at", IR_RANK_MAX, dims);
    has_shape(&r, "in", -1, NULL);
    reading_free(&r);
}

Test(onnx_read, types_of_inputs_outputs_and_value_info)
{
    struct reading r;
    struct pb g = {0};
    int64_t xd[] = {-1, 4}, minus[] = {3};
    pb_sub(&g, 13, make_info("early", 2, xd)); /* before its definition */
    pb_sub(&g, 13, make_info("nobody", 1, xd));
    add_node(&g, "A", "x", "early");
    add_node(&g, "B", "x", "late");
    add_node(&g, "C", "x", "out");
    add_node(&g, "D", "x", "none");
    pb_sub(&g, 13, make_info("late", 1, minus));
    pb_sub(&g, 11, make_info("x", 2, xd));
    pb_sub(&g, 11, make_info("noshape", -1, NULL));
    pb_sub(&g, 11, make_info("scalar", 0, NULL));
    pb_sub(&g, 12, make_info("out", 2, (int64_t[]){5, 6}));
    pb_sub(&g, 13, make_info("out", 2, (int64_t[]){7, 8})); /* the first that knows */
    pb_sub(&g, 13, make_info("w", 1, minus));               /* never against an initializer */
    add_param(&g, "w", 4, 8);
    read_graph(&r, g);
    has_shape(&r, "early", 2, (int64_t[]){IR_DIM_UNKNOWN, 4});
    has_shape(&r, "late", 1, minus);
    has_shape(&r, "x", 2, (int64_t[]){IR_DIM_UNKNOWN, 4});
    has_shape(&r, "noshape", -1, NULL);
    has_shape(&r, "scalar", 0, NULL);
    has_shape(&r, "out", 2, (int64_t[]){5, 6});
    has_shape(&r, "none", -1, NULL);
    has_shape(&r, "w", 2, (int64_t[]){4, 8});
    cr_assert_eq(value(&r, 0, "noshape")->dtype, 1);
    cr_assert_eq(find_value(&r, 0, "nobody"), IR_NONE);
    cr_assert_eq(value(&r, 0, "early")->shape, value(&r, 0, "x")->shape, "equal shapes are one");
    reading_free(&r);
}

/* A ValueInfoProto around the bytes of a TypeProto. */
static struct pb info_of(const char *name, struct pb type)
{
    struct pb info = {0};
    pb_sub(&info, 2, type);
    pb_text(&info, 1, name);
    return info;
}

Test(onnx_read, odd_types)
{
    struct reading r;
    struct pb g = {0}, seq = {0}, elem = {0}, tensor = {0}, inner = {0}, t1 = {0}, t2 = {0}, both = {0},
              neg = {0};
    /* sequence(tensor): no shape of its own */
    pb_int(&tensor, 1, 1);
    pb_sub(&tensor, 2, (struct pb){0});
    pb_sub(&elem, 1, tensor);
    pb_sub(&inner, 1, elem);
    pb_sub(&seq, 4, inner);
    pb_sub(&g, 11, info_of("seq", seq));
    /* a tensor type in two parts merges; the shape's dims follow each other */
    struct pb shape1 = {0}, shape2 = {0}, d1 = {0}, d2 = {0};
    pb_int(&d1, 1, 3);
    pb_sub(&shape1, 1, d1);
    pb_sub(&t1, 2, shape1);
    pb_int(&d2, 1, 4);
    pb_text(&d2, 2, "N"); /* the last of a oneof counts */
    pb_sub(&shape2, 1, d2);
    pb_int(&t2, 1, 10);
    pb_sub(&t2, 2, shape2);
    pb_sub(&both, 1, t1);
    pb_sub(&both, 1, t2);
    pb_sub(&g, 11, info_of("both", both));
    /* a tensor type, then an optional type: the tensor type is gone */
    struct pb gone = {0}, t3 = {0};
    pb_int(&t3, 1, 1);
    pb_sub(&t3, 2, (struct pb){0});
    pb_sub(&gone, 1, t3);
    pb_sub(&gone, 9, (struct pb){0});
    pb_sub(&g, 11, info_of("gone", gone));
    /* a negative dimension in a type is unknown; a sparse tensor has a shape */
    struct pb nd = {0}, ns = {0}, nt = {0};
    pb_int(&nd, 1, (uint64_t)-1);
    pb_sub(&ns, 1, nd);
    pb_sub(&nt, 2, ns);
    pb_int(&nt, 1, 1);
    pb_sub(&neg, 8, nt);
    pb_sub(&g, 11, info_of("neg", neg));
    read_graph(&r, g);
    has_shape(&r, "seq", -1, NULL);
    has_shape(&r, "both", 2, (int64_t[]){3, IR_DIM_UNKNOWN});
    cr_assert_eq(value(&r, 0, "both")->dtype, 10);
    has_shape(&r, "gone", -1, NULL);
    has_shape(&r, "neg", 1, (int64_t[]){IR_DIM_UNKNOWN});
    reading_free(&r);
}

Test(onnx_read, value_info_of_functions_and_bodies)
{
    struct reading r;
    struct pb f = make_function("", "f", "p", "q"), m, body = {0}, branch = make_node("If", "", "z"), g = {0};
    int64_t d[] = {2, 3};
    pb_sub(&f, 7, make_node("Relu", "p", "q"));
    pb_sub(&f, 12, make_info("q", 2, d));
    pb_sub(&f, 12, make_info("p", 1, d));
    add_node(&body, "Relu", "", "b");
    pb_sub(&body, 13, make_info("z", 2, d)); /* of the outer graph: not this graph's to say */
    pb_sub(&body, 13, make_info("b", 2, d));
    add_body(&branch, "then_branch", body);
    pb_sub(&g, 1, branch);
    m = make_model(g);
    pb_sub(&m, 25, f);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    cr_assert_eq(r.m.shapes[value(&r, 1, "q")->shape].rank, 2);
    cr_assert_eq(r.m.shapes[value(&r, 1, "p")->shape].rank, 1);
    cr_assert_eq(value(&r, 0, "z")->shape, IR_SHAPE_UNKNOWN);
    cr_assert_eq(r.m.shapes[value(&r, 2, "b")->shape].rank, 2);
    reading_free(&r);
}

/* ---- tensor data */

/* A tensor of `dtype` with n bytes of raw_data, all `fill`; the type stands last, as some writers put it. */
static struct pb raw_tensor(const char *name, int dtype, size_t n, char fill)
{
    struct pb t = {0};
    char *data = malloc(n + 1);
    cr_assert_not_null(data);
    memset(data, fill, n + 1);
    pb_int(&t, 1, n);
    pb_bytes(&t, 9, data, n);
    pb_text(&t, 8, name);
    pb_int(&t, 2, (uint64_t)dtype);
    free(data);
    return t;
}

/* Expects m.data to be runs of these letters, in this order. */
static void data_is(const struct reading *r, const char *letters)
{
    cr_assert_eq(r->m.n_data, strlen(letters));
    for (size_t i = 0; i < r->m.n_data; i++) {
        struct ir_span s = r->m.data[i];
        cr_assert(i == 0 || s.off >= r->m.data[i - 1].off + r->m.data[i - 1].len, "spans ascend");
        cr_assert_eq(r->m.bytes[s.off], letters[i]);
        cr_assert_eq(r->m.bytes[s.off + s.len - 1], letters[i]);
        cr_assert_neq(r->m.bytes[s.off - 1], letters[i], "the span begins behind the length");
    }
}

Test(onnx_read, data_fields_of_every_kind)
{
    struct reading r;
    struct pb g = {0}, t = {0};
    pb_sub(&g, 5, raw_tensor("f", 1, 8, 'a'));
    pb_sub(&g, 5, raw_tensor("i", 7, 256, 'x')); /* small integers are no data */
    pb_sub(&g, 5, raw_tensor("j", 7, 257, 'b'));
    pb_sub(&g, 5, raw_tensor("u", 9, 8, 'x'));
    pb_sub(&g, 5, raw_tensor("h", 10, 2, 'c'));
    pb_sub(&g, 5, raw_tensor("n", 1, 0, 'x')); /* empty */
    pb_int(&t, 2, 1);
    pb_text(&t, 8, "typed");
    pb_bytes(&t, 4, "dddd", 4);
    pb_bytes(&t, 5, "eee", 3);
    pb_bytes(&t, 6, "f", 1);
    pb_bytes(&t, 6, "gg", 2);
    pb_bytes(&t, 7, "h", 1);
    pb_bytes(&t, 10, "iiiiiiii", 8);
    pb_bytes(&t, 11, "j", 1);
    pb_raw(&t, "\x25\0\0\0\0", 5); /* one float, not packed */
    pb_bytes(&t, 12, "doc", 3);
    pb_sub(&g, 5, t);
    read_graph(&r, g);
    data_is(&r, "abcdefghij");
    cr_assert_eq(r.m.params[0].bytes, 8);
    cr_assert_eq(r.m.params[5].bytes, 0);
    cr_assert_eq(r.m.params[6].bytes, 4 + 3 + 1 + 2 + 1 + 8 + 1);
    cr_assert(!r.m.params[0].external);
    has_prefix(&r, r.m.params[0].span);
    reading_free(&r);
}

static struct pb sparse_tensor(char values, char indices)
{
    struct pb s = {0};
    pb_sub(&s, 1, raw_tensor("sparse", 1, 4, values));
    pb_sub(&s, 2, raw_tensor("", 7, 512, indices));
    pb_int(&s, 3, 10);
    pb_int(&s, 3, 20);
    return s;
}

Test(onnx_read, data_fields_everywhere)
{
    struct reading r;
    struct pb g = {0}, n = make_node("Constant", "", "c"), a = {0}, b = {0}, body = {0}, f, def = {0},
              m = {0}, training = {0}, tg = {0}, tn = make_node("If", "", "t"), tb = {0};
    pb_sub(&a, 5, raw_tensor("t", 1, 4, 'b'));
    pb_sub(&a, 10, raw_tensor("t", 1, 4, 'c'));
    pb_sub(&a, 22, sparse_tensor('d', 'e'));
    pb_sub(&a, 23, sparse_tensor('f', 'g'));
    pb_text(&a, 1, "value");
    pb_sub(&n, 5, a);
    pb_sub(&body, 5, raw_tensor("b", 1, 4, 'h'));
    pb_text(&b, 1, "body");
    pb_sub(&b, 6, body);
    pb_sub(&n, 5, b);
    pb_sub(&g, 1, n);
    pb_sub(&g, 5, raw_tensor("w", 1, 4, 'i'));
    pb_sub(&g, 15, sparse_tensor('j', 'k'));
    f = make_function("", "f", "", "");
    pb_text(&def, 1, "default");
    pb_sub(&def, 5, raw_tensor("t", 1, 4, 'l'));
    pb_sub(&f, 11, def);
    pb_sub(&tb, 5, raw_tensor("b", 1, 4, 'a'));
    add_body(&tn, "body", tb);
    pb_sub(&tg, 1, tn);
    pb_sub(&training, 2, tg);
    pb_sub(&m, 20, training); /* before the graph */
    pb_sub(&m, 7, g);
    pb_sub(&m, 25, f);
    struct pb init = {0}, last = {0}, ln = make_node("Constant", "", "c"), la = {0};
    pb_sub(&la, 22, sparse_tensor('m', 'n'));
    pb_sub(&la, 10, raw_tensor("t", 1, 4, 'o'));
    pb_sub(&ln, 5, la);
    pb_sub(&last, 1, ln);
    pb_sub(&last, 5, raw_tensor("b", 1, 4, 'p'));
    pb_sub(&last, 15, sparse_tensor('q', 'r'));
    pb_sub(&init, 1, last);
    pb_sub(&m, 20, init);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    data_is(&r, "abcdefghijklmnopqr");
    cr_assert_eq(r.m.n_nodes, 1, "training_info is no part of the graph");
    cr_assert_eq(r.m.n_params, 3);
    reading_free(&r);
}

Test(onnx_read, sparse_initializers)
{
    struct reading r;
    struct pb g = {0};
    pb_sub(&g, 15, sparse_tensor('a', 'b'));
    add_node(&g, "MatMul", "sparse,sparse", "y");
    read_graph(&r, g);
    cr_assert(r.m.params[0].sparse);
    cr_assert_eq(operand(&r, 0, 1), r.m.params[0].value);
    has_shape(&r, "sparse", 2, (int64_t[]){10, 20});
    cr_assert_eq(r.m.params[0].bytes, 4);
    has_prefix(&r, r.m.data[0]);
    reading_free(&r);
}

static struct pb external_tensor(const char *name, const char *length)
{
    int64_t dims[] = {1000, 1000};
    struct pb t = make_tensor(name, 1, 2, dims);
    pb_entry(&t, 13, "location", "weights.bin");
    pb_entry(&t, 13, "length", length);
    pb_int(&t, 14, 1);
    return t;
}

Test(onnx_read, external_data)
{
    struct reading r;
    struct pb g = {0}, n = make_node("Constant", "", "c"), a = {0}, sparse = {0};
    pb_sub(&a, 5, external_tensor("t", "1"));
    pb_text(&a, 1, "value");
    pb_sub(&n, 5, a);
    pb_sub(&g, 1, n);
    pb_sub(&g, 5, external_tensor("w", "4000000"));
    pb_sub(&g, 5, external_tensor("odd", "4 thousand"));
    pb_sub(&g, 5, external_tensor("huge", "99999999999999999999"));
    pb_sub(&g, 5, raw_tensor("inline", 1, 4, 'a'));
    pb_sub(&sparse, 1, external_tensor("s", "8"));
    pb_sub(&g, 15, sparse);
    read_graph(&r, g);
    cr_assert_eq(r.m.n_external, 5);
    for (uint32_t i = 1; i < r.m.n_external; i++)
        cr_assert_gt(r.m.external[i].off, r.m.external[i - 1].off);
    has_prefix(&r, r.m.external[0]);
    cr_assert_eq(r.m.params[0].span.off, r.m.external[1].off);
    cr_assert(r.m.params[0].external);
    cr_assert_eq(r.m.params[0].bytes, 4000000);
    cr_assert_eq(r.m.params[1].bytes, 0);
    cr_assert_eq(r.m.params[2].bytes, 0);
    cr_assert(!r.m.params[3].external);
    cr_assert(r.m.params[4].external);
    data_is(&r, "a");
    reading_free(&r);
}

/* ---- model metadata */

Test(onnx_read, metadata_entries_with_their_spans)
{
    struct reading r;
    struct pb m = {0}, odd = {0};
    pb_entry(&m, 14, "a", "1");
    pb_sub(&m, 7, (struct pb){0});
    pb_text(&odd, 2, "no key");
    pb_sub_wide(&m, 14, odd, 3);
    pb_entry(&m, 14, "a", "2");
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    cr_assert_eq(r.m.n_meta, 3);
    cr_assert(str_is(ir_meta(&r.m, "a")->value, "2"));
    cr_assert_eq(r.m.meta[1].key.n, 0);
    cr_assert_eq(r.m.meta[0].span.off, 0);
    cr_assert_eq(r.m.meta[0].span.len, 2 + 6);
    cr_assert_eq(r.m.meta[1].span.off, 8 + 2);
    cr_assert_eq(r.m.meta[1].span.len, 1 + 3 + 8);
    cr_assert_eq(r.m.meta[2].span.off + r.m.meta[2].span.len, r.m.size);
    reading_free(&r);
}

/* ---- refusals */

static struct pb text(const char *z)
{
    struct pb p = {0};
    pb_raw(&p, z, strlen(z));
    return p;
}

Test(onnx_read, files_that_are_no_model)
{
    refuses((struct pb){0}, "no ONNX model: the file is empty");
    refuses(text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
            "run `git lfs pull`");
    refuses(text("hello, this is a text file\n"), "it looks like a text file");
    refuses(text("\n"), "no ONNX model");
    struct pb p = {0};
    pb_int(&p, 1, 8);
    pb_text(&p, 2, "pytorch");
    refuses(p, "no ONNX model: no graph field");
    p = (struct pb){0};
    pb_text(&p, 1, "a graph alone");
    pb_int(&p, 3, 1);
    refuses(p, "no graph field");
    p = (struct pb){0};
    pb_raw(&p, "\x1f\x8b\x08\0\0\0\0\0", 8);
    refuses(p, "gzip");
    p = (struct pb){0};
    pb_int(&p, 7, 5); /* `graph` of another wire type is no graph */
    refuses(p, "no graph field");
}

static struct pb good_model(void)
{
    struct pb body = {0}, branch = make_node("If", "x", "z"), g = {0}, a = {0}, m, opset = {0}, f;
    int64_t d[] = {2, -1};
    add_node(&body, "Relu", "x", "b");
    pb_sub(&body, 5, raw_tensor("bw", 1, 4, 'a'));
    add_body(&branch, "then_branch", body);
    pb_text(&a, 1, "ints");
    pb_bytes(&a, 8, "\1\2\3", 3);
    pb_sub(&branch, 5, a);
    pb_sub(&g, 1, branch);
    pb_sub(&g, 5, raw_tensor("w", 7, 8, 'b'));
    pb_sub(&g, 5, external_tensor("e", "5"));
    pb_sub(&g, 15, sparse_tensor('c', 'd'));
    pb_sub(&g, 11, make_info("x", 2, d));
    pb_sub(&g, 12, make_info("z", 2, d));
    m = make_model(g);
    pb_int(&opset, 2, 17);
    pb_sub(&m, 8, opset);
    pb_entry(&m, 14, "k", "v");
    f = make_function("my", "f", "p", "q");
    pb_sub(&f, 7, make_node("Relu", "p", "q"));
    pb_sub(&m, 25, f);
    return m;
}

Test(onnx_read, every_truncation_is_refused_or_a_shorter_model)
{
    struct pb whole = good_model();
    size_t read = 0;
    for (size_t n = 0; n < whole.n; n++) {
        struct pb cut = {0};
        struct reading r;
        pb_raw(&cut, whole.b, n);
        read_bytes(&r, cut);
        cr_assert(r.rc == 0 || (r.rc == IR_EINPUT && r.d.n == 1), "%zu bytes: %d", n, r.rc);
        read += r.rc == 0;
        reading_free(&r);
    }
    cr_assert_eq(read, 3, "cut after the graph, the opset and the metadata");
    pb_free(&whole);
}

Test(onnx_read, a_truncated_file_is_called_so)
{
    struct reading r;
    struct pb whole = good_model(), cut = {0};
    pb_raw(&cut, whole.b, whole.n / 2);
    read_bytes(&r, cut);
    cr_assert_eq(r.rc, IR_EINPUT);
    cr_assert_not_null(strstr(reading_message(&r), "end of the file"));
    cr_assert_eq(r.d.items[0].offset, 2, "the graph field begins there");
    reading_free(&r);
    pb_free(&whole);
}

/* Any one byte of a good model replaced by a few others: read or refused, never worse. */
Test(onnx_read, any_byte_may_be_wrong)
{
    struct pb whole = good_model();
    size_t refused = 0;
    for (size_t i = 0; i < whole.n; i++) {
        const uint8_t other[] = {0, 0x7f, 0x80, 0xff, (uint8_t)(whole.b[i] + 1), (uint8_t)(whole.b[i] ^ 1)};
        for (size_t k = 0; k < sizeof other; k++) {
            struct pb p = {0};
            struct reading r;
            pb_raw(&p, whole.b, whole.n);
            p.b[i] = other[k];
            read_bytes(&r, p);
            cr_assert(r.rc == 0 || (r.rc == IR_EINPUT && r.d.n == 1));
            for (uint32_t n = 0; r.rc == 0 && n < r.m.n_nodes; n++) {
                struct ir_attr a;
                struct str s;
                r.m.source->attr(&r.m, n, "ints", &a);
                r.m.source->meta(&r.m, n, "k", &s);
            }
            int v = r.rc == 0 ? ir_verify(&r.m, &r.d) : 0;
            cr_assert(v == 0 || strstr(r.d.items[r.d.n - 1].message, "expected a definition"), "%s",
                      r.d.items[r.d.n - 1].message);
            refused += r.rc != 0;
            reading_free(&r);
        }
    }
    cr_assert_gt(refused, whole.n);
    pb_free(&whole);
}

Test(onnx_read, malformed_records_are_placed)
{
    struct {
        unsigned field;
        const char *bytes;
        size_t n;
        const char *place;
    } cases[] = {
        {1, "\x0a\x7f", 2, "graph.node[0]"},                  /* node */
        {1, "\x2a\x02\x0a\x7f", 4, "graph.node[0]"},          /* attribute */
        {1, "\x2a\x04\x2a\x02\x0a\x7f", 6, "graph.node[0]"},  /* its tensor's dims */
        {5, "\x0f", 1, "graph"},                              /* initializer */
        {5, "\x6a\x02\x0a\x7f", 4, "graph"},                  /* external_data */
        {5, "\x0a\x01\x80", 3, "graph"},                      /* packed dims */
        {11, "\x12\x02\x0a\x7f", 4, "graph"},                 /* type */
        {11, "\x12\x04\x0a\x02\x12\x7f", 6, "graph"},         /* shape */
        {13, "\x12\x06\x0a\x04\x12\x02\x0a\x7f", 8, "graph"}, /* dim */
        {15, "\x0a\x02\x0a\x7f", 4, "graph"},                 /* sparse values */
        {15, "\x1a\x01\x80", 3, "graph"},                     /* sparse dims */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r;
        struct pb g = {0};
        pb_bytes(&g, cases[i].field, cases[i].bytes, cases[i].n);
        read_bytes(&r, make_model(g));
        cr_assert_eq(r.rc, IR_EINPUT, "case %zu", i);
        cr_assert_eq(r.d.n, 1);
        cr_assert(strstr(reading_message(&r), "malformed"), "case %zu: %s", i, reading_message(&r));
        cr_assert_str_eq(r.d.items[0].field, cases[i].place, "case %zu", i);
        cr_assert(r.d.items[0].offset > 5 && r.d.items[0].offset < r.m.size, "case %zu: offset %zu", i,
                  (size_t)r.d.items[0].offset);
        reading_free(&r);
    }
}

Test(onnx_read, malformed_records_of_the_model)
{
    const unsigned fields[] = {8, 14, 20, 25};
    for (size_t i = 0; i < 4; i++) {
        struct pb m = make_model((struct pb){0});
        pb_bytes(&m, fields[i], "\x0a\x7f", 2);
        refuses(m, "malformed");
    }
    struct pb m = make_model((struct pb){0}), t = {0};
    pb_bytes(&t, 1, "\x0a\x02\x2a\x7f", 4); /* training_info: a node in its graph */
    pb_sub(&m, 20, t);
    refuses(m, "malformed");
}

/* ---- limits */

/* Graphs nested `depth` deep below the main graph; built from the inside. */
static struct pb nested(unsigned depth)
{
    struct pb g = {0};
    add_node(&g, "Relu", "x", "y");
    for (unsigned i = 0; i < depth; i++) {
        struct pb n = make_node("If", "x", "y"), outer = {0};
        add_body(&n, "then_branch", g);
        pb_sub(&outer, 1, n);
        g = outer;
    }
    add_input(&g, "x");
    return make_model(g);
}

Test(onnx_read, depth_is_limited)
{
    struct reading r;
    read_bytes(&r, nested(ONNX_MAX_DEPTH));
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.graphs[ONNX_MAX_DEPTH].depth, ONNX_MAX_DEPTH);
    cr_assert_eq(operand(&r, ONNX_MAX_DEPTH, 0), r.m.graphs[0].inputs[0]);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
    refuses(nested(ONNX_MAX_DEPTH + 1), "nested more than 64 deep");
    refuses(nested(3000), "nested more than 64 deep");
    struct onnx_limits deep = {.max_depth = 5000};
    read_limited(&r, nested(3000), &deep, 0);
    cr_assert_eq(r.rc, 0, "%s", reading_message(&r));
    cr_assert_eq(r.m.n_graphs, 3001);
    reading_free(&r);
}

Test(onnx_read, the_place_in_deep_graphs_is_cut_not_copied_without_end)
{
    struct reading r;
    char *name = calloc(1, 5001);
    cr_assert_not_null(name);
    memset(name, 'n', 5000);
    struct pb g = {0};
    pb_bytes(&g, 1, "\x0a\x7f", 2); /* malformed, in the innermost */
    for (unsigned i = 0; i < 20; i++) {
        struct pb n = make_node("If", "", "y"), outer = {0};
        add_body(&n, name, g);
        pb_sub(&outer, 1, n);
        g = outer;
    }
    free(name);
    read_bytes(&r, make_model(g));
    cr_assert_eq(r.rc, IR_EINPUT);
    cr_assert_leq(strlen(r.d.items[0].field), DIAG_TEXT_MAX);
    cr_assert_eq(strncmp(r.d.items[0].field, "....nnn", 7), 0);
    cr_assert_lt(r.m.arena.total, 1 << 20);
    reading_free(&r);
}

Test(onnx_read, graphs_in_training_info_may_nest_without_end)
{
    struct reading r;
    struct pb g = {0}, t = {0}, m = make_model((struct pb){0});
    pb_sub(&g, 5, raw_tensor("w", 1, 4, 'a'));
    for (unsigned i = 0; i < 3000; i++) {
        struct pb n = make_node("If", "x", "y"), outer = {0};
        add_body(&n, "then_branch", g);
        pb_sub(&outer, 1, n);
        g = outer;
    }
    pb_sub(&t, 2, g);
    pb_sub(&m, 20, t);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    data_is(&r, "a");
    reading_free(&r);
}

Test(onnx_read, nodes_are_limited)
{
    struct onnx_limits few = {.max_nodes = 10};
    for (unsigned n = 10; n <= 11; n++) {
        struct reading r;
        struct pb g = {0};
        for (unsigned i = 0; i < n; i++)
            pb_sub(&g, 1, (struct pb){0});
        read_limited(&r, make_model(g), &few, 0);
        cr_assert_eq(r.rc, n == 10 ? 0 : IR_EINPUT);
        if (n == 11)
            cr_assert_str_eq(reading_message(&r), "there are more than 10 nodes");
        reading_free(&r);
    }
}

Test(onnx_read, memory_is_limited)
{
    struct pb g = {0}, part = {0};
    for (unsigned i = 0; i < 100000; i++) {
        pb_sub(&part, 1, (struct pb){0}); /* 2 bytes a node */
        pb_move(&g, &part, i + 1 == 100000);
    }
    struct reading r;
    read_limited(&r, make_model(g), NULL, 1 << 20);
    cr_assert_eq(r.rc, IR_EINPUT);
    cr_assert_not_null(strstr(reading_message(&r), "more memory than the limit of 1048576 bytes"));
    cr_assert_eq(r.d.n, 1);
    reading_free(&r);
}

Test(onnx_read, memory_may_end_anywhere)
{
    int rc = IR_EMEM;
    for (size_t limit = 1; rc; limit += 97) {
        struct reading r;
        read_limited(&r, good_model(), NULL, limit);
        rc = r.rc;
        cr_assert(rc == 0 || ((rc == IR_EINPUT || rc == IR_EMEM) && r.d.n == 1), "limit %zu: %d, %zu", limit,
                  rc, r.d.n);
        reading_free(&r);
        cr_assert_lt(limit, 1 << 20);
    }
}

/* ---- linear time: each of these takes hours when something is quadratic */

Test(onnx_read, many_sibling_bodies)
{
    enum { N = 100000 };
    struct reading r;
    struct pb attr = {0}, n = make_node("Switch", "x", "y"), g = {0}, body = {0}, part = {0};
    add_node(&body, "Relu", "x", "b");
    for (unsigned i = 0; i < N; i++) {
        pb_bytes(&part, 11, body.b, body.n);
        pb_move(&attr, &part, i + 1 == N);
    }
    pb_free(&body);
    pb_text(&attr, 1, "branches");
    pb_sub(&n, 5, attr);
    pb_sub(&g, 1, n);
    add_input(&g, "x");
    for (unsigned i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        add_param(&part, name, 1, 1);
        pb_move(&g, &part, i + 1 == N);
    }
    read_graph(&r, g);
    cr_assert_eq(r.m.n_graphs, N + 1);
    cr_assert_eq(operand(&r, N, 0), find_value(&r, 0, "x"));
    cr_assert_eq(r.m.graphs[N].attr_index, N - 1);
    cr_assert_eq(ir_verify(&r.m, &r.d), 0);
    reading_free(&r);
}

Test(onnx_read, deep_chains_of_graphs_full_of_names)
{
    enum { DEPTH = 60, NAMES = 2000 };
    struct reading r;
    struct pb g = {0};
    for (unsigned i = 0; i < DEPTH; i++) {
        struct pb outer = {0}, part = {0};
        for (unsigned k = 0; k < NAMES; k++) {
            char name[16];
            snprintf(name, sizeof name, "v%u", k); /* the same in each graph: all hide the outer ones */
            add_node(&part, "Relu", i % 2 ? name : "x", k ? name : "first");
            pb_move(&outer, &part, k + 1 == NAMES);
        }
        struct pb n = make_node("If", "x", "y");
        add_body(&n, "then_branch", g);
        pb_sub(&outer, 1, n);
        g = outer;
    }
    add_input(&g, "x");
    read_graph(&r, g);
    cr_assert_eq(r.m.n_nodes, DEPTH * (NAMES + 1));
    reading_free(&r);
}

Test(onnx_read, value_info_in_any_order)
{
    enum { N = 50000 };
    struct reading r;
    struct pb g = {0}, part = {0};
    int64_t d[] = {3};
    char name[16];
    for (unsigned i = 0; i < N; i++) { /* all before the definitions, backwards */
        snprintf(name, sizeof name, "v%u", N - 1 - i);
        pb_sub(&part, 13, make_info(name, 1, d));
        pb_move(&g, &part, false);
    }
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof name, "v%u", i);
        add_node(&part, "Relu", "", name);
        pb_move(&g, &part, i + 1 == N);
    }
    read_graph(&r, g);
    cr_assert_eq(r.m.n_shapes, 2);
    for (uint32_t v = 0; v < N; v++)
        cr_assert_eq(r.m.values[v].shape, 1);
    reading_free(&r);
}
