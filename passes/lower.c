/* Lower: what PyTorch runs for an ONNX product (mm, addmm or bmm), and the bias that makes it an addmm.
 * Sources: at::linear and at::matmul, which choose by ranks, bias and memory layout; cases recorded from
 * PyTorch 2.6 (docs/POLICY.md). */
#include "passes/fqn.h"
#include "passes/linear.h"
#include "passes/mm.h"

static bool has_rank(struct state *s, struct use u, uint32_t rank)
{
    struct fact f = facts_get(&s->facts, u);
    return f.shape != IR_SHAPE_UNKNOWN && fact_shape(&s->facts, f)->rank == rank;
}

static bool is_vector(struct state *s, struct use u)
{
    return has_rank(s, u, 1);
}

/* A matrix of one row, which F.linear takes for a bias, too. */
static bool is_row(struct state *s, struct use u)
{
    struct fact f = facts_get(&s->facts, u);
    const struct ir_shape *x = fact_shape(&s->facts, f);
    return f.shape != IR_SHAPE_UNKNOWN && x->rank == 2 && x->dims[0] == 1;
}

static bool is_view(struct str op)
{
    static const char *const ops[] = {"Slice",    "Split",     "Gather", "Reshape", "Squeeze",
                                      "Identity", "Unsqueeze", "Cast",   "Flatten", "Transpose",
                                      "Expand",   "CastLike",  "Dropout"};
    return STR_IS_ONE_OF(op, ops);
}

/* The tensor that a value is a part of, or all: back through slices, splits and other views. (Which part may
 * depend on an activation's shape; that makes it none the less a part.) */
static struct use elements_of(struct state *s, struct use u)
{
    return walk_back(&s->walk, u, is_view);
}

/* Is it a vector of parameters: one, part of one, or computed from them alone? */
static bool param_vector(struct state *s, struct use u)
{
    return is_vector(s, u) && facts_get(&s->facts, elements_of(s, u)).fixed;
}

/* Is it (part of) a parameter called a bias: "wq.bias", "attn.in_proj_bias"? */
static bool named_bias(struct state *s, struct use u)
{
    struct use from = elements_of(s, u);
    return from.value != IR_NONE && str_ends(ir_value_name(s->m, from.value), STR_LIT("bias"));
}

static bool same_scope(struct state *s, uint32_t a, uint32_t b)
{
    if (s->scope_of[a] != s->scope_of[b])
        return false;
    const struct scope *sc = step_scope(s, a);
    if (sc->kind != SCOPE_META)
        return true;
    struct str x, y; /* the operator's own atom too: the same Linear, the same call */
    uint32_t na = walk_step(&s->walk, a).node, nb = walk_step(&s->walk, b).node;
    return s->m->source->meta(s->m, na, "pkg.torch.onnx.name_scopes", &x) == 1 &&
           s->m->source->meta(s->m, nb, "pkg.torch.onnx.name_scopes", &y) == 1 && str_eq(x, y);
}

/* Contrib ops that add a bias to a product: which input the bias is, and how many of the first inputs may be
 * the product. */
static const struct {
    const char *type;
    uint32_t bias, products;
} bias_ops[] = {
    {"BiasGelu", 1, 1},
    {"FastGelu", 1, 1},
    {"BiasSplitGelu", 1, 1},
    {"BiasDropout", 1, 1},
    {"BiasAdd", 1, 1},
    {"SkipLayerNormalization", 4, 2},
    {"SkipSimplifiedLayerNormalization", 3, 2},
};

/* A bias that a tool fused into the product's reader. Its own name must say that it is one: the reader's says
 * nothing of the module any more. */
static void find_fused_bias(struct state *s, struct mm *mm, struct use product)
{
    struct step reader = walk_step(&s->walk, mm->user);
    for (size_t i = 0; i < sizeof bias_ops / sizeof *bias_ops; i++) {
        if (!str_is(step_op(s, mm->user)->type, bias_ops[i].type))
            continue;
        struct use bias = walk_input(&s->walk, reader, bias_ops[i].bias);
        struct use u = walk_resolve(&s->walk, bias);
        enum param_kind kind;
        struct str fqn;
        if (u.value == IR_NONE || !param_vector(s, bias) ||
            param_name(s, ir_value_name(s->m, u.value), &kind, &fqn) != 0 || kind != PARAM_BIAS)
            return;
        for (uint32_t j = 0; j < bias_ops[i].products; j++) {
            if (use_same(product, walk_resolve(&s->walk, walk_input(&s->walk, reader, j))))
                mm->bias = bias;
        }
    }
}

/* ONNX Runtime makes "x/MatMul" and the Add after it (of a bias, or of anything) one Gemm of this name. */
static bool fused_add(const struct state *s, uint32_t step)
{
    return str_ends(node_name(s, step), STR_LIT("/MatMulAddFusion"));
}

static bool torchscript_scope(const struct scope *sc)
{
    return sc->kind == SCOPE_NAME && sc->raw.n && sc->raw.s[0] == '/';
}

/* Is the product the model's own "x @ self.w"? The weight of a Linear is transposed first, or was by a
 * folder, which makes up a name for it. */
static int own_product(struct state *s, const struct mm *mm, bool *own)
{
    struct use rhs = mm_operand(s, mm, 1);
    enum param_kind kind = PARAM_NO_NAME;
    struct str fqn;
    *own = false;
    if (rhs.value == IR_NONE || !bits_has(s->is_param, rhs.value) || mm->transposed ||
        !torchscript_scope(step_scope(s, mm->step)))
        return 0;
    int rc = param_name(s, ir_value_name(s->m, rhs.value), &kind, &fqn);
    *own = !rc && kind != PARAM_NO_NAME && kind != PARAM_KERNEL;
    return rc;
}

/* Is `bias`, which a tool fused with a product, a parameter of a module around the product's? Then that
 * module's code added it. */
static int bias_from_outside(struct state *s, const struct mm *mm, struct use bias, bool *outside)
{
    const struct scope *sc = step_scope(s, mm->step);
    enum param_kind kind;
    struct str owner;
    *outside = false;
    if (!torchscript_scope(sc))
        return 0;
    int rc = param_name(s, ir_value_name(s->m, bias.value), &kind, &owner);
    for (uint32_t i = 1; !rc && kind != PARAM_NO_NAME && i < sc->n_atoms; i++)
        *outside |= scope_fits(sc->atoms, i, owner, false);
    return rc;
}

static bool multiplies_matrix(struct state *s, const struct mm *mm)
{
    return has_rank(s, mm_operand(s, mm, 0), 2);
}

/* Was the A of a Gemm that ONNX Runtime made flattened for it, or for the one before? */
static bool flattened(struct state *s, const struct mm *mm)
{
    struct use a = mm_operand(s, mm, 0);
    struct step def = walk_def(&s->walk, a);
    if (def.node == IR_NONE)
        return false;
    const struct ir_node *n = &s->m->nodes[def.node];
    return str_is(ir_node_op(s->m, n)->type, "Reshape") ||
           str_ends(ir_node_name(s->m, n), STR_LIT("/MatMulAddFusion"));
}

/* The bias of a Gemm that ONNX Runtime made from a product and the Add after it; the order of the Add's
 * operands is lost. Where a biased Linear multiplies a matrix, TorchScript itself writes a Gemm: so if it
 * wrote a product there, what was added is a bias only if its name says so. */
static int find_merged_bias(struct state *s, struct mm *mm, struct use c)
{
    bool own = false, outside = false;
    if (!is_vector(s, c))
        return 0;
    int rc = own_product(s, mm, &own);
    if (!rc)
        rc = bias_from_outside(s, mm, c, &outside);
    if (rc || own || outside)
        return rc;
    bool matrix = multiplies_matrix(s, mm) && !flattened(s, mm);
    bool named = named_bias(s, c), biased = param_vector(s, c) && (named || !matrix);
    if (biased)
        mm->bias = c;
    if (!named)
        mm->assumption = biased ? "assumed-bias" : "assumed-no-bias";
    return 0;
}

/* FuseAddMM of the TorchScript exporter makes torch.mm() and the add after it one Gemm, and forgets the scope
 * that every other node has. PyTorch runs both. */
static bool merged_add(const struct state *s, const struct mm *mm)
{
    struct str name = node_name(s, mm->step);
    return mm->kind == GEMM && str_starts(name, STR_LIT("Gemm_")) && str_is(atom_stem(name), "Gemm") &&
           s->script_names;
}

/* Is `other`, which is added to the product (`last`: behind it), the bias of a Linear?
 *
 * TorchScript's exporter writes a Linear as Add(bias, product), and likewise "b + F.linear(x, w)" of the
 * model's own code; "F.linear(x, w) + b" is Add(product, b), or stands in the parent's scope. Where a biased
 * Linear multiplies a matrix it writes a Gemm instead. The dynamo exporter writes Add(product, bias), and
 * gives both nodes the same name_scopes. Without any scope a vector of parameters counts on either side. */
static bool is_bias(struct state *s, struct mm *mm, struct use other, bool last)
{
    const struct scope *sc = step_scope(s, mm->step);
    bool script = torchscript_scope(sc);
    if (!same_scope(s, mm->step, mm->user) || (last && script))
        return false;
    if (!is_vector(s, other)) {
        if (script && is_row(s, other))
            mm->assumption = "assumed-no-bias";
        return false;
    }
    if (sc->kind == SCOPE_META)
        return true;
    if (!script && !param_vector(s, other))
        return false;
    bool named = named_bias(s, other), gemm = script && multiplies_matrix(s, mm);
    if (!named)
        mm->assumption = gemm ? "assumed-no-bias" : "assumed-bias";
    return named || !gemm;
}

/* A biased Linear's Add: the only reader of the product, in the Linear's own scope. */
static int find_added_bias(struct state *s, struct mm *mm, struct use product)
{
    struct step add = walk_step(&s->walk, mm->user);
    struct use first = walk_resolve(&s->walk, walk_input(&s->walk, add, 0));
    bool last = use_same(first, product), own;
    struct use other = walk_input(&s->walk, add, last ? 1 : 0);
    bool bias = is_bias(s, mm, other, last);
    if (!bias && !mm->assumption)
        return 0;
    int rc = own_product(s, mm, &own);
    if (own)
        mm->assumption = NULL;
    if (rc || own || !bias)
        return rc;
    mm->bias = other;
    return 0;
}

/* A C that is not added, since beta is 0. TorchScript writes a real one for torch.addmm(), which runs as
 * addmm whatever beta is, and, before opset 11, a 1 for torch.mm(), since there had to be one. */
static bool is_dummy(struct state *s, uint32_t step, struct use c)
{
    struct ir_attr beta;
    struct fact f = facts_get(&s->facts, c);
    const struct ir_shape *x = fact_shape(&s->facts, f);
    if (walk_attr(&s->walk, walk_step(&s->walk, step), "beta", &beta) != 1 || beta.kind != IR_ATTR_FLOAT ||
        beta.f != 0.0)
        return false;
    return !torchscript_scope(step_scope(s, step)) || f.shape == IR_SHAPE_UNKNOWN || x->rank == 0 ||
           (x->rank == 1 && x->dims[0] == 1);
}

int find_bias(struct state *s, struct mm *mm)
{
    mm->bias.value = IR_NONE;
    struct step st = walk_step(&s->walk, mm->step);
    if (mm->kind == GEMM || mm->kind == BIASED) {
        struct use c = walk_input(&s->walk, st, 2);
        if (c.value == IR_NONE || is_dummy(s, mm->step, c))
            return 0;
        if (fused_add(s, mm->step))
            return find_merged_bias(s, mm, c);
        if (merged_add(s, mm))
            mm->assumption = "assumed-no-bias";
        else
            mm->bias = c;
        return 0;
    }
    if (mm->uses != 1)
        return 0;
    struct use product = walk_resolve(&s->walk, walk_output(&s->walk, st, 0));
    const struct ir_op *reader = step_op(s, mm->user);
    if (str_is(reader->domain, "com.microsoft"))
        find_fused_bias(s, mm, product);
    return str_is(reader->type, "Add") && !reader->domain.n ? find_added_bias(s, mm, product) : 0;
}

/* torch.tensordot(), which runs as an mm, is exported in these letters, of operands that are made matrices
 * first. torch.einsum() keeps the letters that its caller chose, and runs as a bmm. */
static bool is_tensordot(struct state *s, struct step st)
{
    struct ir_attr a;
    if (walk_attr(&s->walk, st, "equation", &a) != 1 || a.kind != IR_ATTR_STR || !str_is(a.s, "ij,jk->ik"))
        return false;
    struct use lhs = walk_resolve(&s->walk, walk_input(&s->walk, st, 0));
    struct step def = walk_def(&s->walk, lhs);
    return def.node != IR_NONE && str_is(ir_node_op(s->m, &s->m->nodes[def.node])->type, "Reshape");
}

/* Does the op transpose its lhs? ONNX Runtime fuses a Transpose before a product into it: PyTorch multiplied
 * a view. */
static bool transposes_lhs(const struct state *s, const struct mm *mm, struct step st)
{
    return mm->kind == FUSED && (walk_attr_int(&s->walk, st, "transA", 0) != 0 ||
                                 walk_attr_int(&s->walk, st, "transBatchA", 0) != 0);
}

static void aten_matmul(struct state *s, struct mm *mm, struct step st)
{
    struct fact a = facts_get(&s->facts, walk_input(&s->walk, st, 0)),
                b = facts_get(&s->facts, walk_input(&s->walk, st, 1));
    const struct ir_shape *x = fact_shape(&s->facts, a), *y = fact_shape(&s->facts, b);
    bool lhs_known = a.shape != IR_SHAPE_UNKNOWN, dense = fact_contiguous(&s->facts, a),
         transposed = transposes_lhs(s, mm, st);
    if (transposed && (x->rank < 2 || (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 2] != 1)))
        dense = false;
    mm->aten = ATEN_OTHER;
    mm->aten_rhs = mm->rhs;
    if (b.shape == IR_SHAPE_UNKNOWN)
        return;
    if (y->rank == 2) {
        bool matrix = lhs_known && x->rank <= 2;
        bool biased = mm->bias.value != IR_NONE;
        mm->aten = biased && (matrix || dense) ? ATEN_ADDMM : ATEN_MM;
        if (biased && !matrix && (!dense || a.guessed))
            mm->assumption = dense ? "assumed-contiguous" : "assumed-noncontiguous";
        if (!biased && !matrix && lhs_known && !dense && !b.grad)
            mm->aten = ATEN_OTHER; /* not worth a copy: runs as bmm */
    } else if (lhs_known && x->rank == 2 && y->rank >= 3 && a.grad) {
        mm->aten = ATEN_MM; /* folded: the rhs is the lhs transposed */
        mm->aten_rhs = transposed ? (struct mm_shape){x->dims[0], x->dims[1]}
                                  : (struct mm_shape){x->dims[1], x->dims[0]};
    } else if (lhs_known && x->rank == 3 && y->rank == 3 && y->dims[0] == 1 && x->dims[0] != 1 && b.grad) {
        mm->aten = ATEN_MM; /* a batch of one is squeezed away */
    } else if (lhs_known && x->rank == 3 && y->rank == 3 && x->dims[0] == 1 && y->dims[0] != 1 && a.grad) {
        mm->aten = ATEN_MM; /* squeezed, then folded */
        mm->aten_rhs = (struct mm_shape){x->dims[2], x->dims[1]};
    }
}

/* The A of such a Gemm is flattened first, by a Reshape named "gemm_input_reshape..." (one of the model's own
 * that is merged with it keeps its name). What the product multiplied: A, or what the flattening Reshape
 * reads. */
static struct fact unfused_lhs(struct state *s, struct step st)
{
    struct use a = walk_resolve(&s->walk, walk_input(&s->walk, st, 0));
    struct step def = walk_def(&s->walk, a);
    bool flattened = def.node != IR_NONE &&
                     str_starts(ir_node_name(s->m, &s->m->nodes[def.node]), STR_LIT("gemm_input_reshape"));
    return facts_get(&s->facts, flattened ? walk_input(&s->walk, def, 0) : a);
}

static void aten_gemm(struct state *s, struct mm *mm, struct step st)
{
    mm->aten = mm->bias.value != IR_NONE ? ATEN_ADDMM : ATEN_MM;
    if (mm->aten == ATEN_MM || !fused_add(s, mm->step))
        return;
    struct fact a = unfused_lhs(s, st);
    bool dense = fact_contiguous(&s->facts, a);
    if (a.shape == IR_SHAPE_UNKNOWN || fact_shape(&s->facts, a)->rank <= 2)
        return;
    if (!dense)
        mm->aten = ATEN_MM;
    if (!dense || a.guessed)
        mm->assumption = dense ? "assumed-contiguous" : "assumed-noncontiguous";
}

static void lower_einsum(struct state *s, struct mm *mm, struct step st)
{
    mm->aten = is_tensordot(s, st) ? ATEN_MM : ATEN_OTHER;
    if (mm->aten == ATEN_MM)
        mm->assumption = "assumed-tensordot";
}

void lower_mm(struct state *s, struct mm *mm)
{
    struct step st = walk_step(&s->walk, mm->step);
    mm->aten_rhs = mm->rhs;
    if (mm->kind == GEMM)
        aten_gemm(s, mm, st);
    else if (mm->kind == EINSUM)
        lower_einsum(s, mm, st);
    else
        aten_matmul(s, mm, st);
}
