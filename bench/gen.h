/* What the files of the generator share.
 *
 *     gen.c           the kinds of models, and what stands around the graph
 *     gen_decoder.c   transformers
 *     gen_odd.c       shapes that a hostile or odd graph may have
 *     gen_emit.c      records of a graph on their way into the file */
#ifndef SACTAG_BENCH_GEN_H
#define SACTAG_BENCH_GEN_H

#include "schema/onnx_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The graph is gone through once to be measured, then once for each section: what does not belong to the one
 * that is being written is passed over. */
enum section { MEASURE, NODES, INITS, INFOS };
enum data { INLINE, EXTERNAL, HOLE };          /* where weights lie */
enum { F16 = 10, F32 = 1, I64 = 7, BOOL = 9 }; /* of TensorProto.DataType */

/* Of a transformer. */
struct size {
    unsigned hidden, inner, heads, kv, vocab, experts;
    int type;
    char h[48], i[48], one[48], q[64], k[64], half[64], scores[64], e[48]; /* shapes as text */
};

struct buf {
    uint8_t *p;
    size_t n, cap;
};

#define BASES 64

struct gen {
    FILE *out, *file; /* the model; its external data */
    const char *location, *prefix;
    enum section section;
    enum data data;
    struct size size;
    uint64_t total; /* bytes of the graph */
    uint64_t n_nodes, external, rng;
    bool meta;
    struct {
        const char *base;
        unsigned n;
    } bases[BASES]; /* how often each name was given */
    struct buf record;
};

struct name {
    char s[96];
};

/* Where in the module tree a node stands. */
struct scope {
    unsigned n;
    char path[6][64];
    const char *cls[6];
};

struct op {
    const char *type, *aten, *base, *shape;
    const char *attr; /* "axis=-1" an integer, "perm:1,0" a list; NULL for none */
    const char *code;
    int dtype;
};

/* ---- gen_emit.c */

_Noreturn void die(const char *what);

/* Appends to a record: bytes, and fields of it. */
void put(struct buf *b, const void *s, size_t n);
void put_int(struct buf *b, unsigned field, int64_t v);
void put_head(struct buf *b, unsigned field, uint64_t len);
void put_bytes(struct buf *b, unsigned field, const void *s, size_t n);
void put_text(struct buf *b, unsigned field, const char *s);
void put_record(struct buf *b, unsigned field, const struct buf *body);

bool wants(const struct gen *g, enum section s);
void write_out(FILE *f, const void *p, size_t n);
void random_bytes(struct gen *g, FILE *f, uint64_t n);

/* The record as a field of the graph; `more` bytes of it are the caller's to write. */
void emit(struct gen *g, unsigned field, const struct buf *body, uint64_t more);

/* An initializer of rank 1 (cols 0) or 2. */
void weight(struct gen *g, const char *name, uint64_t rows, uint64_t cols, int type);
void constant(struct gen *g, const char *name, unsigned n, const int64_t *v);

/* A ValueInfoProto; the shape as text: "batch,seq,64". */
void value_info(struct gen *g, unsigned field, const char *name, int type, const char *shape);

struct scope inside(const struct scope *up, const char *cls, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* One node with one output, or two for TopK ("indices" is the second's base); its inputs follow. Returns the
 * name of the first. */
#define node(...) node_(__VA_ARGS__, (const char *)NULL)
struct name node_(struct gen *g, const struct scope *sc, const struct op *op, ...);

#define OP(g, sc, type_, aten_, base_, shape_, ...)                                                          \
    node(g, sc, &(struct op){.type = type_, .aten = aten_, .base = base_, .shape = shape_}, __VA_ARGS__)
#define OPA(g, sc, type_, aten_, base_, shape_, attr_, ...)                                                  \
    node(g, sc, &(struct op){.type = type_, .aten = aten_, .base = base_, .shape = shape_, .attr = attr_},   \
         __VA_ARGS__)

/* ---- the kinds: what `count` counts is told in gen.c */

void llama(struct gen *g, uint64_t layers);
void mixtral(struct gen *g, uint64_t layers);
void fan(struct gen *g, uint64_t n);
void chain(struct gen *g, uint64_t n);
void names(struct gen *g, uint64_t n);
void attr(struct gen *g, uint64_t bytes);
void depth(struct gen *g, uint64_t n);

#endif
