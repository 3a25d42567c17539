/* Diagnostics: what went wrong, and where. The one place that all floors report to.
 *
 * Messages are owned by the diag object. Names that come from a model are escaped when they are added
 * (str_escape), so that a message never drives a terminal and is always one line. */
#ifndef SACTAG_IR_DIAG_H
#define SACTAG_IR_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* What functions return: 0, or one of these. But for IR_EMEM the value is minus the exit code of the command
 * line (FORMATS.md "Exit codes"). */
enum ir_err {
    IR_OK = 0,
    IR_EUSAGE = -2,  /* a caller's mistake: an option that does not exist, a bad pattern */
    IR_EPOLICY = -3, /* the policy cannot be applied to this graph */
    IR_EINPUT = -4,  /* the input is malformed, over a limit or unsafe */
    IR_EIO = -5,     /* reading or writing failed */
    IR_EMEM = -6     /* memory ran out (exit code 5 as well) */
};

enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE, DIAG_DEBUG };

#define DIAG_NO_OFFSET UINT64_MAX

struct diag_item {
    enum diag_level level;
    int code;        /* an ir_err for errors, 0 otherwise */
    char *message;   /* one line, no newline, escaped */
    char *node;      /* name (or graph path and index) of the node concerned, escaped, or NULL */
    char *field;     /* field path, such as "graph.node[3].attribute", or NULL */
    uint64_t offset; /* byte offset in the input, or DIAG_NO_OFFSET */
};

struct diag {
    struct diag_item *items;
    size_t n, cap;
    size_t dropped; /* items that found no memory, or came after DIAG_MAX_ITEMS */
};

/* A hostile file must not fill memory with warnings: further items are counted, not kept. Errors are always
 * kept. */
#define DIAG_MAX_ITEMS 1000

/* Longer texts are cut (names have no bound); a message then ends in "...". Bytes before escaping. */
#define DIAG_TEXT_MAX 4096

/* What the functions below format with, for those that put a place in front: like vsnprintf(), but %.*s
 * (STR_ARG) goes on past a NUL, which text may hold from then on. Knows %s %.*s %c %% and the integers d, i,
 * u, x with l, ll, z, without flags or widths. Writes at most `cap` bytes (8 or more) with the NUL and
 * returns their number without it; what is cut ends in "...". */
size_t diag_format(char *out, size_t cap, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

void diag_init(struct diag *d);
void diag_free(struct diag *d);

/* Reports. Returns `code`, so that a caller can `return diag_error(...)`. `d` may be NULL: nothing is kept.
 */
int diag_error(struct diag *d, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with a place: node and field, which are escaped here, may be NULL, and offset DIAG_NO_OFFSET. */
int diag_error_at(struct diag *d, int code, const char *node, const char *field, uint64_t offset,
                  const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Reports "out of memory". Returns IR_EMEM. */
static inline int diag_nomem(struct diag *d)
{
    diag_error(d, IR_EMEM, "out of memory");
    return IR_EMEM;
}

/* The same for the other levels. What was said before at one level is not said again. */
void diag_warn(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_note(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_debug(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
