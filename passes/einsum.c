#include "passes/einsum.h"

#define LETTERS  26
#define LABELS   (2 * LETTERS) /* A-Z, then a-z: the order in which PyTorch lines dimensions up */
#define ELLIPSIS LABELS

/* The labels of one operand. */
struct labels {
    uint8_t of[EINSUM_DIMS + 1];
    uint32_t n;
    bool ellipsis;
};

/* One operand with all dimensions of the equation; those that it lacks have size 1. */
struct term {
    int64_t dim[EINSUM_DIMS], size[EINSUM_DIMS];
    uint32_t operand; /* or EINSUM_COMPUTED */
};

struct work {
    struct labels in[EINSUM_OPERANDS];
    struct term terms[EINSUM_OPERANDS];
    uint32_t n_terms;
    uint32_t count[LABELS];      /* occurrences in all operands */
    uint32_t at[LABELS];         /* label → dimension + 1, 0 = none yet */
    uint32_t ell_at, n_ell;      /* dimensions of the ellipsis */
    bool ell_placed;             /* in the result */
    uint32_t n_out, n_dims;      /* dimensions of the output; with those that are summed */
    uint32_t users[EINSUM_DIMS]; /* terms in which a dimension has a size other than 1 */
};

static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? LETTERS + c - 'a' : -1;
}

/* Reads "bs...d" up to a comma or the end. Returns what was read, -1 for what is no label. */
static ptrdiff_t read_labels(struct labels *l, struct str s)
{
    size_t i = 0;
    for (; i < s.n && s.s[i] != ','; i++) {
        if (s.s[i] == ' ')
            continue;
        int label = label_of(s.s[i]);
        if (s.s[i] == '.' && !l->ellipsis && str_starts(str_sub(s, i, s.n - i), STR_LIT("..."))) {
            l->ellipsis = true;
            label = ELLIPSIS;
            i += 2;
        }
        if (label < 0 || l->n == sizeof l->of)
            return -1;
        l->of[l->n++] = (uint8_t)label;
    }
    return (ptrdiff_t)i;
}

static bool read_inputs(struct work *w, const struct einsum *e, struct str lhs)
{
    for (uint32_t i = 0; i < e->n; i++) {
        struct labels *l = &w->in[i];
        ptrdiff_t used = read_labels(l, lhs);
        if (used < 0 || (i + 1 < e->n) != ((size_t)used < lhs.n))
            return false;
        lhs = i + 1 < e->n ? str_sub(lhs, (size_t)used + 1, lhs.n - (size_t)used - 1) : lhs;
        uint32_t named = l->n - l->ellipsis, rank = e->operands[i].rank;
        if (l->ellipsis ? named > rank : named != rank)
            return false;
        if (l->ellipsis && rank - named > w->n_ell)
            w->n_ell = rank - named;
        for (uint32_t k = 0; k < l->n; k++)
            if (l->of[k] != ELLIPSIS)
                w->count[l->of[k]]++;
    }
    return true;
}

static void place(struct work *w, uint32_t label)
{
    if (label == ELLIPSIS) {
        w->ell_at = w->n_dims;
        w->n_dims += w->n_ell;
        w->ell_placed = true;
    } else {
        w->at[label] = ++w->n_dims;
    }
}

/* Gives each label its dimension: those of the output first, in its order, then those that are summed. */
static bool place_all(struct work *w, struct str output, bool explicit)
{
    struct labels out = {0};
    if (explicit && read_labels(&out, output) != (ptrdiff_t)output.n)
        return false;
    if (!explicit)
        place(w, ELLIPSIS);
    for (uint32_t label = 0; !explicit && label < LABELS; label++)
        if (w->count[label] == 1)
            place(w, label);
    for (uint32_t i = 0; i < out.n; i++) {
        if (out.of[i] != ELLIPSIS && (w->count[out.of[i]] == 0 || w->at[out.of[i]]))
            return false;
        place(w, out.of[i]);
    }
    w->n_out = w->n_dims;
    if (!w->ell_placed)
        place(w, ELLIPSIS);
    for (uint32_t label = 0; label < LABELS; label++)
        if (w->count[label] && !w->at[label])
            place(w, label);
    return w->n_dims <= EINSUM_DIMS;
}

static void set_dim(struct work *w, struct term *t, uint32_t d, int64_t dim, int64_t size)
{
    if (size == 1)
        return;
    if (t->size[d] == 1) /* a label that an operand repeats (a diagonal) counts once */
        w->users[d]++;
    t->dim[d] = dim;
    t->size[d] = size;
}

static void make_term(struct work *w, const struct einsum *e, uint32_t operand)
{
    const struct labels *l = &w->in[operand];
    const struct einsum_operand *o = &e->operands[operand];
    struct term *t = &w->terms[w->n_terms++];
    uint32_t covered = l->ellipsis ? o->rank - (l->n - 1) : 0, from = 0;
    t->operand = operand;
    for (uint32_t d = 0; d < EINSUM_DIMS; d++)
        t->dim[d] = t->size[d] = 1;
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t n = l->of[i] == ELLIPSIS ? covered : 1;
        uint32_t to = l->of[i] == ELLIPSIS ? w->ell_at + w->n_ell - covered : w->at[l->of[i]] - 1;
        for (uint32_t k = 0; k < n; k++, from++)
            set_dim(w, t, to + k, o->dim[from], o->size[from]);
    }
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t p;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &p) ? -1 : p;
}

/* Sums a dimension of one side away if no other term has it. */
static void sum_alone(struct work *w, struct term *t, uint32_t d)
{
    if (t->size[d] == 1 || w->users[d] != 1)
        return;
    w->users[d] = 0;
    t->dim[d] = t->size[d] = 1;
}

/* Contracts b into a. Returns 1 and the product, or 0 when nothing is summed: then it is elementwise. */
static int contract(struct work *w, struct einsum_product *out, struct term *a, struct term *b)
{
    *out = (struct einsum_product){1, 1, 1, b->operand};
    bool summed = false;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        bool both = a->size[d] != 1 && b->size[d] != 1;
        if (d >= w->n_out && !both) {
            sum_alone(w, a, d);
            sum_alone(w, b, d);
        } else if (d >= w->n_out && --w->users[d] == 1) {
            w->users[d] = 0;
            out->k = times(out->k, a->dim[d]);
            a->dim[d] = a->size[d] = 1;
            summed = true;
            continue;
        }
        if (both)
            out->batch = times(out->batch, a->dim[d]);
        else if (a->size[d] == 1) {
            out->n = times(out->n, b->dim[d]);
            a->dim[d] = b->dim[d];
            a->size[d] = b->size[d];
        }
    }
    a->operand = EINSUM_COMPUTED;
    return summed;
}

static void drop(struct work *w, uint32_t i)
{
    w->n_terms--;
    memmove(&w->terms[i], &w->terms[i + 1], (w->n_terms - i) * sizeof *w->terms);
}

/* One step: the result takes the place of the first term, or, with a path, the last place. */
static int step(struct work *w, struct einsum_product *out, const struct einsum *e, uint32_t turn)
{
    uint32_t i = 0, j = 1;
    bool path = e->n_path == 2 * (e->n - 1);
    if (path) {
        int64_t x = e->path[2 * turn], y = e->path[2 * turn + 1];
        if (x < 0 || y < 0 || x >= w->n_terms || y >= w->n_terms || x == y)
            return -1;
        i = (uint32_t)(x < y ? x : y);
        j = (uint32_t)(x < y ? y : x);
    }
    int n = contract(w, out, &w->terms[i], &w->terms[j]);
    struct term result = w->terms[i];
    drop(w, j);
    if (path) {
        drop(w, i);
        w->terms[w->n_terms++] = result;
    }
    return n;
}

int einsum_products(struct einsum_product out[EINSUM_OPERANDS], const struct einsum *e, struct str equation)
{
    struct work w = {0};
    ptrdiff_t arrow = str_find(equation, STR_LIT("->"));
    struct str lhs = arrow < 0 ? equation : str_sub(equation, 0, (size_t)arrow);
    struct str rhs =
        arrow < 0 ? ((struct str){0}) : str_sub(equation, (size_t)arrow + 2, equation.n - (size_t)arrow - 2);
    if (e->n < 2 || e->n > EINSUM_OPERANDS || !read_inputs(&w, e, lhs) || !place_all(&w, rhs, arrow >= 0))
        return 0;
    for (uint32_t i = 0; i < e->n; i++)
        make_term(&w, e, i);
    int n = 0;
    for (uint32_t turn = 0; turn + 1 < e->n; turn++) {
        int more = step(&w, &out[n], e, turn);
        if (more < 0)
            return 0;
        n += more;
    }
    return n;
}
