/* Weights: which parameter an mm's rhs comes from, and how parameters are used. */
#include "passes/linear.h"

#include "passes/fqn.h"

#define TRACE_MAX    64 /* nodes between a weight and its product */
#define REPARAM_MAX  32 /* nodes that compute a reparametrised weight */
#define OPERANDS_MAX 4  /* of a node that are looked at: weights come first */

/* How ops treat their inputs: which input, and what that makes of a parameter there. */
static const struct {
    const char *type;
    uint8_t input; /* ANY */
    uint8_t used;  /* USED_*; BY_TRANSB: TRANSPOSED or DIRECT */
} op_uses[] = {
#define ANY       255
#define BY_TRANSB 255
    {"Gather", 0, USED_GATHER},
    {"EmbedLayerNormalization", ANY, USED_GATHER},
    {"aten.embedding.default", 0, USED_GATHER},
    {"aten.embedding_bag.default", 0, USED_GATHER},
    {"Transpose", ANY, USED_TRANSPOSED},
    {"aten.t.default", ANY, USED_TRANSPOSED},
    {"aten.permute.default", ANY, USED_TRANSPOSED},
    {"aten.transpose.int", ANY, USED_TRANSPOSED},
    {"aten.linear.default", ANY, USED_TRANSPOSED},
    {"MatMul", 1, USED_DIRECT},
    {"aten.matmul.default", 1, USED_DIRECT},
    {"aten.mm.default", 1, USED_DIRECT},
    {"aten.addmm.default", 2, USED_DIRECT},
    {"Gemm", 1, BY_TRANSB},
    {"FusedGemm", 1, BY_TRANSB},
    {"FusedMatMul", 1, BY_TRANSB},
    {"TransposeMatMul", 1, BY_TRANSB},
    {"Attention", 1, USED_DIRECT},
    {"QAttention", 1, USED_DIRECT},
    {"PackedAttention", 1, USED_DIRECT},
    {"LongformerAttention", 1, USED_DIRECT},
    {"DecoderMaskedSelfAttention", 1, USED_DIRECT},
    {"Add", ANY, USED_AS_TABLE},
    {"Sub", ANY, USED_AS_TABLE},
    {"Mul", ANY, USED_AS_TABLE},
    {"Concat", ANY, USED_AS_TABLE},
    {"Expand", 0, USED_AS_TABLE},
    {"aten.add.Tensor", ANY, USED_AS_TABLE},
    {"aten.mul.Tensor", ANY, USED_AS_TABLE},
};

/* What an op does with a parameter, worked out once for each op of the model. */
struct op_use {
    uint8_t row; /* of op_uses; NO_ROW */
    bool passes; /* moves a weight without changing which module it is */
    bool slices; /* ... and so for a table, of which a part is added */
};
#define NO_ROW 255

static bool passes_through(struct str op)
{
    static const char *const ops[] = {"Identity", "Cast",    "CastLike", "DequantizeLinear", "QuantizeLinear",
                                      "Dropout",  "Reshape", "Squeeze",  "Unsqueeze"};
    return STR_IS_ONE_OF(op, ops);
}

static struct op_use use_of_op(struct str op)
{
    struct op_use use = {NO_ROW, passes_through(op), str_is(op, "Slice")};
    for (size_t j = 0; j < sizeof op_uses / sizeof *op_uses; j++)
        if (str_is(op, op_uses[j].type))
            use.row = (uint8_t)j;
    return use;
}

/* Per op id. NULL when memory is exhausted. */
static struct op_use *uses_of_ops(struct state *s)
{
    struct op_use *of = arena_alloc(&s->arena, s->m->n_ops ? s->m->n_ops : 1, sizeof *of);
    for (uint32_t i = 0; of && i < s->m->n_ops; i++)
        of[i] = use_of_op(s->m->ops[i].type);
    return of;
}

/* The parameter and its copies on the way, through casts and the like. */
static void note_use(struct state *s, const struct op_use *of, struct use u, uint8_t kind, uint8_t *used)
{
    const struct walk *w = &s->walk;
    for (int hops = 0; u.value != IR_NONE && hops < TRACE_MAX; hops++) {
        used[walk_slot(w, u)] |= kind;
        struct step def = walk_def(w, u);
        if (def.node == IR_NONE)
            return;
        struct op_use op = of[s->m->nodes[def.node].op];
        if (!op.passes && !(op.slices && kind == USED_AS_TABLE))
            return;
        u = walk_resolve(w, walk_input(w, def, 0));
    }
}

static void note_step(struct state *s, const struct op_use *of, struct step st, uint8_t *used)
{
    const struct ir_node *n = &s->m->nodes[st.node];
    uint8_t row = of[n->op].row;
    if (row == NO_ROW)
        return;
    uint8_t kind = op_uses[row].used;
    if (kind == USED_AS_TABLE && facts_fixed(&s->facts, walk_output(&s->walk, st, 0)))
        return; /* parameters only: a weight is computed */
    if (kind == BY_TRANSB)
        kind = walk_attr_int(&s->walk, st, "transB", 0) != 0 ? USED_TRANSPOSED : USED_DIRECT;
    for (uint32_t j = 0; j < ir_node_n_in(n) && j < OPERANDS_MAX; j++)
        if (op_uses[row].input == ANY || op_uses[row].input == j)
            note_use(s, of, walk_resolve(&s->walk, walk_input(&s->walk, st, j)), kind, used);
}

int note_uses(struct state *s, uint8_t *used)
{
    const struct op_use *of = uses_of_ops(s);
    for (uint32_t i = 0; of && i < s->walk.n_steps; i++)
        note_step(s, of, walk_step(&s->walk, i), used);
    return of ? 0 : IR_EMEM;
}

static bool swaps_last_two(const struct ir_attr *a)
{
    uint32_t n = a->n_ints;
    return n >= 2 && a->ints[n - 1] == n - 2 && a->ints[n - 2] == n - 1;
}

void trace_weight(struct state *s, struct mm *mm)
{
    const struct walk *w = &s->walk;
    struct use u = walk_input(w, walk_step(w, mm->step), 1);
    if (mm->kind == MM_KIND_ATEN) {
        mm->weight_name = mm->weight.value;
        return;
    }
    for (int hops = 0; hops < TRACE_MAX; hops++) {
        u = walk_resolve(w, u);
        if (u.value == IR_NONE)
            return;
        if (mm->weight_name == IR_NONE && named_value(s, u.value))
            mm->weight_name = u.value;
        struct step def = walk_def(w, u);
        if (bits_has(s->is_param, u.value) ||
            (def.node != IR_NONE && str_is(ir_node_op(s->m, &s->m->nodes[def.node])->type, "Constant"))) {
            mm->weight = u;
            if (mm->weight_name == IR_NONE)
                mm->weight_name = u.value;
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
    todo[n++] = walk_input(w, walk_step(w, mm->step), 1);
    for (; at < n; at++) {
        struct use u = walk_resolve(w, todo[at]);
        if (u.value == IR_NONE)
            continue;
        const struct named *named = named_value(s, u.value);
        if (named && fqn_is_reparam(ir_value_name(s->m, u.value))) {
            struct str fqn = named_fqn(s, named);
            if (owner.n && !str_eq(owner, fqn))
                return (struct str){0};
            owner = fqn;
            continue;
        }
        struct step def = walk_def(w, u);
        if (def.node == IR_NONE)
            continue;
        const struct ir_node *node = &s->m->nodes[def.node];
        if (!facts_fixed(&s->facts, u)) /* an activation has a say: no reparametrisation */
            return (struct str){0};
        for (uint32_t i = 0; i < ir_node_n_in(node) && n < REPARAM_MAX; i++)
            todo[n++] = walk_input(w, def, i);
    }
    return owner;
}
