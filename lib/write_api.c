/* Writing functions of the public API: checks of what was asked for, then lib/save.h. */
#include "lib/model.h"
#include "lib/save.h"
#include "lib/specialize.h"
#include "schema/external.h"

#include <string.h>

void sactag_write_options_init(struct sactag_write_options *w)
{
    memset(w, 0, sizeof *w);
}

static int check(const struct sactag_write_options *w, struct diag *d)
{
    if ((unsigned)w->carrier > SACTAG_CARRIER_POPART)
        return diag_error(d, IR_EUSAGE, "carrier: %d is not a choice", (int)w->carrier);
    if ((unsigned)w->tag > SACTAG_TAG_ALL)
        return diag_error(d, IR_EUSAGE, "tag: %d is not a choice", (int)w->tag);
    if ((unsigned)w->external > SACTAG_EXTERNAL_KEEP)
        return diag_error(d, IR_EUSAGE, "external: %d is not a choice", (int)w->external);
    if (w->set_ir_version < 0 || w->set_ir_version > INT32_MAX)
        return diag_error(d, IR_EUSAGE, "set_ir_version: expected 0 to %d but found %lld", INT32_MAX,
                          (long long)w->set_ir_version);
    return 0;
}

/* What all writing functions begin with. `w` may be NULL: then `defaults`, which is filled here, is taken. */
static int begin(struct save *s, sactag_model *m, const sactag_plan *p, const struct sactag_write_options *w,
                 struct sactag_write_options *defaults, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);

    sactag_write_options_init(defaults);
    *s = (struct save){
        .m = &m->ir,
        .file = m->file.bytes ? &m->file : NULL,
        .plan = p ? p->plan : NULL,
        .options = w ? w : defaults,
    };
    if (p && p->model != m)
        return diag_error(diag, IR_EUSAGE, "the plan was made for another model");
    if (p && p->from_tags)
        return diag_error(diag, IR_EUSAGE, "what tags say is no plan to tag by: decide again");
    if (m->ir.format == IR_PT2 && s->options->set_ir_version)
        diag_warn(diag, "set_ir_version is for ONNX: a .pt2 has none, and is written without");
    return check(s->options, diag);
}

/* Beside what is no file no data can be put. */
static int check_no_folder(const struct save *s)
{
    enum sactag_external x = s->options->external;

    if (!s->m->n_external || x == SACTAG_EXTERNAL_REFUSE || x == SACTAG_EXTERNAL_KEEP)
        return 0;
    return diag_error(
        s->m->diag, IR_EUSAGE,
        "external data: it can be put beside a file only, and the output is none (--external-data keep leaves it to you)");
}

static int end(sactag_model *m, struct specialized *x, int e)
{
    specialized_free(x);
    return model_reported(m, e);
}

/* With --specialize and functions whose calls disagree, what is written is a model with copies of them. */
static int with_copies(struct save *s, sactag_model *m, struct specialized *x)
{
    *x = (struct specialized){0};
    if (!s->plan || !specialize_wanted(s->plan))
        return 0;
    if (ir_meta(&m->ir, "sac.plan"))
        return diag_error(m->ir.diag, IR_EUSAGE,
                          "functions of a tagged model cannot be specialized: strip it first");
    int e = specialize(x, m, s->plan, m->ir.diag);
    if (e == 0 && m->ir.arena.failed)
        e = diag_nomem(m->ir.diag);
    if (e == 0)
        e = file_in_whole(&m->file, m->ir.diag);
    if (e == 0) {
        s->copies = s->plan->clones.n_copies;
        s->m = &x->model->ir;
        s->plan = &x->plan;
        s->file = NULL;
    }
    return e;
}

static int to_file(sactag_model *m, const sactag_plan *p, const char *path,
                   const struct sactag_write_options *w, sactag_diag *d)
{
    struct sactag_write_options defaults;
    struct specialized x = {0};
    struct save s;
    int e = begin(&s, m, p, w, &defaults, d);

    if (e == 0 && !*path)
        e = diag_error(m->ir.diag, IR_EUSAGE, "the name of the output is empty");
    if (e == 0)
        e = with_copies(&s, m, &x);
    return end(m, &x, e ? e : save_file(&s, path, m->ir.diag));
}

static int to_fd(sactag_model *m, const sactag_plan *p, int fd, const struct sactag_write_options *w,
                 sactag_diag *d)
{
    struct sactag_write_options defaults;
    struct specialized x = {0};
    struct save s;
    int e = begin(&s, m, p, w, &defaults, d);

    if (e == 0)
        e = check_no_folder(&s);
    if (e == 0)
        e = with_copies(&s, m, &x);
    return end(m, &x, e ? e : save_fd(&s, fd, m->ir.diag));
}

static int to_buffer(sactag_model *m, const sactag_plan *p, void **bytes, size_t *n,
                     const struct sactag_write_options *w, sactag_diag *d)
{
    struct sactag_write_options defaults;
    struct specialized x = {0};
    struct save s;
    int e = begin(&s, m, p, w, &defaults, d);

    *bytes = NULL;
    *n = 0;
    if (e == 0)
        e = check_no_folder(&s);
    if (e == 0)
        e = with_copies(&s, m, &x);
    return end(m, &x, e ? e : save_buffer(&s, bytes, n, m->ir.diag));
}

int sactag_tag_file(sactag_model *m, const sactag_plan *p, const char *path,
                    const struct sactag_write_options *w, sactag_diag *d)
{
    return to_file(m, p, path, w, d);
}

int sactag_tag_fd(sactag_model *m, const sactag_plan *p, int fd, const struct sactag_write_options *w,
                  sactag_diag *d)
{
    return to_fd(m, p, fd, w, d);
}

int sactag_tag_buffer(sactag_model *m, const sactag_plan *p, void **bytes, size_t *n,
                      const struct sactag_write_options *w, sactag_diag *d)
{
    return to_buffer(m, p, bytes, n, w, d);
}

int sactag_strip_file(sactag_model *m, const char *path, const struct sactag_write_options *w, sactag_diag *d)
{
    return to_file(m, NULL, path, w, d);
}

int sactag_strip_fd(sactag_model *m, int fd, const struct sactag_write_options *w, sactag_diag *d)
{
    return to_fd(m, NULL, fd, w, d);
}

int sactag_strip_buffer(sactag_model *m, void **bytes, size_t *n, const struct sactag_write_options *w,
                        sactag_diag *d)
{
    return to_buffer(m, NULL, bytes, n, w, d);
}

int sactag_check_output(sactag_model *m, const char *path, sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);
    const struct external_task task = {
        .in = m->file.bytes ? m->file.path : NULL, .out = path, .how = EXTERNAL_KEEP};
    struct external x;
    int rc = external_open(&x, &m->ir, &task, diag); /* to keep data where they are, it looks at names only */

    external_close(&x);
    return rc;
}

int sactag_digest(sactag_model *m, char out[33], sactag_diag *d)
{
    struct diag *diag = model_reports_to(m, d);

    out[0] = '\0';
    return model_reported(m, tag_digest(&m->ir, out, diag));
}
