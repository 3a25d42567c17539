/* The walk: every node that runs, in execution order, with calls of model-local functions expanded.
 *
 * A function's body runs once per call, with other operands each time; a body held in an attribute (If, Loop,
 * Scan) runs inside its node. Each such run is a frame. A step is one node of one frame; a use is a value
 * seen from a frame. Everything later passes learn is learnt per step, so functions need no special case
 * there.
 *
 * The number of steps is bounded (policy_options.max_steps): functions that call functions multiply. */
#ifndef SACTAG_PASSES_WALK_H
#define SACTAG_PASSES_WALK_H

#include "ir/ir.h"

#define FRAME_MAIN 0

/* Frames in each other: functions call functions, whose bodies hold graphs. As many for each level of graphs
 * that a model may have (SACTAG_MAX_DEPTH). */
#define WALK_DEPTH_PER_LEVEL 8
#define WALK_DEPTH           (64 * WALK_DEPTH_PER_LEVEL)

#define WALK_SLOT_BYTES 16 /* what passes/facts.h keeps for each value of each frame */

struct frame {
    uint32_t parent; /* IR_NONE for the main graph */
    uint32_t node;   /* node of the parent frame that runs this graph; IR_NONE for the main graph */
    uint32_t graph;
    uint32_t base;     /* first slot of this frame's values */
    uint32_t child;    /* newest frame called from this one */
    uint32_t sibling;  /* next older frame with the same parent */
    uint32_t function; /* nearest enclosing frame (or itself) that is a function call or the main graph */
    uint32_t depth;
};

struct step {
    uint32_t node, frame;
};

/* A value as one frame sees it. value == IR_NONE: nothing (an omitted operand, an unresolvable name). */
struct use {
    uint32_t frame, value;
};

static inline bool use_same(struct use a, struct use b)
{
    return a.value == b.value && a.frame == b.frame;
}

/* Where a value of a frame comes from. */
struct origin {
    uint32_t frame_1; /* the frame, and one; 0: nobody has asked yet */
    uint32_t value;
};

struct walk {
    struct ir_model *m;
    struct frame *frames;
    uint32_t n_frames;
    size_t cap_frames;
    struct step *steps; /* asked for by walk_step(); NULL: the nodes of the one graph, as they stand */
    uint32_t n_steps;
    size_t cap_steps;
    uint32_t *local;    /* value id → position among its graph's values; NULL when flat */
    uint32_t *counts;   /* graph id → number of its values */
    uint32_t n_slots;   /* sum over frames of their graphs' values */
    uint32_t *child_of; /* open addressing: (parent frame, node, graph) → frame */
    size_t child_mask;
    struct origin *origins; /* per slot, filled when it is asked for; NULL when flat */
    bool flat;   /* one graph and nothing else: every use is resolved, and a value's id is its slot */
    bool sorted; /* was every graph's node list in topological order? */
};

/* 0; IR_EINPUT: a cycle, functions that call themselves, too many steps; IR_EMEM. */
int walk_build(struct walk *w, struct ir_model *m, uint64_t max_steps, struct diag *d);

/* The same from another main graph, a further program of a .pt2, within more limits. */
struct walk_limits {
    uint64_t steps; /* and as many frames */
    uint32_t depth; /* frames in each other; 0: WALK_DEPTH */
    struct arena
        *memory; /* what the walk takes, and what one fact per slot will, is charged to it; or NULL */
};
int walk_build_from(struct walk *w, struct ir_model *m, uint32_t root, const struct walk_limits *limits,
                    struct diag *d);
void walk_free(struct walk *w);

static inline struct step walk_step(const struct walk *w, uint32_t i)
{
    return w->steps ? w->steps[i] : (struct step){i, FRAME_MAIN};
}

/* The i-th input or output of a step's node, as the step sees it: not yet resolved. */
static inline struct use walk_input(const struct walk *w, struct step s, uint32_t i)
{
    return (struct use){s.frame, ir_node_input(w->m, &w->m->nodes[s.node], i)};
}

static inline struct use walk_output(const struct walk *w, struct step s, uint32_t i)
{
    return (struct use){s.frame, ir_node_output(w->m, &w->m->nodes[s.node], i)};
}

/* Where a value really comes from: the frame that owns it; a function's input is its caller's operand; the
 * output of a function call is the value the body returns. What is left is a parameter, a graph or body
 * input, or the output of a node that is no function call. */
struct use walk_resolve_nested(const struct walk *w, struct use u);
static inline struct use walk_resolve(const struct walk *w, struct use u)
{
    return w->flat ? u : walk_resolve_nested(w, u);
}

/* Index for arrays with one entry per value of each frame; the use must be resolved. */
static inline uint32_t walk_slot(const struct walk *w, struct use u)
{
    return w->flat ? u.value : w->frames[u.frame].base + w->local[u.value];
}

/* The frame that `node` of frame `parent` opens for `graph`, or IR_NONE. */
uint32_t walk_child(const struct walk *w, uint32_t parent, uint32_t node, uint32_t graph);

/* An attribute of a step's node; one that stands for a function's attribute is looked up at the call. As
 * ir_source.attr: 1 found, 0 absent, negative error. */
int walk_attr(const struct walk *w, struct step s, const char *name, struct ir_attr *out);

/* The integer attribute, or `otherwise` when it is absent or of another type. */
int64_t walk_attr_int(const struct walk *w, struct step s, const char *name, int64_t otherwise);

/* Node that defines a resolved use, as a step; node == IR_NONE when it is no node's output. */
static inline struct step walk_def(const struct walk *w, struct use resolved)
{
    return (struct step){ir_value_node(w->m, resolved.value), resolved.frame};
}

/* Back from a value through nodes whose op (its type) `through` accepts, by their first input: what it is a
 * copy or a part of, resolved. */
#define WALK_BACK_MAX 64 /* nodes; then it stops */
struct use walk_back(const struct walk *w, struct use u, bool (*through)(struct str type));

/* Fills, per slot, the step whose node makes the value, or IR_NONE: for walk_maker(). NULL where a value
 * tells that itself. To be freed; 0 or IR_EMEM. */
int walk_makers(const struct walk *w, uint32_t **of_slot);

/* The step that makes a resolved value, or IR_NONE. */
static inline uint32_t walk_maker(const struct walk *w, const uint32_t *of_slot, struct use u)
{
    return of_slot ? of_slot[walk_slot(w, u)] : ir_value_node(w->m, u.value);
}

#endif
