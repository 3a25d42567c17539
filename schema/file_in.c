/* The input: mapped, or copied to where it can be. */
#include "schema/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *temp_dir(void)
{
    const char *t = getenv("TMPDIR");
    return t && *t ? t : "/tmp";
}

/* A file that goes away when it is closed. */
static int open_unlinked(int *fd, const char *dir)
{
    struct file_temp t;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return file_errno();
    int err = file_temp_open(&t, at, dir, 0600, NULL);
    if (!err && (*fd = fcntl(t.fd, F_DUPFD_CLOEXEC, 0)) < 0)
        err = file_errno();
    file_temp_close(&t);
    file_close(&at);
    return err;
}

static int spool(struct file_in *f, int fd, const char *name, struct diag *d)
{
    const char *dir = temp_dir();
    int err = open_unlinked(&f->fd, dir);
    if (err)
        return file_fail(d, err, "create a temporary file in", dir);
    err = file_copy_pieces(fd, f->fd, NULL);
    if (err == ENOSPC || err == EDQUOT || err == EFBIG)
        return file_fail(d, err, "copy the input to a temporary file in", dir);
    return err ? file_fail(d, err, "read", name) : 0;
}

static int map(struct file_in *f, const char *name, struct diag *d)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return file_fail(d, file_errno(), "read", name);
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->bytes = (const uint8_t *)"";
    if (st.st_size == 0)
        return 0;
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return file_fail(d, EFBIG, "map", name);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (p == MAP_FAILED)
        return file_fail(d, file_errno(), "map", name);
    f->map = p;
    f->bytes = p;
    f->size = (uint64_t)st.st_size;
    return 0;
}

/* Can it be mapped, and does it stand at its start? */
static bool mappable(const struct stat *st, int fd)
{
    return S_ISREG(st->st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

/* Makes f->fd something that can be mapped: `fd` itself, when it is ours to keep, or a copy. */
static int take(struct file_in *f, int fd, bool own, const char *name, struct diag *d)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_fail(d, file_errno(), "read", name);
    if (S_ISDIR(st.st_mode))
        return file_fail(d, EISDIR, "read", name);
    if (!mappable(&st, fd))
        return spool(f, fd, name, d);
    f->fd = own ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return f->fd < 0 ? file_fail(d, file_errno(), "read", name) : 0;
}

/* `own`: fd is ours to close. */
static int load(struct file_in *f, int fd, bool own, const char *name, struct diag *d)
{
    int rc = take(f, fd, own, name, d);
    if (own && f->fd != fd)
        file_close(&fd);
    if (rc == 0)
        rc = map(f, name, d);
    if (rc != 0)
        file_in_close(f);
    return rc;
}

int file_in_open(struct file_in *f, const char *path, struct diag *d)
{
    *f = (struct file_in){.fd = -1, .path = strdup(path)};
    if (!f->path)
        return file_fail(d, ENOMEM, "open", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int rc = file_fail(d, file_errno(), "open", path);
        file_in_close(f);
        return rc;
    }
    return load(f, fd, true, path, d);
}

int file_in_fd(struct file_in *f, int fd, const char *name, struct diag *d)
{
    *f = (struct file_in){.fd = -1};
    return load(f, fd, false, name, d);
}

void file_in_close(struct file_in *f)
{
    if (f->map)
        munmap(f->map, (size_t)f->size);
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct file_in){.fd = -1};
}

int file_in_whole(const struct file_in *f, struct diag *d)
{
    struct stat st;
    const char *name = f->path ? f->path : "the input";
    if (!f->map)
        return 0;
    if (fstat(f->fd, &st) != 0)
        return file_fail(d, file_errno(), "read", name);
    if ((uint64_t)st.st_size < f->size)
        return diag_error(d, IR_EIO, "cannot read %s: it became shorter while it was being read", name);
    return 0;
}

bool file_in_same(const struct file_in *f, int fd)
{
    struct stat st;
    return f->fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == f->dev &&
           st.st_ino == f->ino;
}
