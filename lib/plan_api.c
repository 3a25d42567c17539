/* Plans of the public API: options made complete, the passes run, their plan shown. */
#include "lib/model.h"
#include "lib/options_read.h"
#include "passes/fqn.h"
#include "passes/walk.h"

#include <stdlib.h>
#include <string.h>

void sactag_options_init(struct sactag_options *o)
{
    memset(o, 0, sizeof *o);
}

const char *sactag_policy_name(enum sactag_policy p)
{
    static const char *const names[] = {"none", "save", "recompute"};
    return (unsigned)p < 3 ? names[p] : "?";
}

const char *sactag_evidence_name(enum sactag_evidence e)
{
    static const char *const names[] = {"-", "param", "metadata", "scope", "bias", "neighbour"};
    return (unsigned)e < 6 ? names[e] : "?";
}

/* ---- options ---- */

static int copy_strings(struct str **out, uint32_t *n_out, const char *const *list, size_t n,
                        const char *what, struct arena *a, struct diag *d)
{
    if (n > UINT32_MAX)
        return diag_error(d, IR_EUSAGE, "too many %ss", what);
    *out = arena_alloc(a, n ? n : 1, sizeof **out);
    if (!*out)
        return diag_nomem(d);
    for (size_t i = 0; i < n; i++) {
        if (!list[i] || !list[i][0])
            return diag_error(d, IR_EUSAGE, "expected %s but found an empty string", what);
        (*out)[i] = str_of(list[i]);
    }
    *n_out = (uint32_t)n;
    return 0;
}

static int check_length(struct str pattern, struct diag *d)
{
    if (pattern.n > FQN_PATTERN_MAX)
        return diag_error(d, IR_EUSAGE, "expected a pattern of at most %d bytes but found %zu",
                          FQN_PATTERN_MAX, pattern.n);
    return 0;
}

/* Dotted names: no segment is empty. */
static int check_pattern(struct str p, struct diag *d)
{
    if (p.s[0] == '.' || p.s[p.n - 1] == '.' || str_find(p, STR_LIT("..")) >= 0)
        return diag_error(d, IR_EUSAGE, "block pattern '%.*s' has an empty segment", STR_ARG(p));
    return check_length(p, d);
}

static int take_blocks(struct policy_options *out, const struct sactag_options *o, struct arena *a,
                       struct diag *d)
{
    int e = copy_strings(&out->blocks, &out->n_blocks, o->blocks, o->n_blocks, "block pattern", a, d);

    for (uint32_t i = 0; !e && i < out->n_blocks; i++) {
        bool whole = str_is(out->blocks[i], "whole");
        if ((whole || str_is(out->blocks[i], "auto")) && out->n_blocks > 1)
            return diag_error(d, IR_EUSAGE, "blocks: '%.*s' cannot be combined with other patterns",
                              STR_ARG(out->blocks[i]));
        out->whole = whole;
        e = check_pattern(out->blocks[i], d);
    }
    if (!e && out->n_blocks == 1 && (out->whole || str_is(out->blocks[0], "auto")))
        out->n_blocks = 0;
    return e;
}

static int take_shapes(struct policy_options *out, const struct sactag_options *o, struct arena *a,
                       struct diag *d)
{
    if (o->n_force_shapes > UINT32_MAX)
        return diag_error(d, IR_EUSAGE, "too many forced shapes");
    out->force = arena_alloc(a, o->n_force_shapes ? o->n_force_shapes : 1, sizeof *out->force);
    if (!out->force)
        return diag_nomem(d);
    out->n_force = (uint32_t)o->n_force_shapes;
    for (size_t i = 0; i < o->n_force_shapes; i++) {
        struct sactag_shape s = o->force_shapes[i];
        if (s.k < 1 || s.n < 1)
            return diag_error(d, IR_EUSAGE, "forced shape %lldx%lld: both must be at least 1", (long long)s.k,
                              (long long)s.n);
        out->force[i] = (struct mm_shape){s.k, s.n};
    }
    return 0;
}

static int check_choices(const struct sactag_options *o, struct diag *d)
{
    if ((unsigned)o->match > SACTAG_MATCH_GLOB)
        return diag_error(d, IR_EUSAGE, "match: %d is not a choice", (int)o->match);
    if ((unsigned)o->mm_rule > SACTAG_MM_TORCH)
        return diag_error(d, IR_EUSAGE, "mm_rule: %d is not a choice", (int)o->mm_rule);
    if ((unsigned)o->profile > SACTAG_PROFILE_TITAN)
        return diag_error(d, IR_EUSAGE, "profile: %d is not a choice", (int)o->profile);
    if ((unsigned)o->order > SACTAG_ORDER_FILE)
        return diag_error(d, IR_EUSAGE, "order: %d is not a choice", (int)o->order);
    return 0;
}

static enum match resolve_match(const struct sactag_options *o)
{
    if (o->match == SACTAG_MATCH_GLOB)
        return MATCH_GLOB;
    if (o->match == SACTAG_MATCH_SUBSTRING)
        return MATCH_SUBSTRING;
    if (o->match == SACTAG_MATCH_DEFAULT && o->profile == SACTAG_PROFILE_TITAN)
        return MATCH_SUBSTRING;
    return MATCH_EXACT;
}

static enum mm_rule resolve_rule(const struct sactag_options *o, const sactag_model *m)
{
    if (o->mm_rule == SACTAG_MM_DEFAULT)
        return m->ir.format == IR_PT2 || o->profile == SACTAG_PROFILE_TITAN ? MM_TORCH : MM_ONNX;
    return o->mm_rule == SACTAG_MM_TORCH ? MM_TORCH : MM_ONNX;
}

/* The options with all defaults chosen; lists in the arena, text borrowed from `o`. */
static int resolve(struct policy_options *out, const struct sactag_options *o, const sactag_model *m,
                   struct arena *a, struct diag *d)
{
    int e = check_choices(o, d);

    memset(out, 0, sizeof *out);
    out->match = resolve_match(o);
    out->rule = resolve_rule(o, m);
    out->titan = o->profile == SACTAG_PROFILE_TITAN;
    out->file_order = o->order == SACTAG_ORDER_FILE;
    out->strict = o->strict;
    out->specialize = o->specialize;
    out->max_steps = m->max_steps;
    out->max_depth = m->max_depth * WALK_DEPTH_PER_LEVEL;
    out->max_memory = m->ir.arena.limit;
    if (!e)
        e = copy_strings(&out->fqns, &out->n_fqns, o->fqns, o->n_fqns, "FQN", a, d);
    for (uint32_t i = 0; !e && out->match == MATCH_GLOB && i < out->n_fqns; i++)
        e = check_length(out->fqns[i], d);
    if (!e)
        e = copy_strings(&out->mm_ops, &out->n_mm_ops, o->mm_ops, o->n_mm_ops, "mm operator", a, d);
    if (!e)
        e = take_blocks(out, o, a, d);
    if (!e)
        e = take_shapes(out, o, a, d);
    return e;
}

/* ---- deciding ---- */

static int verify(sactag_model *m, struct diag *d)
{
    int e = m->verified ? 0 : ir_verify(&m->ir, d);

    m->verified = e == 0;
    return e;
}

static int decide(sactag_plan *p, sactag_model *m, const struct sactag_options *o, struct diag *d)
{
    struct policy_options options;
    struct arena lists;

    arena_init(&lists, 0);
    int e = resolve(&options, o, m, &lists, d);
    if (!e)
        e = verify(m, d);
    if (!e)
        e = plan_make(p->plan, &m->ir, &options, d);
    if (!e && options_to_api(&p->options, &p->plan->options, &p->plan->arena))
        e = diag_nomem(d);
    p->has_options = e == 0;
    if (!e)
        e = plan_prepare(p, d);
    arena_free(&lists);
    return e;
}

int plan_decide(sactag_plan **out, sactag_model *m, const struct sactag_options *o, struct diag *d)
{
    struct sactag_options defaults;

    sactag_options_init(&defaults);
    sactag_plan *p = plan_new(m, d);
    int e = p ? decide(p, m, o ? o : &defaults, d) : SACTAG_EMEM;

    if (!e)
        e = file_in_whole(&m->file, d);
    if (e)
        sactag_plan_free(p);
    *out = e ? NULL : p;
    return e;
}

int sactag_decide(sactag_plan **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d)
{
    int e = model_reported(m, plan_decide(out, m, o, model_reports_to(m, d)));

    if (e && *out) {
        sactag_plan_free(*out);
        *out = NULL;
    }
    return e;
}

sactag_plan *plan_new(sactag_model *m, struct diag *d)
{
    sactag_plan *p = calloc(1, sizeof *p);

    if (p) {
        p->model = m;
        p->plan = calloc(1, sizeof *p->plan);
    }
    if (p && p->plan)
        return p;
    diag_nomem(d);
    free(p);
    return NULL;
}

void sactag_plan_free(sactag_plan *p)
{
    if (!p)
        return;
    if (p->plan)
        plan_free(p->plan);
    if (p->file)
        plan_file_free(p->file);
    free(p->plan);
    free(p->file);
    free(p);
}

/* ---- what the API shows in another form ---- */

static int prepare_ops(sactag_plan *p, struct diag *d)
{
    const struct ir_model *m = &p->model->ir;

    p->ops = arena_alloc(&p->plan->arena, (size_t)m->n_ops + 1, sizeof *p->ops);
    if (!p->ops)
        return diag_nomem(d);
    for (uint32_t i = 0; i < p->plan->n_rows; i++) {
        uint32_t id = m->nodes[p->plan->rows[i].node].op;
        const struct ir_op *op = &m->ops[id];
        if (p->ops[id].s)
            continue;
        p->ops[id] = op->type;
        if (op->domain.n == 0)
            continue;
        size_t n = op->domain.n + 1 + op->type.n;
        char *text = arena_alloc(&p->plan->arena, n + 1, 1);
        if (!text)
            return diag_nomem(d);
        memcpy(text, op->domain.s, op->domain.n);
        text[op->domain.n] = ':';
        if (op->type.n)
            memcpy(text + op->domain.n + 1, op->type.s, op->type.n);
        p->ops[id] = (struct str){text, n};
    }
    return 0;
}

static int prepare_forced(sactag_plan *p, struct diag *d)
{
    p->forced = arena_alloc(&p->plan->arena, (size_t)p->plan->n_blocks + 1, sizeof *p->forced);
    if (!p->forced)
        return diag_nomem(d);
    for (uint32_t b = 0; b < p->plan->n_blocks; b++) {
        const struct plan_block *block = &p->plan->blocks[b];
        struct sactag_forced *list = arena_alloc(&p->plan->arena, (size_t)block->n_forced + 1, sizeof *list);
        if (!list)
            return diag_nomem(d);
        for (uint32_t i = 0; i < block->n_forced; i++) {
            const struct plan_forced *f = &block->forced[i];
            list[i] = (struct sactag_forced){{f->rhs.k, f->rhs.n}, text_of(f->fqn), text_of(f->also)};
        }
        p->forced[b] = list;
    }
    return 0;
}

int plan_prepare(sactag_plan *p, struct diag *d)
{
    int e = prepare_ops(p, d);
    return e ? e : prepare_forced(p, d);
}

/* ---- getters ---- */

size_t sactag_plan_count(const sactag_plan *p)
{
    return p->file ? p->file->n_rows : p->plan->n_rows;
}

/* From a row over its node and its output to that one's name are four looks into memory, each far from the
 * one before, and rows are asked for in order: of the rows to come, each link is fetched into the cache once
 * the one before it is there. */
#define LINK_AHEAD 3
PREFETCHES fetch_rows(const sactag_plan *p, size_t i)
{
    const struct ir_model *m = &p->model->ir;
    const struct plan_row *r = p->plan->rows;
    size_t n = p->plan->n_rows;
    uint32_t output;

    if (n - i <= 4 * LINK_AHEAD)
        return;
    r += i;
    __builtin_prefetch(&m->nodes[r[4 * LINK_AHEAD].node]);
    __builtin_prefetch(&m->operands[m->nodes[r[3 * LINK_AHEAD].node].outputs]);
    output = ir_node_output(m, &m->nodes[r[2 * LINK_AHEAD].node], 0);
    if (output != IR_NONE)
        __builtin_prefetch(&m->values[output]);
    output = ir_node_output(m, &m->nodes[r[LINK_AHEAD].node], 0);
    if (output != IR_NONE)
        __builtin_prefetch(&m->names.refs[m->values[output].name]);
}

void sactag_plan_row(const sactag_plan *p, size_t i, struct sactag_row *out)
{
    if (p->file) {
        *out = p->file->rows[i];
        return;
    }
    const struct ir_model *m = &p->model->ir;
    const struct plan_row *r = &p->plan->rows[i];
    const struct ir_node *n = &m->nodes[r->node];
    bool inside = r->block != IR_NONE;

    fetch_rows(p, i);
    *out = (struct sactag_row){
        .index = ir_node_index(m, r->node),
        .graph = text_of(r->graph),
        .node = text_of(ir_node_name(m, n)),
        .output = text_of(ir_value_name(m, ir_node_output(m, n, 0))),
        .op = text_of(p->ops[n->op]),
        .block = inside ? text_of(p->plan->blocks[r->block].fqn) : (struct sactag_text){NULL, 0},
        .block_index = r->block,
        .call = r->call,
        .fqn = text_of(r->fqn),
        .evidence = (enum sactag_evidence)r->evidence,
        .rhs = {r->rhs.k, r->rhs.n},
        .policy = (enum sactag_policy)r->policy,
        .reason = text_of(r->reason),
    };
}

size_t sactag_plan_block_count(const sactag_plan *p)
{
    return p->file ? p->file->n_blocks : p->plan->n_blocks;
}

void sactag_plan_block(const sactag_plan *p, size_t i, struct sactag_block *out)
{
    if (p->file) {
        *out = p->file->blocks[i];
        return;
    }
    const struct plan_block *b = &p->plan->blocks[i];

    *out = (struct sactag_block){
        .fqn = text_of(b->fqn),
        .calls = b->calls,
        .saved = b->saved,
        .recomputed = b->recomputed,
        .forced_rows = b->forced_rows,
        .forced = p->forced[i],
        .n_forced = b->n_forced,
    };
}

size_t sactag_plan_linear_count(const sactag_plan *p)
{
    return p->file ? 0 : p->plan->n_linears;
}

void sactag_plan_linear(const sactag_plan *p, size_t i, struct sactag_linear *out)
{
    const struct plan_linear *l = &p->plan->linears[i];

    *out = (struct sactag_linear){
        .fqn = text_of(l->fqn),
        .weight = text_of(l->weight),
        .in = l->in,
        .out = l->out,
        .block = l->block != IR_NONE ? text_of(p->plan->blocks[l->block].fqn) : (struct sactag_text){NULL, 0},
        .evidence = (enum sactag_evidence)l->evidence,
    };
}

void sactag_plan_summary(const sactag_plan *p, struct sactag_summary *out)
{
    if (p->file) {
        *out = p->file->summary;
        return;
    }
    const struct plan *s = p->plan;

    *out = (struct sactag_summary){
        .rows = s->n_rows,
        .saved = s->n_saved,
        .recomputed = s->n_recomputed,
        .forced = s->n_forced,
        .addmm = s->n_addmm,
        .outside = s->n_outside,
        .rules_differ = s->n_rules_differ,
        .assumed = s->n_assumed,
        .mm_rule = s->options.rule == MM_TORCH ? SACTAG_MM_TORCH : SACTAG_MM_ONNX,
        .blocks_how = s->blocks_how ? s->blocks_how : "auto",
        .carrier = p->carrier,
    };
    memcpy(out->evidence, s->n_evidence, sizeof out->evidence);
}

bool sactag_plan_options(const sactag_plan *p, struct sactag_options *out)
{
    const struct sactag_options *known = p->file && p->file->has_options ? &p->file->options
                                         : p->has_options                ? &p->options
                                                                         : NULL;

    sactag_options_init(out);
    if (known)
        *out = *known;
    return known != NULL;
}
