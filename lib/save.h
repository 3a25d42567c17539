/* Where a tagged or stripped model goes: a file, a descriptor, memory. What stands behind the writing
 * functions of include/sactag.h. */
#ifndef SACTAG_LIB_SAVE_H
#define SACTAG_LIB_SAVE_H

#include "lib/tag.h"
#include "sactag.h"
#include "schema/file.h"

/* What is written: the model with the tags of a plan, or stripped when `plan` is NULL. */
struct save {
    struct ir_model *m;
    const struct file_in *file; /* the model's own; NULL when it was opened from memory */
    struct plan *plan;
    const struct sactag_write_options *options; /* not NULL */
    uint32_t copies;                            /* of functions that --specialize has added to the model */
};

int save_file(const struct save *s, const char *path, struct diag *d);
int save_fd(const struct save *s, int fd, struct diag *d);
int save_buffer(const struct save *s, void **bytes, size_t *n, struct diag *d);

#endif
