#include "schema/onnx_write.h"

#include "schema/digest.h"
#include "schema/onnx_read.h"
#include "tests/unit/pb.h"

#include <stdio.h>

#define KEY "sac.plan"

/* ---- one run: read, edit, write */

struct run {
    struct diag d;
    struct ir_model m;
    struct onnx_writer w;
    struct sink_mem mem;
    char digest[DIGEST_TEXT];
};

/* The last model entry of our key, by hand. */
static struct ir_span entry_of(const struct ir_model *m)
{
    struct ir_span span = {0};
    for (uint32_t i = 0; i < m->n_meta; i++)
        if (str_is(m->meta[i].key, KEY))
            span = m->meta[i].span;
    return span;
}

/* Tags (annots) or strips (NULL) what `in` holds; `undo` is what the run that made `in` said, or NULL. When
 * tagging, a model entry is put at the end, as lib/ does. */
static int run(struct run *r, const struct pb *in, const struct annots *a, const struct onnx_undo *undo,
               int64_t ir_version)
{
    struct sink_digest dig;
    struct str entry;
    char *value;
    diag_init(&r->d);
    ir_model_init(&r->m, &r->d, 0);
    sink_mem_init(&r->mem, &r->d);
    cr_assert_eq(onnx_read(&r->m, in->b, in->n, NULL, &r->d), 0, "%s", r->d.n ? r->d.items[0].message : "");
    struct onnx_edit e = {.undo = undo, .annots = a, .model_key = KEY, .set_ir_version = ir_version};
    if (undo)
        e.undo_entry = entry_of(&r->m);
    int rc = onnx_write_init(&r->w, &r->m, &e, &r->d);
    if (rc)
        return rc;
    cr_assert_eq(sink_digest_init(&dig, r->m.data, r->m.n_data, &r->d), 0);
    cr_assert_eq(onnx_write(&r->w, &r->mem.sink, &dig.sink), 0);
    cr_assert_eq(r->mem.n, a ? r->w.out.out_size : r->w.base.out_size);
    if (a) {
        cr_assert_eq(onnx_model_entry(&r->w, &entry, &value, STR_LIT(KEY), STR_LIT("{}")), 0);
        cr_assert_eq(memcmp(value, "{}", 2), 0);
        cr_assert_eq(sink_put(&r->mem.sink, entry.s, entry.n, SINK_NEW), 0);
    }
    sink_digest_text(&dig, r->digest);
    sink_digest_free(&dig);
    cr_assert(onnx_undo_ok(&r->w.done, KEY));
    return 0;
}

static void run_free(struct run *r)
{
    sink_mem_free(&r->mem);
    onnx_write_free(&r->w);
    ir_model_free(&r->m);
    diag_free(&r->d);
}

static struct pb result(const struct run *r)
{
    return (struct pb){r->mem.bytes, r->mem.n};
}

static struct annot meta(uint32_t node, const char *key, const char *value)
{
    return (struct annot){.node = node, .kind = ANNOT_META, .key = str_of(key), .value = str_of(value)};
}

static struct annot attr(uint32_t node, const char *key, const char *value)
{
    return (struct annot){.node = node, .kind = ANNOT_ATTR_STR, .key = str_of(key), .value = str_of(value)};
}

static struct annot integer(uint32_t node, const char *key, int64_t i)
{
    return (struct annot){.node = node, .kind = ANNOT_ATTR_INT, .key = str_of(key), .i = i};
}

#define ANNOTS(list)                                                                                         \
    {                                                                                                        \
        list, sizeof(list) / sizeof *(list)                                                                  \
    }

/* Tags, strips again, and tags what is tagged: the three promises. *out may be NULL, else it is to be freed.
 */
static void round_trip(struct pb *out, const struct pb *in, const struct annots *a, int64_t ir_version)
{
    static const struct annot other_list[] = {
        {.node = 0, .kind = ANNOT_ATTR_INT, .key = {"__recompute_output_in_backward_pass", 35}, .i = 2}};
    struct annots other = ANNOTS(other_list);
    struct run tag, strip, again, changed, back;
    cr_assert_eq(run(&tag, in, a, NULL, ir_version), 0, "%s", tag.d.n ? tag.d.items[0].message : "");
    struct pb tagged = result(&tag);
    cr_assert_eq(run(&strip, &tagged, NULL, &tag.w.done, 0), 0);
    cr_assert(!strip.w.loose);
    pb_same(strip.mem.bytes, strip.mem.n, in);
    cr_assert_str_eq(strip.digest, tag.digest);
    cr_assert_eq(run(&again, &tagged, a, &tag.w.done, ir_version), 0);
    pb_same(again.mem.bytes, again.mem.n, &tagged);
    cr_assert_str_eq(again.digest, tag.digest);
    /* To another carrier and back; then strip. */
    if (a->n == 0 || a->a[0].kind != ANNOT_ATTR_INT) {
        cr_assert_eq(run(&changed, &tagged, &other, &tag.w.done, 0), 0);
        struct pb mid = result(&changed);
        struct run direct;
        cr_assert_eq(run(&direct, in, &other, NULL, 0), 0);
        pb_same(mid.b, mid.n, &(struct pb){direct.mem.bytes, direct.mem.n});
        cr_assert_eq(run(&back, &mid, a, &changed.w.done, ir_version), 0);
        pb_same(back.mem.bytes, back.mem.n, &tagged);
        run_free(&back);
        cr_assert_eq(run(&back, &mid, NULL, &changed.w.done, 0), 0);
        pb_same(back.mem.bytes, back.mem.n, in);
        run_free(&back);
        run_free(&changed);
        run_free(&direct);
    }
    if (out)
        pb_raw(out, tagged.b, tagged.n);
    run_free(&tag);
    run_free(&strip);
    run_free(&again);
}

/* ---- models by hand */

/* Node "name": y = MatMul(x, w), then whatever `more` holds. */
static struct pb node(const char *out, const struct pb *more)
{
    struct pb p = {0};
    pb_text(&p, 1, "x");
    pb_text(&p, 1, "w");
    pb_text(&p, 2, out);
    pb_text(&p, 4, "MatMul");
    if (more)
        pb_raw(&p, more->b, more->n);
    return p;
}

static void tag_entry(struct pb *p, const char *value)
{
    pb_entry(p, 9, "sac.policy", value);
}

static void model_head(struct pb *p)
{
    pb_int(p, 1, 8);
}

static void plan_entry(struct pb *p)
{
    pb_entry(p, 14, KEY, "{}");
}

/* A graph with n nodes. */
static struct pb graph(unsigned n)
{
    struct pb g = {0};
    for (unsigned i = 0; i < n; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%u", i);
        pb_sub(&g, 1, node(out, NULL));
    }
    return g;
}

Test(onnx_write, adds_metadata_to_a_node)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, g = {0};
    struct annot list[] = {meta(1, "sac.policy", "save"), meta(1, "sac.reason", "odd:1")};
    struct annots a = ANNOTS(list);
    model_head(&in);
    pb_sub(&in, 7, graph(2));
    model_head(&want);
    pb_sub(&g, 1, node("y0", NULL));
    tag_entry(&more, "save");
    pb_entry(&more, 9, "sac.reason", "odd:1");
    pb_sub(&g, 1, node("y1", &more));
    pb_sub(&want, 7, g);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
}

Test(onnx_write, adds_attributes_with_their_types)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, g = {0}, x = {0};
    struct annot list[] = {attr(0, "__sac_policy", "save"), integer(1, "__n", -2)};
    struct annots a = ANNOTS(list);
    pb_sub(&in, 7, graph(2));
    pb_text(&x, 1, "__sac_policy");
    pb_text(&x, 4, "save");
    pb_int(&x, 20, 3);
    pb_sub(&more, 5, x);
    pb_sub(&g, 1, node("y0", &more));
    pb_free(&more);
    x = (struct pb){0};
    pb_text(&x, 1, "__n");
    pb_int(&x, 3, (uint64_t)-2);
    pb_int(&x, 20, 2);
    pb_sub(&more, 5, x);
    pb_sub(&g, 1, node("y1", &more));
    pb_sub(&want, 7, g);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
}

Test(onnx_write, a_model_without_mms_gets_the_entry_alone)
{
    struct pb in = {0}, want = {0}, got = {0};
    struct annots a = {0};
    pb_sub(&in, 7, graph(1));
    pb_raw(&want, in.b, in.n);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
}

/* Every length on the way to the node is wider than it need be, in different ways; they become short, and
 * wide again when stripped. Fields in an odd order, unknown ones and a group stay where they are. */
Test(onnx_write, wide_prefixes_come_back)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, g = {0};
    struct annot list[] = {meta(0, "sac.policy", "save")};
    struct annots a = ANNOTS(list);
    static const uint8_t group[] = {0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07}; /* field 127 */
    pb_sub_wide(&g, 1, node("y0", NULL), 5);
    pb_sub_wide(&g, 1, node("y1", NULL), 4); /* not touched: stays wide */
    pb_raw(&g, group, sizeof group);
    pb_text(&in, 900, "unknown");
    pb_sub_wide(&in, 7, g, 10);
    model_head(&in);

    g = (struct pb){0};
    tag_entry(&more, "save");
    pb_sub(&g, 1, node("y0", &more));
    pb_sub_wide(&g, 1, node("y1", NULL), 4);
    pb_raw(&g, group, sizeof group);
    pb_text(&want, 900, "unknown");
    pb_sub(&want, 7, g);
    model_head(&want);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
}

/* The graph is given in two pieces, which protobuf merges; each node's own piece grows. */
Test(onnx_write, a_graph_in_two_pieces)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, g = {0};
    struct annot list[] = {meta(0, "sac.policy", "save"), meta(2, "sac.policy", "recompute")};
    struct annots a = ANNOTS(list);
    pb_sub(&in, 7, graph(1));
    model_head(&in);
    pb_sub(&g, 1, node("z0", NULL));
    pb_sub(&g, 1, node("z1", NULL));
    pb_sub(&in, 7, g);
    g = (struct pb){0};
    tag_entry(&more, "save");
    pb_sub(&g, 1, node("y0", &more));
    pb_sub(&want, 7, g);
    model_head(&want);
    g = (struct pb){0};
    pb_free(&more);
    tag_entry(&more, "recompute");
    pb_sub(&g, 1, node("z0", NULL));
    pb_sub(&g, 1, node("z1", &more));
    pb_sub(&want, 7, g);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
}

/* An If with a graph in each branch, the else branch holding another If: `inner` is the innermost node.
 * Prefix widths are given, so that expectations can be made with short ones. */
static struct pb nested(struct pb inner, unsigned depth, unsigned width, const struct pb *more)
{
    struct pb g = {0};
    pb_sub_wide(&g, 1, inner, width);
    for (unsigned i = 0; i < depth; i++) {
        struct pb branch = {0}, n = {0}, name = {0};
        char out[16];
        snprintf(out, sizeof out, "if%u", i);
        pb_text(&branch, 1, "else_branch");
        pb_sub_wide(&branch, 6, g, width);
        pb_text(&n, 1, "x");
        pb_text(&n, 2, out);
        pb_text(&n, 4, "If");
        pb_sub_wide(&n, 5, branch, width);
        if (more)
            pb_raw(&n, more->b, more->n);
        g = name;
        pb_sub_wide(&g, 1, n, width);
    }
    return g;
}

Test(onnx_write, nested_graphs_three_deep_and_the_nodes_that_hold_them)
{
    for (unsigned width = 2; width <= 5;
         width++) { /* with 2 all lengths are short as they stand, or nearly */
        struct pb in = {0}, want = {0}, got = {0}, more = {0};
        /* Nodes are numbered from the outside in: three Ifs, then the MatMul. */
        struct annot list[] = {meta(0, "sac.policy", "save"), meta(1, "sac.policy", "save"),
                               meta(2, "sac.policy", "save"), meta(3, "sac.policy", "save")};
        struct annots a = ANNOTS(list);
        pb_sub_wide(&in, 7, nested(node("y", NULL), 3, width, NULL), width);
        tag_entry(&more, "save");
        struct pb g = {0};
        /* The expected bytes have the shortest prefixes: make them once more with each record's own. */
        pb_sub(&g, 1, node("y", &more));
        for (unsigned i = 0; i < 3; i++) {
            struct pb branch = {0}, n = {0}, next = {0};
            char out[16];
            snprintf(out, sizeof out, "if%u", i);
            pb_text(&branch, 1, "else_branch");
            pb_sub(&branch, 6, g);
            pb_text(&n, 1, "x");
            pb_text(&n, 2, out);
            pb_text(&n, 4, "If");
            pb_sub(&n, 5, branch);
            pb_raw(&n, more.b, more.n);
            pb_sub(&next, 1, n);
            g = next;
        }
        pb_sub(&want, 7, g);
        plan_entry(&want);
        round_trip(&got, &in, &a, 0);
        pb_same(got.b, got.n, &want);
        pb_free(&in);
        pb_free(&got);
        pb_free(&want);
        pb_free(&more);
    }
}

Test(onnx_write, nodes_in_functions)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, f = {0};
    struct annot list[] = {meta(1, "sac.policy", "save")};
    struct annots a = ANNOTS(list);
    for (int tagged = 0; tagged < 2; tagged++) {
        struct pb *p = tagged ? &want : &in;
        tag_entry(&more, "save");
        pb_sub(p, 7, graph(1));
        f = (struct pb){0};
        pb_text(&f, 1, "fn");
        pb_text(&f, 4, "x");
        pb_text(&f, 4, "w");
        pb_sub(&f, 7, node("y", tagged ? &more : NULL));
        pb_text(&f, 10, "local");
        pb_sub(p, 25, f);
        pb_free(&more);
    }
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
}

/* Entries of our keys that somebody else wrote give way and come back, in their places, twice given ones too;
 * on nodes that are not tagged they stay. */
Test(onnx_write, foreign_entries_give_way_and_come_back)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, left = {0}, g = {0};
    struct annot list[] = {meta(0, "sac.policy", "save")};
    struct annots a = ANNOTS(list);
    tag_entry(&more, "theirs");
    pb_entry(&more, 9, "other", "stays");
    pb_text(&more, 6, "doc");
    tag_entry(&more, "again");
    pb_entry(&left, 9, "other", "stays");
    pb_text(&left, 6, "doc");
    pb_sub(&g, 1, node("y0", &more));
    pb_sub(&g, 1, node("y1", &more));
    pb_entry(&in, 14, KEY, "not ours");
    pb_sub(&in, 7, g);
    pb_entry(&in, 14, KEY, "nor this");

    g = (struct pb){0};
    tag_entry(&left, "save");
    pb_sub(&g, 1, node("y0", &left));
    pb_sub(&g, 1, node("y1", &more));
    pb_sub(&want, 7, g);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
    pb_free(&left);
}

Test(onnx_write, foreign_attributes_give_way_and_come_back)
{
    struct pb in = {0}, got = {0}, more = {0}, x = {0};
    struct annot list[] = {attr(0, "__sac_policy", "save"), attr(0, "__sac_region", "b#0")};
    struct annots a = ANNOTS(list);
    pb_text(&x, 1, "__sac_policy");
    pb_int(&x, 3, 7);
    pb_int(&x, 20, 2);
    pb_sub(&more, 5, x);
    pb_text(&more, 3, "name");
    struct pb g = {0};
    pb_sub(&g, 1, node("y0", &more));
    pb_sub(&in, 7, g);
    round_trip(&got, &in, &a, 0);
    cr_assert_null(memmem(got.b, got.n, more.b, 10), "the foreign attribute is still there");
    pb_free(&in);
    pb_free(&got);
    pb_free(&more);
}

Test(onnx_write, an_attribute_with_a_graph_or_tensor_does_not_give_way)
{
    for (unsigned field = 5; field <= 6; field++) {
        struct pb in = {0}, more = {0}, x = {0}, g = {0};
        struct annot list[] = {attr(0, "__sac_policy", "save")};
        struct annots a = ANNOTS(list);
        struct run r;
        pb_text(&x, 1, "__sac_policy");
        pb_bytes(&x, field, "", 0);
        pb_sub(&more, 5, x);
        pb_sub(&g, 1, node("y0", &more));
        pb_sub(&in, 7, g);
        cr_assert_eq(run(&r, &in, &a, NULL, 0), IR_EINPUT);
        cr_assert_not_null(
            strstr(r.d.items[0].message, "node 0 '' has an attribute '__sac_policy' that is no tag"));
        run_free(&r);
        pb_free(&in);
        pb_free(&more);
    }
}

Test(onnx_write, ir_version_is_set_and_comes_back)
{
    struct pb in = {0}, want = {0}, got = {0};
    struct annots a = {0};
    /* Given twice, the last one odd: it counts. */
    pb_int(&in, 1, 3);
    pb_sub(&in, 7, graph(1));
    pb_varint(&in, 1 << 3);
    pb_wide(&in, 4, 3);
    pb_text(&in, 2, "producer");
    pb_int(&want, 1, 3);
    pb_sub(&want, 7, graph(1));
    pb_int(&want, 1, 10);
    pb_text(&want, 2, "producer");
    plan_entry(&want);
    round_trip(&got, &in, &a, 10);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    /* The same as it is: nothing to do. */
    got = (struct pb){0};
    pb_free(&want);
    pb_raw(&want, in.b, in.n);
    plan_entry(&want);
    round_trip(&got, &in, &a, 4);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
}

Test(onnx_write, ir_version_that_was_not_there)
{
    struct pb in = {0}, want = {0}, got = {0};
    struct annots a = {0};
    pb_sub(&in, 7, graph(1));
    pb_raw(&want, in.b, in.n);
    pb_int(&want, 1, 10);
    plan_entry(&want);
    round_trip(&got, &in, &a, 10);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
}

/* Lengths of 127 that become 128 and more, at every level, and back. */
Test(onnx_write, prefixes_grow_and_shrink)
{
    for (size_t pad = 60; pad < 130; pad++) {
        char fill[130];
        struct pb in = {0}, more = {0}, g = {0};
        struct annot list[] = {meta(0, "sac.policy", "save")};
        struct annots a = ANNOTS(list);
        memset(fill, 'f', sizeof fill);
        pb_bytes(&more, 6, fill, pad);
        pb_sub(&g, 1, node("y0", &more));
        pb_sub(&in, 7, g);
        round_trip(NULL, &in, &a, 0);
        pb_free(&in);
        pb_free(&more);
    }
}

/* Text that protobuf cannot hold: escaped, so that readers do not refuse the file. */
Test(onnx_write, values_are_valid_text)
{
    struct pb in = {0}, want = {0}, got = {0}, more = {0}, g = {0};
    struct annot list[] = {meta(0, "a", "x\xff"), meta(0, "b", "\xc3\xa9\\"), meta(0, "c", "")};
    list[2].value = (struct str){"nul\0nul", 7};
    struct annots a = ANNOTS(list);
    pb_sub(&in, 7, graph(1));
    pb_entry(&more, 9, "a", "x\\xff");
    pb_entry(&more, 9, "b", "\xc3\xa9\\");
    pb_entry(&more, 9, "c", "nul\\x00nul");
    pb_sub(&g, 1, node("y0", &more));
    pb_sub(&want, 7, g);
    plan_entry(&want);
    round_trip(&got, &in, &a, 0);
    pb_same(got.b, got.n, &want);
    pb_free(&in);
    pb_free(&got);
    pb_free(&want);
    pb_free(&more);
}

/* What tensors hold does not take part in the digest; what else there is does. */
Test(onnx_write, digest_leaves_out_weights)
{
    char digests[3][DIGEST_TEXT];
    for (int i = 0; i < 3; i++) {
        struct pb in = {0}, g = graph(1), t = {0};
        struct annot list[] = {meta(0, "sac.policy", "save")};
        struct annots a = ANNOTS(list);
        struct run r;
        static const float data[2][2] = {{1, 2}, {3, 4}};
        pb_int(&t, 1, 2);
        pb_int(&t, 2, 1);
        pb_text(&t, 8, i == 2 ? "v" : "w");
        pb_bytes(&t, 9, data[i % 2], sizeof data[0]);
        pb_sub(&g, 5, t);
        pb_sub(&in, 7, g);
        round_trip(NULL, &in, &a, 0);
        cr_assert_eq(run(&r, &in, NULL, NULL, 0), 0);
        strcpy(digests[i], r.digest);
        run_free(&r);
        pb_free(&in);
    }
    cr_assert_str_eq(digests[0], digests[1]);
    cr_assert_str_neq(digests[0], digests[2]);
}

/* Another tool removed a node: entries of our keys go wherever they are; what had given way is lost, and that
 * is told. */
Test(onnx_write, tags_go_though_the_graph_was_changed)
{
    struct pb in = {0}, changed = {0}, want = {0}, more = {0}, g = {0};
    struct annot list[] = {meta(0, "sac.policy", "save"), meta(2, "sac.policy", "save")};
    struct annots a = ANNOTS(list);
    struct run tag, strip;
    tag_entry(&more, "theirs");
    pb_sub(&g, 1, node("y0", &more));
    pb_sub(&g, 1, node("y1", NULL));
    pb_sub(&g, 1, node("y2", NULL));
    pb_sub(&in, 7, g);
    cr_assert_eq(run(&tag, &in, &a, NULL, 0), 0);
    cr_assert_eq(tag.w.done.n_fields, 1);

    pb_free(&more);
    tag_entry(&more, "save");
    g = (struct pb){0};
    pb_sub(&g, 1, node("y1", NULL));
    pb_sub(&g, 1, node("y2", &more));
    pb_sub(&changed, 7, g);
    plan_entry(&changed);
    cr_assert_eq(run(&strip, &changed, NULL, &tag.w.done, 0), 0);
    cr_assert(strip.w.loose);
    cr_assert_eq(strip.w.lost, 1);
    g = (struct pb){0};
    pb_sub(&g, 1, node("y1", NULL));
    pb_sub(&g, 1, node("y2", NULL));
    pb_sub(&want, 7, g);
    pb_same(strip.mem.bytes, strip.mem.n, &want);
    run_free(&tag);
    run_free(&strip);
    pb_free(&in);
    pb_free(&changed);
    pb_free(&want);
    pb_free(&more);
}

/* Records that nobody of us wrote. */
Test(onnx_write, hostile_records_are_refused)
{
    struct str key = STR_LIT("sac.policy");
    uint32_t nodes[] = {1, 3};
    struct pb theirs = {0}, other = {0}, version = {0}, two = {0};
    tag_entry(&theirs, "x");
    pb_entry(&other, 9, "other", "x");
    pb_int(&version, 1, 4);
    pb_raw(&two, theirs.b, theirs.n);
    pb_raw(&two, theirs.b, theirs.n);
    struct onnx_field f[] = {{1, 4, {(char *)theirs.b, theirs.n}}, {3, 0, {(char *)theirs.b, theirs.n}}};
    struct onnx_width w[] = {{false, 1, 5}};
    struct onnx_undo good = {.keys = &key,
                             .n_keys = 1,
                             .nodes = nodes,
                             .n_nodes = 2,
                             .of = 4,
                             .fields = f,
                             .n_fields = 2,
                             .widths = w,
                             .n_widths = 1,
                             .ir_version = true,
                             .ir_version_was = {(char *)version.b, version.n}};
    cr_assert(onnx_undo_ok(&good, KEY));
    struct onnx_undo bad = good;
    bad.of = 3;
    cr_expect(!onnx_undo_ok(&bad, KEY), "a node that there is not");
    bad = good;
    bad.ir_version_was = (struct str){(char *)theirs.b, theirs.n};
    cr_expect(!onnx_undo_ok(&bad, KEY), "an ir_version that is none");
    bad = good;
    bad.attributes = true;
    cr_expect(!onnx_undo_ok(&bad, KEY), "metadata in place of attributes");
    w[0].width = 1;
    cr_expect(!onnx_undo_ok(&good, KEY), "a width that is none");
    w[0].width = 5;
    nodes[0] = 3;
    cr_expect(!onnx_undo_ok(&good, KEY), "nodes out of order");
    nodes[0] = 1;
    f[0].node = 2;
    cr_expect(!onnx_undo_ok(&good, KEY), "a field on another node");
    f[0].node = 1;
    f[0].bytes = (struct str){(char *)other.b, other.n};
    cr_expect(!onnx_undo_ok(&good, KEY), "a field of another key");
    f[0].bytes = (struct str){(char *)two.b, two.n};
    cr_expect(!onnx_undo_ok(&good, KEY), "two fields for one");
    f[0].bytes = (struct str){(char *)theirs.b, theirs.n - 1};
    cr_expect(!onnx_undo_ok(&good, KEY), "half a field");
    f[0].bytes = (struct str){(char *)theirs.b, theirs.n};
    f[1].node = ANNOT_MODEL;
    cr_expect(!onnx_undo_ok(&good, KEY), "a node's field on the model");
    pb_free(&theirs);
    pb_free(&other);
    pb_free(&version);
    pb_free(&two);
}
