/* A model named on the command line. */
#ifndef SACTAG_CLI_INPUT_H
#define SACTAG_CLI_INPUT_H

#include "cli/options.h"

struct input {
    sactag_model *m;
    sactag_diag *d;   /* what the library says about it, not yet shown */
    const char *name; /* for messages: as given, or "standard input" */
    const char *base; /* without its folders, for output that is kept; "-" for standard input */
};

/* Opens a model; "-" is standard input. Returns 0, or an exit code with the reason said. Either way to be
 * closed. */
int input_open(struct input *in, const struct options *o, const char *arg);
/* The same of what may be a plan file instead: then *plan is set, and in->m is NULL. */
int input_open_either(struct input *in, sactag_plan **plan, const struct options *o, const char *arg);
void input_close(struct input *in);

/* Would -o destroy the external data of this model (of a plan file: no)? 0, or an exit code with the reason
 * said. */
int input_spared(struct input *in, const struct options *o);

/* Shows what the library said since the last time, and turns its status into an exit code. */
int input_done(struct input *in, const struct options *o, int status);

/* Is standard input or output. */
bool is_dash(const char *arg);

#endif
