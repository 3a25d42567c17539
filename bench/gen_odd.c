/* Shapes that a hostile or odd graph may have. */
#include "bench/gen.h"

#include <stdlib.h>

static const struct scope NOWHERE = {.n = 0};

/* The end of these: one matmul in a block, so that there is something to tag. */
static void one_mm(struct gen *g, const char *x)
{
    weight(g, "layers.0.wq.weight", 4, 4, F32);
    OP(g, &NOWHERE, "MatMul", "", "logits", NULL, x, "layers.0.wq.weight");
}

void fan(struct gen *g, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        OP(g, &NOWHERE, "Identity", "", "fan", "4,4", "input_ids");
    one_mm(g, "fan");
}

void chain(struct gen *g, uint64_t n)
{
    struct name x = {"input_ids"};
    for (uint64_t i = 0; i < n; i++)
        x = OP(g, &NOWHERE, "Identity", "", "chain", "4,4", x.s);
    one_mm(g, x.s);
}

void names(struct gen *g, uint64_t n)
{
    char name[128];
    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%088d.%011llu", 0, (unsigned long long)i);
        weight(g, name, 1, 0, F32);
    }
    one_mm(g, "input_ids");
}

/* A node with a constant in an attribute: the tensor's bytes are streamed. */
void attr(struct gen *g, uint64_t bytes)
{
    static struct buf tensor, a;
    uint64_t floats = bytes / 4;
    tensor.n = a.n = g->record.n = 0;
    put_int(&tensor, ONNX_TENSOR_DIMS, (int64_t)floats);
    put_int(&tensor, ONNX_TENSOR_DATA_TYPE, F32);
    put_head(&tensor, ONNX_TENSOR_RAW_DATA, floats * 4);
    put_text(&a, ONNX_ATTR_NAME, "value");
    put_int(&a, ONNX_ATTR_TYPE, ONNX_ATTR_IS_TENSOR);
    put_head(&a, ONNX_ATTR_T, tensor.n + floats * 4);
    put(&a, tensor.p, tensor.n);
    put_text(&g->record, ONNX_NODE_OUTPUT, "big");
    put_text(&g->record, ONNX_NODE_OP_TYPE, "Constant");
    put_head(&g->record, ONNX_NODE_ATTRIBUTE, a.n + floats * 4);
    put(&g->record, a.p, a.n);
    if (wants(g, NODES))
        emit(g, ONNX_GRAPH_NODE, &g->record, floats * 4);
    if (g->section == NODES)
        random_bytes(g, g->out, floats * 4);
    one_mm(g, "input_ids");
}

/* The graph that is taken where no other one is nested. */
static void put_leaf(struct buf *b)
{
    struct buf node = {0}, info = {0};
    put_text(&node, ONNX_NODE_INPUT, "input_ids");
    put_text(&node, ONNX_NODE_OUTPUT, "y");
    put_text(&node, ONNX_NODE_OP_TYPE, "Identity");
    put_text(&info, ONNX_VALUE_INFO_NAME, "y");
    put_record(b, ONNX_GRAPH_NODE, &node);
    put_record(b, ONNX_GRAPH_OUTPUT, &info);
    free(node.p), free(info.p);
}

static void put_branch(struct buf *node, const char *name, const struct buf *graph)
{
    struct buf a = {0};
    put_text(&a, ONNX_ATTR_NAME, name);
    put_int(&a, ONNX_ATTR_TYPE, ONNX_ATTR_IS_GRAPH);
    put_record(&a, ONNX_ATTR_G, graph);
    put_record(node, ONNX_NODE_ATTRIBUTE, &a);
    free(a.p);
}

/* An If that takes `graph` or the leaf. */
static void put_if(struct buf *node, const struct buf *graph, const struct buf *leaf)
{
    put_text(node, ONNX_NODE_INPUT, "condition");
    put_text(node, ONNX_NODE_OUTPUT, "y");
    put_text(node, ONNX_NODE_OP_TYPE, "If");
    put_branch(node, "then_branch", graph);
    put_branch(node, "else_branch", leaf);
}

/* Built from the innermost graph outwards. */
void depth(struct gen *g, uint64_t n)
{
    struct buf leaf = {0}, graph = {0}, node = {0}, info = {0};
    put_text(&info, ONNX_VALUE_INFO_NAME, "y");
    put_leaf(&leaf);
    put_leaf(&graph);
    for (uint64_t i = 1; i <= n; i++) {
        node.n = 0;
        put_if(&node, &graph, &leaf);
        graph.n = 0;
        put_record(&graph, ONNX_GRAPH_NODE, &node);
        put_record(&graph, ONNX_GRAPH_OUTPUT, &info);
    }
    if (wants(g, NODES))
        emit(g, ONNX_GRAPH_NODE, &node, 0);
    one_mm(g, "y");
    free(leaf.p), free(graph.p), free(node.p), free(info.p);
}
