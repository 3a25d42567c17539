#include "passes/merge.h"

/* A list of p's, with room for `more` at its end. */
static void *extended(struct plan *p, const void *old, uint32_t n, uint32_t more, size_t size)
{
    char *list = arena_alloc(&p->arena, (size_t)n + more + 1, size);
    if (list && n)
        memcpy(list, old, n * size);
    return list;
}

static int merge_forced(struct plan *p, struct plan_block *to, const struct plan_block *from)
{
    struct plan_forced *list = extended(p, to->forced, to->n_forced, from->n_forced, sizeof *list);
    if (!list)
        return IR_EMEM;
    uint32_t n = to->n_forced;
    for (uint32_t i = 0; i < from->n_forced; i++) {
        bool known = false;
        for (uint32_t j = 0; j < to->n_forced; j++)
            known |= list[j].rhs.k == from->forced[i].rhs.k && list[j].rhs.n == from->forced[i].rhs.n;
        if (!known)
            list[n++] = from->forced[i];
    }
    /* room for 1, 3, 7, ... is no longer kept: the set is complete */
    to->forced = list;
    to->n_forced = n;
    return 0;
}

/* Where each block of q goes, and how many calls that block had. */
static int merge_blocks(struct plan *p, const struct plan *q, uint32_t *to, uint32_t *calls)
{
    p->blocks = extended(p, p->blocks, p->n_blocks, q->n_blocks, sizeof *p->blocks);
    if (!p->blocks)
        return IR_EMEM;
    uint32_t before = p->n_blocks;
    for (uint32_t i = 0; i < q->n_blocks; i++) {
        const struct plan_block *b = &q->blocks[i];
        uint32_t at = 0;
        while (at < before && !str_eq(p->blocks[at].fqn, b->fqn))
            at++;
        to[i] = at < before ? at : p->n_blocks;
        calls[i] = at < before ? p->blocks[at].calls : 0;
        if (at == before) {
            p->blocks[p->n_blocks++] = *b;
            continue;
        }
        struct plan_block *sum = &p->blocks[at];
        sum->calls += b->calls;
        sum->saved += b->saved;
        sum->recomputed += b->recomputed;
        sum->forced_rows += b->forced_rows;
        int rc = merge_forced(p, sum, b);
        if (rc)
            return rc;
    }
    return 0;
}

static void add_counts(struct plan *p, const struct plan *q)
{
    p->n_saved += q->n_saved;
    p->n_recomputed += q->n_recomputed;
    p->n_forced += q->n_forced;
    p->n_addmm += q->n_addmm;
    p->n_outside += q->n_outside;
    p->n_assumed += q->n_assumed;
    p->n_rules_differ += q->n_rules_differ;
    for (size_t i = 0; i < sizeof p->n_evidence / sizeof *p->n_evidence; i++)
        p->n_evidence[i] += q->n_evidence[i];
    if (p->n_varies == 0)
        p->varies_why = q->varies_why;
    p->n_varies += q->n_varies;
}

int plan_merge(struct plan *p, struct plan *q)
{
    uint32_t *to = arena_alloc(&p->arena, (size_t)q->n_blocks + 1, sizeof *to);
    uint32_t *calls = arena_alloc(&p->arena, (size_t)q->n_blocks + 1, sizeof *calls);
    p->rows = extended(p, p->rows, p->n_rows, q->n_rows, sizeof *p->rows);
    p->linears = extended(p, p->linears, p->n_linears, q->n_linears, sizeof *p->linears);
    p->regions = extended(p, p->regions, p->n_regions, q->n_regions, sizeof *p->regions);
    if (p->neighbours)
        p->neighbours = extended(p, p->neighbours, p->n_neighbours, q->n_neighbours, sizeof *p->neighbours);
    if (!to || !calls || !p->rows || !p->linears || !p->regions || (q->neighbours && !p->neighbours) ||
        merge_blocks(p, q, to, calls) != 0)
        return IR_EMEM;
    for (uint32_t i = 0; i < q->n_rows; i++) {
        struct plan_row r = q->rows[i];
        if (r.block != IR_NONE) {
            r.call += calls[r.block];
            r.block = to[r.block];
        }
        p->rows[p->n_rows++] = r;
    }
    for (uint32_t i = 0; i < q->n_linears; i++) {
        struct plan_linear l = q->linears[i];
        l.block = l.block == IR_NONE ? IR_NONE : to[l.block];
        p->linears[p->n_linears++] = l;
    }
    for (uint32_t i = 0; i < q->n_regions; i++) {
        struct plan_region r = q->regions[i];
        r.call += calls[r.block];
        r.block = to[r.block];
        p->regions[p->n_regions++] = r;
    }
    for (uint32_t i = 0; q->neighbours && i < q->n_neighbours; i++) {
        struct plan_neighbour n = q->neighbours[i];
        n.call += calls[n.block];
        n.block = to[n.block];
        p->neighbours[p->n_neighbours++] = n;
    }
    add_counts(p, q);
    arena_adopt(&p->arena, &q->arena);
    *q = (struct plan){.blocks_how = p->blocks_how};
    return 0;
}
