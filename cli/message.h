/* What the command line says on stderr: one line each, `sactag: FILE: message (node 'x', offset N)`. */
#ifndef SACTAG_CLI_MESSAGE_H
#define SACTAG_CLI_MESSAGE_H

#include "sactag.h"

#include <stdbool.h>

/* How much is said, and whether in colour. */
struct voice {
    bool quiet;   /* no warnings, notes and summaries */
    bool verbose; /* debug notes as well */
    bool color;   /* stderr may be coloured */
};

/* An error that the command line itself found. `file` may be NULL. Everything is escaped here. Returns
 * `code`, so that a caller can `return message_error(2, ...)`. */
int message_error(int code, const struct voice *v, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, for what is worth knowing; silent when quiet. */
void message_note(const struct voice *v, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line without any label (a summary); silent when quiet. */
void message_plain(const struct voice *v, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Says and clears what the library reported about `file`. Was there an error? */
bool message_diag(const struct voice *v, const char *file, sactag_diag *d);

int message_nomem(const struct voice *v);

#endif
