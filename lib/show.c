/* What the tags of a model say, as a plan: the rows that carry a tag, as far as tags tell. */
#include "lib/model.h"
#include "lib/tag.h"

struct show {
    struct ir_model *m;
    const struct tags *tags;
    struct plan *p;
    struct diag *d;
    struct names blocks; /* names of blocks; their numbers are those of p->blocks */
    uint32_t path_of;    /* graph that `path` is of */
    struct str path;
};

/* "forced:4096x64:moe.router.gate" tells the rhs. */
static struct mm_shape shape_in(struct str reason)
{
    const struct mm_shape unknown = {IR_DIM_UNKNOWN, IR_DIM_UNKNOWN};
    int64_t dims[2] = {0, 0};
    size_t i = 7;

    if (!str_starts(reason, STR_LIT("forced:")))
        return unknown;
    for (int d = 0; d < 2; d++, i++) {
        size_t from = i;
        for (; i < reason.n && i - from < 18 && reason.s[i] >= '0' && reason.s[i] <= '9'; i++)
            dims[d] = dims[d] * 10 + (reason.s[i] - '0');
        if (i == from || i == reason.n || reason.s[i] != (d == 0 ? 'x' : ':'))
            return unknown;
    }
    return (struct mm_shape){dims[0], dims[1]};
}

static struct str copy(struct show *s, struct str text)
{
    return (struct str){text.n ? arena_strdup(&s->p->arena, text.s, text.n) : NULL, text.n};
}

/* The row's block, added when it is new. */
static int set_block(struct show *s, struct plan_row *r, struct str name, uint32_t call)
{
    r->block = IR_NONE;
    if (name.n == 0)
        return 0;
    uint32_t id = names_find(&s->blocks, name);
    if (id == NAME_NONE) {
        struct str own = copy(s, name);
        id = own.s ? names_intern(&s->blocks, own) : NAME_NONE;
        if (id == NAME_NONE)
            return diag_nomem(s->d);
        s->p->blocks[s->p->n_blocks++].fqn = own;
    }
    struct plan_block *b = &s->p->blocks[id];
    r->block = id;
    r->call = call;
    if (call >= b->calls && call < UINT32_MAX)
        b->calls = call + 1;
    b->saved += r->policy == POLICY_SAVE;
    b->recomputed += r->policy == POLICY_RECOMPUTE;
    b->forced_rows += r->forced;
    return 0;
}

static int set_path(struct show *s, uint32_t graph)
{
    if (s->path.s && s->path_of == graph)
        return 0;
    const char *path = ir_graph_path(s->m, graph);
    if (!path)
        return diag_nomem(s->d);
    s->path = str_of(path);
    s->path_of = graph;
    return 0;
}

static int add_row(struct show *s, const struct tag *t)
{
    struct plan *p = s->p;
    struct plan_row *r = &p->rows[p->n_rows++];
    int e = set_path(s, ir_node_graph(s->m, t->node));

    *r = (struct plan_row){
        .node = t->node,
        .graph = s->path,
        .rhs = shape_in(t->reason),
        .policy = t->policy,
        .reason = copy(s, t->reason),
        .forced = str_starts(t->reason, STR_LIT("forced:")),
        .addmm = str_starts(t->reason, STR_LIT("addmm")),
    };
    if (!e && t->reason.n && !r->reason.s)
        e = diag_nomem(s->d);
    p->n_saved += r->policy == POLICY_SAVE;
    p->n_recomputed += r->policy == POLICY_RECOMPUTE;
    p->n_forced += r->forced;
    p->n_addmm += r->addmm;
    return e ? e : set_block(s, r, t->block, t->call);
}

static int show_tags(struct show *s)
{
    struct plan *p = s->p;

    p->blocks_how = "given";
    p->rows = arena_alloc(&p->arena, (size_t)s->tags->n + 1, sizeof *p->rows);
    p->blocks = arena_alloc(&p->arena, (size_t)s->tags->n + 1, sizeof *p->blocks);
    if (!p->rows || !p->blocks)
        return diag_nomem(s->d);
    for (uint32_t i = 0; i < s->tags->n; i++) {
        int e = add_row(s, &s->tags->tags[i]);
        if (e)
            return e;
    }
    return 0;
}

static int read_tags(sactag_plan *out, struct diag *d)
{
    struct ir_model *m = &out->model->ir;
    struct tags tags;
    struct show s = {.m = m, .tags = &tags, .p = out->plan, .d = d};

    arena_init(&out->plan->arena, m->arena.limit);
    names_init(&s.blocks);
    int e = tags_load(&tags, m, d);
    if (!e && (tags.tagged || tags.n))
        out->carrier = carrier_name(tags.carrier);
    if (!e)
        e = show_tags(&s);
    if (!e)
        e = plan_prepare(out, d);
    names_free(&s.blocks);
    tags_free(&tags);
    return e;
}

int sactag_read_tags(sactag_plan **out, sactag_model *m, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);
    sactag_plan *p = plan_new(m, diag);
    int e = SACTAG_EMEM;

    if (p) {
        p->from_tags = true;
        e = read_tags(p, diag);
    }
    if (!e && p->plan->arena.failed)
        e = diag_nomem(diag);
    e = model_reported(m, e);
    if (e)
        sactag_plan_free(p);
    *out = e ? NULL : p;
    return e;
}
