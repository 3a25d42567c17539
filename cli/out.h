/* Where what a command prints goes: standard output, or a file that is complete or not there at all.
 *
 * The library writes models and nothing else, and the command line uses nothing but the public API: so the
 * temporary file that schema/file.h knows for models is made here once more, for a stream. */
#ifndef SACTAG_CLI_OUT_H
#define SACTAG_CLI_OUT_H

#include "cli/options.h"

#include <stdio.h>

struct out {
    FILE *f;          /* writes to fd */
    int fd;           /* -1: none */
    int error;        /* errno of the first write that failed, 0 if none has */
    const char *name; /* for messages */
    char *target;     /* what `temporary` becomes; NULL when written through */
    char *temporary;
    bool color;
};

/* Opens o->output, or standard output. 0 or an exit code. */
int out_open(struct out *out, const struct options *o);

/* Ends it: with code 0 the file gets its name, else it is removed. Returns `code`, or 5 when writing
 * failed. Standard output stays open. */
int out_close(struct out *out, const struct options *o, int code);

#endif
