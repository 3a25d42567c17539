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
