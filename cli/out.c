#include "cli/out.h"

#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool color_wanted(const struct options *o, FILE *f)
{
    const char *no_color = getenv("NO_COLOR");

    if (o->color != WHEN_AUTO)
        return o->color == WHEN_ALWAYS;
    return isatty(fileno(f)) && !(no_color && *no_color);
}

static int failed(const struct out *out, const struct options *o, const char *what)
{
    return message_error(5, &o->voice, out->name, "cannot %s: %s", what, strerror(errno));
}

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
    out->f = fdopen(fd, "w");
    if (out->f)
        return 0;
    close(fd);
    return message_nomem(&o->voice);
}

static int open_file(struct out *out, const struct options *o)
{
    struct stat st;

    if (written_through(out->name, &st)) {
        out->f = fopen(out->name, "we");
        return out->f ? 0 : failed(out, o, "open");
    }
    out->target = st.st_mode ? realpath(out->name, NULL) : strdup(out->name);
    if (!out->target)
        return failed(out, o, "open");
    return open_temporary(out, o, st.st_mode);
}

int out_open(struct out *out, const struct options *o)
{
    int e = 0;

    memset(out, 0, sizeof *out);
    out->name = o->output;
    if (!o->output || strcmp(o->output, "-") == 0) {
        out->f = stdout;
        out->name = "standard output";
    } else {
        e = open_file(out, o);
    }
    if (e)
        return out_close(out, o, e);
    out->color = color_wanted(o, out->f);
    return 0;
}

/* Writes out what is buffered. Standard output is closed by main(), which reports its errors once. */
static int finish(struct out *out, const struct options *o)
{
    if (out->f == stdout)
        return 0;
    bool bad = ferror(out->f) != 0;
    errno = 0;
    if (fflush(out->f) || bad)
        return failed(out, o, "write");
    if (out->temporary && !o->write.no_sync && fsync(fileno(out->f)))
        return failed(out, o, "write");
    return 0;
}

int out_close(struct out *out, const struct options *o, int code)
{
    if (out->f && code == 0)
        code = finish(out, o);
    if (out->f && out->f != stdout && fclose(out->f) && code == 0)
        code = failed(out, o, "write");
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
