/* How nodes run the graphs in their attributes: If, Loop, Scan and SequenceMap of ai.onnx; of others nothing
 * is known. */
#include "schema/onnx_reader.h"

/* Along which axis a Scan walks over the first of those operands; one that no tensor has where it is not
 * known. 0 or a negative ir_err. */
static int scan_axis(struct ir_model *m, struct ir_graph *g)
{
    struct ir_attr a;
    int rc = m->source->attr(m, g->parent_node, "scan_input_axes", &a);
    if (rc != 1)
        return rc;
    bool known = a.kind == IR_ATTR_INTS && a.ints_known && a.n_ints > 0 && a.ints[0] >= -IR_RANK_MAX &&
                 a.ints[0] < IR_RANK_MAX;
    g->axis = known ? (int32_t)a.ints[0] : IR_RANK_MAX;
    return 0;
}

/* A Scan walks over its last operands, as many as num_scan_inputs says; before opset 9 its first operand was
 * another thing and it ran for each element of a batch, too. */
static int set_scan(struct ir_model *m, struct ir_graph *g)
{
    const struct ir_node *n = &m->nodes[g->parent_node];
    struct ir_attr a;
    uint32_t n_in = ir_node_n_in(n);
    g->runs = IR_RUNS_WHILE;
    if (&m->graphs[ir_node_body(m, n)] != g || g->next_body != IR_NONE || n_in != g->n_inputs)
        return 0;
    int rc = m->source->attr(m, g->parent_node, "num_scan_inputs", &a);
    if (rc != 1 || a.kind != IR_ATTR_INT || a.i < 1 || a.i > n_in)
        return rc < 0 ? rc : 0;
    g->runs = IR_RUNS_OVER;
    g->over = n_in - (uint32_t)a.i;
    return scan_axis(m, g);
}

static int set_runs(struct ir_model *m, struct ir_graph *g)
{
    const struct ir_op *op = ir_node_op(m, &m->nodes[g->parent_node]);
    g->runs = IR_RUNS_UNKNOWN;
    if (op->domain.n || op->function != IR_NONE)
        return 0;
    if (str_is(op->type, "Scan"))
        return set_scan(m, g);
    if (str_is(op->type, "If"))
        g->runs = IR_RUNS_EITHER;
    else if (str_is(op->type, "Loop"))
        g->runs = IR_RUNS_COUNTED;
    else if (str_is(op->type, "SequenceMap"))
        g->runs = IR_RUNS_WHILE;
    return 0;
}

int onnx_set_runs(struct ir_model *m)
{
    int rc = 0;
    for (uint32_t g = 0; rc == 0 && g < m->n_graphs; g++)
        if (m->graphs[g].kind == IR_GRAPH_BODY)
            rc = set_runs(m, &m->graphs[g]);
    return rc;
}
