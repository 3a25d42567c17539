/* Interned names: equal text, equal id. Open addressing over XXH3, 5 bytes a slot, one hash per look-up.
 *
 * Whether a slot is taken, and most likely by another name, is told by one byte of the hash: those bytes stay
 * in the cache where ids and texts do not, and most names of a graph are looked up once to find that they are
 * new. */
#ifndef SACTAG_IR_NAMES_H
#define SACTAG_IR_NAMES_H

#include "ir/str.h"

#include <stdbool.h>
#include <stdint.h>

#define NAME_NONE UINT32_MAX

struct names {
    uint64_t *refs; /* id → text, borrowed from whoever interned it: a str_ref(), or an index into far */
    uint32_t n;
    size_t cap;
    struct str *far;
    size_t n_far, cap_far;

    /* What finds names. */
    uint8_t *tags;    /* per slot: bits of the hash, 0 = empty */
    uint32_t *ids;    /* per slot */
    size_t mask;      /* slots - 1, a power of two less one; 0 while empty */
    uint32_t most;    /* names that these slots are enough for */
    uint32_t *hashes; /* by id, so that growing costs no hash */
    size_t cap_hashes;
    uint32_t *copy_at; /* by id: offset into copies, NAME_NONE: there is none. NULL unless `copied` */
    size_t cap_copy_at;
    char *copies;
    size_t n_copies, cap_copies;
    bool copied; /* texts lie far apart, as those in a large file do: copies of them that lie side by side are
                    compared instead. For the caller to set while the table is empty */
    uint64_t seed; /* of the hash; ids do not depend on it */
};

static inline struct str names_text(const struct names *t, uint32_t id)
{
    uint64_t ref = t->refs[id];
    return ref >> STR_REF_LEN_AT == STR_REF_FAR ? t->far[ref & STR_REF_ADDRESS] : str_of_ref(ref);
}

void names_init(struct names *t);
void names_free(struct names *t);

/* The id of `s`, added if new. The text must outlive the table. NAME_NONE when memory is exhausted. */
uint32_t names_intern(struct names *t, struct str s);

/* The same in two steps, for callers with something to do in between: the first fetches the slot into the
 * cache. */
uint32_t names_hash(const struct names *t, struct str s);
uint32_t names_intern_hashed(struct names *t, struct str s, uint32_t hash);

/* Is that the name? */
static inline bool names_is(const struct names *t, uint32_t id, struct str s)
{
    uint32_t copy = t->copy_at ? t->copy_at[id] : NAME_NONE;
    if (copy == NAME_NONE)
        return str_eq(names_text(t, id), s);
    return t->refs[id] >> STR_REF_LEN_AT == s.n && memcmp(t->copies + copy, s.s, s.n) == 0;
}

static inline uint8_t name_tag(uint32_t hash)
{
    uint8_t tag = (uint8_t)(hash >> 24);
    return tag ? tag : 1;
}

/* The same look-up in a few instructions for a name that is there and has the slot that its hash says, as
 * most have; NAME_NONE tells nothing. */
static inline uint32_t names_first_slot(const struct names *t, struct str s, uint32_t hash)
{
    if (!t->tags || t->tags[hash & t->mask] != name_tag(hash))
        return NAME_NONE;
    uint32_t id = t->ids[hash & t->mask];
    return names_is(t, id, s) ? id : NAME_NONE;
}

/* Gives the name of `id` an equal text that lies elsewhere, which has to outlive the table in place of the
 * first one. 0, or -1 when memory is exhausted. */
int names_move(struct names *t, uint32_t id, struct str s);

/* Memory that the table takes. */
size_t names_bytes(const struct names *t);

/* Frees what finds names, when no more are looked for: ids keep their text, names_find() finds none,
 * names_intern() fails, names_is() may not be asked. Returns the bytes freed. */
size_t names_seal(struct names *t);

/* The id of `s`, or NAME_NONE. */
uint32_t names_find(const struct names *t, struct str s);

#endif
