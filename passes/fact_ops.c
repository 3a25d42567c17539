/* Facts of all operators that are neither views (passes/fact_views.c) nor shape arithmetic
 * (passes/fact_ints.c), and the table of all. */
#include "passes/fact_node.h"

static void op_same(struct node_facts *k)
{
    k->out->shape = k->in[0].shape;
    node_keep_order(k, k->in[0]);
}

/* Kernels that write a new contiguous tensor whatever they read. */
static void op_same_contiguous(struct node_facts *k)
{
    k->out->shape = k->in[0].shape;
}

static void op_cast(struct node_facts *k)
{
    op_same(k);
    k->out->ints = k->in[0].ints;
    if (!k->out->grad)
        return;
    int64_t to = walk_attr_int(k->f->w, k->s, "to", 0);
    k->out->grad = to == 1 || to == 10 || to == 11 || to == 16 || to == 0;
}

/* Has operand i the shape of the result, as far as its dims are known, and an order of its own? */
static bool may_be_whole(const struct node_facts *k, uint32_t i, uint32_t shape)
{
    const struct ir_shape *x = node_shape(k, i), *whole = &k->f->w->m->shapes[shape];
    bool is = node_known(k, i) && x->rank == whole->rank && !k->in[i].expanded;
    for (uint32_t d = 0; is && d < x->rank; d++)
        is = x->dims[d] == whole->dims[d] || x->dims[d] == IR_DIM_UNKNOWN;
    return is;
}

void op_broadcast(struct node_facts *k)
{
    uint32_t shape = k->n_in ? k->in[0].shape : IR_SHAPE_UNKNOWN;
    for (uint32_t i = 1; i < k->n_in; i++) {
        struct fact x = i < 3 ? k->in[i] : facts_get(k->f, walk_input(k->f->w, k->s, i));
        shape = broadcast_shapes(k->f, shape, x.shape);
    }
    k->out->shape = shape;
    for (uint32_t i = 0; i < k->n_in && i < 3 && shape != IR_SHAPE_UNKNOWN; i++)
        if (may_be_whole(k, i, shape)) {
            node_keep_order(k, k->in[i]);
            return;
        }
}

/* The operand `input` of the node that makes `u`, if that node is a `type`; else nothing. */
static struct use operand_of(const struct node_facts *k, struct use u, const char *type, uint32_t input)
{
    const struct walk *w = k->f->w;
    struct use none = {FRAME_MAIN, IR_NONE};
    u = walk_resolve(w, u);
    struct step def = walk_def(w, u);
    if (def.node == IR_NONE || !str_is(ir_node_op(w->m, &w->m->nodes[def.node])->type, type))
        return none;
    return walk_resolve(w, walk_input(w, def, input));
}

/* d / sqrt(mean(d^2) + eps), d = x - mean(x): what the exporter makes of nn.LayerNorm before opset 17. */
static bool ends_layer_norm(const struct node_facts *k)
{
    const struct walk *w = k->f->w;
    struct use d = walk_resolve(w, walk_input(w, k->s, 0));
    struct use x = operand_of(k, d, "Sub", 0), mean = operand_of(k, d, "Sub", 1);
    struct use sum = operand_of(k, walk_input(w, k->s, 1), "Sqrt", 0);
    struct use square = operand_of(k, operand_of(k, sum, "Add", 0), "ReduceMean", 0);
    return x.value != IR_NONE && use_same(x, operand_of(k, mean, "ReduceMean", 0)) && d.value != IR_NONE &&
           use_same(d, operand_of(k, square, "Pow", 0));
}

static void op_div(struct node_facts *k)
{
    op_arith(k);
    if (!fact_contiguous(k->f, *k->out) && ends_layer_norm(k)) { /* the kernel writes a new tensor */
        k->out->order = 0;
        k->out->gaps = false;
        k->out->guessed = true; /* the same written by hand keeps the order */
    }
}

static void op_compare(struct node_facts *k)
{
    op_broadcast(k);
    k->out->grad = false;
}

static void op_no_grad_unknown(struct node_facts *k)
{
    k->out->grad = false;
}

/* Batch dimensions broadcast, [..., M, K] x [..., K, N]. */
static void matmul_shape(struct node_facts *k, bool ta, bool tb)
{
    if (!node_known(k, 0) || !node_known(k, 1))
        return;
    const struct ir_shape left = *node_shape(k, 0), right = *node_shape(k, 1), *a = &left, *b = &right;
    if (a->rank == 0 || b->rank == 0)
        return;
    int64_t dims[IR_RANK_MAX];
    uint32_t ra = a->rank > 1 ? a->rank - 2 : 0, rb = b->rank > 1 ? b->rank - 2 : 0;
    uint32_t batch = ra > rb ? ra : rb, n = 0;
    for (uint32_t i = 0; i < batch; i++) {
        int64_t p = i + ra >= batch ? a->dims[i + ra - batch] : 1,
                q = i + rb >= batch ? b->dims[i + rb - batch] : 1;
        dims[n++] = broadcast_dim(p, q);
    }
    if (a->rank > 1)
        dims[n++] = a->dims[a->rank - (ta ? 1 : 2)];
    if (b->rank > 1)
        dims[n++] = b->dims[b->rank - (tb ? 2 : 1)];
    node_set_shape(k, n, dims);
    if (a->rank == 2 && b->rank > 2 && k->in[0].grad && n >= 2) { /* folded: computed transposed */
        int64_t order[IR_RANK_MAX];
        for (uint32_t i = 0; i < n; i++)
            order[i] = i;
        order[n - 2] = n - 1, order[n - 1] = n - 2;
        k->out->order = order_intern(k->f, n, order);
    }
}

static void op_matmul(struct node_facts *k)
{
    matmul_shape(k, false, false);
}

static void op_fused_matmul(struct node_facts *k)
{
    matmul_shape(k, walk_attr_int(k->f->w, k->s, "transA", 0) != 0,
                 walk_attr_int(k->f->w, k->s, "transB", 0) != 0);
}

static void op_flatten(struct node_facts *k)
{
    node_set_rank(k, 2);
}

static void op_rank_of_input(struct node_facts *k)
{
    if (node_known(k, 0))
        node_set_rank(k, node_shape(k, 0)->rank);
}

static void op_scalar(struct node_facts *k)
{
    k->out->grad = false;
    node_set_shape(k, 0, NULL);
}

static void op_vector(struct node_facts *k)
{
    k->out->grad = false;
    node_set_rank(k, 1);
}

static void op_reduce(struct node_facts *k)
{
    int64_t axes[INTS_MAX];
    uint32_t n;
    if (!node_known(k, 0))
        return;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    bool keep = walk_attr_int(k->f->w, k->s, "keepdims", 1) != 0, gone[IR_RANK_MAX] = {false};
    if (node_list(k, "axes", 1, axes, &n) && n > 0) {
        for (uint32_t i = 0; i < n; i++) {
            int64_t a = axis_in_rank(axes[i], x->rank);
            if (a < 0)
                return;
            gone[a] = true;
        }
    } else if (node_has_list(k, "axes", 1)) {
        if (keep)
            node_set_rank(k, x->rank);
        return;
    } else {
        if (walk_attr_int(k->f->w, k->s, "noop_with_empty_axes", 0) != 0) {
            op_same(k);
            return;
        }
        for (uint32_t i = 0; i < x->rank; i++)
            gone[i] = true;
    }
    int64_t dims[IR_RANK_MAX];
    uint32_t r = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[i] || keep)
            dims[r++] = gone[i] ? 1 : x->dims[i];
    node_set_shape(k, r, dims);
}

static void op_arg(struct node_facts *k)
{
    k->out->grad = false;
    if (!node_known(k, 0))
        return;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    int64_t a = axis_in_rank(walk_attr_int(k->f->w, k->s, "axis", 0), x->rank), dims[IR_RANK_MAX];
    bool keep = walk_attr_int(k->f->w, k->s, "keepdims", 1) != 0;
    uint32_t r = 0;
    if (a < 0)
        return;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != (uint32_t)a || keep)
            dims[r++] = i == (uint32_t)a ? 1 : x->dims[i];
    node_set_shape(k, r, dims);
}

static void op_onehot(struct node_facts *k)
{
    k->out->grad = false;
    if (node_known(k, 0) && node_shape(k, 0)->rank < IR_RANK_MAX)
        node_set_rank(k, node_shape(k, 0)->rank + 1);
}

static void op_nonzero(struct node_facts *k)
{
    int64_t dims[2] = {node_known(k, 0) ? (int64_t)node_shape(k, 0)->rank : IR_DIM_UNKNOWN, IR_DIM_UNKNOWN};
    k->out->grad = false;
    node_set_shape(k, 2, dims);
}

static void op_gathernd(struct node_facts *k)
{
    if (!node_known(k, 0) || !node_known(k, 1) || node_shape(k, 1)->rank == 0)
        return;
    const struct ir_shape shape = *node_shape(k, 0), index = *node_shape(k, 1), *x = &shape, *ix = &index;
    int64_t last = ix->dims[ix->rank - 1], batch = walk_attr_int(k->f->w, k->s, "batch_dims", 0);
    int64_t rank = (int64_t)x->rank + ix->rank - last - 1 - batch;
    if (last >= 0 && last <= (int64_t)x->rank && rank >= 0 && rank <= IR_RANK_MAX)
        node_set_rank(k, (uint32_t)rank);
}

static void op_gather_elements(struct node_facts *k)
{
    if (node_known(k, 1))
        k->out->shape = k->in[1].shape;
}

static void op_topk(struct node_facts *k)
{
    if (!node_known(k, 0))
        return;
    int64_t dims[IR_RANK_MAX], n_k[INTS_MAX];
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    int64_t a = axis_in_rank(walk_attr_int(k->f->w, k->s, "axis", -1), x->rank);
    uint32_t n;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (a >= 0)
        dims[a] = node_list(k, "k", 1, n_k, &n) && n == 1 ? n_k[0] : IR_DIM_UNKNOWN;
    if (a >= 0 && dims[a] < 0)
        dims[a] = IR_DIM_UNKNOWN;
    node_set_shape(k, x->rank, dims);
    struct use indices = walk_output(k->f->w, k->s, 1);
    if (indices.value != IR_NONE)
        k->f->of[walk_slot(k->f->w, indices)] =
            (struct fact){.shape = k->out->shape, .done = true, .fixed = k->out->fixed};
}

/* Conv, pooling, Resize, Pad, Tile: the rank, and of Conv the channels. */
/* Element i of a list attribute, or what it is when there is none. */
static int64_t listed(const struct node_facts *k, const char *name, uint32_t i, int64_t otherwise)
{
    struct ir_attr a;
    if (walk_attr(k->f->w, k->s, name, &a) != 1 || a.kind != IR_ATTR_INTS || !a.ints_known || i >= a.n_ints)
        return otherwise;
    return a.ints[i];
}

/* Spatial axis i of what a Conv makes of `size` elements. */
static int64_t conv_dim(const struct node_facts *k, uint32_t i, uint32_t axes, int64_t size, int64_t kernel)
{
    int64_t stride = listed(k, "strides", i, 1), reach, padded;
    int64_t pads = clamp_index(listed(k, "pads", i, 0), 0, INT32_MAX) +
                   clamp_index(listed(k, "pads", axes + i, 0), 0, INT32_MAX);
    if (size < 0 || kernel < 1 || stride < 1 || __builtin_add_overflow(size, pads, &padded) ||
        __builtin_mul_overflow(kernel - 1, listed(k, "dilations", i, 1), &reach) || reach < 0 ||
        padded <= reach)
        return IR_DIM_UNKNOWN;
    return (padded - reach - 1) / stride + 1;
}

/* Convolutions and poolings of images write their output as the input lies, with the channels last or not. */
static void keep_channels_last(struct node_facts *k)
{
    static const int64_t last[] = {0, 2, 3, 1};
    int64_t order[IR_RANK_MAX];
    if (!node_known(k, 0) || node_shape(k, 0)->rank != 4)
        return;
    order_of(k->f, k->in[0], 4, order);
    if (memcmp(order, last, sizeof last) == 0)
        node_keep_order(k, k->in[0]);
}

static void op_pool(struct node_facts *k)
{
    op_rank_of_input(k);
    keep_channels_last(k);
}

static void op_conv(struct node_facts *k)
{
    struct ir_attr a;
    if (!node_known(k, 0))
        return;
    int64_t dims[IR_RANK_MAX];
    uint32_t rank = node_shape(k, 0)->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == 0 ? node_shape(k, 0)->dims[0] : IR_DIM_UNKNOWN;
    if (rank > 1 && node_known(k, 1) && node_shape(k, 1)->rank == rank) {
        bool given = walk_attr(k->f->w, k->s, "auto_pad", &a) != 1 || str_is(a.s, "NOTSET");
        dims[1] = node_shape(k, 1)->dims[0];
        for (uint32_t i = 2; i < rank && given; i++)
            dims[i] = conv_dim(k, i - 2, rank - 2, node_shape(k, 0)->dims[i], node_shape(k, 1)->dims[i]);
    }
    node_set_shape(k, rank, dims);
    keep_channels_last(k);
}

static void op_tile(struct node_facts *k)
{
    uint32_t n = 0;
    if (!node_known(k, 0))
        return;
    const int64_t *v = k->n_in > 1 ? facts_ints(k->f, k->in[1], &n) : NULL;
    const struct ir_shape shape = *node_shape(k, 0), *x = &shape;
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!v || n != x->rank || v[i] < 0 || x->dims[i] < 0 ||
            __builtin_mul_overflow(x->dims[i], v[i], &dims[i]))
            dims[i] = IR_DIM_UNKNOWN;
    node_set_shape(k, x->rank, dims);
}

/* The letters of one term of an equation: different ones; false for others. */
struct term {
    char of[IR_RANK_MAX];
    uint32_t n;
};

static bool read_term(struct str text, struct term *t)
{
    t->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if (c == ' ')
            continue;
        if (c == '.' || t->n == IR_RANK_MAX || memchr(t->of, c, t->n))
            return false;
        t->of[t->n++] = c;
    }
    return true;
}

static bool has_letter(const struct term *t, char c)
{
    return memchr(t->of, c, t->n) != NULL;
}

/* torch.einsum() of two operands is a bmm, whose result has the dims of both first, then those of the left,
 * then those of the right, each in the order of the output. Nothing summed: an elementwise product. */
static void einsum_layout(struct node_facts *k, const struct term *a, const struct term *b,
                          const struct term *o)
{
    int64_t order[IR_RANK_MAX];
    uint32_t n = 0;
    bool sums = false;
    for (uint32_t i = 0; i < a->n; i++)
        sums |= has_letter(b, a->of[i]) && !has_letter(o, a->of[i]);
    for (int part = 0; part < 3 && sums; part++) /* both, left, right */
        for (uint32_t i = 0; i < o->n; i++) {
            bool left = has_letter(a, o->of[i]), right = has_letter(b, o->of[i]);
            if (part == (left && right ? 0 : left ? 1 : 2))
                order[n++] = i;
        }
    if (n == o->n)
        k->out->order = order_intern(k->f, n, order);
}

static void op_einsum(struct node_facts *k)
{
    struct ir_attr attr;
    struct term a, b, o;
    if (walk_attr(k->f->w, k->s, "equation", &attr) != 1 || attr.kind != IR_ATTR_STR)
        return;
    ptrdiff_t arrow = str_find(attr.s, STR_LIT("->")), comma = str_chr(attr.s, ',');
    if (arrow < 0 || !read_term(str_sub(attr.s, (size_t)arrow + 2, attr.s.n - (size_t)arrow - 2), &o))
        return;
    node_set_rank(k, o.n);
    if (k->n_in == 2 && comma >= 0 && comma < arrow && read_term(str_sub(attr.s, 0, (size_t)comma), &a) &&
        read_term(str_sub(attr.s, (size_t)comma + 1, (size_t)(arrow - comma) - 1), &b))
        einsum_layout(k, &a, &b, &o);
}

/* If, Loop and Scan: what the bodies return. */
static void op_body(struct node_facts *k)
{
    const struct walk *w = k->f->w;
    const struct ir_model *m = w->m;
    const struct ir_node *node = &m->nodes[k->s.node];
    struct str type = ir_node_op(m, node)->type;
    bool loop = str_is(type, "Loop"), scan = str_is(type, "Scan");
    uint32_t carried = loop ? (ir_node_n_in(node) > 2 ? ir_node_n_in(node) - 2 : 0) : ir_node_n_out(node);
    for (uint32_t i = 0; i < ir_node_n_out(node); i++) {
        struct use u = walk_output(w, k->s, i);
        if (u.value == IR_NONE)
            continue;
        struct fact merged = {.done = true, .grad = k->out->grad, .fixed = false};
        bool first = true;
        for (uint32_t b = ir_node_body(m, node); b != IR_NONE; b = m->graphs[b].next_body) {
            uint32_t frame = walk_child(w, k->s.frame, k->s.node, b), at = i + (loop ? 1 : 0);
            if (frame == IR_NONE || at >= m->graphs[b].n_outputs)
                continue;
            struct fact x = facts_get(k->f, (struct use){frame, m->graphs[b].outputs[at]});
            if (first)
                merged.shape = x.shape;
            else if (merged.shape != x.shape)
                merged.shape = IR_SHAPE_UNKNOWN;
            merged.grad |= x.grad;
            first = false;
        }
        if (scan || i >= carried)
            merged.shape = IR_SHAPE_UNKNOWN;
        k->f->of[walk_slot(w, u)] = merged;
    }
}

static const struct {
    const char *type;
    fact_op fn;
} table[] = {
    {"Abs", op_same},
    {"Add", op_arith},
    {"And", op_compare},
    {"ArgMax", op_arg},
    {"ArgMin", op_arg},
    {"AveragePool", op_pool},
    {"BatchNormalization", op_same},
    {"BiasGelu", op_same},
    {"Cast", op_cast},
    {"CastLike", op_same},
    {"Ceil", op_same},
    {"Celu", op_same},
    {"Clip", op_same},
    {"Concat", op_concat},
    {"Constant", op_constant},
    {"ConstantOfShape", op_constant_of_shape},
    {"Conv", op_conv},
    {"ConvTranspose", op_rank_of_input},
    {"Cos", op_same},
    {"CumSum", op_same_contiguous},
    {"DequantizeLinear", op_same},
    {"Div", op_div},
    {"Dropout", op_same},
    {"Einsum", op_einsum},
    {"Elu", op_same},
    {"Equal", op_compare},
    {"Erf", op_same},
    {"Exp", op_same},
    {"Expand", op_expand},
    {"EyeLike", op_same_contiguous},
    {"FastGelu", op_same},
    {"Flatten", op_flatten},
    {"Floor", op_same},
    {"FusedGemm", op_fused_matmul},
    {"FusedMatMul", op_fused_matmul},
    {"Gather", op_gather},
    {"GatherElements", op_gather_elements},
    {"GatherND", op_gathernd},
    {"Gelu", op_same},
    {"Gemm", op_fused_matmul},
    {"GemmFastGelu", op_matmul},
    {"Greater", op_compare},
    {"GreaterOrEqual", op_compare},
    {"GroupNormalization", op_same},
    {"HardSigmoid", op_same},
    {"HardSwish", op_same},
    {"Hardmax", op_same_contiguous},
    {"Identity", op_identity},
    {"If", op_body},
    {"InstanceNormalization", op_same_contiguous},
    {"IsInf", op_compare},
    {"IsNaN", op_compare},
    {"LayerNormalization", op_same_contiguous},
    {"LeakyRelu", op_same},
    {"Less", op_compare},
    {"LessOrEqual", op_compare},
    {"Log", op_same},
    {"LogSoftmax", op_same_contiguous},
    {"Loop", op_body},
    {"LpNormalization", op_same},
    {"MatMul", op_matmul},
    {"Max", op_arith},
    {"MaxPool", op_pool},
    {"Mean", op_broadcast},
    {"Min", op_arith},
    {"Mish", op_same},
    {"Mod", op_broadcast},
    {"Mul", op_arith},
    {"Neg", op_same},
    {"NonZero", op_nonzero},
    {"Not", op_compare},
    {"OneHot", op_onehot},
    {"Or", op_compare},
    {"PRelu", op_same},
    {"Pad", op_rank_of_input},
    {"Pow", op_broadcast},
    {"QuantizeLinear", op_same},
    {"QuickGelu", op_same},
    {"RMSNormalization", op_same_contiguous},
    {"Range", op_vector},
    {"Reciprocal", op_same},
    {"ReduceL1", op_reduce},
    {"ReduceL2", op_reduce},
    {"ReduceLogSum", op_reduce},
    {"ReduceLogSumExp", op_reduce},
    {"ReduceMax", op_reduce},
    {"ReduceMean", op_reduce},
    {"ReduceMin", op_reduce},
    {"ReduceProd", op_reduce},
    {"ReduceSum", op_reduce},
    {"ReduceSumSquare", op_reduce},
    {"Relu", op_same},
    {"Reshape", op_reshape},
    {"Resize", op_rank_of_input},
    {"Round", op_same},
    {"Scan", op_body},
    {"ScatterElements", op_same_contiguous},
    {"ScatterND", op_same_contiguous},
    {"Selu", op_same},
    {"Shape", op_shape},
    {"Sigmoid", op_same},
    {"Sign", op_same},
    {"SimplifiedLayerNormalization", op_same_contiguous},
    {"Sin", op_same},
    {"Size", op_scalar},
    {"SkipLayerNormalization", op_same_contiguous},
    {"SkipSimplifiedLayerNormalization", op_same_contiguous},
    {"Slice", op_slice},
    {"Softmax", op_same_contiguous},
    {"Softplus", op_same},
    {"Softsign", op_same},
    {"Split", op_split},
    {"Sqrt", op_same},
    {"Squeeze", op_squeeze},
    {"Sub", op_arith},
    {"Sum", op_broadcast},
    {"Swish", op_same},
    {"Tanh", op_same},
    {"ThresholdedRelu", op_same},
    {"Tile", op_tile},
    {"TopK", op_topk},
    {"TransposeMatMul", op_fused_matmul},
    {"Transpose", op_transpose},
    {"Trilu", op_same_contiguous},
    {"Unsqueeze", op_unsqueeze},
    {"Where", op_broadcast},
    {"Xor", op_compare},
    {"NonMaxSuppression", op_no_grad_unknown},
};

fact_op fact_op_of(const struct ir_op *op)
{
    if (op->domain.n && !str_is(op->domain, "com.microsoft"))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(op->type, table[i].type))
            return table[i].fn;
    return NULL;
}
