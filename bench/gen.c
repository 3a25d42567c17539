/* Makes the models of the benchmark: gen KIND:COUNT OUT.onnx [PREFIX]; without arguments it lists the kinds.
 * The same arguments give the same bytes. The names of nodes and of what they compute begin with PREFIX: the
 * same model as another exporter would name it.
 *
 * Fields come in the order in which protobuf writes them. The length of the graph stands before it, and
 * nothing is kept: the model is generated once to be measured, then once for each section. */
#include "bench/gen.h"

#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *name;
    void (*build)(struct gen *g, uint64_t count);
    enum data data;
    bool meta;
    const char *what;
} kinds[] = {
    {"llama", llama, INLINE, true, "decoder layers, weights inline (about 100 MB a layer)"},
    {"llama-external", llama, EXTERNAL, true, "the same, weights in OUT.onnx.data"},
    {"sparse", llama, HOLE, true, "wide layers, weights a hole in the file (about 0.44 GB a layer)"},
    {"moe", mixtral, INLINE, true, "mixture-of-experts layers of 300 nodes, with all that exporters write"},
    {"fan", fan, INLINE, false, "nodes that read one value"},
    {"chain", chain, INLINE, false, "nodes, each reads the one before"},
    {"depth", depth, INLINE, false, "graphs, each in an If of the one before"},
    {"attr", attr, INLINE, false, "bytes of one constant in an attribute"},
    {"names", names, INLINE, false, "initializers with names of 100 bytes"},
};

static void usage(void)
{
    fputs("usage: gen KIND:COUNT OUT.onnx [PREFIX]; COUNT is the number of\n", stderr);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(stderr, "  %-15s %s\n", kinds[i].name, kinds[i].what);
}

/* They stand between initializers and value_info. */
static void inputs_and_outputs(struct gen *g)
{
    value_info(g, ONNX_GRAPH_INPUT, "input_ids", I64, "batch,seq");
    value_info(g, ONNX_GRAPH_INPUT, "attention_mask", F32, "batch,1,seq,seq");
    value_info(g, ONNX_GRAPH_INPUT, "cos", F32, "batch,1,seq,dim");
    value_info(g, ONNX_GRAPH_INPUT, "sin", F32, "batch,1,seq,dim");
    value_info(g, ONNX_GRAPH_INPUT, "condition", BOOL, "");
    char logits[32];
    snprintf(logits, sizeof logits, "%slogits", g->prefix);
    value_info(g, ONNX_GRAPH_OUTPUT, logits, F32, "batch,seq,vocab");
}

static void run(struct gen *g, const struct kind *k, uint64_t count, enum section section)
{
    g->section = section;
    g->n_nodes = g->external = 0;
    g->rng = 0x9e3779b97f4a7c15u;
    memset(g->bases, 0, sizeof g->bases);
    if (wants(g, INFOS))
        inputs_and_outputs(g);
    k->build(g, count);
}

static void write_model(struct gen *g, const struct kind *k, uint64_t count)
{
    struct buf head = {0}, tail = {0}, opset = {0}, title = {0};
    put_text(&title, ONNX_GRAPH_NAME, "main_graph");
    run(g, k, count, MEASURE);
    put_int(&head, ONNX_MODEL_IR_VERSION, 10);
    put_text(&head, ONNX_MODEL_PRODUCER_NAME, "pytorch");
    put_text(&head, ONNX_MODEL_PRODUCER_VERSION, "2.6.0");
    put_head(&head, ONNX_MODEL_GRAPH, g->total + title.n);
    write_out(g->out, head.p, head.n);
    run(g, k, count, NODES);
    write_out(g->out, title.p, title.n);
    run(g, k, count, INITS);
    run(g, k, count, INFOS);
    put_text(&opset, ONNX_OPSET_DOMAIN, "");
    put_int(&opset, ONNX_OPSET_VERSION, 18);
    put_record(&tail, ONNX_MODEL_OPSET_IMPORT, &opset);
    write_out(g->out, tail.p, tail.n);
    free(head.p), free(tail.p), free(opset.p), free(title.p);
}

int main(int argc, char **argv)
{
    const struct kind *k = NULL;
    char *colon = argc == 3 || argc == 4 ? strchr(argv[1], ':') : NULL;
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == (size_t)(colon - argv[1]) &&
            strncmp(kinds[i].name, argv[1], strlen(kinds[i].name)) == 0)
            k = &kinds[i];
    if (!k) {
        usage();
        return 2;
    }
    struct gen g = {.data = k->data, .meta = k->meta, .prefix = argc == 4 ? argv[3] : ""};
    char path[4096];
    snprintf(path, sizeof path, "%s.data", argv[2]);
    g.location = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    g.out = fopen(argv[2], "wb");
    if (!g.out || (g.data == EXTERNAL && !(g.file = fopen(path, "wb"))))
        die(argv[2]);
    write_model(&g, k, strtoull(colon + 1, NULL, 10));
    if ((g.file && fclose(g.file) != 0) || fclose(g.out) != 0)
        die(argv[2]);
    free(g.record.p);
    return 0;
}
