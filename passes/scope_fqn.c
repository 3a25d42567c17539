/* Scope to FQN: what a scope's module is called in full (POLICY.md 3 "scope"). */
#include "passes/linear.h"

#include "passes/fqn.h"

struct str fqn_join(struct arena *a, struct str base, struct str last)
{
    char *out = arena_alloc(a, base.n + last.n + 2, 1);
    if (!out)
        return (struct str){NULL, 0};
    size_t n = 0;
    if (base.n) {
        memcpy(out, base.s, base.n);
        n = base.n;
        out[n++] = '.';
    }
    memcpy(out + n, last.s, last.n);
    return (struct str){out, n + last.n};
}

bool scope_fits(const struct str *atoms, uint32_t n, struct str fqn, bool stem)
{
    if (n == 0 || fqn.n == 0)
        return false;
    struct str own = fqn_unqualified(fqn);
    if (!str_eq(atoms[n - 1], own) && !(stem && str_eq(atom_stem(atoms[n - 1]), own)))
        return false;
    uint32_t left = n - 1; /* matched from the end: the innermost ancestors first */
    for (struct str up = fqn_parent(fqn); up.n && left; up = fqn_parent(up))
        if (str_eq(atoms[left - 1], fqn_unqualified(up)))
            left--;
    return left == 0;
}

/* A Sequential's child repeats its parent's name: "ff" then "ff.0". The part after it, or the whole atom. */
static struct str atom_after(struct str atom, struct str before)
{
    if (before.n && atom.n > before.n + 1 && str_starts(atom, before) && atom.s[before.n] == '.')
        return str_sub(atom, before.n + 1, atom.n - before.n - 1);
    return atom;
}

static uint32_t module_for_atom(struct state *s, struct str base, struct str atom, struct str before,
                                uint32_t *same)
{
    *same = 1;
    struct str direct = fqn_join(&s->arena, base, atom_after(atom, before));
    uint32_t id = direct.s ? modules_find(&s->modules, direct) : NAME_NONE;
    return id != NAME_NONE ? id : modules_below(&s->modules, base, atom, same);
}

/* Was the scope without the last atom's _k used as well? Then _k tells it was used before. */
static bool stem_scope_exists(const struct state *s, const struct scope *sc)
{
    struct str stem = atom_stem(sc->raw);
    return stem.n < sc->raw.n && names_find(&s->scope_index, stem) != NAME_NONE;
}

struct str scope_resolve(struct state *s, struct scope *sc, struct str base, uint32_t from, uint32_t nth,
                         bool *certain, uint32_t *same)
{
    *certain = true;
    *same = 1;
    for (uint32_t i = from; i < sc->n_atoms; i++) {
        struct str atom = sc->atoms[i], before = i ? sc->atoms[i - 1] : (struct str){0},
                   stem = atom_stem(atom);
        uint32_t n, id = module_for_atom(s, base, atom, before, &n);
        bool last = i + 1 == sc->n_atoms;
        if (id == IR_NONE && last && stem.n < atom.n) {
            id = module_for_atom(s, base, stem, before, &n);
            if (id != IR_NONE || stem_scope_exists(s, sc)) {
                sc->stem = true;
                atom = stem;
            }
        }
        if (id != IR_NONE) {
            struct str base_before = base;
            base = s->modules.a[id].fqn;
            if (n > 1 && *same == 1) {
                *same = n;
                id = nth ? modules_below_nth(&s->modules, base_before, atom, nth) : id;
                base = id == IR_NONE ? base : s->modules.a[id].fqn;
            }
            continue;
        }
        base = fqn_join(&s->arena, base, atom_after(atom, before));
        *certain = false;
        if (!base.s)
            return base;
    }
    return base;
}
