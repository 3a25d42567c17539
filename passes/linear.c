/* Linear: each mm's FQN and where it was learnt, and which modules are Linears.
 *
 * Needs walk, facts, scope, mm and modules. Evidence, strongest first (POLICY.md 3): the parameter's name,
 * exporter metadata, the node name's scope, the bias's name. Where two disagree the stronger wins and a
 * warning counts the rest; both names are kept, since a tied weight carries only one of its modules' names.
 */
#include "passes/linear.h"

#include "passes/fqn.h"

#include <stdlib.h>

struct namer {
    struct state *s;
    uint8_t *used;         /* per slot: USED_* */
    uint32_t *products;    /* per scope: products directly in it */
    bool *busy;            /* per scope: holds operators that no Linear has */
    struct use *weight_of; /* per scope: weight of the first mm in it */
    uint32_t *first_user;  /* per slot: scope of the first mm with this weight; 0 = none. NULL until it is
                              asked  for */
    uint32_t contradictions, first_contradiction;
};

/* A module's FQN, and its id where that is known. */
struct module_name {
    struct str fqn;
    uint32_t id; /* IR_NONE: look it up */
};

static uint32_t known_id(const struct state *s, struct module_name n)
{
    return n.id != IR_NONE || n.fqn.n == 0 ? n.id : modules_find(&s->modules, n.fqn);
}

/* The name torch lists a module by. */
static struct module_name listed_name(const struct state *s, struct module_name n)
{
    n.id = known_id(s, n);
    uint32_t same = n.id == IR_NONE ? IR_NONE : s->modules.a[n.id].same_as;
    return same == IR_NONE ? n : (struct module_name){s->modules.a[same].fqn, same};
}

static bool linear_op(struct str op)
{
    static const char *const ops[] = {
        "Transpose",     "MatMul",  "Gemm",    "Add",         "Cast",      "Identity",
        "Constant",      "Reshape", "Shape",   "Gather",      "Concat",    "Unsqueeze",
        "Squeeze",       "Slice",   "Flatten", "FusedMatMul", "FusedGemm", "DequantizeLinear",
        "QuantizeLinear"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (str_is(op, ops[i]))
            return true;
    return false;
}

/* Which scopes hold more than a Linear does, and how many products each. */
static int note_scopes(struct namer *k)
{
    struct state *s = k->s;
    bool *plain = arena_alloc(&s->arena, s->m->n_ops ? s->m->n_ops : 1, sizeof *plain);
    if (!plain)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->m->n_ops; i++)
        plain[i] = linear_op(s->m->ops[i].type);
    for (uint32_t i = 0; i < s->walk.n_steps; i++)
        k->busy[s->scope_of[i]] |= !plain[s->m->nodes[walk_step(&s->walk, i).node].op];
    for (uint32_t i = 0; i < s->n_mms; i++)
        k->products[s->scope_of[s->mms[i].step]]++;
    return 0;
}

/* ---- names of mms ---- */

static bool class_is_linear(struct str cls)
{
    return str_ends(cls, STR_LIT("Linear"));
}

/* Is the module known to be of a class that is no Linear's? */
static bool other_class(const struct state *s, const struct module *m)
{
    struct str cls = module_class(s, m);
    return cls.n && !class_is_linear(cls);
}

/* The literal name of a scope whose _k was taken for "called again", when the weights say it is another
 * module. */
static struct module_name unstemmed(struct namer *k, const struct mm *mm, uint32_t scope)
{
    struct state *s = k->s;
    struct scope *sc = &s->scopes[scope];
    struct module_name own = {sc->fqn, sc->module};
    if (!sc->stem || sc->certain || mm->weight.value == IR_NONE)
        return own;
    uint32_t other = names_find(&s->scope_index, atom_stem(sc->raw)), id = known_id(s, own);
    if (other == NAME_NONE ||
        (id != IR_NONE && s->modules.a[id].has_param)) /* the name without _k is a module's for sure */
        return own;
    struct use w = k->weight_of[other];
    if (w.value == IR_NONE || (w.value == mm->weight.value && w.frame == mm->weight.frame))
        return own;
    struct str suffix = str_sub(sc->raw, atom_stem(sc->raw).n, sc->raw.n - atom_stem(sc->raw).n);
    char *out = arena_printf(&s->arena, "%.*s%.*s", STR_ARG(sc->fqn), STR_ARG(suffix));
    return out ? ((struct module_name){str_of(out), IR_NONE}) : own;
}

/* A module's own name may hold slashes: "experts.a/b" has the scope "/experts/a/b". */
static bool ends_in_slashed(const struct scope *sc, struct str fqn)
{
    struct str own = fqn_unqualified(fqn);
    return str_chr(own, '/') >= 0 && (str_ends(sc->raw, own) || str_ends(atom_stem(sc->raw), own));
}

/* Is `name` one that the scope could have, or of a module inside the scope's (its weight used by the
 * parent)? */
static bool agrees(const struct scope *sc, struct module_name name)
{
    struct str param = name.fqn;
    if (sc->kind == SCOPE_NAME) {
        if (sc->n_atoms == 0)
            return true;
        for (struct str up = param; up.n; up = fqn_parent(up))
            if (scope_fits(sc->atoms, sc->n_atoms, up, true))
                return true;
        return ends_in_slashed(sc, param);
    }
    return sc->fqn.n == 0 || (sc->module != IR_NONE && sc->module == name.id) || str_eq(sc->fqn, param) ||
           fqn_inside(param, sc->fqn);
}

static bool leaf_module(const struct state *s, struct module_name n)
{
    uint32_t id = known_id(s, n);
    return id == IR_NONE || s->modules.a[id].children == 0;
}

/* Does the scope alone make it a Linear's: the class says so; or nothing but one product with a weight in a
 * leaf? */
static bool scope_is_linear(struct namer *k, const struct mm *mm, uint32_t scope, struct module_name n)
{
    struct state *s = k->s;
    const struct scope *sc = &s->scopes[scope];
    if (scope == 0 || n.fqn.n == 0)
        return false;
    if (sc->cls.n)
        return class_is_linear(sc->cls);
    if (mm->weight.value == IR_NONE)
        return false;
    return leaf_module(s, n) && !k->busy[scope] && k->products[scope] == 1;
}

int linear_mark(struct state *s, struct str fqn, uint32_t id, const struct mm *mm, enum evidence ev,
                bool loose)
{
    struct modules *t = &s->modules;
    uint32_t before = t->n;
    if (id == IR_NONE)
        id = modules_add(t, fqn);
    if (id == IR_NONE)
        return IR_EMEM;
    struct module *m = &t->a[id];
    if (t->n > before)
        m->composed = loose;
    if (other_class(s, m))
        return 0;
    if (m->linear && m->evidence && m->evidence <= (uint8_t)ev)
        return 0;
    m->linear = true;
    m->in = mm->rhs.k;
    m->out = mm->rhs.n;
    m->evidence = (uint8_t)ev;
    if (mm->weight.value != IR_NONE)
        m->weight = mm->weight_name;
    return 0;
}

/* The module that the bias is named for; empty if it has no such name. */
static struct module_name bias_owner(const struct state *s, const struct mm *mm)
{
    const struct named *n = mm->bias.value == IR_NONE ? NULL : named_value(s, mm->bias.value);
    return n && n->kind == PARAM_BIAS ? (struct module_name){n->fqn, n->module}
                                      : (struct module_name){.id = IR_NONE};
}

/* The module that the weight is named for, and what the weight is to it. */
static int weight_owner(struct state *s, const struct mm *mm, enum param_kind *kind, struct module_name *out)
{
    *kind = PARAM_NO_NAME;
    *out = (struct module_name){.id = IR_NONE};
    if (mm->weight_name == IR_NONE)
        return 0;
    const struct named *n = named_value(s, mm->weight_name);
    if (!n)
        return param_name(s, ir_value_name(s->m, mm->weight_name), kind, &out->fqn);
    *kind = n->kind;
    *out = (struct module_name){n->fqn, n->module};
    return 0;
}

/* Equal weights of two modules were merged under the name of one, `param`, whose scope `from` is. What this
 * scope's own one is called, if it is a module inside: "a.out_proj" used in "a" makes "b.out_proj" in "b". */
static int merged_twin(struct state *s, const struct scope *sc, const struct scope *from, struct str param,
                       struct str *twin)
{
    *twin = (struct str){0};
    if (sc->kind != SCOPE_NAME || from->kind != SCOPE_NAME || sc->n_atoms == 0 || from->n_atoms == 0 ||
        sc->ambiguous || from->ambiguous || !fqn_inside(param, from->fqn) ||
        !str_eq(atom_stem(sc->atoms[sc->n_atoms - 1]), atom_stem(from->atoms[from->n_atoms - 1])))
        return 0;
    *twin = fqn_join(&s->arena, sc->fqn, fqn_relative(param, from->fqn));
    return twin->s ? 0 : IR_EMEM;
}

/* The scope of the first mm with this weight, 0 for none. */
static int find_first_user(struct namer *k, struct use weight, uint32_t *scope)
{
    struct state *s = k->s;
    if (!k->first_user) {
        k->first_user = calloc((size_t)s->walk.n_slots + 1, sizeof *k->first_user);
        if (!k->first_user)
            return IR_EMEM;
        for (uint32_t i = s->n_mms; i-- > 0;)
            if (s->mms[i].weight.value != IR_NONE && s->scope_of[s->mms[i].step])
                k->first_user[walk_slot(&s->walk, s->mms[i].weight)] = s->scope_of[s->mms[i].step];
    }
    *scope = weight.value == IR_NONE ? 0 : k->first_user[walk_slot(&s->walk, weight)];
    return 0;
}

static int name_mm(struct namer *k, struct mm *mm)
{
    struct state *s = k->s;
    uint32_t scope = s->scope_of[mm->step];
    const struct scope *sc = &s->scopes[scope];
    enum param_kind kind;
    mm->unscoped = scope == 0;
    struct module_name param, fqn = {.id = IR_NONE}, owner = bias_owner(s, mm);
    if (weight_owner(s, mm, &kind, &param) != 0)
        return IR_EMEM;
    bool reparam = false;
    if (mm->weight.value == IR_NONE && mm->kind != MM_KIND_ATEN) {
        param = (struct module_name){reparam_owner(s, mm), IR_NONE};
        reparam = param.fqn.n > 0;
    }
    bool gathered = mm->weight.value != IR_NONE && (k->used[walk_slot(&s->walk, mm->weight)] & USED_GATHER);
    bool by_param =
        reparam || (kind == PARAM_WEIGHT && mm->transposed) || (kind == PARAM_KERNEL && !mm->transposed);
    if (scope)
        fqn = unstemmed(k, mm, scope);
    mm->scope_fqn = fqn.fqn;
    enum evidence scope_ev = sc->kind == SCOPE_NAME ? EV_SCOPE : EV_METADATA;
    bool loose = sc->kind == SCOPE_NAME && !sc->certain;
    mm->unsettled = sc->ambiguous;
    if (loose && scope_fits(sc->atoms, sc->n_atoms, owner.fqn, true)) { /* together they name it for sure */
        fqn = owner;
        mm->scope_fqn = owner.fqn;
        scope_ev = EV_BIAS, loose = mm->unsettled = false;
    }
    bool by_scope = scope && fqn.fqn.n && (by_param || kind == PARAM_NO_NAME || sc->cls.n) &&
                    scope_is_linear(k, mm, scope, fqn);
    if (!by_param && !by_scope && kind == PARAM_NO_NAME && fqn.fqn.n && fqn_inside(owner.fqn, fqn.fqn)) {
        fqn = owner; /* F.linear(x, self.out.weight, self.out.bias): a module inside the scope's */
        scope_ev = EV_BIAS, loose = mm->unsettled = false, by_scope = true;
    }
    bool clash = scope && param.fqn.n && kind != PARAM_BIAS && !agrees(sc, param);
    if (clash && !(gathered && by_scope) && k->contradictions++ == 0)
        k->first_contradiction = mm->step;
    param = listed_name(s, param);
    fqn = listed_name(s, fqn);
    if (gathered) /* the name is an Embedding's */
        by_param = false;
    if (by_param || (!fqn.fqn.n && param.fqn.n && kind != PARAM_BIAS)) {
        mm->fqn = param.fqn, mm->evidence = EV_PARAM;
    } else if (fqn.fqn.n && !(sc->call && k->products[s->scope_of[mm->step]] > 1)) {
        mm->fqn = fqn.fqn, mm->evidence = scope_ev, mm->loose = loose;
    } else if (mm->bias.value != IR_NONE) {
        struct use b = walk_resolve(&s->walk, mm->bias);
        if (b.value != IR_NONE && param_name(s, ir_value_name(s->m, b.value), &kind, &param.fqn) == 0 &&
            kind == PARAM_BIAS && param.fqn.n) {
            fqn = (struct module_name){param.fqn, IR_NONE};
            mm->fqn = fqn.fqn, mm->evidence = EV_BIAS, by_scope = true, scope_ev = EV_BIAS;
        }
    }
    mm->linear = by_param || by_scope;
    mm->nameless = !mm->linear && mm->kind != MM_KIND_ATEN && kind == PARAM_NO_NAME && param.fqn.n == 0;
    int rc = by_param ? linear_mark(s, param.fqn, param.id, mm, EV_PARAM, false) : 0;
    mm->scope_linear = by_scope && !(by_param && !clash);
    if (!rc && mm->scope_linear && !mm->unsettled)
        rc = linear_mark(s, fqn.fqn, fqn.id, mm, scope_ev, loose);
    if (rc || !by_param || !clash || gathered)
        return rc;
    if (owner.fqn.n && agrees(sc, owner)) /* one weight for two modules that differ in their bias */
        return linear_mark(s, owner.fqn, owner.id, mm, EV_BIAS, false);
    uint32_t first;
    if (find_first_user(k, mm->weight, &first) != 0)
        return IR_EMEM;
    struct str twin;
    rc = merged_twin(s, sc, &s->scopes[first], param.fqn, &twin);
    return rc || twin.n == 0 ? rc : linear_mark(s, twin, IR_NONE, mm, EV_SCOPE, loose);
}

/* ---- Linears that no mm shows ---- */

/* A 2-D FQN.weight that is neither looked up in, nor only added or multiplied as it is: a Linear that is
 * never called, or whose weight the model uses by hand. */
static void unused_linears(struct namer *k)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->n_named; i++) {
        const struct named *n = &s->named[i];
        const struct ir_shape *x = ir_shape_of(s->m, n->value);
        if (s->m->values[n->value].graph != s->root || x->rank != 2 || n->kind != PARAM_WEIGHT ||
            n->module == IR_NONE)
            continue;
        uint8_t used = k->used[walk_slot(&s->walk, (struct use){FRAME_MAIN, n->value})];
        bool as_it_is = (used & (USED_DIRECT | USED_AS_TABLE)) && !(used & USED_TRANSPOSED);
        struct module *m = &s->modules.a[n->module];
        if ((used & USED_GATHER) || as_it_is) {
            m->embedding = used & USED_GATHER;
            m->untransposed = !m->embedding && (used & USED_DIRECT);
            continue;
        }
        if (m->linear || m->children || m->same_as != IR_NONE || other_class(s, m))
            continue;
        m->linear = true;
        m->in = x->dims[1];
        m->out = x->dims[0];
        m->weight = n->value;
        m->evidence = EV_PARAM;
    }
}

static int namer_init(struct namer *k, struct state *s)
{
    *k = (struct namer){.s = s};
    k->used = calloc(s->walk.n_slots ? s->walk.n_slots : 1, 1);
    k->products = calloc(s->n_scopes, sizeof *k->products);
    k->busy = calloc(s->n_scopes, sizeof *k->busy);
    k->weight_of = calloc(s->n_scopes, sizeof *k->weight_of);
    for (uint32_t i = 0; k->weight_of && i < s->n_scopes; i++)
        k->weight_of[i].value = IR_NONE;
    return k->used && k->products && k->busy && k->weight_of ? 0 : IR_EMEM;
}

static void namer_free(struct namer *k)
{
    free(k->used);
    free(k->products);
    free(k->busy);
    free(k->weight_of);
    free(k->first_user);
}

static void warn_contradictions(const struct namer *k)
{
    struct state *s = k->s;
    if (!k->contradictions)
        return;
    diag_warn(
        s->d,
        "%u mm%s with a weight named for another module than the one that ran (the first: '%.*s'): tied or "
        "shared weights; the parameter's name is shown, both names match",
        k->contradictions, k->contradictions == 1 ? "" : "s", STR_ARG(node_name(s, k->first_contradiction)));
}

int pass_linear(struct state *s)
{
    struct namer k;
    int rc = namer_init(&k, s);
    if (!rc)
        rc = note_uses(s, k.used);
    if (!rc)
        rc = note_scopes(&k);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        trace_weight(s, mm);
        struct use *first = &k.weight_of[s->scope_of[mm->step]];
        if (first->value == IR_NONE)
            *first = mm->weight;
    }
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        rc = name_mm(&k, &s->mms[i]);
    if (!rc) {
        unused_linears(&k);
        warn_contradictions(&k);
    }
    namer_free(&k);
    return rc;
}
