/* The three formats of `sactag diff`. docs/FORMATS.md is their contract. */
#ifndef SACTAG_CLI_PRINT_DIFF_H
#define SACTAG_CLI_PRINT_DIFF_H

#include "cli/options.h"
#include "cli/print.h"

/* One of the two that are compared. */
struct diff_side {
    const char *name; /* as given, without folders when it is absolute; "-" for standard input */
    const char *kind; /* "model", "tags" of a model, "plan" for a plan file */
    const sactag_plan *plan;
};

struct diff_page {
    FILE *f;
    bool color;
    const struct options *o;
    struct diff_side a, b;
    const sactag_changes *changes;
};

/* One change, with its rows. */
struct diff_line {
    struct sactag_change c;
    struct sactag_row a, b;      /* empty where there is none */
    const struct sactag_row *at; /* b, or a when it was removed */
    bool counts;                 /* it is one that is looked for */
};

void diff_line(const struct diff_page *p, size_t i, struct diff_line *x);

/* Is this change one that is looked for? */
static inline bool change_counts(const struct diff_page *p, const struct sactag_change *c)
{
    return c->kind != SACTAG_SAME && (c->kind != SACTAG_REASON || p->o->reasons);
}

/* A hunk of the options that differ, if any do. False when memory is exhausted. */
bool put_option_changes(const struct diff_page *p);

/* Return 0 or an exit code; write errors stay with the FILE. */
int print_diff(const struct diff_page *p);
int print_diff_text(const struct diff_page *p);
int print_diff_tsv(const struct diff_page *p);
int print_diff_json(const struct diff_page *p);

#endif
