/* FQNs from the names of parameters: what torch, TensorFlow, PaddlePaddle, optimisers and quantisers make of
 * "module.weight". */
#include "passes/fqn.h"

#include "ir/diag.h"

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

/* What TensorFlow puts behind the name of a variable that an operator reads, and what the operator makes of
 * it. */
static const struct {
    const char *tail;
    enum param_kind kind; /* PARAM_NO_NAME: it does not tell */
} slash_tails[] = {
    {"/ReadVariableOp", PARAM_NO_NAME}, {"/Read", PARAM_NO_NAME}, {"/MatMul", PARAM_KERNEL},
    {"/Tensordot", PARAM_KERNEL},       {"/BiasAdd", PARAM_BIAS},
};

static struct str drop_slash_tails(struct str name, enum param_kind *kind)
{
    for (size_t i = 0; i < sizeof slash_tails / sizeof *slash_tails; i++) {
        struct str tail = str_of(slash_tails[i].tail);
        if (name.n <= tail.n || !str_ends(name, tail))
            continue;
        name.n -= tail.n;
        if (slash_tails[i].kind != PARAM_NO_NAME)
            *kind = slash_tails[i].kind;
    }
    return name;
}

/* What a parameter is to its module by the last component of its name. */
static enum param_kind slash_kind(struct str last)
{
    return str_is(last, "kernel")   ? PARAM_KERNEL
           : str_is(last, "weight") ? PARAM_WEIGHT
           : str_is(last, "bias")   ? PARAM_BIAS
                                    : PARAM_OTHER;
}

/* TensorFlow and JAX: scopes with slashes, and ":0" behind. */
static int slash_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a)
{
    bool kernel = false;
    if (str_ends(name, STR_LIT("_scale")) || str_ends(name, STR_LIT("_zero_point")))
        return 0;                        /* a quantiser's own */
    name = drop_suffixes(name, &kernel); /* a kernel is kept as multiplied in any case */
    ptrdiff_t colon = str_rchr(name, ':');
    if (colon > 0 && fqn_is_number(str_sub(name, (size_t)colon + 1, name.n - (size_t)colon - 1)))
        name.n = (size_t)colon;
    name = drop_slash_tails(name, kind);
    if (*kind == PARAM_NO_NAME) {
        ptrdiff_t slash = str_rchr(name, '/');
        if (slash <= 0)
            return 0;
        *kind = slash_kind(str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1));
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

/* What the last component of a dotted name makes of the parameter; `kernel`: a tool has transposed it. */
static enum param_kind dotted_kind(struct str last, bool kernel)
{
    if (str_is(last, "weight"))
        return kernel ? PARAM_KERNEL : PARAM_WEIGHT;
    if (str_is(last, "kernel") || str_is(last, "w_0"))
        return PARAM_KERNEL;
    return str_is(last, "bias") || str_is(last, "b_0") ? PARAM_BIAS : PARAM_OTHER;
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
    ptrdiff_t dot = str_rchr(base, '.'), reparam = fqn_parametrized(name);
    if (dot <= 0)
        return 0;
    struct str last = fqn_last(base), owner = fqn_parent(base);
    *kind = reparam > 0 ? PARAM_OTHER : dotted_kind(last, kernel);
    if (reparam > 0) {
        owner = str_sub(name, 0, (size_t)reparam);
    } else if (str_is(last, "weight") && str_is(fqn_last(owner), "MatMul")) {
        *kind = PARAM_KERNEL; /* a graph builder's, named for the node */
        owner = fqn_parent(owner);
    } else if (str_is(last, "bias") && str_is(fqn_last(owner), "Add")) {
        owner = fqn_parent(owner);
    } else if (*kind == PARAM_OTHER) {
        owner = fqn_parent(name); /* suffixes are the module's own */
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
