/* Checkpoint regions: what crosses into a call of a block, and out of it (TAGS.md 4). */
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

TestSuite(regions, .init = setup, .fini = teardown);

#define assert_regions(want)                                                                                 \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_regions(&b), want);                                                                \
    } while (0)

#define WEIGHTS                                                                                              \
    "in x f32[2,8]\nin mask f32[2,8]\nparam layers.0.a.p.weight f32[8,8]\nparam layers.0.b.q.weight "        \
    "f32[8,8]\n"                                                                                             \
    "param layers.1.a.p.weight f32[8,8]\nparam layers.1.b.q.weight f32[8,8]\nparam half f32[]\n"
#define PRODUCT(layer, name, in, out)                                                                        \
    "/layers." layer "/" name "/Transpose: " out "_t = Transpose(layers." layer "." name ".weight)\n"        \
    "/layers." layer "/" name "/MatMul: " out " = MatMul(" in "," out "_t)\n"

/* Parameters, and what is computed of them alone, cross for free. */
Test(regions, two_blocks)
{
    bench_add(&b,
              WEIGHTS PRODUCT("0", "a.p", "x", "c") "/layers.0/Mul: d = Mul(c,mask)\n" PRODUCT(
                  "0", "b.q", "d",
                  "e") "/layers.0/Add: f = Add(e,x)\n/layers.0/Mul_1: f2 = Mul(f,half)\n" PRODUCT("1", "a.p",
                                                                                                  "f2", "g")
                  PRODUCT("1", "b.q", "g", "h") "/layers.1/Add: y = Add(h,f2)\nout y");
    assert_regions("layers.0#0: in x,mask out f2\nlayers.1#0: in f2 out y\n");
}

/* A value that a later block uses too, and one that the model's own code uses. */
Test(regions, values_used_far_away)
{
    bench_add(
        &b, WEIGHTS PRODUCT("0", "a.p", "x", "c") PRODUCT("0", "b.q", "c", "d") PRODUCT("1", "a.p", "d", "e")
                PRODUCT("1", "b.q", "e", "f") "/layers.1/Add: g = Add(f,c)\n/Add: y = Add(g,d)\nout y");
    assert_regions("layers.0#0: in x out c,d\nlayers.1#0: in c,d out g\n");
}

/* A graph output inside a block. */
Test(regions, graph_outputs)
{
    bench_add(&b, WEIGHTS PRODUCT("0", "a.p", "x", "c") PRODUCT("0", "b.q", "c", "d") "out c\nout d");
    assert_regions("layers.0#0: in x out c,d\n");
}

/* Two calls of one block are two regions. */
Test(regions, calls)
{
    bench_add(&b, "in x f32[2,8]\nparam block.q.weight f32[8,8]\nt = Transpose(block.q.weight)\n"
                  "/block/q/MatMul: a = MatMul(x,t)\n"
                  "/block/Add: c = Add(x,a)\n"
                  "/block/q_1/MatMul: d = MatMul(c,t)\n"
                  "/block_1/Add: e = Add(c,d)\nout e");
    bench_blocks(&b, "block");
    assert_regions("block#0: in x out c\nblock#1: in c out e\n");
}

/* One for the whole graph. */
Test(regions, whole)
{
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\ny = MatMul(x,w)\nz = Relu(y)\nout z");
    b.o.whole = true;
    assert_regions("whole#0: in x out z\n");
}

/* Nothing is listed twice. */
Test(regions, used_often)
{
    bench_add(&b, WEIGHTS PRODUCT("0", "a.p", "x",
                                  "c") "/layers.0/Add: d = Add(c,x)\n/layers.0/Add_1: e = Add(d,x)\n"
                                       "/layers.0/Add_2: f = Add(e,x)\n"
                                       "/Add: y = Add(f,f)\n"
                                       "/Mul: z = Mul(f,y)\n"
                                       "out z\n"
                                       "out f");
    bench_blocks(&b, "layers.0");
    assert_regions("layers.0#0: in x out f\n");
}

/* What a branch reads crosses into the block that it lies in. */
Test(regions, branches)
{
    bench_add(&b, WEIGHTS "in k bool[]\n/Neg: n = Neg(x)\n" PRODUCT(
                      "0", "a.p", "x", "c") "/layers.0/If: d = If(k)\n"
                                            "body then_branch\n"
                                            "/layers.0/Add: t = Add(c,n)\n"
                                            "out t\n"
                                            "end\n"
                                            "body else_branch\n"
                                            "/layers.0/Neg: e = Neg(c)\n"
                                            "out e\n"
                                            "end\n" PRODUCT("0", "b.q", "d", "f") "out f");
    bench_blocks(&b, "layers.0");
    assert_regions("layers.0#0: in x,k,n out f\n");
}

/* Through a function's arguments and results. */
Test(regions, functions)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param block.q.weight f32[8,8]\n"
                  "y = local::Block(x,block.q.weight)\n"
                  "z = local::Block(y,block.q.weight)\n"
                  "out z\n"
                  "function local::Block(p,w) -> (r)\nt = Transpose(w)\nm = MatMul(p,t)\nr = Relu(m)\nend");
    bench_blocks(&b, "block");
    assert_planned(&b);
    cr_assert_eq(b.p.n_regions, 2);
    cr_assert_eq(b.p.regions[0].n_inputs, 1);
    cr_assert(str_is(ir_value_name(&b.m, b.p.regions[0].inputs[0]), "x"));
}

/* A block with no call has a place in the plan, and no region. */
Test(regions, block_that_is_never_called)
{
    bench_add(&b, WEIGHTS PRODUCT("0", "a.p", "x", "c") PRODUCT("0", "b.q", "c", "d") "out d");
    bench_blocks(&b, "layers.*");
    assert_planned(&b);
    assert_text(bench_block_list(&b), "layers.0 1\nlayers.1 0\n");
    cr_assert_eq(b.p.n_regions, 1);
}

Test(regions, no_mm)
{
    bench_add(&b, "in x f32[2,8]\ny = Relu(x)\nout y");
    b.o.whole = true;
    assert_regions("whole#0: in x out y\n");
}
