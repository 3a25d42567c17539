/* Records of a graph on their way into the file. */
#include "bench/gen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT   2048
#define IN_MAX 8

_Noreturn void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- protobuf */

void put(struct buf *b, const void *s, size_t n)
{
    if (b->cap - b->n < n) {
        b->cap = (b->n + n) * 2;
        b->p = realloc(b->p, b->cap);
        if (!b->p)
            die("gen");
    }
    if (n)
        memcpy(b->p + b->n, s, n);
    b->n += n;
}

static void put_varint(struct buf *b, uint64_t v)
{
    uint8_t s[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        s[n++] = (uint8_t)(v | 128);
    s[n++] = (uint8_t)v;
    put(b, s, n);
}

void put_int(struct buf *b, unsigned field, int64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)v);
}

void put_head(struct buf *b, unsigned field, uint64_t len)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, len);
}

void put_bytes(struct buf *b, unsigned field, const void *s, size_t n)
{
    put_head(b, field, n);
    put(b, s, n);
}

void put_text(struct buf *b, unsigned field, const char *s)
{
    put_bytes(b, field, s, strlen(s));
}

void put_record(struct buf *b, unsigned field, const struct buf *body)
{
    put_bytes(b, field, body->p, body->n);
}

static void put_pair(struct buf *b, unsigned field, const char *key, const char *value)
{
    static struct buf e;
    e.n = 0;
    put_text(&e, ONNX_ENTRY_KEY, key);
    put_text(&e, ONNX_ENTRY_VALUE, value);
    put_record(b, field, &e);
}

/* ---- the graph */

bool wants(const struct gen *g, enum section s)
{
    return g->section == MEASURE || g->section == s;
}

void write_out(FILE *f, const void *p, size_t n)
{
    if (n && fwrite(p, 1, n, f) != n)
        die("gen");
}

void emit(struct gen *g, unsigned field, const struct buf *body, uint64_t more)
{
    static struct buf head;
    head.n = 0;
    put_head(&head, field, body->n + more);
    if (g->section == MEASURE) {
        g->total += head.n + body->n + more;
        return;
    }
    write_out(g->out, head.p, head.n);
    write_out(g->out, body->p, body->n);
}

void random_bytes(struct gen *g, FILE *f, uint64_t n)
{
    uint64_t block[4096];
    while (n) {
        uint64_t part = n < sizeof block ? n : sizeof block;
        for (size_t i = 0; i < (part + 7) / 8; i++) {
            g->rng ^= g->rng << 13;
            g->rng ^= g->rng >> 7;
            g->rng ^= g->rng << 17;
            block[i] = g->rng;
        }
        write_out(f, block, (size_t)part);
        n -= part;
    }
}

static void skip_bytes(FILE *f, uint64_t n)
{
    if (fseeko(f, (off_t)n, SEEK_CUR) != 0)
        die("gen");
}

static void put_external(struct gen *g, struct buf *b, uint64_t n)
{
    char text[32];
    put_pair(b, ONNX_TENSOR_EXTERNAL_DATA, "location", g->location);
    snprintf(text, sizeof text, "%llu", (unsigned long long)g->external);
    put_pair(b, ONNX_TENSOR_EXTERNAL_DATA, "offset", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    put_pair(b, ONNX_TENSOR_EXTERNAL_DATA, "length", text);
    put_int(b, ONNX_TENSOR_DATA_LOCATION, 1);
    if (g->section == INITS) {
        random_bytes(g, g->file, n);
        skip_bytes(g->file, (4096 - n % 4096) % 4096);
    }
    g->external += (n + 4095) / 4096 * 4096;
}

void weight(struct gen *g, const char *name, uint64_t rows, uint64_t cols, int type)
{
    if (!wants(g, INITS))
        return;
    struct buf *b = &g->record;
    uint64_t n = rows * (cols ? cols : 1) * (type == F16 ? 2 : type == I64 ? 8 : 4);
    b->n = 0;
    put_int(b, ONNX_TENSOR_DIMS, (int64_t)rows);
    if (cols)
        put_int(b, ONNX_TENSOR_DIMS, (int64_t)cols);
    put_int(b, ONNX_TENSOR_DATA_TYPE, type);
    put_text(b, ONNX_TENSOR_NAME, name);
    if (g->data == EXTERNAL && type != I64) {
        put_external(g, b, n);
        emit(g, ONNX_GRAPH_INITIALIZER, b, 0);
        return;
    }
    put_head(b, ONNX_TENSOR_RAW_DATA, n);
    emit(g, ONNX_GRAPH_INITIALIZER, b, n);
    if (g->section == INITS && g->data == HOLE)
        skip_bytes(g->out, n);
    else if (g->section == INITS)
        random_bytes(g, g->out, n);
}

void constant(struct gen *g, const char *name, unsigned n, const int64_t *v)
{
    if (!wants(g, INITS))
        return;
    struct buf *b = &g->record;
    b->n = 0;
    put_int(b, ONNX_TENSOR_DIMS, n);
    put_int(b, ONNX_TENSOR_DATA_TYPE, I64);
    put_text(b, ONNX_TENSOR_NAME, name);
    put_bytes(b, ONNX_TENSOR_RAW_DATA, v, n * sizeof *v);
    emit(g, ONNX_GRAPH_INITIALIZER, b, 0);
}

void value_info(struct gen *g, unsigned field, const char *name, int type, const char *shape)
{
    static struct buf dims, dim, tensor, t;
    dims.n = tensor.n = t.n = g->record.n = 0;
    for (const char *p = shape; *p;) {
        size_t n = strcspn(p, ",");
        dim.n = 0;
        if (*p >= '0' && *p <= '9')
            put_int(&dim, ONNX_DIM_VALUE, atoll(p));
        else
            put_bytes(&dim, ONNX_DIM_PARAM, p, n);
        put_record(&dims, ONNX_SHAPE_DIM, &dim);
        p += n + (p[n] == ',');
    }
    put_int(&tensor, ONNX_TENSOR_TYPE_ELEM, type);
    put_record(&tensor, ONNX_TENSOR_TYPE_SHAPE, &dims);
    put_record(&t, ONNX_TYPE_TENSOR, &tensor);
    put_text(&g->record, ONNX_VALUE_INFO_NAME, name);
    put_record(&g->record, ONNX_VALUE_INFO_TYPE, &t);
    emit(g, field, &g->record, 0);
}

struct scope inside(const struct scope *up, const char *cls, const char *fmt, ...)
{
    struct scope s = *up;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s.path[s.n], sizeof s.path[s.n], fmt, ap);
    va_end(ap);
    s.cls[s.n++] = cls;
    return s;
}

static void put_attr(struct buf *b, const char *attr)
{
    static struct buf a;
    size_t n = strcspn(attr, "=:");
    a.n = 0;
    put_bytes(&a, ONNX_ATTR_NAME, attr, n);
    if (attr[n] == '=') {
        put_int(&a, ONNX_ATTR_I, atoll(attr + n + 1));
        put_int(&a, ONNX_ATTR_TYPE, ONNX_ATTR_IS_INT);
    } else {
        for (const char *p = attr + n; *p; p += 1 + strcspn(p + 1, ","))
            put_int(&a, ONNX_ATTR_INTS, atoll(p + 1));
        put_int(&a, ONNX_ATTR_TYPE, ONNX_ATTR_IS_INTS);
    }
    put_record(b, ONNX_NODE_ATTRIBUTE, &a);
}

struct inputs {
    const char *names[IN_MAX];
    unsigned n;
};

/* "['a', 'b', 'last']" */
static void list(char *out, const struct scope *sc, bool classes, const char *last)
{
    size_t n = 0;
    for (unsigned i = 0; i < sc->n; i++)
        n +=
            (size_t)snprintf(out + n, TEXT - n, "%s'%s'", i ? ", " : "[", classes ? sc->cls[i] : sc->path[i]);
    snprintf(out + n, TEXT - n, ", '%s']", last);
}

static void put_metadata(struct gen *g, const struct scope *sc, const struct op *op, const char *output,
                         const struct inputs *in)
{
    struct buf *b = &g->record;
    char text[TEXT];
    size_t n = 0;
    for (unsigned i = 0; i < sc->n; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s: %s/", sc->path[i], sc->cls[i]);
    snprintf(text + n, TEXT - n, "%s: %s", output, op->aten);
    put_pair(b, ONNX_NODE_METADATA_PROPS, "namespace", text);
    list(text, sc, true, op->aten);
    put_pair(b, ONNX_NODE_METADATA_PROPS, "pkg.torch.onnx.class_hierarchy", text);
    list(text, sc, false, output);
    put_pair(b, ONNX_NODE_METADATA_PROPS, "pkg.torch.onnx.name_scopes", text);
    n = (size_t)snprintf(text, TEXT, "%%%s : [num_users=1] = call_function[target=torch.ops.%s](args = (",
                         output, op->aten);
    for (unsigned i = 0; i < in->n; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s%%%s", i ? ", " : "", in->names[i]);
    snprintf(text + n, TEXT - n, "), kwargs = {})");
    put_pair(b, ONNX_NODE_METADATA_PROPS, "pkg.torch.onnx.fx_node", text);
    snprintf(text, TEXT,
             "File \"/usr/lib/python3/dist-packages/transformers/models/decoder/modeling_decoder.py\", line "
             "912, in forward\n    "
             "hidden_states = "
             "decoder_layer(hidden_states, position_embeddings)\n  File "
             "\"/usr/lib/python3/dist-packages/transformers/models/decoder/modeling_decoder.py\", line 204, "
             "in forward\n    %s",
             op->code ? op->code : "return self.weight * hidden_states.to(input_dtype)");
    put_pair(b, ONNX_NODE_METADATA_PROPS, "pkg.torch.onnx.stack_trace", text);
}

/* "base", "base_1", ... */
static struct name fresh(struct gen *g, const char *base)
{
    struct name out;
    unsigned i = 0;
    while (i < BASES - 1 && g->bases[i].base && strcmp(g->bases[i].base, base) != 0)
        i++;
    g->bases[i].base = base;
    if (g->bases[i].n++ == 0)
        snprintf(out.s, sizeof out.s, "%s%s", g->prefix, base);
    else
        snprintf(out.s, sizeof out.s, "%s%s_%u", g->prefix, base, g->bases[i].n - 1);
    return out;
}

static void put_node(struct gen *g, const struct scope *sc, const struct op *op, const struct inputs *in,
                     const struct name out[2])
{
    struct buf *b = &g->record;
    char text[TEXT];
    b->n = 0;
    for (unsigned i = 0; i < in->n; i++)
        put_text(b, ONNX_NODE_INPUT, in->names[i]);
    for (unsigned i = 0; i < 2 && *out[i].s; i++)
        put_text(b, ONNX_NODE_OUTPUT, out[i].s);
    snprintf(text, sizeof text, "%snode_%s_%llu", g->prefix, op->type, (unsigned long long)g->n_nodes);
    put_text(b, ONNX_NODE_NAME, text);
    put_text(b, ONNX_NODE_OP_TYPE, op->type);
    if (op->attr)
        put_attr(b, op->attr);
    if (g->meta)
        put_metadata(g, sc, op, out[0].s, in);
    emit(g, ONNX_GRAPH_NODE, b, 0);
}

struct name node_(struct gen *g, const struct scope *sc, const struct op *op, ...)
{
    struct inputs in = {.n = 0};
    va_list ap;
    va_start(ap, op);
    for (const char *s; in.n < IN_MAX && (s = va_arg(ap, const char *)) != NULL;)
        in.names[in.n++] = s;
    va_end(ap);
    struct name out[2] = {fresh(g, op->base), {""}};
    if (strcmp(op->type, "TopK") == 0)
        out[1] = fresh(g, "indices");
    if (wants(g, NODES))
        put_node(g, sc, op, &in, out);
    if (wants(g, INFOS) && op->shape) {
        value_info(g, ONNX_GRAPH_VALUE_INFO, out[0].s, op->dtype ? op->dtype : F32, op->shape);
        if (*out[1].s)
            value_info(g, ONNX_GRAPH_VALUE_INFO, out[1].s, I64, op->shape);
    }
    g->n_nodes++;
    return out[0];
}
