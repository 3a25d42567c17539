/* plan_make and plan_annotate: what a plan holds, and what is written onto nodes (TAGS.md 4). */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <inttypes.h>
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

TestSuite(plan, .init = setup, .fini = teardown);

/* "node kind key=value" of each annotation. */
static const char *annotations(enum carrier c)
{
    static char text[4096];
    static const char *const kinds[] = {"meta", "str", "int"};
    struct annots a;
    size_t n = 0;
    text[0] = '\0';
    cr_assert_eq(plan_annotate(&a, &b.p, false, c, &b.d), 0);
    for (size_t i = 0; i < a.n; i++) {
        const struct annot *x = &a.a[i];
        struct str name = ir_node_name(&b.m, &b.m.nodes[x->node]);
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s %s %.*s=", STR_ARG(name), kinds[x->kind],
                              STR_ARG(x->key));
        if (x->kind == ANNOT_ATTR_INT)
            n += (size_t)snprintf(text + n, sizeof text - n, "%" PRId64 "\n", x->i);
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%.*s\n", STR_ARG(x->value));
    }
    return text;
}

/* Three mms in a block, of which the first is forced, and one outside. */
static void one_block(void)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.a.p.weight f32[4,8]\nparam layers.0.b.q.weight "
                  "f32[8,4]\nparam layers.0.b.r.weight f32[8,8]\n"
                  "param head.weight f32[8,8]\nt0 = Transpose(layers.0.a.p.weight)\nA: a = MatMul(x,t0)\nt1 "
                  "= Transpose(layers.0.b.q.weight)\n"
                  "B: c = MatMul(a,t1)\nt2 = Transpose(layers.0.b.r.weight)\nC: d = MatMul(c,t2)\nt3 = "
                  "Transpose(head.weight)\nH: y = MatMul(d,t3)\nout y");
    bench_fqns(&b, "a.p");
    assert_planned(&b);
}

Test(plan, metadata)
{
    one_block();
    assert_text(
        annotations(CARRIER_METADATA),
        "A meta sac.policy=recompute\nA meta sac.reason=forced:8x4:a.p\nA meta sac.region=layers.0#0\n"
        "B meta sac.policy=save\nB meta sac.reason=odd:1\nB meta sac.region=layers.0#0\n"
        "C meta sac.policy=recompute\nC meta sac.reason=even:2\nC meta sac.region=layers.0#0\n");
}

Test(plan, attribute)
{
    one_block();
    assert_text(annotations(CARRIER_ATTRIBUTE),
                "A str __sac_policy=recompute\nA str __sac_region=layers.0#0\n"
                "B str __sac_policy=save\nB str __sac_region=layers.0#0\n"
                "C str __sac_policy=recompute\nC str __sac_region=layers.0#0\n");
}

/* 1 = save, 2 = recompute. */
Test(plan, popart)
{
    one_block();
    assert_text(annotations(CARRIER_POPART), "A int __recompute_output_in_backward_pass=2\n"
                                             "B int __recompute_output_in_backward_pass=1\n"
                                             "C int __recompute_output_in_backward_pass=2\n");
}

/* addmm rows are tagged too. */
Test(plan, addmm)
{
    bench_add(&b,
              "in x f32[2,8]\nparam w f32[8,8]\nparam c f32[8]\nA: a = Gemm(x,w,c)\nB: y = Gemm(a,w)\nout y");
    b.o.whole = true;
    b.o.rule = MM_TORCH;
    assert_planned(&b);
    assert_text(annotations(CARRIER_METADATA),
                "A meta sac.policy=recompute\nA meta sac.reason=addmm\nA meta sac.region=whole#0\n"
                "B meta sac.policy=save\nB meta sac.reason=odd:1\nB meta sac.region=whole#0\n");
}

/* By node, also where the execution order is another. */
Test(plan, in_node_order)
{
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\nB: y = MatMul(a,w)\nA: a = MatMul(x,w)\nout y");
    b.o.whole = true;
    assert_planned(&b);
    assert_text(bench_columns(&b, "nr"), "A odd:1\nB even:2\n");
    assert_text(annotations(CARRIER_POPART),
                "B int __recompute_output_in_backward_pass=2\nA int __recompute_output_in_backward_pass=1\n");
}

/* A body that runs several times, each time deciding alike, carries the policy only: region and reason are
 * each call's own. */
Test(plan, shared_bodies)
{
    bench_add(&b, "in x f32[2,8]\nparam w f32[8,8]\ny = local::F(x,w)\nz = local::F(y,w)\nout z\n"
                  "function local::F(p,v) -> (r)\nA: q = MatMul(p,v)\nB: r = MatMul(q,v)\nend");
    b.o.whole = true;
    assert_planned(&b);
    assert_text(annotations(CARRIER_METADATA), "A meta sac.policy=save\nB meta sac.policy=recompute\n");
    assert_text(annotations(CARRIER_ATTRIBUTE), "A str __sac_policy=save\nB str __sac_policy=recompute\n");
}

Test(plan, nothing_to_tag)
{
    bench_add(&b, "in x f32[2,8]\ny = Relu(x)\nout y");
    b.o.whole = true;
    assert_planned(&b);
    assert_text(annotations(CARRIER_METADATA), "");
    cr_assert_eq(b.p.n_rows, 0);
}

/* The options it was made with, as copies. */
Test(plan, options)
{
    char name[] = "a.p";
    struct str fqn = {name, 3};
    struct mm_shape force = {3, 4};
    bench_add(&b, "in x f32[2,8]\nparam layers.0.a.p.weight f32[4,8]\nt = Transpose(layers.0.a.p.weight)\nA: "
                  "y = MatMul(x,t)\nout y");
    b.o.whole = true;
    b.o.fqns = &fqn;
    b.o.n_fqns = 1;
    b.o.force = &force;
    b.o.n_force = 1;
    b.o.match = MATCH_SUBSTRING;
    assert_planned(&b);
    memset(name, 'x', 3);
    force.k = 9;
    cr_assert_eq(b.p.options.n_fqns, 1);
    cr_assert(str_is(b.p.options.fqns[0], "a.p"));
    cr_assert_eq(b.p.options.force[0].k, 3);
    cr_assert_eq(b.p.options.match, MATCH_SUBSTRING);
    cr_assert(b.p.options.whole);
}

/* After a failure it is empty, and may be freed. */
Test(plan, failure)
{
    bench_add(&b, "in x f32[2,8]\nparam layers.0.a.p.weight f32[8,8]\nparam layers.0.b.q.weight f32[8,8]\nt "
                  "= Transpose(layers.0.a.p.weight)\n"
                  "A: a = MatMul(x,t)\nu = Transpose(layers.0.b.q.weight)\nB: y = MatMul(a,u)\nout y");
    bench_fqns(&b, "a");
    assert_refused(&b, IR_EPOLICY, "not a Linear");
    cr_assert_eq(b.p.n_rows, 0);
    cr_assert_eq(b.p.n_blocks, 0);
    cr_assert_null(b.p.rows);
}

Test(plan, too_many_steps)
{
    bench_add(&b, "in x f32[2,8]\nA: a = Relu(x)\nB: y = Relu(a)\nout y");
    b.o.max_steps = 1;
    assert_refused(&b, IR_EINPUT, "more than 1 node");
}

/* The same file and options give the same plan. */
Test(plan, is_repeatable)
{
    one_block();
    char *first = strdup(bench_rows(&b)), *linears = strdup(bench_linears(&b));
    assert_planned(&b);
    assert_text(bench_rows(&b), first);
    assert_text(bench_linears(&b), linears);
    free(first);
    free(linears);
}
