/* Files: mapping the input, writing the output in one step.
 *
 * An output appears under its name complete or not at all. It is written to a file without a name where the
 * file system can do that (so that even a killed process leaves nothing behind), else to one whose name
 * starts with FILE_TEMP_PREFIX, in the target's own directory; flushed; and renamed. To take the place of a
 * file that is there it needs such a name, too, for the moment between two system calls: who is killed
 * (SIGKILL, power) just then leaves the new file, whole, under that name beside the old one. What is not a
 * regular file (a FIFO, a device, /dev/stdout) is written through.
 *
 * Functions that take a `d` report to it with the path and the system's reason and return 0, IR_EIO or
 * IR_EMEM; the others return 0 or an errno, to be reported by who knows what for. */
#ifndef SACTAG_SCHEMA_FILE_H
#define SACTAG_SCHEMA_FILE_H

#include "ir/diag.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_TEMP_PREFIX ".sactag-"

/* Why the last system call failed: never 0. */
static inline int file_errno(void)
{
    int e = errno;
    return e > 0 ? e : EIO;
}

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

/* Is the file still as long as it was? What is cut off within its last page reads as zeros, and no signal
 * says so: to be asked before anything that was learnt from it counts. Harmless for an empty *f. */
int file_in_whole(const struct file_in *f, struct diag *d);

/* Is `fd` open on the file that `f` maps? Writing to it would change the input under our feet. */
bool file_in_same(const struct file_in *f, int fd);

/* ---- output */

/* Who wants to know of temporary files, to remove them when a signal ends the process: called with the path
 * of each just before it gets that name, and with NULL when it is gone. */
struct file_watch {
    void (*temporary)(void *ctx, const char *path); /* may be NULL */
    void *ctx;
};

/* A file on its way: without a name where the file system can do that, else with a temporary one. */
struct file_temp {
    int fd;             /* to be written to */
    int dir;            /* where it is to be; borrowed */
    const char *folder; /* the path of that; borrowed */
    char *name;         /* its temporary name there, NULL while it has none */
    struct file_watch watch;
};

/* Makes an empty file in a directory. `watch` may be NULL. On failure there is none, and nothing to close. */
int file_temp_open(struct file_temp *t, int dir, const char *folder, mode_t mode,
                   const struct file_watch *watch);

/* Gives it its name; `replace`: in place of the file that has it (else that is EEXIST). */
int file_temp_publish(struct file_temp *t, const char *name, bool replace);

/* Closes it, and removes it if it was not published. */
void file_temp_close(struct file_temp *t);

struct file_out {
    int fd;       /* to be written to */
    char *path;   /* as given, for messages */
    bool through; /* not a regular file: nothing below is used */
    bool no_sync; /* nothing is flushed to disk */
    int dir;      /* directory of the target */
    char *folder; /* its path */
    char *name;   /* the target in it */
    struct file_temp temp;
    bool exists; /* a regular file is being replaced; then these are its own: */
    mode_t mode;
    uid_t uid;
    gid_t gid;
};

/* Opens an output. A symlink stays: what it points to is replaced, or created. An existing file that we may
 * not write to is not replaced, although its directory would allow it. `watch` may be NULL. */
int file_out_open(struct file_out *o, const char *path, bool no_sync, const struct file_watch *watch,
                  struct diag *d);

/* Would it be written through: is there something at `path` that is neither a regular file nor a folder? */
bool file_out_through(const char *path);

/* Flushes and puts the file in its place, with the mode and owner of the file it replaces (as far as we may)
 * or by the umask. Closes it; on failure as file_out_abort() does. */
int file_out_commit(struct file_out *o, struct diag *d);

/* Closes and removes what was written; the old file is untouched. Harmless after a commit. */
void file_out_abort(struct file_out *o);

/* ---- what input, output and external data share */

/* Reports "cannot WHAT PATH" and why. IR_EMEM for ENOMEM, else IR_EIO. */
int file_fail(struct diag *d, int err, const char *what, const char *path);

/* Closes *fd, if it is open, without disturbing errno, and makes it -1. */
void file_close(int *fd);

/* Gives an open file a further name, in directory `dir`. */
int file_link(int fd, int dir, const char *name);

/* Flushes to disk; what cannot be flushed (a pipe, some directories) need not be. */
int file_flush(int fd);

/* Waits until a descriptor that does not block can take more. */
int file_wait_writable(int fd);

/* Writes n bytes, however many calls it takes. */
int file_write_all(int fd, const void *bytes, size_t n);

struct file_copy {
    void (*progress)(void *ctx, uint64_t bytes); /* after each piece, with its size; may be NULL */
    void *ctx;
};

/* Copies from the descriptors' positions to the end of `in`; copy_file_range() where the kernel can, which
 * shares blocks where the file system can. `how` may be NULL. */
int file_copy_all(int in, int out, const struct file_copy *how);

/* The same by reading and writing alone. */
int file_copy_pieces(int in, int out, const struct file_copy *how);

#endif
