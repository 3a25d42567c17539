/* Passes: graph in, plan out. Each learns one thing about every step of the walk and writes it into the state
 * below; passes/plan.c holds them in one const array and runs them in order. A pass that fails returns a
 * negative ir_err and has reported why. None changes the graph. */
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

/* One distinct scope; the steps of a module share it. */
struct scope {
    struct str raw;    /* as the file has it */
    struct str fqn;    /* the module; empty = the model itself. NAME: resolved against the known modules */
    struct str cls;    /* META, STACK: the module's class, "torch.nn.modules.linear.Linear" */
    struct str *atoms; /* NAME: the modules called, outermost first, wrappers left out. STACK: the keys */
    union {
        uint32_t *ends;   /* NAME: where each atom ends in raw */
        struct str *fqns; /* STACK: FQN of each key */
    };
    uint32_t module; /* its id; IR_NONE: look it up */
    uint32_t block;  /* passes/block.c: block candidate, or IR_NONE */
    uint16_t n_atoms;
    uint16_t depth; /* ... and which atom is the block's own */
    enum scope_kind kind : 8;
    bool certain;       /* fqn is the full FQN for sure */
    bool ambiguous : 1; /* NAME: several known modules fit; fqn is the first, passes/block.c settles it */
    bool stem : 1;      /* NAME: fqn stands without the last atom's _k */
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

/* One node that multiplies matrices (not QUANTISED, not HIDDEN). */
struct mm {
    uint32_t step;
    enum mm_kind kind : 8;
    enum aten_kind aten : 8;
    enum evidence evidence : 8;
    bool unknown_rank : 1; /* of the rhs */
    bool literal : 1;      /* an mm under rule onnx */
    bool counted : 1;      /* an mm under the rule in force */
    bool transposed : 1;   /* the weight is, on the way: an odd number of times */
    bool linear : 1;       /* y = x W^T of a Linear */
    bool unsettled : 1;    /* its scope is ambiguous: passes/block.c names it */
    bool scope_linear : 1; /* ... and records its scope's module as a Linear */
    bool loose : 1;        /* fqn may lack containers that are never called */
    bool unscoped : 1;     /* its step has no scope */
    bool nameless : 1; /* ... or may be: the weight's name is lost, and the module is not known to be one */
    uint32_t weight_name; /* value with the nearest name on the way that a module may have given, else the
                             parameter itself; IR_NONE */
    struct mm_shape rhs;  /* literal */
    struct mm_shape aten_rhs;
    const char *aten_assumption; /* what the choice of aten rests on: "assumed-contiguous", ... or NULL */
    const char *assumption;      /* "assumed-contiguous", ... or NULL */
    uint32_t folded;             /* mms that a tool computed away right before this one: torch counts them */
    uint32_t uses, user;         /* how many operands its output is, and the last step that reads it */
    uint32_t bias_step;          /* step of the Add that adds a bias, or IR_NONE */
    struct use bias;             /* the bias as an operand, value IR_NONE if there is none */
    struct use weight;           /* parameter that the rhs comes from, value IR_NONE if it is computed */
    struct str fqn;              /* module, empty if unknown */
    struct str scope_fqn; /* what scope or metadata say, for matching where the weight is shared under another
                             name */
    uint32_t block, call; /* IR_NONE outside blocks */
};

/* A value that carries a parameter's name, and the module that the name tells. */
struct named {
    uint32_t value;
    uint32_t module; /* IR_NONE: tells none */
    enum param_kind kind;
    struct str fqn;
};

struct state {
    struct ir_model *m;
    uint32_t root; /* the main graph that is decided: graph id */
    const struct policy_options *o;
    struct plan *plan;
    bool all; /* the nodes that are no mms, too: plan->neighbours */
    struct diag *d;
    struct arena arena; /* scratch: freed after the passes */

    struct walk walk;
    struct facts facts;
    bool *in_program;  /* per graph: belongs to the main graph that is decided */
    uint8_t *is_param; /* a bit per value: a parameter, or a graph input that is one by its name */
    uint32_t *order;   /* execution order: positions in walk.steps; NULL = as they are */

    struct scope *scopes; /* scopes[0]: no scope */
    uint32_t n_scopes;
    size_t cap_scopes;
    struct names scope_index;
    uint32_t *scope_of;    /* per step */
    uint32_t n_deep, deep; /* steps whose scope is too deep to tell anything, and the first of them */
    bool script_names;     /* some are named as TorchScript's exporter does: "/layers.0/wq" */

    struct mm *mms; /* in walk order */
    uint32_t n_mms;
    size_t cap_mms;
    uint8_t *kind_of; /* enum mm_kind per op id */
    uint32_t n_quantised, n_hidden;
    struct str quantised_op, hidden_op; /* the first of each */

    struct modules modules;
    struct named *named; /* by value */
    uint32_t n_named;
    size_t cap_named;
    struct named_bits { /* of 64 values: which are in named, and how many of those before them are */
        uint64_t set;
        uint32_t before;
    } * is_named;
    uint32_t *module_block; /* per module: innermost block around it, or IR_NONE */
    uint32_t *first_region; /* per block, and one more: the region of its first call */
    uint32_t *region_of;    /* per step: index into plan->regions, or IR_NONE */
    uint8_t *leaves;        /* per slot: crosses the border of the region that makes it; only with `all` */

    const char **path_of; /* per graph: its path, once a row lies in it */
};

struct pass {
    const char *name;
    const char *summary;
    int (*run)(struct state *s);
};

int pass_walk(struct state *s);       /* steps and facts */
int pass_scope(struct state *s);      /* each step's scope */
int pass_mm(struct state *s);         /* which steps are mms, and their rhs shapes */
int pass_modules(struct state *s);    /* the modules that the file tells of */
int pass_linear(struct state *s);     /* modules, FQNs, Linears */
int pass_order(struct state *s);      /* execution order where a tool lost it */
int pass_block(struct state *s);      /* blocks and calls */
int pass_forced(struct state *s);     /* forced sets */
int pass_linears(struct state *s);    /* the plan's Linears */
int pass_policy(struct state *s);     /* the alternation, rows */
int pass_misses(struct state *s);     /* warnings of what came to nothing */
int pass_summary(struct state *s);    /* counts */
int pass_specialize(struct state *s); /* copies of functions, one for each way they decide */
int pass_regions(struct state *s);    /* checkpoint regions and what crosses them */
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
int pass_neighbours(struct state *s); /* the policies of nodes that are no mms */

/* Names lie as far apart in memory as their nodes do in the file: who looks at one after the other fetches
 * those to come into the cache. */
#define NAMES_AHEAD 16

/* Does any scope come from nodes' names? Such ones are resolved by looking for their atoms among the modules.
 */
bool scopes_by_name(const struct state *s);

/* Frees what pass_scope has made. */
void scopes_free(struct state *s);

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

static inline struct str node_name(const struct state *s, uint32_t step)
{
    return ir_node_name(s->m, &s->m->nodes[walk_step(&s->walk, step).node]);
}

static inline const struct ir_op *step_op(const struct state *s, uint32_t step)
{
    return ir_node_op(s->m, &s->m->nodes[walk_step(&s->walk, step).node]);
}

#endif
