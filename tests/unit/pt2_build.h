/* Zip archives and .pt2 programs for tests, made of pb.h's growable bytes. */
#ifndef SACTAG_TESTS_PT2_BUILD_H
#define SACTAG_TESTS_PT2_BUILD_H

#include "schema/pt2_read.h"

#include "tests/unit/pb.h"

#include <stdio.h>
#include <zlib.h>

/* How a member is written, and what is wrong with it. */
struct zip_how {
    bool padded;       /* as torch ≥ 2.8 does: alignment field, data descriptor */
    bool wide;         /* zip64 fields in the directory, although they are not needed */
    bool wide_local;   /* ... and in the local header */
    int method;        /* as written; the data are not compressed here */
    uint16_t flags;    /* further flags */
    uint32_t crc_xor;  /* a wrong checksum */
    int32_t size_add;  /* a wrong unpacked size in the directory */
    int64_t local_add; /* a wrong place of the local header */
    uint64_t unpacked; /* unpacked size of compressed data */
    uint32_t unpacked_crc;
};

struct zip_build {
    struct pb out, dir;
    unsigned n;
};

static inline void le(struct pb *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        pb_raw(p, &(uint8_t){(uint8_t)v}, 1);
}

static inline void zip_add_how(struct zip_build *z, const char *name, const void *data, size_t n,
                               struct zip_how how)
{
    size_t name_len = strlen(name), local = z->out.n;
    uint32_t crc = (uint32_t)crc32_z(0, data, n) ^ how.crc_xor;
    uint64_t size = n;
    if (how.unpacked) {
        size = how.unpacked;
        crc = how.unpacked_crc;
    }
    uint16_t flags = (uint16_t)(how.flags | (how.padded ? 0x0808 : 0));
    struct pb extra = {0};
    if (how.wide_local) {
        le(&extra, 1, 2);
        le(&extra, 16, 2);
        le(&extra, size, 8);
        le(&extra, n, 8);
    }
    if (how.padded) {
        size_t at = local + 30 + name_len + extra.n + 4, pad = (64 - at % 64) % 64;
        le(&extra, 0x4246, 2);
        le(&extra, pad, 2);
        for (size_t i = 0; i < pad; i++)
            pb_raw(&extra, "Z", 1);
    }
    pb_raw(&z->out, "PK\3\4", 4);
    le(&z->out, 20, 2);
    le(&z->out, flags, 2);
    le(&z->out, (uint64_t)how.method, 2);
    le(&z->out, 0x21 << 16, 4);
    le(&z->out, how.padded ? 0 : crc, 4);
    le(&z->out, how.wide_local ? UINT32_MAX : how.padded ? 0 : n, 4);
    le(&z->out, how.wide_local ? UINT32_MAX : how.padded ? 0 : size, 4);
    le(&z->out, name_len, 2);
    le(&z->out, extra.n, 2);
    pb_raw(&z->out, name, name_len);
    pb_raw(&z->out, extra.b, extra.n);
    pb_raw(&z->out, data, n);
    if (how.padded) {
        pb_raw(&z->out, "PK\7\10", 4);
        le(&z->out, crc, 4);
        le(&z->out, n, 4);
        le(&z->out, size, 4);
    }
    pb_free(&extra);
    pb_raw(&z->dir, "PK\1\2", 4);
    le(&z->dir, 0x031e, 2);
    le(&z->dir, 20, 2);
    le(&z->dir, flags, 2);
    le(&z->dir, (uint64_t)how.method, 2);
    le(&z->dir, 0x21 << 16, 4);
    le(&z->dir, crc, 4);
    le(&z->dir, how.wide ? UINT32_MAX : n, 4);
    le(&z->dir, how.wide ? UINT32_MAX : (uint64_t)((int64_t)size + how.size_add), 4);
    le(&z->dir, name_len, 2);
    le(&z->dir, how.wide ? 28 : 0, 2);
    le(&z->dir, 0, 8);
    le(&z->dir, 0, 2);
    le(&z->dir, how.wide ? UINT32_MAX : (uint64_t)((int64_t)local + how.local_add), 4);
    pb_raw(&z->dir, name, name_len);
    if (how.wide) {
        le(&z->dir, 1, 2);
        le(&z->dir, 24, 2);
        le(&z->dir, size, 8);
        le(&z->dir, n, 8);
        le(&z->dir, local, 8);
    }
    z->n++;
}

static inline void zip_add(struct zip_build *z, const char *name, const char *text)
{
    zip_add_how(z, name, text, strlen(text), (struct zip_how){0});
}

/* Ends the archive; with a zip64 end record if told to. The bytes are the caller's. */
static inline struct pb zip_done(struct zip_build *z, bool end64)
{
    size_t central = z->out.n, len = z->dir.n;
    pb_raw(&z->out, z->dir.b, len);
    pb_free(&z->dir);
    if (end64) {
        size_t at = z->out.n;
        pb_raw(&z->out, "PK\6\6", 4);
        le(&z->out, 44, 8);
        le(&z->out, 0x1e031e, 4);
        le(&z->out, 0, 8);
        le(&z->out, z->n, 8);
        le(&z->out, z->n, 8);
        le(&z->out, len, 8);
        le(&z->out, central, 8);
        pb_raw(&z->out, "PK\6\7", 4);
        le(&z->out, 0, 4);
        le(&z->out, at, 8);
        le(&z->out, 1, 4);
    }
    pb_raw(&z->out, "PK\5\6", 4);
    le(&z->out, 0, 4);
    le(&z->out, z->n, 2);
    le(&z->out, z->n, 2);
    le(&z->out, len, 4);
    le(&z->out, central, 4);
    le(&z->out, 0, 2);
    return z->out;
}

/* A flat archive around a program's text, with a member behind it. */
static inline struct pb flat_archive(const char *program)
{
    struct zip_build z = {0};
    zip_add(&z, "serialized_exported_program.json", program);
    zip_add(&z, "version", "8.2");
    return zip_done(&z, false);
}

/* A tensor's description. */
#define META(sizes, strides, grad)                                                                           \
    "{\"dtype\": 7, \"sizes\": " sizes ", \"requires_grad\": " grad ", \"device\": {\"type\": \"cpu\"}, "    \
    "\"strides\": " strides ", \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"
#define INT(n)         "{\"as_int\": " #n "}"
#define TENSOR(name)   "{\"as_tensor\": {\"name\": \"" name "\"}}"
#define ARG(name, arg) "{\"name\": \"" name "\", \"arg\": " arg "}"
#define NODE(target, inputs, outputs, metadata)                                                              \
    "{\"target\": \"" target "\", \"inputs\": [" inputs "], \"outputs\": [" outputs                          \
    "], \"metadata\": {" metadata "}}"
#define GRAPH(inputs, outputs, nodes, values)                                                                \
    "{\"inputs\": [" inputs "], \"outputs\": [" outputs "], \"nodes\": [" nodes                              \
    "], \"tensor_values\": {" values "}}"
#define PROGRAM(graph, specs, modules, rest)                                                                 \
    "{\"graph_module\": {\"graph\": " graph ", \"signature\": {\"input_specs\": [" specs                     \
    "], \"output_specs\": []}, "                                                                             \
    "\"module_call_graph\": [" modules "]" rest "}, \"opset_version\": {\"aten\": 10}, "                     \
    "\"schema_version\": {\"major\": 8, \"minor\": 2}, \"verifiers\": [\"TRAINING\"], \"torch_version\": "   \
    "\"2.6.0\"}"

/* y = x Wᵀ; z = relu(y) */
#define SMALL_GRAPH                                                                                                         \
    GRAPH(                                                                                                                  \
        TENSOR("p_fc_weight") ", " TENSOR("x"), TENSOR("relu"),                                                             \
        NODE(                                                                                                               \
            "torch.ops.aten.linear.default",                                                                                \
            ARG("input", TENSOR("x")) ", " ARG("weight", TENSOR("p_fc_weight")), TENSOR("linear"),                          \
            "\"nn_module_stack\": \"L__self__,,M;L__self___fc,fc,torch.nn.modules.linear.Linear\"") ","                     \
                                                                                                    " " NODE(               \
                                                                                                        "to"                \
                                                                                                        "rc"                \
                                                                                                        "h."                \
                                                                                                        "op"                \
                                                                                                        "s."                \
                                                                                                        "at"                \
                                                                                                        "en"                \
                                                                                                        ".r"                \
                                                                                                        "el"                \
                                                                                                        "u."                \
                                                                                                        "de"                \
                                                                                                        "fa"                \
                                                                                                        "ul"                \
                                                                                                        "t",                \
                                                                                                        ARG("self",         \
                                                                                                            TENSOR(         \
                                                                                                                "linear")), \
                                                                                                        TENSOR(             \
                                                                                                            "relu"),        \
                                                                                                        ""),                \
        "\"p_fc_weight\": " META("[" INT(3) ", " INT(4) "]", "[" INT(4) ", " INT(1) "]", "true") ", \"x\": " META(          \
            "[" INT(2) ", " INT(4) "]", "[" INT(4) ", " INT(1) "]",                                                         \
            "false") ", \"linear\": " META("[" INT(2) ", " INT(3) "]", "[" INT(3) ", " INT(1) "]",                          \
                                           "false") ", \"relu\": " META("[" INT(2) ", " INT(3) "]",                         \
                                                                        "[" INT(3) ", " INT(1) "]",                         \
                                                                        "false"))
#define SMALL_SPECS                                                                                          \
    "{\"parameter\": {\"arg\": {\"name\": \"p_fc_weight\"}, \"parameter_name\": \"fc.weight\"}}, "           \
    "{\"user_input\": {\"arg\": " TENSOR("x") "}}"
#define SMALL_MODULES "{\"fqn\": \"\", \"signature\": null}, {\"fqn\": \"fc\"}, {\"fqn\": \"fc@1\"}"
#define SMALL         PROGRAM(SMALL_GRAPH, SMALL_SPECS, SMALL_MODULES, ", \"metadata\": {}")

/* A model over bytes, and what was reported. */
struct opened {
    struct ir_model m;
    struct diag d;
    struct pb bytes;
    int rc;
};

static inline void open_bytes(struct opened *o, struct pb bytes)
{
    o->bytes = bytes;
    diag_init(&o->d);
    ir_model_init(&o->m, &o->d, (size_t)64 << 20);
    o->rc = pt2_read(&o->m, bytes.b, bytes.n, NULL, &o->d);
}

static inline void close_model(struct opened *o)
{
    ir_model_free(&o->m);
    diag_free(&o->d);
    pb_free(&o->bytes);
}

static inline struct pb read_file(const char *path)
{
    struct pb p = {0};
    char buf[65536];
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;)
        pb_raw(&p, buf, n);
    fclose(f);
    return p;
}

/* The message of the first error, "" if there is none. */
static inline const char *first_error(const struct diag *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].level == DIAG_ERROR)
            return d->items[i].message;
    return "";
}

#endif
