/* The walk: execution order, frames, and where values come from. */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct bench b;
static struct walk w;
static bool built;

static void setup(void)
{
    bench_init(&b);
    built = false;
}

static void teardown(void)
{
    if (built)
        walk_free(&w);
    bench_free(&b);
}

TestSuite(walk, .init = setup, .fini = teardown);

static int build(uint64_t max_steps)
{
    bench_read(&b);
    built = true;
    return walk_build(&w, &b.m, max_steps, &b.d);
}

/* "name@frame" of each step. */
static const char *steps(void)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < w.n_steps; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s@%u", i ? " " : "",
                              STR_ARG(ir_node_name(&b.m, &b.m.nodes[walk_step(&w, i).node])),
                              walk_step(&w, i).frame);
    return text;
}

/* The step with this name in this frame. */
static struct step at(const char *name, uint32_t frame)
{
    for (uint32_t i = 0; i < w.n_steps; i++)
        if (str_is(ir_node_name(&b.m, &b.m.nodes[walk_step(&w, i).node]), name) &&
            walk_step(&w, i).frame == frame)
            return walk_step(&w, i);
    cr_assert(false, "no step %s@%u", name, frame);
    return (struct step){0, 0};
}

/* Where input i of a step comes from: "value@frame", or "-". */
static const char *source(struct step s, uint32_t i)
{
    static char text[256];
    struct use u = walk_resolve(&w, walk_input(&w, s, i));
    if (u.value == IR_NONE)
        return "-";
    snprintf(text, sizeof text, "%.*s@%u", STR_ARG(ir_value_name(&b.m, u.value)), u.frame);
    return text;
}

Test(walk, plain)
{
    bench_add(&b, "in x\nA: a = Relu(x)\nB: y = Relu(a)\nout y");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "A@0 B@0");
    cr_assert_eq(w.n_frames, 1);
    cr_assert(w.sorted);
    cr_assert_str_eq(source(at("B", 0), 0), "a@0");
    cr_assert_str_eq(source(at("A", 0), 0), "x@0");
    cr_assert_eq(walk_def(&w, walk_resolve(&w, walk_input(&w, at("B", 0), 0))).node, at("A", 0).node);
    cr_assert_eq(walk_def(&w, walk_resolve(&w, walk_input(&w, at("A", 0), 0))).node, IR_NONE);
}

Test(walk, empty_graph)
{
    bench_add(&b, "in x\nout x");
    cr_assert_eq(build(100), 0);
    cr_assert_eq(w.n_steps, 0);
    cr_assert_eq(w.n_frames, 1);
}

/* Unsorted: Kahn's order with the smallest index first. */
Test(walk, unsorted)
{
    bench_add(&b, "in x\nC: y = Add(a,c)\nB: c = Relu(a)\nA: a = Relu(x)\nD: z = Relu(x)\nout y\nout z");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "A@0 B@0 C@0 D@0");
    cr_assert(!w.sorted);
}

Test(walk, cycle)
{
    bench_add(&b, "in x\nA: a = Add(x,c)\nB: c = Relu(a)\nout c");
    cr_assert_eq(build(100), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "cycle");
}

/* Omitted operands are uses of nothing. */
Test(walk, omitted_operand)
{
    bench_add(&b, "in x\nA: y = Clip(x,,x)\nout y");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(source(at("A", 0), 1), "-");
    cr_assert_str_eq(source(at("A", 0), 2), "x@0");
    cr_assert_str_eq(source(at("A", 0), 3), "-");
}

/* A call is replaced by the steps of the body; arguments and results resolve through it. */
Test(walk, function)
{
    bench_add(&b, "in x\nparam w f32[4,4]\n"
                  "call: y = local::Linear(x,w)\nR: z = Relu(y)\nout z\n"
                  "function local::Linear(a,b) -> (c)\nT: t = Transpose(b)\nM: c = MatMul(a,t)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "T@1 M@1 R@0");
    cr_assert_eq(w.n_frames, 2);
    cr_assert_eq(w.frames[1].parent, 0);
    cr_assert_eq(w.frames[1].function, 1);
    cr_assert_eq(w.frames[0].function, 0);
    cr_assert_str_eq(source(at("T", 1), 0), "w@0");
    cr_assert_str_eq(source(at("M", 1), 0), "x@0");
    cr_assert_str_eq(source(at("M", 1), 1), "t@1");
    cr_assert_str_eq(source(at("R", 0), 0), "c@1");
}

Test(walk, function_called_twice)
{
    bench_add(&b, "in x\nparam w f32[4,4]\nparam v f32[4,4]\n"
                  "c1: y = local::F(x,w)\nc2: z = local::F(y,v)\nout z\n"
                  "function local::F(a,b) -> (c)\nM: c = MatMul(a,b)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "M@1 M@2");
    cr_assert_str_eq(source(at("M", 1), 1), "w@0");
    cr_assert_str_eq(source(at("M", 2), 1), "v@0");
    cr_assert_str_eq(source(at("M", 2), 0), "c@1");
    uint32_t fn = w.frames[1].graph;
    cr_assert_eq(walk_child(&w, 0, w.frames[2].node, fn), 2);
    cr_assert_eq(walk_child(&w, 0, at("M", 1).node, fn), IR_NONE);
}

/* A function that hands its argument through; and calls inside calls. */
Test(walk, nested_functions)
{
    bench_add(&b, "in x\nc: y = local::Outer(x)\nR: z = Relu(y)\nout z\n"
                  "function local::Outer(a) -> (c)\ni: b = local::Same(a)\nj: c = local::Same(b)\nend\n"
                  "function local::Same(p) -> (p)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "R@0");
    cr_assert_eq(w.n_frames, 4);
    cr_assert_str_eq(source(at("R", 0), 0), "x@0");
}

/* A call that leaves out an argument, and uses a result that the function does not return. */
Test(walk, function_arguments_left_out)
{
    bench_add(&b, "in x\nc: y,q = local::F(x)\nR: z = Relu(q)\nout y\nout z\n"
                  "function local::F(a,b) -> (c)\nM: c = Add(a,b)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(source(at("M", 1), 1), "-");
    cr_assert_str_eq(source(at("R", 0), 0), "-");
}

/* Overloads are functions of their own. */
Test(walk, overloads)
{
    bench_add(&b, "in x\nc: y = local::F(x)\nd: z = local::F:fast(y)\nout z\n"
                  "function local::F(a) -> (c)\nM: c = Relu(a)\nend\n"
                  "function local::F:fast(a) -> (c)\nN: c = Neg(a)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "M@1 N@2");
}

/* ref_attr_name: the call's attribute. */
Test(walk, attributes_of_a_call)
{
    bench_add(
        &b,
        "in x\nc: y = local::F(x) trans=1\nd: z = local::F(x)\nout y\nout z\n"
        "function local::F(a) -> (c) trans\nM: c = com.microsoft::FusedMatMul(a,a) transB=@trans alpha=2.0\n"
        "end");
    cr_assert_eq(build(100), 0);
    cr_assert_eq(walk_attr_int(&w, at("M", 1), "transB", 7), 1);
    cr_assert_eq(walk_attr_int(&w, at("M", 2), "transB", 7), 7, "the call does not say");
    cr_assert_eq(walk_attr_int(&w, at("M", 1), "transA", 5), 5);
    cr_assert_eq(walk_attr_int(&w, at("M", 1), "alpha", 5), 5, "no integer");
}

/* ... also from a branch inside the function. */
Test(walk, attributes_through_a_branch)
{
    bench_add(&b, "in x\nin k bool[]\nc: y = local::F(x,k) trans=1\nout y\n"
                  "function local::F(a,k) -> (c) trans\nI: c = If(k)\n"
                  "body then_branch\nM: m = com.microsoft::FusedMatMul(a,a) transB=@trans\nout m\nend\n"
                  "body else_branch\nN: n = Relu(a)\nout n\nend\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "M@2 N@3 I@1");
    cr_assert_eq(w.frames[2].function, 1);
    cr_assert_eq(walk_attr_int(&w, at("M", 2), "transB", 7), 1);
    cr_assert_str_eq(source(at("M", 2), 0), "x@0", "bodies see what is around them");
}

Test(walk, bodies_run_before_their_node)
{
    bench_add(&b, "in x\nin k bool[]\nA: a = Relu(x)\nI: y = If(k)\n"
                  "body then_branch\nT: t = Relu(a)\nout t\nend\n"
                  "body else_branch\nE: e = Neg(x)\nout e\nend\nR: z = Relu(y)\nout z");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "A@0 T@1 E@2 I@0 R@0");
    cr_assert_str_eq(source(at("T", 1), 0), "a@0");
    cr_assert_str_eq(source(at("R", 0), 0), "y@0", "what an If returns is the If's");
}

Test(walk, loop_inputs_stay)
{
    bench_add(
        &b,
        "in x\nparam n i64[]{3}\nparam c bool[]\nL: y = Loop(n,c,x)\n"
        "body body\nin i i64[]\nin k bool[]\nin s\nS: t = Relu(s)\nK: ko = Identity(k)\nout ko\nout t\nend\n"
        "out y");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(source(at("S", 1), 0), "s@1", "a loop variable is no argument");
    cr_assert_eq(walk_def(&w, walk_resolve(&w, walk_input(&w, at("S", 1), 0))).node, IR_NONE);
}

Test(walk, recursion)
{
    bench_add(&b, "in x\nc: y = local::F(x)\nout y\n"
                  "function local::F(a) -> (c)\nd: c = local::G(a)\nend\n"
                  "function local::G(a) -> (c)\ne: c = local::F(a)\nend");
    cr_assert_eq(build(100), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "'F' calls itself");
}

/* 2^40 steps from 40 functions: refused at the bound, soon. */
Test(walk, expansion)
{
    bench_add(&b, "in x\nc: y = local::F0(x)\nout y");
    for (int i = 0; i < 40; i++)
        bench_add(&b, "function local::F%d(a) -> (c)\np: b = local::F%d(a)\nq: c = local::F%d(b)\nend", i,
                  i + 1, i + 1);
    bench_add(&b, "function local::F40(a) -> (c)\nR: c = Relu(a)\nend");
    cr_assert_eq(build(100000), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "more than 100000");
}

/* The same with functions that are empty: frames are bounded too. */
Test(walk, expansion_to_nothing)
{
    bench_add(&b, "in x\nc: y = local::F0(x)\nout y");
    for (int i = 0; i < 40; i++)
        bench_add(&b, "function local::F%d(a) -> (c)\np: b = local::F%d(a)\nq: c = local::F%d(b)\nend", i,
                  i + 1, i + 1);
    bench_add(&b, "function local::F40(a) -> (a)\nend");
    cr_assert_eq(build(100000), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "more than 100000");
}

Test(walk, limit_is_exact)
{
    bench_add(&b, "in x\nA: a = Relu(x)\nB: y = Relu(a)\nout y");
    cr_assert_eq(build(2), 0);
    walk_free(&w);
    cr_assert_eq(walk_build(&w, &b.m, 1, &b.d), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "more than 1 node");
}

/* Two steps of 8 bytes, one frame of 32 and its three values' 16 each. */
Test(walk, memory_is_charged)
{
    bench_add(&b, "in x\nB: y = Relu(a)\nA: a = Relu(x)\nout y");
    struct arena memory;
    struct walk_limits limits = {.steps = 10, .memory = &memory};
    cr_assert_eq(build(10), 0);
    walk_free(&w);
    arena_init(&memory, 96);
    cr_assert_eq(walk_build_from(&w, &b.m, 0, &limits, &b.d), 0);
    cr_assert_eq(memory.total, 96);
    walk_free(&w);
    arena_init(&memory, 95);
    cr_assert_eq(walk_build_from(&w, &b.m, 0, &limits, &b.d), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "need more memory than the limit of 95 bytes");
}

/* What runs at each call is charged at each call: a step of 8 bytes and its two operands of 8 each, a frame
 * of 32, and 16 + 8 for each of its two values; the main graph's frame has three values. */
Test(walk, operands_of_calls_are_charged)
{
    bench_add(&b, "in x\nc1: y = local::F(x)\nc2: z = local::F(x)\nout z\n"
                  "function local::F(a) -> (c)\nS: c = Sum(a,a)\nend");
    struct arena memory;
    struct walk_limits limits = {.steps = 10, .memory = &memory};
    arena_init(&memory, 1000);
    cr_assert_eq(build(10), 0);
    walk_free(&w);
    cr_assert_eq(walk_build_from(&w, &b.m, 0, &limits, &b.d), 0);
    cr_assert_eq(memory.total, 32 + 3 * 24 + 2 * (8 + 2 * 8 + 32 + 2 * 24));
}

/* Where a value comes from is the same for each that asks, the first and those after it, in any order. */
Test(walk, resolved_again)
{
    bench_add(
        &b,
        "in x\ncall: y = local::Outer(x)\nR: z = Relu(y)\nS: u = Relu(y)\nout z\n"
        "function local::Outer(a) -> (c)\ni: b = local::Inner(a)\nT: t = Relu(b)\nj: c = local::Inner(b)\nend\n"
        "function local::Inner(p) -> (q)\nM: q = Relu(p)\nend");
    cr_assert_eq(build(100), 0);
    cr_assert_str_eq(steps(), "M@2 T@1 M@3 R@0 S@0");
    for (int i = 0; i < 2; i++) {
        cr_assert_str_eq(source(at("R", 0), 0), "q@3");
        cr_assert_str_eq(source(at("M", 3), 0), "q@2");
        cr_assert_str_eq(source(at("T", 1), 0), "q@2");
        cr_assert_str_eq(source(at("M", 2), 0), "x@0");
        cr_assert_str_eq(source(at("S", 0), 0), "q@3");
    }
}

/* Nodes of one graph that run as they stand take no steps, and values tell what makes them. */
Test(walk, as_it_stands)
{
    bench_add(&b, "in x\nA: a = Relu(x)\nB: y = Relu(a)\nout y");
    struct arena memory;
    struct walk_limits limits = {.steps = 10, .memory = &memory};
    uint32_t *makers;
    arena_init(&memory, 80);
    cr_assert_eq(build(10), 0);
    walk_free(&w);
    cr_assert_eq(walk_build_from(&w, &b.m, 0, &limits, &b.d), 0);
    cr_assert_eq(memory.total, 80);
    cr_assert_null(w.steps);
    cr_assert_eq(w.n_steps, 2);
    cr_assert_eq(walk_makers(&w, &makers), 0);
    cr_assert_null(makers);
    cr_assert_eq(walk_maker(&w, makers, walk_output(&w, walk_step(&w, 1), 0)), 1);
    cr_assert_eq(walk_maker(&w, makers, walk_input(&w, walk_step(&w, 0), 0)), IR_NONE);
}

Test(walk, deep_calls)
{
    bench_add(&b, "in x\nc: y = local::F0(x)\nout y");
    for (int i = 0; i < 600; i++)
        bench_add(&b, "function local::F%d(a) -> (c)\np: c = local::F%d(a)\nend", i, i + 1);
    bench_add(&b, "function local::F600(a) -> (c)\nR: c = Relu(a)\nend");
    cr_assert_eq(build(100000), IR_EINPUT);
    assert_says(&b, DIAG_ERROR, "512 deep");
}

/* Slots of all frames are apart from each other. */
Test(walk, slots)
{
    bench_add(&b, "in x\nparam w f32[4,4]\nc1: y = local::F(x,w)\nc2: z = local::F(y,w)\nout z\n"
                  "function local::F(a,b) -> (c)\nM: c = MatMul(a,b)\nend");
    cr_assert_eq(build(100), 0);
    struct use first = walk_output(&w, at("M", 1), 0), second = walk_output(&w, at("M", 2), 0);
    cr_assert_neq(walk_slot(&w, first), walk_slot(&w, second));
    cr_assert_lt(walk_slot(&w, first), w.n_slots);
    cr_assert_lt(walk_slot(&w, second), w.n_slots);
    cr_assert_eq(w.n_slots, 4 + 3 + 3);
}
