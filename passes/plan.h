/* The plan: what was decided for one graph, and why. Made by the passes, read by lib/ and turned into
 * annotations. Text and arrays live in the plan's arena, or in the model. */
#ifndef SACTAG_PASSES_PLAN_H
#define SACTAG_PASSES_PLAN_H

#include "ir/annot.h"
#include "ir/clone.h"
#include "ir/ir.h"

enum policy { POLICY_NONE, POLICY_SAVE, POLICY_RECOMPUTE };
enum evidence { EV_NONE, EV_PARAM, EV_METADATA, EV_SCOPE, EV_BIAS, EV_NEIGHBOUR };
enum match { MATCH_EXACT, MATCH_SUBSTRING, MATCH_GLOB };
enum mm_rule { MM_ONNX, MM_TORCH };
enum carrier { CARRIER_METADATA, CARRIER_ATTRIBUTE, CARRIER_POPART };

struct mm_shape {
    int64_t k, n; /* IR_DIM_UNKNOWN */
};

#define MM_SHAPE_TEXT 48 /* room for the text of any shape */
/* "KxN", with ? for what is not known. Returns `out`. */
const char *mm_shape_text(char out[MM_SHAPE_TEXT], struct mm_shape s);

/* Options, resolved: no defaults are left to choose. */
struct policy_options {
    struct str *fqns;
    uint32_t n_fqns;
    struct mm_shape *force;
    uint32_t n_force;
    enum match match;
    struct str *blocks; /* patterns; empty = auto */
    uint32_t n_blocks;
    bool whole; /* the whole graph is one block */
    enum mm_rule rule;
    bool titan; /* torchtitan's save list: addmm is saved */
    bool file_order;
    struct str *mm_ops;
    uint32_t n_mm_ops;
    bool strict, specialize;
    uint64_t max_steps;
    uint32_t max_depth; /* of the walk; 0: the default */
    size_t max_memory;  /* of the plan, and as much again for making it; 0 = no limit */
};

struct plan_row {
    uint32_t node;  /* node id in the model */
    uint32_t frame; /* call path, see passes/walk.h; 0 = the main graph itself */
    uint32_t block; /* index into plan.blocks, or IR_NONE */
    uint32_t call;
    struct str graph; /* FORMATS.md: path of the graph (with the call path for function bodies) */
    struct str fqn;   /* empty = unknown */
    enum evidence evidence;
    struct mm_shape rhs;
    enum policy policy;
    struct str reason;
    bool forced, addmm, assumed;
    bool varies; /* another run of the same node decides otherwise: the node cannot be tagged */
};

struct plan_forced {
    struct mm_shape rhs;
    struct str fqn;         /* configured name, empty for --force-shape */
    struct str also;        /* comma-separated relative FQNs of further Linears of that shape in the block */
    const char *assumption; /* what the match rests on: "assumed-containers", "assumed-tied", or NULL */
    struct str reason;      /* of the rows that it decides, once there is one */
};

struct plan_block {
    struct str fqn;
    uint32_t calls;
    uint32_t saved, recomputed, forced_rows;
    struct plan_forced *forced;
    uint32_t n_forced;
};

struct plan_linear {
    struct str fqn, weight;
    int64_t in, out;
    uint32_t block; /* or IR_NONE */
    enum evidence evidence;
};

/* One checkpoint region: a call of a block. */
struct plan_region {
    uint32_t block, call;
    uint32_t *inputs, n_inputs;   /* value ids that cross into it (parameters and constants left out) */
    uint32_t *outputs, n_outputs; /* value ids that are used after it */
};

/* A node of a region that is no mm, and what --tag all says of it. */
struct plan_neighbour {
    uint32_t node; /* node id in the model */
    uint32_t block, call;
    enum policy policy;
    const char *reason; /* a constant: "boundary", "random", ..., "rest" */
    bool shared;        /* the node runs more than once */
    bool bare;          /* carriers that are attributes leave it out: another tool would misread them */
};

struct plan {
    struct plan_row *rows; /* execution order */
    uint32_t n_rows;
    struct plan_block *blocks;
    uint32_t n_blocks;
    struct plan_linear *linears;
    uint32_t n_linears;
    struct plan_region *regions;
    uint32_t n_regions;
    struct plan_neighbour *neighbours; /* of plan_neighbours(); by node, each once */
    uint32_t n_neighbours;
    uint32_t n_saved, n_recomputed, n_forced, n_addmm, n_outside, n_assumed, n_rules_differ;
    uint32_t n_evidence[6];
    uint32_t n_varies;      /* rows that another run of their node contradicts */
    struct str varies_why;  /* names two runs that disagree, when n_varies > 0 */
    bool varies_by_call;    /* those are calls of a function, which --specialize would copy */
    struct clones clones;   /* --specialize: what makes the runs agree; empty when they do */
    struct str counted[64]; /* reasons "odd:1", "even:2", ... as far as rows have them: blocks are alike */
    const char *blocks_how; /* "given", "auto", "whole" */
    struct policy_options options; /* what it was made with; text copied into the arena */
    struct arena arena;
};

/* Runs all passes. 0 or a negative ir_err (reported). On failure the plan is empty but still to be freed. */
int plan_make(struct plan *p, struct ir_model *m, const struct policy_options *o, struct diag *d);
void plan_free(struct plan *p);

/* Counts the rows anew, for the plan and for each block, after policies or blocks of rows have changed:
 * saved, recomputed, forced, addmm, outside. */
void plan_count(struct plan *p);

/* Adds p->neighbours, for --tag all. They need what the passes learnt of every node, which is many times the
 * plan: rather than keep that with each plan for the few that are asked, all passes run again, by the plan's
 * options. 0, or an error (reported). */
int plan_neighbours(struct plan *p, struct ir_model *m, struct diag *d);

/* The per-node annotations of a plan in the form of a carrier, in node order, without the model's sac.plan
 * entry (which lib/ adds: it holds the digest). Every row with a policy is tagged, and with `all` every
 * neighbour.
 * IR_EPOLICY when the runs of a body node (calls of a function, iterations of a loop) decide differently: one
 * node cannot carry two policies. In the plan's arena. */
int plan_annotate(struct annots *out, struct plan *p, bool all, enum carrier carrier, struct diag *d);

#endif
