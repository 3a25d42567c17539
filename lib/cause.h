/* Why a decision changed, as far as two plans tell. Goes through the changes in order, since an mm that comes
 * or goes shifts the count of all behind it in its call. */
#ifndef SACTAG_LIB_CAUSE_H
#define SACTAG_LIB_CAUSE_H

#include "lib/reason.h"
#include "lib/table.h"
#include "sactag.h"

/* What is known of one call of a block. */
struct cause_call {
    uint32_t events;       /* rows that shifted the count */
    struct sactag_row row; /* the first of them ... */
    const char *what;      /* ... and what happened to it: "was added" */
    uint32_t last_a;       /* the last row of a, of those that both plans have, plus 1 */
    bool crossed;          /* the order changed */
};

struct causes {
    struct table index; /* (block, call) → calls */
    struct cause_call *calls;
    uint32_t n_calls;
    struct arena *arena;
};

/* `rows`: how many changes there will be, at most. 0 or IR_EMEM (not reported). */
int causes_init(struct causes *c, size_t rows, struct arena *arena);
void causes_free(struct causes *c);

/* Sets the cause of the next change: a or b is NULL where there is none, `block` the name of its block in b
 * (of a's, when it was removed). 0 or IR_EMEM (not reported). */
int causes_next(struct causes *c, struct sactag_change *change, const struct sactag_row *a,
                const struct sactag_row *b, struct sactag_text block);

#endif
