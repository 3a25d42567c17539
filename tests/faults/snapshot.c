#include "tests/faults/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void give_up(const char *what, const char *name)
{
    fprintf(stderr, "faults: cannot %s %s: %s\n", what, name, strerror(errno));
    exit(70);
}

char *read_whole(int fd, size_t *n)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        give_up("look at", "a file");
    char *p = malloc((size_t)st.st_size + 1);
    if (!p)
        give_up("hold", "a file");
    *n = 0;
    while (*n < (size_t)st.st_size) {
        ssize_t k = pread(fd, p + *n, (size_t)st.st_size - *n, (off_t)*n);
        if (k <= 0)
            break;
        *n += (size_t)k;
    }
    p[*n] = '\0';
    return p;
}

static void take_entry(struct entry *e, int folder)
{
    struct stat st;
    if (fstatat(folder, e->path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        give_up("look at", e->path);
    e->mode = st.st_mode;
    if (S_ISREG(st.st_mode)) {
        int fd = openat(folder, e->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            give_up("open", e->path);
        e->bytes = read_whole(fd, &e->n);
        close(fd);
    } else if (S_ISLNK(st.st_mode)) {
        e->bytes = calloc(1, 4096);
        ssize_t n = e->bytes ? readlinkat(folder, e->path, e->bytes, 4095) : -1;
        if (n < 0)
            give_up("read", e->path);
        e->n = (size_t)n;
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* What is in one folder below `folder` is added; folders found wait in the list for their turn. */
static void take_folder(struct snapshot *s, int folder, const char *path)
{
    int fd = openat(folder, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    if (!dir)
        give_up("open", path);
    while ((d = readdir(dir))) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        s->list = realloc(s->list, (s->n + 1) * sizeof *s->list);
        if (!s->list)
            give_up("hold", path);
        struct entry *e = &s->list[s->n++];
        memset(e, 0, sizeof *e);
        int n = snprintf(e->path, sizeof e->path, "%s%s%s", path, *path ? "/" : "", d->d_name);
        if (n < 0 || (size_t)n >= sizeof e->path)
            give_up("name", d->d_name);
        take_entry(e, folder);
    }
    closedir(dir);
}

void snapshot_take(struct snapshot *s, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *s = (struct snapshot){0};
    if (fd < 0)
        give_up("open", folder);
    take_folder(s, fd, "");
    for (size_t i = 0; i < s->n; i++)
        if (S_ISDIR(s->list[i].mode)) {
            char path[sizeof s->list[i].path];
            strcpy(path, s->list[i].path);
            take_folder(s, fd, path);
        }
    close(fd);
    if (s->n)
        qsort(s->list, s->n, sizeof *s->list, by_path);
}

static void make(const struct entry *e, int folder)
{
    int fd = -1, rc = 0;
    if (S_ISDIR(e->mode))
        rc = mkdirat(folder, e->path, 0777);
    else if (S_ISLNK(e->mode))
        rc = symlinkat(e->bytes, folder, e->path);
    else if (S_ISFIFO(e->mode))
        rc = mkfifoat(folder, e->path, 0666);
    else
        fd = openat(folder, e->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (S_ISREG(e->mode) && (fd < 0 || write(fd, e->bytes, e->n) != (ssize_t)e->n || close(fd) != 0))
        rc = -1;
    if (rc == 0 && !S_ISLNK(e->mode))
        rc = fchmodat(folder, e->path, e->mode & 07777, 0);
    if (rc != 0)
        give_up("make", e->path);
}

void snapshot_restore(const struct snapshot *s, const struct snapshot *now, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        give_up("open", folder);
    for (size_t i = now->n; i-- > 0;) { /* what is in a folder comes behind it */
        const struct entry *e = &now->list[i], *was = snapshot_find(s, e->path);
        if (!(was && entry_same(was, e)) && unlinkat(fd, e->path, S_ISDIR(e->mode) ? AT_REMOVEDIR : 0) != 0)
            give_up("remove", e->path);
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->list[i], *is = snapshot_find(now, e->path);
        if (!(is && entry_same(is, e)))
            make(e, fd);
    }
    close(fd);
}

void snapshot_free(struct snapshot *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->list[i].bytes);
    free(s->list);
    *s = (struct snapshot){0};
}

const struct entry *snapshot_find(const struct snapshot *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->list[i].path, path) == 0)
            return &s->list[i];
    return NULL;
}

bool entry_same(const struct entry *a, const struct entry *b)
{
    return a->mode == b->mode && a->n == b->n && (a->n == 0 || memcmp(a->bytes, b->bytes, a->n) == 0);
}

bool snapshot_same(const struct snapshot *a, const struct snapshot *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].path, b->list[i].path) != 0 || !entry_same(&a->list[i], &b->list[i]))
            return false;
    return true;
}
