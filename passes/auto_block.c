#include "passes/auto_block.h"

#include "ir/diag.h"
#include "ir/ir.h"
#include "passes/fqn.h"

#include <stdlib.h>

/* One member of a container: the submodules that hold its Linears, as far as two differ. */
struct member {
    struct str group; /* first component below the member; empty = directly */
    uint32_t container;
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

#define LEVELS 8 /* numbers in one name whose members are remembered; further ones are looked up */

struct finder {
    struct container *c;
    size_t cap_c;
    struct member *m;
    size_t cap_m;
    struct names containers, members;
    struct {
        struct str fqn;
        uint32_t id;
    } last[LEVELS]; /* the members that the name before lay in, outermost first: most names lie in the same */
};

/* A component that ends in a number: where it and its number start, and where it ends. */
struct numbered {
    size_t start, at, end;
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

/* `near`: a container that it may be, or IR_NONE. */
static int add_member(struct finder *f, struct str fqn, const struct numbered *n, uint32_t near,
                      uint32_t *out)
{
    uint32_t c = near, before = f->members.n;
    struct str stem = str_sub(fqn, 0, n->at);
    int rc =
        near != IR_NONE && str_eq(f->c[near].stem, stem) ? 0 : container_of(f, stem, n->at == n->start, &c);
    if (rc)
        return rc;
    uint32_t id = names_intern(&f->members, str_sub(fqn, 0, n->end));
    if (id == NAME_NONE)
        return IR_EMEM;
    *out = id;
    if (f->members.n == before)
        return 0;
    if (grow(&f->m, &f->cap_m, (size_t)id + 1, sizeof *f->m) != 0)
        return IR_EMEM;
    f->m[id] = (struct member){.container = c};
    f->c[c].members++;
    return 0;
}

/* The member that fqn lies in by its number n, which is the level-th in it. */
static int member_of(struct finder *f, struct str fqn, const struct numbered *n, size_t level, uint32_t *out)
{
    struct str member = str_sub(fqn, 0, n->end);
    if (level < LEVELS && str_eq(f->last[level].fqn, member)) {
        *out = f->last[level].id;
        return 0;
    }
    bool first = level >= LEVELS || f->last[level].fqn.n == 0;
    int rc = add_member(f, fqn, n, first ? IR_NONE : f->m[f->last[level].id].container, out);
    if (!rc && level < LEVELS) {
        f->last[level].fqn = member;
        f->last[level].id = *out;
    }
    return rc;
}

/* A Linear is, or lies in, a member of a container. */
static void note_member(struct finder *f, struct member *m, struct str fqn, size_t end)
{
    struct container *c = &f->c[m->container];
    if (end == fqn.n) { /* the Linear is the member */
        c->own |= m->multiplies;
        m->multiplies = true;
        return;
    }
    struct str rest = str_sub(fqn, end + 1, fqn.n - end - 1);
    ptrdiff_t dot = str_chr(rest, '.');
    struct str group = str_sub(rest, 0, dot < 0 ? 0 : (size_t)dot);
    m->composite |= m->grouped && !str_eq(m->group, group);
    if (!m->grouped)
        m->group = group;
    m->grouped = m->holds = true;
    c->holds = true;
    c->composite |= m->composite;
}

/* The next numbered component of fqn from *from on. False at the end. */
static bool next_number(struct str fqn, size_t *from, struct numbered *n)
{
    while (*from < fqn.n) {
        struct str rest = str_sub(fqn, *from, fqn.n - *from);
        ptrdiff_t dot = str_chr(rest, '.');
        n->start = *from;
        n->end = dot < 0 ? fqn.n : *from + (size_t)dot;
        n->at = *from + number_at(str_sub(fqn, *from, n->end - *from));
        *from = n->end + 1;
        if (n->at < n->end)
            return true;
    }
    return false;
}

/* What LoRA puts inside the Linear that it adapts: "q.base_layer", "q.lora_A.default". */
static bool of_adapter(struct str component)
{
    return str_is(component, "base_layer") || str_is(component, "lora_A") || str_is(component, "lora_B") ||
           str_is(component, "lora_a") || str_is(component, "lora_b");
}

/* The Linear that an adapter wraps: what is inside makes no composite module of it. */
static struct str adapted(struct str fqn)
{
    for (ptrdiff_t dot, at = str_chr(fqn, '.'); at > 0; at = dot < 0 ? -1 : at + 1 + dot) {
        struct str rest = str_sub(fqn, (size_t)at + 1, fqn.n - (size_t)at - 1);
        dot = str_chr(rest, '.');
        if (of_adapter(str_sub(rest, 0, dot < 0 ? rest.n : (size_t)dot)))
            return str_sub(fqn, 0, (size_t)at);
    }
    return fqn;
}

static int note_linear(struct finder *f, struct str fqn)
{
    struct numbered n;
    size_t from = 0;
    fqn = adapted(fqn);
    for (size_t level = 0; next_number(fqn, &from, &n); level++) {
        uint32_t member;
        int rc = member_of(f, fqn, &n, level, &member);
        if (rc)
            return rc;
        note_member(f, &f->m[member], fqn, n.end);
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
        struct numbered n;
        size_t from = 0;
        while (part_of_name(&f->c[i]) && next_number(f->c[i].stem, &from, &n)) {
            uint32_t around = names_find(&f->containers, str_sub(f->c[i].stem, 0, n.at));
            if (n.end < f->c[i].stem.n && around != NAME_NONE && composite(&f->c[around]) &&
                !part_of_name(&f->c[around]))
                f->c[i].composite = false;
        }
    }
}

/* Marks what lies around (or, `inwards`, inside) another candidate. */
static void mark_nested(struct finder *f, bool (*candidate)(const struct container *), bool inwards)
{
    for (uint32_t i = 0; i < f->containers.n; i++) {
        struct numbered n;
        size_t from = 0;
        if (!candidate(&f->c[i]))
            continue;
        while (next_number(f->c[i].stem, &from, &n)) {
            uint32_t around = names_find(&f->containers, str_sub(f->c[i].stem, 0, n.at));
            if (n.end == f->c[i].stem.n || around == NAME_NONE || !candidate(&f->c[around]))
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
    struct numbered n;
    size_t from = 0;
    while (next_number(fqn, &from, &n))
        if (names_find(&b->stems, str_sub(fqn, 0, n.at)) != NAME_NONE)
            best = str_sub(fqn, 0, n.end);
    return best;
}

bool auto_is_member(const struct auto_blocks *b, struct str fqn)
{
    size_t at = number_at(fqn);
    return at < fqn.n && names_find(&b->stems, str_sub(fqn, 0, at)) != NAME_NONE;
}
