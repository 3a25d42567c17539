/* Comparing plans: what is matched with what, what counts as changed, and why. */
#include "sactag.h"
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan of lines "block#call fqn node rhs policy reason"; "-" for nothing. */
static sactag_plan *plan_of(const char *lines)
{
    char text[16384] = "index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n";
    char block[64], fqn[64], node[64], rhs[32], policy[16], reason[64];
    unsigned index = 0;
    size_t n = strlen(text);
    int taken;

    while (sscanf(lines, " %63s %63s %63s %31s %15s %63s%n", block, fqn, node, rhs, policy, reason, &taken) ==
           6) {
        char *call = strchr(block, '#');
        if (call)
            *call++ = 0;
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%u\t-\t%s\ty%u\tMatMul\t%s\t%s\t%s\tparam\t%s\t%s\t%s\n", index, node, index,
                              block, call ? call : "-", fqn, rhs, policy, reason);
        index++;
        lines += taken;
    }
    cr_assert_lt(n, sizeof text);
    sactag_diag *d = sactag_diag_new();
    sactag_plan *p = NULL;
    int e = sactag_plan_from_text(&p, text, n, d);
    cr_assert_eq(e, 0, "%s", sactag_diag_error(d));
    sactag_diag_free(d);
    return p;
}

/* "kind matched a>b differs[ because cause]", one a line; rows by their numbers. */
static char *changes_text(const sactag_plan *a, const sactag_plan *b, bool all)
{
    static const char *const bits[] = {"policy ", "rhs ", "block ", "reason "};
    sactag_changes *c;
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);

    cr_assert_not_null(f);
    cr_assert_eq(sactag_diff(&c, a, b, NULL), 0);
    for (size_t i = 0; i < sactag_changes_count(c); i++) {
        struct sactag_change x = sactag_changes_get(c, i);
        if (!all && x.kind == SACTAG_SAME)
            continue;
        fprintf(f, "%s %s ", sactag_change_name(x.kind), sactag_matched_name(x.matched));
        fprintf(f, x.a == SIZE_MAX ? "->" : "%zu>", x.a);
        fprintf(f, x.b == SIZE_MAX ? "- " : "%zu ", x.b);
        for (unsigned k = 0; k < 4; k++)
            fputs(x.differs >> k & 1 ? bits[k] : "", f);
        if (x.cause.n)
            fprintf(f, "because %.*s", SACTAG_ARG(x.cause));
        fputc('\n', f);
    }
    sactag_changes_free(c);
    fclose(f);
    return out;
}

static void diff_is_of(sactag_plan *a, sactag_plan *b, bool all, const char *want)
{
    char *got = changes_text(a, b, all);
    /* a trailing space where there is no cause is not worth writing down */
    for (char *s = got; (s = strstr(s, " \n"));)
        memmove(s, s + 1, strlen(s));
    cr_expect_str_eq(got, want, "expected\n%sbut found\n%s", want, got);
    free(got);
    sactag_plan_free(a);
    sactag_plan_free(b);
}

static void diff_is(const char *a, const char *b, const char *want)
{
    diff_is_of(plan_of(a), plan_of(b), false, want);
}

#define Q "layers.0#0 layers.0.wq /wq 8x8 save odd:1\n"
#define K "layers.0#0 layers.0.wk /wk 8x4 recompute even:2\n"
#define V "layers.0#0 layers.0.wv /wv 8x4 save odd:3\n"
#define O "layers.0#0 layers.0.wo /wo 8x8 recompute even:4\n"

Test(diff, a_plan_is_the_same_as_itself)
{
    diff_is(Q K V O, Q K V O, "");
    diff_is("", "", "");
    diff_is_of(plan_of(Q K), plan_of(Q K), true, "same fqn 0>0\nsame fqn 1>1\n");
}

/* ---- what show prints ---- */

#define HEADER    "index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n"
#define SHOWN(op) "\t-\t" op "_1\ty1\t" op "\t-\t-\t-\t-\t?x?\t"

static sactag_plan *plan_from(const char *text)
{
    sactag_diag *d = sactag_diag_new();
    sactag_plan *p = NULL;
    int e = sactag_plan_from_text(&p, text, strlen(text), d);

    cr_assert_eq(e, 0, "%s", sactag_diag_error(d));
    sactag_diag_free(d);
    return p;
}

static void shown_is(const char *tags, const char *plan, const char *want, const char *reverse)
{
    diff_is_of(plan_from(tags), plan_from(plan), true, want);
    diff_is_of(plan_from(plan), plan_from(tags), true, reverse);
}

/* Names that tell nothing elsewhere tell the node all the same; of mms outside blocks there are no tags. */
Test(diff, tags_tell_neither_module_nor_shape)
{
    const char *plan =
        HEADER "7\t-\tMatMul_1\ty1\tMatMul\tl.0\t0\tl.0.a\tparam\t8x4\tsave\todd:1\n"
               "8\t-\tMatMul_2\ty2\tMatMul\tl.0\t0\tl.0.b\tparam\t4x4\trecompute\tforced:4x4:b\n"
               "9\t-\tMatMul_3\ty3\tMatMul\t-\t-\thead\tparam\t4x9\tnone\toutside\n";
    const char *first = "6\t-\tMatMul_1\ty1\tMatMul\tl.0\t0\t-\t-\t?x?\t";
    const char *second = "7\t-\tMatMul_2\ty2\tMatMul\tl.0\t0\t-\t-\t4x4\trecompute\tforced:4x4:b\n";
    char tags[1024];

    snprintf(tags, sizeof tags, HEADER "%ssave\todd:1\n%s", first, second);
    shown_is(tags, plan, "same node 0>0\nsame node 1>1\n", "same node 0>0\nsame node 1>1\n");
    snprintf(tags, sizeof tags, HEADER "%srecompute\tmanual\n%s", first, second);
    shown_is(tags, plan, "changed node 0>0 policy reason because it was set by hand before\nsame node 1>1\n",
             "changed node 0>0 policy reason because it was set by hand\nsame node 1>1\n");
    snprintf(tags, sizeof tags, HEADER "%ssave\todd:1\n", first);
    shown_is(tags, plan, "same node 0>0\nadded - ->1\n", "same node 0>0\nremoved - 1>-\n");
}

/* With --tag all on a carrier without reasons nodes that are no mms cannot be told from mms. */
Test(diff, tags_of_all_nodes_without_reasons)
{
    const char *plan = HEADER "7\t-\tMatMul_1\ty1\tMatMul\tl.0\t0\tl.0.a\tparam\t8x4\tsave\todd:1\n";

    shown_is(HEADER "7" SHOWN("MatMul") "save\t-\n8" SHOWN(
                 "Relu") "recompute\t-\n"
                         "9\t-\tMatMul_9\tscores\tMatMul\t-\t-\t-\t-\t?x?\trecompute\t-\n",
             plan, "same node 0>0\n", "same node 0>0\n");
    shown_is(HEADER "7" SHOWN("MatMul") "save\t-\n"
                                        "9\t-\tMatMul_9\tgone\tMatMul\t-\t-\t-\t-\t?x?\trecompute\t-\n",
             plan, "same node 0>0\nremoved - 1>-\n", "same node 0>0\nadded - ->1\n");
    shown_is(HEADER "7" SHOWN("com.microsoft:FusedMatMul") "save\t-\n", HEADER, "removed - 0>-\n",
             "added - ->0\n");
}

/* One tag stands for all runs of a node. */
Test(diff, a_tag_of_a_node_that_runs_several_times)
{
    const char *run = "2\tfn:my.ops:Half\tone\to\tMatMul\twhole\t0\t-\t-\t4x4\tsave\todd:";
    char plan[1024];

    snprintf(plan, sizeof plan, HEADER "%s1\n%s3\n%s5\n", run, run, run);
    shown_is(HEADER "2\tfn:my.ops:Half\tone\to\tMatMul\t-\t-\t-\t-\t?x?\tsave\t-\n", plan, "same node 0>0\n",
             "same node 0>0\n");
}

/* ---- causes ---- */

Test(diff, a_shape_is_forced)
{
    diff_is(Q K V O,
            Q "layers.0#0 layers.0.wk /wk 8x4 recompute forced:8x4:wk\n"
              "layers.0#0 layers.0.wv /wv 8x4 recompute forced:8x4:wk\n"
              "layers.0#0 layers.0.wo /wo 8x8 recompute even:2\n",
            "reason fqn 1>1 reason because its shape 8x4 is now forced\n"
            "changed fqn 2>2 policy reason because wk's shape 8x4 is now forced\n");
    diff_is("layers.0#0 layers.0.wq /wq 8x8 recompute forced:8x8:layers.0.wq\n" K
            "layers.0#0 layers.0.wo /wo 8x8 recompute forced:8x8:-\n",
            "layers.0#0 layers.0.wq /wq 8x8 save odd:1\n" K "layers.0#0 layers.0.wo /wo 8x8 save odd:3\n",
            "changed fqn 0>0 policy reason because its shape 8x8 is no longer forced\n"
            "changed fqn 2>2 policy reason because the shape 8x8 is no longer forced\n");
}

Test(diff, the_count_shifts)
{
    diff_is(Q K V,
            Q "layers.0#0 layers.0.new - 8x8 recompute even:2\n"
              "layers.0#0 layers.0.wk /wk 8x4 save odd:3\n"
              "layers.0#0 layers.0.wv /wv 8x4 recompute even:4\n",
            "added - ->1\n"
            "changed fqn 1>2 policy reason because the count shifted: new was added\n"
            "changed fqn 2>3 policy reason because the count shifted: new was added\n");
    diff_is(Q K V O,
            "layers.0#0 layers.0.wk /wk 8x4 save odd:1\n"
            "layers.0#0 layers.0.wv /wv 8x4 recompute forced:8x4:wv\n"
            "layers.0#0 layers.0.wo /wo 8x8 recompute even:2\n",
            "removed - 0>-\n"
            "changed fqn 1>0 policy reason because the count shifted: wq was removed\n"
            "changed fqn 2>1 policy reason because its shape 8x4 is now forced\n");
    diff_is(Q "layers.0#0 layers.0.wk /wk 8x4 recompute forced:8x4:wk\nlayers.0#0 layers.0.wo /wo 8x8 "
              "recompute even:2\n",
            Q "layers.0#0 layers.0.wk /wk 8x4 recompute even:2\nlayers.0#0 layers.0.wo /wo 8x8 save odd:3\n",
            "reason fqn 1>1 reason because its shape 8x4 is no longer forced\n"
            "changed fqn 2>2 policy reason because the count shifted: wk is no longer forced\n");
}

Test(diff, several_shifts_are_counted)
{
    diff_is(Q K,
            "layers.0#0 layers.0.a - 8x2 save odd:1\nlayers.0#0 layers.0.b - 8x2 recompute even:2\n"
            "layers.0#0 layers.0.c - 8x2 save odd:3\n"
            "layers.0#0 layers.0.wq /wq 8x8 recompute even:4\nlayers.0#0 layers.0.wk /wk 8x4 save odd:5\n",
            "added - ->0\nadded - ->1\nadded - ->2\n"
            "changed fqn 0>3 policy reason because the count shifted: a was added, and 2 more\n"
            "changed fqn 1>4 policy reason because the count shifted: a was added, and 2 more\n");
}

/* A shift in one call is none in another. */
Test(diff, shifts_stay_in_their_call)
{
    diff_is("l#0 l.a - 8x8 save odd:1\nl#1 l.a - 8x8 save odd:1\n",
            "l#0 l.n - 8x2 save odd:1\nl#0 l.a - 8x8 recompute even:2\nl#1 l.a - 8x8 recompute even:2\n",
            "added - ->0\n"
            "changed fqn 0>1 policy reason because the count shifted: n was added\n"
            "changed fqn 1>2 policy reason\n");
}

Test(diff, the_order_changes)
{
    diff_is(Q "layers.0#0 layers.0.wk /wk 8x8 recompute even:2\n",
            "layers.0#0 layers.0.wk /wk 8x8 save odd:1\nlayers.0#0 layers.0.wq /wq 8x8 recompute even:2\n",
            "changed fqn 1>0 policy reason\nchanged fqn 0>1 policy reason because the order changed\n");
}

Test(diff, other_causes)
{
    diff_is(Q K, Q "layers.0#0 layers.0.wk /wk 8x4 save manual\n",
            "changed fqn 1>1 policy reason because it was set by hand\n");
    diff_is(Q "layers.0#0 layers.0.wk /wk 8x4 save manual\n", Q K,
            "changed fqn 1>1 policy reason because it was set by hand before\n");
    diff_is(Q K, Q "layers.0#0 layers.0.wk /wk 8x4 none untagged\n",
            "changed fqn 1>1 policy reason because its tag is missing\n");
    diff_is(
        Q K V,
        Q "layers.0#0 layers.0.wk /wk 8x4 recompute addmm\nlayers.0#0 layers.0.wv /wv 8x4 recompute even:2\n",
        "reason fqn 1>1 reason because it now runs as addmm\n"
        "changed fqn 2>2 policy reason because the count shifted: wk now runs as addmm\n");
    diff_is(Q, "- layers.0.wq /wq 8x8 none outside\n",
            "changed fqn 0>0 policy block reason because it is outside all blocks now\n");
    diff_is(Q K, Q "layers.0#1 layers.0.wk /wk 8x4 save odd:1\n",
            "changed fqn 1>1 policy block reason because it was in layers.0#0\n");
    diff_is(Q, "layers.0#0 layers.0.wq /wq 8x9 recompute forced:8x9:wk\n",
            "changed fqn 0>0 policy rhs reason because its shape is now 8x9, which is forced\n");
    diff_is(Q K, Q "layers.0#0 layers.0.wk /wk 8x5 recompute even:2\n", "changed fqn 1>1 rhs\n");
}

/* ---- what does not count ---- */

Test(diff, unknown_differs_from_nothing)
{
    diff_is(Q, "layers.0#0 layers.0.wq /wq ?x8 save odd:1\n", "");
    diff_is(Q, "layers.0#0 layers.0.wq /wq 8x? save -\n", "");
    diff_is(Q, "- layers.0.wq /wq 8x8 save odd:1\n", ""); /* a tag without a region */
}

Test(diff, counts_and_assumptions_are_no_reason)
{
    diff_is(Q K,
            "layers.0#0 layers.0.wq /wq 8x8 save odd:3\nlayers.0#0 layers.0.wk /wk 8x4 recompute "
            "even:4;assumed-contiguous\n",
            "");
}

Test(diff, another_configured_name_is_another_reason)
{
    diff_is("b#0 b.x - 8x8 recompute forced:8x8:x\n", "b#0 b.x - 8x8 recompute forced:8x8:y\n",
            "reason fqn 0>0 reason\n");
}

Test(diff, blocks_may_be_renamed)
{
    diff_is("h.0#0 h.0.a /a 8x8 save odd:1\nh.1#0 h.1.a /b 8x8 save odd:1\n",
            "layers.0#0 layers.0.a /a 8x8 save odd:1\nlayers.1#0 layers.1.a /b 8x8 save odd:1\n", "");
    /* ... but not two into one, nor into one that was there. */
    diff_is("h.0#0 - /a 8x8 save odd:1\nh.1#0 - /b 8x8 save odd:1\n",
            "x#0 - /a 8x8 save odd:1\nx#0 - /b 8x8 save odd:1\n",
            "changed node 1>1 block because it was in h.1#0\n");
    diff_is("h.0#0 - /a 8x8 save odd:1\nh.1#0 - /b 8x8 save odd:1\n",
            "h.1#0 - /a 8x8 save odd:1\nh.1#0 - /b 8x8 save odd:1\n",
            "changed node 0>0 block because it was in h.0#0\n");
}

/* ---- matching ---- */

Test(diff, modules_are_matched_wherever_they_stand)
{
    diff_is_of(
        plan_of(Q K),
        plan_of("layers.0#0 layers.0.wk x 8x4 recompute even:2\nlayers.0#0 layers.0.wq y 8x8 save odd:1\n"),
        true, "same fqn 1>0\nsame fqn 0>1\n");
}

Test(diff, mms_of_one_module_are_told_by_shape_and_call)
{
    diff_is_of(plan_of("b#0 b.m - 8x2 save odd:1\nb#0 b.m - 2x8 recompute even:2\n"),
               plan_of("b#0 b.m - 2x8 recompute even:2\nb#0 b.m - 8x2 save odd:1\n"), true,
               "same fqn 1>0\nsame fqn 0>1\n");
    /* One more mm in the first call: the second call's is still the second call's. */
    diff_is_of(
        plan_of("b#0 b.m - 8x2 save odd:1\nb#1 b.m - 8x2 save odd:1\n"),
        plan_of("b#0 b.m - 8x2 save odd:1\nb#0 b.m - 8x2 recompute even:2\nb#1 b.m - 8x2 save odd:1\n"), true,
        "same place 0>0\nadded - ->1\nsame fqn 1>2\n");
}

Test(diff, nodes_by_name)
{
    diff_is_of(plan_of("b#0 - /a/MatMul 8x2 save odd:1\nb#0 - /b/MatMul 8x2 recompute even:2\n"),
               plan_of("b#0 - /b/MatMul 8x2 recompute even:2\nb#0 x.y /a/MatMul 8x2 save odd:1\n"), true,
               "same node 1>0\nsame node 0>1\n");
}

/* MatMul_7 is the seventh node, whichever that is. */
Test(diff, made_up_names_tell_nothing)
{
    diff_is_of(plan_of("b#0 - MatMul_1 8x2 save odd:1\nb#0 - MatMul_2 8x3 recompute even:2\n"),
               plan_of("b#0 - MatMul_2 8x2 save odd:1\nb#0 - MatMul_1 8x3 recompute even:2\n"), true,
               "same place 0>0\nsame place 1>1\n");
}

Test(diff, places_between_neighbours)
{
    diff_is_of(plan_of(Q "layers.0#0 - - 8x4 recompute even:2\n" O),
               plan_of(Q "layers.0#0 layers.0.q2 - 8x4 recompute even:2\n" O), true,
               "same fqn 0>0\nsame place 1>1\nsame fqn 2>2\n");
    diff_is_of(plan_of(Q "layers.0#0 layers.0.a - 8x4 recompute even:2\n" O),
               plan_of(Q "layers.0#0 layers.0.b - 8x5 recompute even:2\n" O), true,
               "same fqn 0>0\nremoved - 1>-\nadded - ->1\nsame fqn 2>2\n");
    /* the longest common run, not the first that fits */
    diff_is_of(plan_of("b#0 - - 1x1 save odd:1\nb#0 - - 2x2 recompute even:2\nb#0 - - 3x3 save odd:3\n"),
               plan_of("b#0 - - 3x3 save odd:1\nb#0 - - 1x1 recompute even:2\nb#0 - - 2x2 save odd:3\n"),
               true,
               "added - ->0\nchanged place 0>1 policy reason because the count shifted: y0 was added\n"
               "changed place 1>2 policy reason because the count shifted: y0 was added\nremoved - 2>-\n");
}

Test(diff, summary_counts_all)
{
    sactag_plan *a = plan_of(Q K V "b#0 - - 1x1 save odd:1\n");
    sactag_plan *b =
        plan_of(Q "layers.0#0 layers.0.wk /wk 8x4 recompute forced:8x4:wk\n"
                  "layers.0#0 layers.0.wv /wv 8x4 recompute forced:8x4:wk\nb#0 b.n - 2x1 save odd:1\n");
    sactag_changes *c;
    cr_assert_eq(sactag_diff(&c, a, b, NULL), 0);
    struct sactag_change_summary s = sactag_changes_summary(c);
    cr_assert(s.same == 1 && s.reason == 1 && s.changed == 1 && s.added == 1 && s.removed == 1);
    cr_assert(s.matched[SACTAG_BY_FQN] == 3 && s.matched[SACTAG_BY_NONE] == 2 &&
              s.matched[SACTAG_BY_PLACE] == 0);
    sactag_changes_free(c);
    sactag_plan_free(a);
    sactag_plan_free(b);
}

/* ---- with graphs ---- */

struct opened {
    struct pb bytes;
    sactag_model *m;
    sactag_plan *p;
};

/* Decided as one block. */
static struct opened open_graph(const char *text)
{
    struct opened x = {.bytes = graph_bytes(text)};
    const char *const blocks[] = {"whole"};
    sactag_diag *d = sactag_diag_new();
    struct sactag_options o;

    sactag_options_init(&o);
    o.blocks = blocks, o.n_blocks = 1;
    cr_assert_eq(sactag_open_buffer(&x.m, x.bytes.b, x.bytes.n, NULL, d), 0, "%s", sactag_diag_error(d));
    cr_assert_eq(sactag_decide(&x.p, x.m, &o, d), 0, "%s", sactag_diag_error(d));
    sactag_diag_free(d);
    return x;
}

static void graphs_diff(const char *a, const char *b, const char *want)
{
    struct opened x = open_graph(a), y = open_graph(b);
    diff_is_of(x.p, y.p, true, want);
    sactag_close(x.m);
    sactag_close(y.m);
    free(x.bytes.b);
    free(y.bytes.b);
}

/* Without a name in common: two mms of one shape are told apart by what they read. */
#define A_GRAPH                                                                                              \
    "in x f32[2,8]\nparam onnx::w1 f32[8,8]\nparam onnx::w2 f32[8,8]\n"                                      \
    "a = Relu(x)\nb = Sigmoid(x)\np = MatMul(a,onnx::w1)\nq = MatMul(b,onnx::w2)\nz = Add(p,q)\nout z\n"

Test(diff, structure_tells_mms_without_names)
{
    graphs_diff(
        A_GRAPH,
        "in i f32[2,8]\nparam onnx::k1 f32[8,8]\nparam onnx::k2 f32[8,8]\n"
        "r = Sigmoid(i)\nt = Relu(i)\ns = MatMul(r,onnx::k1)\nu = MatMul(t,onnx::k2)\nv = Add(u,s)\nout v\n",
        "changed structure 1>0 policy reason\n"
        "changed structure 0>1 policy reason because the order changed\n");
}

Test(diff, attributes_and_shapes_are_structure)
{
    /* The two Gemms differ by an attribute alone, the two MatMuls by their weights' shapes. */
    graphs_diff(
        "in x f32[2,8]\nparam w f32[8,8]\nparam v f32[8,4]\nparam u f32[8,6]\n"
        "a = Gemm(x,w) alpha=0.5\nb = Gemm(x,w) alpha=0.25\nc = MatMul(a,v)\nd = MatMul(b,u)\nout c\nout d\n",
        "in y f32[2,8]\nparam k f32[8,8]\nparam m f32[8,6]\nparam l f32[8,4]\n"
        "e = Gemm(y,k) alpha=0.25\nf = Gemm(y,k) alpha=0.5\ng = MatMul(e,m)\nh = MatMul(f,l)\nout g\nout h\n",
        "changed structure 1>0 policy reason\n"
        "changed structure 0>1 policy reason because the order changed\n"
        "changed structure 3>2 policy reason because the order changed\n"
        "changed structure 2>3 policy reason because the order changed\n");
}

/* Behind a new node nothing has the whole structure that it had, but the neighbourhood is the same. */
Test(diff, an_added_node_leaves_the_rest_matched)
{
    graphs_diff(
        "in x f32[2,8]\nparam w1 f32[8,8]\nparam w2 f32[8,8]\nparam w3 f32[8,8]\n"
        "a = MatMul(x,w1)\nb = Relu(a)\nc = MatMul(b,w2)\nd = Sigmoid(c)\ne = Tanh(d)\nf = Abs(e)\n"
        "g = MatMul(f,w3)\nout g\n",
        "in y f32[2,8]\nparam k0 f32[8,8]\nparam k1 f32[8,8]\nparam k2 f32[8,8]\nparam k3 f32[8,8]\n"
        "z = MatMul(y,k0)\ny1 = Neg(z)\nl = MatMul(y1,k1)\nm = Relu(l)\nn = MatMul(m,k2)\no = Sigmoid(n)\n"
        "p = Tanh(o)\nq = Abs(p)\nr = MatMul(q,k3)\nout r\n",
        "same structure 0>0\n"
        "added - ->1\n"
        "changed place 1>2 policy reason because the count shifted: l was added\n"
        "changed place 2>3 policy reason because the count shifted: l was added\n");
}

Test(diff, a_tagged_model_has_the_same_structure)
{
    graphs_diff(
        A_GRAPH,
        "in i f32[2,8]\nparam onnx::k1 f32[8,8]\nparam onnx::k2 f32[8,8]\na = Relu(i)\nb = Sigmoid(i)\n"
        "p = MatMul(a,onnx::k1) __sac_policy=`recompute` meta:sac.policy=`save`\n"
        "q = MatMul(b,onnx::k2) __recompute_output_in_backward_pass=2\nz = Add(p,q)\nout z\n",
        "same structure 0>0\nsame structure 1>1\n");
}

/* ---- many rows ---- */

static sactag_plan *long_plan(size_t n, size_t skip, const char *fqn)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    sactag_plan *p;

    fputs("index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n", f);
    for (size_t i = 0; i < n; i++)
        if (skip == 0 || i % skip)
            fprintf(f, "%zu\t-\t-\t-\tMatMul\tb\t0\t%s\t-\t%zux8\tsave\todd:1\n", i, fqn, i % 97 + 1);
    fclose(f);
    cr_assert_eq(sactag_plan_from_text(&p, text, len, NULL), 0);
    free(text);
    return p;
}

/* More edits than are looked for: rows are still matched by what they have, and none twice. */
Test(diff, too_many_edits)
{
    sactag_plan *a = long_plan(5000, 0, "-"), *b = long_plan(5000, 7, "-");
    size_t n_b = sactag_plan_count(b);
    sactag_changes *c;
    char *seen = calloc(5000, 1);

    cr_assert_eq(sactag_diff(&c, a, b, NULL), 0);
    struct sactag_change_summary s = sactag_changes_summary(c);
    cr_assert_eq(s.added, 0);
    cr_assert_eq(s.removed, 5000 - n_b);
    cr_assert_eq(s.matched[SACTAG_BY_PLACE], n_b);
    for (size_t i = 0; i < sactag_changes_count(c); i++) {
        struct sactag_change x = sactag_changes_get(c, i);
        cr_assert(!seen[x.a]++);
    }
    free(seen);
    sactag_changes_free(c);
    sactag_plan_free(a);
    sactag_plan_free(b);
}

/* One module has all the mms: a list as long as the plan must not cost its square. */
Test(diff, one_module_with_very_many_mms)
{
    sactag_plan *a = long_plan(200000, 0, "b.m"), *b = long_plan(200000, 0, "b.m");
    sactag_changes *c;

    cr_assert_eq(sactag_diff(&c, a, b, NULL), 0);
    cr_assert_eq(sactag_changes_summary(c).same, 200000);
    sactag_changes_free(c);
    sactag_plan_free(a);
    sactag_plan_free(b);
}
