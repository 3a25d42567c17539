/* Options of the command line: one table for all commands, and what was given. */
#ifndef SACTAG_CLI_OPTIONS_H
#define SACTAG_CLI_OPTIONS_H

#include "cli/message.h"
#include "sactag.h"

#include <stdbool.h>
#include <stdint.h>

enum option_id {
    OPT_FQN,
    OPT_FORCE_SHAPE,
    OPT_MATCH,
    OPT_PROFILE,
    OPT_BLOCKS,
    OPT_MM_RULE,
    OPT_MM_OPS,
    OPT_ORDER,
    OPT_STRICT,
    OPT_SPECIALIZE,
    OPT_CONFIG,
    OPT_OUTPUT,
    OPT_IN_PLACE,
    OPT_CARRIER,
    OPT_TAG,
    OPT_EXTERNAL_DATA,
    OPT_NO_SYNC,
    OPT_SET_IR_VERSION,
    OPT_FORMAT,
    OPT_MERGE,
    OPT_STAT,
    OPT_CONTEXT,
    OPT_REASONS,
    OPT_REBASE,
    OPT_DUMP_IR,
    OPT_DOT,
    OPT_MAX_DEPTH,
    OPT_MAX_NODES,
    OPT_MAX_STEPS,
    OPT_MAX_MEMORY,
    OPT_COLOR,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_VERSION,
    OPT_COUNT
};

/* A set of options, one bit per id. */
#define OPT_BIT(id) (UINT64_C(1) << (id))
#define OPT_POLICY                                                                                           \
    (OPT_BIT(OPT_FQN) | OPT_BIT(OPT_FORCE_SHAPE) | OPT_BIT(OPT_MATCH) | OPT_BIT(OPT_PROFILE) |               \
     OPT_BIT(OPT_BLOCKS) | OPT_BIT(OPT_MM_RULE) | OPT_BIT(OPT_MM_OPS) | OPT_BIT(OPT_ORDER) |                 \
     OPT_BIT(OPT_STRICT) | OPT_BIT(OPT_SPECIALIZE) | OPT_BIT(OPT_CONFIG))
#define OPT_LIMITS                                                                                           \
    (OPT_BIT(OPT_MAX_DEPTH) | OPT_BIT(OPT_MAX_NODES) | OPT_BIT(OPT_MAX_STEPS) | OPT_BIT(OPT_MAX_MEMORY))
#define OPT_COMMON                                                                                           \
    (OPT_BIT(OPT_COLOR) | OPT_BIT(OPT_QUIET) | OPT_BIT(OPT_VERBOSE) | OPT_BIT(OPT_HELP) |                    \
     OPT_BIT(OPT_VERSION) | OPT_LIMITS)
/* Where a model is written, and how. */
#define OPT_WRITE                                                                                            \
    (OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_IN_PLACE) | OPT_BIT(OPT_EXTERNAL_DATA) | OPT_BIT(OPT_NO_SYNC))

enum option_group { GROUP_POLICY, GROUP_WRITE, GROUP_PRINT, GROUP_LIMIT, GROUP_COMMON };

struct option_spec {
    const char *name;
    const char *alias; /* another long name, or NULL */
    const char *arg;   /* name of its value, NULL for a flag */
    const char *help;  /* a newline breaks the line */
    char letter;       /* 0: none */
    enum option_group group;
    bool repeatable; /* gathers a list; of any other but a file the last one counts */
    bool in_config;  /* may stand in a --config file */
};

/* The words of --match and --mm-rule, by enum sactag_match and enum sactag_mm_rule; "" for the default. */
extern const char *const match_names[4], *const rule_names[3];

/* By enum option_id, which the callers count through: 0 to OPT_COUNT - 1. */
const struct option_spec *option_spec(int id);

/* Is this a long name of the option? */
bool option_named(int id, const char *name);

enum format { FORMAT_TEXT, FORMAT_TSV, FORMAT_JSON };
enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

struct strings {
    char **s;
    size_t n;
};

struct options {
    struct sactag_options policy; /* its lists are those below */
    struct sactag_write_options write;
    struct sactag_limits limits;
    struct strings fqns, blocks, mm_ops;
    struct sactag_shape *shapes;
    size_t n_shapes;

    const char *output; /* NULL if not given */
    const char *config;
    bool in_place;
    enum format format;
    bool merge, dump_ir, dot, stat, reasons, rebase;
    uint32_t context; /* lines around a change */
    enum when color;
    struct voice voice;
    uint64_t given; /* bits of the options on the command line */

    char **args; /* what is no option, in order */
    int n_args;
};

/* Parses a command's arguments, argv[0] being the command's name; options may follow arguments. `allowed` are
 * the bits of the options that the command has. Reads the --config file. Returns 0, or an exit code (what is
 * wrong was said). With --help or --version everything after it is ignored. */
int options_parse(struct options *o, int argc, char **argv, uint64_t allowed);
void options_free(struct options *o);

/* Takes one option; `where` names it in messages ("--match", "FILE:3: match"). value is NULL for a flag.
 * Returns 0 or an exit code. */
int options_take(struct options *o, enum option_id id, const char *value, const char *where);

/* Was any option given that decides? */
static inline bool any_policy(const struct options *o)
{
    return o->config || (o->given & OPT_POLICY);
}

/* Should what goes to this descriptor be coloured? By --color, else on a terminal that NO_COLOR and TERM=dumb
 * do not speak for. */
bool color_on(enum when w, int fd);

/* cli/config.c: takes the options of a file; those that the command line gave, and are no lists, are left
 * as they are. */
int config_read(struct options *o, const char *path);

#endif
