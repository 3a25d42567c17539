#include "lib/table.h"

#include "ir/diag.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

int table_init(struct table *t, size_t n)
{
    size_t slots = 16;

    *t = (struct table){0};
    if (n > SIZE_MAX / 4 / sizeof *t->slots)
        return IR_EMEM;
    while (slots < 2 * n)
        slots *= 2;
    t->slots = calloc(slots, sizeof *t->slots);
    t->mask = slots - 1;
    return t->slots ? 0 : IR_EMEM;
}

void table_free(struct table *t)
{
    free(t->slots);
    *t = (struct table){0};
}

static size_t slot_of(const struct table *t, uint64_t key)
{
    size_t i = (size_t)(key ^ key >> 32) & t->mask;

    while (t->slots[i].used && t->slots[i].key != key)
        i = (i + 1) & t->mask;
    return i;
}

uint32_t *table_find(const struct table *t, uint64_t key)
{
    size_t i = slot_of(t, key);
    return t->slots[i].used ? &t->slots[i].value : NULL;
}

uint32_t *table_at(struct table *t, uint64_t key)
{
    size_t i = slot_of(t, key);

    if (!t->slots[i].used)
        t->slots[i] = (struct table_slot){key, TABLE_NONE, 1};
    return &t->slots[i].value;
}

uint64_t hash_str(struct str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.s : "", s.n, seed);
}

uint64_t hash_u64(uint64_t v, uint64_t seed)
{
    return XXH3_64bits_withSeed(&v, sizeof v, seed);
}
