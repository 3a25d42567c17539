/* Reading sac.plan: its text → what is needed to undo the tagging. */
#include "lib/plan_meta.h"

#include "schema/json.h"

#include <stdlib.h>

enum {
    DEPTH_MAX = 16, /* ours has 4 */
    KEYS_MAX = 16   /* ours has 3 */
};

/* Reading one entry. `why` says what is wrong; it stays NULL when the text does not even look like ours. */
struct entry {
    const struct ir_model *m;
    struct plan_meta *pm;
    struct json j;
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

/* A member of the whole; JSON_NONE when there is none. */
static uint32_t member(const struct entry *e, const char *name)
{
    return json_get(&e->j, 0, name);
}

/* The text of a string as it stands: what we write has no escapes where it matters. */
static bool text_value(const struct entry *e, uint32_t t, struct str *out)
{
    if (t == JSON_NONE || json_kind(&e->j, t) != JSON_KIND_STRING)
        return false;
    *out = json_raw(&e->j, t);
    return true;
}

static bool is_array(const struct entry *e, uint32_t t)
{
    return t != JSON_NONE && json_kind(&e->j, t) == JSON_KIND_ARRAY;
}

static bool read_list(struct entry *e, uint32_t t, uint32_t limit, uint32_t **out, uint32_t *n)
{
    struct str s;
    if (!text_value(e, t, &s) || !walk_list(s.s, s.s + s.n, limit, NULL, n))
        return bad(e, "a list of numbers is none");
    *out = room(e, *n, sizeof **out);
    return *out && walk_list(s.s, s.s + s.n, limit, *out, n);
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
        int hi = str_hex_digit(s[2 * i]), lo = str_hex_digit(s[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return bad(e, "bytes are not hexadecimal");
        p[i] = (char)(hi << 4 | lo);
    }
    *out = (struct str){p, n};
    return true;
}

/* ---- members */

static bool read_carrier(struct entry *e)
{
    struct str s;
    if (!text_value(e, member(e, "carrier"), &s))
        return false;
    for (enum carrier c = CARRIER_METADATA; c <= CARRIER_POPART; c++) {
        if (str_is(s, carrier_name(c))) {
            e->pm->carrier = c;
            return true;
        }
    }
    return false;
}

static bool is_text(const struct entry *e, uint32_t t)
{
    return t != JSON_NONE && json_kind(&e->j, t) == JSON_KIND_STRING;
}

/* A value's name, or an object of graph and name. */
static bool is_value(const struct entry *e, uint32_t t)
{
    return is_text(e, t) ||
           (json_kind(&e->j, t) == JSON_KIND_OBJECT && is_text(e, json_get(&e->j, t, "graph")) &&
            is_text(e, json_get(&e->j, t, "name")));
}

static bool are_values(const struct entry *e, uint32_t list)
{
    if (!is_array(e, list))
        return false;
    for (uint32_t t = json_first(&e->j, list); t != JSON_NONE; t = json_next(&e->j, list, t))
        if (!is_value(e, t))
            return false;
    return true;
}

static bool are_regions(const struct entry *e, uint32_t list)
{
    if (!is_array(e, list))
        return false;
    for (uint32_t t = json_first(&e->j, list); t != JSON_NONE; t = json_next(&e->j, list, t))
        if (json_kind(&e->j, t) != JSON_KIND_OBJECT || !is_text(e, json_get(&e->j, t, "region")) ||
            !are_values(e, json_get(&e->j, t, "inputs")) || !are_values(e, json_get(&e->j, t, "outputs")))
            return false;
    return true;
}

static bool read_head(struct entry *e)
{
    struct str tag, digest;
    if (!read_carrier(e))
        return bad(e, "the carrier is none");
    if (!text_value(e, member(e, "tag"), &tag) || !(str_is(tag, "mm") || str_is(tag, "all")))
        return bad(e, "\"tag\" is neither mm nor all");
    e->pm->all = str_is(tag, "all");
    if (!text_value(e, member(e, "digest"), &digest) || digest.n != DIGEST_TEXT - 1)
        return bad(e, "the digest is none");
    memcpy(e->pm->digest, digest.s, digest.n);
    e->pm->regions = are_regions(e, member(e, "regions"));
    return true;
}

/* A record must not make us remove what is nobody's tag. */
static bool key_ok(enum carrier c, struct str key)
{
    if (str_chr(key, '\\') >= 0) /* no key of ours needs an escape */
        return false;
    if (c == CARRIER_METADATA)
        return str_starts(key, STR_LIT("sac.")) && !str_is(key, PLAN_META_KEY);
    if (c == CARRIER_ATTRIBUTE)
        return str_starts(key, STR_LIT("__sac_"));
    return str_is(key, "__recompute_output_in_backward_pass");
}

static bool read_keys(struct entry *e, struct onnx_undo *u)
{
    uint32_t list = member(e, "keys");
    if (!is_array(e, list) || json_count(&e->j, list) > KEYS_MAX)
        return bad(e, "the keys are none");
    u->keys = room(e, KEYS_MAX, sizeof *u->keys);
    if (!u->keys)
        return false;
    for (uint32_t t = json_first(&e->j, list); t != JSON_NONE; t = json_next(&e->j, list, t)) {
        if (!text_value(e, t, &u->keys[u->n_keys]) || !key_ok(e->pm->carrier, u->keys[u->n_keys]))
            return bad(e, "a key is not one of sactag's");
        u->n_keys++;
    }
    u->attributes = e->pm->carrier != CARRIER_METADATA;
    return true;
}

static bool read_nodes(struct entry *e, struct onnx_undo *u)
{
    uint32_t of = member(e, "of");
    int64_t n;
    if (of == JSON_NONE || !json_int(&n, &e->j, of) || n < 0 || n >= IR_NONE)
        return bad(e, "the number of nodes is none");
    u->of = (uint32_t)n;
    /* Of another number of nodes, the list tells nothing. */
    if (u->of != e->m->n_nodes)
        return true;
    if (!read_list(e, member(e, "nodes"), u->of, &u->nodes, &u->n_nodes))
        return false;
    return u->n_nodes == 0 || u->n_keys > 0 || bad(e, "there are nodes but no keys");
}

static bool read_field(struct entry *e, uint32_t t, struct onnx_field *f)
{
    struct str s;
    if (!text_value(e, t, &s))
        return bad(e, "a field is no text");
    const char *at = s.s, *end = s.s + s.n;
    if (str_starts(s, STR_LIT("model/"))) {
        f->node = ANNOT_MODEL;
        at += 6;
    } else if (!number(&at, end, IR_NONE - 1, &f->node) || !skip(&at, end, '/')) {
        return bad(e, "a field has no node");
    }
    if (!number(&at, end, IR_NONE - 1, &f->index) || !skip(&at, end, '/'))
        return bad(e, "a field has no position");
    return read_hex(e, at, end, &f->bytes);
}

static bool read_fields(struct entry *e, struct onnx_undo *u)
{
    uint32_t list = member(e, "fields");
    if (list == JSON_NONE)
        return true;
    if (!is_array(e, list))
        return bad(e, "the fields are no list");
    u->fields = room(e, json_count(&e->j, list), sizeof *u->fields);
    if (!u->fields)
        return false;
    for (uint32_t t = json_first(&e->j, list); t != JSON_NONE; t = json_next(&e->j, list, t)) {
        struct onnx_field f;
        if (!read_field(e, t, &f))
            return false;
        if (f.node != ANNOT_MODEL && u->of != e->m->n_nodes)
            u->n_lost++;
        else
            u->fields[u->n_fields++] = f;
    }
    return true;
}

static bool add_widths(struct entry *e, struct onnx_undo *u, uint32_t t, uint8_t width, bool segment)
{
    uint32_t *list, n, limit = segment ? e->m->n_segs : u->of;
    if (!read_list(e, t, limit, &list, &n))
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

/* [WIDTH, NODES, SEGMENTS], of rising width. */
static bool read_width(struct entry *e, struct onnx_undo *u, uint32_t t, int64_t *last)
{
    int64_t width;
    if (!is_array(e, t) || json_count(&e->j, t) != 3)
        return bad(e, "a width is none");
    uint32_t first = json_first(&e->j, t), nodes = json_next(&e->j, t, first),
             segs = json_next(&e->j, t, nodes);
    if (!json_int(&width, &e->j, first) || width <= *last || width > SPLICE_PREFIX_MAX)
        return bad(e, "a width is none");
    *last = width;
    return add_widths(e, u, nodes, (uint8_t)width, false) && add_widths(e, u, segs, (uint8_t)width, true);
}

static bool read_widths(struct entry *e, struct onnx_undo *u)
{
    uint32_t list = member(e, "widths");
    int64_t last = 1;
    if (list == JSON_NONE || u->of != e->m->n_nodes)
        return true;
    if (!is_array(e, list))
        return bad(e, "the widths are no list");
    for (uint32_t t = json_first(&e->j, list); t != JSON_NONE; t = json_next(&e->j, list, t))
        if (!read_width(e, u, t, &last))
            return false;
    return true;
}

static bool read_ir_version(struct entry *e, struct onnx_undo *u)
{
    uint32_t t = member(e, "ir_version");
    struct str s;
    if (t == JSON_NONE)
        return true;
    if (!text_value(e, t, &s))
        return bad(e, "the ir_version is no text");
    u->ir_version = true;
    return read_hex(e, s.s, s.s + s.n, &u->ir_version_was);
}

static bool read_copies(struct entry *e)
{
    uint32_t t = member(e, "copies");
    int64_t n = 0;
    if (t != JSON_NONE && (!json_int(&n, &e->j, t) || n < 0 || n >= IR_NONE))
        return bad(e, "the number of copies is none");
    e->pm->copies = (uint32_t)n;
    return true;
}

static bool read_undo(struct entry *e)
{
    struct onnx_undo *u = &e->pm->undo;
    if (!read_keys(e, u) || !read_nodes(e, u) || !read_fields(e, u) || !read_widths(e, u) ||
        !read_ir_version(e, u) || !read_copies(e))
        return false;
    return onnx_undo_ok(u, PLAN_META_KEY) || bad(e, "what it says to put back are no tags");
}

/* ---- one entry */

/* Tokens take 20 bytes, and at least two of the text: no limit on them is needed. */
static bool parse(struct entry *e, struct str text)
{
    struct json_error error;
    int rc = json_parse(&e->j, text, DEPTH_MAX, 0, &error);
    return rc == IR_EMEM ? no_memory(e) : rc == 0 || bad(e, "it is not JSON");
}

/* Is it ours, whole and of a version that we know? */
static bool read_entry(struct entry *e, struct str text)
{
    int64_t version;
    if (!parse(e, text))
        return false;
    uint32_t t = member(e, "version");
    if (t == JSON_NONE || !json_int(&version, &e->j, t) || member(e, "carrier") == JSON_NONE)
        return bad(e, "it has no version and carrier");
    if (version > PLAN_META_VERSION) {
        e->newer = true;
        return bad(e, "it was written by a newer version of sactag");
    }
    if (version != PLAN_META_VERSION)
        return bad(e, "its version is none");
    return read_head(e) && (e->m->format != IR_ONNX || read_undo(e));
}

static bool open_entry(struct entry *e, struct plan_meta *pm, const struct ir_model *m, struct str text)
{
    *pm = (struct plan_meta){.carrier = CARRIER_METADATA};
    arena_init(&pm->arena, 0);
    *e = (struct entry){.m = m, .pm = pm};
    bool ok = read_entry(e, text);
    json_free(&e->j);
    return ok;
}

/* Stripping must leave a model without tags. So an entry is ours only if nothing that it would put back is
 * ours, by the same rule. Entries stand in each other in hexadecimal, each at least twice as long as the one
 * in it: no file holds as many as NESTED_MAX. */
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

/* Would `outer` put back a plan of ours? Goes through what looks like plans, inwards. */
static bool brings_back_a_plan(struct entry *outer, struct nest *x)
{
    const struct onnx_undo *u = &outer->pm->undo;
    x->n = 0;
    for (uint32_t i = 0; i < u->n_fields || x->n;) {
        const struct onnx_field *f = x->n ? next_entry(x) : &u->fields[i++];
        struct entry e;
        if (!f) { /* it puts back no plan, and so is one: the one around it is none */
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
            return diag_nomem(d);
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
