#include "lib/tagged.h"

#include "ir/names.h"
#include "lib/options_read.h"
#include "lib/plan_meta.h"

#include <stdlib.h>

/* ---- the options in sac.plan ---- */

static struct str entry_text(const struct ir_model *m, const struct plan_meta *pm)
{
    const struct ir_entry *last = ir_meta(m, PLAN_META_KEY);

    for (uint32_t i = 0; i < m->n_meta; i++)
        if (str_is(m->meta[i].key, PLAN_META_KEY) && m->meta[i].span.off == pm->entry.off)
            return m->meta[i].value;
    return last->value;
}

static int parse_options(struct sactag_options *out, struct str text, struct arena *arena, struct diag *d)
{
    struct json_reader r;
    int e = json_reader_open(&r, text, arena, d);

    if (!e) {
        uint32_t t = json_get(&r.j, 0, "options");
        e = t == JSON_NONE ? diag_error(d, IR_EINPUT, "it has no options") : options_from_json(out, &r, t);
    }
    json_reader_close(&r);
    return e;
}

/* What makes the reader fail is told as being in sac.plan. */
static int read_recorded(struct tagged *t, struct sactag_options *out, sactag_model *m, struct arena *arena,
                         struct diag *d)
{
    struct plan_meta pm;
    struct diag own;
    int found = plan_meta_read(&pm, &m->ir, NULL), e = 0; /* tags_load() has warned already */

    diag_init(&own);
    if (found == 1) {
        t->recorded = true;
        t->all = pm.all;
        t->regions = pm.regions;
        e = parse_options(out, entry_text(&m->ir, &pm), arena, &own);
    }
    if (e)
        diag_error(d, e, "%s: %s", PLAN_META_KEY, own.n ? own.items[0].message : "out of memory");
    diag_free(&own);
    plan_meta_free(&pm);
    return found < 0 ? found : e;
}

static int decide(struct tagged *t, sactag_model *m, const struct sactag_options *o, struct diag *d)
{
    struct sactag_options recorded;
    struct arena arena;

    arena_init(&arena, 0);
    sactag_options_init(&recorded);
    int e = read_recorded(t, &recorded, m, &arena, d);
    t->recorded = t->recorded && !o;
    if (!e)
        e = plan_decide(&t->decided, m, o ? o : &recorded, d);
    arena_free(&arena);
    return e;
}

/* ---- tags by node ---- */

static int index_tags(struct tagged *t, const struct ir_model *m, struct diag *d)
{
    size_t n = (size_t)m->n_nodes + 1;

    t->tag_of = malloc(n * sizeof *t->tag_of);
    if (!t->tag_of)
        return diag_nomem(d);
    memset(t->tag_of, 0xff, n * sizeof *t->tag_of);
    for (uint32_t i = 0; i < t->tags.n; i++)
        t->tag_of[t->tags.tags[i].node] = i;
    return 0;
}

int tagged_read(struct tagged *t, sactag_model *m, const struct sactag_options *o, struct diag *d)
{
    *t = (struct tagged){.tag_of = NULL};
    int e = tags_load(&t->tags, &m->ir, d);
    if (!e)
        e = index_tags(t, &m->ir, d);
    return e ? e : decide(t, m, o, d);
}

void tagged_free(struct tagged *t)
{
    sactag_plan_free(t->decided);
    tags_free(&t->tags);
    free(t->tag_of);
    *t = (struct tagged){.tag_of = NULL};
}

bool tag_in_block(const struct tag *tag, struct str block)
{
    /* A name that the carrier cannot hold stands there escaped. */
    return str_eq(tag->block, block) || str_eq_escaped(tag->block, block);
}

/* ---- tags as a plan ---- */

/* Blocks that tags name; made when the first one names another than the policy does. */
struct regions {
    struct names blocks; /* by the plan's numbers */
    bool open;
};

static int open_regions(struct regions *x, struct plan *p)
{
    struct plan_block *all = arena_alloc(&p->arena, (size_t)p->n_blocks + p->n_rows, sizeof *all);

    if (!all)
        return IR_EMEM;
    if (p->n_blocks)
        memcpy(all, p->blocks, p->n_blocks * sizeof *all);
    p->blocks = all;
    x->open = true;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        if (names_intern(&x->blocks, p->blocks[i].fqn) == NAME_NONE)
            return IR_EMEM;
    return 0;
}

static int add_block(struct regions *x, struct plan *p, struct str name)
{
    char *own = arena_strdup(&p->arena, name.s, name.n);

    if (!own || names_intern(&x->blocks, (struct str){own, name.n}) == NAME_NONE)
        return IR_EMEM;
    p->blocks[p->n_blocks++] = (struct plan_block){.fqn = {own, name.n}};
    return 0;
}

/* Where the tag says that the row is: a part of its decision, whatever the policy says. */
static int take_region(struct regions *x, struct plan *p, struct plan_row *r, const struct tag *tag)
{
    int e = 0;

    if (tag->block.n == 0)
        return 0;
    if (r->block == IR_NONE || !tag_in_block(tag, p->blocks[r->block].fqn)) {
        if (!x->open)
            e = open_regions(x, p);
        r->block = e ? IR_NONE : names_find(&x->blocks, tag->block);
        if (!e && r->block == NAME_NONE) {
            r->block = p->n_blocks;
            e = add_block(x, p, tag->block);
        }
    }
    if (e)
        return e;
    r->call = tag->call;
    if (r->call >= p->blocks[r->block].calls)
        p->blocks[r->block].calls = r->call + 1;
    return 0;
}

static int take_tag(struct regions *x, struct plan *p, struct plan_row *r, const struct tag *tag)
{
    r->forced = r->varies = false;
    if (!tag) {
        /* An mm outside all blocks has no tag in the first place. */
        if (r->policy != POLICY_NONE)
            r->reason = STR_LIT("untagged");
        r->policy = POLICY_NONE;
        return 0;
    }
    r->policy = tag->policy;
    r->forced = str_starts(tag->reason, STR_LIT("forced:"));
    char *reason = arena_strdup(&p->arena, tag->reason.n ? tag->reason.s : "", tag->reason.n);
    r->reason = (struct str){reason, tag->reason.n};
    return reason ? take_region(x, p, r, tag) : IR_EMEM;
}

static int take_tags(struct tagged *t, struct diag *d)
{
    struct plan *p = t->decided->plan;
    struct regions x = {.open = false};
    int e = 0;

    names_init(&x.blocks);
    for (uint32_t i = 0; !e && i < p->n_rows; i++)
        e = take_tag(&x, p, &p->rows[i], tagged_tag(t, p->rows[i].node));
    names_free(&x.blocks);
    plan_count(p);
    if (!e && x.open)
        e = plan_prepare(t->decided, NULL);
    t->decided->from_tags = true;
    return e ? diag_nomem(d) : 0;
}

int sactag_decide_tagged(sactag_plan **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);
    struct tagged t;
    int e = tagged_read(&t, m, o, diag);

    *out = NULL;
    if (!e)
        e = take_tags(&t, diag);
    e = model_reported(m, e);
    if (!e) {
        *out = t.decided;
        t.decided = NULL;
    }
    tagged_free(&t);
    return e;
}
