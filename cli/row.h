/* One line of a table, put together before it is written: a cell takes less than a call that writes it. */
#ifndef SACTAG_CLI_ROW_H
#define SACTAG_CLI_ROW_H

#include <sactag.h>

#include <stdio.h>

struct row {
    FILE *f;
    size_t n; /* of text */
    char text[512];
};

void row_begin(struct row *r, FILE *f);

/* Adds bytes as they are, or text escaped; the latter returns its width on a terminal. What does not fit is
 * written at once. */
void row_put(struct row *r, const char *s, size_t n);
size_t row_text(struct row *r, struct sactag_text t);

/* A word, as it is. Returns its length. */
size_t row_word(struct row *r, const char *word);

/* Blanks from column `width` up to column `to`. */
void row_pad(struct row *r, size_t width, size_t to);

/* The same, but two at least, so that a cell wider than its column stays apart from the next. */
void row_gap(struct row *r, size_t width, size_t to);

/* ---- cells: with NULL as `r` they are only measured ---- */

#define CELL_MOST 64 /* longer texts do not widen their column */

size_t cell_text(struct row *r, struct sactag_text t);

/* The module within its block, or in parentheses what else tells the node: its name, or its output's. */
size_t cell_name(struct row *r, const struct sactag_row *x);

/* Makes a column as wide as a cell. */
void widen(size_t *column, size_t width);

/* Writes what is there. Write errors stay with the FILE. */
void row_flush(struct row *r);

/* Ends the line and writes it. */
void row_end(struct row *r);

#endif
