/* What stands around a program's graph, and the order of things. */
#include "schema/pt2_reader.h"

#include <stdlib.h>

#define SCHEMA_MAJOR  8  /* of torch 2.4 and later */
#define JSON_PER_BODY 8  /* objects and arrays from a graph to the graph in one of its nodes */
#define JSON_AROUND   16 /* around a program's graph, and in its nodes */

/* ---- what stands around the graph ---- */

static int read_version(struct pt2_reader *r)
{
    uint32_t version = json_get(r->json, 0, "schema_version");
    int64_t major = 0;
    uint32_t t = json_get(r->json, version, "major");
    if (t != JSON_NONE && !json_int(&major, r->json, t))
        return pt2_fail(r, t, "\"schema_version.major\": expected a number");
    if (major > SCHEMA_MAJOR)
        diag_warn(r->d, "schema version %lld of the program is newer than what is known (%d)",
                  (long long)major, SCHEMA_MAJOR);
    uint32_t torch = json_get(r->json, 0, "torch_version");
    r->m->producer = STR_LIT("torch");
    return torch == JSON_NONE ? 0 : pt2_string(&r->m->producer_version, r, torch, "torch_version");
}

static int read_opsets(struct pt2_reader *r)
{
    struct ir_model *m = r->m;
    uint32_t t = json_get(r->json, 0, "opset_version");
    if (t == JSON_NONE || m->n_opsets)
        return 0;
    int rc = pt2_expect(r, t, JSON_KIND_OBJECT, "opset_version");
    if (rc != 0)
        return rc;
    m->opsets = arena_alloc(&m->arena, json_count(r->json, t), sizeof *m->opsets);
    if (!m->opsets)
        return pt2_no_memory(r);
    for (uint32_t k = json_first(r->json, t); k != JSON_NONE; k = json_next_member(r->json, t, k)) {
        struct ir_opset *o = &m->opsets[m->n_opsets++];
        if ((rc = pt2_string(&o->domain, r, k, "opset_version")) != 0)
            return rc;
        if (!json_int(&o->version, r->json, k + 1))
            return pt2_fail(r, k, "\"opset_version\": expected a number");
    }
    return 0;
}

/* torch.export's form for training names its verifier; older or lowered programs were traced without grad. */
static int read_dialect(struct pt2_reader *r)
{
    uint32_t list = json_get(r->json, 0, "verifiers");
    bool training = false;
    if (list != JSON_NONE) {
        int rc = pt2_expect(r, list, JSON_KIND_ARRAY, "verifiers");
        if (rc != 0)
            return rc;
        for (uint32_t t = json_first(r->json, list); t != JSON_NONE; t = json_next(r->json, list, t))
            training |= json_kind(r->json, t) == JSON_KIND_STRING && str_is(json_raw(r->json, t), "TRAINING");
    }
    r->m->decomposed |= !training;
    return 0;
}

static int read_program(struct pt2_reader *r, uint32_t program)
{
    struct pt2_program *prog = &r->pt2.programs[program];
    struct json json = {0};
    struct json_error e;
    uint32_t depth = r->max_depth < JSON_DEPTH_MAX / JSON_PER_BODY
                         ? r->max_depth * JSON_PER_BODY + JSON_AROUND
                         : JSON_DEPTH_MAX;
    int rc = json_parse(&json, prog->text, depth, r->m->arena.limit, &e);
    if (rc == IR_EMEM)
        return pt2_no_memory(r);
    r->program = program;
    r->graph = r->node = IR_NONE;
    if (rc != 0)
        return diag_error_at(r->d, rc, NULL, "program", pt2_offset_of(r, prog->text.s + e.offset),
                             "the program is not valid JSON: %s", e.message);
    r->json = &json; // cppcheck-suppress autoVariables; until the end of this function
    if ((rc = pt2_expect(r, 0, JSON_KIND_OBJECT, "program")) == 0 && (rc = read_version(r)) == 0 &&
        (rc = read_opsets(r)) == 0 && (rc = read_dialect(r)) == 0)
        rc = pt2_program_read(r, program);
    json_free(&json);
    r->json = NULL;
    return rc;
}

/* ---- all of it ---- */

bool pt2_looks_like(const uint8_t *bytes, uint64_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* What decoding on demand and the writer need; the rest is free_scratch()'s. */
static void free_reader(struct ir_model *m)
{
    struct pt2_reader *r = m->reader;
    json_free(&r->cache);
    free(r->pt2.unpacked);
    free(m->graphs);
    free(m->nodes);
    free(m->values);
    free(m->layouts);
    free(m->operands);
    free(m->params);
    free(m->ops);
    free(m->modules);
    free(m->meta);
    free(r);
}

/* What only reading needs. */
static void free_scratch(struct pt2_reader *r)
{
    names_free(&r->member_index);
    names_free(&r->op_index);
    names_free(&r->fqn_index);
    free(r->specs);
    free(r->bindings);
    free(r->bodies);
    free(r->args);
    free(r->ids);
    r->specs = NULL;
    r->bindings = NULL;
    r->bodies = NULL;
    r->args = NULL;
    r->ids = NULL;
    r->d = NULL;
}

/* No array is NULL, so that others may point into one that is empty. */
static int first_room(struct pt2_reader *r)
{
    struct ir_model *m = r->m;
    int rc = pt2_room(r, &m->nodes, &r->cap_nodes, 1, sizeof *m->nodes);
    if (rc == 0)
        rc = pt2_room(r, &m->values, &r->cap_values, 1, sizeof *m->values);
    if (rc == 0)
        rc = pt2_room(r, &m->operands, &r->cap_operands, 1, sizeof *m->operands);
    if (rc == 0)
        rc = pt2_room(r, &m->params, &r->cap_params, 1, sizeof *m->params);
    return rc ? rc : pt2_room(r, &m->ops, &r->cap_ops, 1, sizeof *m->ops);
}

int pt2_read(struct ir_model *m, const uint8_t *bytes, uint64_t size, const struct pt2_limits *limits,
             struct diag *d)
{
    m->format = IR_PT2;
    m->bytes = bytes;
    m->size = size;
    struct pt2_reader *r = calloc(1, sizeof *r);
    if (!r || !m->shapes) {
        free(r);
        return diag_nomem(d);
    }
    r->m = m;
    r->d = d;
    r->cached = IR_NONE;
    r->max_depth = limits && limits->max_depth ? limits->max_depth : PT2_MAX_DEPTH;
    r->max_nodes = limits && limits->max_nodes ? limits->max_nodes : PT2_MAX_NODES;
    names_init(&r->member_index);
    names_init(&r->op_index);
    names_init(&r->fqn_index);
    m->reader = r;
    m->free_reader = free_reader;
    m->source = &pt2_source;
    int rc = size <= IR_SIZE_MAX ? 0 : diag_error(d, IR_EINPUT, "the file is larger than 2^48 bytes");
    if (rc == 0)
        rc = zip_dir_read(&r->pt2.zip, bytes, size, &m->arena, d);
    if (rc == 0)
        rc = pt2_load_programs(r);
    if (rc == 0)
        rc = first_room(r);
    for (uint32_t i = 0; rc == 0 && i < r->pt2.n_programs; i++)
        rc = read_program(r, i);
    if (rc == 0)
        pt2_grad(m);
    free_scratch(r);
    return rc;
}

struct str pt2_text(const struct ir_model *m, uint32_t node)
{
    const struct ir_node *n = &m->nodes[node];
    const struct pt2_program *prog = &pt2_of(m)->programs[ir_node_seg(m, n)];
    struct ir_span span = prog->stored ? ir_node_span(n) : pt2_of(m)->unpacked[node];
    const char *base = prog->stored ? (const char *)m->bytes : prog->text.s;
    return (struct str){base + span.off, (size_t)span.len};
}
