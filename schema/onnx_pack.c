/* New entries, packed by protobuf-c: a message that holds nothing but them is what has to be appended. */
#include "schema/onnx_writer.h"

#include "schema/onnx.pb-c.h"

#define ENTRIES_MAX 8 /* of one node */

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

/* Key and value of each annotation, in the scratch buffer. */
struct texts {
    size_t key[ENTRIES_MAX], value[ENTRIES_MAX];
};

static int add_texts(struct onnx_writer *w, struct texts *t, const struct annot *a, size_t n)
{
    size_t used = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = add_text(w, &used, &t->key[i], a[i].key);
        if (rc == 0 && a[i].kind != ANNOT_ATTR_INT)
            rc = add_text(w, &used, &t->value[i], a[i].value);
    }
    return rc;
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

int onnx_pack_node(struct onnx_writer *w, struct str *bytes, const struct annot *a, size_t n)
{
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    Onnx__StringStringEntryProto entry[ENTRIES_MAX], *entries[ENTRIES_MAX];
    Onnx__AttributeProto attr[ENTRIES_MAX], *attrs[ENTRIES_MAX];
    struct texts t = {{0}, {0}};
    if (n > ENTRIES_MAX)
        return diag_error(w->d, IR_EINPUT, "more than %d entries for one node", ENTRIES_MAX);
    int rc = add_texts(w, &t, a, n);
    if (rc)
        return rc;
    node.metadata_props = entries;
    node.attribute = attrs;
    for (size_t i = 0; i < n; i++) {
        char *key = w->scratch + t.key[i], *value = w->scratch + t.value[i];
        if (a[i].kind == ANNOT_META) {
            Onnx__StringStringEntryProto *e = &entry[node.n_metadata_props];
            onnx__string_string_entry_proto__init(e);
            e->key = key;
            e->value = value;
            entries[node.n_metadata_props++] = e;
        } else {
            set_attr(&attr[node.n_attribute], &a[i], key, value);
            attrs[node.n_attribute] = &attr[node.n_attribute];
            node.n_attribute++;
        }
    }
    return pack(w, bytes, NULL, &node.base);
}

int onnx_model_entry(struct onnx_writer *w, struct str *bytes, char **value, struct str key, struct str text)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *entries = &entry;
    struct annot a = {.node = ANNOT_MODEL, .kind = ANNOT_META, .key = key, .value = text};
    struct texts t = {{0}, {0}};
    int rc = add_texts(w, &t, &a, 1);
    if (rc)
        return rc;
    entry.key = w->scratch + t.key[0];
    entry.value = w->scratch + t.value[0];
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
