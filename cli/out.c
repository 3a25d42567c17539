#include "cli/out.h"

#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct out *out, const struct options *o, const char *what)
{
    message_error(5, &o->voice, out->name, "cannot %s: %s", what, strerror(errno));
    return 5;
}

/* ---- the stream: one of our own, since stdio forgets why an earlier write failed */

static ssize_t put_bytes(void *cookie, const char *bytes, size_t n)
{
    struct out *out = cookie;
    size_t done = 0;

    while (!out->error && done < n) {
        ssize_t k = write(out->fd, bytes + done, n - done);
        if (k < 0 && errno != EINTR)
            out->error = errno;
        done += k > 0 ? (size_t)k : 0;
    }
    return out->error ? 0 : (ssize_t)n; /* 0 is what stdio takes for an error */
}

static int open_stream(struct out *out, const struct options *o)
{
    out->f = fopencookie(out, "w", (cookie_io_functions_t){.write = put_bytes});
    return out->f ? 0 : message_nomem(&o->voice);
}

/* ---- opening */

/* Devices, FIFOs and links that lead nowhere yet are written through. */
static bool written_through(const char *path, struct stat *st)
{
    struct stat link;

    if (stat(path, st) == 0)
        return !S_ISREG(st->st_mode);
    st->st_mode = 0;
    return lstat(path, &link) == 0;
}

/* The descriptor under a name, from which a file without one can be linked. */
struct fd_name {
    char s[32];
};

static struct fd_name fd_name(int fd)
{
    struct fd_name n;

    snprintf(n.s, sizeof n.s, "/proc/self/fd/%d", fd);
    return n;
}

/* Length of the folder's part of a path, with its slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash + 1 - path) : 0;
}

/* A file without a name, which even a killed process leaves nothing of; -1 where there can be none. */
static int open_nameless(const struct out *out)
{
    struct stat st;
    char *folder;

    if (asprintf(&folder, "%.*s.", folder_length(out->target), out->target) < 0)
        return -1;
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    if (fd >= 0 && lstat(fd_name(fd).s, &st)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void forget_temporary(struct out *out)
{
    signals_temporary(NULL, NULL);
    free(out->temporary);
    out->temporary = NULL;
}

/* Chooses a name that nobody else has; 0 or an exit code. */
static int choose_temporary(struct out *out, const struct options *o)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return failed(out, o, "name a temporary file");
    if (asprintf(&out->temporary, "%.*s.sactag-%016llx.tmp", folder_length(out->target), out->target,
                 (unsigned long long)number) < 0) {
        out->temporary = NULL;
        message_nomem(&o->voice);
        return 5;
    }
    signals_temporary(NULL, out->temporary);
    return 0;
}

/* Makes a file with such a name, or gives one to the file that is there without. */
static int make_temporary(struct out *out, const struct options *o)
{
    for (int tries = 0; tries < 10; tries++) {
        int e = choose_temporary(out, o);
        if (e)
            return e;
        if (out->fd >= 0 &&
            linkat(AT_FDCWD, fd_name(out->fd).s, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (out->fd < 0 &&
            (out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0)
            return 0;
        e = errno;
        forget_temporary(out);
        errno = e;
        if (e != EEXIST)
            break;
    }
    return failed(out, o, "create");
}

static int open_temporary(struct out *out, const struct options *o, mode_t mode)
{
    out->fd = open_nameless(out);
    int e = out->fd < 0 ? make_temporary(out, o) : 0;

    if (!e && mode)
        (void)!fchmod(out->fd, mode & 07777);
    return e;
}

static int open_file(struct out *out, const struct options *o)
{
    struct stat st;

    if (written_through(out->name, &st)) {
        out->fd = open(out->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        return out->fd >= 0 ? 0 : failed(out, o, "open");
    }
    out->target = st.st_mode ? realpath(out->name, NULL) : strdup(out->name);
    if (!out->target)
        return failed(out, o, "open");
    return open_temporary(out, o, st.st_mode);
}

int out_open(struct out *out, const struct options *o)
{
    int e = 0;

    *out = (struct out){.name = o->output, .fd = -1};
    if (!o->output || strcmp(o->output, "-") == 0) {
        out->fd = STDOUT_FILENO;
        out->name = "standard output";
    } else {
        e = open_file(out, o);
    }
    if (!e)
        e = open_stream(out, o);
    if (e)
        return out_close(out, o, e);
    out->color = color_on(o->color, out->fd);
    return 0;
}

/* ---- closing */

/* Writes out what is buffered. Also after a failure, since it was printed so far. */
static int flush(struct out *out, const struct options *o, int code)
{
    int e = out->f ? fclose(out->f) : 0;

    if (code == 0 && (e || out->error)) {
        errno = out->error ? out->error : errno;
        /* EPIPE: the reader has gone, and nobody is there to be told. */
        code = errno == EPIPE ? 5 : failed(out, o, "write");
    }
    if (code == 0 && out->target && !o->write.no_sync && fsync(out->fd))
        code = failed(out, o, "write");
    return code;
}

/* Puts the file, which has been flushed, in its place. */
static int publish(struct out *out, const struct options *o)
{
    if (!out->temporary) {
        if (linkat(AT_FDCWD, fd_name(out->fd).s, AT_FDCWD, out->target, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int e = errno == EEXIST ? make_temporary(out, o) : failed(out, o, "create");
        if (e)
            return e;
    }
    return rename(out->temporary, out->target) ? failed(out, o, "rename") : 0;
}

static int close_fd(struct out *out, const struct options *o, int code)
{
    int fd = out->fd;

    out->fd = -1;
    return fd >= 0 && fd != STDOUT_FILENO && close(fd) && code == 0 ? failed(out, o, "write") : code;
}

int out_close(struct out *out, const struct options *o, int code)
{
    code = flush(out, o, code);
    if (out->temporary) /* network file systems report a full disk only here */
        code = close_fd(out, o, code);
    if (out->target && code == 0)
        code = publish(out, o);
    code = close_fd(out, o, code);
    if (out->temporary) {
        if (code)
            unlink(out->temporary);
        forget_temporary(out);
    }
    free(out->target);
    memset(out, 0, sizeof *out);
    return code;
}
