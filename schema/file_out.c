/* The output: where it goes, and putting it there in one step. */
#include "schema/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMLINKS_MAX 40 /* as the kernel allows in one path */

/* The number in "/dev/fd/3" and the like, which name a descriptor of our own; -1 if it is none. Opening such
 * a name anew would start at the file's beginning and lose what others wrote before us. */
static int own_descriptor(const char *path)
{
    static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        size_t n = strlen(dirs[i]);
        if (strncmp(path, dirs[i], n) != 0 || !isdigit((unsigned char)path[n]))
            continue;
        char *end;
        long fd = strtol(path + n, &end, 10);
        if (*end == '\0' && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

/* Length of the directory part, with its slash. */
static size_t dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* What a link says, seen from where the link stands; frees `path`. NULL and errno on failure. */
static char *follow(char *path)
{
    char text[PATH_MAX];
    ssize_t n = readlink(path, text, sizeof text - 1);
    size_t dir = dir_len(path);
    char *to = NULL;
    if (n > 0 && n < (ssize_t)sizeof text - 1) {
        text[n] = '\0';
        dir = text[0] == '/' ? 0 : dir;
        to = malloc(dir + (size_t)n + 1);
        if (to) {
            memcpy(to, path, dir);
            memcpy(to + dir, text, (size_t)n + 1);
        } else {
            errno = ENOMEM;
        }
    } else if (n >= 0) {
        errno = ENAMETOOLONG;
    }
    int saved = errno;
    free(path);
    errno = saved;
    return to;
}

/* What lies at the end of a chain of symlinks: *target (to be freed), and its status (st_mode 0 if there is
 * nothing); or *fd, when it is a descriptor of our own. 0 or an errno. */
static int resolve(char **target, struct stat *st, int *fd, const char *path)
{
    char *p = strdup(path);
    *target = NULL;
    *fd = -1;
    for (int i = 0; p && i <= SYMLINKS_MAX; i++) {
        *fd = own_descriptor(p);
        if (*fd >= 0) {
            free(p);
            return 0;
        }
        if (lstat(p, st) != 0) {
            if (errno != ENOENT) {
                int err = file_errno();
                free(p);
                return err;
            }
            st->st_mode = 0;
        }
        if (!S_ISLNK(st->st_mode)) {
            *target = p;
            return 0;
        }
        p = follow(p);
    }
    int err = p ? ELOOP : file_errno();
    free(p);
    return err;
}

static bool is_stream(const struct stat *st, int own)
{
    return own >= 0 || (st->st_mode && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode));
}

bool file_out_through(const char *path)
{
    struct stat st;
    char *target;
    int own;
    bool through = resolve(&target, &st, &own, path) == 0 && is_stream(&st, own);
    free(target);
    return through;
}

static int open_through(struct file_out *o, const char *target, int own)
{
    o->through = true;
    o->fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return o->fd < 0 ? file_errno() : 0;
}

static int open_target(struct file_out *o, const char *target, const struct stat *st,
                       const struct file_watch *watch)
{
    size_t n = dir_len(target);
    o->folder = n ? strndup(target, n) : strdup(".");
    o->name = strdup(target + n);
    if (!o->folder || !o->name)
        return ENOMEM;
    o->dir = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->dir < 0 && errno == EACCES) /* may still be written to; it cannot be flushed then */
        o->dir = open(o->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (o->dir < 0)
        return file_errno();
    if (!*o->name) /* "name/" */
        return EISDIR;
    mode_t mode = 0666;
    if (S_ISREG(st->st_mode)) {
        if (faccessat(o->dir, o->name, W_OK, AT_EACCESS) != 0)
            return file_errno();
        o->exists = true;
        o->mode = st->st_mode & 07777;
        o->uid = st->st_uid;
        o->gid = st->st_gid;
        mode = 0600; /* nobody may read it meanwhile who could not read the old file */
    }
    int err = file_temp_open(&o->temp, o->dir, o->folder, mode, watch);
    o->fd = o->temp.fd;
    return err;
}

int file_out_open(struct file_out *o, const char *path, bool no_sync, const struct file_watch *watch,
                  struct diag *d)
{
    *o = (struct file_out){.fd = -1, .dir = -1, .no_sync = no_sync, .temp = {.fd = -1}, .path = strdup(path)};
    struct stat st = {0};
    char *target = NULL;
    int own = -1;
    int err = o->path ? resolve(&target, &st, &own, path) : ENOMEM;
    if (!err && own < 0 && S_ISDIR(st.st_mode))
        err = EISDIR;
    else if (!err && is_stream(&st, own))
        err = open_through(o, target, own);
    else if (!err)
        err = open_target(o, target, &st, watch);
    free(target);
    if (!err)
        return 0;
    file_out_abort(o);
    return file_fail(d, err, "write", path);
}

/* Gives the new file what belonged to the old one. Who may not give files away keeps the group alone, or
 * nothing; then the bits that lend the owner's rights go as well. */
static int keep_owner_and_mode(const struct file_out *o)
{
    struct stat now;
    mode_t mode = o->mode;
    if (fstat(o->fd, &now) != 0)
        return file_errno();
    if (now.st_uid != o->uid || now.st_gid != o->gid) {
        if (fchown(o->fd, o->uid, o->gid) != 0) {
            mode &= (mode_t) ~(S_ISUID | S_ISGID);
            if (fchown(o->fd, (uid_t)-1, o->gid) != 0 && errno != EPERM)
                return file_errno();
        }
    }
    return fchmod(o->fd, mode) == 0 ? 0 : file_errno();
}

int file_out_commit(struct file_out *o, struct diag *d)
{
    int err = 0;
    if (o->exists)
        err = keep_owner_and_mode(o);
    if (!err && !o->no_sync)
        err = file_flush(o->fd);
    if (!err && o->through) {
        int fd = o->fd;
        o->fd = -1;
        err = close(fd) == 0 ? 0 : file_errno();
    } else if (!err) {
        err = file_temp_publish(&o->temp, o->name, true);
    }
    int rc = err ? file_fail(d, err, "write", o->path) : 0;
    if (!err && !o->no_sync && !o->through) {
        /* Too late to fail: the new file is in its place, whole. */
        err = file_flush(o->dir);
        if (err)
            diag_warn(d, "%s is written, but a power failure may undo that: cannot flush its folder: %s",
                      o->path, strerror(err));
    }
    file_out_abort(o);
    return rc;
}

void file_out_abort(struct file_out *o)
{
    if (o->through)
        file_close(&o->fd);
    file_temp_close(&o->temp);
    file_close(&o->dir);
    free(o->path);
    free(o->folder);
    free(o->name);
    *o = (struct file_out){.fd = -1, .dir = -1, .temp = {.fd = -1}};
}
