/* Scope: each step's module path, and where it was learnt.
 *
 * Needs the walk. Learns from exporter metadata where a node has it, else from the node's name. Scopes are
 * interned: the steps of one module share one. What a scope means as an FQN is settled later, when modules
 * are known (passes/known_modules.c); what a .pt2 has is read in passes/scope_stack.c. */
#include "passes/scope.h"

#include "passes/fqn.h"
#include "passes/linear.h"

#include "ir/pylist.h"

#include <stdlib.h>

_Static_assert(FQN_DEPTH_MAX <= UINT16_MAX, "scope.n_atoms counts as many");

#define UNREAD IR_NONE /* a list of scopes that no node has asked for yet */

struct scoper {
    struct state *s;
    uint32_t *of_list;     /* per list of scopes that the reader has numbered: its scope; UNREAD */
    uint32_t *of_frame;    /* per frame: what its nodes belong to when they do not say */
    uint32_t n_deep, deep; /* steps whose scope is too deep to tell anything, and the first of them */
};

static uint32_t add_scope(struct state *s, struct str raw, enum scope_kind kind)
{
    if (grow(&s->scopes, &s->cap_scopes, (size_t)s->n_scopes + 1, sizeof *s->scopes) != 0)
        return IR_NONE;
    s->scopes[s->n_scopes] = (struct scope){.raw = raw, .kind = kind, .module = IR_NONE, .block = IR_NONE};
    s->script_names |= kind == SCOPE_NAME && str_starts(raw, STR_LIT("/"));
    return s->n_scopes++;
}

uint32_t scope_id(struct state *s, struct str raw, enum scope_kind kind, bool *fresh)
{
    uint32_t before = s->scope_index.n, id = names_intern(&s->scope_index, raw);
    *fresh = id != NAME_NONE && s->scope_index.n > before;
    if (!*fresh)
        return id == NAME_NONE ? IR_NONE : id;
    return add_scope(s, raw, kind);
}

/* ---- names ---- */

/* Between slashes; wrappers and empty atoms left out. */
static int split_atoms(struct state *s, struct scope *sc)
{
    struct str found[FQN_DEPTH_MAX], rest = sc->raw;
    uint32_t ends[FQN_DEPTH_MAX], n = 0;
    while (rest.n && n < FQN_DEPTH_MAX) {
        ptrdiff_t slash = str_chr(rest, '/');
        size_t len = slash < 0 ? rest.n : (size_t)slash;
        struct str atom = str_sub(rest, 0, len);
        size_t skip = slash < 0 ? len : len + 1;
        rest = str_sub(rest, skip, rest.n - skip);
        if (atom.n == 0 || fqn_is_wrapper(atom_stem(atom)))
            continue;
        if (n && fqn_is_number(atom)) /* "/layers/0/wq": a member of what was named before it */
            atom = fqn_join(&s->arena, found[--n], atom);
        if (!atom.s)
            return IR_EMEM;
        ends[n] = (uint32_t)(sc->raw.n - rest.n - (slash < 0 ? 0 : 1));
        found[n++] = atom;
    }
    sc->atoms = arena_alloc(&s->arena, n ? n : 1, sizeof *sc->atoms);
    sc->ends = arena_alloc(&s->arena, n ? n : 1, sizeof *sc->ends);
    if (!sc->atoms || !sc->ends)
        return IR_EMEM;
    uint32_t skip = n > 1 && str_is(found[0], "module") ? 1 : 0; /* DDP's, as in fqn_clean */
    sc->n_atoms = (uint16_t)(n - skip);
    memcpy(sc->atoms, found + skip, sc->n_atoms * sizeof *found);
    memcpy(sc->ends, ends + skip, sc->n_atoms * sizeof *ends);
    return 0;
}

/* "/a/b/MatMul" → "/a/b"; ONNX Runtime appends "/MatMulAddFusion", "/MatMulScaleFusion/" and the like, also
 * one after the other. */
static struct str name_scope(struct str name)
{
    for (;;) {
        while (name.n && name.s[name.n - 1] == '/')
            name.n--;
        ptrdiff_t slash = str_rchr(name, '/');
        struct str before = str_sub(name, 0, slash < 0 ? 0 : (size_t)slash);
        if (!str_ends(name, STR_LIT("Fusion")) || str_chr(before, '/') < 0)
            return before;
        name = before;
    }
}

/* The name that the exporter gave: ONNX Runtime puts "fused " in front where it fuses an activation into a
 * product; TensorFlow Lite joins the names of what it fused by semicolons, the product's first. */
static struct str exporter_name(struct str name)
{
    const struct str fused = STR_LIT("fused ");
    ptrdiff_t semicolon = str_chr(name, ';');
    if (semicolon > 0)
        name.n = (size_t)semicolon;
    return str_starts(name, fused) ? str_sub(name, fused.n, name.n - fused.n) : name;
}

/* TensorFlow's operators of several nodes open scopes of their own: "dense/Tensordot/MatMul",
 * "dense/BiasAdd/ReadVariableOp". The module is what is around them. */
static struct str without_ops(struct str raw)
{
    static const char *const ops[] = {"Tensordot", "BiasAdd", "MatMul"};
    ptrdiff_t slash = str_rchr(raw, '/');
    if (raw.n == 0 || raw.s[0] == '/' || slash < 0)
        return raw;
    struct str last = str_sub(raw, (size_t)slash + 1, raw.n - (size_t)slash - 1);
    return STR_IS_ONE_OF(last, ops) ? str_sub(raw, 0, (size_t)slash) : raw;
}

static int scope_from_name(struct state *s, struct str name, uint32_t *out)
{
    *out = 0;
    if (name.n == 0)
        return 0;
    name = exporter_name(name);
    struct str raw = without_ops(name_scope(name));
    bool fresh;
    if (str_chr(name, '/') < 0 || str_find(name, STR_LIT("::")) >= 0 || fqn_too_deep(raw))
        return 0;
    if (raw.n == 0)
        raw = STR_LIT("/"); /* directly in the model: a scope all the same */
    uint32_t id = scope_id(s, raw, SCOPE_NAME, &fresh);
    if (id == IR_NONE)
        return IR_EMEM;
    *out = id;
    return fresh ? split_atoms(s, &s->scopes[id]) : 0;
}

/* Tools name the nodes that they fuse anew, but keep the values: "/layers.0/norm/Mul_1_output_0" was written
 * by a node of scope "/layers.0/norm". */
static int scope_from_output(struct state *s, uint32_t node, uint32_t *out)
{
    struct str name = ir_value_name(s->m, ir_node_output(s->m, &s->m->nodes[node], 0));
    ptrdiff_t slash = str_rchr(name, '/');
    *out = 0;
    if (slash < 0 || !str_starts(name, STR_LIT("/")) ||
        str_find(str_sub(name, (size_t)slash, name.n - (size_t)slash), STR_LIT("_output_")) < 0)
        return 0;
    return scope_from_name(s, name, out);
}

/* ---- metadata ---- */

/* Class of a node's module; empty where the file does not tell. */
static int read_class(struct state *s, uint32_t node, const struct ir_scope_list *list, struct str *cls)
{
    struct str classes;
    if (list && list->node == node) {
        *cls = (struct str){0};
        if (list->cls != IR_NONE)
            *cls = s->m->classes[list->cls];
        return 0;
    }
    int rc = s->m->source->meta(s->m, node, "pkg.torch.onnx.class_hierarchy", &classes);
    if (rc <= 0 || !pylist_before_last(classes, cls))
        *cls = (struct str){0};
    return rc < 0 ? rc : 0;
}

/* The scope that a node's name_scopes metadata give, of module `fqn`; `list` is what the reader has kept. */
static int scope_of_list(struct state *s, uint32_t node, struct str fqn, const struct ir_scope_list *list,
                         uint32_t *out)
{
    if (!fqn.s || fqn_too_deep(fqn)) {
        diag_debug(s->d, "pkg.torch.onnx.name_scopes of node %u is no list of names: not used", node);
        return 0;
    }
    /* The model's own code has the empty FQN: a text that no FQN can be, so that it is a scope of its own. */
    bool fresh;
    uint32_t id = scope_id(s, fqn.n ? fqn : STR_LIT("''"), SCOPE_META, &fresh);
    if (id != IR_NONE && !fresh && list) { /* another list of that module: it is called from elsewhere */
        char *key = arena_printf(&s->arena, "%.*s\n%u", STR_ARG(fqn), node);
        id = key ? scope_id(s, str_of(key), SCOPE_META, &fresh) : IR_NONE;
    }
    if (id == IR_NONE)
        return IR_EMEM;
    *out = id;
    if (!fresh)
        return 0;
    struct scope *sc = &s->scopes[id];
    sc->raw = fqn;
    sc->node = node;
    fqn = fqn_of_source(fqn, &s->arena);
    sc->fqn = fqn.s ? fqn_clean(fqn, &s->arena) : fqn;
    sc->certain = true;
    return sc->fqn.s ? read_class(s, node, list, &sc->cls) : IR_EMEM;
}

static int read_list(struct state *s, uint32_t node, uint32_t *out)
{
    struct str scopes, module;
    int rc = s->m->source->meta(s->m, node, "pkg.torch.onnx.name_scopes", &scopes);
    if (rc <= 0)
        return rc;
    if (!pylist_before_last(scopes, &module))
        module = (struct str){0};
    return scope_of_list(s, node, module, NULL, out);
}

static int scope_from_metadata(struct scoper *k, uint32_t node, uint32_t *out)
{
    struct state *s = k->s;
    const struct ir_model *m = s->m;
    uint32_t list = m->scope_lists ? m->scope_lists[node] : IR_NONE;
    *out = 0;
    if (m->noted && list == IR_NONE)
        return 0;
    if (!m->noted || list == 0)
        return read_list(s, node, out);
    if (k->of_list[list] == UNREAD) {
        bool kept = list < m->n_lists && m->lists[list].node != IR_NONE;
        int rc = kept ? scope_of_list(s, node, str_of_ref(m->lists[list].module), &m->lists[list], out)
                      : read_list(s, node, out);
        if (rc)
            return rc;
        k->of_list[list] = *out;
    }
    *out = k->of_list[list];
    return 0;
}

static int scope_of_node(struct scoper *k, uint32_t node, uint32_t *out)
{
    struct state *s = k->s;
    if (s->m->format == IR_PT2)
        return scope_from_stack(s, node, out);
    int rc = scope_from_metadata(k, node, out);
    if (!rc && *out == 0)
        rc = scope_from_name(s, ir_node_name(s->m, &s->m->nodes[node]), out);
    return rc || *out ? rc : scope_from_output(s, node, out);
}

/* A scope that is too deep to be used leaves its nodes without a module: that must not go unsaid. */
static void note_deep(struct scoper *k, uint32_t step)
{
    struct state *s = k->s;
    uint32_t node = walk_step(&s->walk, step).node, id = NAME_NONE;
    struct str raw;
    bool deep = false;
    if (s->m->format == IR_PT2) {
        if (s->m->source->meta(s->m, node, "nn_module_stack", &raw) == 1)
            id = names_find(&s->scope_index, raw);
        deep = id != NAME_NONE && s->scopes[id].deep;
    } else {
        deep = fqn_too_deep(ir_node_name(s->m, &s->m->nodes[node]));
    }
    if (deep && k->n_deep++ == 0)
        k->deep = step;
}

/* Do the parameters that a call passes on, as far as they have names, belong to its scope? (The exporter
 * names the call of a whole model's function after what it called last.) */
static int call_agrees(struct state *s, uint32_t frame, const struct scope *sc, bool *agrees)
{
    const struct frame *f = &s->walk.frames[frame];
    const struct ir_node *n = &s->m->nodes[f->node];
    *agrees = true;
    for (uint32_t i = 0; i < ir_node_n_in(n) && *agrees; i++) {
        struct use u = walk_resolve(&s->walk, (struct use){f->parent, ir_node_input(s->m, n, i)});
        enum param_kind kind;
        struct str module;
        enum ir_value_kind is = u.value == IR_NONE ? IR_VALUE_UNDEFINED : s->m->values[u.value].kind;
        if (is != IR_VALUE_PARAM && is != IR_VALUE_INPUT)
            continue;
        if (param_name(s, ir_value_name(s->m, u.value), &kind, &module) != 0)
            return IR_EMEM;
        if (kind == PARAM_NO_NAME || module.n == 0 || (is == IR_VALUE_INPUT && kind == PARAM_OTHER))
            continue;
        while (module.n && !scope_fits(sc->atoms, sc->n_atoms, module, true))
            module = fqn_parent(module);
        *agrees = module.n > 0;
    }
    return 0;
}

/* TorchScript's modules as functions: the node that calls one has a name, those inside have none. Which of
 * the modules inside runs is not told, so the scope is another than that of a node of the module itself. */
static int scope_from_call(struct state *s, uint32_t frame, uint32_t *out)
{
    uint32_t caller;
    bool fresh, agrees;
    int rc = scope_from_name(s, ir_node_name(s->m, &s->m->nodes[s->walk.frames[frame].node]), &caller);
    if (rc || caller == 0 || s->scopes[caller].n_atoms == 0)
        return rc;
    rc = call_agrees(s, frame, &s->scopes[caller], &agrees);
    if (rc || !agrees)
        return rc;
    struct str raw = s->scopes[caller].raw;
    char *key = arena_printf(&s->arena, "%.*s()", STR_ARG(raw));
    uint32_t id = key ? scope_id(s, str_of(key), SCOPE_NAME, &fresh) : IR_NONE;
    if (id == IR_NONE)
        return IR_EMEM;
    *out = id;
    if (!fresh)
        return 0;
    s->scopes[id].raw = raw;
    s->scopes[id].call = true;
    return split_atoms(s, &s->scopes[id]);
}

/* Scopes of the nodes that call functions, outer frames first. */
static int scopes_of_calls(struct scoper *k)
{
    struct state *s = k->s;
    uint32_t *of_frame = k->of_frame;
    for (uint32_t f = 1; f < s->walk.n_frames; f++) {
        int rc = s->m->format == IR_PT2 ? 0 : scope_from_metadata(k, s->walk.frames[f].node, &of_frame[f]);
        if (!rc && of_frame[f] == 0)
            rc = scope_from_call(s, f, &of_frame[f]);
        if (rc)
            return rc;
        if (of_frame[f] == 0)
            of_frame[f] = of_frame[s->walk.frames[f].parent];
    }
    return 0;
}

bool scopes_by_name(const struct state *s)
{
    for (uint32_t i = 1; i < s->n_scopes; i++)
        if (s->scopes[i].kind == SCOPE_NAME)
            return true;
    return false;
}

void scopes_free(struct state *s)
{
    names_free(&s->scope_index);
    free(s->scopes);
    free(s->scope_of);
    s->scopes = NULL;
    s->scope_of = NULL;
    s->n_scopes = 0;
}

/* The scope of a node whose list of scopes was read before; 0 when it was not, or tells none. */
static uint32_t scope_known(const struct scoper *k, uint32_t node)
{
    const struct ir_model *m = k->s->m;
    uint32_t list = m->noted && m->scope_lists ? m->scope_lists[node] : 0;
    return list == 0 || list == IR_NONE || k->of_list[list] == UNREAD ? 0 : k->of_list[list];
}

static int scope_of_step(struct scoper *k, uint32_t step)
{
    struct state *s = k->s;
    struct step st = walk_step(&s->walk, step);
    uint32_t *scope = &s->scope_of[step];
    *scope = scope_known(k, st.node);
    if (*scope)
        return 0;
    int rc = scope_of_node(k, st.node, scope);
    if (!rc && *scope == 0)
        note_deep(k, step);
    if (!rc && *scope == 0)
        *scope = k->of_frame[st.frame];
    return rc;
}

static int scoper_init(struct scoper *k, struct state *s)
{
    size_t n_lists = (size_t)s->m->n_scope_lists + 1;
    *k = (struct scoper){.s = s};
    /* Room for one of each list, which is what exporter metadata come to. */
    if (grow(&s->scopes, &s->cap_scopes, (size_t)s->m->n_lists + 1, sizeof *s->scopes) != 0 ||
        names_intern(&s->scope_index, STR_LIT("")) == NAME_NONE ||
        add_scope(s, STR_LIT(""), SCOPE_NAME) == IR_NONE)
        return IR_EMEM;
    s->scope_of = calloc((size_t)s->walk.n_steps + 1, sizeof *s->scope_of);
    k->of_frame = arena_alloc(&s->arena, s->walk.n_frames, sizeof *k->of_frame);
    k->of_list = malloc(n_lists * sizeof *k->of_list);
    if (!s->scope_of || !k->of_frame || !k->of_list)
        return IR_EMEM;
    memset(k->of_list, 0xff, n_lists * sizeof *k->of_list);
    return 0;
}

static void warn_deep(const struct scoper *k)
{
    if (k->n_deep)
        diag_warn(
            k->s->d,
            "%u node%s (the first: '%.*s') lie%s more than %d modules deep: their modules are not known",
            k->n_deep, k->n_deep == 1 ? "" : "s", STR_ARG(node_name(k->s, k->deep)),
            k->n_deep == 1 ? "s" : "", FQN_DEPTH_MAX);
}

int pass_scope(struct state *s)
{
    struct scoper k;
    int rc = scoper_init(&k, s);
    if (!rc)
        rc = scopes_of_calls(&k);
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++)
        rc = scope_of_step(&k, i);
    free(k.of_list);
    if (!rc)
        warn_deep(&k);
    return rc;
}
