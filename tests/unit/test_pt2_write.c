#include "schema/pt2_write.h"

#include "tests/unit/pt2_build.h"

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

static struct annot tag(uint32_t node, const char *key, const char *value)
{
    return (struct annot){.node = node, .kind = ANNOT_META, .key = str_of(key), .value = str_of(value)};
}

/* Writes with the given tags (NULL: strips) and returns the bytes. */
static struct pb written(struct opened *o, bool tagged, const struct annot *a, size_t n)
{
    struct sink_mem mem;
    struct annots list = {a, n};
    sink_mem_init(&mem, &o->d);
    int rc =
        a ? pt2_write(&o->m, tagged, &list, &mem.sink, &o->d) : pt2_strip(&o->m, tagged, &mem.sink, &o->d);
    cr_assert_eq(rc, 0, "%s", first_error(&o->d));
    return (struct pb){mem.bytes, mem.n};
}

static void open_valid(struct opened *o, struct pb bytes)
{
    open_bytes(o, bytes);
    cr_assert_eq(o->rc, 0, "%s", first_error(&o->d));
}

/* One tag for each node, or each second one, and the model's. */
static size_t all_tags(struct annot *a, const struct ir_model *m, uint32_t step)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i += step) {
        a[n++] = tag(i, "sac.policy", i % 2 ? "recompute" : "save");
        a[n++] = tag(i, "sac.reason", "forced:64x8:\"gate\"\\\xc3\xa9");
    }
    a[n++] = tag(ANNOT_MODEL, "sac.plan", "{\"version\": 1}");
    return n;
}

static void expect_digest(struct opened *o, bool tagged, const char *want)
{
    char got[DIGEST_TEXT] = "";
    cr_expect_eq(pt2_digest(&o->m, tagged, got, &o->d), 0);
    cr_expect_str_eq(got, want);
}

/* strip(tag(m)) == m; tag(tag'(m)) == tag(m); the digest is the same for all. */
static void round_trip(struct pb bytes)
{
    struct opened original, tagged, other;
    struct annot *a = calloc(20000, sizeof *a);
    struct pb whole = {0};
    char digest[DIGEST_TEXT] = "";
    pb_raw(&whole, bytes.b, bytes.n);
    open_valid(&original, bytes);
    cr_assert_lt(original.m.n_nodes, 9000);
    cr_expect_eq(pt2_digest(&original.m, false, digest, &original.d), 0);
    struct pb same = written(&original, false, NULL, 0);
    pb_same(same.b, same.n, &whole);
    pb_free(&same);

    size_t n = all_tags(a, &original.m, 1);
    struct pb t1 = written(&original, false, a, n);
    n = all_tags(a, &original.m, 2);
    struct pb t2 = written(&original, false, a, n);
    open_valid(&tagged, t1);
    open_valid(&other, t2);
    expect_digest(&tagged, true, digest);
    expect_digest(&other, true, digest);
    struct pb again = written(&tagged, true, a, n);
    pb_same(again.b, again.n, &other.bytes);
    struct pb back = written(&tagged, true, NULL, 0), back2 = written(&other, true, NULL, 0);
    pb_same(back.b, back.n, &whole);
    pb_same(back2.b, back2.n, &whole);

    for (uint32_t i = 0; i < tagged.m.n_nodes; i++) {
        struct str s;
        cr_expect_eq(tagged.m.source->meta(&tagged.m, i, "sac.policy", &s), 1);
        cr_expect(str_is(s, i % 2 ? "recompute" : "save"));
        cr_expect_eq(tagged.m.source->meta(&tagged.m, i, "sac.reason", &s), 1);
        cr_expect(str_is(s, "forced:64x8:\"gate\"\\\xc3\xa9"));
        cr_expect_eq(other.m.source->meta(&other.m, i, "sac.policy", &s), i % 2 == 0);
    }
    const struct ir_entry *plan = ir_meta(&tagged.m, "sac.plan");
    cr_assert_not_null(plan);
    cr_expect(str_is(plan->value, "{\"version\": 1}"));
    pb_free(&again);
    pb_free(&back);
    pb_free(&back2);
    pb_free(&whole);
    close_model(&original);
    close_model(&tagged);
    close_model(&other);
    free(a);
}

Test(pt2_write, real_programs_come_back)
{
    static const char *const paths[] = {"tests/pt2/cond.pt2",
                                        "tests/pt2/map.pt2",
                                        "tests/pt2/while.pt2",
                                        "tests/pt2/nograd.pt2",
                                        "tests/pt2/dynamic.pt2",
                                        "tests/pt2/outputs.pt2",
                                        "tests/pt2/custom.pt2",
                                        "tests/pt2/packed.pt2",
                                        "tests/pt2/programs.pt2",
                                        "tests/cases/toy/model.pt2",
                                        "tests/cases/moe_stacked/model.pt2"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        round_trip(read_file(paths[i]));
    cr_expect(true);
}

/* Members around the program, in each form that an archive may have. */
static struct pb archive(const char *program, struct zip_how how, bool end64)
{
    struct zip_build z = {0};
    static const char zeros[1000];
    zip_add_how(&z, "m/data/weights/weight_0", zeros, sizeof zeros, how);
    zip_add_how(&z, "m/models/model.json", program, strlen(program), how);
    zip_add_how(&z, "m/data/sample_inputs/model.pt", zeros, 77, how);
    zip_add_how(&z, "m/archive_format", "pt2", 3, (struct zip_how){.padded = how.padded});
    zip_add_how(&z, "m/byteorder", "little", 6, how);
    return zip_done(&z, end64);
}

Test(pt2_write, archives_of_each_form_come_back)
{
    for (int form = 0; form < 8; form++) {
        struct zip_how how = {.padded = form & 1, .wide = form & 2, .wide_local = form == 2 || form == 6};
        round_trip(archive(SMALL, how, form & 4));
    }
    cr_expect(true);
}

Test(pt2_write, other_members_keep_bytes_storage_and_alignment)
{
    struct opened o, t;
    struct annot a[16];
    open_valid(&o, archive(SMALL, (struct zip_how){.padded = true}, true));
    struct pb out = written(&o, false, a, all_tags(a, &o.m, 1));
    open_valid(&t, out);
    const struct zip_dir *was = &pt2_of(&o.m)->zip, *now = &pt2_of(&t.m)->zip;
    cr_assert_eq(was->n, now->n);
    for (uint32_t i = 0; i < was->n; i++) {
        const struct zip_member *x = &was->members[i], *y = &now->members[i];
        cr_expect(str_eq(x->name, y->name));
        cr_expect_eq(y->method, 0);
        cr_expect_eq(y->data % 64, 0, "member %u at %lu", i, (unsigned long)y->data);
        if (i == 1) {
            cr_expect_gt(y->size, x->size);
            continue;
        }
        cr_expect(x->size == y->size && x->crc == y->crc);
        cr_expect_arr_eq(o.bytes.b + x->data, t.bytes.b + y->data, x->size);
    }
    cr_expect_eq(now->members[0].local, was->members[0].local);
    /* only the padding right behind the program differs: what follows has moved by a multiple of 64 */
    for (uint32_t i = 3; i < was->n; i++) {
        cr_expect_eq(now->members[i].pad_len, was->members[i].pad_len);
        cr_expect_eq((now->members[i].local - was->members[i].local) % 64, 0);
    }
    close_model(&o);
    close_model(&t);
}

/* The text of the program in an archive. */
static char *program_text(const struct opened *o)
{
    struct str s = pt2_of(&o->m)->programs[0].text;
    return strndup(s.s, s.n);
}

static void expect_text(const char *program, const struct annot *a, size_t n, const char *want)
{
    struct opened o, t;
    open_valid(&o, flat_archive(program));
    struct pb out = written(&o, false, a, n);
    open_valid(&t, out);
    char *got = program_text(&t);
    cr_expect_str_eq(got, want);
    free(got);
    struct pb back = written(&t, true, NULL, 0);
    pb_same(back.b, back.n, &o.bytes);
    pb_free(&back);
    close_model(&o);
    close_model(&t);
}

#define ONE_NODE(metadata, rest)                                                                             \
    PROGRAM(GRAPH("", "", NODE("torch.ops.x.y.z", "", "", metadata), ""), "", "", rest)

Test(pt2_write, the_text_is_spliced)
{
    struct annot a[] = {tag(0, "sac.policy", "save"), tag(ANNOT_MODEL, "sac.plan", "{\"v\": 1}")};
#define TAG  "\\\"sac.policy\\\": \\\"save\\\""
#define PLAN "\\\"sac.plan\\\": \\\"{\\\\\\\"v\\\\\\\": 1}\\\""
    expect_text(ONE_NODE("", ", \"metadata\": {}"), a, 2,
                ONE_NODE("\"custom\": \"{" TAG "}\"", ", \"metadata\": {\"custom\": \"{" PLAN "}\"}"));
    expect_text(ONE_NODE("\"torch_fn\": \"f\"", ", \"metadata\": { }"), a, 2,
                ONE_NODE("\"torch_fn\": \"f\", \"custom\": \"{" TAG "}\"",
                         ", \"metadata\": {\"custom\": \"{" PLAN "}\" }"));
    expect_text(ONE_NODE("\"custom\": \"{\\\"a\\\": 1}\" , \"torch_fn\": \"f\"",
                         ", \"metadata\": {\"custom\":\"{\\\"b\\\":[]}\"}"),
                a, 2,
                ONE_NODE("\"custom\": \"{\\\"a\\\": 1, " TAG "}\" , \"torch_fn\": \"f\"",
                         ", \"metadata\": {\"custom\":\"{\\\"b\\\":[], " PLAN "}\"}"));
    expect_text(ONE_NODE("", ", \"metadata\": {}"), &a[1], 1,
                ONE_NODE("", ", \"metadata\": {\"custom\": \"{" PLAN "}\"}"));
}

Test(pt2_write, what_taking_out_would_not_give_back_is_remembered)
{
    struct annot a[] = {tag(0, "sac.policy", "save"), tag(ANNOT_MODEL, "sac.plan", "{\"v\": 1}")};
    /* an empty object */
    expect_text(ONE_NODE("\"custom\": \"{ }\"", ", \"metadata\": {}"), a, 2,
                ONE_NODE("\"custom\": \"{" TAG " }\"", ", \"metadata\": {\"custom\": \"{" PLAN
                                                       ", \\\"sac.undo\\\": \\\"n0=7b207d;\\\"}\"}"));
    /* somebody's key of the same kind, at the node and at the model */
    expect_text(
        ONE_NODE("\"custom\": \"{\\\"sac.policy\\\": 1}\"",
                 ", \"metadata\": {\"custom\": \"{\\\"sac.x\\\": 2}\"}"),
        a, 2,
        ONE_NODE("\"custom\": \"{" TAG "}\"",
                 ", \"metadata\": {\"custom\": \"{" PLAN ", \\\"sac.undo\\\": "
                 "\\\"n0=7b5c227361632e706f6c6963795c223a20317d;m=7b5c227361632e785c223a20327d;\\\"}\"}"));
    /* ... at a node that gets no tag stays there */
    expect_text(ONE_NODE("\"custom\": \"{\\\"sac.policy\\\": 1}\"", ", \"metadata\": {}"), &a[1], 1,
                ONE_NODE("\"custom\": \"{\\\"sac.policy\\\": 1}\"",
                         ", \"metadata\": {\"custom\": \"{" PLAN
                         ", \\\"sac.undo\\\": \\\"n0=7b5c227361632e706f6c6963795c223a20317d;\\\"}\"}"));
}

Test(pt2_write, programs_without_metadata_keep_the_plan_at_their_first_node)
{
    struct annot a[] = {tag(0, "sac.policy", "save"), tag(ANNOT_MODEL, "sac.plan", "{\"v\": 1}")};
    expect_text(ONE_NODE("", ""), a, 2, ONE_NODE("\"custom\": \"{" TAG ", " PLAN "}\"", ""));
    expect_text(ONE_NODE("\"custom\": \"{\\\"a\\\": 1}\"", ""), &a[1], 1,
                ONE_NODE("\"custom\": \"{\\\"a\\\": 1, " PLAN "}\"", ""));
    expect_text(ONE_NODE("\"custom\": \"{}\"", ""), a, 2,
                ONE_NODE("\"custom\": \"{" TAG ", " PLAN ", \\\"sac.undo\\\": \\\"n0=7b7d;\\\"}\"", ""));
}

/* What torch does: json.loads() of the program, then of the text in custom. */
Test(pt2_write, the_tags_are_json_in_json)
{
    struct opened o, t;
    struct annot a[] = {tag(0, "sac.policy", "save"),
                        tag(0, "sac.reason", "quote \" backslash \\ tab \t \xe2\x82\xac"),
                        tag(ANNOT_MODEL, "sac.plan", "{\"digest\": \"0\", \"names\": [\"a\\\\\\\"\"]}")};
    open_valid(&o, flat_archive(SMALL));
    open_valid(&t, written(&o, false, a, 3));
    char *text = program_text(&t);
    json_t *program = json_loads(text, 0, NULL);
    cr_assert_not_null(program);
    json_t *gm = json_object_get(program, "graph_module");
    json_t *node = json_array_get(json_object_get(json_object_get(gm, "graph"), "nodes"), 0);
    json_t *custom =
        json_loads(json_string_value(json_object_get(json_object_get(node, "metadata"), "custom")), 0, NULL);
    cr_expect_str_eq(json_string_value(json_object_get(custom, "sac.policy")), "save");
    cr_expect_str_eq(json_string_value(json_object_get(custom, "sac.reason")), a[1].value.s);
    cr_expect_eq(json_object_size(custom), 2);
    json_t *model =
        json_loads(json_string_value(json_object_get(json_object_get(gm, "metadata"), "custom")), 0, NULL);
    cr_expect_str_eq(json_string_value(json_object_get(model, "sac.plan")), a[2].value.s);
    json_decref(program);
    json_decref(custom);
    json_decref(model);
    free(text);
    close_model(&o);
    close_model(&t);
}

Test(pt2_write, only_the_caller_knows_whose_tags_they_are)
{
    struct opened o;
    open_valid(&o, flat_archive(ONE_NODE("\"custom\": \"{\\\"sac.policy\\\": 1}\"",
                                         ", \"metadata\": {\"custom\": \"{\\\"sac.plan\\\": 2}\"}")));
    struct pb same = written(&o, false, NULL, 0);
    pb_same(same.b, same.n, &o.bytes);
    struct pb less = written(&o, true, NULL, 0);
    cr_expect_lt(less.n, same.n);
    pb_free(&same);
    pb_free(&less);
    close_model(&o);
}

/* ---- refusals ---- */

static void refuse(struct pb bytes, bool tagged, const struct annot *a, size_t n, int code,
                   const char *message)
{
    struct opened o;
    struct sink_mem mem;
    open_valid(&o, bytes);
    sink_mem_init(&mem, &o.d);
    cr_expect_eq(pt2_write(&o.m, tagged, &(struct annots){a, n}, &mem.sink, &o.d), code, "%s", message);
    cr_expect_str_eq(first_error(&o.d), message);
    cr_expect_eq(mem.n, 0, "nothing is written");
    sink_mem_free(&mem);
    close_model(&o);
}

Test(pt2_write, tags_go_into_objects_only)
{
    static const char message[] = "expected a JSON object as text: tags cannot be added to anything else";
    struct annot a[] = {tag(0, "sac.policy", "save"), tag(ANNOT_MODEL, "sac.plan", "{}")};
    static const char *const bad[] = {"", "[1]", "7", "not json", "{\\\"a\\\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char program[1024];
        snprintf(program, sizeof program, ONE_NODE("\"custom\": \"%s\"", ", \"metadata\": {}"), bad[i]);
        refuse(flat_archive(program), false, a, 2, IR_EINPUT, message);
        snprintf(program, sizeof program, ONE_NODE("", ", \"metadata\": {\"custom\": \"%s\"}"), bad[i]);
        refuse(flat_archive(program), false, a, 2, IR_EINPUT, message);
    }
    refuse(flat_archive(ONE_NODE("", ", \"metadata\": {\"custom\": {\"a\": 1}}")), false, a, 2, IR_EINPUT,
           message);
}

Test(pt2_write, what_cannot_carry_tags)
{
    struct annot a[] = {tag(0, "sac.policy", "save"), tag(ANNOT_MODEL, "sac.plan", "{}")};
    refuse(read_file("tests/pt2/ops.pt2"), false, a, 2, IR_EINPUT,
           "the program is compressed in the archive: it can be read but not tagged (torch stores it; repack "
           "with zip -0)");
    refuse(flat_archive(PROGRAM(GRAPH("", "", "", ""), "", "", "")), false, &a[1], 1, IR_EINPUT,
           "a program without nodes and metadata has no place for tags");
    a[0].kind = ANNOT_ATTR_STR;
    refuse(flat_archive(SMALL), false, a, 2, IR_EUSAGE,
           "a .pt2 has no attributes: only the carrier \"metadata\" will do");
}

Test(pt2_write, an_undo_that_makes_no_sense)
{
    static const char *const bad[] = {"n0=7b7d", "n0=7b7;",  "n9=7b7d;", "n=7b7d;", "x;",
                                      ";",       "n0=7B7D;", "m7b7d;",   "m=zz;",   "z9;",
                                      "z;",      "Zz;",      "z1x;",     "n0;",     "n00000000000=;"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char program[1024];
        snprintf(program, sizeof program,
                 ONE_NODE("", ", \"metadata\": {\"custom\": \"{\\\"sac.plan\\\": \\\"{}\\\", "
                              "\\\"sac.undo\\\": \\\"%s\\\"}\"}"),
                 bad[i]);
        refuse(flat_archive(program), true, NULL, 0, IR_EINPUT,
               "\"sac.undo\" of the model makes no sense: the tags cannot be removed");
    }
}

/* Another tool has written the program anew since: what is remembered fits no longer and is not used. */
Test(pt2_write, a_stale_undo_does_no_harm)
{
    struct opened o;
    open_valid(&o, flat_archive(ONE_NODE("\"custom\": \"{\\\"b\\\": 1, \\\"sac.policy\\\": \\\"save\\\"}\"",
                                         ", \"metadata\": {\"custom\": \"{\\\"sac.plan\\\": \\\"{}\\\", "
                                         "\\\"sac.undo\\\": \\\"n0=7b7d;z0;z1;Z;E;\\\"}\"}")));
    struct pb out = written(&o, true, NULL, 0);
    struct opened t;
    open_valid(&t, out);
    char *text = program_text(&t);
    cr_expect_str_eq(text, ONE_NODE("\"custom\": \"{\\\"b\\\": 1}\"", ", \"metadata\": {}"));
    free(text);
    close_model(&o);
    close_model(&t);
}

Test(pt2_write, the_digest_is_of_programs_and_of_names_and_sizes)
{
    struct opened o;
    char base[DIGEST_TEXT], other[DIGEST_TEXT];
    open_valid(&o, archive(SMALL, (struct zip_how){0}, false));
    cr_assert_eq(pt2_digest(&o.m, false, base, &o.d), 0);
    close_model(&o);
    struct pb bytes = archive(SMALL, (struct zip_how){0}, false);
    memset(bytes.b + 30 + 23 + 100, 'w', 8); /* other weights */
    open_valid(&o, bytes);
    expect_digest(&o, false, base);
    close_model(&o);
    open_valid(&o, archive(SMALL, (struct zip_how){.padded = true}, true)); /* other packaging */
    expect_digest(&o, false, base);
    close_model(&o);
    open_valid(&o, archive(ONE_NODE("", ""), (struct zip_how){0}, false)); /* another program */
    cr_assert_eq(pt2_digest(&o.m, false, other, &o.d), 0);
    cr_expect_str_neq(base, other);
    close_model(&o);
}

/* ---- archives near 4 GiB: a member of zeros that takes no room, in a file with a hole ---- */

struct huge {
    uint8_t *map;
    uint64_t size;
};

static struct huge huge_new(uint64_t size)
{
    FILE *f = tmpfile();
    cr_assert_not_null(f);
    cr_assert_eq(ftruncate(fileno(f), (off_t)size), 0);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    cr_assert_neq(p, MAP_FAILED);
    fclose(f);
    return (struct huge){p, size};
}

/* Copies all but what lies deep inside the member of zeros. */
struct huge_sink {
    struct sink sink;
    struct huge to;
    uint64_t at, hole_from, hole_to; /* in the source */
};

static int huge_put(struct sink *sink, const void *bytes, size_t n, uint64_t src)
{
    struct huge_sink *s = (struct huge_sink *)(void *)sink;
    cr_assert_leq(s->at + n, s->to.size);
    for (size_t i = 0; i < n;) {
        bool hole = src != SINK_NEW && src + i >= s->hole_from && src + i < s->hole_to;
        uint64_t upto = src == SINK_NEW          ? UINT64_MAX
                        : hole                   ? s->hole_to
                        : src + i < s->hole_from ? s->hole_from
                                                 : UINT64_MAX;
        size_t len = upto == UINT64_MAX || upto - src > n ? n - i : (size_t)(upto - src) - i;
        if (!hole)
            memcpy(s->to.map + s->at + i, (const uint8_t *)bytes + i, len);
        i += len;
    }
    s->at += n;
    return 0;
}

static int huge_finish(struct sink *sink)
{
    (void)sink;
    return 0;
}

/* Program, zeros, `tail` bytes before 4 GiB another member; directory; end. */
static struct huge huge_archive(uint64_t tail, bool end64, uint64_t *zeros)
{
    struct zip_build head = {0}, end = {0};
    zip_add(&head, "serialized_exported_program.json", SMALL);
    uint64_t zero_local = head.out.n, last_local = (UINT64_C(1) << 32) - 1 - tail, data = zero_local + 30 + 7;
    uint64_t n = last_local - data;
    zip_add(&end, "version", "8.2");
    struct pb dir = {0}, local = {0};
    pb_raw(&local, "PK\3\4", 4);
    le(&local, 20, 2);
    le(&local, 0, 2 + 2 + 4 + 4);
    le(&local, n, 4);
    le(&local, n, 4);
    le(&local, 7, 4);
    pb_raw(&local, "weights", 7);
    pb_raw(&dir, head.dir.b, head.dir.n);
    pb_raw(&dir, "PK\1\2", 4);
    le(&dir, 20, 2);
    le(&dir, 20, 2);
    le(&dir, 0, 2 + 2 + 4 + 4);
    le(&dir, n, 4);
    le(&dir, n, 4);
    le(&dir, 7, 2);
    le(&dir, 0, 2 + 2 + 2 + 2 + 4);
    le(&dir, zero_local, 4);
    pb_raw(&dir, "weights", 7);
    size_t last = dir.n;
    pb_raw(&dir, end.dir.b, end.dir.n);
    struct pb off = {0};
    le(&off, last_local, 4);
    memcpy(dir.b + last + 42, off.b, 4);
    uint64_t central = last_local + end.out.n;
    struct pb eocd = {0};
    bool big = central >= UINT32_MAX;
    if (end64 || big) {
        pb_raw(&eocd, "PK\6\6", 4);
        le(&eocd, 44, 8);
        le(&eocd, 0x2d002d, 4);
        le(&eocd, 0, 8);
        le(&eocd, 3, 8);
        le(&eocd, 3, 8);
        le(&eocd, dir.n, 8);
        le(&eocd, central, 8);
        pb_raw(&eocd, "PK\6\7", 4);
        le(&eocd, 0, 4);
        le(&eocd, central + dir.n, 8);
        le(&eocd, 1, 4);
    }
    pb_raw(&eocd, "PK\5\6", 4);
    le(&eocd, 0, 4);
    le(&eocd, 3, 2);
    le(&eocd, 3, 2);
    le(&eocd, dir.n, 4);
    le(&eocd, big ? UINT32_MAX : central, 4);
    le(&eocd, 0, 2);
    struct huge h = huge_new(central + dir.n + eocd.n);
    memcpy(h.map, head.out.b, head.out.n);
    memcpy(h.map + zero_local, local.b, local.n);
    memcpy(h.map + last_local, end.out.b, end.out.n);
    memcpy(h.map + central, dir.b, dir.n);
    memcpy(h.map + central + dir.n, eocd.b, eocd.n);
    *zeros = data;
    pb_free(&head.out);
    pb_free(&head.dir);
    pb_free(&end.out);
    pb_free(&end.dir);
    pb_free(&local);
    pb_free(&dir);
    pb_free(&off);
    pb_free(&eocd);
    return h;
}

static void huge_open(struct opened *o, struct huge h)
{
    o->bytes = (struct pb){0};
    diag_init(&o->d);
    ir_model_init(&o->m, &o->d, 64 << 20);
    cr_assert_eq(pt2_read(&o->m, h.map, h.size, NULL, &o->d), 0, "%s", first_error(&o->d));
}

static struct huge huge_write(struct opened *o, struct huge from, bool tagged, const struct annot *a,
                              size_t n, uint64_t zeros)
{
    struct huge_sink s = {.sink = {.put = huge_put, .finish = huge_finish},
                          .to = huge_new(from.size + 65536)};
    s.hole_from = zeros + 4096;
    s.hole_to = (UINT64_C(1) << 32) - (8 << 20);
    cr_assert_eq(pt2_write(&o->m, tagged, &(struct annots){a, n}, &s.sink, &o->d), 0, "%s",
                 first_error(&o->d));
    s.to.size = s.at;
    return s.to;
}

/* Equal, but for the zeros, which are not looked at. */
static void huge_same(struct huge x, struct huge y, uint64_t zeros)
{
    uint64_t far = x.size - (1 << 20);
    cr_assert_eq(x.size, y.size);
    cr_expect_eq(memcmp(x.map, y.map, zeros + 4096), 0);
    cr_expect_eq(memcmp(x.map + far, y.map + far, x.size - far), 0);
}

Test(pt2_write, offsets_that_pass_4_gib)
{
    static const struct {
        uint64_t tail;
        bool end64, member, record, end; /* what becomes zip64 */
    } cases[] = {
        {100, false, true, true, false},       /* the last member and the directory pass it */
        {100, true, true, false, true},        /* ... where a zip64 end record is there */
        {20, false, true, false, false},       /* the directory is beyond it already */
        {3 << 20, false, false, false, false}, /* far enough */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opened o, t;
        struct annot a[8];
        uint64_t zeros, zeros_now;
        struct huge h = huge_archive(cases[i].tail, cases[i].end64, &zeros);
        huge_open(&o, h);
        size_t n = all_tags(a, &o.m, 1);
        struct huge tagged = huge_write(&o, h, false, a, n, zeros);
        huge_open(&t, tagged);
        const struct zip_dir *z = &pt2_of(&t.m)->zip;
        zeros_now = z->members[1].data;
        cr_expect_eq(z->members[2].local - o.m.size + (o.m.size - pt2_of(&o.m)->zip.members[2].local),
                     tagged.size - h.size - (z->central_len - pt2_of(&o.m)->zip.central_len) -
                         (cases[i].record ? 76 : 0),
                     "case %zu", i);
        const struct ir_entry *undo = ir_meta(&t.m, PT2_UNDO);
        char want[16] = "";
        snprintf(want, sizeof want, "%s%s%s", cases[i].member ? "z2;" : "", cases[i].record ? "Z;" : "",
                 cases[i].end ? "E;" : "");
        cr_expect_eq(undo != NULL, want[0] != '\0', "case %zu", i);
        if (undo)
            cr_expect(str_is(undo->value, want), "case %zu: %.*s", i, STR_ARG(undo->value));
        struct huge back = huge_write(&t, tagged, true, NULL, 0, zeros_now);
        huge_same(back, h, zeros);
        struct huge again = huge_write(&t, tagged, true, a, n, zeros_now);
        huge_same(again, tagged, zeros_now);
        close_model(&o);
        close_model(&t);
        munmap(h.map, h.size);
        munmap(tagged.map, tagged.size);
        munmap(back.map, back.size);
        munmap(again.map, again.size);
    }
}
