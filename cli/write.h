/* Writing a model: what tag and strip share. */
#ifndef SACTAG_CLI_WRITE_H
#define SACTAG_CLI_WRITE_H

#include "cli/input.h"

struct target {
    const char *path; /* NULL: standard output */
    const char *name; /* for messages */
    const char *dir;  /* made before something is written; NULL when there is none to make */
};

/* Where the output of a command with the argument `in` goes. 0 or exit code 2, with the reason said: neither
 * or both of -o and --in-place, binary data to a terminal, or the input itself as standard output. */
int target_choose(struct target *t, const struct options *o, const char *in);

/* Runs `one` for each argument. The output may be a directory (one that exists, or any name that ends in a
 * slash), which gets a file named like the input; for several inputs it must be, unless --in-place. What
 * fails does not stop the rest: returns the largest exit code. */
typedef int (*each_fn)(struct options *o, const char *in, const struct target *t);
int target_each(struct options *o, each_fn one);

/* Says what was written: "out.onnx: 28 mms: 14 saved, 13 recomputed (3 forced), 1 outside blocks". */
void tell_written(const struct options *o, const sactag_plan *plan, const struct target *t);

/* Writes the model with the tags of `plan`, or without any when it is NULL. 0 or an exit code. */
int write_model(struct input *in, const struct options *o, const sactag_plan *plan, const struct target *t);

#endif
