/* The public API as a user sees it: only sactag.h is included. */
#include "sactag.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOY                                                                                                  \
    "tests/cases/toy/model_train.onnx" /* layers.0: moe.router.gate and attention.wq 32x32, output 32x64 */

static bool is(struct sactag_text t, const char *z)
{
    return t.n == strlen(z) && memcmp(t.s, z, t.n) == 0;
}

#define assert_text(t, z) cr_assert(is(t, z), "expected '%s' but found '%.*s'", z, SACTAG_ARG(t))

static sactag_diag *new_diag(void)
{
    sactag_diag *d = sactag_diag_new();
    cr_assert_not_null(d);
    return d;
}

static sactag_model *open_model(const char *path)
{
    sactag_model *m = NULL;
    sactag_diag *d = new_diag();
    int e = sactag_open(&m, path, NULL, d);
    cr_assert_eq(e, 0, "%s: %s", path, sactag_diag_error(d));
    cr_assert_not_null(m);
    sactag_diag_free(d); /* the model may be used on, with another diag or none */
    return m;
}

static sactag_plan *decide(sactag_model *m, const char *fqn)
{
    struct sactag_options o;
    sactag_plan *p = NULL;
    sactag_diag *d = new_diag();

    sactag_options_init(&o);
    o.fqns = &fqn;
    o.n_fqns = fqn != NULL;
    int e = sactag_decide(&p, m, &o, d);
    cr_assert_eq(e, 0, "%s", sactag_diag_error(d));
    cr_assert_not_null(p);
    sactag_diag_free(d);
    return p;
}

static void *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    rewind(f);
    void *bytes = malloc((size_t)size + 1);
    cr_assert_not_null(bytes);
    cr_assert_eq(fread(bytes, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    *n = (size_t)size;
    return bytes;
}

static void assert_same_file(const char *path, const void *bytes, size_t n)
{
    size_t m;
    void *found = read_file(path, &m);
    cr_assert_eq(m, n, "%s: expected %zu bytes but found %zu", path, n, m);
    cr_assert_eq(memcmp(found, bytes, n), 0, "%s differs", path);
    free(found);
}

/* ---- small things ---- */

Test(api, version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SACTAG_VERSION_MAJOR, SACTAG_VERSION_MINOR, SACTAG_VERSION_PATCH);
    cr_assert_str_eq(sactag_version(), text);
    cr_assert_str_eq(SACTAG_VERSION, text);
}

Test(api, exit_codes)
{
    cr_assert_eq(sactag_exit_code(SACTAG_OK), 0);
    cr_assert_eq(sactag_exit_code(SACTAG_EUSAGE), 2);
    cr_assert_eq(sactag_exit_code(SACTAG_EPOLICY), 3);
    cr_assert_eq(sactag_exit_code(SACTAG_EINPUT), 4);
    cr_assert_eq(sactag_exit_code(SACTAG_EIO), 5);
    cr_assert_eq(sactag_exit_code(SACTAG_EMEM), 5);
}

Test(api, names)
{
    cr_assert_str_eq(sactag_policy_name(SACTAG_NONE), "none");
    cr_assert_str_eq(sactag_policy_name(SACTAG_SAVE), "save");
    cr_assert_str_eq(sactag_policy_name(SACTAG_RECOMPUTE), "recompute");
    cr_assert_str_eq(sactag_policy_name((enum sactag_policy)7), "?");
    cr_assert_str_eq(sactag_evidence_name(SACTAG_EV_NONE), "-");
    cr_assert_str_eq(sactag_evidence_name(SACTAG_EV_PARAM), "param");
    cr_assert_str_eq(sactag_evidence_name(SACTAG_EV_NEIGHBOUR), "neighbour");
    cr_assert_str_eq(sactag_evidence_name((enum sactag_evidence)9), "?");
}

Test(api, escape)
{
    char out[32];
    struct sactag_text t = {"a\tb\n\\\xff\x1b", 7};

    cr_assert_eq(sactag_escape(out, sizeof out, t), 16);
    cr_assert_str_eq(out, "a\\tb\\n\\\\\\xff\\x1b");
    cr_assert_eq(sactag_escape(NULL, 0, t), 16, "the length is told without room");
    cr_assert_eq(sactag_escape(out, sizeof out, (struct sactag_text){NULL, 0}), 0);
    cr_assert_str_eq(out, "");
}

/* ---- diagnostics ---- */

Test(api, diag_is_empty_at_first)
{
    sactag_diag *d = new_diag();
    cr_assert_eq(sactag_diag_count(d), 0);
    cr_assert_eq(sactag_diag_dropped(d), 0);
    cr_assert_str_eq(sactag_diag_error(d), "");
    sactag_diag_free(d);
}

Test(api, diag_keeps_an_error_until_cleared)
{
    sactag_diag *d = new_diag();
    sactag_model *m = NULL;

    cr_assert_eq(sactag_open_buffer(&m, "", 0, NULL, d), SACTAG_EINPUT);
    cr_assert_geq(sactag_diag_count(d), 1);
    struct sactag_message message = sactag_diag_get(d, 0);
    cr_assert_eq(message.level, SACTAG_ERROR);
    cr_assert_eq(message.status, SACTAG_EINPUT);
    cr_assert(strstr(message.text, "empty"), "found: %s", message.text);
    cr_assert_neq(sactag_diag_error(d)[0], 0);
    sactag_diag_clear(d);
    cr_assert_eq(sactag_diag_count(d), 0);
    cr_assert_str_eq(sactag_diag_error(d), "");
    sactag_diag_free(d);
}

Test(api, diag_may_be_null)
{
    sactag_model *m = NULL;

    cr_assert_eq(sactag_open(&m, "tests/no-such-file", NULL, NULL), SACTAG_EIO);
    cr_assert_null(m);
    cr_assert_eq(sactag_open(&m, TOY, NULL, NULL), 0);
    struct sactag_options o;
    sactag_options_init(&o);
    sactag_plan *p = NULL;
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    sactag_plan_free(p);
    sactag_close(m);
    sactag_diag_free(NULL);
    sactag_diag_clear(NULL);
    cr_assert_eq(sactag_diag_count(NULL), 0);
    cr_assert_eq(sactag_diag_dropped(NULL), 0);
    cr_assert_str_eq(sactag_diag_error(NULL), "");
    sactag_close(NULL);
    sactag_plan_free(NULL);
}

Test(api, message_text_names_the_place)
{
    struct sactag_message m = {SACTAG_ERROR, SACTAG_EINPUT, "expected X but found Y", NULL, NULL, UINT64_MAX};
    char out[128], small[16];

    cr_assert_eq(sactag_message_text(out, sizeof out, &m), 22);
    cr_assert_str_eq(out, "expected X but found Y");
    m.offset = 12;
    sactag_message_text(out, sizeof out, &m);
    cr_assert_str_eq(out, "expected X but found Y (offset 12)");
    m.field = "graph.node[3]";
    sactag_message_text(out, sizeof out, &m);
    cr_assert_str_eq(out, "expected X but found Y (field graph.node[3], offset 12)");
    m.node = "n";
    cr_assert_eq(sactag_message_text(out, sizeof out, &m), 65);
    cr_assert_str_eq(out, "expected X but found Y (node 'n', field graph.node[3], offset 12)");
    cr_assert_eq(sactag_message_text(small, sizeof small, &m), 65, "the whole length");
    cr_assert_str_eq(small, "expected X but ");
    cr_assert_eq(sactag_message_text(NULL, 0, &m), 65);
}

/* ---- opening ---- */

Test(api, open_tells_why_not)
{
    static const struct {
        const char *path;
        int status;
        const char *text; /* in the message */
    } bad[] = {
        {"tests/no-such-file", SACTAG_EIO, "No such file"},
        {"tests", SACTAG_EIO, "directory"},
        {"Makefile", SACTAG_EINPUT, "no ONNX model"},
    };
    sactag_diag *d = new_diag();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sactag_model *m = (sactag_model *)d; /* must become NULL */
        cr_assert_eq(sactag_open(&m, bad[i].path, NULL, d), bad[i].status, "%s", bad[i].path);
        cr_assert_null(m);
        cr_assert(strstr(sactag_diag_error(d), bad[i].text), "%s: found: %s", bad[i].path,
                  sactag_diag_error(d));
        sactag_diag_clear(d);
    }
    sactag_diag_free(d);
}

Test(api, open_refuses_what_is_over_a_limit)
{
    static const struct sactag_limits limits[] = {{.max_nodes = 2}, {.max_memory = 1000}};
    sactag_diag *d = new_diag();

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        sactag_model *m = NULL;
        cr_assert_eq(sactag_open(&m, TOY, &limits[i], d), SACTAG_EINPUT, "limit %zu: %s", i,
                     sactag_diag_error(d));
        cr_assert_null(m);
        sactag_diag_clear(d);
    }
    sactag_diag_free(d);
}

static void assert_is_toy(sactag_model *m, size_t bytes)
{
    struct sactag_info info;

    sactag_get_info(m, &info);
    cr_assert_str_eq(info.format, "onnx");
    cr_assert_eq(info.ir_version, 8);
    cr_assert_eq(info.opset, 17);
    assert_text(info.producer, "pytorch");
    assert_text(info.producer_version, "2.6.0");
    cr_assert_eq(info.bytes, bytes);
    cr_assert_eq(info.nodes, 7); /* three times Transpose and MatMul, and a ReduceSum */
    cr_assert_eq(info.graphs, 1);
    cr_assert(!info.tagged);
    cr_assert(!info.external_data);
}

Test(api, a_path_a_descriptor_and_a_buffer_open_the_same_model)
{
    size_t n;
    void *bytes = read_file(TOY, &n);
    sactag_model *m = open_model(TOY);

    assert_is_toy(m, n);
    sactag_close(m);

    int fd = open(TOY, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(sactag_open_fd(&m, fd, "toy", NULL, NULL), 0);
    assert_is_toy(m, n);
    sactag_close(m);
    cr_assert_eq(fcntl(fd, F_GETFD) >= 0, 1, "the descriptor stays the caller's");
    close(fd);

    cr_assert_eq(sactag_open_buffer(&m, bytes, n, NULL, NULL), 0);
    assert_is_toy(m, n);
    sactag_close(m);
    free(bytes);
}

Test(api, a_pipe_is_spooled)
{
    int fds[2];
    size_t n;
    char *bytes = read_file(TOY, &n);
    sactag_model *m = NULL;

    cr_assert_eq(pipe(fds), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        close(fds[0]);
        for (size_t at = 0; at < n;) {
            ssize_t w = write(fds[1], bytes + at, n - at);
            if (w <= 0)
                _exit(1);
            at += (size_t)w;
        }
        _exit(0);
    }
    close(fds[1]);
    cr_assert_eq(sactag_open_fd(&m, fds[0], "pipe", NULL, NULL), 0);
    assert_is_toy(m, n);
    sactag_close(m);
    close(fds[0]);
    free(bytes);
}

Test(api, info_sees_external_data)
{
    struct sactag_info info;
    sactag_model *m = open_model("tests/cases/toy/model_external.onnx");

    sactag_get_info(m, &info);
    cr_assert(info.external_data);
    sactag_close(m);
}

/* ---- deciding ---- */

Test(api, options_that_make_no_sense)
{
    static const char *const empty[] = {""}, *const null[] = {NULL}, *const dots[] = {"layers..0"},
                             *const mixed[] = {"layers.*", "whole"}, *const autos[] = {"auto", "auto"};
    static const struct sactag_shape zero = {0, 4}, negative = {4, -1};
    const struct {
        struct sactag_options o;
        const char *text;
    } bad[] = {
        {{.fqns = empty, .n_fqns = 1}, "FQN"},
        {{.fqns = null, .n_fqns = 1}, "FQN"},
        {{.mm_ops = empty, .n_mm_ops = 1}, "mm operator"},
        {{.blocks = empty, .n_blocks = 1}, "block pattern"},
        {{.blocks = dots, .n_blocks = 1}, "empty segment"},
        {{.blocks = mixed, .n_blocks = 2}, "'whole' cannot be combined"},
        {{.blocks = autos, .n_blocks = 2}, "'auto' cannot be combined"},
        {{.force_shapes = &zero, .n_force_shapes = 1}, "0x4"},
        {{.force_shapes = &negative, .n_force_shapes = 1}, "4x-1"},
        {{.match = (enum sactag_match)4}, "match: 4"},
        {{.mm_rule = (enum sactag_mm_rule)3}, "mm_rule: 3"},
        {{.profile = (enum sactag_profile)2}, "profile: 2"},
        {{.order = (enum sactag_order)2}, "order: 2"},
    };
    sactag_model *m = open_model(TOY);
    sactag_diag *d = new_diag();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sactag_plan *p = (sactag_plan *)m; /* must become NULL */
        cr_assert_eq(sactag_decide(&p, m, &bad[i].o, d), SACTAG_EUSAGE, "%s", bad[i].text);
        cr_assert_null(p);
        cr_assert(strstr(sactag_diag_error(d), bad[i].text), "expected '%s' but found: %s", bad[i].text,
                  sactag_diag_error(d));
        sactag_diag_clear(d);
    }
    sactag_diag_free(d);
    sactag_close(m);
}

Test(api, rows)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "moe.router.gate");
    struct sactag_row r;

    cr_assert_eq(sactag_plan_count(p), 3);
    sactag_plan_row(p, 0, &r);
    cr_assert_eq(r.index, 1);
    assert_text(r.graph, "-");
    assert_text(r.node, "/layers.0/gate/MatMul");
    assert_text(r.output, "/layers.0/gate/MatMul_output_0");
    assert_text(r.op, "MatMul");
    assert_text(r.block, "layers.0");
    cr_assert_eq(r.block_index, 0);
    cr_assert_eq(r.call, 0);
    assert_text(r.fqn, "layers.0.moe.router.gate");
    cr_assert_eq(r.evidence, SACTAG_EV_PARAM);
    cr_assert_eq(r.rhs.k, 32);
    cr_assert_eq(r.rhs.n, 32);
    cr_assert_eq(r.policy, SACTAG_RECOMPUTE);
    assert_text(r.reason, "forced:32x32:moe.router.gate");
    sactag_plan_row(p, 1, &r);
    assert_text(r.fqn, "layers.0.attention.wq");
    cr_assert_eq(r.policy, SACTAG_RECOMPUTE); /* the same shape */
    sactag_plan_row(p, 2, &r);
    assert_text(r.fqn, "layers.0.output");
    cr_assert_eq(r.rhs.n, 64);
    cr_assert_eq(r.policy, SACTAG_SAVE);
    assert_text(r.reason, "odd:1");
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, blocks_and_what_they_force)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "moe.router.gate");
    struct sactag_block b;

    cr_assert_eq(sactag_plan_block_count(p), 1);
    sactag_plan_block(p, 0, &b);
    assert_text(b.fqn, "layers.0");
    cr_assert_eq(b.calls, 1);
    cr_assert_eq(b.saved, 1);
    cr_assert_eq(b.recomputed, 2);
    cr_assert_eq(b.forced_rows, 2);
    cr_assert_eq(b.n_forced, 1);
    cr_assert_eq(b.forced[0].rhs.k, 32);
    cr_assert_eq(b.forced[0].rhs.n, 32);
    assert_text(b.forced[0].fqn, "moe.router.gate");
    assert_text(b.forced[0].also, "attention.wq");
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, summary)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "moe.router.gate");
    struct sactag_summary s;

    sactag_plan_summary(p, &s);
    cr_assert_eq(s.rows, 3);
    cr_assert_eq(s.saved, 1);
    cr_assert_eq(s.recomputed, 2);
    cr_assert_eq(s.forced, 2);
    cr_assert_eq(s.addmm, 0);
    cr_assert_eq(s.outside, 0);
    cr_assert_eq(s.evidence[SACTAG_EV_PARAM], 3);
    cr_assert_eq(s.rules_differ, 0);
    cr_assert_eq(s.mm_rule, SACTAG_MM_ONNX);
    cr_assert_str_eq(s.blocks_how, "auto");
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, linears)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, NULL);
    struct sactag_linear l;

    cr_assert_eq(sactag_plan_linear_count(p), 3);
    for (size_t i = 0; i < 3; i++) {
        sactag_plan_linear(p, i, &l);
        assert_text(l.block, "layers.0");
        if (!is(l.fqn, "layers.0.output"))
            continue;
        assert_text(l.weight, "layers.0.output.weight");
        cr_assert_eq(l.in, 32);
        cr_assert_eq(l.out, 64);
        cr_assert_eq(l.evidence, SACTAG_EV_PARAM);
        sactag_plan_free(p);
        sactag_close(m);
        return;
    }
    cr_assert_fail("layers.0.output is not listed");
}

Test(api, a_forced_shape_has_no_name)
{
    static const struct sactag_shape shape = {32, 64};
    struct sactag_options o;
    sactag_model *m = open_model(TOY);
    sactag_plan *p = NULL;
    struct sactag_block b;

    sactag_options_init(&o);
    o.force_shapes = &shape;
    o.n_force_shapes = 1;
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    sactag_plan_block(p, 0, &b);
    cr_assert_eq(b.n_forced, 1);
    cr_assert_eq(b.forced[0].rhs.n, 64);
    cr_assert_null(b.forced[0].fqn.s);
    cr_assert_eq(b.forced_rows, 1);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, the_whole_graph_is_one_block)
{
    static const char *const whole[] = {"whole"};
    struct sactag_options o;
    sactag_model *m = open_model(TOY);
    sactag_plan *p = NULL;
    struct sactag_summary s;

    sactag_options_init(&o);
    o.blocks = whole;
    o.n_blocks = 1;
    cr_assert_eq(sactag_decide(&p, m, &o, NULL), 0);
    sactag_plan_summary(p, &s);
    cr_assert_str_eq(s.blocks_how, "whole");
    cr_assert_eq(sactag_plan_block_count(p), 1);
    cr_assert_eq(s.outside, 0);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, no_options_are_the_defaults)
{
    sactag_model *m = open_model(TOY);
    struct sactag_options defaults;
    sactag_plan *a, *b;
    sactag_changes *c;
    void *bytes;
    size_t n;

    sactag_options_init(&defaults);
    cr_assert_eq(sactag_decide(&a, m, NULL, NULL), 0);
    cr_assert_eq(sactag_decide(&b, m, &defaults, NULL), 0);
    cr_assert_eq(sactag_diff(&c, a, b, NULL), 0);
    cr_assert_eq(sactag_changes_summary(c).same, 3);
    cr_assert_eq(sactag_changes_count(c), 3);
    cr_assert_eq(sactag_tag_buffer(m, a, &bytes, &n, NULL, NULL), 0);
    free(bytes);
    sactag_changes_free(c);
    sactag_plan_free(a);
    sactag_plan_free(b);
    sactag_close(m);
}

Test(api, what_is_no_linear_is_a_policy_error)
{
    const char *fqn = "moe";
    struct sactag_options o;
    sactag_model *m = open_model(TOY);
    sactag_plan *p = (sactag_plan *)m;
    sactag_diag *d = new_diag();

    sactag_options_init(&o);
    o.fqns = &fqn;
    o.n_fqns = 1;
    cr_assert_eq(sactag_decide(&p, m, &o, d), SACTAG_EPOLICY);
    cr_assert_null(p);
    cr_assert(strstr(sactag_diag_error(d), "moe"), "found: %s", sactag_diag_error(d));
    sactag_diag_free(d);
    sactag_close(m);
}

Test(api, one_model_has_several_plans)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *a = decide(m, "moe.router.gate"), *b = decide(m, NULL);
    struct sactag_row r;

    sactag_plan_row(a, 0, &r);
    cr_assert_eq(r.policy, SACTAG_RECOMPUTE);
    sactag_plan_row(b, 0, &r);
    cr_assert_eq(r.policy, SACTAG_SAVE);
    sactag_plan_free(a);
    sactag_plan_row(b, 1, &r);
    cr_assert_eq(r.policy, SACTAG_RECOMPUTE);
    sactag_plan_free(b);
    sactag_close(m);
}

/* ---- writing ---- */

static void *tag_bytes(const void *bytes, size_t n, enum sactag_carrier carrier, size_t *n_out)
{
    struct sactag_write_options w;
    sactag_model *m = NULL;
    void *out = NULL;

    cr_assert_eq(sactag_open_buffer(&m, bytes, n, NULL, NULL), 0);
    sactag_plan *p = decide(m, "moe.router.gate");
    sactag_write_options_init(&w);
    w.carrier = carrier;
    cr_assert_eq(sactag_tag_buffer(m, p, &out, n_out, &w, NULL), 0);
    cr_assert_not_null(out);
    sactag_plan_free(p);
    sactag_close(m);
    return out;
}

Test(api, stripping_a_tagged_buffer_gives_the_same_bytes)
{
    size_t n;
    void *bytes = read_file(TOY, &n);

    for (int c = SACTAG_CARRIER_METADATA; c <= SACTAG_CARRIER_POPART; c++) {
        size_t n_tagged, n_stripped;
        void *tagged = tag_bytes(bytes, n, (enum sactag_carrier)c, &n_tagged), *stripped = NULL;
        struct sactag_info info;
        sactag_model *m = NULL;

        cr_assert_gt(n_tagged, n);
        cr_assert_eq(sactag_open_buffer(&m, tagged, n_tagged, NULL, NULL), 0);
        sactag_get_info(m, &info);
        cr_assert(info.tagged);
        cr_assert_eq(sactag_strip_buffer(m, &stripped, &n_stripped, NULL, NULL), 0);
        cr_assert_eq(n_stripped, n);
        cr_assert_eq(memcmp(stripped, bytes, n), 0);
        sactag_close(m);
        free(stripped);
        free(tagged);
    }
    free(bytes);
}

Test(api, tagging_twice_is_tagging_once)
{
    size_t n, n1, n2;
    void *bytes = read_file(TOY, &n);
    void *once = tag_bytes(bytes, n, SACTAG_CARRIER_METADATA, &n1);
    void *other = tag_bytes(bytes, n, SACTAG_CARRIER_POPART, &n2);
    size_t n3;
    void *twice = tag_bytes(other, n2, SACTAG_CARRIER_METADATA, &n3);

    cr_assert_eq(n3, n1);
    cr_assert_eq(memcmp(twice, once, n1), 0);
    free(bytes);
    free(once);
    free(other);
    free(twice);
}

Test(api, the_digest_does_not_see_tags)
{
    size_t n, n_tagged;
    void *bytes = read_file(TOY, &n);
    void *tagged = tag_bytes(bytes, n, SACTAG_CARRIER_METADATA, &n_tagged);
    char plain[33] = "", with_tags[33] = "", other[33] = "";
    sactag_model *m = open_model(TOY);

    cr_assert_eq(sactag_digest(m, plain, NULL), 0);
    sactag_close(m);
    cr_assert_eq(sactag_open_buffer(&m, tagged, n_tagged, NULL, NULL), 0);
    cr_assert_eq(sactag_digest(m, with_tags, NULL), 0);
    sactag_close(m);
    m = open_model("tests/cases/toy/model_folded.onnx");
    cr_assert_eq(sactag_digest(m, other, NULL), 0);
    sactag_close(m);
    cr_assert_eq(strlen(plain), 32);
    cr_assert_eq(strspn(plain, "0123456789abcdef"), 32);
    cr_assert_str_eq(with_tags, plain);
    cr_assert_str_neq(other, plain);
    free(bytes);
    free(tagged);
}

Test(api, tags_are_read_back)
{
    static const char *const carriers[] = {"metadata", "attribute", "popart"};
    size_t n, n_tagged;
    void *bytes = read_file(TOY, &n);

    for (int c = SACTAG_CARRIER_METADATA; c <= SACTAG_CARRIER_POPART; c++) {
        void *tagged = tag_bytes(bytes, n, (enum sactag_carrier)c, &n_tagged);
        static const enum sactag_policy want[] = {SACTAG_RECOMPUTE, SACTAG_RECOMPUTE, SACTAG_SAVE};
        sactag_model *m = NULL;
        sactag_plan *p = NULL;

        cr_assert_eq(sactag_open_buffer(&m, tagged, n_tagged, NULL, NULL), 0);
        cr_assert_eq(sactag_read_tags(&p, m, NULL), 0);
        cr_assert_eq(sactag_plan_count(p), 3);
        struct sactag_summary s;
        sactag_plan_summary(p, &s);
        cr_assert_str_eq(s.carrier, carriers[c]);
        for (size_t i = 0; i < 3; i++) {
            struct sactag_row r;
            sactag_plan_row(p, i, &r);
            cr_assert_eq(r.index, 1 + 2 * i);
            cr_assert_eq(r.policy, want[i]);
            assert_text(r.op, "MatMul");
            if (c != SACTAG_CARRIER_POPART)
                assert_text(r.block, "layers.0");
            if (c == SACTAG_CARRIER_METADATA)
                assert_text(r.reason, i == 2 ? "odd:1" : "forced:32x32:moe.router.gate");
        }
        sactag_plan_free(p);
        sactag_close(m);
        free(tagged);
    }
    free(bytes);
}

Test(api, an_untagged_model_has_no_tags)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = NULL;

    cr_assert_eq(sactag_read_tags(&p, m, NULL), 0);
    cr_assert_eq(sactag_plan_count(p), 0);
    cr_assert_eq(sactag_plan_block_count(p), 0);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, files_are_written_and_stripped_in_place)
{
    char dir[] = "/tmp/sactag-test-XXXXXX", path[64];
    struct sactag_write_options w;
    size_t n;
    void *bytes = read_file(TOY, &n);
    sactag_diag *d = new_diag();
    struct stat st;

    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/out.onnx", dir);
    sactag_write_options_init(&w);
    w.no_sync = true;
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, NULL);
    cr_assert_eq(sactag_tag_file(m, p, path, &w, d), 0, "%s", sactag_diag_error(d));
    sactag_plan_free(p);
    sactag_close(m);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_gt(st.st_size, (off_t)n);

    m = open_model(path);
    cr_assert_eq(sactag_strip_file(m, path, &w, d), 0, "%s", sactag_diag_error(d));
    sactag_close(m);
    assert_same_file(path, bytes, n);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(dir), 0, "something was left behind");
    sactag_diag_free(d);
    free(bytes);
}

Test(api, a_descriptor_is_written_through)
{
    FILE *f = tmpfile();
    size_t n, n_tagged;
    void *bytes = read_file(TOY, &n);
    void *tagged = tag_bytes(bytes, n, SACTAG_CARRIER_METADATA, &n_tagged);
    char *found = malloc(n_tagged + 1);
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "moe.router.gate");

    cr_assert_not_null(f);
    cr_assert_not_null(found);
    cr_assert_eq(sactag_tag_fd(m, p, fileno(f), NULL, NULL), 0);
    rewind(f);
    cr_assert_eq(fread(found, 1, n_tagged + 1, f), n_tagged);
    cr_assert_eq(memcmp(found, tagged, n_tagged), 0);
    fclose(f);
    sactag_plan_free(p);
    sactag_close(m);
    free(found);
    free(bytes);
    free(tagged);
}

Test(api, an_output_that_cannot_be_made)
{
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, NULL);
    sactag_diag *d = new_diag();

    cr_assert_eq(sactag_tag_file(m, p, "tests/no-such-dir/out.onnx", NULL, d), SACTAG_EIO);
    cr_assert(strstr(sactag_diag_error(d), "no-such-dir"), "found: %s", sactag_diag_error(d));
    sactag_diag_clear(d);
    cr_assert_eq(sactag_strip_file(m, "tests", NULL, d), SACTAG_EIO);
    cr_assert_neq(sactag_diag_error(d)[0], 0);
    sactag_diag_clear(d);
    cr_assert_eq(sactag_tag_file(m, p, "", NULL, d), SACTAG_EUSAGE);
    cr_assert_str_eq(sactag_diag_error(d), "the name of the output is empty");
    cr_assert_eq(sactag_strip_file(m, "", NULL, NULL), SACTAG_EUSAGE);
    sactag_diag_free(d);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, write_options_that_make_no_sense)
{
    static const struct {
        struct sactag_write_options w;
        const char *text;
    } bad[] = {
        {{.carrier = (enum sactag_carrier)3}, "carrier: 3"},      {{.tag = (enum sactag_scope)2}, "tag: 2"},
        {{.external = (enum sactag_external)5}, "external: 5"},   {{.set_ir_version = -1}, "set_ir_version"},
        {{.set_ir_version = INT64_C(1) << 31}, "set_ir_version"},
    };
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, NULL);
    sactag_diag *d = new_diag();

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *bytes = m;
        size_t n = 1;
        cr_assert_eq(sactag_tag_buffer(m, p, &bytes, &n, &bad[i].w, d), SACTAG_EUSAGE, "%s", bad[i].text);
        cr_assert_null(bytes);
        cr_assert_eq(n, 0);
        cr_assert(strstr(sactag_diag_error(d), bad[i].text), "expected '%s' but found: %s", bad[i].text,
                  sactag_diag_error(d));
        sactag_diag_clear(d);
    }
    sactag_diag_free(d);
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, a_plan_is_for_the_model_that_it_was_made_for)
{
    sactag_model *m = open_model(TOY), *other = open_model(TOY);
    sactag_plan *p = decide(m, NULL), *tags = NULL;
    void *bytes = NULL;
    size_t n;

    cr_assert_eq(sactag_tag_buffer(other, p, &bytes, &n, NULL, NULL), SACTAG_EUSAGE);
    cr_assert_eq(sactag_read_tags(&tags, m, NULL), 0);
    cr_assert_eq(sactag_tag_buffer(m, tags, &bytes, &n, NULL, NULL), SACTAG_EUSAGE, "tags are no plan");
    sactag_plan_free(tags);
    sactag_plan_free(p);
    sactag_close(m);
    sactag_close(other);
}

struct seen {
    uint64_t done, total;
    unsigned calls, temporaries;
};

static void see_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct seen *s = ctx;
    cr_assert_geq(done, s->done);
    cr_assert_leq(done, total);
    s->done = done;
    s->total = total;
    s->calls++;
}

Test(api, progress_ends_at_the_total)
{
    struct sactag_write_options w;
    struct seen seen = {0};
    size_t n;
    void *bytes = NULL;
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, NULL);
    FILE *f = tmpfile();

    cr_assert_not_null(f);
    sactag_write_options_init(&w);
    w.progress = see_progress;
    w.progress_ctx = &seen;
    cr_assert_eq(sactag_tag_fd(m, p, fileno(f), &w, NULL), 0);
    cr_assert_eq(sactag_tag_buffer(m, p, &bytes, &n, NULL, NULL), 0);
    cr_assert_geq(seen.calls, 1);
    cr_assert_eq(seen.done, n);
    cr_assert_eq(seen.total, n);
    free(bytes);
    fclose(f);
    sactag_plan_free(p);
    sactag_close(m);
}

/* ---- looking inside ---- */

struct text {
    char s[8192];
    size_t n, most; /* stops after `most` calls */
};

enum { STOPPED = 77 }; /* no status of the library */

static int keep(void *ctx, const char *s, size_t n)
{
    struct text *t = ctx;
    if (t->most-- == 0)
        return STOPPED;
    if (t->n + n < sizeof t->s) {
        memcpy(t->s + t->n, s, n);
        t->n += n;
    }
    return 0;
}

Test(api, the_ir_is_dumped)
{
    struct text t = {.most = SIZE_MAX};
    sactag_model *m = open_model(TOY);

    cr_assert_eq(sactag_dump_ir(m, keep, &t, NULL), 0);
    cr_assert(strstr(t.s, "/layers.0/gate/MatMul"));
    cr_assert(strstr(t.s, "layers.0.moe.router.gate.weight"));
    sactag_close(m);
}

Test(api, the_graph_is_drawn_in_the_colours_of_the_plan)
{
    struct text plain = {.most = SIZE_MAX}, painted = {.most = SIZE_MAX};
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "moe.router.gate");

    cr_assert_eq(sactag_dot(m, NULL, keep, &plain, NULL), 0);
    cr_assert(strncmp(plain.s, "digraph", 7) == 0);
    cr_assert(!strstr(plain.s, "palegreen"));
    cr_assert_eq(sactag_dot(m, p, keep, &painted, NULL), 0);
    cr_assert(strstr(painted.s, "palegreen"));
    cr_assert(strstr(painted.s, "orange"));
    sactag_plan_free(p);
    sactag_close(m);
}

Test(api, printing_stops_when_told_to)
{
    struct text t = {.most = 3};
    sactag_model *m = open_model(TOY);
    sactag_plan *p = decide(m, "output");

    cr_assert_eq(sactag_dump_ir(m, keep, &t, NULL), STOPPED);
    t.most = 3;
    cr_assert_eq(sactag_dot(m, NULL, keep, &t, NULL), STOPPED);
    t.most = 3;
    cr_assert_eq(sactag_plan_to_json(p, NULL, keep, &t, NULL), STOPPED);
    sactag_plan_free(p);
    sactag_close(m);
}
