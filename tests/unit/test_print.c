#include "ir/ir.h"

#include "tests/unit/onnx_build.h"

struct buffer {
    char text[8192];
    size_t n;
    size_t stop; /* returns 7 once more than this came */
};

static int put(void *ctx, const char *text, size_t n)
{
    struct buffer *b = ctx;
    cr_assert_lt(b->n + n, sizeof b->text);
    memcpy(b->text + b->n, text, n);
    b->n += n;
    b->text[b->n] = '\0';
    return b->stop && b->n > b->stop ? 7 : 0;
}

static struct pb small_graph(void)
{
    struct pb body = {0}, branch = {0}, g = {0};
    int64_t dims[] = {-1, 4};
    add_node(&g, "MatMul", "x,w", "y");
    add_node(&body, "Relu", "y", "b");
    add_output(&body, "b");
    branch = make_node("If", "c,,gone", "z");
    pb_text(&branch, 7, "my.domain");
    add_body(&branch, "then\"branch", body);
    pb_sub(&g, 1, branch);
    pb_text(&g, 2, "gr\nph");
    add_param(&g, "w", 4, 8);
    pb_sub(&g, 11, make_info("x", 2, dims));
    pb_sub(&g, 11, make_info("c", 0, NULL));
    add_output(&g, "z");
    return g;
}

Test(print, text_form)
{
    struct reading r;
    struct buffer b = {.n = 0};
    struct pb m = make_model(small_graph()), opset = {0};
    pb_text(&m, 2, "py\ttorch");
    pb_text(&opset, 1, "my.domain");
    pb_int(&opset, 2, 3);
    pb_sub(&m, 8, opset);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    cr_assert_eq(ir_print(&r.m, put, &b), 0);
    cr_assert_str_eq(b.text, "model onnx ir 8 'py\\ttorch' ''\n"
                             "opset 'my.domain' 3\n"
                             "graph 0 - 'gr\\nph'\n"
                             "  in (%x float32[?,4], %c float32[])\n"
                             "  param %w float32[4,8] 0 bytes\n"
                             "  0 MatMul 'y' (%x, %w) -> (%y ?[..])\n"
                             "  1 my.domain:If 'z' (%c, _, %gone?) -> (%z float32[..]) then\"branch=graph 1\n"
                             "  out (%z float32[..])\n"
                             "graph 1 /1:If/then\"branch '' runs unknown\n"
                             "  in ()\n"
                             "  0 Relu 'b' (%y@0) -> (%b float32[..])\n"
                             "  out (%b float32[..])\n");
    reading_free(&r);
}

Test(print, functions_and_parameters)
{
    struct reading r;
    struct buffer b = {.n = 0};
    struct pb g = {0}, f = {0}, m, call = make_node("Lin\"ear", "w", "y"), ext, sparse = {0}, attr = {0};
    int64_t dims[] = {2};
    pb_text(&call, 7, "my");
    pb_text(&call, 8, "v2");
    pb_sub(&g, 1, call);
    add_param(&g, "w", 4, 8);
    add_input(&g, "w");
    ext = make_tensor("e", 10, 1, dims);
    pb_int(&ext, 14, 1);
    pb_entry(&ext, 13, "length", "4");
    pb_sub(&g, 5, ext);
    pb_sub(&sparse, 1, make_tensor("s", 99, 1, dims));
    pb_int(&sparse, 3, 9);
    pb_sub(&g, 15, sparse);
    pb_text(&f, 1, "Lin\"ear");
    pb_text(&f, 10, "my");
    pb_text(&f, 13, "v2");
    pb_text(&f, 6, "axis");
    pb_text(&attr, 1, "alpha");
    pb_sub(&f, 11, attr);
    m = make_model(g);
    pb_sub(&m, 25, f);
    read_bytes(&r, m);
    cr_assert_eq(r.rc, 0);
    cr_assert_eq(ir_print(&r.m, put, &b), 0);
    cr_assert_str_eq(b.text, "model onnx ir 8 '' ''\n"
                             "graph 0 - ''\n"
                             "  in (%w float32[4,8])\n"
                             "  param %w float32[4,8] 0 bytes input\n"
                             "  param %e float16[2] 4 bytes external\n"
                             "  param %s ?[9] 0 bytes sparse\n"
                             "  0 my:Lin\"ear:v2 'y' (%w) -> (%y ?[..])\n"
                             "  out ()\n"
                             "graph 1 fn:my:Lin\"ear:v2 'Lin\"ear'\n"
                             "  in ()\n"
                             "  attr axis\n"
                             "  attr alpha\n"
                             "  out ()\n");
    b.n = 0;
    cr_assert_eq(ir_dot(&r.m, NULL, NULL, put, &b), 0);
    cr_assert_not_null(strstr(b.text, "n0 [label=\"my:Lin\\\"ear:v2\\ny\"];"));
    cr_assert_null(strstr(b.text, "ellipse"), "a parameter that is an input is a parameter");
    reading_free(&r);
}

static const char *red(void *ctx, uint32_t node)
{
    return node == *(const uint32_t *)ctx ? "red" : NULL;
}

Test(print, graphviz)
{
    struct reading r;
    struct buffer b = {.n = 0};
    uint32_t painted = 0;
    read_graph(&r, small_graph());
    cr_assert_eq(ir_dot(&r.m, red, &painted, put, &b), 0);
    cr_assert_str_eq(b.text, "digraph model {\n"
                             "  compound=true;\n"
                             "  node [shape=box];\n"
                             "  subgraph cluster0 {\n"
                             "    label=\"-\";\n"
                             "    v3 [shape=ellipse, label=\"x\"];\n"
                             "    v4 [shape=ellipse, label=\"c\"];\n"
                             "    n0 [label=\"MatMul\\ny\", style=filled, fillcolor=\"red\"];\n"
                             "    n1 [label=\"my.domain:If\\nz\"];\n"
                             "  }\n"
                             "  subgraph cluster1 {\n"
                             "    label=\"/1:If/then\\\"branch\";\n"
                             "    n2 [label=\"Relu\\nb\"];\n"
                             "  }\n"
                             "  v3 -> n0;\n"
                             "  v4 -> n1;\n"
                             "  n1 -> n2 [style=dashed, lhead=cluster1];\n"
                             "  n0 -> n2;\n"
                             "}\n");
    reading_free(&r);
}

Test(print, names_of_any_length_are_whole)
{
    struct reading r;
    struct buffer b = {.n = 0};
    struct pb g = {0};
    char name[1201], want[4096] = "";
    for (size_t i = 0; i < 1200; i += 4)
        memcpy(name + i, i % 8 ? "\xe2\x82\xac\n" : "ab\xc3\xa9", 4);
    name[1200] = '\0';
    str_escape(want, sizeof want, str_of(name));
    add_node(&g, "Relu", "", name);
    read_graph(&r, g);
    cr_assert_eq(ir_print(&r.m, put, &b), 0);
    cr_assert_not_null(strstr(b.text, want));
    b.n = 0;
    cr_assert_eq(ir_dot(&r.m, NULL, NULL, put, &b), 0);
    cr_assert_null(strchr(b.text, '\x01'));
    reading_free(&r);
}

Test(print, stops_when_told)
{
    struct reading r;
    struct buffer b = {.n = 0, .stop = 1};
    read_graph(&r, small_graph());
    cr_assert_eq(ir_print(&r.m, put, &b), 7);
    cr_assert_lt(b.n, 20);
    b.n = 0;
    cr_assert_eq(ir_dot(&r.m, NULL, NULL, put, &b), 7);
    reading_free(&r);
}
