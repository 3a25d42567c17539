#include "schema/sink.h"

#include "ir/arena.h"
#include "schema/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    IOV_PIECES = 1024,           /* what one call takes */
    STAGE_SIZE = 64 * 1024,      /* room for small pieces of one call */
    STAGE_PIECE = 512,           /* longer ones are written from where they lie */
    RUN_MIN = 1024 * 1024,       /* shorter runs of the source are pieces like any other */
    RESERVE_MIN = 1024 * 1024,   /* less is not worth a call */
    FLUSH_STEP = 8 * 1024 * 1024 /* early flushing starts in steps of this */
};

int sink_fd_fail(const struct sink_fd *s, int err)
{
    if (err == EFAULT)
        return diag_error(s->d, IR_EIO, "the input was truncated while it was read");
    return diag_error(s->d, IR_EIO, "cannot write %s: %s", s->name, strerror(err));
}

static struct sink_fd *fd_of(struct sink *s)
{
    return (struct sink_fd *)(void *)s;
}

/* Drops n written bytes from the list of pieces. */
static void drop_written(struct iovec **v, size_t *n, size_t written)
{
    while (*n && written >= (*v)->iov_len) {
        written -= (*v)->iov_len;
        (*v)++;
        (*n)--;
    }
    if (*n) {
        (*v)->iov_base = (char *)(*v)->iov_base + written;
        (*v)->iov_len -= written;
    }
}

void sink_fd_advanced(struct sink_fd *s, uint64_t n)
{
    s->at += n;
    s->done += n;
    if (s->flush_early && s->seekable && s->at - s->flushed >= FLUSH_STEP) {
        /* A hint: whether it works is seen when the file is flushed. */
        (void)sync_file_range(s->fd, (off_t)s->flushed, (off_t)(s->at - s->flushed), SYNC_FILE_RANGE_WRITE);
        s->flushed = s->at;
    }
    if (s->progress)
        s->progress(s->progress_ctx, s->done, s->sink.total);
}

/* Reserves the room for what will come: blocks that are reserved at once are cheaper to fill one by one (by a
 * fifth, on ext4), and a disk that is too small is known before anything is written. A file system that
 * cannot reserve is written to all the same. */
static int reserve(struct sink_fd *s)
{
    s->reserve = false;
    if (s->sink.total < s->done + RESERVE_MIN)
        return 0;
    int rc;
    do
        rc = fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->at, (off_t)(s->sink.total - s->done));
    while (rc != 0 && errno == EINTR);
    bool full = rc != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
    return full ? sink_fd_fail(s, errno) : 0;
}

/* Writes what is pending. */
int sink_fd_flush(struct sink_fd *s)
{
    struct iovec *v = s->iov;
    size_t left = s->n_iov;
    int rc = s->reserve ? reserve(s) : 0;
    if (rc)
        return rc;
    while (left) {
        ssize_t k = writev(s->fd, v, (int)left);
        if (k >= 0) {
            drop_written(&v, &left, (size_t)k);
        } else if (errno == EAGAIN) {
            int err = file_wait_writable(s->fd);
            if (err)
                return sink_fd_fail(s, err);
        } else if (errno != EINTR) {
            return sink_fd_fail(s, errno);
        }
    }
    uint64_t n = s->pending;
    s->n_iov = s->pending = s->n_stage = 0;
    sink_fd_advanced(s, n);
    return 0;
}

/* writev() takes what it only reads as if it were to be written. */
static void *unconst(const void *p)
{
    union {
        const void *in;
        void *out;
    } u = {p};
    return u.out;
}

static const uint8_t *piece_end(const struct iovec *v)
{
    return (const uint8_t *)v->iov_base + v->iov_len;
}

static int add_piece(struct sink_fd *s, const uint8_t *p, size_t n)
{
    if (s->n_iov == IOV_PIECES) {
        int rc = sink_fd_flush(s);
        if (rc)
            return rc;
    }
    if (s->n_iov && piece_end(&s->iov[s->n_iov - 1]) == p)
        s->iov[s->n_iov - 1].iov_len += n;
    else
        s->iov[s->n_iov++] = (struct iovec){.iov_base = unconst(p), .iov_len = n};
    s->pending += n;
    return s->pending >= SINK_CALL ? sink_fd_flush(s) : 0;
}

/* A short piece is copied, so that many of them make one. */
static int add_short(struct sink_fd *s, const uint8_t *p, size_t n)
{
    if (n > STAGE_SIZE - s->n_stage || n > SINK_CALL - s->pending || s->n_iov == IOV_PIECES) {
        int rc = sink_fd_flush(s);
        if (rc)
            return rc;
    }
    uint8_t *to = s->stage + s->n_stage;
    memcpy(to, p, n);
    s->n_stage += n;
    return add_piece(s, to, n);
}

static int add_long(struct sink_fd *s, const uint8_t *p, size_t n)
{
    while (n) {
        size_t room = SINK_CALL - s->pending;
        size_t k = n < room ? n : room;
        int rc = add_piece(s, p, k);
        if (rc)
            return rc;
        p += k;
        n -= k;
    }
    return 0;
}

static int put_fd(struct sink *sink, const void *bytes, size_t n, uint64_t src)
{
    struct sink_fd *s = fd_of(sink);
    if (src != SINK_NEW && n >= RUN_MIN && s->runs) {
        int rc = sink_fd_flush(s);
        return rc ? rc : sink_fd_run(s, src, n);
    }
    return n <= STAGE_PIECE ? add_short(s, bytes, n) : add_long(s, bytes, n);
}

static int finish_fd(struct sink *sink)
{
    return sink_fd_flush(fd_of(sink));
}

int sink_fd_init(struct sink_fd *s, int fd, const char *name, int source, struct diag *d)
{
    *s = (struct sink_fd){
        .sink = {.put = put_fd, .finish = finish_fd}, .fd = fd, .name = name, .d = d, .source = source};
    s->iov = malloc(IOV_PIECES * sizeof *s->iov);
    s->stage = malloc(STAGE_SIZE);
    if (!s->iov || !s->stage) {
        sink_fd_free(s);
        return diag_error(d, IR_EMEM, "cannot write %s: out of memory", name);
    }
    struct stat to;
    off_t at = lseek(fd, 0, SEEK_CUR);
    int flags = fcntl(fd, F_GETFL);
    s->seekable = at >= 0 && flags >= 0 && !(flags & O_APPEND) && fstat(fd, &to) == 0 && S_ISREG(to.st_mode);
    if (s->seekable) {
        s->at = s->flushed = (uint64_t)at;
        sink_fd_choose(s, &to);
    }
    return 0;
}

void sink_fd_free(struct sink_fd *s)
{
    free(s->iov);
    free(s->stage);
    free(s->piece);
    s->iov = NULL;
    s->stage = s->piece = NULL;
}

/* ---- memory */

static int put_mem(struct sink *sink, const void *bytes, size_t n, uint64_t src)
{
    struct sink_mem *s = (struct sink_mem *)(void *)sink;
    (void)src;
    if (n > SIZE_MAX - s->n || grow(&s->bytes, &s->cap, s->n + n, 1) != 0)
        return diag_error(s->d, IR_EMEM, "out of memory: the output does not fit");
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
    return 0;
}

static int finish_mem(struct sink *sink)
{
    (void)sink;
    return 0;
}

void sink_mem_init(struct sink_mem *s, struct diag *d)
{
    *s = (struct sink_mem){.sink = {.put = put_mem, .finish = finish_mem}, .d = d};
}

void sink_mem_free(struct sink_mem *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->n = s->cap = 0;
}
