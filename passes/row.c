/* Rows: what one says of an mm, and the text of its reason. */
#include "passes/decide.h"

bool row_wanted(const struct state *s, const struct mm *mm)
{
    return mm->counted || (s->o->rule == MM_TORCH && mm->aten == ATEN_ADDMM);
}

static struct mm_shape shape_in_force(const struct state *s, const struct mm *mm)
{
    return s->o->rule == MM_TORCH ? mm->aten_rhs : mm->rhs;
}

static size_t dim_text(char *out, int64_t d)
{
    if (d >= 0)
        return str_decimal(out, (uint64_t)d);
    *out = '?';
    return 1;
}

const char *mm_shape_text(char out[MM_SHAPE_TEXT], struct mm_shape s)
{
    size_t n = dim_text(out, s.k);
    out[n++] = 'x';
    n += dim_text(out + n, s.n);
    out[n] = '\0';
    return out;
}

static char *reason_text(struct plan *p, const struct row_why *why, const char *assumption)
{
    char rhs[MM_SHAPE_TEXT];
    const char *semi = assumption ? ";" : "";
    const struct plan_forced *f = why->forced;
    assumption = assumption ? assumption : "";
    if (f)
        return arena_printf(&p->arena, "forced:%s:%.*s%s%s", mm_shape_text(rhs, f->rhs),
                            f->fqn.n ? (int)f->fqn.n : 1, f->fqn.n ? f->fqn.s : "-", semi, assumption);
    if (why->count)
        return arena_printf(&p->arena, "%s:%u%s%s", why->what, why->count, semi, assumption);
    return arena_printf(&p->arena, "%s%s%s", why->what, semi, assumption);
}

int row_reason(struct plan *p, struct plan_row *r, const struct mm *mm, const struct row_why *why)
{
    struct plan_forced *f = why->forced;
    const char *assumption = mm->assumption ? mm->assumption : f ? f->assumption : NULL;
    struct str *kept = NULL; /* most rows have the reason of an earlier one, whose text they share */
    if (f && !mm->assumption)
        kept = &f->reason;
    else if (!f && !assumption && why->count && why->count < sizeof p->counted / sizeof *p->counted)
        kept = &p->counted[why->count];
    r->assumed = assumption != NULL;
    if (kept && kept->s) {
        r->reason = *kept;
        return 0;
    }
    char *text = reason_text(p, why, assumption);
    if (!text)
        return IR_EMEM;
    r->reason = str_of(text);
    if (kept)
        *kept = r->reason;
    return 0;
}

/* What lies in the source or is the model's lives as long. */
struct str plan_text(struct state *s, struct str text)
{
    uintptr_t from = (uintptr_t)s->m->bytes, at = (uintptr_t)text.s;
    if (text.s && ((at >= from && at - from < s->m->size) || arena_holds(&s->m->arena, text.s)))
        return text;
    return (struct str){arena_strdup(&s->plan->arena, text.s, text.n), text.n};
}

int row_make(struct decider *k, const struct mm *mm, struct plan_row *r)
{
    struct state *s = k->s;
    struct step st = walk_step(&s->walk, mm->step);
    const char **path = &k->path_of[s->walk.frames[st.frame].graph];
    if (!*path)
        *path = ir_graph_path(s->m, s->walk.frames[st.frame].graph);
    if (!*path)
        return IR_EMEM;
    struct str fqn = plan_text(s, mm->fqn);
    if (!fqn.s)
        return IR_EMEM;
    *r = (struct plan_row){.node = st.node,
                           .frame = st.frame,
                           .block = mm->block,
                           .call = mm->call,
                           .graph = str_of(*path),
                           .fqn = fqn,
                           .evidence = mm->evidence,
                           .rhs = shape_in_force(s, mm)};
    return 0;
}
