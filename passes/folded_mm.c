/* Folded: products that a constant folder computed away but PyTorch runs. */
#include "passes/fqn.h"
#include "passes/mm.h"

/* "/layers.0/MatMul_1" → ("/layers.0", 1); "/layers.0/MatMul" → ("/layers.0", 0). False for other names. */
static bool numbered_matmul(struct str name, struct str *scope, uint32_t *number)
{
    if (name.n && name.s[name.n - 1] == '/')
        name.n--;
    ptrdiff_t slash = str_rchr(name, '/');
    if (slash > 0 && str_ends(name, STR_LIT("Fusion"))) {
        name.n = (size_t)slash;
        slash = str_rchr(name, '/');
    }
    if (slash < 0)
        return false;
    struct str own = str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1), stem = atom_stem(own);
    *scope = str_sub(name, 0, (size_t)slash);
    *number = 0;
    for (size_t i = stem.n + 1; i < own.n && own.n - stem.n < 8; i++)
        *number = *number * 10 + (uint32_t)(own.s[i] - '0');
    return str_is(stem, "MatMul");
}

/* Does the rhs or lhs come from an initializer that was an intermediate result in the same scope? */
static bool fed_by_folded(struct state *s, const struct mm *mm, struct str scope)
{
    for (uint32_t j = 0; j < 2; j++) {
        struct use u = walk_resolve(&s->walk, walk_input(&s->walk, s->walk.steps[mm->step], j));
        if (u.value == IR_NONE || s->m->values[u.value].kind != IR_VALUE_PARAM)
            continue;
        struct str name = ir_value_name(s->m, u.value);
        if (name.n > scope.n && str_starts(name, scope) && name.s[scope.n] == '/' &&
            str_find(name, STR_LIT("_output_")) > 0)
            return true;
    }
    return false;
}

/* TorchScript numbers the products of a scope. Where "MatMul_1" is there without "MatMul", and an operand of
 * it is a result of that scope turned into an initializer, a constant folder has computed the missing ones (a
 * LoRA update, say). PyTorch runs and counts them, so the count must too. */
int find_folded(struct state *s)
{
    struct names seen;
    int rc = 0;
    names_init(&seen);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        rc = names_intern(&seen, node_name(s, s->mms[i].step)) == NAME_NONE ? IR_EMEM : 0;
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        struct str scope;
        uint32_t number;
        if (!mm->counted || !numbered_matmul(node_name(s, mm->step), &scope, &number) || !number ||
            !fed_by_folded(s, mm, scope))
            continue;
        for (uint32_t k = number; k-- > 0;) {
            char *name = k ? arena_printf(&s->arena, "%.*s/MatMul_%u", STR_ARG(scope), k)
                           : arena_printf(&s->arena, "%.*s/MatMul", STR_ARG(scope));
            if (!name)
                rc = IR_EMEM;
            if (!name || names_find(&seen, str_of(name)) != NAME_NONE)
                break;
            mm->folded++;
        }
        if (mm->folded && !mm->assumption)
            mm->assumption = "assumed-folded-mm";
    }
    names_free(&seen);
    return rc;
}
