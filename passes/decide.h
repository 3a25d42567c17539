/* What the deciding passes share: forced sets, rows, the bodies that they lie in, and runs of one node. */
#ifndef SACTAG_PASSES_DECIDE_H
#define SACTAG_PASSES_DECIDE_H

#include "passes/pass.h"

/* ---- forced sets: passes/forced.c ---- */

/* The FQN that modules of a block are inside of: empty when the whole graph is one block. */
struct str block_base(const struct state *s, uint32_t block);
bool whole_graph(const struct state *s);

/* The entry of a block's forced set with this rhs shape, or NULL. */
struct plan_forced *forced_find(const struct plan_block *b, struct mm_shape rhs);

/* ---- deciding ---- */

/* A row that starts another iteration of the body that is `frame`. */
struct restart {
    uint32_t row, frame;
};

/* What deciding works with: the rows in execution order, the bodies that they lie in, and one count for each
 * call of a block. Frames are those of the walk. */
struct decider {
    struct state *s;

    /* Which rows there are: passes/iterations.c. */
    uint32_t *row_mm; /* per row: index into mms */
    uint32_t n_rows;
    size_t cap_rows;
    bool *listed;             /* per frame: a body whose iterations have rows of their own */
    struct restart *restarts; /* by row */
    size_t n_restarts, cap_restarts;

    /* The bodies that they lie in: passes/bodies.c. */
    uint32_t *owner;     /* per frame of a body: the step of the node that runs it */
    size_t next_restart; /* the first that has not been passed */
    bool *met;           /* per frame: rows lie in it, and nobody knows how it runs */
    uint32_t n_unknown;  /* such frames, and the first */
    uint32_t unknown;
    uint32_t *before; /* per row: count of its call before it */
    uint32_t *other;  /* per row of a first branch or test: what that added to the call's count, on the first
                         row of the call */
    uint32_t *net;    /* per call: scratch, all zero */

    /* The counts, and what rows say: passes/policy.c. */
    uint32_t *first_call;           /* per block: its first call's index into the arrays below */
    uint32_t *count;                /* per call: mms counted so far */
    uint32_t *first_row, *last_row; /* per call */
    const char **path_of;           /* per graph: its path, once a row lies in it */
};

/* The call of an mm that is in a block: index into the arrays per call. */
uint32_t call_id(const struct decider *k, const struct mm *mm);

/* A call's count with n more. Beyond what it can hold it stops growing, but whether it is odd stays right. */
static inline uint32_t count_add(uint32_t count, uint64_t n)
{
    uint64_t sum = count + n;
    return sum <= UINT32_MAX ? (uint32_t)sum : UINT32_MAX - 1 + (uint32_t)(sum % 2);
}

/* ---- rows: passes/iterations.c, passes/row.c ---- */

/* Does an mm get a row? */
bool row_wanted(const struct state *s, const struct mm *mm);

/* Fills row_mm: the mms that get a row, in execution order; those in an iterated body once for each iteration
 * where that many are known and few. 0 or IR_EMEM. */
int list_rows(struct decider *k);

/* What the row of an mm says but for policy and reason. 0 or IR_EMEM. */
int row_make(struct decider *k, const struct mm *mm, struct plan_row *r);

/* Why a row has its policy: "outside", "odd:3", "forced:KxN:FQN". */
struct row_why {
    const char *what; /* NULL with `forced` */
    uint32_t count;   /* 0: none is told */
    struct plan_forced *forced;
};

/* Writes the reason, with what the mm's decision rests on behind it. 0 or IR_EMEM. */
int row_reason(struct plan *p, struct plan_row *r, const struct mm *mm, const struct row_why *why);

/* Text that lives as long as the plan, copied where it must be. NULL text when memory is exhausted. */
struct str plan_text(struct state *s, struct str text);

/* ---- nested graphs: passes/bodies.c ---- */

/* The nested graphs that the row at hand lies in. A branch starts from the count the other started from;
 * iterations go on counting; where the outcome would depend on the run, that is an error (POLICY.md 2 "Graphs
 * within graphs"). */
struct nest {
    struct open_body *open;
    size_t n, cap;
    struct {
        uint32_t node, parent, start;
    } first; /* a first branch, or a test, just left, whose other branch or body comes next */
};

void nest_init(struct nest *n);
void nest_free(struct nest *n);

/* Before row `row`, which is in `frame`, is decided; with FRAME_MAIN and the number of rows at the end. 0,
 * IR_EPOLICY (reported) or IR_EMEM. */
int nest_move(struct decider *k, struct nest *n, uint32_t frame, uint32_t row);

/* Fills `owner`. 0 or IR_EMEM. */
int find_owners(struct decider *k);

/* Is the call that an mm belongs to made inside a body around it, not around that body? */
bool called_in_body(const struct decider *k, const struct mm *mm);

/* Warns where mms lie in graphs of which nobody knows how they run. */
void warn_unknown_bodies(const struct decider *k);

/* Is a frame of the walk a nested graph's (not a function's, nor the main graph)? And how does it run? */
bool is_body(const struct state *s, uint32_t frame);
enum ir_runs runs_of(const struct state *s, uint32_t frame);

/* Is `frame` `outer`, or in it? */
bool inside_frame(const struct state *s, uint32_t frame, uint32_t outer);

/* How often a node runs the graph of a frame that is a body, or -1 where that is unknown: passes/trips.c. */
int64_t trip_count(const struct state *s, uint32_t frame);

/* What messages call the node that runs a frame's graph, in quotes: by its name, and by its operator where
 * its name is only that of its result. */
const char *frame_owner(struct state *s, uint32_t frame);

/* ---- several runs of one node: passes/runs.c ---- */

/* Marks rows that another run of the same node contradicts. 0 or IR_EMEM. */
int compare_runs(struct state *s);

/* Row `row` is decided otherwise in another run of its node; `why` tells which, for the first such row. */
void row_varies(struct state *s, uint32_t row, const char *why);

/* What messages call the node of a row. */
struct str row_name(const struct state *s, uint32_t row);

#endif
