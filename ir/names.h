/* Interned names: equal text, equal id. Open addressing over XXH3, 8 bytes a slot, one hash per look-up. */
#ifndef SACTAG_IR_NAMES_H
#define SACTAG_IR_NAMES_H

#include "ir/str.h"

#include <stdint.h>

#define NAME_NONE UINT32_MAX

struct names {
    struct str *text; /* id → text, borrowed from whoever interned it */
    uint32_t n;
    size_t cap;
    struct name_slot {
        uint32_t tag; /* hash bits, never 0 in use: a miss costs no comparison, growing costs no hash */
        uint32_t id;
    } * slots;
    size_t mask;   /* slots - 1, a power of two less one; 0 while empty */
    uint64_t seed; /* of the hash; ids do not depend on it */
};

void names_init(struct names *t);
void names_free(struct names *t);

/* The id of `s`, added if new. The text must outlive the table. NAME_NONE when memory is exhausted. */
uint32_t names_intern(struct names *t, struct str s);

/* The same in two steps, for callers with something to do in between: the first fetches the slot into the
 * cache. */
uint32_t names_hash(const struct names *t, struct str s);
uint32_t names_intern_hashed(struct names *t, struct str s, uint32_t hash);

/* Frees what finds names, when no more are looked for: ids keep their text, names_find() finds none,
 * names_intern() fails. Returns the bytes freed. */
size_t names_seal(struct names *t);

/* The id of `s`, or NAME_NONE. */
uint32_t names_find(const struct names *t, struct str s);

#endif
