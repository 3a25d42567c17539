/* Which nodes are mms, their rhs shapes, and what PyTorch runs for them (POLICY.md 2 "What counts as an mm").
 */
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

TestSuite(mm, .init = setup, .fini = teardown);

/* One block for everything: what is counted is what has a policy. */
static void whole(enum mm_rule rule)
{
    b.o.whole = true;
    b.o.rule = rule;
    assert_planned(&b);
}

/* Name, rhs and reason of all rows under a rule. */
#define assert_rows(rule, want)                                                                              \
    do {                                                                                                     \
        whole(rule);                                                                                         \
        assert_text(bench_columns(&b, "nsr"), want);                                                         \
    } while (0)

/* ---- the literal rule ---- */

Test(mm, matmul_by_rank)
{
    bench_add(&b, "in x f32[2,5,8]\nin k f32[2,8,4]\nin v f32[8]\nparam w f32[8,4]\nparam w3 f32[1,8,4]\n"
                  "A: a = MatMul(x,w)\nB: c = MatMul(x,k)\nC: d = MatMul(x,v)\nD: e = MatMul(x,w3)\nE: f = "
                  "MatMul(v,w)\n"
                  "out a\nout c\nout d\nout e\nout f");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nE 8x4 even:2\n");
}

Test(mm, gemm)
{
    bench_add(&b,
              "in x f32[5,8]\nin u\nin y f32[8,5]\nparam w f32[4,8]\nparam k f32[8,4]\nparam c f32[4]\n"
              "A: a = Gemm(x,k)\nB: d = Gemm(x,w,c) transB=1\nC: e = Gemm(y,k,c) transA=1\nD: f = Gemm(x,u)\n"
              "out a\nout d\nout e\nout f");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nB 8x4 even:2\nC 8x4 odd:3\nD ?x? even:4\n");
}

Test(mm, contrib_ops)
{
    bench_add(
        &b,
        "in x f32[5,8]\nparam w f32[4,8]\nparam k f32[8,4]\nparam c f32[4]\nin q f32[2,3,7,8]\n"
        "A: a = com.microsoft::FusedMatMul(x,k)\nB: d = com.microsoft::FusedMatMul(x,w) transB=1\n"
        "C: e = com.microsoft::TransposeMatMul(x,w) transB=1\nD: f = com.microsoft::GemmFastGelu(x,k,c)\n"
        "E: g = com.microsoft::FusedGemm(x,w,c) transB=1 activation=`Relu`\n"
        "F: h = com.microsoft::FusedMatMul(q,q) transB=1\nG: i = com.microsoft::FusedMatMulActivation(x,k)\n"
        "out a\nout d\nout e\nout f\nout g\nout h\nout i");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nB 8x4 even:2\nC 8x4 odd:3\nD 8x4 even:4\nE 8x4 odd:5\nG 8x4 even:6\n");
}

/* The same names in another domain, or functions of that name, are something else. */
Test(mm, domains)
{
    bench_add(&b, "in x f32[5,8]\nparam k f32[8,4]\nA: a = my::MatMul(x,k)\nB: c = FusedMatMul(x,k)\n"
                  "C: d = com.microsoft::MatMul(x,k)\nD: e = local::MatMul(x,k)\nout a\nout c\nout d\nout e\n"
                  "function local::MatMul(p,q) -> (r)\nF: r = MatMul(p,q)\nend");
    assert_rows(MM_ONNX, "fn:local:MatMul|F 8x4 odd:1\n");
}

Test(mm, einsum_is_no_mm)
{
    bench_add(&b, "in x f32[5,8]\nparam k f32[8,4]\nA: a = Einsum(x,k) equation=`ij,jk->ik`\nout a");
    assert_rows(MM_ONNX, "");
}

Test(mm, extra_ops)
{
    bench_add(&b, "in x f32[5,8]\nparam k f32[8,4]\nA: a = my::Product(x,k)\nB: c = MyMatMul(x,k)\nC: d = "
                  "my::Other(x,k)\n"
                  "out a\nout c\nout d");
    bench_mm_ops(&b, "my:Product,MyMatMul");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nB 8x4 even:2\n");
}

/* A name that no node has is told, with what may have been meant: a letter, the case, the domain. */
Test(mm, extra_ops_that_no_node_has)
{
    bench_add(&b,
              "in x f32[5,8]\nparam k f32[8,4]\nA: a = my::Product(x,k)\nB: c = MyMatMul(x,k)\nout a\nout c");
    bench_mm_ops(&b, "my:Produkt,Mymatmul,other:MyMatMul,Something");
    assert_rows(MM_ONNX, "");
    assert_text(bench_messages(&b, DIAG_WARNING),
                "no node has the operator 'my:Produkt' that --mm-ops names (did you mean 'my:Product'?)\n"
                "no node has the operator 'Mymatmul' that --mm-ops names (did you mean 'MyMatMul'?)\n"
                "no node has the operator 'other:MyMatMul' that --mm-ops names (did you mean 'MyMatMul'?)\n"
                "no node has the operator 'Something' that --mm-ops names\n"
                "the whole graph is one block: one checkpoint region does not lower peak memory\n");
}

Test(mm, quantised_ops_are_named)
{
    static const char *const ops[] = {"MatMulInteger",
                                      "QLinearMatMul",
                                      "com.microsoft::MatMulNBits",
                                      "com.microsoft::MatMulBnb4",
                                      "com.microsoft::MatMulFpQ4",
                                      "com.microsoft::MatMulInteger16",
                                      "com.microsoft::MatMulIntegerToFloat",
                                      "com.microsoft::DynamicQuantizeMatMul",
                                      "com.microsoft::QGemm",
                                      "com.microsoft::GemmFloat8",
                                      "com.microsoft::QAttention",
                                      "com.microsoft::QOrderedMatMul",
                                      "com.microsoft::QOrderedAttention",
                                      "com.microsoft::QMoE"};
    bench_add(&b, "in x f32[5,8]\nparam k f32[8,4]\nM: y = MatMul(x,k)");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        bench_add(&b, "q%zu = %s(x,k)", i, ops[i]);
    bench_add(&b, "out y");
    assert_rows(MM_ONNX, "M 8x4 odd:1\n");
    assert_says(&b, DIAG_NOTE, "14 quantised matmuls (MatMulInteger) have no gradient: not tagged");
}

/* PyTorch runs the steps of a GRU one by one, an mm or addmm each. */
Test(mm, recurrent_layers_are_warned_of)
{
    bench_add(&b, "in x f32[8,2,32]\nparam w f32[1,96,32]\nparam r f32[1,96,32]\nparam v f32[32,6]\n"
                  "g = GRU(x,w,r)\nA: a = MatMul(x,v)\nout g\nout a");
    assert_rows(MM_TORCH, "A 32x6 odd:1\n");
    assert_says(&b, DIAG_WARNING,
                "1 node (the first of op GRU) multiplies matrices inside, where eager PyTorch may run mms: "
                "not counted");
}

Test(mm, hidden_products_are_warned_of)
{
    static const char *const ops[] = {"Attention",           "DecoderAttention", "DecoderMaskedSelfAttention",
                                      "LongformerAttention", "PackedAttention",  "MoE"};
    bench_add(&b, "in x f32[5,8]\nparam k f32[8,4]\nM: y = MatMul(x,k)");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        bench_add(&b, "q%zu = com.microsoft::%s(x,k)", i, ops[i]);
    bench_add(&b, "out y");
    assert_rows(MM_ONNX, "M 8x4 odd:1\n");
    assert_says(&b, DIAG_WARNING, "6 nodes (the first of op Attention) multiply matrices inside");
}

/* MultiHeadAttention's projections are nodes of their own; what it multiplies inside are bmms. */
Test(mm, attention_without_projections)
{
    bench_add(&b, "in x f32[2,5,8]\nparam k f32[8,8]\nM: y = MatMul(x,k)\nz = "
                  "com.microsoft::MultiHeadAttention(y,y,y)\n"
                  "v = com.microsoft::GroupQueryAttention(y,y,y)\nout z\nout v");
    assert_rows(MM_ONNX, "M 8x8 odd:1\n");
    assert_silent(&b, DIAG_WARNING, "matrices inside");
}

Test(mm, unknown_rank)
{
    bench_add(&b, "in x f32[5,8]\nin u\nA: a = MatMul(x,u)\nB: c = MatMul(a,u)\nout c");
    assert_rows(MM_ONNX, "");
    assert_says(&b, DIAG_WARNING,
                "right operand of 2 products (the first: 'A') cannot be known: not counted as mm");
}

/* Ranks are inferred where no value_info tells: unbatched q k^T, an expert of a stack. */
Test(mm, inferred_rhs)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[4,8,16]\nparam i i64[]{2}\nt = Transpose(x) perm=[1,0]\nA: a = "
                  "MatMul(x,t)\n"
                  "e = Gather(w,i)\nB: c = MatMul(x,e)\nout a\nout c");
    assert_rows(MM_ONNX, "A 8x5 odd:1\nB 8x16 even:2\n");
}

/* The parameter's dims, never value_info against them. */
Test(mm, value_info_that_lies)
{
    bench_add(
        &b, "in x f32[5,8]\nparam w f32[8,4]\nc = Cast(w) to=1\ninfo c f32[9,9]\nA: a = MatMul(x,c)\nout a");
    assert_rows(MM_ONNX, "A 8x4 odd:1\n");
}

Test(mm, value_info_where_nothing_else_tells)
{
    bench_add(&b, "in x f32[5,8]\nc = my::Weight()\ninfo c f32[8,4]\nA: a = MatMul(x,c)\nd = my::Weight()\n"
                  "info d f32[?,4]\nB: e = MatMul(x,d)\nout a\nout e");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nB ?x4 even:2\n");
}

/* A weight that went through Cast, Identity, Reshape, Quantize and Dequantize. */
Test(mm, chains)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[4,8]\nparam wq i8[4,8]\nparam s f32[]\nparam sh i64[2]{8,-1}\n"
                  "c = Cast(w) to=10\ni = Identity(c)\nt = Transpose(i)\nA: a = MatMul(x,t)\n"
                  "q = DequantizeLinear(wq,s)\nr = Transpose(q) perm=[1,0]\nB: d = MatMul(x,r)\n"
                  "v = Reshape(w,sh)\nC: e = MatMul(x,v)\nk = Constant() value=f32[8,4]\nD: f = "
                  "MatMul(x,k)\nout a\nout d\nout e\nout f");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nB 8x4 even:2\nC 8x4 odd:3\nD 8x4 even:4\n");
}

/* ---- backward ---- */

/* A training graph: the weight's transpose feeds backward's FusedMatMul, Gemm makes weight gradients. */
Test(mm, backward_nodes)
{
    bench_add(
        &b,
        "in x f32[5,8]\nin w f32[4,8]\nin labels i64[5]\nt = Transpose(w) perm=[1,0]\nA: y = MatMul(x,t)\n"
        "loss,prob = SoftmaxCrossEntropyLoss(y,labels)\n"
        "g = com.microsoft::SoftmaxCrossEntropyLossGrad(loss,prob,labels)\n"
        "Y: y_grad = Identity(g)\n"
        "B: x_grad = com.microsoft::FusedMatMul(y_grad,t) transB=1\nC: w_grad = Gemm(y_grad,x) transA=1\n"
        "out loss\nout x_grad\nout w_grad");
    assert_rows(MM_ONNX, "A 8x4 odd:1\n");
}

Test(mm, backward_by_names)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,4]\nparam v f32[4,8]\nA: y = MatMul(x,w)\n"
                  "seed = my::LossGradient(y)\nB_Grad/MatMul_0: dx = MatMul(seed,v)\nout y\nout dx");
    assert_rows(MM_ONNX, "A 8x4 odd:1\n");
}

/* A forward graph that YieldOp ends. */
Test(mm, backward_after_yield)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,4]\nparam v f32[4,8]\nA: y = MatMul(x,w)\ng = "
                  "com.microsoft::YieldOp(y)\n"
                  "B: dx = MatMul(g,v)\nC: z = MatMul(x,w)\nout dx\nout z");
    assert_rows(MM_ONNX, "A 8x4 odd:1\nC 8x4 even:2\n");
}

/* Names that only look alike are forward. */
Test(mm, no_backward)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,4]\nparam v f32[4,8]\n/gradual/MatMul: y = MatMul(x,w)\n"
                  "/upgrade/MatMul: z = MatMul(y,v)\nout z");
    assert_rows(MM_ONNX, "/gradual/MatMul 8x4 odd:1\n/upgrade/MatMul 4x8 even:2\n");
}

/* ---- rule torch ---- */

/* A Linear without a bias is an mm, one with a bias an addmm: not counted, recomputed, or saved by
 * torchtitan. */
Test(mm, addmm)
{
    bench_add(&b,
              "in x f32[2,5,8]\nparam l.weight f32[8,8]\nparam l.bias f32[8]\nparam m.weight f32[8,8]\n"
              "/l/Transpose: t = Transpose(l.weight)\n/l/MatMul: a = MatMul(x,t)\n/l/Add: c = Add(l.bias,a)\n"
              "/m/Transpose: u = Transpose(m.weight)\n/m/MatMul: d = MatMul(c,u)\nout d");
    assert_rows(MM_TORCH, "/l/MatMul 8x8 addmm\n/m/MatMul 8x8 odd:1\n");
    assert_text(bench_columns(&b, "p"), "recompute\nsave\n");
    cr_assert_eq(b.p.n_addmm, 1);
    b.o.titan = true;
    assert_rows(MM_TORCH, "/l/MatMul 8x8 addmm\n/m/MatMul 8x8 odd:1\n");
    assert_text(bench_columns(&b, "p"), "save\nsave\n");
    b.o.titan = false;
    assert_rows(MM_ONNX, "/l/MatMul 8x8 odd:1\n/m/MatMul 8x8 even:2\n");
}

/* An addmm is never forced, whatever its shape. */
Test(mm, addmm_is_not_forced)
{
    bench_add(&b,
              "in x f32[2,5,8]\nparam l.weight f32[8,8]\nparam l.bias f32[8]\nparam m.weight f32[8,8]\n"
              "/l/Transpose: t = Transpose(l.weight)\n/l/MatMul: a = MatMul(x,t)\n/l/Add: c = Add(l.bias,a)\n"
              "/m/Transpose: u = Transpose(m.weight)\n/m/MatMul: d = MatMul(c,u)\nout d");
    bench_fqns(&b, "m");
    assert_rows(MM_TORCH, "/l/MatMul 8x8 addmm\n/m/MatMul 8x8 forced:8x8:m\n");
}

Test(mm, gemm_under_torch)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[4,8]\nparam c f32[4]\nA: a = Gemm(x,w,c) transB=1\nB: d = "
                  "Gemm(x,w) transB=1\n"
                  "C: e = Gemm(x,w,c) transB=1 beta=0.0\nD: f = com.microsoft::GemmFastGelu(x,w,c)\nout "
                  "a\nout d\nout e\nout f");
    assert_rows(MM_TORCH, "A 8x4 addmm\nB 8x4 odd:1\nC 8x4 even:2\nD 4x8 addmm\n");
}

/* A bias that the model's own code adds: Add(product, p) in the parent's scope. */
Test(mm, bias_added_by_hand)
{
    bench_add(
        &b,
        "in x f32[2,5,8]\nparam l.weight f32[8,8]\nparam p f32[8]\n/l/Transpose: t = Transpose(l.weight)\n"
        "/l/MatMul: a = MatMul(x,t)\n/Add: c = Add(a,p)\nout c");
    assert_rows(MM_TORCH, "/l/MatMul 8x8 odd:1\n");
}

/* In one scope with it the TorchScript exporter's order of operands tells: Add(bias, product) is a Linear's.
 */
Test(mm, bias_by_operand_order)
{
    bench_add(&b, "in x f32[2,5,8]\nparam w f32[8,8]\nparam p f32[8]\n/b/MatMul: a = MatMul(x,w)\n/b/Add: c "
                  "= Add(a,p)\n"
                  "/c/MatMul: d = MatMul(c,w)\n/c/Add: e = Add(p,d)\nout e");
    assert_rows(MM_TORCH, "/b/MatMul 8x8 odd:1\n/c/MatMul 8x8 addmm;assumed-bias\n");
}

/* Read twice, the product is needed itself; a matrix is no bias, nor is what comes behind. */
Test(mm, what_is_no_bias)
{
    bench_add(
        &b,
        "in x f32[2,5,8]\nin y f32[8]\nparam w f32[8,8]\nparam p f32[8]\nparam q f32[5,8]\n"
        "/a/MatMul: a = MatMul(x,w)\n/a/Add: c = Add(p,a)\nr = Relu(a)\n"
        "/b/MatMul: d = MatMul(x,w)\n/b/Add: e = Add(q,d)\n/c/MatMul: f = MatMul(x,w)\n/c/Add: g = Add(f,y)\n"
        "out c\nout r\nout e\nout g");
    assert_rows(MM_TORCH, "/a/MatMul 8x8 odd:1\n/b/MatMul 8x8 even:2\n/c/MatMul 8x8 odd:3\n");
}

/* F.linear(x, w, b) with a b that the model computes: addmm, as PyTorch ran it. "b + F.linear(x, w)" gives
 * the same file, so the row says what is assumed. */
Test(mm, bias_that_is_computed)
{
    bench_add(&b, "in x f32[2,5,8]\nin y f32[8]\nparam w f32[8,8]\nparam p f32[1,8]\n"
                  "/a/MatMul: a = MatMul(x,w)\n/a/Add: c = Add(y,a)\n"
                  "/b/MatMul: d = MatMul(c,w)\n/b/Add: e = Add(p,d)\nout e");
    assert_rows(MM_TORCH, "/a/MatMul 8x8 addmm;assumed-bias\n/b/MatMul 8x8 odd:1;assumed-no-bias\n");
}

/* nn.MultiheadAttention with dynamic axes: a part of in_proj_bias, from bounds that are computed. A part of
 * a parameter all the same, and named a bias. */
Test(mm, bias_of_computed_bounds)
{
    bench_add(&b,
              "in x f32[?,?,8]\nparam m.in_proj_weight f32[24,8]\nparam m.in_proj_bias f32[24]\n"
              "param two i64[1]{2}\nparam zero i64[1]{0}\ns = Shape(x)\n/m/Gather: e = Gather(s,two)\n"
              "/m/Slice: w = Slice(m.in_proj_weight,zero,e,zero)\n"
              "/m/Slice_1: v = Slice(m.in_proj_bias,zero,e,zero)\n/m/Transpose: t = Transpose(w) perm=[1,0]\n"
              "/m/MatMul: a = MatMul(x,t)\n/m/Add: c = Add(v,a)\nout c");
    whole(MM_TORCH);
    assert_text(bench_columns(&b, "nr"), "/m/MatMul addmm\n");
}

/* Of a matrix TorchScript makes a Gemm where there is a bias: here the model's own code adds. */
Test(mm, matrix_and_vector)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,8]\nparam p f32[8]\n/a/MatMul: a = MatMul(x,w)\n"
                  "/a/Add: c = Add(p,a)\nout c");
    assert_rows(MM_TORCH, "/a/MatMul 8x8 odd:1;assumed-no-bias\n");
}

/* torch.mm() and the add after it, which TorchScript's exporter makes one Gemm without a scope; torch.addmm()
 * has one. */
Test(mm, merged_add)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,8]\nparam p f32[8]\n/Gemm: a = Gemm(x,w,p) beta=0.0\n"
                  "Gemm_212: c = Gemm(a,w,x)\nGemm_213: d = Gemm(c,w,p)\nout d");
    assert_rows(MM_TORCH, "/Gemm 8x8 addmm\nGemm_212 8x8 odd:1;assumed-no-bias\n"
                          "Gemm_213 8x8 even:2;assumed-no-bias\n");
}

/* ONNX Runtime merges any Add, whichever operand the product was: only a name tells a bias for sure. */
Test(mm, merged_by_onnx_runtime)
{
    bench_add(
        &b,
        "in x f32[2,5,8]\nin y f32[8]\nin m f32[10,8]\nparam s i64[2]{10,8}\nparam w f32[8,8]\nparam p f32[8]\n"
        "param l.bias f32[8]\ngemm_input_reshape_1: r = Reshape(x,s)\n"
        "/a/MatMul/MatMulAddFusion: a = Gemm(r,w,l.bias)\n/b/MatMul/MatMulAddFusion: c = Gemm(r,w,p)\n"
        "/c/MatMul/MatMulAddFusion: d = Gemm(r,w,y)\n/d/MatMul/MatMulAddFusion: e = Gemm(m,w,p)\n"
        "/e/MatMul/MatMulAddFusion: f = Gemm(d,w,p)\nout a\nout c\nout e\nout f");
    assert_rows(MM_TORCH, "/a/MatMul/MatMulAddFusion 8x8 addmm\n"
                          "/b/MatMul/MatMulAddFusion 8x8 addmm;assumed-bias\n"
                          "/c/MatMul/MatMulAddFusion 8x8 odd:1;assumed-no-bias\n"
                          "/d/MatMul/MatMulAddFusion 8x8 even:2;assumed-no-bias\n"
                          "/e/MatMul/MatMulAddFusion 8x8 addmm;assumed-bias\n");
}

/* ... and where no node has a scope, a Gemm is what it says. */
Test(mm, numbered_gemm)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,8]\nparam p f32[8]\nGemm_212: c = Gemm(x,w,p)\nout c");
    assert_rows(MM_TORCH, "Gemm_212 8x8 addmm\n");
}

/* Dynamo: the product comes first; the metadata of both are the same. */
Test(mm, bias_by_metadata)
{
#define SCOPES(m, op) "meta:pkg.torch.onnx.name_scopes=`['', '" m "', '" op "']`"
    bench_add(&b, "in x f32[2,5,8]\n"
                  "param l.weight f32[8,8]\n"
                  "param l.bias f32[8]\n"
                  "param p f32[8]\n"
                  "t = Transpose(l.weight)");
    bench_add(&b, "A: a = MatMul(x,t) %s", SCOPES("l", "linear"));
    bench_add(&b, "c = Add(a,l.bias) %s", SCOPES("l", "linear"));
    bench_add(&b, "B: d = MatMul(c,t) %s", SCOPES("l", "linear_1"));
    bench_add(&b, "e = Add(d,p) %s", SCOPES("l", "add"));
    bench_add(&b, "out e");
    assert_rows(MM_TORCH, "A 8x8 addmm\nB 8x8 odd:1\n");
}

/* Without scopes an Add of a parameter's vector is taken for the bias, on either side. */
Test(mm, bias_without_scopes)
{
    bench_add(&b, "in x f32[2,5,8]\nparam w f32[8,8]\nparam p f32[8]\nA: a = MatMul(x,w)\nc = Add(a,p)\nB: d "
                  "= MatMul(c,w)\n"
                  "e = Add(p,d)\nout e");
    assert_rows(MM_TORCH, "A 8x8 addmm;assumed-bias\nB 8x8 addmm;assumed-bias\n");
}

/* ONNX Runtime fuses biases into what reads the product: the Linear is a biased one still. */
Test(mm, bias_fused_into_the_reader)
{
    bench_add(&b, "opset - 17\nopset com.microsoft 1\nin x f32[2,5,8]\nparam w f32[8,8]\nparam fc1.bias "
                  "f32[8]\nparam fc2.bias f32[8]\n"
                  "param out.bias f32[8]\nparam g f32[8]\nparam scale f32[8]\n"
                  "A: a = MatMul(x,w)\nc = com.microsoft::BiasGelu(a,fc1.bias)\n"
                  "B: d = MatMul(c,w)\ne = com.microsoft::SkipLayerNormalization(d,x,g,g,fc2.bias)\n"
                  "C: f = MatMul(e,w)\nh = com.microsoft::SkipSimplifiedLayerNormalization(x,f,g,out.bias)\n"
                  "D: i = MatMul(h,w)\nj = com.microsoft::FastGelu(i)\nE: k = MatMul(j,w)\nl = "
                  "com.microsoft::BiasGelu(k,scale)\n"
                  "F: m = MatMul(l,w)\nn = com.microsoft::SkipLayerNormalization(m,m,g,g,fc2.bias)\nout n");
    assert_rows(MM_TORCH, "A 8x8 addmm\nB 8x8 addmm\nC 8x8 addmm\nD 8x8 odd:1\nE 8x8 even:2\nF 8x8 odd:3\n");
}

/* A biased Linear of a non-contiguous input runs as matmul + add: an mm, and the row says what is assumed. */
Test(mm, biased_and_not_contiguous)
{
    bench_add(&b,
              "in x f32[2,5,8]\nparam l.weight f32[5,5]\nparam l.bias f32[5]\nv = Transpose(x) perm=[0,2,1]\n"
              "/l/Transpose: t = Transpose(l.weight)\n/l/MatMul: a = MatMul(v,t)\n/l/Add: c = "
              "Add(l.bias,a)\nout c");
    assert_rows(MM_TORCH, "/l/MatMul 5x5 odd:1;assumed-noncontiguous\n");
    cr_assert_eq(b.p.n_assumed, 1);
    assert_rows(MM_ONNX, "/l/MatMul 5x5 odd:1\n");
}

/* ... also where ONNX Runtime fused the transpose into the product. */
Test(mm, biased_and_transposed_inside)
{
    bench_add(&b, "opset - 17\nopset com.microsoft 1\nin x f32[2,5,8]\nin v f32[2,5,1]\nparam onnx::MatMul_1 "
                  "f32[5,5]\nparam l.bias f32[5]\n"
                  "/l/MatMul/MatmulTransposeFusion/: a = com.microsoft::FusedMatMul(x,onnx::MatMul_1) "
                  "transA=1\n/l/Add: c = Add(l.bias,a)\n"
                  "/m/MatMul/MatmulTransposeFusion/: d = com.microsoft::FusedMatMul(v,onnx::MatMul_1) "
                  "transA=1\n/m/Add: e = Add(l.bias,d)\nout c\nout e");
    whole(MM_TORCH);
    assert_text(bench_columns(&b, "sr"), "5x5 odd:1;assumed-noncontiguous\n5x5 addmm\n");
}

/* A slice leaves gaps: known from the file, nothing assumed... */
Test(mm, biased_after_slice)
{
    bench_add(&b, "in x f32[2,5,8]\nparam z i64[1]{0}\nparam four i64[1]{4}\nparam two i64[1]{2}\nparam "
                  "l.weight f32[4,4]\n"
                  "param l.bias f32[4]\nv = Slice(x,z,four,two)\n/l/Transpose: t = Transpose(l.weight)\n"
                  "/l/MatMul: a = MatMul(v,t)\n/l/Add: c = Add(l.bias,a)\nout c");
    whole(MM_TORCH);
    assert_text(bench_columns(&b, "ns"), "/l/MatMul 4x4\n");
    cr_assert_eq(b.p.n_addmm, 0);
}

/* ... and a matrix needs no folding: addmm whatever its layout. */
Test(mm, biased_matrix)
{
    bench_add(&b, "in x f32[8,5]\nparam l.weight f32[8,8]\nparam l.bias f32[8]\nv = Transpose(x) perm=[1,0]\n"
                  "/l/Transpose: t = Transpose(l.weight)\n/l/MatMul: a = MatMul(v,t)\n/l/Add: c = "
                  "Add(l.bias,a)\nout c");
    assert_rows(MM_TORCH, "/l/MatMul 8x8 addmm\n");
}

/* A matrix times a stack folds into one mm whose rhs is the matrix transposed. */
Test(mm, folded_stack)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,8]\nparam e f32[3,8,4]\ny = Gemm(x,w)\nA: a = "
                  "MatMul(y,e)\nB: c = MatMul(x,e)\nout a\nout c");
    whole(MM_TORCH);
    assert_text(bench_columns(&b, "sr"), "8x8 odd:1\n8x5 even:2\n"); /* of x no gradient is asked: a bmm */
    assert_rows(MM_ONNX, "y 8x8 odd:1\n");
}

/* A batch of one is squeezed away. */
Test(mm, batch_of_one)
{
    bench_add(&b, "in x f32[2,5,8]\nparam w f32[1,8,4]\nparam v f32[2,8,4]\nA: a = MatMul(x,w)\nB: c = "
                  "MatMul(x,v)\nout a\nout c");
    assert_rows(MM_TORCH, "A 8x4 odd:1\n");
}

/* torch.tensordot(), as TorchScript exports it; PyTorch runs a bmm for any einsum of the model's own. */
Test(mm, tensordot)
{
    bench_add(&b,
              "in v f32[5,2,4]\nin x f32[5,8]\nparam k f32[8,4]\nparam s i64[2]{-1,8}\nr = Reshape(v,s)\n"
              "A: a = Einsum(r,k) equation=`ij,jk->ik`\nB: c = Einsum(r,k) equation=`sd,de->se`\n"
              "C: d = Einsum(r,k) equation=`ij,jk->ki`\nD: e = Einsum(r,k) equation=`ij,jk`\n"
              "E: f = Einsum(x,x) equation=`ij,ij->ij`\nF: g = Einsum(x,k) equation=`ij,jk->ik`\n"
              "G: h = Einsum(r,k) equation=`ij, jk -> ik`\nout a\nout c\nout d\nout e\nout f\nout g\nout h");
    assert_rows(MM_TORCH, "A 8x4 odd:1;assumed-tensordot\n");
}

/* What a constant folder computed away was run and counted by PyTorch: LoRA's first product. */
Test(mm, folded_away)
{
    bench_add(&b, "in x f32[2,5,8]\nparam /l/MatMul_output_0 f32[8,8]\nparam w f32[8,8]\nparam v f32[8,8]\n"
                  "/k/MatMul: a = MatMul(x,v)\n/l/MatMul_1: c = MatMul(a,/l/MatMul_output_0)\n/m/MatMul: d = "
                  "MatMul(c,w)\nout d");
    whole(MM_ONNX);
    assert_text(bench_columns(&b, "nr"),
                "/k/MatMul odd:1\n/l/MatMul_1 odd:3;assumed-folded-mm\n/m/MatMul even:4\n");
}

/* Nothing is assumed where the numbering starts above 0 for another reason. */
Test(mm, nothing_folded_away)
{
    bench_add(&b, "in x f32[2,5,8]\nparam w f32[8,8]\n/l/MatMul_1: c = MatMul(x,w)\nout c");
    whole(MM_ONNX);
    assert_text(bench_columns(&b, "nr"), "/l/MatMul_1 odd:1\n");
}

Test(mm, rules_differ_is_counted)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[4,8]\nparam c f32[4]\nparam s i64[2]{5,4}\n"
                  "A: a = Gemm(x,w,c) transB=1\nB: d = Gemm(x,w) transB=1\nr = Reshape(a,s)\n"
                  "E: e = Einsum(r,w) equation=`ij,jk->ik`\nout d\nout e");
    whole(MM_ONNX);
    cr_assert_eq(b.p.n_rules_differ, 2, "A is an addmm, E a tensordot: found %u", b.p.n_rules_differ);
    whole(MM_TORCH);
    cr_assert_eq(b.p.n_rules_differ, 2, "found %u", b.p.n_rules_differ);
}

/* ---- inside other graphs ---- */

Test(mm, functions)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[8,8]\nc1: y = local::Linear(x,w)\nM: z = MatMul(y,w)\nout z\n"
                  "function local::Linear(a,w) -> (c)\nt = Transpose(w)\nF: c = MatMul(a,t)\nend");
    assert_rows(MM_ONNX, "fn:local:Linear|F 8x8 odd:1\nM 8x8 even:2\n");
}

Test(mm, attribute_of_the_call)
{
    bench_add(&b, "in x f32[5,8]\nparam w f32[4,8]\ny = local::F(x,w) t=1\nout y\n"
                  "function local::F(a,w) -> (c) t\nF: c = com.microsoft::FusedMatMul(a,w) transB=@t\nend");
    assert_rows(MM_ONNX, "fn:local:F|F 8x4 odd:1\n");
}

Test(mm, no_mm_at_all)
{
    bench_add(&b, "in x f32[5,8]\ny = Relu(x)\nout y");
    assert_rows(MM_ONNX, "");
}
