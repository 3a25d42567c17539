/* Which nodes and records are touched, and writing. */
#include "schema/onnx_writer.h"

#include <stdlib.h>

enum {
    STEP = 256 * 1024, /* output and base are written side by side in steps of this: what the one has read
                          is still in the processor's cache for the other */
    LONG_DATA =
        1024 * 1024, /* data of tensors from this size are one step, so that they can be shared whole */
};

int onnx_write_no_memory(struct onnx_writer *w)
{
    return diag_nomem(w->d);
}

static bool tagging(const struct onnx_writer *w)
{
    return w->e.annots != NULL;
}

/* ---- records */

/* The segment that a node's record is, because it holds a graph; IR_NONE if it is none. */
static uint32_t seg_of_node(const struct onnx_writer *w, uint32_t node)
{
    const struct ir_model *m = w->m;
    uint64_t off = m->nodes[node].off;
    uint32_t lo = 0, hi = m->n_segs;
    if (!m->nodes[node].has_body)
        return IR_NONE;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->segs[w->seg_order[mid]].span.off < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->n_segs && m->segs[w->seg_order[lo]].span.off == off ? w->seg_order[lo] : IR_NONE;
}

/* Adds a segment and all that enclose it to a splice; *record is its number there. From the outside in, so
 * that each parent is there before what it encloses. */
static int touch_seg(struct onnx_writer *w, struct splice *s, uint32_t *records, uint32_t *record,
                     uint32_t seg)
{
    const struct ir_model *m = w->m;
    *record = SPLICE_TOP;
    if (seg == IR_NONE)
        return 0;
    while (records[seg] == SPLICE_TOP) {
        uint32_t next = seg;
        while (m->segs[next].parent != IR_NONE && records[m->segs[next].parent] == SPLICE_TOP)
            next = m->segs[next].parent;
        uint32_t parent = m->segs[next].parent;
        records[next] = splice_record(s, m->segs[next].span.off, m->segs[next].span.len,
                                      parent == IR_NONE ? SPLICE_TOP : records[parent]);
        if (records[next] == SPLICE_TOP)
            return onnx_write_no_memory(w);
    }
    *record = records[seg];
    return 0;
}

static int touch_node(struct onnx_writer *w, struct splice *s, uint32_t *records, uint32_t *record,
                      uint32_t node)
{
    const struct ir_node *n = &w->m->nodes[node];
    uint32_t seg = seg_of_node(w, node), parent;
    if (seg != IR_NONE)
        return touch_seg(w, s, records, record, seg);
    int rc = touch_seg(w, s, records, &parent, ir_node_seg(w->m, n));
    if (rc)
        return rc;
    *record = splice_record(s, n->off, n->len, parent);
    return *record == SPLICE_TOP ? onnx_write_no_memory(w) : 0;
}

static void mark_tagged(struct onnx_writer *w, uint32_t seg)
{
    for (; seg != IR_NONE && !w->seg_tagged[seg]; seg = w->m->segs[seg].parent)
        w->seg_tagged[seg] = true;
}

/* ---- nodes */

/* Does a node carry entries that an earlier run wrote? */
static bool carries(const struct onnx_writer *w, uint32_t node)
{
    struct str body = ir_span_bytes(w->m, ir_node_span(&w->m->nodes[node]));
    struct wire wire = wire_over((const uint8_t *)body.s, body.n);
    struct wire_field f;
    while (wire_next(&wire, &f) == 1)
        if (onnx_undo_owns(w->e.undo, &f))
            return true;
    return false;
}

/* Is each tag where the earlier run put it? */
static bool tags_in_place(const struct onnx_writer *w)
{
    const struct onnx_undo *u = w->e.undo;
    if (u->of != w->m->n_nodes)
        return false;
    for (uint32_t i = 0; i < u->n_nodes; i++)
        if (!carries(w, u->nodes[i]))
            return false;
    return true;
}

/* The fields that had given way on a node, or on the model. */
static void find_back(const struct onnx_writer *w, struct onnx_record *r)
{
    const struct onnx_undo *u = w->e.undo;
    uint32_t lo = 0, hi = u ? u->n_fields : 0;
    if (!u || !u->n_fields || (w->loose && r->node != ANNOT_MODEL))
        return;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (u->fields[mid].node < r->node)
            lo = mid + 1;
        else
            hi = mid;
    }
    r->back = u->fields + lo;
    while (lo < u->n_fields && u->fields[lo].node == r->node)
        lo++;
    r->back_end = u->fields + lo;
}

static int note_node(struct onnx_writer *w, const struct onnx_record *r)
{
    if (r->tagged) {
        if (grow(&w->done.nodes, &w->cap_nodes, (size_t)w->done.n_nodes + 1, sizeof *w->done.nodes) != 0)
            return onnx_write_no_memory(w);
        w->done.nodes[w->done.n_nodes++] = r->node;
    }
    if (seg_of_node(w, r->node) != IR_NONE)
        return 0;
    if (grow(&w->touched, &w->cap_touched, w->n_touched + 1, sizeof *w->touched) != 0)
        return onnx_write_no_memory(w);
    w->touched[w->n_touched++] = (struct onnx_touched){r->node, r->base, r->out, r->tagged};
    return 0;
}

/* One node that carries tags of an earlier run (`was_tagged`), or is to get a[0..n), or both. */
static int edit_node(struct onnx_writer *w, uint32_t node, bool was_tagged, const struct annot *a, size_t n)
{
    struct onnx_record r = {.w = w, .node = node, .base = SPLICE_TOP, .out = SPLICE_TOP, .tagged = n > 0};
    int rc = 0;
    if (was_tagged)
        rc = touch_node(w, &w->base, w->base_seg, &r.base, node);
    if (rc == 0 && tagging(w))
        rc = touch_node(w, &w->out, w->out_seg, &r.out, node);
    if (rc == 0 && n) {
        mark_tagged(w, ir_node_seg(w->m, &w->m->nodes[node]));
        mark_tagged(w, seg_of_node(w, node));
    }
    if (was_tagged)
        find_back(w, &r);
    if (rc == 0)
        rc = onnx_edit_node(&r, was_tagged, a, n);
    return rc ? rc : note_node(w, &r);
}

/* How many annotations from `i` on are one node's. */
static size_t run_of(const struct annots *a, size_t i)
{
    size_t n = i;
    while (n < a->n && a->a[n].node == a->a[i].node)
        n++;
    return n - i;
}

/* Fetches a node's record into the cache, as far as it is of usual length: it will be walked. */
#define RECORD_USUAL 4096
PREFETCHES fetch_record(const struct ir_model *m, uint32_t node)
{
    const struct ir_node *n = &m->nodes[node];
    prefetch_lines(m->bytes + n->off, n->len < RECORD_USUAL ? n->len : RECORD_USUAL);
}

/* All nodes that are touched, by their numbers: those of the annotations, and those that carry tags. */
static int edit_nodes(struct onnx_writer *w)
{
    static const struct annots none = {0};
    const struct onnx_undo *u = w->e.undo;
    const struct annots *a = tagging(w) ? w->e.annots : &none;
    size_t next_a = 0;
    uint32_t n_was = !u ? 0 : w->loose ? w->m->n_nodes : u->n_nodes;
    int rc = 0;
    for (uint32_t i = 0; rc == 0;) {
        uint32_t was = i < n_was ? (w->loose ? i : u->nodes[i]) : IR_NONE;
        uint32_t now = next_a < a->n ? a->a[next_a].node : IR_NONE;
        if (was == IR_NONE && now == IR_NONE) /* ANNOT_MODEL is the last of all */
            return 0;
        uint32_t node = was < now ? was : now;
        size_t n = now == node ? run_of(a, next_a) : 0;
        bool was_tagged = was == node && (!w->loose || carries(w, node));
        if (next_a + n < a->n && a->a[next_a + n].node != ANNOT_MODEL)
            fetch_record(w->m, a->a[next_a + n].node);
        if (was_tagged || n)
            rc = edit_node(w, node, was_tagged, n ? a->a + next_a : NULL, n);
        i += was == node;
        next_a += n;
    }
    return rc;
}

_Static_assert(ANNOT_MODEL == IR_NONE, "edit_nodes() tells the end by it");

/* ---- preparing */

static int by_offset(const void *a, const void *b, void *segs)
{
    const struct ir_seg *s = segs;
    uint64_t x = s[*(const uint32_t *)a].span.off, y = s[*(const uint32_t *)b].span.off;
    return (x > y) - (x < y);
}

static int init_segs(struct onnx_writer *w)
{
    uint32_t n = w->m->n_segs;
    w->base_seg = arena_alloc(&w->arena, n, sizeof *w->base_seg);
    w->out_seg = arena_alloc(&w->arena, n, sizeof *w->out_seg);
    w->seg_order = arena_alloc(&w->arena, n, sizeof *w->seg_order);
    w->seg_tagged = arena_alloc(&w->arena, n, sizeof *w->seg_tagged);
    if (!w->base_seg || !w->out_seg || !w->seg_order || !w->seg_tagged)
        return onnx_write_no_memory(w);
    for (uint32_t i = 0; i < n; i++) {
        w->base_seg[i] = w->out_seg[i] = SPLICE_TOP;
        w->seg_order[i] = i;
    }
    if (n)
        qsort_r(w->seg_order, n, sizeof *w->seg_order, by_offset, w->m->segs);
    return 0;
}

/* The keys of what is to be written. */
static int init_done(struct onnx_writer *w)
{
    struct onnx_undo *u = &w->done;
    const struct annots *a = w->e.annots;
    size_t cap = 0;
    u->of = w->m->n_nodes;
    for (size_t i = 0; a && i < a->n && a->a[i].node != ANNOT_MODEL; i++) {
        bool known = false;
        for (uint32_t k = 0; !known && k < u->n_keys; k++)
            known = str_eq(u->keys[k], a->a[i].key);
        if (known)
            continue;
        if (grow(&u->keys, &cap, (size_t)u->n_keys + 1, sizeof *u->keys) != 0)
            return onnx_write_no_memory(w);
        u->keys[u->n_keys++] = a->a[i].key;
        u->attributes = a->a[i].kind != ANNOT_META;
    }
    return 0;
}

/* Counts what cannot be put back any more. */
static void count_lost(struct onnx_writer *w)
{
    const struct onnx_undo *u = w->e.undo;
    w->lost = u->n_lost;
    for (uint32_t i = 0; i < u->n_fields; i++)
        w->lost += u->fields[i].node != ANNOT_MODEL;
}

static int measure(struct onnx_writer *w, struct splice *s)
{
    if (splice_measure(s) == 0)
        return 0;
    return diag_error(w->d, IR_EINPUT, "the result would be longer than a file can be");
}

int onnx_write_init(struct onnx_writer *w, struct ir_model *m, const struct onnx_edit *e, struct diag *d)
{
    *w = (struct onnx_writer){.m = m, .d = d, .e = *e};
    splice_init(&w->base, m->bytes, m->size);
    splice_init(&w->out, m->bytes, m->size);
    arena_init(&w->arena, 0);
    int rc = init_segs(w);
    if (rc == 0)
        rc = init_done(w);
    if (rc == 0 && e->undo && !tags_in_place(w)) {
        w->loose = true;
        count_lost(w);
    }
    if (rc == 0)
        rc = edit_nodes(w);
    struct onnx_record r = {
        .w = w, .node = ANNOT_MODEL, .base = SPLICE_TOP, .out = SPLICE_TOP, .tagged = tagging(w)};
    find_back(w, &r);
    if (rc == 0)
        rc = onnx_edit_model(&r);
    if (rc == 0) {
        onnx_widths_restore(w);
        rc = measure(w, &w->base);
    }
    if (rc == 0 && tagging(w))
        rc = onnx_widths_choose(w);
    if (rc == 0)
        rc = measure(w, &w->out);
    if (rc == 0) {
        splice_end(&w->base);
        splice_end(&w->out);
    }
    return rc;
}

void onnx_write_free(struct onnx_writer *w)
{
    splice_free(&w->base);
    splice_free(&w->out);
    arena_free(&w->arena);
    free(w->touched);
    free(w->scratch);
    free(w->done.keys);
    free(w->done.nodes);
    free(w->done.fields);
    free(w->done.widths);
}

/* ---- writing */

/* Where the step that starts at `at` ends. `data`: the next tensor data field. */
static uint64_t step_end(const struct ir_model *m, uint64_t at, size_t *data)
{
    while (*data < m->n_data && m->data[*data].off + m->data[*data].len <= at)
        (*data)++;
    uint64_t end = m->size - at > STEP ? at + STEP : m->size;
    if (*data < m->n_data && m->data[*data].off < end && m->data[*data].len >= LONG_DATA)
        end = m->data[*data].off + m->data[*data].len;
    return end;
}

int onnx_write(const struct onnx_writer *w, struct sink *to, struct sink *base)
{
    const struct ir_model *m = w->m;
    struct splice_cursor b = splice_begin(&w->base), o = splice_begin(tagging(w) ? &w->out : &w->base);
    size_t data = 0;
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < m->size;) {
        at = step_end(m, at, &data);
        if (base)
            rc = splice_write(&b, at, base);
        if (rc == 0 && to)
            rc = splice_write(&o, at, to);
    }
    return rc;
}
