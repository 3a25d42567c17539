/* The reader's memory and messages, and what must hold of a token. */
#include "schema/pt2_reader.h"

#include <stdarg.h>
#include <stdio.h>

int pt2_no_memory(struct pt2_reader *r)
{
    const struct arena *a = &r->m->arena;
    if (a->over)
        return diag_error(r->d, IR_EINPUT, "the program needs more memory than the limit of %zu bytes",
                          a->limit);
    return diag_nomem(r->d);
}

int pt2_room_more(struct pt2_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size)
{
    size_t before = *cap;
    struct arena *a = &r->m->arena;
    if (grow(array_ptr, cap, need, elem_size) != 0)
        return pt2_no_memory(r);
    char *p;
    memcpy(&p, array_ptr, sizeof p);
    memset(p + before * elem_size, 0, (*cap - before) * elem_size);
    size_t names = names_bytes(&r->m->names);
    size_t more = (*cap - before) * elem_size + names - r->names_charged;
    r->names_charged = names;
    return arena_charge(a, more) == 0 ? 0 : pt2_no_memory(r);
}

/* Where we are: "graph_module.graph.nodes[3]", "true_graph_0.nodes[0]"; static text when there is no more. */
static void place(const struct pt2_reader *r, char *buf, size_t n)
{
    const struct ir_model *m = r->m;
    struct str graph = r->graph != IR_NONE && m->graphs[r->graph].kind == IR_GRAPH_BODY
                           ? m->graphs[r->graph].attr
                           : str_of("graph_module.graph");
    if (graph.n > 80)
        graph.n = 80;
    if (r->graph == IR_NONE)
        snprintf(buf, n, "program");
    else if (r->node == IR_NONE)
        snprintf(buf, n, "%.*s", STR_ARG(graph));
    else
        snprintf(buf, n, "%.*s.nodes[%u]", STR_ARG(graph), r->node - m->graphs[r->graph].first_node);
}

uint64_t pt2_offset_of(const struct pt2_reader *r, const char *p)
{
    uintptr_t at = (uintptr_t)p, archive = (uintptr_t)r->m->bytes;
    bool inside = at >= archive && at - archive <= r->m->size;
    return at - (inside ? archive : (uintptr_t)r->pt2.programs[r->program].text.s);
}

int pt2_fail(struct pt2_reader *r, uint32_t token, const char *fmt, ...)
{
    char message[512], field[128];
    va_list ap;
    va_start(ap, fmt);
    size_t n = diag_format(message, sizeof message, fmt, ap);
    va_end(ap);
    place(r, field, sizeof field);
    return diag_error_at(r->d, IR_EINPUT, NULL, field, pt2_offset_of(r, json_raw(r->json, token).s), "%.*s",
                         (int)n, message);
}

int pt2_expect(struct pt2_reader *r, uint32_t token, enum json_kind type, const char *what)
{
    enum json_kind is = json_kind(r->json, token);
    if (is == type)
        return 0;
    return pt2_fail(r, token, "\"%s\": expected %s but found %s", what, json_kind_name(type),
                    json_kind_name(is));
}

int pt2_need(uint32_t *out, struct pt2_reader *r, uint32_t object, const char *name, enum json_kind type)
{
    *out = json_get(r->json, object, name);
    if (*out == JSON_NONE)
        return pt2_fail(r, object, "\"%s\" is missing", name);
    return pt2_expect(r, *out, type, name);
}

int pt2_string(struct str *out, struct pt2_reader *r, uint32_t token, const char *what)
{
    int rc = pt2_expect(r, token, JSON_KIND_STRING, what);
    if (rc == 0 && json_text(out, r->json, token, &r->m->arena) != 0)
        rc = pt2_no_memory(r);
    return rc;
}

int pt2_union(uint32_t *kind, struct pt2_reader *r, uint32_t token, const char *what)
{
    int rc = pt2_expect(r, token, JSON_KIND_OBJECT, what);
    if (rc != 0)
        return rc;
    *kind = json_first(r->json, token);
    if (*kind == JSON_NONE || json_next_member(r->json, token, *kind) != JSON_NONE)
        return pt2_fail(r, token, "\"%s\": expected an object with one member", what);
    return 0;
}

uint32_t pt2_name(struct pt2_reader *r, uint32_t token, const char *what, int *rc)
{
    struct str s;
    *rc = pt2_string(&s, r, token, what);
    uint32_t id = *rc == 0 ? names_intern(&r->m->names, s) : NAME_NONE;
    if (*rc == 0 && id == NAME_NONE)
        *rc = pt2_no_memory(r);
    return id;
}
