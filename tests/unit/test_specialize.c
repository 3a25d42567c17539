/* --specialize: functions whose calls decide differently are copied, and each call goes to the copy that
 * decides as it did. */
#include "sactag.h"
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "in x f32[2,8]\nparam w f32[8,8]\n"
#define F    "function local::F(p,v) -> (r)\nM: r = MatMul(p,v)\nend\n"

/* What came of one model: the messages, and what was written. */
struct result {
    struct pb in;
    sactag_diag *d;
    int status;
    void *bytes;
    size_t n;
    char text[2000];
};

static void write_model(struct result *r, const void *in, size_t n)
{
    static const char *const whole[] = {"whole"};
    struct sactag_options o;
    sactag_model *m = NULL;
    sactag_plan *p = NULL;
    sactag_options_init(&o);
    o.blocks = whole;
    o.n_blocks = 1;
    o.specialize = true;
    r->status = sactag_open_buffer(&m, in, n, NULL, r->d);
    cr_assert_eq(r->status, 0, "%s", sactag_diag_error(r->d));
    r->status = sactag_decide(&p, m, &o, r->d);
    if (r->status == 0)
        r->status = sactag_tag_buffer(m, p, &r->bytes, &r->n, NULL, r->d);
    sactag_plan_free(p);
    sactag_close(m);
}

static void result_init(struct result *r, const char *text)
{
    *r = (struct result){.in = graph_bytes(text), .d = sactag_diag_new()};
    cr_assert_not_null(r->d);
    write_model(r, r->in.b, r->in.n);
}

static void result_free(struct result *r)
{
    pb_free(&r->in);
    sactag_diag_free(r->d);
    free(r->bytes);
}

static void add(struct result *r, const char *what, struct sactag_text t)
{
    size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s%.*s", what, SACTAG_ARG(t));
}

/* The rows of what was written, as the tags say them: "graph op-reason;". */
static void read_back(struct result *r)
{
    sactag_model *m = NULL;
    sactag_plan *p = NULL;
    sactag_problems *problems = NULL;
    cr_assert_eq(r->status, 0, "%s", sactag_diag_error(r->d));
    cr_assert_eq(sactag_open_buffer(&m, r->bytes, r->n, NULL, r->d), 0, "%s", sactag_diag_error(r->d));
    cr_assert_eq(sactag_decide_tagged(&p, m, NULL, r->d), 0, "%s", sactag_diag_error(r->d));
    for (size_t i = 0; i < sactag_plan_count(p); i++) {
        struct sactag_row row;
        sactag_plan_row(p, i, &row);
        add(r, "", row.graph);
        add(r, " ", row.node);
        add(r, "=", (struct sactag_text){sactag_policy_name(row.policy), row.policy == SACTAG_SAVE ? 4 : 9});
        add(r, "\n", (struct sactag_text){NULL, 0});
    }
    cr_assert_eq(sactag_check(&problems, m, NULL, r->d), 0, "%s", sactag_diag_error(r->d));
    cr_assert_eq(sactag_problems_count(problems), 0);
    sactag_problems_free(problems);
    sactag_plan_free(p);
    sactag_close(m);
}

static void assert_written(const char *model, const char *rows)
{
    struct result r;
    result_init(&r, model);
    read_back(&r);
    cr_assert_str_eq(r.text, rows);
    result_free(&r);
}

/* Calls that decide alike share a copy; the first kind keeps the function. */
Test(specialize, one_function)
{
    assert_written(
        HEAD "C0: a = local::F(x,w)\nC1: b = local::F(a,w)\nC2: d = local::F(b,w)\nC3: y = local::F(d,w)\n"
             "out y\n" F,
        "fn:local:F M=save\nfn:local:F.sac1 M=recompute\nfn:local:F M=save\nfn:local:F.sac1 M=recompute\n");
}

/* Functions that call each other: a copy calls copies. */
Test(specialize, a_copy_calls_copies)
{
    assert_written(
        HEAD
        "C0: a = local::G(x,w)\nC1: y = local::G(a,w)\nout y\n" F
        "function local::G(p,v) -> (r)\nI0: a = local::F(p,v)\nN: b = MatMul(a,v)\nI1: r = local::F(b,v)\nend",
        "fn:local:F M=save\nfn:local:G N=recompute\nfn:local:F M=save\n"
        "fn:local:F.sac1 M=recompute\nfn:local:G.sac1 N=save\nfn:local:F.sac1 M=recompute\n");
}

/* Both calls of G decide alike, but within it the calls of F do not: G itself is changed, not copied. */
Test(specialize, an_original_calls_copies)
{
    assert_written(
        HEAD "C0: a = local::G(x,w)\nC1: y = local::G(a,w)\nout y\n" F
             "function local::G(p,v) -> (r)\nI0: a = local::F(p,v)\nI1: r = local::F(a,v)\nend",
        "fn:local:F M=save\nfn:local:F.sac1 M=recompute\nfn:local:F M=save\nfn:local:F.sac1 M=recompute\n");
}

/* A call in the branches of an If. */
Test(specialize, calls_in_bodies)
{
    assert_written(
        HEAD
        "in c\nC0: a = local::F(x,w)\ni: y = If(c)\nbody then_branch\nC1: t = local::F(a,w)\nout t\nend\n"
        "body else_branch\nC2: e = local::F(a,w)\nout e\nend\nout y\n" F,
        "fn:local:F M=save\nfn:local:F.sac1 M=recompute\nfn:local:F.sac1 M=recompute\n");
}

/* A copy takes no name that something has. */
Test(specialize, a_name_that_is_taken)
{
    assert_written(HEAD "C0: a = local::F(x,w)\nC1: b = local::F(a,w)\ny = local::F.sac1(b)\nout y\n" F
                        "function local::F.sac1(p) -> (r)\nr = Relu(p)\nend",
                   "fn:local:F M=save\nfn:local:F.sac1_ M=recompute\n");
}

/* Nothing is copied that decides alike each time. */
Test(specialize, nothing_to_copy)
{
    struct result r;
    const char *model = HEAD "C0: a = local::F(x,w)\nm: b = MatMul(a,w)\nC1: y = local::F(b,w)\nout y\n" F;
    result_init(&r, model);
    read_back(&r);
    cr_assert_str_eq(r.text, "fn:local:F M=save\n- m=recompute\nfn:local:F M=save\n");
    result_free(&r);
}

/* What calls read and write stays; the copies' nodes are the original's. */
Test(specialize, nothing_else_changes)
{
    struct result r;
    struct pb want = graph_bytes(HEAD "C0: a = local::F(x,w)\nC1: y = local::F.sac1(a,w)\nout y\n"
                                      "function local::F(p,v) -> (r)\nM: r = MatMul(p,v)\nend\n"
                                      "function local::F.sac1(p,v) -> (r)\nM: r = MatMul(p,v)\nend\n");
    sactag_model *m = NULL;
    void *bytes = NULL;
    size_t n = 0;
    result_init(&r, HEAD "C0: a = local::F(x,w)\nC1: y = local::F(a,w)\nout y\n" F);
    cr_assert_eq(r.status, 0, "%s", sactag_diag_error(r.d));
    cr_assert_eq(sactag_open_buffer(&m, r.bytes, r.n, NULL, r.d), 0);
    cr_assert_eq(sactag_strip_buffer(m, &bytes, &n, NULL, r.d), 0);
    cr_assert_eq(n, want.n);
    /* The builder writes a function's name first, as the copy has it; byte for byte then. */
    cr_assert_eq(memcmp(bytes, want.b, n), 0);
    free(bytes);
    sactag_close(m);
    pb_free(&want);
    result_free(&r);
}

/* A call's own graph reads what is around the call: that cannot be told to go elsewhere. */
Test(specialize, a_call_that_holds_a_graph)
{
    struct result r;
    result_init(&r, HEAD
                "C0: a = local::F(x,w)\nC1: y = local::F(a,w)\nbody g\nq = Relu(a)\nout q\nend\nout y\n" F);
    cr_assert_eq(r.status, SACTAG_EINPUT);
    cr_assert_str_eq(sactag_diag_error(r.d),
                     "the call 'C1' of a function holds a graph: it cannot be specialized");
    cr_assert_null(r.bytes);
    result_free(&r);
}

/* What strip would need to undo is not known of a model with copies. */
Test(specialize, a_tagged_model)
{
    struct result r = {.in = graph_bytes(HEAD "C0: a = local::F(x,w)\nC1: y = local::F(a,w)\nout y\n" F),
                       .d = sactag_diag_new()};
    struct pb entry = {0};
    pb_text(&entry, 1, "sac.plan");
    pb_text(&entry, 2, "{}");
    pb_sub(&r.in, 14, entry);
    write_model(&r, r.in.b, r.in.n);
    cr_assert_eq(r.status, SACTAG_EUSAGE);
    cr_assert_str_eq(sactag_diag_error(r.d),
                     "functions of a tagged model cannot be specialized: strip it first");
    result_free(&r);
}
