/* What input, output and external data have in common: reporting, writing, copying, flushing. */
#include "schema/file.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COPY_PIECE = 256 * 1024,
    RANGE_PIECE = 64 * 1024 * 1024 /* small enough to show progress */
};

int file_fail(struct diag *d, int err, const char *what, const char *path)
{
    return diag_error(d, err == ENOMEM ? IR_EMEM : IR_EIO, "cannot %s %s: %s", what, path, strerror(err));
}

void file_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

int file_flush(int fd)
{
    if (fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP || errno == EBADF)
        return 0;
    return file_errno();
}

/* ---- writing and copying */

int file_wait_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, -1) < 0 && errno != EINTR ? file_errno() : 0;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EAGAIN) {
            int err = file_wait_writable(fd);
            if (err)
                return err;
        } else if (k < 0 && errno != EINTR) {
            return file_errno();
        } else if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

static void progressed(const struct file_copy *how, ssize_t n)
{
    if (how && how->progress)
        how->progress(how->ctx, (uint64_t)n);
}

/* Copies within the kernel until the end. Returns an errno when it can do no (more) work; *any tells whether
 * it did some. */
static int copy_ranges(int in, int out, const struct file_copy *how, bool *any)
{
    for (;;) {
        ssize_t k = copy_file_range(in, NULL, out, NULL, RANGE_PIECE, 0);
        if (k < 0 && errno != EINTR)
            return file_errno();
        if (k == 0)
            return 0;
        if (k > 0) {
            *any = true;
            progressed(how, k);
        }
    }
}

int file_copy_pieces(int in, int out, const struct file_copy *how)
{
    char *buf = malloc(COPY_PIECE);
    int err = buf ? 0 : ENOMEM;
    while (!err) {
        ssize_t k = read(in, buf, COPY_PIECE);
        if (k < 0 && errno != EINTR)
            err = file_errno();
        if (k == 0)
            break;
        if (k > 0)
            err = file_write_all(out, buf, (size_t)k);
        if (k > 0 && !err)
            progressed(how, k);
    }
    free(buf);
    return err;
}

int file_copy_all(int in, int out, const struct file_copy *how)
{
    bool any = false;
    int err = copy_ranges(in, out, how, &any);
    /* Special files in /proc say 0 at once though they hold something: only reading tells. Whatever
     * copy_file_range() cannot do, plain reading and writing goes on with from where it stopped, and it is
     * reading and writing that says what is wrong. */
    if (err == 0 && any)
        return 0;
    return file_copy_pieces(in, out, how);
}
