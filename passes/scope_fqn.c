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

/* What an atom of a scope is. */
struct found_atom {
    uint32_t id;      /* a module; IR_NONE: none is known */
    uint32_t same;    /* how many modules are as good */
    struct str atom;  /* perhaps without its _k */
    struct str child; /* what it adds to the FQN of the module around it */
};

/* Atom i, inside `base`. The last one's _k is left out where that makes it a module's, or where the scope
 * without it was used as well; the scope remembers that. */
static struct found_atom find_atom(struct state *s, struct scope *sc, struct str base, uint32_t i)
{
    struct str before = i ? sc->atoms[i - 1] : (struct str){0}, stem = atom_stem(sc->atoms[i]);
    struct found_atom f = {.atom = sc->atoms[i]};
    f.id = module_for_atom(s, base, f.atom, before, &f.same);
    if (f.id == IR_NONE && i + 1 == sc->n_atoms && stem.n < f.atom.n) {
        f.id = module_for_atom(s, base, stem, before, &f.same);
        if (f.id != IR_NONE || stem_scope_exists(s, sc)) {
            sc->stem = true;
            f.atom = stem;
        }
    }
    f.child = atom_after(f.atom, before);
    return f;
}

struct resolved scope_resolve(struct state *s, struct scope *sc, struct str base, uint32_t from, uint32_t nth)
{
    struct resolved r = {.fqn = base, .certain = true, .same = 1};
    for (uint32_t i = from; i < sc->n_atoms && r.fqn.s; i++) {
        struct str inside = r.fqn;
        struct found_atom f = find_atom(s, sc, inside, i);
        if (f.id == IR_NONE) {
            r.fqn = fqn_join(&s->arena, inside, f.child);
            r.certain = false;
            continue;
        }
        r.fqn = s->modules.a[f.id].fqn;
        if (f.same <= 1 || r.same > 1)
            continue;
        r.same = f.same;
        uint32_t id = nth ? modules_below_nth(&s->modules, inside, f.atom, nth) : IR_NONE;
        r.fqn = id == IR_NONE ? r.fqn : s->modules.a[id].fqn;
    }
    return r;
}
