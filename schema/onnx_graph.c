/* Graphs and functions: definitions, types, initializers; nested graphs are left for later. */
#include "schema/onnx_reader.h"

/* ---- values */

static int intern_new(struct onnx_reader *r, uint32_t *id, const struct onnx_ref *ref)
{
    *id = names_intern_hashed(&r->m->names, ref->name, ref->hash);
    if (*id == NAME_NONE)
        return onnx_no_memory(r);
    if (*id < r->n_bind)
        return 0;
    int rc = onnx_room(r, &r->bind, &r->cap_bind, (size_t)*id + 1, sizeof *r->bind);
    if (rc == 0)
        r->bind[r->n_bind++] = IR_NONE;
    return rc;
}

static int intern_text(struct onnx_reader *r, uint32_t *id, struct str name)
{
    struct onnx_ref ref = {name, names_hash(&r->m->names, name)};
    return intern_new(r, id, &ref);
}

int onnx_intern(struct onnx_reader *r, uint32_t *id, const struct onnx_ref *ref)
{
    if (ref->name.n)
        return intern_new(r, id, ref);
    *id = IR_NONE;
    return 0;
}

static inline int new_value(struct onnx_reader *r, uint32_t *value, struct ir_value v)
{
    struct ir_model *m = r->m;
    int rc = onnx_room(r, &m->values, &r->cap_values, (size_t)m->n_values + 1, sizeof *m->values);
    if (rc)
        return rc;
    *value = m->n_values++;
    m->values[*value] = v;
    return 0;
}

int onnx_new_value(struct onnx_reader *r, uint32_t *value, struct ir_value v)
{
    return new_value(r, value, v);
}

/* The value of that name defined in this graph so far, or IR_NONE. */
static uint32_t local(const struct onnx_reader *r, uint32_t name)
{
    uint32_t v = name < r->n_bind ? r->bind[name] : IR_NONE;
    return v != IR_NONE && r->m->values[v].graph == r->graph ? v : IR_NONE;
}

static const char *kind_text(uint8_t kind)
{
    switch ((enum ir_value_kind)kind) {
    case IR_VALUE_NODE:
        return "output of a node";
    case IR_VALUE_INPUT:
        return "input";
    case IR_VALUE_PARAM:
        return "initializer";
    case IR_VALUE_UNDEFINED:
        break;
    }
    return "value";
}

static int defined_twice(struct onnx_reader *r, uint32_t before, struct str name, uint8_t kind)
{
    return onnx_fail(r, (const uint8_t *)r->here,
                     "expected one definition of '%.*s' but found two: %s, and %s (the graph is not SSA)",
                     STR_ARG(name), kind_text(r->m->values[before].kind), kind_text(kind));
}

/* Defines a name in the graph being read; an error when it is defined there already. */
static inline int define(struct onnx_reader *r, uint32_t *value, struct ir_value v)
{
    uint32_t before = local(r, v.name);
    if (before != IR_NONE && names_text(&r->m->names, v.name).n)
        return defined_twice(r, before, names_text(&r->m->names, v.name), v.kind);
    v.graph = r->graph;
    int rc = new_value(r, value, v);
    if (rc == 0)
        r->bind[v.name] = *value;
    return rc;
}

int onnx_define_output(struct onnx_reader *r, uint32_t *value, const struct onnx_ref *ref, uint32_t i)
{
    struct ir_value v = {.graph = r->graph,
                         .def = r->node,
                         .kind = IR_VALUE_NODE,
                         .out = (uint16_t)(i < UINT16_MAX ? i : UINT16_MAX)};
    *value = IR_NONE;
    if (ref->name.n == 0)
        return 0;
    v.name = names_intern_hashed(&r->m->names, ref->name, ref->hash);
    if (v.name == NAME_NONE)
        return onnx_no_memory(r);
    if (v.name < r->n_bind)
        return define(r, value, v);
    /* A name that was not met before: nearly all are. */
    int rc = onnx_room(r, &r->bind, &r->cap_bind, (size_t)v.name + 1, sizeof *r->bind);
    if (rc == 0)
        rc = new_value(r, value, v);
    if (rc == 0)
        r->bind[r->n_bind++] = *value;
    return rc;
}

/* ---- types */

/* What a ValueInfoProto says: 0 and IR_SHAPE_UNKNOWN where nothing. */
struct typed {
    struct str name;
    struct onnx_type type;
};

/* An initializer's own header is what counts for it; otherwise the first that knows. */
static void set_type(struct onnx_reader *r, uint32_t value, struct onnx_type type)
{
    struct ir_value *v = &r->m->values[value];
    if (v->kind == IR_VALUE_PARAM)
        return;
    if (v->dtype == 0)
        v->dtype = type.dtype;
    if (v->shape == IR_SHAPE_UNKNOWN)
        v->shape = type.shape;
}

static int walk_info(struct onnx_reader *r, struct typed *out, struct str body)
{
    struct onnx_info info;
    int rc = onnx_info_walk(&info, body, &r->bad);
    if (rc)
        return onnx_malformed(r, rc);
    *out = (struct typed){info.name, {IR_SHAPE_UNKNOWN, 0}};
    if (info.dtype > 0 && info.dtype <= UINT8_MAX)
        out->type.dtype = (uint8_t)info.dtype;
    if (info.has_shape && info.rank <= IR_RANK_MAX)
        out->type.shape = ir_shape_intern(r->m, info.rank, info.dims);
    return out->type.shape == IR_NONE ? onnx_no_memory(r) : 0;
}

/* Most values of a graph are of few types: one whose bytes were met before is not walked again. */
#define TYPES_MAX 4096
static int find_type(struct onnx_reader *r, struct onnx_type *type, struct str bytes, struct str body)
{
    struct typed info;
    uint32_t id = names_find(&r->type_index, bytes);
    if (id != NAME_NONE) {
        *type = r->types[id];
        return 0;
    }
    int rc = walk_info(r, &info, body);
    *type = info.type;
    if (rc || r->type_index.n == TYPES_MAX)
        return rc;
    rc = onnx_room(r, &r->types, &r->cap_types, (size_t)r->type_index.n + 1, sizeof *r->types);
    if (rc == 0) {
        id = names_intern(&r->type_index, bytes);
        if (id == NAME_NONE)
            return onnx_no_memory(r);
        r->types[id] = *type;
    }
    return rc;
}

/* Types differ in how long they are, and in their last dimensions. */
static size_t type_slot(struct str bytes)
{
    uint8_t end[4] = {0};
    if (bytes.n >= sizeof end)
        memcpy(end, bytes.s + bytes.n - sizeof end, sizeof end);
    return (bytes.n + end[0] + 3U * end[3]) % RECENT_TYPES;
}

static int read_info(struct onnx_reader *r, struct typed *out, struct str body)
{
    struct str bytes;
    if (!wire_pair(&out->name, &bytes, body))
        return walk_info(r, out, body);
    struct onnx_recent *recent = &r->recent_types[type_slot(bytes)];
    if (!str_eq(recent->bytes, bytes)) {
        int rc = find_type(r, &recent->type, bytes, body);
        if (rc)
            return rc;
        recent->bytes = bytes;
    }
    out->type = recent->type;
    return 0;
}

/* The id of a name, or NAME_NONE. Exporters write value_info in the order of the definitions: a name that
 * lies within INFO_SKIP of where the last one was found is found without hashing. */
#define INFO_SKIP 4
static uint32_t find_info(struct onnx_reader *r, struct str name)
{
    const struct names *t = &r->m->names;
    uint32_t id = r->next_info, end = t->n - id < INFO_SKIP ? t->n : id + INFO_SKIP;
    while (id < end && !names_is(t, id, name))
        id++;
    if (id == end)
        id = names_find(t, name);
    if (id != NAME_NONE)
        r->next_info = id + 1;
    return id;
}

/* Gives the value of that name its type. False: there is none yet. */
static inline bool take_type(struct onnx_reader *r, const struct typed *info)
{
    uint32_t name = find_info(r, info->name);
    uint32_t value = name == NAME_NONE ? IR_NONE : local(r, name);
    if (value != IR_NONE)
        set_type(r, value, info->type);
    return value != IR_NONE;
}

/* value_info and the types of outputs: the definition may stand later in the file, or nowhere. */
static int type_of_name(struct onnx_reader *r, const struct typed *info, struct str body)
{
    if (info->name.n == 0 || take_type(r, info))
        return 0;
    int rc = onnx_room(r, &r->infos, &r->cap_infos, (size_t)r->n_infos + 1, sizeof *r->infos);
    if (rc == 0)
        r->infos[r->n_infos++] = body;
    return rc;
}

static int types_left(struct onnx_reader *r)
{
    for (uint32_t i = 0; i < r->n_infos; i++) {
        struct typed info = {0};
        int rc = read_info(r, &info, r->infos[i]);
        if (rc)
            return rc;
        take_type(r, &info);
    }
    return 0;
}

/* ---- inputs, outputs, initializers */

static int push_input(struct onnx_reader *r, uint32_t value)
{
    int rc = onnx_room(r, &r->inputs, &r->cap_inputs, (size_t)r->n_inputs + 1, sizeof *r->inputs);
    if (rc == 0)
        r->inputs[r->n_inputs++] = value;
    return rc;
}

/* An input that is an initializer as well is one value, however the two are ordered. */
static int define_input(struct onnx_reader *r, uint32_t *value, struct str text)
{
    uint32_t name;
    int rc = intern_text(r, &name, text);
    if (rc)
        return rc;
    *value = text.n ? local(r, name) : IR_NONE;
    if (*value != IR_NONE && r->m->values[*value].kind == IR_VALUE_PARAM) {
        struct ir_param *p = &r->m->params[r->m->values[*value].def];
        if (!p->graph_input) {
            p->graph_input = true;
            return push_input(r, *value);
        }
    }
    rc = define(r, value, (struct ir_value){.name = name, .def = r->n_inputs, .kind = IR_VALUE_INPUT});
    return rc ? rc : push_input(r, *value);
}

static int read_input(struct onnx_reader *r, struct str body)
{
    struct typed info;
    uint32_t value;
    int rc = read_info(r, &info, body);
    if (rc == 0)
        rc = define_input(r, &value, info.name);
    if (rc == 0)
        set_type(r, value, info.type);
    return rc;
}

static int push_output(struct onnx_reader *r, struct str text)
{
    uint32_t name = IR_NONE;
    int rc = text.n ? intern_text(r, &name, text) : 0;
    if (rc == 0)
        rc = onnx_room(r, &r->outputs, &r->cap_outputs, (size_t)r->n_outputs + 1, sizeof *r->outputs);
    if (rc == 0)
        r->outputs[r->n_outputs++] = name;
    return rc;
}

static int read_output(struct onnx_reader *r, struct str body)
{
    struct typed info;
    int rc = read_info(r, &info, body);
    if (rc == 0)
        rc = push_output(r, info.name);
    return rc ? rc : type_of_name(r, &info, body);
}

static int read_value_info(struct onnx_reader *r, struct str body)
{
    struct typed info;
    int rc = read_info(r, &info, body);
    return rc ? rc : type_of_name(r, &info, body);
}

/* The value of an initializer: a new one, or the graph input of that name. */
static int define_param(struct onnx_reader *r, uint32_t *value, bool *graph_input, struct str text)
{
    uint32_t name;
    int rc = intern_text(r, &name, text);
    if (rc)
        return rc;
    struct str kept = text;
    if ((rc = onnx_keep_text(r, &kept)) != 0)
        return rc;
    if (kept.s != text.s && names_move(&r->m->names, name, kept) != 0)
        return onnx_no_memory(r);
    struct ir_value v = {.name = name, .def = r->m->n_params, .kind = IR_VALUE_PARAM};
    *value = text.n ? local(r, name) : IR_NONE;
    *graph_input = *value != IR_NONE && r->m->values[*value].kind == IR_VALUE_INPUT;
    if (!*graph_input)
        return define(r, value, v);
    v.graph = r->graph;
    r->m->values[*value] = v;
    return 0;
}

static int read_initializer(struct onnx_reader *r, struct str body, bool sparse)
{
    struct ir_model *m = r->m;
    struct onnx_tensor t;
    struct ir_param p = {.sparse = sparse};
    int rc = sparse ? onnx_sparse_record(r, &t, body) : onnx_tensor_record(r, &t, body);
    if (rc)
        return rc;
    if (t.negative)
        return onnx_fail(r, (const uint8_t *)r->here, "initializer '%.*s' has a negative dimension",
                         STR_ARG(t.name));
    if ((rc = onnx_room(r, &m->params, &r->cap_params, (size_t)m->n_params + 1, sizeof *m->params)) != 0)
        return rc;
    bool graph_input = false;
    if ((rc = define_param(r, &p.value, &graph_input, t.name)) != 0)
        return rc;
    p.graph_input = graph_input;
    uint32_t shape = onnx_tensor_shape(&t, m);
    if (shape == IR_NONE)
        return onnx_no_memory(r);
    m->values[p.value].shape = shape;
    m->values[p.value].dtype = onnx_tensor_dtype(&t);
    p.external = t.external;
    p.span = onnx_span(m, body);
    p.bytes = t.bytes;
    m->params[m->n_params++] = p;
    return 0;
}

/* ---- graphs */

static int graph_field(struct onnx_reader *r, const struct wire_len *f)
{
    struct str body = f->body;
    r->here = body.s;
    switch (f->number) {
    case ONNX_GRAPH_NODE:
        return onnx_read_node(r, body);
    case ONNX_GRAPH_NAME:
        r->m->graphs[r->graph].name = body;
        return 0;
    case ONNX_GRAPH_INITIALIZER:
        return read_initializer(r, body, false);
    case ONNX_GRAPH_SPARSE_INITIALIZER:
        return read_initializer(r, body, true);
    case ONNX_GRAPH_INPUT:
        return read_input(r, body);
    case ONNX_GRAPH_OUTPUT:
        return read_output(r, body);
    case ONNX_GRAPH_VALUE_INFO:
        return read_value_info(r, body);
    default:
        return 0;
    }
}

static int push_attr(struct onnx_reader *r, struct str name)
{
    int rc = onnx_room(r, &r->attrs, &r->cap_attrs, (size_t)r->n_attrs + 1, sizeof *r->attrs);
    if (rc == 0)
        r->attrs[r->n_attrs++] = name;
    return rc;
}

/* An attribute with a default: its name, and the tensors that lie in it. */
static int read_default(struct onnx_reader *r, struct str body)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    struct str name = {0};
    while (wire_next(&w, &f) == 1)
        if (wire_is_len(&f, ONNX_ATTR_NAME))
            name = wire_str(&f);
    int rc = push_attr(r, name);
    return rc ? rc : onnx_attr_tensors(r, body);
}

static int function_field(struct onnx_reader *r, struct ir_op *op, const struct wire_len *f)
{
    struct str body = f->body;
    uint32_t value;
    r->here = body.s;
    switch (f->number) {
    case ONNX_FUNCTION_NAME:
        op->type = body;
        return 0;
    case ONNX_FUNCTION_DOMAIN:
        op->domain = body;
        return 0;
    case ONNX_FUNCTION_OVERLOAD:
        op->overload = body;
        return 0;
    case ONNX_FUNCTION_INPUT:
        return define_input(r, &value, body);
    case ONNX_FUNCTION_OUTPUT:
        return push_output(r, body);
    case ONNX_FUNCTION_ATTRIBUTE:
        return push_attr(r, body);
    case ONNX_FUNCTION_ATTRIBUTE_PROTO:
        return read_default(r, body);
    case ONNX_FUNCTION_NODE:
        return onnx_read_node(r, body);
    case ONNX_FUNCTION_VALUE_INFO:
        return read_value_info(r, body);
    default:
        return 0;
    }
}

static int walk_occurrence(struct onnx_reader *r, struct ir_op *op, uint32_t seg)
{
    bool function = r->m->graphs[r->graph].kind == IR_GRAPH_FUNCTION;
    struct wire w = onnx_wire(ir_span_bytes(r->m, r->m->segs[seg].span));
    struct wire_len f;
    int rc = 0, step = 0;
    r->seg = seg;
    while (rc == 0 && (step = wire_next_len(&w, &f)) == 1) {
        wire_prefetch(&r->ahead, f.start);
        rc = function ? function_field(r, op, &f) : graph_field(r, &f);
    }
    if (rc == 0 && step < 0) {
        r->bad = w.at;
        rc = onnx_malformed(r, step);
    }
    return rc;
}

/* Makes the function the definition of its operator. */
static int name_function(struct onnx_reader *r, struct ir_op *op)
{
    struct ir_model *m = r->m;
    struct ir_graph *g = &m->graphs[r->graph];
    int rc = onnx_intern_op(r, &g->op, op);
    if (rc)
        return rc;
    g->name = op->type;
    if (m->ops[g->op].function != IR_NONE)
        return onnx_fail(r, (const uint8_t *)op->type.s,
                         "expected one definition of function '%.*s' but found two", STR_ARG(op->type));
    m->ops[g->op].function = r->graph;
    return 0;
}

static void *copy(struct onnx_reader *r, const void *list, uint32_t n, size_t size)
{
    void *p = arena_alloc(&r->m->arena, n, size);
    if (p && n)
        memcpy(p, list, n * size);
    return p;
}

/* Occurrences come in the order of the file. */
static int keep_segs(struct onnx_reader *r)
{
    struct ir_graph *g = &r->m->graphs[r->graph];
    uint32_t first = r->graphs[r->graph].first_seg, n = 0;
    for (uint32_t s = first; s != IR_NONE; s = r->seg_next[s])
        n++;
    if (!(g->segs = arena_alloc(&r->m->arena, n, sizeof *g->segs)))
        return onnx_no_memory(r);
    for (uint32_t s = first; s != IR_NONE; s = r->seg_next[s])
        g->segs[g->n_segs++] = s;
    return 0;
}

static int keep_lists(struct onnx_reader *r)
{
    struct ir_graph *g = &r->m->graphs[r->graph];
    g->inputs = copy(r, r->inputs, r->n_inputs, sizeof *r->inputs);
    g->outputs = copy(r, r->outputs, r->n_outputs, sizeof *r->outputs);
    g->attr_params = copy(r, r->attrs, r->n_attrs, sizeof *r->attrs);
    if (!g->inputs || !g->outputs || !g->attr_params)
        return onnx_no_memory(r);
    g->n_inputs = r->n_inputs;
    g->n_outputs = r->n_outputs;
    g->n_attr_params = r->n_attrs;
    return keep_segs(r);
}

int onnx_read_graph(struct onnx_reader *r, uint32_t graph)
{
    struct ir_model *m = r->m;
    struct ir_op op = {0};
    int rc = 0;
    r->graph = graph;
    r->node = IR_NONE;
    r->n_inputs = r->n_outputs = r->n_attrs = r->n_infos = 0;
    r->next_info = m->names.n;
    m->graphs[graph].first_node = m->n_nodes;
    m->graphs[graph].first_param = m->n_params;
    r->graphs[graph].first_child = m->n_graphs;
    r->graphs[graph].first_value = m->n_values;
    for (uint32_t s = r->graphs[graph].first_seg; rc == 0 && s != IR_NONE; s = r->seg_next[s])
        rc = walk_occurrence(r, &op, s);
    if (rc == 0)
        rc = types_left(r);
    if (rc == 0 && m->graphs[graph].kind == IR_GRAPH_FUNCTION)
        rc = name_function(r, &op);
    if (rc)
        return rc;
    m->graphs[graph].n_nodes = m->n_nodes - m->graphs[graph].first_node;
    m->graphs[graph].n_params = m->n_params - m->graphs[graph].first_param;
    r->graphs[graph].n_children = m->n_graphs - r->graphs[graph].first_child;
    r->graphs[graph].n_values = m->n_values - r->graphs[graph].first_value;
    return keep_lists(r);
}
