/* Names of modules and weights, shared by the passes that learn and use them. */
#ifndef SACTAG_PASSES_LINEAR_H
#define SACTAG_PASSES_LINEAR_H

#include "passes/fqn.h"
#include "passes/pass.h"

/* What a parameter's name tells, as fqn_of_param(). A .pt2's says what it is, and so do torch's own names in
 * ONNX, and those that the configured FQNs mean; of others their tool's habits are guessed. */
int param_name(struct state *s, struct str name, enum param_kind *kind, struct str *fqn);

/* Fills s->named: parameters, weights as graph inputs, renamed copies; adds their modules. */
int find_named(struct state *s);

/* What a value's name tells, or NULL: it carries no parameter's name, or one that a tool made up. */
static inline const struct named *named_value(const struct state *s, uint32_t value)
{
    const struct named_bits *bits = &s->named.bits[value / 64];
    uint64_t up_to = bits->set << (63 - value % 64); /* the value's own is the highest bit */
    if (!(up_to >> 63))
        return NULL;
    return &s->named.a[bits->before + (uint32_t)__builtin_popcountll(up_to) - 1];
}

/* The FQN of the module that it tells, empty for none. */
static inline struct str named_fqn(const struct state *s, const struct named *n)
{
    return n->module == IR_NONE ? STR_LIT("") : s->modules.a[n->module].fqn;
}

/* How a parameter (or a renamed copy of one) is used: per slot, a set of these. AS_TABLE: added to
 * activations or put beside them, like learnt positions. */
enum { USED_GATHER = 1, USED_TRANSPOSED = 2, USED_DIRECT = 4, USED_AS_TABLE = 8 };
int note_uses(struct state *s, uint8_t *used);

/* Follows an mm's rhs back to the parameter that it is, through transposes, casts and copies. Sets weight,
 * weight_name and transposed. */
void trace_weight(struct state *s, struct mm *mm);

/* The module of a weight that is computed from reparametrised parameters of one module; else empty. */
struct str reparam_owner(struct state *s, const struct mm *mm);

/* Could a node of module `fqn` have the scope `atoms`? Scopes leave out containers that are never called, so
 * the atoms must be a subsequence of the unqualified names of fqn and its ancestors, the last one being fqn's
 * own; its _k suffix is ignored when `stem`. */
bool scope_fits(const struct str *atoms, uint32_t n, struct str fqn, bool stem);

/* What a scope's module is called in full. */
struct resolved {
    struct str fqn; /* in the arena; NULL text when memory is exhausted */
    bool certain;   /* every atom is a known module's */
    uint32_t same;  /* how many modules the first ambiguous atom could be, 1 if none is */
};

/* The scope's module inside `base`, a module's FQN that the first `from` atoms stand for. `nth`, from 0:
 * which of the modules that the first ambiguous atom could be. */
struct resolved scope_resolve(struct state *s, struct scope *sc, struct str base, uint32_t from,
                              uint32_t nth);

/* A module's FQN, and its id where that is known. */
struct module_name {
    struct str fqn;
    uint32_t id; /* IR_NONE: look it up */
};

/* Records that a module is a Linear, as this mm shows: its shape and weight. A module that is not known yet
 * is added; `loose`: containers may then be missing from its FQN. Stronger evidence from before stays. 0 or
 * IR_EMEM. */
int linear_mark(struct state *s, struct module_name name, const struct mm *mm, enum evidence ev, bool loose);

/* The FQN of module "base.last". NULL text when memory is exhausted. */
struct str fqn_join(struct arena *a, struct str base, struct str last);

#endif
