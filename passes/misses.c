/* Misses: what was asked for and came to nothing, and what had no place. Nobody looks at a plan's every row:
 * where the outcome may not be what was meant, a line says so; with --strict it is an error.
 *
 * Needs the rows and the counts of blocks. */
#include "passes/decide.h"

#include <inttypes.h>

static int miss(struct state *s, const char *text)
{
    if (!text)
        return IR_EMEM;
    if (s->o->strict)
        return diag_error(s->d, IR_EPOLICY, "%s", text);
    diag_warn(s->d, "%s", text);
    return 0;
}

/* mms that nothing names, outside every block: they may belong to one, since tools that fold weights leave
 * some nodes nothing that tells their module. (A node of the model's own code has a scope.) */
static int unplaced(struct state *s)
{
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        const struct mm *mm = &s->mms[i];
        bool silent = mm->evidence == EV_NONE && mm->unscoped;
        if (silent && mm->block == IR_NONE && row_wanted(s, mm) && n++ == 0)
            first = mm->step;
    }
    if (n == 0)
        return 0;
    return miss(s, arena_printf(&s->arena,
                                "%" PRIu32
                                " mm%s outside every block ha%s no name and may belong to one (the first: "
                                "'%.*s'): re-export with names kept",
                                n, n == 1 ? "" : "s", n == 1 ? "s" : "ve", STR_ARG(node_name(s, first))));
}

/* --force-shape that no mm of a block has. */
static int forced_shapes(struct state *s)
{
    const struct plan *p = s->plan;
    for (uint32_t f = 0; f < s->o->n_force; f++) {
        struct mm_shape shape = s->o->force[f];
        bool hit = false, swapped = false;
        for (uint32_t i = 0; i < p->n_rows && !hit; i++) {
            const struct plan_row *r = &p->rows[i];
            hit = r->forced && r->rhs.k == shape.k && r->rhs.n == shape.n;
            swapped |= r->block != IR_NONE && r->rhs.k == shape.n && r->rhs.n == shape.k;
        }
        const char *hint = swapped ? "; some have it the other way round (KxN is in x out)" : "";
        int rc = hit ? 0
                     : miss(s, arena_printf(&s->arena,
                                            "--force-shape %" PRId64 "x%" PRId64
                                            ": no mm in a block has that rhs%s",
                                            shape.k, shape.n, hint));
        if (rc)
            return rc;
    }
    return 0;
}

/* A member of what was given as a block, "layers.0" of "layers", that runs; empty if there is none. */
static struct str member_of(const struct state *s, struct str fqn)
{
    for (uint32_t i = 0; i < s->n_mms; i++)
        if (s->mms[i].fqn.n > fqn.n + 1 && fqn_inside(s->mms[i].fqn, fqn))
            return s->mms[i].fqn;
    return (struct str){0};
}

static bool given_by_name(const struct state *s, struct str fqn)
{
    for (uint32_t i = 0; i < s->o->n_blocks; i++)
        if (str_eq(s->o->blocks[i], fqn))
            return true;
    return false;
}

/* Blocks given that no mm lies in: a container is never called, and is no block. Of what a pattern fits, some
 * may hold none. */
static int empty_blocks(struct state *s)
{
    const struct plan *p = s->plan;
    bool any = p->n_saved + p->n_recomputed > 0;
    for (uint32_t i = 0; i < p->n_blocks && s->o->n_blocks; i++) {
        const struct plan_block *b = &p->blocks[i];
        if (b->saved + b->recomputed > 0 || (any && !given_by_name(s, b->fqn)))
            continue;
        struct str inside = member_of(s, b->fqn);
        const char *text =
            inside.n == 0 ? arena_printf(&s->arena, "--blocks: '%.*s' holds no mm", STR_ARG(b->fqn))
                          : arena_printf(&s->arena,
                                         "--blocks: '%.*s' is never called itself, so that nothing in it is "
                                         "checkpointed ('%.*s' lies in it): did you mean '%.*s.*'?",
                                         STR_ARG(b->fqn), STR_ARG(inside), STR_ARG(b->fqn));
        int rc = miss(s, text);
        if (rc)
            return rc;
    }
    return 0;
}

int pass_misses(struct state *s)
{
    int rc = unplaced(s);
    if (!rc)
        rc = forced_shapes(s);
    return rc ? rc : empty_blocks(s);
}
