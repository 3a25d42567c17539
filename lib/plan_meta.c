/* The text of sac.plan → what is needed to undo it. */
#include "lib/plan_meta.h"

#include <jansson.h>
#include <stdlib.h>

enum {
    DIGEST_DIGITS = DIGEST_TEXT - 1,
    /* What jansson's values take, at most, so that a hostile entry cannot fill memory: text of n bytes may
     * become MEMORY_BASE + n * MEMORY_PER_BYTE bytes, as sactag.h says of the model. */
    VALUE_BYTES = 64,
    OBJECT_BYTES = 256,
    MEMORY_PER_BYTE = 32,
    MEMORY_BASE = 64 << 20
};

const char *carrier_name(enum carrier c)
{
    static const char *const names[] = {
        [CARRIER_METADATA] = "metadata", [CARRIER_ATTRIBUTE] = "attribute", [CARRIER_POPART] = "popart"};
    return names[c];
}

/* Reading one entry. `why` says what is wrong; it stays NULL when the text does not even look like ours. */
struct entry {
    const struct ir_model *m;
    struct plan_meta *pm;
    json_t *j;
    const char *why;
    bool newer, no_memory;
};

static bool bad(struct entry *e, const char *why)
{
    e->why = why;
    return false;
}

static bool no_memory(struct entry *e)
{
    e->no_memory = true;
    return bad(e, "out of memory");
}

static void *room(struct entry *e, size_t n, size_t size)
{
    void *p = arena_alloc(&e->pm->arena, n, size);
    if (!p)
        no_memory(e);
    return p;
}

/* ---- texts in the text */

/* A decimal number at *s that ends where digits end; at most `max`. */
static bool number(const char **s, const char *end, uint32_t max, uint32_t *out)
{
    uint64_t v = 0;
    const char *p = *s;
    for (; p < end && *p >= '0' && *p <= '9' && v <= max; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    if (p == *s || v > max)
        return false;
    *s = p;
    *out = (uint32_t)v;
    return true;
}

static bool skip(const char **s, const char *end, char c)
{
    if (*s == end || **s != c)
        return false;
    (*s)++;
    return true;
}

/* Reads one item of a list, "GAP" or "GAP*TIMES". */
static bool list_item(const char **s, const char *end, uint32_t limit, uint32_t *gap, uint32_t *times)
{
    *times = 1;
    if (!number(s, end, limit, gap))
        return false;
    return !skip(s, end, '*') || (number(s, end, limit, times) && *times > 0);
}

/* Numbers of a list, all below `limit`: counted (out NULL), or put into `out`. */
static bool walk_list(const char *s, const char *end, uint32_t limit, uint32_t *out, uint32_t *n)
{
    uint64_t at = 0;
    *n = 0;
    while (s < end) {
        uint32_t gap, times;
        if ((*n && !skip(&s, end, ',')) || !list_item(&s, end, limit, &gap, &times))
            return false;
        if (*n ? gap == 0 : times != 1)
            return false;
        if ((uint64_t)gap * times >= limit - at) /* at < limit */
            return false;
        for (uint32_t i = 0; out && i < times; i++)
            out[*n + i] = (uint32_t)(at + (uint64_t)gap * (i + 1));
        at += (uint64_t)gap * times;
        *n += times;
    }
    return true;
}

static bool read_list(struct entry *e, const json_t *j, uint32_t limit, uint32_t **out, uint32_t *n)
{
    const char *s = json_string_value(j), *end = s ? s + json_string_length(j) : NULL;
    if (!s || !walk_list(s, end, limit, NULL, n))
        return bad(e, "a list of numbers is none");
    *out = room(e, *n, sizeof **out);
    return *out && walk_list(s, end, limit, *out, n);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(struct entry *e, const char *s, const char *end, struct str *out)
{
    size_t n = (size_t)(end - s) / 2;
    char *p = room(e, n + 1, 1);
    if (!p)
        return false;
    if ((end - s) % 2)
        return bad(e, "bytes are not hexadecimal");
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(s[2 * i]), lo = hex_digit(s[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return bad(e, "bytes are not hexadecimal");
        p[i] = (char)(hi << 4 | lo);
    }
    *out = (struct str){p, n};
    return true;
}

/* ---- members */

static bool read_head(struct entry *e)
{
    const char *carrier = json_string_value(json_object_get(e->j, "carrier"));
    const char *tag = json_string_value(json_object_get(e->j, "tag"));
    const json_t *digest = json_object_get(e->j, "digest");
    enum carrier c = CARRIER_METADATA;
    while (carrier && c < CARRIER_POPART && strcmp(carrier, carrier_name(c)) != 0)
        c++;
    if (!carrier || strcmp(carrier, carrier_name(c)) != 0)
        return bad(e, "the carrier is none");
    e->pm->carrier = c;
    if (!tag || (strcmp(tag, "mm") != 0 && strcmp(tag, "all") != 0))
        return bad(e, "\"tag\" is neither mm nor all");
    e->pm->all = strcmp(tag, "all") == 0;
    if (!json_is_string(digest) || json_string_length(digest) != DIGEST_DIGITS)
        return bad(e, "the digest is none");
    memcpy(e->pm->digest, json_string_value(digest), DIGEST_TEXT);
    return true;
}

/* A record must not make us remove what is nobody's tag. */
static bool key_ok(enum carrier c, struct str key)
{
    if (c == CARRIER_METADATA)
        return str_starts(key, STR_LIT("sac.")) && !str_is(key, PLAN_META_KEY);
    if (c == CARRIER_ATTRIBUTE)
        return str_starts(key, STR_LIT("__sac_"));
    return str_is(key, "__recompute_output_in_backward_pass");
}

static bool read_keys(struct entry *e, struct onnx_undo *u)
{
    const json_t *j = json_object_get(e->j, "keys");
    size_t n = json_array_size(j);
    if (!json_is_array(j) || n > 16)
        return bad(e, "the keys are none");
    u->keys = room(e, n, sizeof *u->keys);
    if (!u->keys)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *k = json_array_get(j, i);
        struct str key = {json_string_value(k), json_string_length(k)};
        if (!json_is_string(k) || !key_ok(e->pm->carrier, key))
            return bad(e, "a key is not one of sactag's");
        key.s = arena_strdup(&e->pm->arena, key.s, key.n);
        if (!key.s)
            return no_memory(e);
        u->keys[u->n_keys++] = key;
    }
    u->attributes = e->pm->carrier != CARRIER_METADATA;
    return true;
}

static bool read_nodes(struct entry *e, struct onnx_undo *u)
{
    const json_t *of = json_object_get(e->j, "of");
    json_int_t n = json_integer_value(of);
    if (!json_is_integer(of) || n < 0 || n >= IR_NONE)
        return bad(e, "the number of nodes is none");
    u->of = (uint32_t)n;
    /* Of another number of nodes, the list tells nothing. */
    if (u->of != e->m->n_nodes)
        return true;
    if (!read_list(e, json_object_get(e->j, "nodes"), u->of, &u->nodes, &u->n_nodes))
        return false;
    return u->n_nodes == 0 || u->n_keys > 0 || bad(e, "there are nodes but no keys");
}

static bool read_field(struct entry *e, const json_t *j, struct onnx_field *f)
{
    const char *s = json_string_value(j), *end = s ? s + json_string_length(j) : NULL;
    if (!s)
        return bad(e, "a field is no text");
    if (strncmp(s, "model/", 6) == 0) {
        f->node = ANNOT_MODEL;
        s += 6;
    } else if (!number(&s, end, IR_NONE - 1, &f->node) || !skip(&s, end, '/')) {
        return bad(e, "a field has no node");
    }
    if (!number(&s, end, IR_NONE - 1, &f->index) || !skip(&s, end, '/'))
        return bad(e, "a field has no position");
    return read_hex(e, s, end, &f->bytes);
}

static bool read_fields(struct entry *e, struct onnx_undo *u)
{
    const json_t *j = json_object_get(e->j, "fields");
    size_t n = json_array_size(j);
    if (j && (!json_is_array(j) || n >= IR_NONE))
        return bad(e, "the fields are no list");
    u->fields = room(e, n, sizeof *u->fields);
    if (!u->fields)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct onnx_field f;
        if (!read_field(e, json_array_get(j, i), &f))
            return false;
        if (f.node != ANNOT_MODEL && u->of != e->m->n_nodes)
            u->n_lost++;
        else
            u->fields[u->n_fields++] = f;
    }
    return true;
}

static bool add_widths(struct entry *e, struct onnx_undo *u, const json_t *j, uint8_t width, bool segment)
{
    uint32_t *list, n, limit = segment ? e->m->n_segs : u->of;
    if (!read_list(e, j, limit, &list, &n))
        return false;
    struct onnx_width *all = room(e, (size_t)u->n_widths + n, sizeof *all);
    if (!all)
        return false;
    if (u->n_widths)
        memcpy(all, u->widths, u->n_widths * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[u->n_widths++] = (struct onnx_width){segment, list[i], width};
    u->widths = all;
    return true;
}

static bool read_widths(struct entry *e, struct onnx_undo *u)
{
    const json_t *j = json_object_get(e->j, "widths");
    json_int_t last = 1;
    if (!j || u->of != e->m->n_nodes)
        return true;
    if (!json_is_array(j))
        return bad(e, "the widths are no list");
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *x = json_array_get(j, i);
        json_int_t width = json_integer_value(json_array_get(x, 0));
        if (json_array_size(x) != 3 || width <= last || width > SPLICE_PREFIX_MAX)
            return bad(e, "a width is none");
        last = width;
        if (!add_widths(e, u, json_array_get(x, 1), (uint8_t)width, false) ||
            !add_widths(e, u, json_array_get(x, 2), (uint8_t)width, true))
            return false;
    }
    return true;
}

static bool read_ir_version(struct entry *e, struct onnx_undo *u)
{
    const json_t *j = json_object_get(e->j, "ir_version");
    const char *s = json_string_value(j);
    if (!j)
        return true;
    if (!s)
        return bad(e, "the ir_version is no text");
    u->ir_version = true;
    return read_hex(e, s, s + json_string_length(j), &u->ir_version_was);
}

static bool read_undo(struct entry *e)
{
    struct onnx_undo *u = &e->pm->undo;
    if (!read_keys(e, u) || !read_nodes(e, u) || !read_fields(e, u) || !read_widths(e, u) ||
        !read_ir_version(e, u))
        return false;
    return onnx_undo_ok(u, PLAN_META_KEY) || bad(e, "what it says to put back are no tags");
}

/* ---- one entry */

/* Would jansson need more memory for this text than it may? Counts what begins a value, outside strings. */
static bool too_much(struct str text)
{
    uint64_t need = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\')
            i++;
        else if (!in_string)
            need += c == '{' ? OBJECT_BYTES : c == ',' || c == '[' || c == ':' ? VALUE_BYTES : 0;
    }
    return need > MEMORY_BASE + (uint64_t)text.n * MEMORY_PER_BYTE;
}

/* Is it ours, whole and of a version that we know? */
static bool read_entry(struct entry *e, struct str text)
{
    json_error_t error;
    if (text.n == 0 || too_much(text))
        return bad(e, text.n ? "it is too complex" : NULL);
    e->j = json_loadb(text.s, text.n, JSON_REJECT_DUPLICATES, &error);
    if (!e->j && json_error_code(&error) == json_error_out_of_memory)
        return no_memory(e);
    const json_t *version = json_object_get(e->j, "version");
    if (!json_is_integer(version) || !json_object_get(e->j, "carrier"))
        return bad(e, NULL);
    if (json_integer_value(version) > PLAN_META_VERSION) {
        e->newer = true;
        return bad(e, "it was written by a newer version of sactag");
    }
    if (json_integer_value(version) != PLAN_META_VERSION)
        return bad(e, "its version is none");
    return read_head(e) && (e->m->format != IR_ONNX || read_undo(e));
}

static bool open_entry(struct entry *e, struct plan_meta *pm, const struct ir_model *m, struct str text)
{
    *pm = (struct plan_meta){.carrier = CARRIER_METADATA};
    arena_init(&pm->arena, 0);
    *e = (struct entry){.m = m, .pm = pm};
    bool ok = read_entry(e, text);
    json_decref(e->j);
    return ok;
}

/* Stripping must leave an untagged model: a plan that would put back a plan of ours is none itself (so one
 * that would put back such a one is). How many plans can stand in each other: each is written in hexadecimal,
 * twice as long, in the next. */
#define NESTED_MAX 64

struct nest {
    struct plan_meta pm[NESTED_MAX];
    uint32_t next[NESTED_MAX]; /* field of each that is looked at next */
    uint32_t n;
};

/* The next field of the innermost plan that is an entry of the model, or NULL. */
static const struct onnx_field *next_entry(struct nest *x)
{
    const struct onnx_undo *u = &x->pm[x->n - 1].undo;
    while (x->next[x->n - 1] < u->n_fields) {
        const struct onnx_field *f = &u->fields[x->next[x->n - 1]++];
        if (f->node == ANNOT_MODEL)
            return f;
    }
    return NULL;
}

static void leave(struct nest *x)
{
    plan_meta_free(&x->pm[--x->n]);
}

/* Looks into the plans that `outer` would put back, and those that they would. */
static bool brings_back_a_plan(struct entry *outer, struct nest *x)
{
    const struct onnx_undo *u = &outer->pm->undo;
    x->n = 0;
    for (uint32_t i = 0; i < u->n_fields || x->n;) {
        const struct onnx_field *f = x->n ? next_entry(x) : &u->fields[i++];
        struct entry e;
        if (!f) { /* a plan that puts back none: what would put it back is none */
            leave(x);
            if (x->n == 0)
                return true;
            leave(x);
            continue;
        }
        if (f->node != ANNOT_MODEL || x->n == NESTED_MAX)
            continue;
        bool ok = open_entry(&e, &x->pm[x->n], outer->m, onnx_entry_value(f->bytes));
        outer->no_memory |= e.no_memory;
        x->next[x->n++] = 0;
        if (!ok)
            leave(x);
        if (e.newer && x->n == 0)
            return true;
        if (e.newer)
            leave(x);
    }
    return false;
}

/* The same, with room for it. */
static bool is_final(struct entry *e)
{
    struct nest *x = e->pm->undo.n_fields ? calloc(1, sizeof *x) : NULL;
    if (e->pm->undo.n_fields && !x)
        return no_memory(e);
    bool ok = !x || !brings_back_a_plan(e, x) || bad(e, "it would bring back another plan");
    while (x && x->n)
        leave(x);
    free(x);
    return ok;
}

int plan_meta_read(struct plan_meta *out, struct ir_model *m, struct diag *d)
{
    uint32_t found = 0;
    *out = (struct plan_meta){.carrier = CARRIER_METADATA};
    arena_init(&out->arena, 0);
    for (uint32_t i = 0; i < m->n_meta; i++) {
        const struct ir_entry *x = &m->meta[i];
        struct plan_meta pm;
        struct entry e;
        if (!str_is(x->key, PLAN_META_KEY))
            continue;
        bool ok = open_entry(&e, &pm, m, x->value) && is_final(&e);
        if (!ok)
            plan_meta_free(&pm);
        if (e.no_memory)
            return diag_error(d, IR_EMEM, "out of memory");
        if (e.newer)
            return diag_error_at(d, IR_EINPUT, NULL, "metadata_props", x->span.off, "%s: %s", PLAN_META_KEY,
                                 e.why);
        if (!ok && e.why)
            diag_warn(d, "%s is not taken for sactag's own: %s", PLAN_META_KEY, e.why);
        if (!ok)
            continue;
        if (found++) {
            plan_meta_free(&pm);
            return diag_error_at(d, IR_EINPUT, NULL, "metadata_props", x->span.off,
                                 "expected one %s but found two: which tags are right cannot be told",
                                 PLAN_META_KEY);
        }
        *out = pm;
        out->entry = x->span;
    }
    return found ? 1 : 0;
}

void plan_meta_free(struct plan_meta *pm)
{
    arena_free(&pm->arena);
    *pm = (struct plan_meta){.carrier = CARRIER_METADATA};
}
