/* Plans of several programs in one archive. */
#include "passes/merge.h"

#include "sactag.h"

#include <criterion/criterion.h>

struct opened {
    sactag_diag *d;
    sactag_model *m;
    sactag_plan *p;
};

static struct opened decide(const char *path)
{
    struct opened o = {.d = sactag_diag_new()};
    struct sactag_options options;
    sactag_options_init(&options);
    cr_assert_eq(sactag_open(&o.m, path, NULL, o.d), SACTAG_OK, "%s", sactag_diag_error(o.d));
    cr_assert_eq(sactag_decide(&o.p, o.m, &options, o.d), SACTAG_OK, "%s", sactag_diag_error(o.d));
    return o;
}

static void done(struct opened *o)
{
    sactag_plan_free(o->p);
    sactag_close(o->m);
    sactag_diag_free(o->d);
}

Test(merge, each_program_has_rows_and_regions_of_its_own)
{
    static const struct {
        const char *graph, *fqn;
        uint32_t call;
        enum sactag_policy policy;
    } want[] = {
        {"/0:higher_order.wrap_with_set_grad_enabled/submod_1", "a", 0, SACTAG_SAVE},
        {"-", "b", 0, SACTAG_RECOMPUTE},
        {"program:decode/2:higher_order.cond/true_graph_0", "a", 1, SACTAG_SAVE},
        {"program:decode/2:higher_order.cond/false_graph_0", "b", 1, SACTAG_RECOMPUTE},
    };
    struct opened o = decide("tests/pt2/programs.pt2");
    cr_assert_eq(sactag_plan_count(o.p), 4);
    for (size_t i = 0; i < 4; i++) {
        struct sactag_row r;
        sactag_plan_row(o.p, i, &r);
        cr_expect(r.graph.n == strlen(want[i].graph) && memcmp(r.graph.s, want[i].graph, r.graph.n) == 0);
        cr_expect(r.fqn.n == 1 && r.fqn.s[0] == want[i].fqn[0]);
        cr_expect_eq(r.call, want[i].call);
        cr_expect_eq(r.policy, want[i].policy);
    }
    done(&o);
}

Test(merge, a_warning_of_both_is_said_once)
{
    struct opened o = decide("tests/pt2/programs.pt2");
    size_t whole = 0;
    for (size_t i = 0; i < sactag_diag_count(o.d); i++)
        whole += strstr(sactag_diag_get(o.d, i).text, "the whole graph is one block") != NULL;
    cr_expect_eq(whole, 1);
    done(&o);
}

static struct plan a_plan(const char *block, uint32_t calls, int64_t forced)
{
    struct plan p = {.blocks_how = "given", .n_blocks = 1, .n_rows = 1, .n_regions = 1, .n_saved = 1};
    arena_init(&p.arena, 0);
    p.blocks = arena_alloc(&p.arena, 1, sizeof *p.blocks);
    p.rows = arena_alloc(&p.arena, 1, sizeof *p.rows);
    p.regions = arena_alloc(&p.arena, 1, sizeof *p.regions);
    p.blocks[0] = (struct plan_block){.fqn = str_of(block), .calls = calls, .saved = 1, .n_forced = 1};
    p.blocks[0].forced = arena_alloc(&p.arena, 1, sizeof *p.blocks[0].forced);
    p.blocks[0].forced[0].rhs = (struct mm_shape){forced, 8};
    return p;
}

Test(merge, a_block_of_the_same_name_goes_on_counting_calls)
{
    struct plan p = a_plan("layers.0", 2, 4), q = a_plan("layers.0", 1, 5);
    cr_assert_eq(plan_merge(&p, &q), 0);
    cr_expect_eq(p.n_blocks, 1);
    cr_expect_eq(p.blocks[0].calls, 3);
    cr_expect_eq(p.blocks[0].saved, 2);
    cr_expect_eq(p.blocks[0].n_forced, 2);
    cr_assert_eq(p.n_rows, 2);
    cr_expect_eq(p.rows[1].call, 2);
    cr_expect_eq(p.regions[1].call, 2);
    cr_expect_eq(p.n_saved, 2);
    cr_expect_eq(q.n_rows, 0);
    plan_free(&q);
    plan_free(&p);
}

Test(merge, other_blocks_are_added)
{
    struct plan p = a_plan("layers.0", 2, 4), q = a_plan("layers.1", 1, 4);
    cr_assert_eq(plan_merge(&p, &q), 0);
    cr_assert_eq(p.n_blocks, 2);
    cr_expect(str_is(p.blocks[1].fqn, "layers.1"));
    cr_expect_eq(p.rows[1].block, 1);
    cr_expect_eq(p.rows[1].call, 0);
    cr_expect_eq(p.regions[1].block, 1);
    plan_free(&p);
}

Test(merge, neighbours_go_with_their_regions)
{
    struct plan p = a_plan("layers.0", 2, 4), q = a_plan("layers.0", 1, 4), r = a_plan("layers.1", 1, 4);
    struct plan_neighbour one = {.node = 7, .policy = POLICY_SAVE, .reason = "boundary"};
    p.neighbours = &one; /* asked for, and there are none */
    q.neighbours = &one, q.n_neighbours = 1;
    cr_assert_eq(plan_merge(&p, &q), 0);
    cr_assert_eq(p.n_neighbours, 1);
    cr_expect_eq(p.neighbours[0].node, 7);
    cr_expect_eq(p.neighbours[0].block, 0);
    cr_expect_eq(p.neighbours[0].call, 2);
    cr_expect_str_eq(p.neighbours[0].reason, "boundary");
    struct plan_neighbour two[] = {{.node = 8, .policy = POLICY_RECOMPUTE, .reason = "rest"},
                                   {.node = 9, .call = 3}};
    r.neighbours = two, r.n_neighbours = 2;
    cr_assert_eq(plan_merge(&p, &r), 0);
    cr_assert_eq(p.n_neighbours, 3);
    cr_expect_eq(p.neighbours[0].node, 7);
    cr_expect_eq(p.neighbours[1].node, 8);
    cr_expect_eq(p.neighbours[1].block, 1);
    cr_expect_eq(p.neighbours[1].call, 0);
    cr_expect_eq(p.neighbours[2].call, 3);
    plan_free(&q);
    plan_free(&r);
    plan_free(&p);
}
