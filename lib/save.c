#include "lib/save.h"

#include "schema/external.h"

_Static_assert((int)CARRIER_METADATA == (int)SACTAG_CARRIER_METADATA &&
                   (int)CARRIER_ATTRIBUTE == (int)SACTAG_CARRIER_ATTRIBUTE &&
                   (int)CARRIER_POPART == (int)SACTAG_CARRIER_POPART,
               "carriers differ");
_Static_assert((int)EXTERNAL_REFUSE == (int)SACTAG_EXTERNAL_REFUSE &&
                   (int)EXTERNAL_COPY == (int)SACTAG_EXTERNAL_COPY &&
                   (int)EXTERNAL_HARDLINK == (int)SACTAG_EXTERNAL_HARDLINK &&
                   (int)EXTERNAL_SYMLINK == (int)SACTAG_EXTERNAL_SYMLINK &&
                   (int)EXTERNAL_KEEP == (int)SACTAG_EXTERNAL_KEEP,
               "ways to treat external data differ");

static int write_model(const struct save *s, struct sink *to, struct diag *d)
{
    const struct tag_options o = {.carrier = (enum carrier)s->options->carrier,
                                  .all = s->options->tag == SACTAG_TAG_ALL,
                                  .set_ir_version = s->options->set_ir_version,
                                  .copies = s->copies};
    return s->plan ? tag_write(s->m, s->plan, &o, to, d) : strip_write(s->m, to, d);
}

/* The model may be written only in part when its file was cut meanwhile, or memory ran out unnoticed. */
static int write_whole_model(const struct save *s, struct sink *to, struct diag *d)
{
    int rc = write_model(s, to, d);
    if (rc == 0 && (s->m->arena.failed || (s->plan && s->plan->arena.failed)))
        rc = diag_nomem(d);
    return rc == 0 && s->file ? file_in_whole(s->file, d) : rc;
}

/* ---- progress: external data first, then the model; one count for both */

struct progress {
    const struct sactag_write_options *options;
    uint64_t external, done; /* bytes of external data: all, copied */
};

static void data_copied(void *ctx, uint64_t n)
{
    struct progress *p = ctx;
    p->done += n;
    if (p->options->progress)
        p->options->progress(p->options->progress_ctx, p->done, p->external);
}

static void model_written(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *p = ctx;
    p->options->progress(p->options->progress_ctx, p->external + done, p->external + total);
}

/* ---- descriptors */

static int to_fd(const struct save *s, int fd, const char *name, struct progress *p, bool flush_early,
                 struct diag *d)
{
    struct sink_fd sink;
    int rc = sink_fd_init(&sink, fd, name, s->file ? s->file->fd : -1, d);
    if (rc)
        return rc;
    sink.flush_early = flush_early;
    if (s->options->progress) {
        sink.progress = model_written;
        sink.progress_ctx = p;
    }
    rc = write_whole_model(s, &sink.sink, d);
    sink_fd_free(&sink);
    return rc;
}

int save_fd(const struct save *s, int fd, struct diag *d)
{
    struct progress p = {.options = s->options};
    if (s->file && file_in_same(s->file, fd))
        return diag_error(d, IR_EUSAGE,
                          "the output is the input file: writing it would destroy what is read");
    return to_fd(s, fd, "the output", &p, false, d);
}

/* ---- files */

static int to_file(const struct save *s, const char *path, struct progress *p, const struct file_watch *watch,
                   struct diag *d)
{
    struct file_out o;
    int rc = file_out_open(&o, path, s->options->no_sync, watch, d);
    if (rc)
        return rc;
    if (o.through && s->file && file_in_same(s->file, o.fd))
        rc = diag_error(d, IR_EUSAGE, "the output is the input file: writing it would destroy what is read");
    if (rc == 0)
        rc = to_fd(s, o.fd, path, p, !o.through && !o.no_sync, d);
    if (rc == 0)
        return file_out_commit(&o, d);
    file_out_abort(&o);
    return rc;
}

/* The data are in place, whole, before the model that refers to them is. */
static int to_file_with_data(const struct save *s, const char *path, const struct file_watch *watch,
                             struct diag *d)
{
    struct progress p = {.options = s->options};
    const struct file_copy copy = {data_copied, &p};
    struct external x;
    const struct external_task task = {.in = s->file ? s->file->path : NULL,
                                       .out = path,
                                       .how = (enum external_how)s->options->external,
                                       .no_sync = s->options->no_sync,
                                       .watch = watch};
    int rc = external_open(&x, s->m, &task, d);
    p.external = x.bytes;
    if (rc == 0)
        rc = external_place(&x, &copy, d);
    p.external = p.done; /* what was there already was not copied */
    if (rc == 0)
        rc = to_file(s, path, &p, watch, d);
    if (rc)
        external_undo(&x);
    external_close(&x);
    return rc;
}

int save_file(const struct save *s, const char *path, struct diag *d)
{
    const struct file_watch watch = {s->options->temporary, s->options->temporary_ctx};
    struct progress p = {.options = s->options};
    if (file_out_through(path))
        return to_file(s, path, &p, &watch, d);
    return to_file_with_data(s, path, &watch, d);
}

/* ---- memory */

int save_buffer(const struct save *s, void **bytes, size_t *n, struct diag *d)
{
    struct sink_mem sink;
    sink_mem_init(&sink, d);
    int rc = write_whole_model(s, &sink.sink, d);
    if (rc == 0) {
        *bytes = sink.bytes;
        *n = sink.n;
    } else {
        sink_mem_free(&sink);
    }
    return rc;
}
