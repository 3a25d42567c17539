#include "passes/aten.h"

#include "passes/aten_tensor.h"
#include "passes/einsum.h"

struct lower {
    struct ir_model *m;
    const struct ir_node *node;
    const struct ir_graph *graph;
    struct aten_mm *out;
    int n;
    struct aten_mm dropped; /* where those past the last go */
};

static struct tensor autocast(const struct lower *l, struct tensor t)
{
    return tensor_autocast(t, l->m, l->graph);
}

static bool operand(struct tensor *t, const struct lower *l, uint32_t i)
{
    return tensor_load(t, l->m, ir_node_input(l->m, l->node, i));
}

/* ---- where a right operand comes from ---- */

enum through { NOT_THROUGH, SAME, TRANSPOSED };

/* Operators that pass on what they are given, perhaps transposed. */
static enum through passes_through(struct str type)
{
    static const struct {
        const char *name;
        enum through how;
    } table[] = {
        {"aten.t", TRANSPOSED},
        {"aten.mT", TRANSPOSED},
        {"aten.numpy_T", TRANSPOSED},
        {"aten.transpose", TRANSPOSED},
        {"aten.permute", TRANSPOSED},
        {"aten.adjoint", TRANSPOSED},
        {"aten.view", SAME},
        {"aten.reshape", SAME},
        {"aten._unsafe_view", SAME},
        {"aten.expand", SAME},
        {"aten.clone", SAME},
        {"aten.contiguous", SAME},
        {"aten.to", SAME},
        {"aten._to_copy", SAME},
        {"aten.detach", SAME},
        {"aten.alias", SAME},
        {"aten.squeeze", SAME},
        {"aten.unsqueeze", SAME},
        {"aten.type_as", SAME},
    };
    struct str name = ir_without_overload(type);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(name, table[i].name))
            return table[i].how;
    return NOT_THROUGH;
}

/* The parameter that a value is, or IR_NONE. Programs are in order, so each step goes to an earlier node. */
static uint32_t parameter(const struct ir_model *m, uint32_t value, bool *transposed)
{
    uint32_t before = IR_NONE;
    while (value != IR_NONE && m->values[value].kind == IR_VALUE_NODE && m->values[value].def < before) {
        const struct ir_node *n = &m->nodes[before = m->values[value].def];
        enum through how = passes_through(ir_node_op(m, n)->type);
        if (how == NOT_THROUGH)
            return IR_NONE;
        *transposed ^= how == TRANSPOSED;
        value = ir_node_input(m, n, 0);
    }
    return value != IR_NONE && m->values[value].kind == IR_VALUE_PARAM ? value : IR_NONE;
}

/* ---- products ---- */

static int64_t times(int64_t a, int64_t b)
{
    int64_t p;
    if (a == 0 || b == 0)
        return 0;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &p) ? IR_DIM_UNKNOWN : p;
}

static struct aten_mm *emit(struct lower *l, enum aten_product kind, int64_t k, int64_t n,
                            const struct tensor *rhs)
{
    struct aten_mm *p = l->n < ATEN_MM_MAX ? &l->out[l->n++] : &l->dropped;
    *p = (struct aten_mm){.kind = kind, .batch = 1, .k = k, .n = n, .weight = IR_NONE};
    p->transposed = rhs->transposed;
    p->weight = parameter(l->m, rhs->value, &p->transposed);
    return p;
}

/* Does matmul fold the batch of one operand (the larger) into its rows? Always when the smaller needs a
 * gradient, for that of an expanded one would be large; else only when folding costs no copy. */
static bool folds(const struct tensor *a, const struct tensor *b, bool *assumed)
{
    bool a_larger = a->rank >= b->rank;
    struct tensor large = a_larger ? *a : tensor_transpose(*b);
    const struct tensor *small = a_larger ? b : a;
    if (large.rank < 3 || small->rank > 2)
        return false;
    if (small->grad)
        return true;
    if (a->rank == 2)
        return false;
    *assumed |= !large.known;
    if (!large.known || tensor_is_empty(&large))
        return true;
    for (uint32_t i = 0; i + 2 < large.rank; i++) {
        int64_t step;
        if (__builtin_mul_overflow(large.stride[i + 1], large.size[i + 1], &step) || large.stride[i] != step)
            return false;
    }
    return true;
}

static void emit_mm(struct lower *l, const struct tensor *rhs, bool assumed)
{
    emit(l, ATEN_KIND_MM, rhs->dim[0], rhs->dim[1], rhs)->assumed = assumed;
}

/* The smaller operand is multiplied with the folded larger one; from the left, by transposing both. */
static void lower_folded(struct lower *l, const struct tensor *a, const struct tensor *b, bool assumed)
{
    struct tensor small = a->rank >= b->rank ? *b : tensor_transpose(*a);
    if (small.rank == 2) /* else mv */
        emit_mm(l, &small, assumed);
}

/* i-th batch dimension from the last, 1 when there is none. */
static int64_t batch_dim(const struct tensor *t, uint32_t i, const int64_t *dims)
{
    return i + 2 < t->rank ? dims[t->rank - 3 - i] : 1;
}

static void lower_bmm(struct lower *l, const struct tensor *a, const struct tensor *b, bool assumed)
{
    int64_t batch = 1;
    for (uint32_t i = 0; i + 2 < a->rank || i + 2 < b->rank; i++) {
        const struct tensor *wide = batch_dim(a, i, a->size) == 1 ? b : a;
        batch = times(batch, batch_dim(wide, i, wide->dim));
    }
    bool vector = b->rank == 1;
    struct aten_mm *p =
        emit(l, ATEN_KIND_BMM, b->dim[vector ? 0 : b->rank - 2], vector ? 1 : b->dim[b->rank - 1], b);
    p->batch = batch;
    p->assumed = assumed;
}

static void lower_matmul(struct lower *l, struct tensor a, struct tensor b)
{
    bool assumed = false;
    for (;;) {
        if (a.rank == 0 || b.rank == 0 || (a.rank <= 2 && b.rank == 1))
            return; /* no matmul; dot; mv */
        if (a.rank <= 2 && b.rank == 2) {
            emit_mm(l, &b, assumed);
            return;
        }
        if (folds(&a, &b, &assumed)) {
            lower_folded(l, &a, &b, assumed);
            return;
        }
        bool differ = a.rank == 3 && b.rank == 3 && a.size[0] != b.size[0];
        if (differ && a.size[0] == 1 && a.grad)
            a = tensor_squeeze_first(a);
        else if (differ && b.size[0] == 1 && b.grad)
            b = tensor_squeeze_first(b);
        else
            break;
    }
    lower_bmm(l, &a, &b, assumed);
}

/* The node's first product is written with this right operand. */
static void set_literal(struct lower *l, const struct tensor *rhs)
{
    if (l->n == 0 || rhs->rank != 2)
        return;
    l->out[0].matrix = true;
    l->out[0].literal_k = rhs->dim[0];
    l->out[0].literal_n = rhs->dim[1];
}

/* ---- operators ---- */

static void lower_linear(struct lower *l)
{
    struct tensor x, w, bias;
    if (!operand(&x, l, 0) || !operand(&w, l, 1) || x.rank == 0)
        return;
    x = autocast(l, x);
    w = tensor_transpose(autocast(l, w));
    bool biased = operand(&bias, l, 2), dense = tensor_is_contiguous(&x) && (x.rank == 3 || bias.rank == 1);
    if (biased && w.rank == 2 && (x.rank == 2 || dense))
        emit(l, ATEN_KIND_ADDMM, w.dim[0], w.dim[1], &w)->assumed = x.rank != 2 && !x.known;
    else
        lower_matmul(l, x, w);
    set_literal(l, &w);
}

static void lower_plain_matmul(struct lower *l)
{
    struct tensor a, b;
    if (!operand(&a, l, 0) || !operand(&b, l, 1))
        return;
    lower_matmul(l, autocast(l, a), autocast(l, b));
    set_literal(l, &b);
}

/* mm, addmm, bmm themselves. */
static void lower_itself(struct lower *l, enum aten_product kind)
{
    struct tensor rhs;
    uint32_t rank = kind == ATEN_KIND_BMM ? 3 : 2;
    if (!operand(&rhs, l, kind == ATEN_KIND_ADDMM ? 2 : 1) || rhs.rank != rank)
        return;
    struct aten_mm *p = emit(l, kind, rhs.dim[rank - 2], rhs.dim[rank - 1], &rhs);
    p->batch = rank == 3 ? rhs.dim[0] : 1;
    set_literal(l, &rhs);
}

/* Marks the dimensions of a list (negative ones count from the end); false when it is not a list of such. */
static bool mark(bool marks[IR_RANK_MAX], const struct ir_attr *list, const struct tensor *t)
{
    for (uint32_t i = 0; i < list->n_ints; i++) {
        int64_t d = list->ints[i] < 0 ? list->ints[i] + t->rank : list->ints[i];
        if (d < 0 || d >= t->rank || marks[d])
            return false;
        marks[d] = true;
    }
    return list->ints_known;
}

/* Contracted dimensions of `b` make the rows, the others the columns. Where one side has size 1 the other is
 * summed first. */
static void lower_contraction(struct lower *l, const struct tensor *a, const struct tensor *b,
                              const struct ir_attr *of_a, const struct ir_attr *of_b)
{
    bool in_a[IR_RANK_MAX] = {false}, in_b[IR_RANK_MAX] = {false};
    int64_t k = 1, n = 1;
    if (of_a->n_ints != of_b->n_ints || !mark(in_a, of_a, a) || !mark(in_b, of_b, b))
        return;
    for (uint32_t i = 0; i < of_b->n_ints; i++) {
        uint32_t da = (uint32_t)(of_a->ints[i] < 0 ? of_a->ints[i] + a->rank : of_a->ints[i]);
        uint32_t db = (uint32_t)(of_b->ints[i] < 0 ? of_b->ints[i] + b->rank : of_b->ints[i]);
        if (a->size[da] != 1 && b->size[db] != 1)
            k = times(k, b->dim[db]);
    }
    for (uint32_t i = 0; i < b->rank; i++)
        if (!in_b[i])
            n = times(n, b->dim[i]);
    emit(l, ATEN_KIND_MM, k, n, b)->transposed ^= b->rank == 2 && in_b[1] && !in_b[0];
}

static int lower_tensordot(struct lower *l, uint32_t node)
{
    struct tensor a, b;
    struct ir_attr of_a, of_b;
    if (!operand(&a, l, 0) || !operand(&b, l, 1))
        return 0;
    int rc = l->m->source->attr(l->m, node, "dims_self", &of_a);
    if (rc == 1)
        rc = l->m->source->attr(l->m, node, "dims_other", &of_b);
    if (rc == 1 && of_a.kind == IR_ATTR_INTS && of_b.kind == IR_ATTR_INTS)
        lower_contraction(l, &a, &b, &of_a, &of_b);
    return rc < 0 ? rc : 0;
}

/* tensordot over the last dimension of both. */
static void lower_inner(struct lower *l)
{
    struct tensor a, b;
    struct ir_attr last = {.kind = IR_ATTR_INTS, .ints = {-1}, .n_ints = 1, .ints_known = true};
    if (operand(&a, l, 0) && operand(&b, l, 1) && a.rank && b.rank)
        lower_contraction(l, &a, &b, &last, &last);
}

static int lower_einsum(struct lower *l, uint32_t node)
{
    struct ir_attr equation, path;
    struct einsum e = {.n = ir_node_n_in(l->node)};
    struct tensor operands[EINSUM_OPERANDS];
    int rc = l->m->source->attr(l->m, node, "equation", &equation);
    if (rc == 1)
        rc = l->m->source->attr(l->m, node, "path", &path);
    if (rc < 0 || equation.kind != IR_ATTR_STR || e.n > EINSUM_OPERANDS)
        return rc < 0 ? rc : 0;
    for (uint32_t i = 0; i < e.n; i++) {
        if (!operand(&operands[i], l, i))
            return 0;
        e.operands[i] = (struct einsum_operand){operands[i].rank, operands[i].dim, operands[i].size};
    }
    if (rc == 1 && path.kind == IR_ATTR_INTS) {
        e.path = path.ints;
        e.n_path = path.ints_known ? path.n_ints : 0;
    }
    struct einsum_product products[EINSUM_OPERANDS];
    int n = einsum_products(products, &e, equation.s);
    struct tensor computed = {.value = IR_NONE};
    for (int i = 0; i < n; i++) {
        const struct tensor *rhs =
            products[i].right == EINSUM_COMPUTED ? &computed : &operands[products[i].right];
        emit(l, ATEN_KIND_BMM, products[i].k, products[i].n, rhs)->batch = products[i].batch;
    }
    return 0;
}

/* Attention of any rank but 4, which no fused kernel takes: scores, then the weighted sum. */
static void lower_attention(struct lower *l)
{
    struct tensor q, k, v;
    if (!operand(&q, l, 0) || !operand(&k, l, 1) || !operand(&v, l, 2) || q.rank == 4 || q.rank < 2 ||
        k.rank < 2)
        return;
    q.value = k.value = IR_NONE; /* both are scaled first */
    tensor_set_contiguous(&q);
    struct tensor scores = q, kt = tensor_transpose(k);
    lower_matmul(l, q, kt);
    scores.dim[q.rank - 1] = kt.dim[k.rank - 1];
    scores.size[q.rank - 1] = kt.size[k.rank - 1];
    scores.grad |= k.grad;
    tensor_set_contiguous(&scores);
    lower_matmul(l, scores, v);
}

/* A chain of two or three matrices: the cheaper of the two orders, the first when they cost the same. */
static void lower_chain(struct lower *l)
{
    struct tensor t[3];
    uint32_t n = ir_node_n_in(l->node);
    if (n < 2 || n > 3)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (!operand(&t[i], l, i) || t[i].rank != 2)
            return;
    if (n == 2) {
        emit_mm(l, &t[1], false);
        return;
    }
    double a = (double)t[0].size[0], b = (double)t[1].size[0], c = (double)t[2].size[0],
           d = (double)t[2].size[1];
    if (a * c * (b + d) > b * d * (a + c)) {
        emit_mm(l, &t[2], false);
        struct tensor computed = {.value = IR_NONE, .rank = 2, .dim = {t[1].dim[0], t[2].dim[1]}};
        emit_mm(l, &computed, false);
    } else {
        emit_mm(l, &t[1], false);
        emit_mm(l, &t[2], false);
    }
}

enum lowering { NOTHING, LINEAR, MATMUL, MM, ADDMM, BMM, TENSORDOT, INNER, EINSUM, ATTENTION, CHAIN, HIDES };

static enum lowering lowering_of(const struct ir_op *op)
{
    static const struct {
        const char *name;
        enum lowering how;
    } table[] = {
        {"aten.linear", LINEAR},
        {"aten.matmul", MATMUL},
        {"aten.linalg_matmul", MATMUL},
        {"aten.mm", MM},
        {"aten.addmm", ADDMM},
        {"aten.bmm", BMM},
        {"aten.tensordot", TENSORDOT},
        {"aten.inner", INNER},
        {"aten.einsum", EINSUM},
        {"aten.scaled_dot_product_attention", ATTENTION},
        {"aten.chain_matmul", CHAIN},
        {"aten.linalg_multi_dot", CHAIN},
        {"aten.lstm", HIDES},
        {"aten.gru", HIDES},
        {"aten.rnn_tanh", HIDES},
        {"aten.rnn_relu", HIDES},
        {"aten.lstm_cell", HIDES},
        {"aten.gru_cell", HIDES},
        {"aten.rnn_tanh_cell", HIDES},
        {"aten.rnn_relu_cell", HIDES},
        {"aten.matrix_power", HIDES},
        {"aten.linalg_matrix_power", HIDES},
        {"aten.cdist", HIDES},
        {"aten._native_multi_head_attention", HIDES},
        {"aten._transformer_encoder_layer_fwd", HIDES},
    };
    struct str name = ir_without_overload(op->type);
    if (!str_is(op->domain, "torch"))
        return NOTHING;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(name, table[i].name))
            return table[i].how;
    return NOTHING;
}

int aten_lower(struct ir_model *m, uint32_t node, struct aten_mm out[ATEN_MM_MAX])
{
    struct lower l = {.m = m, .node = &m->nodes[node], .out = out};
    int rc = 0;
    l.graph = &m->graphs[ir_node_graph(m, node)];
    switch (lowering_of(ir_node_op(m, l.node))) {
    case NOTHING:
    case HIDES:
        break;
    case LINEAR:
        lower_linear(&l);
        break;
    case MATMUL:
        lower_plain_matmul(&l);
        break;
    case MM:
        lower_itself(&l, ATEN_KIND_MM);
        break;
    case ADDMM:
        lower_itself(&l, ATEN_KIND_ADDMM);
        break;
    case BMM:
        lower_itself(&l, ATEN_KIND_BMM);
        break;
    case TENSORDOT:
        rc = lower_tensordot(&l, node);
        break;
    case INNER:
        lower_inner(&l);
        break;
    case EINSUM:
        rc = lower_einsum(&l, node);
        break;
    case ATTENTION:
        lower_attention(&l);
        break;
    case CHAIN:
        lower_chain(&l);
        break;
    }
    return rc < 0 ? rc : l.n;
}

/* torch.ops.higher_order.out_dtype runs another operator, its first argument, for integers. */
static bool runs_a_product(struct ir_model *m, uint32_t node)
{
    static const struct str prefix = STR_LIT("torch.ops.");
    struct ir_attr a;
    if (!str_is(ir_node_op(m, &m->nodes[node])->type, "higher_order.out_dtype") ||
        m->source->attr(m, node, "#0", &a) != 1 || a.kind != IR_ATTR_STR || !str_starts(a.s, prefix))
        return false;
    const struct ir_op op = {.domain = STR_LIT("torch"), .type = str_sub(a.s, prefix.n, a.s.n - prefix.n)};
    return lowering_of(&op) != NOTHING;
}

bool aten_hides(struct ir_model *m, uint32_t node)
{
    const struct ir_node *n = &m->nodes[node];
    enum lowering how = lowering_of(ir_node_op(m, n));
    return how == HIDES || (how == CHAIN && ir_node_n_in(n) > 3) || runs_a_product(m, node);
}

bool aten_misleads(const struct ir_model *m, uint32_t node)
{
    const struct ir_node *n = &m->nodes[node];
    if (!m->decomposed || lowering_of(ir_node_op(m, n)) != BMM)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        bool transposed = false;
        uint32_t p = parameter(m, ir_node_input(m, n, i), &transposed);
        if (p != IR_NONE && m->values[p].shape != IR_SHAPE_UNKNOWN && ir_shape_of(m, p)->rank == 2 &&
            m->layouts && m->layouts[p].requires_grad)
            return true;
    }
    return false;
}
