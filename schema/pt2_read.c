/* The archive: its programs, and what stands around each program's graph. */
#include "schema/pt2_reader.h"

#include "schema/zip_unpack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define FLAT_NAME     "serialized_exported_program.json"
#define SCHEMA_MAJOR  8 /* of torch 2.4 and later */
#define JSON_PER_BODY 8 /* objects and arrays from a graph to the graph in one of its nodes */
#define JSON_AROUND   16

/* ---- memory and messages ---- */

int pt2_no_memory(struct pt2_reader *r)
{
    const struct arena *a = &r->m->arena;
    if (a->over)
        return diag_error(r->d, IR_EINPUT, "the program needs more memory than the limit of %zu bytes",
                          a->limit);
    return diag_nomem(r->d);
}

int pt2_room_more(struct pt2_reader *r, void *array_ptr, size_t *cap, size_t need, size_t elem_size)
{
    size_t before = *cap;
    struct arena *a = &r->m->arena;
    if (grow(array_ptr, cap, need, elem_size) != 0)
        return pt2_no_memory(r);
    char *p;
    memcpy(&p, array_ptr, sizeof p);
    memset(p + before * elem_size, 0, (*cap - before) * elem_size);
    size_t names = names_bytes(&r->m->names);
    size_t more = (*cap - before) * elem_size + names - r->names_charged;
    r->names_charged = names;
    return arena_charge(a, more) == 0 ? 0 : pt2_no_memory(r);
}

/* Where we are: "graph_module.graph.nodes[3]", "true_graph_0.nodes[0]"; static text when there is no more. */
static void place(const struct pt2_reader *r, char *buf, size_t n)
{
    const struct ir_model *m = r->m;
    struct str graph = r->graph != IR_NONE && m->graphs[r->graph].kind == IR_GRAPH_BODY
                           ? m->graphs[r->graph].attr
                           : str_of("graph_module.graph");
    if (graph.n > 80)
        graph.n = 80;
    if (r->graph == IR_NONE)
        snprintf(buf, n, "program");
    else if (r->node == IR_NONE)
        snprintf(buf, n, "%.*s", STR_ARG(graph));
    else
        snprintf(buf, n, "%.*s.nodes[%u]", STR_ARG(graph), r->node - m->graphs[r->graph].first_node);
}

/* In the archive, or in a program's unpacked text. */
static uint64_t offset_of(const struct pt2_reader *r, const char *p)
{
    uintptr_t at = (uintptr_t)p, archive = (uintptr_t)r->m->bytes;
    bool inside = at >= archive && at - archive <= r->m->size;
    return at - (inside ? archive : (uintptr_t)r->pt2.programs[r->program].text.s);
}

int pt2_fail(struct pt2_reader *r, uint32_t token, const char *fmt, ...)
{
    char message[512], field[128];
    va_list ap;
    va_start(ap, fmt);
    size_t n = diag_format(message, sizeof message, fmt, ap);
    va_end(ap);
    place(r, field, sizeof field);
    return diag_error_at(r->d, IR_EINPUT, NULL, field, offset_of(r, json_raw(r->json, token).s), "%.*s",
                         (int)n, message);
}

int pt2_expect(struct pt2_reader *r, uint32_t token, enum json_kind type, const char *what)
{
    enum json_kind is = json_kind(r->json, token);
    if (is == type)
        return 0;
    return pt2_fail(r, token, "\"%s\": expected %s but found %s", what, json_kind_name(type),
                    json_kind_name(is));
}

int pt2_need(uint32_t *out, struct pt2_reader *r, uint32_t object, const char *name, enum json_kind type)
{
    *out = json_get(r->json, object, name);
    if (*out == JSON_NONE)
        return pt2_fail(r, object, "\"%s\" is missing", name);
    return pt2_expect(r, *out, type, name);
}

int pt2_string(struct str *out, struct pt2_reader *r, uint32_t token, const char *what)
{
    int rc = pt2_expect(r, token, JSON_KIND_STRING, what);
    if (rc == 0 && json_text(out, r->json, token, &r->m->arena) != 0)
        rc = pt2_no_memory(r);
    return rc;
}

int pt2_union(uint32_t *kind, struct pt2_reader *r, uint32_t token, const char *what)
{
    int rc = pt2_expect(r, token, JSON_KIND_OBJECT, what);
    if (rc != 0)
        return rc;
    *kind = json_first(r->json, token);
    if (*kind == JSON_NONE || json_next_member(r->json, token, *kind) != JSON_NONE)
        return pt2_fail(r, token, "\"%s\": expected an object with one member", what);
    return 0;
}

uint32_t pt2_name(struct pt2_reader *r, uint32_t token, const char *what, int *rc)
{
    struct str s;
    *rc = pt2_string(&s, r, token, what);
    uint32_t id = *rc == 0 ? names_intern(&r->m->names, s) : NAME_NONE;
    if (*rc == 0 && id == NAME_NONE)
        *rc = pt2_no_memory(r);
    return id;
}

/* ---- the archive ---- */

bool pt2_looks_like(const uint8_t *bytes, uint64_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* What comes after the first folder of a path. */
static struct str below_root(struct str name)
{
    ptrdiff_t slash = str_chr(name, '/');
    return slash < 0 ? ((struct str){0}) : str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1);
}

static bool is_flat(struct str name)
{
    return str_is(name, FLAT_NAME) || str_ends(name, STR_LIT("/" FLAT_NAME));
}

static bool is_packaged(struct str name)
{
    struct str s = below_root(name);
    return str_starts(s, STR_LIT("models/")) && str_ends(s, STR_LIT(".json")) && s.n > strlen("models/.json");
}

/* What an archive without programs may be. */
static int no_program(struct pt2_reader *r)
{
    const char *what = "a zip archive, but not torch.export's";
    for (uint32_t i = 0; i < r->pt2.zip.n; i++) {
        struct str name = r->pt2.zip.members[i].name, s = below_root(name);
        if (str_starts(s, STR_LIT("code/")))
            return diag_error(r->d, IR_EINPUT,
                              "a TorchScript archive, not torch.export's: export the model with "
                              "torch.export.export and torch.export.save");
        if (str_is(s, "data.pkl"))
            what = "weights written by torch.save: they hold no graph";
        else if (str_ends(name, STR_LIT(".npy")))
            what = "a NumPy archive: it holds no graph";
        else if (str_starts(s, STR_LIT("data/aotinductor/")))
            what = "an archive of compiled code (AOTInductor): it holds no graph";
    }
    return diag_error(r->d, IR_EINPUT, "%s", what);
}

/* The file that tells a package apart says "pt2". */
static int check_format(struct pt2_reader *r)
{
    const struct zip_dir *z = &r->pt2.zip;
    for (uint32_t i = 0; i < z->n; i++) {
        const struct zip_member *f = &z->members[i];
        if (str_is(below_root(f->name), "archive_format") && f->method == 0 && f->size == 3 &&
            memcmp(r->m->bytes + f->data, "pt2", 3) == 0)
            return 0;
    }
    return diag_error(r->d, IR_EINPUT,
                      "a zip archive, but not torch.export's: \"archive_format\" is not \"pt2\"");
}

/* Fills programs with names and members. */
static int find_programs(struct pt2_reader *r)
{
    struct pt2 *p = &r->pt2;
    uint32_t flat = 0, packaged = 0;
    for (uint32_t i = 0; i < p->zip.n; i++) {
        flat += is_flat(p->zip.members[i].name);
        packaged += is_packaged(p->zip.members[i].name);
    }
    if (flat + packaged == 0)
        return no_program(r);
    if (flat > 1 || (flat && packaged))
        return diag_error(r->d, IR_EINPUT,
                          "the archive holds several programs in layouts that do not go together");
    int rc = flat ? 0 : check_format(r);
    if (rc != 0)
        return rc;
    p->programs = arena_alloc(&r->m->arena, flat + packaged, sizeof *p->programs);
    if (!p->programs)
        return pt2_no_memory(r);
    for (uint32_t i = 0; i < p->zip.n; i++) {
        struct str name = p->zip.members[i].name, s = below_root(name);
        if (flat ? is_flat(name) : is_packaged(name)) {
            size_t dir = strlen("models/"), ext = strlen(".json");
            p->programs[p->n_programs++] = (struct pt2_program){
                .member = i, .name = flat ? ((struct str){0}) : str_sub(s, dir, s.n - dir - ext)};
        }
    }
    return 0;
}

/* ---- the bytes of a program ---- */

static int unpack_fail(const struct pt2_reader *r, const struct zip_member *f, const char *message)
{
    return diag_error_at(r->d, IR_EINPUT, NULL, "zip", f->data, "member \"%.*s\": %s", STR_ARG(f->name),
                         message);
}

static int unpack(struct pt2_reader *r, struct pt2_program *prog)
{
    const struct zip_member *f = &r->pt2.zip.members[prog->member];
    const char *why;
    if (f->size > PT2_MAX_BASE && f->size - PT2_MAX_BASE > f->stored * PT2_MAX_RATIO)
        return unpack_fail(r, f, "unpacks to too many times its size");
    char *text = arena_alloc(&r->m->arena, f->size + 1, 1);
    if (!text)
        return pt2_no_memory(r);
    int rc = zip_unpack(r->m->bytes, r->m->size, f, text, &why);
    if (rc)
        return rc == IR_EMEM ? pt2_no_memory(r) : unpack_fail(r, f, why);
    prog->text = (struct str){text, f->size};
    return 0;
}

static int load_program(struct pt2_reader *r, struct pt2_program *prog)
{
    const struct zip_member *f = &r->pt2.zip.members[prog->member];
    prog->stored = f->method == 0;
    if (f->size > JSON_TEXT_MAX)
        return unpack_fail(r, f, "is over 2 GiB");
    if (!prog->stored)
        return unpack(r, prog);
    prog->text = (struct str){(const char *)r->m->bytes + f->data, f->size};
    if (crc32_z(0, r->m->bytes + f->data, f->size) != f->crc)
        return unpack_fail(r, f, "its checksum is wrong");
    return 0;
}

/* The list of a program's weights, packaged beside it: ROOT/data/weights/NAME_weights_config.json. */
static const struct zip_member *weights_list(const struct pt2_reader *r)
{
    const struct pt2_program *prog = &r->pt2.programs[r->program];
    struct str name = r->pt2.zip.members[prog->member].name;
    size_t root = name.n - below_root(name).n, n = root + prog->name.n + 64;
    char *path = prog->name.n ? malloc(n) : NULL;
    if (!path)
        return NULL;
    int len = snprintf(path, n, "%.*sdata/weights/%.*s_weights_config.json", (int)root, name.s,
                       STR_ARG(prog->name));
    uint32_t i = names_find(&r->member_index, (struct str){path, (size_t)len});
    free(path);
    return i == NAME_NONE ? NULL : &r->pt2.zip.members[i];
}

int pt2_weights(struct pt2_reader *r)
{
    const struct zip_member *f = weights_list(r);
    struct json json = {0}, *program = r->json;
    struct json_error e;
    if (!f || f->method != 0)
        return 0;
    struct str text = {(const char *)r->m->bytes + f->data, (size_t)f->size};
    int rc = json_parse(&json, text, JSON_AROUND, r->m->arena.limit, &e);
    if (rc == IR_EMEM)
        return pt2_no_memory(r);
    if (rc != 0)
        return unpack_fail(r, f, "is not valid JSON");
    r->json = &json;
    rc = pt2_weights_read(r);
    json_free(&json);
    r->json = program;
    return rc;
}

static int index_members(struct pt2_reader *r)
{
    for (uint32_t i = 0; i < r->pt2.zip.n; i++)
        if (names_intern(&r->member_index, r->pt2.zip.members[i].name) == NAME_NONE) /* no two are the same */
            return pt2_no_memory(r);
    return 0;
}

static int load_programs(struct pt2_reader *r)
{
    struct ir_model *m = r->m;
    m->segs = arena_alloc(&m->arena, r->pt2.n_programs, sizeof *m->segs);
    if (!m->segs)
        return pt2_no_memory(r);
    m->n_segs = r->pt2.n_programs;
    int rc = index_members(r);
    for (uint32_t i = 0; rc == 0 && i < m->n_segs; i++) {
        const struct zip_member *f = &r->pt2.zip.members[r->pt2.programs[i].member];
        m->segs[i] = (struct ir_seg){{f->data, f->stored}, IR_NONE};
        rc = load_program(r, &r->pt2.programs[i]);
    }
    return rc;
}

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
        return diag_error_at(r->d, rc, NULL, "program", offset_of(r, prog->text.s + e.offset),
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

static void free_reader(struct ir_model *m)
{
    struct pt2_reader *r = m->reader;
    names_free(&r->member_index);
    names_free(&r->op_index);
    names_free(&r->fqn_index);
    free(r->specs);
    free(r->bindings);
    free(r->bodies);
    free(r->args);
    free(r->ids);
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
    if (rc == 0 && (rc = find_programs(r)) == 0)
        rc = load_programs(r);
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
