/* Named: the values that carry a parameter's name, and the module that each tells. Several passes ask; a name
 * is looked at once. */
#include "passes/linear.h"

#include "passes/match.h"

/* Does `name` name `fqn`, in whichever block that is? */
static bool names_it(struct state *s, struct str name, struct str fqn)
{
    if (fqn.n == 0)
        return false;
    for (struct str block = fqn_parent(fqn); !match_literal(s->o->match, name, fqn, block, &s->match_steps);
         block = fqn_parent(block))
        if (block.n == 0)
            return false;
    return true;
}

/* Does a configured FQN mean what the parameter's name says, and not what would be guessed of it? */
static bool asked_for(struct state *s, struct str exact, struct str guess)
{
    for (uint32_t i = 0; i < s->o->n_fqns; i++)
        if (names_it(s, s->o->fqns[i], exact) && !names_it(s, s->o->fqns[i], guess))
            return true;
    return false;
}

int param_name(struct state *s, struct str name, enum param_kind *kind, struct str *fqn)
{
    enum param_kind exact_kind;
    struct str exact;
    if (s->m->format == IR_PT2)
        return fqn_of_exact_param(kind, fqn, name, &s->arena);
    int rc = fqn_of_param(kind, fqn, name, &s->arena);
    if (rc || name.n == 0 || !fqn_param_guessed(name) || name.s[0] == '/' ||
        str_find(name, STR_LIT("::")) >= 0)
        return rc;
    rc = fqn_of_exact_param(&exact_kind, &exact, name, &s->arena);
    if (!rc && exact.n && (str_is(s->m->producer, "pytorch") || asked_for(s, exact, *fqn))) {
        *kind = exact_kind;
        *fqn = exact;
    }
    return rc;
}

/* A copy under a name of its own: exporters write one for a parameter that two modules share. */
static bool is_copy(const struct state *s, uint32_t value, const bool *identity)
{
    const struct ir_value *v = &s->m->values[value];
    return v->kind == IR_VALUE_NODE && identity[s->m->nodes[v->def].op] && s->in_program[v->graph] &&
           s->m->graphs[v->graph].kind != IR_GRAPH_FUNCTION;
}

/* Which ops make copies, by op id; NULL: none does. */
static int find_identity(struct state *s, bool **out)
{
    bool any = false, *identity = arena_alloc(&s->arena, s->m->n_ops ? s->m->n_ops : 1, sizeof *identity);
    for (uint32_t i = 0; identity && i < s->m->n_ops; i++)
        any |= identity[i] = str_is(s->m->ops[i].type, "Identity");
    *out = any ? identity : NULL;
    return identity ? 0 : IR_EMEM;
}

static int add_named(struct state *s, uint32_t value)
{
    struct named n = {.value = value, .module = IR_NONE};
    struct str fqn;
    int rc = param_name(s, ir_value_name(s->m, value), &n.kind, &fqn);
    if (!rc && n.kind == PARAM_NO_NAME)
        return 0;
    if (!rc && fqn.n) {
        n.module = modules_add(&s->modules, fqn);
        if (n.module == IR_NONE)
            return IR_EMEM;
        s->modules.a[n.module].has_param = true;
    }
    if (rc || grow(&s->named.a, &s->named.cap, (size_t)s->named.n + 1, sizeof *s->named.a) != 0)
        return IR_EMEM;
    s->named.a[s->named.n++] = n;
    struct named_bits *bits = &s->named.bits[value / 64];
    if (!bits->set)
        bits->before = s->named.n - 1;
    bits->set |= UINT64_C(1) << value % 64;
    return 0;
}

/* Parametrizations are modules inside the Linear: a configured name that hits them hits no Linear. */
static int add_parametrization(struct state *s, struct str name)
{
    if (fqn_parametrized(name) <= 0)
        return 0;
    struct str inner = fqn_clean(fqn_parent(name), &s->arena);
    return inner.s && modules_add(&s->modules, inner) != IR_NONE ? 0 : IR_EMEM;
}

/* May the value carry a parameter's name? `identity` is NULL where no op makes copies. */
static bool may_carry_name(const struct state *s, uint32_t value, const bool *identity)
{
    return bits_has(s->is_param, value) || (identity && is_copy(s, value, identity));
}

int find_named(struct state *s)
{
    const struct ir_model *m = s->m;
    bool *identity;
    int rc = find_identity(s, &identity);
    s->named.bits = arena_alloc(&s->arena, (size_t)m->n_values / 64 + 1, sizeof *s->named.bits);
    if (!s->named.bits)
        rc = IR_EMEM;
    for (uint32_t v = 0; !rc && v < m->n_values; v++) {
        if (v + NODES_AHEAD < m->n_values && may_carry_name(s, v + NODES_AHEAD, identity))
            str_prefetch(ir_value_name(m, v + NODES_AHEAD));
        if (!may_carry_name(s, v, identity) || !fqn_may_be_param(ir_value_name(m, v)))
            continue;
        rc = add_named(s, v);
        if (!rc)
            rc = add_parametrization(s, ir_value_name(m, v));
    }
    return rc;
}
