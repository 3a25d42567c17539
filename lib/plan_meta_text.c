/* A plan → the text of sac.plan. */
#include "lib/options_json.h"
#include "lib/plan_meta.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* jansson's functions pass NULL on, so that one look at the end tells whether memory ran out. */
struct text {
    struct ir_model *m;
    const struct plan *p;
    bool failed;
};

static void set(struct text *t, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        t->failed = true;
}

static void append(struct text *t, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        t->failed = true;
}

/* An empty name is text, too. */
static json_t *name(struct str s)
{
    return s.n ? name_to_json(s) : json_string("");
}

static json_t *names(struct text *t, const struct str *list, uint32_t n)
{
    json_t *j = json_array();
    for (uint32_t i = 0; i < n; i++)
        append(t, j, name(list[i]));
    return j;
}

/* ---- regions */

static json_t *value(struct text *t, uint32_t id)
{
    uint32_t graph = t->m->values[id].graph;
    struct str s = ir_value_name(t->m, id);
    if (graph == 0)
        return name(s);
    const char *path = ir_graph_path(t->m, graph);
    json_t *j = json_object();
    set(t, j, "graph", path ? name(str_of(path)) : NULL);
    set(t, j, "name", name(s));
    return j;
}

static json_t *values(struct text *t, const uint32_t *list, uint32_t n)
{
    json_t *j = json_array();
    for (uint32_t i = 0; i < n; i++)
        append(t, j, value(t, list[i]));
    return j;
}

/* As on the nodes: BLOCK#CALL. */
static json_t *region_name(struct text *t, const struct plan_region *r)
{
    json_t *block = name(t->p->blocks[r->block].fqn);
    json_t *j = block ? json_sprintf("%s#%" PRIu32, json_string_value(block), r->call) : NULL;
    json_decref(block);
    if (!j)
        t->failed = true;
    return j;
}

static json_t *regions(struct text *t)
{
    json_t *j = json_array();
    for (uint32_t i = 0; i < t->p->n_regions && !t->failed; i++) {
        const struct plan_region *r = &t->p->regions[i];
        json_t *x = json_object();
        set(t, x, "region", region_name(t, r));
        set(t, x, "inputs", values(t, r->inputs, r->n_inputs));
        set(t, x, "outputs", values(t, r->outputs, r->n_outputs));
        append(t, j, x);
    }
    return j;
}

/* ---- how to undo it */

struct list {
    char *s;
    size_t n, cap;
    uint32_t numbers, last, gap, times;
    bool failed;
};

static void list_flush(struct list *l)
{
    char item[2 * STR_DECIMAL_MAX + 2];
    size_t n = 0;
    if (!l->times)
        return;
    if (l->n)
        item[n++] = ',';
    n += str_decimal(item + n, l->gap);
    if (l->times > 1) {
        item[n++] = '*';
        n += str_decimal(item + n, l->times);
    }
    if (grow(&l->s, &l->cap, l->n + n, 1) != 0) {
        l->failed = true;
        return;
    }
    memcpy(l->s + l->n, item, n);
    l->n += n;
}

static void list_add(struct list *l, uint32_t number)
{
    uint32_t gap = number - l->last;
    if (l->numbers < 2 || gap != l->gap) { /* the first one stands alone */
        list_flush(l);
        l->gap = gap;
        l->times = 0;
    }
    l->numbers++;
    l->times++;
    l->last = number;
}

static json_t *list_json(struct list *l)
{
    list_flush(l);
    json_t *j = l->failed ? NULL : json_stringn(l->s ? l->s : "", l->n);
    free(l->s);
    return j;
}

static json_t *list_of(const uint32_t *numbers, uint32_t n)
{
    struct list l = {0};
    for (uint32_t i = 0; i < n; i++)
        list_add(&l, numbers[i]);
    return list_json(&l);
}

static char *hex(char *out, struct str bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.n; i++) {
        *out++ = digits[(unsigned char)bytes.s[i] >> 4];
        *out++ = digits[(unsigned char)bytes.s[i] & 15];
    }
    *out = '\0';
    return out;
}

/* HEAD, then the bytes. */
static json_t *hex_json(const char *head, struct str bytes)
{
    size_t n = strlen(head);
    char *p = bytes.n < SIZE_MAX / 4 ? malloc(n + 2 * bytes.n + 1) : NULL;
    if (!p)
        return NULL;
    hex(stpcpy(p, head), bytes);
    json_t *j = json_stringn(p, n + 2 * bytes.n);
    free(p);
    return j;
}

static json_t *fields(struct text *t, const struct onnx_undo *u)
{
    json_t *j = json_array();
    for (uint32_t i = 0; i < u->n_fields && !t->failed; i++) {
        const struct onnx_field *f = &u->fields[i];
        char head[32];
        if (f->node == ANNOT_MODEL)
            snprintf(head, sizeof head, "model/%" PRIu32 "/", f->index);
        else
            snprintf(head, sizeof head, "%" PRIu32 "/%" PRIu32 "/", f->node, f->index);
        append(t, j, hex_json(head, f->bytes));
    }
    return j;
}

static json_t *width_list(const struct onnx_undo *u, uint8_t width, bool segment)
{
    struct list l = {0};
    for (uint32_t i = 0; i < u->n_widths; i++)
        if (u->widths[i].width == width && u->widths[i].segment == segment)
            list_add(&l, u->widths[i].record);
    return list_json(&l);
}

static json_t *widths(struct text *t, const struct onnx_undo *u)
{
    bool used[SPLICE_PREFIX_MAX + 1] = {false};
    json_t *j = json_array();
    for (uint32_t i = 0; i < u->n_widths; i++)
        used[u->widths[i].width] = true;
    for (uint8_t w = 1; w <= SPLICE_PREFIX_MAX; w++) {
        if (!used[w])
            continue;
        json_t *x = json_array();
        append(t, x, json_integer(w));
        append(t, x, width_list(u, w, false));
        append(t, x, width_list(u, w, true));
        append(t, j, x);
    }
    return j;
}

static void undo(struct text *t, json_t *j, const struct onnx_undo *u)
{
    set(t, j, "keys", names(t, u->keys, u->n_keys));
    set(t, j, "nodes", list_of(u->nodes, u->n_nodes));
    set(t, j, "of", json_integer(u->of));
    if (u->n_fields)
        set(t, j, "fields", fields(t, u));
    if (u->n_widths)
        set(t, j, "widths", widths(t, u));
    if (u->ir_version)
        set(t, j, "ir_version", hex_json("", u->ir_version_was));
}

/* ---- the whole */

int plan_meta_text(char **text, char **digest, struct ir_model *m, const struct plan *p,
                   const struct tag_options *o, const struct onnx_undo *u, struct diag *d)
{
    static const char zeros[] = "00000000000000000000000000000000";
    static const char before[] = "\"digest\":\"";
    struct text t = {.m = m, .p = p};
    json_t *j = json_object();
    set(&t, j, "version", json_integer(PLAN_META_VERSION));
    set(&t, j, "carrier", json_string(carrier_name(o->carrier)));
    set(&t, j, "tag", json_string(o->all ? "all" : "mm"));
    set(&t, j, "digest", json_string(zeros));
    set(&t, j, "options", options_to_json(&p->options));
    set(&t, j, "regions", regions(&t));
    if (u)
        undo(&t, j, u);
    if (o->copies)
        set(&t, j, "copies", json_integer(o->copies));
    *text = t.failed ? NULL : json_to_text(j, JSON_COMPACT);
    json_decref(j);
    if (!*text)
        return diag_nomem(d);
    /* The first of that name: what comes before it holds no text of others. */
    *digest = strstr(*text, before) + sizeof before - 1;
    return 0;
}
