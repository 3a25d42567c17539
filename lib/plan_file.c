/* What the readers of json and tsv share: cells, and whether rows hold together. */
#include "lib/plan_file.h"

#include "ir/names.h"
#include "lib/reason.h"
#include "lib/table.h"

#include <inttypes.h>
#include <stdio.h>

const char *const plan_columns[N_COLUMNS] = {"index", "graph", "node",     "output", "op",     "block",
                                             "call",  "fqn",   "evidence", "rhs",    "policy", "reason"};

/* ---- places ---- */

struct place locate(struct locator *l, size_t offset)
{
    const char *s = l->text.s, *newline;

    while (l->at < offset && (newline = memchr(s + l->at, '\n', offset - l->at))) {
        l->at = (size_t)(newline - s) + 1;
        l->line++;
        l->column = 0;
    }
    for (; l->at < offset; l->at++)
        l->column += (s[l->at] & 0xc0) != 0x80;
    return (struct place){.line = l->line + 1, .column = l->column + 1};
}

int plan_file_error(struct diag *d, struct place at, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    size_t n = diag_format(text, sizeof text, fmt, ap);
    va_end(ap);
    return diag_error(d, IR_EINPUT, "line %" PRIu32 ", column %" PRIu32 ": %.*s", at.line, at.column, (int)n,
                      text);
}

/* ---- kinds ---- */

enum plan_file_kind plan_file_kind(struct str bytes)
{
    static const char bom[] = "\xef\xbb\xbf";
    size_t i = 0;

    if (str_starts(bytes, STR_LIT("index\tgraph\t")))
        return PLAN_FILE_TSV;
    if (str_starts(bytes, STR_LIT("model    ")))
        return PLAN_FILE_TEXT;
    if (str_starts(bytes, str_of(bom)))
        i = 3;
    while (i < bytes.n &&
           (bytes.s[i] == ' ' || bytes.s[i] == '\t' || bytes.s[i] == '\n' || bytes.s[i] == '\r'))
        i++;
    /* The first byte of an ONNX model is the tag of one of its fields, which no bracket is. */
    return i < bytes.n && (bytes.s[i] == '{' || bytes.s[i] == '[') ? PLAN_FILE_JSON : PLAN_FILE_NONE;
}

/* ---- cells ---- */

static bool number(uint32_t *out, struct str s)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(s.s[i] - '0');
        if (v >= UINT32_MAX)
            return false;
    }
    *out = (uint32_t)v;
    return s.n > 0;
}

static bool shape(struct sactag_shape *out, struct str s)
{
    struct mm_shape x;

    if (!shape_parse(&x, &s) || s.n)
        return false;
    *out = (struct sactag_shape){x.k, x.n};
    return true;
}

static bool evidence(enum sactag_evidence *out, struct str s)
{
    *out = SACTAG_EV_NONE;
    if (s.n == 0)
        return true;
    for (int e = SACTAG_EV_PARAM; e <= SACTAG_EV_NEIGHBOUR; e++)
        if (str_is(s, sactag_evidence_name((enum sactag_evidence)e))) {
            *out = (enum sactag_evidence)e;
            return true;
        }
    return false;
}

static bool policy(enum sactag_policy *out, struct str s)
{
    for (int p = SACTAG_NONE; p <= SACTAG_RECOMPUTE; p++)
        if (str_is(s, sactag_policy_name((enum sactag_policy)p))) {
            *out = (enum sactag_policy)p;
            return true;
        }
    return false;
}

bool plan_file_cell(struct sactag_row *r, enum plan_column c, struct str s, const char **why)
{
    *why = "a whole number from 0 to 4294967294";
    switch (c) {
    case COL_INDEX:
        return number(&r->index, s);
    case COL_CALL:
        r->call = UINT32_MAX; /* none */
        return s.n == 0 || number(&r->call, s);
    case COL_GRAPH:
        r->graph = text_of(s.n ? s : STR_LIT("-"));
        return true;
    case COL_NODE:
        r->node = text_of(s);
        return true;
    case COL_OUTPUT:
        r->output = text_of(s);
        return true;
    case COL_OP:
        *why = "an operator";
        r->op = text_of(s);
        return s.n > 0;
    case COL_BLOCK:
        r->block = text_of(s);
        return true;
    case COL_FQN:
        r->fqn = text_of(s);
        return true;
    case COL_EVIDENCE:
        *why = "param, metadata, scope, bias or neighbour";
        return evidence(&r->evidence, s);
    case COL_RHS:
        *why = "KxN, such as 4096x64, with ? for what is not known";
        return shape(&r->rhs, s);
    case COL_POLICY:
        *why = "save, recompute or none";
        return policy(&r->policy, s);
    case COL_REASON:
        r->reason = text_of(s);
        return true;
    case N_COLUMNS:
        break;
    }
    return false;
}

/* ---- the whole ---- */

/* Bodies of functions and loops run several times, with a row each time. */
static bool runs_once(const struct sactag_row *r)
{
    return str_is(str_from(r->graph), "-");
}

static bool same_node(const struct sactag_row *a, const struct sactag_row *b)
{
    return a->index == b->index && str_eq(str_from(a->graph), str_from(b->graph));
}

static int check_duplicates(const struct plan_file *f, struct diag *d)
{
    struct table t;
    int e = table_init(&t, f->n_rows);

    for (uint32_t i = 0; !e && i < f->n_rows; i++) {
        const struct sactag_row *r = &f->rows[i];
        if (!runs_once(r))
            continue;
        uint32_t *first = table_at(&t, hash_u64(r->index, hash_str(str_from(r->graph), 0)));
        if (*first == TABLE_NONE)
            *first = i;
        else if (same_node(r, &f->rows[*first]))
            e = plan_file_error(d, f->places[i],
                                "rows[%" PRIu32 "]: node %" PRIu32
                                " of graph '%.*s' has a row already, rows[%" PRIu32 "] in line %" PRIu32,
                                i, r->index, SACTAG_ARG(r->graph), *first, f->places[*first].line);
    }
    table_free(&t);
    return e == IR_EMEM ? diag_nomem(d) : e;
}

/* A plan's policy and its place must fit: blocks are what is checkpointed. */
static int check_policy(const struct plan_file *f, uint32_t i, struct diag *d)
{
    const struct sactag_row *r = &f->rows[i];
    bool inside = r->block.n > 0;

    if (inside && r->call == UINT32_MAX)
        return plan_file_error(d, f->places[i],
                               "rows[%" PRIu32 "].call: expected a number, as there is a block", i);
    if (!f->has_options) /* tags may lack a region, and golden rows are only compared */
        return 0;
    if (inside && r->policy == SACTAG_NONE)
        return plan_file_error(d, f->places[i],
                               "rows[%" PRIu32
                               "].policy: expected save or recompute in block '%.*s' but found none",
                               i, SACTAG_ARG(r->block));
    if (!inside && r->policy != SACTAG_NONE)
        return plan_file_error(d, f->places[i],
                               "rows[%" PRIu32 "].policy: expected none outside all blocks but found %s", i,
                               sactag_policy_name(r->policy));
    return 0;
}

/* Does the reason say why the policy is this one? If not, somebody chose it. */
static void see_hand(const struct plan_file *f, struct sactag_row *r)
{
    struct reason reason = reason_parse(str_from(r->reason));

    if (f->tags || (!f->has_options && reason.kind == REASON_ADDMM))
        return;
    if (!reason_allows(&reason, (enum policy)r->policy, f->options.profile == SACTAG_PROFILE_TITAN))
        r->reason = text_of(STR_LIT("manual"));
}

static void count(struct plan_file *f, const struct sactag_row *r)
{
    struct sactag_summary *s = &f->summary;
    struct reason reason = reason_parse(str_from(r->reason));
    bool saved = r->policy == SACTAG_SAVE, recomputed = r->policy == SACTAG_RECOMPUTE;
    bool forced = reason.kind == REASON_FORCED;

    s->rows++;
    s->saved += saved;
    s->recomputed += recomputed;
    s->forced += forced;
    s->addmm += reason.kind == REASON_ADDMM;
    s->outside += r->block.n == 0;
    s->assumed += reason.assumption.n > 0;
    s->evidence[r->evidence]++;
    if (r->block_index == UINT32_MAX)
        return;
    struct sactag_block *b = &f->blocks[r->block_index];
    b->saved += saved;
    b->recomputed += recomputed;
    b->forced_rows += forced;
    if (r->call >= b->calls)
        b->calls = r->call + 1;
}

static int set_block(struct plan_file *f, struct names *blocks, struct sactag_row *r)
{
    r->block_index = UINT32_MAX;
    if (r->block.n == 0) {
        r->call = 0;
        return 0;
    }
    r->block_index = names_intern(blocks, str_from(r->block));
    if (r->block_index == NAME_NONE)
        return IR_EMEM;
    if (r->block_index == f->n_blocks)
        f->blocks[f->n_blocks++].fqn = r->block;
    return 0;
}

static int count_blocks(struct plan_file *f, struct diag *d)
{
    struct names blocks;
    int e = 0;

    names_init(&blocks);
    f->blocks = arena_alloc(&f->arena, (size_t)f->n_rows + 1, sizeof *f->blocks);
    if (!f->blocks)
        e = IR_EMEM;
    for (uint32_t i = 0; !e && i < f->n_rows; i++) {
        e = set_block(f, &blocks, &f->rows[i]);
        if (!e)
            count(f, &f->rows[i]);
    }
    names_free(&blocks);
    f->summary.blocks_how = "given";
    f->summary.mm_rule = f->options.mm_rule;
    return e ? diag_error(d, e, "out of memory") : 0;
}

/* A row as `show` prints it: tags tell neither the module nor, but for a forced one, the shape, and there is
 * none outside blocks. */
static bool row_of_tag(const struct sactag_row *r)
{
    struct reason reason = reason_parse(str_from(r->reason));
    bool shape_told = reason.kind == REASON_FORCED && r->rhs.k == reason.rhs.k && r->rhs.n == reason.rhs.n;

    return r->fqn.n == 0 && r->evidence == SACTAG_EV_NONE && r->policy != SACTAG_NONE &&
           (shape_told || (r->rhs.k < 0 && r->rhs.n < 0));
}

/* Goldens in tsv do not say whether `plan` or `show` printed them. */
static bool rows_of_tags(const struct plan_file *f)
{
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (!row_of_tag(&f->rows[i]))
            return false;
    return f->n_rows > 0;
}

int plan_file_finish(struct plan_file *f, struct diag *d)
{
    int e = 0;

    f->tags = f->tags || (!f->has_options && rows_of_tags(f));
    for (uint32_t i = 0; !e && i < f->n_rows; i++) {
        e = check_policy(f, i, d);
        see_hand(f, &f->rows[i]);
    }
    if (!e)
        e = check_duplicates(f, d);
    return e ? e : count_blocks(f, d);
}

void plan_file_free(struct plan_file *f)
{
    arena_free(&f->arena);
    *f = (struct plan_file){0};
}
