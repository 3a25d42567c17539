/* Forced: which rhs shapes each block forces to recompute, and what is said when a configured FQN names
 * nothing (POLICY.md 2).
 *
 * Needs linear and block. Source: torchtitan's option "force recompute mm shapes by FQNs". */
#include "passes/decide.h"
#include "passes/fqn.h"
#include "passes/linear.h"
#include "passes/match.h"

#include <stdlib.h>

#define LISTED_MAX 5 /* names shown in a message */

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

/* ---- text for messages ---- */

struct list {
    char *text;
    uint32_t n;
};

static int list_add(struct state *s, struct list *l, struct str item)
{
    l->n++;
    if (l->n > LISTED_MAX + 1)
        return 0;
    const char *more = l->n > LISTED_MAX ? "..." : NULL;
    l->text = l->text
                  ? arena_printf(&s->arena, "%s, %.*s", l->text, more ? 3 : (int)item.n, more ? more : item.s)
                  : arena_printf(&s->arena, "%.*s", STR_ARG(item));
    return l->text ? 0 : IR_EMEM;
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

/* What one configured FQN hit. */
struct hits {
    const bool *tied; /* per module: another Linear has its weight */
    uint32_t linears, loose, outside;
    uint32_t untold; /* modules of which the file has nothing but the name */
    struct str first_loose, first_outside;
};

/* For a message: what a module is where no class tells, as far as it can be told. */
static const char *what_it_is(const struct module *m)
{
    if (m->embedding)
        return "an Embedding, ";
    if (m->untransposed)
        return "a module that multiplies by its weight as it is, not transposed (Conv1D), ";
    return m->children ? "a container, " : "";
}

static int not_a_linear(struct state *s, struct str name, uint32_t module)
{
    struct modules *t = &s->modules;
    struct str fqn = t->a[module].fqn;
    struct list inside = {0};
    for (uint32_t i = 0; i < t->n; i++)
        if (t->a[i].linear && fqn_inside(t->a[i].fqn, fqn)) {
            int rc = list_add(s, &inside, fqn_relative(t->a[i].fqn, fqn));
            if (rc)
                return rc;
        }
    const struct module *m = &t->a[module];
    struct str cls = module_class(s, m);
    const char *what = cls.n ? arena_printf(&s->arena, "'%.*s', ", STR_ARG(cls)) : what_it_is(m);
    if (!what)
        return IR_EMEM;
    return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' names '%.*s', %swhich is not a Linear%s%s", STR_ARG(name),
                      STR_ARG(fqn), what, inside.n ? "; Linears inside it: " : "; no Linear lies inside it",
                      inside.n ? inside.text : "");
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

/* All modules of all blocks against one configured FQN. */
static int match_one(struct state *s, struct str name, struct hits *h)
{
    struct modules *t = &s->modules;
    uint32_t wrong = IR_NONE; /* no Linear: the one in the first block is named */
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t block = s->module_block[i], object = t->a[i].same_as == IR_NONE ? i : t->a[i].same_as;
        struct str fqn = t->a[i].fqn;
        if (object != i && s->module_block[object] == block)
            continue; /* each block lists a module once, by its first name there */
        if (block == IR_NONE) {
            if (match_literal(s->o->match, name, fqn, STR_LIT("")) && h->outside++ == 0)
                h->first_outside = fqn;
            continue;
        }
        if (!match_literal(s->o->match, name, fqn, block_base(s, block))) {
            if (t->a[i].composed && t->a[i].linear &&
                match_loose(s->o->match, name, fqn, block_base(s, block)) && h->loose++ == 0)
                h->first_loose = fqn;
            continue;
        }
        if (!t->a[object].linear && untold(s, &t->a[object])) {
            h->untold++;
            continue;
        }
        if (!t->a[object].linear) {
            if (wrong == IR_NONE || block < s->module_block[wrong])
                wrong = i;
            continue;
        }
        h->linears++;
        int rc = add_forced(s->plan, block, shape_of_linear(&t->a[object]), name,
                            h->tied[i] ? "assumed-tied" : NULL);
        if (rc)
            return rc;
    }
    /* A pattern with a wildcard selects the Linears among what it fits; a name means one module. */
    bool selects = s->o->match == MATCH_GLOB && h->linears && fqn_has_wildcard(name);
    return wrong == IR_NONE || selects ? 0 : not_a_linear(s, name, wrong);
}

/* Blocks in which the name hit nothing as it stands: may it be a Linear whose containers the scopes leave
 * out? */
static int match_composed(struct state *s, struct str name, uint32_t *n)
{
    struct modules *t = &s->modules;
    *n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t block = s->module_block[i];
        if (block == IR_NONE || !t->a[i].composed || !t->a[i].linear ||
            match_literal(s->o->match, name, t->a[i].fqn, block_base(s, block)) ||
            !match_loose(s->o->match, name, t->a[i].fqn, block_base(s, block)))
            continue;
        (*n)++;
        int rc = add_forced(s->plan, block, shape_of_linear(&t->a[i]), name, "assumed-containers");
        if (rc)
            return rc;
    }
    return 0;
}

/* Up to three names of Linears inside blocks that are most like `name`. */
static int closest(struct state *s, struct str name, struct list *out)
{
    struct str best[3];
    uint32_t cost[3], n = 0;
    struct names seen; /* blocks are alike */
    int rc = 0;
    names_init(&seen);
    for (uint32_t i = 0; !rc && i < s->modules.n; i++) {
        uint32_t block = s->module_block[i], before = seen.n;
        if (block == IR_NONE || !s->modules.a[i].linear)
            continue;
        struct str rel = fqn_relative(s->modules.a[i].fqn, block_base(s, block));
        if (names_intern(&seen, rel) == NAME_NONE)
            rc = IR_EMEM;
        if (seen.n == before)
            continue;
        uint32_t d = name_distance(name, rel), at = n < 3 ? n : 3;
        while (at > 0 && d < cost[at - 1])
            at--;
        if (at == 3)
            continue;
        for (uint32_t j = n < 3 ? n : 2; j > at; j--)
            best[j] = best[j - 1], cost[j] = cost[j - 1];
        best[at] = rel, cost[at] = d;
        n += n < 3;
    }
    names_free(&seen);
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = list_add(s, out, best[i]);
    return rc;
}

/* Is a module `fqn` inside that of the scope? */
static bool inside_scope(const struct scope *sc, struct str fqn)
{
    if (sc->kind != SCOPE_NAME)
        return fqn_inside(fqn, sc->fqn);
    for (struct str up = fqn_parent(fqn); up.n; up = fqn_parent(up))
        if (scope_fits(sc->atoms, sc->n_atoms, up, true))
            return true;
    return sc->n_atoms == 0;
}

/* A configured FQN, and in full in the block last asked about. */
struct asked {
    struct str name, full;
    uint32_t block; /* IR_NONE: none yet */
};

/* Can the weight of an mm be that of the module asked for? Code uses the weights of its own module and of
 * those inside. IR_EMEM, else 0. */
static int may_be(struct state *s, const struct mm *mm, struct asked *a, bool *may)
{
    const struct scope *sc = step_scope(s, mm->step);
    *may = true;
    if (s->o->match != MATCH_EXACT || mm->fqn.n == 0 || sc->call || inside_scope(sc, a->name))
        return 0;
    if (a->block != mm->block) {
        a->block = mm->block;
        a->full = fqn_join(&s->arena, block_base(s, mm->block), a->name);
        if (!a->full.s)
            return IR_EMEM;
    }
    *may = inside_scope(sc, a->full);
    return 0;
}

/* mms of blocks that multiply by a weight of which no name is known: it might be that of the module asked
 * for. The name of the module whose code multiplies does not tell. */
static int nameless(struct state *s, struct str fqn, struct list *out)
{
    struct asked asked = {.name = fqn, .block = IR_NONE};
    for (uint32_t i = 0; i < s->n_mms; i++) {
        const struct mm *mm = &s->mms[i];
        if (!(mm->counted || mm->aten == ATEN_ADDMM) || mm->block == IR_NONE || !mm->nameless ||
            mm->weight.value == IR_NONE)
            continue;
        bool may;
        if (may_be(s, mm, &asked, &may) != 0)
            return IR_EMEM;
        if (!may)
            continue;
        struct str name = node_name(s, mm->step);
        if (name.n == 0)
            name = ir_value_name(s->m, walk_output(&s->walk, walk_step(&s->walk, mm->step), 0).value);
        int rc = list_add(s, out, name);
        if (rc)
            return rc;
    }
    return 0;
}

/* Is `text` the name `name` in full, or in some block? */
static bool named_in_block(struct state *s, struct str text, struct str name)
{
    if (!str_ends(text, name))
        return false;
    if (text.n == name.n || whole_graph(s))
        return text.n == name.n;
    uint32_t module = modules_find(&s->modules, str_sub(text, 0, text.n - name.n - 1));
    uint32_t block = module == NAME_NONE ? IR_NONE : s->module_block[module];
    return block != IR_NONE && str_eq(fqn_relative(text, block_base(s, block)), name);
}

/* Is it a parameter's name? Then it is no module's: a module cannot have both. */
static int is_parameter(struct state *s, struct str name, bool *is)
{
    *is = false;
    for (uint32_t i = 0; !*is && i < s->named.n; i++) {
        struct str text = fqn_clean(ir_value_name(s->m, s->named.a[i].value), &s->arena);
        if (!text.s)
            return IR_EMEM;
        *is = named_in_block(s, text, name);
    }
    return 0;
}

static int missed(struct state *s, struct str name, const struct hits *h)
{
    struct list unnamed = {0}, near = {0};
    if (h->untold) {
        if (s->o->strict)
            return diag_error(s->d, IR_EPOLICY,
                              "FQN '%.*s' cannot be told to be a Linear: it is never called", STR_ARG(name));
        diag_warn(s->d,
                  "FQN '%.*s' names a module that is never called and whose weight is not in the file: if it "
                  "is a Linear, "
                  "say --force-shape KxN to force its shape",
                  STR_ARG(name));
        return 0;
    }
    if (h->outside) {
        diag_warn(
            s->d,
            "FQN '%.*s' is found only outside every block ('%.*s'): only modules inside blocks can match",
            STR_ARG(name), STR_ARG(h->first_outside));
        return s->o->strict ? diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block", STR_ARG(name))
                            : 0;
    }
    bool parameter;
    int rc = is_parameter(s, name, &parameter);
    if (!rc && !parameter)
        rc = nameless(s, name, &unnamed);
    if (!rc && unnamed.n)
        return diag_error(
            s->d, IR_EPOLICY,
            "FQN '%.*s' matches no known name, but %u mm%s in blocks ha%s none (%s): re-export with names "
            "kept, or say --force-shape KxN",
            STR_ARG(name), unnamed.n, unnamed.n == 1 ? "" : "s", unnamed.n == 1 ? "s" : "ve", unnamed.text);
    if (!rc)
        rc = closest(s, name, &near);
    if (rc)
        return rc;
    const char *lead = near.n ? "; closest: " : "; the blocks hold no Linear",
               *names = near.n ? near.text : "";
    if (s->o->strict)
        return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    diag_warn(s->d, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    return 0;
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
        struct hits h = {.tied = tied};
        uint32_t loose = 0;
        rc = match_one(s, name, &h);
        if (!rc && h.loose && h.linears == 0)
            rc = match_composed(s, name, &loose);
        if (!rc && loose)
            diag_note(s->d,
                      "FQN '%.*s' is taken for '%.*s': this file leaves out containers that are never called",
                      STR_ARG(name), STR_ARG(h.first_loose));
        if (!rc && h.linears + loose == 0)
            rc = missed(s, name, &h);
    }
    for (uint32_t b = 0; !rc && b < s->plan->n_blocks; b++)
        for (uint32_t i = 0; !rc && i < s->o->n_force; i++)
            rc = add_forced(s->plan, b, s->o->force[i], (struct str){0}, NULL);
    return rc;
}

/* Was this module named by a configured FQN? */
static bool is_named(const struct state *s, const struct str *names, uint32_t module)
{
    for (uint32_t i = 0; i < s->o->n_fqns; i++) {
        struct str base = block_base(s, s->module_block[module]);
        if (match_literal(s->o->match, names[i], s->modules.a[module].fqn, base) ||
            (s->modules.a[module].composed &&
             match_loose(s->o->match, names[i], s->modules.a[module].fqn, base)))
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
