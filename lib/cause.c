#include "lib/cause.h"

#include "ir/arena.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int causes_init(struct causes *c, size_t rows, struct arena *arena)
{
    *c = (struct causes){.arena = arena, .calls = calloc(rows + 1, sizeof *c->calls)};
    int e = c->calls ? table_init(&c->index, rows) : IR_EMEM;
    if (e)
        causes_free(c);
    return e;
}

void causes_free(struct causes *c)
{
    free(c->calls);
    table_free(&c->index);
    c->calls = NULL;
}

static struct reason reason_of(const struct sactag_row *r)
{
    return reason_parse(str_from(r->reason));
}

static bool takes_turns(const struct reason *r)
{
    return r->kind == REASON_ODD || r->kind == REASON_EVEN;
}

/* ---- names ---- */

/* The row's module within its block; where it is not known, its node or output. */
static struct str name_of(const struct sactag_row *r)
{
    struct str fqn = str_from(r->fqn), block = str_from(r->block);

    if (fqn.n > block.n && block.n && str_starts(fqn, block) && fqn.s[block.n] == '.')
        return str_sub(fqn, block.n + 1, fqn.n - block.n - 1);
    return fqn.n ? fqn : r->node.n ? str_from(r->node) : str_from(r->output);
}

/* Is it the configured module's own mm? */
static bool is_own(const struct sactag_row *r, struct str configured)
{
    return str_eq(name_of(r), configured) || str_eq(str_from(r->fqn), configured);
}

static int say(struct sactag_text *out, const char *text)
{
    if (!text)
        return IR_EMEM;
    *out = (struct sactag_text){text, strlen(text)};
    return 0;
}

/* ---- forced shapes ---- */

/* "wq's shape 32x32 is now forced" of the row that has the reason. */
static int say_forced(struct causes *c, struct sactag_text *out, const struct sactag_row *r, const char *verb)
{
    struct reason x = reason_of(r);
    char shape[MM_SHAPE_TEXT];

    mm_shape_text(shape, x.rhs);
    if (x.fqn.n && is_own(r, x.fqn))
        return say(out, arena_printf(c->arena, "its shape %s %s forced", shape, verb));
    if (x.fqn.n)
        return say(out, arena_printf(c->arena, "%.*s's shape %s %s forced", STR_ARG(x.fqn), shape, verb));
    return say(out, arena_printf(c->arena, "the shape %s %s forced", shape, verb));
}

/* The same of a row whose shape changed. */
static int say_shape(struct causes *c, struct sactag_text *out, const struct reason *x, bool now)
{
    char shape[MM_SHAPE_TEXT];

    mm_shape_text(shape, x->rhs);
    if (now)
        return say(out, arena_printf(c->arena, "its shape is now %s, which is forced", shape));
    return say(out, arena_printf(c->arena, "its shape is no longer %s, which was forced", shape));
}

/* ---- the count ---- */

static struct cause_call *call_of(struct causes *c, struct sactag_text block, uint32_t call)
{
    uint32_t *i = table_at(&c->index, hash_u64(call, hash_str(str_from(block), 0)));

    if (*i == TABLE_NONE)
        *i = c->n_calls++;
    return &c->calls[*i];
}

static void shift(struct cause_call *k, const struct sactag_row *r, const char *what)
{
    if (k->events++)
        return;
    k->row = *r;
    k->what = what;
}

static const char *left_turns(enum reason_kind kind)
{
    return kind == REASON_FORCED  ? "is now forced"
           : kind == REASON_ADDMM ? "now runs as addmm"
                                  : "takes no turn any more";
}

static const char *joined_turns(enum reason_kind kind)
{
    return kind == REASON_FORCED  ? "is no longer forced"
           : kind == REASON_ADDMM ? "no longer runs as addmm"
                                  : "takes its turn now";
}

/* Does this change shift the count of the mms behind it? */
static void see_shift(struct cause_call *k, const struct sactag_change *change, const struct sactag_row *a,
                      const struct sactag_row *b)
{
    struct reason ra = a ? reason_of(a) : (struct reason){0}, rb = b ? reason_of(b) : (struct reason){0};
    bool before = takes_turns(&ra), after = takes_turns(&rb);

    if (!a && after)
        shift(k, b, "was added");
    else if (!b && before)
        shift(k, a, "was removed");
    else if (a && b && after && (change->differs & SACTAG_DIFFERS_BLOCK))
        shift(k, b, "came into this call");
    else if (a && b && before && !after && rb.kind != REASON_MANUAL && rb.kind != REASON_UNTAGGED)
        shift(k, b, left_turns(rb.kind));
    else if (a && b && !before && after && ra.kind != REASON_MANUAL && ra.kind != REASON_UNTAGGED)
        shift(k, b, joined_turns(ra.kind));
}

static void see_order(struct cause_call *k, const struct sactag_change *change)
{
    if (change->kind == SACTAG_ADDED || change->kind == SACTAG_REMOVED)
        return;
    if (change->a + 1 < k->last_a)
        k->crossed = true;
    else
        k->last_a = (uint32_t)change->a + 1;
}

static int say_shift(struct causes *c, struct sactag_text *out, const struct cause_call *k)
{
    struct str name = name_of(&k->row);

    if (k->events > 1)
        return say(out, arena_printf(c->arena, "the count shifted: %.*s %s, and %" PRIu32 " more",
                                     STR_ARG(name), k->what, k->events - 1));
    if (k->events)
        return say(out, arena_printf(c->arena, "the count shifted: %.*s %s", STR_ARG(name), k->what));
    return k->crossed ? say(out, "the order changed") : 0;
}

/* ---- one change ---- */

/* For what is told by one of the two reasons alone; NULL if neither does. */
static const char *told_by_kind(enum reason_kind a, enum reason_kind b)
{
    if (b == REASON_UNTAGGED)
        return "its tag is missing";
    if (a == REASON_UNTAGGED)
        return "it had no tag";
    if (b == REASON_MANUAL)
        return a == REASON_MANUAL ? "both were set by hand" : "it was set by hand";
    if (a == REASON_MANUAL)
        return "it was set by hand before";
    if (b == REASON_OUTSIDE)
        return "it is outside all blocks now";
    if (a == REASON_OUTSIDE)
        return "it was outside all blocks";
    if (a == REASON_ADDMM && b == REASON_ADDMM)
        return "the profile is another one";
    if (b == REASON_ADDMM)
        return "it now runs as addmm";
    return a == REASON_ADDMM ? "it no longer runs as addmm" : NULL;
}

static int explain(struct causes *c, const struct cause_call *k, struct sactag_change *change,
                   const struct sactag_row *a, const struct sactag_row *b)
{
    struct sactag_text *out = &change->cause;
    struct reason ra = reason_of(a), rb = reason_of(b);
    const char *told = told_by_kind(ra.kind, rb.kind);

    if (told)
        return say(out, told);
    if (rb.kind == REASON_FORCED && ra.kind == REASON_FORCED)
        return 0;
    if (rb.kind == REASON_FORCED && (change->differs & SACTAG_DIFFERS_RHS))
        return say_shape(c, out, &rb, true);
    if (rb.kind == REASON_FORCED)
        return say_forced(c, out, b, "is now");
    if (ra.kind == REASON_FORCED && (change->differs & SACTAG_DIFFERS_RHS))
        return say_shape(c, out, &ra, false);
    if (ra.kind == REASON_FORCED)
        return say_forced(c, out, a, "is no longer");
    if (change->differs & SACTAG_DIFFERS_BLOCK)
        return say(out, arena_printf(c->arena, "it was in %.*s#%" PRIu32, SACTAG_ARG(a->block), a->call));
    return takes_turns(&ra) && takes_turns(&rb) ? say_shift(c, out, k) : 0;
}

int causes_next(struct causes *c, struct sactag_change *change, const struct sactag_row *a,
                const struct sactag_row *b, struct sactag_text block)
{
    struct cause_call *k = call_of(c, block, b ? b->call : a ? a->call : 0);
    unsigned explained = SACTAG_DIFFERS_POLICY | SACTAG_DIFFERS_REASON | SACTAG_DIFFERS_BLOCK;
    int e = 0;

    change->cause = (struct sactag_text){NULL, 0};
    see_order(k, change);
    if (a && b && (change->differs & explained))
        e = explain(c, k, change, a, b);
    see_shift(k, change, a, b);
    return e;
}
