/* Which values require a gradient: the file says it of parameters and inputs, nodes pass it on. */
#include "schema/pt2_reader.h"

/* Types that autograd differentiates. */
static bool differentiable(uint8_t dtype)
{
    return dtype == IR_DTYPE_FLOAT || dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_DOUBLE ||
           dtype == IR_DTYPE_COMPLEX64 || dtype == IR_DTYPE_COMPLEX128 || dtype == IR_DTYPE_BFLOAT16;
}

/* Operators whose results are new constants, whatever their operands. */
static bool cuts(struct str name)
{
    static const char *const list[] = {
        "aten.detach",     "aten.detach_",   "aten.zeros_like", "aten.ones_like",         "aten.full_like",
        "aten.empty_like", "aten.rand_like", "aten.randn_like", "aten.randint_like",      "aten.new_zeros",
        "aten.new_ones",   "aten.new_full",  "aten.new_empty",  "aten.new_empty_strided",
    };
    return STR_IS_ONE_OF(name, list);
}

/* Views of their first operand: they require a gradient where it does, even under no_grad(). */
static bool is_view(struct str name)
{
    static const char *const list[] = {
        "aten.view",      "aten.reshape", "aten.t",          "aten.transpose",        "aten.permute",
        "aten.narrow",    "aten.slice",   "aten.select",     "aten.expand",           "aten.squeeze",
        "aten.unsqueeze", "aten.split",   "aten.chunk",      "aten.unbind",           "aten.alias",
        "aten.diagonal",  "aten.movedim", "aten.unflatten",  "aten.flatten",          "aten.swapaxes",
        "aten.numpy_T",   "aten.mT",      "aten.as_strided", "aten.split_with_sizes", "aten.view_as",
        "aten.expand_as", "aten.adjoint",
    };
    return STR_IS_ONE_OF(name, list);
}

static void node_grad(struct ir_model *m, const struct ir_node *n, bool no_grad)
{
    struct str name = ir_without_overload(ir_node_op(m, n)->type);
    uint32_t body = ir_node_body(m, n);
    bool grad = false;
    if (body != IR_NONE)
        no_grad = m->graphs[body].no_grad;
    uint32_t operands = cuts(name) ? 0 : !no_grad ? ir_node_n_in(n) : is_view(name) ? 1 : 0;
    for (uint32_t i = 0; i < operands && i < ir_node_n_in(n); i++) {
        uint32_t v = ir_node_input(m, n, i);
        grad |= v != IR_NONE && m->layouts[v].requires_grad;
    }
    for (uint32_t i = 0; i < ir_node_n_out(n); i++) {
        uint32_t v = ir_node_output(m, n, i);
        if (v != IR_NONE)
            m->layouts[v].requires_grad = grad && differentiable(m->values[v].dtype);
    }
    uint32_t self = ir_node_input(m, n, 0);
    if (grad && self != IR_NONE && str_ends(name, STR_LIT("_")) && !str_ends(name, STR_LIT("__")))
        m->layouts[self].requires_grad |= differentiable(m->values[self].dtype); /* in place */
}

void pt2_grad(struct ir_model *m)
{
    /* Nested graphs come after the nodes that run them, so what they get from outside is known. */
    for (uint32_t g = 0; g < m->n_graphs; g++) {
        const struct ir_graph *graph = &m->graphs[g];
        for (uint32_t i = 0; i < graph->n_inputs; i++) {
            struct ir_layout *l = &m->layouts[graph->inputs[i]];
            if (l->from != IR_NONE)
                l->requires_grad = m->layouts[l->from].requires_grad;
        }
        for (uint32_t n = graph->first_node; n < graph->first_node + graph->n_nodes; n++)
            node_grad(m, &m->nodes[n], graph->no_grad);
    }
}
