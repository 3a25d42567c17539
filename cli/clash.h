/* An output that is one of the files that are read would destroy it. */
#ifndef SACTAG_CLI_CLASH_H
#define SACTAG_CLI_CLASH_H

#include "cli/options.h"

/* Is `path` (NULL or "-": standard output) the same file, under whatever name, as an argument or the --config
 * file? `own` is the argument that may be rewritten, NULL if none is. 0, or exit code 2 (reason said). */
int output_check(const struct options *o, const char *path, const char *own);

#endif
