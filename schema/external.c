/* What has to be brought along: which files the tensors refer to, and whether they are there and may be. */
#include "schema/external_place.h"

#include "ir/names.h"
#include "schema/onnx_fields.h"
#include "schema/wire.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- references: what the tensors say */

struct reference {
    struct str tensor; /* its name */
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

static void read_reference(struct reference *r, const struct ir_model *m, struct ir_span span)
{
    struct wire w = wire_over(m->bytes + span.off, span.len);
    struct wire_field f;
    *r = (struct reference){0};
    while (wire_next(&w, &f) == 1) {
        if (wire_is_len(&f, ONNX_TENSOR_EXTERNAL_DATA))
            read_entry(r, &f);
        else if (wire_is_len(&f, ONNX_TENSOR_NAME))
            r->tensor = wire_str(&f);
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
        uint64_t offset, length;
        read_reference(&r, m, m->external[i]);
        const char *why = plain_location(location, r.location);
        if (!why && (!number(r.offset, &offset) || !number(r.length, &length)))
            why = "has an offset or length that is none";
        if (why)
            return diag_error_at(d, IR_EINPUT, NULL, "external_data", m->external[i].off,
                                 "the external data of tensor '%.*s' ('%.*s') %s", STR_ARG(r.tensor),
                                 STR_ARG(r.location), why);
        rc = note_file(x, known, location, offset + length, d);
    }
    return rc;
}

/* ---- are they there? */

static int check_files(struct external *x, struct diag *d)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < x->n; i++) {
        struct stat st = {0};
        int fd = -1;
        rc = external_open_data(&fd, &st, x, &x->files[i], d);
        if (rc == 0) {
            x->files[i].size = (uint64_t)st.st_size;
            if (x->how == EXTERNAL_COPY)
                x->bytes += x->files[i].size;
        }
        file_close(&fd);
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
    bool same = external_walk(&dir, &last, from, location, NULL) == 0 && fstatat(dir, last, &st, 0) == 0 &&
                external_same_file(&st, out);
    file_close(&dir);
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
        read_reference(&r, m, m->external[i]);
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
    *same = external_same_file(&a, &b);
    return 0;
}

static const char unknown_hint[] =
    "the model has data in other files, and where they are is not known when it comes from a stream or from "
    "memory: keep leaves them to you (--external-data)";
static const char hint[] = "say how to bring it along: copy, hardlink, symlink, or keep to leave it to you "
                           "(--external-data)";

int external_open(struct external *x, const struct ir_model *m, const struct external_task *t, struct diag *d)
{
    struct names known;
    *x = (struct external){.from = -1, .to = -1, .how = t->how, .no_sync = t->no_sync};
    if (t->watch)
        x->watch = *t->watch;
    if (m->n_external == 0)
        return 0;
    int rc = t->in ? open_folder(&x->from, &x->from_path, t->in, d) : 0;
    if (rc == 0)
        rc = check_name(x, m, t->out, d);
    if (rc || t->how == EXTERNAL_KEEP)
        return rc;
    if (!t->in)
        return diag_error(d, IR_EUSAGE, "%s", unknown_hint);
    bool same = false;
    rc = open_folder(&x->to, &x->to_path, t->out, d);
    if (rc == 0)
        rc = same_folder(&same, x, d);
    if (rc || same)
        return rc;
    if (t->how == EXTERNAL_REFUSE)
        return diag_error(d, IR_EUSAGE, "the model has data in other files, which are not in %s: %s",
                          x->to_path, hint);
    names_init(&known);
    rc = note_references(x, &known, m, d);
    names_free(&known);
    return rc ? rc : check_files(x, d);
}

void external_close(struct external *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        free(x->files[i].location);
    free(x->files);
    free(x->from_path);
    free(x->to_path);
    file_close(&x->from);
    file_close(&x->to);
    *x = (struct external){.from = -1, .to = -1};
}
