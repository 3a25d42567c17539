/* What the deciding passes share: forced sets, rows, and the bodies that rows lie in. */
#ifndef SACTAG_PASSES_DECIDE_H
#define SACTAG_PASSES_DECIDE_H

#include "passes/pass.h"

/* The FQN that modules of a block are inside of: empty when the whole graph is one block. */
struct str block_base(const struct state *s, uint32_t block);
bool whole_graph(const struct state *s);

/* The entry of a block's forced set with this rhs shape, or NULL. */
struct plan_forced *forced_find(const struct plan_block *b, struct mm_shape rhs);

/* Does an mm get a row? */
bool row_wanted(const struct state *s, const struct mm *mm);

/* Text that lives as long as the plan, copied where it must be. NULL text when memory is exhausted. */
struct str plan_text(struct state *s, struct str text);

/* "what", "what:count", or "forced:KxN:FQN" when f is given, and the mm's assumption. IR_EMEM or 0. */
int row_reason(struct plan *p, struct plan_row *r, const struct mm *mm, const char *what, uint32_t count,
               struct plan_forced *f);

/* A row that starts another iteration of the body that is `frame`. */
struct restart {
    uint32_t row, frame;
};

/* The alternation's state: one count per call of a block. */
struct decider {
    struct state *s;
    uint32_t *row_mm; /* per row: index into mms */
    uint32_t n_rows;
    size_t cap_rows;
    uint32_t *owner;          /* per frame of a body: the step of the node that runs it */
    bool *listed;             /* per frame: a body whose iterations have rows of their own */
    const char **path_of;     /* per graph: its path, once a row lies in it */
    struct restart *restarts; /* by row */
    size_t n_restarts, cap_restarts, next_restart;
    bool *met;          /* per frame: rows lie in it, and nobody knows how it runs */
    uint32_t n_unknown; /* such frames, and the first */
    uint32_t unknown;
    uint32_t *before;     /* per row: count of its call before it */
    uint32_t *other;      /* per row of a first branch or test: what that added to the call's count, on the
                             first row of the call */
    uint32_t *net;        /* per call: scratch, all zero */
    uint32_t *first_call; /* per block: its first call's index into the arrays below */
    uint32_t *count;      /* per call: mms counted so far */
    uint32_t *first_row, *last_row; /* per call */
};

uint32_t call_id(const struct decider *k, const struct mm *mm);

/* A call's count with n more. Beyond what it can hold it stops growing, but whether it is odd stays right. */
static inline uint32_t count_add(uint32_t count, uint64_t n)
{
    uint64_t sum = count + n;
    return sum <= UINT32_MAX ? (uint32_t)sum : UINT32_MAX - 1 + (uint32_t)(sum % 2);
}

/* How often a node runs the graph of a frame that is a body, or -1. */
int64_t trip_count(const struct state *s, uint32_t frame);

/* Nested graphs that rows lie in. A branch starts from the count the other started from; iterations go on
 * counting; where the outcome would depend on the run, that is an error (POLICY.md 2 "Graphs within graphs").
 */
struct nest {
    struct open_body *open;
    size_t n, cap;
    struct {
        uint32_t node, parent, start;
    } first; /* a first branch, or a test, just left, whose other branch or body comes next */
};

/* Before row `row`, which is in `frame`, is decided; with FRAME_MAIN and the number of rows at the end. */
int nest_move(struct decider *k, struct nest *n, uint32_t frame, uint32_t row);
void nest_init(struct nest *n);
void nest_free(struct nest *n);

/* Is the call that an mm belongs to made inside a body around it, not around that body? */
bool called_in_body(const struct decider *k, const struct mm *mm);

/* What the row of an mm says but for policy and reason. 0 or IR_EMEM. */
int row_make(struct decider *k, const struct mm *mm, struct plan_row *r);

/* Fills owner. */
int find_owners(struct decider *k);

/* Says so where mms lie in graphs of which nobody knows how they run. */
void warn_unknown(const struct decider *k);

/* Fills row_mm: the mms that get a row, in execution order; those in an iterated body once for each iteration
 * where that many are known and few. */
int list_rows(struct decider *k);

/* Marks rows that another run of the same node contradicts. */
int compare_runs(struct state *s);

#endif
