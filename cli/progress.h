/* A progress line on stderr: only on a terminal, and only for work that takes longer than a second. */
#ifndef SACTAG_CLI_PROGRESS_H
#define SACTAG_CLI_PROGRESS_H

#include "cli/message.h"

#include <stdint.h>

struct progress {
    bool wanted;        /* stderr is a terminal and the voice is not quiet */
    uint64_t start, at; /* monotonic milliseconds: of the beginning, and of the last line */
    char what[128];     /* "writing out.onnx", escaped */
};

/* Begins a piece of work. The line appears by itself after a second, even when nobody reports progress. */
void progress_begin(struct progress *p, const struct voice *v, const char *verb, const char *file);
/* The `progress` callback of struct sactag_write_options; ctx is a struct progress. */
void progress_report(void *ctx, uint64_t done, uint64_t total);
/* Wipes the line. */
void progress_end(struct progress *p);

#endif
