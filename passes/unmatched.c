/* Unmatched: what is said of a configured FQN that names no Linear of any block (POLICY.md 2 "Names that
 * match"): what it names instead, whether it may be the name of an mm that has lost its own, and which names
 * are most like it. */
#include "passes/forced.h"

#include "passes/fqn.h"
#include "passes/linear.h"
#include "passes/match.h"

#define LISTED_MAX 5 /* names shown in a message */

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

/* For a message: what a module is where no class tells, as far as it can be told. */
static const char *what_it_is(const struct module *m)
{
    if (m->embedding)
        return "an Embedding, ";
    if (m->untransposed)
        return "a module that multiplies by its weight as it is, not transposed (Conv1D), ";
    return m->children ? "a container, " : "";
}

int not_a_linear(struct state *s, struct str name, uint32_t module)
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

static int missed_untold(struct state *s, struct str name)
{
    if (s->o->strict)
        return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' cannot be told to be a Linear: it is never called",
                          STR_ARG(name));
    diag_warn(s->d,
              "FQN '%.*s' names a module that is never called and whose weight is not in the file: if it is "
              "a Linear, say --force-shape KxN to force its shape",
              STR_ARG(name));
    return 0;
}

static int missed_blocks(struct state *s, struct str name, struct str outside)
{
    diag_warn(s->d,
              "FQN '%.*s' is found only outside every block ('%.*s'): only modules inside blocks can match",
              STR_ARG(name), STR_ARG(outside));
    return s->o->strict ? diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block", STR_ARG(name)) : 0;
}

/* No module has the name. */
static int missed_all(struct state *s, struct str name)
{
    struct list near = {0};
    int rc = closest(s, name, &near);
    if (rc)
        return rc;
    const char *lead = near.n ? "; closest: " : "; the blocks hold no Linear",
               *names = near.n ? near.text : "";
    if (s->o->strict)
        return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    diag_warn(s->d, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    return 0;
}

int name_missed(struct state *s, struct str name, const struct hits *h)
{
    struct list unnamed = {0};
    bool parameter;
    if (h->untold)
        return missed_untold(s, name);
    if (h->outside)
        return missed_blocks(s, name, h->first_outside);
    int rc = is_parameter(s, name, &parameter);
    if (!rc && !parameter)
        rc = nameless(s, name, &unnamed);
    if (!rc && unnamed.n)
        return diag_error(
            s->d, IR_EPOLICY,
            "FQN '%.*s' matches no known name, but %u mm%s in blocks ha%s none (%s): re-export with names "
            "kept, or say --force-shape KxN",
            STR_ARG(name), unnamed.n, unnamed.n == 1 ? "" : "s", unnamed.n == 1 ? "s" : "ve", unnamed.text);
    return rc ? rc : missed_all(s, name);
}
