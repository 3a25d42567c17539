/* Decoding on demand: what passes ask of a node. */
#include "schema/pt2_reader.h"

#include <stdlib.h>

static int no_memory(struct ir_model *m)
{
    return diag_nomem(m->diag);
}

/* Tokens of a node's JSON; those of the last node are kept, as passes ask about one node after the other. */
static int node_json(const struct json **out, struct ir_model *m, uint32_t node)
{
    struct pt2_reader *r = m->reader;
    *out = &r->cache;
    if (r->cached == node)
        return 0;
    json_free(&r->cache);
    r->cached = IR_NONE;
    struct json_error e;
    int rc = json_parse(&r->cache, pt2_text(m, node), JSON_DEPTH_MAX, 0, &e);
    if (rc == 0)
        r->cached = node;
    return rc == 0 ? 0 : no_memory(m); /* it was valid when the program was read */
}

/* ---- arguments ---- */

/* "#3" is 3, else -1. */
static int64_t position_of(const char *name)
{
    if (name[0] != '#' || !name[1])
        return -1;
    char *end;
    long v = strtol(name + 1, &end, 10);
    return *end ? -1 : v;
}

/* The kind (a union's member's name) of an argument, JSON_NONE if there is none. */
static uint32_t find_argument(const struct json *j, const char *name)
{
    uint32_t inputs = json_get(j, 0, "inputs");
    int64_t want = position_of(name), i = 0;
    for (uint32_t t = json_first(j, inputs); t != JSON_NONE; t = json_next(j, inputs, t), i++) {
        uint32_t is = json_get(j, t, "name");
        bool hit = want >= 0 ? i == want
                             : is != JSON_NONE && json_kind(j, is) == JSON_KIND_STRING &&
                                   str_is(json_raw(j, is), name);
        if (hit)
            return json_first(j, json_get(j, t, "arg"));
    }
    return JSON_NONE;
}

static void take_ints(struct ir_attr *out, const struct json *j, uint32_t list)
{
    out->kind = IR_ATTR_INTS;
    out->ints_known = true;
    for (uint32_t t = json_first(j, list); t != JSON_NONE; t = json_next(j, list, t)) {
        int64_t v = json_kind(j, t) == JSON_KIND_TRUE;
        if (out->n_ints == IR_INTS_MAX || (json_kind(j, t) == JSON_KIND_NUMBER && !json_int(&v, j, t))) {
            out->ints_known = false;
            return;
        }
        out->ints[out->n_ints++] = v;
    }
}

/* [{"as_int": 2}, {"as_name": "sym_size"}]: known only when all are numbers. */
static void take_sym_ints(struct ir_attr *out, const struct json *j, uint32_t list)
{
    out->kind = IR_ATTR_INTS;
    out->ints_known = true;
    for (uint32_t t = json_first(j, list); t != JSON_NONE; t = json_next(j, list, t)) {
        uint32_t v = json_get(j, t, "as_int");
        if (out->n_ints == IR_INTS_MAX || v == JSON_NONE || !json_int(&out->ints[out->n_ints], j, v)) {
            out->ints_known = false;
            return;
        }
        out->n_ints++;
    }
}

static void take_int(struct ir_attr *out, const struct json *j, uint32_t t)
{
    if (t != JSON_NONE && json_int(&out->i, j, t))
        out->kind = IR_ATTR_INT;
}

static int take_string(struct ir_attr *out, struct ir_model *m, const struct json *j, uint32_t t)
{
    if (t == JSON_NONE || json_kind(j, t) != JSON_KIND_STRING)
        return 0;
    out->kind = IR_ATTR_STR;
    return json_text(&out->s, j, t, &m->arena) == 0 ? 0 : no_memory(m);
}

/* Numbers; what JSON has no number for is a string ("Infinity"). */
static void take_float(struct ir_attr *out, const struct json *j, uint32_t t)
{
    struct str s = json_raw(j, t);
    char buf[64], *end;
    if ((json_kind(j, t) != JSON_KIND_NUMBER && json_kind(j, t) != JSON_KIND_STRING) || s.n == 0 ||
        s.n >= sizeof buf)
        return;
    memcpy(buf, s.s, s.n);
    buf[s.n] = '\0';
    out->f = strtod(buf, &end);
    if (*end == '\0')
        out->kind = IR_ATTR_FLOAT;
}

static int take(struct ir_attr *out, struct ir_model *m, const struct json *j, uint32_t kind)
{
    struct str is = json_raw(j, kind);
    uint32_t value = kind + 1;
    bool list = json_kind(j, value) == JSON_KIND_ARRAY;
    if (str_is(is, "as_int") || str_is(is, "as_memory_format") || str_is(is, "as_layout"))
        take_int(out, j, value);
    else if (str_is(is, "as_sym_int") || str_is(is, "as_sym_bool"))
        take_int(out, j, json_get(j, value, "as_int"));
    else if (str_is(is, "as_bool")) {
        out->kind = IR_ATTR_INT;
        out->i = json_kind(j, value) == JSON_KIND_TRUE;
    } else if (str_is(is, "as_scalar_type")) {
        take_int(out, j, value);
        out->dtype = pt2_dtype(out->i);
    } else if (str_is(is, "as_float"))
        take_float(out, j, value);
    else if ((str_is(is, "as_ints") || str_is(is, "as_bools")) && list)
        take_ints(out, j, value);
    else if (str_is(is, "as_sym_ints") && list)
        take_sym_ints(out, j, value);
    else if (str_is(is, "as_string") || str_is(is, "as_operator"))
        return take_string(out, m, j, value);
    else if (str_is(is, "as_device"))
        return take_string(out, m, j, json_get(j, value, "type"));
    else if (str_is(is, "as_graph"))
        out->kind = IR_ATTR_GRAPH;
    return 0;
}

static int source_attr(struct ir_model *m, uint32_t node, const char *name, struct ir_attr *out)
{
    const struct json *j;
    *out = (struct ir_attr){.kind = IR_ATTR_OTHER};
    int rc = node_json(&j, m, node);
    if (rc != 0)
        return rc;
    uint32_t kind = find_argument(j, name);
    if (kind == JSON_NONE || str_is(json_raw(j, kind), "as_none"))
        return 0;
    rc = take(out, m, j, kind);
    return rc != 0 ? rc : 1;
}

/* ---- metadata ---- */

/* The inside of the string metadata.custom, {NULL, 0} when there is none. */
static struct str custom_raw(const struct json *j, uint32_t metadata)
{
    uint32_t custom = json_get(j, metadata, "custom");
    bool text = custom != JSON_NONE && json_kind(j, custom) == JSON_KIND_STRING;
    return text ? json_raw(j, custom) : (struct str){0};
}

/* Copies a member's value into the arena: strings decoded, anything else as JSON text. */
static int custom_value(struct str *out, struct ir_model *m, const struct json *j, uint32_t t)
{
    struct str raw = json_raw(j, t);
    char *p = arena_alloc(&m->arena, raw.n + 1, 1);
    if (!p)
        return no_memory(m);
    if (json_kind(j, t) == JSON_KIND_STRING)
        raw.n = json_unescape(p, raw);
    else
        memcpy(p, raw.s, raw.n);
    *out = (struct str){p, raw.n};
    return 0;
}

/* Tokens of the text in `custom`, which *text holds; both to be freed. 1, 0 if it is no object. */
static int custom_json(struct json *j, char **text, struct ir_model *m, struct str custom)
{
    struct json_error e;
    *j = (struct json){0};
    *text = malloc(custom.n + 1);
    if (!*text)
        return no_memory(m);
    int rc =
        json_parse(j, (struct str){*text, json_unescape(*text, custom)}, JSON_DEPTH_MAX, m->arena.limit, &e);
    if (rc != 0)
        return rc == IR_EMEM ? no_memory(m) : 0;
    return json_kind(j, 0) == JSON_KIND_OBJECT;
}

static int source_meta(struct ir_model *m, uint32_t node, const char *key, struct str *out)
{
    const struct json *j;
    *out = (struct str){0};
    int rc = node_json(&j, m, node);
    if (rc != 0)
        return rc;
    uint32_t metadata = json_get(j, 0, "metadata"), t = json_get(j, metadata, key);
    if (t != JSON_NONE && json_kind(j, t) == JSON_KIND_STRING)
        return json_text(out, j, t, &m->arena) == 0 ? 1 : no_memory(m);
    struct str custom = custom_raw(j, metadata);
    if (custom.n == 0)
        return 0;
    struct json inner;
    char *text;
    rc = custom_json(&inner, &text, m, custom);
    if (rc == 1) {
        t = json_get(&inner, 0, key);
        rc = t == JSON_NONE ? 0 : custom_value(out, m, &inner, t) == 0 ? 1 : IR_EMEM;
    }
    json_free(&inner);
    free(text);
    return rc;
}

static int source_param_ints(struct ir_model *m, uint32_t param, int64_t *out, uint32_t *n)
{
    (void)m, (void)param, (void)out;
    *n = 0;
    return 0; /* constants lie in pickled or raw members, which are never read */
}

const struct ir_source pt2_source = {
    .attr = source_attr, .meta = source_meta, .param_ints = source_param_ints};

static int take_entries(struct pt2_reader *r, const struct json *j, bool tags_only)
{
    struct ir_model *m = r->m;
    for (uint32_t k = json_first(j, 0); k != JSON_NONE; k = json_next_member(j, 0, k)) {
        struct ir_entry e = {0};
        int rc = pt2_room(r, &m->meta, &r->cap_meta, (size_t)m->n_meta + 1, sizeof *m->meta);
        if (rc != 0 || (rc = custom_value(&e.key, m, j, k)) != 0 ||
            (rc = custom_value(&e.value, m, j, k + 1)) != 0)
            return rc;
        if (!tags_only || str_starts(e.key, STR_LIT(PT2_TAG)))
            m->meta[m->n_meta++] = e;
    }
    return 0;
}

int pt2_custom_read(struct pt2_reader *r, uint32_t metadata, bool tags_only)
{
    struct str custom = custom_raw(r->json, metadata);
    struct json j;
    char *text;
    if (custom.n == 0)
        return 0;
    int rc = custom_json(&j, &text, r->m, custom); /* what is no object is another's */
    if (rc == 1 && j.n)
        rc = take_entries(r, &j, tags_only);
    json_free(&j);
    free(text);
    return rc;
}
