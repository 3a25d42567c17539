/* Backward: which steps of a training graph come after the loss. A graph that holds backward names its
 * gradients, and what depends on a gradient is backward. */
#include "passes/mm.h"

#include <stdlib.h>

static bool gradient_name(struct str name)
{
    return str_ends(name, STR_LIT("_grad")) || str_find(name, STR_LIT("_Grad/")) >= 0 ||
           str_find(name, STR_LIT("_grad/")) >= 0;
}

/* Does this node start backward by its own nature? YieldOp hands over the loss's gradient; ops and values are
 * named. */
static bool gradient_node(const struct ir_model *m, const struct ir_node *n, const struct ir_op *op)
{
    if (str_ends(op->type, STR_LIT("Grad")) || str_is(op->type, "YieldOp") ||
        gradient_name(ir_node_name(m, n)))
        return true;
    for (uint32_t i = 0; i < ir_node_n_out(n); i++)
        if (gradient_name(ir_value_name(m, ir_node_output(m, n, i))))
            return true;
    return false;
}

/* Any sign of backward at all? Else the walk below is not worth its time. */
static bool holds_backward(const struct state *s)
{
    const struct ir_model *m = s->m;
    for (uint32_t i = 0; i < m->n_ops; i++)
        if (str_ends(m->ops[i].type, STR_LIT("Grad")) || str_is(m->ops[i].type, "YieldOp"))
            return true;
    for (uint32_t v = 0; v < m->n_values; v++) /* those of nodes stand beside the node's name: below */
        if (m->values[v].kind != IR_VALUE_NODE && str_ends(ir_value_name(m, v), STR_LIT("_grad")))
            return true;
    if (m->noted)
        return m->gradient_names;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct ir_node *n = &m->nodes[i];
        if (i + NODES_AHEAD < m->n_nodes)
            __builtin_prefetch(ir_node_name(m, &n[NODES_AHEAD]).s);
        if (ir_may_be_gradient(ir_node_name(m, n)))
            return true;
        for (uint32_t j = 0; j < ir_node_n_out(n); j++)
            if (str_ends(ir_value_name(m, ir_node_output(m, n, j)), STR_LIT("_grad")))
                return true;
    }
    return false;
}

/* One flag per step, set for backward; NULL when the graph holds none. */
int find_backward(struct state *s, uint8_t **out)
{
    const struct ir_model *m = s->m;
    *out = NULL;
    if (m->format == IR_PT2 || !holds_backward(s))
        return 0;
    uint8_t *steps = arena_alloc(&s->arena, s->walk.n_steps ? s->walk.n_steps : 1, 1);
    uint8_t *slots = calloc(s->walk.n_slots ? s->walk.n_slots : 1, 1);
    if (!steps || !slots) {
        free(slots);
        return IR_EMEM;
    }
    for (uint32_t i = 0; i < s->walk.n_steps; i++) {
        struct step st = walk_step(&s->walk, i);
        const struct ir_node *n = &m->nodes[st.node];
        bool back = gradient_node(m, n, ir_node_op(m, n));
        for (uint32_t j = 0; j < ir_node_n_in(n) && !back; j++) {
            struct use u = walk_resolve(&s->walk, walk_input(&s->walk, st, j));
            back = u.value != IR_NONE &&
                   (slots[walk_slot(&s->walk, u)] || gradient_name(ir_value_name(m, u.value)));
        }
        steps[i] = back;
        for (uint32_t j = 0; j < ir_node_n_out(n) && back; j++) {
            struct use u = walk_output(&s->walk, st, j);
            if (u.value != IR_NONE)
                slots[walk_slot(&s->walk, u)] = 1;
        }
    }
    free(slots);
    *out = steps;
    return 0;
}
