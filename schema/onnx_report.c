/* The reader's memory and messages: every failure says what and where. */
#include "schema/onnx_reader.h"

#include <stdarg.h>
#include <stdio.h>

/* "graph.node[3].then_branch.node[0]": where the reader is. NULL at the model's level, or without memory. */
static const char *place(struct onnx_reader *r)
{
    struct ir_model *m = r->m;
    if (r->graph == IR_NONE)
        return NULL;
    uint32_t graph = r->graph, node = r->node;
    const char *tail = "";
    for (;;) {
        const struct ir_graph *g = &m->graphs[graph];
        if (strlen(tail) > DIAG_TEXT_MAX) /* cut anyway, and nesting is as deep as the caller's limit */
            return arena_printf(&m->arena, "...%s", tail);
        if (node != IR_NONE)
            tail = arena_printf(&m->arena, ".node[%u]%s", node - g->first_node, tail);
        if (!tail || g->kind != IR_GRAPH_BODY)
            break;
        tail = arena_printf(&m->arena, ".%.*s%s", STR_ARG(g->attr), tail);
        if (!tail)
            break;
        node = g->parent_node;
        graph = g->parent;
    }
    if (!tail)
        return NULL;
    return graph == 0 ? arena_printf(&m->arena, "graph%s", tail)
                      : arena_printf(&m->arena, "functions[%u]%s", graph - 1, tail);
}

int onnx_malformed(struct onnx_reader *r, int wire_error)
{
    uint64_t offset = r->bad ? (uint64_t)(r->bad - r->m->bytes) : DIAG_NO_OFFSET;
    return diag_error_at(r->d, IR_EINPUT, NULL, place(r), offset, "malformed protobuf: %s",
                         wire_error_text(wire_error));
}

int onnx_no_memory(struct onnx_reader *r)
{
    const struct arena *a = &r->m->arena;
    if (a->over)
        return diag_error(r->d, IR_EINPUT, "the graph needs more memory than the limit of %zu bytes",
                          a->limit);
    return diag_nomem(r->d);
}

int onnx_fail(struct onnx_reader *r, const uint8_t *at, const char *fmt, ...)
{
    char text[DIAG_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    size_t n = diag_format(text, sizeof text, fmt, ap);
    va_end(ap);
    return diag_error_at(r->d, IR_EINPUT, NULL, place(r), at ? (uint64_t)(at - r->m->bytes) : DIAG_NO_OFFSET,
                         "%.*s", (int)n, text);
}

/* Charges memory outside the arena to the model's limit. */
static int charge(struct onnx_reader *r, size_t bytes)
{
    return arena_charge(&r->m->arena, bytes) == 0 ? 0 : onnx_no_memory(r);
}

void onnx_uncharge(struct onnx_reader *r, size_t bytes)
{
    struct arena *a = &r->m->arena;
    a->total -= bytes < a->total ? bytes : a->total;
}

static int charge_names(struct onnx_reader *r)
{
    size_t now = names_bytes(&r->m->names);
    size_t more = now - r->names_charged;
    r->names_charged = now;
    return charge(r, more);
}

int onnx_room_more(struct onnx_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size)
{
    size_t before = *cap;
    if (need >= IR_NONE)
        return onnx_fail(r, NULL, "there are more than %u of one kind of thing", IR_NONE - 1);
    if (grow(array_ptr, cap, need, elem_size) != 0)
        return onnx_no_memory(r);
    int rc = charge(r, (*cap - before) * elem_size);
    return rc ? rc : charge_names(r);
}

#define TEXT_CHUNK ((size_t)16 << 10)
int onnx_keep_text(struct onnx_reader *r, struct str *text)
{
    if (text->n == 0 || text->n >= STR_LONG)
        return 0;
    if (text->n > (size_t)(r->text_end - r->text)) {
        r->text = arena_alloc(&r->m->arena, TEXT_CHUNK, 1);
        if (!r->text)
            return onnx_no_memory(r);
        r->text_end = r->text + TEXT_CHUNK;
    }
    memcpy(r->text, text->s, text->n);
    text->s = r->text;
    r->text += text->n;
    return 0;
}
