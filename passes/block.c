/* Block: which modules are blocks, and which call of which block each step belongs to.
 *
 * Needs walk, facts, scope, mm, linear and order. A call of a block is one checkpoint region, and the count
 * restarts with each. Calls are told apart by what the file has: a .pt2 names them; TorchScript scopes carry
 * a suffix (the next node that stands directly in the block's scope, "/block_1/Add"); function bodies are
 * called node by node; elsewhere a call ends where another block or the model's own code goes on with the
 * activations, or where the block's own sequence of nodes starts again. */
#include "passes/auto_block.h"
#include "passes/fqn.h"
#include "passes/linear.h"
#include "passes/pass.h"

#include <stdlib.h>

#define CANDIDATES_MAX 16      /* blocks that one scope may stand for; more are not looked at */
#define KEY_ANY        IR_NONE /* of a step that says nothing of its call: it goes on with the run it is met in */
#define NOT_LOOKED     (IR_NONE - 1)

/* The candidates of a scope: blocks that it may lie in. */
struct candidates {
    uint32_t block[CANDIDATES_MAX];
    uint32_t n;
    uint32_t path; /* NAME: id of the text up to and with the block's atom, without its suffix: equal for all
                      calls */
};

/* One run: steps of one call, as far as key and neighbours tell. */
struct run {
    uint32_t block;      /* IR_NONE: outside */
    uint32_t candidates; /* scope whose candidates it has (block undecided), or 0 */
    uint32_t call;
    uint32_t key;         /* interned: what tells this call from others of the block */
    uint32_t first, last; /* positions in execution order */
};

struct blocker {
    struct state *s;
    struct str *blocks;
    uint32_t n_blocks;
    size_t cap_blocks;
    struct names index;        /* block FQN → id */
    struct names names;        /* unqualified block name → id into first_of */
    uint32_t *first_of, *next; /* blocks of one unqualified name */
    size_t cap_first;
    struct candidates *of_scope;
    uint32_t *param_block; /* per value: block of the parameter's module, NOT_LOOKED */
    struct names keys;
    uint32_t *mark; /* per path: key of the latest node directly in it, going backwards */
    uint32_t n_paths;
    struct names paths;
    uint32_t *run_of; /* per step */
    uint32_t *key_of; /* per step: what its scope says of the call */
    struct run *runs;
    uint32_t n_runs;
    size_t cap_runs;
};

/* ---- which modules are blocks ---- */

static int add_block(struct blocker *b, struct str fqn)
{
    uint32_t before = b->index.n, id = names_intern(&b->index, fqn);
    if (id == NAME_NONE)
        return IR_EMEM;
    if (b->index.n == before)
        return 0;
    if (grow(&b->blocks, &b->cap_blocks, (size_t)id + 1, sizeof *b->blocks) != 0)
        return IR_EMEM;
    b->blocks[id] = fqn;
    b->n_blocks = id + 1;
    return 0;
}

static bool is_pattern(struct str p)
{
    return str_chr(p, '*') >= 0 || str_chr(p, '?') >= 0;
}

/* Scopes leave out containers that are never called, so "transformer.h.*" must be found in "/h.0/...": the
 * pattern with the atom's number in the place of its last star. */
static int blocks_from_atoms(struct blocker *b, struct str pattern)
{
    struct state *s = b->s;
    struct str owner = fqn_parent(pattern);
    if (!str_is(fqn_last(pattern), "*") || is_pattern(owner) || owner.n == 0)
        return 0;
    struct str own = fqn_unqualified(owner);
    for (uint32_t i = 1; i < s->n_scopes; i++)
        for (uint32_t j = 0; s->scopes[i].kind == SCOPE_NAME && j < s->scopes[i].n_atoms; j++) {
            struct str atom = s->scopes[i].atoms[j];
            if (!fqn_inside(atom, own) || !fqn_is_number(fqn_relative(atom, own)))
                continue;
            struct str fqn = fqn_join(&s->arena, owner, fqn_relative(atom, own));
            if (!fqn.s)
                return IR_EMEM;
            int rc = scope_fits(s->scopes[i].atoms, j + 1, fqn, false) ? add_block(b, fqn) : 0;
            if (rc)
                return rc;
        }
    return 0;
}

static int blocks_from_pattern(struct blocker *b, struct str pattern)
{
    struct state *s = b->s;
    uint32_t before = b->n_blocks;
    int rc = is_pattern(pattern) ? 0 : add_block(b, pattern);
    for (uint32_t i = 0; !rc && is_pattern(pattern) && i < s->modules.n; i++)
        if (fqn_glob(pattern, s->modules.a[i].fqn))
            rc = add_block(b, s->modules.a[i].fqn);
    if (!rc && is_pattern(pattern) && b->n_blocks == before)
        rc = blocks_from_atoms(b, pattern);
    if (!rc && b->n_blocks == before)
        return diag_error(s->d, IR_EPOLICY, "no module of this graph matches --blocks '%.*s'",
                          STR_ARG(pattern));
    return rc;
}

static int push_fqn(struct str **list, size_t *cap, uint32_t *n, struct str fqn)
{
    if (grow(list, cap, (size_t)*n + 1, sizeof **list) != 0)
        return IR_EMEM;
    (*list)[(*n)++] = fqn;
    return 0;
}

/* Every Linear's FQN, and of other modules that multiply by a weight (Conv1D, stacked experts); where a scope
 * may stand for several modules, each of them. */
static int linear_fqns(struct blocker *b, struct str **list, uint32_t *n)
{
    struct state *s = b->s;
    size_t cap = 0;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->modules.n; i++)
        if (s->modules.a[i].linear)
            rc = push_fqn(list, &cap, n, s->modules.a[i].fqn);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct scope *sc = &s->scopes[s->scope_of[s->mms[i].step]];
        uint32_t same = 1;
        if (!s->mms[i].linear && s->mms[i].weight.value != IR_NONE && s->mms[i].fqn.n)
            rc = push_fqn(list, &cap, n, s->mms[i].fqn);
        if (sc->kind != SCOPE_NAME || sc->certain || !s->mms[i].linear || sc->n_atoms == 0)
            continue;
        for (uint32_t nth = 1; !rc && nth < (same > CANDIDATES_MAX ? CANDIDATES_MAX : same) + (nth == 1);
             nth++) {
            bool certain;
            struct str fqn = scope_resolve(s, sc, STR_LIT(""), 0, nth, &certain, &same);
            if (nth < same)
                rc = fqn.s ? push_fqn(list, &cap, n, fqn) : IR_EMEM;
        }
    }
    return rc;
}

static int blocks_auto(struct blocker *b)
{
    struct state *s = b->s;
    struct str *list = NULL;
    struct auto_blocks chosen = {0};
    uint32_t n = 0;
    int rc = linear_fqns(b, &list, &n);
    if (!rc)
        rc = auto_choose(&chosen, list, n);
    for (uint32_t i = 0; !rc && i < n; i++) {
        struct str member = auto_member(&chosen, list[i]);
        if (member.n)
            rc = add_block(b, member);
    }
    for (uint32_t i = 0; !rc && i < s->modules.n; i++) { /* members without a Linear are blocks too */
        struct str fqn = s->modules.a[i].fqn;
        if (str_eq(auto_member(&chosen, fqn), fqn))
            rc = add_block(b, fqn);
    }
    free(list);
    auto_free(&chosen);
    return rc;
}

static int choose_blocks(struct blocker *b)
{
    struct state *s = b->s;
    int rc = 0;
    s->plan->blocks_how = s->o->whole ? "whole" : s->o->n_blocks ? "given" : "auto";
    if (s->o->whole)
        return 0;
    for (uint32_t i = 0; !rc && i < s->o->n_blocks; i++)
        rc = blocks_from_pattern(b, s->o->blocks[i]);
    if (!rc && s->o->n_blocks == 0) {
        rc = blocks_auto(b);
        if (!rc && b->n_blocks == 0)
            s->plan->blocks_how = "whole";
    }
    return rc;
}

/* ---- which blocks a scope may lie in ---- */

static int index_names(struct blocker *b)
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
static uint32_t block_of_fqn(const struct blocker *b, struct str fqn)
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
    struct str atom = stem ? atom_stem(sc->atoms[depth]) : sc->atoms[depth];
    return str_sub(sc->raw, 0, (size_t)(atom.s + atom.n - sc->raw.s));
}

static int candidates_of(struct blocker *b, struct scope *sc, struct candidates *c)
{
    *c = (struct candidates){.path = IR_NONE};
    if (sc->kind != SCOPE_NAME) {
        uint32_t id = block_of_fqn(b, sc->fqn);
        if (id != IR_NONE)
            c->block[c->n++] = id;
        sc->block = id;
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
    if (c->n > 1 && sc->certain) { /* the full FQN is known: no need to guess */
        uint32_t id = block_of_fqn(b, sc->fqn);
        for (uint32_t i = 0; i < c->n; i++)
            if (c->block[i] == id)
                c->block[0] = id, c->n = 1, sc->block = id;
    }
    struct str text = path_text(sc, sc->depth, stem);
    c->path = names_intern(&b->paths, text);
    return c->path == NAME_NONE ? IR_EMEM : 0;
}

static int all_candidates(struct blocker *b)
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

/* ---- what parameters say ---- */

static uint32_t block_of_value(struct blocker *b, uint32_t value)
{
    struct state *s = b->s;
    uint32_t *out = &b->param_block[value];
    if (*out != NOT_LOOKED)
        return *out;
    enum param_kind kind;
    struct str fqn;
    *out = IR_NONE;
    if (s->is_param[value] && fqn_of_param(&kind, &fqn, ir_value_name(s->m, value), &s->arena) == 0 &&
        kind != PARAM_NO_NAME)
        *out = block_of_fqn(b, fqn);
    return *out;
}

/* The one block that the named parameters among a node's operands belong to, or IR_NONE. */
static uint32_t block_of_operands(struct blocker *b, struct step st)
{
    const struct ir_node *n = &b->s->m->nodes[st.node];
    uint32_t found = IR_NONE;
    for (uint32_t j = 0; j < n->n_in; j++) {
        struct use u = walk_resolve(&b->s->walk, walk_input(&b->s->walk, st, j));
        uint32_t id = u.value == IR_NONE ? IR_NONE : block_of_value(b, u.value);
        if (id != IR_NONE && found != IR_NONE && id != found)
            return IR_NONE;
        if (id != IR_NONE)
            found = id;
    }
    return found;
}

/* ---- calls ---- */

/* Outermost function call around this frame whose operands' parameters all belong to the block: the block's
 * own call. */
static uint32_t block_frame(struct blocker *b, uint32_t frame, uint32_t block)
{
    const struct walk *w = &b->s->walk;
    uint32_t found = frame;
    for (uint32_t f = w->frames[frame].function; f != FRAME_MAIN; f = w->frames[w->frames[f].parent].function)
        if (block_of_operands(b, (struct step){w->frames[f].node, w->frames[f].parent}) == block)
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

/* Keys of NAME scopes: the suffix of the next node that stands directly in the block's scope. Going
 * backwards, so that the next one is always known. Key 0 = none was seen. */
static int find_keys(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t n = s->walk.n_steps, none;
    b->key_of = calloc(n ? n : 1, sizeof *b->key_of);
    b->mark = calloc(b->paths.n ? b->paths.n : 1, sizeof *b->mark);
    if (!b->key_of || !b->mark || intern_key(b, STR_LIT(""), &none) != 0)
        return IR_EMEM;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t step = state_step(s, i);
        const struct scope *sc = &s->scopes[s->scope_of[step]];
        const struct candidates *c = &b->of_scope[s->scope_of[step]];
        int rc = 0;
        if (sc->kind == SCOPE_STACK && c->n)
            rc = intern_key(b, sc->atoms[sc->depth], &b->key_of[step]);
        if (sc->kind != SCOPE_NAME || c->n == 0 || c->path == IR_NONE)
            goto next;
        if (sc->depth + 1 == sc->n_atoms)
            rc = intern_key(b, sc->raw, &b->mark[c->path]);
        b->key_of[step] = b->mark[c->path];
    next:
        if (rc)
            return rc;
    }
    return 0;
}

static int new_run(struct blocker *b, uint32_t block, uint32_t candidates, uint32_t key, uint32_t at)
{
    if (grow(&b->runs, &b->cap_runs, (size_t)b->n_runs + 1, sizeof *b->runs) != 0)
        return IR_EMEM;
    b->runs[b->n_runs++] = (struct run){block, candidates, 0, key, at, at};
    return 0;
}

/* What a step says of its place. */
struct place {
    uint32_t block;      /* decided, or IR_NONE */
    uint32_t candidates; /* undecided: scope id */
    uint32_t key;
    bool outside; /* known to be outside every block */
    bool silent;  /* says nothing */
};

static int place_of(struct blocker *b, uint32_t step, const struct mm *mm, struct place *p)
{
    struct state *s = b->s;
    uint32_t scope = s->scope_of[step];
    const struct candidates *c = &b->of_scope[scope];
    struct step st = s->walk.steps[step];
    *p = (struct place){.block = IR_NONE, .key = b->key_of[step]};
    if (c->n == 1) {
        p->block = c->block[0];
        return 0;
    }
    uint32_t direct = c->n > 1 || scope == 0 || mm ? block_of_operands(b, st) : IR_NONE;
    if (mm && direct == IR_NONE)
        direct = block_of_fqn(b, mm->fqn);
    if (c->n > 1) {
        p->candidates = scope;
        for (uint32_t i = 0; i < c->n; i++)
            if (c->block[i] == direct)
                p->block = direct;
        return 0;
    }
    bool own_code = scope == 0 || s->scopes[scope].n_atoms == 0;
    if (direct != IR_NONE && own_code) {
        p->block = direct;
        p->key = KEY_ANY;
        if (s->walk.frames[st.frame].function != FRAME_MAIN)
            return number_key(b, "#", block_frame(b, st.frame, direct), &p->key);
        return 0;
    }
    p->outside = scope != 0;
    p->silent = scope == 0;
    return 0;
}

/* May the step at hand go on with run r? */
static bool continues(const struct blocker *b, const struct run *r, const struct place *p, bool current)
{
    bool any = p->key == KEY_ANY || r->key == KEY_ANY;
    if (!any && p->key != r->key)
        return false;
    if (!current && (any || p->key == 0))
        return false;
    if (p->block != IR_NONE && r->block != IR_NONE)
        return p->block == r->block;
    return p->candidates && r->candidates &&
           b->of_scope[p->candidates].path == b->of_scope[r->candidates].path;
}

/* The last run of a block, or of a path while its block is undecided. */
static uint32_t *last_run(struct blocker *b, uint32_t *of_block, uint32_t *of_path, const struct place *p)
{
    if (p->candidates)
        return &of_path[b->of_scope[p->candidates].path];
    return &of_block[p->block];
}

static int join_step(struct blocker *b, uint32_t at, uint32_t step, const struct place *p, uint32_t *last,
                     uint32_t *current)
{
    struct run *r = *last == IR_NONE ? NULL : &b->runs[*last];
    if (!r || !continues(b, r, p, *last == *current)) {
        int rc = new_run(b, p->block, p->candidates, p->key, at);
        if (rc)
            return rc;
        *last = b->n_runs - 1;
        r = &b->runs[*last];
    }
    if (r->block == IR_NONE)
        r->block = p->block;
    if (r->key == KEY_ANY)
        r->key = p->key;
    r->last = at;
    b->run_of[step] = *last;
    *current = *last;
    return 0;
}

/* Blocks that undecided runs are left with: one that no run has yet, else the first. */
static void decide_rest(struct blocker *b)
{
    uint8_t *used = calloc(b->n_blocks ? b->n_blocks : 1, 1);
    for (uint32_t i = 0; used && i < b->n_runs; i++)
        if (b->runs[i].block != IR_NONE)
            used[b->runs[i].block] = 1;
    for (uint32_t i = 0; i < b->n_runs; i++) {
        struct run *r = &b->runs[i];
        if (r->block != IR_NONE || !r->candidates)
            continue;
        const struct candidates *c = &b->of_scope[r->candidates];
        r->block = c->block[0];
        for (uint32_t j = 0; used && j < c->n; j++)
            if (!used[c->block[j]]) {
                r->block = c->block[j];
                used[r->block] = 1;
                break;
            }
    }
    free(used);
}

static bool is_fixed(struct state *s, uint32_t step)
{
    struct use u = walk_output(&s->walk, s->walk.steps[step], 0);
    return u.value == IR_NONE || facts_get(&s->facts, u).fixed;
}

static int make_runs(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t current = IR_NONE, next_mm = 0;
    uint32_t *of_block = malloc((size_t)(b->n_blocks + 1) * sizeof *of_block);
    uint32_t *of_path = malloc((size_t)(b->paths.n + 1) * sizeof *of_path);
    int rc = of_block && of_path ? 0 : IR_EMEM;
    if (!rc) {
        memset(of_block, 0xff, (size_t)(b->n_blocks + 1) * sizeof *of_block);
        memset(of_path, 0xff, (size_t)(b->paths.n + 1) * sizeof *of_path);
    }
    for (uint32_t i = 0; !rc && i < s->walk.n_steps; i++) {
        uint32_t step = state_step(s, i);
        const struct mm *mm = NULL;
        for (; next_mm < s->n_mms && s->mms[next_mm].step == step; next_mm++)
            mm = &s->mms[next_mm];
        struct place p;
        rc = place_of(b, step, mm, &p);
        if (rc)
            break;
        if (p.block != IR_NONE || p.candidates) {
            if (is_fixed(s, step) && !mm) { /* folded constants stand anywhere: they start and end nothing */
                uint32_t *last = last_run(b, of_block, of_path, &p);
                b->run_of[step] = *last;
                continue;
            }
            rc = join_step(b, i, step, &p, last_run(b, of_block, of_path, &p), &current);
        } else if (p.outside && !is_fixed(s, step)) {
            current = IR_NONE;
        }
    }
    free(of_block);
    free(of_path);
    if (!rc)
        decide_rest(b);
    return rc;
}

/* ---- repeated calls that nothing marks ---- */

/* Smallest period of a sequence that it is a whole number of times, or n (Knuth, Morris and Pratt's failure
 * function). */
static uint32_t period(const uint64_t *seq, uint32_t n, uint32_t *fail)
{
    uint32_t k = 0;
    fail[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        while (k && seq[i] != seq[k])
            k = fail[k - 1];
        if (seq[i] == seq[k])
            k++;
        fail[i] = k;
    }
    uint32_t p = n - fail[n - 1];
    return n % p == 0 ? p : n;
}

/* Splits a run whose steps, all told by metadata, are the same sequence several times. */
static int split_run(struct blocker *b, uint32_t run, uint64_t *seq, uint32_t *steps, uint32_t *fail)
{
    struct state *s = b->s;
    uint32_t n = 0, first = b->runs[run].first, last = b->runs[run].last, block = b->runs[run].block;
    for (uint32_t i = first; i <= last; i++) {
        uint32_t step = state_step(s, i);
        if (b->run_of[step] != run || is_fixed(s, step))
            continue;
        if (s->scopes[s->scope_of[step]].kind != SCOPE_META)
            return 0;
        seq[n] = (uint64_t)s->scope_of[step] << 32 | s->m->nodes[s->walk.steps[step].node].op;
        steps[n++] = step;
    }
    uint32_t p = n > 1 ? period(seq, n, fail) : n;
    if (p == n || p < 2)
        return 0;
    for (uint32_t i = p; i < n; i++) {
        if (i % p == 0) {
            int rc = new_run(b, block, 0, 0, first);
            if (rc)
                return rc;
        }
        b->run_of[steps[i]] = b->n_runs - 1;
    }
    return 0;
}

static int split_repeats(struct blocker *b)
{
    uint32_t n = b->s->walk.n_steps, runs = b->n_runs;
    uint64_t *seq = malloc((size_t)(n ? n : 1) * sizeof *seq);
    uint32_t *steps = malloc((size_t)(n ? n : 1) * sizeof *steps),
             *fail = malloc((size_t)(n ? n : 1) * sizeof *fail);
    int rc = seq && steps && fail ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < runs; i++)
        if (b->runs[i].block != IR_NONE && b->runs[i].key == 0)
            rc = split_run(b, i, seq, steps, fail);
    free(seq);
    free(steps);
    free(fail);
    return rc;
}

/* ---- the result ---- */

/* A scope that could be several blocks' modules was named after the first: now the block is known. */
static int rename_mm(struct blocker *b, struct mm *mm)
{
    struct state *s = b->s;
    uint32_t scope = s->scope_of[mm->step];
    struct scope *sc = &s->scopes[scope];
    struct str block = b->blocks[mm->block];
    if (sc->kind != SCOPE_NAME || sc->block == IR_NONE || fqn_inside(mm->scope_fqn, block) ||
        str_eq(mm->scope_fqn, block))
        return 0;
    bool certain;
    uint32_t same;
    struct str fqn = scope_resolve(s, sc, block, sc->depth + 1, 0, &certain, &same);
    if (!fqn.s)
        return IR_EMEM;
    mm->scope_fqn = fqn;
    if (mm->evidence != EV_SCOPE)
        return 0;
    mm->fqn = fqn;
    mm->loose = !certain;
    return mm->linear ? linear_mark(s, fqn, mm, EV_SCOPE, !certain) : 0;
}

/* Numbers the calls of each block and the blocks by their first call. */
static int number_calls(struct blocker *b, uint32_t *new_id)
{
    struct state *s = b->s;
    uint32_t n = 0;
    uint8_t *seen = calloc(b->n_runs ? b->n_runs : 1, 1);
    struct plan *p = s->plan;
    p->blocks = arena_alloc(&p->arena, b->n_blocks ? b->n_blocks : 1, sizeof *p->blocks);
    if (!seen || !p->blocks) {
        free(seen);
        return IR_EMEM;
    }
    memset(new_id, 0xff, (size_t)b->n_blocks * sizeof *new_id);
    for (uint32_t i = 0; i < s->walk.n_steps; i++) {
        uint32_t run = b->run_of[state_step(s, i)];
        if (run == IR_NONE || seen[run] || b->runs[run].block == IR_NONE)
            continue;
        seen[run] = 1;
        uint32_t block = b->runs[run].block;
        if (new_id[block] == IR_NONE) {
            new_id[block] = n;
            p->blocks[n++].fqn = b->blocks[block];
        }
        b->runs[run].call = p->blocks[new_id[block]].calls++;
    }
    free(seen);
    for (uint32_t i = 0; i < b->n_blocks; i++)
        if (new_id[i] == IR_NONE) {
            new_id[i] = n;
            p->blocks[n++].fqn = b->blocks[i];
        }
    p->n_blocks = n;
    for (uint32_t i = 0; i < n; i++) { /* the plan outlives the scratch arena */
        p->blocks[i].fqn.s = arena_strdup(&p->arena, p->blocks[i].fqn.s, p->blocks[i].fqn.n);
        if (!p->blocks[i].fqn.s)
            return IR_EMEM;
    }
    return 0;
}

/* A step that says nothing belongs where both its neighbours are. */
static void fill_gaps(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t before = IR_NONE;
    for (uint32_t i = 0; i < s->walk.n_steps;) {
        uint32_t step = state_step(s, i);
        if (b->run_of[step] != IR_NONE || s->scope_of[step] != 0) {
            before = b->run_of[step];
            i++;
            continue;
        }
        uint32_t end = i;
        while (end < s->walk.n_steps && b->run_of[state_step(s, end)] == IR_NONE &&
               s->scope_of[state_step(s, end)] == 0)
            end++;
        uint32_t after = end < s->walk.n_steps ? b->run_of[state_step(s, end)] : IR_NONE;
        for (; i < end; i++)
            if (before == after)
                b->run_of[state_step(s, i)] = before;
    }
}

static int publish(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t n = s->walk.n_steps, next_mm = 0;
    s->block_of = arena_alloc(&s->arena, n ? n : 1, sizeof *s->block_of);
    s->call_of = arena_alloc(&s->arena, n ? n : 1, sizeof *s->call_of);
    uint32_t *new_id = malloc((size_t)(b->n_blocks + 1) * sizeof *new_id);
    int rc = s->block_of && s->call_of && new_id ? number_calls(b, new_id) : IR_EMEM;
    for (uint32_t i = 0; !rc && i < n; i++) {
        uint32_t run = b->run_of[i];
        bool in = run != IR_NONE && b->runs[run].block != IR_NONE;
        s->block_of[i] = in ? new_id[b->runs[run].block] : IR_NONE;
        s->call_of[i] = in ? b->runs[run].call : 0;
    }
    for (; !rc && next_mm < s->n_mms; next_mm++) {
        struct mm *mm = &s->mms[next_mm];
        uint32_t run = b->run_of[mm->step];
        if (s->block_of[mm->step] == IR_NONE)
            continue;
        mm->block = b->runs[run].block;
        rc = rename_mm(b, mm);
        mm->block = s->block_of[mm->step];
        mm->call = s->call_of[mm->step];
        if (mm->evidence == EV_NONE)
            mm->evidence = EV_NEIGHBOUR;
    }
    free(new_id);
    return rc;
}

/* One block, one call, everything. */
static int publish_whole(struct state *s)
{
    struct plan *p = s->plan;
    uint32_t n = s->walk.n_steps;
    s->block_of = arena_alloc(&s->arena, n ? n : 1, sizeof *s->block_of);
    s->call_of = arena_alloc(&s->arena, n ? n : 1, sizeof *s->call_of);
    p->blocks = arena_alloc(&p->arena, 1, sizeof *p->blocks);
    if (!s->block_of || !s->call_of || !p->blocks)
        return IR_EMEM;
    p->blocks[0] = (struct plan_block){.fqn = STR_LIT("whole"), .calls = 1};
    p->n_blocks = 1;
    for (uint32_t i = 0; i < s->n_mms; i++)
        s->mms[i].block = 0;
    diag_warn(s->d, "the whole graph is one block: one checkpoint region does not lower peak memory");
    return 0;
}

static int blocker_run(struct blocker *b)
{
    struct state *s = b->s;
    uint32_t n = s->walk.n_steps;
    b->run_of = malloc((size_t)(n ? n : 1) * sizeof *b->run_of);
    b->param_block = malloc((size_t)(s->m->n_values ? s->m->n_values : 1) * sizeof *b->param_block);
    if (!b->run_of || !b->param_block)
        return IR_EMEM;
    memset(b->run_of, 0xff, (size_t)n * sizeof *b->run_of);
    for (uint32_t i = 0; i < s->m->n_values; i++)
        b->param_block[i] = NOT_LOOKED;
    int rc = index_names(b);
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
    free(b.blocks);
    free(b.first_of);
    free(b.next);
    free(b.of_scope);
    free(b.param_block);
    free(b.mark);
    free(b.run_of);
    free(b.key_of);
    free(b.runs);
    names_free(&b.index);
    names_free(&b.names);
    names_free(&b.keys);
    names_free(&b.paths);
    return rc;
}
