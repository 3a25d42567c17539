/* Block place: which blocks a scope or a parameter's name lies in. Scopes of TorchScript leave out
 * containers, so one may stand for several blocks. */
#include "passes/block.h"
#include "passes/fqn.h"
#include "passes/linear.h"

#include <stdlib.h>

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
    return 0;
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

/* Blocks whose own scope is atoms[0..depth]. */
static void candidates_at(const struct blocker *b, const struct scope *sc, uint32_t depth, bool stem,
                          struct candidates *out)
{
    struct str atom = stem ? atom_stem(sc->atoms[depth]) : sc->atoms[depth];
    uint32_t id = names_find(&b->names, atom);
    if (id == NAME_NONE || (stem && atom.n == sc->atoms[depth].n))
        return;
    for (uint32_t i = b->first_of[id]; i != IR_NONE && out->n < CANDIDATES_MAX; i = b->next[i])
        if (scope_fits(sc->atoms, depth + 1, b->blocks[i], stem))
            out->block[out->n++] = i;
}

/* Where the text of a NAME scope ends after its atom `depth`, without that atom's suffix. */
static struct str path_text(const struct scope *sc, uint32_t depth, bool stem)
{
    size_t suffix = stem ? sc->atoms[depth].n - atom_stem(sc->atoms[depth]).n : 0;
    return str_sub(sc->raw, 0, sc->ends[depth] - suffix);
}

/* Strict torch.export, and with it the dynamo exporter, call modules of torch.nn as they are
 * (TransformerEncoder): nodes inside have its scope, and only the names of their parameters tell the layer.
 */
static bool hides_blocks(const struct blocker *b, const struct scope *sc)
{
    if (!str_starts(sc->cls, STR_LIT("torch.nn.modules.")))
        return false;
    for (uint32_t i = 0; i < b->n_blocks; i++)
        if (fqn_inside(b->blocks[i], sc->fqn))
            return true;
    return false;
}

static int candidates_of(struct blocker *b, struct scope *sc, struct candidates *c)
{
    *c = (struct candidates){.path = IR_NONE};
    if (sc->kind != SCOPE_NAME) {
        uint32_t id = block_of_fqn(b, sc->fqn);
        if (id != IR_NONE)
            c->block[c->n++] = id;
        sc->block = id;
        c->hides = id == IR_NONE && hides_blocks(b, sc);
        for (uint32_t j = 0; sc->fqns && id != IR_NONE && j < sc->n_atoms; j++)
            if (str_eq(sc->fqns[j], b->blocks[id]))
                sc->depth = j;
        return 0;
    }
    bool stem = false;
    for (uint32_t i = sc->n_atoms; i-- > 0 && c->n == 0;) {
        candidates_at(b, sc, i, false, c);
        if (c->n == 0 && i + 1 == sc->n_atoms) {
            candidates_at(b, sc, i, true, c);
            stem = c->n > 0;
        }
        sc->depth = i;
    }
    if (c->n == 0)
        return 0;
    sc->block = c->block[0];
    bool all_known = true; /* a block that only --blocks and scopes tell of is none of the known modules */
    for (uint32_t i = 0; i < c->n; i++)
        all_known &= modules_find(&b->s->modules, b->blocks[c->block[i]]) != NAME_NONE;
    if (c->n > 1 && sc->certain && all_known) { /* the full FQN is known: no need to guess */
        uint32_t id = block_of_fqn(b, sc->fqn);
        for (uint32_t i = 0; i < c->n; i++)
            if (c->block[i] == id)
                c->block[0] = id, c->n = 1, sc->block = id;
    }
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

/* Could a node of this scope use a parameter of this module: the module's own node, one of a module around it
 * or inside it? */
static bool could_use(const struct scope *sc, struct str module)
{
    for (struct str up = module; up.n; up = fqn_parent(up))
        if (scope_fits(sc->atoms, sc->n_atoms, up, true))
            return true;
    for (uint32_t k = 1; k < sc->n_atoms; k++)
        if (scope_fits(sc->atoms, k, module, true))
            return true;
    return false;
}

/* Tools merge parameters of equal value under the name of one of them: where a node of another module uses
 * it, the name says nothing of who does. */
void find_merged_params(struct blocker *b)
{
    struct state *s = b->s;
    const struct walk *w = &s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        const struct scope *sc = &s->scopes[s->scope_of[i]];
        const struct ir_node *n = &s->m->nodes[w->steps[i].node];
        for (uint32_t j = 0; sc->kind == SCOPE_NAME && sc->n_atoms && j < n->n_in; j++) {
            struct use u = walk_resolve(w, walk_input(w, w->steps[i], j));
            struct str module;
            if (u.value != IR_NONE && block_of_value(b, u.value, &module) != IR_NONE &&
                !could_use(sc, module))
                b->param_block[u.value] = IR_NONE;
        }
    }
}

uint32_t block_of_value(struct blocker *b, uint32_t value, struct str *module)
{
    struct state *s = b->s;
    uint32_t *out = &b->param_block[value];
    enum param_kind kind;
    if (*out == NOT_LOOKED) {
        struct str fqn;
        *out = IR_NONE;
        if (carries_name(s, value) && fqn_of_param(&kind, &fqn, ir_value_name(s->m, value), &s->arena) == 0 &&
            kind != PARAM_NO_NAME)
            *out = block_of_fqn(b, fqn);
        if (*out != IR_NONE) /* few have: the rest of the array is never touched, and takes no memory */
            b->param_module[value] = fqn;
    }
    *module = *out == IR_NONE ? (struct str){0} : b->param_module[value];
    return *out;
}

/* The one block that the named parameters among a node's operands belong to, or IR_NONE. */
uint32_t block_of_operands(struct blocker *b, struct step st)
{
    const struct ir_node *n = &b->s->m->nodes[st.node];
    uint32_t found = IR_NONE;
    struct str module;
    for (uint32_t j = 0; j < n->n_in; j++) {
        struct use u = walk_resolve(&b->s->walk, walk_input(&b->s->walk, st, j));
        uint32_t id = u.value == IR_NONE ? IR_NONE : block_of_value(b, u.value, &module);
        if (id != IR_NONE && found != IR_NONE && id != found)
            return IR_NONE;
        if (id != IR_NONE)
            found = id;
    }
    return found;
}
