/* External data: the files beside a model that hold its tensors, and bringing them along when the model is
 * written into another folder.
 *
 * A model names these files itself, so the names are a stranger's: a location must be a relative path without
 * "..", and is walked component by component from the model's folder, following no symbolic link; its end
 * must be a regular file that holds what the tensors say it does. The same holds for the folder that it is
 * brought to. Nothing is opened unless it must be brought along. */
#ifndef SACTAG_SCHEMA_EXTERNAL_H
#define SACTAG_SCHEMA_EXTERNAL_H

#include "ir/ir.h"
#include "schema/file.h"

#define EXTERNAL_LOCATION_MAX 4096 /* bytes; the longest path that the system takes */

enum external_how {
    EXTERNAL_REFUSE,   /* an error that says what can be done */
    EXTERNAL_COPY,     /* a copy of the data, sharing blocks where the file system can */
    EXTERNAL_HARDLINK, /* the same file under another name */
    EXTERNAL_SYMLINK,  /* a link to it */
    EXTERNAL_KEEP      /* nothing: the caller will see to it */
};

/* What is asked for. */
struct external_task {
    const char *in;  /* path of the model; NULL: not known */
    const char *out; /* where it will be written to */
    enum external_how how;
    bool no_sync;                   /* nothing is flushed to disk */
    const struct file_watch *watch; /* may be NULL */
};

/* A data file. */
struct external_file {
    char *location; /* without "." and doubled slashes */
    uint64_t need;  /* bytes that tensors refer to */
    uint64_t size;
    bool made;      /* we made it, */
    uint32_t dirs;  /* and this many of the folders that it is in, */
    size_t dirs_to; /* the innermost of which is this much of the location */
};

struct external {
    struct external_file *files;
    uint32_t n;
    size_t cap;
    int from, to; /* the two folders, open, or -1 */
    char *from_path, *to_path;
    enum external_how how;
    bool no_sync;
    uint64_t bytes; /* that will be copied */
    struct file_watch watch;
};

/* Looks at what has to be brought along, and whether all of it is there; nothing is written yet. Nothing has
 * to when the model has no such data or both paths are in one folder. 0; IR_EUSAGE: EXTERNAL_REFUSE, or `in`
 * is not known, or `out` is a data file itself; IR_EINPUT: unsafe, or too short; IR_EIO, also: missing;
 * IR_EMEM; reported. In each case to be closed. */
int external_open(struct external *x, const struct ir_model *m, const struct external_task *t,
                  struct diag *d);

/* Brings it along. A file that is there already with the same content is left; another one is never
 * overwritten: IR_EIO. On failure what was made is removed again. */
int external_place(struct external *x, const struct file_copy *progress, struct diag *d);

/* Removes what external_place() made. */
void external_undo(struct external *x);

void external_close(struct external *x);

#endif
