#include "schema/pt2_write.h"

#include "schema/json.h"
#include "schema/pt2_custom.h"
#include "schema/pt2_read.h"
#include "schema/zip_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define GROWTH_SLACK (UINT64_C(1) << 20) /* room for what is not measured when zip64 fields are decided */
#define ESCAPED_MAX  36                  /* bytes that escaping twice makes of one, at most */

/* A place that tags go to: a node's metadata, or the model's. */
struct target {
    struct str metadata; /* the object, in the program */
    struct str custom;   /* the inside of its member "custom"; s == NULL: there is none */
    struct str member;   /* ... with its name and all that goes with it when it is taken out */
    const char *insert;  /* where a new member goes; */
    bool comma;          /* after a comma */
    struct str was;      /* custom in the original */
    bool foreign;        /* custom is no string: nothing that torch writes */
};

/* What sac.undo of the model says. */
struct undo {
    struct str *nodes; /* per node: its custom in the original; s == NULL: nothing is said */
    struct str model;
    struct zip_wide wide;
};

/* One change of a program's text. */
struct text_edit {
    struct str del; /* in the program */
    struct str ins;
};

struct writer {
    struct ir_model *m;
    const struct pt2 *pt2;
    const struct annots *a;
    struct diag *d;
    struct arena arena;
    bool tagged; /* the model carries our tags */
    struct undo was;
    uint32_t model_node; /* node that stands for the model, IR_NONE: graph_module.metadata does */
    struct text_edit *edits;
    size_t n_edits, cap_edits;
    int64_t *grown;    /* per program: how much longer it becomes */
    int64_t *original; /* per program: how much longer the original is than what is there now */
    char *undo;        /* of the output */
    size_t n_undo, cap_undo;
};

static int no_memory(struct writer *w)
{
    return diag_nomem(w->d);
}

/* ---- sac.undo ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int unhex(struct str *out, struct str hex, struct arena *a)
{
    char *p = arena_alloc(a, hex.n / 2 + 1, 1);
    if (!p)
        return IR_EMEM;
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        int hi = hex_value(hex.s[i]), lo = hex_value(hex.s[i + 1]);
        if (hi < 0 || lo < 0)
            return IR_EINPUT;
        p[i / 2] = (char)(hi << 4 | lo);
    }
    *out = (struct str){p, hex.n / 2};
    return hex.n % 2 ? IR_EINPUT : 0;
}

/* Digits up to the end or an equals sign; false when there are none, or it is not below `limit`. */
static bool take_number(uint32_t *out, struct str *s, uint32_t limit)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s->n && i < 10 && s->s[i] >= '0' && s->s[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s->s[i] - '0');
    *s = str_sub(*s, i, s->n - i);
    *out = (uint32_t)v;
    return i > 0 && v < limit;
}

/* A zip64 field counts only where there is one: another tool may have written the archive anew. */
static int read_item(struct writer *w, struct str item)
{
    char kind = item.n ? item.s[0] : 0;
    struct str rest = item.n ? str_sub(item, 1, item.n - 1) : item;
    struct str *to = &w->was.model;
    uint32_t id = 0;
    if (kind == 'Z' || kind == 'E') {
        bool wide =
            w->pt2->zip.end64 != ZIP_NONE && zip_u32(w->m->bytes + w->pt2->zip.end + 16) == UINT32_MAX;
        *(kind == 'Z' ? &w->was.wide.record : &w->was.wide.end) = wide;
        return rest.n ? IR_EINPUT : 0;
    }
    if (kind == 'z') {
        if (!take_number(&id, &rest, w->pt2->zip.n) || rest.n)
            return IR_EINPUT;
        w->was.wide.members[id] = zip_u32(w->m->bytes + w->pt2->zip.members[id].central + 42) == UINT32_MAX;
        return 0;
    }
    if (kind == 'n') {
        if (!take_number(&id, &rest, w->m->n_nodes))
            return IR_EINPUT;
        to = &w->was.nodes[id];
    }
    if ((kind != 'n' && kind != 'm') || rest.n == 0 || rest.s[0] != '=')
        return IR_EINPUT;
    return unhex(to, str_sub(rest, 1, rest.n - 1), &w->arena);
}

static int read_undo(struct writer *w)
{
    const struct ir_entry *e = ir_meta(w->m, PT2_UNDO);
    w->was.nodes = arena_alloc(&w->arena, w->m->n_nodes, sizeof *w->was.nodes);
    w->was.wide.members = arena_alloc(&w->arena, w->pt2->zip.n, sizeof *w->was.wide.members);
    if (!w->was.nodes || !w->was.wide.members)
        return no_memory(w);
    struct str s = w->tagged && e ? e->value : (struct str){0};
    while (s.n) {
        ptrdiff_t end = str_chr(s, ';');
        int rc = end < 0 ? IR_EINPUT : read_item(w, str_sub(s, 0, (size_t)end));
        if (rc == IR_EMEM)
            return no_memory(w);
        if (rc != 0)
            return diag_error(w->d, IR_EINPUT,
                              "\"%s\" of the model makes no sense: the tags cannot be removed", PT2_UNDO);
        s = str_sub(s, (size_t)end + 1, s.n - (size_t)end - 1);
    }
    return 0;
}

static int undo_room(struct writer *w, size_t n)
{
    return grow(&w->undo, &w->cap_undo, w->n_undo + n, 1) == 0 ? 0 : no_memory(w);
}

/* Adds "n12=7b7d;" or, for the model, "m=7b7d;". */
static int remember(struct writer *w, uint32_t node, struct str custom)
{
    static const char hex[] = "0123456789abcdef";
    if (undo_room(w, custom.n * 2 + 16) != 0)
        return IR_EMEM;
    w->n_undo += (size_t)(node == ANNOT_MODEL ? sprintf(w->undo + w->n_undo, "m=")
                                              : sprintf(w->undo + w->n_undo, "n%u=", node));
    for (size_t i = 0; custom.s && i < custom.n; i++) {
        w->undo[w->n_undo++] = hex[(uint8_t)custom.s[i] >> 4];
        w->undo[w->n_undo++] = hex[(uint8_t)custom.s[i] & 15];
    }
    w->undo[w->n_undo++] = ';';
    return 0;
}

static int remember_wide(struct writer *w, const struct zip_wide *wide)
{
    for (uint32_t i = 0; i < w->pt2->zip.n; i++) {
        if (!wide->members[i])
            continue;
        if (undo_room(w, 16) != 0)
            return IR_EMEM;
        w->n_undo += (size_t)sprintf(w->undo + w->n_undo, "z%u;", i);
    }
    if ((wide->record || wide->end) && undo_room(w, 4) != 0)
        return IR_EMEM;
    if (wide->record || wide->end)
        w->n_undo += (size_t)sprintf(w->undo + w->n_undo, "%c;", wide->record ? 'Z' : 'E');
    return 0;
}

/* ---- targets ---- */

/* Where token t ends in the text, with the quote of a string. */
static const char *end_of(const struct json *j, uint32_t t)
{
    return j->text.s + j->tokens[t].end + (json_kind(j, t) == JSON_KIND_STRING);
}

/* Finds the members of a metadata object. */
static void target_fill(struct target *t, const struct json *j, uint32_t metadata)
{
    const char *open = j->text.s + j->tokens[metadata].start + 1, *before = NULL;
    *t = (struct target){.metadata = json_raw(j, metadata), .insert = open};
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

static int target_read(struct target *t, struct writer *w, struct str text, bool is_metadata)
{
    struct json j;
    struct json_error e;
    int rc = json_parse(&j, text, JSON_DEPTH_MAX, 0, &e);
    if (rc != 0) /* it was valid when the program was read */
        return no_memory(w);
    target_fill(t, &j, is_metadata ? 0 : json_get(&j, 0, "metadata"));
    json_free(&j);
    return 0;
}

/* What a target's custom was before it was tagged. What is remembered of it counts only where it differs in
 * tags alone: else another tool has changed the program since. */
static int find_original(struct target *t, struct writer *w, struct str remembered)
{
    bool alike = false;
    if (!w->tagged)
        return 0;
    if (remembered.s && custom_alike(&alike, t->custom, remembered, &w->arena) != 0)
        return no_memory(w);
    if (alike)
        t->was = remembered;
    return alike || custom_strip(&t->was, t->custom, &w->arena) == 0 ? 0 : no_memory(w);
}

static int bad_custom(struct writer *w, uint32_t node, struct str metadata)
{
    struct str name = node == ANNOT_MODEL ? STR_LIT("the model") : ir_node_name(w->m, &w->m->nodes[node]);
    uint64_t off = (uint64_t)((const uint8_t *)metadata.s - w->m->bytes);
    char *z = arena_strdup(&w->arena, name.s, name.n);
    return diag_error_at(w->d, IR_EINPUT, z, "metadata.custom", off,
                         "expected a JSON object as text: tags cannot be added to anything else");
}

/* What custom becomes: the original with the members added. Remembers the original where taking them out
 * again would not give it back. */
static int make_custom(struct str *out, struct writer *w, const struct target *t, uint32_t node,
                       const struct annot *members, size_t n)
{
    struct str base = {0}, back = {0};
    int rc = t->foreign && n ? IR_EINPUT : custom_strip(&base, t->was, &w->arena);
    if (rc == 0)
        rc = custom_add(out, n ? base : t->was, members, n, &w->arena);
    if (rc == 0)
        rc = custom_strip(&back, *out, &w->arena);
    if (rc == IR_EINPUT)
        return bad_custom(w, node, t->metadata);
    if (rc != 0)
        return no_memory(w);
    bool same = back.s && t->was.s ? str_eq(back, t->was) : back.s == t->was.s;
    return same || w->a->n == 0 ? 0 : remember(w, node, t->was);
}

/* ---- edits of the text ---- */

static int push_edit(struct writer *w, const char *at, size_t del, struct str ins)
{
    if (grow(&w->edits, &w->cap_edits, w->n_edits + 1, sizeof *w->edits) != 0)
        return no_memory(w);
    w->edits[w->n_edits++] = (struct text_edit){{at, del}, ins};
    return 0;
}

/* `"custom": "..."` as a new member. */
static int new_member(struct str *out, struct writer *w, const struct target *t, struct str custom)
{
    const char *head = t->comma ? ", \"custom\": \"" : "\"custom\": \"";
    size_t n = strlen(head);
    char *p = arena_alloc(&w->arena, n + custom.n + 2, 1);
    if (!p)
        return no_memory(w);
    memcpy(p, head, n);
    memcpy(p + n, custom.s, custom.n);
    p[n + custom.n] = '"';
    *out = (struct str){p, n + custom.n + 1};
    return 0;
}

/* How much longer the text becomes when a target's custom becomes `custom`; makes the edit when told to. */
static int change(struct writer *w, int64_t *delta, const struct target *t, struct str custom, bool edit)
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

/* A target's custom becomes `custom`. */
static int apply(struct writer *w, uint32_t program, const struct target *t, struct str custom)
{
    int rc = change(w, &w->grown[program], t, custom, true);
    return rc != 0 ? rc : change(w, &w->original[program], t, t->was, false);
}

/* ---- nodes ---- */

static bool has(struct str text, const char *word)
{
    return str_find(text, str_of(word)) >= 0;
}

/* The annotations of a node, which are next in the list. */
static size_t count_members(const struct annots *a, size_t from, uint32_t node)
{
    size_t n = from;
    while (n < a->n && a->a[n].node == node)
        n++;
    return n - from;
}

static int tag_node(struct writer *w, uint32_t node, const struct annot *members, size_t n)
{
    struct target t = {0};
    struct str text = pt2_text(w->m, node);
    if (n == 0 && !has(text, "\"custom\""))
        return 0;
    struct str custom = {0};
    int rc;
    if ((rc = target_read(&t, w, text, false)) != 0 || (rc = find_original(&t, w, w->was.nodes[node])) != 0 ||
        (rc = make_custom(&custom, w, &t, node, members, n)) != 0)
        return rc;
    return apply(w, ir_node_seg(w->m, &w->m->nodes[node]), &t, custom);
}

/* The model's annotations, which are the last ones. */
static size_t model_from(const struct annots *a)
{
    size_t i = a->n;
    while (i > 0 && a->a[i - 1].node == ANNOT_MODEL)
        i--;
    return i;
}

/* All nodes but the one that stands for the model. Programs in which nothing is to be found are not looked
 * through. */
static int tag_nodes(struct writer *w)
{
    size_t at = 0;
    uint32_t seg = IR_NONE;
    bool search = false;
    for (uint32_t node = 0; node < w->m->n_nodes; node++) {
        uint32_t program = ir_node_seg(w->m, &w->m->nodes[node]);
        if (program != seg) {
            seg = program;
            search = has(w->pt2->programs[seg].text, "\"custom\"");
        }
        size_t n = count_members(w->a, at, node);
        int rc = (n || search) && node != w->model_node ? tag_node(w, node, n ? w->a->a + at : NULL, n) : 0;
        if (rc != 0)
            return rc;
        at += n;
    }
    return 0;
}

/* ---- the model ---- */

/* The model's own annotations and sac.undo, after those of the node that stands for the model. */
static int model_members(struct annot **out, size_t *n, struct writer *w)
{
    size_t from = model_from(w->a), own = w->a->n - from, first = 0, of_node = 0;
    while (first < from && w->a->a[first].node < w->model_node)
        first++;
    if (w->model_node != IR_NONE)
        of_node = count_members(w->a, first, w->model_node);
    *out = arena_alloc(&w->arena, of_node + own + 1, sizeof **out);
    if (!*out)
        return no_memory(w);
    if (of_node)
        memcpy(*out, w->a->a + first, of_node * sizeof **out);
    if (own)
        memcpy(*out + of_node, w->a->a + from, own * sizeof **out);
    *n = of_node + own;
    return 0;
}

/* The place of the model's tags, and which node it is at (ANNOT_MODEL: none). */
static int model_target(struct target *t, uint32_t *node, struct writer *w)
{
    bool at_node = w->model_node != IR_NONE;
    *node = at_node ? w->model_node : ANNOT_MODEL;
    int rc = target_read(t, w, at_node ? pt2_text(w->m, *node) : w->pt2->programs[0].meta, !at_node);
    return rc != 0 ? rc : find_original(t, w, at_node ? w->was.nodes[*node] : w->was.model);
}

/* The state of the archive when programs have changed by `delta`. Checksums are filled in later. */
static int state_after(struct zip_state *s, struct writer *w, const int64_t *delta)
{
    if (zip_state_init(s, &w->pt2->zip, NULL, &w->arena) != 0)
        return no_memory(w);
    for (uint32_t i = 0; i < w->pt2->n_programs; i++)
        s->sizes[w->pt2->programs[i].member] += (uint64_t)delta[i];
    return 0;
}

/* Which zip64 fields the output needs and the original has not. This goes into sac.undo, so it has to be
 * known before the size of the model's tags is: an upper bound must do, the same from whichever state. */
static int decide_wide(struct writer *w, const struct target *model, struct zip_wide *out)
{
    struct zip_state original, now, to;
    int64_t less = 0;
    uint64_t growth = GROWTH_SLACK + (uint64_t)w->pt2->zip.n * 16 + w->n_undo * 2;
    for (uint32_t i = 0; i < w->pt2->n_programs; i++)
        growth += (uint64_t)(w->grown[i] > w->original[i] ? w->grown[i] - w->original[i] : 0);
    for (size_t i = model_from(w->a); i < w->a->n; i++)
        growth += (w->a->a[i].key.n + w->a->a[i].value.n) * ESCAPED_MAX;
    int rc = change(w, &less, model, model->was, false);
    if (rc != 0 || (rc = state_after(&original, w, w->original)) != 0 ||
        (rc = state_after(&to, w, w->grown)) != 0)
        return rc;
    original.sizes[w->pt2->programs[0].member] += (uint64_t)less;
    if (zip_state_init(&now, &w->pt2->zip, &w->was.wide, &w->arena) != 0 ||
        zip_widen(&to, &original, &now, &w->pt2->zip, w->m->bytes, growth, &w->arena) != 0)
        return no_memory(w);
    *out = to.wide;
    return remember_wide(w, out);
}

/* sac.undo becomes one more of the model's members. */
static int add_undo(struct writer *w, struct annot *members, size_t *n)
{
    char *text = w->n_undo ? arena_strdup(&w->arena, w->undo, w->n_undo) : NULL;
    if (w->n_undo && !text)
        return no_memory(w);
    if (text)
        members[(*n)++] = (struct annot){
            .node = ANNOT_MODEL, .kind = ANNOT_META, .key = STR_LIT(PT2_UNDO), .value = {text, w->n_undo}};
    return 0;
}

static int tag_model(struct writer *w, struct zip_wide *wide)
{
    struct target t = {0};
    struct annot *members;
    struct str custom = {0};
    uint32_t node;
    size_t n = 0;
    int rc;
    bool no_place = w->model_node == IR_NONE && !w->pt2->programs[0].meta.s;
    if (no_place || (w->a->n == 0 && !w->tagged))
        return 0;
    if ((rc = model_members(&members, &n, w)) != 0 || (rc = model_target(&t, &node, w)) != 0)
        return rc;
    if (w->a->n && (rc = decide_wide(w, &t, wide)) != 0)
        return rc;
    /* made twice: whether the original is to be remembered goes into sac.undo, which goes in here */
    if ((rc = make_custom(&custom, w, &t, node, members, n)) != 0 || (rc = add_undo(w, members, &n)) != 0 ||
        (rc = make_custom(&custom, w, &t, node, members, n)) != 0)
        return rc;
    return apply(w, 0, &t, custom);
}

/* ---- output ---- */

static int by_place(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct text_edit *)a)->del.s,
              y = (uintptr_t)((const struct text_edit *)b)->del.s;
    return (x > y) - (x < y);
}

/* How many edits lie before a place; they are sorted. */
static size_t edits_before(const struct writer *w, const char *place)
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

/* The edits that lie in a program: [*from, *to). */
static void edits_of(const struct writer *w, uint32_t program, size_t *from, size_t *to)
{
    struct str text = w->pt2->programs[program].text;
    *from = edits_before(w, text.s);
    *to = edits_before(w, text.s + text.n);
}

/* Gives the new text of a program to `put`, piece by piece. */
static int for_text(struct writer *w, uint32_t program, int (*put)(void *ctx, const char *s, size_t n),
                    void *ctx)
{
    struct str text = w->pt2->programs[program].text;
    const char *at = text.s;
    size_t from, to;
    edits_of(w, program, &from, &to);
    for (size_t i = from; i < to; i++) {
        const struct text_edit *e = &w->edits[i];
        int rc = put(ctx, at, (size_t)(e->del.s - at));
        if (rc == 0)
            rc = put(ctx, e->ins.s, e->ins.n);
        if (rc != 0)
            return rc;
        at = e->del.s + e->del.n;
    }
    return put(ctx, at, (size_t)(text.s + text.n - at));
}

static int put_crc(void *ctx, const char *s, size_t n)
{
    uint32_t *crc = ctx;
    if (n)
        *crc = (uint32_t)crc32_z(*crc, (const unsigned char *)s, n);
    return 0;
}

static int set_checksums(struct writer *w, struct zip_state *to)
{
    for (uint32_t i = 0; i < w->pt2->n_programs; i++) {
        const struct pt2_program *p = &w->pt2->programs[i];
        if (to->sizes[p->member] > JSON_TEXT_MAX)
            return diag_error(w->d, IR_EINPUT, "with its tags the program is over 2 GiB");
        size_t a, b;
        edits_of(w, i, &a, &b);
        if (a == b)
            continue;
        if (!p->stored)
            return diag_error(
                w->d, IR_EINPUT,
                "the program is compressed in the archive: it can be read but not tagged (torch stores "
                "it; repack with zip -0)");
        to->crcs[p->member] = 0;
        for_text(w, i, put_crc, &to->crcs[p->member]);
    }
    return 0;
}

static int emit(struct writer *w, struct splice *s, struct sink *to)
{
    for (size_t i = 0; i < w->n_edits; i++) {
        const struct text_edit *t = &w->edits[i];
        if (t->ins.n > UINT32_MAX)
            return diag_error(w->d, IR_EINPUT, "a tag is over 4 GiB");
        struct splice_edit e = {.off = (uint64_t)((const uint8_t *)t->del.s - w->m->bytes),
                                .del = t->del.n,
                                .ins = (const uint8_t *)t->ins.s,
                                .n_ins = (uint32_t)t->ins.n,
                                .record = SPLICE_TOP};
        if (splice_edit(s, e) != 0)
            return no_memory(w);
    }
    if (splice_measure(s) != 0)
        return diag_error(w->d, IR_EINPUT, "the archive is too large");
    splice_end(s);
    struct splice_cursor c = splice_begin(s);
    to->total = s->out_size;
    int rc = splice_write(&c, w->m->size, to);
    return rc != 0 ? rc : to->finish(to);
}

static int write_archive(struct writer *w, const struct zip_wide *wide, struct sink *to)
{
    struct zip_state from, now;
    struct splice s;
    splice_init(&s, w->m->bytes, w->m->size);
    int rc = state_after(&now, w, w->grown);
    if (rc == 0)
        rc = set_checksums(w, &now);
    if (rc == 0 && zip_state_init(&from, &w->pt2->zip, &w->was.wide, &w->arena) != 0)
        rc = no_memory(w);
    if (rc == 0) {
        if (w->a->n)
            now.wide = *wide;
        rc = w->n_edits ? zip_edits(&s, &w->pt2->zip, w->m->bytes, &from, &now, &w->arena, w->d) : 0;
    }
    if (rc == 0)
        rc = emit(w, &s, to);
    splice_free(&s);
    return rc;
}

/* ---- entries ---- */

static int check_annots(const struct writer *w)
{
    for (size_t i = 0; i < w->a->n; i++)
        if (w->a->a[i].kind != ANNOT_META)
            return diag_error(w->d, IR_EUSAGE,
                              "a .pt2 has no attributes: only the carrier \"metadata\" will do");
    return 0;
}

/* Finds all changes of the text. */
static int prepare(struct writer *w, struct ir_model *m, bool tagged, const struct annots *a,
                   struct zip_wide *wide, struct diag *d)
{
    *w = (struct writer){.m = m, .pt2 = pt2_of(m), .a = a, .d = d, .tagged = tagged, .model_node = IR_NONE};
    arena_init(&w->arena, 0);
    int rc = check_annots(w);
    if (rc != 0)
        return rc;
    const struct ir_graph *g = &m->graphs[w->pt2->programs[0].graph];
    if (!w->pt2->programs[0].meta.s && g->n_nodes)
        w->model_node = g->first_node;
    else if (!w->pt2->programs[0].meta.s && a->n)
        return diag_error(d, IR_EINPUT, "a program without nodes and metadata has no place for tags");
    w->grown = arena_alloc(&w->arena, w->pt2->n_programs, sizeof *w->grown);
    w->original = arena_alloc(&w->arena, w->pt2->n_programs, sizeof *w->original);
    if (!w->grown || !w->original)
        return no_memory(w);
    if ((rc = read_undo(w)) != 0 || (rc = tag_nodes(w)) != 0 || (rc = tag_model(w, wide)) != 0)
        return rc;
    if (w->n_edits)
        qsort(w->edits, w->n_edits, sizeof *w->edits, by_place);
    return 0;
}

static void finish(struct writer *w)
{
    free(w->edits);
    free(w->undo);
    arena_free(&w->arena);
}

int pt2_write(struct ir_model *m, bool tagged, const struct annots *a, struct sink *to, struct diag *d)
{
    struct writer w;
    struct zip_wide wide = {0};
    int rc = prepare(&w, m, tagged, a, &wide, d);
    if (rc == 0)
        rc = write_archive(&w, &wide, to);
    finish(&w);
    return rc;
}

int pt2_strip(struct ir_model *m, bool tagged, struct sink *to, struct diag *d)
{
    static const struct annots none = {NULL, 0};
    return pt2_write(m, tagged, &none, to, d);
}

static int put_sink(void *ctx, const char *s, size_t n)
{
    return sink_put(ctx, s, n, SINK_NEW);
}

static const struct pt2_program *program_of(const struct pt2 *p, uint32_t member)
{
    for (uint32_t i = 0; i < p->n_programs; i++)
        if (p->programs[i].member == member)
            return &p->programs[i];
    return NULL;
}

/* Name and size of a member that is no program. */
static int digest_member(const struct zip_member *f, struct sink *to)
{
    char size[32];
    ptrdiff_t slash = str_chr(f->name, '/');
    struct str name = str_sub(f->name, (size_t)(slash + 1), f->name.n - (size_t)(slash + 1));
    int n = snprintf(size, sizeof size, "%c%llu%c", 0, (unsigned long long)f->size, 0);
    int rc = put_sink(to, name.s, name.n);
    return rc != 0 ? rc : put_sink(to, size, (size_t)n);
}

int pt2_digest(struct ir_model *m, bool tagged, char out[DIGEST_TEXT], struct diag *d)
{
    static const struct annots none = {NULL, 0};
    struct writer w;
    struct zip_wide wide = {0};
    struct sink_digest sink;
    int rc = prepare(&w, m, tagged, &none, &wide, d);
    if (rc == 0 && (rc = sink_digest_init(&sink, NULL, 0, d)) == 0) {
        for (uint32_t i = 0; rc == 0 && i < w.pt2->zip.n; i++) {
            const struct pt2_program *p = program_of(w.pt2, i);
            rc = p ? for_text(&w, (uint32_t)(p - w.pt2->programs), put_sink, &sink.sink)
                   : digest_member(&w.pt2->zip.members[i], &sink.sink);
        }
        sink_digest_text(&sink, out);
        sink_digest_free(&sink);
    }
    finish(&w);
    return rc;
}
