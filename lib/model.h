/* What stands behind the opaque types of include/sactag.h. */
#ifndef SACTAG_LIB_MODEL_H
#define SACTAG_LIB_MODEL_H

#include "ir/ir.h"
#include "lib/plan_file.h"
#include "passes/plan.h"
#include "sactag.h"
#include "schema/file.h"

#define ERROR_ROOM 4096

struct sactag_diag {
    struct diag d;
    char *error; /* ERROR_ROOM bytes for sactag_diag_error() */
};

/* The status codes of the floors below are those of the public header, so that they are returned as they
 * are. */
_Static_assert((int)SACTAG_EUSAGE == (int)IR_EUSAGE && (int)SACTAG_EPOLICY == (int)IR_EPOLICY &&
                   (int)SACTAG_EINPUT == (int)IR_EINPUT && (int)SACTAG_EIO == (int)IR_EIO &&
                   (int)SACTAG_EMEM == (int)IR_EMEM,
               "status codes differ");

struct sactag_model {
    struct ir_model ir;
    struct file_in file;  /* the mapping; file.bytes is NULL for a model that was opened from memory */
    const uint8_t *bytes; /* the whole input: an ONNX file, or the archive of a .pt2 */
    uint64_t size;
    uint64_t max_steps;
    uint32_t max_depth; /* 0: the default */
    bool verified;      /* ir_verify() found nothing wrong */
    bool or_plan;       /* the file might have been a plan, too */
};

/* A plan as the API shows it. Rows are shown straight from `plan`; only what has another form there is kept
 * here, in the plan's arena. */
struct sactag_plan {
    struct plan *plan;             /* ours; writing adds to its arena, also behind a const sactag_plan */
    sactag_model *model;           /* borrowed */
    bool from_tags;                /* made by sactag_read_tags() or sactag_decide_tagged() */
    const char *carrier;           /* of tags that were read, NULL without */
    struct plan_file *file;        /* ours: read from a file; then there are no plan and no model */
    struct sactag_options options; /* of a plan that was decided */
    bool has_options;
    struct str *ops;               /* per op id of the model: "domain:Op", empty for ops that no row has */
    struct sactag_forced **forced; /* per block */
};

/* Does it hold nothing but what tags say? They tell neither of mms outside blocks, nor module and shape. */
static inline bool plan_only_tags(const sactag_plan *p)
{
    return p->file ? p->file->tags : p->from_tags && !p->has_options;
}

static inline struct diag *diag_of(sactag_diag *d)
{
    return d ? &d->d : NULL;
}

/* From here on what the model decodes on demand reports to `d`. Every entry of the API that takes a model
 * calls this first. */
struct diag *model_reports_to(sactag_model *m, sactag_diag *d);

/* What they call at the end, with their result: IR_EMEM (reported) when memory ran out since, and somebody
 * took for not known what could not be allocated. */
int model_reported(sactag_model *m, int e);

/* A model in a file that has been mapped, and might have been a plan file; takes over the mapping, also after
 * a failure. */
int model_open_file(sactag_model **out, struct file_in *file, const struct sactag_limits *limits,
                    struct diag *d);

/* Decides: what sactag_decide() does, but for the diagnostics object. o may be NULL. */
int plan_decide(sactag_plan **out, sactag_model *m, const struct sactag_options *o, struct diag *d);

/* An empty plan about a model; NULL (reported) when memory is exhausted. */
sactag_plan *plan_new(sactag_model *m, struct diag *d);

/* Fills `ops` and `forced` of a plan whose `plan` is made. 0 or IR_EMEM (reported). */
int plan_prepare(sactag_plan *p, struct diag *d);

#endif
