/* Blocks and their calls: which call of which block each mm belongs to (POLICY.md 1, 2 "Blocks"). */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct bench b;
static uint32_t n_weights; /* of the models made by several() */

static void setup(void)
{
    bench_init(&b);
    n_weights = 0;
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(block, .init = setup, .fini = teardown);

#define assert_blocks(list, rows)                                                                            \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_block_list(&b), list);                                                             \
        assert_text(bench_columns(&b, "nbr"), rows);                                                         \
    } while (0)

/* y = x W^T by a Linear as the TorchScript exporter writes it with names kept; `scope` is the node names'
 * path. */
static void linear(const char *scope, const char *fqn, const char *x, const char *y)
{
    bench_add(&b,
              "param %s.weight f32[8,8]\n"
              "%s/Transpose: %s_t = Transpose(%s.weight)\n"
              "%s/MatMul: %s = MatMul(%s,%s_t)",
              fqn, scope, y, fqn, scope, y, x, y);
}

/* ... folded: the name is only in the scope. */
static void folded(const char *scope, const char *weight, const char *x, const char *y)
{
    bench_add(&b, "param %s f32[8,8]\n%s/MatMul: %s = MatMul(%s,%s)", weight, scope, y, x, weight);
}

/* ---- which blocks ---- */

Test(block, automatic)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/embed", "embed", "x", "a");
    linear("/layers.0/attn/q", "layers.0.attn.q", "a", "c");
    linear("/layers.0/mlp/up", "layers.0.mlp.up", "c", "d");
    bench_add(&b, "/layers.0/Add: e = Add(d,a)");
    linear("/layers.1/attn/q", "layers.1.attn.q", "e", "f");
    linear("/layers.1/mlp/up", "layers.1.mlp.up", "f", "g");
    bench_add(&b, "/layers.1/Add: h = Add(g,e)");
    linear("/head", "head", "h", "y");
    bench_add(&b, "out y");
    assert_blocks("layers.0 1\nlayers.1 1\n", "/embed/MatMul - outside\n"
                                              "/layers.0/attn/q/MatMul layers.0#0 odd:1\n"
                                              "/layers.0/mlp/up/MatMul layers.0#0 even:2\n"
                                              "/layers.1/attn/q/MatMul layers.1#0 odd:1\n"
                                              "/layers.1/mlp/up/MatMul layers.1#0 even:2\n"
                                              "/head/MatMul - outside\n");
    cr_assert_str_eq(b.p.blocks_how, "auto");
    cr_assert_eq(b.p.n_outside, 2);
    cr_assert_eq(b.p.blocks[0].saved, 1);
    cr_assert_eq(b.p.blocks[0].recomputed, 1);
}

/* No numbered container: the whole graph, and a warning. */
Test(block, whole_when_nothing_else)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/fc1", "fc1", "x", "a");
    linear("/fc2", "fc2", "a", "y");
    bench_add(&b, "out y");
    assert_blocks("whole 1\n", "/fc1/MatMul whole#0 odd:1\n/fc2/MatMul whole#0 even:2\n");
    cr_assert_str_eq(b.p.blocks_how, "whole");
    assert_says(&b, DIAG_WARNING, "does not lower peak memory");
    cr_assert_eq(b.p.n_linears, 2);
    cr_assert_eq(b.p.linears[0].block, 0);
}

Test(block, given_by_pattern)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/enc/a/q", "enc.a.q", "x", "c");
    linear("/enc/b/q", "enc.b.q", "c", "d");
    linear("/dec/a/q", "dec.a.q", "d", "y");
    bench_add(&b, "out y");
    bench_blocks(&b, "enc.*");
    assert_blocks(
        "enc.a 1\nenc.b 1\n",
        "/enc/a/q/MatMul enc.a#0 odd:1\n/enc/b/q/MatMul enc.b#0 odd:1\n/dec/a/q/MatMul - outside\n");
    cr_assert_str_eq(b.p.blocks_how, "given");
    bench_blocks(&b, "enc,dec.a");
    assert_blocks(
        "enc 1\ndec.a 1\n",
        "/enc/a/q/MatMul enc#0 odd:1\n/enc/b/q/MatMul enc#0 even:2\n/dec/a/q/MatMul dec.a#0 odd:1\n");
    bench_blocks(&b, "nothing.*");
    assert_refused(&b, IR_EPOLICY, "no module of this graph matches --blocks 'nothing.*'");
    bench_blocks(&b, "enc,dec.b");
    assert_refused(&b, IR_EPOLICY, "no module of this graph matches --blocks 'dec.b'");
}

/* The file does not tell of "transformer": the scope starts with h.0. */
Test(block, given_with_missing_containers)
{
    bench_add(&b, "in x f32[2,8]");
    folded("/h.0/attn/q", "onnx::MatMul_1", "x", "a");
    folded("/h.0/mlp/up", "onnx::MatMul_2", "a", "c");
    folded("/h.1/attn/q", "onnx::MatMul_3", "c", "d");
    bench_add(&b, "out d");
    bench_blocks(&b, "transformer.h.*");
    assert_blocks("transformer.h.0 1\ntransformer.h.1 1\n", "/h.0/attn/q/MatMul transformer.h.0#0 odd:1\n"
                                                            "/h.0/mlp/up/MatMul transformer.h.0#0 even:2\n"
                                                            "/h.1/attn/q/MatMul transformer.h.1#0 odd:1\n");
    bench_blocks(&b, "transformer.h.1");
    assert_planned(&b);
    assert_text(bench_columns(&b, "b"), "-\n-\ntransformer.h.1#0\n");
}

/* ---- what a person would call the blocks of well-known models, from folded exports: names in scopes only
 * ---- */

/* One Linear of the model: the next value is y<k>. */
static void next(const char *scope)
{
    char x[16], y[16], weight[32];
    snprintf(x, sizeof x, n_weights ? "y%u" : "x", n_weights);
    snprintf(y, sizeof y, "y%u", n_weights + 1);
    snprintf(weight, sizeof weight, "onnx::MatMul_%u", 100 + n_weights);
    folded(scope, weight, x, y);
    n_weights++;
}

static void several(const char *base, const char *names)
{
    while (*names) {
        char scope[128];
        size_t n = strcspn(names, " ");
        snprintf(scope, sizeof scope, "%s/%.*s", base, (int)n, names);
        next(scope);
        names += n + (names[n] == ' ');
    }
}

static void assert_block_names(const char *want)
{
    bench_add(&b, "out y%u", n_weights);
    assert_planned(&b);
    assert_text(bench_block_list(&b), want);
}

Test(block, swin)
{
    bench_add(&b, "in x f32[2,8]");
    for (int stage = 0; stage < 2; stage++) {
        char base[64];
        for (int i = 0; i < 2; i++) {
            snprintf(base, sizeof base, "/stages.%d/blocks.%d", stage, i);
            several(base, "attn/qkv attn/proj mlp/fc1 mlp/fc2");
            bench_add(&b, "%s/Add: y%u = Add(y%u,y%u)", base, n_weights + 1, n_weights, n_weights);
            n_weights++;
        }
        snprintf(base, sizeof base, "/stages.%d/downsample", stage);
        several(base, "reduction");
    }
    next("/head/fc");
    assert_block_names(
        "stages.0.blocks.0 1\nstages.0.blocks.1 1\nstages.1.blocks.0 1\nstages.1.blocks.1 1\n");
}

Test(block, unet)
{
    bench_add(&b, "in x f32[2,8]");
    next("/time_embedding/linear_1");
    next("/time_embedding/linear_2");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            char base[96];
            snprintf(base, sizeof base, "/down_blocks.%d/resnets.%d", i, j);
            several(base, "time_emb_proj");
            snprintf(base, sizeof base, "/down_blocks.%d/attentions.%d", i, j);
            several(base, "proj_in");
            snprintf(base, sizeof base, "/down_blocks.%d/attentions.%d/transformer_blocks.0", i, j);
            several(base,
                    "attn1/to_q attn1/to_k attn1/to_v attn1/to_out.0 attn2/to_q ff/net.0/proj ff/net.2");
            snprintf(base, sizeof base, "/down_blocks.%d/attentions.%d", i, j);
            several(base, "proj_out");
        }
    assert_block_names("down_blocks.0.attentions.0.transformer_blocks.0 1\n"
                       "down_blocks.0.attentions.1.transformer_blocks.0 1\n"
                       "down_blocks.1.attentions.0.transformer_blocks.0 1\n"
                       "down_blocks.1.attentions.1.transformer_blocks.0 1\n");
}

Test(block, mixture_of_experts)
{
    bench_add(&b, "in x f32[2,8]");
    for (int i = 0; i < 2; i++) {
        char base[64];
        snprintf(base, sizeof base, "/layers.%d", i);
        several(
            base,
            "attention/wq attention/wo moe/router/gate moe/experts.0/w1 moe/experts.0/w2 moe/experts.1/w1 moe/experts.1/w2");
    }
    next("/output");
    assert_block_names("layers.0 1\nlayers.1 1\n");
}

/* The same with containers that are never called left out of the scopes. */
Test(block, mixture_of_experts_with_missing_containers)
{
    bench_add(&b, "in x f32[2,8]");
    for (int i = 0; i < 2; i++) {
        char base[64];
        snprintf(base, sizeof base, "/layers.%d", i);
        several(base, "attention/wq attention/wo gate experts.0/w1 experts.0/w2 experts.1/w1 experts.1/w2");
    }
    next("/output");
    assert_block_names("layers.0 1\nlayers.1 1\n");
}

Test(block, plain_sequential)
{
    bench_add(&b, "in x f32[2,8]");
    next("/0");
    next("/2");
    next("/4");
    assert_block_names("whole 1\n");
}

Test(block, vision_transformer)
{
    bench_add(&b, "in x f32[2,8]");
    for (int i = 0; i < 2; i++) {
        char base[64];
        snprintf(base, sizeof base, "/encoder/layers/encoder_layer_%d", i);
        several(base, "self_attention mlp/mlp.0 mlp/mlp.3");
    }
    next("/heads/head");
    assert_block_names("encoder.layers.encoder_layer_0 1\nencoder.layers.encoder_layer_1 1\n");
}

/* ---- calls ---- */

/* A block called three times: its own nodes carry the suffix, and the count starts anew with each. */
Test(block, called_again_by_suffix)
{
    bench_add(
        &b,
        "in x f32[2,8]\n"
        "param block.q.weight f32[8,8]\n"
        "param block.up.weight f32[8,8]\n"
        "param block.down.weight f32[8,8]\n"
        "t = Transpose(block.q.weight)\nu = Transpose(block.up.weight)\nv = Transpose(block.down.weight)\n"
        "/block/q/MatMul: a = MatMul(x,t)\n"
        "/block/up/MatMul: c = MatMul(a,u)\n"
        "/block/down/MatMul: d = MatMul(c,v)\n"
        "/block/Add: e = Add(x,d)\n"
        "/block/q_1/MatMul: f = MatMul(e,t)\n"
        "/block/up_1/MatMul: g = MatMul(f,u)\n"
        "/block/down_1/MatMul: h = MatMul(g,v)\n"
        "/block_1/Add: i = Add(e,h)\nout i");
    bench_blocks(&b, "block");
    assert_blocks(
        "block 2\n",
        "/block/q/MatMul block#0 odd:1\n/block/up/MatMul block#0 even:2\n/block/down/MatMul block#0 odd:3\n"
        "/block/q_1/MatMul block#1 odd:1\n"
        "/block/up_1/MatMul block#1 even:2\n"
        "/block/down_1/MatMul block#1 odd:3\n");
}

/* What follows the last node that stands directly in a block belongs to that call: a final norm, a final
 * Linear. */
Test(block, tail_of_a_call)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param onnx::MatMul_1 f32[8,8]\n"
                  "param onnx::MatMul_2 f32[8,8]\n"
                  "param onnx::MatMul_3 f32[8,8]\n"
                  "/layers.0/attn/MatMul: a = MatMul(x,onnx::MatMul_1)\n/layers.0/Add: c = Add(a,x)\n"
                  "/layers.0/mlp/up/MatMul: d = MatMul(c,onnx::MatMul_2)\n"
                  "/layers.0/mlp/down/MatMul: e = MatMul(d,onnx::MatMul_3)\n"
                  "/layers.0/norm/Softmax: f = Softmax(e)\n/head/Relu: g = Relu(f)\nout g");
    bench_blocks(&b, "layers.0");
    assert_blocks("layers.0 1\n", "/layers.0/attn/MatMul layers.0#0 odd:1\n"
                                  "/layers.0/mlp/up/MatMul layers.0#0 even:2\n"
                                  "/layers.0/mlp/down/MatMul layers.0#0 odd:3\n");
}

/* ... also when the block is called again at once: the second call starts with what the first one started
 * with. */
Test(block, tails_of_calls)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n"
                  "/block/fc1/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/block/Relu: c = Relu(a)\n"
                  "/block/fc2/MatMul: d = MatMul(c,onnx::MatMul_2)\n"
                  "/block/fc1_1/MatMul: e = MatMul(d,onnx::MatMul_1)\n"
                  "/block_1/Relu: f = Relu(e)\n"
                  "/block/fc2_1/MatMul: g = MatMul(f,onnx::MatMul_2)\n"
                  "/block/fc1_2/MatMul: h = MatMul(g,onnx::MatMul_1)\n"
                  "/block_2/Relu: i = Relu(h)\n"
                  "/block/fc2_2/MatMul: j = MatMul(i,onnx::MatMul_2)\n"
                  "out j");
    bench_blocks(&b, "block");
    assert_blocks("block 3\n", "/block/fc1/MatMul block#0 odd:1\n"
                               "/block/fc2/MatMul block#0 even:2\n"
                               "/block/fc1_1/MatMul block#1 odd:1\n"
                               "/block/fc2_1/MatMul block#1 even:2\n"
                               "/block/fc1_2/MatMul block#2 odd:1\n"
                               "/block/fc2_2/MatMul block#2 even:2\n");
}

/* A block with no code of its own: its modules' sequence starts again. */
Test(block, called_again_without_own_code)
{
    bench_add(&b,
              "in x f32[2,8]\n"
              "param onnx::MatMul_1 f32[8,8]\n"
              "param onnx::MatMul_2 f32[8,8]\n"
              "param onnx::MatMul_3 f32[8,8]\n"
              "/layer/a/q/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
              "/layer/a/Add: c = Add(a,x)\n"
              "/layer/m/up/MatMul: d = MatMul(c,onnx::MatMul_2)\n"
              "/layer/m/down/MatMul: e = MatMul(d,onnx::MatMul_3)\n/layer/m/Add: f = Add(e,c)\n"
              "/layer/a/q_1/MatMul: g = MatMul(f,onnx::MatMul_1)\n"
              "/layer/a_1/Add: h = Add(g,f)\n"
              "/layer/m/up_1/MatMul: i = MatMul(h,onnx::MatMul_2)\n"
              "/layer/m/down_1/MatMul: j = MatMul(i,onnx::MatMul_3)\n/layer/m_1/Add: k = Add(j,h)\nout k");
    bench_blocks(&b, "layer");
    assert_blocks("layer 2\n", "/layer/a/q/MatMul layer#0 odd:1\n"
                               "/layer/m/up/MatMul layer#0 even:2\n"
                               "/layer/m/down/MatMul layer#0 odd:3\n"
                               "/layer/a/q_1/MatMul layer#1 odd:1\n"
                               "/layer/m/up_1/MatMul layer#1 even:2\n"
                               "/layer/m/down_1/MatMul layer#1 odd:3\n");
}

/* ... or, where a tool fused one call otherwise than the next, by the suffixes of its modules. */
Test(block, called_again_and_fused_otherwise)
{
    bench_add(&b,
              "in x f32[2,8]\n"
              "param onnx::MatMul_1 f32[8,8]\n"
              "param onnx::MatMul_2 f32[8,8]\n"
              "param onnx::MatMul_3 f32[8,8]\n"
              "param p f32[8]\n"
              "/layer/a/q/MatMul/MatMulAddFusion: a = Gemm(x,onnx::MatMul_1,p)\n"
              "/layer/m/up/MatMul: d = MatMul(a,onnx::MatMul_2)\n"
              "/layer/m/down/MatMul: e = MatMul(d,onnx::MatMul_3)\n/layer/m/Add: f = Add(e,x)\n"
              "/layer/a/q_1/MatMul: g = MatMul(f,onnx::MatMul_1)\n"
              "/layer/a/q_1/Add: h = Add(p,g)\n"
              "/layer/m/up_1/MatMul: i = MatMul(h,onnx::MatMul_2)\n"
              "/layer/m/down_1/MatMul: j = MatMul(i,onnx::MatMul_3)\n/layer/m_1/Add: k = Add(j,f)\nout k");
    bench_blocks(&b, "layer");
    assert_planned(&b);
    assert_text(
        bench_columns(&b, "br"),
        "layer#0 odd:1\nlayer#0 even:2\nlayer#0 odd:3\nlayer#1 odd:1\nlayer#1 even:2\nlayer#1 odd:3\n");
}

/* One module used twice in a call, the others once: one call. */
Test(block, module_used_twice_in_a_call)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n"
                  "/layer/q/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/layer/q_1/MatMul: c = MatMul(a,onnx::MatMul_1)\n"
                  "/layer/o/MatMul: d = MatMul(c,onnx::MatMul_2)\nout d");
    bench_blocks(&b, "layer");
    assert_planned(&b);
    assert_text(bench_columns(&b, "br"), "layer#0 odd:1\nlayer#0 even:2\nlayer#0 odd:3\n");
}

/* Modules whose names end in numbers are no second calls. */
Test(block, numbered_modules_without_own_code)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param onnx::MatMul_1 f32[8,8]\n"
                  "param onnx::MatMul_2 f32[8,8]\n"
                  "param p f32[8]\n"
                  "/layer/fc_1/MatMul: a = MatMul(x,onnx::MatMul_1)\n/layer/fc_1/Add: c = Add(p,a)\n"
                  "/layer/fc_2/MatMul: d = MatMul(c,onnx::MatMul_2)\n/layer/fc_2/Add: e = Add(p,d)\nout e");
    bench_blocks(&b, "layer");
    assert_blocks("layer 1\n", "/layer/fc_1/MatMul layer#0 odd:1\n/layer/fc_2/MatMul layer#0 even:2\n");
}

/* A call that starts with its own code ends right before the next one's. */
Test(block, calls_that_start_with_own_code)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n"
                  "/block/Neg: n = Neg(x)\n"
                  "/block/fc1/MatMul: a = MatMul(n,onnx::MatMul_1)\n"
                  "/block/Relu: c = Relu(a)\n"
                  "/block/fc2/MatMul: d = MatMul(c,onnx::MatMul_2)\n"
                  "/block_1/Neg: n2 = Neg(d)\n"
                  "/block/fc1_1/MatMul: e = MatMul(n2,onnx::MatMul_1)\n"
                  "/block_1/Relu: f = Relu(e)\n"
                  "/block/fc2_1/MatMul: g = MatMul(f,onnx::MatMul_2)\nout g");
    bench_blocks(&b, "block");
    assert_blocks("block 2\n", "/block/fc1/MatMul block#0 odd:1\n/block/fc2/MatMul block#0 even:2\n"
                               "/block/fc1_1/MatMul block#1 odd:1\n/block/fc2_1/MatMul block#1 even:2\n");
}

/* Another block, or the model's own code, between two calls. */
Test(block, called_again_after_something_else)
{
    bench_add(&b, "in x f32[2,8]");
    folded("/layers.0/q", "onnx::MatMul_1", "x", "a");
    bench_add(&b, "/layers.0/Add: b0 = Add(a,a)\n"
                  "/Relu: r = Relu(b0)\n"
                  "/layers.0/q_1/MatMul: c = MatMul(r,onnx::MatMul_1)\n"
                  "/layers.0_1/Add: d = Add(c,c)\nout d");
    bench_blocks(&b, "layers.0");
    assert_blocks("layers.0 2\n",
                  "/layers.0/q/MatMul layers.0#0 odd:1\n/layers.0/q_1/MatMul layers.0#1 odd:1\n");
}

/* Dynamo's metadata says nothing of calls: the same nodes in the same order start anew. */
Test(block, called_again_by_metadata)
{
#define NS(m, op) "meta:pkg.torch.onnx.name_scopes=`['', 'block', 'block." m "', '" op "']`"
#define OWN(op)   "meta:pkg.torch.onnx.name_scopes=`['', 'block', '" op "']`"
    bench_add(&b, "in x f32[2,8]\n"
                  "param block.q.weight f32[8,8]\n"
                  "param block.k.weight f32[8,8]");
    bench_add(&b, "t = Transpose(block.q.weight) %s", NS("q", "linear"));
    bench_add(&b, "u = Transpose(block.k.weight) %s", NS("k", "linear"));
    bench_add(&b, "A: a = MatMul(x,t) %s", NS("q", "linear"));
    bench_add(&b, "B: c = MatMul(a,u) %s", NS("k", "linear"));
    bench_add(&b, "d = Add(x,c) %s", OWN("add"));
    bench_add(&b, "t2 = Transpose(block.q.weight) %s", NS("q", "linear_1"));
    bench_add(&b, "C: e = MatMul(d,t2) %s", NS("q", "linear_1"));
    bench_add(&b, "u2 = Transpose(block.k.weight) %s", NS("k", "linear_1"));
    bench_add(&b, "D: f = MatMul(e,u2) %s", NS("k", "linear_1"));
    bench_add(&b, "g = Add(d,f) %s", OWN("add_1"));
    bench_add(&b, "out g");
    bench_blocks(&b, "block");
    assert_blocks("block 2\n", "A block#0 odd:1\nB block#0 even:2\nC block#1 odd:1\nD block#1 even:2\n");
}

/* A module that two blocks are given is in the call of the block that calls it. */
Test(block, lent_by_metadata)
{
#define VIA(block, op) "meta:pkg.torch.onnx.name_scopes=`['', 'layers." block "', 'shared', '" op "']`"
#define IN(block, op)  "meta:pkg.torch.onnx.name_scopes=`['', 'layers." block "', '" op "']`"
    bench_add(&b,
              "in x f32[2,8]\nparam shared.weight f32[8,8]\nparam w f32[8,8]\nt = Transpose(shared.weight)");
    bench_add(&b, "A: a = MatMul(x,t) %s\nB: c = MatMul(a,w) %s", VIA("0", "linear"), IN("0", "matmul"));
    bench_add(&b, "C: d = MatMul(c,t) %s\nD: e = MatMul(d,w) %s", VIA("1", "linear_1"), IN("1", "matmul_1"));
    bench_add(&b, "E: f = MatMul(e,t) meta:pkg.torch.onnx.name_scopes=`['', 'shared', 'linear_2']`\nout f");
    bench_blocks(&b, "layers.*");
    assert_blocks("layers.0 1\nlayers.1 1\n", "A layers.0#0 odd:1\nB layers.0#0 even:2\nC layers.1#0 odd:1\n"
                                              "D layers.1#0 even:2\nE - outside\n");
}

/* A function per module: each call of the block's function is a call of the block. */
Test(block, called_as_function)
{
    bench_add(&b, "in x f32[2,8]\nparam block.q.weight f32[8,8]\nparam block.k.weight f32[8,8]\n"
                  "y = local::Block(x,block.q.weight,block.k.weight)\n"
                  "z = local::Block(y,block.q.weight,block.k.weight)\n"
                  "out z\n"
                  "function local::Block(x,q,k) -> (r)\n"
                  "p = local::Linear(x,q)\n"
                  "r = local::Linear(p,k)\n"
                  "end\n"
                  "function local::Linear(x,w) -> (r)\nt = Transpose(w)\nM: r = MatMul(x,t)\nend");
    bench_blocks(&b, "block");
    assert_planned(&b);
    assert_text(bench_block_list(&b), "block 2\n");
    assert_text(
        bench_columns(&b, "fbr"),
        "block.q block#0 odd:1\nblock.k block#0 even:2\nblock.q block#1 odd:1\nblock.k block#1 even:2\n");
}

/* ---- one scope, two blocks ---- */

/* Encoder and decoder layers share "/layers.0"; the weights' names tell which. */
Test(block, encoder_and_decoder)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/layers.0/self_attn/q", "encoder.layers.0.self_attn.q", "x", "a");
    linear("/layers.0/fc1", "encoder.layers.0.fc1", "a", "c");
    bench_add(&b, "/layers.0/Add: d = Add(c,x)");
    linear("/layers.0/self_attn/q_1", "decoder.layers.0.self_attn.q", "d", "e");
    linear("/layers.0/cross_attn/q", "decoder.layers.0.cross_attn.q", "e", "f");
    linear("/layers.0/fc1_1", "decoder.layers.0.fc1", "f", "g");
    bench_add(&b, "/layers.0_1/Add: h = Add(g,d)\nout h");
    assert_blocks("encoder.layers.0 1\ndecoder.layers.0 1\n",
                  "/layers.0/self_attn/q/MatMul encoder.layers.0#0 odd:1\n"
                  "/layers.0/fc1/MatMul encoder.layers.0#0 even:2\n"
                  "/layers.0/self_attn/q_1/MatMul decoder.layers.0#0 odd:1\n"
                  "/layers.0/cross_attn/q/MatMul decoder.layers.0#0 even:2\n"
                  "/layers.0/fc1_1/MatMul decoder.layers.0#0 odd:3\n");
}

/* Folded: names of biases and norms, which keep theirs, tell the two apart. */
Test(block, encoder_and_decoder_folded)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param encoder.layers.0.fc1.bias f32[8]\n"
                  "param decoder.layers.0.fc1.bias f32[8]\n"
                  "param encoder.layers.0.norm.weight f32[8]\nparam decoder.layers.0.norm.weight f32[8]");
    folded("/layers.0/fc1", "onnx::MatMul_1", "x", "a");
    bench_add(&b, "/layers.0/fc1/Add: c = Add(encoder.layers.0.fc1.bias,a)\n"
                  "/layers.0/norm/Mul: d = Mul(c,encoder.layers.0.norm.weight)\n"
                  "/layers.0/Add: e = Add(d,x)");
    folded("/layers.0/fc1_1", "onnx::MatMul_2", "e", "f");
    bench_add(&b, "/layers.0/fc1_1/Add: g = Add(decoder.layers.0.fc1.bias,f)\n"
                  "/layers.0/norm_1/Mul: h = Mul(g,decoder.layers.0.norm.weight)\n"
                  "/layers.0_1/Add: i = Add(h,e)\nout i");
    bench_blocks(&b, "encoder.layers.*,decoder.layers.*");
    assert_planned(&b);
    assert_text(
        bench_columns(&b, "fbr"),
        "encoder.layers.0.fc1 encoder.layers.0#0 odd:1\ndecoder.layers.0.fc1 decoder.layers.0#0 odd:1\n");
}

/* Equal parameters are merged; the Identity that renames a copy still tells whose it is. */
Test(block, encoder_and_decoder_by_renamed_copies)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param encoder.layers.0.n.weight f32[8]\n"
                  "decoder.layers.0.n.weight = Identity(encoder.layers.0.n.weight)");
    folded("/layers.0/fc1", "onnx::MatMul_1", "x", "a");
    bench_add(&b, "/layers.0/n/Mul: c = Mul(a,encoder.layers.0.n.weight)\n/layers.0/Add: d = Add(c,x)");
    folded("/layers.0/fc1_1", "onnx::MatMul_2", "d", "e");
    bench_add(&b, "/layers.0/n_1/Mul: f = Mul(e,decoder.layers.0.n.weight)\n"
                  "/layers.0_1/Add: g = Add(f,d)\n"
                  "out g");
    bench_blocks(&b, "decoder.layers.*,encoder.layers.*");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nb"),
                "/layers.0/fc1/MatMul encoder.layers.0#0\n/layers.0/fc1_1/MatMul decoder.layers.0#0\n");
}

/* One layer of such a model as an optimiser leaves it: all norms use the one parameter that is left. */
static void merged_layer(int layer, const char *suffix, const char *x, const char *y)
{
    char scope[64], weight[64], a[16];
    snprintf(scope, sizeof scope, "/layers.%d/fc1%s", layer, suffix);
    snprintf(weight, sizeof weight, "onnx::MatMul_%s%d", suffix[0] ? "9" : "8", layer);
    snprintf(a, sizeof a, "%s_a", y);
    folded(scope, weight, x, a);
    bench_add(
        &b,
        "/layers.%d/n%s/Mul: %s_b = Mul(%s,encoder.layers.0.n.weight)\n/layers.%d%s/Add: %s = Add(%s_b,%s)",
        layer, suffix, y, a, layer, suffix, y, y, x);
}

/* Names say nothing where nodes of other modules use them; then layers of one container follow each other. */
Test(block, encoder_and_decoder_with_merged_parameters)
{
    bench_add(&b, "in x f32[2,8]\nparam encoder.layers.0.n.weight f32[8]");
    merged_layer(0, "", "x", "c");
    merged_layer(1, "", "c", "d");
    merged_layer(0, "_1", "d", "e");
    merged_layer(1, "_1", "e", "y");
    bench_add(&b, "out y");
    bench_blocks(&b, "encoder.layers.*,decoder.layers.*");
    assert_planned(&b);
    assert_text(bench_columns(&b, "bf"),
                "encoder.layers.0#0 encoder.layers.0.fc1\nencoder.layers.1#0 encoder.layers.1.fc1\n"
                "decoder.layers.0#0 decoder.layers.0.fc1\ndecoder.layers.1#0 decoder.layers.1.fc1\n");
}

/* A layer without scopes, whose norm and bias are merged with those of the first layer. */
static void nameless_layer(int layer, const char *x, const char *y)
{
    bench_add(&b,
              "param layers.%d.up.weight f32[8,8]\nparam layers.%d.down.weight f32[8,8]\n"
              "%s_n = Mul(%s,layers.0.norm.weight)\n%s_u = MatMul(%s_n,layers.%d.up.weight)\n"
              "%s_b = Add(%s_u,layers.0.up.bias)\n%s = MatMul(%s_b,layers.%d.down.weight)",
              layer, layer, y, x, y, y, layer, y, y, y, y, layer);
}

/* Parameters that are merged do not split a call in two, and make no calls of the layer that they are named
 * after. */
Test(block, merged_parameters_without_scopes)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.norm.weight f32[8]\nparam layers.0.up.bias f32[8]");
    nameless_layer(0, "x", "c");
    nameless_layer(1, "c", "d");
    nameless_layer(2, "d", "e");
    bench_add(
        &b, "f = Mul(e,layers.0.norm.weight)\nparam head.weight f32[8,8]\ny = MatMul(f,head.weight)\nout y");
    assert_planned(&b);
    assert_text(bench_block_list(&b), "layers.0 1\nlayers.1 1\nlayers.2 1\n");
    assert_text(bench_columns(&b, "fbr"),
                "layers.0.up layers.0#0 odd:1\nlayers.0.down layers.0#0 even:2\n"
                "layers.1.up layers.1#0 odd:1\nlayers.1.down layers.1#0 even:2\n"
                "layers.2.up layers.2#0 odd:1\nlayers.2.down layers.2#0 even:2\nhead - outside\n");
}

/* A layer that is called again has its own mms around its parameters. */
Test(block, called_again_without_scopes)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.norm.weight f32[8]\nparam layers.0.up.bias f32[8]");
    nameless_layer(0, "x", "c");
    nameless_layer(1, "c", "d");
    bench_add(&b, "f = Mul(d,layers.0.norm.weight)\ng = MatMul(f,layers.0.up.weight)\n"
                  "h = Add(g,layers.0.up.bias)\ny = MatMul(h,layers.0.down.weight)\nout y");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fbr"), "layers.0.up layers.0#0 odd:1\nlayers.0.down layers.0#0 even:2\n"
                                          "layers.1.up layers.1#0 odd:1\nlayers.1.down layers.1#0 even:2\n"
                                          "layers.0.up layers.0#1 odd:1\nlayers.0.down layers.0#1 even:2\n");
}

/* A weight tied to the encoder's has the encoder's name: what runs in the same call tells whose call it is.
 */
Test(block, encoder_and_decoder_with_a_tied_weight)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/layers.0/q", "encoder.layers.0.q", "x", "a");
    linear("/layers.0/fc1", "encoder.layers.0.fc1", "a", "c");
    bench_add(
        &b, "/layers.0/Add: d = Add(c,x)\n/layers.0/q_1/Transpose: t = Transpose(encoder.layers.0.q.weight)\n"
            "/layers.0/q_1/MatMul: e = MatMul(d,t)");
    linear("/layers.0/fc1_1", "decoder.layers.0.fc1", "e", "f");
    bench_add(&b, "/layers.0_1/Add: g = Add(f,d)\nout g");
    bench_blocks(&b, "encoder.layers.*,decoder.layers.*");
    bench_fqns(&b, "decoder.layers.0.q");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nbr"),
                "/layers.0/q/MatMul encoder.layers.0#0 odd:1\n"
                "/layers.0/fc1/MatMul encoder.layers.0#0 even:2\n"
                "/layers.0/q_1/MatMul decoder.layers.0#0 forced:8x8:decoder.layers.0.q\n"
                "/layers.0/fc1_1/MatMul decoder.layers.0#0 forced:8x8:decoder.layers.0.q\n");
}

/* ... or that this is the same block again. */
Test(block, encoder_called_again_beside_a_decoder)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/layers.0/q", "encoder.layers.0.q", "x", "a");
    bench_add(
        &b, "/layers.0/Add: c = Add(a,x)\n/layers.0/q_1/Transpose: t = Transpose(encoder.layers.0.q.weight)\n"
            "/layers.0/q_1/MatMul: d = MatMul(c,t)\n/layers.0_1/Add: e = Add(d,c)");
    linear("/layers.0/q_2", "decoder.layers.0.q", "e", "f");
    bench_add(&b, "/layers.0_2/Add: g = Add(f,e)\nout g");
    bench_blocks(&b, "encoder.layers.*,decoder.layers.*");
    assert_planned(&b);
    assert_text(bench_columns(&b, "b"), "encoder.layers.0#0\nencoder.layers.0#1\ndecoder.layers.0#0\n");
}

/* Parts of the model that are no blocks may have a block's scopes. */
Test(block, a_teacher_beside_the_student)
{
    bench_add(
        &b, "in x f32[2,8]\nparam teacher.blocks.0.n.weight f32[8]\nparam student.blocks.0.n.weight f32[8]");
    bench_add(&b, "/blocks.0/n/Mul: a = Mul(x,teacher.blocks.0.n.weight)");
    folded("/blocks.0/fc", "onnx::MatMul_1", "a", "c");
    bench_add(&b, "/blocks.0/Add: d = Add(c,x)\n/blocks.0/n_1/Mul: e = Mul(x,student.blocks.0.n.weight)");
    folded("/blocks.0/fc_1", "onnx::MatMul_2", "e", "f");
    bench_add(&b, "/blocks.0_1/Add: g = Add(f,x)\nout d\nout g");
    bench_blocks(&b, "student.blocks.*");
    assert_blocks("student.blocks.0 1\n",
                  "/blocks.0/fc/MatMul - outside\n/blocks.0/fc_1/MatMul student.blocks.0#0 odd:1\n");
    assert_text(bench_columns(&b, "f"), "teacher.blocks.0.fc\nstudent.blocks.0.fc\n");
}

/* ---- what does not say where it is ---- */

/* A product without a scope between two nodes of one block is the block's. */
Test(block, neighbours)
{
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]");
    linear("/layers.0/attn/q", "layers.0.attn.q", "x", "a");
    bench_add(&b, "M: c = MatMul(a,w)");
    linear("/layers.0/mlp/up", "layers.0.mlp.up", "c", "d");
    linear("/layers.1/attn/q", "layers.1.attn.q", "d", "e");
    linear("/layers.1/mlp/up", "layers.1.mlp.up", "e", "f");
    bench_add(&b, "N: y = MatMul(f,w)\nout y");
    assert_planned(&b);
    assert_text(
        bench_columns(&b, "nebr"),
        "/layers.0/attn/q/MatMul param layers.0#0 odd:1\nM neighbour layers.0#0 even:2\n"
        "/layers.0/mlp/up/MatMul param layers.0#0 odd:3\n/layers.1/attn/q/MatMul param layers.1#0 odd:1\n"
        "/layers.1/mlp/up/MatMul param layers.1#0 even:2\nN - - outside\n");
}

/* Old exports have numbers for names: the parameters' names place the products. */
Test(block, by_parameters_alone)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.a.q.weight f32[8,8]\n"
                  "param layers.0.m.up.weight f32[8,8]\n"
                  "param layers.1.a.q.weight f32[8,8]\n"
                  "param layers.1.m.up.weight f32[8,8]\nparam layers.0.norm.weight f32[8]\n"
                  "1 = Transpose(layers.0.a.q.weight)\n"
                  "2 = MatMul(x,1)\n"
                  "3 = MatMul(2,2)\n"
                  "4 = Mul(3,layers.0.norm.weight)\n"
                  "5 = Transpose(layers.0.m.up.weight)\n"
                  "6 = MatMul(4,5)\n"
                  "7 = Transpose(layers.1.a.q.weight)\n"
                  "8 = MatMul(6,7)\n"
                  "9 = Transpose(layers.1.m.up.weight)\n10 = MatMul(8,9)\nout 10");
    assert_planned(&b);
    assert_text(bench_block_list(&b), "layers.0 1\nlayers.1 1\n");
    assert_text(bench_columns(&b, "nbr"), "2 layers.0#0 odd:1\n"
                                          "3 layers.0#0 even:2\n"
                                          "6 layers.0#0 odd:3\n"
                                          "8 layers.1#0 odd:1\n"
                                          "10 layers.1#0 even:2\n");
}

/* Folded weights and their constants stand anywhere; they neither start nor end a call. */
Test(block, constants_anywhere)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.a.q.weight f32[8,8]\n"
                  "param layers.0.m.up.weight f32[8,8]\n"
                  "param layers.1.a.q.weight f32[8,8]\n"
                  "param layers.1.m.up.weight f32[8,8]\n"
                  "/layers.1/a/q/Transpose: t1 = Transpose(layers.1.a.q.weight)\n"
                  "/layers.0/a/q/Transpose: t0 = Transpose(layers.0.a.q.weight)\n"
                  "/layers.0/a/q/MatMul: a = MatMul(x,t0)\n"
                  "/layers.1/m/up/Transpose: u1 = Transpose(layers.1.m.up.weight)\n"
                  "/layers.0/m/up/Transpose: u0 = Transpose(layers.0.m.up.weight)\n"
                  "/layers.0/m/up/MatMul: c = MatMul(a,u0)\n"
                  "/layers.1/a/q/MatMul: d = MatMul(c,t1)\n/layers.1/m/up/MatMul: e = MatMul(d,u1)\nout e");
    assert_blocks("layers.0 1\nlayers.1 1\n",
                  "/layers.0/a/q/MatMul layers.0#0 odd:1\n/layers.0/m/up/MatMul layers.0#0 even:2\n"
                  "/layers.1/a/q/MatMul layers.1#0 odd:1\n/layers.1/m/up/MatMul layers.1#0 even:2\n");
}

/* Two blocks that take turns, each called twice. */
Test(block, blocks_that_take_turns)
{
    bench_add(&b, "in x f32[2,8]");
    folded("/a/q", "onnx::MatMul_1", "x", "a1");
    folded("/b/q", "onnx::MatMul_2", "a1", "b1");
    bench_add(&b, "/a/q_1/MatMul: a2 = MatMul(b1,onnx::MatMul_1)\n"
                  "/b/q_1/MatMul: b2 = MatMul(a2,onnx::MatMul_2)\n"
                  "out b2");
    bench_blocks(&b, "a,b");
    assert_blocks(
        "a 2\nb 2\n",
        "/a/q/MatMul a#0 odd:1\n/b/q/MatMul b#0 odd:1\n/a/q_1/MatMul a#1 odd:1\n/b/q_1/MatMul b#1 odd:1\n");
}

/* A member of the container that holds no mm is a block with no call. */
Test(block, nested_experts)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/layers.0/attn/q", "layers.0.attn.q", "x", "a");
    linear("/layers.0/gate", "layers.0.moe.router.gate", "a", "g");
    linear("/layers.0/experts.0/w1", "layers.0.moe.experts.0.w1", "g", "c");
    linear("/layers.0/experts.1/w1", "layers.0.moe.experts.1.w1", "c", "d");
    bench_add(&b, "out d");
    assert_blocks("layers.0 1\n",
                  "/layers.0/attn/q/MatMul layers.0#0 odd:1\n/layers.0/gate/MatMul layers.0#0 even:2\n"
                  "/layers.0/experts.0/w1/MatMul layers.0#0 odd:3\n"
                  "/layers.0/experts.1/w1/MatMul layers.0#0 even:4\n");
}

/* Given blocks inside one another: the innermost counts. */
Test(block, given_and_nested)
{
    bench_add(&b, "in x f32[2,8]");
    linear("/a/p", "a.p", "x", "c");
    linear("/a/in/q", "a.in.q", "c", "d");
    linear("/a/r", "a.r", "d", "e");
    bench_add(&b, "out e");
    bench_blocks(&b, "a,a.in");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nb"), "/a/p/MatMul a#0\n/a/in/q/MatMul a.in#0\n/a/r/MatMul a#0\n");
}

/* nn.Transformer as dynamo exports it: every node has the scope of the one module that was not looked into;
 * only parameters tell the layer, through a transpose or a part of a packed one, too. */
static void hidden(const char *op, const char *line)
{
    bench_add(&b,
              "%s meta:pkg.torch.onnx.name_scopes=`['', 'tr', '%s']` meta:pkg.torch.onnx.class_hierarchy="
              "`['M', 'torch.nn.modules.transformer.Transformer', 'aten.linear.default']`",
              line, op);
}

Test(block, inside_a_module_of_torch_nn)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param tr.layers.0.self_attn.in_proj_weight f32[24,8]\n"
                  "param tr.layers.0.self_attn.out_proj.weight f32[8,8]\n"
                  "param tr.layers.1.self_attn.in_proj_weight f32[24,8]\n"
                  "param tr.layers.1.self_attn.out_proj.weight f32[8,8]");
    hidden("linear", "p0 = Transpose(tr.layers.0.self_attn.in_proj_weight)");
    hidden("linear", "in0: q0 = MatMul(x,p0)");
    hidden("relu", "r0 = Relu(q0)");
    hidden("linear_1", "o0 = Transpose(tr.layers.0.self_attn.out_proj.weight)");
    hidden("linear_1", "out0: y0 = MatMul(r0,o0)");
    hidden("linear_2", "p1 = Transpose(tr.layers.1.self_attn.in_proj_weight)");
    hidden("linear_2", "in1: q1 = MatMul(y0,p1)");
    hidden("relu_1", "r1 = Relu(q1)");
    hidden("linear_3", "o1 = Transpose(tr.layers.1.self_attn.out_proj.weight)");
    hidden("linear_3", "out1: y1 = MatMul(r1,o1)");
    bench_add(&b, "out y1");
    assert_blocks("tr.layers.0 1\ntr.layers.1 1\n", "in0 tr.layers.0#0 odd:1\nout0 tr.layers.0#0 even:2\n"
                                                    "in1 tr.layers.1#0 odd:1\nout1 tr.layers.1#0 even:2\n");
}

/* ---- modules that were exported as functions ---- */

static void function_of_two(void)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param onnx::MatMul_1 f32[8,8]\n"
                  "param onnx::MatMul_2 f32[8,4]\n"
                  "param onnx::MatMul_3 f32[4,8]\n"
                  "function local::Block(a,w1,w2,w3) -> (d)\n"
                  "MatMul_3: c = MatMul(a,w1)\n"
                  "MatMul_4: e = MatMul(c,w2)\n"
                  "MatMul_5: d = MatMul(e,w3)\n"
                  "end");
}

/* Nodes in the body have no names: the call's tells the block, but not which module inside it runs. */
Test(block, calls_of_functions_by_name)
{
    function_of_two();
    bench_add(&b, "/layers.0/Block: y = local::Block(x,onnx::MatMul_1,onnx::MatMul_2,onnx::MatMul_3)\n"
                  "/layers.1/Block: z = local::Block(y,onnx::MatMul_1,onnx::MatMul_2,onnx::MatMul_3)\n"
                  "out z");
    assert_planned(&b);
    assert_text(bench_block_list(&b), "layers.0 1\nlayers.1 1\n");
    assert_text(
        bench_columns(&b, "febp"),
        "- neighbour layers.0#0 save\n- neighbour layers.0#0 recompute\n- neighbour layers.0#0 save\n"
        "- neighbour layers.1#0 save\n- neighbour layers.1#0 recompute\n- neighbour layers.1#0 save\n");
    bench_fqns(&b, "wq");
    cr_assert_eq(bench_plan(&b), IR_EPOLICY, "the name may be that of any of them");
    assert_says(&b, DIAG_ERROR, "FQN 'wq' matches no known name, but 6 mms in blocks have none");
}

/* The exporter names the call of the whole model's function after the module that it called last. */
Test(block, a_call_whose_parameters_belong_elsewhere)
{
    function_of_two();
    bench_add(
        &b,
        "param layers.0.norm.weight f32[8]\n"
        "function local::Model(a,n,w1,w2,w3) -> (d)\n"
        "m = Mul(a,n)\n"
        "Block_1: d = local::Block(m,w1,w2,w3)\n"
        "end\n"
        "/head/Model: y = local::Model(x,layers.0.norm.weight,onnx::MatMul_1,onnx::MatMul_2,onnx::MatMul_3)\n"
        "out y");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fe"), "- -\n- -\n- -\n");
}
