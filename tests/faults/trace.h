/* Runs a program and does something to it at one of its system calls.
 *
 * Counted are the calls between the beginning of main(), which sactag starts by looking at its standard
 * descriptors, and its end: so that the loader is not disturbed, nor what a build for coverage writes at
 * exit. */
#ifndef SACTAG_TESTS_FAULTS_TRACE_H
#define SACTAG_TESTS_FAULTS_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum act {
    ACT_NONE,
    ACT_ERROR,  /* the call does nothing and fails with errno `value` */
    ACT_SHORT,  /* it reads or writes about half of what was asked for */
    ACT_EMPTY,  /* it does nothing and returns 0 */
    ACT_SIGNAL, /* the process gets signal `value` when it enters the call */
    ACT_CUT     /* file `path` is cut to `value` bytes when it enters the call */
};

struct fault {
    enum act act;
    size_t at; /* the number of the call, from 0 */
    long value;
    const char *path;
};

struct calls {
    long *number; /* of each call that was seen */
    size_t n;
    size_t done; /* faults that came to pass */
};

/* Can it be done here? Else why not. */
const char *trace_unable(void);

/* The child calls this before it runs the program. */
void trace_me(void);

/* Runs the child to its end; its status as waitpid() gives it. */
int trace(pid_t child, const struct fault *f, struct calls *calls);

#endif
