/* The widths of length prefixes: some writers make them wider than they need be. */
#include "schema/onnx_writer.h"

/* The record of the base that a width is of, or NULL. */
static struct splice_record *base_record(struct onnx_writer *w, const struct onnx_width *x)
{
    uint32_t record = SPLICE_TOP;
    if (x->segment) {
        if (x->record < w->m->n_segs)
            record = w->base_seg[x->record];
    } else {
        size_t lo = 0, hi = w->n_touched;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (w->touched[mid].node < x->record)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo < w->n_touched && w->touched[lo].node == x->record)
            record = w->touched[lo].base;
    }
    return record == SPLICE_TOP ? NULL : &w->base.records[record];
}

void onnx_widths_restore(struct onnx_writer *w)
{
    const struct onnx_undo *u = w->e.undo;
    for (uint32_t i = 0; u && !w->loose && i < u->n_widths; i++) {
        struct splice_record *r = base_record(w, &u->widths[i]);
        if (r)
            r->want = u->widths[i].width;
    }
}

/* What is not tagged any more is in the output as it is in the base. */
static void keep_width(struct onnx_writer *w, uint32_t base, uint32_t out)
{
    if (base != SPLICE_TOP && out != SPLICE_TOP)
        w->out.records[out].want = w->base.records[base].n_prefix;
}

/* Notes the width that a prefix has in the base, when it is more than is needed. */
static int note_width(struct onnx_writer *w, bool segment, uint32_t number, uint32_t base, uint32_t out)
{
    uint64_t len = w->out.records[out].len;
    uint8_t width = w->out.records[out].width;
    if (base != SPLICE_TOP) {
        len = splice_length(&w->base.records[base]);
        width = w->base.records[base].n_prefix;
    }
    if (width == splice_varint_width(len))
        return 0;
    struct onnx_undo *u = &w->done;
    if (grow(&u->widths, &w->cap_widths, (size_t)u->n_widths + 1, sizeof *u->widths) != 0)
        return onnx_write_no_memory(w);
    u->widths[u->n_widths++] = (struct onnx_width){segment, number, width};
    return 0;
}

int onnx_widths_choose(struct onnx_writer *w)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->n_touched; i++) {
        const struct onnx_touched *t = &w->touched[i];
        if (t->tagged)
            rc = note_width(w, false, t->node, t->base, t->out);
        else
            keep_width(w, t->base, t->out);
    }
    for (uint32_t s = 0; rc == 0 && s < w->m->n_segs; s++) {
        if (w->seg_tagged[s])
            rc = note_width(w, true, s, w->base_seg[s], w->out_seg[s]);
        else
            keep_width(w, w->base_seg[s], w->out_seg[s]);
    }
    return rc;
}
