#include "passes/fact_node.h"

#include <stdlib.h>

bool fact_contiguous(const struct facts *f, struct fact x)
{
    if (x.gaps)
        return false;
    if (!x.order)
        return true;
    const struct ir_shape *order = &f->w->m->shapes[x.order], *shape = fact_shape(f, x);
    int64_t last = -1;
    for (uint32_t i = 0; i < order->rank; i++) {
        int64_t d = order->dims[i];
        if (d < (int64_t)shape->rank && shape->dims[d] == 1)
            continue;
        if (d < last)
            return false;
        last = d;
    }
    return true;
}

/* A parameter that training would move: float, and not known to be a buffer. */
static bool trainable(const struct ir_model *m, uint32_t value)
{
    const struct ir_value *v = &m->values[value];
    bool is_float = v->dtype == IR_DTYPE_FLOAT || v->dtype == IR_DTYPE_FLOAT16 ||
                    v->dtype == IR_DTYPE_DOUBLE || v->dtype == IR_DTYPE_BFLOAT16;
    const struct ir_param *p = v->kind == IR_VALUE_PARAM ? &m->params[v->def] : NULL;
    return is_float && !(p && (p->buffer || p->no_grad));
}

/* What holds before any node ran: parameters, graph inputs. */
static struct fact leaf(const struct facts *f, struct use u)
{
    const struct ir_model *m = f->w->m;
    struct fact x = {.shape = m->values[u.value].shape, .done = true};
    if (bits_has(f->is_param, u.value)) {
        x.grad = trainable(m, u.value);
        x.fixed = true;
    }
    return x;
}

struct fact facts_get(const struct facts *f, struct use u)
{
    u = walk_resolve(f->w, u);
    if (u.value == IR_NONE)
        return (struct fact){.done = true};
    const struct fact *x = &f->of[walk_slot(f->w, u)];
    return x->done ? *x : leaf(f, u);
}

int facts_seal(struct facts *f)
{
    uint32_t n = f->w->n_slots;
    uint8_t *fixed = calloc(bits_size(n), 1);
    if (!fixed)
        return IR_EMEM;
    for (uint32_t i = 0; i < n; i++) {
        bool is = f->of[i].done ? f->of[i].fixed : bits_has(f->is_param, i);
        bits_add(fixed, i, is);
    }
    free(f->of);
    f->of = NULL;
    f->fixed = fixed;
    return 0;
}

/* A parameter; small integers in it are read. */
static struct fact param(struct facts *f, struct use u)
{
    struct ir_model *m = f->w->m;
    const struct ir_value *v = &m->values[u.value];
    struct fact x = leaf(f, u);
    bool integer = v->dtype == IR_DTYPE_INT64 || v->dtype == IR_DTYPE_INT32 || v->dtype == IR_DTYPE_BOOL;
    if (!integer || m->shapes[v->shape].rank > 1)
        return x;
    int64_t got[IR_INTS_MAX];
    uint32_t n, id;
    if (m->source->param_ints(m, v->def, got, &n) != 1)
        return x;
    int64_t *out = facts_ints_new(f, n, &id);
    if (out)
        memcpy(out, got, n * sizeof *out);
    x.ints = id;
    return x;
}

static uint32_t merge_shapes(struct facts *f, uint32_t inferred, uint32_t stated)
{
    if (inferred == IR_SHAPE_UNKNOWN || stated == inferred)
        return stated == IR_SHAPE_UNKNOWN ? inferred : stated;
    if (stated == IR_SHAPE_UNKNOWN)
        return inferred;
    const struct ir_shape *a = &f->w->m->shapes[inferred], *b = &f->w->m->shapes[stated];
    if (a->rank != b->rank)
        return inferred;
    int64_t dims[IR_RANK_MAX];
    for (uint32_t i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] >= 0 ? a->dims[i] : b->dims[i];
    return facts_intern(f, a->rank, dims);
}

/* Is it a value that a Loop carries from one iteration to the next, as its body sees it? */
static bool is_carried(const struct facts *f, struct use u)
{
    const struct ir_model *m = f->w->m;
    if (u.value == IR_NONE || m->values[u.value].kind != IR_VALUE_INPUT || u.frame == FRAME_MAIN)
        return false;
    const struct ir_node *n = &m->nodes[f->w->frames[u.frame].node];
    return str_is(ir_node_op(m, n)->type, "Loop") && m->values[u.value].def >= 2;
}

/* A carried value has the rank of what comes in; its dims may change with each iteration. */
static struct fact carried(struct facts *f, struct use u)
{
    const struct ir_model *m = f->w->m;
    struct use from = u;
    while (is_carried(f, from)) { /* a loop in a loop */
        const struct frame *fr = &f->w->frames[from.frame];
        uint32_t outer = ir_node_input(m, &m->nodes[fr->node], m->values[from.value].def);
        from = walk_resolve(f->w, (struct use){fr->parent, outer});
    }
    struct fact in = facts_get(f, from);
    int64_t dims[IR_RANK_MAX];
    uint32_t rank = fact_shape(f, in)->rank, shape = IR_SHAPE_UNKNOWN;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = IR_DIM_UNKNOWN;
    if (in.shape != IR_SHAPE_UNKNOWN)
        shape = facts_intern(f, rank, dims);
    return (struct fact){
        .shape = merge_shapes(f, shape, m->values[u.value].shape), .done = true, .grad = in.grad};
}

/* What a node reads: as facts_get(), but what no node makes is worked out the first time that one asks.
 * `room` is for what is not kept. */
static const struct fact *operand(struct facts *f, struct use u, struct fact *room)
{
    u = walk_resolve(f->w, u);
    if (u.value == IR_NONE) {
        *room = (struct fact){.done = true};
        return room;
    }
    struct fact *x = &f->of[walk_slot(f->w, u)];
    if (x->done)
        return x;
    uint8_t kind = f->w->m->values[u.value].kind;
    if (kind == IR_VALUE_PARAM)
        *x = param(f, u);
    else if (kind == IR_VALUE_INPUT)
        *x = is_carried(f, u) ? carried(f, u) : leaf(f, u);
    else
        *(x = room) = leaf(f, u);
    return x;
}

/* The operands' facts, and what passes on to each output: it depends on a parameter when one operand does,
 * and is the same every time when all are. */
static struct fact read_operands(struct node_facts *k, const struct ir_node *node)
{
    struct fact room;
    bool grad = false, fixed = true;
    for (uint32_t i = 0; i < 3; i++)
        k->in[i] = (struct fact){0};
    for (uint32_t i = 0; i < k->n_in; i++) {
        uint32_t value = k->f->w->m->operands[node->operands + i];
        if (value == IR_NONE)
            continue;
        const struct fact *x = operand(k->f, (struct use){k->s.frame, value}, &room);
        if (i < 3)
            k->in[i] = *x;
        grad |= x->grad;
        fixed &= x->fixed;
    }
    return (struct fact){.done = true, .grad = grad, .fixed = fixed};
}

/* What the file states of an output, where the operator left it open. */
static void complete(struct facts *f, struct fact *x, uint32_t stated)
{
    const struct ir_model *m = f->w->m;
    x->shape = merge_shapes(f, x->shape, stated);
    if (x->order && m->shapes[x->order].rank != m->shapes[x->shape].rank)
        x->order = 0;
}

static void visit(struct node_facts *k, struct step s, fact_op fn)
{
    struct facts *f = k->f;
    const struct ir_model *m = f->w->m;
    const struct ir_node *node = &m->nodes[s.node];
    uint32_t n_out = ir_node_n_out(node);
    k->s = s;
    k->n_in = ir_node_n_in(node);
    struct fact base = read_operands(k, node);
    k->none = base;
    k->out = &k->none;
    k->stated = IR_SHAPE_UNKNOWN;
    for (uint32_t i = n_out; i-- > 0;) {
        struct use u = walk_output(f->w, s, i);
        if (u.value == IR_NONE)
            continue;
        struct fact *x = &f->of[walk_slot(f->w, u)];
        *x = base;
        if (i == 0) {
            k->out = x;
            k->stated = m->values[u.value].shape;
        }
    }
    if (fn)
        fn(k);
    for (uint32_t i = 0; i < n_out; i++) {
        struct use u = walk_output(f->w, s, i);
        if (u.value != IR_NONE)
            complete(f, &f->of[walk_slot(f->w, u)], m->values[u.value].shape);
    }
}

_Static_assert(sizeof(struct fact) == WALK_SLOT_BYTES, "the walk charges another size");

/* What graphs within others give back without a node of theirs making it: a Loop's condition that is an
 * initializer. */
static void visit_outputs(struct facts *f)
{
    const struct walk *w = f->w;
    struct fact room;
    for (uint32_t i = 1; i < w->n_frames; i++) {
        const struct ir_graph *g = &w->m->graphs[w->frames[i].graph];
        for (uint32_t j = 0; j < g->n_outputs; j++)
            operand(f, (struct use){i, g->outputs[j]}, &room);
    }
}

#define ATTRS_AHEAD 16 /* nodes whose attributes are fetched into the cache while others are visited */
static void visit_all(struct facts *f, const fact_op *fns)
{
    const struct walk *w = f->w;
    const struct ir_model *m = w->m;
    struct node_facts k = {.f = f};
    for (uint32_t i = 0; i < w->n_steps; i++) {
        struct step s = walk_step(w, i);
        if (i + ATTRS_AHEAD < w->n_steps)
            ir_node_prefetch(m, &m->nodes[walk_step(w, i + ATTRS_AHEAD).node]);
        visit(&k, s, fns[m->nodes[s.node].op]);
    }
}

int facts_build(struct facts *f, const struct walk *w, const uint8_t *is_param, struct diag *d)
{
    *f = (struct facts){.w = w, .is_param = is_param, .d = d};
    const struct ir_model *m = w->m;
    f->of = calloc(w->n_slots ? w->n_slots : 1, sizeof *f->of);
    fact_op *fns = calloc(m->n_ops ? m->n_ops : 1, sizeof *fns);
    if (f->of && fns) {
        for (uint32_t i = 0; i < m->n_ops; i++)
            fns[i] = fact_op_of(&m->ops[i]);
        visit_all(f, fns);
        visit_outputs(f);
    }
    bool ok = f->of && fns && !f->no_memory;
    free(fns);
    return ok ? 0 : IR_EMEM;
}

void facts_free(struct facts *f)
{
    free(f->of);
    free(f->fixed);
    free(f->ints);
    *f = (struct facts){0};
}
