#include "schema/external.h"

#include "ir/names.h"
#include "schema/onnx_fields.h"
#include "schema/wire.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPARE_PIECE = 64 * 1024 };

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- references: what the tensors say */

struct reference {
    struct str location, offset, length;
};

static void read_entry(struct reference *r, const struct wire_field *entry)
{
    struct wire w = wire_into(entry);
    struct wire_field f;
    struct str key = {0}, value = {0};
    while (wire_next(&w, &f) == 1) {
        if (wire_is_len(&f, ONNX_ENTRY_KEY))
            key = wire_str(&f);
        else if (wire_is_len(&f, ONNX_ENTRY_VALUE))
            value = wire_str(&f);
    }
    if (str_is(key, "location"))
        r->location = value;
    else if (str_is(key, "offset"))
        r->offset = value;
    else if (str_is(key, "length"))
        r->length = value;
}

static void read_tensor(struct reference *r, struct str *name, const struct ir_model *m, struct ir_span span)
{
    struct wire w = wire_over(m->bytes + span.off, span.len);
    struct wire_field f;
    *r = (struct reference){0};
    *name = (struct str){0};
    while (wire_next(&w, &f) == 1) {
        if (wire_is_len(&f, ONNX_TENSOR_EXTERNAL_DATA))
            read_entry(r, &f);
        else if (wire_is_len(&f, ONNX_TENSOR_NAME))
            *name = wire_str(&f);
    }
}

/* A decimal number that a file size can be; empty text is 0. */
static bool number(struct str s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9' || *out > (INT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(s.s[i] - '0');
    }
    return true;
}

/* The next component of a path; false at its end. */
static bool component(struct str *rest, struct str *c)
{
    while (rest->n && rest->s[0] == '/')
        *rest = str_sub(*rest, 1, rest->n - 1);
    if (!rest->n)
        return false;
    ptrdiff_t slash = str_chr(*rest, '/');
    *c = str_sub(*rest, 0, slash < 0 ? rest->n : (size_t)slash);
    *rest = str_sub(*rest, c->n, rest->n - c->n);
    return true;
}

/* Why a location cannot be followed, or NULL; then its plain form, which is no longer, is in `out`. */
static const char *plain_location(char *out, struct str location)
{
    struct str rest = location, c;
    size_t n = 0;
    if (!location.n)
        return "has no location";
    if (location.n > EXTERNAL_LOCATION_MAX)
        return "has a location that is too long";
    if (str_chr(location, '\0') >= 0)
        return "has a location with a NUL in it";
    if (location.s[0] == '/')
        return "is outside the model's folder: its location is an absolute path";
    while (component(&rest, &c)) {
        if (str_is(c, ".."))
            return "is outside the model's folder: its location has '..' in it";
        if (c.n > NAME_MAX)
            return "has a location that is too long";
        if (str_is(c, "."))
            continue;
        if (n)
            out[n++] = '/';
        memcpy(out + n, c.s, c.n);
        n += c.n;
    }
    out[n] = '\0';
    if (n == 0 || location.s[location.n - 1] == '/')
        return "has a location that is no file";
    return NULL;
}

static int bad_reference(struct diag *d, const struct ir_model *m, uint32_t i, struct str name,
                         struct str location, const char *why)
{
    return diag_error_at(d, IR_EINPUT, NULL, "external_data", m->external[i].off,
                         "the external data of tensor '%.*s' ('%.*s') %s", STR_ARG(name), STR_ARG(location),
                         why);
}

/* Notes a file, or that more of a known one is needed. */
static int note_file(struct external *x, struct names *known, const char *location, uint64_t need,
                     struct diag *d)
{
    uint32_t id = names_find(known, str_of(location));
    if (id == NAME_NONE) {
        if (grow(&x->files, &x->cap, (size_t)x->n + 1, sizeof *x->files) != 0)
            return diag_nomem(d);
        char *own = strdup(location);
        x->files[x->n] = (struct external_file){.location = own};
        if (!own)
            return diag_nomem(d);
        x->n++;
        id = names_intern(known, str_of(own));
        if (id == NAME_NONE)
            return diag_nomem(d);
    }
    if (need > x->files[id].need)
        x->files[id].need = need;
    return 0;
}

static int note_references(struct external *x, struct names *known, const struct ir_model *m, struct diag *d)
{
    char location[EXTERNAL_LOCATION_MAX + 1];
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < m->n_external; i++) {
        struct reference r;
        struct str name;
        uint64_t offset, length;
        read_tensor(&r, &name, m, m->external[i]);
        const char *why = plain_location(location, r.location);
        if (!why && (!number(r.offset, &offset) || !number(r.length, &length)))
            why = "has an offset or length that is none";
        if (why)
            return bad_reference(d, m, i, name, r.location, why);
        rc = note_file(x, known, location, offset + length, d);
    }
    return rc;
}

/* ---- walking */

static int not_safe(struct diag *d, const char *folder, const char *location, int err)
{
    const char *why =
        err == ELOOP || err == ENOTDIR ? "a part of its path is a symbolic link or no folder" : strerror(err);
    return diag_error(d, err == ELOOP || err == ENOTDIR ? IR_EINPUT : IR_EIO, "external data '%s' in %s: %s",
                      location, folder, why);
}

/* Opens the folder that a location is in, from `dir`: *fd, and the last component: *last. Folders that are
 * missing are made when `made` is not NULL, and noted there. 0 or an errno. */
static int walk(int *fd, const char **last, int dir, const char *location, struct external_file *made)
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
        close_fd(fd);
        *fd = next;
    }
    *last = at;
    return err;
}

/* Opens the data of one file. */
static int open_data(int *fd, struct stat *st, const struct external *x, const struct external_file *f,
                     struct diag *d)
{
    const char *last;
    int dir;
    int err = walk(&dir, &last, x->from, f->location, NULL);
    *fd = -1;
    if (!err) {
        *fd = openat(dir, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        err = *fd < 0 || fstat(*fd, st) != 0 ? file_errno() : 0;
    }
    close_fd(&dir);
    if (err == ENXIO) /* a socket, a FIFO */
        return diag_error(d, IR_EINPUT, "external data '%s' in %s is no regular file", f->location,
                          x->from_path);
    if (err)
        return not_safe(d, x->from_path, f->location, err);
    if (!S_ISREG(st->st_mode))
        return diag_error(d, IR_EINPUT, "external data '%s' in %s is no regular file", f->location,
                          x->from_path);
    if ((uint64_t)st->st_size < f->need)
        return diag_error(d, IR_EINPUT,
                          "external data '%s' in %s: expected %llu bytes or more but found %llu", f->location,
                          x->from_path, (unsigned long long)f->need, (unsigned long long)st->st_size);
    return 0;
}

static int check_files(struct external *x, struct diag *d)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < x->n; i++) {
        struct stat st = {0};
        int fd = -1;
        rc = open_data(&fd, &st, x, &x->files[i], d);
        if (rc == 0) {
            x->files[i].size = (uint64_t)st.st_size;
            if (x->how == EXTERNAL_COPY)
                x->bytes += x->files[i].size;
        }
        close_fd(&fd);
    }
    return rc;
}

/* ---- opening */

/* Is a location, from a folder, the file `out`? */
static bool is_file(int from, const char *location, const struct stat *out)
{
    struct stat st;
    const char *last;
    int dir;
    bool same = walk(&dir, &last, from, location, NULL) == 0 && fstatat(dir, last, &st, 0) == 0 &&
                st.st_dev == out->st_dev && st.st_ino == out->st_ino;
    close_fd(&dir);
    return same;
}

/* A model must not be written over its own data, nor to where they will be. */
static int check_name(const struct external *x, const struct ir_model *m, const char *out, struct diag *d)
{
    char location[EXTERNAL_LOCATION_MAX + 1];
    const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
    struct stat st;
    bool there = x->from >= 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode);
    for (uint32_t i = 0; i < m->n_external; i++) {
        struct reference r;
        struct str tensor;
        read_tensor(&r, &tensor, m, m->external[i]);
        if (plain_location(location, r.location))
            continue;
        if (strcmp(location, name) == 0 || (there && is_file(x->from, location, &st)))
            return diag_error(d, IR_EUSAGE, "'%s' is the model's external data: write it under another name",
                              location);
    }
    return 0;
}

/* The folder that a path is in. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

static int open_folder(int *fd, char **path, const char *of, struct diag *d)
{
    *path = folder_of(of);
    if (!*path)
        return diag_nomem(d);
    *fd = open(*path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *fd < 0 ? diag_error(d, IR_EIO, "cannot open %s: %s", *path, strerror(errno)) : 0;
}

static int same_folder(bool *same, const struct external *x, struct diag *d)
{
    struct stat a, b;
    if (fstat(x->from, &a) != 0 || fstat(x->to, &b) != 0)
        return diag_error(d, IR_EIO, "cannot compare %s with %s: %s", x->from_path, x->to_path,
                          strerror(errno));
    *same = a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return 0;
}

static const char unknown_hint[] =
    "the model has data in other files, and where they are is not known when it comes from a stream or from "
    "memory: keep leaves them to you (--external-data)";
static const char hint[] = "say how to bring it along: copy, hardlink, symlink, or keep to leave it to you "
                           "(--external-data)";

int external_open(struct external *x, const struct ir_model *m, const char *in, const char *out,
                  enum external_how how, bool no_sync, const struct file_watch *watch, struct diag *d)
{
    struct names known;
    *x = (struct external){.from = -1, .to = -1, .how = how, .no_sync = no_sync};
    if (watch)
        x->watch = *watch;
    if (m->n_external == 0)
        return 0;
    int rc = in ? open_folder(&x->from, &x->from_path, in, d) : 0;
    if (rc == 0)
        rc = check_name(x, m, out, d);
    if (rc || how == EXTERNAL_KEEP)
        return rc;
    if (!in)
        return diag_error(d, IR_EUSAGE, "%s", unknown_hint);
    bool same = false;
    rc = open_folder(&x->to, &x->to_path, out, d);
    if (rc == 0)
        rc = same_folder(&same, x, d);
    if (rc || same)
        return rc;
    if (how == EXTERNAL_REFUSE)
        return diag_error(d, IR_EUSAGE, "the model has data in other files, which are not in %s: %s",
                          x->to_path, hint);
    names_init(&known);
    rc = note_references(x, &known, m, d);
    names_free(&known);
    return rc ? rc : check_files(x, d);
}

/* ---- what is there already */

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
static int already_there(bool *good, int dir, const char *name, int data, const struct stat *st,
                         enum external_how how)
{
    struct stat there;
    *good = false;
    if (fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return file_errno();
    if (S_ISLNK(there.st_mode)) { /* a link is what we would make only when links are asked for */
        if (how != EXTERNAL_SYMLINK || fstatat(dir, name, &there, 0) != 0)
            return 0;
        *good = there.st_dev == st->st_dev && there.st_ino == st->st_ino;
        return 0;
    }
    if (there.st_dev == st->st_dev && there.st_ino == st->st_ino) {
        *good = true;
        return 0;
    }
    if (!S_ISREG(there.st_mode) || there.st_size != st->st_size)
        return 0;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return file_errno();
    int err = compare(good, data, fd, (uint64_t)st->st_size);
    close_fd(&fd);
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

static int place_copy(const struct external *x, int dir, const char *name, int data, const struct stat *st,
                      const char *location, const struct file_copy *progress)
{
    struct file_temp t;
    char *folder;
    if (asprintf(&folder, "%s/%.*s", x->to_path, (int)(name - location), location) < 0)
        return ENOMEM;
    int err = file_temp_open(&t, dir, folder, st->st_mode & 0777, &x->watch);
    if (!err)
        err = file_copy_all(data, t.fd, progress);
    if (!err) /* it may have become shorter meanwhile */
        err = as_long_as(t.fd, st->st_size);
    if (!err && !x->no_sync)
        err = file_flush(t.fd);
    if (!err)
        err = file_temp_publish(&t, name, false);
    file_temp_close(&t);
    free(folder);
    return err;
}

/* From the descriptor, so that it is the file that was looked at. */
static int place_hardlink(int dir, const char *name, int data)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", data);
    return linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : file_errno();
}

static int place_symlink(const struct external *x, int dir, const char *name, const char *location)
{
    char *folder = realpath(x->from_path, NULL), *target = NULL;
    int err = folder ? 0 : file_errno();
    if (!err && asprintf(&target, "%s/%s", folder, location) < 0) {
        target = NULL;
        err = ENOMEM;
    }
    if (!err && symlinkat(target, dir, name) != 0)
        err = file_errno();
    free(folder);
    free(target);
    return err;
}

static int place_new(const struct external *x, int dir, const char *name, int data, const struct stat *st,
                     const char *location, const struct file_copy *progress)
{
    switch (x->how) {
    case EXTERNAL_COPY:
        return place_copy(x, dir, name, data, st, location, progress);
    case EXTERNAL_HARDLINK:
        return place_hardlink(dir, name, data);
    case EXTERNAL_SYMLINK:
        return place_symlink(x, dir, name, location);
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
    close_fd(&fd);
    return err;
}

static int place_file(struct external *x, struct external_file *f, const struct file_copy *progress,
                      struct diag *d)
{
    struct stat st = {0};
    const char *name = NULL;
    int data = -1, dir = -1;
    bool good = false;
    int rc = open_data(&data, &st, x, f, d);
    if (rc) {
        close_fd(&data);
        return rc;
    }
    int err = walk(&dir, &name, x->to, f->location, f);
    if (!err)
        err = already_there(&good, dir, name, data, &st, x->how);
    if (err == ENOENT) {
        /* A comparison that found nothing to compare has read nothing. */
        err = place_new(x, dir, name, data, &st, f->location, progress);
        f->made = err == 0;
        if (!err && !x->no_sync)
            err = flush_folder(dir);
        good = true;
    }
    close_fd(&data);
    close_fd(&dir);
    if (err == EXDEV)
        return diag_error(d, IR_EIO,
                          "cannot link '%s' into %s: it lies on another file system; copy it instead",
                          f->location, x->to_path);
    if (err)
        return diag_error(
            d, err == ENOMEM ? IR_EMEM : IR_EIO, "cannot write '%s' into %s: %s", f->location, x->to_path,
            err == ELOOP || err == ENOTDIR ? "a part of its path is a symbolic link or no folder"
                                           : strerror(err));
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
    if (walk(&dir, &last, top, path, NULL) == 0)
        unlinkat(dir, last, flags);
    close_fd(&dir);
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

void external_close(struct external *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        free(x->files[i].location);
    free(x->files);
    free(x->from_path);
    free(x->to_path);
    close_fd(&x->from);
    close_fd(&x->to);
    *x = (struct external){.from = -1, .to = -1};
}
