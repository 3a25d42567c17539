/* Known modules: which modules the file tells of, and what each scope's module is called in full.
 *
 * Needs walk and scope. A module is learnt from the names of its parameters, from exporter metadata, from the
 * list of a .pt2, from --blocks, and from scopes. Whether it is a Linear is settled by passes/linear.c. */
#include "passes/linear.h"

#include "passes/fqn.h"

#include <stdlib.h>

/* A .pt2 lists its modules. */
static int modules_from_list(struct state *s)
{
    for (uint32_t i = 0; i < s->m->n_modules; i++) {
        struct str fqn = fqn_clean(s->m->modules[i], &s->arena);
        if (!fqn.s || (fqn.n && modules_add(&s->modules, fqn) == IR_NONE))
            return IR_EMEM;
    }
    return 0;
}

/* One module object under two names ("up_alias = up"): torch lists it once, by its first name. A .pt2 of
 * strict mode gives both the key of the one object. */
static int find_aliases(struct state *s)
{
    struct names keys; /* key without its call number → first module with it */
    uint32_t *first = NULL;
    size_t cap = 0;
    int rc = 0;
    names_init(&keys);
    for (uint32_t i = 1; !rc && i < s->n_scopes; i++) {
        const struct scope *sc = &s->scopes[i];
        for (uint32_t j = 0; !rc && sc->kind == SCOPE_STACK && j < sc->n_atoms; j++) {
            ptrdiff_t at = str_rchr(sc->atoms[j], '@');
            struct str key = str_sub(sc->atoms[j], 0, at < 0 ? sc->atoms[j].n : (size_t)at);
            uint32_t before = keys.n, id = names_intern(&keys, key),
                     module = modules_find(&s->modules, sc->fqns[j]);
            if (id == NAME_NONE || grow(&first, &cap, (size_t)id + 1, sizeof *first) != 0)
                rc = IR_EMEM;
            else if (keys.n > before)
                first[id] = module;
            else if (module != NAME_NONE && first[id] != NAME_NONE && module != first[id])
                s->modules.a[module].same_as = first[id];
        }
    }
    names_free(&keys);
    free(first);
    return rc;
}

static int modules_from_metadata(struct state *s)
{
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        struct scope *sc = &s->scopes[i];
        if (sc->kind == SCOPE_NAME)
            continue;
        uint32_t id = modules_add(&s->modules, sc->fqn);
        if (id == IR_NONE && sc->fqn.n)
            return IR_EMEM;
        sc->module = id;
        if (id != IR_NONE) {
            s->modules.a[id].called = true;
            s->modules.a[id].scope = i;
        }
        for (uint32_t j = 0; sc->fqns && j < sc->n_atoms; j++) {
            id = modules_add(&s->modules, sc->fqns[j]);
            if (id == IR_NONE && sc->fqns[j].n)
                return IR_EMEM;
        }
    }
    return 0;
}

/* Block patterns without a star name modules, whether the file tells of them or not. */
static int modules_from_options(struct state *s)
{
    for (uint32_t i = 0; i < s->o->n_blocks; i++) {
        struct str pattern = fqn_clean(s->o->blocks[i], &s->arena);
        if (!pattern.s)
            return IR_EMEM;
        if (str_chr(pattern, '*') < 0 && str_chr(pattern, '?') < 0 && pattern.n &&
            modules_add(&s->modules, pattern) == IR_NONE)
            return IR_EMEM;
    }
    return 0;
}

static int modules_from_scopes(struct state *s)
{
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        struct scope *sc = &s->scopes[i];
        if (sc->kind != SCOPE_NAME || sc->n_atoms == 0)
            continue;
        struct resolved r = scope_resolve(s, sc, STR_LIT(""), 0, 0);
        if (!r.fqn.s)
            return IR_EMEM;
        sc->fqn = r.fqn;
        sc->ambiguous = r.same > 1;
        sc->certain = r.certain && !sc->ambiguous;
    }
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        struct scope *sc = &s->scopes[i];
        if (sc->kind != SCOPE_NAME || sc->n_atoms == 0 || sc->ambiguous)
            continue;
        uint32_t before = s->modules.n, id = modules_add(&s->modules, sc->fqn);
        if (id == IR_NONE)
            return IR_EMEM;
        sc->module = id;
        s->modules.a[id].called = true;
        s->modules.a[id].composed |= s->modules.n > before; /* another scope may have told of it, too */
    }
    return 0;
}

/* The modules that names, metadata, options and scopes tell of, in that order: a scope is resolved against
 * the rest. */
int pass_modules(struct state *s)
{
    modules_init(&s->modules, &s->arena);
    int rc = find_named(s);
    if (!rc)
        rc = modules_from_list(s);
    if (!rc)
        rc = modules_from_metadata(s);
    if (!rc)
        rc = find_aliases(s);
    if (!rc)
        rc = modules_from_options(s);
    if (!rc && scopes_by_name(s))
        rc = modules_sort(&s->modules);
    if (!rc)
        rc = modules_from_scopes(s);
    if (!rc && !scopes_by_name(s)) /* only such ones are looked for among the others */
        names_free(&s->scope_index);
    return rc;
}
