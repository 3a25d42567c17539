/* The nodes of blocks that are no mms, with --tag all (TAGS.md 4). */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>

static struct bench b;

static void setup(void)
{
    bench_init(&b);
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(neighbours, .init = setup, .fini = teardown);

#define assert_neighbours(want)                                                                              \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_neighbours(&b), want);                                                             \
    } while (0)

static void whole(const char *text)
{
    bench_add(&b, "%s", text);
    b.o.whole = true;
}

/* Linear, Tanh, Linear: what follows a recomputed matmul must not be kept instead. mms get no second tag, and
 * nodes outside blocks none. */
Test(neighbours, boundary_and_rest)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam layers.0.a.weight f32[8,8]\nparam layers.0.b.c.weight f32[8,8]\n"
        "/Abs: x1 = Abs(x)\n"
        "/layers.0/a/Transpose: ta = Transpose(layers.0.a.weight)\n"
        "/layers.0/a/MatMul: a = MatMul(x1,ta)\n/layers.0/Tanh: h = Tanh(a)\n"
        "/layers.0/b/c/Transpose: tc = Transpose(layers.0.b.c.weight)\n"
        "/layers.0/b/c/MatMul: c = MatMul(h,tc)\n/layers.0/Relu: d = Relu(c)\n/layers.0/Add: e = Add(d,h)\n"
        "/Neg: y = Neg(e)\nout y");
    assert_neighbours(
        "ta recompute rest layers.0#0\nh recompute rest layers.0#0\ntc recompute rest layers.0#0\n"
        "d recompute rest layers.0#0\ne save boundary layers.0#0\n");
    assert_text(bench_columns(&b, "npr"),
                "/layers.0/a/MatMul save odd:1\n/layers.0/b/c/MatMul recompute even:2\n");
}

/* A value that a later block uses, or that is an output of the graph, crosses the border. */
Test(neighbours, values_used_far_away)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.q.weight f32[8,8]\nparam layers.1.q.weight f32[8,8]\n"
                  "/layers.0/q/Transpose: t0 = Transpose(layers.0.q.weight)\n"
                  "/layers.0/Sin: s = Sin(x)\n/layers.0/Cos: k = Cos(x)\n/layers.0/Add: a = Add(s,k)\n"
                  "/layers.0/q/MatMul: m = MatMul(a,t0)\n/layers.0/Relu: r = Relu(m)\n"
                  "/layers.1/q/Transpose: t1 = Transpose(layers.1.q.weight)\n"
                  "/layers.1/Mul: p = Mul(r,s)\n/layers.1/q/MatMul: n = MatMul(p,t1)\n"
                  "/layers.1/Relu: v = Relu(n)\n/layers.1/Neg: y = Neg(v)\nout y\nout v");
    bench_blocks(&b, "layers.*");
    assert_neighbours(
        "t0 recompute rest layers.0#0\ns save boundary layers.0#0\nk recompute rest layers.0#0\n"
        "a recompute rest layers.0#0\nr save boundary layers.0#0\nt1 recompute rest layers.1#0\n"
        "p recompute rest layers.1#0\nv save boundary layers.1#0\ny save boundary layers.1#0\n");
}

/* What depends on parameters alone belongs to the region that alone uses it, wherever it stands; what two
 * regions use, to none: each would have to make it. */
Test(neighbours, constants)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam layers.0.q.weight f32[8,8]\nparam layers.1.q.weight f32[8,8]\nparam k f32[8]\n"
        "t1 = Transpose(layers.1.q.weight)\nt0 = Transpose(layers.0.q.weight)\nkk = Neg(k)\nk2 = Abs(kk)\n"
        "/layers.0/q/MatMul: a = MatMul(x,t0)\n/layers.0/Add: c = Add(a,k2)\n"
        "/layers.1/q/MatMul: d = MatMul(c,t1)\n/layers.1/Add: e = Add(d,k2)\n/layers.1/Neg: y = "
        "Neg(e)\nout y");
    bench_blocks(&b, "layers.*");
    assert_neighbours(
        "t1 recompute rest layers.1#0\nt0 recompute rest layers.0#0\nc save boundary layers.0#0\n"
        "e recompute rest layers.1#0\ny save boundary layers.1#0\n");
}

#define QKV                                                                                                  \
    "in q f32[1,2,8,4]\nin k f32[1,2,4,8]\nin v f32[1,2,8,4]\nin mask f32[8,8]\nparam w f32[4,4]\n"          \
    "param half f32[]\n"

/* Scale, mask and softmax between the two products: scores are never saved, what is multiplied with V is. */
#define ATTENTION                                                                                            \
    "qk = MatMul(q,k)\nscaled = Mul(qk,half)\nmasked = Add(scaled,mask)\np = Softmax(masked)\n"              \
    "pc = Cast(p) to=1\no = MatMul(pc,v)\nz = MatMul(o,w)\ny = Relu(z)\nout y"

Test(neighbours, attention)
{
    const char *want =
        "qk recompute scores whole#0\nscaled recompute scores whole#0\nmasked recompute scores whole#0\n"
        "p recompute scores whole#0\npc recompute scores whole#0\no save attention whole#0\n"
        "y save boundary whole#0\n";
    whole(QKV ATTENTION);
    assert_neighbours(want);
    b.o.titan = true;
    assert_neighbours(want);
}

/* Scores of two products, and weights that a guard against masked rows passes on. */
Test(neighbours, attention_with_relative_positions)
{
    whole(QKV "in rel f32[4,8]\nin rank f32[1,1,4,8]\nqk = MatMul(q,k)\nqr = MatMul(q,rank)\ns = Add(qk,qr)\n"
              "p = Softmax(s)\nnan = IsNaN(p)\ng = Where(nan,half,p)\no = MatMul(g,v)\ny = Relu(o)\nout y");
    assert_neighbours("qk recompute scores whole#0\nqr recompute scores whole#0\ns recompute scores whole#0\n"
                      "p recompute scores whole#0\nnan recompute scores whole#0\ng recompute scores whole#0\n"
                      "o save attention whole#0\ny save boundary whole#0\n");
}

/* Products without a softmax between them (experts), a softmax without a product before it (a router) or
 * after it: the save list decides. */
Test(neighbours, no_attention)
{
    const char *text = QKV "e = MatMul(q,k)\nr = Relu(e)\nf = MatMul(r,v)\nx = Abs(q)\ng = Softmax(x)\n"
                           "h = Mul(f,g)\ns = MatMul(h,k)\nl = Softmax(s)\ny = Relu(l)\nout y";
    whole(text);
    assert_neighbours("e recompute rest whole#0\nr recompute rest whole#0\nf recompute rest whole#0\n"
                      "x recompute rest whole#0\ng recompute rest whole#0\nh recompute rest whole#0\n"
                      "s recompute rest whole#0\nl recompute rest whole#0\ny save boundary whole#0\n");
    b.o.titan = true;
    assert_neighbours("e save compute whole#0\nr recompute rest whole#0\nf save compute whole#0\n"
                      "x recompute rest whole#0\ng recompute rest whole#0\nh recompute rest whole#0\n"
                      "s save compute whole#0\nl recompute rest whole#0\ny save boundary whole#0\n");
}

/* A scores product in one block and its softmax in the next is no attention: no region holds it. */
Test(neighbours, attention_across_regions)
{
    bench_add(&b, QKV "/layers.0/MatMul: qk = MatMul(q,k)\n/layers.1/Softmax: p = Softmax(qk)\n"
                      "/layers.1/MatMul: o = MatMul(p,v)\n/layers.1/Relu: y = Relu(o)\nout y");
    bench_add(&b, "\nparam layers.0.a.weight f32[4,4]\nparam layers.1.a.weight f32[4,4]");
    bench_blocks(&b, "layers.*");
    assert_neighbours(
        "qk save boundary layers.0#0\np recompute rest layers.1#0\no recompute rest layers.1#0\n"
        "y save boundary layers.1#0\n");
}

/* Random ops and TopK under every list; a Dropout that is off is none. */
Test(neighbours, random_and_topk)
{
    whole("opset - 17\nin x f32[2,8]\nin training bool[]\nparam ratio f32[]\nparam k i64[1]{2}\n"
          "no = Constant() value=i64[]{0}\non = Constant() value=i64[]{1}\n"
          "a = Dropout(x,ratio)\nc = Dropout(a,ratio,no)\nd = Dropout(c,ratio,on)\ne = "
          "Dropout(d,ratio,training)\n"
          "f = RandomNormalLike(e)\ng = Bernoulli(f)\nh,i = TopK(g,k)\ny = Relu(h)\nout y");
    assert_neighbours(
        "no recompute rest whole#0 bare\non recompute rest whole#0 bare\na recompute rest whole#0\n"
        "c recompute rest whole#0\nd save random whole#0\ne save random whole#0\nf save random whole#0\n"
        "g save random whole#0\nh save topk whole#0\ny save boundary whole#0\n");
}

/* Before opset 12 nothing says whether it is off. */
Test(neighbours, old_dropout)
{
    whole("opset - 11\nin x f32[2,8]\na,m = Dropout(x) ratio=0.5\ny = Relu(a)\nout y");
    assert_neighbours("a save random whole#0\ny save boundary whole#0\n");
}

/* A dropout of attention weights is random first of all; the scores before it are still scores. */
Test(neighbours, dropout_in_attention)
{
    whole("opset - 17\n" QKV "param ratio f32[]\nin training bool[]\nqk = MatMul(q,k)\np = Softmax(qk)\n"
          "d,m = Dropout(p,ratio,training)\no = MatMul(d,v)\ny = Relu(o)\nout y");
    assert_neighbours("qk recompute scores whole#0\np recompute scores whole#0\nd save random whole#0\n"
                      "o save attention whole#0\ny save boundary whole#0\n");
}

/* One op for all of it; the largest element, which ReduceMax is without axes only; collectives by list. */
Test(neighbours, save_lists)
{
    const char *text =
        "in x f32[2,8]\nparam one i64[1]{1}\nparam kernel f32[3,3,1,1]\n"
        "a = com.microsoft::MultiHeadAttention(x,x,x) num_heads=2\nm = ReduceMax(a) keepdims=0\n"
        "n = ReduceMax(a,one)\no = ReduceMax(a) axes=[1]\ns = com.microsoft::NcclReduceScatter(a)\n"
        "g = com.microsoft::NcclAllGather(s)\nc = Conv(g,kernel)\nz = Sum(m,n,o,c)\nout z";
    whole(text);
    assert_neighbours(
        "a save attention whole#0\nm save max whole#0\nn recompute rest whole#0\no recompute rest whole#0\n"
        "s save collective whole#0\ng recompute rest whole#0\nc recompute rest whole#0\n"
        "z save boundary whole#0\n");
    b.o.titan = true;
    assert_neighbours(
        "a save attention whole#0\nm save max whole#0\nn recompute rest whole#0\no recompute rest whole#0\n"
        "s save collective whole#0\ng save collective whole#0\nc save compute whole#0\n"
        "z save boundary whole#0\n");
}

/* A function's node has one tag for all calls: saved when one of them needs it. */
Test(neighbours, functions)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.q.weight f32[8,8]\nparam layers.1.q.weight f32[8,8]\n"
                  "/layers.0/q/MatMul: a = MatMul(x,layers.0.q.weight)\n/layers.0/act: h = local::Act(a)\n"
                  "/layers.0/Relu: i = Relu(h)\n"
                  "/layers.1/q/MatMul: c = MatMul(i,layers.1.q.weight)\n/layers.1/act: g = local::Act(c)\n"
                  "/layers.1/Relu: y = Relu(g)\nout g\nout y\n"
                  "function local::Act(p) -> (r)\ns = Sigmoid(p)\nr = Mul(p,s)\nend");
    bench_blocks(&b, "layers.*");
    assert_neighbours(
        "i save boundary layers.0#0\ny save boundary layers.1#0\ns recompute rest layers.0#0 shared\n"
        "r save boundary layers.1#0 shared\n");
}

/* Bodies of an If and the If itself. */
Test(neighbours, bodies)
{
    whole("in x f32[2,8]\nin cond bool[]\nj = If(cond)\nbody then_branch\ns = Sin(x)\nout s\nend\n"
          "body else_branch\nc = Cos(x)\nout c\nend\ny = Relu(j)\nout y");
    assert_neighbours("j recompute rest whole#0\ny save boundary whole#0\ns recompute rest whole#0\n"
                      "c recompute rest whole#0\n");
}

/* A graph that holds backward, too: that is not what is checkpointed. */
Test(neighbours, backward)
{
    whole("in x f32[2,8]\nin g f32[2,8]\nparam w f32[8,8]\na = MatMul(x,w)\nr = Relu(a)\n"
          "y_grad = Identity(g)\nr_grad = Mul(y_grad,r)\nout r\nout r_grad");
    assert_neighbours("r save boundary whole#0\n");
}

/* What an attribute would break is left out by the carriers that are attributes: a Constant, an activation
 * that another tool fuses into the Gemm before it. */
Test(neighbours, bare)
{
    struct annots a;
    whole(
        "in x f32[2,8]\nparam w f32[8,8]\nparam c f32[8]\nk = Constant() value=i64[1]{1}\ng = Gemm(x,w)\nr = Relu(g)\n"
        "m = MatMul(r,w)\ns = Add(c,m)\nt = Tanh(s)\nv = Add(t,r)\nz = Relu(v)\nu = Unsqueeze(z,k)\nout u");
    assert_neighbours(
        "k recompute rest whole#0 bare\nr recompute rest whole#0 bare\ns recompute rest whole#0\n"
        "t recompute rest whole#0 bare\nv recompute rest whole#0\nz recompute rest whole#0\nu save boundary whole#0\n");
    cr_assert_eq(plan_annotate(&a, &b.p, true, CARRIER_POPART, &b.d), 0);
    cr_assert_eq(a.n, 6); /* g m s v z u */
    cr_assert_eq(a.a[0].node, 1);
    cr_assert_eq(a.a[1].node, 3);
    cr_assert_eq(plan_annotate(&a, &b.p, true, CARRIER_ATTRIBUTE, &b.d), 0);
    cr_assert_eq(a.n, 6 * 2);
    cr_assert_eq(plan_annotate(&a, &b.p, true, CARRIER_METADATA, &b.d), 0);
    cr_assert_eq(a.n, 9 * 3);
}

/* Asking twice, and writing mms only from a plan that knows its neighbours. */
Test(neighbours, are_written_only_when_asked_for)
{
    struct annots a;
    whole("in x f32[2,8]\nparam w f32[8,8]\nm = MatMul(x,w)\ny = Relu(m)\nout y");
    assert_neighbours("y save boundary whole#0\n");
    cr_assert_eq(plan_neighbours(&b.p, &b.m, &b.d), 0);
    cr_assert_eq(plan_annotate(&a, &b.p, false, CARRIER_POPART, &b.d), 0);
    cr_assert_eq(a.n, 1);
    cr_assert_eq(plan_annotate(&a, &b.p, true, CARRIER_POPART, &b.d), 0);
    cr_assert_eq(a.n, 2);
    cr_assert_eq(a.a[0].node, 0);
    cr_assert_eq(a.a[1].node, 1);
    cr_assert_eq(a.a[1].i, 1);
    cr_assert_eq(plan_annotate(&a, &b.p, true, CARRIER_METADATA, &b.d), 0);
    cr_assert_eq(a.n, 6);
    assert_text("sac.reason", a.a[4].key.s);
    assert_text(a.a[4].value.s, "boundary");
    assert_text(a.a[5].value.s, "whole#0");
}
