/* New entries, packed by protobuf-c: a message that holds one entry and nothing else is, packed, the field to
 * be appended. */
#include "schema/onnx_writer.h"

#include "schema/onnx.pb-c.h"

/* protobuf-c wants a NUL behind each text. What protobuf cannot hold as text (bytes that are not UTF-8, and
 * NULs, which protobuf-c would take for the end) is escaped as everywhere. *at is where the text starts in
 * the scratch buffer, which may move as it grows. */
static int add_text(struct onnx_writer *w, size_t *used, size_t *at, struct str s)
{
    bool plain = str_is_utf8(s) && str_chr(s, '\0') < 0;
    size_t n = plain ? s.n : str_escape(NULL, 0, s);
    if (grow(&w->scratch, &w->cap_scratch, *used + n + 1, 1) != 0)
        return onnx_write_no_memory(w);
    *at = *used;
    char *to = w->scratch + *used;
    if (plain) {
        if (n)
            memcpy(to, s.s, n);
        to[n] = '\0';
    } else {
        str_escape(to, n + 1, s);
    }
    *used += n + 1;
    return 0;
}

/* Key and value of an annotation, in the scratch buffer. */
static int add_texts(struct onnx_writer *w, char **key, char **value, const struct annot *a)
{
    size_t used = 0, key_at = 0, value_at = 0;
    int rc = add_text(w, &used, &key_at, a->key);
    if (rc == 0 && a->kind != ANNOT_ATTR_INT)
        rc = add_text(w, &used, &value_at, a->value);
    if (rc)
        return rc;
    *key = w->scratch + key_at;
    *value = w->scratch + value_at;
    return 0;
}

static void set_attr(Onnx__AttributeProto *p, const struct annot *a, char *key, char *value)
{
    onnx__attribute_proto__init(p);
    p->name = key;
    p->has_type = 1;
    if (a->kind == ANNOT_ATTR_INT) {
        p->has_i = 1;
        p->i = a->i;
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    } else {
        p->has_s = 1;
        p->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)value};
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    }
}

static int pack(struct onnx_writer *w, struct str *bytes, char **end, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    char *p = arena_alloc(&w->arena, n, 1);
    if (!p)
        return onnx_write_no_memory(w);
    *bytes = (struct str){p, protobuf_c_message_pack(m, (uint8_t *)p)};
    if (end)
        *end = p + bytes->n;
    return 0;
}

/* The field that one annotation of a node becomes. */
static int pack_entry(struct onnx_writer *w, struct str *bytes, const struct annot *a)
{
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *entries = &entry;
    Onnx__AttributeProto attr, *attrs = &attr;
    char *key, *value;
    int rc = add_texts(w, &key, &value, a);
    if (rc)
        return rc;
    if (a->kind == ANNOT_META) {
        entry.key = key;
        entry.value = value;
        node.metadata_props = &entries;
        node.n_metadata_props = 1;
    } else {
        set_attr(&attr, a, key, value);
        node.attribute = &attrs;
        node.n_attribute = 1;
    }
    return pack(w, bytes, NULL, &node.base);
}

/* Is it the same text, at the same place? (It stays as it is while a model is written.) */
static bool same_entry(const struct annot *a, const struct annot *b)
{
    return a->value.s == b->value.s && a->value.n == b->value.n && a->key.s == b->key.s &&
           a->key.n == b->key.n && a->kind == b->kind && a->i == b->i;
}

/* Mixed twice, as texts often lie at equal distances. */
static size_t set_of(const struct annot *a)
{
    uint64_t h = ((uintptr_t)a->value.s + (uint64_t)a->i) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 29) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(h >> 32) % ONNX_PACKED_SETS;
}

/* Packed once for all nodes that get it, as long as it is one of the last few of its set. */
static int packed_entry(struct onnx_writer *w, struct str *bytes, const struct annot *a)
{
    struct onnx_packed *set = w->packed[set_of(a)];
    for (size_t i = 0; i < ONNX_PACKED_WAYS; i++)
        if (set[i].bytes.n && same_entry(&set[i].annot, a)) {
            *bytes = set[i].bytes;
            return 0;
        }
    int rc = pack_entry(w, bytes, a);
    if (rc)
        return rc;
    memmove(set + 1, set, (ONNX_PACKED_WAYS - 1) * sizeof *set);
    set[0] = (struct onnx_packed){*a, *bytes};
    return 0;
}

int onnx_pack_node(struct onnx_writer *w, struct str *bytes, const struct annot *a, size_t n)
{
    struct str part[ONNX_ENTRIES_MAX];
    size_t total = 0;
    if (n > ONNX_ENTRIES_MAX)
        return diag_error(w->d, IR_EINPUT, "more than %d entries for one node", ONNX_ENTRIES_MAX);
    for (size_t i = 0; i < n; i++) {
        int rc = packed_entry(w, &part[i], &a[i]);
        if (rc)
            return rc;
        total += part[i].n;
    }
    char *p = arena_alloc(&w->arena, total, 1);
    if (!p)
        return onnx_write_no_memory(w);
    *bytes = (struct str){p, total};
    for (size_t i = 0; i < n; p += part[i++].n)
        memcpy(p, part[i].s, part[i].n);
    return 0;
}

int onnx_model_entry(struct onnx_writer *w, struct str *bytes, char **value, struct str key, struct str text)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *entries = &entry;
    struct annot a = {.node = ANNOT_MODEL, .kind = ANNOT_META, .key = key, .value = text};
    int rc = add_texts(w, &entry.key, &entry.value, &a);
    if (rc)
        return rc;
    model.metadata_props = &entries;
    model.n_metadata_props = 1;
    rc = pack(w, bytes, value, &model.base);
    if (rc == 0)
        *value -= strlen(entry.value); /* the last field of the last field */
    return rc;
}

int onnx_pack_ir_version(struct onnx_writer *w, struct str *bytes, int64_t version)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    model.has_ir_version = 1;
    model.ir_version = version;
    return pack(w, bytes, NULL, &model.base);
}
