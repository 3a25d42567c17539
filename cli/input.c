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
        return message_error(sactag_exit_code(SACTAG_EMEM), &o->voice, in->name, "out of memory");
    return sactag_exit_code(status);
}

/* When a file cannot be opened or read, the library's message names it. */
static int opened(struct input *in, const struct options *o, int status)
{
    if (status == SACTAG_EIO && message_diag(&o->voice, NULL, in->d))
        return sactag_exit_code(status);
    return input_done(in, o, status);
}

static int open_fd(struct input *in, sactag_plan **plan, const struct options *o, int fd)
{
    if (plan)
        return sactag_open_either_fd(&in->m, plan, fd, in->name, &o->limits, in->d);
    return sactag_open_fd(&in->m, fd, in->name, &o->limits, in->d);
}

static int open_path(struct input *in, sactag_plan **plan, const struct options *o)
{
    if (plan)
        return sactag_open_either(&in->m, plan, in->name, &o->limits, in->d);
    return sactag_open(&in->m, in->name, &o->limits, in->d);
}

/* A regular file is opened by name, so that the library knows its folder; from anything else (a FIFO, a
 * shell's <(command)) it spools. */
static int open_named(struct input *in, sactag_plan **plan, const struct options *o)
{
    struct stat st;

    if (stat(in->name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        int fd = open(in->name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return message_error(5, &o->voice, NULL, "cannot open %s: %s", in->name, strerror(errno));
        int status = open_fd(in, plan, o, fd);
        close(fd);
        return opened(in, o, status);
    }
    return opened(in, o, open_path(in, plan, o));
}

static int open_arg(struct input *in, sactag_plan **plan, const struct options *o, const char *arg)
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
    e = is_dash(arg) ? opened(in, o, open_fd(in, plan, o, STDIN_FILENO)) : open_named(in, plan, o);
    progress_end(&p);
    return e;
}

int input_open(struct input *in, const struct options *o, const char *arg)
{
    return open_arg(in, NULL, o, arg);
}

int input_open_either(struct input *in, sactag_plan **plan, const struct options *o, const char *arg)
{
    *plan = NULL;
    return open_arg(in, plan, o, arg);
}

int input_spared(struct input *in, const struct options *o)
{
    if (!in->m || !o->output || is_dash(o->output))
        return 0;
    return input_done(in, o, sactag_check_output(in->m, o->output, in->d));
}

void input_close(struct input *in)
{
    sactag_close(in->m);
    sactag_diag_free(in->d);
    signals_input(NULL);
    memset(in, 0, sizeof *in);
}
