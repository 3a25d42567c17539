#include "schema/onnx_clone.h"

#include "schema/onnx_fields.h"
#include "schema/splice.h"
#include "schema/wire.h"

#include <stdlib.h>

/* One text being put together: a splice over the model or over one function, and what it inserts. */
struct cloner {
    struct ir_model *m;
    struct splice splice;
    uint64_t base;    /* where the splice's source starts in the model */
    uint32_t *record; /* per segment: its record in the splice, or SPLICE_TOP */
    struct arena *arena;
};

/* A string field: tag, length, text. */
static int string_field(struct arena *a, uint32_t number, struct str text, struct str *out)
{
    uint8_t *b = arena_alloc(a, text.n + 2 * (size_t)SPLICE_PREFIX_MAX, 1);
    if (!b)
        return IR_EMEM;
    uint64_t tag = (uint64_t)number << 3 | WIRE_LEN;
    size_t n = splice_varint(b, tag, splice_varint_width(tag));
    n += splice_varint(b + n, text.n, splice_varint_width(text.n));
    memcpy(b + n, text.s, text.n);
    *out = (struct str){(const char *)b, n + text.n};
    return 0;
}

/* Has a segment its record, or needs none, since it is the source itself? */
static bool has_record(const struct cloner *k, uint32_t seg)
{
    return seg == IR_NONE || k->record[seg] != SPLICE_TOP || k->m->segs[seg].span.off <= k->base;
}

/* The record of a segment, with those around it; SPLICE_TOP when it is the source itself. 0 or IR_EMEM. */
static int seg_record(struct cloner *k, uint32_t seg, uint32_t *record)
{
    while (!has_record(k, seg)) {
        uint32_t at = seg; /* the outermost around it that has none */
        while (!has_record(k, k->m->segs[at].parent))
            at = k->m->segs[at].parent;
        const struct ir_seg *s = &k->m->segs[at];
        uint32_t parent = s->parent == IR_NONE ? SPLICE_TOP : k->record[s->parent];
        k->record[at] = splice_record(&k->splice, s->span.off - k->base, s->span.len, parent);
        if (k->record[at] == SPLICE_TOP)
            return IR_EMEM;
    }
    *record = seg == IR_NONE ? SPLICE_TOP : k->record[seg];
    return 0;
}

/* Replaces the last field of this number in a record, which is the one that counts, by a string field;
 * earlier ones stay. Without one it is added at the end. */
static int replace_string(struct cloner *k, struct ir_span span, uint32_t record, uint32_t number,
                          struct str text)
{
    struct wire w = wire_over(k->m->bytes + span.off, span.len);
    struct wire_field f;
    struct splice_edit e = {.off = span.off + span.len - k->base, .record = record};
    struct str field;
    while (wire_next(&w, &f) == 1)
        if (f.number == number && f.type == WIRE_LEN) {
            e.off = (uint64_t)(f.start - k->m->bytes) - k->base;
            e.del = (uint64_t)(w.at - f.start);
        }
    int rc = string_field(k->arena, number, text, &field);
    if (rc)
        return rc;
    e.ins = (const uint8_t *)field.s;
    e.n_ins = (uint32_t)field.n;
    return splice_edit(&k->splice, e) == 0 ? 0 : IR_EMEM;
}

static int retarget(struct cloner *k, const struct clone_call *calls, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_node *node = &k->m->nodes[calls[i].node];
        if (node->has_body)
            return diag_error(k->m->diag, IR_EINPUT,
                              "the call '%.*s' of a function holds a graph: it cannot be specialized",
                              STR_ARG(ir_node_name(k->m, node)));
        uint32_t outer, record = SPLICE_TOP;
        int rc = seg_record(k, ir_node_seg(k->m, node), &outer);
        if (!rc)
            record = splice_record(&k->splice, node->off - k->base, node->len, outer);
        if (record == SPLICE_TOP)
            return IR_EMEM;
        rc = replace_string(k, ir_node_span(node), record, ONNX_NODE_OP_TYPE, calls[i].op);
        if (rc)
            return rc;
    }
    return 0;
}

static int cloner_init(struct cloner *k, struct ir_model *m, struct ir_span span, struct arena *a)
{
    *k = (struct cloner){.m = m, .base = span.off, .arena = a};
    splice_init(&k->splice, m->bytes + span.off, span.len);
    k->record = malloc((size_t)(m->n_segs ? m->n_segs : 1) * sizeof *k->record);
    if (!k->record)
        return IR_EMEM;
    memset(k->record, 0xff, (size_t)m->n_segs * sizeof *k->record);
    return 0;
}

static void cloner_free(struct cloner *k)
{
    splice_free(&k->splice);
    free(k->record);
}

static int emit(struct cloner *k, struct sink *to)
{
    if (splice_measure(&k->splice) != 0)
        return IR_EMEM;
    splice_end(&k->splice);
    struct splice_cursor c = splice_begin(&k->splice);
    return splice_write(&c, k->splice.size, to);
}

/* The segment that holds a function: functions are never given in two pieces. */
static uint32_t function_seg(const struct ir_model *m, uint32_t graph)
{
    return ir_node_seg(m, &m->nodes[m->graphs[graph].first_node]);
}

/* A function's copy as a whole field of the model, appended to `to`. */
static int write_copy(struct ir_model *m, const struct clone *c, struct sink *to, struct arena *a,
                      struct diag *d)
{
    struct cloner k;
    struct sink_mem body;
    struct ir_span span = m->segs[function_seg(m, c->function)].span;
    sink_mem_init(&body, d);
    int rc = cloner_init(&k, m, span, a);
    if (!rc)
        rc = replace_string(&k, span, SPLICE_TOP, ONNX_FUNCTION_NAME, c->name);
    if (!rc)
        rc = retarget(&k, c->calls, c->n_calls);
    if (!rc)
        rc = emit(&k, &body.sink);
    if (!rc)
        rc = body.sink.finish(&body.sink);
    struct str field = {0};
    if (!rc)
        rc = string_field(a, ONNX_MODEL_FUNCTIONS, (struct str){(const char *)body.bytes, body.n}, &field);
    if (!rc)
        rc = sink_put(to, field.s, field.n, SINK_NEW);
    cloner_free(&k);
    sink_mem_free(&body);
    return rc;
}

int onnx_clone(struct ir_model *m, const struct clones *c, struct sink *to, struct diag *d)
{
    struct cloner k;
    struct arena a;
    arena_init(&a, 0);
    int rc = cloner_init(&k, m, (struct ir_span){0, m->size}, &a);
    if (!rc)
        rc = retarget(&k, c->calls, c->n_calls);
    if (!rc)
        rc = emit(&k, to);
    for (uint32_t i = 0; !rc && i < c->n_copies; i++)
        rc = write_copy(m, &c->copies[i], to, &a, d);
    if (!rc)
        rc = to->finish(to);
    cloner_free(&k);
    arena_free(&a);
    return rc == IR_EMEM ? diag_error(d, IR_EMEM, "memory exhausted while copying functions") : rc;
}
