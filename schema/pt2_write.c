/* What each node's and the model's custom becomes, and the archive with that. */
#include "schema/pt2_writer.h"

#include "schema/json.h"
#include "schema/pt2_custom.h"

#include <stdlib.h>
#include <zlib.h>

#define GROWTH_SLACK (UINT64_C(1) << 20) /* room for what is not measured when zip64 fields are decided */
#define ESCAPED_MAX  36                  /* bytes that escaping twice makes of one, at most */

int pt2_write_no_memory(struct pt2_writer *w)
{
    return diag_nomem(w->d);
}

/* ---- what custom becomes ---- */

static int bad_custom(struct pt2_writer *w, const struct pt2_target *t)
{
    struct str name =
        t->node == ANNOT_MODEL ? STR_LIT("the model") : ir_node_name(w->m, &w->m->nodes[t->node]);
    uint64_t off = (uint64_t)((const uint8_t *)t->metadata.s - w->m->bytes);
    char *z = arena_strdup(&w->arena, name.s, name.n);
    return diag_error_at(w->d, IR_EINPUT, z, "metadata.custom", off,
                         "expected a JSON object as text: tags cannot be added to anything else");
}

/* What custom becomes: the original with the members added. Remembers the original where taking them out
 * again would not give it back. */
static int make_custom(struct str *out, struct pt2_writer *w, const struct pt2_target *t,
                       const struct annot *members, size_t n)
{
    struct str base = {0}, back = {0};
    int rc = t->foreign && n ? IR_EINPUT : custom_strip(&base, t->was, &w->arena);
    if (rc == 0)
        rc = custom_add(out, n ? base : t->was, members, n, &w->arena);
    if (rc == 0)
        rc = custom_strip(&back, *out, &w->arena);
    if (rc == IR_EINPUT)
        return bad_custom(w, t);
    if (rc != 0)
        return pt2_write_no_memory(w);
    bool same = back.s && t->was.s ? str_eq(back, t->was) : back.s == t->was.s;
    return same || w->a->n == 0 ? 0 : pt2_undo_note(w, t->node, t->was);
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

static int tag_node(struct pt2_writer *w, uint32_t node, const struct annot *members, size_t n)
{
    struct pt2_target t = {0};
    struct str custom = {0};
    int rc;
    if (n == 0 && !has(pt2_text(w->m, node), "\"custom\""))
        return 0;
    if ((rc = pt2_target_read(&t, w, node)) != 0 || (rc = make_custom(&custom, w, &t, members, n)) != 0)
        return rc;
    return pt2_target_apply(w, ir_node_seg(w->m, &w->m->nodes[node]), &t, custom);
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
static int tag_nodes(struct pt2_writer *w)
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
static int model_members(struct annot **out, size_t *n, struct pt2_writer *w)
{
    size_t from = model_from(w->a), own = w->a->n - from, first = 0, of_node = 0;
    while (first < from && w->a->a[first].node < w->model_node)
        first++;
    if (w->model_node != ANNOT_MODEL)
        of_node = count_members(w->a, first, w->model_node);
    *out = arena_alloc(&w->arena, of_node + own + 1, sizeof **out);
    if (!*out)
        return pt2_write_no_memory(w);
    if (of_node)
        memcpy(*out, w->a->a + first, of_node * sizeof **out);
    if (own)
        memcpy(*out + of_node, w->a->a + from, own * sizeof **out);
    *n = of_node + own;
    return 0;
}

/* The state of the archive when programs have changed by `delta`. Checksums are filled in later. */
static int state_after(struct zip_state *s, struct pt2_writer *w, const int64_t *delta)
{
    if (zip_state_init(s, &w->pt2->zip, NULL, &w->arena) != 0)
        return pt2_write_no_memory(w);
    for (uint32_t i = 0; i < w->pt2->n_programs; i++)
        s->sizes[w->pt2->programs[i].member] += (uint64_t)delta[i];
    return 0;
}

/* Which zip64 fields the output needs and the original has not. This goes into sac.undo, so it has to be
 * known before the size of the model's tags is: an upper bound must do, the same from whichever state. */
static int decide_wide(struct pt2_writer *w, const struct pt2_target *model)
{
    struct zip_state original, now, to;
    int64_t less = 0;
    uint64_t growth = GROWTH_SLACK + (uint64_t)w->pt2->zip.n * 16 + w->n_undo * 2;
    for (uint32_t i = 0; i < w->pt2->n_programs; i++)
        growth += (uint64_t)(w->grown[i] > w->original[i] ? w->grown[i] - w->original[i] : 0);
    for (size_t i = model_from(w->a); i < w->a->n; i++)
        growth += (w->a->a[i].key.n + w->a->a[i].value.n) * ESCAPED_MAX;
    int rc = pt2_target_change(w, &less, model, model->was, false);
    if (rc != 0 || (rc = state_after(&original, w, w->original)) != 0 ||
        (rc = state_after(&to, w, w->grown)) != 0)
        return rc;
    original.sizes[w->pt2->programs[0].member] += (uint64_t)less;
    if (zip_state_init(&now, &w->pt2->zip, &w->was.wide, &w->arena) != 0 ||
        zip_widen(&to, &original, &now, growth, &w->arena) != 0)
        return pt2_write_no_memory(w);
    w->wide = to.wide;
    return pt2_undo_note_wide(w, &w->wide);
}

/* sac.undo becomes one more of the model's members. */
static int add_undo(struct pt2_writer *w, struct annot *members, size_t *n)
{
    char *text = w->n_undo ? arena_strdup(&w->arena, w->undo, w->n_undo) : NULL;
    if (w->n_undo && !text)
        return pt2_write_no_memory(w);
    if (text)
        members[(*n)++] = (struct annot){
            .node = ANNOT_MODEL, .kind = ANNOT_META, .key = STR_LIT(PT2_UNDO), .value = {text, w->n_undo}};
    return 0;
}

static int tag_model(struct pt2_writer *w)
{
    struct pt2_target t = {0};
    struct annot *members;
    struct str custom = {0};
    size_t n = 0;
    int rc;
    bool no_place = w->model_node == ANNOT_MODEL && !w->pt2->programs[0].meta.s;
    if (no_place || (w->a->n == 0 && !w->tagged))
        return 0;
    if ((rc = model_members(&members, &n, w)) != 0 || (rc = pt2_target_read(&t, w, w->model_node)) != 0)
        return rc;
    if (w->a->n && (rc = decide_wide(w, &t)) != 0)
        return rc;
    /* made twice: whether the original is to be remembered goes into sac.undo, which goes in here */
    if ((rc = make_custom(&custom, w, &t, members, n)) != 0 || (rc = add_undo(w, members, &n)) != 0 ||
        (rc = make_custom(&custom, w, &t, members, n)) != 0)
        return rc;
    return pt2_target_apply(w, 0, &t, custom);
}

/* ---- output ---- */

static int put_crc(void *ctx, const char *s, size_t n)
{
    uint32_t *crc = ctx;
    if (n)
        *crc = (uint32_t)crc32_z(*crc, (const unsigned char *)s, n);
    return 0;
}

static int set_checksums(struct pt2_writer *w, struct zip_state *to)
{
    for (uint32_t i = 0; i < w->pt2->n_programs; i++) {
        const struct pt2_program *p = &w->pt2->programs[i];
        if (to->sizes[p->member] > JSON_TEXT_MAX)
            return diag_error(w->d, IR_EINPUT, "with its tags the program is over 2 GiB");
        size_t a, b;
        pt2_edits_of(w, i, &a, &b);
        if (a == b)
            continue;
        if (!p->stored)
            return diag_error(
                w->d, IR_EINPUT,
                "the program is compressed in the archive: it can be read but not tagged (torch stores "
                "it; repack with zip -0)");
        to->crcs[p->member] = 0;
        pt2_for_text(w, i, put_crc, &to->crcs[p->member]);
    }
    return 0;
}

static int emit(struct pt2_writer *w, struct splice *s, struct sink *to)
{
    for (size_t i = 0; i < w->n_edits; i++) {
        const struct pt2_text_edit *t = &w->edits[i];
        if (t->ins.n > UINT32_MAX)
            return diag_error(w->d, IR_EINPUT, "a tag is over 4 GiB");
        struct splice_edit e = {.off = (uint64_t)((const uint8_t *)t->del.s - w->m->bytes),
                                .del = t->del.n,
                                .ins = (const uint8_t *)t->ins.s,
                                .n_ins = (uint32_t)t->ins.n,
                                .record = SPLICE_TOP};
        if (splice_edit(s, e) != 0)
            return pt2_write_no_memory(w);
    }
    if (splice_measure(s) != 0)
        return diag_error(w->d, IR_EINPUT, "the archive is too large");
    splice_end(s);
    struct splice_cursor c = splice_begin(s);
    to->total = s->out_size;
    int rc = splice_write(&c, w->m->size, to);
    return rc != 0 ? rc : to->finish(to);
}

static int write_archive(struct pt2_writer *w, struct sink *to)
{
    struct zip_state from, now;
    struct splice s;
    splice_init(&s, w->m->bytes, w->m->size);
    int rc = state_after(&now, w, w->grown);
    if (rc == 0)
        rc = set_checksums(w, &now);
    if (rc == 0 && zip_state_init(&from, &w->pt2->zip, &w->was.wide, &w->arena) != 0)
        rc = pt2_write_no_memory(w);
    if (rc == 0) {
        if (w->a->n)
            now.wide = w->wide;
        rc = w->n_edits ? zip_edits(&s, &from, &now, &w->arena, w->d) : 0;
    }
    if (rc == 0)
        rc = emit(w, &s, to);
    splice_free(&s);
    return rc;
}

/* ---- entries ---- */

static int check_annots(const struct pt2_writer *w)
{
    for (size_t i = 0; i < w->a->n; i++)
        if (w->a->a[i].kind != ANNOT_META)
            return diag_error(w->d, IR_EUSAGE,
                              "a .pt2 has no attributes: only the carrier \"metadata\" will do");
    return 0;
}

int pt2_writer_open(struct pt2_writer *w, struct ir_model *m, bool tagged, const struct annots *a,
                    struct diag *d)
{
    *w = (struct pt2_writer){
        .m = m, .pt2 = pt2_of(m), .a = a, .d = d, .tagged = tagged, .model_node = ANNOT_MODEL};
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
        return pt2_write_no_memory(w);
    if ((rc = pt2_undo_read(w)) != 0 || (rc = tag_nodes(w)) != 0 || (rc = tag_model(w)) != 0)
        return rc;
    pt2_edits_sort(w);
    return 0;
}

void pt2_writer_close(struct pt2_writer *w)
{
    free(w->edits);
    free(w->undo);
    arena_free(&w->arena);
}

int pt2_write(struct ir_model *m, bool tagged, const struct annots *a, struct sink *to, struct diag *d)
{
    struct pt2_writer w;
    int rc = pt2_writer_open(&w, m, tagged, a, d);
    if (rc == 0)
        rc = write_archive(&w, to);
    pt2_writer_close(&w);
    return rc;
}

int pt2_strip(struct ir_model *m, bool tagged, struct sink *to, struct diag *d)
{
    static const struct annots none = {NULL, 0};
    return pt2_write(m, tagged, &none, to, d);
}
