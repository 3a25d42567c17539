/* Policy: the alternation (POLICY.md 2).
 *
 * Needs everything before it. Writes the plan's rows. Source: PyTorch's per-op selective activation
 * checkpointing as torchtitan applies it: of the mms whose rhs shape is not forced, every second one is
 * recomputed; the count restarts with each call of a block; addmm is not counted. */
#include "passes/decide.h"

#include <stdlib.h>

/* Could they be equal, as far as dims are known? */
static bool may_equal(struct mm_shape a, struct mm_shape b)
{
    return (a.k < 0 || b.k < 0 || a.k == b.k) && (a.n < 0 || b.n < 0 || a.n == b.n);
}

/* An rhs of unknown dims that may be forced for all we know is taken as not forced, and the row says so. */
static void note_unsure(const struct plan_block *b, struct mm *mm, struct mm_shape rhs)
{
    bool unsure = (rhs.k < 0 || rhs.n < 0) && !mm->assumption;
    for (uint32_t i = 0; unsure && i < b->n_forced; i++)
        if (may_equal(b->forced[i].rhs, rhs))
            mm->assumption = "assumed-not-forced";
}

/* One row, whose call has counted *count mms so far. */
static int decide_row(struct state *s, struct mm *mm, struct plan_row *r, uint32_t *count)
{
    struct plan *p = s->plan;
    if (mm->block == IR_NONE)
        return row_reason(p, r, mm, &(struct row_why){.what = "outside"});
    struct plan_block *b = &p->blocks[mm->block];
    struct plan_forced *forced = mm->counted ? forced_find(b, r->rhs) : NULL;
    *count = count_add(*count, mm->folded);
    if (!mm->counted) {
        r->addmm = true;
        r->policy = s->o->titan ? POLICY_SAVE : POLICY_RECOMPUTE;
        return row_reason(p, r, mm, &(struct row_why){.what = "addmm"});
    }
    if (forced) {
        r->forced = true;
        r->policy = POLICY_RECOMPUTE;
        return row_reason(p, r, mm, &(struct row_why){.forced = forced});
    }
    note_unsure(b, mm, r->rhs);
    *count = count_add(*count, 1);
    bool odd = *count % 2 == 1;
    r->policy = odd ? POLICY_SAVE : POLICY_RECOMPUTE;
    return row_reason(p, r, mm, &(struct row_why){odd ? "odd" : "even", *count, NULL});
}

uint32_t call_id(const struct decider *k, const struct mm *mm)
{
    return k->first_call[mm->block] + mm->call;
}

static int number_calls(struct decider *k)
{
    struct state *s = k->s;
    struct plan *p = s->plan;
    k->first_call = arena_alloc(&s->arena, (size_t)p->n_blocks + 1, sizeof *k->first_call);
    if (!k->first_call)
        return IR_EMEM;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        k->first_call[i + 1] = k->first_call[i] + (p->blocks[i].calls ? p->blocks[i].calls : 1);
    size_t n = k->first_call[p->n_blocks];
    k->count = arena_alloc(&s->arena, n + 1, sizeof *k->count);
    k->first_row = arena_alloc(&s->arena, n + 1, sizeof *k->first_row);
    k->last_row = arena_alloc(&s->arena, n + 1, sizeof *k->last_row);
    k->net = arena_alloc(&s->arena, n + 1, sizeof *k->net);
    if (!k->net || !k->count || !k->first_row || !k->last_row)
        return IR_EMEM;
    for (uint32_t i = p->n_rows; i-- > 0;)
        if (s->mms[k->row_mm[i]].block != IR_NONE)
            k->first_row[call_id(k, &s->mms[k->row_mm[i]])] = i;
    for (uint32_t i = 0; i < p->n_rows; i++)
        if (s->mms[k->row_mm[i]].block != IR_NONE)
            k->last_row[call_id(k, &s->mms[k->row_mm[i]])] = i;
    return 0;
}

/* Row i starts another iteration of a body that ended with the row before it: calls that lie in its body as
 * a whole are made anew. */
static void restart_calls(struct decider *k, uint32_t i)
{
    const struct state *s = k->s;
    for (uint32_t m = k->row_mm[i]; m <= k->row_mm[i - 1]; m++) {
        const struct mm *mm = &s->mms[m];
        if (mm->block == IR_NONE || !row_wanted(s, mm) || !called_in_body(k, mm))
            continue;
        uint32_t call = call_id(k, mm);
        if (k->row_mm[k->first_row[call]] >= k->row_mm[i] && k->row_mm[k->last_row[call]] <= k->row_mm[i - 1])
            k->count[call] = 0;
    }
}

static int decide_rows(struct decider *k)
{
    struct state *s = k->s;
    struct plan *p = s->plan;
    struct nest nest;
    nest_init(&nest);
    int rc = number_calls(k);
    k->before = arena_alloc(&s->arena, (size_t)p->n_rows + 1, sizeof *k->before);
    k->other = arena_alloc(&s->arena, (size_t)p->n_rows + 1, sizeof *k->other);
    if (!k->before || !k->other)
        rc = IR_EMEM;
    for (uint32_t i = 0; !rc && i < p->n_rows; i++) {
        struct mm *mm = &s->mms[k->row_mm[i]];
        if (i + NODES_AHEAD < p->n_rows)
            str_prefetch(s->mms[k->row_mm[i + NODES_AHEAD]].fqn);
        uint32_t outside = 0, *count = mm->block == IR_NONE ? &outside : &k->count[call_id(k, mm)];
        rc = nest_move(k, &nest, walk_step(&s->walk, mm->step).frame, i);
        if (i && k->row_mm[i] <= k->row_mm[i - 1])
            restart_calls(k, i);
        k->before[i] = *count;
        if (!rc)
            rc = row_make(k, mm, &p->rows[i]);
        if (!rc)
            rc = decide_row(s, mm, &p->rows[i], count);
    }
    if (!rc)
        rc = nest_move(k, &nest, FRAME_MAIN, p->n_rows);
    nest_free(&nest);
    return rc;
}

int pass_policy(struct state *s)
{
    struct decider k = {.s = s};
    struct plan *p = s->plan;
    k.listed = arena_alloc(&s->arena, s->walk.n_frames, sizeof *k.listed);
    k.met = arena_alloc(&s->arena, s->walk.n_frames, sizeof *k.met);
    k.path_of = arena_alloc(&s->arena, s->m->n_graphs, sizeof *k.path_of);
    int rc = k.listed && k.met && k.path_of ? find_owners(&k) : IR_EMEM;
    if (!rc)
        rc = list_rows(&k);
    p->rows = arena_alloc(&p->arena, (size_t)k.n_rows + 1, sizeof *p->rows);
    p->n_rows = rc ? 0 : k.n_rows;
    if (!rc)
        rc = p->rows ? decide_rows(&k) : IR_EMEM;
    if (!rc)
        warn_unknown_bodies(&k);
    free(k.row_mm);
    free(k.restarts);
    return rc ? rc : compare_runs(s);
}
