/* Passes: graph in, plan out. Each learns one thing about every step of the walk and writes it into the state
 * below, or into the plan; passes/plan.c holds them in one const array and runs them in order. A pass that
 * fails returns a negative ir_err and has reported why. None changes the graph. */
#ifndef SACTAG_PASSES_PASS_H
#define SACTAG_PASSES_PASS_H

#include "passes/facts.h"
#include "passes/fqn.h"
#include "passes/modules.h"
#include "passes/plan.h"
#include "passes/walk.h"

/* Where a node's module is told. */
enum scope_kind {
    SCOPE_NAME, /* the node's name: "/layers.0/attention/wq/MatMul" */
    SCOPE_META, /* exporter metadata: full FQN and class */
    SCOPE_STACK /* a .pt2's nn_module_stack: full FQNs, classes, and which call of each */
};

/* One distinct scope; the steps of a module share it. Made by pass_scope(), but for what is said to be of
 * modules or block: pass_modules() and pass_block() write that. */
struct scope {
    struct str raw;    /* as the file has it */
    struct str fqn;    /* the module; empty = the model itself. NAME: modules, resolved against those known */
    struct str cls;    /* META, STACK: the module's class, "torch.nn.modules.linear.Linear" */
    struct str *atoms; /* NAME: the modules called, outermost first, wrappers left out. STACK: the keys */
    union {
        uint32_t *ends;   /* NAME: where each atom ends in raw */
        struct str *fqns; /* STACK: FQN of each key */
    };
    uint32_t module; /* modules: its id; IR_NONE: look it up */
    uint32_t node;   /* META: the first of its nodes */
    uint32_t block;  /* block: the first block that it may lie in, or IR_NONE */
    uint16_t n_atoms;
    uint16_t depth; /* block: which atom is that block's own */
    enum scope_kind kind : 8;
    bool certain;       /* fqn is the full FQN for sure. NAME: modules */
    bool ambiguous : 1; /* NAME: modules: several fit; fqn is the first, block settles which it is */
    bool stem : 1;      /* NAME: modules, block: fqn stands without the last atom's _k */
    bool deep : 1;      /* STACK: too deep: tells nothing */
    bool call : 1;      /* NAME: of the node that calls a function; which module inside ran is not told */
};

enum mm_kind {
    MM_KIND_NONE,
    MATMUL,
    GEMM,
    FUSED,
    BIASED,
    EINSUM,
    QUANTISED,
    HIDDEN,
    MM_KIND_EXTRA,
    MM_KIND_ATEN
};

/* What PyTorch runs for it. */
enum aten_kind { ATEN_OTHER, ATEN_MM, ATEN_ADDMM };

/* One product of matrices (not QUANTISED, not HIDDEN). "linear:" before what a field means tells that
 * pass_linear() writes it, "mm, linear:" that both do; without such a word pass_mm() does, alone. */
struct mm {
    uint32_t step;
    enum mm_kind kind : 8;
    enum aten_kind aten : 8;
    enum evidence evidence : 8; /* linear, block: what fqn was learnt from */
    bool unknown_rank : 1;      /* of the rhs */
    bool literal : 1;           /* an mm under rule onnx */
    bool counted : 1;           /* an mm under the rule in force */
    bool transposed : 1;        /* mm, linear: the weight is, on the way: an odd number of times */
    bool linear : 1;            /* linear: y = x W^T of a Linear */
    bool unsettled : 1;         /* linear: its scope is ambiguous, and block names it */
    bool scope_linear : 1;      /* linear: ... and records its scope's module as a Linear */
    bool scope_leaf : 1;        /* linear: what is in its scope is a Linear's */
    bool loose : 1;             /* linear, block: fqn may lack containers that are never called */
    bool unscoped : 1;          /* linear: its step has no scope */
    bool nameless : 1; /* linear: it may be a Linear's all the same: the weight's name is lost, and its module
                          is not known to be one */
    uint32_t weight_name; /* linear: value with the nearest name on the way that a module may have given, else
                             the parameter itself; IR_NONE */
    struct mm_shape rhs;  /* literal: of the node as it stands */
    struct mm_shape aten_rhs; /* of what PyTorch runs */
    const char *assumption;   /* what it rests on, or the choice of `aten` under that rule:
                                 "assumed-contiguous", ... or NULL */
    uint32_t folded;          /* mms that a tool computed away right before this one: torch counts them */
    uint32_t uses, user;      /* how many operands its output is, and the last step that reads it */
    struct use bias;          /* the bias as an operand, value IR_NONE if there is none */
    struct use weight;    /* mm, linear: parameter that the rhs comes from, value IR_NONE if it is computed */
    struct str fqn;       /* linear, block: module, empty if unknown */
    struct str scope_fqn; /* linear, block: what scope or metadata say, for matching where the weight is
                             shared under another name */
    uint32_t block, call; /* block: IR_NONE outside blocks */
};

/* A value that carries a parameter's name, and the module that the name tells. */
struct named {
    uint32_t value;
    uint32_t module; /* IR_NONE: tells none */
    enum param_kind kind;
};

struct named_values {
    struct named *a; /* by value */
    uint32_t n;
    size_t cap;
    struct named_bits { /* of 64 values: which are in `a`, and how many of those before them are */
        uint64_t set;
        uint32_t before;
    } * bits;
};

/* What the passes work on. The pass named above a field makes it, those after it read it; where another one
 * changes or frees it, that is said. What lies in `arena` lives until the last pass is done. */
struct state {
    /* Given. */
    struct ir_model *m; /* only shapes are added to it */
    uint32_t root;      /* the main graph that is decided: graph id */
    const struct policy_options *o;
    bool all; /* the nodes that are no mms, too: plan->neighbours */
    struct diag *d;

    struct plan *plan;    /* the result */
    uint64_t match_steps; /* of match_literal() and fqn_glob(), by all passes */
    struct arena arena;   /* scratch */

    /* walk */
    struct walk walk;
    struct facts facts; /* mm: seals them where nobody asks for shapes any more */
    bool *in_program;   /* per graph: belongs to the main graph that is decided */
    uint8_t *is_param;  /* a bit per value: a parameter, or a graph input that is one by its name */

    /* scope; freed by linears */
    struct scope *scopes; /* scopes[0]: no scope. modules: their FQNs; block: their blocks */
    uint32_t n_scopes;
    size_t cap_scopes;
    struct names scope_index; /* raw text → scope. modules: freed where no scope comes from a name */
    uint32_t *scope_of;       /* per step */
    bool script_names;        /* some are named as TorchScript's exporter does: "/layers.0/wq" */

    /* mm */
    struct mm *mms; /* in the order of the walk; order: in execution order */
    uint32_t n_mms;
    size_t cap_mms;

    /* modules; freed by linears */
    struct modules modules; /* linear, block: which are Linears */
    struct named_values named;

    /* order */
    uint32_t *order; /* execution order: positions in walk.steps; NULL = as they are */

    /* block */
    uint32_t *first_region; /* per block, and one more: the region of its first call */
    uint32_t *region_of;    /* per step: index into plan->regions, or IR_NONE. neighbours: moves steps that
                               compute the same every time */

    /* forced */
    uint32_t *module_block; /* per module: innermost block around it, or IR_NONE */

    /* regions */
    uint8_t *leaves; /* per slot: crosses the border of the region that makes it; only with `all` */
};

/* IR_EINPUT, reported, when names took more than MATCH_STEPS_MAX to compare: what came of it since is not
 * right. */
int check_match_steps(const struct state *s);

struct pass {
    const char *name;
    const char *summary;
    int (*run)(struct state *s);
};

/* The passes in the order in which they run, what each learns, and the files of its parts. Each stands in the
 * file of its name, but for walk (program.c) and modules (known_modules.c). plan.c runs them, merge.c puts
 * the plans of several programs together, annotate.c says what is written on the nodes.
 *
 *     walk         nodes as they run, parameters, facts     walk, facts, fact_*
 *     scope        the module that each node names          scope_stack
 *     mm           products, their rhs, what PyTorch runs   backward, lower, folded_mm, hidden,
 *                                                           aten, aten_tensor, einsum
 *     modules      the modules that the file tells of       named, modules, scope_fqn
 *     linear       FQNs of mms, Linears                     weight, fqn, fqn_param
 *     order        execution order where a tool lost it
 *     block        blocks and their calls                   block_*, auto_block
 *     forced       forced sets                              match, glob, unmatched
 *     linears      the plan's Linears
 *     policy       the alternation: rows                    iterations, bodies, trips, row, runs
 *     summary      counts
 *     misses       warnings of what came to nothing
 *     specialize   copies of functions
 *     regions      checkpoint regions, what crosses them
 *     neighbours   nodes that are no mms, for --tag all     attention */
int pass_walk(struct state *s);
int pass_scope(struct state *s);
int pass_mm(struct state *s);
int pass_modules(struct state *s);
int pass_linear(struct state *s);
int pass_order(struct state *s);
int pass_block(struct state *s);
int pass_forced(struct state *s);
int pass_linears(struct state *s);
int pass_policy(struct state *s);
int pass_summary(struct state *s);
int pass_misses(struct state *s);
int pass_specialize(struct state *s);
int pass_regions(struct state *s);
int pass_neighbours(struct state *s);

/* Operand i of an mm, resolved. */
static inline struct use mm_operand(const struct state *s, const struct mm *mm, uint32_t i)
{
    return walk_resolve(&s->walk, walk_input(&s->walk, walk_step(&s->walk, mm->step), i));
}

/* The region of the step that makes a resolved value, or IR_NONE; `maker` is of walk_makers(). */
static inline uint32_t region_of_maker(const struct state *s, const uint32_t *maker, struct use u)
{
    uint32_t step = walk_maker(&s->walk, maker, u);
    return step == IR_NONE ? IR_NONE : s->region_of[step];
}

/* Names and attributes lie as far apart in memory as their nodes do in the file: who looks at those of one
 * node after the other fetches what comes so much later into the cache. */
#define NODES_AHEAD 16

/* Does any scope come from nodes' names? These are resolved by looking for their atoms among the modules. */
bool scopes_by_name(const struct state *s);

/* Frees what pass_scope has made. */
void scopes_free(struct state *s);

/* The scope of a step; scopes[0] when it has none. */
static inline struct scope *step_scope(const struct state *s, uint32_t step)
{
    return &s->scopes[s->scope_of[step]];
}

/* A module's class, where the file tells it. Empty: it does not. */
static inline struct str module_class(const struct state *s, const struct module *m)
{
    return s->scopes[m->scope].cls;
}

/* Step i of the execution order. */
static inline uint32_t state_step(const struct state *s, uint32_t i)
{
    return s->order ? s->order[i] : i;
}

static inline const struct ir_node *step_node(const struct state *s, uint32_t step)
{
    return &s->m->nodes[walk_step(&s->walk, step).node];
}

static inline struct str node_name(const struct state *s, uint32_t step)
{
    return ir_node_name(s->m, step_node(s, step));
}

static inline const struct ir_op *step_op(const struct state *s, uint32_t step)
{
    return ir_node_op(s->m, step_node(s, step));
}

#endif
