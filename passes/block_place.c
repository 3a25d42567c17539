/* Block place: which blocks a scope or a parameter's name lies in. Scopes of TorchScript leave out
 * containers, so one may stand for several blocks. */
#include "passes/block.h"
#include "passes/fqn.h"
#include "passes/linear.h"

#include "ir/pylist.h"

#include <stdlib.h>

/* The innermost block around each module. */
static int find_module_blocks(struct blocker *b)
{
    const struct modules *t = &b->s->modules;
    b->of_module = malloc((size_t)(t->n + 1) * sizeof *b->of_module);
    if (!b->of_module)
        return IR_EMEM;
    for (uint32_t i = 0; i < t->n; i++)
        b->of_module[i] = MODULES_OPEN;
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        uint32_t id = modules_find(t, b->blocks[i]);
        if (id != NAME_NONE)
            b->of_module[id] = i;
    }
    modules_inherit(t, b->of_module, IR_NONE);
    return 0;
}

int index_names(struct blocker *b)
{
    b->next = malloc((size_t)(b->n_blocks + 1) * sizeof *b->next);
    if (!b->next)
        return IR_EMEM;
    for (uint32_t i = b->n_blocks; i-- > 0;) {
        uint32_t before = b->names.n, id = names_intern(&b->names, fqn_unqualified(b->blocks[i]));
        if (id == NAME_NONE || grow(&b->first_of, &b->cap_first, (size_t)id + 1, sizeof *b->first_of) != 0)
            return IR_EMEM;
        b->next[i] = b->names.n > before ? IR_NONE : b->first_of[id];
        b->first_of[id] = i;
    }
    return find_module_blocks(b);
}

/* The innermost block that is `fqn` or lies around it. */
uint32_t block_of_fqn(const struct blocker *b, struct str fqn)
{
    for (; fqn.n; fqn = fqn_parent(fqn)) {
        uint32_t id = names_find(&b->index, fqn);
        if (id != NAME_NONE)
            return id;
    }
    return IR_NONE;
}

static int add_candidate(struct blocker *b, struct candidates *c, uint32_t block)
{
    if (grow(&b->candidates, &b->cap_candidates, (size_t)b->n_candidates + 1, sizeof *b->candidates) != 0)
        return IR_EMEM;
    b->candidates[b->n_candidates++] = block;
    c->n++;
    return 0;
}

/* Blocks whose own scope is atoms[0..depth]. */
static int candidates_at(struct blocker *b, const struct scope *sc, uint32_t depth, bool stem,
                         struct candidates *out)
{
    struct str atom = stem ? atom_stem(sc->atoms[depth]) : sc->atoms[depth];
    uint32_t id = names_find(&b->names, atom);
    int rc = 0;
    if (id == NAME_NONE || (stem && atom.n == sc->atoms[depth].n))
        return 0;
    for (uint32_t i = b->first_of[id]; !rc && i != IR_NONE && out->n < CANDIDATES_MAX; i = b->next[i])
        if (scope_fits(sc->atoms, depth + 1, b->blocks[i], stem))
            rc = add_candidate(b, out, i);
    return rc;
}

/* Where the text of a NAME scope ends after its atom `depth`, without that atom's suffix. */
static struct str path_text(const struct scope *sc, uint32_t depth, bool stem)
{
    size_t suffix = stem ? sc->atoms[depth].n - atom_stem(sc->atoms[depth]).n : 0;
    return str_sub(sc->raw, 0, sc->ends[depth] - suffix);
}

/* Strict torch.export, and with it the dynamo exporter, call modules of torch.nn as they are
 * (TransformerEncoder): nodes inside have its scope, and only their parameters' names tell the layer. */
static bool hides_blocks(const struct blocker *b, const struct scope *sc)
{
    if (!str_starts(sc->cls, STR_LIT("torch.nn.modules.")))
        return false;
    for (uint32_t i = 0; i < b->n_blocks; i++)
        if (fqn_inside(b->blocks[i], sc->fqn))
            return true;
    return false;
}

/* The innermost block among the modules that a STACK scope goes through. */
static uint32_t block_in_stack(const struct blocker *b, const struct scope *sc)
{
    uint32_t id = IR_NONE;
    for (uint32_t j = sc->n_atoms; j-- > 0 && id == IR_NONE;)
        id = names_find(&b->index, sc->fqns[j]);
    return id;
}

/* ... that a META scope goes through: of all modules but the last only the node's metadata tell. */
static int block_in_list(const struct blocker *b, const struct scope *sc, uint32_t *id)
{
    struct state *s = b->s;
    struct str list, item, last;
    size_t p = 0;
    int rc = s->m->source->meta(s->m, sc->node, "pkg.torch.onnx.name_scopes", &list);
    if (rc <= 0 || !pylist_before_last(list, &last))
        return rc < 0 ? rc : 0;
    while (pylist_next(list, &p, &item)) {
        struct str fqn = fqn_of_source(item, &s->arena);
        if (fqn.s)
            fqn = fqn_clean(fqn, &s->arena);
        if (!fqn.s)
            return IR_EMEM;
        uint32_t found = names_find(&b->index, fqn);
        *id = found == NAME_NONE ? *id : found;
    }
    return 0;
}

/* A scope that tells its module in full has one block at most: the one that called it, which need not be the
 * one that its name is in. */
static int candidate_of_fqn(struct blocker *b, struct scope *sc, struct candidates *c)
{
    uint32_t id = sc->kind == SCOPE_STACK ? block_in_stack(b, sc) : IR_NONE;
    int rc = 0;
    if (id == IR_NONE)
        id = sc->module == IR_NONE ? block_of_fqn(b, sc->fqn) : b->of_module[sc->module];
    if (id == IR_NONE && sc->kind == SCOPE_META)
        rc = block_in_list(b, sc, &id);
    if (rc)
        return rc;
    sc->block = id;
    c->hides = id == IR_NONE && hides_blocks(b, sc);
    for (uint32_t j = 0; sc->fqns && id != IR_NONE && j < sc->n_atoms; j++)
        if (str_eq(sc->fqns[j], b->blocks[id]))
            sc->depth = (uint16_t)j;
    return id == IR_NONE ? 0 : add_candidate(b, c, id);
}

/* The full FQN of the scope is known: no need to guess between several blocks. */
static void keep_certain(struct blocker *b, struct scope *sc, struct candidates *c)
{
    bool all_known = true; /* a block that only --blocks and scopes tell of is none of the known modules */
    for (uint32_t i = 0; i < c->n; i++)
        all_known &= modules_find(&b->s->modules, b->blocks[candidate(b, c, i)]) != NAME_NONE;
    uint32_t id = all_known ? block_of_fqn(b, sc->fqn) : IR_NONE;
    for (uint32_t i = 0; i < c->n && id != IR_NONE; i++)
        if (candidate(b, c, i) == id) {
            sc->block = b->candidates[c->first] = id;
            c->n = 1;
        }
}

static int candidates_of(struct blocker *b, struct scope *sc, struct candidates *c)
{
    *c = (struct candidates){.first = b->n_candidates, .path = IR_NONE};
    if (sc->kind != SCOPE_NAME)
        return candidate_of_fqn(b, sc, c);
    bool stem = false;
    int rc = 0;
    for (uint32_t i = sc->n_atoms; !rc && i-- > 0 && c->n == 0;) {
        rc = candidates_at(b, sc, i, false, c);
        if (!rc && c->n == 0 && i + 1 == sc->n_atoms) {
            rc = candidates_at(b, sc, i, true, c);
            stem = c->n > 0;
        }
        sc->depth = (uint16_t)i;
    }
    if (rc || c->n == 0)
        return rc;
    sc->block = candidate(b, c, 0);
    if (c->n > 1 && sc->certain)
        keep_certain(b, sc, c);
    struct str text = path_text(sc, sc->depth, stem);
    c->path = names_intern(&b->paths, text);
    return c->path == NAME_NONE ? IR_EMEM : 0;
}

int all_candidates(struct blocker *b)
{
    struct state *s = b->s;
    b->of_scope = malloc(s->n_scopes * sizeof *b->of_scope);
    if (!b->of_scope)
        return IR_EMEM;
    b->of_scope[0] = (struct candidates){.path = IR_NONE};
    for (uint32_t i = 1; i < s->n_scopes; i++) {
        int rc = candidates_of(b, &s->scopes[i], &b->of_scope[i]);
        if (rc)
            return rc;
    }
    return 0;
}

int place_named(struct blocker *b)
{
    const struct state *s = b->s;
    b->named_block = malloc((size_t)(s->named.n + 1) * sizeof *b->named_block);
    b->named_scope = calloc((size_t)s->named.n + 1, sizeof *b->named_scope);
    if (!b->named_block || !b->named_scope)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->named.n; i++) {
        uint32_t module = s->named.a[i].module;
        b->named_block[i] = module == IR_NONE ? IR_NONE : b->of_module[module];
    }
    return drop_merged(b);
}

uint32_t block_of_value(const struct blocker *b, uint32_t value, struct str *module)
{
    const struct state *s = b->s;
    const struct named *n = named_value(s, value);
    uint32_t block = n ? b->named_block[n - s->named.a] : IR_NONE;
    *module = block == IR_NONE ? ((struct str){0}) : named_fqn(s, n);
    return block;
}

/* The one block that the named parameters among a node's operands belong to, or IR_NONE. */
uint32_t block_of_operands(const struct blocker *b, struct step st)
{
    const struct ir_node *n = &b->s->m->nodes[st.node];
    uint32_t found = IR_NONE;
    struct str module;
    for (uint32_t j = 0; j < ir_node_n_in(n); j++) {
        struct use u = walk_resolve(&b->s->walk, walk_input(&b->s->walk, st, j));
        uint32_t id = u.value == IR_NONE ? IR_NONE : block_of_value(b, u.value, &module);
        if (id != IR_NONE && found != IR_NONE && id != found)
            return IR_NONE;
        if (id != IR_NONE)
            found = id;
    }
    return found;
}
