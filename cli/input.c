#include "cli/input.h"

#include "cli/progress.h"
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_dash(const char *arg)
{
    return strcmp(arg, "-") == 0;
}

int input_done(struct input *in, const struct options *o, int status)
{
    /* An error without a word: there was no memory for the message. */
    if (!message_diag(&o->voice, in->name, in->d) && status < 0)
        return message_error(sactag_exit_code(status), &o->voice, in->name, "out of memory");
    return sactag_exit_code(status);
}

/* When a file cannot be opened or read, the library's message names it. */
static int opened(struct input *in, const struct options *o, int status)
{
    if (status == SACTAG_EIO && message_diag(&o->voice, NULL, in->d))
        return sactag_exit_code(status);
    return input_done(in, o, status);
}

/* A regular file is opened by name, so that the library knows its folder; from anything else (a FIFO, a
 * shell's <(command)) it spools. */
static int open_named(struct input *in, const struct options *o)
{
    struct stat st;

    if (stat(in->name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        int fd = open(in->name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return message_error(5, &o->voice, NULL, "cannot open %s: %s", in->name, strerror(errno));
        int status = sactag_open_fd(&in->m, fd, in->name, &o->limits, in->d);
        close(fd);
        return opened(in, o, status);
    }
    return opened(in, o, sactag_open(&in->m, in->name, &o->limits, in->d));
}

int input_open(struct input *in, const struct options *o, const char *arg)
{
    struct progress p;
    int e;

    memset(in, 0, sizeof *in);
    in->name = is_dash(arg) ? "standard input" : arg;
    const char *slash = strrchr(arg, '/');
    in->base = slash ? slash + 1 : arg;
    in->d = sactag_diag_new();
    if (!in->d)
        return message_nomem(&o->voice);
    signals_input(in->name);
    progress_begin(&p, &o->voice, "reading", in->name);
    if (is_dash(arg))
        e = opened(in, o, sactag_open_fd(&in->m, STDIN_FILENO, in->name, &o->limits, in->d));
    else
        e = open_named(in, o);
    progress_end(&p);
    return e;
}

void input_close(struct input *in)
{
    sactag_close(in->m);
    sactag_diag_free(in->d);
    signals_input(NULL);
    memset(in, 0, sizeof *in);
}
