/* Regions: the calls of blocks, and the values that cross their borders (TAGS.md 4 "Regions").
 *
 * Needs block and facts. Region inputs are always saved by a runtime; parameters and what is computed from
 * them alone cross for free and are left out. */
#include "passes/pass.h"

#include <stdlib.h>

struct crossing {
    uint32_t region, value;
    bool out;
};

struct crossings {
    struct crossing *a;
    size_t n, cap;
    uint32_t *entered; /* per slot: the region that its value was seen to enter last, and two; outside: 1 */
};

static int add(struct crossings *c, uint32_t region, uint32_t value, bool out)
{
    if (region == IR_NONE)
        return 0;
    if (grow(&c->a, &c->cap, c->n + 1, sizeof *c->a) != 0)
        return IR_EMEM;
    c->a[c->n++] = (struct crossing){region, value, out};
    return 0;
}

static int by_region(const void *x, const void *y)
{
    const struct crossing *a = x, *b = y;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->out != b->out)
        return a->out ? 1 : -1;
    return (a->value > b->value) - (a->value < b->value);
}

static void mark_leaves(struct state *s, struct use u)
{
    if (s->leaves)
        s->leaves[walk_slot(&s->walk, u)] = 1;
}

/* One operand of a step: does it cross into the step's region, or out of its maker's? */
static int collect_use(struct state *s, const uint32_t *maker, uint32_t step, struct use u,
                       struct crossings *c)
{
    uint32_t from = region_of_maker(s, maker, u), to = s->region_of[step];
    if (from == to || bits_has(s->is_param, u.value) || facts_fixed(&s->facts, u))
        return 0;
    uint32_t *entered = &c->entered[walk_slot(&s->walk, u)];
    if (*entered == to + 2) /* once for each region, not for each operand: nodes may have many of one value */
        return 0;
    *entered = to + 2;
    mark_leaves(s, u);
    int rc = add(c, from, u.value, true);
    return rc ? rc : add(c, to, u.value, false);
}

static int collect(struct state *s, struct crossings *c)
{
    const struct walk *w = &s->walk;
    uint32_t *maker;
    int rc = walk_makers(w, &maker);
    c->entered = calloc((size_t)w->n_slots + 1, sizeof *c->entered);
    if (!rc && !c->entered)
        rc = IR_EMEM;
    for (uint32_t i = 0; !rc && i < w->n_steps; i++) {
        struct step st = walk_step(w, i);
        uint32_t n_in = ir_node_n_in(&s->m->nodes[st.node]);
        for (uint32_t j = 0; !rc && j < n_in; j++) {
            struct use u = walk_resolve(w, walk_input(w, st, j));
            if (u.value != IR_NONE)
                rc = collect_use(s, maker, i, u, c);
        }
    }
    for (uint32_t i = 0; !rc && i < s->m->graphs[s->root].n_outputs; i++) {
        struct use u = walk_resolve(w, (struct use){FRAME_MAIN, s->m->graphs[s->root].outputs[i]});
        if (u.value == IR_NONE)
            continue;
        mark_leaves(s, u);
        rc = add(c, region_of_maker(s, maker, u), u.value, true);
    }
    free(maker);
    return rc;
}

static int publish(struct plan *p, struct crossings *c)
{
    if (c->n)
        qsort(c->a, c->n, sizeof *c->a, by_region);
    uint32_t *values = arena_alloc(&p->arena, c->n ? c->n : 1, sizeof *values);
    if (!values)
        return IR_EMEM;
    for (size_t i = 0; i < c->n; i++) {
        if (i && by_region(&c->a[i], &c->a[i - 1]) == 0)
            continue;
        struct plan_region *r = &p->regions[c->a[i].region];
        uint32_t **list = c->a[i].out ? &r->outputs : &r->inputs,
                 *n = c->a[i].out ? &r->n_outputs : &r->n_inputs;
        if (*n == 0)
            *list = values;
        *values++ = c->a[i].value;
        (*n)++;
    }
    return 0;
}

int pass_regions(struct state *s)
{
    struct plan *p = s->plan;
    s->leaves = s->all ? arena_alloc(&s->arena, (size_t)s->walk.n_slots + 1, 1) : NULL;
    p->n_regions = s->first_region[p->n_blocks];
    p->regions = arena_alloc(&p->arena, p->n_regions ? p->n_regions : 1, sizeof *p->regions);
    if (!p->regions || (s->all && !s->leaves))
        return IR_EMEM;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        for (uint32_t j = 0; j < p->blocks[i].calls; j++)
            p->regions[s->first_region[i] + j] = (struct plan_region){.block = i, .call = j};
    struct crossings c = {0};
    int rc = collect(s, &c);
    if (!rc)
        rc = publish(p, &c);
    free(c.a);
    free(c.entered);
    return rc;
}
