/* Linear: modules, each mm's FQN and where it was learnt, and which modules are Linears.
 *
 * Needs walk, facts, scope and mm. Evidence, strongest first (SPEC 3): the parameter's name, exporter
 * metadata, the node name's scope, the bias's name. Where two disagree the stronger wins and a warning counts
 * the rest; both names are kept, since a tied weight carries only one of its modules' names. */
#include "passes/linear.h"

#include "passes/fqn.h"

#include <stdlib.h>

#define TRACE_MAX   64 /* nodes between a weight and its product */
#define REPARAM_MAX 32 /* nodes that compute a reparametrised weight */

/* How a parameter (or a renamed copy of one) is used. */
enum { USED_GATHER = 1, USED_TRANSPOSED = 2, USED_DIRECT = 4 };

struct namer {
    struct state *s;
    uint8_t *used;         /* per slot: USED_* */
    uint32_t *products;    /* per scope: products directly in it */
    bool *busy;            /* per scope: holds operators that no Linear has */
    struct use *weight_of; /* per scope: weight of the first mm in it */
    uint32_t contradictions, first_contradiction;
};

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

/* ---- scopes ---- */

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

/* ---- the modules that names tell of ---- */

/* Adds the module of a parameter's name. IR_NONE with rc 0 when the name tells none. */
static int module_of_param(struct state *s, struct str name, enum param_kind *kind, uint32_t *id)
{
    struct str fqn;
    *id = IR_NONE;
    int rc = fqn_of_param(kind, &fqn, name, &s->arena);
    if (rc || *kind == PARAM_NO_NAME || fqn.n == 0)
        return rc;
    *id = modules_add(&s->modules, fqn);
    return *id == IR_NONE ? IR_EMEM : 0;
}

/* May this value carry a parameter's name? Parameters, the main graph's inputs (weights as inputs), renamed
 * copies. */
static bool carries_name(const struct state *s, uint32_t value)
{
    const struct ir_value *v = &s->m->values[value];
    if (s->is_param[value])
        return true;
    return v->kind == IR_VALUE_NODE && str_is(ir_node_op(s->m, &s->m->nodes[v->def])->type, "Identity") &&
           s->m->graphs[v->graph].kind != IR_GRAPH_FUNCTION;
}

static int modules_from_names(struct state *s)
{
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        enum param_kind kind;
        uint32_t id;
        if (!carries_name(s, v))
            continue;
        int rc = module_of_param(s, ir_value_name(s->m, v), &kind, &id);
        if (rc)
            return rc;
        if (id != IR_NONE)
            s->modules.a[id].has_param = true;
        /* parametrizations are modules inside the Linear: a name that hits them hits no Linear */
        struct str name = ir_value_name(s->m, v);
        if (str_find(name, STR_LIT(".parametrizations.")) > 0) {
            struct str inner = fqn_clean(fqn_parent(name), &s->arena);
            if (!inner.s || modules_add(&s->modules, inner) == IR_NONE)
                return IR_EMEM;
        }
    }
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
        for (uint32_t j = 0; !rc && sc->fqns && j < sc->n_atoms; j++) {
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

/* The name torch lists a module by. */
static struct str listed_name(const struct state *s, struct str fqn)
{
    uint32_t id = modules_find(&s->modules, fqn);
    return id != NAME_NONE && s->modules.a[id].same_as != IR_NONE ? s->modules.a[s->modules.a[id].same_as].fqn
                                                                  : fqn;
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
        if (id != IR_NONE) {
            s->modules.a[id].called = true;
            s->modules.a[id].cls = sc->cls;
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
    for (uint32_t i = 0; i < s->o->n_blocks; i++)
        if (str_chr(s->o->blocks[i], '*') < 0 && str_chr(s->o->blocks[i], '?') < 0 && s->o->blocks[i].n &&
            modules_add(&s->modules, s->o->blocks[i]) == IR_NONE)
            return IR_EMEM;
    return 0;
}

static int modules_from_scopes(struct state *s)
{
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        struct scope *sc = &s->scopes[i];
        uint32_t same;
        if (sc->kind != SCOPE_NAME || sc->n_atoms == 0)
            continue;
        sc->fqn = scope_resolve(s, sc, STR_LIT(""), 0, 0, &sc->certain, &same);
        if (!sc->fqn.s)
            return IR_EMEM;
        if (same > 1)
            sc->certain = false;
    }
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        struct scope *sc = &s->scopes[i];
        if (sc->kind != SCOPE_NAME || sc->n_atoms == 0)
            continue;
        bool known = modules_find(&s->modules, sc->fqn) != NAME_NONE;
        uint32_t id = modules_add(&s->modules, sc->fqn);
        if (id == IR_NONE)
            return IR_EMEM;
        s->modules.a[id].called = true;
        s->modules.a[id].composed = !known;
    }
    return 0;
}

/* ---- how parameters are used ---- */

static uint8_t use_kind(const struct state *s, const struct ir_op *op, struct step st, uint32_t input)
{
    if (str_is(op->type, "Gather") || str_is(op->type, "aten.embedding.default") ||
        str_is(op->type, "EmbedLayerNormalization") || str_is(op->type, "aten.embedding_bag.default"))
        return input == 0 || str_is(op->type, "EmbedLayerNormalization") ? USED_GATHER : 0;
    if (str_is(op->type, "Transpose") || str_is(op->type, "aten.t.default") ||
        str_is(op->type, "aten.permute.default") || str_is(op->type, "aten.transpose.int") ||
        str_is(op->type, "aten.linear.default"))
        return USED_TRANSPOSED;
    if (str_is(op->type, "aten.addmm.default"))
        return input == 2 ? USED_DIRECT : 0;
    if (input != 1)
        return 0;
    if (str_is(op->type, "Gemm") || str_is(op->type, "FusedGemm") || str_is(op->type, "FusedMatMul") ||
        str_is(op->type, "TransposeMatMul"))
        return walk_attr_int(&s->walk, st, "transB", 0) != 0 ? USED_TRANSPOSED : USED_DIRECT;
    bool direct = str_is(op->type, "MatMul") || str_is(op->type, "aten.matmul.default") ||
                  str_is(op->type, "aten.mm.default");
    return direct ? USED_DIRECT : 0;
}

/* Ops that move a weight without changing which module it is. */
static bool passes_through(struct str op)
{
    static const char *const ops[] = {"Identity", "Cast",    "CastLike", "DequantizeLinear", "QuantizeLinear",
                                      "Dropout",  "Reshape", "Squeeze",  "Unsqueeze"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (str_is(op, ops[i]))
            return true;
    return false;
}

static void note_uses(struct namer *k)
{
    struct state *s = k->s;
    const struct walk *w = &s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct ir_node *n = &s->m->nodes[w->steps[i].node];
        const struct ir_op *op = ir_node_op(s->m, n);
        for (uint32_t j = 0; j < n->n_in && j < 4; j++) {
            struct use u = walk_resolve(w, walk_input(w, w->steps[i], j));
            for (int hops = 0; u.value != IR_NONE && hops < TRACE_MAX;
                 hops++) { /* through casts and copies */
                uint8_t kind = use_kind(s, op, w->steps[i], j);
                if (!kind)
                    break;
                k->used[walk_slot(w, u)] |= kind;
                struct step def = walk_def(w, u);
                if (def.node == IR_NONE || !passes_through(ir_node_op(s->m, &s->m->nodes[def.node])->type))
                    break;
                u = walk_resolve(w, walk_input(w, def, 0));
            }
        }
    }
}

static bool linear_op(const struct state *s, uint32_t step)
{
    static const char *const ops[] = {"Transpose",   "MatMul",           "Gemm",          "Add",   "Cast",
                                      "Identity",    "Constant",         "Reshape",       "Shape", "Gather",
                                      "Concat",      "Unsqueeze",        "Squeeze",       "Slice", "Flatten",
                                      "FusedMatMul", "DequantizeLinear", "QuantizeLinear"};
    struct str op = step_op(s, step)->type;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (str_is(op, ops[i]))
            return true;
    return false;
}

static void note_scopes(struct namer *k)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->walk.n_steps; i++)
        k->busy[s->scope_of[i]] |= !linear_op(s, i);
    for (uint32_t i = 0; i < s->n_mms; i++)
        k->products[s->scope_of[s->mms[i].step]]++;
}

/* ---- the weight of an mm ---- */

static bool swaps_last_two(const struct ir_attr *a)
{
    uint32_t n = a->n_ints;
    return n >= 2 && a->ints[n - 1] == n - 2 && a->ints[n - 2] == n - 1;
}

static void trace_weight(struct state *s, struct mm *mm)
{
    const struct walk *w = &s->walk;
    struct use u = walk_input(w, w->steps[mm->step], 1);
    if (mm->kind == MM_KIND_ATEN) {
        if (mm->weight.value != IR_NONE)
            mm->weight_name = ir_value_name(s->m, mm->weight.value);
        return;
    }
    for (int hops = 0; hops < TRACE_MAX; hops++) {
        u = walk_resolve(w, u);
        if (u.value == IR_NONE)
            return;
        enum param_kind kind;
        struct str fqn, name = ir_value_name(s->m, u.value);
        if (mm->weight_name.n == 0 && carries_name(s, u.value) &&
            fqn_of_param(&kind, &fqn, name, &s->arena) == 0 && kind != PARAM_NO_NAME)
            mm->weight_name = name;
        struct step def = walk_def(w, u);
        if (s->is_param[u.value] ||
            (def.node != IR_NONE && str_is(ir_node_op(s->m, &s->m->nodes[def.node])->type, "Constant"))) {
            mm->weight = u;
            if (mm->weight_name.n == 0)
                mm->weight_name = name;
            return;
        }
        if (def.node == IR_NONE)
            return;
        struct str op = ir_node_op(s->m, &s->m->nodes[def.node])->type;
        struct ir_attr perm;
        if (str_is(op, "Transpose")) {
            bool given = walk_attr(w, def, "perm", &perm) == 1;
            if (!given || (perm.kind == IR_ATTR_INTS && swaps_last_two(&perm)))
                mm->transposed = !mm->transposed;
        } else if (!passes_through(op)) {
            return;
        }
        u = walk_input(w, def, 0);
    }
}

/* A weight that is computed from reparametrised parameters of one module: that module's name. */
static struct str reparam_owner(struct state *s, const struct mm *mm)
{
    const struct walk *w = &s->walk;
    struct use todo[REPARAM_MAX];
    uint32_t n = 0, at = 0;
    struct str owner = {0};
    todo[n++] = walk_input(w, w->steps[mm->step], 1);
    for (; at < n; at++) {
        struct use u = walk_resolve(w, todo[at]);
        if (u.value == IR_NONE)
            continue;
        struct str name = ir_value_name(s->m, u.value), fqn;
        enum param_kind kind;
        if (carries_name(s, u.value) && fqn_is_reparam(name) &&
            fqn_of_param(&kind, &fqn, name, &s->arena) == 0) {
            if (owner.n && !str_eq(owner, fqn))
                return (struct str){0};
            owner = fqn;
            continue;
        }
        struct step def = walk_def(w, u);
        if (def.node == IR_NONE)
            continue;
        const struct ir_node *node = &s->m->nodes[def.node];
        if (!facts_get(&s->facts, u).fixed) /* an activation has a say: no reparametrisation */
            return (struct str){0};
        for (uint32_t i = 0; i < node->n_in && n < REPARAM_MAX; i++)
            todo[n++] = walk_input(w, def, i);
    }
    return owner;
}

/* ---- names of mms ---- */

static bool class_is_linear(struct str cls)
{
    return str_ends(cls, STR_LIT("Linear"));
}

/* The literal name of a scope whose _k was taken for "called again", when the weights say it is another
 * module. */
static struct str unstemmed(struct namer *k, const struct mm *mm, uint32_t scope)
{
    struct state *s = k->s;
    struct scope *sc = &s->scopes[scope];
    uint32_t other = names_find(&s->scope_index, atom_stem(sc->raw));
    if (!sc->stem || sc->certain || other == NAME_NONE || mm->weight.value == IR_NONE)
        return sc->fqn;
    struct use w = k->weight_of[other];
    if (w.value == IR_NONE || (w.value == mm->weight.value && w.frame == mm->weight.frame))
        return sc->fqn;
    struct str suffix = str_sub(sc->raw, atom_stem(sc->raw).n, sc->raw.n - atom_stem(sc->raw).n);
    char *out = arena_printf(&s->arena, "%.*s%.*s", STR_ARG(sc->fqn), STR_ARG(suffix));
    return out ? str_of(out) : sc->fqn;
}

/* Is `param` a name that the scope could have, or of a module inside the scope's (its weight used by the
 * parent)? */
static bool agrees(const struct scope *sc, struct str param)
{
    if (sc->kind == SCOPE_NAME) {
        if (sc->n_atoms == 0)
            return true;
        for (struct str up = param; up.n; up = fqn_parent(up))
            if (scope_fits(sc->atoms, sc->n_atoms, up, true))
                return true;
        return false;
    }
    return sc->fqn.n == 0 || str_eq(sc->fqn, param) || fqn_inside(param, sc->fqn);
}

static bool leaf_module(const struct state *s, struct str fqn)
{
    uint32_t id = modules_find(&s->modules, fqn);
    return id == NAME_NONE || s->modules.a[id].children == 0;
}

/* Does the scope alone make it a Linear's: the class says so; or nothing but one product with a weight in a
 * leaf? */
static bool scope_is_linear(struct namer *k, const struct mm *mm, uint32_t scope, struct str fqn)
{
    struct state *s = k->s;
    const struct scope *sc = &s->scopes[scope];
    if (scope == 0 || fqn.n == 0)
        return false;
    if (sc->cls.n)
        return class_is_linear(sc->cls);
    if (mm->weight.value == IR_NONE)
        return false;
    return leaf_module(s, fqn) && !k->busy[scope] && k->products[scope] == 1;
}

int linear_mark(struct state *s, struct str fqn, const struct mm *mm, enum evidence ev, bool loose)
{
    struct modules *t = &s->modules;
    bool known = modules_find(t, fqn) != NAME_NONE;
    uint32_t id = modules_add(t, fqn);
    if (id == IR_NONE)
        return IR_EMEM;
    struct module *m = &t->a[id];
    if (!known)
        m->composed = loose;
    if (m->cls.n && !class_is_linear(m->cls))
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

static int name_mm(struct namer *k, struct mm *mm)
{
    struct state *s = k->s;
    uint32_t scope = s->scope_of[mm->step];
    const struct scope *sc = &s->scopes[scope];
    enum param_kind kind = PARAM_NO_NAME;
    struct str param = {0}, fqn;
    if (mm->weight_name.n && fqn_of_param(&kind, &param, mm->weight_name, &s->arena) != 0)
        return IR_EMEM;
    bool reparam = false;
    if (mm->weight.value == IR_NONE && mm->kind != MM_KIND_ATEN) {
        param = reparam_owner(s, mm);
        reparam = param.n > 0;
    }
    bool gathered = mm->weight.value != IR_NONE && (k->used[walk_slot(&s->walk, mm->weight)] & USED_GATHER);
    bool by_param =
        reparam || (kind == PARAM_WEIGHT && mm->transposed) || (kind == PARAM_KERNEL && !mm->transposed);
    fqn = scope ? unstemmed(k, mm, scope) : (struct str){0};
    mm->scope_fqn = fqn;
    bool by_scope = scope && fqn.n && (by_param || kind == PARAM_NO_NAME || sc->cls.n) &&
                    scope_is_linear(k, mm, scope, fqn);
    enum evidence scope_ev = sc->kind == SCOPE_NAME ? EV_SCOPE : EV_METADATA;
    bool loose = sc->kind == SCOPE_NAME && !sc->certain;
    bool clash = scope && param.n && kind != PARAM_BIAS && !agrees(sc, param);
    if (clash && !(gathered && by_scope) && k->contradictions++ == 0)
        k->first_contradiction = mm->step;
    param = listed_name(s, param);
    fqn = listed_name(s, fqn);
    if (gathered) /* the name is an Embedding's */
        by_param = false;
    if (by_param) {
        mm->fqn = param, mm->evidence = EV_PARAM;
    } else if (fqn.n) {
        mm->fqn = fqn, mm->evidence = scope_ev, mm->loose = loose;
    } else if (param.n && kind != PARAM_BIAS) {
        mm->fqn = param, mm->evidence = EV_PARAM;
    } else if (mm->bias.value != IR_NONE) {
        struct use b = walk_resolve(&s->walk, mm->bias);
        if (b.value != IR_NONE && fqn_of_param(&kind, &param, ir_value_name(s->m, b.value), &s->arena) == 0 &&
            kind == PARAM_BIAS && param.n)
            mm->fqn = param, mm->evidence = EV_BIAS, by_scope = true, fqn = param, scope_ev = EV_BIAS;
    }
    mm->linear = by_param || by_scope;
    int rc = by_param ? linear_mark(s, param, mm, EV_PARAM, false) : 0;
    if (!rc && by_scope && !(by_param && !clash))
        rc = linear_mark(s, fqn, mm, scope_ev, loose);
    return rc;
}

/* ---- Linears that no mm shows ---- */

/* A 2-D FQN.weight that is neither looked up in nor only multiplied as it is: a Linear that is never called,
 * or whose weight the model uses by hand. */
static int unused_linears(struct namer *k)
{
    struct state *s = k->s;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        const struct ir_shape *x = ir_shape_of(s->m, v);
        if (!carries_name(s, v) || s->m->values[v].graph != 0 || x->rank != 2)
            continue;
        uint8_t used = k->used[walk_slot(&s->walk, (struct use){FRAME_MAIN, v})];
        if ((used & USED_GATHER) || ((used & USED_DIRECT) && !(used & USED_TRANSPOSED)))
            continue;
        enum param_kind kind;
        uint32_t id;
        int rc = module_of_param(s, ir_value_name(s->m, v), &kind, &id);
        if (rc)
            return rc;
        if (kind != PARAM_WEIGHT || id == IR_NONE)
            continue;
        struct module *m = &s->modules.a[id];
        if (m->linear || m->children || m->same_as != IR_NONE || (m->cls.n && !class_is_linear(m->cls)))
            continue;
        m->linear = true;
        m->in = x->dims[1];
        m->out = x->dims[0];
        m->weight = ir_value_name(s->m, v);
        m->evidence = EV_PARAM;
    }
    return 0;
}

static int namer_init(struct namer *k, struct state *s)
{
    *k = (struct namer){.s = s};
    k->used = calloc(s->walk.n_slots ? s->walk.n_slots : 1, 1);
    k->products = calloc(s->n_scopes, sizeof *k->products);
    k->busy = calloc(s->n_scopes, sizeof *k->busy);
    k->weight_of = malloc(s->n_scopes * sizeof *k->weight_of);
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
    modules_init(&s->modules, &s->arena);
    int rc = namer_init(&k, s);
    if (!rc)
        rc = modules_from_names(s);
    if (!rc)
        rc = modules_from_metadata(s);
    if (!rc)
        rc = find_aliases(s);
    if (!rc)
        rc = modules_from_options(s);
    if (!rc)
        rc = modules_sort(&s->modules);
    if (!rc)
        rc = modules_from_scopes(s);
    if (!rc) {
        note_uses(&k);
        note_scopes(&k);
    }
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        trace_weight(s, mm);
        struct use *first = &k.weight_of[s->scope_of[mm->step]];
        if (first->value == IR_NONE)
            *first = mm->weight;
    }
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        rc = name_mm(&k, &s->mms[i]);
    if (!rc)
        rc = unused_linears(&k);
    if (!rc)
        warn_contradictions(&k);
    namer_free(&k);
    return rc;
}
