/* Plans that were read back from a file: what `sactag plan` and `sactag show` printed as json or tsv, perhaps
 * with policies changed by hand. They stand alone: no model belongs to them.
 *
 * What is wrong with a file is reported with its line and column, and is IR_EINPUT. */
#ifndef SACTAG_LIB_PLAN_FILE_H
#define SACTAG_LIB_PLAN_FILE_H

#include "ir/arena.h"
#include "ir/diag.h"
#include "lib/text.h"
#include "schema/digest.h"

/* Where something stands in a file; both count from 1, columns in characters. */
struct place {
    uint32_t line, column;
};

struct plan_file {
    bool tags;                /* what `show` printed; of tsv told by what is in no row: module and shape */
    char digest[DIGEST_TEXT]; /* of the graph that it was made for; "" if the file does not say */
    bool has_options;         /* the file says with which options it was made: */
    struct sactag_options options;
    struct sactag_row *rows;
    struct place *places; /* of the rows */
    uint32_t n_rows;
    struct sactag_block *blocks; /* by their first row */
    uint32_t n_blocks;
    struct sactag_summary summary;
    struct arena arena;
};

enum plan_file_kind { PLAN_FILE_NONE, PLAN_FILE_JSON, PLAN_FILE_TSV, PLAN_FILE_TEXT };

/* What it looks like by its first bytes. TEXT is what people read, and cannot be read back. */
enum plan_file_kind plan_file_kind(struct str bytes);

/* To be freed in each case. */
int plan_file_json(struct plan_file *out, struct str text, struct diag *d);
int plan_file_tsv(struct plan_file *out, struct str text, struct diag *d);
void plan_file_free(struct plan_file *f);

/* ---- for the readers */

/* The names of tsv's columns, which are the keys of json's rows. */
enum plan_column {
    COL_INDEX,
    COL_GRAPH,
    COL_NODE,
    COL_OUTPUT,
    COL_OP,
    COL_BLOCK,
    COL_CALL,
    COL_FQN,
    COL_EVIDENCE,
    COL_RHS,
    COL_POLICY,
    COL_REASON,
    N_COLUMNS
};
extern const char *const plan_columns[N_COLUMNS];

/* Adds a cell to a row; `text` is what stands there, unescaped, n = 0 for empty. False: *why says what was
 * expected. Text is kept, not copied. */
bool plan_file_cell(struct sactag_row *r, enum plan_column c, struct str text, const char **why);

/* Once all rows are there: do they hold together? Policies that were changed by hand get the reason `manual`;
 * counts the blocks and the summary. */
int plan_file_finish(struct plan_file *f, struct diag *d);

/* Reports an error at a place. Returns IR_EINPUT. */
int plan_file_error(struct diag *d, struct place at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Places of rising offsets, each found from the one before. */
struct locator {
    struct str text;
    size_t at;             /* as far as lines and columns have been counted: all may be one line */
    uint32_t line, column; /* there, less one */
};
struct place locate(struct locator *l, size_t offset);

#endif
