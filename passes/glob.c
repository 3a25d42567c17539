/* Globs over FQNs. All ways in which a pattern can match are followed at once: going back and trying again
 * would take the square of a name's length, and names are the file's. */
#include "passes/fqn.h"

/* Stars that begin at p[i]: 2 for `**`, 1 for `*`, 0. */
static size_t stars_at(struct str p, size_t i)
{
    if (i == p.n || p.s[i] != '*')
        return 0;
    return i + 1 < p.n && p.s[i + 1] == '*' ? 2 : 1;
}

/* Places of the pattern: what has been read can be what stands before them. */
struct places {
    uint16_t a[FQN_PATTERN_MAX + 1];
    size_t n;
};

/* Adds a place, and what follows if stars stand there, which may stand for nothing. in[i]: the round in which
 * it was added last. */
static void add_place(struct places *k, uint32_t *in, uint32_t round, struct str p, size_t i)
{
    for (;;) {
        size_t stars = stars_at(p, i);
        if (in[i] == round)
            return;
        in[i] = round;
        k->a[k->n++] = (uint16_t)i;
        if (!stars)
            return;
        i += stars;
    }
}

static void read_char(struct places *next, uint32_t *in, uint32_t round, struct str p, size_t i, char c)
{
    size_t stars = stars_at(p, i);
    if (stars && (stars == 2 || c != '.'))
        add_place(next, in, round, p, i);
    else if (!stars && i < p.n && (p.s[i] == c || (p.s[i] == '?' && c != '.')))
        add_place(next, in, round, p, i + 1);
}

bool fqn_glob(struct str p, struct str t, uint64_t *steps)
{
    struct places room[2], *now = &room[0], *next = &room[1];
    uint32_t in[FQN_PATTERN_MAX + 1];
    if (p.n > FQN_PATTERN_MAX || t.n >= UINT32_MAX)
        return false;
    memset(in, 0, (p.n + 1) * sizeof *in); /* long patterns are rare */
    now->n = 0;
    add_place(now, in, 1, p, 0);
    for (size_t j = 0; j < t.n && now->n; j++) {
        *steps += now->n;
        next->n = 0;
        for (size_t i = 0; i < now->n; i++)
            read_char(next, in, (uint32_t)j + 2, p, now->a[i], t.s[j]);
        struct places *read = now;
        now = next;
        next = read;
    }
    for (size_t i = 0; i < now->n; i++)
        if (now->a[i] == p.n)
            return true;
    return false;
}

bool fqn_has_wildcard(struct str pattern)
{
    return str_chr(pattern, '*') >= 0 || str_chr(pattern, '?') >= 0;
}
