/* Are the tags of a model what they should be? */
#include "lib/reason.h"
#include "lib/tagged.h"

#include <inttypes.h>
#include <stdlib.h>

struct sactag_problems {
    struct sactag_problem *items;
    size_t n, cap;
    size_t by_hand; /* tags set by hand that are not what the policy says */
    struct arena arena;
};

enum { SEEN = 1, TOLD = 2 };

struct checker {
    sactag_problems *out;
    struct ir_model *m;
    const struct tagged *t;
    struct diag *d;
    uint8_t *seen; /* per node: SEEN when a row has it, or a neighbour of mms; TOLD when one of its runs had
                    * a problem */
    bool titan;
};

const char *sactag_problem_name(enum sactag_problem_kind k)
{
    static const char *const names[] = {"not-tagged", "graph-changed", "lost",
                                        "stale",      "contradicting", "unknown"};
    return (unsigned)k < 6 ? names[k] : "?";
}

/* ---- adding ---- */

static int add(struct checker *c, struct sactag_problem p, const char *text)
{
    if (!text || grow(&c->out->items, &c->out->cap, c->out->n + 1, sizeof *c->out->items))
        return diag_nomem(c->d);
    p.text = (struct sactag_text){text, strlen(text)};
    c->out->items[c->out->n++] = p;
    return 0;
}

static int add_model(struct checker *c, enum sactag_problem_kind kind, const char *text)
{
    return add(c, (struct sactag_problem){.kind = kind}, text);
}

/* About a node: `text` is its end, "the tag is lost". `fqn` may be empty. */
static int add_node(struct checker *c, enum sactag_problem_kind kind, uint32_t node, struct str fqn,
                    const char *text)
{
    const struct ir_node *n = &c->m->nodes[node];
    const char *path = ir_graph_path(c->m, ir_node_graph(c->m, node));
    struct str own = ir_node_name(c->m, n);
    struct str name = fqn.n ? fqn : ir_node_label(c->m, n);
    size_t len = str_escape(NULL, 0, name);
    char *escaped = arena_alloc(&c->out->arena, len + 1, 1);

    if (!path || !text || !escaped)
        return diag_nomem(c->d);
    str_escape(escaped, len + 1, name);
    struct sactag_problem p = {.kind = kind,
                               .node = {own.s, own.n},
                               .graph = {path, strlen(path)},
                               .index = ir_node_index(c->m, node)};
    return add(c, p, arena_printf(&c->out->arena, "%s: %s", escaped, text));
}

/* ---- rows ---- */

static const char *word(enum policy p)
{
    return sactag_policy_name((enum sactag_policy)p);
}

static const char *escape(struct checker *c, struct str s)
{
    size_t n = str_escape(NULL, 0, s);
    char *out = arena_alloc(&c->out->arena, n + 1, 1);

    if (out)
        str_escape(out, n + 1, s);
    return out ? out : "";
}

/* A node that runs several times carries neither reason nor region: then the region is not known. */
static bool same_region(const struct checker *c, const struct plan_row *r, const struct tag *tag)
{
    if (tag->block.n == 0 || r->block == IR_NONE)
        return true;
    return tag->call == r->call && tag_in_block(tag, c->t->decided->plan->blocks[r->block].fqn);
}

static int check_region(struct checker *c, const struct plan_row *r, const struct tag *tag)
{
    struct str block = c->t->decided->plan->blocks[r->block].fqn;

    return add_node(c, SACTAG_STALE, r->node, r->fqn,
                    arena_printf(&c->out->arena, "the tag says region %s#%" PRIu32 ", the policy %s#%" PRIu32,
                                 escape(c, tag->block), tag->call, escape(c, block), r->call));
}

static int check_tag(struct checker *c, const struct plan_row *r, const struct tag *tag)
{
    struct reason reason = reason_parse(tag->reason);
    struct arena *a = &c->out->arena;

    if (reason.kind == REASON_MANUAL) {
        c->out->by_hand += tag->policy != r->policy;
        return 0;
    }
    if (!reason_allows(&reason, tag->policy, c->titan))
        return add_node(c, SACTAG_CONTRADICTING, r->node, r->fqn,
                        arena_printf(a, "the tag says %s, but its reason is %s", word(tag->policy),
                                     escape(c, tag->reason)));
    if (r->policy == POLICY_NONE)
        return add_node(
            c, SACTAG_UNKNOWN, r->node, r->fqn,
            arena_printf(a, "the tag says %s, but the mm is outside all blocks", word(tag->policy)));
    if (tag->policy != r->policy)
        return add_node(c, SACTAG_STALE, r->node, r->fqn,
                        arena_printf(a, "the tag says %s%s%s%s, the policy says %s (%s)", word(tag->policy),
                                     tag->reason.n ? " (" : "", tag->reason.n ? escape(c, tag->reason) : "",
                                     tag->reason.n ? ")" : "", word(r->policy), escape(c, r->reason)));
    return same_region(c, r, tag) ? 0 : check_region(c, r, tag);
}

static int check_row(struct checker *c, const struct plan_row *r)
{
    const struct tag *tag = tagged_tag(c->t, r->node);
    size_t before = c->out->n;
    int e = 0;

    if (c->seen[r->node] == TOLD)
        return 0;
    c->seen[r->node] = SEEN;
    if (tag)
        e = check_tag(c, r, tag);
    else if (r->policy != POLICY_NONE)
        e = add_node(c, SACTAG_LOST, r->node, r->fqn,
                     arena_printf(&c->out->arena, "no tag; the policy says %s (%s)", word(r->policy),
                                  escape(c, r->reason)));
    if (c->out->n > before)
        c->seen[r->node] = TOLD;
    return e;
}

/* Was it tagged with --tag all? sac.plan says so; where that is lost, reasons tell. */
static bool all_tagged(const struct checker *c)
{
    bool all = c->t->all;

    for (uint32_t i = 0; !all && !c->t->tags.tagged && i < c->t->tags.n; i++) {
        struct reason reason = reason_parse(c->t->tags.tags[i].reason);
        all = reason_of_neighbour(&reason);
    }
    return all;
}

/* Nodes of blocks that are no mms: what is said of them is looked at like a row. */
static int check_neighbours(struct checker *c)
{
    struct plan *p = c->t->decided->plan;
    int e = plan_neighbours(p, c->m, c->d);

    for (uint32_t i = 0; !e && i < p->n_neighbours; i++) {
        const struct plan_neighbour *n = &p->neighbours[i];
        if (n->bare && c->t->tags.carrier != CARRIER_METADATA && !tagged_tag(c->t, n->node))
            continue;
        e = check_row(c, &(struct plan_row){.node = n->node,
                                            .block = n->block,
                                            .call = n->call,
                                            .policy = n->policy,
                                            .reason = str_of(n->reason)});
    }
    return e;
}

/* Tags on nodes that should have none. */
static int check_others(struct checker *c)
{
    bool all = all_tagged(c);
    int e = all ? check_neighbours(c) : 0;

    for (uint32_t i = 0; !e && i < c->t->tags.n; i++) {
        const struct tag *tag = &c->t->tags.tags[i];
        if (!c->seen[tag->node])
            e = add_node(
                c, SACTAG_UNKNOWN, tag->node, (struct str){NULL, 0},
                arena_printf(&c->out->arena, "the tag says %s, but %s", word(tag->policy),
                             all ? "the node is outside all blocks" : "the policy finds no mm here"));
    }
    return e;
}

/* ---- the model ---- */

static int check_model(struct checker *c)
{
    char digest[DIGEST_TEXT];

    if (!c->t->tags.tagged)
        return add_model(c, SACTAG_GRAPH_CHANGED,
                         "sac.plan is lost: which regions the tags belong to is not known");
    int e = c->t->regions ? 0
                          : add_model(c, SACTAG_GRAPH_CHANGED,
                                      "sac.plan has no list of regions with their inputs and outputs, which "
                                      "readers need");
    if (!e)
        e = tag_digest(c->m, digest, c->d);
    if (!e && strcmp(digest, c->t->tags.digest) != 0)
        e = add_model(c, SACTAG_GRAPH_CHANGED, "the graph was changed since it was tagged");
    return e;
}

static int check_all(struct checker *c)
{
    const struct plan *p = c->t->decided->plan;
    int e;

    if (!c->t->tags.tagged && c->t->tags.n == 0)
        return add_model(c, SACTAG_NOT_TAGGED, "the model carries no tags");
    c->titan = p->options.titan;
    c->seen = calloc((size_t)c->m->n_nodes + 1, 1);
    if (!c->seen)
        return diag_nomem(c->d);
    e = check_model(c);
    for (uint32_t i = 0; !e && i < p->n_rows; i++)
        e = check_row(c, &p->rows[i]);
    if (!e)
        e = check_others(c);
    free(c->seen);
    return e;
}

static int check(sactag_problems **out, sactag_model *m, const struct sactag_options *o, struct diag *d)
{
    sactag_problems *p = calloc(1, sizeof *p);
    struct tagged t;
    int e = tagged_read(&t, m, o, d);
    struct checker c = {.out = p, .m = &m->ir, .t = &t, .d = d};

    if (p)
        arena_init(&p->arena, 0);
    if (!e)
        e = p ? check_all(&c) : diag_nomem(d);
    if (!e && p->arena.failed)
        e = diag_nomem(d);
    tagged_free(&t);
    if (e)
        sactag_problems_free(p);
    *out = e ? NULL : p;
    return e;
}

int sactag_check(sactag_problems **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d)
{
    int e = model_reported(m, check(out, m, o, model_reports_to(m, d)));

    if (e && *out) { /* the model's memory ran out while it was made */
        sactag_problems_free(*out);
        *out = NULL;
    }
    return e;
}

void sactag_problems_free(sactag_problems *c)
{
    if (!c)
        return;
    arena_free(&c->arena);
    free(c->items);
    free(c);
}

size_t sactag_problems_count(const sactag_problems *c)
{
    return c->n;
}

size_t sactag_problems_by_hand(const sactag_problems *c)
{
    return c->by_hand;
}

struct sactag_problem sactag_problems_get(const sactag_problems *c, size_t i)
{
    return c->items[i];
}
