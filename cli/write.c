#include "cli/write.h"

#include "cli/progress.h"
#include "cli/signals.h"

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
    *t = (struct target){o->output, o->output};
    if (o->output && o->in_place)
        return message_error(2, &o->voice, NULL, "-o and --in-place exclude each other");
    if (o->in_place && is_dash(in))
        return message_error(2, &o->voice, NULL, "--in-place needs a file, not standard input");
    if (o->in_place)
        *t = (struct target){in, in};
    if (!t->path)
        return message_error(2, &o->voice, NULL, "no output given: say -o FILE, or --in-place");
    if (!o->in_place && is_dash(t->path)) {
        *t = (struct target){NULL, "standard output"};
        return choose_stdout(o, in);
    }
    return 0;
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

    w.progress = progress_report;
    w.progress_ctx = &progress;
    w.temporary = signals_temporary;
    progress_begin(&progress, &o->voice, "writing", t->name);
    int status = write_to(in, plan, t, &w);
    progress_end(&progress);
    return input_done(in, o, status);
}
