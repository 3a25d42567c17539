/* Files: mapping the input, writing the output in one step.
 *
 * An output appears under its name complete or not at all. It is written to a file without a name where the
 * file system can do that (so that even a killed process leaves nothing behind), else to one whose name
 * starts with FILE_TEMP_PREFIX, in the target's own directory; flushed; and renamed. What is not a regular
 * file (a FIFO, a device, /dev/stdout) is written through.
 *
 * All functions report to `d` with the path and the system's reason; they return 0, IR_EIO or IR_EMEM. */
#ifndef SACTAG_SCHEMA_FILE_H
#define SACTAG_SCHEMA_FILE_H

#include "ir/diag.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_TEMP_PREFIX ".sactag-"

/* ---- input */

struct file_in {
    const uint8_t *bytes; /* mapped, read-only; never NULL, also for an empty file */
    uint64_t size;
    int fd;     /* ours; may be used for copying ranges */
    char *path; /* as given, NULL when opened from a descriptor */
    dev_t dev;
    ino_t ino;
    void *map; /* NULL for an empty file */
};

/* Opens and maps. A FIFO or another file that cannot be mapped is first copied to an unlinked file in TMPDIR;
 * a directory is an error. On failure *f is empty and may be closed. */
int file_in_open(struct file_in *f, const char *path, struct diag *d);

/* The same from a descriptor, which stays the caller's; read from where it stands. `name` is for messages. */
int file_in_fd(struct file_in *f, int fd, const char *name, struct diag *d);

void file_in_close(struct file_in *f);

/* Is `fd` open on the file that `f` maps? Writing to it would change the input under our feet. */
bool file_in_same(const struct file_in *f, int fd);

/* ---- output */

/* Who wants to know of temporary files, to remove them when a signal ends the process: called with the path
 * of each just before it gets that name, and with NULL when it is gone. */
struct file_watch {
    void (*temporary)(void *ctx, const char *path); /* may be NULL */
    void *ctx;
};

struct file_out {
    int fd;       /* to be written to */
    char *path;   /* as given, for messages */
    int dir;      /* directory of the target; -1 when written through */
    char *folder; /* its path */
    char *name;   /* the target in it */
    char *temp;   /* the temporary file in it; NULL while it has no name */
    bool through; /* not a regular file: no temporary file, no rename */
    bool no_sync; /* nothing is flushed to disk */
    bool exists;  /* a regular file is being replaced; then these are its own: */
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct file_watch watch;
};

/* Opens an output. A symlink stays: what it points to is replaced, or created. An existing file that we may
 * not write to is not replaced, although its directory would allow it. `watch` may be NULL. */
int file_out_open(struct file_out *o, const char *path, bool no_sync, const struct file_watch *watch,
                  struct diag *d);

/* Flushes and puts the file in its place, with the mode and owner of the file it replaces (as far as we may)
 * or by the umask. Closes it; on failure as file_out_abort() does. */
int file_out_commit(struct file_out *o, struct diag *d);

/* Closes and removes what was written; the old file is untouched. Harmless after a commit. */
void file_out_abort(struct file_out *o);

/* ---- copying, for what is not the model itself */

struct file_copy {
    void (*progress)(void *ctx, uint64_t bytes); /* after each piece, with its size; may be NULL */
    void *ctx;
    const volatile sig_atomic_t *stop; /* set: give up; may be NULL */
};

/* Copies from the descriptors' positions to the end of `in`; copy_file_range() where the kernel can, which
 * shares blocks where the file system can. 0, or an errno (EINTR when told to stop). `how` may be NULL. */
int file_copy_all(int in, int out, const struct file_copy *how);

/* Writes n bytes, however many calls it takes. 0, or an errno. */
int file_write_all(int fd, const void *bytes, size_t n);

/* Creates an empty file with a fresh name in a directory, whose path is `folder`: *fd and *name (to be
 * freed). 0, or an errno. */
int file_temp(int *fd, char **name, int dir, const char *folder, mode_t mode, const struct file_watch *watch);

/* Tells `watch` (which may be NULL) that there is no temporary file any more. */
void file_temp_gone(const struct file_watch *watch);

#endif
