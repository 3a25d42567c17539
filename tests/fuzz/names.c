/* Names and exporters' metadata: each line is a MatMul of one model, its cells (between tabs) the node's
 * name, its weight's, `pkg.torch.onnx.name_scopes`, `.class_hierarchy`, `.namespace`, and its output's name.
 * All that the passes learn about modules and blocks they learn from these. */
#include "fuzz.h"
#include "ir/str.h"

#include <stdlib.h>

#define LINES_MOST 64

enum cell { NODE, WEIGHT, SCOPES, CLASSES, NAMESPACE, OUTPUT, N_CELLS };

static void varint(struct fuzz_text *t, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        fuzz_add(t, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
    fuzz_add(t, &(uint8_t){(uint8_t)v}, 1);
}

static void record(struct fuzz_text *t, unsigned field, const void *bytes, size_t n)
{
    varint(t, field << 3 | 2);
    varint(t, n);
    fuzz_add(t, bytes, n);
}

static void sub(struct fuzz_text *t, unsigned field, struct fuzz_text *part)
{
    record(t, field, part->s, part->n);
    fuzz_text_free(part);
}

static struct str cut(struct str *text, char at)
{
    ptrdiff_t end = str_chr(*text, at);
    size_t n = end < 0 ? text->n : (size_t)end;
    struct str piece = str_sub(*text, 0, n);

    *text = str_sub(*text, end < 0 ? n : n + 1, text->n - n - (end >= 0));
    return piece;
}

static void entry(struct fuzz_text *node, const char *key, struct str value)
{
    struct fuzz_text e = {0};

    if (value.n == 0)
        return;
    record(&e, 1, key, str_of(key).n);
    record(&e, 2, value.s, value.n);
    sub(node, 9, &e);
}

static void add_product(struct fuzz_text *graph, struct str line)
{
    struct str cell[N_CELLS];
    struct fuzz_text node = {0}, weight = {0};

    for (int i = 0; i < N_CELLS; i++)
        cell[i] = cut(&line, '\t');
    record(&node, 1, "x", 1);
    record(&node, 1, cell[WEIGHT].s, cell[WEIGHT].n);
    record(&node, 2, cell[OUTPUT].s, cell[OUTPUT].n);
    record(&node, 3, cell[NODE].s, cell[NODE].n);
    record(&node, 4, "MatMul", 6);
    entry(&node, "pkg.torch.onnx.name_scopes", cell[SCOPES]);
    entry(&node, "pkg.torch.onnx.class_hierarchy", cell[CLASSES]);
    entry(&node, "namespace", cell[NAMESPACE]);
    sub(graph, 1, &node);
    fuzz_add(&weight, "\x08\x04\x08\x04\x10\x01", 6);
    record(&weight, 8, cell[WEIGHT].s, cell[WEIGHT].n);
    sub(graph, 5, &weight);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct str text = {(const char *)bytes, n};
    struct fuzz_text graph = {0}, model = {0};

    for (int i = 0; text.n && i < LINES_MOST; i++)
        add_product(&graph, cut(&text, '\n'));
    fuzz_add(&graph, "\x5a\x03\x0a\x01x", 5); /* its input */
    fuzz_add(&model, "\x08\x0a", 2);
    sub(&model, 7, &graph);
    fuzz_model((const uint8_t *)model.s, model.n, FUZZ_METADATA, n);
    fuzz_text_free(&model);
    return 0;
}
