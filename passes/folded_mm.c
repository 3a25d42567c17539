/* Folded: products that a constant folder computed away but PyTorch runs. */
#include "passes/fqn.h"
#include "passes/mm.h"

/* The name that the exporter gave a node: without what ONNX Runtime's fusions append. */
static struct str product_name(struct str name)
{
    for (;;) {
        while (name.n && name.s[name.n - 1] == '/')
            name.n--;
        ptrdiff_t slash = str_rchr(name, '/');
        if (slash <= 0 || !str_ends(name, STR_LIT("Fusion")))
            return name;
        name.n = (size_t)slash;
    }
}

/* "/layers.0/MatMul_1" → ("/layers.0", 1); "/layers.0/MatMul" → ("/layers.0", 0). False for other names. */
static bool numbered_matmul(struct str name, struct str *scope, uint32_t *number)
{
    ptrdiff_t slash = str_rchr(name, '/');
    if (name.n == 0 || slash < 0)
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
        struct use u = mm_operand(s, mm, j);
        if (u.value == IR_NONE || s->m->values[u.value].kind != IR_VALUE_PARAM)
            continue;
        struct str name = ir_value_name(s->m, u.value);
        if (name.n > scope.n && str_starts(name, scope) && name.s[scope.n] == '/' &&
            str_find(name, STR_LIT("_output_")) > 0)
            return true;
    }
    return false;
}

/* The products that the file has, and the scopes that hold one which is fed by a folded result. */
struct products {
    struct names seen, fed;
};

static int note_products(struct state *s, struct products *p)
{
    for (uint32_t i = 0; i < s->n_mms; i++) {
        if (i + NODES_AHEAD < s->n_mms)
            __builtin_prefetch(node_name(s, s->mms[i + NODES_AHEAD].step).s);
        struct str name = product_name(node_name(s, s->mms[i].step)), scope;
        uint32_t number;
        if (!numbered_matmul(name, &scope, &number)) /* most, where the exporter is not TorchScript's */
            continue;
        if (names_intern(&p->seen, name) == NAME_NONE)
            return IR_EMEM;
        if (fed_by_folded(s, &s->mms[i], scope) && names_intern(&p->fed, scope) == NAME_NONE)
            return IR_EMEM;
    }
    return 0;
}

/* How many products of the scope, numbered right below this one, are not there. */
static int count_missing(struct state *s, const struct products *p, struct mm *mm, struct str scope,
                         uint32_t number)
{
    for (uint32_t k = number; k-- > 0;) {
        char *name = k ? arena_printf(&s->arena, "%.*s/MatMul_%u", STR_ARG(scope), k)
                       : arena_printf(&s->arena, "%.*s/MatMul", STR_ARG(scope));
        if (!name)
            return IR_EMEM;
        if (names_find(&p->seen, str_of(name)) != NAME_NONE)
            break;
        mm->folded++;
    }
    if (mm->folded && !mm->assumption)
        mm->assumption = "assumed-folded-mm";
    return 0;
}

/* TorchScript numbers the products of a scope. Where "MatMul_1" is there without "MatMul", and one of the
 * scope's products reads a result of that scope turned into an initializer, a constant folder has computed
 * the missing ones (a LoRA update, a projection of learnt queries). PyTorch runs and counts them, so the
 * count must too. */
int find_folded(struct state *s)
{
    struct products p;
    names_init(&p.seen);
    names_init(&p.fed);
    int rc = note_products(s, &p);
    for (uint32_t i = 0; !rc && p.fed.n && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        struct str scope;
        uint32_t number;
        if (mm->counted && numbered_matmul(product_name(node_name(s, mm->step)), &scope, &number) && number &&
            names_find(&p.fed, scope) != NAME_NONE)
            rc = count_missing(s, &p, mm, scope, number);
    }
    names_free(&p.seen);
    names_free(&p.fed);
    return rc;
}
