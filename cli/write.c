#include "cli/write.h"

#include "cli/clash.h"
#include "cli/progress.h"
#include "cli/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `sactag tag x.onnx -o - >> x.onnx` would write into the file that is being read. */
static bool stdout_is(const char *in)
{
    struct stat a, b;
    int e = is_dash(in) ? fstat(STDIN_FILENO, &a) : stat(in, &a);

    return e == 0 && fstat(STDOUT_FILENO, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int choose_stdout(const struct options *o, const char *in)
{
    if (isatty(STDOUT_FILENO))
        return message_error(2, &o->voice, NULL,
                             "refusing to write a model to a terminal: redirect it, or say -o FILE");
    if (stdout_is(in))
        return message_error(2, &o->voice, NULL, "the output is the input file: say --in-place");
    return 0;
}

int target_choose(struct target *t, const struct options *o, const char *in)
{
    *t = (struct target){o->output, o->output, NULL};
    if (o->output && o->in_place)
        return message_error(2, &o->voice, NULL, "-o and --in-place exclude each other");
    if (o->in_place && is_dash(in))
        return message_error(2, &o->voice, NULL, "--in-place needs a file, not standard input");
    if (o->in_place)
        *t = (struct target){in, in, NULL};
    if (!t->path)
        return message_error(2, &o->voice, NULL, "no output given: say -o FILE, or --in-place");
    if (!o->in_place && is_dash(t->path)) {
        *t = (struct target){NULL, "standard output", NULL};
        return choose_stdout(o, in);
    }
    return 0;
}

/* ---- directories as output */

static bool is_directory(const char *path)
{
    struct stat st;
    size_t n = strlen(path);

    return n && (path[n - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(file_name(*x), file_name(*y));
}

/* Each input has a name for its output, which no other has. */
static int check_names(const struct options *o)
{
    const char **names = malloc((size_t)o->n_args * sizeof *names);
    int e = 0;

    if (!names)
        return message_nomem(&o->voice);
    for (int i = 0; !e && i < o->n_args; i++) {
        names[i] = o->args[i];
        if (is_dash(names[i]) || !*file_name(names[i]))
            e = message_error(2, &o->voice, NULL,
                              "'%s' has no name that a file in '%s' could have: say -o FILE", names[i],
                              o->output);
    }
    if (!e)
        qsort(names, (size_t)o->n_args, sizeof *names, by_name);
    for (int i = 1; !e && i < o->n_args; i++)
        if (by_name(&names[i - 1], &names[i]) == 0)
            e = message_error(2, &o->voice, NULL, "'%s' and '%s' would be one file in '%s'", names[i - 1],
                              names[i], o->output);
    free(names);
    return e;
}

static int into_directory(struct options *o, const char *in, each_fn one)
{
    const char *name = file_name(in);
    size_t n = strlen(o->output), room = n + strlen(name) + 2;

    char *path = malloc(room);
    if (!path)
        return message_nomem(&o->voice);
    snprintf(path, room, "%s%s%s", o->output, o->output[n - 1] == '/' ? "" : "/", name);
    int e = output_check(o, path, in);
    if (!e)
        e = one(o, in, &(struct target){path, path, o->output});
    free(path);
    return e;
}

int target_each(struct options *o, each_fn one)
{
    bool directory = o->output && !o->in_place && is_directory(o->output);
    int worst = directory ? check_names(o) : 0;

    if (!directory && !o->in_place && o->n_args > 1)
        return message_error(2, &o->voice, NULL, "several inputs need a directory as output: say -o DIR/");
    if (worst)
        return worst;
    for (int i = 0; i < o->n_args; i++) {
        struct target t;
        int e = directory ? into_directory(o, o->args[i], one) : target_choose(&t, o, o->args[i]);
        if (!e && !directory)
            e = one(o, o->args[i], &t);
        if (e > worst)
            worst = e;
    }
    return worst;
}

static int make_directory(const struct options *o, const char *path, bool *made)
{
    *made = path && mkdir(path, 0777) == 0;
    if (!path || *made || errno == EEXIST)
        return 0;
    return message_error(5, &o->voice, path, "cannot make the directory: %s", strerror(errno));
}

static int write_to(struct input *in, const sactag_plan *plan, const struct target *t,
                    const struct sactag_write_options *w)
{
    if (!t->path)
        return plan ? sactag_tag_fd(in->m, plan, STDOUT_FILENO, w, in->d)
                    : sactag_strip_fd(in->m, STDOUT_FILENO, w, in->d);
    return plan ? sactag_tag_file(in->m, plan, t->path, w, in->d)
                : sactag_strip_file(in->m, t->path, w, in->d);
}

int write_model(struct input *in, const struct options *o, const sactag_plan *plan, const struct target *t)
{
    struct sactag_write_options w = o->write;
    struct progress progress;
    bool made;

    if (make_directory(o, t->dir, &made) != 0)
        return 5;
    w.progress = progress_report;
    w.progress_ctx = &progress;
    w.temporary = signals_temporary;
    progress_begin(&progress, &o->voice, "writing", t->name);
    int status = write_to(in, plan, t, &w);
    progress_end(&progress);
    if (status && made)
        (void)!rmdir(t->dir);
    return input_done(in, o, status);
}

void tell_written(const struct options *o, const sactag_plan *plan, const struct target *t)
{
    struct sactag_summary s;
    char forced[32] = "", outside[48] = "";

    sactag_plan_summary(plan, &s);
    if (s.rows == 0) {
        message_plain(&o->voice, t->name, "no mms");
        return;
    }
    if (s.forced)
        snprintf(forced, sizeof forced, " (%" PRIu32 " forced)", s.forced);
    if (s.outside)
        snprintf(outside, sizeof outside, ", %" PRIu32 " outside blocks", s.outside);
    message_plain(&o->voice, t->name, "%" PRIu32 " mm%s: %" PRIu32 " saved, %" PRIu32 " recomputed%s%s",
                  s.rows, s.rows == 1 ? "" : "s", s.saved, s.recomputed, forced, outside);
}
