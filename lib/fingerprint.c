#include "lib/fingerprint.h"

#include "lib/table.h"
#include "schema/json.h"
#include "schema/onnx_fields.h"
#include "schema/pt2_read.h"
#include "schema/wire.h"

#include <stdlib.h>

/* What begins a hash, so that things of different kinds differ. */
enum { SEED_NONE = 1, SEED_INPUT, SEED_BODY_INPUT, SEED_PARAM, SEED_NODE, SEED_OUTPUT, SEED_TENSOR };

/* ---- attributes of an ONNX node ---- */

enum { ATTR_DOC_STRING = 13, TENSOR_DOC_STRING = 12 };

static bool is_tag(struct str name)
{
    return str_starts(name, STR_LIT("__sac_")) || str_is(name, "__recompute_output_in_backward_pass");
}

static uint64_t hash_field(const struct wire_field *f, uint64_t h)
{
    h = hash_u64((uint64_t)f->number << 3 | f->type, h);
    if (f->type == WIRE_VARINT || f->type == WIRE_I32 || f->type == WIRE_I64)
        return hash_u64(f->value, h);
    if (f->type != WIRE_LEN)
        return h;
    size_t n = f->len < FINGERPRINT_DATA ? (size_t)f->len : FINGERPRINT_DATA;
    return hash_str((struct str){(const char *)f->body, n}, hash_u64(f->len, h));
}

/* A tensor without its name and whereabouts. */
static uint64_t hash_tensor(const struct wire_field *t, uint64_t h)
{
    struct wire w = wire_into(t);
    struct wire_field f;

    h = hash_u64(SEED_TENSOR, h);
    while (wire_next(&w, &f) == 1)
        if (f.number != ONNX_TENSOR_NAME && f.number != TENSOR_DOC_STRING &&
            f.number != ONNX_TENSOR_EXTERNAL_DATA)
            h = hash_field(&f, h);
    return h;
}

/* 0 for what takes no part. Graphs are left out: their nodes have fingerprints of their own. */
static uint64_t hash_attribute(const struct wire_field *attr)
{
    struct wire w = wire_into(attr);
    struct wire_field f;
    uint64_t h = SEED_NODE;

    while (wire_next(&w, &f) == 1) {
        if (wire_is_len(&f, ONNX_ATTR_NAME) && is_tag(wire_str(&f)))
            return 0;
        if (wire_is_len(&f, ONNX_ATTR_T))
            h = hash_tensor(&f, h);
        else if (f.number != ONNX_ATTR_G && f.number != ONNX_ATTR_GRAPHS && f.number != ATTR_DOC_STRING)
            h = hash_field(&f, h);
    }
    return h;
}

/* A sum, since attributes may stand in any order. */
static uint64_t onnx_attributes(const struct ir_model *m, const struct ir_node *n)
{
    struct wire w = wire_over(m->bytes + n->off, n->len);
    struct wire_field f;
    uint64_t sum = 0;

    while (wire_next(&w, &f) == 1)
        if (wire_is_len(&f, ONNX_NODE_ATTRIBUTE))
            sum += hash_attribute(&f);
    return sum;
}

/* ---- arguments of a .pt2's node ---- */

/* Arguments of these kinds name values. */
static bool names_values(struct str kind)
{
    return str_starts(kind, STR_LIT("as_tensor")) || str_starts(kind, STR_LIT("as_optional_tensor")) ||
           str_starts(kind, STR_LIT("as_sym")) || str_starts(kind, STR_LIT("as_graph")) ||
           str_starts(kind, STR_LIT("as_custom"));
}

static uint64_t hash_argument(const struct json *j, uint32_t input)
{
    uint32_t name = json_get(j, input, "name"), arg = json_get(j, input, "arg");
    uint32_t kind = arg == JSON_NONE ? JSON_NONE : json_first(j, arg);
    uint64_t h = SEED_NODE;

    if (name != JSON_NONE)
        h = hash_str(json_raw(j, name), h);
    if (kind == JSON_NONE)
        return h;
    h = hash_str(json_raw(j, kind), h);
    return names_values(json_raw(j, kind)) ? h : hash_str(json_raw(j, kind + 1), h);
}

static uint64_t pt2_arguments(const struct ir_model *m, uint32_t node)
{
    struct json j;
    struct json_error e;
    uint64_t h = SEED_NODE;

    if (json_parse(&j, pt2_text(m, node), JSON_DEPTH_MAX, 0, &e))
        return h; /* without memory: the operator alone must tell */
    uint32_t inputs = json_get(&j, 0, "inputs");
    uint32_t t = inputs == JSON_NONE ? JSON_NONE : json_first(&j, inputs);
    for (; t != JSON_NONE; t = json_next(&j, inputs, t))
        h = hash_u64(hash_argument(&j, t), h);
    json_free(&j);
    return h;
}

/* ---- nodes and values ---- */

/* A node by itself. */
static uint64_t hash_self(const struct ir_model *m, uint32_t node)
{
    const struct ir_node *n = &m->nodes[node];
    const struct ir_op *op = ir_node_op(m, n);
    uint64_t h = hash_str(op->type, hash_str(op->domain, SEED_NODE));

    h = hash_u64((uint64_t)ir_node_n_in(n) << 32 | ir_node_n_out(n), h);
    return hash_u64(m->format == IR_PT2 ? pt2_arguments(m, node) : onnx_attributes(m, n), h);
}

/* A value that no node computes. */
static uint64_t hash_source(const struct ir_model *m, uint32_t value)
{
    const struct ir_value *v = &m->values[value];
    const struct ir_shape *shape = &m->shapes[v->shape];
    uint64_t h = SEED_NONE;

    if (v->kind == IR_VALUE_INPUT)
        h = hash_u64(v->def, v->graph == 0 ? SEED_INPUT : SEED_BODY_INPUT);
    if (v->kind != IR_VALUE_PARAM)
        return h;
    h = hash_u64(shape->rank, SEED_PARAM);
    for (uint32_t i = 0; i < shape->rank; i++)
        h = hash_u64((uint64_t)shape->dims[i], h);
    return h;
}

static uint64_t hash_operands(const struct ir_model *m, uint32_t node, uint64_t self,
                              const uint64_t *of_value)
{
    const struct ir_node *n = &m->nodes[node];
    uint64_t h = self;

    for (uint32_t i = 0; i < ir_node_n_in(n); i++) {
        uint32_t v = ir_node_input(m, n, i);
        h = hash_u64(v == IR_NONE ? SEED_NONE : of_value[v], h);
    }
    return h;
}

static void set_outputs(const struct ir_model *m, uint32_t node, uint64_t h, uint64_t *of_value)
{
    const struct ir_node *n = &m->nodes[node];

    for (uint32_t i = 0; i < ir_node_n_out(n); i++) {
        uint32_t v = ir_node_output(m, n, i);
        if (v != IR_NONE)
            of_value[v] = hash_u64(SEED_OUTPUT + (uint64_t)i, h);
    }
}

/* In file order when that is execution order; what comes from behind counts as unknown then: the same in both
 * files. */
static void hash_full(struct fingerprints *f, const struct ir_model *m, const uint64_t *self,
                      uint64_t *of_value)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        f->full[i] = hash_operands(m, i, self[i], of_value);
        set_outputs(m, i, f->full[i], of_value);
    }
}

static void hash_near(uint64_t *near, int depth, const struct ir_model *m, const uint64_t *self,
                      uint64_t *of_value)
{
    memcpy(near, self, (size_t)m->n_nodes * sizeof *self);
    for (int d = 1; d < depth; d++) {
        for (uint32_t i = 0; i < m->n_nodes; i++)
            set_outputs(m, i, near[i], of_value);
        for (uint32_t i = 0; i < m->n_nodes; i++)
            near[i] = hash_operands(m, i, self[i], of_value);
    }
}

static void hash_all(struct fingerprints *f, const struct ir_model *m, uint64_t *self, uint64_t *of_value)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        self[i] = hash_self(m, i);
    for (uint32_t v = 0; v < m->n_values; v++)
        of_value[v] = hash_source(m, v);
    hash_full(f, m, self, of_value);
    hash_near(f->near, FINGERPRINT_NEAR, m, self, of_value);
    hash_near(f->nearest, FINGERPRINT_NEAREST, m, self, of_value);
}

int fingerprints_make(struct fingerprints *f, struct ir_model *m)
{
    size_t n = (size_t)m->n_nodes + 1;
    uint64_t *self = calloc(n, sizeof *self),
             *of_value = malloc(((size_t)m->n_values + 1) * sizeof *of_value);
    int e = IR_EMEM;

    f->full = malloc(n * sizeof *f->full);
    f->near = malloc(n * sizeof *f->near);
    f->nearest = malloc(n * sizeof *f->nearest);
    if (self && of_value && f->full && f->near && f->nearest) {
        hash_all(f, m, self, of_value);
        e = 0;
    }
    free(self);
    free(of_value);
    return e;
}

void fingerprints_free(struct fingerprints *f)
{
    free(f->full);
    free(f->near);
    free(f->nearest);
    *f = (struct fingerprints){0};
}
