/* What is said when an option comes to nothing, and when an mm has no place. */
#include "passes/match.h"
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>

static struct bench b;

static void setup(void)
{
    bench_init(&b);
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.fc1.weight f32[12,8]\n"
                  "param layers.0.fc2.weight f32[8,12]\n"
                  "param onnx::MatMul_9 f32[8,8]\n"
                  "t = Transpose(layers.0.fc1.weight)\n"
                  "/layers.0/fc1/MatMul: a = MatMul(x,t)\n"
                  "u = Transpose(layers.0.fc2.weight)\n"
                  "/layers.0/fc2/MatMul: c = MatMul(a,u)");
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(misses, .init = setup, .fini = teardown);

static void assert_strict(const char *message)
{
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, message);
    b.o.strict = true;
    cr_assert_eq(bench_plan(&b), IR_EPOLICY);
    assert_says(&b, DIAG_ERROR, message);
}

Test(misses, an_mm_without_a_name_outside_the_blocks)
{
    bench_add(&b, "MatMul_10: d = MatMul(c,onnx::MatMul_9)\nout d");
    bench_blocks(&b, "layers.0");
    assert_strict(
        "1 mm outside every block has no name and may belong to one (the first: 'MatMul_10'): re-export");
}

Test(misses, an_mm_with_a_name_outside_the_blocks_is_meant)
{
    bench_add(&b, "/head/MatMul: d = MatMul(c,onnx::MatMul_9)\nout d");
    bench_blocks(&b, "layers.0");
    b.o.strict = true;
    assert_planned(&b);
    assert_text(bench_messages(&b, DIAG_WARNING), "");
}

Test(misses, a_forced_shape_that_no_mm_has)
{
    bench_add(&b, "out c");
    bench_force(&b, 7, 7);
    assert_strict("--force-shape 7x7: no mm in a block has that rhs");
    assert_silent(&b, DIAG_ERROR, "other way round");
}

Test(misses, a_forced_shape_that_is_swapped)
{
    bench_add(&b, "/head/MatMul: d = MatMul(c,onnx::MatMul_9)\nout d");
    bench_blocks(&b, "layers.0");
    bench_force(&b, 8, 8); /* only outside */
    assert_strict("--force-shape 8x8: no mm in a block has that rhs");
    b.o.strict = false;
    b.o.n_force = 0;
    bench_force(&b, 8, 12);
    assert_planned(&b);
    assert_silent(&b, DIAG_WARNING, "--force-shape");
}

Test(misses, a_block_that_is_a_container)
{
    bench_add(&b, "out c");
    bench_blocks(&b, "layers");
    assert_strict("--blocks: 'layers' is never called itself, so that nothing in it is checkpointed "
                  "('layers.0.fc1' lies in it): did you mean 'layers.*'?");
}

/* Of what a pattern fits, some may hold no mm. */
Test(misses, a_pattern_with_some_empty_members)
{
    bench_add(&b, "param layers.1.scale f32[8]\n/layers.1/Mul: d = Mul(c,layers.1.scale)\nout d");
    bench_blocks(&b, "layers.*");
    assert_planned(&b);
    assert_silent(&b, DIAG_WARNING, "--blocks");
    bench_blocks(&b, "layers.0,layers.1");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "--blocks: 'layers.1' holds no mm");
}

/* The names of a plan in a file are as many as it likes, and so are the modules of its model. */
Test(misses, comparing_without_end)
{
    bench_add(&b, "out c");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "layers.0.fc1");
    cr_assert_eq(bench_passes(&b, pass_block), 0);
    b.s.match_steps = MATCH_STEPS_MAX;
    cr_assert_eq(pass_forced(&b.s), IR_EINPUT);
    assert_says(&b, DIAG_ERROR,
                "comparing 1 --fqn and 1 --blocks with the names of the model takes too long");
}
