#include "lib/plan_meta.h"

#include "schema/onnx_read.h"
#include "tests/unit/pb.h"

#include <jansson.h>
#include <stdio.h>

/* ---- a model with n nodes y0, y1, ... and any number of sac.plan entries */

struct model {
    struct pb bytes;
    struct diag d;
    struct ir_model m;
};

static void model_open(struct model *x, uint32_t n, const char *const *plans, size_t n_plans)
{
    struct pb graph = {0};
    x->bytes = (struct pb){0};
    for (uint32_t i = 0; i < n; i++) {
        struct pb node = {0};
        char out[16];
        snprintf(out, sizeof out, "y%u", i);
        pb_text(&node, 2, out);
        pb_text(&node, 4, "Op");
        pb_sub(&graph, 1, node);
    }
    pb_sub(&x->bytes, 7, graph);
    for (size_t i = 0; i < n_plans; i++)
        pb_entry(&x->bytes, 14, "sac.plan", plans[i]);
    diag_init(&x->d);
    ir_model_init(&x->m, &x->d, 0);
    cr_assert_eq(onnx_read(&x->m, x->bytes.b, x->bytes.n, NULL, &x->d), 0);
}

static void model_close(struct model *x)
{
    ir_model_free(&x->m);
    diag_free(&x->d);
    pb_free(&x->bytes);
}

/* ---- writing */

#define ZEROS "00000000000000000000000000000000"

static char *text_of(struct model *x, const struct plan *p, const struct tag_options *o,
                     const struct onnx_undo *u)
{
    char *text, *digest;
    cr_assert_eq(plan_meta_text(&text, &digest, &x->m, p, o, u, NULL), 0);
    cr_assert_eq(strncmp(digest, ZEROS "\"", 33), 0);
    return text;
}

Test(plan_meta, says_what_was_done)
{
    struct model x;
    model_open(&x, 3, NULL, 0);
    struct str fqns[] = {STR_LIT("moe.router.gate"), STR_LIT("a\"b\\\xff")};
    struct mm_shape force[] = {{64, 8}};
    struct plan_block blocks[] = {{.fqn = STR_LIT("layers.0")}};
    uint32_t ins[] = {0}, outs[] = {1, 2};
    struct plan_region regions[] = {
        {.block = 0, .call = 1, .inputs = ins, .n_inputs = 1, .outputs = outs, .n_outputs = 2}};
    struct plan p = {.blocks = blocks, .n_blocks = 1, .regions = regions, .n_regions = 1};
    p.options = (struct policy_options){.fqns = fqns,
                                        .n_fqns = 2,
                                        .force = force,
                                        .n_force = 1,
                                        .match = MATCH_GLOB,
                                        .rule = MM_TORCH,
                                        .strict = true};
    struct tag_options o = {.carrier = CARRIER_METADATA};
    struct str keys[] = {STR_LIT("sac.policy"), STR_LIT("sac.reason")};
    uint32_t nodes[] = {0, 2};
    struct onnx_field fields[] = {{2, 5, {"\x4a\x00\xff", 3}}, {ANNOT_MODEL, 1, {"r", 1}}};
    struct onnx_width widths[] = {{false, 2, 4}, {true, 0, 5}, {true, 1, 4}};
    struct onnx_undo u = {.keys = keys,
                          .n_keys = 2,
                          .nodes = nodes,
                          .n_nodes = 2,
                          .of = 3,
                          .fields = fields,
                          .n_fields = 2,
                          .widths = widths,
                          .n_widths = 3,
                          .ir_version = true,
                          .ir_version_was = {"\x08\x04", 2}};
    char *text = text_of(&x, &p, &o, &u);
    cr_assert_str_eq(
        text,
        "{\"version\":1,\"carrier\":\"metadata\",\"tag\":\"mm\",\"digest\":\"" ZEROS "\","
        "\"options\":{\"fqns\":[\"moe.router.gate\",\"a\\\"b\\\\\\\\\\\\xff\"],\"force_shapes\":[\"64x8\"],"
        "\"match\":\"glob\",\"profile\":null,\"blocks\":[\"auto\"],\"mm_rule\":\"torch\",\"mm_ops\":[],"
        "\"order\":\"auto\",\"strict\":true,\"specialize\":false},"
        "\"regions\":[{\"region\":\"layers.0#1\",\"inputs\":[\"y0\"],\"outputs\":[\"y1\",\"y2\"]}],"
        "\"keys\":[\"sac.policy\",\"sac.reason\"],\"nodes\":\"0,2\",\"of\":3,"
        "\"fields\":[\"2/5/4a00ff\",\"model/1/72\"],\"widths\":[[4,\"2\",\"1\"],[5,\"\",\"0\"]],"
        "\"ir_version\":\"0804\"}");
    free(text);
    /* What there is none of is left out; another carrier and scope. */
    u = (struct onnx_undo){.of = 3};
    p = (struct plan){
        .options = {.titan = true, .whole = true, .file_order = true, .match = MATCH_SUBSTRING}};
    o = (struct tag_options){.carrier = CARRIER_POPART, .all = true};
    text = text_of(&x, &p, &o, &u);
    cr_assert_str_eq(text, "{\"version\":1,\"carrier\":\"popart\",\"tag\":\"all\",\"digest\":\"" ZEROS "\","
                           "\"options\":{\"fqns\":[],\"force_shapes\":[],\"match\":\"substring\","
                           "\"profile\":\"titan\",\"blocks\":[\"whole\"],\"mm_rule\":\"onnx\",\"mm_ops\":[],"
                           "\"order\":\"file\",\"strict\":false,\"specialize\":false},\"regions\":[],"
                           "\"keys\":[],\"nodes\":\"\",\"of\":3}");
    free(text);
    model_close(&x);
}

/* The allocation that fails, counted down; none when 0. */
static int fails_in;

static void *failing_malloc(size_t n)
{
    return fails_in && --fails_in == 0 ? NULL : malloc(n);
}

/* jansson goes on after some allocations that failed: what it makes then must not pass for the text. */
Test(plan_meta, all_of_the_text_or_none)
{
    struct model x;
    struct plan p = {0};
    struct tag_options o = {0};
    struct onnx_undo u = {.of = 3};
    int refused = 0;
    model_open(&x, 3, NULL, 0);
    char *want = text_of(&x, &p, &o, &u), *text, *digest;
    json_set_alloc_funcs(failing_malloc, free);
    for (int i = 1; i < 1000; i++) {
        fails_in = i;
        if (plan_meta_text(&text, &digest, &x.m, &p, &o, &u, NULL) == IR_EMEM) {
            refused++;
            continue;
        }
        cr_assert_str_eq(text, want, "allocation %d", i);
        free(text);
        if (fails_in > 0) /* there are fewer allocations than that */
            break;
    }
    cr_assert_gt(refused, 50);
    fails_in = 0;
    free(want);
    model_close(&x);
}

/* ---- reading */

#define HEAD "{\"version\":1,\"carrier\":\"metadata\",\"tag\":\"mm\",\"digest\":\"" ZEROS "\""
#define KEYS ",\"keys\":[\"sac.policy\"]"

static int read_one(struct plan_meta *pm, struct model *x, uint32_t nodes, const char *plan)
{
    model_open(x, nodes, &plan, 1);
    return plan_meta_read(pm, &x->m, &x->d);
}

static void nodes_are(const char *list, const uint32_t *want, uint32_t n)
{
    struct plan_meta pm;
    struct model x;
    char plan[512];
    snprintf(plan, sizeof plan, HEAD KEYS ",\"nodes\":\"%s\",\"of\":40}", list);
    cr_assert_eq(read_one(&pm, &x, 40, plan), 1, "%s: %s", list, x.d.n ? x.d.items[0].message : "");
    cr_assert_eq(pm.undo.n_nodes, n, "%s", list);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(pm.undo.nodes[i], want[i], "%s: %u", list, i);
    /* Written again it is the same text. */
    struct plan p = {0};
    struct tag_options o = {0};
    char *text = text_of(&x, &p, &o, &pm.undo), part[512];
    snprintf(part, sizeof part, "\"nodes\":\"%s\"", list);
    cr_assert_not_null(strstr(text, part), "%s has not %s", text, part);
    free(text);
    plan_meta_free(&pm);
    model_close(&x);
}

Test(plan_meta, lists_of_numbers)
{
    nodes_are("", NULL, 0);
    nodes_are("0", (uint32_t[]){0}, 1);
    nodes_are("39", (uint32_t[]){39}, 1);
    nodes_are("3,1*4,7", (uint32_t[]){3, 4, 5, 6, 7, 14}, 6);
    nodes_are("0,1", (uint32_t[]){0, 1}, 2);
    nodes_are("0,1*2", (uint32_t[]){0, 1, 2}, 3);
    nodes_are("3,3*2,1,29", (uint32_t[]){3, 6, 9, 10, 39}, 5);
}

Test(plan_meta, is_read_back)
{
    struct plan_meta pm;
    struct model x;
    cr_assert_eq(read_one(&pm, &x, 3,
                          "{\"version\":1,\"carrier\":\"attribute\",\"tag\":\"all\",\"digest\":"
                          "\"0123456789abcdef0123456789abcdef\",\"keys\":[\"__sac_policy\",\"__sac_region\"],"
                          "\"nodes\":\"1,1\",\"of\":3,\"fields\":[\"2/7/2a0e0a0c5f5f7361635f706f6c696379\","
                          "\"model/0/72100a087361632e706c616e12046d696e65\"],"
                          "\"widths\":[[3,\"1,1\",\"0\"]],\"ir_version\":\"\",\"more\":[1,2]}"),
                 1, "%s", x.d.n ? x.d.items[0].message : "");
    cr_assert_eq(x.d.n, 0);
    cr_assert_eq(pm.carrier, CARRIER_ATTRIBUTE);
    cr_assert(pm.all);
    cr_assert_str_eq(pm.digest, "0123456789abcdef0123456789abcdef");
    cr_assert_eq(pm.entry.off + pm.entry.len, x.bytes.n);
    const struct onnx_undo *u = &pm.undo;
    cr_assert(u->attributes);
    cr_assert_eq(u->n_keys, 2);
    cr_assert(str_is(u->keys[1], "__sac_region"));
    cr_assert_eq(u->n_fields, 2);
    cr_assert_eq(u->fields[0].node, 2);
    cr_assert_eq(u->fields[0].index, 7);
    cr_assert_eq(u->fields[0].bytes.n, 16);
    cr_assert_eq(u->fields[1].node, ANNOT_MODEL);
    cr_assert_eq(u->n_widths, 3);
    cr_assert_eq(u->widths[2].segment, true);
    cr_assert_eq(u->widths[1].record, 2);
    cr_assert_eq(u->widths[0].width, 3);
    cr_assert(u->ir_version);
    cr_assert_eq(u->ir_version_was.n, 0);
    plan_meta_free(&pm);
    model_close(&x);
}

/* Readers need them, stripping does not. */
Test(plan_meta, regions)
{
    static const struct {
        const char *regions;
        bool ok;
    } cases[] = {
        {"", false},
        {",\"regions\":\"a\"", false},
        {",\"regions\":{}", false},
        {",\"regions\":null", false},
        {",\"regions\":[1]", false},
        {",\"regions\":[{\"inputs\":[],\"outputs\":[]}]", false},
        {",\"regions\":[{\"region\":0,\"inputs\":[],\"outputs\":[]}]", false},
        {",\"regions\":[{\"region\":\"a#0\",\"outputs\":[]}]", false},
        {",\"regions\":[{\"region\":\"a#0\",\"inputs\":[]}]", false},
        {",\"regions\":[{\"region\":\"a#0\",\"inputs\":\"x\",\"outputs\":[]}]", false},
        {",\"regions\":[{\"region\":\"a#0\",\"inputs\":[7],\"outputs\":[]}]", false},
        {",\"regions\":[{\"region\":\"a#0\",\"inputs\":[{\"name\":\"x\"}],\"outputs\":[]}]", false},
        {",\"regions\":[]", true},
        {",\"regions\":[{\"region\":\"a#0\",\"inputs\":[\"x\",{\"graph\":\"/1:If/then_branch\",\"name\":\"x\"}],"
         "\"outputs\":[\"y\"],\"more\":1}]",
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_meta pm;
        struct model x;
        char text[512];
        snprintf(text, sizeof text, HEAD KEYS ",\"nodes\":\"\",\"of\":3%s}", cases[i].regions);
        cr_assert_eq(read_one(&pm, &x, 3, text), 1, "case %zu", i);
        cr_expect_eq(pm.regions, cases[i].ok, "case %zu", i);
        plan_meta_free(&pm);
        model_close(&x);
    }
}

/* The graph has other nodes now: what is said of nodes tells nothing, but must not be believed either. */
Test(plan_meta, of_another_graph)
{
    struct plan_meta pm;
    struct model x;
    cr_assert_eq(read_one(&pm, &x, 3,
                          HEAD KEYS ",\"nodes\":\"0,1*4000000000\",\"of\":4000000001,\"fields\":[\"2/7/4a\"],"
                                    "\"widths\":[[3,\"0,1*4000000000\",\"\"]]}"),
                 1);
    cr_assert_eq(pm.undo.n_nodes, 0);
    cr_assert_eq(pm.undo.n_fields, 0);
    cr_assert_eq(pm.undo.n_lost, 1);
    cr_assert_eq(pm.undo.n_widths, 0);
    plan_meta_free(&pm);
    model_close(&x);
}

/* What is not ours, and what is said of it. */
Test(plan_meta, others_and_broken_ones_are_left_alone)
{
    static const struct {
        const char *plan, *why;
    } cases[] = {
        {"", "it is not JSON"},
        {"not JSON", "it is not JSON"},
        {"[1]", "it has no version and carrier"},
        {"{}", "it has no version and carrier"},
        {"{\"version\":1}", "it has no version and carrier"},
        {"{\"version\":\"1\",\"carrier\":\"metadata\"}", "it has no version and carrier"},
        {"{\"version\":1,\"carrier\":\"metadata\"} more", "it is not JSON"},
        {"{\"version\":0,\"carrier\":\"metadata\"}", "its version is none"},
        {"{\"version\":1,\"carrier\":\"pigeon\"}", "the carrier is none"},
        {"{\"version\":1,\"carrier\":\"metadata\"}", "\"tag\" is neither mm nor all"},
        {"{\"version\":1,\"carrier\":\"metadata\",\"tag\":\"mm\",\"digest\":\"12\"}", "the digest is none"},
        {HEAD "}", "the keys are none"},
        {HEAD ",\"keys\":[\"other\"],\"nodes\":\"\",\"of\":3}", "a key is not one of sactag's"},
        {HEAD ",\"keys\":[\"sac.plan\"],\"nodes\":\"\",\"of\":3}", "a key is not one of sactag's"},
        {HEAD ",\"keys\":[\"__sac_policy\"],\"nodes\":\"\",\"of\":3}", "a key is not one of sactag's"},
        {HEAD ",\"keys\":[7],\"nodes\":\"\",\"of\":3}", "a key is not one of sactag's"},
        {HEAD KEYS ",\"nodes\":\"\"}", "the number of nodes is none"},
        {HEAD KEYS ",\"nodes\":\"\",\"of\":-1}", "the number of nodes is none"},
        {HEAD KEYS ",\"nodes\":\"\",\"of\":4294967295}", "the number of nodes is none"},
        {HEAD KEYS ",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"3\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"1,2\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"1,0\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0*2\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0,1*0\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0,1*3\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0,1*99999999999999999999\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0,\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0 1\",\"of\":3}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"-1\",\"of\":3}", "a list of numbers is none"},
        {HEAD ",\"keys\":[],\"nodes\":\"0\",\"of\":3}", "there are nodes but no keys"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":{}}", "the fields are no list"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[1]}", "a field is no text"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[\"x/1/00\"]}", "a field has no node"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[\"0/00\"]}", "a field has no position"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[\"0/0/0\"]}", "bytes are not hexadecimal"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[\"0/0/4A00\"]}", "bytes are not hexadecimal"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"fields\":[\"0/0/4a00\"]}",
         "what it says to put back are no tags"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":{}}", "the widths are no list"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[1,\"\",\"\"]]}", "a width is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[11,\"\",\"\"]]}", "a width is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[3,\"\",\"\"],[3,\"\",\"\"]]}", "a width is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[3,\"\"]]}", "a width is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[3,\"3\",\"\"]]}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"widths\":[[3,\"\",\"1\"]]}", "a list of numbers is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"ir_version\":4}", "the ir_version is no text"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"copies\":-1}", "the number of copies is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"copies\":\"1\"}", "the number of copies is none"},
        {HEAD KEYS ",\"nodes\":\"0\",\"of\":3,\"ir_version\":\"7200\"}",
         "what it says to put back are no tags"},
        {HEAD KEYS ",\"nodes\":\"\\u0030\",\"of\":3}", "a list of numbers is none"},
        {HEAD ",\"keys\":[\"sac.\\u0070lan\"],\"nodes\":\"\",\"of\":3}", "a key is not one of sactag's"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_meta pm;
        struct model x;
        cr_assert_eq(read_one(&pm, &x, 3, cases[i].plan), 0, "case %zu", i);
        cr_assert_eq(x.d.n, 1, "case %zu", i);
        cr_assert_eq(x.d.items[0].level, DIAG_WARNING);
        cr_assert_not_null(strstr(x.d.items[0].message, cases[i].why), "case %zu: %s", i,
                           x.d.items[0].message);
        plan_meta_free(&pm);
        model_close(&x);
    }
}

Test(plan_meta, newer_versions_are_refused)
{
    struct plan_meta pm;
    struct model x;
    cr_assert_eq(read_one(&pm, &x, 3, "{\"version\":2,\"carrier\":\"pigeon\"}"), IR_EINPUT);
    cr_assert_str_eq(x.d.items[0].message, "sac.plan: it was written by a newer version of sactag");
    plan_meta_free(&pm);
    model_close(&x);
}

static const char plain[] = HEAD ",\"keys\":[],\"nodes\":\"\",\"of\":3}";

Test(plan_meta, two_of_them_cannot_be_told_apart)
{
    static const char *const plans[] = {plain, "someone's", plain};
    struct plan_meta pm;
    struct model x;
    model_open(&x, 3, plans, 2);
    cr_assert_eq(plan_meta_read(&pm, &x.m, &x.d), 1,
                 "a foreign one beside it does no harm, though it is the last");
    plan_meta_free(&pm);
    model_close(&x);
    model_open(&x, 3, plans, 3);
    cr_assert_eq(plan_meta_read(&pm, &x.m, &x.d), IR_EINPUT);
    cr_assert_not_null(strstr(x.d.items[x.d.n - 1].message, "expected one sac.plan but found two"));
    plan_meta_free(&pm);
    model_close(&x);
}

/* A plan that would put back entries of sac.plan with these values. */
static char *plan_around(const char *const *values, size_t n)
{
    struct pb plan = {0};
    pb_raw(&plan, HEAD ",\"keys\":[],\"nodes\":\"\",\"of\":3,\"fields\":[",
           sizeof(HEAD ",\"keys\":[],\"nodes\":\"\",\"of\":3,\"fields\":[") - 1);
    for (size_t i = 0; i < n; i++) {
        struct pb entry = {0};
        char text[32];
        pb_entry(&entry, 14, "sac.plan", values[i]);
        snprintf(text, sizeof text, "%s\"model/%zu/", i ? "," : "", i);
        pb_raw(&plan, text, strlen(text));
        for (size_t k = 0; k < entry.n; k++) {
            snprintf(text, sizeof text, "%02x", entry.b[k]);
            pb_raw(&plan, text, 2);
        }
        pb_raw(&plan, "\"", 1);
        pb_free(&entry);
    }
    pb_raw(&plan, "]}", 3);
    return (char *)plan.b;
}

/* Stripping must not leave a tagged model: a plan that would put back a plan is none, so one that would put
 * back such a one is a plan again. */
Test(plan_meta, plans_around_plans)
{
    struct plan_meta pm;
    struct model x;
    char *levels[6];
    const char *inner = plain;
    for (int i = 0; i < 6; i++) {
        levels[i] = plan_around(&inner, 1);
        inner = levels[i];
        cr_assert_eq(read_one(&pm, &x, 3, levels[i]), i % 2, "level %d", i);
        if (i % 2 == 0)
            cr_assert_not_null(strstr(x.d.items[0].message, "it would bring back another plan"));
        plan_meta_free(&pm);
        model_close(&x);
    }
    static const char newer[] = "{\"version\":2,\"carrier\":\"x\"}";
    const struct {
        const char *values[3];
        int plan;
    } cases[] = {{{"theirs", "", "{}"}, 1},         {{"theirs", plain, "{}"}, 0},
                 {{levels[0], levels[2], "x"}, 1},  {{levels[0], levels[1], "x"}, 0},
                 {{"x", levels[2], plain}, 0},      {{newer, "x", "x"}, 0},
                 {{levels[0], levels[2], plain}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *plan = plan_around(cases[i].values, 3);
        cr_assert_eq(read_one(&pm, &x, 3, plan), cases[i].plan, "case %zu", i);
        plan_meta_free(&pm);
        model_close(&x);
        free(plan);
    }
    /* What puts back a newer one is none, so what puts that back is one. */
    inner = newer;
    char *around_newer = plan_around(&inner, 1);
    inner = around_newer;
    char *twice = plan_around(&inner, 1);
    cr_assert_eq(read_one(&pm, &x, 3, twice), 1);
    plan_meta_free(&pm);
    model_close(&x);
    free(around_newer);
    free(twice);
    for (int i = 0; i < 6; i++)
        free(levels[i]);
}

/* Text that a reader could choke on. */
Test(plan_meta, deep_and_long_texts)
{
    size_t n = 1u << 20;
    char *plan = malloc(3 * n + 128);
    struct plan_meta pm;
    struct model x;
    cr_assert_not_null(plan);
    memset(plan, '[', n);
    plan[n] = '\0';
    cr_assert_eq(read_one(&pm, &x, 3, plan), 0);
    plan_meta_free(&pm);
    model_close(&x);
    strcpy(plan, "{\"version\":1,\"carrier\":[");
    size_t at = strlen(plan);
    for (size_t i = 0; i < n; i++, at += 3)
        memcpy(plan + at, "{},", 3);
    strcpy(plan + at, "0]}");
    cr_assert_eq(read_one(&pm, &x, 3, plan), 0);
    cr_assert_eq(x.d.n, 1);
    cr_assert_not_null(strstr(x.d.items[0].message, "the carrier is none"));
    plan_meta_free(&pm);
    model_close(&x);
    free(plan);
}
