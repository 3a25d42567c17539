/* Where tags stand in a program's text, and the edits that put them there or take them out. */
#include "schema/pt2_writer.h"

#include "schema/json.h"
#include "schema/pt2_custom.h"

#include <stdlib.h>

/* ---- targets ---- */

/* Where token t ends in the text, with the quote of a string. */
static const char *end_of(const struct json *j, uint32_t t)
{
    return j->text.s + j->tokens[t].end + (json_kind(j, t) == JSON_KIND_STRING);
}

/* Finds the members of a metadata object. */
static void find_members(struct pt2_target *t, const struct json *j, uint32_t metadata)
{
    const char *open = j->text.s + j->tokens[metadata].start + 1, *before = NULL;
    *t = (struct pt2_target){.metadata = json_raw(j, metadata), .insert = open};
    for (uint32_t k = json_first(j, metadata); k != JSON_NONE; k = json_next_member(j, metadata, k)) {
        const char *end = end_of(j, k + 1), *start = j->text.s + j->tokens[k].start - 1;
        bool custom = str_is(json_raw(j, k), "custom");
        t->foreign |= custom && json_kind(j, k + 1) != JSON_KIND_STRING;
        if (custom && json_kind(j, k + 1) == JSON_KIND_STRING) {
            uint32_t next = json_next_member(j, metadata, k);
            t->custom = json_raw(j, k + 1);
            if (before)
                start = before; /* with the comma before it */
            else if (next != JSON_NONE)
                end = j->text.s + j->tokens[next].start - 1; /* with the comma after it */
            t->member = (struct str){start, (size_t)(end - start)};
        }
        before = t->insert = end_of(j, k + 1);
        t->comma = true;
    }
    t->was = t->custom;
}

/* Finds the place of `node` (ANNOT_MODEL: the model's own) in text that was valid when it was read. */
static int read_place(struct pt2_target *t, struct pt2_writer *w, uint32_t node)
{
    struct json j;
    struct json_error e;
    bool own = node == ANNOT_MODEL;
    if (json_parse(&j, own ? w->pt2->programs[0].meta : pt2_text(w->m, node), JSON_DEPTH_MAX, 0, &e) != 0)
        return pt2_write_no_memory(w);
    find_members(t, &j, own ? 0 : json_get(&j, 0, "metadata"));
    t->node = node;
    json_free(&j);
    return 0;
}

/* What a target's custom was before it was tagged. What sac.undo says of it counts only where it differs in
 * tags alone: else another tool has changed the program since. */
static int find_original(struct pt2_target *t, struct pt2_writer *w)
{
    struct str remembered = t->node == ANNOT_MODEL ? w->was.model : w->was.nodes[t->node];
    bool alike = false;
    if (!w->tagged)
        return 0;
    if (remembered.s && custom_alike(&alike, t->custom, remembered, &w->arena) != 0)
        return pt2_write_no_memory(w);
    if (alike)
        t->was = remembered;
    return alike || custom_strip(&t->was, t->custom, &w->arena) == 0 ? 0 : pt2_write_no_memory(w);
}

int pt2_target_read(struct pt2_target *t, struct pt2_writer *w, uint32_t node)
{
    int rc = read_place(t, w, node);
    return rc != 0 ? rc : find_original(t, w);
}

/* ---- edits of the text ---- */

static int push_edit(struct pt2_writer *w, const char *at, size_t del, struct str ins)
{
    if (grow(&w->edits, &w->cap_edits, w->n_edits + 1, sizeof *w->edits) != 0)
        return pt2_write_no_memory(w);
    w->edits[w->n_edits++] = (struct pt2_text_edit){{at, del}, ins};
    return 0;
}

/* `"custom": "..."` as a new member. */
static int new_member(struct str *out, struct pt2_writer *w, const struct pt2_target *t, struct str custom)
{
    const char *head = t->comma ? ", \"custom\": \"" : "\"custom\": \"";
    size_t n = strlen(head);
    char *p = arena_alloc(&w->arena, n + custom.n + 2, 1);
    if (!p)
        return pt2_write_no_memory(w);
    memcpy(p, head, n);
    memcpy(p + n, custom.s, custom.n);
    p[n + custom.n] = '"';
    *out = (struct str){p, n + custom.n + 1};
    return 0;
}

int pt2_target_change(struct pt2_writer *w, int64_t *delta, const struct pt2_target *t, struct str custom,
                      bool edit)
{
    struct str del = {t->insert, 0}, ins = custom;
    int rc = 0;
    if (t->custom.s && custom.s) {
        if (str_eq(t->custom, custom))
            return 0;
        del = t->custom;
    } else if (t->custom.s) {
        del = t->member;
        ins = (struct str){0};
    } else if (custom.s) {
        rc = new_member(&ins, w, t, custom);
    } else {
        return 0;
    }
    *delta += (int64_t)ins.n - (int64_t)del.n;
    return rc == 0 && edit ? push_edit(w, del.s, del.n, ins) : rc;
}

int pt2_target_apply(struct pt2_writer *w, uint32_t program, const struct pt2_target *t, struct str custom)
{
    int rc = pt2_target_change(w, &w->grown[program], t, custom, true);
    return rc != 0 ? rc : pt2_target_change(w, &w->original[program], t, t->was, false);
}

static int by_place(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct pt2_text_edit *)a)->del.s,
              y = (uintptr_t)((const struct pt2_text_edit *)b)->del.s;
    return (x > y) - (x < y);
}

void pt2_edits_sort(struct pt2_writer *w)
{
    if (w->n_edits)
        qsort(w->edits, w->n_edits, sizeof *w->edits, by_place);
}

/* How many edits lie before a place; they are sorted. */
static size_t edits_before(const struct pt2_writer *w, const char *place)
{
    size_t from = 0, to = w->n_edits;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if ((uintptr_t)w->edits[mid].del.s < (uintptr_t)place)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

void pt2_edits_of(const struct pt2_writer *w, uint32_t program, size_t *from, size_t *to)
{
    struct str text = w->pt2->programs[program].text;
    *from = edits_before(w, text.s);
    *to = edits_before(w, text.s + text.n);
}

int pt2_for_text(struct pt2_writer *w, uint32_t program, int (*put)(void *ctx, const char *s, size_t n),
                 void *ctx)
{
    struct str text = w->pt2->programs[program].text;
    const char *at = text.s;
    size_t from, to;
    pt2_edits_of(w, program, &from, &to);
    for (size_t i = from; i < to; i++) {
        const struct pt2_text_edit *e = &w->edits[i];
        int rc = put(ctx, at, (size_t)(e->del.s - at));
        if (rc == 0)
            rc = put(ctx, e->ins.s, e->ins.n);
        if (rc != 0)
            return rc;
        at = e->del.s + e->del.n;
    }
    return put(ctx, at, (size_t)(text.s + text.n - at));
}
