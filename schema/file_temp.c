/* Files on their way: without a name where the file system can do that, else with a temporary one. */
#include "schema/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_TRIES 100

/* A name that nobody else has chosen. */
struct temp_name {
    char s[sizeof FILE_TEMP_PREFIX + 16 + sizeof ".tmp"];
};

/* Chooses one, and tells who wants to know. 0 or an errno. */
static int choose_name(struct temp_name *n, const struct file_temp *t)
{
    uint64_t r;
    char *path;
    if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
        return EIO;
    snprintf(n->s, sizeof n->s, "%s%016llx.tmp", FILE_TEMP_PREFIX, (unsigned long long)r);
    if (!t->watch.temporary)
        return 0;
    size_t len = strlen(t->folder);
    if (asprintf(&path, "%s%s%s", t->folder, len && t->folder[len - 1] != '/' ? "/" : "", n->s) < 0)
        return ENOMEM;
    t->watch.temporary(t->watch.ctx, path);
    free(path);
    return 0;
}

static void gone(struct file_temp *t)
{
    free(t->name);
    t->name = NULL;
    if (t->watch.temporary)
        t->watch.temporary(t->watch.ctx, NULL);
}

/* The name of a descriptor, from which a file without a name can be linked. */
struct fd_link {
    char s[32];
};

static struct fd_link fd_link(int fd)
{
    struct fd_link l;
    snprintf(l.s, sizeof l.s, "/proc/self/fd/%d", fd);
    return l;
}

int file_link(int fd, int dir, const char *name)
{
    return linkat(AT_FDCWD, fd_link(fd).s, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : file_errno();
}

/* A file without a name, if that is possible here and it can be given one later. */
static bool open_nameless(struct file_temp *t, mode_t mode)
{
    struct stat st;
    t->fd = openat(t->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (t->fd < 0)
        return false;
    if (lstat(fd_link(t->fd).s, &st) == 0)
        return true;
    file_close(&t->fd);
    return false;
}

/* Makes a file with a fresh name (fd < 0), or gives one to the file that has none. */
static int make_name(struct file_temp *t, mode_t mode)
{
    struct temp_name n;
    bool link = t->fd >= 0;
    int err = EEXIST;
    for (int i = 0; i < TEMP_TRIES && err == EEXIST; i++) {
        err = choose_name(&n, t);
        if (err)
            break;
        if (link) {
            err = file_link(t->fd, t->dir, n.s);
        } else {
            t->fd = openat(t->dir, n.s, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
            err = t->fd < 0 ? file_errno() : 0;
        }
    }
    if (!err && !(t->name = strdup(n.s))) {
        unlinkat(t->dir, n.s, 0);
        err = ENOMEM;
    }
    if (err)
        gone(t);
    return err;
}

int file_temp_open(struct file_temp *t, int dir, const char *folder, mode_t mode,
                   const struct file_watch *watch)
{
    *t = (struct file_temp){.fd = -1, .dir = dir, .folder = folder};
    if (watch)
        t->watch = *watch;
    return open_nameless(t, mode) ? 0 : make_name(t, mode);
}

/* Not over a file that is there. File systems that cannot tell the kernel so get the second best. */
static int rename_new(struct file_temp *t, const char *name)
{
    struct stat st;
    if (renameat2(t->dir, t->name, t->dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return file_errno();
    if (fstatat(t->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    return renameat(t->dir, t->name, t->dir, name) == 0 ? 0 : file_errno();
}

int file_temp_publish(struct file_temp *t, const char *name, bool replace)
{
    int err = 0;
    if (!t->name) {
        /* One call where nothing is to be replaced: so that even who is killed here leaves nothing behind. */
        err = file_link(t->fd, t->dir, name);
        if (!err)
            return 0;
        if (err == EEXIST && replace)
            err = make_name(t, 0);
    } else {
        /* Network file systems report a full disk only here. */
        int fd = t->fd;
        t->fd = -1;
        err = close(fd) == 0 ? 0 : file_errno();
    }
    if (!err && replace)
        err = renameat(t->dir, t->name, t->dir, name) == 0 ? 0 : file_errno();
    else if (!err)
        err = rename_new(t, name);
    if (!err)
        gone(t);
    return err;
}

void file_temp_close(struct file_temp *t)
{
    file_close(&t->fd);
    if (t->name) {
        unlinkat(t->dir, t->name, 0);
        gone(t);
    }
}
