/* The reason of a row, taken apart: "odd:3", "forced:32x5:moe.router.gate;assumed-contiguous". */
#ifndef SACTAG_LIB_REASON_H
#define SACTAG_LIB_REASON_H

#include "passes/plan.h"

enum reason_kind {
    REASON_NONE, /* no reason is known: the carrier has none */
    REASON_ODD,
    REASON_EVEN,
    REASON_FORCED,
    REASON_ADDMM,
    REASON_OUTSIDE,
    REASON_MANUAL,
    REASON_UNTAGGED, /* the tag is missing */
    REASON_SAVED,    /* --tag all, of a node that is no mm: "boundary", "random", ... */
    REASON_REST,     /* ... "scores", "rest" */
    REASON_OTHER     /* of a later version, or somebody's own */
};

struct reason {
    enum reason_kind kind;
    uint64_t count;        /* ODD, EVEN: which of the mms of its call that take turns, from 1 */
    struct mm_shape rhs;   /* FORCED */
    struct str fqn;        /* FORCED: configured name, empty for a forced shape */
    struct str assumption; /* what follows the semicolon */
};

struct reason reason_parse(struct str text);

/* Is it the reason of a node that is no mm? */
bool reason_of_neighbour(const struct reason *r);

/* May a row have this policy for that reason? `titan`: its save list saves addmm. */
bool reason_allows(const struct reason *r, enum policy policy, bool titan);

/* "KxN", `?` for what is not known, whole: sets *end to what follows. */
bool shape_parse(struct mm_shape *out, struct str *rest);

#endif
