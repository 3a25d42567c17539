#include "cli/clash.h"

#include "cli/input.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False when there is no such file yet, or none that writing would destroy: a device, a FIFO. */
static bool stat_file(struct stat *st, const char *path, int standard)
{
    int e = is_dash(path) ? fstat(standard, st) : stat(path, st);
    return e == 0 && S_ISREG(st->st_mode);
}

static bool is_read_as(const struct stat *out, const char *in)
{
    struct stat st;
    return stat_file(&st, in, STDIN_FILENO) && st.st_dev == out->st_dev && st.st_ino == out->st_ino;
}

static int refuse(const struct options *o, const char *path, const char *in, const char *what)
{
    if (is_dash(path))
        path = "standard output";
    if (is_dash(in))
        in = "standard input";
    return message_error(2, &o->voice, NULL, "the output '%s' is the %s '%s': say another name", path, what,
                         in);
}

int output_check(const struct options *o, const char *path, const char *own)
{
    struct stat out;

    path = path ? path : "-";
    if (!stat_file(&out, path, STDOUT_FILENO))
        return 0;
    for (int i = 0; i < o->n_args; i++)
        if (o->args[i] != own && is_read_as(&out, o->args[i]))
            return refuse(o, path, o->args[i], "input");
    if (o->config && is_read_as(&out, o->config))
        return refuse(o, path, o->config, "--config file");
    return 0;
}
