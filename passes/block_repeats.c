/* Block repeats: calls of a block that follow each other at once, with no node directly in the block's scope
 * to tell them apart. */
#include "passes/block.h"
#include "passes/fqn.h"

#include <stdlib.h>

/* Is the sequence made of its first p elements again and again? */
static bool repeats(const uint64_t *seq, uint32_t n, uint32_t p)
{
    return memcmp(seq, seq + p, (size_t)(n - p) * sizeof *seq) == 0;
}

/* Smallest period of a sequence that it is a whole number of times, or n. All such periods are multiples of
 * the smallest, so one prime factor of n after the other is taken away as long as a period is left. */
static uint32_t period(const uint64_t *seq, uint32_t n)
{
    uint32_t p = n, rest = n;
    for (uint32_t prime = 2; rest > 1; prime++) {
        if ((uint64_t)prime * prime > rest)
            prime = rest;
        for (; rest % prime == 0; rest /= prime)
            if (p % prime == 0 && repeats(seq, n, p / prime))
                p /= prime;
    }
    return p;
}

/* A number for the module and operator of a step, the same in each call. "/block/wq_1" is "/block/wq" again,
 * unless it has another weight. `weight_of`: per scope. */
static uint64_t call_mark(const struct state *s, uint32_t step, const uint32_t *weight_of)
{
    const struct scope *sc = step_scope(s, step);
    uint64_t module = s->scope_of[step];
    if (sc->kind == SCOPE_NAME && sc->stem) {
        uint32_t id = names_find(&s->scope_index, atom_stem(sc->raw));
        uint32_t own = weight_of[module], other = id == NAME_NONE ? IR_NONE : weight_of[id];
        bool same = own == other || own == IR_NONE || other == IR_NONE;
        module = id == NAME_NONE || !same ? module : id;
    }
    return module << 32 | s->m->nodes[walk_step(&s->walk, step).node].op;
}

/* What splitting one run works with: as long as the longest run, or as the list of scopes. */
struct splitter {
    struct blocker *b;
    uint64_t *seq;
    uint32_t *steps;
    uint32_t *weight_of;  /* per scope: the weight of its first mm */
    uint32_t n;           /* steps of the run */
    bool suffixed;        /* one of them has a suffix */
    bool *is_mm;          /* per step; made with what follows when a suffix is met */
    uint32_t *low, *high; /* per scope: suffixes with which the run has it */
};

/* The steps of a run that have a say. False when one of them tells nothing of its module. */
static bool collect_run(struct splitter *k, uint32_t run)
{
    struct blocker *b = k->b;
    struct state *s = b->s;
    k->n = 0;
    k->suffixed = false;
    for (uint32_t i = b->runs[run].first; i <= b->runs[run].last; i++) {
        uint32_t step = state_step(s, i);
        if (b->run_of[step] != run || block_step_fixed(b, step))
            continue;
        if (s->scope_of[step] == 0 || step_scope(s, step)->kind == SCOPE_STACK)
            return false;
        k->seq[k->n] = call_mark(s, step, k->weight_of);
        k->suffixed |= k->seq[k->n] >> 32 != s->scope_of[step];
        k->steps[k->n++] = step;
    }
    return k->n > 1;
}

/* The steps are the same sequence several times, each of p steps. */
static int split_by_period(struct splitter *k, uint32_t run, uint32_t p)
{
    struct blocker *b = k->b;
    for (uint32_t i = p; i < k->n; i++) {
        if (i % p == 0) {
            int rc = block_new_run(b, b->runs[run].block, 0, 0, b->runs[run].first);
            if (rc)
                return rc;
        }
        b->run_of[k->steps[i]] = b->n_runs - 1;
    }
    return 0;
}

/* The number of step i's "_3", 0 without it, and its scope without it. */
static uint32_t suffix(const struct splitter *k, uint32_t i, uint32_t *base)
{
    const struct state *s = k->b->s;
    uint32_t number = 0, scope = s->scope_of[k->steps[i]];
    *base = (uint32_t)(k->seq[i] >> 32);
    if (*base == scope)
        return 0;
    struct str raw = s->scopes[scope].raw;
    for (size_t at = s->scopes[*base].raw.n + 1; at < raw.n && number < (1u << 24); at++)
        number = number * 10 + (uint32_t)(raw.s[at] - '0');
    return number;
}

/* How many calls the suffixes of the run's mms tell of: each mm's module must have been used as often. 1 when
 * they tell of none. */
static uint32_t calls_by_suffix(struct splitter *k)
{
    uint32_t calls = 0, base;
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t number = suffix(k, i, &base);
        k->low[base] = number < k->low[base] ? number : k->low[base];
        k->high[base] = number > k->high[base] ? number : k->high[base];
    }
    for (uint32_t i = 0; i < k->n; i++) {
        suffix(k, i, &base);
        uint32_t times = k->high[base] - k->low[base] + 1;
        if (k->is_mm[k->steps[i]] && calls && times != calls)
            return 1;
        if (k->is_mm[k->steps[i]])
            calls = times;
    }
    return calls ? calls : 1;
}

static int split_by_suffix(struct splitter *k, uint32_t run, uint32_t calls)
{
    struct blocker *b = k->b;
    uint32_t first = b->n_runs, call = 0, base;
    for (uint32_t i = 1; i < calls; i++) {
        int rc = block_new_run(b, b->runs[run].block, 0, 0, b->runs[run].first);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t number = suffix(k, i, &base);
        if (k->high[base] - k->low[base] + 1 == calls)
            call = number - k->low[base];
        b->run_of[k->steps[i]] = call ? first + call - 1 : run;
    }
    return 0;
}

static int init_suffixes(struct splitter *k)
{
    const struct state *s = k->b->s;
    k->is_mm = calloc((size_t)s->walk.n_steps + 1, sizeof *k->is_mm);
    k->low = malloc(s->n_scopes * sizeof *k->low);
    k->high = calloc(s->n_scopes, sizeof *k->high);
    if (!k->is_mm || !k->low || !k->high)
        return IR_EMEM;
    memset(k->low, 0xff, s->n_scopes * sizeof *k->low);
    for (uint32_t i = 0; i < s->n_mms; i++)
        k->is_mm[s->mms[i].step] = true;
    return 0;
}

static int split_suffixed(struct splitter *k, uint32_t run)
{
    uint32_t base;
    int rc = k->is_mm ? 0 : init_suffixes(k);
    if (rc)
        return rc;
    uint32_t calls = calls_by_suffix(k);
    rc = calls > 1 && calls <= k->n ? split_by_suffix(k, run, calls) : 0;
    for (uint32_t i = 0; i < k->n; i++) {
        suffix(k, i, &base);
        k->low[base] = UINT32_MAX;
        k->high[base] = 0;
    }
    return rc;
}

static void find_weights(struct splitter *k)
{
    const struct state *s = k->b->s;
    memset(k->weight_of, 0xff, s->n_scopes * sizeof *k->weight_of);
    for (uint32_t i = s->n_mms; i-- > 0;)
        k->weight_of[s->scope_of[s->mms[i].step]] = s->mms[i].weight.value;
}

static int split_run(struct splitter *k, uint32_t run)
{
    if (!collect_run(k, run))
        return 0;
    uint32_t p = period(k->seq, k->n);
    if (p < k->n)
        return p < 2 ? 0 : split_by_period(k, run, p);
    return k->suffixed ? split_suffixed(k, run) : 0;
}

/* Nothing has told the calls of this run apart. */
static bool may_repeat(const struct run *r)
{
    return r->block != IR_NONE && r->key == 0;
}

int split_repeats(struct blocker *b)
{
    const struct state *s = b->s;
    uint32_t runs = b->n_runs, longest = 0;
    for (uint32_t i = 0; i < runs; i++)
        if (may_repeat(&b->runs[i]) && b->runs[i].last - b->runs[i].first >= longest)
            longest = b->runs[i].last - b->runs[i].first + 1;
    struct splitter k = {.b = b,
                         .seq = malloc(((size_t)longest + 1) * sizeof *k.seq),
                         .steps = malloc(((size_t)longest + 1) * sizeof *k.steps),
                         .weight_of = malloc(s->n_scopes * sizeof *k.weight_of)};
    int rc = k.seq && k.steps && k.weight_of ? 0 : IR_EMEM;
    if (!rc)
        find_weights(&k);
    for (uint32_t i = 0; !rc && i < runs; i++)
        if (may_repeat(&b->runs[i]))
            rc = split_run(&k, i);
    free(k.seq);
    free(k.steps);
    free(k.weight_of);
    free(k.is_mm);
    free(k.low);
    free(k.high);
    return rc;
}
