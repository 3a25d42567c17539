/* Sinks: where output goes, piece by piece: a descriptor, memory, a hash (schema/digest.h). */
#ifndef SACTAG_SCHEMA_SINK_H
#define SACTAG_SCHEMA_SINK_H

#include "ir/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SINK_NEW UINT64_MAX /* `src` of bytes that are not the source's */

struct sink {
    /* Takes n bytes. `src` is where they lie in the source, or SINK_NEW. They must stay as they are until
     * finish(). 0 or a negative ir_err, reported; after a failure no further call may be made. */
    int (*put)(struct sink *s, const void *bytes, size_t n, uint64_t src);
    /* Everything has been put: nothing is held back any longer. */
    int (*finish)(struct sink *s);
    uint64_t written; /* bytes taken so far */
    uint64_t total;   /* bytes that will be put in all, set before the first; 0 = not known */
};

static inline int sink_put(struct sink *s, const void *bytes, size_t n, uint64_t src)
{
    int rc = n ? s->put(s, bytes, n, src) : 0;
    if (rc == 0)
        s->written += n;
    return rc;
}

/* A descriptor. Pieces are written straight from where they lie, in calls of at most SINK_CALL bytes (the
 * best of what was measured: a larger call pushes what it has just mapped out of the processor's cache). How
 * long runs of the source get across is told in schema/sink_run.c. */
#define SINK_CALL (256u * 1024)

struct sink_fd {
    struct sink sink;
    int fd;
    const char *name; /* for messages; borrowed */
    struct diag *d;
    int source;       /* descriptor of the source, -1: there is none */
    bool runs;        /* long runs are not written as pieces */
    bool share;       /* they may be cloned */
    bool remote;      /* they are copied by the file server */
    bool reserve;     /* room shall be reserved before the first write */
    bool flush_early; /* start writing to disk at once, for who will wait for it */
    void (*progress)(void *ctx, uint64_t done, uint64_t total); /* may be NULL */
    void *progress_ctx;
    uint64_t done;     /* bytes written */
    uint64_t at;       /* position in the file, if `seekable` */
    uint64_t flushed;  /* up to here writing to disk was started */
    bool seekable;     /* a regular file, not in append mode */
    struct iovec *iov; /* pieces not written yet */
    size_t n_iov, pending;
    uint8_t *stage; /* small pieces are gathered here */
    size_t n_stage;
    uint8_t *piece; /* of a long run; made when it is needed */
};

/* source: descriptor of the file that `src` offsets refer to, or -1. */
int sink_fd_init(struct sink_fd *s, int fd, const char *name, int source, struct diag *d);
void sink_fd_free(struct sink_fd *s);

/* What schema/sink.c and schema/sink_run.c have of each other. */
struct stat;
void sink_fd_choose(struct sink_fd *s, const struct stat *to); /* sets runs, share, remote and reserve */
int sink_fd_run(struct sink_fd *s, uint64_t src, uint64_t n);  /* a long run; nothing is pending */
int sink_fd_flush(struct sink_fd *s);                          /* writes what is pending */
void sink_fd_advanced(struct sink_fd *s, uint64_t n);          /* n more bytes are written */
int sink_fd_fail(const struct sink_fd *s, int err);            /* reports; IR_EIO */

/* Memory: `bytes` is malloc()ed, the caller's after finish(). */
struct sink_mem {
    struct sink sink;
    struct diag *d;
    uint8_t *bytes;
    size_t n, cap;
};

void sink_mem_init(struct sink_mem *s, struct diag *d);
void sink_mem_free(struct sink_mem *s);

#endif
