#include "passes/auto_block.h"

#include "ir/diag.h"
#include "ir/names.h"
#include "passes/fqn.h"

#include <stdlib.h>

/* One member of a container: the submodules that hold its Linears, as far as two differ. */
struct member {
    uint32_t container;
    struct str group; /* first component below the member; empty = directly */
    bool grouped, composite, holds;
    bool multiplies; /* one product is its own */
};

struct container {
    struct str stem;
    uint32_t members; /* distinct numbers seen */
    bool composite;   /* some member is */
    bool holds;       /* some member holds a Linear (is not one itself) */
    bool own;         /* some member has two products of its own: names of those inside are lost */
    bool plain;       /* the number is a whole component: "layers.0" */
    bool above;       /* a candidate lies inside one of its members; or, outermost: one lies around it */
};

struct finder {
    struct container *c;
    size_t cap_c;
    struct member *m;
    size_t cap_m;
    struct names containers, members;
};

/* Where a component's trailing number starts: 0 for a plain number, its length for none. */
static size_t number_at(struct str component)
{
    size_t i = component.n;
    while (i > 0 && component.s[i - 1] >= '0' && component.s[i - 1] <= '9')
        i--;
    return i;
}

static int container_of(struct finder *f, struct str stem, bool plain, uint32_t *id)
{
    uint32_t before = f->containers.n;
    *id = names_intern(&f->containers, stem);
    if (*id == NAME_NONE)
        return IR_EMEM;
    if (f->containers.n == before)
        return 0;
    if (grow(&f->c, &f->cap_c, (size_t)*id + 1, sizeof *f->c) != 0)
        return IR_EMEM;
    f->c[*id] = (struct container){.stem = stem, .plain = plain};
    return 0;
}

/* The part of a Linear's FQN up to `end` is a member of a container whose number starts at `at`. */
static int note_member(struct finder *f, struct str fqn, size_t at, size_t end, bool plain)
{
    uint32_t c, before = f->members.n;
    int rc = container_of(f, str_sub(fqn, 0, at), plain, &c);
    if (rc)
        return rc;
    uint32_t id = names_intern(&f->members, str_sub(fqn, 0, end));
    if (id == NAME_NONE)
        return IR_EMEM;
    if (f->members.n > before) {
        if (grow(&f->m, &f->cap_m, (size_t)id + 1, sizeof *f->m) != 0)
            return IR_EMEM;
        f->m[id] = (struct member){.container = c};
        f->c[c].members++;
    }
    struct member *m = &f->m[id];
    if (end == fqn.n) { /* the Linear is the member */
        f->c[c].own |= m->multiplies;
        m->multiplies = true;
        return 0;
    }
    struct str rest = str_sub(fqn, end + 1, fqn.n - end - 1);
    ptrdiff_t dot = str_chr(rest, '.');
    struct str group = str_sub(rest, 0, dot < 0 ? 0 : (size_t)dot);
    m->composite |= m->grouped && !str_eq(m->group, group);
    if (!m->grouped)
        m->group = group;
    m->grouped = m->holds = true;
    f->c[c].holds = true;
    f->c[c].composite |= m->composite;
    return 0;
}

/* Next numbered component of fqn from *from on: where its number starts and where it ends. False at the end.
 */
static bool next_number(struct str fqn, size_t *from, size_t *at, size_t *end)
{
    while (*from < fqn.n) {
        struct str rest = str_sub(fqn, *from, fqn.n - *from);
        ptrdiff_t dot = str_chr(rest, '.');
        *end = dot < 0 ? fqn.n : *from + (size_t)dot;
        *at = *from + number_at(str_sub(fqn, *from, *end - *from));
        *from = *end + 1;
        if (*at < *end)
            return true;
    }
    return false;
}

/* The Linear that an adapter wraps: what LoRA puts inside ("q.base_layer", "q.lora_A.default") makes no
 * composite module of it. */
static struct str adapted(struct str fqn)
{
    static const char *const inside[] = {".base_layer", ".lora_A", ".lora_B", ".lora_a", ".lora_b"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        ptrdiff_t at = str_find(fqn, str_of(inside[i]));
        size_t end = (size_t)at + strlen(inside[i]);
        if (at > 0 && (end == fqn.n || fqn.s[end] == '.'))
            return str_sub(fqn, 0, (size_t)at);
    }
    return fqn;
}

static int note_linear(struct finder *f, struct str fqn)
{
    size_t from = 0, at, end, start = 0;
    fqn = adapted(fqn);
    while (next_number(fqn, &from, &at, &end)) {
        ptrdiff_t dot = str_rchr(str_sub(fqn, 0, at), '.');
        start = dot < 0 ? 0 : (size_t)dot + 1;
        int rc = note_member(f, fqn, at, end, at == start);
        if (rc)
            return rc;
    }
    return 0;
}

/* Names with a number at their end ("block1", "fc2") make a container only where there are several. */
static bool composite(const struct container *c)
{
    return c->composite && (c->plain || c->members > 1);
}

static bool outer(const struct container *c)
{
    return c->holds && c->plain;
}

static bool outer_suffixed(const struct container *c)
{
    return c->holds && c->members > 1;
}

static bool own_products(const struct container *c)
{
    return c->own && c->plain;
}

/* A number that is a part of a name, "attn1" and "attn2", not "encoder_layer_1". */
static bool part_of_name(const struct container *c)
{
    return !c->plain && c->stem.s[c->stem.n - 1] != '_';
}

/* Modules that are numbered so within a block are parts of it: attn1 and attn2 of transformer_blocks.0. */
static void drop_parts(struct finder *f)
{
    for (uint32_t i = 0; i < f->containers.n; i++) {
        size_t from = 0, at, end;
        while (part_of_name(&f->c[i]) && next_number(f->c[i].stem, &from, &at, &end)) {
            uint32_t around = names_find(&f->containers, str_sub(f->c[i].stem, 0, at));
            if (end < f->c[i].stem.n && around != NAME_NONE && composite(&f->c[around]) &&
                !part_of_name(&f->c[around]))
                f->c[i].composite = false;
        }
    }
}

/* Marks what lies around (or, `inwards`, inside) another candidate. */
static void mark_nested(struct finder *f, bool (*candidate)(const struct container *), bool inwards)
{
    for (uint32_t i = 0; i < f->containers.n; i++) {
        size_t from = 0, at, end;
        if (!candidate(&f->c[i]))
            continue;
        while (next_number(f->c[i].stem, &from, &at, &end)) {
            uint32_t around = names_find(&f->containers, str_sub(f->c[i].stem, 0, at));
            if (end == f->c[i].stem.n || around == NAME_NONE || !candidate(&f->c[around]))
                continue;
            f->c[inwards ? i : around].above = true;
        }
    }
}

static int keep(struct auto_blocks *out, const struct finder *f, bool (*candidate)(const struct container *))
{
    for (uint32_t i = 0; i < f->containers.n; i++)
        if (candidate(&f->c[i]) && !f->c[i].above && names_intern(&out->stems, f->c[i].stem) == NAME_NONE)
            return IR_EMEM;
    return 0;
}

int auto_choose(struct auto_blocks *out, const struct str *linears, uint32_t n_linears)
{
    struct finder f = {0};
    int rc = 0;
    names_init(&out->stems);
    names_init(&f.containers);
    names_init(&f.members);
    for (uint32_t i = 0; !rc && i < n_linears; i++)
        rc = note_linear(&f, linears[i]);
    if (!rc) {
        drop_parts(&f);
        mark_nested(&f, composite, false);
        rc = keep(out, &f, composite);
    }
    static bool (*const outermost[])(const struct container *) = {outer, outer_suffixed, own_products};
    for (size_t i = 0; !rc && out->stems.n == 0 && i < sizeof outermost / sizeof *outermost; i++) {
        mark_nested(&f, outermost[i], true);
        rc = keep(out, &f, outermost[i]);
    }
    free(f.c);
    free(f.m);
    names_free(&f.containers);
    names_free(&f.members);
    if (rc)
        auto_free(out);
    return rc;
}

void auto_free(struct auto_blocks *b)
{
    names_free(&b->stems);
}

struct str auto_member(const struct auto_blocks *b, struct str fqn)
{
    struct str best = str_sub(fqn, 0, 0);
    size_t from = 0, at, end;
    while (next_number(fqn, &from, &at, &end))
        if (names_find(&b->stems, str_sub(fqn, 0, at)) != NAME_NONE)
            best = str_sub(fqn, 0, end);
    return best;
}

bool auto_is_member(const struct auto_blocks *b, struct str fqn)
{
    size_t at = number_at(fqn);
    return at < fqn.n && names_find(&b->stems, str_sub(fqn, 0, at)) != NAME_NONE;
}
