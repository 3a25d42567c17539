/* Plan files: written, read back, and refused when broken. */
#include "sactag.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOY "tests/cases/toy/model_train.onnx" /* layers.0: gate 32x32, wq 32x32, output 32x64 */

struct buffer {
    char *s;
    size_t n;
};

static int append(void *ctx, const char *text, size_t n)
{
    struct buffer *b = ctx;
    b->s = realloc(b->s, b->n + n + 1);
    cr_assert_not_null(b->s);
    memcpy(b->s + b->n, text, n);
    b->n += n;
    b->s[b->n] = 0;
    return 0;
}

static int stop(void *ctx, const char *text, size_t n)
{
    int *calls = ctx;
    (void)text;
    (void)n;
    return ++*calls == 3 ? 7 : 0;
}

static bool is(struct sactag_text t, const char *z)
{
    return t.n == strlen(z) && (t.n == 0 || memcmp(t.s, z, t.n) == 0);
}

static sactag_plan *read_plan(const char *text)
{
    sactag_diag *d = sactag_diag_new();
    sactag_plan *p = NULL;
    int e = sactag_plan_from_text(&p, text, strlen(text), d);
    cr_assert_eq(e, 0, "%s", sactag_diag_error(d));
    cr_assert_not_null(p);
    sactag_diag_free(d);
    return p;
}

/* A whole plan of one mm. */
#define HEAD(digest) "{\"sactag\": \"plan\", \"version\": 1,\n\"model\": {\"digest\": \"" digest "\"},\n"
#define DIGEST       "0123456789abcdef0123456789abcdef"
#define OPTIONS                                                                                              \
    "\"options\": {\"fqns\": [], \"force_shapes\": [], \"match\": \"exact\", \"profile\": null, "            \
    "\"blocks\": "                                                                                           \
    "[\"auto\"], \"mm_rule\": \"onnx\", \"mm_ops\": [], \"order\": \"auto\", \"strict\": false, "            \
    "\"specialize\": false},\n"
#define ROW(index, policy, reason)                                                                           \
    "{\"index\": " index ", \"graph\": null, \"node\": \"n\", \"output\": \"y\", \"op\": \"MatMul\", "       \
    "\"block\": \"layers.0\", \"call\": 0, \"fqn\": \"layers.0.wq\", \"evidence\": \"param\", \"rhs\": "     \
    "\"8x4\", \"policy\": \"" policy "\", \"reason\": \"" reason "\"}"
#define ROWS(rows) "\"rows\": [\n" rows "]}\n"

static const char whole[] = HEAD(DIGEST) OPTIONS ROWS(ROW("3", "save", "odd:1"));

Test(plan_json, what_is_written_is_read_back)
{
    const char *fqns[] = {"moe.router.gate", "a,b\t\x01"};
    const struct sactag_shape shapes[] = {{7, 9}};
    struct sactag_options o;
    struct buffer text = {0};
    sactag_model *m;
    sactag_plan *p, *q;

    sactag_options_init(&o);
    o.fqns = fqns, o.n_fqns = 2;
    o.force_shapes = shapes, o.n_force_shapes = 1;
    cr_assert_eq(sactag_open(&m, TOY, NULL, NULL), 0);
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    cr_assert_eq(sactag_plan_to_json(p, "model_train.onnx", append, &text, NULL), 0);
    q = read_plan(text.s);

    cr_assert_eq(sactag_plan_count(q), 3);
    for (size_t i = 0; i < 3; i++) {
        struct sactag_row a, b;
        sactag_plan_row(p, i, &a);
        sactag_plan_row(q, i, &b);
        cr_expect(a.index == b.index && a.call == b.call && a.block_index == b.block_index);
        cr_expect(a.evidence == b.evidence && a.policy == b.policy && a.rhs.k == b.rhs.k &&
                  a.rhs.n == b.rhs.n);
        cr_expect(a.fqn.n == b.fqn.n && memcmp(a.fqn.s, b.fqn.s, a.fqn.n) == 0);
        cr_expect(a.node.n == b.node.n && memcmp(a.node.s, b.node.s, a.node.n) == 0);
        cr_expect(a.reason.n == b.reason.n && memcmp(a.reason.s, b.reason.s, a.reason.n) == 0);
        cr_expect(is(b.graph, "-"));
    }
    struct sactag_options back;
    cr_assert(sactag_plan_options(q, &back));
    cr_assert_eq(back.n_fqns, 2);
    cr_assert_str_eq(back.fqns[0], "moe.router.gate");
    cr_assert_str_eq(back.fqns[1], "a,b\t\x01");
    cr_assert_eq(back.n_force_shapes, 1);
    cr_assert(back.force_shapes[0].k == 7 && back.force_shapes[0].n == 9);
    cr_assert_eq(back.match, SACTAG_MATCH_EXACT);
    cr_assert_eq(back.mm_rule, SACTAG_MM_ONNX);
    struct sactag_summary s;
    sactag_plan_summary(q, &s);
    cr_assert(s.rows == 3 && s.saved == 1 && s.recomputed == 2 && s.forced == 2);
    struct sactag_block block;
    cr_assert_eq(sactag_plan_block_count(q), 1);
    sactag_plan_block(q, 0, &block);
    cr_assert(is(block.fqn, "layers.0") && block.calls == 1 && block.saved == 1 && block.forced_rows == 2);
    cr_assert_eq(sactag_plan_linear_count(q), 0);
    cr_assert_eq(sactag_plan_to_json(q, NULL, append, &text, NULL), SACTAG_EUSAGE);
    sactag_plan_free(q);
    sactag_plan_free(p);
    sactag_close(m);
    free(text.s);
}

Test(plan_json, put_may_stop)
{
    int calls = 0;
    sactag_model *m;
    sactag_plan *p;
    struct sactag_options o;

    sactag_options_init(&o);
    cr_assert_eq(sactag_open(&m, TOY, NULL, NULL), 0);
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    cr_assert_eq(sactag_plan_to_json(p, NULL, stop, &calls, NULL), 7);
    cr_assert_eq(calls, 3);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(plan_json, names_of_any_bytes)
{
    static const char text[] =
        HEAD(DIGEST) OPTIONS ROWS("{\"index\": 0, \"graph\": \"/3:If/then_branch\", \"node\": "
                                  "\"a\\\\x00\\\\xff\\\\tz\\u00e9\", \"output\": null, "
                                  "\"op\": \"com.microsoft:FusedMatMul\", \"block\": null, \"call\": null, "
                                  "\"fqn\": null, \"evidence\": null, "
                                  "\"rhs\": \"?x4\", \"policy\": \"none\", \"reason\": \"outside\"}");
    sactag_plan *p = read_plan(text);
    struct sactag_row r;

    sactag_plan_row(p, 0, &r);
    cr_assert_eq(r.node.n, 7);
    cr_assert(memcmp(r.node.s, "a\0\xff\tz\xc3\xa9", 7) == 0);
    cr_assert(is(r.graph, "/3:If/then_branch"));
    cr_assert(r.output.s == NULL && r.fqn.s == NULL && r.block.s == NULL);
    cr_assert(r.block_index == UINT32_MAX && r.call == 0 && r.evidence == SACTAG_EV_NONE);
    cr_assert(r.rhs.k == -1 && r.rhs.n == 4);
    sactag_plan_free(p);
}

static void reason_is(const char *policy, const char *reason, const char *profile, const char *want)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        HEAD(DIGEST) "\"options\": {\"fqns\": [], \"force_shapes\": [], \"match\": \"exact\", \"profile\": "
                     "%s, "
                     "\"blocks\": [\"auto\"], \"mm_rule\": \"onnx\", \"mm_ops\": [], \"order\": \"auto\", "
                     "\"strict\": false, \"specialize\": false},\n" ROWS(ROW("3", "%s", "%s")),
        profile, policy, reason);
    sactag_plan *p = read_plan(text);
    struct sactag_row r;
    sactag_plan_row(p, 0, &r);
    cr_expect(is(r.reason, want), "%s for %s: expected %s but found %.*s", policy, reason, want,
              SACTAG_ARG(r.reason));
    sactag_plan_free(p);
}

Test(plan_json, a_policy_changed_by_hand)
{
    reason_is("save", "odd:1", "null", "odd:1");
    reason_is("recompute", "even:2;assumed-contiguous", "null", "even:2;assumed-contiguous");
    reason_is("recompute", "forced:8x4:wq", "null", "forced:8x4:wq");
    reason_is("recompute", "addmm", "null", "addmm");
    reason_is("save", "addmm", "\"titan\"", "addmm");
    reason_is("recompute", "odd:1", "null", "manual");
    reason_is("save", "odd:2", "null", "manual");
    reason_is("save", "even:2", "null", "manual");
    reason_is("save", "forced:8x4:wq", "null", "manual");
    reason_is("save", "addmm", "null", "manual");
    reason_is("save", "outside", "null", "manual");
    reason_is("recompute", "manual", "null", "manual");
    reason_is("save", "of-a-later-version:3", "null", "of-a-later-version:3");
}

Test(plan_json, unknown_members_are_passed_over)
{
    sactag_plan *p =
        read_plan("\xef\xbb\xbf {\"later\": [1, {\"a\": null}], \"sactag\": \"plan\", \"version\": 1, "
                  "\"model\": {\"digest\": \"" DIGEST "\", \"later\": 2},\n" OPTIONS
                  "\"rows\": [{\"later\": true, \"index\": 4, \"graph\": null, \"node\": null, \"output\": "
                  "null, \"op\": \"Gemm\", \"block\": null, \"call\": null, \"fqn\": null, \"evidence\": "
                  "null, \"rhs\": \"?x?\", \"policy\": \"none\", \"reason\": null}]}");
    struct sactag_row r;
    cr_assert_eq(sactag_plan_count(p), 1);
    sactag_plan_row(p, 0, &r);
    cr_assert_eq(r.index, 4);
    sactag_plan_free(p);
}

/* One message, with the place and what is wrong. */
static void refused(const char *text, size_t n, const char *place, const char *what)
{
    sactag_diag *d = sactag_diag_new();
    sactag_plan *p = (sactag_plan *)d;
    char want[64];

    int e = sactag_plan_from_text(&p, text, n, d);
    cr_expect_eq(e, SACTAG_EINPUT, "%s: %d", what, e);
    cr_expect_null(p);
    cr_expect_eq(sactag_diag_count(d), 1);
    const char *error = sactag_diag_error(d);
    /* "line 5, column": wherever in that line */
    snprintf(want, sizeof want, "%s%s", place, place[strlen(place) - 1] == 'n' ? " " : ": ");
    cr_expect(strncmp(error, want, strlen(want)) == 0, "expected '%s' but found '%s'", place, error);
    cr_expect(strstr(error, what), "expected '%s' in '%s'", what, error);
    cr_expect(!strchr(error, '\n'));
    sactag_diag_free(d);
}

/* The whole plan with one piece of it replaced. */
static void refused_with(const char *piece, const char *by, const char *place, const char *what)
{
    char text[4096];
    const char *at = strstr(whole, piece);
    cr_assert_not_null(at, "%s", piece);
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, by, at + strlen(piece));
    refused(text, (size_t)n, place, what);
}

Test(plan_json, broken_syntax)
{
    refused("{", 1, "line 1, column 2", "expected a member's name");
    refused("{\"sactag\": \"plan\",\n \"version\": 1,,", 34, "line 2, column 15", "expected a member's name");
    refused_with("\"rows\"", "'rows'", "line 4, column 1", "");
    refused_with("]}\n", "]", "line 5, column", "expected a comma or }");
    refused_with("\"version\": 1", "\"version\": 01", "line 1, column", "");
    refused_with("]}\n", "]} x", "line 5, column", "");
    refused_with("\"n\"", "\"\\q\"", "line 5, column", "escape");
    char deep[256];
    memset(deep, '[', sizeof deep);
    refused(deep, sizeof deep, "line 1, column", "deep");
}

Test(plan_json, broken_head)
{
    refused("[1]", 3, "line 1, column 1", "expected an object but found an array");
    refused("{}", 2, "line 1, column 1", "not a plan file");
    refused_with("\"sactag\": \"plan\"", "\"sactag\": \"linears\"", "line 1, column 12",
                 "expected plan or tags but found 'linears'");
    refused_with("\"version\": 1", "\"version\": \"1\"", "line 1, column 31", "expected 1 but found '1'");
    refused_with("\"version\": 1", "\"version\": 2", "line 1, column 31", "written by a newer sactag");
    refused_with("\"version\": 1", "\"version\": 0", "line 1, column 31", "expected 1 but found 0");
    refused_with("\"version\": 1", "\"version\": 1, \"version\": 1", "line 1, column 34",
                 "a second member 'version'");
    refused_with("\"model\": {", "\"model\": null, \"x\": {", "line 2, column 10",
                 "model: expected an object but found null");
    refused_with("\"digest\"", "\"digets\"", "line 2, column 10", "expected a member 'digest'");
    refused_with(DIGEST, "0123", "line 2, column 21", "expected 32 hexadecimal digits");
    refused_with(DIGEST, "0123456789ABCDEF0123456789ABCDEF", "line 2, column 21",
                 "expected 32 hexadecimal digits");
    refused_with("\"rows\"", "\"row\"", "line 1, column 1", "expected a member 'rows'");
    refused_with("\"rows\": [", "\"rows\": null, \"x\": [", "line 4, column 9",
                 "rows: expected an array but found null");
    refused_with("\"rows\"", "\"summary\": 3, \"rows\"", "line 4, column 12",
                 "summary: expected an object but found 3");
    refused_with("\"rows\"", "\"blocks\": {}, \"rows\"", "line 4, column 11", "blocks: expected an array");
}

Test(plan_json, broken_options)
{
    refused_with("\"options\"", "\"option\"", "line 1, column 1", "expected a member 'options'");
    refused_with("\"fqns\": []", "\"fqns\": \"wq\"", "line 3, column 21",
                 "options.fqns: expected an array but found 'wq'");
    refused_with("\"fqns\": []", "\"fqns\": [3]", "line 3, column 22", "expected a string but found 3");
    refused_with("\"fqns\": []", "\"fqns\": [\"\"]", "line 3, column 22", "expected a name");
    refused_with("\"fqns\": []", "\"fqns\": [\"a\\\\x00b\"]", "line 3, column 22", "expected a name");
    refused_with("\"force_shapes\": []", "\"force_shapes\": [\"4x\"]", "line 3, column", "expected KxN");
    refused_with("\"force_shapes\": []", "\"force_shapes\": [\"0x4\"]", "line 3, column", "expected KxN");
    refused_with("\"match\": \"exact\"", "\"match\": \"fuzzy\"", "line 3, column",
                 "expected exact, substring or glob but found 'fuzzy'");
    refused_with("\"profile\": null", "\"profile\": \"none\"", "line 3, column",
                 "expected titan or null but found 'none'");
    refused_with("\"mm_rule\": \"onnx\"", "\"mm_rule\": null", "line 3, column",
                 "expected onnx or torch but found null");
    refused_with("\"strict\": false", "\"strict\": 0", "line 3, column",
                 "expected true or false but found 0");
    refused_with("\"order\": \"auto\"", "\"ordre\": \"auto\"", "line 3, column",
                 "options: unknown member 'ordre'");
    refused_with("\"order\": \"auto\", ", "", "line 3, column 12", "options: expected a member 'order'");
}

Test(plan_json, broken_rows)
{
    refused_with(ROW("3", "save", "odd:1"), "7", "line 5, column 1",
                 "rows[0]: expected an object but found 7");
    refused_with("\"rhs\": \"8x4\", ", "", "line 5, column 1", "rows[0]: expected a member 'rhs'");
    refused_with("\"index\": 3", "\"index\": -3", "line 5, column 11",
                 "rows[0].index: expected a whole number from 0 to 4294967294 but found -3");
    refused_with("\"index\": 3", "\"index\": 3.5", "line 5, column 11", "but found 3.5");
    refused_with("\"index\": 3", "\"index\": 4294967295", "line 5, column 11", "a whole number from");
    refused_with("\"index\": 3", "\"index\": \"3\"", "line 5, column 11", "expected a number but found '3'");
    refused_with("\"index\": 3", "\"index\": null", "line 5, column 11", "expected a number but found null");
    refused_with("\"node\": \"n\"", "\"node\": [\"n\"]", "line 5, column 37",
                 "rows[0].node: expected a string or null but found an array");
    refused_with("\"node\": \"n\"", "\"node\": \"\\\\y\"", "line 5, column 37", "after each backslash");
    refused_with("\"op\": \"MatMul\"", "\"op\": null", "line 5, column",
                 "rows[0].op: expected a string but found null");
    refused_with("\"op\": \"MatMul\"", "\"op\": \"\"", "line 5, column", "expected an operator");
    refused_with("\"call\": 0", "\"call\": null", "line 5, column 1",
                 "rows[0].call: expected a number, as there is a block");
    refused_with("\"call\": 0", "\"call\": \"0\"", "line 5, column",
                 "expected a number or null but found '0'");
    refused_with("\"evidence\": \"param\"", "\"evidence\": \"guess\"", "line 5, column",
                 "expected param, metadata");
    refused_with("\"rhs\": \"8x4\"", "\"rhs\": \"8\"", "line 5, column",
                 "rows[0].rhs: expected KxN, such as 4096x64");
    refused_with("\"rhs\": \"8x4\"", "\"rhs\": \"99999999999999999999x4\"", "line 5, column", "expected KxN");
    refused_with("\"policy\": \"save\"", "\"policy\": \"keep\"", "line 5, column",
                 "rows[0].policy: expected save, recompute or none but found 'keep'");
    refused_with("\"policy\": \"save\"", "\"policy\": true", "line 5, column",
                 "expected a string but found true");
    refused_with("\"policy\": \"save\"", "\"policy\": \"none\"", "line 5, column 1",
                 "expected save or recompute in block 'layers.0' but found none");
    refused_with("\"block\": \"layers.0\"", "\"block\": null", "line 5, column 1",
                 "expected none outside all blocks but found save");
    refused_with("\"index\": 3", "\"index\": 3, \"index\": 4", "line 5, column", "a second member 'index'");
    refused_with(ROW("3", "save", "odd:1"), ROW("3", "save", "odd:1") ",\n" ROW("3", "recompute", "even:2"),
                 "line 6, column 1", "rows[1]: node 3 of graph '-' has a row already, rows[0] in line 5");
}

Test(plan_json, columns_count_characters)
{
    refused_with("\"index\": 3", "\"x\": \"\xc3\xa9\xc3\xa9\", \"index\": null", "line 5, column 22",
                 "expected a number but found null");
}

Test(plan_json, bodies_may_have_several_rows_a_node)
{
    sactag_plan *p =
        read_plan(HEAD(DIGEST) OPTIONS ROWS("{\"index\": 1, \"graph\": \"fn:d:F\", \"node\": \"n\", "
                                            "\"output\": \"y\", \"op\": \"MatMul\", \"block\": null, "
                                            "\"call\": null, \"fqn\": \"a\", \"evidence\": null, \"rhs\": "
                                            "\"8x4\", \"policy\": \"none\", \"reason\": null},\n"
                                            "{\"index\": 1, \"graph\": \"fn:d:F\", \"node\": \"n\", "
                                            "\"output\": \"y\", \"op\": \"MatMul\", \"block\": null, "
                                            "\"call\": null, \"fqn\": \"b\", \"evidence\": null, \"rhs\": "
                                            "\"8x4\", \"policy\": \"none\", \"reason\": null}"));
    cr_assert_eq(sactag_plan_count(p), 2);
    sactag_plan_free(p);
}

/* ---- tsv ---- */

#define TSV_HEAD "index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason"

Test(plan_json, tsv_is_read)
{
    sactag_plan *p = read_plan(
        TSV_HEAD "\tlater\r\n"
                 "3\t-\ta\\tb\t\\x2d\tMatMul\tlayers.0\t1\tlayers.0.wq\tscope\t8x?\tsave\todd:1\tx\r\n"
                 "4\t/3:If/then_branch\t-\ty\tGemm\t-\t-\t-\t-\t?x?\tnone\toutside");
    struct sactag_row r;

    cr_assert_eq(sactag_plan_count(p), 2);
    sactag_plan_row(p, 0, &r);
    cr_assert(r.index == 3 && is(r.graph, "-") && is(r.node, "a\tb") && is(r.output, "-") &&
              is(r.op, "MatMul"));
    cr_assert(is(r.block, "layers.0") && r.call == 1 && is(r.fqn, "layers.0.wq") &&
              r.evidence == SACTAG_EV_SCOPE);
    cr_assert(r.rhs.k == 8 && r.rhs.n == -1 && r.policy == SACTAG_SAVE && is(r.reason, "odd:1"));
    sactag_plan_row(p, 1, &r);
    cr_assert(is(r.graph, "/3:If/then_branch") && r.node.n == 0 && r.block.n == 0 &&
              r.block_index == UINT32_MAX);
    struct sactag_options o;
    cr_assert(!sactag_plan_options(p, &o));
    sactag_plan_free(p);
}

Test(plan_json, broken_tsv)
{
    static const char row[] = "3\t-\tn\ty\tMatMul\tlayers.0\t0\tlayers.0.wq\tscope\t8x4\tsave\todd:1\n";
    static const struct {
        const char *piece, *by, *place, *what;
    } cases[] = {
        {"3\t-", "x\t-", "line 2, column 1",
         "index: expected a whole number from 0 to 4294967294 but found 'x'"},
        {"\tscope", "\tgut", "line 2, column 39", "evidence: expected param"},
        {"\t8x4", "\t8by4", "line 2, column 45", "rhs: expected KxN"},
        {"\tsave", "\tSAVE", "line 2, column 49",
         "policy: expected save, recompute or none but found 'SAVE'"},
        {"\tsave\todd:1", "\tsave", "line 2, column", "expected a cell for reason"},
        {"\tn\t", "\t\t", "line 2, column 5", "expected a cell for node"},
        {"\tn\t", "\t\\q\t", "line 2, column 5", "after each backslash"},
        {"\t0\t", "\t-\t", "line 2, column 1", "call: expected a number, as there is a block"},
    };
    char text[1024];
    int n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(row, cases[i].piece);
        cr_assert_not_null(at, "%zu", i);
        n = snprintf(text, sizeof text, TSV_HEAD "\n%.*s%s%s", (int)(at - row), row, cases[i].by,
                     at + strlen(cases[i].piece));
        refused(text, (size_t)n, cases[i].place, cases[i].what);
    }
    n = snprintf(text, sizeof text, TSV_HEAD "\n%s%s", row, row);
    refused(text, (size_t)n, "line 3, column 1", "has a row already");
    refused("index\tgraph\tnode\n", 17, "line 1, column 17", "expected the column output");
    n = snprintf(text, sizeof text, TSV_HEAD "\n%s\n", row);
    refused(text, (size_t)n, "line 3, column 1", "expected a cell for index");
}

Test(plan_json, neither_json_nor_tsv)
{
    sactag_diag *d = sactag_diag_new();
    sactag_plan *p;

    cr_assert_eq(sactag_plan_from_text(&p, "model    toy.onnx\n", 18, d), SACTAG_EINPUT);
    cr_assert(strstr(sactag_diag_error(d), "cannot be read back"));
    sactag_diag_clear(d);
    cr_assert_eq(sactag_plan_from_text(&p, NULL, 0, d), SACTAG_EINPUT);
    cr_assert(strstr(sactag_diag_error(d), "not a plan file"));
    cr_assert_null(p);
    sactag_diag_free(d);
}

/* Cut anywhere, it is refused, not crashed on. */
Test(plan_json, cut_short)
{
    for (size_t n = 1; n + 2 < sizeof whole; n++) {
        sactag_plan *p = NULL;
        char *copy = malloc(n);
        memcpy(copy, whole, n);
        cr_expect_eq(sactag_plan_from_text(&p, copy, n, NULL), SACTAG_EINPUT, "%zu", n);
        free(copy);
    }
}

Test(plan_json, a_plan_file_is_told_from_a_model)
{
    sactag_model *m;
    sactag_plan *p;
    char name[] = "/tmp/sactag-test-XXXXXX";
    int fd = mkstemp(name);
    FILE *f = fdopen(fd, "w");

    cr_assert_not_null(f);
    fputs(whole, f);
    fclose(f);
    cr_assert_eq(sactag_open_either(&m, &p, name, NULL, NULL), 0);
    cr_assert(m == NULL && sactag_plan_count(p) == 1);
    sactag_plan_free(p);
    f = fopen(name, "r");
    cr_assert_eq(sactag_open_either_fd(&m, &p, fileno(f), name, NULL, NULL), 0);
    cr_assert(m == NULL && sactag_plan_count(p) == 1);
    sactag_plan_free(p);
    fclose(f);
    remove(name);
    cr_assert_eq(sactag_open_either(&m, &p, TOY, NULL, NULL), 0);
    cr_assert(m != NULL && p == NULL);
    sactag_close(m);
    cr_assert_eq(sactag_open_either(&m, &p, "no/such/file", NULL, NULL), SACTAG_EIO);
    cr_assert(m == NULL && p == NULL);
}
