/* Looking inside a model: the IR as text, and as a drawing for Graphviz. */
#include "lib/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ir_put and sactag_put are the same type under two names. What `put` refused is its owner's to report. */
static int stopped(int e)
{
    return e > 0 ? SACTAG_EIO : e;
}

int sactag_dump_ir(sactag_model *m, sactag_put put, void *ctx, sactag_diag *d)
{
    model_reports_to(m, d);
    int e = ir_print(&m->ir, put, ctx);
    m->ir.diag = NULL;
    return stopped(e);
}

/* ---- Graphviz ---- */

struct dot {
    struct ir_model *m;
    const struct plan *plan;
    uint32_t *rows; /* per node: 1 + its first row in the plan; NULL without a plan */
    sactag_put put;
    void *ctx;
    struct diag *d;
    char *text; /* room for escaped names */
    size_t cap;
    int error; /* the first one; nothing is written after it */
};

static void put_raw(struct dot *o, const char *s, size_t n)
{
    if (!o->error && n > 0)
        o->error = o->put(o->ctx, s, n) ? SACTAG_EIO : 0;
}

static void put_format(struct dot *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_format(struct dot *o, const char *fmt, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    put_raw(o, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* Inside a quoted string: escaped as everywhere, and what that left special to Graphviz as well. */
static void put_name(struct dot *o, struct str s)
{
    size_t n = str_escape(NULL, 0, s), from = 0;

    if (o->error)
        return;
    if (grow(&o->text, &o->cap, n + 1, 1)) {
        o->error = diag_error(o->d, IR_EMEM, "out of memory");
        return;
    }
    str_escape(o->text, n + 1, s);
    for (size_t i = 0; i < n; i++) {
        if (o->text[i] != '"' && o->text[i] != '\\')
            continue;
        put_raw(o, o->text + from, i - from);
        put_raw(o, "\\", 1);
        from = i;
    }
    put_raw(o, o->text + from, n - from);
}

static const char *color(enum policy p)
{
    return p == POLICY_SAVE ? "palegreen" : p == POLICY_RECOMPUTE ? "gold" : "lightgrey";
}

static void put_dim(struct dot *o, int64_t dim)
{
    if (dim < 0)
        put_raw(o, "?", 1);
    else
        put_format(o, "%" PRId64, dim);
}

static void put_row(struct dot *o, const struct plan_row *r)
{
    put_raw(o, "\\n", 2);
    put_dim(o, r->rhs.k);
    put_raw(o, "x", 1);
    put_dim(o, r->rhs.n);
    put_format(o, "\\n%s ", sactag_policy_name((enum sactag_policy)r->policy));
    put_name(o, r->reason);
    put_format(o, "\", fillcolor=%s];\n", color(r->policy));
}

static void put_node(struct dot *o, uint32_t id)
{
    const struct ir_node *n = &o->m->nodes[id];
    const struct plan_row *r = o->rows && o->rows[id] ? &o->plan->rows[o->rows[id] - 1] : NULL;

    put_format(o, "  n%" PRIu32 " [label=\"", id);
    put_name(o, ir_node_op(o->m, n)->type);
    if (n->name.n || (r && r->fqn.n)) {
        put_raw(o, "\\n", 2);
        put_name(o, r && r->fqn.n ? r->fqn : n->name);
    }
    if (r)
        put_row(o, r);
    else
        put_raw(o, "\"];\n", 4);
}

static void put_input(struct dot *o, uint32_t value)
{
    if (value == IR_NONE || o->m->values[value].kind != IR_VALUE_INPUT)
        return; /* a parameter that is listed as an input as well */
    put_format(o, "  v%" PRIu32 " [shape=ellipse, label=\"", value);
    put_name(o, ir_value_name(o->m, value));
    put_raw(o, "\"];\n", 4);
}

static void put_graph(struct dot *o, uint32_t id)
{
    const struct ir_graph *g = &o->m->graphs[id];
    bool nested = id != 0;

    if (nested) {
        const char *path = ir_graph_path(o->m, id);
        put_format(o, "  subgraph cluster_%" PRIu32 " {\n  label=\"", id);
        put_name(o, str_of(path ? path : ""));
        put_raw(o, "\";\n", 3);
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        put_input(o, g->inputs[i]);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        put_node(o, g->first_node + i);
    if (nested)
        put_raw(o, "  }\n", 4);
}

/* An edge from whatever makes a value; parameters are not drawn. */
static void put_edge(struct dot *o, uint32_t value, uint32_t to, const char *attributes)
{
    if (value == IR_NONE)
        return;
    const struct ir_value *v = &o->m->values[value];
    if (v->kind == IR_VALUE_NODE)
        put_format(o, "  n%" PRIu32 " -> n%" PRIu32 "%s;\n", v->def, to, attributes);
    else if (v->kind == IR_VALUE_INPUT)
        put_format(o, "  v%" PRIu32 " -> n%" PRIu32 "%s;\n", value, to, attributes);
}

static void put_edges(struct dot *o)
{
    for (uint32_t id = 0; id < o->m->n_nodes && !o->error; id++)
        for (uint32_t i = 0; i < o->m->nodes[id].n_in; i++)
            put_edge(o, ir_node_input(o->m, &o->m->nodes[id], i), id, "");
    for (uint32_t g = 0; g < o->m->n_graphs && !o->error; g++) {
        const struct ir_graph *graph = &o->m->graphs[g];
        for (uint32_t i = 0; graph->kind == IR_GRAPH_BODY && i < graph->n_outputs; i++)
            put_edge(o, graph->outputs[i], graph->parent_node, " [style=dashed]");
    }
}

/* Finds each node's row, so that drawing is linear. */
static int index_rows(struct dot *o)
{
    if (!o->plan)
        return 0;
    o->rows = calloc((size_t)o->m->n_nodes + 1, sizeof *o->rows);
    if (!o->rows)
        return diag_error(o->d, IR_EMEM, "out of memory");
    for (uint32_t i = o->plan->n_rows; i-- > 0;)
        o->rows[o->plan->rows[i].node] = i + 1;
    return 0;
}

int sactag_dot(sactag_model *m, const sactag_plan *p, sactag_put put, void *ctx, sactag_diag *d)
{
    static const char head[] = "digraph model {\n  node [shape=box, style=filled, fillcolor=white];\n";
    struct dot o = {.m = &m->ir, .plan = p ? &p->plan : NULL, .put = put, .ctx = ctx};

    o.d = model_reports_to(m, d);
    o.error = index_rows(&o);
    put_raw(&o, head, sizeof head - 1);
    for (uint32_t g = 0; g < m->ir.n_graphs && !o.error; g++)
        put_graph(&o, g);
    put_edges(&o);
    put_raw(&o, "}\n", 2);
    free(o.rows);
    free(o.text);
    m->ir.diag = NULL;
    return o.error;
}
