/* Matching configured FQNs: POLICY.md 2 "Names that match". */
#include "passes/match.h"

#include <criterion/criterion.h>

static bool hits(enum match how, const char *name, const char *fqn, const char *block)
{
    uint64_t steps = 0;
    return match_literal(how, str_of(name), str_of(fqn), str_of(block), &steps);
}

static bool loose(enum match how, const char *name, const char *fqn, const char *block)
{
    return match_loose(how, str_of(name), str_of(fqn), str_of(block));
}

Test(match, exact_relative)
{
    cr_assert(hits(MATCH_EXACT, "moe.router.gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(!hits(MATCH_EXACT, "router.gate", "layers.0.moe.router.gate", "layers.0"), "not the end alone");
    cr_assert(!hits(MATCH_EXACT, "moe.router", "layers.0.moe.router.gate", "layers.0"),
              "not the front alone");
    cr_assert(!hits(MATCH_EXACT, "moe.router.gate", "layers.0.moe.router.gates", "layers.0"));
    cr_assert(!hits(MATCH_EXACT, "", "layers.0", "layers.0"), "an empty name hits nothing");
}

Test(match, exact_in_full)
{
    cr_assert(hits(MATCH_EXACT, "layers.0.moe.router.gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(!hits(MATCH_EXACT, "layers.1.moe.router.gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(!hits(MATCH_EXACT, "0.moe.router.gate", "layers.0.moe.router.gate", "layers.0"));
}

Test(match, exact_with_the_graph_as_block)
{
    cr_assert(hits(MATCH_EXACT, "fc1", "fc1", ""));
    cr_assert(!hits(MATCH_EXACT, "fc1", "head.fc1", ""));
}

/* torchtitan matched against f"{base_fqn}.{module_fqn}": the block itself is a module, with an empty name. */
Test(match, the_block_itself)
{
    cr_assert(hits(MATCH_EXACT, "layers.0", "layers.0", "layers.0"), "a name in full names the block");
    cr_assert(!hits(MATCH_EXACT, "0", "layers.0", "layers.0"));
    cr_assert(hits(MATCH_GLOB, "layers.*", "layers.0", "layers.0"));
    cr_assert(!hits(MATCH_GLOB, "*", "layers.0", "layers.0"), "a star matches one component, in full two");
    cr_assert(hits(MATCH_SUBSTRING, "layers.0", "layers.0", "layers.0"));
    cr_assert(hits(MATCH_SUBSTRING, "yers.0.", "layers.0", "layers.0"), "'layers.0.' holds it");
    cr_assert(!hits(MATCH_SUBSTRING, "layers.0.wq", "layers.0", "layers.0"));
    cr_assert(!hits(MATCH_SUBSTRING, "layers.", "layers", ""), "only of a block the name ends in a dot");
}

Test(match, substring)
{
    cr_assert(hits(MATCH_SUBSTRING, "router.gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(hits(MATCH_SUBSTRING, "gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(hits(MATCH_SUBSTRING, "ers.0.moe", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(!hits(MATCH_SUBSTRING, "router.gates", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(!hits(MATCH_SUBSTRING, "moe", "layers.0.attn.wq", "layers.0"));
}

Test(match, glob)
{
    cr_assert(hits(MATCH_GLOB, "moe.*.gate", "layers.0.moe.router.gate", "layers.0"));
    cr_assert(hits(MATCH_GLOB, "layers.*.moe.router.gate", "layers.7.moe.router.gate", "layers.7"));
    cr_assert(!hits(MATCH_GLOB, "*.gate", "layers.0.moe.router.gate", "layers.0"), "one component");
    cr_assert(hits(MATCH_GLOB, "**.gate", "layers.0.moe.router.gate", "layers.0"), "any number");
    cr_assert(hits(MATCH_GLOB, "attn.w?", "layers.0.attn.wq", "layers.0"));
    cr_assert(hits(MATCH_GLOB, "attn.wq", "layers.0.attn.wq", "layers.0"), "without a star as exact");
}

/* Files whose scopes leave out containers that are never called: layers.0.gate for layers.0.moe.router.gate.
 */
Test(match, loose_exact)
{
    cr_assert(loose(MATCH_EXACT, "moe.router.gate", "layers.0.gate", "layers.0"));
    cr_assert(loose(MATCH_EXACT, "moe.router.gate", "layers.0.router.gate", "layers.0"));
    cr_assert(loose(MATCH_EXACT, "layers.0.moe.router.gate", "layers.0.gate", "layers.0"));
    cr_assert(!loose(MATCH_EXACT, "layers.1.moe.router.gate", "layers.0.gate", "layers.0"), "another block");
    cr_assert(!loose(MATCH_EXACT, "moe.router.gates", "layers.0.gate", "layers.0"));
    cr_assert(!loose(MATCH_EXACT, "moe.router.gate", "layers.0.attn.gate", "layers.0"), "attn is no part");
    cr_assert(!loose(MATCH_EXACT, "gate", "layers.0.router.gate", "layers.0"),
              "the scope has more, not less");
}

Test(match, loose_substring)
{
    cr_assert(loose(MATCH_SUBSTRING, "moe.router.gate", "layers.0.gate", "layers.0"));
    cr_assert(loose(MATCH_SUBSTRING, "layers.0.moe.router.gate", "layers.0.gate", "layers.0"));
    cr_assert(loose(MATCH_SUBSTRING, "0.moe.gate", "layers.0.gate", "layers.0"),
              "from the block's last part on");
    cr_assert(!loose(MATCH_SUBSTRING, "moe.router", "layers.0.gate", "layers.0"));
}

/* How many components are left out, at least. */
Test(match, loose_counts)
{
    const struct str name = STR_LIT("ff.experts.0.up"), in_full = STR_LIT("layers.0.ff.experts.0.up");
    cr_assert_eq(match_loose(MATCH_EXACT, name, STR_LIT("layers.0.experts.0.up"), STR_LIT("layers.0")), 1);
    cr_assert_eq(match_loose(MATCH_EXACT, name, STR_LIT("layers.0.ff.up"), STR_LIT("layers.0")), 2);
    cr_assert_eq(match_loose(MATCH_EXACT, in_full, STR_LIT("layers.0.up"), STR_LIT("layers.0")), 3);
    cr_assert_eq(match_loose(MATCH_SUBSTRING, in_full, STR_LIT("layers.0.ff.up"), STR_LIT("layers.0")), 2);
}

Test(match, loose_never)
{
    cr_assert(!loose(MATCH_GLOB, "moe.*.gate", "layers.0.gate", "layers.0"),
              "a pattern says what lies between");
    cr_assert(!loose(MATCH_EXACT, "layers.0", "layers.0", "layers.0"), "the block itself");
}

Test(match, distance)
{
    struct str a = str_of("moe.router.gate");
    cr_assert_eq(name_distance(a, a), 0);
    cr_assert_eq(name_distance(str_of("wq"), str_of("wk")), 1, "one letter");
    cr_assert_eq(name_distance(str_of("wq"), str_of("")), 2);
    cr_assert_eq(name_distance(str_of(""), str_of("")), 0);
    cr_assert_lt(name_distance(a, str_of("router.gate")), name_distance(a, str_of("moe.router.up")),
                 "the same last component is near");
}

/* Names have no bound; the time does. */
Test(match, distance_of_long_names)
{
    char x[5000], y[5000];
    memset(x, 'x', sizeof x);
    memset(y, 'y', sizeof y);
    cr_assert_eq(name_distance((struct str){x, sizeof x}, (struct str){y, sizeof y}), 96);
}
