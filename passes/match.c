#include "passes/match.h"

#include "passes/fqn.h"

#define DISTANCE_MAX 96 /* longer names are compared by their first bytes */

static bool contains(struct str text, struct str part)
{
    return str_find(text, part) >= 0;
}

/* Is it the name of `fqn`, in full or relative to the block? Most are of another length, and their text is
 * not looked at: of many modules that is the time it takes. */
static bool is_exactly(struct str name, struct str fqn, struct str block)
{
    if (fqn.n == name.n)
        return str_eq(name, fqn);
    return block.n && fqn.n == block.n + 1 + name.n && str_eq(fqn_relative(fqn, block), name);
}

/* Steps that a comparison counts for besides those of a pattern: there may be more to it than the literal
 * one. */
#define PAIR_STEPS 8

bool match_literal(enum match how, struct str name, struct str fqn, struct str block, uint64_t *steps)
{
    *steps += PAIR_STEPS;
    if (*steps > MATCH_STEPS_MAX)
        return false;
    struct str rel = how == MATCH_GLOB ? fqn_relative(fqn, block) : (struct str){0};
    bool self = how != MATCH_EXACT && str_eq(fqn, block);
    switch (how) {
    case MATCH_SUBSTRING:
        *steps += fqn.n / PAIR_STEPS;
        if (contains(fqn, name))
            return true;
        return self && name.n > 1 && name.s[name.n - 1] == '.' && str_ends(fqn, str_sub(name, 0, name.n - 1));
    case MATCH_GLOB:
        if (!self && !str_starts(name, STR_LIT("**")) && fqn_glob(name, rel, steps))
            return true;
        return fqn_glob(name, fqn,
                        steps); /* what `**` begins hits the full name if it hits the relative one */
    case MATCH_EXACT:
    default:
        return is_exactly(name, fqn, block);
    }
}

/* How many components of `whole` are not in `part`, if those that are stand in the same order and the last
 * ones are equal; else 0. */
static uint32_t left_out(struct str part, struct str whole)
{
    uint32_t n = 0;
    if (part.n == 0 || whole.n == 0 || !str_eq(fqn_last(part), fqn_last(whole)))
        return 0;
    for (; whole.n; whole = fqn_parent(whole)) {
        if (part.n && str_eq(fqn_last(part), fqn_last(whole)))
            part = fqn_parent(part);
        else
            n++;
    }
    return part.n == 0 ? n : 0;
}

/* name = (end of the block's FQN).(rest): the rest, for each way to split; *at moves on. */
static bool next_split(struct str name, struct str block, size_t *at, struct str *rest)
{
    while (*at < name.n) {
        size_t from = *at;
        ptrdiff_t dot = str_chr(str_sub(name, from, name.n - from), '.');
        *at = dot < 0 ? name.n : from + (size_t)dot + 1;
        struct str head = str_sub(name, 0, from ? from - 1 : 0);
        bool fits = head.n == 0 || str_eq(block, head) ||
                    (str_ends(block, head) && block.s[block.n - head.n - 1] == '.');
        if (fits) {
            *rest = str_sub(name, from, name.n - from);
            return true;
        }
    }
    return false;
}

/* Does the name hold the block's container with another number: "layers.1.wq" against block layers.0? */
static bool names_other_block(struct str name, struct str block)
{
    struct str number = fqn_last(block), container = fqn_last(fqn_parent(block));
    if (!fqn_is_number(number) || container.n == 0)
        return false;
    for (struct str rest = name; rest.n; rest = fqn_parent(rest)) {
        struct str last = fqn_last(rest);
        if (fqn_is_number(last) && !str_eq(last, number) && str_eq(fqn_last(fqn_parent(rest)), container))
            return true;
    }
    return false;
}

uint32_t match_loose(enum match how, struct str name, struct str fqn, struct str block)
{
    struct str rel = fqn_relative(fqn, block), rest;
    uint32_t best = 0;
    size_t at = 0;
    if (how == MATCH_GLOB || rel.n == 0 || names_other_block(name, block))
        return 0;
    if (how == MATCH_EXACT)
        return left_out(rel, fqn_inside(name, block) ? fqn_relative(name, block) : name);
    while (next_split(name, block, &at, &rest)) {
        uint32_t n = left_out(rel, rest);
        if (n && (best == 0 || n < best))
            best = n;
    }
    return best;
}

uint32_t name_distance(struct str a, struct str b)
{
    uint32_t row[DISTANCE_MAX + 1];
    size_t n = a.n < DISTANCE_MAX ? a.n : DISTANCE_MAX, m = b.n < DISTANCE_MAX ? b.n : DISTANCE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 1; i <= n; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= m; j++) {
            uint32_t up = row[j], best = diagonal + (a.s[i - 1] != b.s[j - 1]);
            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return str_eq(fqn_last(a), fqn_last(b)) ? row[m] / 4 : row[m];
}
