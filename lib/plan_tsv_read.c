/* A golden in tsv → rows. */
#include "lib/plan_file.h"

#include <inttypes.h>
#include <stdio.h>

struct tsv {
    struct plan_file *f;
    struct diag *d;
    struct str rest;  /* of the text */
    uint32_t line;    /* number of the current one */
    struct str cells; /* of the current line, from the current cell on */
    uint32_t column;  /* where that begins, in characters */
    bool more;        /* there is another cell */
};

static int bad(const struct tsv *t, const char *what, struct str found)
{
    return plan_file_error(t->d, (struct place){t->line, t->column}, "%s but found '%.*s'", what,
                           (int)(found.n < 80 ? found.n : 80), found.s ? found.s : "");
}

static bool next_line(struct tsv *t)
{
    if (t->rest.n == 0)
        return false;
    ptrdiff_t end = str_chr(t->rest, '\n');
    size_t n = end < 0 ? t->rest.n : (size_t)end, taken = end < 0 ? n : n + 1;
    t->cells = str_sub(t->rest, 0, n);
    if (n > 0 && t->cells.s[n - 1] == '\r') /* as git leaves it on some systems */
        t->cells.n--;
    t->rest = str_sub(t->rest, taken, t->rest.n - taken);
    t->line++;
    t->column = 1;
    t->more = true;
    return true;
}

/* The current cell as it stands. */
static struct str peek(const struct tsv *t)
{
    ptrdiff_t tab = str_chr(t->cells, '\t');
    return tab < 0 ? t->cells : str_sub(t->cells, 0, (size_t)tab);
}

static void skip(struct tsv *t, struct str cell)
{
    for (size_t i = 0; i < cell.n; i++)
        t->column += (cell.s[i] & 0xc0) != 0x80;
    t->more = cell.n < t->cells.n;
    size_t taken = cell.n + t->more;
    t->cells = str_sub(t->cells, taken, t->cells.n - taken);
    t->column += t->more;
}

static int read_header(struct tsv *t)
{
    for (int c = 0; c < N_COLUMNS; c++) {
        struct str cell = peek(t);
        if (!t->more || !str_is(cell, plan_columns[c])) {
            char what[64] = "expected the column ";
            return bad(t, strcat(what, plan_columns[c]), cell);
        }
        skip(t, cell);
    }
    return 0;
}

static int read_cell(struct tsv *t, struct sactag_row *r, enum plan_column c)
{
    struct str cell = peek(t), text = {NULL, 0};
    const char *why;
    char what[128];

    if (!t->more || cell.n == 0) {
        snprintf(what, sizeof what, "expected a cell for %s", plan_columns[c]);
        return bad(t, what, t->cells);
    }
    if (!str_is(cell, "-")) {
        char *copy = arena_alloc(&t->f->arena, cell.n + 1, 1);
        if (!copy)
            return diag_nomem(t->d);
        if (!str_unescape(copy, &text.n, cell))
            return bad(t, "expected t, n, xHH or a backslash after each backslash",
                       str_sub(cell, text.n, cell.n - text.n));
        text.s = copy;
    }
    if (!plan_file_cell(r, c, text, &why)) {
        snprintf(what, sizeof what, "%s: expected %s", plan_columns[c], why);
        return bad(t, what, cell);
    }
    skip(t, cell);
    return 0;
}

static int read_row(struct tsv *t)
{
    uint32_t i = t->f->n_rows;
    int e = 0;

    t->f->places[i] = (struct place){t->line, 1};
    for (int c = 0; !e && c < N_COLUMNS; c++)
        e = read_cell(t, &t->f->rows[i], (enum plan_column)c);
    t->f->n_rows += e == 0;
    return e;
}

int plan_file_tsv(struct plan_file *out, struct str text, struct diag *d)
{
    struct tsv t = {.f = out, .d = d, .rest = text};
    size_t most = str_count(text, '\n') + 1;

    *out = (struct plan_file){0};
    arena_init(&out->arena, 0);
    if (most >= UINT32_MAX)
        return diag_error(d, IR_EINPUT, "expected fewer than %" PRIu32 " lines", UINT32_MAX);
    out->rows = arena_alloc(&out->arena, most, sizeof *out->rows);
    out->places = arena_alloc(&out->arena, most, sizeof *out->places);
    if (!out->rows || !out->places)
        return diag_nomem(d);
    next_line(&t);
    int e = read_header(&t);
    while (!e && next_line(&t))
        e = read_row(&t);
    return e ? e : plan_file_finish(out, d);
}
