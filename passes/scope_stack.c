/* Scope from a .pt2: nn_module_stack, the modules around a node, outermost first, each as "key,fqn,class". */
#include "passes/scope.h"

#include "passes/fqn.h"

/* Takes the first entry, "key,fqn,class", off a stack. A module's own name may hold semicolons, and then
 * what stands before one is no entry. */
static struct str next_entry(struct str *rest)
{
    size_t n = 0, commas = 0, parts = 0;
    while (n < rest->n) {
        for (; n < rest->n && rest->s[n] != ';'; n++)
            commas += rest->s[n] == ',';
        if (commas > 1 || (commas == 1 && parts == 0))
            break;
        n += n < rest->n;
        parts++;
    }
    struct str entry = str_sub(*rest, 0, n);
    n += n < rest->n;
    *rest = str_sub(*rest, n, rest->n - n);
    return entry;
}

/* The key without the "@2" of a second call. */
static struct str key_stem(struct str key)
{
    ptrdiff_t at = str_rchr(key, '@');
    bool number = at >= 0 && fqn_is_number(str_sub(key, (size_t)at + 1, key.n - (size_t)at - 1));
    return number ? str_sub(key, 0, (size_t)at) : key;
}

#define KEY_PREFIX_MAX 32 /* "L__self__" */

/* Is it the key of non-strict export, which is made of the FQN? */
static bool is_key_of(struct str key, struct str fqn)
{
    if (fqn.n == 0 || key.n < fqn.n || key.n - fqn.n > KEY_PREFIX_MAX)
        return false;
    return str_ends(key_stem(key), fqn);
}

/* "key,fqn", where a module's own name may hold commas: they part where the key is that of the FQN, else at
 * the first. False if there is none. */
static bool split_key(struct str text, struct str *key, struct str *fqn)
{
    bool found = false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.s[i] != ',')
            continue;
        struct str k = str_sub(text, 0, i), f = str_sub(text, i + 1, text.n - i - 1);
        bool same = is_key_of(k, f);
        if (!found || same)
            *key = k, *fqn = f;
        found = true;
        if (same)
            break;
    }
    return found;
}

/* "key,fqn,class": the class holds no comma, and may be missing. */
static bool split_entry(struct str entry, struct str *key, struct str *fqn, struct str *cls)
{
    ptrdiff_t last = str_rchr(entry, ',');
    *cls = (struct str){0};
    if (last >= 0 && str_chr(entry, ',') < last) {
        *cls = str_sub(entry, (size_t)last + 1, entry.n - (size_t)last - 1);
        entry.n = (size_t)last;
    }
    return split_key(entry, key, fqn);
}

/* "key,fqn,class;key,fqn,class", outermost first. */
static int split_stack(struct state *s, struct scope *sc)
{
    struct str keys[FQN_DEPTH_MAX], fqns[FQN_DEPTH_MAX], rest = sc->raw, key, fqn;
    uint32_t n = 0;
    while (rest.n) {
        if (!split_entry(next_entry(&rest), &key, &fqn, &sc->cls))
            continue;
        sc->deep = n == FQN_DEPTH_MAX || fqn_too_deep(fqn);
        if (sc->deep)
            return 0;
        fqn = fqn_of_source(fqn, &s->arena);
        if (fqn.s)
            fqn = fqn_clean(fqn, &s->arena);
        if (!fqn.s)
            return IR_EMEM;
        keys[n] = key;
        fqns[n++] = fqn;
    }
    sc->atoms = arena_alloc(&s->arena, n ? n : 1, sizeof *sc->atoms);
    sc->fqns = arena_alloc(&s->arena, n ? n : 1, sizeof *sc->fqns);
    if (!sc->atoms || !sc->fqns)
        return IR_EMEM;
    memcpy(sc->atoms, keys, n * sizeof *keys);
    memcpy(sc->fqns, fqns, n * sizeof *fqns);
    sc->n_atoms = (uint16_t)n;
    sc->fqn = n ? fqns[n - 1] : (struct str){0};
    sc->certain = true;
    return 0;
}

int scope_from_stack(struct state *s, uint32_t node, uint32_t *out)
{
    struct str raw;
    bool fresh;
    *out = 0;
    int rc = s->m->source->meta(s->m, node, "nn_module_stack", &raw);
    if (rc <= 0)
        return rc;
    uint32_t id = scope_id(s, raw, SCOPE_STACK, &fresh);
    if (id == IR_NONE)
        return IR_EMEM;
    rc = fresh ? split_stack(s, &s->scopes[id]) : 0;
    *out = s->scopes[id].deep ? 0 : id;
    return rc;
}
