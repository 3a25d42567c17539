/* Annotate: from a plan to what is written on each node, in the form of a carrier (TAGS.md 4 "Carriers"). */
#include "passes/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* What is written on one node; both the plan's rows and its neighbours come down to it. */
struct mark {
    uint32_t node, block, call;
    enum policy policy;
    struct str reason;
    bool shared; /* the node runs more than once: region and reason of one run would mislead */
};

static int by_node(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return a->node == b->node ? 0 : a->node < b->node ? -1 : 1;
}

static struct str policy_text(enum policy p)
{
    return p == POLICY_SAVE ? STR_LIT("save") : STR_LIT("recompute");
}

static int region_text(struct plan *p, const struct mark *k, struct str *out)
{
    struct str fqn = p->blocks[k->block].fqn;
    bool plain = str_is_utf8(fqn) && str_chr(fqn, '\0') < 0; /* what a carrier cannot hold is escaped, once */
    size_t n = plain ? fqn.n : str_escape(NULL, 0, fqn);
    char *text = arena_alloc(&p->arena, n + 16, 1);
    if (!text)
        return IR_EMEM;
    if (plain)
        memcpy(text, fqn.s, n);
    else
        str_escape(text, n + 1, fqn);
    n += (size_t)snprintf(text + n, 16, "#%u", k->call);
    *out = (struct str){text, n};
    return 0;
}

/* Annotations as they are made. */
struct annotator {
    struct plan *p;
    enum carrier carrier;
    struct annot *a; /* room for three a mark */
    size_t n;
};

static struct annot *add(struct annotator *x, const struct mark *k, enum annot_kind kind, struct str key)
{
    struct annot *a = &x->a[x->n++];
    *a = (struct annot){.node = k->node, .kind = kind, .key = key};
    return a;
}

static void annotate(struct annotator *x, const struct mark *k, struct str region)
{
    switch (x->carrier) {
    case CARRIER_ATTRIBUTE:
        add(x, k, ANNOT_ATTR_STR, STR_LIT("__sac_policy"))->value = policy_text(k->policy);
        if (!k->shared)
            add(x, k, ANNOT_ATTR_STR, STR_LIT("__sac_region"))->value = region;
        break;
    case CARRIER_POPART:
        add(x, k, ANNOT_ATTR_INT, STR_LIT("__recompute_output_in_backward_pass"))->i =
            k->policy == POLICY_SAVE ? 1 : 2;
        break;
    case CARRIER_METADATA:
    default:
        add(x, k, ANNOT_META, STR_LIT("sac.policy"))->value = policy_text(k->policy);
        if (!k->shared) {
            add(x, k, ANNOT_META, STR_LIT("sac.reason"))->value = k->reason;
            add(x, k, ANNOT_META, STR_LIT("sac.region"))->value = region;
        }
        break;
    }
}

/* Rows stand in execution order, which most often is the nodes'. */
static void sort_marks(struct mark *marks, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (marks[i].node < marks[i - 1].node) {
            qsort(marks, n, sizeof *marks, by_node);
            return;
        }
}

/* All that is to be written, by node, each node once. */
static uint32_t collect_marks(struct mark *marks, const struct plan *p, bool all, enum carrier c)
{
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const struct plan_row *r = &p->rows[i];
        if (r->policy != POLICY_NONE)
            marks[n++] = (struct mark){r->node, r->block, r->call, r->policy, r->reason, false};
    }
    for (uint32_t i = 0; all && i < p->n_neighbours; i++) {
        const struct plan_neighbour *r = &p->neighbours[i];
        if (!r->bare || c == CARRIER_METADATA)
            marks[n++] = (struct mark){r->node, r->block, r->call, r->policy, str_of(r->reason), r->shared};
    }
    sort_marks(marks, n);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && marks[kept - 1].node == marks[i].node)
            marks[kept - 1].shared = true;
        else
            marks[kept++] = marks[i];
    }
    return kept;
}

/* Nodes of one region stand together, so its name is made once and not for each. */
static int annotate_all(struct annotator *x, const struct mark *marks, uint32_t n)
{
    struct str region = {0};
    const struct mark *named = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct mark *k = &marks[i];
        bool wanted = !k->shared && x->carrier != CARRIER_POPART;
        if (wanted && (!named || named->block != k->block || named->call != k->call)) {
            int rc = region_text(x->p, k, &region);
            if (rc)
                return rc;
            named = k;
        }
        annotate(x, k, region);
    }
    return 0;
}

int plan_annotate(struct annots *out, struct plan *p, bool all, enum carrier carrier, struct diag *d)
{
    *out = (struct annots){0};
    if (p->n_varies)
        return diag_error(d, IR_EPOLICY, "%.*s: one node cannot carry both%s", STR_ARG(p->varies_why),
                          p->varies_by_call ? " (--specialize makes a copy of the function for each)" : "");
    size_t most = (size_t)p->n_rows + p->n_neighbours;
    struct mark *marks = malloc((most ? most : 1) * sizeof *marks);
    struct annotator x = {.p = p, .carrier = carrier};
    x.a = arena_alloc(&p->arena, most * 3 + 1, sizeof *x.a);
    int rc = marks && x.a ? 0 : IR_EMEM;
    if (!rc)
        rc = annotate_all(&x, marks, collect_marks(marks, p, all, carrier));
    free(marks);
    if (rc && p->arena.over)
        return diag_error(d, IR_EINPUT, "tagging needs more memory than the limit of %zu bytes",
                          p->arena.limit);
    if (rc)
        return diag_nomem(d);
    *out = (struct annots){x.a, x.n};
    return 0;
}
