/* Opening plan files, and what may be a model or a plan file. */
#include "lib/model.h"

#include <stdlib.h>

static int read_text(struct plan_file *f, struct str text, struct diag *d)
{
    static const char bom[] = "\xef\xbb\xbf";

    switch (plan_file_kind(text)) {
    case PLAN_FILE_TSV:
        return plan_file_tsv(f, text, d);
    case PLAN_FILE_TEXT:
        return diag_error(d, IR_EINPUT,
                          "a plan printed as text cannot be read back: keep --format tsv or json");
    case PLAN_FILE_JSON:
        if (str_starts(text, str_of(bom)))
            text = str_sub(text, 3, text.n - 3);
        return plan_file_json(f, text, d);
    case PLAN_FILE_NONE:
        break;
    }
    return diag_error(d, IR_EINPUT, "not a plan file: expected JSON, or a first line 'index<tab>graph...'");
}

int sactag_plan_from_text(sactag_plan **out, const char *text, size_t n, sactag_diag *d)
{
    sactag_plan *p = calloc(1, sizeof *p);
    int e = SACTAG_EMEM;

    if (p)
        p->file = calloc(1, sizeof *p->file);
    if (p && p->file)
        e = read_text(p->file, (struct str){n ? text : "", n}, diag_of(d));
    else
        diag_nomem(diag_of(d));
    if (e)
        sactag_plan_free(p);
    *out = e ? NULL : p;
    return e;
}

/* Takes over the file, which was opened with the result `e`. */
static int open_mapped(sactag_model **m, sactag_plan **p, struct file_in *file, int e,
                       const struct sactag_limits *limits, sactag_diag *d)
{
    struct str text = {(const char *)file->bytes, (size_t)file->size};

    if (!e && plan_file_kind(text) == PLAN_FILE_NONE)
        return model_open_file(m, file, limits, diag_of(d));
    if (!e)
        e = sactag_plan_from_text(p, text.s, text.n, d);
    if (!e && (e = file_in_whole(file, diag_of(d))) != 0) {
        sactag_plan_free(*p);
        *p = NULL;
    }
    file_in_close(file);
    return e;
}

int sactag_open_either(sactag_model **m, sactag_plan **p, const char *path,
                       const struct sactag_limits *limits, sactag_diag *d)
{
    struct file_in file;
    int e = file_in_open(&file, path, diag_of(d));

    *m = NULL;
    *p = NULL;
    return open_mapped(m, p, &file, e, limits, d);
}

int sactag_open_either_fd(sactag_model **m, sactag_plan **p, int fd, const char *name,
                          const struct sactag_limits *limits, sactag_diag *d)
{
    struct file_in file;
    int e = file_in_fd(&file, fd, name, diag_of(d));

    *m = NULL;
    *p = NULL;
    return open_mapped(m, p, &file, e, limits, d);
}
