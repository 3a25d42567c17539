/* What the parts of the block pass share. */
#ifndef SACTAG_PASSES_BLOCK_H
#define SACTAG_PASSES_BLOCK_H

#include "passes/pass.h"

#define CANDIDATES_MAX 16 /* blocks that one scope may stand for; more are not looked at */

/* The candidates of a scope: blocks that it may lie in. */
struct candidates {
    uint32_t first, n; /* in blocker.candidates */
    bool hides;        /* STACK, META: a module of torch.nn that the exporter did not look into, with blocks
                          inside */
    uint32_t path; /* NAME: id of the text up to and with the block's atom, without its suffix: equal for all
                      calls */
};

/* Steps of one call, as far as key and neighbours tell. In the end each run is one call of its block. */
struct run {
    uint32_t block;        /* IR_NONE: outside */
    uint32_t candidates;   /* scope whose candidates it has (block undecided), or 0 */
    uint32_t call, region; /* once all are known */
    bool weak;             /* only parameters that other scopes use as well tell its block */
    uint32_t key;          /* interned: what tells this call from others of the block */
    uint32_t first, last;  /* positions in execution order */
};

struct blocker {
    struct state *s;

    /* Which modules are blocks: passes/block_choice.c. */
    struct str *blocks;
    uint32_t n_blocks, n_chosen; /* the chosen ones come first, then their rivals */
    size_t cap_blocks;
    struct names index; /* block FQN → id */

    /* What lies in which block: passes/block_place.c. */
    struct names names;        /* unqualified block name → id into first_of */
    uint32_t *first_of, *next; /* blocks of one unqualified name */
    size_t cap_first;
    uint32_t *of_module;         /* per module known so far: innermost block around it, or IR_NONE */
    uint32_t *named_block;       /* per named value: block of its module, or IR_NONE */
    uint32_t *named_scope;       /* per named value: the scope that uses it; 0: none, SCOPES: several */
    struct candidates *of_scope; /* per scope */
    uint32_t *candidates, n_candidates; /* blocks */
    size_t cap_candidates;
    struct names paths; /* text of struct candidates.path → id */

    /* Calls: passes/block_calls.c, passes/block_repeats.c. */
    struct str *span;  /* per block: innermost module around all its parameters */
    struct names keys; /* what tells calls apart → number */
    uint32_t *key_of;  /* per step: what its scope says of the call; NULL: none says anything */
    uint32_t *run_of;  /* per step: index into runs, or IR_NONE */
    struct run *runs;
    uint32_t n_runs;
    size_t cap_runs;
};

/* Fills blocks and index; says how they were chosen in the plan. None = the whole graph is one block.
 * IR_EPOLICY: a pattern that no module matches. */
int choose_blocks(struct blocker *b);

/* Modules elsewhere in the model may have a block's scope: "teacher.blocks.0" that of "student.blocks.0".
 * Those that parameters' names tell of are added as if they were blocks; what is found to be theirs is
 * outside. */
int add_rivals(struct blocker *b);

/* IR_EPOLICY: what was given as a block is no module. */
int block_unknown(struct state *s, struct str pattern);

/* Fills the indexes that the look-ups below use. 0 or IR_EMEM. */
int index_names(struct blocker *b);

/* Fills of_scope: the candidates of every scope. 0 or IR_EMEM. */
int all_candidates(struct blocker *b);

/* Fills `span`, `key_of`, and then `runs` and `run_of`. 0 or IR_EMEM. */
int find_spans(struct blocker *b);
int find_keys(struct blocker *b);
int make_runs(struct blocker *b);

/* Does a step compute the same every time the program runs? Such steps stand anywhere. */
static inline bool block_step_fixed(const struct blocker *b, uint32_t step)
{
    const struct walk *w = &b->s->walk;
    struct use u = walk_output(w, walk_step(w, step), 0);
    return u.value == IR_NONE || facts_fixed(&b->s->facts, u);
}

/* Adds a run. 0 or IR_EMEM. */
int block_new_run(struct blocker *b, uint32_t block, uint32_t candidates, uint32_t key, uint32_t at);

/* Splits runs that are several calls of their block with nothing between them. */
int split_repeats(struct blocker *b);

static inline uint32_t candidate(const struct blocker *b, const struct candidates *c, uint32_t i)
{
    return b->candidates[c->first + i];
}

/* The innermost block that is `fqn` or lies around it, or IR_NONE. */
uint32_t block_of_fqn(const struct blocker *b, struct str fqn);

/* Finds the block of each named value, but for parameters whose names are no evidence. */
int place_named(struct blocker *b);

/* Forgets the blocks of parameters that nodes of other modules use, too; notes which scopes use which. */
int drop_merged(struct blocker *b);

/* Is a named parameter used in several scopes: by a module that is called again, or by others that it is tied
 * to? */
bool used_in_scopes(const struct blocker *b, uint32_t value);

/* The block that a named parameter belongs to, or IR_NONE, and its module (empty when it has no block). */
uint32_t block_of_value(const struct blocker *b, uint32_t value, struct str *module);

/* The one block that the named parameters among a node's operands belong to, or IR_NONE. */
uint32_t block_of_operands(const struct blocker *b, struct step st);

#endif
