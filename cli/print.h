/* The three formats: text for people, tsv and json for programs. docs/FORMATS.md is their contract. */
#ifndef SACTAG_CLI_PRINT_H
#define SACTAG_CLI_PRINT_H

#include "cli/input.h"
#include "cli/options.h"
#include "cli/out.h"

#include <string.h>

/* What is printed, and about what. */
struct page {
    FILE *f;
    bool color;
    bool tags; /* the plan was read from a file's tags, not decided */
    const struct options *o;
    struct input *in;
    const sactag_plan *plan;
};

/* In the format that the options ask for. Return 0 or an exit code; write errors stay with the FILE. */
int print_plan(const struct page *p);
int print_linears(const struct page *p);

int print_plan_text(const struct page *p);
int print_plan_tsv(const struct page *p);
int print_plan_json(const struct page *p);
int print_linears_text(const struct page *p);
int print_linears_tsv(const struct page *p);
int print_linears_json(const struct page *p);

/* The forced shapes of all blocks as notes about `file`, one line each, equal neighbours merged: "sactag:
 * FILE: layers.0-31: forced rhs 4096x64 (moe.router.gate); also forces attention.wo". False when memory is
 * exhausted. */
bool print_forced(FILE *f, const sactag_plan *plan, const char *file);

/* The `put` of the library's functions that print; ctx is the FILE. A file that cannot be written stops them,
 * too: that is reported when it is closed, and `input_printed` turns the status into an exit code. */
int put_piece(void *ctx, const char *text, size_t n);
int input_printed(struct input *in, const struct options *o, FILE *f, int status);

/* ---- cells */

/* The number in decimal; returns its length. */
#define DECIMAL_MAX 21 /* 64 bits and the NUL */
size_t decimal(char out[DECIMAL_MAX], uint64_t v);

/* Prints text escaped; returns its width on a terminal. */
size_t put_text(FILE *f, struct sactag_text t);

/* The columns that escaped text takes. */
size_t shown_width(const char *s, size_t n);

/* A cell of a table, and `end`. An absent or empty one is "-"; one that reads "-" is written so that it
 * cannot be taken for that. */
void put_cell(FILE *f, struct sactag_text t, char end);
/* The width of text as put_text() prints it; `most` when it is wider. */
size_t text_width(struct sactag_text t, size_t most);
/* "KxN" with ? for what is not known. out has room for SHAPE_MAX bytes. */
#define SHAPE_MAX 48
const char *shape_text(char *out, struct sactag_shape s);

static inline bool same_text(struct sactag_text a, struct sactag_text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

static inline struct sactag_text text_of(const char *z)
{
    struct sactag_text t = {z, 0};
    while (z && z[t.n])
        t.n++;
    return t;
}

#endif
