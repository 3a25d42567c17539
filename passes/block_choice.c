/* Block choice: which modules are blocks (POLICY.md 2 "Blocks"). */
#include "passes/auto_block.h"
#include "passes/block.h"
#include "passes/fqn.h"
#include "passes/linear.h"

#include <stdlib.h>

static int add_block(struct blocker *b, struct str fqn)
{
    uint32_t before = b->index.n, id = names_intern(&b->index, fqn);
    if (id == NAME_NONE)
        return IR_EMEM;
    if (b->index.n == before)
        return 0;
    if (grow(&b->blocks, &b->cap_blocks, (size_t)id + 1, sizeof *b->blocks) != 0)
        return IR_EMEM;
    b->blocks[id] = fqn;
    b->n_blocks = id + 1;
    return 0;
}

/* Scopes leave out containers that are never called, so "transformer.h.*" must be found in "/h.0/...": the
 * pattern with the atom's number in the place of its last star. Where the pattern has hit modules already,
 * only for atoms that are no known module's: tools drop names. */
static int blocks_from_atoms(struct blocker *b, struct str pattern, bool hit)
{
    struct state *s = b->s;
    struct str owner = fqn_parent(pattern);
    if (!str_is(fqn_last(pattern), "*") || fqn_has_wildcard(owner) || owner.n == 0)
        return 0;
    struct str own = fqn_unqualified(owner);
    for (uint32_t i = 1; i < s->n_scopes; i++)
        for (uint32_t j = 0; s->scopes[i].kind == SCOPE_NAME && j < s->scopes[i].n_atoms; j++) {
            struct str atom = s->scopes[i].atoms[j];
            uint32_t same;
            if (!fqn_inside(atom, own) || !fqn_is_number(fqn_relative(atom, own)))
                continue;
            if (hit && modules_below(&s->modules, STR_LIT(""), atom, &same) != IR_NONE)
                continue;
            struct str fqn = fqn_join(&s->arena, owner, fqn_relative(atom, own));
            if (!fqn.s)
                return IR_EMEM;
            int rc = scope_fits(s->scopes[i].atoms, j + 1, fqn, false) ? add_block(b, fqn) : 0;
            if (rc)
                return rc;
        }
    return 0;
}

int block_unknown(struct state *s, struct str pattern)
{
    return diag_error(
        s->d, IR_EPOLICY, "no module of this graph matches --blocks '%.*s'%s", STR_ARG(pattern),
        str_chr(pattern, ',') < 0 ? "" : " (a comma is part of the pattern: give --blocks once for each)");
}

static int blocks_from_pattern(struct blocker *b, struct str pattern)
{
    struct state *s = b->s;
    uint32_t before = b->n_blocks;
    int rc = fqn_has_wildcard(pattern) ? 0 : add_block(b, pattern);
    for (uint32_t i = 0; !rc && fqn_has_wildcard(pattern) && i < s->modules.n; i++)
        if (fqn_glob(pattern, s->modules.a[i].fqn, &s->match_steps))
            rc = add_block(b, s->modules.a[i].fqn);
    if (!rc)
        rc = check_match_steps(s);
    if (!rc && fqn_has_wildcard(pattern))
        rc = blocks_from_atoms(b, pattern, b->n_blocks > before);
    if (!rc && b->n_blocks == before)
        return block_unknown(s, pattern);
    return rc;
}

/* FQNs that blocks are chosen from. */
struct fqn_list {
    struct str *a;
    uint32_t n, n_linears; /* the first ones are the Linears', in the order of modules */
    size_t cap;
};

static int push_fqn(struct fqn_list *l, struct str fqn)
{
    if (grow(&l->a, &l->cap, (size_t)l->n + 1, sizeof *l->a) != 0)
        return IR_EMEM;
    l->a[l->n++] = fqn;
    return 0;
}

/* The modules that a scope may stand for; but for the first, which is listed by its mm's name, unless it was
 * ambiguous from the start. */
static int push_readings(struct blocker *b, struct fqn_list *l, struct scope *sc)
{
    uint32_t nth = sc->ambiguous ? 0 : 1, same = nth + 1;
    int rc = 0;
    for (; !rc && nth < same && nth < CANDIDATES_MAX; nth++) {
        struct resolved r = scope_resolve(b->s, sc, STR_LIT(""), 0, nth);
        same = r.same;
        if (nth < same)
            rc = r.fqn.s ? push_fqn(l, r.fqn) : IR_EMEM;
    }
    return rc;
}

/* Every Linear's FQN, and of other modules that multiply by a weight (Conv1D, stacked experts); where a scope
 * may stand for several modules, each of them. */
static int linear_fqns(struct blocker *b, struct fqn_list *l)
{
    struct state *s = b->s;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->modules.n; i++)
        if (s->modules.a[i].linear)
            rc = push_fqn(l, s->modules.a[i].fqn);
    l->n_linears = l->n;
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        const struct mm *mm = &s->mms[i];
        struct scope *sc = step_scope(s, mm->step);
        struct str fqn = mm->fqn.n ? mm->fqn : mm->scope_fqn;
        if (!mm->linear && mm->weight.value != IR_NONE && fqn.n)
            rc = push_fqn(l, fqn);
        if (sc->kind == SCOPE_NAME && !sc->certain && mm->linear && sc->n_atoms > 0)
            rc = push_readings(b, l, sc);
    }
    return rc;
}

/* Per module: the innermost member of a chosen container that it is or lies in, or IR_NONE. NULL when memory
 * is exhausted. */
static uint32_t *members_of_modules(const struct modules *t, const struct auto_blocks *chosen)
{
    uint32_t *of = malloc((size_t)(t->n + 1) * sizeof *of);
    for (uint32_t i = 0; of && i < t->n; i++)
        of[i] = auto_is_member(chosen, t->a[i].fqn) ? i : MODULES_OPEN;
    if (of)
        modules_inherit(t, of, IR_NONE);
    return of;
}

/* The members that hold what is listed, in that order; then those without a Linear, which are blocks too. */
static int add_members(struct blocker *b, const struct fqn_list *l, const struct auto_blocks *chosen)
{
    const struct modules *t = &b->s->modules;
    uint32_t *of = members_of_modules(t, chosen), last = IR_NONE;
    int rc = of ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < t->n; i++)
        if (t->a[i].linear && of[i] != IR_NONE && of[i] != last)
            rc = add_block(b, t->a[last = of[i]].fqn);
    for (uint32_t i = l->n_linears; !rc && i < l->n; i++) {
        struct str member = auto_member(chosen, l->a[i]);
        if (member.n)
            rc = add_block(b, member);
    }
    for (uint32_t i = 0; !rc && i < t->n; i++)
        if (of[i] == i)
            rc = add_block(b, t->a[i].fqn);
    free(of);
    return rc;
}

static int blocks_auto(struct blocker *b)
{
    struct fqn_list list = {0};
    struct auto_blocks chosen = {0};
    int rc = linear_fqns(b, &list);
    if (!rc)
        rc = auto_choose(&chosen, list.a, list.n);
    if (!rc)
        rc = add_members(b, &list, &chosen);
    free(list.a);
    auto_free(&chosen);
    return rc;
}

int choose_blocks(struct blocker *b)
{
    struct state *s = b->s;
    int rc = 0;
    s->plan->blocks_how = s->o->whole ? "whole" : s->o->n_blocks ? "given" : "auto";
    if (s->o->whole)
        return 0;
    for (uint32_t i = 0; !rc && i < s->o->n_blocks; i++) {
        struct str pattern = fqn_clean(s->o->blocks[i], &s->arena);
        rc = pattern.s ? blocks_from_pattern(b, pattern) : IR_EMEM;
    }
    if (!rc && s->o->n_blocks == 0) {
        rc = blocks_auto(b);
        if (!rc && b->n_blocks == 0)
            s->plan->blocks_how = "whole";
    }
    return rc;
}

/* Marks the module and those around it, up to a marked one; adds those that have the name of a block. */
static int add_around(struct blocker *b, const struct names *own, uint8_t *seen, struct str fqn)
{
    for (; fqn.n; fqn = fqn_parent(fqn)) {
        uint32_t id = modules_find(&b->s->modules, fqn);
        if (id == NAME_NONE || seen[id])
            return 0;
        seen[id] = 1;
        if (names_find(own, fqn_unqualified(fqn)) != NAME_NONE && block_of_fqn(b, fqn) == IR_NONE &&
            add_block(b, fqn) != 0)
            return IR_EMEM;
    }
    return 0;
}

int add_rivals(struct blocker *b)
{
    const struct state *s = b->s;
    b->n_chosen = b->n_blocks;
    if (!scopes_by_name(s))
        return 0;
    struct names own;
    uint8_t *seen = calloc((size_t)s->modules.n + 1, 1);
    int rc = seen ? 0 : IR_EMEM;
    names_init(&own);
    for (uint32_t i = 0; !rc && i < b->n_chosen; i++)
        rc = add_around(b, &own, seen, b->blocks[i]); /* what is around a block is no rival */
    for (uint32_t i = 0; !rc && i < b->n_chosen; i++)
        if (names_intern(&own, fqn_unqualified(b->blocks[i])) == NAME_NONE)
            rc = IR_EMEM;
    for (uint32_t i = 0; !rc && i < s->named.n; i++)
        rc = add_around(b, &own, seen, named_fqn(s, &s->named.a[i]));
    names_free(&own);
    free(seen);
    return rc;
}
