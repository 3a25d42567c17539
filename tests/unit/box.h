/* A folder for one test, and looking at what is in it. */
#ifndef SACTAG_TESTS_BOX_H
#define SACTAG_TESTS_BOX_H

#include "ir/diag.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct box {
    char dir[64];
    char path[256]; /* of the last name asked for */
    struct diag d;
};

static inline void box_open(struct box *b)
{
    strcpy(b->dir, "/tmp/sactag-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    diag_init(&b->d);
}

static inline const char *in(struct box *b, const char *name)
{
    snprintf(b->path, sizeof b->path, "%s/%s", b->dir, name);
    return b->path;
}

static inline void box_close(struct box *b)
{
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -rf %s", b->dir);
    cr_assert_eq(system(cmd), 0);
    diag_free(&b->d);
}

/* Names in a folder, hidden ones too. */
static inline int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    cr_assert_not_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s cannot be made", path);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

static inline void holds(const char *path, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s is missing", path);
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    got[n] = '\0';
    cr_assert_str_eq(got, text);
}

/* One message, with this in it. */
static inline void says(struct diag *d, const char *text)
{
    cr_assert_eq(d->n, 1, "%zu messages", d->n);
    cr_assert_not_null(strstr(d->items[0].message, text), "\"%s\" does not say \"%s\"", d->items[0].message,
                       text);
    diag_free(d);
}

#endif
