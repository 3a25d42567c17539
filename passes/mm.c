/* mm: which steps multiply matrices, the shape of their rhs, and what PyTorch runs for them.
 *
 * Needs walk, facts and scope. The literal rule (`onnx`) looks at the node alone; what PyTorch runs (`torch`)
 * follows from ranks, from the bias that is added, and from how the lhs lies in memory (at::linear and
 * at::matmul choose by these). Backward nodes are no mms: a graph that holds backward names it so, and what
 * depends on a gradient is backward. */
#include "passes/aten.h"
#include "passes/fqn.h"
#include "passes/pass.h"

#include <stdlib.h>

static const struct {
    const char *domain, *type;
    enum mm_kind kind;
} mm_ops[] = {
#define MM_OP(domain, type, kind) {domain, type, kind},
#include "passes/mm_ops.def"
#undef MM_OP
};

/* "Op" or "domain:Op". */
static bool op_named(const struct ir_op *op, struct str name)
{
    ptrdiff_t colon = str_rchr(name, ':');
    if (colon < 0)
        return op->domain.n == 0 && str_eq(op->type, name);
    return str_eq(op->domain, str_sub(name, 0, (size_t)colon)) &&
           str_eq(op->type, str_sub(name, (size_t)colon + 1, name.n - (size_t)colon - 1));
}

static enum mm_kind kind_of_op(const struct state *s, const struct ir_op *op)
{
    if (op->function != IR_NONE)
        return MM_KIND_NONE;
    if (str_is(op->domain, "torch"))
        return MM_KIND_ATEN;
    for (size_t i = 0; i < sizeof mm_ops / sizeof *mm_ops; i++)
        if (str_is(op->domain, mm_ops[i].domain) && str_is(op->type, mm_ops[i].type))
            return mm_ops[i].kind;
    for (uint32_t i = 0; i < s->o->n_mm_ops; i++)
        if (op_named(op, s->o->mm_ops[i]))
            return MM_KIND_EXTRA;
    return MM_KIND_NONE;
}

static int classify_ops(struct state *s)
{
    s->kind_of = arena_alloc(&s->arena, s->m->n_ops ? s->m->n_ops : 1, 1);
    if (!s->kind_of)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->m->n_ops; i++)
        s->kind_of[i] = (uint8_t)kind_of_op(s, &s->m->ops[i]);
    return 0;
}

/* ---- backward ---- */

static bool gradient_name(struct str name)
{
    if (str_find(name, STR_LIT("rad")) < 0) /* most names, and there are many */
        return false;
    return str_ends(name, STR_LIT("_grad")) || str_find(name, STR_LIT("_Grad/")) >= 0 ||
           str_find(name, STR_LIT("_grad/")) >= 0;
}

/* Does this node start backward by its own nature? YieldOp hands over the loss's gradient; ops and values are
 * named. */
static bool gradient_node(const struct ir_model *m, const struct ir_node *n, const struct ir_op *op)
{
    if (str_ends(op->type, STR_LIT("Grad")) || str_is(op->type, "YieldOp") || gradient_name(n->name))
        return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (gradient_name(ir_value_name(m, ir_node_output(m, n, i))))
            return true;
    return false;
}

/* Any sign of backward at all? Else the walk below is not worth its time. */
static bool holds_backward(const struct state *s)
{
    const struct ir_model *m = s->m;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (gradient_node(m, &m->nodes[i], ir_node_op(m, &m->nodes[i])))
            return true;
    return false;
}

/* One flag per step, set for backward; NULL when the graph holds none. */
static int find_backward(struct state *s, uint8_t **out)
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
        struct step st = s->walk.steps[i];
        const struct ir_node *n = &m->nodes[st.node];
        bool back = gradient_node(m, n, ir_node_op(m, n));
        for (uint32_t j = 0; j < n->n_in && !back; j++) {
            struct use u = walk_resolve(&s->walk, walk_input(&s->walk, st, j));
            back = u.value != IR_NONE &&
                   (slots[walk_slot(&s->walk, u)] || gradient_name(ir_value_name(m, u.value)));
        }
        steps[i] = back;
        for (uint32_t j = 0; j < n->n_out && back; j++) {
            struct use u = walk_output(&s->walk, st, j);
            if (u.value != IR_NONE)
                slots[walk_slot(&s->walk, u)] = 1;
        }
    }
    free(slots);
    *out = steps;
    return 0;
}

/* ---- the literal rule ---- */

static int64_t dim_at(const struct ir_shape *x, uint32_t from_end)
{
    return x->rank >= from_end ? x->dims[x->rank - from_end] : IR_DIM_UNKNOWN;
}

static void literal_shape(struct state *s, struct mm *mm, struct step st)
{
    struct fact rhs = facts_get(&s->facts, walk_input(&s->walk, st, 1));
    const struct ir_shape *x = fact_shape(&s->facts, rhs);
    bool tb = false;
    if (mm->kind == GEMM || mm->kind == FUSED)
        tb = walk_attr_int(&s->walk, st, "transB", 0) != 0;
    mm->unknown_rank = rhs.shape == IR_SHAPE_UNKNOWN && mm->kind != GEMM;
    mm->rhs = (struct mm_shape){dim_at(x, tb ? 1 : 2), dim_at(x, tb ? 2 : 1)};
    mm->literal = mm->kind == GEMM || (rhs.shape != IR_SHAPE_UNKNOWN && x->rank == 2);
    mm->transposed = tb;
}

/* ---- the bias ---- */

/* Is it a parameter of rank 1, perhaps cast? */
static bool rank1_param(struct state *s, struct use u)
{
    struct fact f = facts_get(&s->facts, u);
    return f.shape != IR_SHAPE_UNKNOWN && fact_shape(&s->facts, f)->rank == 1 && f.fixed;
}

static bool same_scope(struct state *s, uint32_t a, uint32_t b)
{
    if (s->scope_of[a] != s->scope_of[b])
        return false;
    const struct scope *sc = &s->scopes[s->scope_of[a]];
    if (sc->kind != SCOPE_META)
        return true;
    struct str x, y; /* the operator's own atom too: the same Linear, the same call */
    uint32_t na = s->walk.steps[a].node, nb = s->walk.steps[b].node;
    return s->m->source->meta(s->m, na, "pkg.torch.onnx.name_scopes", &x) == 1 &&
           s->m->source->meta(s->m, nb, "pkg.torch.onnx.name_scopes", &y) == 1 && str_eq(x, y);
}

/* A biased Linear's Add: the only reader of the product, in the Linear's own scope. torch's TorchScript
 * exporter writes Add(bias, product), the dynamo exporter Add(product, bias) with identical name_scopes; a
 * bias that the model's own code adds is Add(product, p) in the parent's scope. Without any scope either way
 * counts. */
static void find_bias(struct state *s, struct mm *mm)
{
    mm->bias_step = IR_NONE;
    mm->bias.value = IR_NONE;
    struct step st = s->walk.steps[mm->step];
    if (mm->kind == GEMM || mm->kind == BIASED) {
        struct use c = walk_input(&s->walk, st, 2);
        struct ir_attr beta;
        bool zero =
            walk_attr(&s->walk, st, "beta", &beta) == 1 && beta.kind == IR_ATTR_FLOAT && beta.f == 0.0;
        if (c.value != IR_NONE && !zero)
            mm->bias = c;
        return;
    }
    if (mm->uses != 1 || !str_is(step_op(s, mm->user)->type, "Add") || step_op(s, mm->user)->domain.n)
        return;
    struct step add = s->walk.steps[mm->user];
    struct use product = walk_resolve(&s->walk, walk_output(&s->walk, st, 0));
    struct use first = walk_resolve(&s->walk, walk_input(&s->walk, add, 0));
    bool at0 = first.value == product.value && first.frame == product.frame;
    struct use other = walk_input(&s->walk, add, at0 ? 1 : 0);
    if (!rank1_param(s, other) || !same_scope(s, mm->step, mm->user))
        return;
    const struct scope *sc = &s->scopes[s->scope_of[mm->step]];
    if (at0 && sc->kind == SCOPE_NAME && s->scope_of[mm->step] != 0 && sc->raw.n && sc->raw.s[0] == '/')
        return;
    mm->bias = other;
    mm->bias_step = mm->user;
}

/* ---- what PyTorch runs ---- */

/* "ij,jk->ik": what torch.tensordot over one dimension is exported to. */
static bool is_tensordot(struct state *s, struct step st)
{
    struct ir_attr a;
    char c[9];
    size_t n = 0;
    if (walk_attr(&s->walk, st, "equation", &a) != 1 || a.kind != IR_ATTR_STR)
        return false;
    for (size_t i = 0; i < a.s.n; i++) {
        if (a.s.s[i] == ' ')
            continue;
        if (n == sizeof c)
            return false;
        c[n++] = a.s.s[i];
    }
    return n == 9 && c[2] == ',' && c[5] == '-' && c[6] == '>' && c[0] != c[1] && c[1] == c[3] &&
           c[3] != c[4] && c[0] != c[4] && c[7] == c[0] && c[8] == c[4];
}

static void aten_matmul(struct state *s, struct mm *mm, struct step st)
{
    struct fact a = facts_get(&s->facts, walk_input(&s->walk, st, 0)),
                b = facts_get(&s->facts, walk_input(&s->walk, st, 1));
    const struct ir_shape *x = fact_shape(&s->facts, a), *y = fact_shape(&s->facts, b);
    bool lhs_known = a.shape != IR_SHAPE_UNKNOWN, dense = fact_contiguous(&s->facts, a);
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
        mm->aten_rhs = (struct mm_shape){x->dims[1], x->dims[0]};
    } else if (lhs_known && x->rank == 3 && y->rank == 3 && y->dims[0] == 1 && x->dims[0] != 1 && b.grad) {
        mm->aten = ATEN_MM; /* a batch of one is squeezed away */
    } else if (lhs_known && x->rank == 3 && y->rank == 3 && x->dims[0] == 1 && y->dims[0] != 1 && a.grad) {
        mm->aten = ATEN_MM; /* squeezed, then folded */
        mm->aten_rhs = (struct mm_shape){x->dims[2], x->dims[1]};
    }
}

static void aten_of(struct state *s, struct mm *mm)
{
    struct step st = s->walk.steps[mm->step];
    bool biased = mm->bias.value != IR_NONE;
    mm->aten_rhs = mm->rhs;
    if (mm->kind == GEMM)
        mm->aten = biased ? ATEN_ADDMM : ATEN_MM;
    else if (mm->kind == EINSUM)
        mm->aten = is_tensordot(s, st) ? ATEN_MM : ATEN_OTHER;
    else
        aten_matmul(s, mm, st);
}

/* ---- the pass ---- */

static int add_mm(struct state *s, uint32_t step, enum mm_kind kind, struct mm **out)
{
    if (grow(&s->mms, &s->cap_mms, (size_t)s->n_mms + 1, sizeof *s->mms) != 0)
        return IR_EMEM;
    struct mm *mm = &s->mms[s->n_mms++];
    *mm = (struct mm){.step = step, .kind = kind, .bias_step = IR_NONE, .block = IR_NONE};
    mm->bias.value = mm->weight.value = IR_NONE;
    *out = mm;
    return 0;
}

static int add_aten(struct state *s, uint32_t step)
{
    struct aten_mm lowered[ATEN_MM_MAX];
    int n = aten_lower(s->m, s->walk.steps[step].node, lowered);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++) {
        struct mm *mm;
        const struct aten_mm *a = &lowered[i];
        if (a->kind == ATEN_KIND_BMM && !a->matrix)
            continue;
        int rc = add_mm(s, step, MM_KIND_ATEN, &mm);
        if (rc)
            return rc;
        mm->aten = a->kind == ATEN_KIND_MM ? ATEN_MM : a->kind == ATEN_KIND_ADDMM ? ATEN_ADDMM : ATEN_OTHER;
        mm->aten_rhs = (struct mm_shape){a->k, a->n};
        mm->rhs = (struct mm_shape){a->literal_k, a->literal_n};
        mm->literal = a->matrix;
        mm->assumption = a->assumed ? "assumed-contiguous" : NULL;
        mm->transposed = a->transposed;
        if (a->weight != IR_NONE)
            mm->weight = (struct use){FRAME_MAIN, a->weight};
    }
    return 0;
}

static int collect(struct state *s, const uint8_t *backward)
{
    for (uint32_t i = 0; i < s->walk.n_steps; i++) {
        struct step st = s->walk.steps[i];
        enum mm_kind kind = (enum mm_kind)s->kind_of[s->m->nodes[st.node].op];
        struct mm *mm;
        int rc = 0;
        if (kind == MM_KIND_NONE || (backward && backward[i]))
            continue;
        if (kind == QUANTISED || kind == HIDDEN) {
            uint32_t *n = kind == QUANTISED ? &s->n_quantised : &s->n_hidden;
            if ((*n)++ == 0)
                *(kind == QUANTISED ? &s->quantised_op : &s->hidden_op) = step_op(s, i)->type;
        } else if (kind == MM_KIND_ATEN) {
            rc = add_aten(s, i);
        } else {
            rc = add_mm(s, i, kind, &mm);
            if (!rc && kind != EINSUM)
                literal_shape(s, mm, st);
            else if (!rc) {
                literal_shape(s, mm, st);
                mm->literal = mm->unknown_rank = false;
            }
        }
        if (rc)
            return rc;
    }
    return 0;
}

/* Who reads each product. */
static int count_uses(struct state *s)
{
    const struct walk *w = &s->walk;
    uint32_t *of = malloc((size_t)(w->n_slots ? w->n_slots : 1) * sizeof *of);
    if (!of)
        return IR_EMEM;
    memset(of, 0xff, (size_t)w->n_slots * sizeof *of);
    for (uint32_t i = 0; i < s->n_mms; i++) {
        struct use u = walk_output(w, w->steps[s->mms[i].step], 0);
        if (u.value != IR_NONE)
            of[walk_slot(w, u)] = i;
    }
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct ir_node *n = &s->m->nodes[w->steps[i].node];
        for (uint32_t j = 0; j < n->n_in; j++) {
            struct use u = walk_resolve(w, walk_input(w, w->steps[i], j));
            uint32_t k = u.value == IR_NONE ? IR_NONE : of[walk_slot(w, u)];
            if (k != IR_NONE) {
                s->mms[k].uses++;
                s->mms[k].user = i;
            }
        }
    }
    free(of);
    return 0;
}

/* ---- products that were computed away ---- */

/* "/layers.0/MatMul_1" → ("/layers.0", 1); "/layers.0/MatMul" → ("/layers.0", 0). False for other names. */
static bool numbered_matmul(struct str name, struct str *scope, uint32_t *number)
{
    if (name.n && name.s[name.n - 1] == '/')
        name.n--;
    ptrdiff_t slash = str_rchr(name, '/');
    if (slash > 0 && str_ends(name, STR_LIT("Fusion"))) {
        name.n = (size_t)slash;
        slash = str_rchr(name, '/');
    }
    if (slash < 0)
        return false;
    struct str own = str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1), stem = atom_stem(own);
    *scope = str_sub(name, 0, (size_t)slash);
    *number = 0;
    for (size_t i = stem.n + 1; i < own.n && own.n - stem.n < 8; i++)
        *number = *number * 10 + (uint32_t)(own.s[i] - '0');
    return str_is(stem, "MatMul");
}

/* Does the rhs or lhs come from an initializer that was an intermediate result in the same scope? */
static bool fed_by_folded(struct state *s, const struct mm *mm, struct str scope)
{
    for (uint32_t j = 0; j < 2; j++) {
        struct use u = walk_resolve(&s->walk, walk_input(&s->walk, s->walk.steps[mm->step], j));
        if (u.value == IR_NONE || s->m->values[u.value].kind != IR_VALUE_PARAM)
            continue;
        struct str name = ir_value_name(s->m, u.value);
        if (name.n > scope.n && str_starts(name, scope) && name.s[scope.n] == '/' &&
            str_find(name, STR_LIT("_output_")) > 0)
            return true;
    }
    return false;
}

/* TorchScript numbers the products of a scope. Where "MatMul_1" is there without "MatMul", and an operand of
 * it is a result of that scope turned into an initializer, a constant folder has computed the missing ones (a
 * LoRA update, say). PyTorch runs and counts them, so the count must too. */
static int find_folded(struct state *s)
{
    struct names seen;
    int rc = 0;
    names_init(&seen);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        rc = names_intern(&seen, node_name(s, s->mms[i].step)) == NAME_NONE ? IR_EMEM : 0;
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        struct str scope;
        uint32_t number;
        if (!mm->counted || !numbered_matmul(node_name(s, mm->step), &scope, &number) || !number ||
            !fed_by_folded(s, mm, scope))
            continue;
        for (uint32_t k = number; k-- > 0;) {
            char *name = k ? arena_printf(&s->arena, "%.*s/MatMul_%u", STR_ARG(scope), k)
                           : arena_printf(&s->arena, "%.*s/MatMul", STR_ARG(scope));
            if (!name)
                rc = IR_EMEM;
            if (!name || names_find(&seen, str_of(name)) != NAME_NONE)
                break;
            mm->folded++;
        }
        if (mm->folded && !mm->assumption)
            mm->assumption = "assumed-folded-mm";
    }
    names_free(&seen);
    return rc;
}

static void warn_unknown(struct state *s)
{
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < s->n_mms; i++)
        if (s->mms[i].unknown_rank && n++ == 0)
            first = s->mms[i].step;
    if (n)
        diag_warn(
            s->d,
            "the rank of the right operand of %u %s (the first: '%.*s') cannot be known: not counted as mm",
            n, n == 1 ? "product" : "products", STR_ARG(node_name(s, first)));
    if (s->n_quantised)
        diag_note(s->d, "%u quantised matmul%s (%.*s) have no gradient: not tagged", s->n_quantised,
                  s->n_quantised == 1 ? "" : "s", STR_ARG(s->quantised_op));
    if (s->n_hidden)
        diag_warn(
            s->d,
            "%u node%s of op %.*s hold matmuls inside that eager PyTorch would have counted as mms: export "
            "without fusing attention",
            s->n_hidden, s->n_hidden == 1 ? "" : "s", STR_ARG(s->hidden_op));
}

int pass_mm(struct state *s)
{
    uint8_t *backward;
    int rc = classify_ops(s);
    if (!rc)
        rc = find_backward(s, &backward);
    if (!rc)
        rc = collect(s, backward);
    if (!rc)
        rc = count_uses(s);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        if (mm->kind != MM_KIND_ATEN) {
            find_bias(s, mm);
            aten_of(s, mm);
        }
        mm->counted = s->o->rule == MM_TORCH ? mm->aten == ATEN_MM : mm->literal;
    }
    if (!rc)
        rc = find_folded(s);
    if (!rc)
        warn_unknown(s);
    return rc;
}
