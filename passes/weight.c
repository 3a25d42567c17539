/* Weights: which parameter an mm's rhs comes from, and how parameters are used. */
#include "passes/linear.h"

#include "passes/fqn.h"

#define TRACE_MAX   64 /* nodes between a weight and its product */
#define REPARAM_MAX 32 /* nodes that compute a reparametrised weight */

static uint8_t use_kind(const struct state *s, const struct ir_op *op, struct step st, uint32_t input)
{
    if (str_is(op->type, "Gather") || str_is(op->type, "aten.embedding.default") ||
        str_is(op->type, "EmbedLayerNormalization") || str_is(op->type, "aten.embedding_bag.default"))
        return input == 0 || str_is(op->type, "EmbedLayerNormalization") ? USED_GATHER : 0;
    if (str_is(op->type, "Transpose") || str_is(op->type, "aten.t.default") ||
        str_is(op->type, "aten.permute.default") || str_is(op->type, "aten.transpose.int") ||
        str_is(op->type, "aten.linear.default"))
        return USED_TRANSPOSED;
    if (str_is(op->type, "aten.addmm.default"))
        return input == 2 ? USED_DIRECT : 0;
    if (input != 1)
        return 0;
    if (str_is(op->type, "Gemm") || str_is(op->type, "FusedGemm") || str_is(op->type, "FusedMatMul") ||
        str_is(op->type, "TransposeMatMul"))
        return walk_attr_int(&s->walk, st, "transB", 0) != 0 ? USED_TRANSPOSED : USED_DIRECT;
    bool direct = str_is(op->type, "MatMul") || str_is(op->type, "aten.matmul.default") ||
                  str_is(op->type, "aten.mm.default");
    return direct ? USED_DIRECT : 0;
}

/* Ops that move a weight without changing which module it is. */
static bool passes_through(struct str op)
{
    static const char *const ops[] = {"Identity", "Cast",    "CastLike", "DequantizeLinear", "QuantizeLinear",
                                      "Dropout",  "Reshape", "Squeeze",  "Unsqueeze"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (str_is(op, ops[i]))
            return true;
    return false;
}

void note_uses(struct state *s, uint8_t *used)
{
    const struct walk *w = &s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct ir_node *n = &s->m->nodes[w->steps[i].node];
        const struct ir_op *op = ir_node_op(s->m, n);
        for (uint32_t j = 0; j < n->n_in && j < 4; j++) {
            struct use u = walk_resolve(w, walk_input(w, w->steps[i], j));
            for (int hops = 0; u.value != IR_NONE && hops < TRACE_MAX;
                 hops++) { /* through casts and copies */
                uint8_t kind = use_kind(s, op, w->steps[i], j);
                if (!kind)
                    break;
                used[walk_slot(w, u)] |= kind;
                struct step def = walk_def(w, u);
                if (def.node == IR_NONE || !passes_through(ir_node_op(s->m, &s->m->nodes[def.node])->type))
                    break;
                u = walk_resolve(w, walk_input(w, def, 0));
            }
        }
    }
}

static bool swaps_last_two(const struct ir_attr *a)
{
    uint32_t n = a->n_ints;
    return n >= 2 && a->ints[n - 1] == n - 2 && a->ints[n - 2] == n - 1;
}

void trace_weight(struct state *s, struct mm *mm)
{
    const struct walk *w = &s->walk;
    struct use u = walk_input(w, w->steps[mm->step], 1);
    if (mm->kind == MM_KIND_ATEN) {
        if (mm->weight.value != IR_NONE)
            mm->weight_name = ir_value_name(s->m, mm->weight.value);
        return;
    }
    for (int hops = 0; hops < TRACE_MAX; hops++) {
        u = walk_resolve(w, u);
        if (u.value == IR_NONE)
            return;
        enum param_kind kind;
        struct str fqn, name = ir_value_name(s->m, u.value);
        if (mm->weight_name.n == 0 && carries_name(s, u.value) &&
            fqn_of_param(&kind, &fqn, name, &s->arena) == 0 && kind != PARAM_NO_NAME)
            mm->weight_name = name;
        struct step def = walk_def(w, u);
        if (s->is_param[u.value] ||
            (def.node != IR_NONE && str_is(ir_node_op(s->m, &s->m->nodes[def.node])->type, "Constant"))) {
            mm->weight = u;
            if (mm->weight_name.n == 0)
                mm->weight_name = name;
            return;
        }
        if (def.node == IR_NONE)
            return;
        struct str op = ir_node_op(s->m, &s->m->nodes[def.node])->type;
        struct ir_attr perm;
        if (str_is(op, "Transpose")) {
            bool given = walk_attr(w, def, "perm", &perm) == 1;
            if (!given || (perm.kind == IR_ATTR_INTS && swaps_last_two(&perm)))
                mm->transposed = !mm->transposed;
        } else if (!passes_through(op)) {
            return;
        }
        u = walk_input(w, def, 0);
    }
}

/* A weight that is computed from reparametrised parameters of one module: that module's name. */
struct str reparam_owner(struct state *s, const struct mm *mm)
{
    const struct walk *w = &s->walk;
    struct use todo[REPARAM_MAX];
    uint32_t n = 0, at = 0;
    struct str owner = {0};
    todo[n++] = walk_input(w, w->steps[mm->step], 1);
    for (; at < n; at++) {
        struct use u = walk_resolve(w, todo[at]);
        if (u.value == IR_NONE)
            continue;
        struct str name = ir_value_name(s->m, u.value), fqn;
        enum param_kind kind;
        if (carries_name(s, u.value) && fqn_is_reparam(name) &&
            fqn_of_param(&kind, &fqn, name, &s->arena) == 0) {
            if (owner.n && !str_eq(owner, fqn))
                return (struct str){0};
            owner = fqn;
            continue;
        }
        struct step def = walk_def(w, u);
        if (def.node == IR_NONE)
            continue;
        const struct ir_node *node = &s->m->nodes[def.node];
        if (!facts_get(&s->facts, u).fixed) /* an activation has a say: no reparametrisation */
            return (struct str){0};
        for (uint32_t i = 0; i < node->n_in && n < REPARAM_MAX; i++)
            todo[n++] = walk_input(w, def, i);
    }
    return owner;
}
