/* Where a node's module is told, and what it is called in full (POLICY.md 3). */
#include "tests/unit/graph_builder.h"

#include "passes/linear.h"

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

TestSuite(scope, .init = setup, .fini = teardown);

static const struct scope *scope_of(const char *output)
{
    uint32_t v = bench_value(&b, output);
    for (uint32_t i = 0; i < b.s.walk.n_steps; i++)
        if (walk_step(&b.s.walk, i).node == b.m.values[v].def)
            return &b.s.scopes[b.s.scope_of[i]];
    cr_assert(false, "no step defines %s", output);
    return NULL;
}

static void learn(void)
{
    cr_assert_eq(bench_passes(&b, pass_scope), 0);
}

static void resolve(void)
{
    cr_assert_eq(bench_passes(&b, pass_modules), 0);
}

/* Kind and atoms: "name:layers.0/attn/wq"; "-" for no scope. */
static const char *atoms(const char *output)
{
    static char text[512];
    static const char *const kinds[] = {"name", "meta", "stack"};
    const struct scope *s = scope_of(output);
    if (s == &b.s.scopes[0])
        return "-";
    size_t n = (size_t)snprintf(text, sizeof text, "%s:", kinds[s->kind]);
    for (uint32_t i = 0; i < s->n_atoms; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", i ? "/" : "", STR_ARG(s->atoms[i]));
    if (s->kind == SCOPE_META)
        snprintf(text + n, sizeof text - n, "%.*s", STR_ARG(s->fqn));
    return text;
}

static const char *fqn(const char *output)
{
    static char text[256];
    const struct scope *s = scope_of(output);
    snprintf(text, sizeof text, "%.*s%s", STR_ARG(s->fqn), s->certain ? "" : "?");
    return text;
}

/* ---- from names ---- */

Test(scope, names)
{
    bench_add(&b, "in x\n"
                  "/layers.0/attention/wq/MatMul: a = MatMul(x,x)\n"
                  "/Add: c = Add(x,x)\n"
                  "MatMul_12: d = MatMul(x,x)\n"
                  "e = Relu(x)\n"
                  "layers.0/wq/MatMul: f = MatMul(x,x)\n"
                  "onnx::MatMul_3: g = MatMul(x,x)\n"
                  "//Relu: h = Relu(x)\n"
                  "out a");
    learn();
    assert_text(atoms("a"), "name:layers.0/attention/wq");
    assert_text(atoms("c"), "name:"); /* directly in the model */
    assert_text(atoms("d"), "-");
    assert_text(atoms("e"), "-");
    assert_text(atoms("f"), "name:layers.0/wq"); /* slash scopes of TensorFlow */
    assert_text(atoms("g"), "-");
    assert_text(atoms("h"), "name:");
    cr_assert_eq(scope_of("c"), scope_of("h"), "both directly in the model");
}

/* The steps of one module share a scope. */
Test(scope, interned)
{
    bench_add(&b, "in x\n"
                  "/l/MatMul: a = MatMul(x,x)\n"
                  "/l/Add: c = Add(a,x)\n"
                  "/l_1/MatMul: d = MatMul(x,x)\n"
                  "out c\n"
                  "out d");
    learn();
    cr_assert_eq(scope_of("a"), scope_of("c"));
    cr_assert_neq(scope_of("a"), scope_of("d"));
}

/* ONNX Runtime appends a component of its own. */
Test(scope, fusion_suffixes)
{
    bench_add(
        &b,
        "in x\n/l/wq/MatMul/MatMulAddFusion: a = Gemm(x,x)\n/l/MatMul/MatMulScaleFusion/: c = MatMul(x,x)\n"
        "/l/MatMul_1/MatMulTransposeFusion: d = MatMul(x,x)\nMatMulAddFusion: e = Gemm(x,x)\nout a");
    learn();
    assert_text(atoms("a"), "name:l/wq");
    assert_text(atoms("c"), "name:l");
    assert_text(atoms("d"), "name:l");
    assert_text(atoms("e"), "-");
}

/* TensorFlow's scopes hold operators, too. */
Test(scope, tensorflow_operators)
{
    bench_add(&b, "in x\n"
                  "model/dense/Tensordot/MatMul: a = Relu(x)\n"
                  "model/dense/BiasAdd/ReadVariableOp: c = Relu(x)\n"
                  "model/dense/MatMul: d = Relu(x)\n"
                  "/MatMul/MatMul: e = Relu(x)\nTensordot/MatMul: f = Relu(x)\nout a");
    learn();
    assert_text(atoms("a"), "name:model/dense");
    cr_assert_eq(scope_of("a"), scope_of("c"));
    cr_assert_eq(scope_of("a"), scope_of("d"));
    assert_text(atoms("e"), "name:MatMul"); /* a torch module of that name */
    assert_text(atoms("f"), "name:Tensordot");
}

/* ... or puts "fused " in front; TensorFlow Lite joins the names of what it fused. */
Test(scope, fused_names)
{
    bench_add(&b, "in x\n"
                  "fused /pooler/dense/Gemm: a = Relu(x)\n"
                  "micro/dense/MatMul;micro/dense/Relu;micro/dense/BiasAdd: c = Relu(x)\n"
                  ";a/b: d = Relu(x)\nout a");
    learn();
    assert_text(atoms("a"), "name:pooler/dense");
    assert_text(atoms("c"), "name:micro/dense");
    assert_text(atoms("d"), "name:;a");
}

Test(scope, wrappers_are_left_out)
{
    bench_add(&b, "in x\n/_orig_mod/layers.0/_checkpoint_wrapped_module/wq/MatMul: a = MatMul(x,x)\n"
                  "/layers.0/_fsdp_wrapped_module_1/wq/MatMul: c = MatMul(x,x)\nout a");
    learn();
    assert_text(atoms("a"), "name:layers.0/wq");
    assert_text(atoms("c"), "name:layers.0/wq");
}

/* ---- from metadata ---- */

#define NS(text) "meta:pkg.torch.onnx.name_scopes=`" text "`"
#define CH(text) "meta:pkg.torch.onnx.class_hierarchy=`" text "`"

Test(scope, metadata)
{
    bench_add(&b, "in x");
    bench_add(&b, "a = MatMul(x,x) %s %s", NS("['', 'layers.0', 'layers.0.moe.router.gate', 'linear']"),
              CH("['m.Model', 'm.Block', 'torch.nn.modules.linear.Linear', 'aten.linear.default']"));
    bench_add(&b, "c = Add(x,x) %s", NS("['', 'add']"));
    bench_add(&b, "d = Add(x,x) %s", NS("[\"\", \"layers.0\", \"add_1\"]"));
    bench_add(&b, "/z/Relu: e = Relu(x) %s", NS("['', 'layers.1', 'relu']"));
    bench_add(&b, "f = Relu(x) %s", NS("['', '_orig_mod.layers.2', 'relu']"));
    bench_add(&b, "out a");
    learn();
    assert_text(atoms("a"), "meta:layers.0.moe.router.gate");
    cr_assert(str_is(scope_of("a")->cls, "torch.nn.modules.linear.Linear"));
    assert_text(atoms("c"), "meta:"); /* the model's own code */
    cr_assert_neq(scope_of("c"), &b.s.scopes[0]);
    assert_text(atoms("d"), "meta:layers.0");
    assert_text(atoms("e"), "meta:layers.1"); /* stronger than the name */
    assert_text(atoms("f"), "meta:layers.2");
    cr_assert(scope_of("a")->certain);
}

/* A Python list is parsed strictly: what is none is not used, and the name tells. */
Test(scope, metadata_that_is_no_list)
{
    static const char *const bad[] = {"",          "[]",          "['a']",         "layers.0",
                                      "['a', 'b'", "['a' 'b']",   "['a', 'b\\'']", "['a','b']",
                                      "['a', b]",  "['a', 'b'] ", "['a', ]",       "['a', 'b",
                                      "[,]",       "('a', 'b')",  "['a', 'b']]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bench_add(&b, "/n/Relu: y%zu = Relu(x) " NS("%s"), i, bad[i]);
    bench_add(&b, "in x\nout y0");
    learn();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%zu", i);
        cr_assert_str_eq(atoms(name), "name:n", "'%s' was taken for a list", bad[i]);
    }
}

Test(scope, classes_that_are_no_list)
{
    bench_add(&b, "in x");
    bench_add(&b, "a = Relu(x) %s %s", NS("['', 'l', 'relu']"), CH("nonsense"));
    bench_add(&b, "out a");
    learn();
    assert_text(atoms("a"), "meta:l");
    cr_assert_eq(scope_of("a")->cls.n, 0);
}

/* Nodes of a function body belong where the call does, when they do not say. */
Test(scope, function_bodies)
{
    bench_add(&b, "in x");
    bench_add(&b, "c = local::F(x) %s", NS("['', 'layers.0.ff', 'f']"));
    bench_add(&b, "d = local::F(c) %s", NS("['', 'layers.1.ff', 'f']"));
    bench_add(&b, "out d\n"
                  "function local::F(p) -> (r)\n"
                  "q = Relu(p)\n"
                  "/deep/Neg: r = Neg(q)\n"
                  "end");
    learn();
    cr_assert_eq(b.s.walk.n_steps, 4);
    cr_assert(str_is(b.s.scopes[b.s.scope_of[0]].fqn, "layers.0.ff"));
    cr_assert(str_is(b.s.scopes[b.s.scope_of[2]].fqn, "layers.1.ff"));
    cr_assert_eq(b.s.scopes[b.s.scope_of[1]].kind, SCOPE_NAME, "the node says more");
}

/* ---- what a scope is called in full ---- */

Test(scope, known_modules)
{
    bench_add(&b, "in x\n"
                  "param layers.0.attention.wq.weight f32[4,4]\n"
                  "/layers.0/attention/wq/MatMul: a = MatMul(x,x)\n"
                  "out a");
    resolve();
    assert_text(fqn("a"), "layers.0.attention.wq");
}

/* Containers that are never called are missing. */
Test(scope, missing_containers)
{
    bench_add(&b, "in x\n"
                  "param layers.0.moe.router.gate.weight f32[4,4]\n"
                  "param transformer.h.0.attn.c_attn.weight f32[4,4]\n"
                  "/layers.0/gate/MatMul: a = MatMul(x,x)\n/h.0/attn/c_attn/MatMul: c = MatMul(x,x)\n"
                  "/layers.0/other/MatMul: d = MatMul(x,x)\nout a");
    resolve();
    assert_text(fqn("a"), "layers.0.moe.router.gate");
    assert_text(fqn("c"), "transformer.h.0.attn.c_attn");
    assert_text(fqn("d"), "layers.0.other?"); /* nothing tells of it: containers may be missing */
}

/* Called Sequentials repeat their name. */
Test(scope, sequentials)
{
    bench_add(&b, "in x\nparam h.0.ff.0.0.weight f32[4,4]\n/h.0/ff.0/ff.0.0/MatMul: a = MatMul(x,x)\n"
                  "/net/net.2/MatMul: c = MatMul(x,x)\nout a");
    resolve();
    assert_text(fqn("a"), "h.0.ff.0.0");
    assert_text(fqn("c"), "net.2?");
}

/* _k on the last atom: called again, when the scope without it was used. */
Test(scope, called_again)
{
    bench_add(&b, "in x\nparam layers.0.wq.weight f32[4,4]\n/layers.0/wq/MatMul: a = MatMul(x,x)\n"
                  "/layers.0/wq_1/MatMul: c = MatMul(x,x)\n/layers.0/other/MatMul: d = MatMul(x,x)\n"
                  "/layers.0/other_1/MatMul: e = MatMul(x,x)\nout a");
    resolve();
    assert_text(fqn("c"), "layers.0.wq");
    cr_assert(scope_of("c")->stem);
    assert_text(fqn("e"), "layers.0.other?");
    cr_assert(scope_of("e")->stem);
}

/* Real names end so as well. */
Test(scope, names_that_end_in_numbers)
{
    bench_add(
        &b,
        "in x\nparam encoder_layer_0.fc_1.weight f32[4,4]\n/encoder_layer_0/fc_1/MatMul: a = MatMul(x,x)\n"
        "/encoder_layer_1/fc_1/MatMul: c = MatMul(x,x)\nout a");
    resolve();
    assert_text(fqn("a"), "encoder_layer_0.fc_1");
    assert_text(fqn("c"), "encoder_layer_1.fc_1?");
}

/* Encoder and decoder share a scope: which one cannot be told from it alone. */
Test(scope, ambiguous)
{
    bench_add(&b, "in x\n"
                  "param encoder.layers.0.fc1.weight f32[4,4]\n"
                  "param decoder.layers.0.fc1.weight f32[4,4]\n"
                  "param decoder.layers.0.cross.weight f32[4,4]\n"
                  "/layers.0/fc1/MatMul: a = MatMul(x,x)\n/layers.0/cross/MatMul: c = MatMul(x,x)\nout a");
    resolve();
    cr_assert(!scope_of("a")->certain);
    cr_assert(!scope_of("c")->certain, "layers.0 may be either's");
}

static bool fits(const char *scope_atoms, const char *name, bool stem)
{
    struct str list[8];
    uint32_t n = 0;
    for (const char *p = scope_atoms; *p;) {
        size_t len = strcspn(p, "/");
        list[n++] = (struct str){p, len};
        p += len + (p[len] == '/');
    }
    return scope_fits(list, n, str_of(name), stem);
}

Test(scope, fits)
{
    cr_assert(fits("layers.0/attention/wq", "layers.0.attention.wq", false));
    cr_assert(fits("layers.0/gate", "layers.0.moe.router.gate", false));
    cr_assert(fits("h.0/ff.0/ff.0.0", "h.0.ff.0.0", false));
    cr_assert(!fits("layers.0/gate", "layers.1.moe.router.gate", false));
    cr_assert(!fits("layers.0/wk", "layers.0.attention.wq", false));
    cr_assert(!fits("layers.0/attention", "layers.0.attention.wq", false),
              "the last atom is the module's own");
    cr_assert(!fits("layers.0/wq_1", "layers.0.wq", false));
    cr_assert(fits("layers.0/wq_1", "layers.0.wq", true));
    cr_assert(!fits("attention/layers.0/wq", "layers.0.attention.wq", false), "in order");
    cr_assert(!fits("", "a", false));
    cr_assert(!fits("a", "", false));
}

/* Scopes that are too deep tell nothing, and that is said; none is cut short. */
Test(scope, deep_names)
{
    char name[2100];
    for (size_t i = 0; i < 1000; i++)
        memcpy(name + 2 * i, "/a", 2);
    strcpy(name + 2000, "/MatMul");
    bench_add(&b, "in x\n%s: y = MatMul(x,x)\n%s: z = MatMul(x,x)\n%s: u = MatMul(x,x)\nout y\nout z\nout u",
              name + 2 * 745, name + 2 * 744, name + 2 * 744 + 1);
    resolve();
    cr_assert_eq(scope_of("y")->n_atoms, 255);
    cr_assert_eq(scope_of("u")->n_atoms, 256); /* it does not begin with a slash */
    cr_assert_eq(scope_of("z"), &b.s.scopes[0]);
    assert_says(&b, DIAG_WARNING, "1 node (the first: '/a/a/");
    assert_says(&b, DIAG_WARNING, "lies more than 256 modules deep");
}
