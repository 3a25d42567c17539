#include "passes/modules.h"

#include "passes/fqn.h"

#include <stdlib.h>

void modules_init(struct modules *t, struct arena *a)
{
    *t = (struct modules){.arena = a};
    names_init(&t->index);
}

void modules_free(struct modules *t)
{
    free(t->a);
    free(t->by_name);
    names_free(&t->index);
    *t = (struct modules){0};
}

uint32_t modules_find(const struct modules *t, struct str fqn)
{
    return names_find(&t->index, fqn);
}

/* The module of this name, made if it is not there: *fresh. IR_NONE when memory is exhausted. */
static uint32_t intern(struct modules *t, struct str fqn, bool *fresh)
{
    *fresh = false;
    if (grow(&t->a, &t->cap, (size_t)t->n + 1, sizeof *t->a) != 0)
        return IR_NONE;
    uint32_t id = names_intern(&t->index, fqn);
    *fresh = id == t->n;
    if (!*fresh)
        return id == NAME_NONE ? IR_NONE : id;
    t->a[t->n++] = (struct module){.fqn = fqn,
                                   .parent = IR_NONE,
                                   .same_as = IR_NONE,
                                   .weight = IR_NONE,
                                   .in = IR_DIM_UNKNOWN,
                                   .out = IR_DIM_UNKNOWN};
    return id;
}

uint32_t modules_add(struct modules *t, struct str fqn)
{
    bool fresh;
    if (fqn.n == 0)
        return IR_NONE;
    uint32_t id = intern(t, fqn, &fresh);
    for (uint32_t child = id; child != IR_NONE && fresh;) {
        struct str up = fqn_parent(t->a[child].fqn);
        if (up.n == 0)
            break;
        uint32_t parent = intern(t, up, &fresh);
        if (parent == IR_NONE)
            return IR_NONE;
        t->a[child].parent = parent;
        t->a[parent].children++;
        child = parent;
    }
    return id;
}

void modules_inherit(const struct modules *t, uint32_t *of, uint32_t otherwise)
{
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t around = i;
        while (around != IR_NONE && of[around] == MODULES_OPEN)
            around = t->a[around].parent;
        uint32_t mark = around == IR_NONE ? otherwise : of[around];
        for (uint32_t m = i; m != around; m = t->a[m].parent)
            of[m] = mark;
    }
}

static int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.s, b.s, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

struct keyed {
    struct str name, fqn;
    uint32_t id;
};

static int keyed_cmp(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    int c = str_cmp(a->name, b->name);
    return c ? c : str_cmp(a->fqn, b->fqn);
}

int modules_sort(struct modules *t)
{
    struct keyed *k = malloc((size_t)(t->n ? t->n : 1) * sizeof *k);
    uint32_t *ids = malloc((size_t)(t->n ? t->n : 1) * sizeof *ids);
    if (!k || !ids) {
        free(k);
        free(ids);
        return IR_EMEM;
    }
    for (uint32_t i = 0; i < t->n; i++)
        k[i] = (struct keyed){fqn_unqualified(t->a[i].fqn), t->a[i].fqn, i};
    qsort(k, t->n, sizeof *k, keyed_cmp);
    for (uint32_t i = 0; i < t->n; i++)
        ids[i] = k[i].id;
    free(k);
    free(t->by_name);
    t->by_name = ids;
    t->n_sorted = t->n;
    return 0;
}

/* First position whose (name, fqn) is not below (atom, fqn). */
static uint32_t lower_bound(const struct modules *t, struct str atom, struct str fqn)
{
    uint32_t lo = 0, hi = t->n_sorted;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        struct str f = t->a[t->by_name[mid]].fqn;
        int c = str_cmp(fqn_unqualified(f), atom);
        if (c < 0 || (c == 0 && str_cmp(f, fqn) < 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t depth_of(struct str fqn)
{
    uint32_t n = 1;
    for (size_t i = 0; i < fqn.n; i++)
        n += fqn.s[i] == '.';
    return n;
}

static uint32_t search(const struct modules *t, struct str base, struct str atom, uint32_t nth,
                       uint32_t *same)
{
    uint32_t best = IR_NONE, depth = UINT32_MAX, count = 0;
    for (uint32_t i = lower_bound(t, atom, base); i < t->n_sorted; i++) {
        struct str f = t->a[t->by_name[i]].fqn;
        if (!str_eq(fqn_unqualified(f), atom) || (base.n && !str_starts(f, base)))
            break;
        if (!fqn_inside(f, base))
            continue;
        uint32_t d = depth_of(f);
        if (d < depth)
            depth = d, count = 0;
        if (d == depth && count++ == nth)
            best = t->by_name[i];
    }
    if (same)
        *same = count;
    return count > nth ? best : IR_NONE;
}

uint32_t modules_below(const struct modules *t, struct str base, struct str atom, uint32_t *same)
{
    return search(t, base, atom, 0, same);
}

uint32_t modules_below_nth(const struct modules *t, struct str base, struct str atom, uint32_t nth)
{
    return search(t, base, atom, nth, NULL);
}
