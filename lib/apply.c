/* Placing a plan file on a model: the model is decided by the file's options, then each row's policy is the
 * file's. */
#include "lib/pair.h"
#include "lib/reason.h"
#include "lib/table.h"
#include "lib/tag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct placer {
    sactag_plan *to; /* of the model */
    const struct plan_file *from;
    struct pairing pairs; /* a: the file's rows, b: the model's */
    struct diag *d;
    uint32_t other; /* rows whose policy is not what the options say today, and not set by hand */
};

/* ---- the same graph: by position ---- */

static uint64_t key_of(const struct sactag_row *r)
{
    return hash_u64(r->index, hash_str(str_from(r->graph), 0));
}

/* Rows of the model by (graph, index), those of one node one after the other. */
static int index_rows(struct pairing *p, struct table *t, uint32_t *next)
{
    int e = table_init(t, p->n_b);

    for (uint32_t j = p->n_b; !e && j-- > 0;) {
        uint32_t *first = table_at(t, key_of(&p->b[j]));
        next[j] = *first;
        *first = j;
    }
    return e;
}

static bool same_node(const struct sactag_row *a, const struct sactag_row *b)
{
    return str_eq(str_from(a->graph), str_from(b->graph)) && str_eq(str_from(a->node), str_from(b->node)) &&
           str_eq(str_from(a->output), str_from(b->output)) && str_eq(str_from(a->op), str_from(b->op));
}

/* A node without a name is told by its output. */
static struct str node_name(const struct sactag_row *r)
{
    return r->node.n ? str_from(r->node) : str_from(r->output);
}

/* The graph is the same, so what the model does not say of its mm was edited. */
static int edited(struct placer *x, uint32_t i, const char *what, struct str found, struct str model)
{
    return plan_file_error(x->d, x->from->places[i],
                           "rows[%" PRIu32
                           "].%s: found '%.*s', but the model has '%.*s': only policies may be edited",
                           i, what, STR_ARG(found), STR_ARG(model));
}

static struct str or_dash(struct sactag_text t)
{
    return t.n ? str_from(t) : STR_LIT("-");
}

static struct str number_text(char room[32], uint32_t n)
{
    snprintf(room, 32, "%" PRIu32, n);
    return str_of(room);
}

static int compare_place(struct placer *x, uint32_t i, const struct sactag_row *a, const struct sactag_row *b)
{
    char found[32], model[32];

    if (!str_eq(str_from(a->block), str_from(b->block)))
        return edited(x, i, "block", or_dash(a->block), or_dash(b->block));
    if (a->block.n && a->call != b->call)
        return edited(x, i, "call", number_text(found, a->call), number_text(model, b->call));
    return 0;
}

static int compare_what(struct placer *x, uint32_t i, const struct sactag_row *a, const struct sactag_row *b)
{
    char found[MM_SHAPE_TEXT], model[MM_SHAPE_TEXT];

    if (!str_eq(str_from(a->fqn), str_from(b->fqn)))
        return edited(x, i, "fqn", or_dash(a->fqn), or_dash(b->fqn));
    if (a->rhs.k != b->rhs.k || a->rhs.n != b->rhs.n)
        return edited(x, i, "rhs", str_of(mm_shape_text(found, (struct mm_shape){a->rhs.k, a->rhs.n})),
                      str_of(mm_shape_text(model, (struct mm_shape){b->rhs.k, b->rhs.n})));
    return compare_place(x, i, a, b);
}

static int find_row(struct placer *x, uint32_t i, struct table *t, const uint32_t *next)
{
    struct pairing *p = &x->pairs;
    uint32_t *first = table_find(t, key_of(&p->a[i]));
    uint32_t j = first ? *first : IR_NONE;

    if (j == IR_NONE)
        return plan_file_error(x->d, x->from->places[i],
                               "rows[%" PRIu32 "]: the model has no mm at node %" PRIu32 " of graph '%.*s'",
                               i, p->a[i].index, SACTAG_ARG(p->a[i].graph));
    if (!same_node(&p->a[i], &p->b[j]))
        return plan_file_error(x->d, x->from->places[i],
                               "rows[%" PRIu32 "]: node %" PRIu32
                               " is %.*s '%.*s' in the model, not %.*s '%.*s'",
                               i, p->a[i].index, SACTAG_ARG(p->b[j].op), STR_ARG(node_name(&p->b[j])),
                               SACTAG_ARG(p->a[i].op), STR_ARG(node_name(&p->a[i])));
    *first = next[j];
    p->b_of_a[i] = j;
    p->a_of_b[j] = i;
    return compare_what(x, i, &p->a[i], &p->b[j]);
}

static int need_all(const struct placer *x)
{
    for (uint32_t j = 0; j < x->pairs.n_b; j++) {
        const struct sactag_row *r = &x->pairs.b[j];
        if (x->pairs.a_of_b[j] == IR_NONE)
            return diag_error(x->d, IR_EINPUT,
                              "the plan has no row for node %" PRIu32 " of graph '%.*s', %.*s '%.*s'",
                              r->index, SACTAG_ARG(r->graph), SACTAG_ARG(r->op), STR_ARG(node_name(r)));
    }
    return 0;
}

static int pair_by_position(struct placer *x)
{
    struct pairing *p = &x->pairs;
    struct table t = {0};
    uint32_t *next = malloc(((size_t)p->n_b + 1) * sizeof *next);
    int e = next ? index_rows(p, &t, next) : IR_EMEM;

    if (e)
        diag_nomem(x->d);
    for (uint32_t i = 0; !e && i < p->n_a; i++)
        e = find_row(x, i, &t, next);
    table_free(&t);
    free(next);
    return e ? e : need_all(x);
}

/* ---- another graph ---- */

static struct str name_of(const struct sactag_row *r)
{
    return r->fqn.n ? str_from(r->fqn) : node_name(r);
}

static void tell_unplaced(const struct placer *x)
{
    const struct pairing *p = &x->pairs;
    uint32_t placed = 0, by_place = 0;

    for (uint32_t i = 0; i < p->n_a; i++) {
        placed += p->b_of_a[i] != IR_NONE;
        if (p->b_of_a[i] == IR_NONE)
            diag_warn(x->d, "line %" PRIu32 ": '%.*s' (%s) could not be placed: the model has no such mm",
                      x->from->places[i].line, STR_ARG(name_of(&p->a[i])),
                      sactag_policy_name(p->a[i].policy));
        else
            by_place += p->by[p->b_of_a[i]] == SACTAG_BY_PLACE;
    }
    for (uint32_t j = 0; j < p->n_b; j++)
        if (p->a_of_b[j] == IR_NONE && p->b[j].block.n)
            diag_warn(x->d, "'%.*s' has no row in the plan: decided by the plan's options (%s)",
                      STR_ARG(name_of(&p->b[j])), sactag_policy_name(p->b[j].policy));
    diag_note(x->d,
              "rebased: %" PRIu32 " of %" PRIu32 " rows placed, %" PRIu32 " of them by their neighbours only",
              placed, p->n_a, by_place);
}

/* ---- policies ---- */

static int set_policy(struct placer *x, struct plan_row *r, const struct sactag_row *from)
{
    struct plan *p = x->to->plan;
    struct reason reason = reason_parse(str_from(from->reason));
    bool manual = reason.kind == REASON_MANUAL;

    if (r->block == IR_NONE || from->block.n == 0) /* not checkpointed in one of both: as the model has it */
        return 0;
    x->other += !manual && r->policy != (enum policy)from->policy;
    r->policy = (enum policy)from->policy;
    r->forced = reason.kind == REASON_FORCED;
    r->addmm = reason.kind == REASON_ADDMM;
    r->varies = r->varies && !manual; /* one word for all runs */
    char *text = arena_strdup(&p->arena, from->reason.n ? from->reason.s : "", from->reason.n);
    r->reason = (struct str){text, from->reason.n};
    return text ? 0 : diag_nomem(x->d);
}

/* Runs of one node that the plan decides differently. */
static int see_runs(struct placer *x, uint32_t n_nodes)
{
    struct plan *p = x->to->plan;
    uint32_t *first = malloc(((size_t)n_nodes + 1) * sizeof *first);

    if (!first)
        return diag_nomem(x->d);
    memset(first, 0xff, ((size_t)n_nodes + 1) * sizeof *first);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        uint32_t *f = &first[p->rows[i].node];
        if (*f == IR_NONE)
            *f = i;
        else
            p->rows[*f].varies = p->rows[i].varies = false;
    }
    for (uint32_t i = 0; i < p->n_rows; i++) {
        uint32_t f = first[p->rows[i].node];
        if (p->rows[f].policy != p->rows[i].policy)
            p->rows[f].varies = p->rows[i].varies = true;
    }
    free(first);
    return 0;
}

static void count_again(struct plan *p)
{
    plan_count(p);
    p->n_varies = 0;
    for (uint32_t i = 0; i < p->n_rows; i++)
        p->n_varies += p->rows[i].varies;
    if (p->n_varies && p->varies_why.n == 0)
        p->varies_why = STR_LIT("the plan decides differently for runs of one node");
}

static int set_policies(struct placer *x)
{
    struct plan *p = x->to->plan;
    int e = 0;

    for (uint32_t j = 0; !e && j < p->n_rows; j++)
        if (x->pairs.a_of_b[j] != IR_NONE)
            e = set_policy(x, &p->rows[j], &x->from->rows[x->pairs.a_of_b[j]]);
    if (!e)
        e = see_runs(x, x->to->model->ir.n_nodes);
    count_again(p);
    if (!e && x->other)
        diag_note(x->d, "%" PRIu32 " row%s of the plan %s not what its options say of this model today",
                  x->other, x->other == 1 ? "" : "s", x->other == 1 ? "is" : "are");
    return e;
}

/* ---- the whole ---- */

static int check_file(const sactag_plan *file, sactag_model *m, bool rebase, struct diag *d)
{
    char digest[DIGEST_TEXT];

    if (file->file && file->file->tags)
        return diag_error(d, IR_EUSAGE,
                          "these are tags, which name no options: expected a plan file, which sactag plan "
                          "prints in JSON");
    if (!file->file || !file->file->has_options)
        return diag_error(d, IR_EUSAGE, "expected a plan file in JSON, which names its graph and options");
    if (rebase)
        return 0;
    int e = tag_digest(&m->ir, digest, d);
    if (!e && strcmp(digest, file->file->digest) != 0)
        return diag_error(
            d, IR_EPOLICY,
            "the plan was made for another graph (%s, the model's is %s): make it anew, or say --rebase",
            file->file->digest, digest);
    return e;
}

static int place(sactag_plan *to, const sactag_plan *file, bool rebase, struct diag *d)
{
    struct placer x = {.to = to, .from = file->file, .d = d};
    int e = rebase ? pair_rows(&x.pairs, file, to) : pair_none(&x.pairs, file, to);

    if (e)
        diag_nomem(d);
    else if (rebase)
        tell_unplaced(&x);
    else
        e = pair_by_position(&x);
    if (!e)
        e = set_policies(&x);
    pair_free(&x.pairs);
    return e;
}

int sactag_apply(sactag_plan **out, sactag_model *m, const sactag_plan *file, bool rebase, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);
    sactag_plan *p = NULL;
    int e = check_file(file, m, rebase, diag);

    if (!e)
        e = plan_decide(&p, m, &file->file->options, diag);
    if (!e)
        e = place(p, file, rebase, diag);
    e = model_reported(m, e);
    if (e)
        sactag_plan_free(p);
    *out = e ? NULL : p;
    return e;
}
