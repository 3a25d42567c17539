#include "schema/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COPY_PIECE = 256 * 1024,
    RANGE_PIECE = 64 * 1024 * 1024, /* small enough to show progress */
    SYMLINKS_MAX = 40,              /* as the kernel allows in one path */
    TEMP_TRIES = 100
};

static int fail(struct diag *d, int err, const char *what, const char *path)
{
    if (err == ENOMEM)
        return diag_error(d, IR_EMEM, "cannot %s %s: %s", what, path, strerror(err));
    return diag_error(d, IR_EIO, "cannot %s %s: %s", what, path, strerror(err));
}

/* Closes without disturbing errno. */
static void close_quietly(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

/* ---- copying */

/* Waits until a descriptor that must not block can take more. */
static int wait_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, -1) < 0 && errno != EINTR ? file_errno() : 0;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EAGAIN) {
            int err = wait_writable(fd);
            if (err)
                return err;
        } else if (k < 0 && errno != EINTR) {
            return file_errno();
        } else if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

static void progressed(const struct file_copy *how, ssize_t n)
{
    if (how && how->progress)
        how->progress(how->ctx, (uint64_t)n);
}

/* Copies within the kernel until the end. Returns an errno when it can do no (more) work; *any tells whether
 * it did some. */
static int copy_ranges(int in, int out, const struct file_copy *how, bool *any)
{
    for (;;) {
        ssize_t k = copy_file_range(in, NULL, out, NULL, RANGE_PIECE, 0);
        if (k < 0 && errno != EINTR)
            return file_errno();
        if (k == 0)
            return 0;
        if (k > 0) {
            *any = true;
            progressed(how, k);
        }
    }
}

static int copy_pieces(int in, int out, const struct file_copy *how)
{
    char *buf = malloc(COPY_PIECE);
    int err = buf ? 0 : ENOMEM;
    while (!err) {
        ssize_t k = read(in, buf, COPY_PIECE);
        if (k < 0 && errno != EINTR)
            err = file_errno();
        if (k == 0)
            break;
        if (k > 0)
            err = file_write_all(out, buf, (size_t)k);
        if (k > 0 && !err)
            progressed(how, k);
    }
    free(buf);
    return err;
}

int file_copy_all(int in, int out, const struct file_copy *how)
{
    bool any = false;
    int err = copy_ranges(in, out, how, &any);
    /* Special files in /proc say 0 at once though they hold something: only reading tells. Whatever
     * copy_file_range() cannot do, plain reading and writing goes on with from where it stopped, and it is
     * reading and writing that says what is wrong. */
    if (err == 0 && any)
        return 0;
    return copy_pieces(in, out, how);
}

/* ---- temporary files */

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

/* A file without a name, if that is possible here and it can be given one later. */
static bool open_nameless(struct file_temp *t, mode_t mode)
{
    struct stat st;
    t->fd = openat(t->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (t->fd < 0)
        return false;
    if (lstat(fd_link(t->fd).s, &st) == 0)
        return true;
    close_quietly(&t->fd);
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
            err = linkat(AT_FDCWD, fd_link(t->fd).s, t->dir, n.s, AT_SYMLINK_FOLLOW) == 0 ? 0 : file_errno();
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
        if (linkat(AT_FDCWD, fd_link(t->fd).s, t->dir, name, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        err = errno == EEXIST && replace ? make_name(t, 0) : file_errno();
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
    close_quietly(&t->fd);
    if (t->name) {
        unlinkat(t->dir, t->name, 0);
        gone(t);
    }
}

int file_flush(int fd)
{
    if (fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP || errno == EBADF)
        return 0;
    return file_errno();
}

/* ---- input */

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
    close_quietly(&at);
    return err;
}

static int spool(struct file_in *f, int fd, const char *name, struct diag *d)
{
    const char *dir = temp_dir();
    int err = open_unlinked(&f->fd, dir);
    if (err)
        return fail(d, err, "create a temporary file in", dir);
    err = copy_pieces(fd, f->fd, NULL);
    if (err == ENOSPC || err == EDQUOT || err == EFBIG)
        return fail(d, err, "copy the input to a temporary file in", dir);
    return err ? fail(d, err, "read", name) : 0;
}

static int map(struct file_in *f, const char *name, struct diag *d)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return fail(d, file_errno(), "read", name);
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->bytes = (const uint8_t *)"";
    if (st.st_size == 0)
        return 0;
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return fail(d, EFBIG, "map", name);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (p == MAP_FAILED)
        return fail(d, file_errno(), "map", name);
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
        return fail(d, file_errno(), "read", name);
    if (S_ISDIR(st.st_mode))
        return fail(d, EISDIR, "read", name);
    if (!mappable(&st, fd))
        return spool(f, fd, name, d);
    f->fd = own ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return f->fd < 0 ? fail(d, file_errno(), "read", name) : 0;
}

/* `own`: fd is ours to close. */
static int load(struct file_in *f, int fd, bool own, const char *name, struct diag *d)
{
    int rc = take(f, fd, own, name, d);
    if (own && f->fd != fd)
        close_quietly(&fd);
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
        return fail(d, ENOMEM, "open", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int rc = fail(d, file_errno(), "open", path);
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
        return fail(d, file_errno(), "read", name);
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

/* ---- output */

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
    return fail(d, err, "write", path);
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
    int rc = err ? fail(d, err, "write", o->path) : 0;
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
        close_quietly(&o->fd);
    file_temp_close(&o->temp);
    close_quietly(&o->dir);
    free(o->path);
    free(o->folder);
    free(o->name);
    *o = (struct file_out){.fd = -1, .dir = -1, .temp = {.fd = -1}};
}
