#include "passes/fqn.h"

#include "ir/diag.h"

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

/* ---- parameter names ---- */

/* What optimisers and quantisers append to a weight's name; `kernel` where that means it was transposed. */
static const struct {
    const char *suffix;
    bool kernel;
} suffixes[] = {
    {"_transposed", true}, {"_transpose", true}, {"_t", true},       {"_T", true},
    {"_quantized", false}, {"_quant", false},    {"_resize", false}, {"_fp16", false},
    {"_fp32", false},      {"_bf16", false},     {"_cast", false},   {"_dequantized", false},
    {"_int8", false},      {"_uint8", false},    {"_q", false},
};

static struct str drop_suffixes(struct str name, bool *kernel)
{
    if (str_chr(fqn_last(name), '_') < 0) /* each begins with one, and none holds a dot */
        return name;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            struct str s = str_of(suffixes[i].suffix);
            if (name.n > s.n && str_ends(name, s)) {
                name.n -= s.n;
                *kernel |= suffixes[i].kernel;
                again = true;
            }
        }
    }
    return name;
}

/* Names that tools make up: no module wrote them. */
static bool made_up(struct str name)
{
    if (name.n == 0 || name.s[0] == '/' || fqn_is_number(name) || fqn_too_deep(name))
        return true;
    ptrdiff_t colon = str_chr(name, ':');
    bool pair =
        colon >= 0 && str_find(str_sub(name, (size_t)colon, name.n - (size_t)colon), STR_LIT("::")) >= 0;
    return pair || str_chr(name, ' ') >= 0;
}

ptrdiff_t fqn_parametrized(struct str name)
{
    return str_chr(name, 'z') < 0 ? -1
                                  : str_find(name, STR_LIT(".parametrizations.")); /* few names have a z */
}

bool fqn_is_reparam(struct str name)
{
    return str_find(name, STR_LIT(".parametrizations.weight.original")) >= 0 ||
           str_ends(name, STR_LIT(".weight_v")) || str_ends(name, STR_LIT(".weight_g")) ||
           str_ends(name, STR_LIT(".weight_orig"));
}

static struct str dotted(struct str name, struct arena *a)
{
    char *out = arena_strdup(a, name.s, name.n);
    for (size_t i = 0; out && i < name.n; i++)
        if (out[i] == '/')
            out[i] = '.';
    return (struct str){out, out ? name.n : 0};
}

/* TensorFlow and JAX: scopes with slashes, ":0", and "/ReadVariableOp" where a variable was read. */
static int slash_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a)
{
    bool kernel = false;
    if (str_ends(name, STR_LIT("_scale")) || str_ends(name, STR_LIT("_zero_point")))
        return 0;                        /* a quantiser's own */
    name = drop_suffixes(name, &kernel); /* a kernel is kept as multiplied in any case */
    ptrdiff_t colon = str_rchr(name, ':');
    if (colon > 0 && fqn_is_number(str_sub(name, (size_t)colon + 1, name.n - (size_t)colon - 1)))
        name.n = (size_t)colon;
    static const char *const tails[] = {"/ReadVariableOp", "/Read", "/MatMul", "/Tensordot", "/BiasAdd"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (str_ends(name, str_of(tails[i])) && name.n > strlen(tails[i])) {
            name.n -= strlen(tails[i]);
            if (i >= 2)
                *kind = i == 4 ? PARAM_BIAS : PARAM_KERNEL;
        }
    ptrdiff_t slash = str_rchr(name, '/');
    if (*kind == PARAM_NO_NAME) {
        if (slash <= 0)
            return 0;
        struct str last = str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1);
        *kind = str_is(last, "kernel") ? PARAM_KERNEL : str_is(last, "bias") ? PARAM_BIAS : PARAM_OTHER;
        if (str_is(last, "weight"))
            *kind = PARAM_WEIGHT;
        name.n = (size_t)slash;
    }
    *fqn = dotted(name, a);
    return fqn->s ? 0 : IR_EMEM;
}

bool fqn_may_be_param(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((name.s[i] | 1) == '/') /* '.' or '/' */
            return true;
    return false;
}

int fqn_of_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a)
{
    *kind = PARAM_NO_NAME;
    *fqn = (struct str){"", 0};
    if (!fqn_may_be_param(name) || made_up(name))
        return 0;
    if (str_chr(name, '/') > 0)
        return slash_param(kind, fqn, name, a);
    bool kernel = false;
    struct str base = drop_suffixes(name, &kernel);
    ptrdiff_t dot = str_rchr(base, '.');
    if (dot <= 0)
        return 0;
    struct str last = fqn_last(base), owner = fqn_parent(base);
    ptrdiff_t reparam = fqn_parametrized(name);
    if (reparam > 0) {
        *kind = PARAM_OTHER;
        owner = str_sub(name, 0, (size_t)reparam);
    } else if (str_is(last, "weight")) {
        *kind = kernel ? PARAM_KERNEL : PARAM_WEIGHT;
        if (str_is(fqn_last(owner), "MatMul")) {
            owner = fqn_parent(owner);
            *kind = PARAM_KERNEL;
        }
    } else if (str_is(last, "kernel") || str_is(last, "w_0")) {
        *kind = PARAM_KERNEL;
    } else if (str_is(last, "b_0")) {
        *kind = PARAM_BIAS;
    } else if (str_is(last, "bias")) {
        *kind = PARAM_BIAS;
        if (str_is(fqn_last(owner), "Add"))
            owner = fqn_parent(owner);
    } else {
        *kind = PARAM_OTHER;
        owner = fqn_parent(name);
    }
    *fqn = fqn_clean(owner, a);
    return fqn->s ? 0 : IR_EMEM;
}

int fqn_of_exact_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a)
{
    ptrdiff_t dot = str_rchr(name, '.'), reparam = fqn_parametrized(name);
    *kind = PARAM_NO_NAME;
    *fqn = (struct str){"", 0};
    if (dot <= 0 || fqn_too_deep(name))
        return 0;
    struct str last = fqn_last(name);
    *kind = reparam > 0              ? PARAM_OTHER
            : str_is(last, "weight") ? PARAM_WEIGHT
            : str_is(last, "bias")   ? PARAM_BIAS
                                     : PARAM_OTHER;
    *fqn = fqn_clean(str_sub(name, 0, (size_t)(reparam > 0 ? reparam : dot)), a);
    return fqn->s ? 0 : IR_EMEM;
}

bool fqn_param_guessed(struct str name)
{
    if (!str_ends(name, STR_LIT(".weight")) && !str_ends(name, STR_LIT(".bias")))
        return false;
    return str_chr(name, '/') > 0 || str_chr(name, ' ') > 0 || str_ends(name, STR_LIT(".MatMul.weight")) ||
           str_ends(name, STR_LIT(".Add.bias"));
}

/* ---- glob ---- */

/* Stars that begin at p[i]: 2 for `**`, 1 for `*`, 0. */
static size_t stars_at(struct str p, size_t i)
{
    if (i == p.n || p.s[i] != '*')
        return 0;
    return i + 1 < p.n && p.s[i + 1] == '*' ? 2 : 1;
}

/* at[i]: what has been read can be what stands before p[i]. Stars may stand for nothing. */
static void glob_pass_stars(struct str p, bool *at)
{
    for (size_t i = 0; i < p.n; i++)
        if (at[i] && stars_at(p, i))
            at[i + stars_at(p, i)] = true;
}

/* Reads one character; false when nothing is left that could match. From the end, since at[i] comes of
 * at[i - 1]. */
static bool glob_read(struct str p, bool *at, char c)
{
    bool any = false;
    for (size_t i = p.n + 1; i-- > 0;) {
        size_t stars = stars_at(p, i);
        bool stays = at[i] && (stars == 2 || (stars == 1 && c != '.'));
        bool comes =
            i > 0 && at[i - 1] && !stars_at(p, i - 1) && (p.s[i - 1] == c || (p.s[i - 1] == '?' && c != '.'));
        at[i] = stays || comes;
        any |= at[i];
    }
    return any;
}

/* All ways at once, since going back and trying again takes the square of a name's length, which is the
 * file's. */
bool fqn_glob(struct str p, struct str t)
{
    bool at[FQN_PATTERN_MAX + 1] = {true};
    if (p.n > FQN_PATTERN_MAX)
        return false;
    glob_pass_stars(p, at);
    for (size_t j = 0; j < t.n; j++) {
        if (!glob_read(p, at, t.s[j]))
            return false;
        glob_pass_stars(p, at);
    }
    return at[p.n];
}

bool fqn_has_wildcard(struct str pattern)
{
    return str_chr(pattern, '*') >= 0 || str_chr(pattern, '?') >= 0;
}
