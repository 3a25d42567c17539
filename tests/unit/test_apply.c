/* Plan files placed on models, tags checked, tagged models seen as plans. */
#include "sactag.h"
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two blocks of three mms; names and order of nodes as given. */
#define PARAMS                                                                                               \
    "param layers.0.wq.weight f32[8,8]\nparam layers.0.wk.weight f32[4,8]\nparam layers.0.wo.weight "        \
    "f32[8,4]\n"                                                                                             \
    "param layers.1.wq.weight f32[8,8]\nparam layers.1.wk.weight f32[4,8]\nparam layers.1.wo.weight "        \
    "f32[8,4]\n"
#define BLOCK(n, in, out)                                                                                    \
    "t" n "q = Transpose(layers." n ".wq.weight) perm=[1,0]\n/layers." n "/wq/MatMul: q" n " = MatMul(" in   \
    ",t" n "q)\n"                                                                                            \
    "t" n "k = Transpose(layers." n ".wk.weight) perm=[1,0]\n/layers." n "/wk/MatMul: k" n " = MatMul(q" n   \
    ",t" n "k)\n"                                                                                            \
    "t" n "o = Transpose(layers." n ".wo.weight) perm=[1,0]\n/layers." n "/wo/MatMul: " out " = MatMul(k" n  \
    ",t" n "o)\n"
#define MODEL  "in x f32[2,8]\n" PARAMS BLOCK("0", "x", "h") BLOCK("1", "h", "y") "out y\n"
/* The same with another node in front, so that all nodes have another index and the graph another digest. */
#define LONGER "in x f32[2,8]\n" PARAMS "r = Relu(x)\n" BLOCK("0", "r", "h") BLOCK("1", "h", "y") "out y\n"

struct opened {
    void *bytes;
    sactag_model *m;
    sactag_diag *d;
};

static struct opened open_bytes(void *bytes, size_t n)
{
    struct opened x = {.bytes = bytes, .d = sactag_diag_new()};
    cr_assert_eq(sactag_open_buffer(&x.m, bytes, n, NULL, x.d), 0, "%s", sactag_diag_error(x.d));
    return x;
}

static struct opened open_graph(const char *text)
{
    struct pb b = graph_bytes(text);
    return open_bytes(b.b, b.n);
}

static void close_model(struct opened *x)
{
    sactag_close(x->m);
    sactag_diag_free(x->d);
    free(x->bytes);
}

static struct sactag_options options(const char *const *fqn)
{
    static const char *const blocks[] = {"layers.*"};
    struct sactag_options o;
    sactag_options_init(&o);
    o.blocks = blocks, o.n_blocks = 1;
    o.fqns = fqn, o.n_fqns = fqn != NULL;
    return o;
}

static sactag_plan *decide(struct opened *x, const char *const *fqn)
{
    struct sactag_options o = options(fqn);
    sactag_plan *p = NULL;
    cr_assert_eq(sactag_decide(&p, x->m, &o, x->d), 0, "%s", sactag_diag_error(x->d));
    return p;
}

struct buffer {
    char *s;
    size_t n;
};

static int append(void *ctx, const char *text, size_t n)
{
    struct buffer *b = ctx;
    b->s = realloc(b->s, b->n + n + 1);
    memcpy(b->s + b->n, text, n);
    b->n += n;
    b->s[b->n] = 0;
    return 0;
}

/* The plan of a model as a file's text, with one piece replaced (NULL: none). */
static sactag_plan *plan_file(struct opened *x, const char *piece, const char *by)
{
    struct buffer text = {0};
    sactag_plan *p = decide(x, NULL), *file;

    cr_assert_eq(sactag_plan_to_json(p, NULL, append, &text, x->d), 0);
    sactag_plan_free(p);
    char *at = piece ? strstr(text.s, piece) : NULL;
    cr_assert(!piece || at, "%s", piece);
    char *changed = malloc(text.n + 256);
    if (at)
        sprintf(changed, "%.*s%s%s", (int)(at - text.s), text.s, by, at + strlen(piece));
    else
        strcpy(changed, text.s);
    cr_assert_eq(sactag_plan_from_text(&file, changed, strlen(changed), x->d), 0, "%s",
                 sactag_diag_error(x->d));
    free(changed);
    free(text.s);
    return file;
}

/* "policy:reason" of each row. */
static const char *policies(const sactag_plan *p)
{
    static char out[1024];
    size_t n = 0;
    struct sactag_row r;
    out[0] = 0;
    for (size_t i = 0; i < sactag_plan_count(p); i++) {
        sactag_plan_row(p, i, &r);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s:%.*s", i ? " " : "",
                              sactag_policy_name(r.policy), SACTAG_ARG(r.reason));
    }
    return out;
}

static struct opened tagged(struct opened *x, const sactag_plan *p, enum sactag_carrier carrier)
{
    struct sactag_write_options w;
    void *bytes;
    size_t n;
    sactag_write_options_init(&w);
    w.carrier = carrier;
    cr_assert_eq(sactag_tag_buffer(x->m, p, &bytes, &n, &w, x->d), 0, "%s", sactag_diag_error(x->d));
    return open_bytes(bytes, n);
}

#define SIX "save:odd:1 recompute:even:2 save:odd:3 save:odd:1 recompute:even:2 save:odd:3"

/* ---- apply ---- */

Test(apply, the_same_graph)
{
    struct opened x = open_graph(MODEL);
    sactag_plan *file = plan_file(&x, NULL, NULL), *p;

    cr_assert_eq(sactag_apply(&p, x.m, file, false, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_str_eq(policies(p), SIX);
    sactag_plan_free(p);
    sactag_plan_free(file);
    close_model(&x);
}

Test(apply, a_policy_changed_by_hand_is_tagged)
{
    struct opened x = open_graph(MODEL), t;
    sactag_plan *file = plan_file(&x, "\"policy\": \"save\"", "\"policy\": \"recompute\""), *p, *tags;
    struct sactag_summary s;

    cr_assert_eq(sactag_apply(&p, x.m, file, false, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_str_eq(policies(p),
                     "recompute:manual recompute:even:2 save:odd:3 save:odd:1 recompute:even:2 save:odd:3");
    sactag_plan_summary(p, &s);
    cr_assert(s.saved == 3 && s.recomputed == 3);
    t = tagged(&x, p, SACTAG_CARRIER_METADATA);
    cr_assert_eq(sactag_read_tags(&tags, t.m, t.d), 0);
    cr_assert_str_eq(policies(tags), policies(p));
    sactag_plan_free(tags);
    close_model(&t);
    sactag_plan_free(p);
    sactag_plan_free(file);
    close_model(&x);
}

static void apply_fails(const char *piece, const char *by, const char *what)
{
    struct opened x = open_graph(MODEL);
    sactag_plan *file = plan_file(&x, piece, by), *p = file;

    sactag_diag_clear(x.d);
    cr_expect_eq(sactag_apply(&p, x.m, file, false, x.d), SACTAG_EINPUT, "%s", what);
    cr_expect_null(p);
    cr_expect(strstr(sactag_diag_error(x.d), what), "expected '%s' in '%s'", what, sactag_diag_error(x.d));
    sactag_plan_free(file);
    close_model(&x);
}

Test(apply, rows_that_do_not_fit)
{
    apply_fails("\"index\": 1,", "\"index\": 99,",
                "line 11, column 1: rows[0]: the model has no mm at node 99 of graph '-'");
    apply_fails("\"index\": 1,", "\"index\": 0,", "rows[0]: the model has no mm at node 0");
    apply_fails("\"index\": 1, \"graph\": null", "\"index\": 1, \"graph\": \"/3:If/then_branch\"",
                "the model has no mm at node 1 of graph '/3:If/then_branch'");
    apply_fails(
        "\"node\": \"/layers.0/wq/MatMul\"", "\"node\": \"/layers.0/wk/MatMul\"",
        "rows[0]: node 1 is MatMul '/layers.0/wq/MatMul' in the model, not MatMul '/layers.0/wk/MatMul'");
    apply_fails("\"op\": \"MatMul\"", "\"op\": \"Gemm\"", "in the model, not Gemm");
}

/* Only policies may be edited: what tells which mm a row is must be the model's. */
Test(apply, rows_edited_into_others)
{
    apply_fails(
        "\"block\": \"layers.0\", \"call\"", "\"block\": \"layers.9\", \"call\"",
        "line 11, column 1: rows[0].block: found 'layers.9', but the model has 'layers.0': only policies "
        "may be edited");
    apply_fails("\"call\": 0", "\"call\": 5", "rows[0].call: found '5', but the model has '0'");
    apply_fails("\"rhs\": \"8x8\", \"policy\"", "\"rhs\": \"1x?\", \"policy\"",
                "rows[0].rhs: found '1x?', but the model has '8x8'");
    apply_fails("\"fqn\": \"layers.0.wq\"", "\"fqn\": \"junk\"",
                "rows[0].fqn: found 'junk', but the model has 'layers.0.wq'");
    apply_fails("\"fqn\": \"layers.0.wq\"", "\"fqn\": null", "rows[0].fqn: found '-', but the model has");
}

Test(apply, a_row_is_missing)
{
    struct opened x = open_graph(MODEL);
    struct buffer text = {0};
    sactag_plan *p = decide(&x, NULL), *file;

    cr_assert_eq(sactag_plan_to_json(p, NULL, append, &text, x.d), 0);
    sactag_plan_free(p);
    char *row = strstr(text.s, "{\"index\": 3,"), *next = strstr(text.s, "{\"index\": 5,");
    cr_assert(row && next);
    memmove(row, next, strlen(next) + 1);
    cr_assert_eq(sactag_plan_from_text(&file, text.s, strlen(text.s), x.d), 0);
    sactag_diag_clear(x.d);
    cr_assert_eq(sactag_apply(&p, x.m, file, false, x.d), SACTAG_EINPUT);
    cr_assert(strstr(sactag_diag_error(x.d), "the plan has no row for node 3"), "%s", sactag_diag_error(x.d));
    free(text.s);
    sactag_plan_free(file);
    close_model(&x);
}

Test(apply, another_graph)
{
    struct opened x = open_graph(MODEL), y = open_graph(LONGER);
    sactag_plan *file = plan_file(&x, "\"policy\": \"save\"", "\"policy\": \"recompute\""), *p;

    cr_assert_eq(sactag_apply(&p, y.m, file, false, y.d), SACTAG_EPOLICY);
    cr_assert_null(p);
    cr_assert(strstr(sactag_diag_error(y.d), "made for another graph"));
    sactag_diag_clear(y.d);
    cr_assert_eq(sactag_apply(&p, y.m, file, true, y.d), 0, "%s", sactag_diag_error(y.d));
    cr_assert_str_eq(policies(p),
                     "recompute:manual recompute:even:2 save:odd:3 save:odd:1 recompute:even:2 save:odd:3");
    cr_assert_eq(sactag_diag_count(y.d), 1);
    cr_assert_str_eq(sactag_diag_get(y.d, 0).text,
                     "rebased: 6 of 6 rows placed, 0 of them by their neighbours only");
    sactag_plan_free(p);
    sactag_plan_free(file);
    close_model(&x);
    close_model(&y);
}

Test(apply, rebase_tells_what_could_not_be_placed)
{
    struct opened x = open_graph(MODEL);
    struct opened y =
        open_graph("in x f32[2,8]\nparam layers.0.wq.weight f32[8,8]\nparam layers.0.new.weight f32[3,8]\n"
                   "tq = Transpose(layers.0.wq.weight) perm=[1,0]\nq = MatMul(x,tq)\n"
                   "tn = Transpose(layers.0.new.weight) perm=[1,0]\ny = MatMul(q,tn)\nout y\n");
    sactag_plan *file = plan_file(&x, NULL, NULL), *p;
    size_t placed = 0, missing = 0;

    cr_assert_eq(sactag_apply(&p, y.m, file, true, y.d), 0, "%s", sactag_diag_error(y.d));
    cr_assert_str_eq(policies(p), "save:odd:1 recompute:even:2");
    for (size_t i = 0; i < sactag_diag_count(y.d); i++) {
        struct sactag_message m = sactag_diag_get(y.d, i);
        missing +=
            m.level == SACTAG_WARNING && strstr(m.text, "could not be placed: the model has no such mm");
        placed +=
            strcmp(m.text,
                   "'layers.0.new' has no row in the plan: decided by the plan's options (recompute)") == 0;
    }
    cr_assert_eq(missing, 5);
    cr_assert_eq(placed, 1);
    sactag_plan_free(p);
    sactag_plan_free(file);
    close_model(&x);
    close_model(&y);
}

Test(apply, what_is_no_plan_file)
{
    struct opened x = open_graph(MODEL);
    sactag_plan *own = decide(&x, NULL), *tsv, *p;
    static const char text[] =
        "index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n";

    cr_assert_eq(sactag_apply(&p, x.m, own, false, x.d), SACTAG_EUSAGE);
    cr_assert_eq(sactag_plan_from_text(&tsv, text, sizeof text - 1, x.d), 0);
    cr_assert_eq(sactag_apply(&p, x.m, tsv, true, x.d), SACTAG_EUSAGE);
    cr_assert_null(p);
    sactag_plan_free(tsv);
    sactag_plan_free(own);
    close_model(&x);
}

/* A function's body cannot be saved for one call and recomputed for another. */
Test(apply, runs_of_one_node_that_disagree)
{
    struct opened x = open_graph("in x f32[2,8]\nparam a f32[8,8]\nparam b f32[8,8]\nparam c f32[8,8]\n"
                                 "h = local::F(x,a)\ni = local::F(h,b)\ny = local::F(i,c)\nout y\n"
                                 "function local::F(u,w) -> (v)\nv = MatMul(u,w)\nend\n");
    const char *const blocks[] = {"whole"};
    const struct sactag_shape forced[] = {{8, 8}};
    struct sactag_options o;
    struct buffer text = {0};
    sactag_plan *p, *file;
    void *bytes;
    size_t n;

    sactag_options_init(&o);
    o.blocks = blocks, o.n_blocks = 1;
    o.force_shapes = forced, o.n_force_shapes = 1;
    cr_assert_eq(sactag_decide(&p, x.m, &o, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_eq(sactag_plan_count(p), 3);
    cr_assert_eq(sactag_plan_to_json(p, NULL, append, &text, x.d), 0);
    sactag_plan_free(p);
    char *at = strstr(text.s, "\"policy\": \"recompute\", \"reason\"");
    cr_assert_not_null(at);
    memcpy(at, "\"policy\":      \"save\", \"reason\"", 30);
    cr_assert_eq(sactag_plan_from_text(&file, text.s, text.n, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_eq(sactag_apply(&p, x.m, file, false, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_eq(sactag_tag_buffer(x.m, p, &bytes, &n, NULL, x.d), SACTAG_EPOLICY);
    sactag_plan_free(p);
    sactag_plan_free(file);
    free(text.s);
    close_model(&x);
}

/* ---- tags as a plan ---- */

Test(apply, tags_with_names_and_shapes)
{
    struct opened x = open_graph(MODEL), t;
    sactag_plan *p = decide(&x, NULL), *tags;
    struct sactag_row r;
    void *bytes;
    size_t n;

    t = tagged(&x, p, SACTAG_CARRIER_ATTRIBUTE);
    cr_assert_eq(sactag_decide_tagged(&tags, t.m, NULL, t.d), 0, "%s", sactag_diag_error(t.d));
    cr_assert_str_eq(policies(tags),
                     "save: recompute: save: save: recompute: save:"); /* attributes have no reason */
    sactag_plan_row(tags, 1, &r);
    cr_assert(r.fqn.n == 11 && memcmp(r.fqn.s, "layers.0.wk", 11) == 0 && r.rhs.k == 8 && r.rhs.n == 4);
    cr_assert_eq(sactag_tag_buffer(t.m, tags, &bytes, &n, NULL, t.d), SACTAG_EUSAGE);
    sactag_plan_free(tags);
    close_model(&t);
    sactag_plan_free(p);
    close_model(&x);
}

/* ---- check ---- */

/* "kind: text" of each problem, one a line. */
static const char *problems(struct opened *x, const struct sactag_options *o)
{
    static char out[4096];
    sactag_problems *list;
    size_t n = 0;

    out[0] = 0;
    cr_assert_eq(sactag_check(&list, x->m, o, x->d), 0, "%s", sactag_diag_error(x->d));
    for (size_t i = 0; i < sactag_problems_count(list); i++) {
        struct sactag_problem p = sactag_problems_get(list, i);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s: %.*s\n", sactag_problem_name(p.kind),
                              SACTAG_ARG(p.text));
    }
    sactag_problems_free(list);
    return out;
}

static void checks(const char *graph, const char *want)
{
    struct opened x = open_graph(graph);
    struct sactag_options o = options(NULL);
    const char *got = problems(&x, &o);
    cr_expect_str_eq(got, want, "expected\n%sbut found\n%s", want, got);
    close_model(&x);
}

Test(apply, check_what_tag_wrote)
{
    static const enum sactag_carrier carriers[] = {SACTAG_CARRIER_METADATA, SACTAG_CARRIER_ATTRIBUTE,
                                                   SACTAG_CARRIER_POPART};
    const char *fqn = "wq";
    struct opened x = open_graph(MODEL), t;
    sactag_plan *p = decide(&x, NULL);
    struct sactag_options other = options(&fqn), same = options(NULL);

    for (int i = 0; i < 3; i++) {
        t = tagged(&x, p, carriers[i]);
        cr_expect_str_eq(problems(&t, NULL), "");
        cr_expect_str_eq(problems(&t, &same), "");
        const char *reason[] = {" (odd:1)", "", ""}, *even[] = {" (even:2)", "", ""},
                   *third[] = {" (odd:3)", "", ""};
        char want[1024] = "";
        for (int b = 0; b < 2; b++)
            snprintf(want + strlen(want), sizeof want - strlen(want),
                     "stale: layers.%d.wq: the tag says save%s, the policy says recompute (forced:8x8:wq)\n"
                     "stale: layers.%d.wk: the tag says recompute%s, the policy says save (odd:1)\n"
                     "stale: layers.%d.wo: the tag says save%s, the policy says recompute (even:2)\n",
                     b, reason[i], b, even[i], b, third[i]);
        cr_expect_str_eq(problems(&t, &other), want);
        close_model(&t);
    }
    sactag_plan_free(p);
    close_model(&x);
}

Test(apply, check_a_model_without_tags)
{
    checks(MODEL, "not-tagged: the model carries no tags\n");
}

#define TAG(policy, reason, region)                                                                          \
    " meta:sac.policy=`" policy "` meta:sac.reason=`" reason "` meta:sac.region=`" region "`\n"
#define ONE(first, second, third)                                                                            \
    "in x f32[2,8]\nparam layers.0.wq.weight f32[8,8]\nparam layers.0.wk.weight f32[4,8]\n"                  \
    "tq = Transpose(layers.0.wq.weight) perm=[1,0]" third "q = MatMul(x,tq)" first                           \
    "tk = Transpose(layers.0.wk.weight) perm=[1,0]\ny = MatMul(q,tk)" second "out y\n"
#define NO_PLAN "graph-changed: sac.plan is lost: which regions the tags belong to is not known\n"

Test(apply, check_tags_one_by_one)
{
    checks(ONE(TAG("save", "odd:1", "layers.0#0"), TAG("recompute", "even:2", "layers.0#0"), "\n"), NO_PLAN);
    checks(ONE("\n", TAG("recompute", "even:2", "layers.0#0"), "\n"),
           NO_PLAN "lost: layers.0.wq: no tag; the policy says save (odd:1)\n");
    checks(ONE(TAG("save", "even:1", "layers.0#0"), TAG("save", "even:2", "layers.0#0"), "\n"),
           NO_PLAN "contradicting: layers.0.wq: the tag says save, but its reason is even:1\n"
                   "contradicting: layers.0.wk: the tag says save, but its reason is even:2\n");
    checks(ONE(TAG("save", "odd:1", "layers.7#0"), TAG("recompute", "even:2", "layers.0#3"), "\n"),
           NO_PLAN "stale: layers.0.wq: the tag says region layers.7#0, the policy layers.0#0\n"
                   "stale: layers.0.wk: the tag says region layers.0#3, the policy layers.0#0\n");
    checks(ONE(TAG("save", "odd:1", "layers.0#0"), TAG("recompute", "even:2", "layers.0#0"),
               TAG("save", "odd:9", "layers.0#0")),
           NO_PLAN "unknown: tq: the tag says save, but the policy finds no mm here\n");
    checks(ONE(TAG("recompute", "manual", "layers.0#0"), TAG("recompute", "even:2", "layers.0#0"), "\n"),
           NO_PLAN);
}

/* Where a tag says that an mm is counts, not where the policy has it. */
Test(apply, regions_are_the_tags_own)
{
    struct opened x =
        open_graph(ONE(TAG("save", "odd:1", "layers.0#0"), TAG("recompute", "even:2", "layers.0#0"), "\n"));
    struct opened y =
        open_graph(ONE(TAG("save", "odd:1", "layers.7#0"), TAG("recompute", "even:2", "layers.0#3"), "\n"));
    struct opened z =
        open_graph(ONE(TAG("save", "odd:1", "layers.7#1"), TAG("recompute", "even:2", "layers.7#0"), "\n"));
    struct sactag_options o = options(NULL);
    sactag_plan *a, *b, *c;
    sactag_changes *ab, *bc;
    struct sactag_row r;
    struct sactag_block block;

    cr_assert_eq(sactag_decide_tagged(&a, x.m, &o, x.d), 0, "%s", sactag_diag_error(x.d));
    cr_assert_eq(sactag_decide_tagged(&b, y.m, &o, y.d), 0, "%s", sactag_diag_error(y.d));
    cr_assert_eq(sactag_decide_tagged(&c, z.m, &o, z.d), 0, "%s", sactag_diag_error(z.d));
    sactag_plan_row(b, 0, &r);
    cr_expect(r.block.n == 8 && memcmp(r.block.s, "layers.7", 8) == 0 && r.call == 0 && r.block_index == 1);
    sactag_plan_row(b, 1, &r);
    cr_expect(r.block.n == 8 && memcmp(r.block.s, "layers.0", 8) == 0 && r.call == 3 && r.block_index == 0);
    cr_assert_eq(sactag_plan_block_count(b), 2);
    sactag_plan_block(b, 1, &block);
    cr_expect(block.calls == 1 && block.saved == 1 && block.recomputed == 0 && block.n_forced == 0);
    cr_assert_eq(sactag_plan_block_count(c), 2);
    sactag_plan_block(c, 1, &block);
    cr_expect(block.calls == 2 && block.saved == 1 && block.recomputed == 1);
    cr_assert_eq(sactag_diff(&ab, a, b, NULL), 0);
    cr_assert_eq(sactag_changes_summary(ab).changed, 2);
    cr_expect_eq(sactag_changes_get(ab, 0).differs, SACTAG_DIFFERS_BLOCK);
    cr_assert_eq(sactag_diff(&bc, b, c, NULL), 0);
    cr_expect_eq(sactag_changes_summary(bc).changed, 2);
    sactag_changes_free(ab);
    sactag_changes_free(bc);
    sactag_plan_free(a);
    sactag_plan_free(b);
    sactag_plan_free(c);
    close_model(&x);
    close_model(&y);
    close_model(&z);
}

/* A tool added a node and kept the tags. */
Test(apply, check_a_graph_that_was_changed)
{
    struct opened x = open_graph(MODEL), t, u;
    sactag_plan *p = decide(&x, NULL);
    void *bytes;
    size_t n;

    t = tagged(&x, p, SACTAG_CARRIER_METADATA);
    struct pb more = graph_bytes("extra = Relu(x)\n"), joined = {0};
    cr_assert_eq(sactag_strip_buffer(t.m, &bytes, &n, NULL, t.d), 0);
    free(bytes);
    sactag_plan_free(p);
    struct sactag_info info;
    sactag_get_info(t.m, &info);
    pb_raw(&joined, t.bytes, (size_t)info.bytes);
    pb_raw(&joined, more.b, more.n); /* protobuf merges the two graphs */
    free(more.b);
    u = open_bytes(joined.b, joined.n);
    cr_assert(strstr(problems(&u, NULL), "graph-changed: the graph was changed since it was tagged\n"));
    close_model(&u);
    close_model(&t);
    close_model(&x);
}

Test(apply, names_of_problems)
{
    cr_assert_str_eq(sactag_problem_name(SACTAG_NOT_TAGGED), "not-tagged");
    cr_assert_str_eq(sactag_problem_name(SACTAG_UNKNOWN), "unknown");
    cr_assert_str_eq(sactag_problem_name((enum sactag_problem_kind)99), "?");
}
