#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fuzz_broken(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

void fuzz_add(struct fuzz_text *t, const void *bytes, size_t n)
{
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->n + n) + 64;
        t->s = realloc(t->s, t->cap);
        must(t->s);
    }
    if (n)
        memcpy(t->s + t->n, bytes, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void fuzz_text_free(struct fuzz_text *t)
{
    free(t->s);
    *t = (struct fuzz_text){0};
}

int fuzz_put(void *text, const char *bytes, size_t n)
{
    fuzz_add(text, bytes, n);
    return 0;
}
