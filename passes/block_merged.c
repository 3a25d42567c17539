/* Block merged: parameters whose names are no evidence. Tools merge parameters of equal value under the name
 * of one of them (the biases and norms of a model that is not trained yet): where a node of another module
 * uses it, the name says nothing of who does. */
#include "passes/block.h"
#include "passes/fqn.h"
#include "passes/linear.h"

#include <stdlib.h>

/* Could a node of this scope use a parameter of this module: the module's own node, one of a module around it
 * or inside it? */
static bool could_use(const struct scope *sc, struct str module)
{
    for (struct str up = module; up.n; up = fqn_parent(up))
        if (scope_fits(sc->atoms, sc->n_atoms, up, true))
            return true;
    for (uint32_t k = 1; k < sc->n_atoms; k++)
        if (scope_fits(sc->atoms, k, module, true))
            return true;
    return false;
}

#define SCOPES IR_NONE

static void note_scope(struct blocker *b, uint32_t value, uint32_t scope)
{
    uint32_t *of = &b->named_scope[named_value(b->s, value) - b->s->named.a];
    *of = *of == 0 || *of == scope ? scope : SCOPES;
}

bool used_in_scopes(const struct blocker *b, uint32_t value)
{
    const struct named *n = value == IR_NONE ? NULL : named_value(b->s, value);
    return n && b->named_scope[n - b->s->named.a] == SCOPES;
}

/* ... by the scope of a node that uses it. */
static void drop_by_scope(struct blocker *b)
{
    struct state *s = b->s;
    const struct walk *w = &s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct scope *sc = step_scope(s, i);
        const struct ir_node *n = &s->m->nodes[walk_step(w, i).node];
        for (uint32_t j = 0; sc->kind == SCOPE_NAME && sc->n_atoms && j < ir_node_n_in(n); j++) {
            struct use u = walk_resolve(w, walk_input(w, walk_step(w, i), j));
            struct str module;
            if (u.value == IR_NONE || block_of_value(b, u.value, &module) == IR_NONE)
                continue;
            note_scope(b, u.value, s->scope_of[i]);
            if (!could_use(sc, module))
                b->named_block[named_value(s, u.value) - s->named.a] = IR_NONE;
        }
    }
    /* Autocast's copy of a weight is made once, where it is used first. */
    for (uint32_t i = 0; i < s->n_mms; i++)
        if (s->mms[i].weight_name != IR_NONE && named_value(s, s->mms[i].weight_name))
            note_scope(b, s->mms[i].weight_name, s->scope_of[s->mms[i].step]);
}

/* Where an mm is, as far as the name of its weight tells. */
struct landmark {
    bool known;
    uint32_t block; /* IR_NONE: outside */
};

static struct landmark landmark_of(const struct blocker *b, const struct mm *mm)
{
    const struct named *n = mm->weight.value == IR_NONE ? NULL : named_value(b->s, mm->weight.value);
    if (!n || n->module == IR_NONE)
        return (struct landmark){.known = false};
    return (struct landmark){true, b->of_module[n->module]};
}

/* Could what stands beside this mm belong to a call of the block? */
static bool beside(const struct blocker *b, struct landmark mm, uint32_t block)
{
    if (!mm.known || mm.block == block)
        return true;
    return mm.block != IR_NONE && (fqn_inside(b->blocks[mm.block], b->blocks[block]) ||
                                   fqn_inside(b->blocks[block], b->blocks[mm.block]));
}

/* What drop_by_place works with. */
struct placer {
    struct blocker *b;
    uint8_t *has_mm; /* per block: weights of its own are multiplied */
    uint8_t *weight; /* per named value: is such a weight */
};

static void drop_misplaced(struct placer *k, struct step st, struct landmark before, struct landmark after)
{
    struct blocker *b = k->b;
    const struct state *s = b->s;
    const struct ir_node *n = &s->m->nodes[st.node];
    for (uint32_t j = 0; j < ir_node_n_in(n); j++) {
        struct use u = walk_resolve(&s->walk, walk_input(&s->walk, st, j));
        const struct named *v = u.value == IR_NONE ? NULL : named_value(s, u.value);
        uint32_t block = v ? b->named_block[v - s->named.a] : IR_NONE;
        if (block != IR_NONE && k->has_mm[block] && !k->weight[v - s->named.a] && !beside(b, before, block) &&
            !beside(b, after, block))
            b->named_block[v - s->named.a] = IR_NONE;
    }
}

static void find_landmarks(struct placer *k)
{
    const struct state *s = k->b->s;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        struct landmark at = landmark_of(k->b, &s->mms[i]);
        if (!at.known)
            continue;
        k->weight[named_value(s, s->mms[i].weight.value) - s->named.a] = 1;
        if (at.block != IR_NONE)
            k->has_mm[at.block] = 1;
    }
}

/* ... by the mms around a node without a scope: a call of a block that multiplies has an mm of its own before
 * or after whatever uses its parameters. */
static int drop_by_place(struct blocker *b)
{
    struct state *s = b->s;
    struct placer k = {b, calloc((size_t)b->n_blocks + 1, 1), calloc((size_t)s->named.n + 1, 1)};
    struct landmark before = {.known = false};
    uint32_t next = 0;
    if (k.has_mm && k.weight)
        find_landmarks(&k);
    for (uint32_t i = 0; k.has_mm && k.weight && i < s->walk.n_steps; i++) {
        uint32_t step = state_step(s, i);
        for (; next < s->n_mms && s->mms[next].step == step; next++)
            before = landmark_of(b, &s->mms[next]);
        if (s->scope_of[step] != 0 || block_step_fixed(b, step))
            continue;
        struct landmark after = {.known = false};
        if (next < s->n_mms)
            after = landmark_of(b, &s->mms[next]);
        drop_misplaced(&k, walk_step(&s->walk, step), before, after);
    }
    int rc = k.has_mm && k.weight ? 0 : IR_EMEM;
    free(k.has_mm);
    free(k.weight);
    return rc;
}

int drop_merged(struct blocker *b)
{
    if (b->s->m->format == IR_PT2) /* names each use as the program does */
        return 0;
    if (scopes_by_name(b->s))
        drop_by_scope(b);
    return drop_by_place(b);
}
