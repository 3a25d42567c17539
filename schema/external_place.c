/* Bringing external data along: the walk to a file, placing it, and undoing that. */
#include "schema/external_place.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMPARE_PIECE = 64 * 1024 };

/* ---- walking */

/* Is it how the system says that a path was not followed? */
static bool not_followed(int err)
{
    return err == ELOOP || err == ENOTDIR;
}

static const char *reason(int err)
{
    return not_followed(err) ? "a part of its path is a symbolic link or no folder" : strerror(err);
}

static int not_safe(struct diag *d, const char *folder, const char *location, int err)
{
    bool unsafe = not_followed(err);
    return diag_error(
        d, unsafe ? IR_EINPUT : IR_EIO, "external data '%s' in %s: %s%s", location, folder, reason(err),
        unsafe ? " (cp -L makes a copy without links; --external-data keep leaves the data to you)" : "");
}

int external_walk(int *fd, const char **last, int dir, const char *location, struct external_file *made)
{
    char name[NAME_MAX + 1];
    const char *at = location, *slash;
    int err = 0;
    *last = location;
    *fd = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return file_errno();
    for (; !err && (slash = strchr(at, '/')); at = slash + 1) {
        memcpy(name, at, (size_t)(slash - at));
        name[slash - at] = '\0';
        if (made && mkdirat(*fd, name, 0777) == 0) {
            made->dirs++;
            made->dirs_to = (size_t)(slash - location);
        } else if (made && errno != EEXIST) {
            err = file_errno();
        }
        int next = err ? -1 : openat(*fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (!err && next < 0)
            err = file_errno();
        file_close(fd);
        *fd = next;
    }
    *last = at;
    return err;
}

int external_open_data(int *fd, struct stat *st, const struct external *x, const struct external_file *f,
                       struct diag *d)
{
    const char *last;
    int dir;
    int err = external_walk(&dir, &last, x->from, f->location, NULL);
    *fd = -1;
    if (!err) {
        *fd = openat(dir, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        err = *fd < 0 || fstat(*fd, st) != 0 ? file_errno() : 0;
    }
    file_close(&dir);
    if (err == ENXIO || (!err && !S_ISREG(st->st_mode))) /* ENXIO: a socket, a FIFO */
        return diag_error(d, IR_EINPUT, "external data '%s' in %s is no regular file", f->location,
                          x->from_path);
    if (err)
        return not_safe(d, x->from_path, f->location, err);
    if ((uint64_t)st->st_size < f->need)
        return diag_error(d, IR_EINPUT,
                          "external data '%s' in %s: expected %llu bytes or more but found %llu", f->location,
                          x->from_path, (unsigned long long)f->need, (unsigned long long)st->st_size);
    return 0;
}

/* A file on its way. */
struct placing {
    const struct external *x;
    const char *location;
    int dir;          /* the folder that it goes to, */
    const char *name; /* its name there: the last part of the location, */
    int data;         /* and what has to get there, open */
    struct stat st;
    const struct file_copy *progress;
};

/* ---- what has the name already */

static int read_all(int fd, char *buf, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t k = read(fd, buf + got, n - got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k < 0 ? file_errno() : EIO;
        got += (size_t)k;
    }
    return 0;
}

/* Do two files of one size hold the same? 0 and *same, or an errno. */
static int compare(bool *same, int a, int b, uint64_t size)
{
    char *buf = malloc(2 * COMPARE_PIECE);
    int err = buf ? 0 : ENOMEM;
    *same = true;
    while (!err && *same && size) {
        size_t n = size < COMPARE_PIECE ? (size_t)size : COMPARE_PIECE;
        err = read_all(a, buf, n);
        if (!err)
            err = read_all(b, buf + COMPARE_PIECE, n);
        *same = !err && memcmp(buf, buf + COMPARE_PIECE, n) == 0;
        size -= n;
    }
    free(buf);
    return err;
}

/* Is what has the name already as good as what we would put there? 0 and *good, or an errno. */
static int already_there(bool *good, const struct placing *p)
{
    struct stat there;
    *good = false;
    if (fstatat(p->dir, p->name, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return file_errno();
    if (S_ISLNK(there.st_mode)) { /* a link is what we would make only when links are asked for */
        if (p->x->how == EXTERNAL_SYMLINK && fstatat(p->dir, p->name, &there, 0) == 0)
            *good = external_same_file(&there, &p->st);
        return 0;
    }
    *good = external_same_file(&there, &p->st);
    if (*good || !S_ISREG(there.st_mode) || there.st_size != p->st.st_size)
        return 0;
    int fd = openat(p->dir, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return file_errno();
    int err = compare(good, p->data, fd, (uint64_t)p->st.st_size);
    file_close(&fd);
    return err;
}

/* ---- placing */

static int as_long_as(int fd, off_t size)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_errno();
    return st.st_size == size ? 0 : EIO;
}

static int place_copy(const struct placing *p)
{
    const struct external *x = p->x;
    struct file_temp t;
    char *folder;
    if (asprintf(&folder, "%s/%.*s", x->to_path, (int)(p->name - p->location), p->location) < 0)
        return ENOMEM;
    int err = file_temp_open(&t, p->dir, folder, p->st.st_mode & 0777, &x->watch);
    if (!err)
        err = file_copy_all(p->data, t.fd, p->progress);
    if (!err) /* it may have become shorter meanwhile */
        err = as_long_as(t.fd, p->st.st_size);
    if (!err && !x->no_sync)
        err = file_flush(t.fd);
    if (!err)
        err = file_temp_publish(&t, p->name, false);
    file_temp_close(&t);
    free(folder);
    return err;
}

static int place_symlink(const struct placing *p)
{
    char *folder = realpath(p->x->from_path, NULL), *target = NULL;
    int err = folder ? 0 : file_errno();
    if (!err && asprintf(&target, "%s/%s", folder, p->location) < 0) {
        target = NULL;
        err = ENOMEM;
    }
    if (!err && symlinkat(target, p->dir, p->name) != 0)
        err = file_errno();
    free(folder);
    free(target);
    return err;
}

/* 0 or an errno. */
static int place_new(const struct placing *p)
{
    switch (p->x->how) {
    case EXTERNAL_COPY:
        return place_copy(p);
    case EXTERNAL_HARDLINK: /* from the descriptor, so that it is the file that was looked at */
        return file_link(p->data, p->dir, p->name);
    case EXTERNAL_SYMLINK:
        return place_symlink(p);
    case EXTERNAL_REFUSE:
    case EXTERNAL_KEEP:
        break;
    }
    return EINVAL;
}

static int flush_folder(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err = fd < 0 ? (errno == EACCES ? 0 : file_errno()) : file_flush(fd);
    file_close(&fd);
    return err;
}

/* Places the file unless what is there is as good. 0 or an errno, and *good: the file is there now. */
static int place_or_find(bool *good, struct placing *p, struct external_file *f)
{
    *good = false;
    int err = external_walk(&p->dir, &p->name, p->x->to, f->location, f);
    if (!err)
        err = already_there(good, p);
    if (err != ENOENT)
        return err;
    /* A comparison that found nothing to compare has read nothing: the data still stand at their start. */
    *good = true;
    err = place_new(p);
    f->made = err == 0;
    return err || p->x->no_sync ? err : flush_folder(p->dir);
}

static int place_failed(const struct external *x, const struct external_file *f, int err, struct diag *d)
{
    if (err == EXDEV)
        return diag_error(d, IR_EIO,
                          "cannot link '%s' into %s: it lies on another file system; copy it instead",
                          f->location, x->to_path);
    return diag_error(d, err == ENOMEM ? IR_EMEM : IR_EIO, "cannot write '%s' into %s: %s", f->location,
                      x->to_path, reason(err));
}

static int place_file(const struct external *x, struct external_file *f, const struct file_copy *progress,
                      struct diag *d)
{
    struct placing p = {.x = x, .location = f->location, .progress = progress, .dir = -1, .data = -1};
    bool good = false;
    int rc = external_open_data(&p.data, &p.st, x, f, d);
    int err = rc ? 0 : place_or_find(&good, &p, f);
    file_close(&p.data);
    file_close(&p.dir);
    if (rc)
        return rc;
    if (err)
        return place_failed(x, f, err, d);
    if (!good)
        return diag_error(d, IR_EIO, "there is another '%s' in %s, which is not overwritten", f->location,
                          x->to_path);
    return 0;
}

int external_place(struct external *x, const struct file_copy *progress, struct diag *d)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < x->n; i++)
        rc = place_file(x, &x->files[i], progress, d);
    if (rc)
        external_undo(x);
    return rc;
}

/* ---- undoing */

static void remove_at(int top, const char *path, int flags)
{
    const char *last;
    int dir;
    if (external_walk(&dir, &last, top, path, NULL) == 0)
        unlinkat(dir, last, flags);
    file_close(&dir);
}

/* Removes the folders that were made for a file, the innermost first. Cuts its location. */
static void remove_dirs(int top, struct external_file *f)
{
    char *path = f->location;
    path[f->dirs_to] = '\0';
    while (f->dirs) {
        remove_at(top, path, AT_REMOVEDIR);
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
        f->dirs--;
    }
}

void external_undo(struct external *x)
{
    for (uint32_t i = x->n; i-- > 0;) {
        struct external_file *f = &x->files[i];
        if (f->made)
            remove_at(x->to, f->location, 0);
        f->made = false;
        if (f->dirs)
            remove_dirs(x->to, f);
    }
}
