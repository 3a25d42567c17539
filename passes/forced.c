/* Forced: which rhs shapes each block forces to recompute (POLICY.md 2).
 *
 * Needs linear and block. Source: torchtitan's option "force recompute mm shapes by FQNs". */
#include "passes/forced.h"

#include "passes/fqn.h"
#include "passes/match.h"

#include <stdlib.h>

bool whole_graph(const struct state *s)
{
    return str_is(str_of(s->plan->blocks_how), "whole");
}

struct str block_base(const struct state *s, uint32_t block)
{
    return whole_graph(s) ? STR_LIT("") : s->plan->blocks[block].fqn;
}

static bool same_shape(struct mm_shape a, struct mm_shape b)
{
    return a.k == b.k && a.n == b.n;
}

struct plan_forced *forced_find(const struct plan_block *b, struct mm_shape rhs)
{
    for (uint32_t i = 0; i < b->n_forced; i++)
        if (same_shape(b->forced[i].rhs, rhs))
            return &b->forced[i];
    return NULL;
}

static int add_forced(struct plan *p, uint32_t block, struct mm_shape rhs, struct str fqn,
                      const char *assumption)
{
    struct plan_block *b = &p->blocks[block];
    if (forced_find(b, rhs))
        return 0;
    bool full =
        (b->n_forced & (b->n_forced + 1)) == 0; /* room is 1, 3, 7, ...: grown by copying within the arena */
    if (full) {
        struct plan_forced *more = arena_alloc(&p->arena, (size_t)b->n_forced * 2 + 1, sizeof *more);
        if (!more)
            return IR_EMEM;
        if (b->n_forced)
            memcpy(more, b->forced, b->n_forced * sizeof *more);
        b->forced = more;
    }
    char *name = arena_strdup(&p->arena, fqn.s ? fqn.s : "", fqn.n);
    if (!name)
        return IR_EMEM;
    b->forced[b->n_forced++] =
        (struct plan_forced){.rhs = rhs, .fqn = {name, fqn.n}, .assumption = assumption};
    return 0;
}

/* A .pt2 lists modules that were never called and whose parameters were dropped: Linear or not, nothing
 * tells. */
static bool untold(const struct state *s, const struct module *m)
{
    return !m->called && !m->has_param && !m->children && module_class(s, m).n == 0 && !m->composed;
}

static struct mm_shape shape_of_linear(const struct module *m)
{
    return (struct mm_shape){m->in, m->out};
}

/* Two Linears of one weight, in an export that names each call by the path it was made through: two modules
 * with a tied weight, which torch lists both, or one module under two names, which it lists once?
 * (TorchScript shows the one module's name, and strict .pt2 its key: there the question does not arise.) */
static int find_tied(struct state *s, bool **out)
{
    const struct modules *t = &s->modules;
    bool shown = s->n_scopes < 2 || s->scopes[1].kind == SCOPE_NAME;
    size_t n_names = shown ? 0 : s->m->names.n;
    bool *tied = arena_alloc(&s->arena, t->n ? t->n : 1, sizeof *tied);
    uint32_t *first = malloc((n_names + 1) * sizeof *first); /* module per weight's name */
    int rc = tied && first ? 0 : IR_EMEM;
    if (!rc)
        memset(first, 0xff, n_names * sizeof *first);
    for (uint32_t i = 0; !rc && !shown && i < t->n; i++) {
        if (!t->a[i].linear || t->a[i].weight == IR_NONE)
            continue;
        uint32_t name = s->m->values[t->a[i].weight].name; /* equal names are one */
        if (names_text(&s->m->names, name).n == 0)
            continue;
        if (first[name] == IR_NONE)
            first[name] = i;
        else
            tied[i] = tied[first[name]] = true;
    }
    free(first);
    *out = tied;
    return rc;
}

/* May a name be a Linear's whose containers the scopes leave out? How many components are; 0: it may not. */
static uint32_t left_out(const struct state *s, struct str name, uint32_t module)
{
    const struct module *m = &s->modules.a[module];
    uint32_t block = s->module_block[module];
    return m->composed && m->linear ? match_loose(s->o->match, name, m->fqn, block_base(s, block)) : 0;
}

/* A module of a block that the name does not hit as it stands. */
static void note_loose(const struct state *s, struct str name, uint32_t module, struct hits *h)
{
    uint32_t n = left_out(s, name, module);
    if (n == 0 || (h->left_out && n >= h->left_out))
        return;
    h->left_out = n;
    h->first_loose = s->modules.a[module].fqn;
}

/* A module that the name hits; `object` is the one that it is another name of, or itself. */
static int note_hit(struct state *s, struct str name, uint32_t module, uint32_t object, struct hits *h)
{
    const struct module *m = &s->modules.a[object];
    uint32_t block = s->module_block[module];
    if (m->linear) {
        h->linears++;
        return add_forced(s->plan, block, shape_of_linear(m), name, h->tied[module] ? "assumed-tied" : NULL);
    }
    if (untold(s, m))
        h->untold++;
    else if (h->wrong == IR_NONE || block < s->module_block[h->wrong])
        h->wrong = module;
    return 0;
}

/* All modules of all blocks against one configured FQN. */
static int match_one(struct state *s, struct str name, struct hits *h)
{
    const struct modules *t = &s->modules;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < t->n; i++) {
        uint32_t block = s->module_block[i], object = t->a[i].same_as == IR_NONE ? i : t->a[i].same_as;
        struct str fqn = t->a[i].fqn;
        if (t->a[i].lent || (object != i && s->module_block[object] == block))
            continue; /* each block lists a module once, by its first name there */
        if (block == IR_NONE) {
            h->full_outside |= str_eq(name, fqn);
            if (match_literal(s->o->match, name, fqn, STR_LIT(""), &s->match_steps) && h->outside++ == 0)
                h->first_outside = fqn;
        } else if (match_literal(s->o->match, name, fqn, block_base(s, block), &s->match_steps)) {
            rc = note_hit(s, name, i, object, h);
        } else {
            note_loose(s, name, i, h);
        }
    }
    if (!rc)
        rc = check_match_steps(s);
    /* A pattern with a wildcard selects the Linears among what it fits; a name means one module. */
    bool selects = s->o->match == MATCH_GLOB && h->linears && fqn_has_wildcard(name);
    return rc || h->wrong == IR_NONE || selects ? rc : not_a_linear(s, name, h->wrong);
}

/* The name hit nothing as it stands: it is taken for the Linears whose names lack the fewest of its
 * components. A block that has such a one with more of them shows that the others are of another name. */
static int match_composed(struct state *s, struct str name, uint32_t fewest)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->modules.n; i++)
        if (s->module_block[i] != IR_NONE && left_out(s, name, i) == fewest)
            rc = add_forced(s->plan, s->module_block[i], shape_of_linear(&s->modules.a[i]), name,
                            "assumed-containers");
    return rc;
}

/* The configured FQNs without wrappers. */
static int clean_names(struct state *s, struct str **out)
{
    *out = arena_alloc(&s->arena, (size_t)s->o->n_fqns + 1, sizeof **out);
    if (!*out)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->o->n_fqns; i++) {
        (*out)[i] = fqn_clean(s->o->fqns[i], &s->arena);
        if (!(*out)[i].s)
            return IR_EMEM;
    }
    return 0;
}

static int forced_sets(struct state *s, const struct str *names)
{
    bool *tied;
    int rc = find_tied(s, &tied);
    for (uint32_t i = 0; !rc && i < s->o->n_fqns; i++) {
        struct str name = names[i];
        struct hits h = {.tied = tied, .wrong = IR_NONE};
        rc = match_one(s, name, &h);
        bool loose = h.left_out && h.linears == 0 && !h.full_outside;
        if (!rc && loose)
            rc = match_composed(s, name, h.left_out);
        if (!rc && loose)
            diag_note(s->d,
                      "FQN '%.*s' is taken for '%.*s': this file leaves out containers that are never called",
                      STR_ARG(name), STR_ARG(h.first_loose));
        if (!rc && h.linears == 0 && !loose)
            rc = name_missed(s, name, &h);
    }
    for (uint32_t b = 0; !rc && b < s->plan->n_blocks; b++)
        for (uint32_t i = 0; !rc && i < s->o->n_force; i++)
            rc = add_forced(s->plan, b, s->o->force[i], (struct str){0}, NULL);
    return rc;
}

/* Was this module named by a configured FQN? */
static bool is_named(struct state *s, const struct str *names, uint32_t module)
{
    for (uint32_t i = 0; i < s->o->n_fqns; i++) {
        struct str base = block_base(s, s->module_block[module]);
        if (match_literal(s->o->match, names[i], s->modules.a[module].fqn, base, &s->match_steps) ||
            left_out(s, names[i], module))
            return true;
    }
    return false;
}

/* The forced shape of its block that a Linear has without being named, or NULL. */
static struct plan_forced *also_forced(struct state *s, const struct str *names, uint32_t module)
{
    const struct module *mod = &s->modules.a[module];
    if (!mod->linear || s->module_block[module] == IR_NONE)
        return NULL;
    struct plan_block *b = &s->plan->blocks[s->module_block[module]];
    for (uint32_t j = 0; j < b->n_forced; j++)
        if (same_shape(b->forced[j].rhs, (struct mm_shape){mod->in, mod->out}))
            return is_named(s, names, module) ? NULL : &b->forced[j];
    return NULL;
}

/* Appends one name; with no text only measures. */
static void put_also(struct plan_forced *f, struct str fqn, char *text, size_t *n)
{
    if (text && *n)
        text[*n] = ',';
    *n += *n > 0;
    if (text)
        memcpy(text + *n, fqn.s, fqn.n);
    *n += fqn.n;
    f->also = (struct str){text, text ? *n : 0};
}

/* Which further Linears each forced shape hits: measured first, then written, so that a long list takes the
 * memory of its text alone. */
static int also_forces(struct state *s, const struct str *names)
{
    struct plan *p = s->plan;
    uint32_t *first = arena_alloc(&s->arena, (size_t)p->n_blocks + 1, sizeof *first);
    if (!first)
        return IR_EMEM;
    for (uint32_t b = 0; b < p->n_blocks; b++)
        first[b + 1] = first[b] + p->blocks[b].n_forced;
    size_t *n = arena_alloc(&s->arena, (size_t)first[p->n_blocks] + 1, sizeof *n);
    char **text = arena_alloc(&s->arena, (size_t)first[p->n_blocks] + 1, sizeof *text);
    if (!n || !text)
        return IR_EMEM;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < s->modules.n; i++) {
            struct plan_forced *f = also_forced(s, names, i);
            uint32_t block = s->module_block[i];
            if (!f)
                continue;
            uint32_t at = first[block] + (uint32_t)(f - p->blocks[block].forced);
            put_also(f, fqn_relative(s->modules.a[i].fqn, block_base(s, block)), text[at], &n[at]);
        }
        for (uint32_t i = 0; pass == 0 && i < first[p->n_blocks]; i++) {
            text[i] = n[i] ? arena_alloc(&p->arena, n[i] + 1, 1) : NULL;
            if (n[i] && !text[i])
                return IR_EMEM;
            n[i] = 0;
        }
    }
    return 0;
}

/* ---- the pass ---- */

/* The innermost block around each module. */
static int find_module_blocks(struct state *s)
{
    s->module_block = arena_alloc(&s->arena, (size_t)s->modules.n + 1, sizeof *s->module_block);
    if (!s->module_block)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->modules.n; i++)
        s->module_block[i] = MODULES_OPEN;
    for (uint32_t i = 0; i < s->plan->n_blocks; i++) {
        uint32_t id = modules_find(&s->modules, s->plan->blocks[i].fqn);
        if (id != NAME_NONE)
            s->module_block[id] = i;
    }
    modules_inherit(&s->modules, s->module_block, whole_graph(s) ? 0 : IR_NONE);
    return 0;
}

int pass_forced(struct state *s)
{
    struct str *names = NULL;
    int rc = find_module_blocks(s);
    if (!rc)
        rc = clean_names(s, &names);
    if (!rc)
        rc = forced_sets(s, names);
    if (!rc)
        rc = also_forces(s, names);
    return rc;
}
