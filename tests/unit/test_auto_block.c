/* `--blocks auto`: what a person would call the blocks, from the names of the Linears (POLICY.md 2). */
#include "passes/auto_block.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define LINEARS_MAX 512

static char text[LINEARS_MAX][96];
static struct str list[LINEARS_MAX];
static uint32_t n;

static void one(const char *fqn)
{
    cr_assert_lt(n, LINEARS_MAX);
    snprintf(text[n], sizeof text[n], "%s", fqn);
    list[n] = str_of(text[n]);
    n++;
}

/* Adds every combination: '#' counts from 0 below `times`; a second one, '%', below `inner`. Names are
 * separated by spaces. */
static void add_each(const char *names, int times, int inner)
{
    for (int i = 0; i < times; i++)
        for (int j = 0; j < inner; j++)
            for (const char *p = names; *p;) {
                char name[96] = "";
                for (; *p && *p != ' '; p++) {
                    size_t k = strlen(name);
                    if (*p == '#')
                        snprintf(name + k, sizeof name - k, "%d", i);
                    else if (*p == '%')
                        snprintf(name + k, sizeof name - k, "%d", j);
                    else
                        snprintf(name + k, sizeof name - k, "%c", *p);
                }
                bool known = false;
                for (uint32_t m = 0; m < n; m++)
                    known |= strcmp(text[m], name) == 0;
                if (!known)
                    one(name);
                p += *p == ' ';
            }
}

/* The blocks as "a b c", in the order of the Linears; "outside" for Linears in none. */
static const char *blocks(void)
{
    static char out[4096];
    struct auto_blocks b;
    const char *last = "";
    char seen[4096] = " ";
    out[0] = '\0';
    cr_assert_eq(auto_choose(&b, list, n), 0);
    for (uint32_t i = 0; i < n; i++) {
        struct str m = auto_member(&b, list[i]);
        char name[100], key[110];
        snprintf(name, sizeof name, "%.*s", STR_ARG(m));
        if (!m.n)
            snprintf(name, sizeof name, "outside");
        snprintf(key, sizeof key, " %s ", name);
        if (strstr(seen, key))
            continue;
        strncat(seen, key + 1, sizeof seen - strlen(seen) - 1);
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", last, name);
        last = " ";
    }
    auto_free(&b);
    return out;
}

static void reset(void)
{
    n = 0;
}

TestSuite(auto_block, .init = reset);

#define assert_blocks(want)                                                                                  \
    do {                                                                                                     \
        const char *found_ = blocks();                                                                       \
        cr_assert_str_eq(found_, (want), "expected '%s' but found '%s'", (want), found_);                    \
    } while (0)

Test(auto_block, llama)
{
    add_each("layers.#.attention.wq layers.#.attention.wk layers.#.feed_forward.w1 layers.#.feed_forward.w2",
             3, 1);
    one("output");
    assert_blocks("layers.0 layers.1 layers.2 outside");
}

Test(auto_block, gpt2)
{
    add_each("transformer.h.#.attn.c_attn transformer.h.#.attn.c_proj transformer.h.#.mlp.c_fc", 2, 1);
    one("lm_head");
    assert_blocks("transformer.h.0 transformer.h.1 outside");
}

Test(auto_block, one_layer)
{
    add_each("layers.#.attn.wq layers.#.attn.wo layers.#.mlp.w1", 1, 1);
    assert_blocks("layers.0");
}

/* Experts hold several Linears, but directly: not composite. */
Test(auto_block, mixture_of_experts)
{
    add_each("layers.#.attention.wq layers.#.attention.wo layers.#.moe.router.gate layers.#.moe.experts.%.w1 "
             "layers.#.moe.experts.%.w2 layers.#.moe.experts.%.w3",
             2, 4);
    assert_blocks("layers.0 layers.1");
}

/* Experts that are Sequentials: numbers within numbers, not composite either. */
Test(auto_block, experts_of_sequentials)
{
    add_each("layers.#.attn.q layers.#.attn.k layers.#.moe.experts.%.0 layers.#.moe.experts.%.2", 2, 3);
    assert_blocks("layers.0 layers.1");
}

Test(auto_block, swin)
{
    add_each("stages.0.blocks.#.attn.qkv stages.0.blocks.#.attn.proj stages.0.blocks.#.mlp.fc1 "
             "stages.0.blocks.#.mlp.fc2 stages.1.downsample.reduction stages.1.blocks.#.attn.qkv "
             "stages.1.blocks.#.attn.proj stages.1.blocks.#.mlp.fc1",
             2, 1);
    one("head.fc");
    assert_blocks("stages.0.blocks.0 outside stages.1.blocks.0 stages.0.blocks.1 stages.1.blocks.1");
}

/* torchvision's Swin: stages and what lies between them share one Sequential. */
Test(auto_block, swin_of_torchvision)
{
    add_each("features.1.#.attn.qkv features.1.#.attn.proj features.1.#.mlp.0 features.1.#.mlp.3", 2, 1);
    one("features.2.reduction");
    add_each("features.3.#.attn.qkv features.3.#.attn.proj features.3.#.mlp.0 features.3.#.mlp.3", 2, 1);
    one("head");
    assert_blocks("features.1.0 features.1.1 outside features.3.0 features.3.1");
}

Test(auto_block, unet)
{
    add_each("down_blocks.#.attentions.%.transformer_blocks.0.attn1.to_q "
             "down_blocks.#.attentions.%.transformer_blocks.0.attn1.to_k "
             "down_blocks.#.attentions.%.transformer_blocks.0.attn1.to_out.0 "
             "down_blocks.#.attentions.%.transformer_blocks.0.attn2.to_q "
             "down_blocks.#.attentions.%.transformer_blocks.0.attn2.to_out.0 "
             "down_blocks.#.attentions.%.transformer_blocks.0.ff.net.0.proj "
             "down_blocks.#.attentions.%.transformer_blocks.0.ff.net.2 "
             "down_blocks.#.attentions.%.proj_in down_blocks.#.attentions.%.proj_out "
             "down_blocks.#.resnets.%.time_emb_proj",
             2, 2);
    one("time_embedding.linear_1");
    one("time_embedding.linear_2");
    assert_blocks(
        "down_blocks.0.attentions.0.transformer_blocks.0 outside "
        "down_blocks.0.attentions.1.transformer_blocks.0 down_blocks.1.attentions.0.transformer_blocks.0 "
        "down_blocks.1.attentions.1.transformer_blocks.0");
}

Test(auto_block, encoder_and_decoder)
{
    add_each("encoder.layers.#.self_attn.q_proj encoder.layers.#.self_attn.k_proj encoder.layers.#.fc1 "
             "encoder.layers.#.fc2",
             2, 1);
    add_each("decoder.layers.#.self_attn.q_proj decoder.layers.#.encoder_attn.q_proj decoder.layers.#.fc1", 2,
             1);
    assert_blocks("encoder.layers.0 encoder.layers.1 decoder.layers.0 decoder.layers.1");
}

/* T5: the sublayers of a block are numbered too, and hold more than one Linear, but all in one submodule. */
Test(auto_block, t5)
{
    add_each("encoder.block.#.layer.0.SelfAttention.q encoder.block.#.layer.0.SelfAttention.k "
             "encoder.block.#.layer.1.DenseReluDense.wi encoder.block.#.layer.1.DenseReluDense.wo",
             2, 1);
    assert_blocks("encoder.block.0 encoder.block.1");
}

Test(auto_block, bert)
{
    add_each("bert.encoder.layer.#.attention.self.query bert.encoder.layer.#.attention.self.key "
             "bert.encoder.layer.#.attention.output.dense bert.encoder.layer.#.intermediate.dense "
             "bert.encoder.layer.#.output.dense",
             2, 1);
    one("bert.pooler.dense");
    one("classifier");
    assert_blocks("bert.encoder.layer.0 bert.encoder.layer.1 outside");
}

/* TensorFlow's and torchvision's numbers are part of the name. */
Test(auto_block, numbers_inside_names)
{
    add_each("encoder.layers.encoder_layer_#.self_attention.out_proj encoder.layers.encoder_layer_#.mlp.0 "
             "encoder.layers.encoder_layer_#.mlp.3",
             2, 1);
    one("heads.head");
    assert_blocks("encoder.layers.encoder_layer_0 encoder.layers.encoder_layer_1 outside");
}

/* fc1, fc2 are no containers; "block1" alone could be a plain name. */
Test(auto_block, a_lone_number_in_a_name)
{
    one("block1.attn.q");
    one("block1.mlp.fc1");
    one("head");
    assert_blocks("outside");
}

Test(auto_block, plain_sequential)
{
    one("0");
    one("2");
    one("4");
    assert_blocks("outside");
}

Test(auto_block, sequential_in_a_module)
{
    one("net.0");
    one("net.2");
    one("head");
    assert_blocks("outside");
}

/* Nothing composite: the outermost containers that hold Linears. */
Test(auto_block, residual_mlp)
{
    add_each("blocks.#.fc1 blocks.#.fc2", 3, 1);
    one("head");
    assert_blocks("blocks.0 blocks.1 blocks.2 outside");
}

Test(auto_block, nested_and_not_composite)
{
    add_each("stages.#.units.%.fc", 2, 2);
    assert_blocks("stages.0 stages.1");
}

/* Names of what lies inside are lost: the members themselves multiply, several times each. */
Test(auto_block, members_with_products_of_their_own)
{
    for (int i = 0; i < 3; i++) {
        one("layers.0");
        one("layers.1");
    }
    one("head");
    assert_blocks("layers.0 layers.1 outside");
}

/* A block that holds Linears directly and in one submodule. */
Test(auto_block, direct_and_in_one)
{
    add_each("layers.#.proj layers.#.mlp.fc1 layers.#.mlp.fc2", 2, 1);
    assert_blocks("layers.0 layers.1");
}

/* Composite containers in composite ones: the innermost. */
Test(auto_block, groups_of_layers)
{
    add_each("groups.#.layers.%.attn.q groups.#.layers.%.mlp.fc1", 2, 2);
    assert_blocks("groups.0.layers.0 groups.0.layers.1 groups.1.layers.0 groups.1.layers.1");
}

/* Numbered heads inside attention are no blocks. */
Test(auto_block, heads)
{
    add_each("blocks.#.attn.heads.%.q blocks.#.attn.heads.%.k blocks.#.attn.heads.%.v blocks.#.attn.proj "
             "blocks.#.ffwd.net.0 blocks.#.ffwd.net.2",
             2, 3);
    one("lm_head");
    assert_blocks("blocks.0 blocks.1 outside");
}

/* Numbered parts of a name count where no block is around them: l0.q, l1.q; block1.attn, block2.attn. */
Test(auto_block, numbers_without_a_dot)
{
    add_each("l#.attn.q l#.attn.k l#.mlp.up", 2, 1);
    one("head");
    assert_blocks("l0 l1 outside");
}

Test(auto_block, numbered_blocks_in_stages)
{
    add_each("stages.#.block_%.attn.q stages.#.block_%.mlp.up", 2, 2);
    assert_blocks("stages.0.block_0 stages.0.block_1 stages.1.block_0 stages.1.block_1");
}

/* LoRA wraps each Linear in a module of several: numbers appear nowhere else, so nothing changes. */
Test(auto_block, lora)
{
    add_each("layers.#.attn.q.base_layer layers.#.attn.q.lora_A.default layers.#.attn.q.lora_B.default "
             "layers.#.mlp.up.base_layer layers.#.mlp.up.lora_A.default",
             2, 1);
    assert_blocks("layers.0 layers.1");
}

/* ... nor of experts, whose Linears then have Linears inside. */
Test(auto_block, lora_in_experts)
{
    add_each("layers.#.attn.q.base_layer layers.#.attn.q.lora_A.default layers.#.moe.experts.%.w1.base_layer "
             "layers.#.moe.experts.%.w1.lora_A.default layers.#.moe.experts.%.w2.base_layer "
             "layers.#.moe.experts.%.w2.lora_A.default",
             2, 3);
    assert_blocks("layers.0 layers.1");
}

Test(auto_block, two_transformers)
{
    add_each("vision_model.encoder.layers.#.self_attn.q_proj vision_model.encoder.layers.#.mlp.fc1", 2, 1);
    add_each("text_model.encoder.layers.#.self_attn.q_proj text_model.encoder.layers.#.mlp.fc1", 1, 1);
    one("visual_projection");
    assert_blocks(
        "vision_model.encoder.layers.0 vision_model.encoder.layers.1 text_model.encoder.layers.0 outside");
}

Test(auto_block, nothing)
{
    assert_blocks("");
    one("fc");
    assert_blocks("outside");
}

Test(auto_block, the_member_itself)
{
    struct auto_blocks b;
    add_each("layers.#.attn.q layers.#.mlp.fc1", 2, 1);
    cr_assert_eq(auto_choose(&b, list, n), 0);
    cr_assert(str_is(auto_member(&b, str_of("layers.1")), "layers.1"));
    cr_assert(str_is(auto_member(&b, str_of("layers.7.x")), "layers.7"), "a member that holds no Linear");
    cr_assert_eq(auto_member(&b, str_of("layers")).n, 0);
    cr_assert_eq(auto_member(&b, str_of("norm")).n, 0);
    auto_free(&b);
}

Test(auto_block, what_is_itself_a_member)
{
    static const struct {
        const char *fqn;
        bool member;
    } cases[] = {{"layers.1", true},    {"layers.7", true},   {"layers", false}, {"layers.1.wq", false},
                 {"layers.1.0", false}, {"players.1", false}, {"", false},       {"12", false}};
    struct auto_blocks b;
    n = 0;
    add_each("layers.#.attn.wq layers.#.ffn.w1", 3, 1);
    cr_assert_eq(auto_choose(&b, list, n), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(auto_is_member(&b, str_of(cases[i].fqn)), cases[i].member, "%s", cases[i].fqn);
    auto_free(&b);
}
