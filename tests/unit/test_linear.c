/* Names of mms, where they were learnt, and which modules are Linears (POLICY.md 3). */
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

TestSuite(linear, .init = setup, .fini = teardown);

/* Node, fqn and evidence of each row. */
#define assert_names(want)                                                                                   \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_columns(&b, "nfe"), want);                                                         \
    } while (0)

#define assert_linears(want)                                                                                 \
    do {                                                                                                     \
        assert_planned(&b);                                                                                  \
        assert_text(bench_linears(&b), want);                                                                \
    } while (0)

#define NS(text) "meta:pkg.torch.onnx.name_scopes=`" text "`"
#define CH(text) "meta:pkg.torch.onnx.class_hierarchy=`" text "`"

/* ---- by the parameter ---- */

Test(linear, unfolded)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.wq.weight f32[4,8]\n"
                  "t = Transpose(layers.0.wq.weight) perm=[1,0]\n"
                  "A: y = MatMul(x,t)\nout y");
    assert_names("A layers.0.wq param\n");
    assert_text(bench_linears(&b), "layers.0.wq layers.0.wq.weight 8 4 whole param\n");
}

Test(linear, gemm)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param fc.weight f32[4,8]\n"
                  "param fc.bias f32[4]\n"
                  "A: y = Gemm(x,fc.weight,fc.bias) transB=1\n"
                  "out y");
    assert_linears("fc fc.weight 8 4 whole param\n");
}

/* Through Cast, Identity, DequantizeLinear, Reshape and back. */
Test(linear, chains)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param a.weight f32[4,8]\n"
                  "param b.weight i8[4,8]\n"
                  "param s f32[]\n"
                  "param c.weight f32[4,8]\n"
                  "param sh i64[2]{4,8}\n"
                  "a1 = Cast(a.weight) to=10\na2 = Transpose(a1)\nA: a3 = MatMul(x,a2)\n"
                  "b1 = DequantizeLinear(b.weight,s)\nb2 = Transpose(b1)\nB: b3 = MatMul(x,b2)\n"
                  "c1 = Reshape(c.weight,sh)\nc2 = Identity(c1)\nc3 = Transpose(c2)\nC: c4 = MatMul(x,c3)\n"
                  "out a3\nout b3\nout c4");
    assert_names("A a param\nB b param\nC c param\n");
    assert_text(bench_linears(&b),
                "a a.weight 8 4 whole param\nb b.weight 8 4 whole param\nc c.weight 8 4 whole param\n");
}

/* A weight that is a graph input, and one that is a function's argument. */
Test(linear, inputs_and_arguments)
{
    bench_add(&b, "in x f32[2,8]\nin layers.0.wq.weight f32[4,8]\nparam layers.0.wk.weight f32[4,8]\n"
                  "t = Transpose(layers.0.wq.weight)\n"
                  "A: y = MatMul(x,t)\n"
                  "z = local::Linear(x,layers.0.wk.weight)\n"
                  "out y\n"
                  "out z\n"
                  "function local::Linear(p,w) -> (r)\nt = Transpose(w)\nF: r = MatMul(p,t)\nend");
    assert_linears(
        "layers.0.wq layers.0.wq.weight 8 4 whole param\nlayers.0.wk layers.0.wk.weight 8 4 whole param\n");
}

Test(linear, weights_inside_bodies)
{
    bench_add(&b, "in x f32[2,8]\nin k bool[]\nparam fc.weight f32[4,8]\ny = If(k)\n"
                  "body then_branch\nt = Transpose(fc.weight)\nA: a = MatMul(x,t)\nout a\nend\n"
                  "body else_branch\n"
                  "param gc.weight f32[4,8]\n"
                  "u = Transpose(gc.weight)\n"
                  "B: c = MatMul(x,u)\n"
                  "out c\n"
                  "end\n"
                  "out y");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fe"), "fc param\ngc param\n");
}

/* Suffixes of tools; a weight that is stored transposed is multiplied as it is. */
Test(linear, stored_transposed)
{
    bench_add(&b, "in x f32[2,8]\nparam a.weight_transposed f32[8,4]\nparam b.weight_fp16 f32[4,8]\n"
                  "param model.layers.0.attn.q_proj.MatMul.weight f32[8,4]\n"
                  "A: a = MatMul(x,a.weight_transposed)\nt = Transpose(b.weight_fp16)\nB: c = MatMul(x,t)\n"
                  "C: d = MatMul(x,model.layers.0.attn.q_proj.MatMul.weight)\nout a\nout c\nout d");
    assert_linears("a a.weight_transposed 8 4 whole param\nb b.weight_fp16 8 4 whole param\n"
                   "model.layers.0.attn.q_proj model.layers.0.attn.q_proj.MatMul.weight 8 4 whole param\n");
}

/* torch's own names say what they say, whatever a tool's would mean. */
Test(linear, names_of_torch)
{
    bench_add(
        &b, "producer pytorch\nin x f32[2,8]\nparam up.a/b.weight f32[4,8]\nparam up.MatMul.weight f32[4,8]\n"
            "/up/a/b/Transpose: s = Transpose(up.a/b.weight)\n/up/a/b/MatMul: a = MatMul(x,s)\n"
            "/up/MatMul/Transpose: t = Transpose(up.MatMul.weight)\n/up/MatMul/MatMul: c = MatMul(x,t)\n"
            "out a\nout c");
    assert_linears("up.a/b up.a/b.weight 8 4 whole param\nup.MatMul up.MatMul.weight 8 4 whole param\n");
    assert_silent(&b, DIAG_WARNING, "tied or shared");
}

/* ... and so does any that is asked for, where the guess would miss it. */
Test(linear, names_that_are_asked_for)
{
    bench_add(&b, "in x f32[2,8]\nparam up.a/b.weight f32[4,8]\nparam up.MatMul.weight f32[4,8]\n"
                  "s = Transpose(up.a/b.weight)\nA: a = MatMul(x,s)\n"
                  "t = Transpose(up.MatMul.weight)\nB: c = MatMul(x,t)\nout a\nout c");
    bench_fqns(&b, "up.MatMul,a/b");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nf"), "A up.a/b\nB up.MatMul\n");
}

/* What fits either way is guessed. */
Test(linear, guessed_names_that_are_asked_for)
{
    bench_add(&b,
              "in x f32[2,8]\nparam attn.q.MatMul.weight f32[8,4]\nA: a = MatMul(x,attn.q.MatMul.weight)\n"
              "out a");
    bench_fqns(&b, "attn.q");
    b.o.match = MATCH_SUBSTRING;
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "A attn.q param\n");
}

/* TensorFlow keeps kernels as they are multiplied. */
Test(linear, tensorflow)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param model/dense/MatMul/ReadVariableOp:0 f32[8,4]\n"
                  "param model/dense/BiasAdd/ReadVariableOp:0 f32[4]\n"
                  "model/dense/MatMul: a = MatMul(x,model/dense/MatMul/ReadVariableOp:0)\n"
                  "model/dense/BiasAdd: c = Add(a,model/dense/BiasAdd/ReadVariableOp:0)\n"
                  "param bert/pooler/dense/kernel:0 f32[4,4]\n"
                  "bert/pooler/dense/MatMul: d = MatMul(c,bert/pooler/dense/kernel:0)\n"
                  "out d");
    assert_linears("model.dense model/dense/MatMul/ReadVariableOp:0 8 4 whole param\n"
                   "bert.pooler.dense bert/pooler/dense/kernel:0 4 4 whole param\n");
}

/* ---- by metadata ---- */

Test(linear, metadata)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param val_3 f32[8,4]");
    bench_add(&b, "A: y = MatMul(x,val_3) %s %s", NS("['', 'layers.0', 'layers.0.router.gate', 'linear']"),
              CH("['M', 'B', 'torch.nn.modules.linear.Linear', 'aten.linear.default']"));
    bench_add(&b, "out y");
    assert_names("A layers.0.router.gate metadata\n");
    assert_text(bench_linears(&b), "layers.0.router.gate val_3 8 4 whole metadata\n");
}

/* A module of another class is no Linear, whatever it multiplies; a subclass is one. */
Test(linear, metadata_classes)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param v f32[8,8]");
    bench_add(&b, "A: a = MatMul(x,v) %s %s", NS("['', 'conv1d', 'addmm']"),
              CH("['M', 'transformers.pytorch_utils.Conv1D', 'aten.addmm.default']"));
    bench_add(&b, "B: c = MatMul(a,v) %s %s", NS("['', 'wn', 'linear']"),
              CH("['M', 'torch.nn.utils.parametrize.ParametrizedLinear', 'aten.linear.default']"));
    bench_add(&b, "C: d = MatMul(c,v) %s %s", NS("['', 'matmul']"), CH("['M', 'aten.matmul.default']"));
    bench_add(&b, "out d");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "A conv1d metadata\nB wn metadata\nC - -\n");
    assert_text(bench_linears(&b), "wn v 8 8 whole metadata\n");
}

/* A class of the model's own may be a subclass of Linear: it is one if it does with its weight what a Linear
 * does. */
Test(linear, metadata_classes_of_the_model)
{
    bench_add(&b, "in x f32[2,8]\nparam head.weight f32[8,8]\nparam gate.weight f32[8,8]\n"
                  "param kan.base f32[8,8]\nparam kan.spline f32[8,8]\n"
                  "h = Transpose(head.weight)\ng = Transpose(gate.weight)\nk = Transpose(kan.base)\n"
                  "l = Transpose(kan.spline)");
    bench_add(&b, "A: a = MatMul(x,h) %s %s", NS("['', 'head', 'linear']"),
              CH("['M', 'models.NormHead', 'aten.linear.default']"));
    bench_add(&b, "B: c = MatMul(a,g) %s %s\nd = Sigmoid(c) %s %s", NS("['', 'gate', 'linear']"),
              CH("['M', 'models.Gate', 'aten.linear.default']"), NS("['', 'gate', 'sigmoid']"),
              CH("['M', 'models.Gate', 'aten.sigmoid.default']"));
    bench_add(&b, "C: e = MatMul(d,k) %s %s\nD: f = MatMul(e,l) %s %s\nout f", NS("['', 'kan', 'linear']"),
              CH("['M', 'models.KANLinear', 'aten.linear.default']"), NS("['', 'kan', 'linear_1']"),
              CH("['M', 'models.KANLinear', 'aten.linear.default']"));
    assert_planned(&b);
    assert_text(bench_linears(&b), "head head.weight 8 8 whole param\n");
}

/* A router multiplies like a Linear, but then it chooses; a Linear's subclass may scale. */
Test(linear, routers)
{
    bench_add(&b, "in x f32[2,8]\nparam k i64[1]{2}\nparam s f32[8]\nparam gate.weight f32[4,8]\n"
                  "param scaled.weight f32[8,4]\n"
                  "/gate/Transpose: t = Transpose(gate.weight)\n/gate/MatMul: a = MatMul(x,t)\n"
                  "/gate/TopK: v,i = TopK(a,k)\n/scaled/Transpose: u = Transpose(scaled.weight)\n"
                  "/scaled/MatMul: c = MatMul(a,u)\n/scaled/Mul: d = Mul(c,s)\nout v\nout d");
    assert_planned(&b);
    assert_text(bench_linears(&b), "scaled scaled.weight 4 8 whole param\n");
    bench_fqns(&b, "gate");
    assert_refused(&b, IR_EPOLICY, "FQN 'gate' names 'gate', which is not a Linear");
}

/* The scope of a parameter used by its parent: out_proj's weight in attention. */
Test(linear, weight_used_by_the_parent)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.attn.out_proj.weight f32[8,8]\n"
                  "t = Transpose(layers.0.attn.out_proj.weight)");
    bench_add(&b, "A: y = MatMul(x,t) %s %s", NS("['', 'layers.0.attn', 'linear']"),
              CH("['M', 'torch.nn.modules.activation.MultiheadAttention', 'aten.linear.default']"));
    bench_add(&b, "out y");
    assert_names("A layers.0.attn.out_proj param\n");
    assert_text(bench_linears(&b), "layers.0.attn.out_proj layers.0.attn.out_proj.weight 8 8 whole param\n");
    assert_silent(&b, DIAG_WARNING, "another module");
}

/* ---- by the node's name ---- */

Test(linear, folded)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_11 f32[8,4]\nparam layers.0.wq.bias f32[4]\n"
                  "/layers.0/wq/MatMul: a = MatMul(x,onnx::MatMul_11)\n"
                  "/layers.0/wq/Add: c = Add(layers.0.wq.bias,a)\n"
                  "out c");
    assert_names("/layers.0/wq/MatMul layers.0.wq scope\n");
    assert_text(bench_linears(&b), "layers.0.wq onnx::MatMul_11 8 4 whole scope\n");
}

/* One product in a leaf: a Linear. Several, or other operators, are a module's own code. */
Test(linear, what_a_scope_can_tell)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\nparam onnx::MatMul_2 f32[8,8]\n"
                  "/a/MatMul: a = MatMul(x,onnx::MatMul_1)\n/a/MatMul_1: c = MatMul(a,onnx::MatMul_2)\n"
                  "/b/MatMul: d = MatMul(c,onnx::MatMul_1)\n/b/Relu: e = Relu(d)\n"
                  "/c/MatMul: f = MatMul(e,onnx::MatMul_2)\n/c/d/Relu: g = Relu(f)\n"
                  "/e/MatMul: h = MatMul(g,onnx::MatMul_2)\n/f/MatMul: i = MatMul(h,h)\nout i");
    assert_planned(&b);
    assert_text(bench_linears(&b), "e onnx::MatMul_2 8 8 whole scope\n");
}

/* A constant in a node is a weight too. */
Test(linear, constants)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "/fc/Constant: k = Constant() value=f32[8,4]\n"
                  "/fc/MatMul: y = MatMul(x,k)\n"
                  "out y");
    assert_names("/fc/MatMul fc scope\n");
    assert_text(bench_linears(&b), "fc k 8 4 whole scope\n");
}

/* _k: called again, with the same weight... */
Test(linear, called_again)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,8]\n/fc/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/fc_1/MatMul: c = MatMul(a,onnx::MatMul_1)\nout c");
    assert_names("/fc/MatMul fc scope\n/fc_1/MatMul fc scope\n");
    assert_text(bench_linears(&b), "fc onnx::MatMul_1 8 8 whole scope\n");
}

/* ... or another module of the same scope, which has its own. */
Test(linear, another_module_of_that_scope)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,2]\nparam onnx::MatMul_2 f32[2,8]\n"
                  "/q/default/MatMul: a = MatMul(x,onnx::MatMul_1)\n"
                  "/q/default_1/MatMul: c = MatMul(a,onnx::MatMul_2)\n"
                  "out c");
    assert_planned(&b);
    assert_text(bench_columns(&b, "f"), "q.default\nq.default_1\n");
    assert_text(bench_linears(&b),
                "q.default onnx::MatMul_1 8 2 whole scope\nq.default_1 onnx::MatMul_2 2 8 whole scope\n");
}

/* ... which its bias may name in full. */
Test(linear, another_module_of_that_scope_by_its_bias)
{
    bench_add(&b,
              "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,2]\nparam onnx::MatMul_2 f32[2,8]\n"
              "param proj.bias f32[2]\nparam mlp.proj.bias f32[8]\n"
              "/proj/MatMul: a = MatMul(x,onnx::MatMul_1)\n/proj/Add: c = Add(proj.bias,a)\n"
              "/proj_1/MatMul: d = MatMul(c,onnx::MatMul_2)\n/proj_1/Add: e = Add(mlp.proj.bias,d)\nout e");
    assert_planned(&b);
    assert_text(bench_columns(&b, "f"), "proj\nmlp.proj\n");
    assert_text(bench_linears(&b),
                "proj onnx::MatMul_1 8 2 whole scope\nmlp.proj onnx::MatMul_2 2 8 whole bias\n");
}

/* ---- by the bias ---- */

Test(linear, bias)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param 12 f32[8,4]\n"
                  "param fc.bias f32[4]\n"
                  "MatMul_3: a = MatMul(x,12)\n"
                  "Add_4: c = Add(a,fc.bias)\n"
                  "out c");
    assert_names("MatMul_3 fc bias\n");
    assert_text(bench_linears(&b), "fc 12 8 4 whole bias\n");
}

/* ... also where a tool fused it into another op. */
Test(linear, fused_bias)
{
    bench_add(&b, "opset - 17\n"
                  "opset com.microsoft 1\n"
                  "in x f32[2,8]\n"
                  "param val_16 f32[8,8]\n"
                  "param attn.out_proj.bias f32[8]\n"
                  "param g f32[8]\n"
                  "node_MatMul_36: a = MatMul(x,val_16)\n"
                  "c = com.microsoft::SkipLayerNormalization(a,x,g,g,attn.out_proj.bias)\n"
                  "out c");
    assert_names("node_MatMul_36 attn.out_proj bias\n");
    assert_text(bench_linears(&b), "attn.out_proj val_16 8 8 whole bias\n");
}

/* The scope is stronger: deduplicated biases lie. */
Test(linear, bias_is_weakest)
{
    bench_add(&b, "in x f32[2,8]\nparam onnx::MatMul_1 f32[8,4]\nparam other.bias f32[4]\n"
                  "/fc/MatMul: a = MatMul(x,onnx::MatMul_1)\n/fc/Add: c = Add(other.bias,a)\nout c");
    assert_names("/fc/MatMul fc scope\n");
}

Test(linear, nothing_known)
{
    bench_add(&b, "in x f32[2,8]\nparam 12 f32[8,4]\nMatMul_3: a = MatMul(x,12)\nout a");
    assert_names("MatMul_3 - -\n");
    assert_text(bench_linears(&b), "");
}

/* ---- two that disagree ---- */

/* A tied weight carries one of its modules' names; the node tells which ran. Both are Linears. */
Test(linear, tied_weights)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param up.weight f32[8,8]\n"
                  "t = Transpose(up.weight)\n"
                  "/up/MatMul: a = MatMul(x,t)\n"
                  "/down/MatMul: c = MatMul(a,t)\nout c");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "/up/MatMul up param\n/down/MatMul up param\n");
    assert_says(
        &b, DIAG_WARNING,
        "1 mm with a weight named for another module than the one that ran (the first: '/down/MatMul')");
    assert_text(bench_linears(&b), "up up.weight 8 8 whole param\ndown up.weight 8 8 whole scope\n");
}

/* A module that another calls is not one of that other's. */
Test(linear, lent)
{
    bench_add(&b, "in x f32[2,8]\nparam pool.q.weight f32[8,8]\nparam layers.0.k.weight f32[8,8]\n"
                  "t = Transpose(pool.q.weight)\nu = Transpose(layers.0.k.weight)\n"
                  "/layers.0/pool/q/MatMul: a = MatMul(x,t)\n/layers.0/k/MatMul: c = MatMul(a,u)\nout c");
    b.o.whole = false;
    bench_blocks(&b, "layers.0");
    assert_names("/layers.0/pool/q/MatMul pool.q param\n/layers.0/k/MatMul layers.0.k param\n");
    assert_text(bench_linears(&b),
                "pool.q pool.q.weight 8 8 - param\nlayers.0.k layers.0.k.weight 8 8 layers.0 param\n");
    assert_silent(&b, DIAG_WARNING, "named for another module");
    bench_fqns(&b, "pool.q");
    assert_planned(&b);
    assert_says(&b, DIAG_WARNING, "is found only outside every block");
}

/* Equal weights that a tool merged: Identity's output still has the name. */
Test(linear, merged_by_value)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam layers.0.b.weight f32[8,8]\nlayers.1.b.weight = Identity(layers.0.b.weight)\n"
        "t = Transpose(layers.0.b.weight)\n"
        "A: a = MatMul(x,t)\n"
        "u = Transpose(layers.1.b.weight)\n"
        "B: c = MatMul(a,u)\n"
        "out c");
    assert_names("A layers.0.b param\nB layers.1.b param\n");
    assert_text(
        bench_linears(&b),
        "layers.0.b layers.0.b.weight 8 8 whole param\nlayers.1.b layers.1.b.weight 8 8 whole param\n");
}

/* An Embedding whose weight the head shares: the product is the head's, the name the Embedding's. */
Test(linear, tied_to_an_embedding)
{
    bench_add(&b, "in i i64[2,5]\nparam emb.weight f32[100,8]\n/emb/Gather: e = Gather(emb.weight,i)\n"
                  "t = Transpose(emb.weight)\n/head/MatMul: y = MatMul(e,t)\nout y");
    assert_names("/head/MatMul head scope\n");
    assert_text(bench_linears(&b), "head emb.weight 8 100 whole scope\n");
    assert_silent(&b, DIAG_WARNING, "another module");
}

/* ---- what is no Linear ---- */

Test(linear, embeddings)
{
    bench_add(&b, "in i i64[2,5]\nparam emb.weight f32[100,8]\ny = Gather(emb.weight,i)\nout y");
    assert_linears("");
    bench_fqns(&b, "emb");
    assert_refused(&b, IR_EPOLICY, "'emb', an Embedding, which is not a Linear");
}

/* Conv1D keeps (in, out) and multiplies without a transpose. */
Test(linear, conv1d)
{
    bench_add(&b, "in x f32[2,8]\nparam h.0.c_attn.weight f32[8,24]\nparam h.0.c_attn.bias f32[24]\n"
                  "/h.0/c_attn/Gemm: y = Gemm(x,h.0.c_attn.weight,h.0.c_attn.bias)\nout y");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "/h.0/c_attn/Gemm h.0.c_attn scope\n");
    assert_text(bench_linears(&b), "");
    bench_fqns(&b, "h.0.c_attn");
    assert_refused(&b, IR_EPOLICY, "which is not a Linear");
}

/* A parameter of rank other than 2; a norm. */
Test(linear, other_parameters)
{
    bench_add(
        &b,
        "in x f32[2,3,8,8]\nparam conv.weight f32[4,3,1,1]\nparam norm.weight f32[8]\nparam pos f32[8,8]\n"
        "y = Conv(x,conv.weight)\nz = Mul(y,norm.weight)\nw = Add(z,pos)\nout w");
    assert_linears("");
}

/* A weight that an attention op multiplies by as it is: no Linear that is never called. */
Test(linear, weights_inside_attention_ops)
{
    bench_add(&b, "opset - 17\n"
                  "opset com.microsoft 1\n"
                  "in x f32[2,3,8]\n"
                  "param h.0.c_attn.weight f32[8,24]\n"
                  "param h.0.c_attn.bias f32[24]\n"
                  "y = com.microsoft::Attention(x,h.0.c_attn.weight,h.0.c_attn.bias)\nout y");
    assert_linears("");
}

/* A position table that is added, not looked up: no Linear, whatever its shape. */
Test(linear, added_tables)
{
    bench_add(&b, "in x f32[2,16,8]\n"
                  "param pos.weight f32[16,8]\n"
                  "param cut.weight f32[32,8]\n"
                  "param z i64[1]{0}\n"
                  "param n i64[1]{16}\n"
                  "y = Add(x,pos.weight)\n"
                  "s = Slice(cut.weight,z,n,z)\n"
                  "v = Add(y,s)\n"
                  "out v");
    assert_linears("");
}

/* A weight that something is added to before it multiplies is a weight still. */
Test(linear, merged_weights)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param fc.weight f32[4,8]\n"
                  "param delta f32[4,8]\n"
                  "w = Add(fc.weight,delta)\n"
                  "t = Transpose(w)\nA: y = MatMul(x,t)\nout y");
    assert_linears("fc fc.weight 8 4 whole param\n");
}

/* Several weights as one: q, k and v are Linears. */
Test(linear, joined_weights)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param q.weight f32[8,8]\n"
                  "param k.weight f32[8,8]\n"
                  "w = Concat(q.weight,k.weight) axis=0\n"
                  "t = Transpose(w)\nA: y = MatMul(x,t)\nout y");
    assert_linears("q q.weight 8 8 whole param\nk k.weight 8 8 whole param\n");
}

/* The parent's code multiplies by a bare parameter: it is the parent's, and the parent is no Linear. */
Test(linear, bare_parameters)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param layers.0.proj f32[8,8]\n"
                  "/layers.0/MatMul: y = MatMul(x,layers.0.proj)\n"
                  "out y");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "/layers.0/MatMul layers.0 scope\n");
    assert_text(bench_linears(&b), "");
    bench_fqns(&b, "layers.0");
    assert_refused(&b, IR_EPOLICY, "'layers.0', which is not a Linear");
}

/* ---- Linears all the same ---- */

/* W + B.weight @ A.weight: of Linears that are never called. What is called (Conv1D) shows that it is none.
 */
Test(linear, weights_multiplied_by_the_parent)
{
    bench_add(
        &b, "in x f32[2,8]\nparam l.a.weight f32[2,8]\nparam l.b.weight f32[4,2]\nparam l.c.weight f32[4,8]\n"
            "/l/MatMul: m = MatMul(l.b.weight,l.a.weight)\n/l/Transpose: t = Transpose(m)\n"
            "/l/MatMul_1: n = MatMul(x,t)\n/l/c/MatMul: y = MatMul(n,l.c.weight)\nout y");
    assert_planned(&b);
    assert_text(bench_linears(&b), "l.a l.a.weight 8 2 whole param\nl.b l.b.weight 2 4 whole param\n");
}

/* F.linear(h, up.weight.t()): no Transpose at all for the second one; up is a Linear by the first. */
Test(linear, weight_used_by_hand)
{
    bench_add(
        &b,
        "in x f32[2,8]\nparam up.weight f32[16,8]\nt = Transpose(up.weight)\n/up/MatMul: a = MatMul(x,t)\n"
        "/MatMul: c = MatMul(a,up.weight)\nout c");
    assert_planned(&b);
    assert_text(bench_columns(&b, "ns"), "/up/MatMul 8x16\n/MatMul 16x8\n");
    assert_text(bench_linears(&b), "up up.weight 8 16 whole param\n");
}

/* Never called, but there: it forces its shape. */
Test(linear, unused)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param spare.weight f32[4,8]\n"
                  "param fc.weight f32[4,8]\n"
                  "t = Transpose(fc.weight)\n"
                  "A: y = MatMul(x,t)\nout y");
    bench_fqns(&b, "spare");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nr"), "A forced:8x4:spare\n");
    assert_text(bench_linears(&b), "spare spare.weight 8 4 whole param\nfc fc.weight 8 4 whole param\n");
}

/* weight_norm: the weight is computed of two parameters of one module. */
Test(linear, weight_norm)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param wn.parametrizations.weight.original0 f32[4,1]\n"
                  "param wn.parametrizations.weight.original1 f32[4,8]\n"
                  "n = ReduceL2(wn.parametrizations.weight.original1) axes=[1]\n"
                  "d = Div(wn.parametrizations.weight.original1,n)\n"
                  "w = Mul(d,wn.parametrizations.weight.original0)\n"
                  "t = Transpose(w)\n"
                  "A: y = MatMul(x,t)\n"
                  "out y");
    assert_names("A wn param\n");
    assert_text(bench_linears(&b), "wn - 8 4 whole param\n");
}

/* The older form, weight_g and weight_v. */
Test(linear, old_weight_norm)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param wn.weight_g f32[4,1]\n"
                  "param wn.weight_v f32[4,8]\n"
                  "n = ReduceL2(wn.weight_v) axes=[1]\n"
                  "d = Div(wn.weight_v,n)\n"
                  "w = Mul(d,wn.weight_g)\n"
                  "t = Transpose(w)\n"
                  "A: y = MatMul(x,t)\n"
                  "out y");
    assert_linears("wn - 8 4 whole param\n");
}

/* Two modules' parameters, or an activation: no reparametrisation. */
Test(linear, no_reparametrisation)
{
    bench_add(&b, "in x f32[8,8]\n"
                  "param a.weight_v f32[8,8]\n"
                  "param b.weight_v f32[8,8]\n"
                  "s = Mul(a.weight_v,b.weight_v)\n"
                  "A: y = MatMul(x,s)\nq = Mul(x,a.weight_v)\nB: z = MatMul(y,q)\nout z");
    assert_names("A - -\nB - -\n");
    assert_text(bench_linears(&b), "");
}

/* LoRA: base layer, A and B are Linears of their own. */
Test(linear, lora)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param q.base_layer.weight f32[8,8]\n"
                  "param q.lora_A.default.weight f32[2,8]\n"
                  "param q.lora_B.default.weight f32[8,2]\n"
                  "t = Transpose(q.base_layer.weight)\n/q/base_layer/MatMul: y = MatMul(x,t)\n"
                  "u = Transpose(q.lora_A.default.weight)\n/q/default/MatMul: a = MatMul(x,u)\n"
                  "v = Transpose(q.lora_B.default.weight)\n"
                  "/q/default_1/MatMul: c = MatMul(a,v)\n"
                  "z = Add(y,c)\n"
                  "out z");
    assert_linears("q.base_layer q.base_layer.weight 8 8 whole param\n"
                   "q.lora_A.default q.lora_A.default.weight 8 2 whole param\n"
                   "q.lora_B.default q.lora_B.default.weight 2 8 whole param\n");
    assert_silent(&b, DIAG_WARNING, "another module");
}

/* Part of a weight: the packed in_proj of attention is no Linear of its own. */
Test(linear, packed_projection)
{
    bench_add(&b, "in x f32[2,8]\n"
                  "param attn.in_proj_weight f32[24,8]\n"
                  "param attn.out_proj.weight f32[8,8]\n"
                  "t = Transpose(attn.in_proj_weight)\n"
                  "/attn/MatMul: y = MatMul(x,t)\n"
                  "u = Transpose(attn.out_proj.weight)\n"
                  "/attn/MatMul_1: z = MatMul(x,u)\nout y\nout z");
    assert_planned(&b);
    assert_text(bench_columns(&b, "nfe"), "/attn/MatMul attn scope\n/attn/MatMul_1 attn.out_proj param\n");
    assert_text(bench_linears(&b), "attn.out_proj attn.out_proj.weight 8 8 whole param\n");
    bench_fqns(&b, "attn");
    assert_refused(&b, IR_EPOLICY, "'attn', a container, which is not a Linear; Linears inside it: out_proj");
}

/* Wrappers are no part of a name. */
Test(linear, wrappers)
{
    bench_add(&b, "in x f32[2,8]\nparam _orig_mod.layers.0._checkpoint_wrapped_module.wq.weight f32[4,8]\n"
                  "t = Transpose(_orig_mod.layers.0._checkpoint_wrapped_module.wq.weight)\n"
                  "/_orig_mod/layers.0/_checkpoint_wrapped_module/wq/MatMul: y = MatMul(x,t)\nout y");
    bench_fqns(&b, "_orig_mod.layers.0.wq");
    assert_planned(&b);
    assert_text(bench_columns(&b, "fer"), "layers.0.wq param forced:8x4:layers.0.wq\n");
    assert_silent(&b, DIAG_WARNING, "another module");
}

/* The evidence of all rows is counted. */
Test(linear, evidence_is_counted)
{
    bench_add(&b, "in x f32[2,8]\nparam a.weight f32[8,8]\nparam onnx::MatMul_1 f32[8,8]\nparam 3 f32[8,8]\n"
                  "t = Transpose(a.weight)\n"
                  "/a/MatMul: y = MatMul(x,t)\n"
                  "/b/MatMul: z = MatMul(y,onnx::MatMul_1)\n"
                  "MatMul_5: v = MatMul(z,3)\nout v");
    assert_planned(&b);
    cr_assert_eq(b.p.n_evidence[EV_PARAM], 1);
    cr_assert_eq(b.p.n_evidence[EV_SCOPE], 1);
    cr_assert_eq(b.p.n_evidence[EV_NONE], 1);
}
