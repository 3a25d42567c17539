/* Comparing two plans: rows matched (lib/pair.h), decisions compared, causes told (lib/cause.h). */
#include "lib/cause.h"
#include "lib/pair.h"

#include "ir/names.h"
#include "lib/table.h"
#include "passes/mm.h"

#include <stdlib.h>

struct sactag_changes {
    struct sactag_change *items;
    size_t n;
    struct sactag_change_summary summary;
    struct arena arena; /* text of causes */
};

/* Which block of a is which of b: the one of the same name, or else the one that its first mm is in now, when
 * both names are the plan's own. */
struct block_map {
    struct names a, b;
    uint32_t *to_b, *to_a; /* NAME_NONE: not known yet */
};

/* What a side of a comparison is. */
struct side {
    bool only_tags;
    bool all;           /* tags of nodes that are no mms, too */
    struct table nodes; /* of tags alone: those that have a row */
};

struct differ {
    sactag_changes *out;
    const sactag_plan *a, *b;
    struct pairing pairs;
    struct side side_a, side_b;
    struct block_map blocks;
    struct causes causes;
    uint32_t at_a; /* rows of a in front of this one have been told of */
};

/* ---- blocks ---- */

static int intern_blocks(struct names *names, uint32_t **to, const sactag_plan *p)
{
    size_t n = sactag_plan_block_count(p);
    struct sactag_block b;

    *to = malloc((n + 1) * sizeof **to);
    if (!*to)
        return IR_EMEM;
    memset(*to, 0xff, (n + 1) * sizeof **to);
    for (size_t i = 0; i < n; i++) {
        sactag_plan_block(p, i, &b);
        if (names_intern(names, str_from(b.fqn)) == NAME_NONE)
            return IR_EMEM;
    }
    return 0;
}

static bool same_block(struct block_map *m, const struct sactag_row *a, const struct sactag_row *b)
{
    struct str x = str_from(a->block), y = str_from(b->block);

    if (str_eq(x, y))
        return true;
    uint32_t i = names_find(&m->a, x), j = names_find(&m->b, y);
    if (i == NAME_NONE || j == NAME_NONE || names_find(&m->b, x) != NAME_NONE ||
        names_find(&m->a, y) != NAME_NONE)
        return false;
    if (m->to_b[i] == NAME_NONE && m->to_a[j] == NAME_NONE) {
        m->to_b[i] = j;
        m->to_a[j] = i;
    }
    return m->to_b[i] == j;
}

/* Tags may come without a region: then it is not known where the row is. */
static bool block_known(const sactag_plan *p, const struct sactag_row *r)
{
    bool tags = p->from_tags || (p->file && !p->file->has_options);
    return r->block.n > 0 || !tags || r->policy == SACTAG_NONE;
}

/* ---- one pair ---- */

static bool dims_differ(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 && a != b;
}

static bool reasons_differ(const struct sactag_row *a, const struct sactag_row *b)
{
    struct reason x = reason_parse(str_from(a->reason));
    struct reason y = reason_parse(str_from(b->reason));

    if (x.kind == REASON_NONE || y.kind == REASON_NONE)
        return false;
    return x.kind != y.kind || (x.kind == REASON_FORCED && !str_eq(x.fqn, y.fqn));
}

static unsigned compare(struct differ *x, const struct sactag_row *a, const struct sactag_row *b)
{
    unsigned differs = 0;

    if (a->policy != b->policy)
        differs |= SACTAG_DIFFERS_POLICY;
    if (dims_differ(a->rhs.k, b->rhs.k) || dims_differ(a->rhs.n, b->rhs.n))
        differs |= SACTAG_DIFFERS_RHS;
    if (block_known(x->a, a) && block_known(x->b, b) && (!same_block(&x->blocks, a, b) || a->call != b->call))
        differs |= SACTAG_DIFFERS_BLOCK;
    if (reasons_differ(a, b))
        differs |= SACTAG_DIFFERS_REASON;
    return differs;
}

static enum sactag_change_kind kind_of(unsigned differs)
{
    if (differs & ~SACTAG_DIFFERS_REASON)
        return SACTAG_CHANGED;
    return differs ? SACTAG_REASON : SACTAG_SAME;
}

/* ---- in order ---- */

/* A node that is no mm, in tags of --tag all: where the other side lists mms only, none is missing there. */
static bool no_mm(const struct sactag_row *r)
{
    struct reason reason = reason_parse(str_from(r->reason));
    return reason_of_neighbour(&reason) || (reason.kind == REASON_NONE && !mm_op_named(str_from(r->op)));
}

static int see_side(struct side *s, const struct sactag_row *rows, uint32_t n, const sactag_plan *p)
{
    int e = 0;

    s->only_tags = plan_only_tags(p);
    if (s->only_tags)
        e = table_init(&s->nodes, n);
    for (uint32_t i = 0; !e && s->only_tags && i < n; i++) {
        *table_at(&s->nodes, pair_identity(&rows[i])) = i;
        s->all = s->all || no_mm(&rows[i]);
    }
    return e;
}

/* May a row of one side be without a match on the other? A node that is no mm may, where tags list all nodes
 * (and a carrier without reasons does not tell which are mms). Where the other side is tags alone, an mm
 * outside all blocks may, and a further run of a node: tags have neither. */
static bool need_not_match(const struct sactag_row *r, const struct side *own, const struct side *other)
{
    if (no_mm(r) || (own->all && r->reason.n == 0))
        return true;
    if (!other->only_tags)
        return false;
    return (r->policy == SACTAG_NONE && r->block.n == 0) || table_find(&other->nodes, pair_identity(r));
}

static int tell(struct differ *x, uint32_t i, uint32_t j)
{
    const struct sactag_row *a = i == IR_NONE ? NULL : &x->pairs.a[i];
    const struct sactag_row *b = j == IR_NONE ? NULL : &x->pairs.b[j];
    const struct sactag_row *at = b ? b : a;

    if (!at || (!(a && b) && need_not_match(at, a ? &x->side_a : &x->side_b, a ? &x->side_b : &x->side_a)))
        return 0;
    struct sactag_change *c = &x->out->items[x->out->n++];
    *c = (struct sactag_change){.a = a ? i : SIZE_MAX, .b = b ? j : SIZE_MAX};
    if (a && b) {
        c->matched = (enum sactag_matched)x->pairs.by[j];
        c->differs = compare(x, a, b);
        c->kind = kind_of(c->differs);
    } else {
        c->kind = a ? SACTAG_REMOVED : SACTAG_ADDED;
    }
    return causes_next(&x->causes, c, a, b, at->block);
}

/* What is only in a, from where we are up to row `end`; with end IR_NONE as long as there is nothing else. */
static int tell_removed(struct differ *x, uint32_t end)
{
    int e = 0;

    for (; !e && x->at_a < x->pairs.n_a && x->at_a < end; x->at_a++) {
        bool removed = x->pairs.b_of_a[x->at_a] == IR_NONE;
        if (!removed && end == IR_NONE)
            break;
        if (removed)
            e = tell(x, x->at_a, IR_NONE);
    }
    return e;
}

static int tell_all(struct differ *x)
{
    int e = 0;

    for (uint32_t j = 0; !e && j < x->pairs.n_b; j++) {
        uint32_t i = x->pairs.a_of_b[j];
        e = tell_removed(x, i);
        if (!e)
            e = tell(x, i, j);
        if (i != IR_NONE && i >= x->at_a)
            x->at_a = i + 1;
    }
    return e ? e : tell_removed(x, x->pairs.n_a);
}

static void sum_up(sactag_changes *c)
{
    struct sactag_change_summary *s = &c->summary;

    for (size_t i = 0; i < c->n; i++) {
        const struct sactag_change *x = &c->items[i];
        s->same += x->kind == SACTAG_SAME;
        s->reason += x->kind == SACTAG_REASON;
        s->changed += x->kind == SACTAG_CHANGED;
        s->added += x->kind == SACTAG_ADDED;
        s->removed += x->kind == SACTAG_REMOVED;
        s->matched[x->matched]++;
    }
}

static int make(struct differ *x)
{
    int e = pair_rows(&x->pairs, x->a, x->b);
    size_t most = (size_t)x->pairs.n_a + x->pairs.n_b;

    if (!e)
        e = intern_blocks(&x->blocks.a, &x->blocks.to_b, x->a);
    if (!e)
        e = intern_blocks(&x->blocks.b, &x->blocks.to_a, x->b);
    if (!e)
        e = see_side(&x->side_a, x->pairs.a, x->pairs.n_a, x->a);
    if (!e)
        e = see_side(&x->side_b, x->pairs.b, x->pairs.n_b, x->b);
    if (!e)
        e = causes_init(&x->causes, most, &x->out->arena);
    if (!e && !(x->out->items = calloc(most + 1, sizeof *x->out->items)))
        e = IR_EMEM;
    if (!e)
        e = tell_all(x);
    causes_free(&x->causes);
    names_free(&x->blocks.a);
    names_free(&x->blocks.b);
    free(x->blocks.to_a);
    free(x->blocks.to_b);
    table_free(&x->side_a.nodes);
    table_free(&x->side_b.nodes);
    pair_free(&x->pairs);
    return e;
}

/* ---- the API ---- */

/* Attributes that are compared are decoded into their model's arena. */
static void forget_failures(const sactag_plan *p)
{
    if (p->model)
        p->model->ir.arena.failed = false;
}

static bool has_failed(const sactag_plan *p)
{
    return p->model && p->model->ir.arena.failed;
}

int sactag_diff(sactag_changes **out, const sactag_plan *a, const sactag_plan *b, sactag_diag *d)
{
    sactag_changes *c = calloc(1, sizeof *c);
    struct differ x = {.out = c, .a = a, .b = b};
    int e = IR_EMEM;

    forget_failures(a);
    forget_failures(b);
    names_init(&x.blocks.a);
    names_init(&x.blocks.b);
    if (c) {
        arena_init(&c->arena, 0);
        e = make(&x);
        if (!e && (c->arena.failed || has_failed(a) || has_failed(b)))
            e = IR_EMEM;
    }
    if (e) {
        sactag_changes_free(c);
        c = NULL;
        diag_nomem(diag_of(d));
    } else {
        sum_up(c);
    }
    *out = c;
    return e;
}

void sactag_changes_free(sactag_changes *c)
{
    if (!c)
        return;
    arena_free(&c->arena);
    free(c->items);
    free(c);
}

size_t sactag_changes_count(const sactag_changes *c)
{
    return c->n;
}

struct sactag_change sactag_changes_get(const sactag_changes *c, size_t i)
{
    return c->items[i];
}

struct sactag_change_summary sactag_changes_summary(const sactag_changes *c)
{
    return c->summary;
}

const char *sactag_change_name(enum sactag_change_kind k)
{
    static const char *const names[] = {"same", "reason", "changed", "added", "removed"};
    return (unsigned)k < 5 ? names[k] : "?";
}

const char *sactag_matched_name(enum sactag_matched m)
{
    static const char *const names[] = {"-", "fqn", "node", "structure", "place"};
    return (unsigned)m < 5 ? names[m] : "?";
}
