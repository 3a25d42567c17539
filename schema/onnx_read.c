/* The model's own fields, and the order in which all the rest is read. */
#include "schema/onnx_reader.h"

#include <stdlib.h>

/* ---- the model's own fields */

static int read_opset(struct onnx_reader *r, struct str body)
{
    struct ir_model *m = r->m;
    struct wire w = onnx_wire(body);
    struct wire_field f;
    struct ir_opset o = {.version = 0};
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        if (wire_is_len(&f, ONNX_OPSET_DOMAIN))
            o.domain = wire_str(&f);
        else if (wire_is_varint(&f, ONNX_OPSET_VERSION))
            o.version = (int64_t)f.value;
    }
    r->bad = w.at;
    if (rc)
        return onnx_malformed(r, rc);
    if (str_is(o.domain, "ai.onnx"))
        o.domain = (struct str){0};
    rc = onnx_room(r, &m->opsets, &r->cap_opsets, (size_t)m->n_opsets + 1, sizeof *m->opsets);
    if (rc == 0)
        m->opsets[m->n_opsets++] = o;
    return rc;
}

static int read_meta(struct onnx_reader *r, const struct wire_field *f, const uint8_t *end)
{
    struct ir_model *m = r->m;
    struct ir_entry e;
    int rc = onnx_entry_walk(&e.key, &e.value, wire_str(f), &r->bad);
    if (rc)
        return onnx_malformed(r, rc);
    e.span = (struct ir_span){(uint64_t)(f->start - m->bytes), (uint64_t)(end - f->start)};
    rc = onnx_room(r, &m->meta, &r->cap_meta, (size_t)m->n_meta + 1, sizeof *m->meta);
    if (rc == 0)
        m->meta[m->n_meta++] = e;
    return rc;
}

static int read_training(struct onnx_reader *r, struct str body)
{
    struct wire w = onnx_wire(body);
    struct wire_field f;
    int rc;
    while ((rc = wire_next(&w, &f)) == 1) {
        int error = 0;
        if (wire_is_len(&f, ONNX_TRAINING_INITIALIZATION) || wire_is_len(&f, ONNX_TRAINING_ALGORITHM))
            error = onnx_graph_tensors(r, wire_str(&f));
        if (error)
            return error;
    }
    r->bad = w.at;
    return rc ? onnx_malformed(r, rc) : 0;
}

static int read_function(struct onnx_reader *r, struct str body)
{
    uint32_t graph;
    int rc = onnx_new_graph(
        r, &graph,
        (struct ir_graph){
            .kind = IR_GRAPH_FUNCTION, .parent_node = IR_NONE, .next_body = IR_NONE, .op = IR_NONE});
    return rc ? rc : onnx_new_occurrence(r, graph, body, IR_NONE);
}

static int model_field(struct onnx_reader *r, const struct wire_field *f, const uint8_t *end)
{
    struct ir_model *m = r->m;
    if (wire_is_varint(f, ONNX_MODEL_IR_VERSION))
        m->ir_version = (int64_t)f->value;
    if (f->type != WIRE_LEN)
        return 0;
    switch (f->number) {
    case ONNX_MODEL_PRODUCER_NAME:
        m->producer = wire_str(f);
        return 0;
    case ONNX_MODEL_PRODUCER_VERSION:
        m->producer_version = wire_str(f);
        return 0;
    case ONNX_MODEL_GRAPH:
        return onnx_new_occurrence(r, 0, wire_str(f), IR_NONE);
    case ONNX_MODEL_OPSET_IMPORT:
        return read_opset(r, wire_str(f));
    case ONNX_MODEL_METADATA_PROPS:
        return read_meta(r, f, end);
    case ONNX_MODEL_TRAINING_INFO:
        return read_training(r, wire_str(f));
    case ONNX_MODEL_FUNCTIONS:
        r->n_functions++;
        return read_function(r, wire_str(f));
    default:
        return 0;
    }
}

/* ---- is it a model at all? */

static int no_model(struct onnx_reader *r, const char *why, uint64_t offset)
{
    const char *guess = onnx_guess(r->m->bytes, r->m->size);
    const char *none = r->or_plan ? "neither a plan file nor an ONNX model" : "no ONNX model";
    if (guess)
        return diag_error(r->d, IR_EINPUT, "%s: it looks like %s", none, guess);
    return diag_error_at(r->d, IR_EINPUT, NULL, NULL, offset, "%s: %s", none, why);
}

/* Walks the model's fields alone, so that nothing is read of a file that is no model. */
static int check_model(struct onnx_reader *r)
{
    struct wire w = wire_over(r->m->bytes, r->m->size);
    struct wire_field f;
    bool graph = false;
    int rc;
    if (r->m->size == 0)
        return diag_error(r->d, IR_EINPUT, "no ONNX model: the file is empty");
    if (r->m->size > IR_SIZE_MAX)
        return diag_error(r->d, IR_EINPUT, "the file is larger than 2^48 bytes");
    while ((rc = wire_next(&w, &f)) == 1)
        graph |= wire_is_len(&f, ONNX_MODEL_GRAPH);
    if (rc)
        return no_model(r,
                        rc == WIRE_TRUNCATED && graph ? "the file is truncated"
                        : rc == WIRE_TRUNCATED        ? "a field runs past the end of the file"
                                                      : wire_error_text(rc),
                        (uint64_t)(w.at - r->m->bytes));
    return graph ? 0 : no_model(r, "no graph field", DIAG_NO_OFFSET);
}

/* No array is NULL, so that others may point into one that is empty. */
static int first_room(struct onnx_reader *r)
{
    struct ir_model *m = r->m;
    int rc = onnx_room(r, &m->nodes, &r->cap_nodes, 1, sizeof *m->nodes);
    if (rc == 0)
        rc = onnx_room(r, &m->values, &r->cap_values, 1, sizeof *m->values);
    if (rc == 0)
        rc = onnx_room(r, &m->operands, &r->cap_operands, 1, sizeof *m->operands);
    if (rc == 0)
        rc = onnx_room(r, &m->params, &r->cap_params, 1, sizeof *m->params);
    return rc ? rc : onnx_room(r, &m->ops, &r->cap_ops, 1, sizeof *m->ops);
}

static int read_model(struct onnx_reader *r)
{
    struct wire w = wire_over(r->m->bytes, r->m->size);
    struct wire_field f;
    uint32_t main_graph;
    int rc = onnx_new_graph(
        r, &main_graph,
        (struct ir_graph){
            .kind = IR_GRAPH_MAIN, .parent_node = IR_NONE, .next_body = IR_NONE, .op = IR_NONE});
    while (rc == 0 && wire_next(&w, &f) == 1)
        rc = model_field(r, &f, w.at);
    /* The list grows while it is worked off: nested graphs come behind all that are known. */
    for (uint32_t g = 0; rc == 0 && g < r->m->n_graphs; g++)
        rc = onnx_read_graph(r, g);
    if (rc == 0)
        rc = onnx_resolve(r);
    return rc ? rc : onnx_set_runs(r->m);
}

/* ---- the end */

static int finish_lists(struct onnx_reader *r)
{
    struct ir_model *m = r->m;
    int rc =
        r->n_lists ? onnx_room(r, &m->scope_lists, &r->cap_lists, m->n_nodes, sizeof *m->scope_lists) : 0;
    while (rc == 0 && r->n_lists && r->n_lists < m->n_nodes)
        m->scope_lists[r->n_lists++] = IR_NONE;
    m->n_scope_lists = r->list_index.n + 1;
    m->n_lists = r->n_kept;
    m->noted = rc == 0;
    return rc;
}

static int by_offset(const void *a, const void *b)
{
    const struct ir_span *x = a, *y = b;
    return (x->off > y->off) - (x->off < y->off);
}

static void sort_spans(struct ir_span *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (a[i].off < a[i - 1].off) {
            qsort(a, n, sizeof *a, by_offset);
            return;
        }
    }
}

static void free_arrays(struct ir_model *m)
{
    free(m->graphs);
    free(m->nodes);
    free(m->values);
    free(m->operands);
    free(m->params);
    free(m->ops);
    free(m->segs);
    free(m->opsets);
    free(m->meta);
    free(m->data);
    free(m->external);
    free(m->scope_lists);
    free(m->lists);
    free(m->classes);
}

static void drop(struct onnx_reader *r, void *list, size_t cap, size_t size)
{
    free(list);
    onnx_uncharge(r, cap * size);
}

static void free_scratch(struct onnx_reader *r)
{
    names_free(&r->op_index);
    names_free(&r->type_index);
    names_free(&r->list_index);
    names_free(&r->class_index);
    drop(r, r->types, r->cap_types, sizeof *r->types);
    onnx_uncharge(r, names_seal(&r->m->names));
    drop(r, r->graphs, r->cap_tmp_graphs, sizeof *r->graphs);
    drop(r, r->seg_next, r->cap_seg_next, sizeof *r->seg_next);
    drop(r, r->bind, r->cap_bind, sizeof *r->bind);
    drop(r, r->op_key, r->cap_op_key, 1);
    drop(r, r->inputs, r->cap_inputs, sizeof *r->inputs);
    drop(r, r->outputs, r->cap_outputs, sizeof *r->outputs);
    drop(r, r->attrs, r->cap_attrs, sizeof *r->attrs);
    drop(r, r->infos, r->cap_infos, sizeof *r->infos);
    drop(r, r->ins.a, r->ins.cap, sizeof *r->ins.a);
    drop(r, r->outs.a, r->outs.cap, sizeof *r->outs.a);
    drop(r, r->shadowed, r->cap_shadowed, sizeof *r->shadowed);
    drop(r, r->todo, r->cap_todo, sizeof *r->todo);
}

int onnx_read(struct ir_model *m, const uint8_t *bytes, uint64_t size, const struct onnx_limits *limits,
              struct diag *d)
{
    struct onnx_reader r = {.m = m,
                            .d = d,
                            .max_depth = limits && limits->max_depth ? limits->max_depth : ONNX_MAX_DEPTH,
                            .max_nodes = limits && limits->max_nodes ? limits->max_nodes : ONNX_MAX_NODES,
                            .or_plan = limits && limits->or_plan,
                            .graph = IR_NONE,
                            .node = IR_NONE,
                            .ahead = {bytes, bytes + size}};
    m->format = IR_ONNX;
    m->bytes = bytes;
    m->size = size;
    m->source = &onnx_source;
    m->free_reader = free_arrays;
    struct onnx_work *work = m->shapes ? arena_alloc(&m->arena, 1, sizeof *work) : NULL;
    if (!work)
        return onnx_no_memory(&r);
    work->max = limits && limits->max_work ? limits->max_work : ONNX_MAX_WORK;
    m->reader = work;
    m->names.copied = true;
    names_init(&r.op_index);
    names_init(&r.type_index);
    names_init(&r.list_index);
    names_init(&r.class_index);
    int rc = check_model(&r);
    if (rc == 0)
        rc = first_room(&r);
    if (rc == 0)
        rc = read_model(&r);
    if (rc == 0)
        rc = finish_lists(&r);
    if (rc == 0) {
        sort_spans(m->data, m->n_data);
        sort_spans(m->external, m->n_external);
    }
    free_scratch(&r);
    return rc;
}
