/* Modules: every module of the original program that the file still tells of, by FQN.
 *
 * Learnt from the names of parameters, from exporter metadata, from scopes, and from a .pt2's list. A module
 * is known to be a Linear or not only after passes/linear.c has looked at how its weight is used. */
#ifndef SACTAG_PASSES_MODULES_H
#define SACTAG_PASSES_MODULES_H

#include "ir/ir.h"

struct module {
    struct str fqn;
    uint32_t parent;   /* IR_NONE at the top */
    uint32_t children; /* how many modules have it as parent */
    bool linear;
    bool called;    /* a node ran in it */
    bool has_param; /* the file holds a parameter of its own */
    bool composed; /* learnt from a scope alone: containers that are never called may be missing in its FQN */
    bool embedding, untransposed; /* no Linear: its weight is looked up in, or multiplied by as it is */
    bool lent;                    /* composed, and no module: what another module calls that is not its own */
    bool more;                    /* no Linear: its code does more than multiply */
    bool by_hand;                 /* other modules' code multiplies by its weight as it is */
    uint8_t evidence;             /* enum evidence of its name */
    uint32_t same_as;             /* another name of that module, which is the one torch lists; IR_NONE */
    uint32_t scope;               /* that tells its class; 0: none does */
    uint32_t weight;              /* LINEAR: value with the parameter's name, IR_NONE if unknown */
    int64_t in, out;              /* LINEAR: features */
};

struct modules {
    struct module *a;
    uint32_t n;
    size_t cap;
    struct names index; /* fqn → id */
    uint32_t *by_name;  /* ids ordered by (unqualified name, fqn); made by modules_sort */
    uint32_t n_sorted;
    uint32_t
        *asked; /* per position in by_name: the newest answer to what was asked there; NULL: none was kept */
    struct answer {
        uint32_t base, nth; /* bytes of the base; which of those equally near */
        uint32_t best, same;
        uint32_t next; /* in answers */
    } * answers;
    uint32_t n_answers;
    size_t cap_answers;
    struct arena *arena;
};

void modules_init(struct modules *t, struct arena *a);
void modules_free(struct modules *t);

/* Adds a module and its ancestors; its id, or IR_NONE when memory is exhausted. The text must live as long as
 * the table. An empty FQN is no module: IR_NONE as well. */
uint32_t modules_add(struct modules *t, struct str fqn);
uint32_t modules_find(const struct modules *t, struct str fqn);

/* Gives each module that of[] has no mark for (MODULES_OPEN) that of the innermost module around it which has
 * one, or `otherwise`. */
#define MODULES_OPEN (IR_NONE - 1)
void modules_inherit(const struct modules *t, uint32_t *of, uint32_t otherwise);

/* Makes look-ups by unqualified name work for all modules added so far. */
int modules_sort(struct modules *t);

/* The nearest module inside `base` ("" = anywhere) whose unqualified name is `atom`: fewest components, then
 * the first by name. *same counts how many are as near. IR_NONE if there is none. */
uint32_t modules_below(struct modules *t, struct str base, struct str atom, uint32_t *same);

/* As modules_below, but the `nth` (from 0) of those that are equally near. */
uint32_t modules_below_nth(struct modules *t, struct str base, struct str atom, uint32_t nth);

#endif
