/* The fields of one record: which of them are the base's, which go, what comes and what comes back.
 *
 * Fields are passed in the order in which they stand. Edits that touch each other become one, so that a
 * splice never has two at one place in one record. */
#include "schema/onnx_writer.h"

/* ---- pending edits */

static bool is_empty(const struct onnx_pending *p)
{
    return p->del == 0 && p->ins.n == 0;
}

static int flush(struct onnx_record *r, struct splice *s, struct onnx_pending *p, uint32_t record)
{
    if (is_empty(p))
        return 0;
    if (p->ins.n > UINT32_MAX)
        return diag_error(r->w->d, IR_EINPUT, "what stood in place of a tag is over 4 GiB");
    struct splice_edit e = {p->off, p->del, (const uint8_t *)p->ins.s, (uint32_t)p->ins.n, record};
    *p = (struct onnx_pending){0};
    return splice_edit(s, e) == 0 ? 0 : onnx_write_no_memory(r->w);
}

/* A field that stays ends the edits before it. */
static int stays(struct onnx_record *r)
{
    if (is_empty(&r->base_edit) && is_empty(&r->out_edit)) /* most fields */
        return 0;
    int rc = flush(r, &r->w->base, &r->base_edit, r->base);
    return rc ? rc : flush(r, &r->w->out, &r->out_edit, r->out);
}

static void goes(struct onnx_pending *p, uint64_t off, uint64_t len)
{
    if (is_empty(p))
        p->off = off;
    p->del += len;
}

static int comes(struct onnx_record *r, struct onnx_pending *p, uint64_t off, struct str bytes)
{
    if (is_empty(p))
        p->off = off;
    if (p->ins.n) {
        char *both = arena_alloc(&r->w->arena, p->ins.n + bytes.n, 1);
        if (!both)
            return onnx_write_no_memory(r->w);
        memcpy(both, p->ins.s, p->ins.n);
        memcpy(both + p->ins.n, bytes.s, bytes.n);
        bytes = (struct str){both, p->ins.n + bytes.n};
    }
    p->ins = bytes;
    return 0;
}

/* ---- what gives way and what comes back */

static bool gives_way(const struct onnx_record *r, const struct wire_field *f)
{
    if (!r->tagged)
        return false;
    if (r->node == ANNOT_MODEL)
        return wire_is_len(f, ONNX_MODEL_METADATA_PROPS) &&
               str_is(onnx_key_of(wire_str(f)), r->w->e.model_key);
    return onnx_undo_owns(&r->w->done, f);
}

/* Notes the base's next field as one that gives way. */
static int note(struct onnx_record *r, const struct wire_field *f, struct str bytes)
{
    struct onnx_undo *u = &r->w->done;
    if (r->node != ANNOT_MODEL && !onnx_gives_way(f->number, wire_str(f))) {
        const struct ir_node *n = &r->w->m->nodes[r->node];
        struct str key = onnx_key_of(wire_str(f));
        return diag_error_at(r->w->d, IR_EINPUT, NULL, "attribute", n->off,
                             "node %u '%.*s' has an attribute '%.*s' that is no tag (it holds a tensor or a "
                             "graph): choose another carrier",
                             ir_node_index(r->w->m, r->node), STR_ARG(ir_node_name(r->w->m, n)),
                             STR_ARG(key));
    }
    if (grow(&u->fields, &r->w->cap_fields, (size_t)u->n_fields + 1, sizeof *u->fields) != 0)
        return onnx_write_no_memory(r->w);
    u->fields[u->n_fields++] = (struct onnx_field){r->node, r->index, bytes};
    return 0;
}

/* Puts back the fields that stood where the base has got to; at the end all that are left. */
static int put_back(struct onnx_record *r, uint64_t off, bool end)
{
    int rc = 0;
    for (; rc == 0 && r->back < r->back_end && (end || r->back->index <= r->index); r->back++, r->index++) {
        struct str bytes = r->back->bytes;
        struct wire w = wire_over((const uint8_t *)bytes.s, bytes.n);
        struct wire_field f;
        rc = comes(r, &r->base_edit, off, bytes);
        if (rc == 0 && wire_next(&w, &f) == 1 && gives_way(r, &f))
            rc = note(r, &f, bytes);
        else if (rc == 0 && r->w->e.annots)
            rc = comes(r, &r->out_edit, off, bytes);
    }
    return rc;
}

/* A field of the source that is the base's as well. */
static int base_field(struct onnx_record *r, const struct wire_field *f, struct str bytes, uint64_t off)
{
    int rc;
    if (gives_way(r, f)) {
        rc = flush(r, &r->w->base, &r->base_edit, r->base);
        if (rc == 0)
            rc = note(r, f, bytes);
        goes(&r->out_edit, off, bytes.n);
    } else {
        rc = stays(r);
    }
    r->index++;
    return rc;
}

/* A field that an earlier run wrote. */
static void our_field(struct onnx_record *r, uint64_t off, uint64_t len)
{
    goes(&r->base_edit, off, len);
    if (r->w->e.annots)
        goes(&r->out_edit, off, len);
}

/* ---- nodes */

int onnx_edit_node(struct onnx_record *r, bool was_tagged, const struct annot *a, size_t n)
{
    struct onnx_writer *w = r->w;
    struct ir_span span = ir_node_span(&w->m->nodes[r->node]);
    struct wire wire = wire_over(w->m->bytes + span.off, span.len);
    struct wire_field f;
    struct str fresh = {0};
    int rc = 0, step = 0;
    while (rc == 0 && (step = wire_next(&wire, &f)) == 1) {
        struct str bytes = {(const char *)f.start, (size_t)(wire.at - f.start)};
        uint64_t off = (uint64_t)(f.start - w->m->bytes);
        if (r->back < r->back_end)
            rc = put_back(r, off, false);
        if (rc == 0 && was_tagged && onnx_undo_owns(w->e.undo, &f))
            our_field(r, off, bytes.n);
        else if (rc == 0)
            rc = base_field(r, &f, bytes, off);
    }
    uint64_t end = span.off + span.len;
    if (rc == 0 && step < 0) /* the reader has seen it whole */
        rc = diag_error_at(w->d, IR_EINPUT, NULL, NULL, span.off, "%s", wire_error_text(step));
    if (rc == 0)
        rc = put_back(r, end, true);
    if (rc == 0 && n)
        rc = onnx_pack_node(w, &fresh, a, n);
    if (rc == 0 && fresh.n)
        rc = comes(r, &r->out_edit, end, fresh);
    return rc ? rc : stays(r);
}

/* ---- the model's own fields */

/* Its ir_version fields: the last one counts. */
struct version {
    const uint8_t *last, *before; /* where the last two start, NULL if there are none */
    struct str was;               /* the last one's bytes in the base */
    bool ours;                    /* the last one was written by an earlier run, and goes */
    const uint8_t *target;        /* the field that is the base's */
    struct str now;               /* what it becomes in the output; empty if it stays */
};

static void find_versions(struct version *v, const struct ir_model *m)
{
    struct wire wire = wire_over(m->bytes, m->size);
    struct wire_field f;
    while (wire_next(&wire, &f) == 1) {
        if (wire_is_varint(&f, ONNX_MODEL_IR_VERSION)) {
            v->before = v->last;
            v->last = f.start;
        }
    }
}

/* What the base's ir_version is and what becomes of it. */
static int choose_version(struct onnx_writer *w, struct version *v)
{
    const struct onnx_undo *undo = w->e.undo;
    struct wire wire = {0};
    struct wire_field f = {0};
    find_versions(v, w->m);
    v->target = v->last;
    if (undo && undo->ir_version && v->last) {
        v->ours = true;
        v->was = undo->ir_version_was;
        if (!v->was.n)
            v->target = v->before;
    }
    if (v->ours && v->was.n)
        wire = wire_over((const uint8_t *)v->was.s, v->was.n);
    else if (v->target)
        wire = wire_over(v->target, (uint64_t)(w->m->bytes + w->m->size - v->target));
    bool there = wire.at && wire_next(&wire, &f) == 1;
    if (!w->e.annots || !w->e.set_ir_version || (there && f.value == (uint64_t)w->e.set_ir_version))
        return 0;
    w->done.ir_version = true;
    if (there)
        w->done.ir_version_was = (struct str){(const char *)f.start, (size_t)(wire.at - f.start)};
    return onnx_pack_ir_version(w, &v->now, w->e.set_ir_version);
}

/* An ir_version that is not passed on as it is. */
static int version_field(struct onnx_record *r, const struct version *v, const struct wire_field *f,
                         uint64_t off, uint64_t len)
{
    bool ours = v->ours && f->start == v->last;
    int rc = 0;
    if (ours) {
        goes(&r->base_edit, off, len);
        if (v->was.n)
            rc = comes(r, &r->base_edit, off, v->was);
    } else {
        rc = flush(r, &r->w->base, &r->base_edit, r->base);
    }
    if (r->w->e.annots) {
        struct str to = f->start == v->target && v->now.n ? v->now : ours ? v->was : (struct str){0};
        goes(&r->out_edit, off, len);
        if (rc == 0 && to.n)
            rc = comes(r, &r->out_edit, off, to);
    }
    if (!ours || v->was.n)
        r->index++;
    return rc;
}

int onnx_edit_model(struct onnx_record *r)
{
    struct onnx_writer *w = r->w;
    struct wire wire = wire_over(w->m->bytes, w->m->size);
    struct wire_field f;
    struct version v = {0};
    int rc = choose_version(w, &v);
    while (rc == 0 && wire_next(&wire, &f) == 1) {
        struct str bytes = {(const char *)f.start, (size_t)(wire.at - f.start)};
        uint64_t off = (uint64_t)(f.start - w->m->bytes);
        rc = put_back(r, off, false);
        if (rc)
            break;
        if (w->e.undo && off == w->e.undo_entry.off)
            our_field(r, off, bytes.n);
        else if ((v.ours && f.start == v.last) || (v.now.n && f.start == v.target))
            rc = version_field(r, &v, &f, off, bytes.n);
        else
            rc = base_field(r, &f, bytes, off);
    }
    if (rc == 0)
        rc = put_back(r, w->m->size, true);
    if (rc == 0 && v.now.n && !v.target)
        rc = comes(r, &r->out_edit, w->m->size, v.now);
    return rc ? rc : stays(r);
}
