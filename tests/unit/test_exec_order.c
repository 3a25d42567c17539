/* Execution order where a tool wrote the nodes in another (passes/order.c). */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>

static struct bench b;

static void setup(void)
{
    bench_init(&b);
    b.o.whole = true;
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(exec_order, .init = setup, .fini = teardown);

#define assert_order(want)                                                                                   \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_columns(&b, "nr"), want);                                                          \
    } while (0)

/* wk before wq, as ONNX Runtime re-saves them; the exporter's numbers still tell. */
#define REORDERED                                                                                            \
    "producer pytorch\nopset - 17\nopset com.microsoft 1\nin x f32[2,8]\nparam onnx::MatMul_11 f32[8,8]\n"   \
    "param onnx::MatMul_12 f32[8,8]\nparam onnx::MatMul_20 f32[8,8]\n"                                       \
    "/wk/MatMul: k = MatMul(x,onnx::MatMul_12)\n/wq/MatMul: q = MatMul(x,onnx::MatMul_11)\n"                 \
    "a = com.microsoft::Mix(q,k)\n/wo/MatMul: y = MatMul(a,onnx::MatMul_20)\nout y"

Test(exec_order, by_numbers)
{
    bench_add(&b, REORDERED);
    assert_order("/wq/MatMul odd:1\n/wk/MatMul even:2\n/wo/MatMul odd:3\n");
    assert_says(
        &b, DIAG_NOTE,
        "(re-saved by ONNX Runtime): order recovered from the exporter's numbers of 3 weights and of nodes");
}

Test(exec_order, file)
{
    bench_add(&b, REORDERED);
    b.o.file_order = true;
    assert_order("/wk/MatMul odd:1\n/wq/MatMul even:2\n/wo/MatMul odd:3\n");
    assert_silent(&b, DIAG_NOTE, "order");
}

/* Direct exports rise: nothing to say. */
Test(exec_order, rising)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_3 f32[8,8]\nparam onnx::MatMul_10 f32[8,8]\nA: a = "
                  "MatMul(x,onnx::MatMul_3)\n"
                  "B: y = MatMul(a,onnx::MatMul_10)\nout y");
    assert_order("A odd:1\nB even:2\n");
    assert_silent(&b, DIAG_NOTE, "order");
}

/* One weight used twice rises too. */
Test(exec_order, shared_weight)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_3 f32[8,8]\nparam onnx::MatMul_4 f32[8,8]\nA: a = "
                  "MatMul(x,onnx::MatMul_3)\n"
                  "B: c = MatMul(a,onnx::MatMul_3)\nC: y = MatMul(c,onnx::MatMul_4)\nout y");
    assert_order("A odd:1\nB even:2\nC odd:3\n");
    assert_silent(&b, DIAG_NOTE, "order");
}

/* A module that is called twice uses each weight twice: one call after the other. */
#define TWO_CALLS                                                                                            \
    "in x f32[2,8]\nin z f32[2,8]\nparam onnx::MatMul_3 f32[8,8]\nparam onnx::MatMul_4 f32[8,8]\n"           \
    "param onnx::MatMul_9 f32[8,8]\n"

Test(exec_order, two_calls_in_order)
{
    bench_add(&b, TWO_CALLS
              "/e/q/MatMul: a = MatMul(x,onnx::MatMul_3)\n/e/k/MatMul: c = MatMul(a,onnx::MatMul_4)\n"
              "/e/q_1/MatMul: d = MatMul(z,onnx::MatMul_3)\n/e/k_1/MatMul: e = MatMul(d,onnx::MatMul_4)\nf = "
              "Add(c,e)\n"
              "/head/MatMul: y = MatMul(f,onnx::MatMul_9)\nout y");
    assert_order("/e/q/MatMul odd:1\n/e/k/MatMul even:2\n/e/q_1/MatMul odd:3\n/e/k_1/MatMul "
                 "even:4\n/head/MatMul odd:5\n");
    assert_silent(&b, DIAG_NOTE, "order");
}

Test(exec_order, two_calls_mixed_up)
{
    bench_add(&b, TWO_CALLS
              "/e/k_1/MatMul: e = MatMul(z,onnx::MatMul_4)\n/e/q_1/MatMul: d = MatMul(z,onnx::MatMul_3)\n"
              "/e/k/MatMul: c = MatMul(x,onnx::MatMul_4)\n/e/q/MatMul: a = MatMul(x,onnx::MatMul_3)\nf = "
              "my::Mix(a,c,d,e)\n"
              "/head/MatMul: y = MatMul(f,onnx::MatMul_9)\nout y");
    assert_order("/e/q/MatMul odd:1\n/e/k/MatMul even:2\n/e/q_1/MatMul odd:3\n/e/k_1/MatMul "
                 "even:4\n/head/MatMul odd:5\n");
    assert_says(&b, DIAG_NOTE, "order recovered");
}

/* What needs something waits for it, whatever its number. */
Test(exec_order, needs_come_first)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_9 f32[8,8]\nparam onnx::MatMul_5 f32[8,8]\nparam "
                  "onnx::MatMul_7 f32[8,8]\n"
                  "A: a = MatMul(x,onnx::MatMul_9)\nB: c = MatMul(a,onnx::MatMul_5)\nC: y = "
                  "MatMul(x,onnx::MatMul_7)\nz = Add(c,y)\nout z");
    assert_order("A odd:1\nB even:2\nC odd:3\n");
}

/* mms without a number run when something that has one needs them. */
Test(exec_order, unnumbered_between)
{
    bench_add(
        &b, "in x f32[2,8]\nparam onnx::MatMul_9 f32[8,8]\nparam onnx::MatMul_5 f32[8,8]\nparam w f32[8,8]\n"
            "L: c = MatMul(x,onnx::MatMul_9)\nA: a = MatMul(x,w)\nB: y = MatMul(a,onnx::MatMul_5)\nz = "
            "Add(c,y)\nout z");
    assert_order("A odd:1\nB even:2\nL odd:3\n");
}

/* In one scope the exporter has numbered the nodes as well, which is stronger: halves of a weight have their
 * numbers from folding. */
Test(exec_order, by_numbers_of_nodes)
{
    bench_add(
        &b,
        "producer pytorch\nopset - 17\nopset com.microsoft 1\nin x f32[2,8]\nparam w f32[8,8]\n"
        "param v f32[8,8]\nparam onnx::MatMul_3 f32[8,8]\nparam onnx::MatMul_4 f32[8,8]\n"
        "/e/MatMul_1: a = MatMul(x,v)\n/e/MatMul: c = MatMul(x,w)\n"
        "/f/MatMul_1: d = MatMul(x,onnx::MatMul_3)\n/f/MatMul/MatMulScaleFusion: e = MatMul(a,onnx::MatMul_4)\n"
        "y = my::Mix(a,c,d,e)\nout y");
    assert_order("/e/MatMul odd:1;assumed-order\n/e/MatMul_1 even:2;assumed-order\n"
                 "/f/MatMul/MatMulScaleFusion odd:3;assumed-order\n/f/MatMul_1 even:4;assumed-order\n");
    assert_says(&b, DIAG_NOTE, "order recovered");
}

/* Such numbers say nothing of other mms either. */
Test(exec_order, numbers_of_halves)
{
    bench_add(
        &b,
        "producer pytorch\nopset - 17\nopset com.microsoft 1\nin x f32[2,8]\nparam onnx::MatMul_9 f32[8,8]\n"
        "param onnx::MatMul_8 f32[8,8]\nparam onnx::MatMul_4 f32[8,8]\n/e/q/MatMul: q = MatMul(x,onnx::MatMul_8)\n"
        "/e/MatMul: k = MatMul(x,onnx::MatMul_9)\n/e/MatMul_1: v = MatMul(x,onnx::MatMul_4)\n"
        "y = my::Mix(q,k,v)\nout y");
    assert_order("/e/q/MatMul odd:1\n/e/MatMul even:2;assumed-order\n/e/MatMul_1 odd:3;assumed-order\n");
    assert_silent(&b, DIAG_NOTE, "order recovered");
}

/* Re-saved by ONNX Runtime, and nothing to recover from: the rows say what is assumed. */
Test(exec_order, no_numbers)
{
    bench_add(&b,
              "producer pytorch\nopset - 17\nopset com.microsoft 1\nin x f32[2,8]\nparam wk.weight "
              "f32[8,8]\nparam wq.weight "
              "f32[8,8]\n"
              "A: k = MatMul(x,wk.weight)\nB: q = MatMul(x,wq.weight)\na = com.microsoft::Mix(q,k)\nout a");
    assert_order("A odd:1;assumed-order\nB even:2;assumed-order\n");
    cr_assert_eq(b.p.n_assumed, 2);
    assert_says(&b, DIAG_WARNING, "2 mms carry no number to recover the order from");
}

/* A direct export is in order: wk, wv = weight.chunk(2), of which wk is transposed, and so numbered, last. */
Test(exec_order, not_resaved)
{
    bench_add(
        &b, "producer pytorch\nin x f32[2,8]\nparam onnx::MatMul_4 f32[8,8]\nparam onnx::MatMul_3 f32[8,8]\n"
            "A: k = MatMul(x,onnx::MatMul_4)\nB: v = MatMul(x,onnx::MatMul_3)\ny = Add(k,v)\nout y");
    assert_order("A odd:1\nB even:2\n");
    assert_silent(&b, DIAG_NOTE, "order");
    assert_silent(&b, DIAG_WARNING, "re-saved");
}

/* Other names that end in numbers are no exporter numbers. */
Test(exec_order, other_names)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam w_9 f32[8,8]\nparam w_5 f32[8,8]\nparam onnx::w f32[8,8]\nparam onnx::w_x "
        "f32[8,8]\n"
        "param onnx::w_99999999999999999999 f32[8,8]\n"
        "A: a = MatMul(x,w_9)\nB: c = MatMul(a,w_5)\nC: d = MatMul(c,onnx::w)\nD: e = MatMul(d,onnx::w_x)\n"
        "E: f = MatMul(e,onnx::w_99999999999999999999)\nout f");
    assert_order("A odd:1\nB even:2\nC odd:3\nD even:4\nE odd:5\n");
}

/* An unsorted file: topological order, stably, and a note. */
Test(exec_order, unsorted)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam w f32[8,8]\nC: y = MatMul(c,w)\nA: a = MatMul(x,w)\nB: c = MatMul(a,w)\nout y");
    assert_order("A odd:1\nB even:2\nC odd:3\n");
    assert_says(&b, DIAG_NOTE, "not in topological order");
}

Test(exec_order, cyclic)
{
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\nA: a = Add(x,c)\nB: c = MatMul(a,w)\nout c");
    assert_refused(&b, IR_EINPUT, "cycle");
}
