#include "lib/reason.h"

/* A decimal number in front of *s, at most INT64_MAX. */
static bool number(uint64_t *out, struct str *s)
{
    size_t n = 0;
    *out = 0;
    for (; n < s->n && s->s[n] >= '0' && s->s[n] <= '9'; n++) {
        if (*out > (INT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(s->s[n] - '0');
    }
    *s = str_sub(*s, n, s->n - n);
    return n > 0;
}

static bool take(struct str *s, struct str prefix)
{
    if (!str_starts(*s, prefix))
        return false;
    *s = str_sub(*s, prefix.n, s->n - prefix.n);
    return true;
}

static bool dim(int64_t *out, struct str *s)
{
    uint64_t v;
    *out = IR_DIM_UNKNOWN;
    if (take(s, STR_LIT("?")))
        return true;
    if (!number(&v, s))
        return false;
    *out = (int64_t)v;
    return true;
}

bool shape_parse(struct mm_shape *out, struct str *rest)
{
    return dim(&out->k, rest) && take(rest, STR_LIT("x")) && dim(&out->n, rest);
}

/* "KxN:FQN"; "-" stands for no FQN. */
static bool forced(struct reason *r, struct str s)
{
    if (!shape_parse(&r->rhs, &s) || !take(&s, STR_LIT(":")))
        return false;
    if (!str_is(s, "-"))
        r->fqn = s;
    r->kind = REASON_FORCED;
    return true;
}

static bool counted(struct reason *r, enum reason_kind kind, struct str s)
{
    if (!number(&r->count, &s) || s.n)
        return false;
    r->kind = kind;
    return true;
}

struct reason reason_parse(struct str text)
{
    static const struct {
        const char *word;
        enum reason_kind kind;
    } words[] = {{"addmm", REASON_ADDMM},       {"outside", REASON_OUTSIDE}, {"manual", REASON_MANUAL},
                 {"untagged", REASON_UNTAGGED}, {"boundary", REASON_SAVED},  {"random", REASON_SAVED},
                 {"topk", REASON_SAVED},        {"attention", REASON_SAVED}, {"collective", REASON_SAVED},
                 {"max", REASON_SAVED},         {"compute", REASON_SAVED},   {"scores", REASON_REST},
                 {"rest", REASON_REST}};
    struct reason r = {.kind = text.n ? REASON_OTHER : REASON_NONE};
    ptrdiff_t semi = str_rchr(text, ';');
    /* a configured FQN may hold one */
    if (semi >= 0 && str_starts(text, STR_LIT("forced:")) &&
        !str_starts(str_sub(text, (size_t)semi + 1, text.n - (size_t)semi - 1), STR_LIT("assumed-")))
        semi = -1;
    struct str s = semi < 0 ? text : str_sub(text, 0, (size_t)semi);

    if (semi >= 0)
        r.assumption = str_sub(text, (size_t)semi + 1, text.n - (size_t)semi - 1);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(s, words[i].word))
            r.kind = words[i].kind;
    if (take(&s, STR_LIT("odd:")))
        counted(&r, REASON_ODD, s);
    else if (take(&s, STR_LIT("even:")))
        counted(&r, REASON_EVEN, s);
    else if (take(&s, STR_LIT("forced:")))
        forced(&r, s);
    return r;
}

bool reason_of_neighbour(const struct reason *r)
{
    return r->kind == REASON_SAVED || r->kind == REASON_REST;
}

bool reason_allows(const struct reason *r, enum policy policy, bool titan)
{
    switch (r->kind) {
    case REASON_ODD:
        return policy == POLICY_SAVE && r->count % 2 == 1;
    case REASON_EVEN:
        return policy == POLICY_RECOMPUTE && r->count % 2 == 0 && r->count > 0;
    case REASON_SAVED:
        return policy == POLICY_SAVE;
    case REASON_FORCED:
    case REASON_REST:
        return policy == POLICY_RECOMPUTE;
    case REASON_ADDMM:
        return policy == (titan ? POLICY_SAVE : POLICY_RECOMPUTE);
    case REASON_OUTSIDE:
    case REASON_UNTAGGED:
        return policy == POLICY_NONE;
    case REASON_NONE:
    case REASON_MANUAL:
    case REASON_OTHER:
        break;
    }
    return true;
}
