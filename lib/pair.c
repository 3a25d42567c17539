#include "lib/pair.h"

#include "lib/align.h"
#include "lib/fingerprint.h"
#include "lib/table.h"

#include <stdlib.h>

/* A key of 0 means: cannot be matched by this. */
struct keys {
    uint64_t *a, *b;
};

struct pairer {
    struct pairing *p;
    const sactag_plan *plan_a, *plan_b;
    struct fingerprints prints_a, prints_b; /* empty unless both have a model */
    struct keys keys;
    uint32_t *next; /* per row of a: the next of its group */
    struct group {
        uint32_t n_a, n_b, first, last;
    } * groups;
    struct table table;
    size_t base_a, base_b; /* of the lists that are being aligned */
    enum sactag_matched by;
};

static bool open_a(const struct pairer *x, uint32_t i)
{
    return x->p->b_of_a[i] == IR_NONE;
}

static bool open_b(const struct pairer *x, uint32_t j)
{
    return x->p->a_of_b[j] == IR_NONE;
}

static void match(struct pairer *x, uint32_t i, uint32_t j)
{
    x->p->b_of_a[i] = j;
    x->p->a_of_b[j] = i;
    x->p->by[j] = (uint8_t)x->by;
}

/* ---- names ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool same_word(struct str a, struct str b)
{
    for (size_t i = 0; a.n == b.n && i < a.n; i++)
        if (lower(a.s[i]) != lower(b.s[i]))
            return false;
    return a.n == b.n;
}

/* "torch:aten.linear.default" → "linear"; "com.microsoft:FusedMatMul" → "FusedMatMul". */
static struct str op_word(struct str op)
{
    ptrdiff_t colon = str_rchr(op, ':');
    if (colon >= 0)
        op = str_sub(op, (size_t)colon + 1, op.n - (size_t)colon - 1);
    if (!str_starts(op, STR_LIT("aten.")))
        return op;
    op = str_sub(op, 5, op.n - 5);
    ptrdiff_t dot = str_chr(op, '.');
    return dot < 0 ? op : str_sub(op, 0, (size_t)dot);
}

/* Does the name tell more than its operator and a number? */
static bool name_tells(struct sactag_text name, struct sactag_text op)
{
    struct str s = str_from(name);

    if (str_starts(s, STR_LIT("node_")))
        s = str_sub(s, 5, s.n - 5);
    while (s.n && is_digit(s.s[s.n - 1]))
        s.n--;
    while (s.n && s.s[s.n - 1] == '_')
        s.n--;
    return s.n > 1 && !same_word(s, op_word(str_from(op)));
}

/* ---- keys ---- */

static uint64_t hash_rhs(const struct sactag_row *r, uint64_t h)
{
    return hash_u64((uint64_t)r->rhs.n, hash_u64((uint64_t)r->rhs.k, h));
}

static uint64_t key_fqn(const struct sactag_row *r)
{
    return r->fqn.n ? hash_str(str_from(r->fqn), 1) : 0;
}

static uint64_t key_fqn_rhs(const struct sactag_row *r)
{
    return r->fqn.n ? hash_rhs(r, key_fqn(r)) : 0;
}

static uint64_t key_fqn_call(const struct sactag_row *r)
{
    return r->fqn.n ? hash_u64(r->call, key_fqn(r)) : 0;
}

static uint64_t key_fqn_call_rhs(const struct sactag_row *r)
{
    return r->fqn.n ? hash_rhs(r, key_fqn_call(r)) : 0;
}

static uint64_t key_node(const struct sactag_row *r)
{
    return name_tells(r->node, r->op) ? hash_str(str_from(r->node), 2) : 0;
}

static uint64_t key_identity(const struct sactag_row *r)
{
    return pair_identity(r);
}

static uint64_t key_block_rhs(const struct sactag_row *r)
{
    return hash_rhs(r, hash_u64(r->call, hash_str(str_from(r->block), 3)));
}

static uint64_t key_rhs(const struct sactag_row *r)
{
    return hash_rhs(r, 4);
}

static void set_keys(struct pairer *x, uint64_t (*key)(const struct sactag_row *))
{
    for (uint32_t i = 0; i < x->p->n_a; i++)
        x->keys.a[i] = open_a(x, i) ? key(&x->p->a[i]) : 0;
    for (uint32_t j = 0; j < x->p->n_b; j++)
        x->keys.b[j] = open_b(x, j) ? key(&x->p->b[j]) : 0;
}

static void set_prints(struct pairer *x, const uint64_t *of_node_a, const uint64_t *of_node_b)
{
    for (uint32_t i = 0; i < x->p->n_a; i++)
        x->keys.a[i] = open_a(x, i) ? of_node_a[x->plan_a->plan->rows[i].node] : 0;
    for (uint32_t j = 0; j < x->p->n_b; j++)
        x->keys.b[j] = open_b(x, j) ? of_node_b[x->plan_b->plan->rows[j].node] : 0;
}

/* ---- groups of equal keys ---- */

/* The rows of a by key, in order; how many rows of b have it. */
static int group(struct pairer *x)
{
    const struct pairing *p = x->p;
    uint32_t n = 0, *g;
    int e = table_init(&x->table, (size_t)p->n_a);

    for (uint32_t i = 0; !e && i < p->n_a; i++) {
        if (!x->keys.a[i])
            continue;
        g = table_at(&x->table, x->keys.a[i]);
        if (*g == TABLE_NONE) {
            *g = n++;
            x->groups[*g] = (struct group){0, 0, i, i};
        }
        x->next[x->groups[*g].last] = i;
        x->groups[*g].last = i;
        x->next[i] = IR_NONE;
        x->groups[*g].n_a++;
    }
    return e;
}

static struct group *group_of(struct pairer *x, uint32_t j)
{
    uint32_t *g = x->keys.b[j] ? table_find(&x->table, x->keys.b[j]) : NULL;
    return g ? &x->groups[*g] : NULL;
}

/* Matches the rows of each group, in their order: of groups with as many rows in both plans, or (`any`) as
 * many as there are. */
static int match_groups(struct pairer *x, enum sactag_matched by, bool any)
{
    const struct pairing *p = x->p;
    struct group *g;
    int e = group(x);

    x->by = by;
    for (uint32_t j = 0; !e && j < p->n_b; j++)
        if ((g = group_of(x, j)) != NULL)
            g->n_b++;
    for (uint32_t j = 0; !e && j < p->n_b; j++) {
        g = group_of(x, j);
        if (!g || g->first == IR_NONE || (!any && g->n_a != g->n_b))
            continue;
        match(x, g->first, j);
        g->first = x->next[g->first];
    }
    table_free(&x->table);
    return e;
}

static int match_equal(struct pairer *x, uint64_t (*key)(const struct sactag_row *), enum sactag_matched by)
{
    set_keys(x, key);
    return match_groups(x, by, false);
}

/* ---- places ---- */

static void take_same(void *ctx, size_t i, size_t j)
{
    struct pairer *x = ctx;
    if (x->keys.a[x->base_a + i])
        match(x, (uint32_t)(x->base_a + i), (uint32_t)(x->base_b + j));
}

/* Aligns what is open from row i of a and row j of b on. Returns 1 when it takes too many edits. */
static int align_from(struct pairer *x, uint32_t i, uint32_t j)
{
    uint32_t n = 0, m = 0;

    while (i + n < x->p->n_a && open_a(x, i + n))
        n++;
    while (j + m < x->p->n_b && open_b(x, j + m))
        m++;
    if (n == 0 || m == 0)
        return 0;
    x->base_a = i;
    x->base_b = j;
    return align(&(struct key_lists){x->keys.a + i, x->keys.b + j, n, m}, PAIR_EDITS, take_same, x);
}

/* The open rows behind each pair of neighbours that are matched, and those in front of all. */
static int match_places(struct pairer *x)
{
    const struct pairing *p = x->p;
    x->by = SACTAG_BY_PLACE;
    int e = align_from(x, 0, 0);
    bool crowded = e == 1;
    for (uint32_t i = 0; e >= 0 && i + 1 < p->n_a; i++) {
        if (open_a(x, i) || !open_a(x, i + 1))
            continue;
        e = align_from(x, i + 1, p->b_of_a[i] + 1);
        crowded |= e == 1;
    }
    if (e < 0)
        return e;
    return crowded ? match_groups(x, SACTAG_BY_PLACE, true) : 0;
}

static int match_by_place(struct pairer *x, uint64_t (*key)(const struct sactag_row *))
{
    set_keys(x, key);
    return match_places(x);
}

uint64_t pair_identity(const struct sactag_row *r)
{
    uint64_t h = hash_str(str_from(r->output), hash_str(str_from(r->graph), 5));
    return hash_str(str_from(r->op), hash_str(str_from(r->node), h));
}

/* ---- the whole ---- */

static bool all_matched(const struct pairer *x)
{
    bool open = false, too = false;

    for (uint32_t i = 0; i < x->p->n_a && !open; i++)
        open = open_a(x, i);
    for (uint32_t j = 0; j < x->p->n_b && !too; j++)
        too = open_b(x, j);
    return !open || !too;
}

static int match_names(struct pairer *x)
{
    int e = match_equal(x, key_fqn_rhs, SACTAG_BY_FQN);

    if (!e)
        e = match_equal(x, key_fqn_call_rhs, SACTAG_BY_FQN);
    if (!e)
        e = match_equal(x, key_fqn, SACTAG_BY_FQN);
    if (!e)
        e = match_equal(x, key_fqn_call, SACTAG_BY_FQN);
    if (!e)
        e = match_equal(x, key_node, SACTAG_BY_NODE);
    if (e || (!plan_only_tags(x->plan_a) && !plan_only_tags(x->plan_b)))
        return e;
    /* Of tags neither module nor shape is known; several runs of a node have one tag. */
    set_keys(x, key_identity);
    return match_groups(x, SACTAG_BY_NODE, true);
}

static int match_structure(struct pairer *x)
{
    int e = fingerprints_make(&x->prints_a, &x->plan_a->model->ir);

    if (!e)
        e = fingerprints_make(&x->prints_b, &x->plan_b->model->ir);
    if (e)
        return e;
    set_prints(x, x->prints_a.full, x->prints_b.full);
    e = match_groups(x, SACTAG_BY_STRUCTURE, false);
    if (e)
        return e;
    set_prints(x, x->prints_a.near, x->prints_b.near);
    e = match_places(x);
    if (e)
        return e;
    set_prints(x, x->prints_a.nearest, x->prints_b.nearest);
    return match_places(x);
}

static int match_all(struct pairer *x)
{
    int e = match_names(x);

    if (!e && !all_matched(x))
        e = match_by_place(x, key_fqn_rhs);
    if (!e && !all_matched(x) && x->plan_a->model && x->plan_b->model)
        e = match_structure(x);
    if (!e && !all_matched(x))
        e = match_by_place(x, key_block_rhs);
    if (!e && !all_matched(x))
        e = match_by_place(x, key_rhs);
    return e;
}

static int make_rooms(struct pairer *x)
{
    size_t a = (size_t)x->p->n_a + 1, b = (size_t)x->p->n_b + 1;

    x->keys = (struct keys){calloc(a, sizeof(uint64_t)), calloc(b, sizeof(uint64_t))};
    x->next = malloc(a * sizeof *x->next);
    x->groups = calloc(a, sizeof *x->groups);
    return x->keys.a && x->keys.b && x->next && x->groups ? 0 : IR_EMEM;
}

int pair_none(struct pairing *p, const sactag_plan *plan_a, const sactag_plan *plan_b)
{
    size_t a = sactag_plan_count(plan_a), b = sactag_plan_count(plan_b);

    *p = (struct pairing){.n_a = (uint32_t)a, .n_b = (uint32_t)b};
    p->a = calloc(a + 1, sizeof *p->a);
    p->b = calloc(b + 1, sizeof *p->b);
    p->b_of_a = malloc((a + 1) * sizeof *p->b_of_a);
    p->a_of_b = malloc((b + 1) * sizeof *p->a_of_b);
    p->by = calloc(b + 1, 1);
    if (!p->a || !p->b || !p->b_of_a || !p->a_of_b || !p->by)
        return IR_EMEM;
    for (size_t i = 0; i < a; i++)
        sactag_plan_row(plan_a, i, &p->a[i]);
    for (size_t j = 0; j < b; j++)
        sactag_plan_row(plan_b, j, &p->b[j]);
    memset(p->b_of_a, 0xff, (a + 1) * sizeof *p->b_of_a);
    memset(p->a_of_b, 0xff, (b + 1) * sizeof *p->a_of_b);
    return 0;
}

int pair_rows(struct pairing *p, const sactag_plan *a, const sactag_plan *b)
{
    struct pairer x = {.p = p, .plan_a = a, .plan_b = b};
    int e = pair_none(p, a, b);

    if (!e)
        e = make_rooms(&x);
    if (!e)
        e = match_all(&x);
    fingerprints_free(&x.prints_a);
    fingerprints_free(&x.prints_b);
    free(x.keys.a);
    free(x.keys.b);
    free(x.next);
    free(x.groups);
    return e;
}

void pair_free(struct pairing *p)
{
    free(p->a);
    free(p->b);
    free(p->b_of_a);
    free(p->a_of_b);
    free(p->by);
    *p = (struct pairing){0};
}
