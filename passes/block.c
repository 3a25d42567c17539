/* Block: which modules are blocks, and which call of which block each step belongs to.
 *
 * Needs walk, facts, scope, mm, linear and order. A call of a block is one checkpoint region, and the count
 * restarts with each. The parts, in the order in which they run: which modules are blocks
 * (passes/block_choice.c), which of them a scope or a parameter's name lies in (block_place.c), from steps to
 * runs (block_calls.c), runs that are several calls (block_repeats.c), and here what the plan and the mms get
 * of it. */
#include "passes/block.h"

#include "passes/fqn.h"
#include "passes/linear.h"

#include <stdlib.h>

/* What goes into the plan and the mms. */
struct publisher {
    struct blocker *b;
    uint32_t *new_id;         /* per block: its number in the plan, in the order of first calls */
    struct names used;        /* "scope/block": an ambiguous scope that was met in that block */
    struct use *first_weight; /* ... and the weight of its first mm there */
    size_t cap_used;
};

/* The weight of the first mm of a scope in a block; `mm`'s own when it is the first, or NULL when memory is
 * exhausted. */
static const struct use *first_weight(struct publisher *k, uint32_t scope, const struct mm *mm)
{
    char *key = arena_printf(&k->b->s->arena, "%u/%u", scope, mm->block);
    uint32_t before = k->used.n, id = key ? names_intern(&k->used, str_of(key)) : NAME_NONE;
    if (id == NAME_NONE || grow(&k->first_weight, &k->cap_used, (size_t)id + 1, sizeof *k->first_weight) != 0)
        return NULL;
    if (k->used.n > before)
        k->first_weight[id] = mm->weight;
    return &k->first_weight[id];
}

/* "/layers.0/proj_1" is layers.0.proj again, or that of another block of the same scope; but where this block
 * has used "/layers.0/proj" for another weight, it is a module of its own. */
static int settle_suffix(struct publisher *k, const struct mm *mm, const struct scope *sc, struct str *fqn)
{
    struct state *s = k->b->s;
    struct str suffix = str_sub(sc->raw, atom_stem(sc->raw).n, sc->raw.n - atom_stem(sc->raw).n);
    uint32_t stem = suffix.n ? names_find(&s->scope_index, atom_stem(sc->raw)) : NAME_NONE;
    if (!first_weight(k, s->scope_of[mm->step], mm))
        return IR_EMEM;
    if (stem == NAME_NONE || str_ends(*fqn, suffix))
        return 0;
    const struct use *first = first_weight(k, stem, mm);
    if (!first)
        return IR_EMEM;
    if (use_same(*first, mm->weight))
        return 0;
    char *own = arena_printf(&s->arena, "%.*s%.*s", STR_ARG(*fqn), STR_ARG(suffix));
    *fqn = own ? str_of(own) : *fqn;
    return own ? 0 : IR_EMEM;
}

/* A scope that could be several blocks' modules was named after the first: now the block is known. */
static int rename_mm(struct publisher *k, struct mm *mm)
{
    struct state *s = k->b->s;
    struct scope *sc = step_scope(s, mm->step);
    struct str block = k->b->blocks[mm->block];
    if (sc->kind != SCOPE_NAME || sc->block == IR_NONE)
        return 0;
    bool inside = fqn_inside(mm->scope_fqn, block) || str_eq(mm->scope_fqn, block);
    bool tied = mm->evidence == EV_PARAM && mm->scope_leaf && !fqn_inside(mm->fqn, block);
    if (inside && !mm->unsettled && !tied)
        return 0;
    struct resolved r = scope_resolve(s, sc, block, sc->depth + 1, 0);
    if (!r.fqn.s || settle_suffix(k, mm, sc, &r.fqn) != 0)
        return IR_EMEM;
    mm->scope_fqn = r.fqn;
    if (mm->evidence == EV_SCOPE) {
        mm->fqn = r.fqn;
        mm->loose = !r.certain;
    }
    return mm->scope_linear || tied
               ? linear_mark(s, (struct module_name){r.fqn, IR_NONE}, mm, EV_SCOPE, !r.certain)
               : 0;
}

/* Is it a call of a block, and not of what only has the scope of one? */
static bool in_chosen(const struct blocker *b, const struct run *r)
{
    return r->block != IR_NONE && r->block < b->n_chosen;
}

/* The plan gets a block, whose calls are not counted yet. */
static void add_block(struct publisher *k, uint32_t block)
{
    struct plan *p = k->b->s->plan;
    k->new_id[block] = p->n_blocks;
    p->blocks[p->n_blocks++].fqn = k->b->blocks[block];
}

/* The plan outlives the scratch arena. */
static int own_names(struct plan *p)
{
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        p->blocks[i].fqn.s = arena_strdup(&p->arena, p->blocks[i].fqn.s, p->blocks[i].fqn.n);
        if (!p->blocks[i].fqn.s)
            return IR_EMEM;
    }
    return 0;
}

/* Numbers the calls of each block, and the blocks by their first call; those never called come last. */
static int number_calls(struct publisher *k)
{
    struct blocker *b = k->b;
    struct plan *p = b->s->plan;
    uint8_t *seen = calloc(b->n_runs ? b->n_runs : 1, 1);
    p->blocks = arena_alloc(&p->arena, b->n_blocks ? b->n_blocks : 1, sizeof *p->blocks);
    if (!seen || !p->blocks) {
        free(seen);
        return IR_EMEM;
    }
    memset(k->new_id, 0xff, (size_t)b->n_blocks * sizeof *k->new_id);
    for (uint32_t i = 0; i < b->s->walk.n_steps; i++) {
        uint32_t run = b->run_of[state_step(b->s, i)];
        if (run == IR_NONE || seen[run] || !in_chosen(b, &b->runs[run]))
            continue;
        seen[run] = 1;
        uint32_t block = b->runs[run].block;
        if (k->new_id[block] == IR_NONE)
            add_block(k, block);
        b->runs[run].call = p->blocks[k->new_id[block]].calls++;
    }
    free(seen);
    for (uint32_t i = 0; i < b->n_chosen; i++)
        if (k->new_id[i] == IR_NONE)
            add_block(k, i);
    return own_names(p);
}

static bool says_nothing(const struct blocker *b, uint32_t step)
{
    uint32_t scope = b->s->scope_of[step];
    return scope == 0 || b->of_scope[scope].hides;
}

/* A step that says nothing belongs where both its neighbours are. */
static void fill_gaps(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t before = IR_NONE;
    for (uint32_t i = 0; i < s->walk.n_steps;) {
        uint32_t step = state_step(s, i);
        if (b->run_of[step] != IR_NONE || !says_nothing(b, step)) {
            before = b->run_of[step];
            i++;
            continue;
        }
        uint32_t end = i;
        while (end < s->walk.n_steps && b->run_of[state_step(s, end)] == IR_NONE &&
               says_nothing(b, state_step(s, end)))
            end++;
        uint32_t after = end < s->walk.n_steps ? b->run_of[state_step(s, end)] : IR_NONE;
        for (; i < end; i++)
            if (before == after)
                b->run_of[state_step(s, i)] = before;
    }
}

/* The name of an ambiguous scope outside every block stays the first that fits. */
static int mark_outside(struct state *s, const struct mm *mm)
{
    return mm->scope_linear && mm->unsettled
               ? linear_mark(s, (struct module_name){mm->scope_fqn, IR_NONE}, mm, EV_SCOPE, true)
               : 0;
}

/* A block that --blocks names in full must be something that the graph tells of. */
static int check_given(struct state *s)
{
    for (uint32_t i = 0; i < s->plan->n_blocks && s->o->n_blocks; i++) {
        struct str fqn = s->plan->blocks[i].fqn;
        uint32_t id = modules_find(&s->modules, fqn);
        const struct module *m = id == NAME_NONE ? NULL : &s->modules.a[id];
        if (s->plan->blocks[i].calls == 0 && (!m || (!m->children && !m->called && !m->has_param)))
            return block_unknown(s, fqn);
    }
    return 0;
}

/* What the block tells of one mm. */
static int publish_mm(struct publisher *k, struct mm *mm)
{
    struct blocker *b = k->b;
    const struct run *r = b->run_of[mm->step] == IR_NONE ? NULL : &b->runs[b->run_of[mm->step]];
    if (!r || r->block == IR_NONE)
        return mark_outside(b->s, mm);
    mm->block = r->block;
    int rc = rename_mm(k, mm);
    mm->block = k->new_id[r->block];
    if (!in_chosen(b, r))
        return rc;
    mm->call = r->call;
    if (mm->evidence == EV_NONE)
        mm->evidence = EV_NEIGHBOUR;
    return rc;
}

/* From the run of each step to its region: in the same array, which is the state's from now on. */
static int publish_regions(struct publisher *k)
{
    struct blocker *b = k->b;
    struct state *s = b->s;
    const struct plan *p = s->plan;
    s->first_region = arena_alloc(&s->arena, (size_t)p->n_blocks + 1, sizeof *s->first_region);
    if (!s->first_region)
        return IR_EMEM;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        s->first_region[i + 1] = s->first_region[i] + p->blocks[i].calls;
    for (uint32_t i = 0; i < b->n_runs; i++) {
        struct run *r = &b->runs[i];
        r->region = in_chosen(b, r) ? s->first_region[k->new_id[r->block]] + r->call : IR_NONE;
    }
    for (uint32_t i = 0; i < s->walk.n_steps; i++)
        if (b->run_of[i] != IR_NONE)
            b->run_of[i] = b->runs[b->run_of[i]].region;
    s->region_of = b->run_of;
    b->run_of = NULL;
    return 0;
}

static int publish(struct blocker *b)
{
    struct state *s = b->s;
    struct publisher k = {.b = b, .new_id = malloc((size_t)(b->n_blocks + 1) * sizeof *k.new_id)};
    names_init(&k.used);
    int rc = k.new_id ? number_calls(&k) : IR_EMEM;
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        rc = publish_mm(&k, &s->mms[i]);
    if (!rc)
        rc = publish_regions(&k);
    free(k.new_id);
    free(k.first_weight);
    names_free(&k.used);
    return rc ? rc : check_given(s);
}

/* One block, one call, everything. */
static int publish_whole(struct state *s)
{
    struct plan *p = s->plan;
    s->region_of = calloc((size_t)s->walk.n_steps + 1, sizeof *s->region_of);
    s->first_region = arena_alloc(&s->arena, 2, sizeof *s->first_region);
    p->blocks = arena_alloc(&p->arena, 1, sizeof *p->blocks);
    if (!s->region_of || !s->first_region || !p->blocks)
        return IR_EMEM;
    s->first_region[1] = 1;
    p->blocks[0] = (struct plan_block){.fqn = STR_LIT("whole"), .calls = 1};
    p->n_blocks = 1;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        s->mms[i].block = 0;
        if (mark_outside(s, &s->mms[i]) != 0)
            return IR_EMEM;
    }
    diag_warn(s->d, "the whole graph is one block: one checkpoint region does not lower peak memory");
    return 0;
}

static int blocker_run(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t n = s->walk.n_steps;
    b->run_of = malloc((size_t)(n ? n : 1) * sizeof *b->run_of);
    if (!b->run_of)
        return IR_EMEM;
    memset(b->run_of, 0xff, (size_t)n * sizeof *b->run_of);
    int rc = add_rivals(b);
    if (!rc)
        rc = index_names(b);
    if (!rc)
        rc = place_named(b);
    if (!rc)
        rc = find_spans(b);
    if (!rc)
        rc = all_candidates(b);
    if (!rc)
        rc = find_keys(b);
    if (!rc)
        rc = make_runs(b);
    if (!rc)
        rc = split_repeats(b);
    if (!rc) {
        fill_gaps(b);
        rc = publish(b);
    }
    return rc;
}

static void blocker_free(struct blocker *b)
{
    free(b->blocks);
    free(b->first_of);
    free(b->next);
    free(b->of_scope);
    free(b->candidates);
    free(b->of_module);
    free(b->named_block);
    free(b->named_scope);
    free(b->run_of);
    free(b->key_of);
    free(b->runs);
    names_free(&b->index);
    names_free(&b->names);
    names_free(&b->keys);
    names_free(&b->paths);
}

int pass_block(struct state *s)
{
    struct blocker b = {.s = s};
    names_init(&b.index);
    names_init(&b.names);
    names_init(&b.keys);
    names_init(&b.paths);
    int rc = choose_blocks(&b);
    if (!rc)
        rc = b.n_blocks ? blocker_run(&b) : publish_whole(s);
    blocker_free(&b);
    return rc;
}
