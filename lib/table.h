/* A hash table from 64-bit keys (hashes themselves) to numbers, of a size that is known beforehand. */
#ifndef SACTAG_LIB_TABLE_H
#define SACTAG_LIB_TABLE_H

#include "ir/str.h"

#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table {
    struct table_slot {
        uint64_t key;
        uint32_t value; /* TABLE_NONE: free, or new */
        uint32_t used;
    } * slots;
    size_t mask;
};

/* Room for `n` different keys; 0 or IR_EMEM (not reported). */
int table_init(struct table *t, size_t n);
void table_free(struct table *t);

/* Where the value of this key is; TABLE_NONE stands there when the key is new. Never more keys than was
 * asked for. */
uint32_t *table_at(struct table *t, uint64_t key);

/* The same without adding: NULL when the key is not there. */
uint32_t *table_find(const struct table *t, uint64_t key);

/* Hashes to make keys of: of text, and of what has been hashed so far with something more. */
uint64_t hash_str(struct str s, uint64_t seed);
uint64_t hash_u64(uint64_t v, uint64_t seed);

#endif
