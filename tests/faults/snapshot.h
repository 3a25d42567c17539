/* All that a folder holds, kept in memory: to see what a run has changed, and to put things back. */
#ifndef SACTAG_TESTS_FAULTS_SNAPSHOT_H
#define SACTAG_TESTS_FAULTS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct entry {
    char path[512]; /* from the folder */
    mode_t mode;
    char *bytes; /* a file's; what a symbolic link says */
    size_t n;
};

struct snapshot {
    struct entry *list; /* sorted by path */
    size_t n;
};

/* These end the test when the system does not do as it should. */
void snapshot_take(struct snapshot *s, const char *folder);
/* Makes the folder hold exactly this. `now`: what it holds. */
void snapshot_restore(const struct snapshot *s, const struct snapshot *now, const char *folder);
void snapshot_free(struct snapshot *s);

const struct entry *snapshot_find(const struct snapshot *s, const char *path);
bool entry_same(const struct entry *a, const struct entry *b);
bool snapshot_same(const struct snapshot *a, const struct snapshot *b);

/* A whole file, with a NUL behind it. */
char *read_whole(int fd, size_t *n);
_Noreturn void give_up(const char *what, const char *name);

#endif
