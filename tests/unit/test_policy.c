/* Forced sets and the alternation (POLICY.md 2). */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct bench b;

static void setup(void)
{
    bench_init(&b);
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(policy, .init = setup, .fini = teardown);

#define assert_reasons(want)                                                                                 \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_columns(&b, "nr"), want);                                                          \
    } while (0)

/* A Linear of these features, named; its node is named like the module. */
static void linear(const char *fqn, int in, int out, const char *x, const char *y)
{
    bench_add(&b, "param %s.weight f32[%d,%d]\n%s_t = Transpose(%s.weight)\n%s: %s = MatMul(%s,%s_t)", fqn,
              out, in, y, fqn, fqn, y, x, y);
}

/* Two blocks, each: attn.wq 8x8, attn.wo 8x8, moe.router.gate 8x4, mlp.up 8x16, mlp.down 16x8; a head after
 * them. */
static void two_blocks(void)
{
    char x[32] = "x", y[32];
    bench_add(&b, "in x f32[2,8]");
    for (int i = 0; i < 2; i++) {
        static const struct {
            const char *name;
            int in, out;
        } l[] = {{"attn.wq", 8, 8},
                 {"attn.wo", 8, 8},
                 {"moe.router.gate", 8, 4},
                 {"mlp.up", 8, 16},
                 {"mlp.down", 16, 8}};
        for (size_t j = 0; j < 5; j++) {
            char fqn[64];
            snprintf(fqn, sizeof fqn, "layers.%d.%s", i, l[j].name);
            snprintf(y, sizeof y, "v%d%zu", i, j);
            linear(fqn, l[j].in, l[j].out, j == 2 ? "v00" : x, y);
            if (j != 2)
                strcpy(x, y);
        }
    }
    linear("head", 8, 8, x, "y");
    bench_add(&b, "out y");
}

#define HEAD "head outside\n"

/* ---- the alternation ---- */

Test(policy, no_fqn)
{
    two_blocks();
    assert_reasons("layers.0.attn.wq odd:1\nlayers.0.attn.wo even:2\nlayers.0.moe.router.gate "
                   "odd:3\nlayers.0.mlp.up even:4\n"
                   "layers.0.mlp.down odd:5\nlayers.1.attn.wq odd:1\nlayers.1.attn.wo "
                   "even:2\nlayers.1.moe.router.gate odd:3\n"
                   "layers.1.mlp.up even:4\nlayers.1.mlp.down odd:5\n" HEAD);
    assert_text(bench_columns(&b, "p"),
                "save\nrecompute\nsave\nrecompute\nsave\nsave\nrecompute\nsave\nrecompute\nsave\nnone\n");
    cr_assert_eq(b.p.n_saved, 6);
    cr_assert_eq(b.p.n_recomputed, 4);
    cr_assert_eq(b.p.n_forced, 0);
    cr_assert_eq(b.p.n_outside, 1);
    assert_text(bench_forced(&b), "");
}

/* A forced mm is recomputed and not counted. */
Test(policy, forced_is_not_counted)
{
    two_blocks();
    bench_fqns(&b, "moe.router.gate");
    assert_reasons(
        "layers.0.attn.wq odd:1\nlayers.0.attn.wo even:2\nlayers.0.moe.router.gate "
        "forced:8x4:moe.router.gate\n"
        "layers.0.mlp.up odd:3\nlayers.0.mlp.down even:4\nlayers.1.attn.wq odd:1\nlayers.1.attn.wo even:2\n"
        "layers.1.moe.router.gate forced:8x4:moe.router.gate\nlayers.1.mlp.up odd:3\nlayers.1.mlp.down "
        "even:4\n" HEAD);
    assert_text(bench_forced(&b), "layers.0: 8x4 (moe.router.gate)\nlayers.1: 8x4 (moe.router.gate)\n");
    cr_assert_eq(b.p.n_forced, 2);
    cr_assert_eq(b.p.blocks[0].forced_rows, 1);
    cr_assert_eq(b.p.blocks[0].saved, 2);
    cr_assert_eq(b.p.blocks[0].recomputed, 3);
}

/* Any mm of a forced shape is forced, whichever Linear it belongs to; what else the shape forces is told. */
Test(policy, also_forces)
{
    two_blocks();
    bench_fqns(&b, "attn.wo");
    assert_reasons("layers.0.attn.wq forced:8x8:attn.wo\nlayers.0.attn.wo "
                   "forced:8x8:attn.wo\nlayers.0.moe.router.gate odd:1\n"
                   "layers.0.mlp.up even:2\nlayers.0.mlp.down odd:3\nlayers.1.attn.wq forced:8x8:attn.wo\n"
                   "layers.1.attn.wo forced:8x8:attn.wo\nlayers.1.moe.router.gate odd:1\nlayers.1.mlp.up "
                   "even:2\nlayers.1.mlp.down odd:3\n" HEAD);
    assert_text(bench_forced(&b),
                "layers.0: 8x8 (attn.wo) also attn.wq\nlayers.1: 8x8 (attn.wo) also attn.wq\n");
}

/* A (16, 8) Linear does not force a (8, 16) one. */
Test(policy, shapes_are_ordered)
{
    two_blocks();
    bench_fqns(&b, "mlp.up");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x16 (mlp.up)\nlayers.1: 8x16 (mlp.up)\n");
    cr_assert_eq(b.p.n_forced, 2);
}

/* The first configured FQN gives the reason; the other one's name is no "also". */
Test(policy, two_fqns_of_one_shape)
{
    two_blocks();
    bench_fqns(&b, "attn.wo,attn.wq,mlp.down");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x8 (attn.wo)\nlayers.0: 16x8 (mlp.down)\nlayers.1: 8x8 "
                                  "(attn.wo)\nlayers.1: 16x8 (mlp.down)\n");
}

/* Named in full: in that block only. */
Test(policy, one_block_only)
{
    two_blocks();
    bench_fqns(&b, "layers.1.moe.router.gate");
    assert_reasons("layers.0.attn.wq odd:1\nlayers.0.attn.wo even:2\nlayers.0.moe.router.gate "
                   "odd:3\nlayers.0.mlp.up even:4\n"
                   "layers.0.mlp.down odd:5\nlayers.1.attn.wq odd:1\nlayers.1.attn.wo even:2\n"
                   "layers.1.moe.router.gate forced:8x4:layers.1.moe.router.gate\nlayers.1.mlp.up "
                   "odd:3\nlayers.1.mlp.down even:4\n" HEAD);
}

Test(policy, substring)
{
    two_blocks();
    bench_fqns(&b, "gate");
    b.o.match = MATCH_SUBSTRING;
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x4 (gate)\nlayers.1: 8x4 (gate)\n");
}

Test(policy, glob)
{
    two_blocks();
    bench_fqns(&b, "attn.w*,moe.*.gate");
    b.o.match = MATCH_GLOB;
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x8 (attn.w*)\nlayers.0: 8x4 (moe.*.gate)\nlayers.1: 8x8 "
                                  "(attn.w*)\nlayers.1: 8x4 (moe.*.gate)\n");
}

Test(policy, force_shape)
{
    two_blocks();
    bench_force(&b, 8, 4);
    assert_planned(&b);
    assert_text(bench_forced(&b),
                "layers.0: 8x4 (-) also moe.router.gate\nlayers.1: 8x4 (-) also moe.router.gate\n");
    assert_text(
        bench_columns(&b, "r"),
        "odd:1\neven:2\nforced:8x4:-\nodd:3\neven:4\nodd:1\neven:2\nforced:8x4:-\nodd:3\neven:4\noutside\n");
}

/* Many Linears of one shape make a long list, not a large plan. */
Test(policy, also_forces_many)
{
    bench_add(
        &b, "in x f32[2,8]\nparam gate.weight f32[8,8]\nt = Transpose(gate.weight)\ny = MatMul(x,t)\nout y");
    for (int i = 0; i < 20000; i++)
        bench_add(&b, "param experts.n%d.weight f32[8,8]", i);
    b.o.whole = true;
    bench_fqns(&b, "gate");
    assert_planned(&b);
    cr_assert_eq(b.p.blocks[0].forced[0].also.n,
                 288889); /* 20000 x "experts.n", 88890 digits, 19999 commas */
    cr_assert_lt(b.p.arena.total, 4 << 20);
}

/* A shape that some FQN forces already keeps that FQN. */
Test(policy, force_shape_and_fqn)
{
    two_blocks();
    bench_force(&b, 8, 4);
    bench_force(&b, 3, 3);
    bench_fqns(&b, "moe.router.gate");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x4 (moe.router.gate)\nlayers.0: 3x3 (-)\nlayers.1: 8x4 "
                                  "(moe.router.gate)\nlayers.1: 3x3 (-)\n");
}

/* Wrappers in a configured name are no part of it. */
Test(policy, wrappers_in_options)
{
    two_blocks();
    bench_fqns(&b, "_orig_mod.layers.0.attn.wo,_checkpoint_wrapped_module.mlp.up");
    assert_planned(&b);
    assert_text(
        bench_forced(&b),
        "layers.0: 8x8 (layers.0.attn.wo) also attn.wq\nlayers.0: 8x16 (mlp.up)\nlayers.1: 8x16 (mlp.up)\n");
}

/* ---- names that hit nothing, or the wrong thing ---- */

Test(policy, not_a_linear)
{
    two_blocks();
    bench_fqns(&b, "moe.router");
    assert_refused(&b, IR_EPOLICY,
                   "FQN 'moe.router' names 'layers.0.moe.router', a container, which is not a Linear; "
                   "Linears inside it: gate");
    cr_assert_eq(b.p.n_rows, 0);
}

/* In any block: the first one fits, the second does not. */
Test(policy, not_a_linear_in_one_block)
{
    bench_add(&b, "in x f32[2,8]\nin i i64[2]");
    linear("layers.0.a.p", 8, 8, "x", "c");
    linear("layers.0.b.q", 8, 8, "c", "d");
    linear("layers.1.a.p.deep", 8, 8, "d", "e");
    linear("layers.1.b.q", 8, 8, "e", "f");
    bench_add(&b, "out f");
    bench_fqns(&b, "a.p");
    assert_refused(&b, IR_EPOLICY,
                   "'layers.1.a.p', a container, which is not a Linear; Linears inside it: deep");
}

/* The block itself, named in full. */
Test(policy, the_block_is_no_linear)
{
    two_blocks();
    bench_fqns(&b, "layers.1");
    assert_refused(&b, IR_EPOLICY, "'layers.1', a container, which is not a Linear; Linears inside it: ");
}

/* torchtitan's substring hits modules on the way, which are no Linears. */
Test(policy, substring_hits_a_container)
{
    two_blocks();
    bench_fqns(&b, "router");
    b.o.match = MATCH_SUBSTRING;
    assert_refused(&b, IR_EPOLICY, "which is not a Linear; Linears inside it: gate");
}

Test(policy, miss)
{
    two_blocks();
    bench_fqns(&b, "moe.router.gates");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "FQN 'moe.router.gates' matches in no block; closest: moe.router.gate");
    cr_assert_eq(b.p.n_forced, 0);
    b.o.strict = true;
    assert_refused(&b, IR_EPOLICY, "FQN 'moe.router.gates' matches in no block; closest: moe.router.gate");
}

/* A misspelt container: the same last component is near. */
Test(policy, miss_of_a_container)
{
    two_blocks();
    bench_fqns(&b, "feed_forward.down");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "closest: mlp.down");
}

Test(policy, outside_only)
{
    two_blocks();
    bench_fqns(&b, "head");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "FQN 'head' is found only outside every block ('head')");
    cr_assert_eq(b.p.n_forced, 0);
    b.o.strict = true;
    assert_refused(&b, IR_EPOLICY, "matches in no block");
}

/* F.linear(x, self.sub.gate.weight), folded: the weight's name is lost, and that of the block whose code
 * multiplies says nothing of whose the weight is. */
Test(policy, nameless_in_a_scope)
{
    bench_add(&b, "in x f32[2,8]\nparam 12 f32[8,8]\nparam 13 f32[8,6]\nparam 14 f32[6,8]\n"
                  "/layers.0/proj/MatMul: a = MatMul(x,12)\n/layers.0/MatMul: c = MatMul(a,13)\n"
                  "/layers.0/h/MatMul: d = MatMul(c,14)\nout d");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "sub.gate");
    assert_refused(&b, IR_EPOLICY,
                   "FQN 'sub.gate' matches no known name, but 1 mm in blocks has none (/layers.0/MatMul): "
                   "re-export with names kept, or say --force-shape KxN");
    bench_fqns(&b, "h");
    assert_planned(&b);
}

/* Code uses the weights of its own module and of those inside: no name from elsewhere. */
Test(policy, nameless_elsewhere)
{
    bench_add(&b, "in x f32[2,8]\nparam 12 f32[8,8]\nparam 13 f32[8,8]\nparam layers.0.c.w f32[8]\n"
                  "/layers.0/c/MatMul: a = MatMul(x,12)\n/layers.0/c/Mul: d = Mul(a,layers.0.c.w)\n"
                  "/layers.0/c/MatMul_1: e = MatMul(d,13)\nout e");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "gate");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "FQN 'gate' matches in no block");
    bench_fqns(&b, "c.gate");
    assert_refused(&b, IR_EPOLICY, "2 mms in blocks have none");
    bench_fqns(&b, "gate");
    b.o.match = MATCH_SUBSTRING;
    assert_refused(&b, IR_EPOLICY, "2 mms in blocks have none");
}

/* Of a function's body the call's name does not tell which module runs. */
Test(policy, nameless_in_a_function)
{
    bench_add(&b, "opset local 1\nin x f32[2,8]\nparam 12 f32[8,8]\nparam 13 f32[8,8]\n"
                  "/layers.0/a/F: y = local::F(x,12,13)\nout y\n"
                  "function local::F(v,p,q) -> (u)\nA: t = MatMul(v,p)\nB: u = MatMul(t,q)\nend");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "b.w");
    assert_refused(&b, IR_EPOLICY, "2 mms in blocks have none");
}

/* ... but a parameter's own name is known, and is no module's. */
Test(policy, name_of_a_parameter)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.w f32[8,8]\nparam 13 f32[8,6]\n"
                  "/layers.0/MatMul: a = MatMul(x,layers.0.w)\n/layers.0/MatMul_1: c = MatMul(a,13)\nout c");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "w");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "FQN 'w' matches in no block");
    bench_fqns(&b, "v");
    assert_refused(&b, IR_EPOLICY, "but 1 mm in blocks has none (/layers.0/MatMul_1)");
}

/* A bias of a module inside the scope's tells whose the weight is: nn.MultiheadAttention's out_proj. */
Test(policy, named_by_a_bias_inside)
{
    bench_add(&b, "in x f32[2,5,8]\nparam 12 f32[8,8]\nparam layers.0.attn.out.bias f32[8]\n"
                  "/layers.0/attn/MatMul: a = MatMul(x,12)\n"
                  "/layers.0/attn/Add: c = Add(layers.0.attn.out.bias,a)\nout c");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "attn.out");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fer"), "layers.0.attn.out bias forced:8x8:attn.out\n");
}

/* A block's mm of which nothing is known: the name might be its own. */
Test(policy, nameless)
{
    bench_add(&b, "in x f32[2,8]\nparam 12 f32[8,8]\nparam layers.0.norm.weight f32[8]");
    linear("layers.0.a.p", 8, 8, "x", "c");
    bench_add(&b, "M: m = MatMul(c,12)\nn = Mul(m,layers.0.norm.weight)");
    linear("layers.0.b.q", 8, 16, "n", "d");
    bench_add(&b, "out d");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "a.gate");
    assert_refused(&b, IR_EPOLICY,
                   "FQN 'a.gate' matches no known name, but 1 mm in blocks has none (M): re-export with "
                   "names kept, or say --force-shape KxN");
    bench_fqns(&b, "b.q");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x16 (b.q)\n");
}

/* Products of activations have no name to miss. */
Test(policy, activations_are_not_nameless)
{
    bench_add(&b, "in x f32[2,8]");
    linear("layers.0.a.p", 8, 8, "x", "c");
    bench_add(&b, "t = Transpose(c)\nM: m = MatMul(c,t)\nn = MatMul(m,c)");
    linear("layers.0.b.q", 8, 16, "n", "d");
    bench_add(&b, "out d");
    bench_fqns(&b, "a.gate");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "matches in no block");
}

/* Scopes leave out containers that are never called: the name is taken for the one that fits, and a note says
 * so. */
Test(policy, loose_names)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,4]\nparam onnx::MatMul_2 f32[8,8]\nparam onnx::MatMul_3 "
        "f32[8,8]\n"
        "/layers.0/attn/wq/MatMul: a = MatMul(x,onnx::MatMul_2)\n/layers.0/gate/MatMul: g = "
        "MatMul(a,onnx::MatMul_1)\n"
        "/layers.0/Mul: c = Mul(a,a)\n/layers.0/mlp/up/MatMul: d = MatMul(c,onnx::MatMul_3)\nout d\nout g");
    bench_fqns(&b, "moe.router.gate");
    assert_reasons("/layers.0/attn/wq/MatMul odd:1\n/layers.0/gate/MatMul "
                   "forced:8x4:moe.router.gate;assumed-containers\n/layers.0/mlp/up/MatMul even:2\n");
    assert_says(&b, DIAG_NOTE, "FQN 'moe.router.gate' is taken for 'layers.0.gate'");
}

/* ... also where its scope was used before by another module. */
Test(policy, loose_names_of_several)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,4]\nparam onnx::MatMul_2 f32[4,8]\n"
                  "param onnx::MatMul_3 f32[8,4]\nparam onnx::MatMul_4 f32[4,8]\n"
                  "/layers.0/up/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/layers.0/down/MatMul: c = MatMul(a,onnx::MatMul_2)\n"
                  "/layers.0/up_1/MatMul: d = MatMul(c,onnx::MatMul_3)\n"
                  "/layers.0/down_1/MatMul: e = MatMul(d,onnx::MatMul_4)\nout e");
    bench_blocks(&b, "layers.0");
    bench_fqns(&b, "experts.0.up");
    assert_reasons(
        "/layers.0/up/MatMul forced:8x4:experts.0.up;assumed-containers\n/layers.0/down/MatMul odd:1\n"
        "/layers.0/up_1/MatMul forced:8x4:experts.0.up;assumed-containers\n"
        "/layers.0/down_1/MatMul even:2\n");
}

/* One block's scopes keep more of the name than another's: the other has no such module. */
Test(policy, loose_names_that_lack_least)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n"
                  "param onnx::MatMul_3 f32[8,8]\nparam onnx::MatMul_4 f32[8,8]\n"
                  "/layers.0/attn/q/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/layers.0/ff/up/MatMul: c = MatMul(a,onnx::MatMul_2)\n"
                  "/layers.1/attn/q/MatMul: d = MatMul(c,onnx::MatMul_3)\n"
                  "/layers.1/experts.0/up/MatMul: e = MatMul(d,onnx::MatMul_4)\nout e");
    bench_blocks(&b, "layers.*");
    bench_fqns(&b, "ff.experts.0.up");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.1: 8x8 (ff.experts.0.up) also attn.q\n");
}

/* The name in full of a module outside is not taken for one inside. */
Test(policy, full_name_outside)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n");
    linear("head.layers.0.q", 8, 8, "x", "a");
    bench_add(&b, "/layers.0/q/MatMul: c = MatMul(a,onnx::MatMul_1)\n"
                  "/layers.0/k/MatMul: d = MatMul(c,onnx::MatMul_2)\nout d");
    bench_blocks(&b, "layers.0");
    bench_fqns(&b, "head.layers.0.q");
    assert_planned(&b);
    assert_text(bench_forced(&b), "");
    assert_says(&b, DIAG_WARNING, "is found only outside every block");
}

/* The forced set is each block's own. */
Test(policy, sets_per_block)
{
    bench_add(&b, "in x f32[2,8]");
    linear("layers.0.a.gate", 8, 8, "x", "c");
    linear("layers.0.b.q", 8, 4, "c", "d");
    bench_add(&b, "param k f32[4,8]\nM: d2 = MatMul(d,k)");
    linear("layers.1.a.gate", 8, 4, "d2", "e");
    linear("layers.1.b.q", 4, 8, "e", "f");
    bench_add(&b, "out f");
    bench_fqns(&b, "a.gate");
    assert_planned(&b);
    assert_text(bench_forced(&b), "layers.0: 8x8 (a.gate)\nlayers.1: 8x4 (a.gate)\n");
    assert_text(bench_columns(&b, "nr"), "layers.0.a.gate forced:8x8:a.gate\nlayers.0.b.q odd:1\nM "
                                         "outside\nlayers.1.a.gate forced:8x4:a.gate\nlayers.1.b.q odd:1\n");
}

/* An rhs of unknown dims may be forced for all the file tells: the row says what is assumed. */
Test(policy, unknown_dims)
{
    bench_add(&b, "in x f32[2,8]\nin u f32[8,?]");
    linear("layers.0.a.gate", 8, 4, "x", "c");
    bench_add(&b, "/layers.0/MatMul: m = MatMul(x,u)");
    linear("layers.0.b.q", 16, 8, "m", "d");
    bench_add(&b, "out c\nout d");
    bench_fqns(&b, "a.gate");
    assert_reasons("layers.0.a.gate forced:8x4:a.gate\n/layers.0/MatMul "
                   "odd:1;assumed-not-forced\nlayers.0.b.q even:2\n");
    bench_fqns(&b, "b.q");
    assert_reasons("layers.0.a.gate odd:1\n/layers.0/MatMul even:2\nlayers.0.b.q forced:16x8:b.q\n");
}

/* A Conv1D's product has a forced shape: forced as well. */
Test(policy, products_that_are_no_linear_are_forced)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.attn.c_attn.weight f32[8,16]");
    bench_add(&b, "/layers.0/attn/c_attn/Gemm: a = Gemm(x,layers.0.attn.c_attn.weight)");
    linear("layers.0.mlp.up", 8, 16, "x", "c");
    bench_add(&b, "out a\nout c");
    bench_fqns(&b, "mlp.up");
    assert_reasons("/layers.0/attn/c_attn/Gemm forced:8x16:mlp.up\nlayers.0.mlp.up forced:8x16:mlp.up\n");
}

/* An Embedding inside a block named by the configuration. */
Test(policy, embedding_in_a_block)
{
    bench_add(
        &b,
        "in x f32[2,8]\nin i i64[2]\nparam layers.0.emb.weight f32[10,8]\ne = Gather(layers.0.emb.weight,i)");
    linear("layers.0.a.p", 8, 8, "e", "c");
    linear("layers.0.b.q", 8, 8, "c", "d");
    bench_add(&b, "out d");
    bench_fqns(&b, "emb");
    assert_refused(&b, IR_EPOLICY,
                   "'layers.0.emb', an Embedding, which is not a Linear; no Linear lies inside it");
}

/* ---- the router ---- */

Test(policy, router_note)
{
    two_blocks();
    bench_add(&b, "s = Softmax(v02)\nparam k i64[1]{2}\ntv,ti = TopK(s,k)\nout ti");
    bench_fqns(&b, "moe.router.gate");
    assert_planned(&b);
    assert_says(&b, DIAG_NOTE, "'layers.0.moe.router.gate' is recomputed and decides a TopK");
    cr_assert_null(strstr(strstr(bench_messages(&b, DIAG_NOTE), "TopK") + 1, "TopK"), "once per model");
}

Test(policy, router_saved)
{
    two_blocks();
    bench_add(&b, "s = Softmax(v02)\nparam k i64[1]{2}\ntv,ti = TopK(s,k)\nout ti");
    assert_planned(&b); /* odd:3, saved */
    assert_silent(&b, DIAG_NOTE, "TopK");
}

/* ---- If ---- */

#define BRANCHES(then, otherwise, after)                                                                     \
    "in x f32[2,8]\nin k bool[]\nparam w f32[8,8]\nA: a = MatMul(x,w)\nI: y = If(k)\nbody "                  \
    "then_branch\n" then "end\nbody else_branch\n" otherwise "end\nr = Relu(y)\n" after

Test(policy, branches_start_from_one_count)
{
    bench_add(&b, BRANCHES("T: t = MatMul(a,w)\nout t\n", "E: e = MatMul(a,w)\nout e\n",
                           "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_reasons("A odd:1\n/1:If/then_branch|T even:2\n/1:If/else_branch|E even:2\nB odd:3\n");
}

Test(policy, branches_that_disagree)
{
    bench_add(&b,
              BRANCHES("T: t = MatMul(a,w)\nout t\n", "e = Relu(a)\nout e\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY,
                   "the branches of 'I' end on different counts, and more mms of block 'whole' follow");
}

Test(policy, else_branch_counts_alone)
{
    bench_add(&b,
              BRANCHES("t = Relu(a)\nout t\n", "E: e = MatMul(a,w)\nout e\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "the branches of 'I' end on different counts");
}

/* Nothing follows: they may end as they like. */
Test(policy, branches_at_the_end)
{
    bench_add(&b, BRANCHES("T: t = MatMul(a,w)\nout t\n", "e = Relu(a)\nout e\n", "out r"));
    b.o.whole = true;
    assert_reasons("A odd:1\n/1:If/then_branch|T even:2\n");
}

/* Of another parity only matters. */
Test(policy, branches_of_one_parity_but_different_counts)
{
    bench_add(&b, BRANCHES("T: t = MatMul(a,w)\nU: u = MatMul(t,w)\nout u\n", "e = Relu(a)\nout e\n",
                           "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "the branches of 'I' end on different counts");
}

/* Forced mms do not count. */
Test(policy, branches_with_forced_mms)
{
    bench_add(&b,
              BRANCHES("param v f32[8,4]\nparam u f32[4,8]\nT: t = MatMul(a,v)\nU: q = MatMul(t,u)\nout q\n",
                       "E: e = MatMul(a,w)\nout e\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    bench_force(&b, 8, 4);
    assert_reasons(
        "A odd:1\n/1:If/then_branch|T forced:8x4:-\n/1:If/then_branch|U even:2\n/1:If/else_branch|E "
        "even:2\nB odd:3\n");
}

/* A branch in a branch. */
Test(policy, nested_branches)
{
    bench_add(&b, BRANCHES("J: j = If(k)\nbody then_branch\nS: s = MatMul(a,w)\nout s\nend\nbody "
                           "else_branch\nQ: q = MatMul(a,w)\nout q\nend\nout j\n",
                           "E: e = MatMul(a,w)\nout e\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\neven:2\neven:2\nodd:3\n");
}

/* The inner branches count 1 each, the outer one 1 more: 2 against 1. */
Test(policy, nested_branches_that_disagree)
{
    bench_add(&b, BRANCHES("J: j = If(k)\nbody then_branch\nS: s = MatMul(a,w)\nout s\nend\nbody "
                           "else_branch\nQ: q = MatMul(a,w)\nout q\nend\n"
                           "R: j2 = MatMul(j,w)\nout j2\n",
                           "E: e = MatMul(a,w)\nout e\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "the branches of 'I' end on different counts");
}

/* ... and 2 against 2. */
Test(policy, nested_branches_that_agree)
{
    bench_add(&b, BRANCHES("J: j = If(k)\nbody then_branch\nS: s = MatMul(a,w)\nout s\nend\nbody "
                           "else_branch\nQ: q = MatMul(a,w)\nout q\nend\n"
                           "R: j2 = MatMul(j,w)\nout j2\n",
                           "E: e = MatMul(a,w)\nF: f = MatMul(e,w)\nout f\n", "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\neven:2\nodd:3\neven:2\nodd:3\neven:4\n");
}

/* Two Ifs one after the other. */
Test(policy, branches_in_a_row)
{
    bench_add(&b, BRANCHES("T: t = MatMul(a,w)\nout t\n", "E: e = MatMul(a,w)\nout e\n",
                           "I2: y2 = If(k)\nbody then_branch\nT2: t2 = MatMul(r,w)\nout t2\nend\nbody "
                           "else_branch\nE2: e2 = MatMul(r,w)\nout e2\nend\n"
                           "B: z = MatMul(y2,w)\nout z"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\neven:2\nodd:3\nodd:3\neven:4\n");
}

/* ---- Loop and Scan ---- */

/* A Loop over `trips` whose body carries s; `inside` computes t of s. */
#define LOOP(trips, inside, after)                                                                           \
    "in x f32[2,8]\n" trips                                                                                  \
    "\nparam yes bool[]{1}\nparam w f32[8,8]\nA: a = MatMul(x,w)\nL: y = Loop(n,yes,a)\nbody body\n"         \
    "in i i64[]\nin c bool[]\nin s f32[2,8]\nco = Identity(c)\n" inside "out co\nout t\nend\n" after

#define ONE_MM  "T: t = MatMul(s,w)\n"
#define TWO_MMS "S: q = MatMul(s,w)\nT: t = MatMul(q,w)\n"
#define AFTER   "B: z = MatMul(y,w)\nout z"

/* An even body: every iteration decides alike. */
Test(policy, loop_even_body)
{
    bench_add(&b, LOOP("param n i64[]{2}", TWO_MMS, AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "np"),
                "A save\n/1:Loop/body|S recompute\n/1:Loop/body|T save\n/1:Loop/body|S "
                "recompute\n/1:Loop/body|T save\nB recompute\n");
    cr_assert_eq(b.p.n_varies, 0);
}

/* ... whatever the trip count. */
Test(policy, loop_even_body_unknown_trips)
{
    bench_add(&b, LOOP("in n i64[]", TWO_MMS, AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nsave\nrecompute\n");
}

Test(policy, loop_odd_body_unknown_trips)
{
    bench_add(&b, LOOP("in n i64[]", ONE_MM, AFTER));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY,
                   "the body of 'L' counts 1 mm an iteration and its trip count is not known");
}

/* Iterations disagree: the plan tells, tagging is refused; mms after the loop go on from the right count. */
Test(policy, loop_odd_body_known_trips)
{
    struct annots out;
    bench_add(&b, LOOP("param n i64[]{4}", ONE_MM, AFTER));
    b.o.whole = true;
    assert_reasons("A odd:1\n/1:Loop/body|T even:2\n/1:Loop/body|T odd:3\n/1:Loop/body|T "
                   "even:4\n/1:Loop/body|T odd:5\nB even:6\n");
    cr_assert_gt(b.p.n_varies, 0);
    cr_assert(!b.p.rows[0].varies && b.p.rows[1].varies && b.p.rows[2].varies && !b.p.rows[5].varies);
    assert_says(&b, DIAG_WARNING, "mm 'T' in the body of 'L': iterations decide differently");
    cr_assert_eq(plan_annotate(&out, &b.p, false, CARRIER_METADATA, &b.d), IR_EPOLICY);
}

/* More iterations than anyone reads are not listed one by one; the count goes on all the same. */
Test(policy, loop_with_many_trips)
{
    bench_add(&b, LOOP("param n i64[]{1001}", ONE_MM, AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "nr"), "A odd:1\n/1:Loop/body|T even:2\nB odd:1003\n");
    cr_assert_eq(b.p.n_varies, 1);
    assert_says(&b, DIAG_WARNING, "mm 'T' in the body of 'L': iterations 0 and 1 decide differently");
}

Test(policy, loop_once)
{
    bench_add(&b, LOOP("param n i64[]{1}", ONE_MM, AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\nodd:3\n");
    cr_assert_eq(b.p.n_varies, 0);
}

/* A loop that never runs counts nothing. */
Test(policy, loop_never)
{
    bench_add(&b, LOOP("param n i64[]{0}", ONE_MM, AFTER));
    b.o.whole = true;
    assert_planned(&b);
    cr_assert_eq(b.p.n_varies, 0);
    cr_assert_eq(b.p.rows[2].policy, POLICY_RECOMPUTE, "the second to run, found '%.*s'",
                 STR_ARG(b.p.rows[2].reason));
}

/* "while": the count of INT64_MAX that exporters write for it is no trip count. */
Test(policy, while_loop)
{
    bench_add(&b, "in x f32[2,8]\nparam n i64[]{9223372036854775807}\nin yes bool[]\nparam w f32[8,8]\nA: a "
                  "= MatMul(x,w)\n"
                  "L: y = Loop(n,yes,a)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
                  "m = ReduceMax(t)\nco = Less(m,m)\nout co\nout t\nend\n" AFTER);
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "trip count is not known");
}

/* A count is an upper bound where the condition may end the loop. */
Test(policy, loop_that_may_end_early)
{
    bench_add(&b,
              "in x f32[2,8]\nparam n i64[]{4}\nparam yes bool[]{1}\nparam w f32[8,8]\nA: a = MatMul(x,w)\n"
              "L: y = Loop(n,yes,a)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
              "m = ReduceMax(t)\nco = Less(m,m)\nout co\nout t\nend\n" AFTER);
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "trip count is not known");
}

/* A condition that the body hands through, or one that is constant, does not. */
Test(policy, loop_with_constant_condition)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam n i64[]{2}\nparam w f32[8,8]\nA: a = MatMul(x,w)\nk = Constant() value=bool[]{1}\n"
        "L: y = Loop(n,,a)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
        "co = Identity(k)\nout co\nout t\nend\n" AFTER);
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nsave\nrecompute\n");
}

/* ... also one that no node of the body makes: ONNX Runtime's optimiser writes it so. */
Test(policy, loop_with_a_condition_among_the_initializers)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam n i64[]{2}\nparam w f32[8,8]\nA: a = MatMul(x,w)\n"
        "L: y = Loop(n,,a)\nbody body\nparam yes bool[]{1}\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
        "out yes\nout t\nend\n" AFTER);
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nsave\nrecompute\n");
}

/* A condition that is false from the start: no iteration counts, as with a trip count of 0. */
Test(policy, loop_that_is_never_entered)
{
    static const char *const trips[] = {"param n i64[]{4}", "in n i64[]",
                                        "param n i64[]{9223372036854775807}"};
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
        bench_add(&b, "in x f32[2,8]\n%s\nparam no bool[]{0}\nparam w f32[8,8]\nA: a = MatMul(x,w)\n",
                  trips[i]);
        bench_add(&b, "L: y = Loop(n,no,a)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
                      "co = Identity(c)\nout co\nout t\nend\n" AFTER);
        b.o.whole = true;
        assert_reasons("A odd:1\n/1:Loop/body|T even:2\nB even:2\n");
        cr_assert_eq(b.p.n_varies, 0);
        bench_free(&b);
        bench_init(&b);
    }
}

/* A condition that the body makes false: one iteration, whatever the trip count, unless that may be 0. */
Test(policy, loop_that_ends_after_one_iteration)
{
    static const char *const trips[] = {"param n i64[]{2}\nL: y = Loop(n,,a)",
                                        "param n i64[]{100}\nL: y = Loop(n,,a)", "L: y = Loop(,,a)",
                                        "param yes bool[]{1}\nL: y = Loop(,yes,a)"};
    static const char body[] = "\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
                               "k = Constant() value=i64[]{0}\nco = Cast(k) to=9\nout co\nout t\nend\n" AFTER;
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
        bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\nA: a = MatMul(x,w)\n%s%s", trips[i], body);
        b.o.whole = true;
        assert_reasons("A odd:1\n/1:Loop/body|T even:2\nB odd:3\n");
        cr_assert_eq(b.p.n_varies, 0);
        bench_free(&b);
        bench_init(&b);
    }
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\nA: a = MatMul(x,w)\nin n i64[]\nL: y = Loop(n,,a)%s",
              body);
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "trip count is not known");
}

/* A condition computed from weights is the same each time, but who knows what? */
Test(policy, loop_with_a_fixed_condition)
{
    bench_add(&b, "in x f32[2,8]\nparam n i64[]{2}\nparam w f32[8,8]\nA: a = MatMul(x,w)\nm = ReduceMax(w) "
                  "keepdims=0\nk = Greater(m,m)\n"
                  "L: y = Loop(n,k,a)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\n" ONE_MM
                  "co = Identity(c)\nout co\nout t\nend\n" AFTER);
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "trip count is not known");
}

/* Counts that are too large stop growing; whether they are odd stays right. */
Test(policy, loop_with_more_trips_than_can_be_counted)
{
    bench_add(&b, LOOP("param n i64[]{4294967296}", ONE_MM,
                       AFTER "\nC: u = MatMul(z,w)\nD: v = MatMul(u,w)\nout v"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\neven:4294967294\nodd:4294967295\neven:4294967294\n");
}

/* Nothing of the call lies after the loop, and all of it inside: each iteration is a call. */
Test(policy, block_inside_a_loop)
{
    bench_add(&b, "in x f32[2,8]\nin n i64[]\nparam yes bool[]{1}\nparam block.a.weight f32[8,8]\nparam "
                  "block.b.weight f32[8,8]\n"
                  "param block.c.weight f32[8,8]\nL: y = Loop(n,yes,x)\n"
                  "body body\nin i i64[]\nin c bool[]\nin s f32[2,8]\nco = Identity(c)\nt1 = "
                  "Transpose(block.a.weight)\nt2 = Transpose(block.b.weight)\n"
                  "t3 = Transpose(block.c.weight)\nS: q = MatMul(s,t1)\nT: r = MatMul(q,t2)\nU: t = "
                  "MatMul(r,t3)\nout co\nout t\nend\nout y");
    bench_blocks(&b, "block");
    assert_planned(&b);
    assert_text(bench_columns(&b, "br"), "block#0 odd:1\nblock#0 even:2\nblock#0 odd:3\n");
    cr_assert_eq(b.p.n_varies, 0);
}

#define INNER(trips, inside)                                                                                 \
    trips "\nK: t = Loop(n2,yes,s)\nbody body\nin i2 i64[]\nin c2 bool[]\nin s2 f32[2,8]\nco2 = "            \
          "Identity(c2)\n" inside "out co2\nout t2\nend\n"

/* A loop in a loop: 3 times 2 rows. */
Test(policy, nested_loops)
{
    bench_add(&b, LOOP("param n i64[]{3}", INNER("param n2 i64[]{2}", "S: t2 = MatMul(s2,w)\n"), AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\nodd:3\neven:4\nodd:5\neven:6\nodd:7\neven:8\n");
}

/* Iterations of the outer one have rows of their own; the inner one is one loop in each, not one loop in all.
 */
Test(policy, nested_loops_unknown_inside)
{
    bench_add(&b, LOOP("param n i64[]{2}", INNER("in n2 i64[]", "S: t2 = MatMul(s2,w)\n"), AFTER));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY,
                   "the body of 'K' counts 1 mm an iteration and its trip count is not known");
}

Test(policy, nested_loops_unknown_but_even_inside)
{
    bench_add(&b, LOOP("param n i64[]{2}",
                       INNER("in n2 i64[]", "S: q2 = MatMul(s2,w)\nU: t2 = MatMul(q2,w)\n"), AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\nodd:3\neven:4\nodd:5\neven:6\n");
    cr_assert_eq(b.p.n_varies, 0);
}

/* 2 times 100: the rows of the inner one stand for all of its iterations, in each of the outer ones. */
Test(policy, nested_loops_with_many_trips_inside)
{
    bench_add(&b, LOOP("param n i64[]{2}", INNER("param n2 i64[]{101}", "S: t2 = MatMul(s2,w)\n"), AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "r"), "odd:1\neven:2\nodd:103\neven:204\n");
}

/* A block that is called in the inner one has a region for each of its iterations. */
Test(policy, block_inside_nested_loops)
{
    bench_add(&b,
              LOOP("param n i64[]{2}\nparam block.a.weight f32[8,8]",
                   INNER("in n2 i64[]", "t1 = Transpose(block.a.weight)\nS: t2 = MatMul(s2,t1)\n"), "out y"));
    bench_blocks(&b, "block");
    assert_planned(&b);
    assert_text(bench_columns(&b, "br"), "- outside\nblock#0 odd:1\nblock#0 odd:1\n");
}

/* The outer one runs nobody knows how often; the inner one counts 3 each time, or 100. */
Test(policy, nested_loops_unknown_outside)
{
    bench_add(&b, LOOP("in n i64[]", INNER("param n2 i64[]{3}", "S: t2 = MatMul(s2,w)\n"), AFTER));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "the body of 'L' counts 3 mms an iteration");
}

Test(policy, nested_loops_that_are_even)
{
    bench_add(&b, LOOP("in n i64[]", INNER("param n2 i64[]{100}", "S: t2 = MatMul(s2,w)\n"), AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nrecompute\n");
    cr_assert_gt(b.p.n_varies, 0, "the inner one's iterations differ");
}

/* A branch in a loop: one of the two runs each time, so the body is odd. */
Test(policy, branch_in_a_loop)
{
    bench_add(&b, LOOP("in n i64[]",
                       "m = ReduceMax(s) keepdims=0\nk = Cast(m) to=9\nI: t = If(k)\nbody then_branch\nT: p "
                       "= MatMul(s,w)\nout p\nend\n"
                       "body else_branch\nE: q = MatMul(s,w)\nout q\nend\n",
                       AFTER));
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "counts 1 mm an iteration and its trip count is not known");
}

/* ... and even with another mm beside it. */
Test(policy, branch_in_an_even_loop)
{
    bench_add(&b, LOOP("in n i64[]",
                       "m = ReduceMax(s) keepdims=0\nk = Cast(m) to=9\nI: v = If(k)\nbody then_branch\nT: p "
                       "= MatMul(s,w)\nout p\nend\n"
                       "body else_branch\nE: q = MatMul(s,w)\nout q\nend\nU: t = MatMul(v,w)\n",
                       AFTER));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nrecompute\nsave\nrecompute\n");
}

/* ... and known iterations are calls, too: the count starts anew with each. */
Test(policy, block_inside_a_known_loop)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam n i64[]{2}\nparam yes bool[]{1}\nparam block.a.weight f32[8,8]\nparam w f32[8,8]\n"
        "L: y = Loop(n,yes,x)\nbody body\nin i i64[]\nin c bool[]\nin s f32[2,8]\nco = Identity(c)\nt1 = "
        "Transpose(block.a.weight)\n"
        "S: t = MatMul(s,t1)\nout co\nout t\nend\n/Relu: r = Relu(y)\n/head/MatMul: z = MatMul(r,w)\nout z");
    bench_blocks(&b, "block");
    assert_planned(&b);
    assert_text(bench_columns(&b, "br"), "block#0 odd:1\nblock#0 odd:1\n- outside\n");
    cr_assert_eq(b.p.n_varies, 0);
}

/* A loop in a branch counts as often as it runs: 2 against 0, and the other branch starts where the first
 * did. */
Test(policy, loop_in_a_branch)
{
    bench_add(&b, BRANCHES("param n i64[]{2}\nparam yes bool[]{1}\nL: l = Loop(n,yes,a)\nbody body\nin i "
                           "i64[]\nin c bool[]\nin s f32[2,8]\nco = Identity(c)\n"
                           "S: t = MatMul(s,w)\nout co\nout t\nend\nout l\n",
                           "e = Relu(a)\nE: f = MatMul(e,w)\nF: g = MatMul(f,w)\nout g\n",
                           "B: z = MatMul(r,w)\nout z"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "p"), "save\nrecompute\nsave\nrecompute\nsave\nrecompute\n");
}

#define SCAN(x, attributes, inside)                                                                          \
    "in x " x "\nin h f32[2,8]\nparam w f32[8,8]\nA: a = MatMul(h,w)\nL: y,ys = Scan(a,x) " attributes       \
    "\nbody body\nin s f32[2,8]\nin e f32[2,8]\n" inside "u = Relu(r)\nout r\nout u\nend\n"                  \
    "B: z = MatMul(y,w)\nout z\nout ys"

/* Scan runs as often as its input is long. */
Test(policy, scan)
{
    bench_add(&b, SCAN("f32[3,2,8]", "num_scan_inputs=1", "S: q = MatMul(s,w)\nT: r = MatMul(q,w)\n"));
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "nr"),
                "A odd:1\n/1:Scan/body|S even:2\n/1:Scan/body|T odd:3\n/1:Scan/body|S even:4\n/1:Scan/body|T "
                "odd:5\n/1:Scan/body|S even:6\n/1:Scan/body|T odd:7\nB even:8\n");
    cr_assert_eq(b.p.n_varies, 0);
}

/* ... along its axis. */
Test(policy, scan_axis)
{
    static const char *const scans[] = {
        SCAN("f32[2,3,8]", "num_scan_inputs=1 scan_input_axes=[1]", "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "scan_input_axes=[-2] num_scan_inputs=1", "S: r = MatMul(s,w)\n")};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        bench_add(&b, "%s", scans[i]);
        b.o.whole = true;
        assert_reasons(
            "A odd:1\n/1:Scan/body|S even:2\n/1:Scan/body|S odd:3\n/1:Scan/body|S even:4\nB odd:5\n");
        assert_says(&b, DIAG_WARNING, "mm 'S' in the body of 'L': iterations decide differently");
        bench_free(&b);
        bench_init(&b);
    }
}

/* An axis that its input does not have, no number of inputs, or one operand more, as before opset 9. */
Test(policy, scan_that_does_not_tell)
{
    static const char *const scans[] = {
        SCAN("f32[2,3,8]", "num_scan_inputs=1 scan_input_axes=[3]", "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "num_scan_inputs=1 scan_input_axes=[-4]", "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "num_scan_inputs=1 scan_input_axes=[-9223372036854775808]",
             "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "num_scan_inputs=3", "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "num_scan_inputs=0", "S: r = MatMul(s,w)\n"),
        SCAN("f32[2,3,8]", "", "S: r = MatMul(s,w)\n"),
        "in x f32[1,3,2,8]\nin h f32[1,2,8]\nparam w f32[8,8]\nL: y,ys = Scan(,h,x) num_scan_inputs=1\nbody body\nin "
        "s f32[2,8]\nin e f32[2,8]\nS: r = MatMul(s,w)\nu = Relu(r)\nout r\nout u\nend\nB: z = "
        "MatMul(y,w)\nout z\nout ys"};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        bench_add(&b, "%s", scans[i]);
        b.o.whole = true;
        assert_refused(&b, IR_EPOLICY,
                       "the body of 'L' counts 1 mm an iteration and its trip count is not known");
        bench_free(&b);
        bench_init(&b);
    }
}

Test(policy, sequence_map)
{
    bench_add(
        &b,
        "in x\nparam w f32[8,8]\nL: y = SequenceMap(x)\nbody body\nin s f32[2,8]\nS: r = MatMul(s,w)\nout "
        "r\nend\nout y");
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY,
                   "the body of 'L' counts 1 mm an iteration and its trip count is not known");
}

/* Somebody's operator with graphs: nobody knows how it runs them, and that is said where it matters. */
Test(policy, graphs_of_an_unknown_operator)
{
    bench_add(&b,
              "in x f32[2,8]\nparam w f32[8,8]\nA: a = MatMul(x,w)\nL: y = acme::If(a)\nbody one\nS: r = "
              "MatMul(a,w)\nout r\nend\nbody two\nT: q = MatMul(a,w)\nout q\nend\nK: p = acme::Loop(y)\nbody "
              "body\nu = Relu(x)\nout u\nend\nB: z = MatMul(y,w)\nout z");
    b.o.whole = true;
    assert_reasons("A odd:1\n/1:If/one|S even:2\n/1:If/two|T odd:3\nB even:4\n");
    assert_says(&b, DIAG_WARNING,
                "mms lie in 2 graphs of which it is not known how often they are run (the first in node "
                "'L', acme:If): taken to run once, where the node stands");
    assert_silent(&b, DIAG_WARNING, "'K'");
}

Test(policy, scan_odd)
{
    bench_add(&b,
              "in x f32[?,2,8]\nin h f32[2,8]\nparam w f32[8,8]\nL: y,ys = Scan(h,x) num_scan_inputs=1\n"
              "body body\nin s f32[2,8]\nin e f32[2,8]\nS: q = MatMul(s,w)\nu = Relu(q)\nout q\nout u\nend\n"
              "B: z = MatMul(y,w)\nout z\nout ys");
    b.o.whole = true;
    assert_refused(&b, IR_EPOLICY, "the body of 'L' counts 1 mm an iteration");
}

/* Many rows in one body are gone through in a time that grows with their number, not with its square. */
Test(policy, large_bodies)
{
    bench_add(&b, "in x f32[2,8]\nparam n i64[]{3}\nparam yes bool[]{1}\nparam w f32[8,8]\nA: a = "
                  "MatMul(x,w)\nL: y = Loop(n,yes,a)\nbody body\n"
                  "in i i64[]\nin c bool[]\nin s0 f32[2,8]\nco = Identity(c)");
    for (int i = 0; i < 20000; i++)
        bench_add(&b, "s%d = MatMul(s%d,w)", i + 1, i);
    bench_add(&b, "out co\nout s20000\nend\n" AFTER);
    b.o.whole = true;
    assert_planned(&b);
    cr_assert_eq(b.p.n_rows, 60002);
    cr_assert_eq(b.p.rows[60001].policy, POLICY_RECOMPUTE);
}

/* ---- functions ---- */

#define LINEAR_FN "function local::Linear(p,v) -> (r)\nt = Transpose(v)\nF: r = MatMul(p,t)\nend"

Test(policy, calls_that_agree)
{
    struct annots out;
    bench_add(&b, "in x f32[2,8]\nparam a.weight f32[8,8]\nparam c.weight f32[8,8]\nparam w f32[8,8]\n"
                  "y = local::Linear(x,a.weight)\nM: q = MatMul(y,w)\nz = local::Linear(q,c.weight)\nout "
                  "z\n" LINEAR_FN);
    b.o.whole = true;
    assert_reasons("fn:local:Linear|F odd:1\nM even:2\nfn:local:Linear|F odd:3\n");
    assert_text(bench_columns(&b, "f"), "a\n-\nc\n");
    cr_assert_eq(b.p.n_varies, 0);
    cr_assert_eq(plan_annotate(&out, &b.p, false, CARRIER_METADATA, &b.d), 0);
}

Test(policy, calls_that_disagree)
{
    struct annots out;
    bench_add(
        &b, "in x f32[2,8]\nparam a.weight f32[8,8]\nparam c.weight f32[8,8]\ny = local::Linear(x,a.weight)\n"
            "z = local::Linear(y,c.weight)\nout z\n" LINEAR_FN);
    b.o.whole = true;
    assert_reasons("fn:local:Linear|F odd:1\nfn:local:Linear|F even:2\n");
    cr_assert_eq(b.p.n_varies, 1);
    cr_assert(b.p.rows[0].varies && b.p.rows[1].varies);
    assert_says(&b, DIAG_WARNING, "the calls for 'a' (save) and 'c' (recompute) decide differently");
    cr_assert_eq(plan_annotate(&out, &b.p, false, CARRIER_METADATA, &b.d), IR_EPOLICY);
    assert_says(&b, DIAG_ERROR,
                "one node cannot carry both (--specialize makes a copy of the function for each)");
}

/* ... also when only one of them lies in a block. */
Test(policy, calls_inside_and_outside)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.a.p.weight f32[8,8]\nparam layers.0.b.q.weight "
                  "f32[8,8]\nparam head.weight f32[8,8]\n"
                  "y = local::Linear(x,layers.0.a.p.weight)\nM: z = local::Linear(y,layers.0.b.q.weight)\nq "
                  "= local::Linear(z,head.weight)\nout q\n" LINEAR_FN);
    bench_blocks(&b, "layers.0");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fbr"),
                "layers.0.a.p layers.0#0 odd:1\nlayers.0.b.q layers.0#0 even:2\nhead - outside\n");
    cr_assert_gt(b.p.n_varies, 0);
}

Test(policy, recursion_is_refused)
{
    bench_add(&b, "in x f32[2,8]\ny = local::F(x)\nout y\nfunction local::F(p) -> (r)\nr = local::F(p)\nend");
    assert_refused(&b, IR_EINPUT, "calls itself");
}

/* A pattern selects the Linears among what it fits; without one among them it is an error, as a name is. */
Test(policy, a_glob_selects_linears)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.norm.weight f32[8]\n"
                  "param layers.0.fc1.weight f32[12,8]\n"
                  "param layers.0.fc2.weight f32[8,12]\n"
                  "/layers.0/norm/Mul: n = Mul(x,layers.0.norm.weight)\n"
                  "t = Transpose(layers.0.fc1.weight)\n"
                  "/layers.0/fc1/MatMul: a = MatMul(n,t)\n"
                  "u = Transpose(layers.0.fc2.weight)\n"
                  "/layers.0/fc2/MatMul: c = MatMul(a,u)\n"
                  "out c");
    b.o.match = MATCH_GLOB;
    bench_fqns(&b, "layers.*.**");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fp"), "layers.0.fc1 recompute\nlayers.0.fc2 recompute\n");
    bench_fqns(&b, "layers.*.n*");
    cr_assert_eq(bench_plan(&b), IR_EPOLICY);
    assert_says(&b, DIAG_ERROR, "FQN 'layers.*.n*' names 'layers.0.norm'");
}
