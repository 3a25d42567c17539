/* Small ONNX models for tests, made of pb.h's bytes. Lists of names are written "a,b,c"; an empty item is an
 * omitted operand. */
#ifndef SACTAG_TESTS_ONNX_BUILD_H
#define SACTAG_TESTS_ONNX_BUILD_H

#include "schema/onnx_read.h"

#include "tests/unit/pb.h"

static inline void pb_names(struct pb *p, unsigned field, const char *names)
{
    while (names && *names) {
        size_t n = strcspn(names, ",");
        pb_bytes(p, field, names, n);
        names += n + (names[n] == ',');
    }
}

/* Moves what is in `part` behind what is in `to` once it is worth a copy, or when told: many small appends to
 * one large buffer would copy it each time. */
static inline void pb_move(struct pb *to, struct pb *part, bool now)
{
    if (!now && part->n < 8192)
        return;
    pb_raw(to, part->b, part->n);
    pb_free(part);
}

/* A NodeProto named like its first output; attributes are added by the caller. */
static inline struct pb make_node(const char *op, const char *in, const char *out)
{
    struct pb n = {0};
    pb_names(&n, 1, in);
    pb_names(&n, 2, out);
    pb_bytes(&n, 3, out, strcspn(out, ","));
    pb_text(&n, 4, op);
    return n;
}

static inline void add_node(struct pb *graph, const char *op, const char *in, const char *out)
{
    pb_sub(graph, 1, make_node(op, in, out));
}

/* A ValueInfoProto: float32 with `rank` dims (-1: dim_param), or no shape when rank is -1. */
static inline struct pb make_info(const char *name, int rank, const int64_t *dims)
{
    struct pb shape = {0}, tensor = {0}, type = {0}, info = {0};
    for (int i = 0; i < rank; i++) {
        struct pb dim = {0};
        if (dims[i] < 0)
            pb_text(&dim, 2, "batch");
        else
            pb_int(&dim, 1, (uint64_t)dims[i]);
        pb_sub(&shape, 1, dim);
    }
    pb_int(&tensor, 1, 1);
    if (rank >= 0)
        pb_sub(&tensor, 2, shape);
    pb_sub(&type, 1, tensor);
    pb_text(&info, 1, name);
    pb_sub(&info, 2, type);
    return info;
}

static inline void add_input(struct pb *graph, const char *name)
{
    pb_sub(graph, 11, make_info(name, -1, NULL));
}

static inline void add_output(struct pb *graph, const char *name)
{
    pb_sub(graph, 12, make_info(name, -1, NULL));
}

/* A TensorProto without data. */
static inline struct pb make_tensor(const char *name, int dtype, int rank, const int64_t *dims)
{
    struct pb t = {0};
    for (int i = 0; i < rank; i++)
        pb_int(&t, 1, (uint64_t)dims[i]);
    pb_int(&t, 2, (uint64_t)dtype);
    if (name)
        pb_text(&t, 8, name);
    return t;
}

static inline void add_param(struct pb *graph, const char *name, int64_t k, int64_t n)
{
    int64_t dims[] = {k, n};
    pb_sub(graph, 5, make_tensor(name, 1, 2, dims));
}

/* An AttributeProto of type GRAPH. */
static inline void add_body(struct pb *node, const char *attr, struct pb graph)
{
    struct pb a = {0};
    pb_text(&a, 1, attr);
    pb_sub(&a, 6, graph);
    pb_int(&a, 20, 5);
    pb_sub(node, 5, a);
}

static inline struct pb make_model(struct pb graph)
{
    struct pb m = {0};
    pb_int(&m, 1, 8);
    pb_sub(&m, 7, graph);
    return m;
}

/* A model that is read, with what goes with it. */
struct reading {
    struct pb bytes;
    struct diag d;
    struct ir_model m;
    int rc;
};

static inline void read_limited(struct reading *r, struct pb bytes, const struct onnx_limits *limits,
                                size_t memory)
{
    /* Exactly as long as it is, so that a byte read too far is caught. */
    uint8_t *exact = malloc(bytes.n ? bytes.n : 1);
    cr_assert_not_null(exact);
    if (bytes.n)
        memcpy(exact, bytes.b, bytes.n);
    free(bytes.b);
    r->bytes = (struct pb){exact, bytes.n};
    diag_init(&r->d);
    ir_model_init(&r->m, &r->d, memory);
    r->rc = onnx_read(&r->m, r->bytes.b, r->bytes.n, limits, &r->d);
}

static inline const char *reading_message(const struct reading *r)
{
    return r->d.n ? r->d.items[0].message : "";
}

static inline void read_bytes(struct reading *r, struct pb bytes)
{
    read_limited(r, bytes, NULL, 0);
}

/* Reads a model of this graph, which must be a good one. */
static inline void read_graph(struct reading *r, struct pb graph)
{
    read_bytes(r, make_model(graph));
    cr_assert_eq(r->rc, 0, "not read: %s", reading_message(r));
}

static inline void reading_free(struct reading *r)
{
    ir_model_free(&r->m);
    diag_free(&r->d);
    pb_free(&r->bytes);
}

/* Reads and expects IR_EINPUT with this in the message. */
static inline void refuses(struct pb bytes, const char *part)
{
    struct reading r;
    read_bytes(&r, bytes);
    cr_assert_eq(r.rc, IR_EINPUT, "expected a refusal that says '%s' but found %d", part, r.rc);
    cr_assert_eq(r.d.n, 1, "one message, not %zu", r.d.n);
    cr_assert(strstr(reading_message(&r), part), "expected '%s' in '%s'", part, reading_message(&r));
    reading_free(&r);
}

/* The value of a name as node `node` uses it in operand i, as its defining graph; for scoping tests. */
static inline uint32_t operand(const struct reading *r, uint32_t node, uint32_t i)
{
    return ir_node_input(&r->m, &r->m.nodes[node], i);
}

#endif
