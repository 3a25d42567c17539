/* A plan file (docs/plan.schema.json) → rows. */
#include "lib/json_reader.h"
#include "lib/options_read.h"

#include <inttypes.h>
#include <stdio.h>

#define VERSION_MOST 1 /* of the document */

enum plan_key { KIND, VERSION, MODEL, OPTIONS, ROWS, SUMMARY, BLOCKS_, N_KEYS };

static const char *const keys[N_KEYS] = {"sactag", "version", "model", "options",
                                         "rows",   "summary", "blocks"};

/* ---- head ---- */

static int read_kind(struct json_reader *r, uint32_t t, bool *tags)
{
    static const char *const kinds[] = {"plan", "tags"};
    size_t choice;
    int e = json_read_word(r, "sactag", t, kinds, 2, &choice);

    *tags = choice == 1;
    return e;
}

static int read_version(struct json_reader *r, uint32_t t)
{
    int64_t version;

    if (json_kind(&r->j, t) != JSON_KIND_NUMBER || !json_int(&version, &r->j, t) || version < 1)
        return json_expected(r, "version", "1", t);
    if (version > VERSION_MOST)
        return plan_file_error(r->d, json_place(r, t),
                               "version: this plan was written by a newer sactag (version %" PRId64
                               "; this one reads version %d)",
                               version, VERSION_MOST);
    return 0;
}

static int read_digest(struct json_reader *r, uint32_t model, struct plan_file *f)
{
    static const char *const names[] = {"digest"};
    static const struct json_object want = {names, 1, .all = true, .others = true};
    uint32_t t;
    int e = json_members(r, "model", model, &want, &t);

    if (e)
        return e;
    struct str raw = json_raw(&r->j, t);
    bool ok = json_kind(&r->j, t) == JSON_KIND_STRING && raw.n == DIGEST_TEXT - 1;
    for (size_t i = 0; ok && i < raw.n; i++)
        ok = (raw.s[i] >= '0' && raw.s[i] <= '9') || (raw.s[i] >= 'a' && raw.s[i] <= 'f');
    if (!ok)
        return json_expected(r, "model.digest", "32 hexadecimal digits", t);
    memcpy(f->digest, raw.s, raw.n);
    return 0;
}

/* ---- rows ---- */

static bool is_number(enum plan_column c)
{
    return c == COL_INDEX || c == COL_CALL;
}

static bool may_be_null(enum plan_column c)
{
    return c != COL_INDEX && c != COL_OP && c != COL_RHS && c != COL_POLICY;
}

/* The cell as it would stand in tsv. */
static int read_value(struct json_reader *r, const char *where, uint32_t t, enum plan_column c,
                      struct str *out)
{
    bool null = may_be_null(c) && json_kind(&r->j, t) == JSON_KIND_NULL;

    *out = (struct str){NULL, 0};
    if (null || !is_number(c))
        return json_read_text(r, where, t, may_be_null(c), out);
    if (json_kind(&r->j, t) != JSON_KIND_NUMBER)
        return json_expected(r, where, may_be_null(c) ? "a number or null" : "a number", t);
    *out = json_raw(&r->j, t);
    return 0;
}

static int read_cell(struct json_reader *r, struct sactag_row *row, uint32_t i, enum plan_column c,
                     uint32_t t)
{
    char where[64];
    const char *why;
    struct str text;

    snprintf(where, sizeof where, "rows[%" PRIu32 "].%s", i, plan_columns[c]);
    int e = read_value(r, where, t, c, &text);
    if (!e && !plan_file_cell(row, c, text, &why))
        e = json_expected(r, where, why, t);
    return e;
}

static int read_row(struct json_reader *r, struct plan_file *f, uint32_t object)
{
    static const struct json_object want = {plan_columns, N_COLUMNS, .all = true, .others = true};
    uint32_t i = f->n_rows, at[N_COLUMNS];
    char where[32];

    snprintf(where, sizeof where, "rows[%" PRIu32 "]", i);
    f->places[i] = json_place(r, object);
    int e = json_members(r, where, object, &want, at);
    for (int c = 0; !e && c < N_COLUMNS; c++)
        e = read_cell(r, &f->rows[i], i, (enum plan_column)c, at[c]);
    f->n_rows += e == 0;
    return e;
}

static int read_rows(struct json_reader *r, struct plan_file *f, uint32_t list)
{
    int e = 0;

    if (json_kind(&r->j, list) != JSON_KIND_ARRAY)
        return json_expected(r, "rows", "an array", list);
    size_t n = json_count(&r->j, list);
    f->rows = arena_alloc(&f->arena, n + 1, sizeof *f->rows);
    f->places = arena_alloc(&f->arena, n + 1, sizeof *f->places);
    if (!f->rows || !f->places)
        return diag_nomem(r->d);
    for (uint32_t t = json_first(&r->j, list); !e && t != JSON_NONE; t = json_next(&r->j, list, t))
        e = read_row(r, f, t);
    return e;
}

/* What is derived from rows is not read; its type tells whether this is such a document at all. */
static int check_derived(struct json_reader *r, const uint32_t *at)
{
    if (at[SUMMARY] != JSON_NONE && json_kind(&r->j, at[SUMMARY]) != JSON_KIND_OBJECT)
        return json_expected(r, "summary", "an object", at[SUMMARY]);
    if (at[BLOCKS_] != JSON_NONE && json_kind(&r->j, at[BLOCKS_]) != JSON_KIND_ARRAY)
        return json_expected(r, "blocks", "an array", at[BLOCKS_]);
    return 0;
}

/* ---- the whole ---- */

static int read_document(struct json_reader *r, struct plan_file *f)
{
    static const struct json_object want = {keys, N_KEYS, .others = true};
    uint32_t at[N_KEYS];
    int e = json_members(r, "plan", 0, &want, at);

    if (e)
        return e;
    if (at[KIND] == JSON_NONE)
        return plan_file_error(r->d, json_place(r, 0), "not a plan file: it has no member 'sactag'");
    e = read_kind(r, at[KIND], &f->tags);
    for (int k = VERSION; !e && k <= ROWS; k++)
        if (at[k] == JSON_NONE && !(k == OPTIONS && f->tags))
            return plan_file_error(r->d, json_place(r, 0), "expected a member '%s'", keys[k]);
    f->has_options = !f->tags;
    if (!e)
        e = read_version(r, at[VERSION]);
    if (!e)
        e = read_digest(r, at[MODEL], f);
    if (!e && f->has_options)
        e = options_from_json(&f->options, r, at[OPTIONS]);
    if (!e)
        e = check_derived(r, at);
    return e ? e : read_rows(r, f, at[ROWS]);
}

int plan_file_json(struct plan_file *out, struct str text, struct diag *d)
{
    struct json_reader r;

    *out = (struct plan_file){0};
    arena_init(&out->arena, 0);
    int e = json_reader_open(&r, text, &out->arena, d);
    if (!e)
        e = read_document(&r, out);
    json_reader_close(&r);
    return e ? e : plan_file_finish(out, d);
}
