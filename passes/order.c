/* Order: execution order, where a tool has written the nodes in another.
 *
 * ONNX Runtime's optimiser re-saves a graph in an order of its own (topological still: wk before wq). The
 * TorchScript exporter numbers what it folds ("onnx::MatMul_565") in execution order, and the numbers
 * survive. So: take the mms by rising number, each after everything it needs; what has no number follows from
 * what needs it. Without numbers the file's order is all there is, and the rows say so.
 *
 * In one scope the exporter numbers the nodes of each operator, too ("/experts/MatMul_1"): those follow each
 * other as they are numbered.
 *
 * PyTorch's own files are in order, whatever the numbers say: the halves of a weight are numbered when they
 * are folded, not when they are used.
 *
 * Needs walk and mm. Touches nothing when the numbers already rise. */
#include "passes/linear.h"

#include <stdlib.h>

/* An mm whose weight has a number. The same weight may be used again, in a further call of its module: such
 * uses have no number of their own, and come right before what needs them. */
struct keyed_mm {
    uint64_t at;  /* twice the number, plus one; of a further use twice the number of what first needs it */
    uint32_t use; /* which use of the weight this is, from 0 */
    uint64_t number;
    uint32_t step, weight, place; /* place in s->mms */
};

/* The number of "onnx::Anything_123"; false for any other name. */
static bool exporter_number(struct str name, uint64_t *out)
{
    ptrdiff_t u = str_rchr(name, '_');
    if (!str_starts(name, STR_LIT("onnx::")) || u < 0)
        return false;
    struct str digits = str_sub(name, (size_t)u + 1, name.n - (size_t)u - 1);
    if (!fqn_is_number(digits) || digits.n > 18)
        return false;
    *out = 0;
    for (size_t i = 0; i < digits.n; i++)
        *out = *out * 10 + (uint64_t)(digits.s[i] - '0');
    return true;
}

/* PyTorch's exporter writes no contrib ops: a file of PyTorch's that imports their domain was saved again by
 * ONNX Runtime's optimiser. (Tools that build graphs with contrib ops keep the order they were given.) */
static bool has_contrib_ops(const struct ir_model *m)
{
    for (uint32_t i = 0; i < m->n_opsets; i++)
        if (str_is(m->opsets[i].domain, "com.microsoft"))
            return true;
    return false;
}

static int by_key(const void *x, const void *y)
{
    const struct keyed_mm *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static int by_weight(const void *x, const void *y)
{
    const struct keyed_mm *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

/* Steps in the order in which the numbered mms ask for them. */
struct demand {
    struct state *s;
    const uint32_t *def_of; /* of walk_makers() */
    uint8_t *seen;          /* per step: 1 on the stack, 2 emitted */
    uint32_t *out, n;
    struct pending {
        uint32_t step, input;
    } * stack;
    size_t depth, cap;
};

static int push(struct demand *k, uint32_t step)
{
    if (k->seen[step])
        return 0;
    if (grow(&k->stack, &k->cap, k->depth + 1, sizeof *k->stack) != 0)
        return IR_EMEM;
    k->seen[step] = 1;
    k->stack[k->depth++] = (struct pending){step, 0};
    return 0;
}

static int emit_with_needs(struct demand *k, uint32_t step)
{
    struct state *s = k->s;
    int rc = push(k, step);
    while (!rc && k->depth) {
        struct pending *p = &k->stack[k->depth - 1];
        struct step st = walk_step(&s->walk, p->step);
        if (p->input == ir_node_n_in(&s->m->nodes[st.node])) {
            k->seen[p->step] = 2;
            k->out[k->n++] = p->step;
            k->depth--;
            continue;
        }
        struct use u = walk_resolve(&s->walk, walk_input(&s->walk, st, p->input++));
        uint32_t def = u.value == IR_NONE ? IR_NONE : walk_maker(&s->walk, k->def_of, u);
        if (def != IR_NONE)
            rc = push(k, def);
    }
    return rc;
}

static int demand_order(struct state *s, const struct keyed_mm *keyed, uint32_t n_keyed,
                        const uint32_t *def_of)
{
    const struct walk *w = &s->walk;
    struct demand k = {.s = s, .def_of = def_of};
    k.seen = calloc(w->n_steps ? w->n_steps : 1, 1);
    k.out = arena_alloc(&s->arena, w->n_steps, sizeof *k.out);
    int rc = k.seen && k.out ? 0 : IR_EMEM;
    for (uint32_t i = 0; !rc && i < n_keyed; i++)
        rc = emit_with_needs(&k, keyed[i].step);
    for (uint32_t i = 0; !rc && i < w->n_steps; i++)
        rc = emit_with_needs(&k, i);
    free(k.seen);
    free(k.stack);
    if (!rc)
        s->order = k.out;
    return rc;
}

/* The number that a scope ends in where it was used before ("/block/wq_2"), else 0. */
static uint32_t call_suffix(const struct state *s, uint32_t step)
{
    const struct scope *sc = step_scope(s, step);
    uint32_t number = 0;
    if (sc->kind != SCOPE_NAME || !sc->stem)
        return 0;
    for (size_t i = atom_stem(sc->raw).n + 1; i < sc->raw.n && number < (1U << 24); i++)
        number = number * 10 + (uint32_t)(sc->raw.s[i] - '0');
    return number;
}

/* Numbers the uses of each weight, in the order of the calls. */
static void number_uses(struct keyed_mm *keyed, uint32_t n)
{
    qsort(keyed, n, sizeof *keyed, by_weight);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        if (keyed[i].weight != keyed[first].weight)
            first = i;
        keyed[i].use = i - first;
    }
}

/* Where each numbered mm belongs: by its number, or before the numbered one that first needs it. */
static int place_all(struct state *s, struct keyed_mm *keyed, uint32_t n, const uint32_t *def_of)
{
    const struct walk *w = &s->walk;
    uint64_t *needed =
                 malloc((size_t)(w->n_steps + 1) * sizeof *needed), /* per step: least number after it */
        *own = malloc((size_t)(w->n_steps + 1) * sizeof *own);
    if (!needed || !own) {
        free(needed);
        free(own);
        return IR_EMEM;
    }
    memset(needed, 0xff, (size_t)w->n_steps * sizeof *needed);
    memset(own, 0xff, (size_t)w->n_steps * sizeof *own);
    for (uint32_t i = 0; i < n; i++)
        if (keyed[i].use == 0)
            own[keyed[i].step] = keyed[i].number;
    for (uint32_t i = w->n_steps; i-- > 0;) {
        uint64_t least = own[i] < needed[i] ? own[i] : needed[i];
        for (uint32_t j = 0; j < ir_node_n_in(&s->m->nodes[walk_step(w, i).node]); j++) {
            struct use u = walk_resolve(w, walk_input(w, walk_step(w, i), j));
            uint32_t def = u.value == IR_NONE ? IR_NONE : walk_maker(w, def_of, u);
            if (def != IR_NONE && least < needed[def])
                needed[def] = least;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t before = needed[keyed[i].step];
        keyed[i].at = keyed[i].use == 0         ? 2 * keyed[i].number + 1
                      : before < UINT64_MAX / 4 ? 2 * before
                                                : UINT64_MAX;
    }
    free(needed);
    free(own);
    return 0;
}

/* The mms in the new order. */
static int sort_mms(struct state *s)
{
    uint32_t *position = malloc((size_t)s->walk.n_steps * sizeof *position);
    struct keyed_mm *k = malloc((size_t)s->n_mms * sizeof *k);
    struct mm *sorted = malloc((size_t)s->n_mms * sizeof *sorted);
    int rc = position && k && sorted ? 0 : IR_EMEM;
    if (!rc) {
        for (uint32_t i = 0; i < s->walk.n_steps; i++)
            position[s->order[i]] = i;
        for (uint32_t i = 0; i < s->n_mms; i++)
            k[i] = (struct keyed_mm){.at = position[s->mms[i].step], .step = i};
        qsort(k, s->n_mms, sizeof *k, by_key);
        for (uint32_t i = 0; i < s->n_mms; i++)
            sorted[i] = s->mms[k[i].step];
        memcpy(s->mms, sorted, (size_t)s->n_mms * sizeof *sorted);
    }
    free(position);
    free(k);
    free(sorted);
    return rc;
}

static bool in_order(const struct keyed_mm *keyed, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (keyed[i].step < keyed[i - 1].step)
            return false;
    return true;
}

/* Orders the mms by their weights' numbers, if they are not so already. */
static int recover(struct state *s, struct keyed_mm *keyed, uint32_t n, bool *changed)
{
    uint32_t *def_of;
    int rc = walk_makers(&s->walk, &def_of);
    *changed = false;
    if (!rc) {
        number_uses(keyed, n);
        rc = place_all(s, keyed, n, def_of);
    }
    if (!rc) {
        qsort(keyed, n, sizeof *keyed, by_key);
        *changed = !in_order(keyed, n);
    }
    if (!rc && *changed)
        rc = demand_order(s, keyed, n, def_of);
    if (!rc && *changed)
        rc = sort_mms(s);
    free(def_of);
    return rc;
}

/* An mm whose node the exporter has numbered: "/a/MatMul" and "/a/MatMul_2" are of one group. */
struct numbered {
    uint32_t group, number, place; /* place in s->mms */
    uint64_t weight;               /* its weight's number, or 0 */
};

static int by_place(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int by_number(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    if (a->group == b->group && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return by_place(x, y);
}

/* A node's name without the number of its operator in its scope, and that number; ONNX Runtime's own
 * additions left out. Empty if it has no such name. */
static struct str numbered_name(struct str name, uint32_t *number)
{
    if (name.n == 0 || name.s[0] != '/')
        return (struct str){0};
    ptrdiff_t slash = str_rchr(name, '/');
    while (slash > 0 && str_ends(name, STR_LIT("Fusion"))) {
        name.n = (size_t)slash;
        slash = str_rchr(name, '/');
    }
    struct str op = str_sub(name, (size_t)(slash + 1), name.n - (size_t)(slash + 1)), stem = atom_stem(op);
    *number = 0;
    for (size_t i = stem.n + 1; i < op.n && *number < (1U << 24); i++)
        *number = *number * 10 + (uint32_t)(op.s[i] - '0');
    name.n -= op.n - stem.n;
    return name;
}

static int find_numbered(struct state *s, struct numbered *a, uint32_t *n)
{
    struct names groups;
    int rc = 0;
    names_init(&groups);
    for (uint32_t i = 0; !rc && i < s->n_mms; i++) {
        struct str name = numbered_name(node_name(s, s->mms[i].step), &a[*n].number);
        if (name.n == 0)
            continue;
        a[*n].place = i;
        a[*n].group = names_intern(&groups, name);
        rc = a[(*n)++].group == NAME_NONE ? IR_EMEM : 0;
    }
    names_free(&groups);
    return rc;
}

/* Forgets the numbers of weights that contradict those of nodes: parts of a weight, which were numbered when
 * they were folded. */
static int drop_doubtful(struct state *s, struct keyed_mm *keyed, uint32_t *n_keyed)
{
    struct numbered *a = calloc((size_t)s->n_mms + 1, sizeof *a);
    uint8_t *doubtful = calloc((size_t)s->n_mms + 1, 1); /* per mm */
    uint32_t n = 0, kept = 0;
    int rc = a && doubtful ? find_numbered(s, a, &n) : IR_EMEM;
    for (uint32_t i = 0, j = 0; !rc && i < n; i++) { /* both in the order of mms */
        while (j < *n_keyed && keyed[j].place < a[i].place)
            j++;
        a[i].weight = j < *n_keyed && keyed[j].place == a[i].place ? keyed[j].number : 0;
    }
    if (!rc)
        qsort(a, n, sizeof *a, by_number);
    for (uint32_t from = 0, to; !rc && from < n; from = to) {
        uint64_t last = 0;
        bool falls = false;
        for (to = from; to < n && a[to].group == a[from].group; to++) {
            falls |= a[to].weight && a[to].weight < last;
            last = a[to].weight ? a[to].weight : last;
        }
        for (uint32_t i = from; i < to; i++)
            doubtful[a[i].place] = falls;
    }
    for (uint32_t i = 0; !rc && i < *n_keyed; i++) {
        struct mm *mm = &s->mms[keyed[i].place];
        if (!doubtful[keyed[i].place])
            keyed[kept++] = keyed[i];
        else if (mm->counted && !mm->assumption)
            mm->assumption = "assumed-order";
    }
    *n_keyed = rc ? *n_keyed : kept;
    free(a);
    free(doubtful);
    return rc;
}

/* Lets the mms of each group follow each other as they are numbered, in the places that the group has. */
static int follow_numbers(struct state *s, struct keyed_mm *keyed, bool *changed)
{
    struct numbered *a = malloc((size_t)(s->n_mms + 1) * 2 * sizeof *a);
    uint32_t n = 0, *def_of = NULL;
    bool moved = false;
    int rc = a ? find_numbered(s, a, &n) : IR_EMEM;
    if (!rc) {
        struct numbered *b = a + s->n_mms;
        qsort(a, n, sizeof *a, by_place);
        memcpy(b, a, n * sizeof *b);
        qsort(b, n, sizeof *b, by_number);
        for (uint32_t i = 0; i < s->n_mms; i++)
            keyed[i] = (struct keyed_mm){.step = s->mms[i].step};
        for (uint32_t i = 0; i < n; i++) {
            keyed[a[i].place].step = s->mms[b[i].place].step;
            moved |= a[i].place != b[i].place;
        }
    }
    if (!rc && moved)
        rc = walk_makers(&s->walk, &def_of);
    if (!rc && moved)
        rc = demand_order(s, keyed, s->n_mms, def_of);
    if (!rc && moved)
        rc = sort_mms(s);
    *changed |= moved;
    free(def_of);
    free(a);
    return rc;
}

int pass_order(struct state *s)
{
    bool torch = str_is(s->m->producer, "pytorch"), resaved = torch && has_contrib_ops(s->m), changed = false;
    if (s->o->file_order || s->m->format == IR_PT2 || s->n_mms == 0 || (torch && !resaved))
        return 0;
    struct keyed_mm *keyed = malloc((size_t)s->n_mms * sizeof *keyed);
    if (!keyed)
        return IR_EMEM;
    uint32_t n = 0, unnumbered = 0;
    for (uint32_t i = 0; i < s->n_mms; i++) {
        struct mm *mm = &s->mms[i];
        uint32_t weight = walk_input(&s->walk, walk_step(&s->walk, mm->step), 1).value;
        uint64_t number;
        bool own = weight != IR_NONE && named_value(s, weight); /* then it is no number */
        if (!own && exporter_number(ir_value_name(s->m, weight), &number)) {
            keyed[n++] = (struct keyed_mm){0, call_suffix(s, mm->step), number, mm->step, weight, i};
        } else if (resaved && mm->counted) {
            unnumbered++;
            if (!mm->assumption)
                mm->assumption = "assumed-order";
        }
    }
    bool flat = s->walk.n_frames == 1;
    int rc = n && flat && resaved ? drop_doubtful(s, keyed, &n) : 0;
    if (!rc && n && flat)
        rc = recover(s, keyed, n, &changed);
    if (!rc && resaved && flat)
        rc = follow_numbers(s, keyed, &changed);
    if (!rc && changed)
        diag_note(s->d,
                  "the nodes are not in execution order%s: order recovered from the exporter's numbers of %u "
                  "weights and of nodes (--order file turns this off)",
                  resaved ? " (re-saved by ONNX Runtime)" : "", n);
    else if (!rc && unnumbered && resaved)
        diag_warn(
            s->d,
            "this file was re-saved by ONNX Runtime, which reorders nodes, and %u mm%s carry no number to "
            "recover the order from: the file's order is assumed; tag before optimising",
            unnumbered, unnumbered == 1 ? "" : "s");
    free(keyed);
    return rc;
}
