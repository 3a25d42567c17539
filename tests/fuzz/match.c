/* Matching configured names: four lines, which are a name (or pattern), a module's FQN, its block's and more
 * text. Each way to match against what its documentation says, put plainly. */
#include "fuzz.h"
#include "passes/fqn.h"
#include "passes/match.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_MOST 64 /* longer texts are not matched a second time: that is slow */

static struct str next_line(struct str *text)
{
    ptrdiff_t end = str_chr(*text, '\n');
    size_t n = end < 0 ? text->n : (size_t)end;
    struct str line = str_sub(*text, 0, n);

    *text = str_sub(*text, end < 0 ? n : n + 1, text->n - n - (end >= 0));
    return line;
}

/* Does pattern[i..] match text[j..]? From the ends, so that nothing is worked out twice. */
static bool plain_glob(struct str p, struct str t)
{
    static bool fits[PLAIN_MOST + 2][PLAIN_MOST + 2];

    for (size_t i = p.n + 1; i-- > 0;) {
        for (size_t j = t.n + 1; j-- > 0;) {
            bool more = j < t.n;
            if (i == p.n)
                fits[i][j] = !more;
            else if (p.s[i] == '*' && i + 1 < p.n && p.s[i + 1] == '*')
                fits[i][j] = fits[i + 2][j] || (more && fits[i][j + 1]);
            else if (p.s[i] == '*')
                fits[i][j] = fits[i + 1][j] || (more && t.s[j] != '.' && fits[i][j + 1]);
            else if (p.s[i] == '?')
                fits[i][j] = more && t.s[j] != '.' && fits[i + 1][j + 1];
            else
                fits[i][j] = more && t.s[j] == p.s[i] && fits[i + 1][j + 1];
        }
    }
    return fits[0][0];
}

static void globs(struct str pattern, struct str text)
{
    uint64_t steps = 0;
    bool got = fqn_glob(pattern, text, &steps);

    if (str_chr(pattern, '*') < 0 && str_chr(pattern, '?') < 0)
        must(got == str_eq(pattern, text));
    if (pattern.n <= PLAIN_MOST && text.n <= PLAIN_MOST)
        must(got == plain_glob(pattern, text));
}

static void literally(struct str name, struct str fqn, struct str block)
{
    uint64_t steps = 0;
    bool part = fqn.n >= name.n && (name.n == 0 || memmem(fqn.s, fqn.n, name.s, name.n));

    must(match_literal(MATCH_EXACT, fqn, fqn, block, &steps));
    if (match_literal(MATCH_EXACT, name, fqn, block, &steps))
        must(str_ends(fqn, name));
    if (part)
        must(match_literal(MATCH_SUBSTRING, name, fqn, block, &steps));
    else if (match_literal(MATCH_SUBSTRING, name, fqn, block, &steps))
        must(str_eq(fqn, block) && name.s[name.n - 1] == '.');
    match_literal(MATCH_GLOB, name, fqn, block, &steps);
    for (int how = MATCH_EXACT; how <= MATCH_GLOB; how++)
        match_loose((enum match)how, name, fqn, block);
}

/* Taking names apart: parts lie in the whole, and cleaning what is clean changes nothing. */
static void parts(struct str text, struct arena *a)
{
    struct str parent = fqn_parent(text), last = fqn_last(text), fqn;
    enum param_kind kind;

    must(parent.n + last.n + (last.n < text.n) == text.n);
    if (last.n && parent.n)
        must(fqn_inside(text, parent) && str_eq(fqn_relative(text, parent), last));
    struct str clean = fqn_clean(text, a);
    must(clean.n <= text.n && str_eq(fqn_clean(clean, a), clean));
    must(fqn_of_param(&kind, &fqn, text, a) == 0);
    must(kind <= PARAM_OTHER && fqn.n <= text.n);
    fqn_of_source(text, a);
    must(fqn_unqualified(text).n <= text.n && atom_stem(text).n <= text.n);
    fqn_is_reparam(text);
    must(fqn_parametrized(text) < (ptrdiff_t)text.n || text.n == 0);
}

/* What is printed is one printable line, and can be read back. */
static void escapes(struct str text)
{
    size_t n = str_escape(NULL, 0, text), back = 0;
    char *out = malloc(n + 1), *in = malloc(n + 1);

    must(out && in);
    must(str_escape(out, n + 1, text) == n && strlen(out) == n);
    for (size_t i = 0; i < n; i++)
        must((unsigned char)out[i] >= 32 && out[i] != 127);
    must(str_is_utf8((struct str){out, n}));
    must(str_unescape(in, &back, (struct str){out, n}));
    must(str_eq((struct str){in, back}, text));
    free(out), free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fuzz_bound bound = fuzz_begin();
    struct str text = {(const char *)bytes, n}, name = next_line(&text), fqn = next_line(&text),
               block = next_line(&text);
    struct arena a;

    arena_init(&a, 0);
    globs(name, fqn);
    globs(name, text);
    literally(name, fqn, block);
    parts(fqn, &a);
    parts(text, &a);
    escapes(text);
    escapes(name);
    must(name_distance(name, name) == 0);
    must(name_distance(name, fqn) <= 192 && name_distance(fqn, name) <= 192);
    arena_free(&a);
    fuzz_end(bound, n);
    return 0;
}
