/* Nodes: operands, operator, attributes as far as they hold graphs and tensors. */
#include "schema/onnx_reader.h"

/* ---- operators */

/* The key of an operator: lengths first, so that no two operators have one key. */
static int op_key(struct onnx_reader *r, struct str *key, const struct ir_op *op)
{
    uint64_t lens[2] = {op->type.n, op->domain.n};
    size_t n = sizeof lens + op->type.n + op->domain.n + op->overload.n;
    int rc = onnx_room(r, &r->op_key, &r->cap_op_key, n, 1);
    if (rc)
        return rc;
    char *p = r->op_key;
    memcpy(p, lens, sizeof lens);
    p += sizeof lens;
    const struct str *parts[] = {&op->type, &op->domain, &op->overload};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i]->n)
            memcpy(p, parts[i]->s, parts[i]->n);
        p += parts[i]->n;
    }
    *key = (struct str){r->op_key, n};
    return 0;
}

static int add_op(struct onnx_reader *r, uint32_t *id, struct ir_op op)
{
    struct ir_model *m = r->m;
    struct str key;
    int rc = op_key(r, &key, &op);
    if (rc)
        return rc;
    *id = names_find(&r->op_index, key);
    if (*id != NAME_NONE)
        return 0;
    if (m->n_ops == IR_OP_MAX)
        return onnx_no_memory(r);
    if ((rc = onnx_room(r, &m->ops, &r->cap_ops, (size_t)m->n_ops + 1, sizeof *m->ops)) != 0)
        return rc;
    key.s = arena_strdup(&m->arena, key.s, key.n);
    *id = key.s ? names_intern(&r->op_index, key) : NAME_NONE;
    if (*id == NAME_NONE)
        return onnx_no_memory(r);
    op.function = IR_NONE;
    m->ops[m->n_ops++] = op;
    return 0;
}

/* The ops of a graph are few: most are found where one that is as long, and begins and ends alike, was met
 * last. */
static uint32_t *recent_op(struct onnx_reader *r, struct str type)
{
    size_t slot = type.n;
    if (type.n)
        slot += (unsigned char)type.s[0] + 7U * (unsigned char)type.s[type.n - 1];
    return &r->recent_ops[slot % RECENT_OPS];
}

int onnx_intern_op(struct onnx_reader *r, uint32_t *id, struct ir_op *op)
{
    if (op->domain.n && str_is(op->domain, "ai.onnx"))
        op->domain = (struct str){0};
    uint32_t *recent = recent_op(r, op->type);
    const struct ir_op *last = *recent < r->m->n_ops ? &r->m->ops[*recent] : NULL;
    *id = *recent;
    if (last && str_eq(last->type, op->type) && str_eq(last->domain, op->domain) &&
        str_eq(last->overload, op->overload))
        return 0;
    int rc = add_op(r, id, *op);
    if (rc == 0)
        *recent = *id;
    return rc;
}

/* ---- nested graphs */

static int new_seg(struct onnx_reader *r, uint32_t *id, struct str body, uint32_t parent)
{
    struct ir_model *m = r->m;
    int rc = onnx_room(r, &m->segs, &r->cap_segs, (size_t)m->n_segs + 1, sizeof *m->segs);
    if (rc == 0)
        rc = onnx_room(r, &r->seg_next, &r->cap_seg_next, (size_t)m->n_segs + 1, sizeof *r->seg_next);
    if (rc)
        return rc;
    *id = m->n_segs++;
    m->segs[*id] = (struct ir_seg){onnx_span(m, body), parent};
    r->seg_next[*id] = IR_NONE;
    return 0;
}

int onnx_new_graph(struct onnx_reader *r, uint32_t *id, struct ir_graph g)
{
    struct ir_model *m = r->m;
    int rc = onnx_room(r, &m->graphs, &r->cap_graphs, (size_t)m->n_graphs + 1, sizeof *m->graphs);
    if (rc == 0)
        rc = onnx_room(r, &r->graphs, &r->cap_tmp_graphs, (size_t)m->n_graphs + 1, sizeof *r->graphs);
    if (rc)
        return rc;
    *id = m->n_graphs++;
    m->graphs[*id] = g;
    r->graphs[*id] = (struct onnx_graph){.first_seg = IR_NONE, .last_seg = IR_NONE};
    return 0;
}

int onnx_new_occurrence(struct onnx_reader *r, uint32_t graph, struct str body, uint32_t parent)
{
    uint32_t seg;
    int rc = new_seg(r, &seg, body, parent);
    if (rc)
        return rc;
    struct onnx_graph *g = &r->graphs[graph];
    if (g->last_seg == IR_NONE)
        g->first_seg = seg;
    else
        r->seg_next[g->last_seg] = seg;
    g->last_seg = seg;
    return 0;
}

static int new_body(struct onnx_reader *r, uint32_t *id, struct str attr, uint32_t attr_index,
                    const uint8_t *at)
{
    struct ir_model *m = r->m;
    uint32_t depth = m->graphs[r->graph].depth + 1;
    if (depth > r->max_depth)
        return onnx_fail(r, at, "graphs are nested more than %u deep", r->max_depth);
    int rc = onnx_new_graph(r, id,
                            (struct ir_graph){.kind = IR_GRAPH_BODY,
                                              .parent_node = r->node,
                                              .parent = r->graph,
                                              .attr = attr,
                                              .attr_index = attr_index,
                                              .next_body = IR_NONE,
                                              .op = IR_NONE,
                                              .depth = depth});
    if (rc)
        return rc;
    if (r->last_body != IR_NONE)
        m->graphs[r->last_body].next_body = *id;
    else if (ir_node_set_body(m, &m->nodes[r->node], r->node, *id) != 0)
        return onnx_no_memory(r);
    r->last_body = *id;
    return 0;
}

/* The graphs in one attribute. All occurrences of `g` are one graph; each of `graphs` is one. */
static int attr_graphs(struct onnx_reader *r, struct str name, struct str attr)
{
    struct ir_model *m = r->m;
    struct wire w = onnx_wire(attr);
    struct wire_field f;
    uint32_t attr_seg, merged = IR_NONE, count = 0;
    int rc = 0;
    if (r->node_seg == IR_NONE)
        rc = new_seg(r, &r->node_seg, ir_span_bytes(m, ir_node_span(&m->nodes[r->node])), r->seg);
    if (rc == 0)
        rc = new_seg(r, &attr_seg, attr, r->node_seg);
    while (rc == 0 && wire_next(&w, &f) == 1) {
        if (!wire_is_len(&f, ONNX_ATTR_G) && !wire_is_len(&f, ONNX_ATTR_GRAPHS))
            continue;
        uint32_t graph = f.number == ONNX_ATTR_G ? merged : IR_NONE;
        if (graph == IR_NONE)
            rc = new_body(r, &graph, name, count++, f.start);
        if (rc == 0)
            rc = onnx_new_occurrence(r, graph, wire_str(&f), attr_seg);
        if (f.number == ONNX_ATTR_G)
            merged = graph;
    }
    return rc;
}

/* Keys only: most attributes hold neither tensors nor graphs. */
static int read_attr(struct onnx_reader *r, struct str attr)
{
    struct wire w = onnx_wire(attr);
    struct wire_len f;
    struct onnx_tensor t;
    struct str name = {0};
    bool graphs = false;
    int rc, error = 0;
    while ((rc = wire_next_len(&w, &f)) == 1) {
        switch (f.number) {
        case ONNX_ATTR_NAME:
            name = f.body;
            break;
        case ONNX_ATTR_T:
        case ONNX_ATTR_TENSORS:
            error = onnx_tensor_record(r, &t, f.body);
            break;
        case ONNX_ATTR_SPARSE_TENSOR:
        case ONNX_ATTR_SPARSE_TENSORS:
            error = onnx_sparse_record(r, &t, f.body);
            break;
        case ONNX_ATTR_G:
        case ONNX_ATTR_GRAPHS:
            graphs = true;
            break;
        default:
            break;
        }
        if (error)
            return error;
    }
    r->bad = w.at;
    if (rc)
        return onnx_malformed(r, rc);
    return graphs ? attr_graphs(r, name, attr) : 0;
}

/* ---- the node */

/* A name that is met, hashed: its slot is on its way into the cache until the node is walked. */
static inline int push_ref(struct onnx_reader *r, struct onnx_refs *list, struct str name)
{
    int rc = onnx_room(r, &list->a, &list->cap, (size_t)list->n + 1, sizeof *list->a);
    if (rc == 0)
        list->a[list->n++] = (struct onnx_ref){name, names_hash(&r->m->names, name)};
    return rc;
}

static void note_attr(struct ir_node *n, const uint8_t *record, const struct wire_len *f)
{
    uint64_t at = (uint64_t)(f->start - record),
             end = (uint64_t)((const uint8_t *)f->body.s - record) + f->body.n;
    if (n->attrs_end == 0 && at < ONNX_FAR) /* else it is looked for from the record's start */
        n->attrs_at = (uint16_t)at;
    n->attrs_end = end < ONNX_FAR ? (uint16_t)end : ONNX_FAR;
}

static int set_name(struct onnx_reader *r, struct str name)
{
    r->m->gradient_names |= ir_may_be_gradient(name);
    return ir_node_set_name(r->m, r->node, name) == 0 ? 0 : onnx_no_memory(r);
}

static inline int node_field(struct onnx_reader *r, struct ir_op *op, const uint8_t *record,
                             const struct wire_len *f)
{
    switch (f->number) {
    case ONNX_NODE_INPUT:
        return push_ref(r, &r->ins, f->body);
    case ONNX_NODE_OUTPUT:
        r->m->gradient_names |= str_ends(f->body, STR_LIT("_grad"));
        return push_ref(r, &r->outs, f->body);
    case ONNX_NODE_NAME:
        return set_name(r, f->body);
    case ONNX_NODE_OP_TYPE:
        op->type = f->body;
        return 0;
    case ONNX_NODE_DOMAIN:
        op->domain = f->body;
        return 0;
    case ONNX_NODE_OVERLOAD:
        op->overload = f->body;
        return 0;
    case ONNX_NODE_ATTRIBUTE:
        note_attr(&r->m->nodes[r->node], record, f);
        return read_attr(r, f->body);
    case ONNX_NODE_METADATA_PROPS:
        return onnx_note_metadata(r, f->body);
    default:
        return 0;
    }
}

static int walk_node(struct onnx_reader *r, struct ir_op *op, struct str body)
{
    struct wire w = onnx_wire(body);
    struct wire_len f;
    int rc = 0, step = 0;
    while (rc == 0 && (step = wire_next_len(&w, &f)) == 1) {
        wire_prefetch(&r->ahead, w.at);
        rc = node_field(r, op, (const uint8_t *)body.s, &f);
    }
    if (rc == 0 && step < 0) {
        r->bad = w.at;
        rc = onnx_malformed(r, step);
    }
    return rc;
}

static int use_inputs(struct onnx_reader *r)
{
    uint32_t *operands = r->m->operands + r->m->n_operands;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->ins.n; i++) {
        const struct onnx_ref *ref = &r->ins.a[i];
        operands[i] = ref->name.n ? names_first_slot(&r->m->names, ref->name, ref->hash) : NAME_NONE;
        if (operands[i] == NAME_NONE)
            rc = onnx_intern(r, &operands[i], ref);
    }
    r->m->n_operands += r->ins.n;
    return rc;
}

static int define_outputs(struct onnx_reader *r)
{
    uint32_t *operands = r->m->operands + r->m->n_operands;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->outs.n; i++)
        rc = onnx_define_output(r, &operands[i], &r->outs.a[i], i);
    r->m->n_operands += r->outs.n;
    return rc;
}

static int new_node(struct onnx_reader *r, struct str body)
{
    struct ir_model *m = r->m;
    if (m->n_nodes >= r->max_nodes)
        return onnx_fail(r, (const uint8_t *)body.s, "there are more than %llu nodes",
                         (unsigned long long)r->max_nodes);
    int rc = onnx_room(r, &m->nodes, &r->cap_nodes, (size_t)m->n_nodes + 2, sizeof *m->nodes);
    if (rc)
        return rc;
    r->node = m->n_nodes++;
    m->nodes[r->node] = (struct ir_node){.operands = m->n_operands};
    ir_node_place(&m->nodes[r->node], onnx_span(m, body));
    r->ins.n = r->outs.n = 0;
    r->last_body = r->node_seg = IR_NONE;
    r->node_classes = (struct str){0};
    return 0;
}

/* Outputs come behind the inputs in m->operands, however the file mixes them. */
static int add_operands(struct onnx_reader *r)
{
    struct ir_model *m = r->m;
    size_t n = (size_t)m->n_operands + r->ins.n + r->outs.n;
    int rc = onnx_room(r, &m->operands, &r->cap_operands, n, sizeof *m->operands);
    if (rc == 0)
        rc = use_inputs(r);
    m->nodes[r->node].outputs = m->n_operands;
    if (rc == 0)
        rc = define_outputs(r);
    m->nodes[r->node + 1].operands = m->n_operands;
    return rc;
}

static int set_op(struct onnx_reader *r, struct ir_op *op)
{
    uint32_t id;
    int rc = onnx_intern_op(r, &id, op);
    if (rc == 0)
        r->m->nodes[r->node].op = id & IR_OP_MAX;
    return rc;
}

int onnx_read_node(struct onnx_reader *r, struct str body)
{
    struct ir_op op = {0};
    int rc = new_node(r, body);
    if (rc == 0)
        rc = walk_node(r, &op, body);
    if (rc == 0)
        rc = set_op(r, &op);
    if (rc == 0)
        rc = add_operands(r);
    if (rc == 0)
        rc = onnx_note_list(r);
    if (rc == 0)
        r->node = IR_NONE;
    return rc;
}
