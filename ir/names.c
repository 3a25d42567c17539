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

void names_free(struct names *t)
{
    free(t->refs);
    free(t->far);
    free(t->slots);
    *t = (struct names){0};
}

static uint32_t hash_of(const struct names *t, struct str s)
{
    uint32_t h = (uint32_t)(XXH3_64bits_withSeed(s.n ? s.s : "", s.n, t->seed) >> 32);
    return h ? h : 1;
}

/* The slot of `s`, or the empty one where it would go. At least a quarter of the slots are empty. */
static inline struct name_slot *probe(const struct names *t, uint32_t tag, struct str s)
{
    for (size_t i = tag & t->mask;; i = (i + 1) & t->mask) {
        struct name_slot *slot = &t->slots[i];
        if (slot->tag == 0 || (slot->tag == tag && str_eq(names_text(t, slot->id), s)))
            return slot;
    }
}

/* Doubles the slots. The tag is all that is needed to place an entry, so no text is read again. */
static int rehash(struct names *t)
{
    size_t n = t->slots ? (t->mask + 1) * 2 : SLOTS_MIN;
    struct name_slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return -1;
    size_t old = t->slots ? t->mask + 1 : 0, mask = n - 1;
    for (size_t j = 0; j < old; j++) {
        struct name_slot e = t->slots[j];
        if (e.tag == 0)
            continue;
        size_t i = e.tag & mask;
        while (slots[i].tag)
            i = (i + 1) & mask;
        slots[i] = e;
    }
    free(t->slots);
    t->slots = slots;
    t->mask = mask;
    t->most = n / 4 * 3 < NAME_NONE - 1 ? (uint32_t)(n / 4 * 3) : NAME_NONE - 1;
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
    uint32_t tag = hash_of(t, s);
    if (t->slots)
        __builtin_prefetch(&t->slots[tag & t->mask]);
    return tag;
}

uint32_t names_intern(struct names *t, struct str s)
{
    return names_intern_hashed(t, s, hash_of(t, s));
}

/* Room for one more name, wherever it is missing. */
static int make_room(struct names *t)
{
    if (t->n == NAME_NONE - 1 || (!t->slots && t->n)) /* no slots for names that are there: sealed */
        return -1;
    if (grow(&t->refs, &t->cap, (size_t)t->n + 1, sizeof *t->refs) != 0)
        return -1;
    return t->n < t->most ? 0 : rehash(t);
}

uint32_t names_intern_hashed(struct names *t, struct str s, uint32_t tag)
{
    struct name_slot *slot = t->slots ? probe(t, tag, s) : NULL;
    if (slot && slot->tag)
        return slot->id;
    if (!slot || t->n == t->cap || t->n == t->most) {
        if (make_room(t) != 0)
            return NAME_NONE;
        slot = probe(t, tag, s);
    }
    if (refer(t, &t->refs[t->n], s) != 0)
        return NAME_NONE;
    *slot = (struct name_slot){tag, t->n};
    return t->n++;
}

uint32_t names_find(const struct names *t, struct str s)
{
    if (!t->slots)
        return NAME_NONE;
    const struct name_slot *slot = probe(t, hash_of(t, s), s);
    return slot->tag ? slot->id : NAME_NONE;
}

static size_t slots_bytes(const struct names *t)
{
    return t->slots ? (t->mask + 1) * sizeof *t->slots : 0;
}

size_t names_bytes(const struct names *t)
{
    return t->cap * sizeof *t->refs + t->cap_far * sizeof *t->far + slots_bytes(t);
}

size_t names_seal(struct names *t)
{
    size_t bytes = slots_bytes(t);
    free(t->slots);
    t->slots = NULL;
    t->mask = 0;
    t->most = t->n;
    return bytes;
}
