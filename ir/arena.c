#include "ir/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN     _Alignof(max_align_t)
#define CHUNK_MIN ((size_t)4 << 10)
#define CHUNK_MAX ((size_t)1 << 20)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* of the room that follows */
    max_align_t room[];
};

void arena_init(struct arena *a, size_t limit)
{
    *a = (struct arena){.limit = limit};
}

void arena_free(struct arena *a)
{
    struct arena_chunk *c = a->head;
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
    arena_init(a, a->limit);
}

void arena_adopt(struct arena *a, struct arena *from)
{
    struct arena_chunk **end = &a->head;
    while (*end)
        end = &(*end)->next;
    *end = from->head;
    a->total += from->total;
    a->failed |= from->failed;
    arena_init(from, from->limit);
}

static bool passes_limit(struct arena *a, size_t bytes)
{
    bool over = a->limit && (a->total > a->limit || bytes > a->limit - a->total);
    a->over |= over;
    return over;
}

/* A new chunk with `room` zeroed bytes: the newest one, or `behind` it. */
static struct arena_chunk *add_chunk(struct arena *a, size_t room, bool behind)
{
    if (room > SIZE_MAX / 2 - sizeof(struct arena_chunk))
        return NULL;
    size_t size = sizeof(struct arena_chunk) + room;
    if (passes_limit(a, size))
        return NULL;
    struct arena_chunk **link = behind && a->head ? &a->head->next : &a->head;
    struct arena_chunk *c = calloc(1, size);
    if (!c)
        return NULL;
    c->size = room;
    c->next = *link;
    *link = c;
    a->total += size;
    return c;
}

static char *chunk_room(struct arena_chunk *c)
{
    return (char *)c->room;
}

#ifdef SACTAG_ARENA_MALLOC
static void *alloc_bytes(struct arena *a, size_t size)
{
    struct arena_chunk *c = add_chunk(a, size, false);
    return c ? chunk_room(c) : NULL;
}
#else
/* Chunks double, so that a small model costs little and a large one few calls. */
static size_t next_chunk_room(const struct arena *a)
{
    size_t room = a->head ? a->head->size * 2 : CHUNK_MIN;
    if (room < CHUNK_MIN)
        room = CHUNK_MIN;
    return room > CHUNK_MAX ? CHUNK_MAX : room;
}

static void *alloc_bytes(struct arena *a, size_t size)
{
    size_t padded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (padded < size)
        return NULL;
    if (padded <= (size_t)(a->end - a->cur)) {
        char *p = a->cur;
        a->cur += padded;
        return p;
    }
    size_t room = next_chunk_room(a);
    struct arena_chunk *c = padded > room / 4 ? NULL : add_chunk(a, room, false);
    if (c) {
        a->cur = chunk_room(c) + padded;
        a->end = chunk_room(c) + c->size;
        return chunk_room(c);
    }
    /* A large object gets a chunk of its own, and the newest stays in use; likewise near the limit, where
     * what is asked may still fit. */
    c = add_chunk(a, padded, true);
    return c ? chunk_room(c) : NULL;
}
#endif

#ifdef SACTAG_ARENA_MALLOC
bool arena_holds(struct arena *a, const void *p)
{
    (void)a, (void)p;
    return false;
}
#else
static bool chunk_holds(const struct arena_chunk *c, const void *p)
{
    uintptr_t at = (uintptr_t)p, room = (uintptr_t)c->room;
    return at >= room && at - room < c->size;
}

bool arena_holds(struct arena *a, const void *p)
{
    if (a->found && chunk_holds(a->found, p))
        return true;
    for (a->found = a->head; a->found; a->found = a->found->next)
        if (chunk_holds(a->found, p))
            return true;
    return false;
}
#endif

int arena_charge(struct arena *a, size_t bytes)
{
    if (passes_limit(a, bytes))
        return -1;
    a->total += bytes;
    return 0;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : alloc_bytes(a, bytes ? bytes : 1);
    if (!p)
        a->failed = true;
    return p;
}

char *arena_strdup(struct arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *p = arena_alloc(a, n + 1, 1);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return NULL;
    char *p = arena_alloc(a, (size_t)n + 1, 1);
    if (!p)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

/* From this size on, moving an array is a matter of page tables: it grows by half, and takes less. */
#define GROW_LARGE ((size_t)1 << 20)

int grow(void *array_ptr, size_t *cap, size_t need, size_t elem_size)
{
    if (need <= *cap)
        return 0;
    bool large = *cap > GROW_LARGE / elem_size;
    size_t want = *cap < 16 ? 16 : *cap > SIZE_MAX / 2 ? need : *cap + (large ? *cap / 2 : *cap);
    if (want < need)
        want = need;
    size_t bytes;
    if (__builtin_mul_overflow(want, elem_size, &bytes) || bytes > PTRDIFF_MAX)
        return -1;
    void *old; /* the caller's pointer has its own type: read and write it as bytes */
    memcpy(&old, array_ptr, sizeof old);
    void *p = realloc(old, bytes);
    if (!p)
        return -1;
    memcpy(array_ptr, &p, sizeof p);
    *cap = want;
    return 0; // cppcheck-suppress memleak; the caller has it
}
