/* Any text as a plan file, compared with and placed on a model; and as the `sac.plan` of a tagged one, which
 * tells strip what to undo. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Two blocks of two MatMuls each, one after the other. The weights are named for their modules. */
static void varint_record(struct fuzz_text *t, unsigned field, const void *bytes, size_t n)
{
    uint8_t head[4] = {(uint8_t)(field << 3 | 2), (uint8_t)(n | 0x80), (uint8_t)(n >> 7 | 0x80),
                       (uint8_t)(n >> 14)};
    must(n < 1u << 21);
    fuzz_add(t, head, 4);
    fuzz_add(t, bytes, n);
}

static void text_record(struct fuzz_text *t, unsigned field, const char *z)
{
    varint_record(t, field, z, strlen(z));
}

static void add_product(struct fuzz_text *graph, const char *weight, const char *in, const char *out)
{
    struct fuzz_text node = {0}, tensor = {0};

    text_record(&node, 1, in);
    text_record(&node, 1, weight);
    text_record(&node, 2, out);
    text_record(&node, 3, out);
    text_record(&node, 4, "MatMul");
    varint_record(graph, 1, node.s, node.n);
    fuzz_add(&tensor, "\x08\x04\x08\x04\x10\x01", 6);
    text_record(&tensor, 8, weight);
    varint_record(graph, 5, tensor.s, tensor.n);
    fuzz_text_free(&node);
    fuzz_text_free(&tensor);
}

/* The same with a metadata_props entry `sac.plan` if there is text for it. */
static struct fuzz_text model_with(const uint8_t *plan, size_t n)
{
    struct fuzz_text graph = {0}, model = {0}, entry = {0};

    add_product(&graph, "layers.0.a.weight", "x", "p");
    add_product(&graph, "layers.0.b.weight", "p", "q");
    add_product(&graph, "layers.1.a.weight", "q", "r");
    add_product(&graph, "layers.1.b.weight", "r", "y");
    fuzz_add(&graph, "\x5a\x03\x0a\x01x", 5); /* its input */
    fuzz_add(&model, "\x08\x0a", 2);
    varint_record(&model, 7, graph.s, graph.n);
    if (n) {
        text_record(&entry, 1, "sac.plan");
        varint_record(&entry, 2, plan, n);
        varint_record(&model, 14, entry.s, entry.n);
    }
    fuzz_text_free(&graph);
    fuzz_text_free(&entry);
    return model;
}

static void compare(const sactag_plan *a, const sactag_plan *b, sactag_diag *d)
{
    sactag_changes *c;

    must(sactag_diff(&c, a, b, d) == 0);
    struct sactag_change_summary sum = sactag_changes_summary(c);
    /* Where one of them is what show printed, rows of which tags do not tell are not compared. */
    must(sum.same + sum.reason + sum.changed + sum.removed <= sactag_plan_count(a));
    must(sum.same + sum.reason + sum.changed + sum.added <= sactag_plan_count(b));
    if (a == b)
        must(sum.same == sactag_plan_count(a));
    sactag_changes_free(c);
}

static void place(sactag_model *m, const struct fuzz_text *bytes, const sactag_plan *file, bool rebase,
                  sactag_diag *d)
{
    struct sactag_write_options w;
    sactag_plan *placed;
    sactag_model *tagged;
    void *out = NULL, *bare = NULL;
    size_t n = 0, n_bare = 0;
    int status = sactag_apply(&placed, m, file, rebase, d);

    fuzz_messages(d, status);
    if (status)
        return;
    compare(file, placed, d);
    sactag_write_options_init(&w);
    status = sactag_tag_buffer(m, placed, &out, &n, &w, d);
    fuzz_messages(d, status);
    if (status == 0) {
        must(sactag_open_buffer(&tagged, out, n, NULL, d) == 0);
        must(sactag_strip_buffer(tagged, &bare, &n_bare, NULL, d) == 0);
        must(n_bare == bytes->n && memcmp(bare, bytes->s, n_bare) == 0);
        sactag_close(tagged);
    }
    free(out), free(bare);
    sactag_plan_free(placed);
}

static void as_file(const uint8_t *text, size_t n)
{
    sactag_diag *d = sactag_diag_new();
    sactag_plan *file, *decided;
    sactag_model *m;
    struct sactag_options o;
    struct fuzz_text bytes = model_with(NULL, 0);

    must(d);
    int status = sactag_plan_from_text(&file, (const char *)text, n, d);
    fuzz_messages(d, status);
    must((status == 0) == (file != NULL));
    if (file) {
        must(sactag_open_buffer(&m, bytes.s, bytes.n, NULL, d) == 0);
        sactag_plan_options(file, &o);
        if (sactag_decide(&decided, m, &o, d) == 0) {
            compare(file, decided, d);
            compare(decided, file, d);
            sactag_plan_free(decided);
        }
        compare(file, file, d);
        sactag_diag_clear(d);
        place(m, &bytes, file, false, d);
        sactag_diag_clear(d);
        place(m, &bytes, file, true, d);
        sactag_plan_free(file);
        sactag_close(m);
    }
    fuzz_text_free(&bytes);
    sactag_diag_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_bound bound = fuzz_begin();

    as_file(bytes, n);
    fuzz_end(bound, n);
    if (n > 0 && n < 1u << 20) {
        struct fuzz_text model = model_with(bytes, n);
        fuzz_model((const uint8_t *)model.s, model.n, FUZZ_METADATA, n);
        fuzz_text_free(&model);
    }
    return 0;
}
