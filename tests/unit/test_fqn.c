/* What exporters make of module names: POLICY.md 3 and the facts about exporters. */
#include "passes/fqn.h"

#include <criterion/criterion.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 0);
}

static void teardown(void)
{
    arena_free(&arena);
}

TestSuite(fqn, .init = setup, .fini = teardown);

static bool eq(struct str s, const char *z)
{
    return str_is(s, z);
}

#define assert_str(s, z)                                                                                     \
    do {                                                                                                     \
        struct str s_ = (s);                                                                                 \
        cr_assert(eq(s_, (z)), "expected '%s' but found '%.*s'", (z), STR_ARG(s_));                          \
    } while (0)

static const char *const kinds[] = {"none", "weight", "kernel", "bias", "other"};

struct param_case {
    const char *name, *kind, *fqn;
};

static void check_params(const struct param_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum param_kind kind;
        struct str fqn;
        cr_assert_eq(fqn_of_param(&kind, &fqn, str_of(c[i].name), &arena), 0);
        cr_assert(strcmp(kinds[kind], c[i].kind) == 0 && eq(fqn, c[i].fqn),
                  "'%s': expected %s '%s' but found %s '%.*s'", c[i].name, c[i].kind, c[i].fqn, kinds[kind],
                  STR_ARG(fqn));
    }
}

Test(fqn, torch_parameters)
{
    static const struct param_case c[] = {
        {"layers.0.wq.weight", "weight", "layers.0.wq"},
        {"layers.0.wq.bias", "bias", "layers.0.wq"},
        {"fc.weight", "weight", "fc"},
        {"layers.0.attn.in_proj_weight", "other", "layers.0.attn"},
        {"layers.0.scale", "other", "layers.0"},
        {"layers.0.moe.experts.w1", "other", "layers.0.moe.experts"},
        {"weight", "none", ""},
        {".weight", "none", ""},
    };
    check_params(c, sizeof c / sizeof *c);
}

/* Names that are known to be torch's own say what they say. */
Test(fqn, exact_parameters)
{
    static const struct param_case c[] = {
        {"layers.0.wq.weight", "weight", "layers.0.wq"},
        {"layers.0.wq.bias", "bias", "layers.0.wq"},
        {"up.a b.weight", "weight", "up.a b"},
        {"up.a/b.weight", "weight", "up.a/b"},
        {"up.MatMul.weight", "weight", "up.MatMul"},
        {"up.Add.bias", "bias", "up.Add"},
        {"up.a.kernel", "other", "up.a"},
        {"up.a.weight_q", "other", "up.a"},
        {"up.#1,x.weight", "weight", "up.#1,x"},
        {"module.up.a.weight", "weight", "up.a"},
        {"a.parametrizations.weight.original1", "other", "a"},
        {"weight", "none", ""},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        enum param_kind kind;
        struct str fqn;
        cr_assert_eq(fqn_of_exact_param(&kind, &fqn, str_of(c[i].name), &arena), 0);
        cr_expect(strcmp(kinds[kind], c[i].kind) == 0 && eq(fqn, c[i].fqn), "'%s': found %s '%.*s'",
                  c[i].name, kinds[kind], STR_ARG(fqn));
    }
}

Test(fqn, made_up_names)
{
    static const struct param_case c[] = {
        {"onnx::MatMul_11", "none", ""},
        {"val_3", "none", ""},
        {"/a/b/Transpose_output_0", "none", ""},
        {"123", "none", ""},
        {"", "none", ""},
        {"ortshared_1_0_1_0_token_1", "none", ""},
        {"a name.weight", "none", ""},
    };
    check_params(c, sizeof c / sizeof *c);
}

Test(fqn, what_tools_append)
{
    static const struct param_case c[] = {
        {"layers.0.wq.weight_quantized", "weight", "layers.0.wq"},
        {"layers.0.wq.weight_fp16", "weight", "layers.0.wq"},
        {"layers.0.wq.weight_resize", "weight", "layers.0.wq"},
        {"layers.0.wq.weight_transposed", "kernel", "layers.0.wq"},
        {"layers.0.wq.weight_t", "kernel", "layers.0.wq"},
        {"layers.0.wq.weight_T", "kernel", "layers.0.wq"},
        {"layers.0.wq.weight_transposed_quantized", "kernel", "layers.0.wq"},
        {"layers.0.wq.bias_quantized", "bias", "layers.0.wq"},
        {"model.layers.0.attn.q_proj.MatMul.weight", "kernel", "model.layers.0.attn.q_proj"},
        {"model.layers.0.attn.q_proj.Add.bias", "bias", "model.layers.0.attn.q_proj"},
    };
    check_params(c, sizeof c / sizeof *c);
}

/* A parameter's own name may end like a tool's suffix: a bare parameter "weight_t" of a module is told by no
 * rule, but "offset_t" or "seq" is no weight. */
Test(fqn, suffixes_of_real_names)
{
    static const struct param_case c[] = {
        {"layers.0.offset_t", "other", "layers.0"},
        {"layers.0.freq_q", "other", "layers.0"},
        {"layers.0.lin_t.weight", "weight", "layers.0.lin_t"},
    };
    check_params(c, sizeof c / sizeof *c);
}

Test(fqn, reparametrised_weights)
{
    static const struct param_case c[] = {
        {"layers.0.wn.parametrizations.weight.original0", "other", "layers.0.wn"},
        {"layers.0.wn.parametrizations.weight.original1", "other", "layers.0.wn"},
        {"layers.0.wn.weight_v", "other", "layers.0.wn"},
        {"layers.0.wn.weight_g", "other", "layers.0.wn"},
        {"layers.0.sn.weight_orig", "other", "layers.0.sn"},
    };
    check_params(c, sizeof c / sizeof *c);
    cr_assert(fqn_is_reparam(str_of("layers.0.wn.parametrizations.weight.original1")));
    cr_assert(fqn_is_reparam(str_of("layers.0.wn.weight_v")));
    cr_assert(fqn_is_reparam(str_of("layers.0.wn.weight_orig")));
    cr_assert(!fqn_is_reparam(str_of("layers.0.wn.weight")));
    cr_assert(!fqn_is_reparam(str_of("layers.0.wn.parametrizations.bias.original0")));
}

Test(fqn, tensorflow_and_jax)
{
    static const struct param_case c[] = {
        {"bert/encoder/layer_0/query/kernel:0", "kernel", "bert.encoder.layer_0.query"},
        {"bert/encoder/layer_0/query/bias:0", "bias", "bert.encoder.layer_0.query"},
        {"dense/kernel", "kernel", "dense"},
        {"sequential/dense/MatMul/ReadVariableOp:0", "kernel", "sequential.dense"},
        {"sequential/dense/BiasAdd/ReadVariableOp:0", "bias", "sequential.dense"},
        {"model/dense/Tensordot/ReadVariableOp", "kernel", "model.dense"},
        {"StatefulPartitionedCall/model/dense/MatMul/ReadVariableOp:0", "kernel",
         "StatefulPartitionedCall.model.dense"},
        {"micro/dense/BiasAdd/ReadVariableOp_quantized", "bias", "micro.dense"},
        {"dense/kernel:0_quantized", "kernel", "dense"},
        {"micro/dense/BiasAdd/ReadVariableOp_scale", "none", ""},
        {"micro/dense/BiasAdd/ReadVariableOp_zero_point", "none", ""},
        {"a/b/gamma", "other", "a.b"},
        {"dense.kernel", "kernel", "dense"},
    };
    check_params(c, sizeof c / sizeof *c);
}

Test(fqn, paddle)
{
    static const struct param_case c[] = {
        {"fc_0.w_0", "kernel", "fc_0"}, {"fc_0.b_0", "bias", "fc_0"}, {"fc_0.w_1", "other", "fc_0"}};
    check_params(c, sizeof c / sizeof *c);
}

Test(fqn, wrappers)
{
    static const struct param_case c[] = {
        {"_orig_mod.layers.0.wq.weight", "weight", "layers.0.wq"},
        {"layers.0._orig_mod.wq.weight", "weight", "layers.0.wq"},
        {"module.layers.0.wq.weight", "weight", "layers.0.wq"},
        {"module._orig_mod.layers.0.wq.weight", "weight", "layers.0.wq"},
        {"_fsdp_wrapped_module.layers.0._checkpoint_wrapped_module.wq.weight", "weight", "layers.0.wq"},
    };
    check_params(c, sizeof c / sizeof *c);
    assert_str(fqn_clean(str_of("module.layers.0"), &arena), "layers.0");
    assert_str(fqn_clean(str_of("layers.module.0"), &arena), "layers.module.0");
    assert_str(fqn_clean(str_of("module"), &arena), "module");
    assert_str(fqn_clean(str_of("layers.0"), &arena), "layers.0");
    assert_str(fqn_clean(str_of(""), &arena), "");
    struct str gone = fqn_clean(str_of("_orig_mod"), &arena);
    cr_assert_not_null(gone.s);
    cr_assert_eq(gone.n, 0);
    cr_assert(fqn_is_wrapper(str_of("_orig_mod")));
    cr_assert(!fqn_is_wrapper(str_of("module")), "a real name too");
    cr_assert(!fqn_is_wrapper(str_of("_orig_mod_2")));
}

Test(fqn, no_memory_is_told)
{
    struct arena small;
    enum param_kind kind;
    struct str fqn;
    arena_init(&small, 1);
    cr_assert_null(fqn_clean(str_of("_orig_mod.layers.0"), &small).s);
    cr_assert_neq(fqn_of_param(&kind, &fqn, str_of("a/b/kernel:0"), &small), 0);
    arena_free(&small);
}

Test(fqn, parts)
{
    assert_str(fqn_unqualified(str_of("layers.0")), "layers.0");
    assert_str(fqn_unqualified(str_of("layers.0.wq")), "wq");
    assert_str(fqn_unqualified(str_of("h.0.ff.0.0")), "ff.0.0");
    assert_str(fqn_unqualified(str_of("0")), "0");
    assert_str(fqn_unqualified(str_of("0.1")), "0.1");
    assert_str(fqn_unqualified(str_of("encoder_layer_0")), "encoder_layer_0");
    assert_str(fqn_unqualified(str_of("")), "");
    assert_str(fqn_parent(str_of("layers.0.wq")), "layers.0");
    assert_str(fqn_parent(str_of("wq")), "");
    assert_str(fqn_last(str_of("layers.0.wq")), "wq");
    assert_str(fqn_last(str_of("wq")), "wq");
}

Test(fqn, inside)
{
    cr_assert(fqn_inside(str_of("layers.0.wq"), str_of("layers.0")));
    cr_assert(!fqn_inside(str_of("layers.0"), str_of("layers.0")), "strictly");
    cr_assert(!fqn_inside(str_of("layers.01.wq"), str_of("layers.0")));
    cr_assert(fqn_inside(str_of("layers"), str_of("")));
    cr_assert(!fqn_inside(str_of(""), str_of("")));
    assert_str(fqn_relative(str_of("layers.0.wq"), str_of("layers.0")), "wq");
    assert_str(fqn_relative(str_of("layers.0"), str_of("layers.0")), "");
    assert_str(fqn_relative(str_of("layers.0"), str_of("")), "layers.0");
}

Test(fqn, numbers)
{
    cr_assert(fqn_is_number(str_of("0")));
    cr_assert(fqn_is_number(str_of("12")));
    cr_assert(!fqn_is_number(str_of("")));
    cr_assert(!fqn_is_number(str_of("1a")));
    cr_assert(!fqn_is_number(str_of("-1")));
}

Test(fqn, atoms)
{
    assert_str(atom_stem(str_of("block_1")), "block");
    assert_str(atom_stem(str_of("q_proj_12")), "q_proj");
    assert_str(atom_stem(str_of("q_proj")), "q_proj");
    assert_str(atom_stem(str_of("norm1")), "norm1");
    assert_str(atom_stem(str_of("_1")), "_1");
    assert_str(atom_stem(str_of("block_")), "block_");
    assert_str(atom_stem(str_of("")), "");
}

struct glob_case {
    const char *pattern, *text;
    bool match;
};

Test(fqn, glob)
{
    static const struct glob_case c[] = {
        {"layers.*", "layers.0", true},
        {"layers.*", "layers.0.wq", false},
        {"layers.*", "layers", false},
        {"layers.*", "layers.", true},
        {"*", "a", true},
        {"*", "a.b", false},
        {"*", "", true},
        {"**", "a.b.c", true},
        {"**.gate", "layers.0.moe.gate", true},
        {"**.gate", "gate", false},
        {"**gate", "gate", true},
        {"layers.**.w1", "layers.0.moe.experts.3.w1", true},
        {"layers.**.w1", "layers.w1", false},
        {"layers.*.*.w1", "layers.0.mlp.w1", true},
        {"layers.*.*.w1", "layers.0.w1", false},
        {"stages.*.blocks.*", "stages.2.blocks.11", true},
        {"w?", "wq", true},
        {"w?", "w", false},
        {"w?", "w.", false},
        {"a*b*c", "axxbyyc", true},
        {"a*b*c", "axxbyy", false},
        {"a*b*c", "abbc", true},
        {"**.a.*.b", "x.a.y.a.z.b", true},
        {"**.a.*b", "x.a.cb.a.zb", true},
        {"", "", true},
        {"", "a", false},
    };
    uint64_t steps = 0;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        cr_assert_eq(fqn_glob(str_of(c[i].pattern), str_of(c[i].text), &steps), c[i].match,
                     "'%s' on '%s': expected %d", c[i].pattern, c[i].text, c[i].match);
}

/* Patterns made to be slow end soon all the same. */
Test(fqn, glob_is_quick)
{
    char pattern[2001], text[20001];
    uint64_t steps = 0;
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 2] = 'b';
    pattern[sizeof pattern - 1] = text[sizeof text - 1] = '\0';
    pattern[sizeof pattern - 2] = 'c';
    cr_assert(!fqn_glob(str_of(pattern), str_of(text), &steps));
}

/* A name may be a megabyte long; Criterion's timeout tells if its square matters. */
Test(fqn, glob_of_a_long_name_takes_linear_time, .timeout = 20)
{
    size_t n = (size_t)1 << 20;
    char *text = malloc(n), longest[FQN_PATTERN_MAX + 2];
    uint64_t steps = 0;
    cr_assert_not_null(text);
    memset(text, 'w', n);
    cr_assert(!fqn_glob(str_of("**w*x"), (struct str){text, n}, &steps));
    cr_assert(!fqn_glob(str_of("**w*w*.w**x"), (struct str){text, n}, &steps));
    text[n - 1] = 'x';
    cr_assert(fqn_glob(str_of("**w*x"), (struct str){text, n}, &steps));
    free(text);
    memset(longest, 'a', sizeof longest);
    struct str most = {longest, FQN_PATTERN_MAX}, more = {longest, FQN_PATTERN_MAX + 1};
    cr_assert(fqn_glob(most, most, &steps));
    cr_assert(!fqn_glob(more, more, &steps));
}

Test(fqn, glob_counts_what_it_takes)
{
    uint64_t steps = 0;
    cr_assert(!fqn_glob(str_of("layers.*.q"), str_of("encoder.q"), &steps));
    cr_assert_eq(steps, 1, "the first character decides");
    steps = 0;
    cr_assert(fqn_glob(str_of("abc"), str_of("abc"), &steps));
    cr_assert_eq(steps, 3);
    steps = 0;
    cr_assert(!fqn_glob(str_of("**a**a**a**a**b"), str_of("aaaaaaaaaa"), &steps));
    cr_assert_eq(steps, 2 + 4 + 6 + 8 + 6 * 10, "each star that was come to, and what follows it");
}

Test(fqn, of_a_python_expression)
{
    assert_str(fqn_of_source(str_of("L['x'].encoder.layers[0]"), &arena), "encoder.layers.0");
    assert_str(fqn_of_source(str_of("getattr(L['fn'], '1').attn.wq"), &arena), "1.attn.wq");
    assert_str(fqn_of_source(str_of("getattr(getattr(L['fn'], '1'), '2')"), &arena), "1.2");
    assert_str(fqn_of_source(str_of("L['fn'].heads._modules['a']"), &arena), "heads.a");
    assert_str(fqn_of_source(str_of("L['fn']"), &arena), "");
}

Test(fqn, of_no_python_expression)
{
    static const char *const same[] = {
        "layers.0.wq",   "",           "L",          "L[",          "L['x",
        "L['x'](0)",     "L['x'].",    "L['x'][",    "L['x'][0",    "L['x'], 'a'",
        "getattr(self)", "L['x'], ')", "getattr(L[", "L['x'].a..b", "L['x']['']"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_str(fqn_of_source(str_of(same[i]), &arena), same[i]);
}
