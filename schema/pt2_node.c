/* Nodes: operator, operands, and the graphs that are nested in them, which are read later. */
#include "schema/pt2_reader.h"

/* How a higher-order operator runs its graphs, and passes the arguments that follow them on to them. */
struct higher_order {
    const char *type;
    enum ir_runs first, rest; /* the first graph, and those after it */
    uint32_t changed; /* so many arguments (a list is one) are walked over or carried; the rest are passed as
                         they are */
    uint32_t axis_at; /* which of those arguments says along which axis, if it is a number; 0: axis 0 */
};

static const struct higher_order *higher_order(struct str type)
{
    static const struct higher_order table[] = {
        {"higher_order.cond", IR_RUNS_EITHER, IR_RUNS_EITHER, 0, 0},
        {"higher_order.map_impl", IR_RUNS_OVER, IR_RUNS_OVER, 1, 0},
        {"higher_order.while_loop", IR_RUNS_TEST, IR_RUNS_WHILE, 1, 0},
        {"higher_order.scan", IR_RUNS_OVER, IR_RUNS_OVER, 2, 2},
        {"higher_order.associative_scan", IR_RUNS_WHILE, IR_RUNS_WHILE, 1, 0},
        {"higher_order.wrap_with_set_grad_enabled", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.wrap_with_autocast", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.tag_activation_checkpoint", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.wrap_activation_checkpoint", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.invoke_subgraph", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.hints_wrapper", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.strict_mode", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.wrap", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
        {"higher_order.run_const_graph", IR_RUNS_ONCE, IR_RUNS_ONCE, 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (str_is(type, table[i].type))
            return &table[i];
    return NULL;
}

struct reading;
typedef int (*on_tensor)(struct pt2_reader *r, struct reading *n, uint32_t token);

/* A node while it is read. */
struct reading {
    struct ir_node node;
    struct str name;
    uint32_t n_out;
    uint32_t inputs;               /* token of its arguments */
    const struct higher_order *ho; /* NULL: not one, or one not known */
    uint32_t last_body;            /* IR_NONE: no graph so far */
    uint32_t first_body;           /* index into reader.bodies */
    uint32_t first_arg, position;  /* arguments after its last graph */
    uint32_t over;                 /* the first operand that is walked over, if it runs a graph so */
    int32_t axis;
    on_tensor take; /* what is done with a tensor: use() of an input, define() of an output */
};

/* ---- operators ---- */

static int op_of(uint32_t *out, struct pt2_reader *r, struct str target)
{
    struct ir_model *m = r->m;
    *out = names_intern(&r->op_index, target);
    if (*out == NAME_NONE)
        return pt2_no_memory(r);
    if (*out < m->n_ops)
        return 0;
    if (m->n_ops == IR_OP_MAX)
        return pt2_no_memory(r);
    int rc = pt2_room(r, &m->ops, &r->cap_ops, (size_t)m->n_ops + 1, sizeof *m->ops);
    if (rc != 0)
        return rc;
    struct str prefix = STR_LIT("torch.ops.");
    bool torch = str_starts(target, prefix);
    m->ops[m->n_ops++] = (struct ir_op){
        .domain = torch ? STR_LIT("torch") : STR_LIT("python"),
        .type = torch ? str_sub(target, prefix.n, target.n - prefix.n) : target,
        .function = IR_NONE,
    };
    return 0;
}

/* ---- operands and results ---- */

static int add_operand(struct pt2_reader *r, uint32_t value)
{
    struct ir_model *m = r->m;
    if (m->n_operands == IR_NONE - 1)
        return pt2_no_memory(r);
    int rc = pt2_room(r, &m->operands, &r->cap_operands, (size_t)m->n_operands + 1, sizeof *m->operands);
    if (rc == 0)
        m->operands[m->n_operands++] = value;
    return rc;
}

/* An argument of the operator that its graphs get. */
static int add_arg(struct pt2_reader *r, const struct reading *n, uint32_t value)
{
    if (!n->ho || n->last_body == IR_NONE)
        return 0;
    int rc = pt2_room(r, &r->args, &r->cap_args, (size_t)r->n_args + 1, sizeof *r->args);
    if (rc == 0)
        r->args[r->n_args++] = (struct pt2_arg){value, value != IR_NONE && n->position >= n->ho->changed};
    return rc;
}

uint32_t pt2_tensor_name(struct pt2_reader *r, uint32_t token, int *rc)
{
    uint32_t name;
    if ((*rc = pt2_expect(r, token, JSON_KIND_OBJECT, "as_tensor")) != 0 ||
        (*rc = pt2_need(&name, r, token, "name", JSON_KIND_STRING)) != 0)
        return NAME_NONE;
    return pt2_name(r, name, "name", rc);
}

static int use(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    int rc;
    uint32_t name = pt2_tensor_name(r, token, &rc);
    if (rc != 0)
        return rc;
    uint32_t value = pt2_lookup(r, name);
    if (value == IR_NONE)
        return pt2_fail(r, token, "uses \"%.*s\", which nothing before it defines",
                        STR_ARG(names_text(&r->m->names, name)));
    return (rc = add_operand(r, value)) != 0 ? rc : add_arg(r, n, value);
}

static int define(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    int rc;
    uint32_t name = pt2_tensor_name(r, token, &rc), value;
    if (rc != 0)
        return rc;
    struct ir_value v = {.kind = IR_VALUE_NODE, .def = r->m->n_nodes};
    v.out = (uint16_t)(n->n_out < UINT16_MAX ? n->n_out : UINT16_MAX);
    if ((rc = pt2_value_new(&value, r, token, name, v)) != 0)
        return rc;
    if (n->name.n == 0)
        n->name = names_text(&r->m->names, name);
    n->n_out++;
    return add_operand(r, value);
}

/* An operand that is left out, or a result that is no tensor. */
static int take_none(struct pt2_reader *r, struct reading *n)
{
    if (n->take == define)
        n->n_out++;
    return add_operand(r, IR_NONE);
}

/* {"as_tensor": {...}} or {"as_none": true}. */
static int take_optional(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    uint32_t kind;
    int rc = pt2_union(&kind, r, token, "as_optional_tensor");
    if (rc != 0)
        return rc;
    return str_is(json_raw(r->json, kind), "as_tensor") ? n->take(r, n, kind + 1) : take_none(r, n);
}

/* A list of what `one` takes. */
static int take_each(struct pt2_reader *r, struct reading *n, uint32_t list, const char *what, on_tensor one)
{
    int rc = pt2_expect(r, list, JSON_KIND_ARRAY, what);
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE; t = json_next(r->json, list, t))
        rc = one(r, n, t);
    return rc;
}

/* A list of lists. */
static int take_nested(struct pt2_reader *r, struct reading *n, uint32_t list)
{
    int rc = pt2_expect(r, list, JSON_KIND_ARRAY, "as_nested_tensors");
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE; t = json_next(r->json, list, t))
        rc = take_each(r, n, t, "as_nested_tensors", n->take);
    return rc;
}

/* Takes the tensors of an argument. 1, 0 when it is of another kind, or a negative ir_err. */
static int take_tensors(struct pt2_reader *r, struct reading *n, uint32_t kind)
{
    struct str is = json_raw(r->json, kind);
    uint32_t value = kind + 1;
    int rc;
    if (str_is(is, "as_tensor"))
        rc = n->take(r, n, value);
    else if (str_is(is, "as_tensors"))
        rc = take_each(r, n, value, "as_tensors", n->take);
    else if (str_is(is, "as_optional_tensors"))
        rc = take_each(r, n, value, "as_optional_tensors", take_optional);
    else if (str_is(is, "as_optional_tensor"))
        rc = take_optional(r, n, value);
    else if (str_is(is, "as_nested_tensors"))
        rc = take_nested(r, n, value);
    else
        return 0;
    return rc != 0 ? rc : 1;
}

/* ---- nested graphs ---- */

/* The argument of a node at a position: its kind (its value is the next token), or JSON_NONE. */
static uint32_t argument(const struct pt2_reader *r, uint32_t inputs, uint32_t position, const char *kind)
{
    uint32_t t = json_first(r->json, inputs);
    for (; position && t != JSON_NONE; position--)
        t = json_next(r->json, inputs, t);
    if (t == JSON_NONE)
        return JSON_NONE;
    return json_get(r->json, json_get(r->json, t, "arg"), kind);
}

/* In which type autocast computes: as it is told, else by the kind of device. */
static uint8_t autocast_type(const struct pt2_reader *r, uint32_t inputs)
{
    uint32_t device = argument(r, inputs, 0, "as_string"), type = argument(r, inputs, 1, "as_scalar_type");
    int64_t scalar;
    if (type != JSON_NONE && json_int(&scalar, r->json, type))
        return pt2_dtype(scalar);
    bool cpu = device != JSON_NONE && str_is(json_raw(r->json, device), "cpu");
    return cpu ? IR_DTYPE_BFLOAT16 : IR_DTYPE_FLOAT16;
}

/* torch.no_grad(), torch.enable_grad() and torch.autocast() become operators with a graph. */
static void set_modes(const struct pt2_reader *r, const struct reading *n, struct ir_graph *g)
{
    const struct ir_model *m = r->m;
    const struct ir_graph *around = &m->graphs[r->graph];
    struct str type = m->ops[n->node.op].type;
    g->no_grad = around->no_grad;
    g->autocast = around->autocast;
    if (str_is(type, "higher_order.wrap_with_set_grad_enabled")) {
        uint32_t enabled = argument(r, n->inputs, 0, "as_bool");
        g->no_grad = enabled != JSON_NONE && json_kind(r->json, enabled) == JSON_KIND_FALSE;
    } else if (str_is(type, "higher_order.wrap_with_autocast")) {
        uint32_t enabled = argument(r, n->inputs, 2, "as_bool");
        bool on = enabled == JSON_NONE || json_kind(r->json, enabled) == JSON_KIND_TRUE;
        g->autocast = on ? autocast_type(r, n->inputs) : 0;
    }
}

/* {"name": "true_graph_0", "graph": {...}}: to be read later. Bodies have consecutive numbers. */
static int nested_graph(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    struct ir_model *m = r->m;
    uint32_t name, graph, id;
    struct ir_graph g = {.kind = IR_GRAPH_BODY,
                         .parent_node = m->n_nodes,
                         .parent = r->graph,
                         .next_body = IR_NONE,
                         .op = IR_NONE,
                         .depth = m->graphs[r->graph].depth + 1};
    bool first = n->last_body == IR_NONE;
    int rc;
    if ((rc = pt2_expect(r, token, JSON_KIND_OBJECT, "as_graph")) != 0 ||
        (rc = pt2_need(&name, r, token, "name", JSON_KIND_STRING)) != 0 ||
        (rc = pt2_string(&g.attr, r, name, "name")) != 0 ||
        (rc = pt2_need(&graph, r, token, "graph", JSON_KIND_OBJECT)) != 0)
        return rc;
    if (g.depth > r->max_depth)
        return pt2_fail(r, token, "graphs are nested more than %u deep", r->max_depth);
    g.name = g.attr;
    g.runs = !n->ho ? IR_RUNS_UNKNOWN : first ? n->ho->first : n->ho->rest;
    set_modes(r, n, &g);
    if ((rc = pt2_new_graph(&id, r, g)) != 0 ||
        (rc = pt2_room(r, &r->bodies, &r->cap_bodies, (size_t)r->n_bodies + 1, sizeof *r->bodies)) != 0)
        return rc;
    if (!first)
        m->graphs[n->last_body].next_body = id;
    else if (ir_node_set_body(m, &n->node, m->n_nodes, id) != 0)
        return pt2_no_memory(r);
    n->last_body = id;
    r->bodies[r->n_bodies++] = (struct pt2_body){.token = graph, .graph = id};
    r->n_args = n->first_arg;
    n->position = 0;
    return 0;
}

/* Its graphs get what follows the last of them. */
static void give_args(struct pt2_reader *r, const struct reading *n)
{
    for (uint32_t i = n->first_body; i < r->n_bodies; i++) {
        r->bodies[i].first_arg = n->first_arg;
        r->bodies[i].n_args = r->n_args - n->first_arg;
        r->m->graphs[r->bodies[i].graph].over = n->over;
        r->m->graphs[r->bodies[i].graph].axis = n->axis;
    }
}

/* ---- nodes ---- */

/* Which operand, and along which axis, the graphs walk over: the argument at `kind` may be it, or tell. */
static void note_axis(const struct pt2_reader *r, struct reading *n, uint32_t kind)
{
    int64_t axis;
    if (n->position + 1 == n->ho->changed)
        n->over = r->m->n_operands - n->node.operands;
    if (n->ho->axis_at && n->position == n->ho->axis_at && str_is(json_raw(r->json, kind), "as_int") &&
        json_int(&axis, r->json, kind + 1))
        n->axis = axis < -IR_RANK_MAX || axis >= IR_RANK_MAX ? IR_RANK_MAX : (int32_t)axis;
}

static int read_input(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    uint32_t arg, kind;
    int rc;
    if ((rc = pt2_expect(r, token, JSON_KIND_OBJECT, "inputs")) != 0 ||
        (rc = pt2_need(&arg, r, token, "arg", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_union(&kind, r, arg, "arg")) != 0)
        return rc;
    struct str is = json_raw(r->json, kind);
    if (str_is(is, "as_graph"))
        return nested_graph(r, n, kind + 1);
    if (n->ho && n->last_body != IR_NONE)
        note_axis(r, n, kind);
    rc = take_tensors(r, n, kind);
    if (rc == 0 && str_is(is, "as_sym_int"))
        rc = add_arg(r, n, IR_NONE);
    n->position++;
    return rc < 0 ? rc : 0;
}

static int read_output(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    uint32_t kind;
    int rc = pt2_union(&kind, r, token, "outputs");
    if (rc != 0)
        return rc;
    rc = take_tensors(r, n, kind);
    if (rc == 0 && str_is(json_raw(r->json, kind), "as_none"))
        rc = take_none(r, n);
    return rc < 0 ? rc : 0;
}

static int read_operands(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    const struct json *j = r->json;
    uint32_t inputs, outputs;
    int rc;
    if ((rc = pt2_need(&inputs, r, token, "inputs", JSON_KIND_ARRAY)) != 0 ||
        (rc = pt2_need(&outputs, r, token, "outputs", JSON_KIND_ARRAY)) != 0)
        return rc;
    n->inputs = inputs;
    n->take = use;
    for (uint32_t t = json_first(j, inputs); rc == 0 && t != JSON_NONE; t = json_next(j, inputs, t))
        rc = read_input(r, n, t);
    give_args(r, n);
    n->node.outputs = r->m->n_operands;
    n->take = define;
    for (uint32_t t = json_first(j, outputs); rc == 0 && t != JSON_NONE; t = json_next(j, outputs, t))
        rc = read_output(r, n, t);
    return rc;
}

/* What must be there so that a writer can put its metadata in. */
static int check_metadata(struct pt2_reader *r, uint32_t token)
{
    uint32_t metadata;
    int rc = pt2_need(&metadata, r, token, "metadata", JSON_KIND_OBJECT);
    if (rc != 0)
        return rc;
    for (uint32_t k = json_first(r->json, metadata); rc == 0 && k != JSON_NONE;
         k = json_next_member(r->json, metadata, k))
        rc = pt2_expect(r, k + 1, JSON_KIND_STRING, "metadata");
    return rc;
}

static int read_name(struct pt2_reader *r, struct reading *n, uint32_t token)
{
    uint32_t name = json_get(r->json, token, "name");
    if (name == JSON_NONE || json_kind(r->json, name) == JSON_KIND_NULL)
        return 0;
    return pt2_string(&n->name, r, name, "name");
}

/* Where the node lies in the archive; beside it, where in the text, when that is another thing. */
static int set_span(struct ir_span *out, struct pt2_reader *r, uint32_t token)
{
    const struct json_token *t = &r->json->tokens[token];
    uint32_t node = r->m->n_nodes;
    *out = r->m->segs[r->program].span;
    if (r->pt2.programs[r->program].stored) {
        *out = (struct ir_span){out->off + t->start, t->end - t->start};
        return 0;
    }
    int rc = pt2_room(r, &r->pt2.unpacked, &r->cap_unpacked, (size_t)node + 1, sizeof *r->pt2.unpacked);
    if (rc == 0)
        r->pt2.unpacked[node] = (struct ir_span){t->start, t->end - t->start};
    return rc;
}

int pt2_node_read(struct pt2_reader *r, uint32_t token)
{
    struct ir_model *m = r->m;
    if (m->n_nodes >= r->max_nodes || m->n_nodes >= IR_NONE - 1)
        return pt2_fail(r, token, "more than %llu nodes", (unsigned long long)r->max_nodes);
    struct reading n = {.node = {.operands = m->n_operands},
                        .last_body = IR_NONE,
                        .first_body = r->n_bodies,
                        .first_arg = r->n_args,
                        .over = IR_NONE};
    uint32_t target, op;
    struct str type;
    struct ir_span span;
    int rc;
    r->node = m->n_nodes;
    if ((rc = set_span(&span, r, token)) != 0 ||
        (rc = pt2_expect(r, token, JSON_KIND_OBJECT, "nodes")) != 0 ||
        (rc = pt2_need(&target, r, token, "target", JSON_KIND_STRING)) != 0 ||
        (rc = pt2_string(&type, r, target, "target")) != 0 || (rc = op_of(&op, r, type)) != 0 ||
        (rc = read_name(r, &n, token)) != 0)
        return rc;
    n.node.op = op & IR_OP_MAX;
    n.ho = higher_order(m->ops[op].type);
    if ((rc = read_operands(r, &n, token)) != 0 || (rc = check_metadata(r, token)) != 0 ||
        (rc = pt2_room(r, &m->nodes, &r->cap_nodes, (size_t)m->n_nodes + 2, sizeof *m->nodes)) != 0)
        return rc;
    ir_node_place(&n.node, span);
    m->nodes[m->n_nodes] = n.node;
    m->nodes[m->n_nodes + 1].operands = m->n_operands;
    return ir_node_set_name(m, m->n_nodes++, n.name) == 0 ? 0 : pt2_no_memory(r);
}
