/* Linear: each mm's FQN and where it was learnt, and which modules are Linears.
 *
 * Needs walk, facts, scope, mm and modules. Evidence, strongest first (POLICY.md 3): the parameter's name,
 * exporter metadata, the node name's scope, the bias's name. Where two disagree the stronger wins and a
 * warning counts the rest; both names are kept, as a tied weight carries only one of its modules' names. */
#include "passes/linear.h"

#include "passes/fqn.h"

#include <stdlib.h>

struct namer {
    struct state *s;
    uint8_t *used;         /* per slot: USED_* */
    uint32_t *products;    /* per scope: products directly in it */
    bool *busy;            /* per scope: holds operators that no Linear has */
    bool *chooses;         /* per scope: holds operators of a router */
    struct use *weight_of; /* per scope: weight of the first mm in it */
    uint32_t *first_user;  /* per slot: scope of the first mm with this weight; 0 = none. NULL until it is
                              asked for */
    uint32_t contradictions, first_contradiction;
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

/* What a Linear does; a scale besides is a subclass's. */
static bool linear_op(struct str op)
{
    static const char *const ops[] = {
        "Transpose",      "MatMul",  "Gemm",    "Add",         "Cast",      "Identity",
        "Constant",       "Reshape", "Shape",   "Gather",      "Concat",    "Unsqueeze",
        "Squeeze",        "Slice",   "Flatten", "FusedMatMul", "FusedGemm", "DequantizeLinear",
        "QuantizeLinear", "Mul",     "Div"};
    static const char *const aten[] = {
        "aten.linear",    "aten.mm",      "aten.addmm",   "aten.matmul", "aten.t",          "aten.numpy_T",
        "aten.transpose", "aten.permute", "aten.add",     "aten.mul",    "aten.div",        "aten.to",
        "aten._to_copy",  "aten.view",    "aten.reshape", "aten.clone",  "aten.contiguous", "aten.detach"};
    return STR_IS_ONE_OF(op, ops) || STR_IS_ONE_OF(ir_without_overload(op), aten);
}

/* A Linear's subclass may do much to its input and weight, but it does not choose. */
static bool router_op(struct str op)
{
    static const char *const ops[] = {"TopK", "ArgMax", "ArgMin", "Softmax", "LogSoftmax"};
    return STR_IS_ONE_OF(op, ops);
}

/* Which scopes hold more than a Linear does, and how many products each. */
static int note_scopes(struct namer *k)
{
    struct state *s = k->s;
    enum { PLAIN, OTHER, ROUTER };
    uint8_t *kind = arena_alloc(&s->arena, s->m->n_ops ? s->m->n_ops : 1, sizeof *kind);
    if (!kind)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->m->n_ops; i++)
        kind[i] = linear_op(s->m->ops[i].type) ? PLAIN : router_op(s->m->ops[i].type) ? ROUTER : OTHER;
    for (uint32_t i = 0; i < s->walk.n_steps; i++) {
        uint8_t of = kind[s->m->nodes[walk_step(&s->walk, i).node].op];
        k->busy[s->scope_of[i]] |= of != PLAIN;
        k->chooses[s->scope_of[i]] |= of == ROUTER;
    }
    for (uint32_t i = 0; i < s->n_mms; i++)
        k->products[s->scope_of[s->mms[i].step]]++;
    return 0;
}

/* ---- names of mms ---- */

static bool class_is_linear(struct str cls)
{
    return str_ends(cls, STR_LIT("Linear"));
}

/* A class of the model's own may be a Linear's subclass, whatever its name: what its code does tells. */
static bool class_is_own(struct str cls)
{
    return cls.n && !class_is_linear(cls) && !str_starts(cls, STR_LIT("torch."));
}

/* Is the module known to be no Linear: by its class, or by what its code does? */
static bool is_other(const struct state *s, const struct module *m)
{
    struct str cls = module_class(s, m);
    return m->more || (cls.n && !class_is_linear(cls) && !class_is_own(cls));
}

/* Does a scope whose _k was taken for "called again" have another weight than the one without _k? */
static bool another_weight(const struct namer *k, const struct mm *mm, const struct scope *sc)
{
    uint32_t other = sc->stem && mm->weight.value != IR_NONE
                         ? names_find(&k->s->scope_index, atom_stem(sc->raw))
                         : NAME_NONE;
    struct use w = other == NAME_NONE ? mm->weight : k->weight_of[other];
    return w.value != IR_NONE && !use_same(w, mm->weight);
}

/* The literal name of such a scope, when the weights say it is another module. */
static struct module_name unstemmed(struct namer *k, const struct mm *mm, uint32_t scope)
{
    struct state *s = k->s;
    struct scope *sc = &s->scopes[scope];
    struct module_name own = {sc->fqn, sc->module};
    uint32_t id = known_id(s, own);
    bool known = sc->certain || (id != IR_NONE && s->modules.a[id].has_param); /* the name without _k is */
    if (known || !another_weight(k, mm, sc))
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
    if (sc->cls.n && !class_is_own(sc->cls))
        return class_is_linear(sc->cls) &&
               (k->products[scope] == 1 || str_starts(sc->cls, STR_LIT("torch.")));
    if (mm->weight.value == IR_NONE)
        return false;
    return leaf_module(s, n) && !k->busy[scope] && k->products[scope] == 1;
}

int linear_mark(struct state *s, struct module_name name, const struct mm *mm, enum evidence ev, bool loose)
{
    struct modules *t = &s->modules;
    uint32_t before = t->n, id = name.id == IR_NONE ? modules_add(t, name.fqn) : name.id;
    if (id == IR_NONE)
        return IR_EMEM;
    struct module *m = &t->a[id];
    if (t->n > before)
        m->composed = loose;
    if (is_other(s, m))
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
    return n && n->kind == PARAM_BIAS ? (struct module_name){named_fqn(s, n), n->module}
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
    *out = (struct module_name){named_fqn(s, n), n->module};
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

/* What an mm's weight, scope and bias say of its module. */
struct naming {
    uint32_t scope;
    const struct scope *sc;
    enum param_kind kind;     /* of the weight's name */
    struct module_name param; /* the weight is named for it */
    struct module_name ran;   /* whose code runs, as the scope tells, or scope and bias together */
    struct module_name bias;  /* the bias is named for it */
    enum evidence ran_by;     /* ... which of these told `ran` */
    bool loose;               /* containers may be missing from `ran` */
    bool named_weight;        /* by its name and how it is multiplied, the weight is a Linear's */
    bool gathered;            /* but it is looked up in, too: the name is an Embedding's */
    bool by_param, by_scope;  /* the mm shows that `param` is a Linear; that `ran` is one */
    bool lent;                /* `ran` is the module that the weight is of, called by another */
    bool clash;               /* the scope cannot be that of `param` */
};

static int ask_weight(struct namer *k, const struct mm *mm, struct naming *n)
{
    struct state *s = k->s;
    bool reparam = false;
    if (weight_owner(s, mm, &n->kind, &n->param) != 0)
        return IR_EMEM;
    if (mm->weight.value == IR_NONE && mm->kind != MM_KIND_ATEN) {
        n->param = (struct module_name){reparam_owner(s, mm), IR_NONE};
        reparam = n->param.fqn.n > 0;
    }
    n->named_weight = reparam || (n->kind == PARAM_WEIGHT && mm->transposed) ||
                      (n->kind == PARAM_KERNEL && !mm->transposed);
    n->gathered = mm->weight.value != IR_NONE && (k->used[walk_slot(&s->walk, mm->weight)] & USED_GATHER);
    n->by_param = n->named_weight && !n->gathered;
    return 0;
}

/* The bias's name says which of the modules that the scope allows it is. */
static void ran_as_bias_says(struct mm *mm, struct naming *n)
{
    n->ran = n->bias;
    n->ran_by = EV_BIAS;
    n->loose = mm->unsettled = false;
}

static void ask_scope(struct namer *k, struct mm *mm, struct naming *n)
{
    const struct scope *sc = n->sc;
    n->ran = n->scope ? unstemmed(k, mm, n->scope) : (struct module_name){.id = IR_NONE};
    n->ran_by = sc->kind == SCOPE_NAME ? EV_SCOPE : EV_METADATA;
    n->loose = sc->kind == SCOPE_NAME && !sc->certain;
    mm->unscoped = n->scope == 0;
    mm->unsettled = sc->ambiguous;
    bool open_name = n->loose || another_weight(k, mm, sc);
    if (open_name && scope_fits(sc->atoms, sc->n_atoms, n->bias.fqn, true))
        ran_as_bias_says(mm, n);
    mm->scope_fqn = n->ran.fqn;
    bool own = class_is_own(sc->cls); /* what it does with a weight of that name tells */
    bool silent =
        n->kind == PARAM_NO_NAME || (sc->cls.n && n->kind != PARAM_OTHER); /* ... is not against it */
    bool open = n->named_weight || (!own && silent);
    n->by_scope = n->scope && n->ran.fqn.n && open && scope_is_linear(k, mm, n->scope, n->ran);
    if (n->by_scope || n->named_weight || n->kind != PARAM_NO_NAME)
        return;
    if (n->ran.fqn.n && fqn_inside(n->bias.fqn, n->ran.fqn)) {
        ran_as_bias_says(mm, n); /* F.linear(x, self.out.weight, self.out.bias) in the parent's code */
        n->by_scope = true;
    }
}

/* Whose the weight is by its name, or else the bias by its own. */
static struct str owner_name(const struct naming *n)
{
    return n->kind == PARAM_WEIGHT ? n->param.fqn : n->bias.fqn;
}

/* Does the weight's name contradict the scope? Counted for one warning about all; but a weight that has an
 * Embedding's name contradicts nothing where the scope shows a Linear. */
static void find_clash(struct namer *k, const struct mm *mm, struct naming *n)
{
    struct str own = owner_name(n), ran = n->ran.fqn;
    n->lent = own.n && ran.n > own.n && str_ends(ran, own) && ran.s[ran.n - own.n - 1] == '.';
    n->clash = n->scope && n->param.fqn.n && n->kind != PARAM_BIAS && !n->lent && !agrees(n->sc, n->param);
    if (n->clash && !(n->gathered && n->by_scope) && k->contradictions++ == 0)
        k->first_contradiction = mm->step;
}

/* Nothing but the bias's name is left to tell the module. From here on `kind` and `param` are those of the
 * bias. */
static void name_by_bias(struct state *s, struct mm *mm, struct naming *n)
{
    struct use b = walk_resolve(&s->walk, mm->bias);
    if (b.value == IR_NONE || param_name(s, ir_value_name(s->m, b.value), &n->kind, &n->param.fqn) != 0 ||
        n->kind != PARAM_BIAS || n->param.fqn.n == 0)
        return;
    n->ran = (struct module_name){n->param.fqn, IR_NONE};
    n->ran_by = EV_BIAS;
    n->by_scope = true;
    mm->fqn = n->ran.fqn;
    mm->evidence = EV_BIAS;
}

/* The strongest evidence names the mm. */
static void choose_name(struct namer *k, struct mm *mm, struct naming *n)
{
    bool one_of_several = n->sc->call && k->products[n->scope] > 1; /* of a function: which is not told */
    n->param = listed_name(k->s, n->param);
    n->ran = listed_name(k->s, n->ran);
    if (n->by_param || (!n->ran.fqn.n && n->param.fqn.n && n->kind != PARAM_BIAS)) {
        mm->fqn = n->param.fqn;
        mm->evidence = EV_PARAM;
    } else if (n->ran.fqn.n && !one_of_several) {
        mm->fqn = n->ran.fqn;
        mm->evidence = n->ran_by;
        mm->loose = n->loose;
    } else if (mm->bias.value != IR_NONE) {
        name_by_bias(k->s, mm, n);
    }
    mm->linear = n->by_param || n->by_scope;
    mm->nameless = !mm->linear && mm->kind != MM_KIND_ATEN && n->kind == PARAM_NO_NAME && n->param.fqn.n == 0;
}

/* The weight is named for one module and another ran: two share it, and the file kept the name of one. Marks
 * the other where bias or scope tell what it is called. */
static int mark_sharer(struct namer *k, const struct mm *mm, const struct naming *n)
{
    struct state *s = k->s;
    uint32_t first;
    struct str twin;
    if (n->bias.fqn.n && agrees(n->sc, n->bias))
        return linear_mark(s, n->bias, mm, EV_BIAS, false);
    if (find_first_user(k, mm->weight, &first) != 0)
        return IR_EMEM;
    int rc = merged_twin(s, n->sc, &s->scopes[first], n->param.fqn, &twin);
    if (rc || twin.n == 0)
        return rc;
    return linear_mark(s, (struct module_name){twin, IR_NONE}, mm, EV_SCOPE, n->loose);
}

/* What the scope shows of the module that the weight is named for: it does more than a Linear, or its weight
 * is multiplied as it is by others. */
static void note_code(struct namer *k, const struct mm *mm, const struct naming *n)
{
    uint32_t id = n->kind == PARAM_WEIGHT ? known_id(k->s, n->param) : IR_NONE;
    if (id == IR_NONE || n->scope == 0)
        return;
    bool own = str_eq(n->ran.fqn, n->param.fqn), single = !k->busy[n->scope] && k->products[n->scope] == 1;
    bool open = n->sc->cls.n == 0 ? k->chooses[n->scope] : class_is_own(n->sc->cls) && !single;
    k->s->modules.a[id].more |= own && open;
    k->s->modules.a[id].by_hand |=
        !own && !mm->transposed && !scope_fits(n->sc->atoms, n->sc->n_atoms, n->param.fqn, true);
}

/* "/layers.0/shared/q" ran "shared.q": layers.0 calls what is not its own, and holds no module of these
 * names. */
static void mark_lent(struct state *s, const struct naming *n)
{
    struct str own = owner_name(n), ran = n->ran.fqn;
    for (; own.n && n->lent; own = fqn_parent(own), ran = fqn_parent(ran)) {
        uint32_t id = modules_find(&s->modules, ran);
        if (id != NAME_NONE)
            s->modules.a[id].lent |= s->modules.a[id].composed;
    }
}

/* Which modules the mm shows to be Linears. */
static int mark_linears(struct namer *k, struct mm *mm, const struct naming *n)
{
    int rc = n->by_param ? linear_mark(k->s, n->param, mm, EV_PARAM, false) : 0;
    mm->scope_leaf = n->by_scope && !n->lent;
    mm->scope_linear = mm->scope_leaf && (!n->by_param || n->clash);
    if (!rc && mm->scope_linear && !mm->unsettled)
        rc = linear_mark(k->s, n->ran, mm, n->ran_by, n->loose);
    mark_lent(k->s, n);
    if (!rc && n->lent && !n->by_param && n->by_scope)
        rc = linear_mark(k->s, n->bias, mm, EV_BIAS, false);
    return rc || !n->by_param || !n->clash ? rc : mark_sharer(k, mm, n);
}

static int name_mm(struct namer *k, struct mm *mm)
{
    struct naming n = {.scope = k->s->scope_of[mm->step], .bias = bias_owner(k->s, mm)};
    n.sc = &k->s->scopes[n.scope];
    if (ask_weight(k, mm, &n) != 0)
        return IR_EMEM;
    ask_scope(k, mm, &n);
    find_clash(k, mm, &n);
    choose_name(k, mm, &n);
    note_code(k, mm, &n);
    return mark_linears(k, mm, &n);
}

/* ---- Linears that no mm shows ---- */

/* A 2-D FQN.weight that is neither looked up in, nor only added or multiplied as it is by the module's own
 * code: a Linear that is never called, or whose weight the model uses by hand. */
static void unused_linears(struct namer *k)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->named.n; i++) {
        const struct named *n = &s->named.a[i];
        const struct ir_shape *x = ir_shape_of(s->m, n->value);
        if (s->m->values[n->value].graph != s->root || x->rank != 2 || n->kind != PARAM_WEIGHT ||
            n->module == IR_NONE)
            continue;
        uint8_t used = k->used[walk_slot(&s->walk, (struct use){FRAME_MAIN, n->value})];
        struct module *m = &s->modules.a[n->module];
        bool shown = (used & USED_TRANSPOSED) || (m->by_hand && !(used & USED_AS_TABLE));
        bool as_it_is = (used & (USED_DIRECT | USED_AS_TABLE)) && !shown;
        if ((used & USED_GATHER) || as_it_is) {
            m->embedding = used & USED_GATHER;
            m->untransposed = !m->embedding && (used & USED_DIRECT);
            continue;
        }
        if (m->linear || m->children || m->same_as != IR_NONE || is_other(s, m))
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
    k->chooses = calloc(s->n_scopes, sizeof *k->chooses);
    k->weight_of = calloc(s->n_scopes, sizeof *k->weight_of);
    for (uint32_t i = 0; k->weight_of && i < s->n_scopes; i++)
        k->weight_of[i].value = IR_NONE;
    return k->used && k->products && k->busy && k->chooses && k->weight_of ? 0 : IR_EMEM;
}

static void namer_free(struct namer *k)
{
    free(k->used);
    free(k->products);
    free(k->busy);
    free(k->chooses);
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
