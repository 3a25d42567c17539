/* The table of modules. */
#include "passes/modules.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena arena;
static struct modules t;

static void setup(void)
{
    arena_init(&arena, 0);
    modules_init(&t, &arena);
}

static void teardown(void)
{
    modules_free(&t);
    arena_free(&arena);
}

TestSuite(modules, .init = setup, .fini = teardown);

static uint32_t add(const char *fqn)
{
    return modules_add(&t, str_of(fqn));
}

static uint32_t find(const char *fqn)
{
    return modules_find(&t, str_of(fqn));
}

static const char *below(const char *base, const char *atom, uint32_t *same)
{
    static char text[64];
    uint32_t id = modules_below(&t, str_of(base), str_of(atom), same);
    if (id == IR_NONE)
        return "-";
    snprintf(text, sizeof text, "%.*s", STR_ARG(t.a[id].fqn));
    return text;
}

Test(modules, adds_ancestors)
{
    uint32_t wq = add("layers.0.attn.wq");
    cr_assert_eq(t.n, 4);
    uint32_t attn = find("layers.0.attn"), block = find("layers.0"), layers = find("layers");
    cr_assert_neq(attn, NAME_NONE);
    cr_assert_eq(t.a[wq].parent, attn);
    cr_assert_eq(t.a[attn].parent, block);
    cr_assert_eq(t.a[block].parent, layers);
    cr_assert_eq(t.a[layers].parent, IR_NONE);
    cr_assert_eq(t.a[wq].children, 0);
    cr_assert_eq(t.a[attn].children, 1);
}

Test(modules, counts_children_once)
{
    add("a.b");
    add("a.c");
    add("a.b");
    add("a.b.x");
    cr_assert_eq(t.a[find("a")].children, 2);
    cr_assert_eq(t.a[find("a.b")].children, 1);
}

/* An ancestor that was added before its descendants keeps its number. */
Test(modules, same_id)
{
    uint32_t a = add("a");
    add("a.b.c");
    cr_assert_eq(add("a"), a);
    cr_assert_eq(find("a"), a);
    cr_assert_eq(t.a[find("a.b")].parent, a);
}

Test(modules, empty_is_none)
{
    cr_assert_eq(add(""), IR_NONE);
    cr_assert_eq(t.n, 0);
    cr_assert_eq(find("a"), NAME_NONE);
}

Test(modules, below_nearest)
{
    uint32_t same;
    add("layers.0.moe.router.gate");
    add("layers.0.gate");
    add("layers.1.moe.router.gate");
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("layers.0", "gate", &same), "layers.0.gate");
    cr_assert_eq(same, 1);
    cr_assert_str_eq(below("layers.1", "gate", &same), "layers.1.moe.router.gate");
    cr_assert_str_eq(below("", "gate", &same), "layers.0.gate");
    cr_assert_str_eq(below("layers.2", "gate", &same), "-");
    cr_assert_eq(same, 0);
    cr_assert_str_eq(below("layers.0.gate", "gate", &same), "-", "strictly inside");
}

/* A number belongs to the name before it: "layers.0" is one atom. */
Test(modules, below_by_unqualified_name)
{
    uint32_t same;
    add("transformer.h.0.attn");
    add("transformer.h.10.attn");
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("", "h.10", &same), "transformer.h.10");
    cr_assert_str_eq(below("", "h", &same), "transformer.h");
    cr_assert_str_eq(below("", "0", &same), "-");
    cr_assert_str_eq(below("transformer.h.1", "attn", &same), "-", "h.1 is not h.10");
}

Test(modules, below_counts_equals)
{
    uint32_t same;
    add("encoder.layers.0.fc");
    add("decoder.layers.0.fc");
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("", "layers.0", &same), "decoder.layers.0", "the first by name");
    cr_assert_eq(same, 2);
    uint32_t second = modules_below_nth(&t, str_of(""), str_of("layers.0"), 1);
    cr_assert(str_is(t.a[second].fqn, "encoder.layers.0"));
    cr_assert_eq(modules_below_nth(&t, str_of(""), str_of("layers.0"), 2), IR_NONE);
    cr_assert_str_eq(below("encoder", "layers.0", &same), "encoder.layers.0");
    cr_assert_eq(same, 1);
}

/* Modules added after sorting are found by name, and by atom after the next sorting. */
Test(modules, sorting_again)
{
    uint32_t same;
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("", "wq", &same), "-", "an empty table");
    add("a.wq");
    cr_assert_neq(find("a.wq"), NAME_NONE);
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("", "wq", &same), "a.wq");
}

/* What is remembered of long lists is the answer to the same question only. */
Test(modules, asked_again)
{
    static char text[400][40];
    uint32_t same;
    for (int i = 0; i < 400; i++) {
        snprintf(text[i], sizeof text[i], "%s.layers.%d.%swq", i % 2 ? "encoder" : "decoder", i / 2,
                 i < 4 ? "a.b." : "a.");
        add(text[i]);
    }
    cr_assert_eq(modules_sort(&t), 0);
    for (int round = 0; round < 3; round++) {
        cr_assert_str_eq(below("", "wq", &same), "decoder.layers.10.a.wq");
        cr_assert_eq(same, 396);
        cr_assert_str_eq(below("decoder", "wq", &same), "decoder.layers.10.a.wq");
        cr_assert_eq(same, 198);
        cr_assert_str_eq(below("encoder", "wq", &same), "encoder.layers.10.a.wq");
        cr_assert_str_eq(below("encoder.layers.1", "wq", &same), "encoder.layers.1.a.b.wq");
        cr_assert_eq(same, 1);
        cr_assert_str_eq(below("decode", "wq", &same), "-", "no module of its own");
        uint32_t second = modules_below_nth(&t, str_of(""), str_of("wq"), 1);
        cr_assert(str_is(t.a[second].fqn, "decoder.layers.100.a.wq"));
        cr_assert_eq(modules_below_nth(&t, str_of("encoder"), str_of("wq"), 198), IR_NONE);
        if (round == 1)
            cr_assert_eq(modules_sort(&t), 0);
    }
    add("wq");
    cr_assert_eq(modules_sort(&t), 0);
    cr_assert_str_eq(below("", "wq", &same), "wq", "sorting forgets what was asked before");
    cr_assert_eq(same, 1);
}

Test(modules, many)
{
    static char text[1000][32];
    for (int i = 0; i < 1000; i++) {
        snprintf(text[i], sizeof text[i], "layers.%d.wq", i);
        add(text[i]);
    }
    cr_assert_eq(t.n, 2001);
    cr_assert_eq(modules_sort(&t), 0);
    uint32_t same;
    cr_assert_str_eq(below("", "layers.999", &same), "layers.999");
    cr_assert_str_eq(below("", "wq", &same), "layers.0.wq");
    cr_assert_eq(same, 1000);
}

Test(modules, marks_are_inherited_from_the_innermost_module_around)
{
    uint32_t wq = add("layers.0.attn.wq"), w1 = add("layers.0.w1"), head = add("head"), of[8];
    uint32_t attn = find("layers.0.attn"), block = find("layers.0"), layers = find("layers");
    cr_assert_eq(t.n, 6);
    for (uint32_t i = 0; i < t.n; i++)
        of[i] = MODULES_OPEN;
    of[block] = 7;
    of[wq] = 3;
    modules_inherit(&t, of, 9);
    cr_assert_eq(of[wq], 3);
    cr_assert_eq(of[attn], 7);
    cr_assert_eq(of[w1], 7);
    cr_assert_eq(of[block], 7);
    cr_assert_eq(of[layers], 9);
    cr_assert_eq(of[head], 9);
}
