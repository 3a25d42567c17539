/* Policy: the forced sets and the alternation (SPEC 2).
 *
 * Needs everything before it. Writes the plan's rows, forced sets, Linears and counts. Sources: torchtitan's
 * option "force recompute mm shapes by FQNs" for the forced set and for what counts; PyTorch's per-op
 * selective activation checkpointing for the alternation. */
#include "passes/fqn.h"
#include "passes/match.h"
#include "passes/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LISTED_MAX 5         /* names shown in a message */
#define COUNT_MAX  (1 << 16) /* iterations counted one by one; of more, only the parity matters */

struct decider {
    struct state *s;
    struct names blocks;          /* block FQN → block */
    uint32_t *module_block;       /* per module: innermost block around it, or IR_NONE */
    uint32_t *first_call;         /* per block: first index into the arrays below */
    uint32_t *count;              /* per call: mms counted so far */
    uint32_t *first_mm, *last_mm; /* per call: first and last row */
    uint32_t n_calls;
};

/* ---- text for messages ---- */

struct list {
    char *text;
    uint32_t n;
};

static int list_add(struct state *s, struct list *l, struct str item)
{
    l->n++;
    if (l->n > LISTED_MAX + 1)
        return 0;
    const char *more = l->n > LISTED_MAX ? "..." : NULL;
    l->text = l->text
                  ? arena_printf(&s->arena, "%s, %.*s", l->text, more ? 3 : (int)item.n, more ? more : item.s)
                  : arena_printf(&s->arena, "%.*s", STR_ARG(item));
    return l->text ? 0 : IR_EMEM;
}

/* ---- the forced set ---- */

static bool is_whole(const struct state *s)
{
    return str_is(str_of(s->plan->blocks_how), "whole");
}

/* The FQN that modules of a block are inside of: empty when the graph is one block. */
static struct str base_of(const struct state *s, uint32_t block)
{
    return is_whole(s) ? STR_LIT("") : s->plan->blocks[block].fqn;
}

static uint32_t innermost_block(const struct decider *k, struct str fqn)
{
    if (is_whole(k->s))
        return 0;
    for (; fqn.n; fqn = fqn_parent(fqn)) {
        uint32_t id = names_find(&k->blocks, fqn);
        if (id != NAME_NONE)
            return id;
    }
    return IR_NONE;
}

static bool same_shape(struct mm_shape a, struct mm_shape b)
{
    return a.k == b.k && a.n == b.n;
}

/* Could they be equal, as far as dims are known? */
static bool may_equal(struct mm_shape a, struct mm_shape b)
{
    return (a.k < 0 || b.k < 0 || a.k == b.k) && (a.n < 0 || b.n < 0 || a.n == b.n);
}

static const struct plan_forced *find_forced(const struct plan_block *b, struct mm_shape rhs)
{
    for (uint32_t i = 0; i < b->n_forced; i++)
        if (same_shape(b->forced[i].rhs, rhs))
            return &b->forced[i];
    return NULL;
}

static int add_forced(struct plan *p, uint32_t block, struct mm_shape rhs, struct str fqn)
{
    struct plan_block *b = &p->blocks[block];
    if (find_forced(b, rhs))
        return 0;
    if ((b->n_forced & (b->n_forced + 1)) ==
        0) { /* room is 1, 3, 7, ...: grown by copying within the arena */
        struct plan_forced *more = arena_alloc(&p->arena, (size_t)b->n_forced * 2 + 1, sizeof *more);
        if (!more)
            return IR_EMEM;
        if (b->n_forced)
            memcpy(more, b->forced, b->n_forced * sizeof *more);
        b->forced = more;
    }
    char *name = arena_strdup(&p->arena, fqn.s ? fqn.s : "", fqn.n);
    if (!name)
        return IR_EMEM;
    b->forced[b->n_forced++] = (struct plan_forced){.rhs = rhs, .fqn = {name, fqn.n}};
    return 0;
}

/* What one configured FQN hit. */
struct hits {
    uint32_t linears, loose, outside;
    uint32_t untold; /* modules of which the file has nothing but the name */
    struct str first_loose, first_outside;
};

static int not_a_linear(struct decider *k, struct str name, uint32_t module)
{
    struct state *s = k->s;
    struct modules *t = &s->modules;
    struct str fqn = t->a[module].fqn;
    struct list inside = {0};
    for (uint32_t i = 0; i < t->n; i++)
        if (t->a[i].linear && fqn_inside(t->a[i].fqn, fqn)) {
            int rc = list_add(s, &inside, fqn_relative(t->a[i].fqn, fqn));
            if (rc)
                return rc;
        }
    return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' names '%.*s', which is not a Linear%s%s", STR_ARG(name),
                      STR_ARG(fqn), inside.n ? "; Linears inside it: " : "; no Linear lies inside it",
                      inside.n ? inside.text : "");
}

/* A .pt2 lists modules that were never called and whose parameters were dropped: Linear or not, nothing
 * tells. */
static bool untold(const struct module *m)
{
    return !m->called && !m->has_param && !m->children && m->cls.n == 0 && !m->composed;
}

/* All modules of all blocks against one configured FQN. */
static int match_one(struct decider *k, struct str name, struct hits *h)
{
    struct state *s = k->s;
    struct modules *t = &s->modules;
    uint32_t wrong = IR_NONE; /* no Linear: the one in the first block is named */
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t block = k->module_block[i];
        struct str fqn = t->a[i].fqn;
        if (t->a[i].same_as != IR_NONE)
            continue;
        if (block == IR_NONE) {
            if (match_literal(s->o->match, name, fqn, STR_LIT("")) && h->outside++ == 0)
                h->first_outside = fqn;
            continue;
        }
        if (!match_literal(s->o->match, name, fqn, base_of(s, block))) {
            if (t->a[i].composed && t->a[i].linear &&
                match_loose(s->o->match, name, fqn, base_of(s, block)) && h->loose++ == 0)
                h->first_loose = fqn;
            continue;
        }
        if (!t->a[i].linear && untold(&t->a[i])) {
            h->untold++;
            continue;
        }
        if (!t->a[i].linear) {
            if (wrong == IR_NONE || block < k->module_block[wrong])
                wrong = i;
            continue;
        }
        h->linears++;
        int rc = add_forced(s->plan, block, (struct mm_shape){t->a[i].in, t->a[i].out}, name);
        if (rc)
            return rc;
    }
    return wrong == IR_NONE ? 0 : not_a_linear(k, name, wrong);
}

/* Blocks in which the name hit nothing as it stands: may it be a Linear whose containers the scopes leave
 * out? */
static int match_composed(struct decider *k, struct str name, uint32_t *n)
{
    struct state *s = k->s;
    struct modules *t = &s->modules;
    *n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t block = k->module_block[i];
        if (block == IR_NONE || !t->a[i].composed || !t->a[i].linear ||
            match_literal(s->o->match, name, t->a[i].fqn, base_of(s, block)) ||
            !match_loose(s->o->match, name, t->a[i].fqn, base_of(s, block)))
            continue;
        (*n)++;
        int rc = add_forced(s->plan, block, (struct mm_shape){t->a[i].in, t->a[i].out}, name);
        if (rc)
            return rc;
    }
    return 0;
}

/* Up to three names of Linears inside blocks that are most like `name`. */
static int closest(struct decider *k, struct str name, struct list *out)
{
    struct state *s = k->s;
    struct str best[3];
    uint32_t cost[3], n = 0;
    for (uint32_t i = 0; i < s->modules.n; i++) {
        uint32_t block = k->module_block[i];
        if (block == IR_NONE || !s->modules.a[i].linear)
            continue;
        struct str rel = fqn_relative(s->modules.a[i].fqn, base_of(s, block));
        bool known = false;
        for (uint32_t j = 0; j < n; j++)
            known |= str_eq(best[j], rel);
        uint32_t d = known ? UINT32_MAX : name_distance(name, rel), at = n < 3 ? n : 3;
        while (at > 0 && d < cost[at - 1])
            at--;
        if (known || at == 3)
            continue;
        for (uint32_t j = n < 3 ? n : 2; j > at; j--)
            best[j] = best[j - 1], cost[j] = cost[j - 1];
        best[at] = rel, cost[at] = d;
        n += n < 3;
    }
    for (uint32_t i = 0; i < n; i++) {
        int rc = list_add(s, out, best[i]);
        if (rc)
            return rc;
    }
    return 0;
}

/* mms of blocks that multiply by a weight of which no name is known: any name might be theirs. */
static int nameless(struct decider *k, struct list *out)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        const struct mm *mm = &s->mms[i];
        if (!mm->counted || mm->block == IR_NONE || mm->fqn.n || mm->weight.value == IR_NONE)
            continue;
        struct str name = node_name(s, mm->step);
        if (name.n == 0)
            name = ir_value_name(s->m, walk_output(&s->walk, s->walk.steps[mm->step], 0).value);
        int rc = list_add(s, out, name);
        if (rc)
            return rc;
    }
    return 0;
}

static int missed(struct decider *k, struct str name, const struct hits *h)
{
    struct state *s = k->s;
    struct list unnamed = {0}, near = {0};
    if (h->untold) {
        if (s->o->strict)
            return diag_error(s->d, IR_EPOLICY,
                              "FQN '%.*s' cannot be told to be a Linear: it is never called", STR_ARG(name));
        diag_warn(s->d,
                  "FQN '%.*s' names a module that is never called and whose weight is not in the file: if it "
                  "is a Linear, "
                  "say --force-shape KxN to force its shape",
                  STR_ARG(name));
        return 0;
    }
    if (h->outside) {
        diag_warn(
            s->d,
            "FQN '%.*s' is found only outside every block ('%.*s'): only modules inside blocks can match",
            STR_ARG(name), STR_ARG(h->first_outside));
        return s->o->strict ? diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block", STR_ARG(name))
                            : 0;
    }
    int rc = nameless(k, &unnamed);
    if (!rc && unnamed.n)
        return diag_error(
            s->d, IR_EPOLICY,
            "FQN '%.*s' matches no known name, but %u mm%s in blocks ha%s none (%s): re-export with names "
            "kept, or say --force-shape KxN",
            STR_ARG(name), unnamed.n, unnamed.n == 1 ? "" : "s", unnamed.n == 1 ? "s" : "ve", unnamed.text);
    if (!rc)
        rc = closest(k, name, &near);
    if (rc)
        return rc;
    const char *lead = near.n ? "; closest: " : "; the blocks hold no Linear",
               *names = near.n ? near.text : "";
    if (s->o->strict)
        return diag_error(s->d, IR_EPOLICY, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    diag_warn(s->d, "FQN '%.*s' matches in no block%s%s", STR_ARG(name), lead, names);
    return 0;
}

static int forced_sets(struct decider *k)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->o->n_fqns; i++) {
        struct str name = fqn_clean(s->o->fqns[i], &s->arena);
        struct hits h = {0};
        uint32_t loose = 0;
        if (!name.s)
            return IR_EMEM;
        int rc = match_one(k, name, &h);
        if (!rc && h.loose && h.linears == 0)
            rc = match_composed(k, name, &loose);
        if (!rc && loose)
            diag_note(s->d,
                      "FQN '%.*s' is taken for '%.*s': this file leaves out containers that are never called",
                      STR_ARG(name), STR_ARG(h.first_loose));
        if (!rc && h.linears + loose == 0)
            rc = missed(k, name, &h);
        if (rc)
            return rc;
    }
    for (uint32_t b = 0; b < s->plan->n_blocks; b++)
        for (uint32_t i = 0; i < s->o->n_force; i++) {
            int rc = add_forced(s->plan, b, s->o->force[i], (struct str){0});
            if (rc)
                return rc;
        }
    return 0;
}

/* Was this module named by a configured FQN? */
static bool is_named(const struct decider *k, uint32_t module)
{
    const struct state *s = k->s;
    for (uint32_t i = 0; i < s->o->n_fqns; i++) {
        struct str base = base_of(s, k->module_block[module]);
        if (match_literal(s->o->match, s->o->fqns[i], s->modules.a[module].fqn, base) ||
            (s->modules.a[module].composed &&
             match_loose(s->o->match, s->o->fqns[i], s->modules.a[module].fqn, base)))
            return true;
    }
    return false;
}

/* Which further Linears each forced shape hits. */
static int also_forces(struct decider *k)
{
    struct state *s = k->s;
    for (uint32_t i = 0; i < s->modules.n; i++) {
        const struct module *mod = &s->modules.a[i];
        if (!mod->linear || k->module_block[i] == IR_NONE)
            continue;
        struct plan_block *b = &s->plan->blocks[k->module_block[i]];
        for (uint32_t j = 0; j < b->n_forced; j++) {
            struct plan_forced *f = &b->forced[j];
            if (!same_shape(f->rhs, (struct mm_shape){mod->in, mod->out}) || is_named(k, i))
                continue;
            struct str rel = fqn_relative(mod->fqn, base_of(s, k->module_block[i]));
            char *text = arena_printf(&s->plan->arena, "%.*s%s%.*s", STR_ARG(f->also), f->also.n ? "," : "",
                                      STR_ARG(rel));
            if (!text)
                return IR_EMEM;
            f->also = str_of(text);
        }
    }
    return 0;
}

/* ---- rows ---- */

static bool listed(const struct state *s, const struct mm *mm)
{
    return mm->counted || (s->o->rule == MM_TORCH && mm->aten == ATEN_ADDMM);
}

static struct mm_shape shape_in_force(const struct state *s, const struct mm *mm)
{
    return s->o->rule == MM_TORCH ? mm->aten_rhs : mm->rhs;
}

static char *dim_text(char out[24], int64_t d)
{
    if (d < 0)
        strcpy(out, "?");
    else
        snprintf(out, 24, "%" PRId64, d);
    return out;
}

static int set_reason(struct plan *p, struct plan_row *r, const struct mm *mm, const char *what,
                      uint32_t count, const struct plan_forced *f)
{
    char a[24], b[24];
    const char *semi = mm->assumption ? ";" : "", *assumption = mm->assumption ? mm->assumption : "";
    char *text;
    if (f)
        text = arena_printf(&p->arena, "forced:%sx%s:%.*s%s%s", dim_text(a, f->rhs.k), dim_text(b, f->rhs.n),
                            f->fqn.n ? (int)f->fqn.n : 1, f->fqn.n ? f->fqn.s : "-", semi, assumption);
    else if (count)
        text = arena_printf(&p->arena, "%s:%u%s%s", what, count, semi, assumption);
    else
        text = arena_printf(&p->arena, "%s%s%s", what, semi, assumption);
    if (!text)
        return IR_EMEM;
    r->reason = str_of(text);
    r->assumed = mm->assumption != NULL;
    return 0;
}

static int make_row(struct state *s, const struct mm *mm, struct plan_row *r)
{
    struct step st = s->walk.steps[mm->step];
    const char *path = ir_graph_path(s->m, s->walk.frames[st.frame].graph);
    if (!path)
        return IR_EMEM;
    char *fqn = arena_strdup(&s->plan->arena, mm->fqn.s ? mm->fqn.s : "", mm->fqn.n);
    if (!fqn)
        return IR_EMEM;
    *r = (struct plan_row){.node = st.node,
                           .frame = st.frame,
                           .block = mm->block,
                           .call = mm->call,
                           .graph = str_of(path),
                           .fqn = {fqn, mm->fqn.n},
                           .evidence = mm->evidence,
                           .rhs = shape_in_force(s, mm)};
    return 0;
}

/* Decides one row, whose call has counted *count mms so far. */
static int decide_row(struct state *s, struct mm *mm, struct plan_row *r, uint32_t *count)
{
    struct plan *p = s->plan;
    if (mm->block == IR_NONE) {
        p->n_outside++;
        return set_reason(p, r, mm, "outside", 0, NULL);
    }
    *count += mm->folded;
    struct plan_block *b = &p->blocks[mm->block];
    const struct plan_forced *f = mm->counted ? find_forced(b, r->rhs) : NULL;
    int rc;
    if (!mm->counted) {
        r->addmm = true;
        r->policy = s->o->titan ? POLICY_SAVE : POLICY_RECOMPUTE;
        p->n_addmm++;
        rc = set_reason(p, r, mm, "addmm", 0, NULL);
    } else if (f) {
        r->forced = true;
        r->policy = POLICY_RECOMPUTE;
        b->forced_rows++;
        p->n_forced++;
        rc = set_reason(p, r, mm, NULL, 0, f);
    } else {
        bool unsure = r->rhs.k < 0 || r->rhs.n < 0;
        for (uint32_t i = 0; unsure && !mm->assumption && i < b->n_forced; i++)
            if (may_equal(b->forced[i].rhs, r->rhs))
                mm->assumption = "assumed-not-forced";
        bool odd = ++*count % 2 == 1;
        r->policy = odd ? POLICY_SAVE : POLICY_RECOMPUTE;
        rc = set_reason(p, r, mm, odd ? "odd" : "even", *count, NULL);
    }
    if (r->policy == POLICY_SAVE)
        b->saved++, p->n_saved++;
    else
        b->recomputed++, p->n_recomputed++;
    return rc;
}

/* ---- branches and loops ---- */

/* A nested graph that is being gone through. */
struct open_body {
    uint32_t frame;
    uint32_t start;   /* first row in it */
    uint32_t sibling; /* second branch of an If: first row of the first one; else IR_NONE */
};

struct nest {
    struct open_body *open;
    size_t n, cap;
    struct {
        uint32_t node, parent, start;
    } branch; /* the first branch of an If, just left, whose other branch comes next */
};

static uint32_t call_id(const struct decider *k, const struct mm *mm)
{
    return k->first_call[mm->block] + mm->call;
}

/* Is the whole call inside rows [start, end)? Then the body restarts its count each time it runs. */
static bool call_within(const struct decider *k, uint32_t call, uint32_t start, uint32_t end)
{
    return k->first_mm[call] >= start && k->last_mm[call] < end;
}

static bool is_body(const struct state *s, uint32_t frame)
{
    return frame != FRAME_MAIN && s->m->graphs[s->walk.frames[frame].graph].kind == IR_GRAPH_BODY;
}

/* How often a Loop runs its body, or -1. */
static int64_t trip_count(struct state *s, uint32_t frame)
{
    const struct frame *f = &s->walk.frames[frame];
    struct step loop = {f->node, f->parent};
    if (!str_is(ir_node_op(s->m, &s->m->nodes[f->node])->type, "Loop"))
        return -1;
    struct fact x = facts_get(&s->facts, walk_input(&s->walk, loop, 0));
    if (!x.ints || s->facts.ints[x.ints - 1] != 1 || s->facts.ints[x.ints] == FACT_INT_UNKNOWN)
        return -1;
    return s->facts.ints[x.ints] < 0 ? 0 : s->facts.ints[x.ints];
}

static struct str frame_owner(const struct state *s, uint32_t frame)
{
    const struct ir_node *n = &s->m->nodes[s->walk.frames[frame].node];
    return n->name.n ? n->name : ir_node_op(s->m, n)->type;
}

/* Row `row` is decided otherwise in another run of its node; `why` tells which, for the first such row. */
static void vary(struct state *s, uint32_t row, const char *why)
{
    s->plan->rows[row].varies = true;
    if (s->plan->n_varies++ == 0)
        s->plan->varies_why = str_of(why);
}

static struct str row_name(const struct state *s, uint32_t row)
{
    return s->m->nodes[s->plan->rows[row].node].name;
}

/* A Loop's body has been gone through once, rows [start, end): what of the other iterations? */
static int close_loop(struct decider *k, const struct open_body *o, uint32_t end, uint32_t *row_mm)
{
    struct state *s = k->s;
    int64_t trips = trip_count(s, o->frame);
    for (uint32_t i = o->start; i < end; i++) {
        const struct mm *mm = &s->mms[row_mm[i]];
        if (mm->block == IR_NONE || !mm->counted || s->plan->rows[i].forced)
            continue;
        uint32_t call = call_id(k, mm), net = 0;
        if (call_within(k, call, o->start, end))
            continue;
        for (uint32_t j = o->start; j < end; j++) {
            const struct mm *other = &s->mms[row_mm[j]];
            net += other->block == mm->block && other->call == mm->call && other->counted &&
                   !s->plan->rows[j].forced;
        }
        if (net % 2 == 0 || trips == 1 || trips == 0)
            continue;
        if (trips < 0)
            return diag_error_at(
                s->d, IR_EPOLICY, s->m->nodes[s->plan->rows[i].node].name.n ? "" : NULL, NULL, DIAG_NO_OFFSET,
                "the body of '%.*s' counts %u mm%s an iteration and its trip count is not known: "
                "iterations would disagree, and so would all mms after it",
                STR_ARG(frame_owner(s, o->frame)), net, net == 1 ? "" : "s");
        if (!s->plan->rows[i].varies) {
            char *why = arena_printf(&s->plan->arena,
                                     "mm '%.*s' in the body of '%.*s': iterations 0 and 1 decide differently",
                                     STR_ARG(row_name(s, i)), STR_ARG(frame_owner(s, o->frame)));
            if (!why)
                return IR_EMEM;
            vary(s, i, why);
        }
    }
    for (uint32_t i = o->start; i < end && trips > 1;
         i++) { /* the iterations after the first go on counting */
        const struct mm *mm = &s->mms[row_mm[i]];
        if (mm->block != IR_NONE && mm->counted && !s->plan->rows[i].forced &&
            !call_within(k, call_id(k, mm), o->start, end))
            k->count[call_id(k, mm)] +=
                (uint32_t)(trips - 1 < COUNT_MAX ? trips - 1 : COUNT_MAX + (trips - 1) % 2);
    }
    return 0;
}

/* The other branch of an If starts from the counts that this one, rows [start, end), started from. */
static void uncount(struct decider *k, uint32_t start, uint32_t end, const uint32_t *row_mm)
{
    for (uint32_t i = start; i < end; i++) {
        const struct mm *mm = &k->s->mms[row_mm[i]];
        if (mm->block != IR_NONE && mm->counted && !k->s->plan->rows[i].forced)
            k->count[call_id(k, mm)]--;
    }
}

/* Both branches of an If are done: rows [a, b) and [b, end). They must agree where the call goes on. */
static int check_branches(struct decider *k, uint32_t frame, uint32_t a, uint32_t b, uint32_t end,
                          const uint32_t *row_mm)
{
    struct state *s = k->s;
    for (uint32_t i = a; i < end; i++) {
        const struct mm *mm = &s->mms[row_mm[i]];
        if (mm->block == IR_NONE || k->last_mm[call_id(k, mm)] < end)
            continue;
        uint32_t net[2] = {0, 0};
        for (uint32_t j = a; j < end; j++) {
            const struct mm *o = &s->mms[row_mm[j]];
            if (o->block == mm->block && o->call == mm->call && o->counted && !s->plan->rows[j].forced)
                net[j >= b]++;
        }
        if ((net[0] ^ net[1]) & 1)
            return diag_error(
                s->d, IR_EPOLICY,
                "the branches of '%.*s' count %u and %u mms, and more mms of block '%.*s' follow: what they "
                "get would depend on the branch",
                STR_ARG(frame_owner(s, frame)), net[0], net[1], STR_ARG(s->plan->blocks[mm->block].fqn));
    }
    return 0;
}

/* Is `frame` in, or inside, a graph that `node` of frame `parent` runs? */
static bool under(const struct state *s, uint32_t frame, uint32_t node, uint32_t parent)
{
    while (frame != FRAME_MAIN &&
           !(s->walk.frames[frame].node == node && s->walk.frames[frame].parent == parent))
        frame = s->walk.frames[frame].parent;
    return frame != FRAME_MAIN;
}

static bool inside_frame(const struct state *s, uint32_t frame, uint32_t outer)
{
    while (frame != FRAME_MAIN && frame != outer)
        frame = s->walk.frames[frame].parent;
    return frame == outer;
}

/* The innermost open body is done; the next row, `end`, is in frame `next`. */
static int close_body(struct decider *k, struct nest *n, uint32_t next, uint32_t end, uint32_t *row_mm)
{
    struct state *s = k->s;
    const struct open_body *o = &n->open[n->n - 1];
    uint32_t node = s->walk.frames[o->frame].node, parent = s->walk.frames[o->frame].parent;
    struct str op = ir_node_op(s->m, &s->m->nodes[node])->type;
    if (str_is(op, "Loop") || str_is(op, "Scan"))
        return close_loop(k, o, end, row_mm);
    if (!str_is(op, "If"))
        return 0;
    if (o->sibling != IR_NONE)
        return check_branches(k, o->frame, o->sibling, o->start, end, row_mm);
    if (!under(s, next, node, parent))
        return check_branches(k, o->frame, o->start, end, end, row_mm);
    uncount(k, o->start, end, row_mm);
    n->branch.node = node, n->branch.parent = parent, n->branch.start = o->start;
    return 0;
}

static int leave_bodies(struct decider *k, struct nest *n, uint32_t next, uint32_t end, uint32_t *row_mm)
{
    while (n->n && !inside_frame(k->s, next, n->open[n->n - 1].frame)) {
        int rc = close_body(k, n, next, end, row_mm);
        if (rc)
            return rc;
        n->n--;
    }
    return 0;
}

static int enter_bodies(struct decider *k, struct nest *n, uint32_t frame, uint32_t row)
{
    struct state *s = k->s;
    uint32_t have = n->n ? n->open[n->n - 1].frame : FRAME_MAIN;
    size_t from = n->n;
    for (uint32_t f = frame; f != FRAME_MAIN && f != have; f = s->walk.frames[f].parent) {
        if (!is_body(s, f))
            continue;
        if (grow(&n->open, &n->cap, n->n + 1, sizeof *n->open) != 0)
            return IR_EMEM;
        bool second =
            s->walk.frames[f].node == n->branch.node && s->walk.frames[f].parent == n->branch.parent;
        n->open[n->n++] = (struct open_body){f, row, second ? n->branch.start : IR_NONE};
        if (second)
            n->branch.node = IR_NONE;
    }
    for (size_t i = from, j = n->n; i + 1 < j; i++, j--) { /* outermost first */
        struct open_body t = n->open[i];
        n->open[i] = n->open[j - 1];
        n->open[j - 1] = t;
    }
    return 0;
}

/* ---- the pass ---- */

static int number_calls(struct decider *k, const uint32_t *row_mm)
{
    struct state *s = k->s;
    struct plan *p = s->plan;
    k->first_call = arena_alloc(&s->arena, (size_t)p->n_blocks + 1, sizeof *k->first_call);
    if (!k->first_call)
        return IR_EMEM;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        k->first_call[i + 1] = k->first_call[i] + (p->blocks[i].calls ? p->blocks[i].calls : 1);
    k->n_calls = k->first_call[p->n_blocks];
    k->count = arena_alloc(&s->arena, (size_t)k->n_calls + 1, sizeof *k->count);
    k->first_mm = arena_alloc(&s->arena, (size_t)k->n_calls + 1, sizeof *k->first_mm);
    k->last_mm = arena_alloc(&s->arena, (size_t)k->n_calls + 1, sizeof *k->last_mm);
    if (!k->count || !k->first_mm || !k->last_mm)
        return IR_EMEM;
    for (uint32_t i = 0; i < k->n_calls; i++)
        k->first_mm[i] = IR_NONE;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const struct mm *mm = &s->mms[row_mm[i]];
        if (mm->block == IR_NONE)
            continue;
        uint32_t call = call_id(k, mm);
        if (k->first_mm[call] == IR_NONE)
            k->first_mm[call] = i;
        k->last_mm[call] = i;
    }
    return 0;
}

static int decide_rows(struct decider *k, uint32_t *row_mm)
{
    struct state *s = k->s;
    struct plan *p = s->plan;
    struct nest n = {.branch = {IR_NONE, IR_NONE, IR_NONE}};
    int rc = number_calls(k, row_mm);
    for (uint32_t i = 0; !rc && i < p->n_rows; i++) {
        struct mm *mm = &s->mms[row_mm[i]];
        uint32_t frame = s->walk.steps[mm->step].frame, none = 0;
        if (n.n || frame != FRAME_MAIN) {
            rc = leave_bodies(k, &n, frame, i, row_mm);
            if (!rc)
                rc = enter_bodies(k, &n, frame, i);
        }
        if (!rc)
            rc = make_row(s, mm, &p->rows[i]);
        if (!rc)
            rc = decide_row(s, mm, &p->rows[i], mm->block == IR_NONE ? &none : &k->count[call_id(k, mm)]);
    }
    if (!rc)
        rc = leave_bodies(k, &n, FRAME_MAIN, p->n_rows, row_mm);
    free(n.open);
    return rc;
}

static const char *policy_word(enum policy p)
{
    return p == POLICY_SAVE ? "save" : p == POLICY_RECOMPUTE ? "recompute" : "none";
}

/* Runs of one body node that disagree. */
static int compare_runs(struct state *s)
{
    struct plan *p = s->plan;
    if (s->walk.n_frames == 1)
        return 0;
    uint32_t *first = malloc((size_t)s->m->n_nodes * sizeof *first);
    if (!first)
        return IR_EMEM;
    memset(first, 0xff, (size_t)s->m->n_nodes * sizeof *first);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < p->n_rows; i++) {
        uint32_t *f = &first[p->rows[i].node];
        if (*f == IR_NONE) {
            *f = i;
        } else if (p->rows[*f].policy != p->rows[i].policy) {
            char *why = arena_printf(
                &p->arena,
                "mm '%.*s' of a function body: the calls for '%.*s' (%s) and '%.*s' (%s) decide "
                "differently",
                STR_ARG(row_name(s, i)), STR_ARG(p->rows[*f].fqn), policy_word(p->rows[*f].policy),
                STR_ARG(p->rows[i].fqn), policy_word(p->rows[i].policy));
            rc = why ? 0 : IR_EMEM;
            if (why)
                vary(s, i, why);
            p->rows[*f].varies = true;
        }
    }
    free(first);
    return rc;
}

static int copy_linears(struct decider *k)
{
    struct state *s = k->s;
    struct plan *p = s->plan;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->modules.n; i++)
        n += s->modules.a[i].linear;
    p->linears = arena_alloc(&p->arena, n ? n : 1, sizeof *p->linears);
    if (!p->linears)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->modules.n; i++) {
        const struct module *m = &s->modules.a[i];
        if (!m->linear)
            continue;
        char *fqn = arena_strdup(&p->arena, m->fqn.s, m->fqn.n);
        if (!fqn)
            return IR_EMEM;
        bool whole = is_whole(s);
        p->linears[p->n_linears++] = (struct plan_linear){.fqn = {fqn, m->fqn.n},
                                                          .weight = m->weight,
                                                          .in = m->in,
                                                          .out = m->out,
                                                          .block = whole ? 0 : k->module_block[i],
                                                          .evidence = (enum evidence)m->evidence};
    }
    return 0;
}

static void count_rows(struct state *s)
{
    struct plan *p = s->plan;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        p->n_evidence[p->rows[i].evidence]++;
        p->n_assumed += p->rows[i].assumed;
    }
    for (uint32_t i = 0; i < s->n_mms; i++)
        p->n_rules_differ += s->mms[i].literal != (s->mms[i].aten == ATEN_MM);
}

/* A router that is recomputed must choose the same experts again. Once per model: a recomputed mm that a TopK
 * reads. */
static void note_router(struct state *s)
{
    const struct walk *w = &s->walk;
    for (uint32_t i = 0; i < w->n_steps; i++) {
        struct str type = step_op(s, i)->type;
        if (!str_is(type, "TopK") && !str_is(type, "aten.topk.default"))
            continue;
        struct step at = w->steps[i];
        for (int hops = 0; hops < 16 && at.node != IR_NONE; hops++) {
            for (uint32_t r = 0; r < s->plan->n_rows; r++)
                if (s->plan->rows[r].node == at.node && s->plan->rows[r].frame == at.frame) {
                    if (s->plan->rows[r].policy == POLICY_RECOMPUTE)
                        diag_note(s->d,
                                  "'%.*s' is recomputed and decides a TopK (routing): routing must be "
                                  "deterministic, "
                                  "or its choice saved (--tag all does)",
                                  STR_ARG(s->plan->rows[r].fqn));
                    return;
                }
            at = walk_def(w, walk_resolve(w, walk_input(w, at, 0)));
        }
    }
}

int pass_policy(struct state *s)
{
    struct decider k = {.s = s};
    struct plan *p = s->plan;
    names_init(&k.blocks);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < p->n_blocks; i++)
        rc = names_intern(&k.blocks, p->blocks[i].fqn) == i ? 0 : IR_EMEM;
    k.module_block = arena_alloc(&s->arena, (size_t)s->modules.n + 1, sizeof *k.module_block);
    uint32_t *row_mm = arena_alloc(&s->arena, (size_t)s->n_mms + 1, sizeof *row_mm);
    p->rows = arena_alloc(&p->arena, (size_t)s->n_mms + 1, sizeof *p->rows);
    if (!k.module_block || !row_mm || !p->rows)
        rc = IR_EMEM;
    for (uint32_t i = 0; !rc && i < s->modules.n; i++)
        k.module_block[i] = innermost_block(&k, s->modules.a[i].fqn);
    if (!rc)
        rc = forced_sets(&k);
    if (!rc)
        rc = also_forces(&k);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++)
        if (listed(s, &s->mms[i]))
            row_mm[p->n_rows++] = i;
    if (!rc)
        rc = decide_rows(&k, row_mm);
    if (!rc)
        rc = compare_runs(s);
    if (!rc)
        rc = copy_linears(&k);
    names_free(&k.blocks);
    if (rc)
        return rc;
    count_rows(s);
    note_router(s);
    return 0;
}
