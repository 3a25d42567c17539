#include "passes/fqn.h"

bool fqn_too_deep(struct str fqn)
{
    size_t marks = 0;
    if (fqn.n < FQN_DEPTH_MAX)
        return false;
    for (size_t i = 0; i < fqn.n && marks < FQN_DEPTH_MAX; i++)
        marks += fqn.s[i] == '.' || fqn.s[i] == '/';
    return marks == FQN_DEPTH_MAX;
}

bool fqn_is_number(struct str c)
{
    for (size_t i = 0; i < c.n; i++)
        if (c.s[i] < '0' || c.s[i] > '9')
            return false;
    return c.n > 0;
}

struct str fqn_parent(struct str fqn)
{
    ptrdiff_t dot = str_rchr(fqn, '.');
    return dot < 0 ? str_sub(fqn, 0, 0) : str_sub(fqn, 0, (size_t)dot);
}

struct str fqn_last(struct str fqn)
{
    ptrdiff_t dot = str_rchr(fqn, '.');
    return dot < 0 ? fqn : str_sub(fqn, (size_t)dot + 1, fqn.n - (size_t)dot - 1);
}

struct str fqn_unqualified(struct str fqn)
{
    struct str rest = fqn;
    while (rest.n && fqn_is_number(fqn_last(rest)))
        rest = fqn_parent(rest);
    size_t from = rest.n - fqn_last(rest).n;
    return str_sub(fqn, from, fqn.n - from);
}

bool fqn_inside(struct str fqn, struct str outer)
{
    if (outer.n == 0)
        return fqn.n > 0;
    return fqn.n > outer.n + 1 && str_starts(fqn, outer) && fqn.s[outer.n] == '.';
}

struct str fqn_relative(struct str fqn, struct str outer)
{
    if (outer.n == 0)
        return fqn;
    return fqn_inside(fqn, outer) ? str_sub(fqn, outer.n + 1, fqn.n - outer.n - 1) : str_sub(fqn, fqn.n, 0);
}

bool fqn_is_wrapper(struct str c)
{
    return str_is(c, "_orig_mod") || str_is(c, "_fsdp_wrapped_module") ||
           str_is(c, "_checkpoint_wrapped_module");
}

/* The first component of *rest, which loses it and its dot. */
static struct str next_component(struct str *rest)
{
    ptrdiff_t dot = str_chr(*rest, '.');
    size_t n = dot < 0 ? rest->n : (size_t)dot;
    struct str c = str_sub(*rest, 0, n);
    *rest = str_sub(*rest, dot < 0 ? n : n + 1, rest->n - (dot < 0 ? n : n + 1));
    return c;
}

/* Does a component begin with an underscore, as wrappers do? */
static bool has_underscore_component(struct str fqn)
{
    ptrdiff_t at;
    for (struct str rest = fqn; (at = str_chr(rest, '_')) >= 0;
         rest = str_sub(rest, (size_t)at + 1, rest.n - (size_t)at - 1)) {
        const char *p = rest.s + at;
        if (p == fqn.s || p[-1] == '.')
            return true;
    }
    return false;
}

static bool has_wrapper(struct str fqn)
{
    if (!has_underscore_component(fqn) && !str_starts(fqn, STR_LIT("module.")))
        return false;
    struct str rest = fqn;
    bool front = true;
    while (rest.n) {
        struct str c = next_component(&rest);
        if (fqn_is_wrapper(c) || (front && str_is(c, "module") && rest.n))
            return true;
        front = false;
    }
    return false;
}

/* Skips `n` characters and gives what stands there up to `stop`, without quotes; *p is left after `stop`.
 * False when there is no `stop`, or nothing before it. */
static bool source_item(struct str text, size_t *p, size_t n, char stop, struct str *item)
{
    struct str rest = str_sub(text, *p + n, text.n - *p - n);
    ptrdiff_t end = str_chr(rest, stop);
    if (end <= 0)
        return false;
    *item = str_sub(rest, 0, (size_t)end);
    *p += n + (size_t)end + 1;
    char first = item->s[0];
    if (first != '\'' && first != '"')
        return true;
    if (item->n < 3 || item->s[item->n - 1] != first)
        return false;
    *item = str_sub(*item, 1, item->n - 2);
    return true;
}

/* One step of the expression at *p: ".name", "[0]", "['key']" or ", 'name')". */
static bool source_step(struct str text, size_t *p, struct str *item)
{
    struct str rest = str_sub(text, *p, text.n - *p);
    if (str_starts(rest, STR_LIT(", ")))
        return source_item(text, p, 2, ')', item);
    if (rest.s[0] == '[')
        return source_item(text, p, 1, ']', item);
    if (rest.s[0] != '.')
        return false;
    size_t n = 1;
    while (n < rest.n && rest.s[n] != '.' && rest.s[n] != '[' && rest.s[n] != ',')
        n++;
    *item = str_sub(rest, 1, n - 1);
    *p += n;
    return n > 1;
}

struct str fqn_of_source(struct str text, struct arena *a)
{
    const struct str call = STR_LIT("getattr("), local = STR_LIT("L[");
    size_t p = 0, n = 0;
    struct str item;
    while (str_starts(str_sub(text, p, text.n - p), call))
        p += call.n;
    if (!str_starts(str_sub(text, p, text.n - p), local) || !source_item(text, &p, local.n, ']', &item))
        return text;
    char *out = arena_alloc(a, text.n + 1, 1);
    if (!out)
        return (struct str){NULL, 0};
    while (p < text.n) {
        if (!source_step(text, &p, &item))
            return text;
        if (str_is(item, "_modules")) /* the container's own dictionary */
            continue;
        if (n)
            out[n++] = '.';
        memcpy(out + n, item.s, item.n);
        n += item.n;
    }
    return (struct str){out, n};
}

struct str fqn_clean(struct str fqn, struct arena *a)
{
    if (!has_wrapper(fqn))
        return fqn;
    char *out = arena_alloc(a, fqn.n + 1, 1);
    if (!out)
        return (struct str){NULL, 0};
    size_t n = 0;
    struct str rest = fqn;
    while (rest.n) {
        struct str c = next_component(&rest);
        if (fqn_is_wrapper(c) || (n == 0 && str_is(c, "module") && rest.n))
            continue;
        if (n)
            out[n++] = '.';
        memcpy(out + n, c.s, c.n);
        n += c.n;
    }
    return (struct str){out, n};
}

struct str atom_stem(struct str atom)
{
    ptrdiff_t u = str_rchr(atom, '_');
    if (u <= 0 || !fqn_is_number(str_sub(atom, (size_t)u + 1, atom.n - (size_t)u - 1)))
        return atom;
    return str_sub(atom, 0, (size_t)u);
}
