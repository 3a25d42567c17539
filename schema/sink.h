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
 * best of what was measured: a larger call pushes what it has just mapped out of the processor's cache).
 * Long runs of the source are shared with it where the file system can do that, else copied by the kernel. */
#define SINK_CALL (256u * 1024)

struct sink_fd {
    struct sink sink;
    int fd;
    const char *name; /* for messages; borrowed */
    struct diag *d;
    int source;       /* descriptor of the source, -1: there is none, or no sharing */
    bool share, copy; /* runs may be cloned; copied by the kernel or the file server */
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
};

/* source: descriptor of the file that `src` offsets refer to, or -1. */
int sink_fd_init(struct sink_fd *s, int fd, const char *name, int source, struct diag *d);
void sink_fd_free(struct sink_fd *s);

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
