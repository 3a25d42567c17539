#include "schema/sink.h"

#include "ir/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    IOV_PIECES = 1024,           /* what one call takes */
    STAGE_SIZE = 64 * 1024,      /* room for small pieces of one call */
    STAGE_PIECE = 512,           /* longer ones are written from where they lie */
    SHARE_MIN = 1024 * 1024,     /* shorter runs are not worth a call of their own */
    SHARE_ALIGN = 4096,          /* file systems share whole blocks */
    FLUSH_STEP = 8 * 1024 * 1024 /* early flushing starts in steps of this */
};

static int fail(const struct sink_fd *s, int err)
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

static void advanced(struct sink_fd *s, uint64_t n)
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

/* Writes what is pending. */
static int write_pending(struct sink_fd *s)
{
    struct iovec *v = s->iov;
    size_t left = s->n_iov;
    while (left) {
        ssize_t k = writev(s->fd, v, (int)left);
        if (k >= 0) {
            drop_written(&v, &left, (size_t)k);
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = s->fd, .events = POLLOUT};
            if (poll(&p, 1, -1) < 0 && errno != EINTR)
                return fail(s, errno);
        } else if (errno != EINTR) {
            return fail(s, errno);
        }
    }
    uint64_t n = s->pending;
    s->n_iov = s->pending = s->n_stage = 0;
    advanced(s, n);
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
        int rc = write_pending(s);
        if (rc)
            return rc;
    }
    if (s->n_iov && piece_end(&s->iov[s->n_iov - 1]) == p)
        s->iov[s->n_iov - 1].iov_len += n;
    else
        s->iov[s->n_iov++] = (struct iovec){.iov_base = unconst(p), .iov_len = n};
    s->pending += n;
    return s->pending >= SINK_CALL ? write_pending(s) : 0;
}

/* A short piece is copied, so that many of them make one. */
static int add_short(struct sink_fd *s, const uint8_t *p, size_t n)
{
    if (n > STAGE_SIZE - s->n_stage || n > SINK_CALL - s->pending || s->n_iov == IOV_PIECES) {
        int rc = write_pending(s);
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

/* Shares n bytes of the source, both places at the start of a block. Returns how many were shared. */
static uint64_t clone_blocks(struct sink_fd *s, uint64_t src, uint64_t n)
{
    struct file_clone_range r = {s->source, src, n - n % SHARE_ALIGN, s->at};
    if (r.src_length == 0 || ioctl(s->fd, FICLONERANGE, &r) != 0) {
        s->share = false;
        return 0;
    }
    return r.src_length;
}

/* Has the kernel copy n bytes, or the file server. Returns how many it did. (On a file system that shares
 * nothing it is what `cp` does, and saves mapping the pages: half the processor's time.) */
static uint64_t copy_range(struct sink_fd *s, uint64_t src, uint64_t n)
{
    uint64_t done = 0;
    while (done < n) {
        loff_t from = (loff_t)(src + done), to = (loff_t)s->at;
        size_t want = n - done < FLUSH_STEP ? (size_t)(n - done) : FLUSH_STEP;
        ssize_t k = copy_file_range(s->source, &from, s->fd, &to, want, 0);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            s->copy = false;
            break;
        }
        done += (uint64_t)k;
        advanced(s, (uint64_t)k);
    }
    return done;
}

/* The part of a run that whole blocks can be shared of, and what comes before it. */
static int share_blocks(struct sink_fd *s, const uint8_t *p, size_t n, uint64_t src, uint64_t *done)
{
    uint64_t head = (SHARE_ALIGN - s->at % SHARE_ALIGN) % SHARE_ALIGN;
    if (head > n || (src + head) % SHARE_ALIGN != 0)
        return 0;
    int rc = add_long(s, p, head);
    if (rc == 0)
        rc = write_pending(s);
    if (rc)
        return rc;
    uint64_t k = clone_blocks(s, src + head, n - head);
    advanced(s, k);
    *done = head + k;
    return 0;
}

/* Has a long run of the source shared or copied without passing through us. *done: how many of its bytes are
 * written now; whatever is left is written like any other. */
static int put_shared(struct sink_fd *s, const uint8_t *p, size_t n, uint64_t src, uint64_t *done)
{
    *done = 0;
    int rc = write_pending(s);
    if (rc == 0 && s->share)
        rc = share_blocks(s, p, n, src, done);
    if (rc)
        return rc;
    if (s->copy && n - *done >= SHARE_ALIGN)
        *done += copy_range(s, src + *done, n - *done);
    return lseek(s->fd, (off_t)s->at, SEEK_SET) < 0 ? fail(s, errno) : 0;
}

static int put_fd(struct sink *sink, const void *bytes, size_t n, uint64_t src)
{
    struct sink_fd *s = fd_of(sink);
    const uint8_t *p = bytes;
    if (src != SINK_NEW && n >= SHARE_MIN && (s->share || s->copy)) {
        uint64_t done;
        int rc = put_shared(s, p, n, src, &done);
        if (rc)
            return rc;
        p += done;
        n -= (size_t)done;
    }
    return n <= STAGE_PIECE ? add_short(s, p, n) : add_long(s, p, n);
}

static int finish_fd(struct sink *sink)
{
    return write_pending(fd_of(sink));
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
    struct stat to, from;
    off_t at = lseek(fd, 0, SEEK_CUR);
    int flags = fcntl(fd, F_GETFL);
    s->seekable = at >= 0 && flags >= 0 && !(flags & O_APPEND) && fstat(fd, &to) == 0 && S_ISREG(to.st_mode);
    if (!s->seekable)
        return 0;
    s->at = s->flushed = (uint64_t)at;
    if (source >= 0 && fstat(source, &from) == 0 && S_ISREG(from.st_mode))
        s->share = s->copy = from.st_dev == to.st_dev;
    return 0;
}

void sink_fd_free(struct sink_fd *s)
{
    free(s->iov);
    free(s->stage);
    s->iov = NULL;
    s->stage = NULL;
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
