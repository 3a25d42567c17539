/* Program: the first pass. Which graphs belong to the main graph that is decided, every node that runs (the
 * walk), which values are parameters, and what is known of each value (the facts). */
#include "passes/linear.h"

#include <stdlib.h>

/* The first component of a dotted name. */
static struct str top_of(struct str fqn)
{
    ptrdiff_t dot = str_chr(fqn, '.');
    return dot < 0 ? fqn : str_sub(fqn, 0, (size_t)dot);
}

static bool static_shape(const struct ir_model *m, uint32_t value)
{
    const struct ir_shape *x = ir_shape_of(m, value);
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] < 0)
            return false;
    return x->rank > 0;
}

/* Is a graph input a parameter by its name? `tops`: the top modules of those that are for sure; on the second
 * pass all are known. */
static int input_is_param(struct state *s, uint32_t value, bool second, struct names *tops)
{
    enum param_kind kind;
    struct str fqn;
    int rc = param_name(s, ir_value_name(s->m, value), &kind, &fqn);
    bool sure = kind == PARAM_WEIGHT || kind == PARAM_BIAS || kind == PARAM_KERNEL;
    if (rc || kind == PARAM_NO_NAME || !static_shape(s->m, value))
        return rc;
    if (sure && names_intern(tops, top_of(fqn)) == NAME_NONE)
        return IR_EMEM;
    bits_add(s->is_param, value, sure || (second && names_find(tops, top_of(fqn)) != NAME_NONE));
    return 0;
}

/* Parameters, and graph inputs that are parameters by their names (a model exported with its weights as
 * inputs): FQN.weight and FQN.bias are; another dotted name only beside such ones, under the same top module,
 * and of static shape (past_key_values.0.key is an activation). */
static int find_params(struct state *s)
{
    const struct ir_model *m = s->m;
    const struct ir_graph *root = &m->graphs[s->root];
    struct names tops;
    names_init(&tops);
    s->is_param = arena_alloc(&s->arena, bits_size(m->n_values), 1);
    int rc = s->is_param ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < m->n_params; i++) {
        const struct ir_value *v = &m->values[m->params[i].value];
        bits_add(s->is_param, m->params[i].value, v->kind == IR_VALUE_PARAM && s->in_program[v->graph]);
    }
    for (int pass = 0; !rc && pass < 2; pass++)
        for (uint32_t i = 0; !rc && i < root->n_inputs; i++)
            if (m->values[root->inputs[i]].kind == IR_VALUE_INPUT)
                rc = input_is_param(s, root->inputs[i], pass == 1, &tops);
    names_free(&tops);
    return rc;
}

/* Bodies belong to the main graph that they lie in; functions to all. A parent's graph comes before its
 * bodies. */
static int find_program(struct state *s)
{
    const struct ir_model *m = s->m;
    s->in_program = arena_alloc(&s->arena, m->n_graphs, sizeof *s->in_program);
    for (uint32_t g = 0; s->in_program && g < m->n_graphs; g++) {
        const struct ir_graph *x = &m->graphs[g];
        s->in_program[g] = x->kind == IR_GRAPH_FUNCTION || g == s->root ||
                           (x->kind == IR_GRAPH_BODY && s->in_program[x->parent]);
    }
    return s->in_program ? 0 : IR_EMEM;
}

int pass_walk(struct state *s)
{
    const struct walk_limits limits = {s->o->max_steps, s->o->max_depth, &s->arena};
    int rc = find_program(s);
    if (!rc)
        rc = walk_build_from(&s->walk, s->m, s->root, &limits, s->d);
    if (!rc && !s->walk.sorted)
        diag_note(s->d, "the nodes are not in topological order: ordered, stably");
    if (!rc)
        rc = find_params(s);
    return rc ? rc : facts_build(&s->facts, &s->walk, s->is_param, s->d);
}
