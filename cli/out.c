#include "cli/out.h"

#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool color_wanted(const struct options *o, int fd)
{
    const char *no_color = getenv("NO_COLOR");

    if (o->color != WHEN_AUTO)
        return o->color == WHEN_ALWAYS;
    return isatty(fd) && !(no_color && *no_color);
}

static int failed(const struct out *out, const struct options *o, const char *what)
{
    return message_error(5, &o->voice, out->name, "cannot %s: %s", what, strerror(errno));
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

static int open_temporary(struct out *out, const struct options *o, mode_t mode)
{
    const char *slash = strrchr(out->target, '/');
    int folder = slash ? (int)(slash + 1 - out->target) : 0;
    uint64_t number = 0;
    int fd = -1;

    for (int tries = 0; fd < 0 && tries < 10; tries++) {
        if (getrandom(&number, sizeof number, 0) < 0)
            return failed(out, o, "name a temporary file");
        if (asprintf(&out->temporary, "%.*s.sactag-%016llx.tmp", folder, out->target,
                     (unsigned long long)number) < 0) {
            out->temporary = NULL;
            return message_nomem(&o->voice);
        }
        signals_temporary(NULL, out->temporary);
        fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0) {
            signals_temporary(NULL, NULL);
            free(out->temporary);
            out->temporary = NULL;
            if (errno != EEXIST)
                break;
        }
    }
    if (fd < 0)
        return failed(out, o, "create");
    if (mode)
        (void)!fchmod(fd, mode & 07777);
    out->fd = fd;
    return 0;
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
    out->color = color_wanted(o, out->fd);
    return 0;
}

/* ---- closing */

/* Writes out what is buffered. Also after a failure, since it was printed so far. */
static int finish(struct out *out, const struct options *o, int code)
{
    int e = out->f ? fclose(out->f) : 0;

    if (code == 0 && (e || out->error)) {
        errno = out->error ? out->error : errno;
        /* EPIPE: the reader has gone, and nobody is there to be told. */
        code = errno == EPIPE ? 5 : failed(out, o, "write");
    }
    if (code == 0 && out->temporary && !o->write.no_sync && fsync(out->fd))
        code = failed(out, o, "write");
    if (out->fd >= 0 && out->fd != STDOUT_FILENO && close(out->fd) && code == 0)
        code = failed(out, o, "write");
    return code;
}

int out_close(struct out *out, const struct options *o, int code)
{
    code = finish(out, o, code);
    if (out->temporary) {
        if (code == 0 && rename(out->temporary, out->target))
            code = failed(out, o, "rename");
        if (code)
            unlink(out->temporary);
        signals_temporary(NULL, NULL);
    }
    free(out->temporary);
    free(out->target);
    memset(out, 0, sizeof *out);
    return code;
}
