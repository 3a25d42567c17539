#include "passes/modules.h"

#include "passes/fqn.h"

#include <stdlib.h>

#define MANY_MODULES 64 /* of one name: to look through as many each time costs less than to remember */

void modules_init(struct modules *t, struct arena *a)
{
    *t = (struct modules){.arena = a};
    names_init(&t->index);
}

void modules_free(struct modules *t)
{
    free(t->a);
    free(t->by_name);
    free(t->asked);
    free(t->answers);
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
    free(t->asked);
    t->by_name = ids;
    t->n_sorted = t->n;
    t->asked = NULL;
    t->n_answers = 0;
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
    return (uint32_t)str_count(fqn, '.') + 1;
}

/* Does what stands at this position have the name and lie below the base, as far as texts tell? */
static bool in_range(const struct modules *t, uint32_t i, struct str base, struct str atom)
{
    if (i >= t->n_sorted)
        return false;
    struct str f = t->a[t->by_name[i]].fqn;
    return str_eq(fqn_unqualified(f), atom) && (base.n == 0 || str_starts(f, base));
}

static struct answer scan(const struct modules *t, uint32_t from, struct str base, struct str atom,
                          uint32_t nth)
{
    struct answer r = {.base = (uint32_t)base.n, .nth = nth, .best = IR_NONE};
    uint32_t depth = UINT32_MAX;
    for (uint32_t i = from; in_range(t, i, base, atom); i++) {
        struct str f = t->a[t->by_name[i]].fqn;
        if (!fqn_inside(f, base))
            continue;
        uint32_t d = depth_of(f);
        if (d < depth)
            depth = d, r.same = 0;
        if (d == depth && r.same++ == nth)
            r.best = t->by_name[i];
    }
    return r;
}

/* Keeps the answer, when there is memory for it. */
static void keep(struct modules *t, uint32_t from, struct answer r)
{
    if (!t->asked && (t->asked = malloc((size_t)t->n_sorted * sizeof *t->asked)))
        memset(t->asked, 0xff, (size_t)t->n_sorted * sizeof *t->asked);
    if (!t->asked || grow(&t->answers, &t->cap_answers, (size_t)t->n_answers + 1, sizeof *t->answers) != 0)
        return;
    r.next = t->asked[from];
    t->answers[t->n_answers] = r;
    t->asked[from] = t->n_answers++;
}

/* Many scopes ask for the same name below the same module: where there is much to look through, answers are
 * kept by where it begins, which tells the name, and by the length of the base. */
static uint32_t search(struct modules *t, struct str base, struct str atom, uint32_t nth, uint32_t *same)
{
    uint32_t from = lower_bound(t, atom, base);
    bool many = in_range(t, from + MANY_MODULES, base, atom); /* and so all before it */
    uint32_t at = many && t->asked ? t->asked[from] : IR_NONE;
    while (at != IR_NONE && (t->answers[at].base != base.n || t->answers[at].nth != nth))
        at = t->answers[at].next;
    struct answer r = at != IR_NONE ? t->answers[at] : scan(t, from, base, atom, nth);
    if (many && at == IR_NONE)
        keep(t, from, r);
    if (same)
        *same = r.same;
    return r.same > nth ? r.best : IR_NONE;
}

uint32_t modules_below(struct modules *t, struct str base, struct str atom, uint32_t *same)
{
    return search(t, base, atom, 0, same);
}

uint32_t modules_below_nth(struct modules *t, struct str base, struct str atom, uint32_t nth)
{
    return search(t, base, atom, nth, NULL);
}
