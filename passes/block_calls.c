/* Block calls: from steps to runs, each of them one call of a block.
 *
 * Calls are told apart by what the file has: a .pt2 names them; TorchScript scopes carry a suffix (the next
 * node that stands directly in the block's scope, "/block_1/Add"); function bodies are called node by node;
 * elsewhere a call ends where another block or the model's own code goes on with the activations. (Calls that
 * follow each other at once are told apart in passes/block_repeats.c.) */
#include "passes/block.h"

#include "passes/fqn.h"
#include "passes/linear.h"

#include <stdlib.h>

#define KEY_ANY IR_NONE /* of a step that says nothing of its call: it goes on with the run it is met in */

/* The innermost module that both are or lie in. */
static struct str common_module(struct str a, struct str b)
{
    while (a.n && !str_eq(a, b) && !fqn_inside(b, a))
        a = fqn_parent(a);
    return a;
}

/* Per block the innermost module that all its parameters lie in: a call of a function that is given less is a
 * submodule's. */
int find_spans(struct blocker *b)
{
    struct state *s = b->s;
    b->span = arena_alloc(&s->arena, (size_t)b->n_blocks + 1, sizeof *b->span);
    if (!b->span)
        return IR_EMEM;
    if (s->walk.n_frames == 1) /* no calls */
        return 0;
    for (uint32_t i = 0; i < s->named.n; i++) {
        struct str fqn;
        uint32_t block = block_of_value(b, s->named.a[i].value, &fqn);
        if (block != IR_NONE)
            b->span[block] = b->span[block].n ? common_module(b->span[block], fqn) : fqn;
    }
    return 0;
}

/* Is this call of a function given parameters from all over the block, and of it alone? */
static bool calls_block(struct blocker *b, struct step st, uint32_t block)
{
    struct str span = {0};
    if (block_of_operands(b, st) != block)
        return false;
    const struct ir_node *n = &b->s->m->nodes[st.node];
    for (uint32_t j = 0; j < ir_node_n_in(n); j++) {
        struct use u = walk_resolve(&b->s->walk, walk_input(&b->s->walk, st, j));
        struct str fqn;
        if (u.value != IR_NONE && block_of_value(b, u.value, &fqn) == block)
            span = span.n ? common_module(span, fqn) : fqn;
    }
    return str_eq(span, b->span[block]);
}

/* The outermost function call around this frame that is the block's own, or IR_NONE: then a call of a
 * function is a submodule's, of the block's call at hand. */
static uint32_t block_frame(struct blocker *b, uint32_t frame, uint32_t block)
{
    const struct walk *w = &b->s->walk;
    uint32_t found = IR_NONE;
    for (uint32_t f = w->frames[frame].function; f != FRAME_MAIN; f = w->frames[w->frames[f].parent].function)
        if (calls_block(b, (struct step){w->frames[f].node, w->frames[f].parent}, block))
            found = f;
    return found;
}

static int intern_key(struct blocker *b, struct str text, uint32_t *out)
{
    *out = names_intern(&b->keys, text);
    return *out == NAME_NONE ? IR_EMEM : 0;
}

static int number_key(struct blocker *b, const char *what, uint32_t n, uint32_t *out)
{
    char *text = arena_printf(&b->s->arena, "%s%u", what, n);
    return text ? intern_key(b, str_of(text), out) : IR_EMEM;
}

/* Does this step belong to the scope of a block, by its name? */
static bool in_path(const struct blocker *b, uint32_t step)
{
    uint32_t scope = b->s->scope_of[step];
    return b->s->scopes[scope].kind == SCOPE_NAME && b->of_scope[scope].n > 0 &&
           b->of_scope[scope].path != IR_NONE;
}

/* Does it stand directly in the block's scope ("/block_1/Add")? */
static bool is_direct(const struct blocker *b, uint32_t step)
{
    const struct scope *sc = step_scope(b->s, step);
    return sc->depth + 1 == sc->n_atoms;
}

/* Only nodes that stand directly in a block's scope tell the call ("/block_1/Add"). Between the last of them
 * in one call and the first in the next lie the tail of the one and the head of the other, without a border:
 * the head begins where the scope comes again that the first call began with. */
struct seam {
    struct str entry;     /* scope that the first call started with */
    bool own;             /* ... which is the block's own */
    uint32_t key;         /* of the call at hand */
    uint32_t first, last; /* steps after its last direct node, linked */
    uint32_t head;        /* the first of these that may be the next call's */
};

/* The next call's first direct node is reached: its key; 0 at the end. */
static void close_seam(struct blocker *b, struct seam *m, uint32_t key, const uint32_t *next)
{
    bool tail = m->key && key != m->key && (key == 0 || m->own || m->head != IR_NONE);
    for (uint32_t step = m->first; tail && step != IR_NONE; step = next[step]) {
        if (key && step == m->head)
            break;
        b->key_of[step] = m->key;
    }
    m->first = m->last = m->head = IR_NONE;
    m->key = key;
}

static void seam_step(struct blocker *b, struct seam *m, uint32_t step, uint32_t *next)
{
    struct str raw = step_scope(b->s, step)->raw;
    if (m->entry.n == 0) {
        m->entry = raw;
        m->own = is_direct(b, step);
    }
    if (is_direct(b, step)) {
        close_seam(b, m, b->key_of[step], next);
        return;
    }
    next[step] = IR_NONE;
    if (m->first == IR_NONE)
        m->first = step;
    else
        next[m->last] = step;
    m->last = step;
    if (m->head == IR_NONE && (str_eq(raw, m->entry) || str_eq(atom_stem(raw), m->entry)))
        m->head = step;
}

/* Gives tails of calls back to their own call. */
static int find_tails(struct blocker *b)
{
    struct state *s = b->s;
    struct seam *seams = calloc((size_t)b->paths.n + 1, sizeof *seams);
    uint32_t *next = malloc((size_t)(s->walk.n_steps + 1) * sizeof *next);
    int rc = seams && next ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < b->paths.n; i++)
        seams[i] = (struct seam){.first = IR_NONE, .last = IR_NONE, .head = IR_NONE};
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++) {
        uint32_t step = state_step(s, i);
        if (in_path(b, step) && !block_step_fixed(b, step))
            seam_step(b, &seams[b->of_scope[s->scope_of[step]].path], step, next);
    }
    for (uint32_t i = 0; !rc && i < b->paths.n; i++)
        close_seam(b, &seams[i], 0, next);
    free(seams);
    free(next);
    return rc;
}

/* Does any scope tell calls apart? Those of exporter metadata do not. */
static bool tell_calls(const struct blocker *b)
{
    return b->paths.n || b->s->m->format == IR_PT2;
}

/* What a step's scope says of its call. `mark`: per path, the key of the latest node directly in it. */
static int find_key(struct blocker *b, uint32_t step, uint32_t *mark)
{
    const struct scope *sc = step_scope(b->s, step);
    const struct candidates *c = &b->of_scope[b->s->scope_of[step]];
    int rc = 0;
    if (sc->kind == SCOPE_STACK && c->n)
        return intern_key(b, sc->atoms[sc->depth], &b->key_of[step]);
    if (!in_path(b, step))
        return 0;
    if (is_direct(b, step))
        rc = intern_key(b, sc->raw, &mark[c->path]);
    b->key_of[step] = mark[c->path];
    return rc;
}

/* Keys of NAME scopes: the suffix of the next node that stands directly in the block's scope. Going
 * backwards, so that the next one is always known. Key 0 = none was seen. */
int find_keys(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t n = s->walk.n_steps, none;
    int rc = intern_key(b, STR_LIT(""), &none);
    if (rc || !tell_calls(b))
        return rc;
    b->key_of = calloc(n ? n : 1, sizeof *b->key_of);
    uint32_t *mark = calloc(b->paths.n ? b->paths.n : 1, sizeof *mark);
    rc = b->key_of && mark ? 0 : IR_EMEM;
    for (uint32_t i = n; !rc && i-- > 0;)
        rc = find_key(b, state_step(s, i), mark);
    free(mark);
    return rc ? rc : find_tails(b);
}

int block_new_run(struct blocker *b, uint32_t block, uint32_t candidates, uint32_t key, uint32_t at)
{
    if (grow(&b->runs, &b->cap_runs, (size_t)b->n_runs + 1, sizeof *b->runs) != 0)
        return IR_EMEM;
    b->runs[b->n_runs++] =
        (struct run){.block = block, .candidates = candidates, .key = key, .first = at, .last = at};
    return 0;
}

/* What a step says of its place. */
struct place {
    uint32_t block;      /* decided, or IR_NONE */
    uint32_t candidates; /* undecided: scope id */
    uint32_t key;
    bool outside; /* known to be outside every block */
    bool first;   /* its scope was not used before: it is in the first call of its block */
    bool weak;    /* its block is that of a parameter which other scopes use as well */
};

/* TorchScript names no scope twice: what a second call uses again has a suffix. */
static bool unused_before(const struct state *s, const struct scope *sc)
{
    if (sc->kind != SCOPE_NAME || sc->raw.n == 0 || sc->raw.s[0] != '/')
        return false;
    struct str stem = atom_stem(sc->raw);
    return stem.n == sc->raw.n || names_find(&s->scope_index, stem) == NAME_NONE;
}

static uint32_t key_of_step(const struct blocker *b, uint32_t step)
{
    return b->key_of ? b->key_of[step] : 0;
}

/* The block that the parameters of a step tell, or, of an mm, its name; IR_NONE when neither does, or where
 * the scope alone tells. */
static uint32_t direct_block(const struct blocker *b, uint32_t step, const struct mm *mm)
{
    uint32_t scope = b->s->scope_of[step];
    const struct candidates *c = &b->of_scope[scope];
    bool ask = c->n > 1 || scope == 0 || mm || c->hides;
    uint32_t direct = ask ? block_of_operands(b, walk_step(&b->s->walk, step)) : IR_NONE;
    /* A loose name was made from an ambiguous scope: it is only the first that fits. */
    return direct == IR_NONE && mm && !mm->loose ? block_of_fqn(b, mm->fqn) : direct;
}

/* Do only parameters that other scopes use as well tell the block of a step? */
static bool says_weakly(const struct blocker *b, struct step st, const struct mm *mm)
{
    const struct ir_node *n = &b->s->m->nodes[st.node];
    bool own = mm && mm->weight_name != IR_NONE && !used_in_scopes(b, mm->weight_name);
    struct str module;
    for (uint32_t i = 0; i < ir_node_n_in(n) && !own; i++) {
        struct use u = walk_resolve(&b->s->walk, walk_input(&b->s->walk, st, i));
        own = u.value != IR_NONE && block_of_value(b, u.value, &module) != IR_NONE &&
              !used_in_scopes(b, u.value);
    }
    return !own;
}

/* The scope is that of a torch.nn module which holds blocks but was not looked into. */
static int place_hidden(struct blocker *b, uint32_t scope, const struct mm *mm, struct place *p)
{
    const struct scope *sc = &b->s->scopes[scope];
    struct str module;
    if (p->block == IR_NONE && mm && mm->weight.value != IR_NONE) /* the rhs is a part of it, or transposed */
        p->block = block_of_value(b, mm->weight.value, &module);
    return p->block == IR_NONE || sc->kind != SCOPE_STACK ? 0 : intern_key(b, sc->raw, &p->key);
}

/* The scope is the model's own code, or there is none: only what the step reads tells its block. */
static int place_by_operands(struct blocker *b, uint32_t step, struct place *p)
{
    uint32_t frame = block_frame(b, walk_step(&b->s->walk, step).frame, p->block);
    p->key = KEY_ANY;
    return frame == IR_NONE ? 0 : number_key(b, "#", frame, &p->key);
}

static int place_of(struct blocker *b, uint32_t step, const struct mm *mm, struct place *p)
{
    struct state *s = b->s;
    uint32_t scope = s->scope_of[step];
    const struct candidates *c = &b->of_scope[scope];
    *p = (struct place){.block = IR_NONE, .key = key_of_step(b, step)};
    if (c->n == 1) {
        p->block = candidate(b, c, 0);
        p->first = unused_before(s, &s->scopes[scope]);
        return 0;
    }
    uint32_t direct = direct_block(b, step, mm);
    if (c->n > 1) {
        p->candidates = scope;
        for (uint32_t i = 0; i < c->n; i++)
            if (candidate(b, c, i) == direct)
                p->block = direct;
        p->weak = p->block != IR_NONE && says_weakly(b, walk_step(&s->walk, step), mm);
        return 0;
    }
    bool own_code = scope == 0 || s->scopes[scope].n_atoms == 0;
    if (c->hides || own_code)
        p->block = direct;
    if (c->hides)
        return place_hidden(b, scope, mm, p);
    if (p->block != IR_NONE)
        return place_by_operands(b, step, p);
    p->outside = scope != 0;
    return 0;
}

/* May the step at hand go on with run r? */
static bool continues(const struct blocker *b, const struct run *r, const struct place *p, bool current)
{
    bool any = p->key == KEY_ANY || r->key == KEY_ANY;
    if (!any && p->key != r->key)
        return false;
    if (!current && (any || (p->key == 0 && !p->first)))
        return false;
    if (p->block != IR_NONE && r->block != IR_NONE && !p->weak && !r->weak)
        return p->block == r->block;
    return p->candidates && r->candidates &&
           b->of_scope[p->candidates].path == b->of_scope[r->candidates].path;
}

/* What making runs works with. */
struct runner {
    struct blocker *b;
    uint32_t *of_block,
        *of_path;     /* the last run of each block, and of each path while its block is undecided */
    uint32_t current; /* the run that is going on, or IR_NONE */
    uint32_t next_mm;
    uint32_t scope, key; /* of the step that joined the current run last, where that scope has one block;
                            scope 0: another step did */
};

static uint32_t *last_run(struct runner *k, const struct place *p)
{
    if (p->candidates)
        return &k->of_path[k->b->of_scope[p->candidates].path];
    return &k->of_block[p->block];
}

/* Is `current` a call of a block that lies inside the block of run `last`? That one goes on after it. */
static bool called_inside(const struct blocker *b, uint32_t current, uint32_t last)
{
    return current != IR_NONE && b->runs[current].block != IR_NONE && b->runs[last].block != IR_NONE &&
           fqn_inside(b->blocks[b->runs[current].block], b->blocks[b->runs[last].block]);
}

static int join_step(struct runner *k, uint32_t at, uint32_t step, const struct place *p)
{
    struct blocker *b = k->b;
    uint32_t *last = last_run(k, p);
    struct run *r = *last == IR_NONE ? NULL : &b->runs[*last];
    if (!r || !continues(b, r, p, *last == k->current || called_inside(b, k->current, *last))) {
        int rc = block_new_run(b, p->block, p->candidates, p->key, at);
        if (rc)
            return rc;
        *last = b->n_runs - 1;
        r = &b->runs[*last];
        r->weak = p->weak;
    }
    if (p->block != IR_NONE && (r->block == IR_NONE || (r->weak && !p->weak))) {
        r->block = p->block;
        r->weak = p->weak;
    }
    if (r->key == KEY_ANY)
        r->key = p->key;
    r->last = at;
    b->run_of[step] = *last;
    k->current = *last;
    return 0;
}

/* Of the blocks that an undecided run may be, in this order: one that no run has yet, next to the block of
 * the run before it; one that no run has; one next to it; the first. */
static uint32_t best_candidate(const struct blocker *b, const struct candidates *c, const uint8_t *used,
                               uint32_t before)
{
    uint32_t best = candidate(b, c, 0), best_rank = 4;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t block = candidate(b, c, i);
        bool near = before != IR_NONE && str_eq(fqn_parent(b->blocks[block]), fqn_parent(b->blocks[before]));
        uint32_t rank = (used[block] ? 2U : 0U) + (near ? 0U : 1U);
        if (rank < best_rank)
            best = block, best_rank = rank;
    }
    return best;
}

static int decide_rest(struct blocker *b)
{
    uint8_t *used = calloc(b->n_blocks ? b->n_blocks : 1, 1);
    uint32_t before = IR_NONE;
    if (!used)
        return IR_EMEM;
    for (uint32_t i = 0; i < b->n_runs; i++)
        if (b->runs[i].block != IR_NONE)
            used[b->runs[i].block] = 1;
    for (uint32_t i = 0; i < b->n_runs; i++) {
        struct run *r = &b->runs[i];
        if (r->block == IR_NONE && r->candidates)
            r->block = best_candidate(b, &b->of_scope[r->candidates], used, before);
        if (r->block != IR_NONE) {
            used[r->block] = 1;
            before = r->block;
        }
    }
    free(used);
    return 0;
}

static const struct mm *mm_of_step(struct runner *k, uint32_t step)
{
    const struct state *s = k->b->s;
    const struct mm *mm = NULL;
    for (; k->next_mm < s->n_mms && s->mms[k->next_mm].step == step; k->next_mm++)
        mm = &s->mms[k->next_mm];
    return mm;
}

/* Most steps say what the step before them said. */
static bool says_the_same(const struct runner *k, uint32_t step)
{
    return k->scope && k->b->s->scope_of[step] == k->scope && key_of_step(k->b, step) == k->key;
}

static int place_step(struct runner *k, uint32_t at, uint32_t step)
{
    struct blocker *b = k->b;
    const struct mm *mm = mm_of_step(k, step);
    bool fixed = !mm && block_step_fixed(b, step); /* folded constants stand anywhere: they start and end
                                                      nothing */
    struct place p;
    if (says_the_same(k, step)) {
        b->run_of[step] = k->current;
        if (!fixed)
            b->runs[k->current].last = at;
        return 0;
    }
    int rc = place_of(b, step, mm, &p);
    if (rc)
        return rc;
    if (p.block == IR_NONE && !p.candidates) {
        if (p.outside && !block_step_fixed(b, step)) {
            k->current = IR_NONE;
            k->scope = 0;
        }
        return 0;
    }
    if (fixed) {
        b->run_of[step] = *last_run(k, &p);
        return 0;
    }
    uint32_t scope = b->s->scope_of[step];
    k->scope = b->of_scope[scope].n == 1 ? scope : 0;
    k->key = p.key;
    return join_step(k, at, step, &p);
}

int make_runs(struct blocker *b)
{
    const struct state *s = b->s;
    struct runner k = {.b = b,
                       .of_block = malloc((size_t)(b->n_blocks + 1) * sizeof *k.of_block),
                       .of_path = malloc((size_t)(b->paths.n + 1) * sizeof *k.of_path),
                       .current = IR_NONE};
    int rc = k.of_block && k.of_path ? 0 : IR_EMEM;
    if (!rc) {
        memset(k.of_block, 0xff, (size_t)(b->n_blocks + 1) * sizeof *k.of_block);
        memset(k.of_path, 0xff, (size_t)(b->paths.n + 1) * sizeof *k.of_path);
    }
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++)
        rc = place_step(&k, i, state_step(s, i));
    free(k.of_block);
    free(k.of_path);
    return rc ? rc : decide_rest(b);
}
