#include "lib/tag.h"

#include "schema/file.h"
#include "schema/onnx_read.h"
#include "schema/pt2_read.h"
#include "tests/unit/pb.h"

#include <stdio.h>
#include <zlib.h>

/* ---- models of nodes "n0", "n1", ... and plans made by hand */

/* A node with whatever `more` holds behind. */
static void put_node(struct pb *graph, unsigned i, const struct pb *more)
{
    struct pb node = {0};
    char name[16];
    snprintf(name, sizeof name, "y%u", i);
    pb_text(&node, 2, name);
    name[0] = 'n';
    pb_text(&node, 3, name);
    pb_text(&node, 4, "MatMul");
    if (more)
        pb_raw(&node, more->b, more->n);
    pb_sub(graph, 1, node);
}

static struct pb model_of(unsigned n)
{
    struct pb m = {0}, graph = {0};
    for (unsigned i = 0; i < n; i++)
        put_node(&graph, i, NULL);
    pb_int(&m, 1, 8);
    pb_sub(&m, 7, graph);
    return m;
}

struct opened {
    struct diag d;
    struct ir_model m;
};

static void open_model(struct opened *x, const struct pb *bytes)
{
    bool pt2 = pt2_looks_like(bytes->b, bytes->n);
    diag_init(&x->d);
    ir_model_init(&x->m, &x->d, 0);
    cr_assert_eq(pt2 ? pt2_read(&x->m, bytes->b, bytes->n, NULL, &x->d)
                     : onnx_read(&x->m, bytes->b, bytes->n, NULL, &x->d),
                 0);
}

static void close_model(struct opened *x)
{
    ir_model_free(&x->m);
    diag_free(&x->d);
}

/* Tags every `step`-th node, save and recompute in turn, in block layers.0, call 2. step 0: none. */
static void make_plan(struct plan *p, const struct ir_model *m, uint32_t step)
{
    *p = (struct plan){0};
    arena_init(&p->arena, 0);
    p->rows = arena_alloc(&p->arena, m->n_nodes, sizeof *p->rows);
    p->blocks = arena_alloc(&p->arena, 1, sizeof *p->blocks);
    p->blocks[0].fqn = STR_LIT("layers.0");
    p->n_blocks = 1;
    for (uint32_t i = 0; step && i < m->n_nodes; i += step) {
        bool even = p->n_rows % 2;
        p->rows[p->n_rows] = (struct plan_row){.node = i, .block = 0, .call = 2};
        p->rows[p->n_rows].policy = even ? POLICY_RECOMPUTE : POLICY_SAVE;
        p->rows[p->n_rows].reason = even ? STR_LIT("even:2") : STR_LIT("odd:1");
        p->n_rows++;
    }
}

static struct pb tagged(const struct pb *bytes, uint32_t step, struct tag_options o, struct diag *d)
{
    struct opened x;
    struct plan p;
    struct sink_mem out;
    open_model(&x, bytes);
    make_plan(&p, &x.m, step);
    sink_mem_init(&out, d);
    cr_assert_eq(tag_write(&x.m, &p, &o, &out.sink, d), 0);
    cr_assert_eq(out.sink.total, out.n);
    arena_free(&p.arena);
    close_model(&x);
    return (struct pb){out.bytes, out.n};
}

static struct pb stripped(const struct pb *bytes, struct diag *d)
{
    struct opened x;
    struct sink_mem out;
    open_model(&x, bytes);
    sink_mem_init(&out, d);
    cr_assert_eq(strip_write(&x.m, &out.sink, d), 0);
    cr_assert_eq(out.sink.total, out.n);
    close_model(&x);
    return (struct pb){out.bytes, out.n};
}

static void digest_of(char out[DIGEST_TEXT], const struct pb *bytes)
{
    struct opened x;
    open_model(&x, bytes);
    cr_assert_eq(tag_digest(&x.m, out, &x.d), 0);
    close_model(&x);
}

static const struct tag_options metadata = {.carrier = CARRIER_METADATA};

/* The one message. */
static void says(struct diag *d, enum diag_level level, const char *text)
{
    cr_assert_eq(d->n, 1, "%zu messages", d->n);
    cr_assert_eq(d->items[0].level, level);
    cr_assert_not_null(strstr(d->items[0].message, text), "%s", d->items[0].message);
    diag_free(d);
}

/* Any carrier → any carrier is the same as from the untagged model; strip gives that back; one digest for
 * all. */
Test(tag, carriers_replace_each_other)
{
    struct pb m = model_of(7), direct[3];
    char digest[DIGEST_TEXT], got[DIGEST_TEXT];
    struct diag d;
    diag_init(&d);
    digest_of(digest, &m);
    for (int c = 0; c < 3; c++) {
        direct[c] = tagged(&m, 2, (struct tag_options){.carrier = (enum carrier)c}, &d);
        digest_of(got, &direct[c]);
        cr_assert_str_eq(got, digest);
        cr_assert_not_null(memmem(direct[c].b, direct[c].n, digest, 32), "sac.plan has not the digest");
        struct pb s = stripped(&direct[c], &d);
        pb_same(s.b, s.n, &m);
        pb_free(&s);
    }
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            struct pb x = tagged(&direct[from], 2, (struct tag_options){.carrier = (enum carrier)to}, &d);
            pb_same(x.b, x.n, &direct[to]);
            pb_free(&x);
        }
    cr_assert_eq(d.n, 0);
    /* Fewer nodes than before. */
    struct pb few = tagged(&m, 3, metadata, &d), again = tagged(&direct[0], 3, metadata, &d);
    pb_same(again.b, again.n, &few);
    pb_free(&few);
    pb_free(&again);
    for (int c = 0; c < 3; c++)
        pb_free(&direct[c]);
    pb_free(&m);
}

Test(tag, popart_values)
{
    struct pb m = model_of(2), want = {0}, x = {0};
    struct pb t = tagged(&m, 1, (struct tag_options){.carrier = CARRIER_POPART}, NULL);
    for (unsigned i = 0; i < 2; i++) {
        x = (struct pb){0};
        pb_text(&x, 1, "__recompute_output_in_backward_pass");
        pb_int(&x, 3, i + 1);
        pb_int(&x, 20, 2);
        pb_sub(&want, 5, x);
        cr_assert_not_null(memmem(t.b, t.n, want.b, want.n), "node %u", i);
        pb_free(&want);
    }
    pb_free(&m);
    pb_free(&t);
}

Test(tag, a_model_without_mms)
{
    struct pb m = model_of(2);
    struct diag d;
    diag_init(&d);
    struct pb t = tagged(&m, 0, metadata, &d);
    says(&d, DIAG_NOTE, "no matmul is in a block: nothing but sac.plan is written");
    cr_assert_eq(memcmp(t.b, m.b, m.n), 0);
    struct pb s = stripped(&t, &d);
    pb_same(s.b, s.n, &m);
    cr_assert_eq(d.n, 0);
    pb_free(&s);
    s = stripped(&m, &d);
    says(&d, DIAG_NOTE, "the model carries no tags: it is written as it is");
    pb_same(s.b, s.n, &m);
    pb_free(&s);
    pb_free(&m);
    pb_free(&t);
}

Test(tag, ir_version_comes_back)
{
    struct pb m = model_of(2);
    struct pb t = tagged(&m, 1, (struct tag_options){.set_ir_version = 10}, NULL);
    struct opened x;
    open_model(&x, &t);
    cr_assert_eq(x.m.ir_version, 10);
    close_model(&x);
    struct pb s = stripped(&t, NULL);
    pb_same(s.b, s.n, &m);
    struct pb plain = tagged(&m, 1, metadata, NULL), again = tagged(&t, 1, metadata, NULL);
    pb_same(again.b, again.n, &plain);
    pb_free(&m);
    pb_free(&t);
    pb_free(&s);
    pb_free(&plain);
    pb_free(&again);
}

/* A sac.plan that is not ours gives way, with a word, and comes back. */
Test(tag, a_broken_plan_is_somebody_elses)
{
    struct pb m = model_of(2);
    struct diag d;
    diag_init(&d);
    pb_entry(&m, 14, "sac.plan", "{\"version\":1,\"carrier\":\"broken\"}");
    pb_text(&m, 6, "behind it");
    struct pb t = tagged(&m, 1, metadata, &d);
    says(&d, DIAG_WARNING, "sac.plan is not taken for sactag's own: the carrier is none");
    struct pb s = stripped(&t, &d);
    pb_same(s.b, s.n, &m);
    cr_assert_eq(d.n, 0);
    pb_free(&s);
    pb_free(&t);
    pb_free(&m);
}

/* Somebody removed a node after tagging, in front of the others. */
Test(tag, strip_after_another_tool)
{
    struct pb m = model_of(3), graph = {0}, more = {0}, changed = {0}, want = {0};
    struct diag d;
    diag_init(&d);
    struct pb t = tagged(&m, 1, metadata, &d);
    struct opened x;
    open_model(&x, &t);
    pb_int(&changed, 1, 8);
    for (uint32_t i = 1; i < 3; i++)
        pb_bytes(&graph, 1, t.b + x.m.nodes[i].off, x.m.nodes[i].len);
    pb_sub(&changed, 7, graph);
    pb_raw(&changed, t.b + x.m.meta[0].span.off, x.m.meta[0].span.len);
    close_model(&x);
    pb_int(&want, 1, 8);
    graph = (struct pb){0};
    put_node(&graph, 1, NULL);
    put_node(&graph, 2, NULL);
    pb_sub(&want, 7, graph);

    struct pb s = stripped(&changed, &d);
    says(&d, DIAG_WARNING,
         "the model was changed since it was tagged: its tags are removed, but the bytes need not be");
    pb_same(s.b, s.n, &want);
    struct pb again = tagged(&changed, 1, metadata, &d), direct = tagged(&want, 1, metadata, NULL);
    says(&d, DIAG_NOTE, "the model was changed since it was tagged; its earlier tags are replaced");
    pb_same(again.b, again.n, &direct);
    /* A change that keeps the nodes is seen by the digest. */
    pb_free(&s);
    pb_text(&t, 6, "a doc string");
    s = stripped(&t, &d);
    says(&d, DIAG_WARNING, "the model was changed since it was tagged");
    pb_text(&m, 6, "a doc string");
    pb_same(s.b, s.n, &m);
    pb_free(&m);
    pb_free(&more);
    pb_free(&changed);
    pb_free(&want);
    pb_free(&t);
    pb_free(&s);
    pb_free(&again);
    pb_free(&direct);
}

/* The other format, through the same functions. */
Test(tag, a_pt2_archive)
{
    struct file_in f;
    struct pb m = {0};
    struct diag d;
    struct opened x;
    struct tags tags;
    char digest[DIGEST_TEXT], got[DIGEST_TEXT];
    diag_init(&d);
    cr_assert_eq(file_in_open(&f, "tests/pt2/outputs.pt2", NULL), 0);
    pb_raw(&m, f.bytes, (size_t)f.size);
    file_in_close(&f);
    digest_of(digest, &m);
    struct pb t = tagged(&m, 2, metadata, &d), again = tagged(&t, 2, metadata, &d), s = stripped(&t, &d);
    pb_same(again.b, again.n, &t);
    pb_same(s.b, s.n, &m);
    digest_of(got, &t);
    cr_assert_str_eq(got, digest);
    cr_assert_eq(d.n, 0);
    open_model(&x, &t);
    cr_assert_eq(tags_load(&tags, &x.m, &x.d), 0);
    cr_assert(tags.tagged);
    cr_assert_str_eq(tags.digest, digest);
    cr_assert_gt(tags.n, 0);
    cr_assert_eq(tags.tags[0].policy, POLICY_SAVE);
    cr_assert(str_is(tags.tags[0].block, "layers.0"));
    cr_assert_eq(tags.tags[0].call, 2);
    tags_free(&tags);
    close_model(&x);
    pb_free(&s);
    s = stripped(&m, &d);
    says(&d, DIAG_NOTE, "the model carries no tags");
    /* Its digest is another one's. */
    open_model(&x, &t);
    struct str text = pt2_of(&x.m)->programs[0].text;
    uint32_t crc = (uint32_t)crc32(0, (const uint8_t *)text.s, (unsigned)text.n), changed;
    char *at = memmem(t.b, t.n, digest, 32);
    cr_assert_not_null(at);
    at[0] = at[0] == '0' ? '1' : '0';
    changed = (uint32_t)crc32(0, (const uint8_t *)text.s, (unsigned)text.n);
    close_model(&x);
    for (uint8_t *p; (p = memmem(t.b, t.n, &crc, 4));)
        memcpy(p, &changed, 4);
    pb_free(&s);
    s = stripped(&t, &d);
    says(&d, DIAG_WARNING, "the model was changed since it was tagged");
    pb_free(&m);
    pb_free(&t);
    pb_free(&again);
    pb_free(&s);
}

/* ---- reading tags */

Test(tag, tags_are_read_on_every_carrier)
{
    struct pb m = model_of(5);
    for (int c = 0; c < 3; c++) {
        struct pb t = tagged(&m, 2, (struct tag_options){.carrier = (enum carrier)c}, NULL);
        struct opened x;
        struct tags tags;
        open_model(&x, &t);
        cr_assert_eq(tags_load(&tags, &x.m, &x.d), 0);
        cr_assert(tags.tagged);
        cr_assert_eq(tags.carrier, (enum carrier)c);
        cr_assert_eq(strlen(tags.digest), 32);
        cr_assert_eq(tags.n, 3);
        for (uint32_t i = 0; i < 3; i++) {
            const struct tag *g = &tags.tags[i];
            cr_assert_eq(g->node, 2 * i);
            cr_assert_eq(g->policy, i % 2 ? POLICY_RECOMPUTE : POLICY_SAVE);
            cr_assert(str_is(g->reason, c ? "" : i % 2 ? "even:2" : "odd:1"));
            cr_assert(str_is(g->block, c == CARRIER_POPART ? "" : "layers.0"));
            cr_assert_eq(g->call, c == CARRIER_POPART ? 0 : 2);
        }
        cr_assert_eq(x.d.n, 0);
        tags_free(&tags);
        close_model(&x);
        pb_free(&t);
    }
    pb_free(&m);
}

static void entries_of(struct pb *more, const char *policy, const char *region)
{
    *more = (struct pb){0};
    pb_entry(more, 9, "sac.policy", policy);
    if (region)
        pb_entry(more, 9, "sac.region", region);
}

/* Without sac.plan: what the nodes say. Odd regions are names; odd policies are left out, with a word. */
Test(tag, tags_without_a_plan)
{
    static const struct {
        const char *policy, *region, *block;
        uint32_t call;
    } cases[] = {
        {"save", "h.1#3", "h.1", 3},
        {"recompute", "h#1#0", "h#1", 0},
        {"save", NULL, "", 0},
        {"save", "no number", "no number", 0},
        {"save", "h#", "h#", 0},
        {"save", "h#-1", "h#-1", 0},
        {"save", "h#4294967295", "h#4294967295", 0},
        {"save", "h#4294967294", "h", 4294967294u},
        {"perhaps", "h#0", NULL, 0},
    };
    struct pb m = {0}, graph = {0}, more;
    unsigned n = sizeof cases / sizeof *cases;
    for (unsigned i = 0; i < n; i++) {
        entries_of(&more, cases[i].policy, cases[i].region);
        put_node(&graph, i, &more);
        pb_free(&more);
    }
    put_node(&graph, n, NULL);
    pb_sub(&m, 7, graph);
    struct opened x;
    struct tags tags;
    open_model(&x, &m);
    cr_assert_eq(tags_load(&tags, &x.m, &x.d), 0);
    cr_assert(!tags.tagged);
    cr_assert_eq(tags.carrier, CARRIER_METADATA);
    cr_assert_str_eq(tags.digest, "");
    cr_assert_eq(tags.n, n - 1);
    for (unsigned i = 0; i + 1 < n; i++) {
        cr_assert(str_is(tags.tags[i].block, cases[i].block), "case %u", i);
        cr_assert_eq(tags.tags[i].call, cases[i].call, "case %u", i);
    }
    cr_assert_eq(x.d.n, 1);
    cr_assert_str_eq(x.d.items[0].message, "node 8 'n8': the policy 'perhaps' is none and is left out");
    tags_free(&tags);
    close_model(&x);
    pb_free(&m);
}

Test(tag, attribute_tags_without_a_plan)
{
    struct pb m = {0}, graph = {0}, more = {0}, x = {0};
    pb_text(&x, 1, "__recompute_output_in_backward_pass");
    pb_int(&x, 3, 2);
    pb_sub(&more, 5, x);
    put_node(&graph, 0, &more);
    pb_free(&more);
    x = (struct pb){0};
    pb_text(&x, 1, "__recompute_output_in_backward_pass");
    pb_int(&x, 3, 7);
    pb_sub(&more, 5, x);
    put_node(&graph, 1, &more);
    pb_sub(&m, 7, graph);
    struct opened o;
    struct tags tags;
    open_model(&o, &m);
    cr_assert_eq(tags_load(&tags, &o.m, &o.d), 0);
    cr_assert_eq(tags.carrier, CARRIER_POPART);
    cr_assert_eq(tags.n, 1);
    cr_assert_eq(tags.tags[0].policy, POLICY_RECOMPUTE);
    cr_assert_eq(o.d.n, 1);
    cr_assert_str_eq(o.d.items[0].message, "node 1 'n1': the policy '7' is none and is left out");
    tags_free(&tags);
    close_model(&o);
    pb_free(&m);
    pb_free(&more);
}

/* Foreign entries on nodes that we did not tag are no tags of this plan. */
Test(tag, foreign_entries_are_not_shown)
{
    struct pb m = {0}, graph = {0}, more;
    entries_of(&more, "save", "theirs#0");
    put_node(&graph, 0, NULL);
    put_node(&graph, 1, &more);
    pb_sub(&m, 7, graph);
    struct pb t = tagged(&m, 2, metadata, NULL);
    struct opened x;
    struct tags tags;
    open_model(&x, &t);
    cr_assert_eq(tags_load(&tags, &x.m, &x.d), 0);
    cr_assert_eq(tags.n, 1);
    cr_assert_eq(tags.tags[0].node, 0);
    tags_free(&tags);
    close_model(&x);
    struct pb s = stripped(&t, NULL);
    pb_same(s.b, s.n, &m);
    pb_free(&s);
    pb_free(&t);
    pb_free(&m);
    pb_free(&more);
}
