/* Attention that an exporter has broken up: its scores and weights, and the product with V. */
#include "passes/neighbours.h"

#include <stdlib.h>

enum part { NO_PART, PRODUCT, SOFTMAX, PASS };

static const struct {
    enum part part;
    const char *domain, *type;
} attention_ops[] = {
#define ATTENTION_OP(part, domain, type) {part, domain, type},
#include "passes/neighbour_ops.def"
};

/* What a value is in it, judged by what computes it. */
enum label { PLAIN, SCORES, WEIGHTS };

struct labeller {
    struct state *s;
    const uint8_t *is_mm; /* per node */
    uint8_t *part_of;     /* per op id: enum part */
    uint32_t *maker;      /* of walk_makers() */
    uint8_t *label;       /* per slot: enum label */
    uint8_t *needed;      /* per slot: a product with V is computed from it */
    struct attention *out;
};

static enum part find_part(const struct ir_op *op)
{
    for (size_t i = 0; i < sizeof attention_ops / sizeof *attention_ops; i++)
        if (op_is(op, attention_ops[i].domain, attention_ops[i].type))
            return attention_ops[i].part;
    return NO_PART;
}

/* An operand of a step that the step's own region makes; value IR_NONE otherwise. */
static struct use own_operand(struct labeller *f, uint32_t step, uint32_t i)
{
    const struct walk *w = &f->s->walk;
    struct use u = walk_resolve(w, walk_input(w, walk_step(w, step), i));
    bool own = u.value != IR_NONE && f->s->m->values[u.value].kind == IR_VALUE_NODE &&
               region_of_maker(f->s, f->maker, u) == f->s->region_of[step];
    return own ? u : (struct use){u.frame, IR_NONE};
}

static enum label label_in(struct labeller *f, uint32_t step, uint32_t n)
{
    enum label most = PLAIN;
    for (uint32_t i = 0; i < n; i++) {
        struct use u = own_operand(f, step, i);
        enum label l = u.value == IR_NONE ? PLAIN : (enum label)f->label[walk_slot(&f->s->walk, u)];
        most = l > most ? l : most;
    }
    return most;
}

static enum label label_out(enum part part, enum label in)
{
    switch (part) {
    case PRODUCT:
        return in == WEIGHTS ? PLAIN : SCORES;
    case SOFTMAX:
        return in == SCORES ? WEIGHTS : PLAIN;
    case PASS:
        return in;
    case NO_PART:
        break;
    }
    return PLAIN;
}

static void mark_needed(struct labeller *f, uint32_t step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct use u = own_operand(f, step, i);
        if (u.value != IR_NONE && f->label[walk_slot(&f->s->walk, u)] != PLAIN)
            f->needed[walk_slot(&f->s->walk, u)] = 1;
    }
}

/* Forward: what a product makes are scores, what a softmax makes of scores are weights, and a product that
 * takes weights is the one with V. */
static void label_steps(struct labeller *f)
{
    const struct walk *w = &f->s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct ir_node *n = &f->s->m->nodes[walk_step(w, i).node];
        enum part part = (enum part)f->part_of[n->op];
        if (part == NO_PART || f->is_mm[walk_step(w, i).node] || f->s->region_of[i] == IR_NONE)
            continue;
        enum label in = label_in(f, i, ir_node_n_in(n));
        f->out->with_v[i] = part == PRODUCT && in == WEIGHTS;
        for (uint32_t j = 0; j < ir_node_n_out(n); j++) {
            struct use u = walk_output(w, walk_step(w, i), j);
            if (u.value != IR_NONE)
                f->label[walk_slot(w, u)] = (uint8_t)label_out(part, in);
        }
    }
}

/* Backward from the products with V to those that made their scores: a product whose result meets no V, such
 * as the bmm of experts, makes none. */
static void follow_back(struct labeller *f)
{
    const struct walk *w = &f->s->walk;
    for (uint32_t i = w->n_steps; i-- > 0;) {
        const struct ir_node *n = &f->s->m->nodes[walk_step(w, i).node];
        for (uint32_t j = 0; j < ir_node_n_out(n) && !f->out->with_v[i]; j++) {
            struct use u = walk_output(w, walk_step(w, i), j);
            f->out->scores[i] |= u.value != IR_NONE && f->needed[walk_slot(w, u)];
        }
        if (f->out->with_v[i] || (f->out->scores[i] && f->part_of[n->op] != PRODUCT))
            mark_needed(f, i, ir_node_n_in(n));
    }
}

int find_attention(struct attention *out, struct state *s, const uint8_t *is_mm)
{
    size_t steps = (size_t)s->walk.n_steps + 1, slots = (size_t)s->walk.n_slots + 1;
    struct labeller f = {.s = s,
                         .is_mm = is_mm,
                         .part_of = arena_alloc(&s->arena, (size_t)s->m->n_ops + 1, 1),
                         .label = arena_alloc(&s->arena, slots, 1),
                         .needed = arena_alloc(&s->arena, slots, 1),
                         .out = out};
    *out = (struct attention){arena_alloc(&s->arena, steps, 1), arena_alloc(&s->arena, steps, 1)};
    if (!f.part_of || !f.label || !f.needed || !out->with_v || !out->scores)
        return IR_EMEM;
    int rc = walk_makers(&s->walk, &f.maker);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < s->m->n_ops; i++)
        f.part_of[i] = (uint8_t)find_part(&s->m->ops[i]);
    label_steps(&f);
    follow_back(&f);
    free(f.maker);
    return 0;
}
