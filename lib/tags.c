/* Reading tags: of each node, on the carrier that sac.plan names or that is found. */
#include "lib/plan_meta.h"
#include "lib/tag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct load {
    struct ir_model *m;
    struct tags *t;
    struct diag *d;
    size_t cap;
};

const char *carrier_name(enum carrier c)
{
    static const char *const names[] = {
        [CARRIER_METADATA] = "metadata", [CARRIER_ATTRIBUTE] = "attribute", [CARRIER_POPART] = "popart"};
    return names[c];
}

/* "BLOCK#CALL"; without a number all of it is the block. */
static void read_region(struct tag *t, struct str s)
{
    ptrdiff_t at = str_rchr(s, '#');
    uint64_t call = 0;
    t->block = s;
    if (at < 0 || (size_t)at + 1 == s.n)
        return;
    for (size_t i = (size_t)at + 1; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9' || call > UINT32_MAX)
            return;
        call = call * 10 + (uint64_t)(s.s[i] - '0');
    }
    if (call >= UINT32_MAX)
        return;
    t->block.n = (size_t)at;
    t->call = (uint32_t)call;
}

static int unknown(struct load *l, uint32_t node, struct str value)
{
    const struct ir_node *n = &l->m->nodes[node];
    struct str name = ir_node_label(l->m, n);
    diag_warn(l->d, "node %" PRIu32 " '%.*s': the policy '%.*s' is none and is left out",
              ir_node_index(l->m, node), STR_ARG(name), STR_ARG(value));
    return 0;
}

static enum policy policy_of(struct str s)
{
    return str_is(s, "save") ? POLICY_SAVE : str_is(s, "recompute") ? POLICY_RECOMPUTE : POLICY_NONE;
}

/* The carriers. 1 a tag, 0 none, or a negative ir_err. */
static int metadata_tag(struct load *l, struct tag *t)
{
    const struct ir_source *source = l->m->source;
    struct str s;
    int rc = source->meta(l->m, t->node, "sac.policy", &s);
    if (rc <= 0)
        return rc;
    t->policy = policy_of(s);
    if (t->policy == POLICY_NONE)
        return unknown(l, t->node, s);
    if ((rc = source->meta(l->m, t->node, "sac.reason", &s)) == 1)
        t->reason = s;
    if (rc >= 0 && (rc = source->meta(l->m, t->node, "sac.region", &s)) == 1)
        read_region(t, s);
    return rc < 0 ? rc : 1;
}

static int attribute_tag(struct load *l, struct tag *t)
{
    const struct ir_source *source = l->m->source;
    struct ir_attr a;
    int rc = source->attr(l->m, t->node, "__sac_policy", &a);
    if (rc <= 0)
        return rc;
    t->policy = a.kind == IR_ATTR_STR ? policy_of(a.s) : POLICY_NONE;
    if (t->policy == POLICY_NONE)
        return unknown(l, t->node, a.s);
    rc = source->attr(l->m, t->node, "__sac_region", &a);
    if (rc == 1 && a.kind == IR_ATTR_STR)
        read_region(t, a.s);
    return rc < 0 ? rc : 1;
}

static int popart_tag(struct load *l, struct tag *t)
{
    struct ir_attr a;
    char text[24];
    int rc = l->m->source->attr(l->m, t->node, "__recompute_output_in_backward_pass", &a);
    if (rc <= 0)
        return rc;
    if (a.kind == IR_ATTR_INT && (a.i == 1 || a.i == 2)) {
        t->policy = a.i == 1 ? POLICY_SAVE : POLICY_RECOMPUTE;
        return 1;
    }
    snprintf(text, sizeof text, "%" PRId64, a.i);
    return unknown(l, t->node, str_of(a.kind == IR_ATTR_INT ? text : ""));
}

static int load_node(struct load *l, uint32_t node)
{
    static int (*const carriers[])(struct load *, struct tag *) = {[CARRIER_METADATA] = metadata_tag,
                                                                   [CARRIER_ATTRIBUTE] = attribute_tag,
                                                                   [CARRIER_POPART] = popart_tag};
    struct tag t = {.node = node};
    int rc = carriers[l->t->carrier](l, &t);
    if (rc <= 0)
        return rc;
    if (grow(&l->t->tags, &l->cap, (size_t)l->t->n + 1, sizeof *l->t->tags) != 0)
        return diag_nomem(l->d);
    l->t->tags[l->t->n++] = t;
    return 0;
}

static int load_all(struct load *l)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < l->m->n_nodes; i++)
        rc = load_node(l, i);
    return rc;
}

/* Those that sac.plan names; all, when the graph is another one now. */
static int load_planned(struct load *l, const struct plan_meta *pm)
{
    const struct onnx_undo *u = &pm->undo;
    int rc = 0;
    l->t->tagged = true;
    l->t->carrier = pm->carrier;
    memcpy(l->t->digest, pm->digest, sizeof l->t->digest);
    if (l->m->format != IR_ONNX || u->of != l->m->n_nodes)
        return load_all(l);
    for (uint32_t i = 0; rc == 0 && i < u->n_nodes; i++)
        rc = load_node(l, u->nodes[i]);
    return rc;
}

int tags_load(struct tags *out, struct ir_model *m, struct diag *d)
{
    struct load l = {.m = m, .t = out, .d = d};
    struct plan_meta pm;
    *out = (struct tags){.carrier = CARRIER_METADATA};
    int rc = plan_meta_read(&pm, m, d);
    if (rc == 1) {
        rc = load_planned(&l, &pm);
    } else if (rc == 0) {
        rc = load_all(&l);
        while (rc == 0 && out->n == 0 && m->format == IR_ONNX && out->carrier < CARRIER_POPART) {
            out->carrier++;
            rc = load_all(&l);
        }
    }
    plan_meta_free(&pm);
    return rc;
}

void tags_free(struct tags *t)
{
    free(t->tags);
    *t = (struct tags){.carrier = CARRIER_METADATA};
}
