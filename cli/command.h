/* The subcommands. A new one is one file, cmd_NAME.c, and one line in the table of main.c. */
#ifndef SACTAG_CLI_COMMAND_H
#define SACTAG_CLI_COMMAND_H

#include "cli/options.h"

struct command {
    const char *name;
    const char *usage;    /* its arguments: "IN -o OUT [options]" */
    const char *summary;  /* for the list of commands */
    const char *about;    /* for its own help, lines of at most 78 columns */
    const char *examples; /* one a line */
    uint64_t options;     /* OPT_BIT of each option that it has, besides OPT_COMMON */
    int min_args, max_args;
    bool differs; /* exit code 1 has a meaning */
    int (*run)(struct options *o);
};

extern const struct command cmd_tag, cmd_plan, cmd_apply, cmd_show, cmd_diff, cmd_check, cmd_strip,
    cmd_linears;

/* Help of one command, on stdout. */
void help_command(const struct command *c);
/* The list of commands; short form: only how to go on. */
void help_all(const struct command *const *commands, size_t n);
void help_short(const struct command *const *commands, size_t n);

#endif
