/* The text form of a model, and its Graphviz form. */
#include "ir/ir.h"

#include <stdarg.h>
#include <stdio.h>

/* Output that remembers the first failure, so that printing need not check each piece. */
struct out {
    struct ir_model *m;
    ir_put put;
    void *ctx;
    int rc;
};

static void text(struct out *o, const char *s, size_t n)
{
    if (o->rc == 0 && n)
        o->rc = o->put(o->ctx, s, n);
}

/* Short pieces only: numbers and fixed words. */
static void print(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct out *o, const char *fmt, ...)
{
    char buf[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (n > 0)
        text(o, buf, (size_t)n < sizeof buf ? (size_t)n : sizeof buf - 1);
}

/* A name, escaped; with `quote`, also as the inside of a Graphviz string. */
static void name(struct out *o, struct str s, bool quote)
{
    while (s.n && o->rc == 0) { /* in pieces, cut where no UTF-8 sequence goes on */
        char buf[1024 + 1];
        size_t n = s.n < 256 ? s.n : 256;
        while (n < s.n && n > 250 && ((unsigned char)s.s[n] & 0xc0) == 0x80)
            n--;
        str_escape(buf, sizeof buf, str_sub(s, 0, n));
        const char *p = buf;
        for (size_t plain; quote && (plain = strcspn(p, "\\\"")) != strlen(p); p += plain + 1) {
            text(o, p, plain);
            text(o, "\\", 1);
            text(o, p + plain, 1);
        }
        text(o, p, strlen(p));
        s = str_sub(s, n, s.n - n);
    }
}

static const char *dtype_text(uint8_t dtype)
{
    static const char *const names[] = {[IR_DTYPE_UNKNOWN] = "?",
                                        [IR_DTYPE_FLOAT] = "float32",
                                        [IR_DTYPE_UINT8] = "uint8",
                                        [IR_DTYPE_INT8] = "int8",
                                        [IR_DTYPE_UINT16] = "uint16",
                                        [IR_DTYPE_INT16] = "int16",
                                        [IR_DTYPE_INT32] = "int32",
                                        [IR_DTYPE_INT64] = "int64",
                                        [IR_DTYPE_STRING] = "string",
                                        [IR_DTYPE_BOOL] = "bool",
                                        [IR_DTYPE_FLOAT16] = "float16",
                                        [IR_DTYPE_DOUBLE] = "float64",
                                        [IR_DTYPE_UINT32] = "uint32",
                                        [IR_DTYPE_UINT64] = "uint64",
                                        [IR_DTYPE_COMPLEX64] = "complex64",
                                        [IR_DTYPE_COMPLEX128] = "complex128",
                                        [IR_DTYPE_BFLOAT16] = "bfloat16",
                                        [IR_DTYPE_FLOAT8E4M3FN] = "float8e4m3fn",
                                        [IR_DTYPE_FLOAT8E4M3FNUZ] = "float8e4m3fnuz",
                                        [IR_DTYPE_FLOAT8E5M2] = "float8e5m2",
                                        [IR_DTYPE_FLOAT8E5M2FNUZ] = "float8e5m2fnuz",
                                        [IR_DTYPE_UINT4] = "uint4",
                                        [IR_DTYPE_INT4] = "int4",
                                        [IR_DTYPE_FLOAT4E2M1] = "float4e2m1",
                                        [IR_DTYPE_FLOAT8E8M0] = "float8e8m0",
                                        [IR_DTYPE_UINT2] = "uint2",
                                        [IR_DTYPE_INT2] = "int2"};
    return dtype < sizeof names / sizeof *names ? names[dtype] : "?";
}

static void op_text(struct out *o, const struct ir_op *op, bool quote)
{
    if (op->domain.n) {
        name(o, op->domain, quote);
        text(o, ":", 1);
    }
    name(o, op->type, quote);
    if (op->overload.n) {
        text(o, ":", 1);
        name(o, op->overload, quote);
    }
}

/* "%name", with the number of its graph when that is another one; "_" for nothing. */
static void value_ref(struct out *o, uint32_t value, uint32_t graph)
{
    if (value == IR_NONE) {
        text(o, "_", 1);
        return;
    }
    const struct ir_value *v = &o->m->values[value];
    text(o, "%", 1);
    name(o, ir_value_name(o->m, value), false);
    if (v->kind == IR_VALUE_UNDEFINED)
        text(o, "?", 1);
    else if (v->graph != graph)
        print(o, "@%u", v->graph);
}

static void value_type(struct out *o, uint32_t value)
{
    const struct ir_value *v = &o->m->values[value];
    const struct ir_shape *s = &o->m->shapes[v->shape];
    print(o, " %s", dtype_text(v->dtype));
    if (v->shape == IR_SHAPE_UNKNOWN) {
        text(o, "[..]", 4);
        return;
    }
    text(o, "[", 1);
    for (uint32_t i = 0; i < s->rank; i++) {
        if (i)
            text(o, ",", 1);
        if (s->dims[i] == IR_DIM_UNKNOWN)
            text(o, "?", 1);
        else
            print(o, "%lld", (long long)s->dims[i]);
    }
    text(o, "]", 1);
}

static void operands(struct out *o, const uint32_t *v, uint32_t n, uint32_t graph, bool types)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            text(o, ", ", 2);
        value_ref(o, v[i], graph);
        if (types && v[i] != IR_NONE)
            value_type(o, v[i]);
    }
}

static void print_node(struct out *o, uint32_t node, uint32_t graph)
{
    struct ir_model *m = o->m;
    const struct ir_node *n = &m->nodes[node];
    print(o, "  %u ", ir_node_index(m, node));
    op_text(o, ir_node_op(m, n), false);
    text(o, " '", 2);
    name(o, ir_node_name(m, n), false);
    text(o, "' (", 3);
    operands(o, m->operands + n->operands, ir_node_n_in(n), graph, false);
    text(o, ") -> (", 6);
    operands(o, m->operands + n->outputs, ir_node_n_out(n), graph, true);
    text(o, ")", 1);
    for (uint32_t b = ir_node_body(m, n); b != IR_NONE; b = m->graphs[b].next_body) {
        text(o, " ", 1);
        name(o, m->graphs[b].attr, false);
        print(o, "=graph %u", b);
    }
    text(o, "\n", 1);
}

static void print_param(struct out *o, uint32_t graph, uint32_t param)
{
    const struct ir_param *p = &o->m->params[param];
    text(o, "  param ", 8);
    value_ref(o, p->value, graph);
    value_type(o, p->value);
    print(o, " %llu bytes%s%s%s%s%s\n", (unsigned long long)p->bytes, p->graph_input ? " input" : "",
          p->external ? " external" : "", p->sparse ? " sparse" : "", p->buffer ? " buffer" : "",
          p->no_grad ? " no_grad" : "");
}

/* NULL: no memory, reported. */
static const char *path_of(struct out *o, uint32_t graph)
{
    const char *path = ir_graph_path(o->m, graph);
    if (!path && o->rc == 0)
        o->rc = diag_nomem(o->m->diag);
    return path;
}

/* How its node runs it. */
static void print_runs(struct out *o, const struct ir_graph *g)
{
    static const char *const words[] = {[IR_RUNS_ONCE] = "once",       [IR_RUNS_EITHER] = "this or another",
                                        [IR_RUNS_COUNTED] = "counted", [IR_RUNS_OVER] = "over operand",
                                        [IR_RUNS_WHILE] = "while",     [IR_RUNS_TEST] = "test",
                                        [IR_RUNS_UNKNOWN] = "unknown"};
    if (g->kind != IR_GRAPH_BODY)
        return;
    print(o, " runs %s", words[g->runs]);
    if (g->runs == IR_RUNS_OVER)
        print(o, " %u axis %d", g->over, g->axis);
}

static void print_graph(struct out *o, uint32_t graph)
{
    struct ir_model *m = o->m;
    const struct ir_graph *g = &m->graphs[graph];
    const char *path = path_of(o, graph);
    if (!path)
        return;
    print(o, "graph %u ", graph);
    name(o, str_of(path), false);
    text(o, " '", 2);
    name(o, g->name, false);
    text(o, "'", 1);
    print_runs(o, g);
    text(o, "\n  in (", 7);
    operands(o, g->inputs, g->n_inputs, graph, true);
    text(o, ")\n", 2);
    for (uint32_t i = 0; i < g->n_attr_params; i++) {
        text(o, "  attr ", 7);
        name(o, g->attr_params[i], false);
        text(o, "\n", 1);
    }
    for (uint32_t p = g->first_param; o->rc == 0 && p < g->first_param + g->n_params; p++)
        print_param(o, graph, p);
    for (uint32_t n = g->first_node; o->rc == 0 && n < g->first_node + g->n_nodes; n++)
        print_node(o, n, graph);
    text(o, "  out (", 7);
    operands(o, g->outputs, g->n_outputs, graph, true);
    text(o, ")\n", 2);
}

int ir_print(struct ir_model *m, ir_put put, void *ctx)
{
    struct out o = {m, put, ctx, 0};
    print(&o, "model %s ir %lld '", m->format == IR_ONNX ? "onnx" : "pt2", (long long)m->ir_version);
    name(&o, m->producer, false);
    text(&o, "' '", 3);
    name(&o, m->producer_version, false);
    text(&o, "'\n", 2);
    for (uint32_t i = 0; i < m->n_opsets; i++) {
        text(&o, "opset '", 7);
        name(&o, m->opsets[i].domain, false);
        print(&o, "' %lld\n", (long long)m->opsets[i].version);
    }
    for (uint32_t g = 0; o.rc == 0 && g < m->n_graphs; g++)
        print_graph(&o, g);
    return o.rc;
}

/* ---- Graphviz */

static void dot_node(struct out *o, uint32_t node, const char *colour)
{
    const struct ir_node *n = &o->m->nodes[node];
    print(o, "    n%u [label=\"", node);
    op_text(o, ir_node_op(o->m, n), true);
    text(o, "\\n", 2);
    name(o, ir_node_name(o->m, n), true);
    text(o, "\"", 1);
    if (colour)
        print(o, ", style=filled, fillcolor=\"%s\"", colour);
    text(o, "];\n", 3);
}

static void dot_edges(struct out *o, uint32_t node)
{
    struct ir_model *m = o->m;
    const struct ir_node *n = &m->nodes[node];
    for (uint32_t i = 0; i < ir_node_n_in(n); i++) {
        uint32_t v = ir_node_input(m, n, i), from = ir_value_node(m, v);
        if (from != IR_NONE)
            print(o, "  n%u -> n%u;\n", from, node);
        else if (v != IR_NONE && m->values[v].kind == IR_VALUE_INPUT)
            print(o, "  v%u -> n%u;\n", v, node);
    }
    for (uint32_t b = ir_node_body(m, n); b != IR_NONE; b = m->graphs[b].next_body)
        if (m->graphs[b].n_nodes)
            print(o, "  n%u -> n%u [style=dashed, lhead=cluster%u];\n", node, m->graphs[b].first_node, b);
}

static void dot_graph(struct out *o, uint32_t graph, ir_paint paint, void *paint_ctx)
{
    struct ir_model *m = o->m;
    const struct ir_graph *g = &m->graphs[graph];
    const char *path = path_of(o, graph);
    if (!path)
        return;
    print(o, "  subgraph cluster%u {\n    label=\"", graph);
    name(o, str_of(path), true);
    text(o, "\";\n", 3);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        if (m->values[g->inputs[i]].kind != IR_VALUE_INPUT)
            continue;
        print(o, "    v%u [shape=ellipse, label=\"", g->inputs[i]);
        name(o, ir_value_name(m, g->inputs[i]), true);
        text(o, "\"];\n", 4);
    }
    for (uint32_t n = g->first_node; o->rc == 0 && n < g->first_node + g->n_nodes; n++)
        dot_node(o, n, paint ? paint(paint_ctx, n) : NULL);
    text(o, "  }\n", 4);
}

int ir_dot(struct ir_model *m, ir_paint paint, void *paint_ctx, ir_put put, void *ctx)
{
    struct out o = {m, put, ctx, 0};
    static const char head[] = "digraph model {\n  compound=true;\n  node [shape=box];\n";
    text(&o, head, sizeof head - 1);
    for (uint32_t g = 0; o.rc == 0 && g < m->n_graphs; g++)
        dot_graph(&o, g, paint, paint_ctx);
    for (uint32_t n = 0; o.rc == 0 && n < m->n_nodes; n++)
        dot_edges(&o, n);
    text(&o, "}\n", 2);
    return o.rc;
}
