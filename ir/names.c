#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ir/names.h"

#include "ir/arena.h"

#include <stdlib.h>
#include <sys/auxv.h>

#define SLOTS_MIN 64

void names_init(struct names *t)
{
    *t = (struct names){0};
    /* Without a secret a file could hold names that all fall into one run of slots. The 16 bytes that the
     * kernel drew for this process do, and take no call for each table. */
    const void *drawn = (const void *)getauxval(AT_RANDOM);
    t->seed = drawn ? XXH3_64bits_withSeed(drawn, 16, (uintptr_t)t) : (uintptr_t)t;
}

/* Frees what finds names. */
static void free_finder(struct names *t)
{
    free(t->tags);
    free(t->ids);
    free(t->hashes);
    free(t->copy_at);
    free(t->copies);
    t->tags = NULL;
    t->ids = t->hashes = t->copy_at = NULL;
    t->copies = NULL;
    t->cap_hashes = t->cap_copy_at = t->n_copies = t->cap_copies = 0;
    t->mask = 0;
}

void names_free(struct names *t)
{
    free(t->refs);
    free(t->far);
    free_finder(t);
    *t = (struct names){0};
}

static uint32_t hash_of(const struct names *t, struct str s)
{
    return (uint32_t)(XXH3_64bits_withSeed(s.n ? s.s : "", s.n, t->seed) >> 32);
}

/* The slot of `s`, or the empty one where it would go. At least a quarter of the slots are empty. */
static inline size_t probe(const struct names *t, uint32_t hash, struct str s)
{
    uint8_t tag = name_tag(hash);
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask)
        if (t->tags[i] == 0 || (t->tags[i] == tag && names_is(t, t->ids[i], s)))
            return i;
}

static void place(struct names *t, uint32_t id)
{
    uint32_t hash = t->hashes[id];
    size_t i = hash & t->mask;
    while (t->tags[i])
        i = (i + 1) & t->mask;
    t->tags[i] = name_tag(hash);
    t->ids[i] = id;
}

/* Doubles the slots. */
static int rehash(struct names *t)
{
    size_t n = t->tags ? (t->mask + 1) * 2 : SLOTS_MIN;
    uint8_t *tags = calloc(n, sizeof *tags);
    uint32_t *ids = malloc(n * sizeof *ids);
    if (!tags || !ids) {
        free(tags);
        free(ids);
        return -1;
    }
    free(t->tags);
    free(t->ids);
    t->tags = tags;
    t->ids = ids;
    t->mask = n - 1;
    t->most = n / 4 * 3 < NAME_NONE - 1 ? (uint32_t)(n / 4 * 3) : NAME_NONE - 1;
    for (uint32_t id = 0; id < t->n; id++)
        place(t, id);
    return 0;
}

/* The reference to a text. */
static inline int refer(struct names *t, uint64_t *ref, struct str s)
{
    if (str_ref(ref, s))
        return 0;
    if (grow(&t->far, &t->cap_far, t->n_far + 1, sizeof *t->far) != 0)
        return -1;
    *ref = (uint64_t)STR_REF_FAR << STR_REF_LEN_AT | t->n_far;
    t->far[t->n_far++] = s;
    return 0;
}

int names_move(struct names *t, uint32_t id, struct str s)
{
    return refer(t, &t->refs[id], s);
}

uint32_t names_hash(const struct names *t, struct str s)
{
    uint32_t hash = hash_of(t, s);
    if (t->tags) {
        __builtin_prefetch(&t->tags[hash & t->mask]);
        __builtin_prefetch(&t->ids[hash & t->mask]);
    }
    return hash;
}

uint32_t names_intern(struct names *t, struct str s)
{
    return names_intern_hashed(t, s, hash_of(t, s));
}

/* Room for one more name, wherever it is missing. */
static int make_room(struct names *t)
{
    if (t->n == NAME_NONE - 1 || (!t->tags && t->n)) /* no slots for names that are there: sealed */
        return -1;
    if (grow(&t->refs, &t->cap, (size_t)t->n + 1, sizeof *t->refs) != 0 ||
        grow(&t->hashes, &t->cap_hashes, (size_t)t->n + 1, sizeof *t->hashes) != 0)
        return -1;
    return t->n < t->most ? 0 : rehash(t);
}

/* Copies the text of the name that is to be added. */
static int copy_text(struct names *t, struct str s)
{
    if (grow(&t->copy_at, &t->cap_copy_at, (size_t)t->n + 1, sizeof *t->copy_at) != 0)
        return -1;
    t->copy_at[t->n] = NAME_NONE;
    if (s.n == 0 || s.n >= STR_LONG || t->n_copies >= NAME_NONE - STR_LONG)
        return 0;
    if (grow(&t->copies, &t->cap_copies, t->n_copies + s.n, 1) != 0)
        return -1;
    memcpy(t->copies + t->n_copies, s.s, s.n);
    t->copy_at[t->n] = (uint32_t)t->n_copies;
    t->n_copies += s.n;
    return 0;
}

uint32_t names_intern_hashed(struct names *t, struct str s, uint32_t hash)
{
    size_t slot = 0;
    if (t->tags && t->tags[slot = probe(t, hash, s)])
        return t->ids[slot];
    if (!t->tags || t->n == t->cap || t->n == t->cap_hashes || t->n == t->most) {
        if (make_room(t) != 0)
            return NAME_NONE;
        slot = probe(t, hash, s);
    }
    if (refer(t, &t->refs[t->n], s) != 0 || (t->copied && copy_text(t, s) != 0))
        return NAME_NONE;
    t->hashes[t->n] = hash;
    t->tags[slot] = name_tag(hash);
    t->ids[slot] = t->n;
    return t->n++;
}

uint32_t names_find(const struct names *t, struct str s)
{
    if (!t->tags)
        return NAME_NONE;
    size_t slot = probe(t, hash_of(t, s), s);
    return t->tags[slot] ? t->ids[slot] : NAME_NONE;
}

static size_t finder_bytes(const struct names *t)
{
    size_t slots = t->tags ? t->mask + 1 : 0;
    return slots * (sizeof *t->tags + sizeof *t->ids) + t->cap_hashes * sizeof *t->hashes +
           t->cap_copy_at * sizeof *t->copy_at + t->cap_copies;
}

size_t names_bytes(const struct names *t)
{
    return t->cap * sizeof *t->refs + t->cap_far * sizeof *t->far + finder_bytes(t);
}

size_t names_seal(struct names *t)
{
    size_t bytes = finder_bytes(t);
    free_finder(t);
    t->most = t->n;
    return bytes;
}
