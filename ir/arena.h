/* Arena: every allocation of a model or of a plan, freed at once.
 *
 * Nothing in an arena is freed alone. A build with SACTAG_ARENA_MALLOC makes each allocation a malloc of its
 * own, so that ASan and valgrind see overruns inside an arena. A limit bounds what a hostile file can make us
 * allocate: past it arena_alloc() returns NULL, as it does when memory runs out, and the caller reports
 * IR_EMEM.
 *
 * `failed` stays true once that has happened: code that takes what cannot be allocated for something that is
 * not known may go on, as long as who began the work looks at the end. */
#ifndef SACTAG_IR_ARENA_H
#define SACTAG_IR_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *head;  /* newest chunk first */
    char *cur, *end;           /* free room in the newest chunk */
    struct arena_chunk *found; /* by arena_holds() last; may be NULL */
    size_t total;              /* bytes asked of malloc so far */
    size_t limit;              /* total may not pass this; 0 = no limit */
    bool failed;               /* something could not be allocated */
    bool over;                 /* ... for the limit */
};

void arena_init(struct arena *a, size_t limit);
void arena_free(struct arena *a);

/* `a` owns from now on what `from` held; `from` is empty. */
void arena_adopt(struct arena *a, struct arena *from);

/* Does `p` lie in it? Quick when it lies where the one before did. Not told for what is asked of malloc piece
 * by piece (SACTAG_ARENA_MALLOC): false. */
bool arena_holds(struct arena *a, const void *p);

/* Counts memory that lies elsewhere, but for the same purpose, towards the limit. -1 when that is over it. */
int arena_charge(struct arena *a, size_t bytes);

/* Zeroed memory for n objects of `size` bytes, aligned for any type; NULL when memory or the limit is
 * exhausted or n * size overflows. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/* A copy of n bytes and a NUL after them. */
char *arena_strdup(struct arena *a, const char *s, size_t n);

/* printf into the arena; NULL when memory is exhausted. */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Growable array outside the arena (malloc), for lists whose length is not known: makes room for one more
 * element. Returns 0, or -1 when memory is exhausted (the array stays as it was). */
int grow(void *array_ptr, size_t *cap, size_t need, size_t elem_size);

#endif
