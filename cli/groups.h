/* Which blocks are alike: text output shows neighbouring equal blocks once, as "layers.0-31". */
#ifndef SACTAG_CLI_GROUPS_H
#define SACTAG_CLI_GROUPS_H

#include "sactag.h"

#include <stdio.h>

struct groups {
    uint32_t n_blocks;
    uint32_t *first; /* rows of block b: order[first[b]] up to order[first[b + 1] - 1], in execution order */
    uint32_t *order;
    /* For each block the first block of its group; groups are neighbours whose names count up and ... */
    uint32_t *by_name;   /* ... nothing else */
    uint32_t *by_rows;   /* ... whose sequences of (call, relative FQN, rhs, policy, reason) are equal */
    uint32_t *by_forced; /* ... whose forced shapes are equal */
};

/* False when memory is exhausted. */
bool groups_make(struct groups *g, const sactag_plan *p);
void groups_free(struct groups *g);

/* The last block of the group (in one of the by_... arrays) that begins with block b. */
uint32_t group_last(const struct groups *g, const uint32_t *leader, uint32_t b);

/* The text after "BLOCK." of a row's FQN; all of it when the row is in no block, or the FQN not under it. */
struct sactag_text relative_fqn(const struct sactag_row *r);

/* Where the names of two blocks differ by one number: that number's place in the first name. n = 0 when they
 * do not. */
struct sactag_text varying_number(struct sactag_text first, struct sactag_text last);

/* Is `next` the name after `now`, within a group that began with `first`? The same number must vary. */
bool name_counts_up(struct sactag_text first, struct sactag_text now, struct sactag_text next);

/* "layers.0-31" for names that count up from the first to the last. Returns the width. */
size_t put_name_range(FILE *f, struct sactag_text first, struct sactag_text last);

#endif
