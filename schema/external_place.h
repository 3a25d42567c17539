/* What schema/external.c and schema/external_place.c have of each other; nobody else includes this. */
#ifndef SACTAG_SCHEMA_EXTERNAL_PLACE_H
#define SACTAG_SCHEMA_EXTERNAL_PLACE_H

#include "schema/external.h"

#include <sys/stat.h>

static inline bool external_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Opens the folder that a location is in, from `dir`: *fd, which is the caller's to close in each case, and
 * the last component: *last, a part of the location. Follows no symbolic link. Folders that are missing are
 * made when `made` is not NULL, and noted there. 0 or an errno. */
int external_walk(int *fd, const char **last, int dir, const char *location, struct external_file *made);

/* Opens the data of one file, which must be a regular one and hold what the tensors say. *fd is the caller's
 * to close in each case. 0, IR_EINPUT or IR_EIO; reported. */
int external_open_data(int *fd, struct stat *st, const struct external *x, const struct external_file *f,
                       struct diag *d);

#endif
