/* Tensor values: names, shapes, layouts, parameters. */
#include "schema/pt2_reader.h"

#define LAYOUT_STRIDED 7 /* torch's Layout */

uint8_t pt2_dtype(int64_t scalar_type)
{
    /* By the number that the schema of .pt2 gives a type; ONNX has not all of them. */
    static const uint8_t dtypes[] = {
        [1] = IR_DTYPE_UINT8,           [2] = IR_DTYPE_INT8,
        [3] = IR_DTYPE_INT16,           [4] = IR_DTYPE_INT32,
        [5] = IR_DTYPE_INT64,           [6] = IR_DTYPE_FLOAT16,
        [7] = IR_DTYPE_FLOAT,           [8] = IR_DTYPE_DOUBLE,
        [10] = IR_DTYPE_COMPLEX64,      [11] = IR_DTYPE_COMPLEX128,
        [12] = IR_DTYPE_BOOL,           [13] = IR_DTYPE_BFLOAT16,
        [28] = IR_DTYPE_UINT16,         [29] = IR_DTYPE_FLOAT8E4M3FN,
        [30] = IR_DTYPE_FLOAT8E5M2,     [31] = IR_DTYPE_FLOAT8E4M3FNUZ,
        [32] = IR_DTYPE_FLOAT8E5M2FNUZ,
    };
    return scalar_type >= 0 && scalar_type < (int64_t)sizeof dtypes ? dtypes[scalar_type] : IR_DTYPE_UNKNOWN;
}

/* Bytes of an element, 0 unknown. */
static uint64_t element_size(uint8_t dtype)
{
    static const uint8_t size[] = {
        [IR_DTYPE_FLOAT] = 4,         [IR_DTYPE_UINT8] = 1,          [IR_DTYPE_INT8] = 1,
        [IR_DTYPE_UINT16] = 2,        [IR_DTYPE_INT16] = 2,          [IR_DTYPE_INT32] = 4,
        [IR_DTYPE_INT64] = 8,         [IR_DTYPE_BOOL] = 1,           [IR_DTYPE_FLOAT16] = 2,
        [IR_DTYPE_DOUBLE] = 8,        [IR_DTYPE_UINT32] = 4,         [IR_DTYPE_UINT64] = 8,
        [IR_DTYPE_COMPLEX64] = 8,     [IR_DTYPE_COMPLEX128] = 16,    [IR_DTYPE_BFLOAT16] = 2,
        [IR_DTYPE_FLOAT8E4M3FN] = 1,  [IR_DTYPE_FLOAT8E4M3FNUZ] = 1, [IR_DTYPE_FLOAT8E5M2] = 1,
        [IR_DTYPE_FLOAT8E5M2FNUZ] = 1};
    return dtype < sizeof size ? size[dtype] : 0;
}

/* ---- names ---- */

static int room_for_binding(struct pt2_reader *r, uint32_t name)
{
    return pt2_room(r, &r->bindings, &r->cap_bindings, (size_t)name + 1, sizeof *r->bindings);
}

int pt2_bind(struct pt2_reader *r, uint32_t token, uint32_t name, uint32_t value)
{
    int rc = room_for_binding(r, name);
    if (rc != 0 || !r->bindings)
        return rc;
    struct pt2_binding *b = &r->bindings[name]; /* which has room now */
    if (b->epoch == r->graph + 1)
        return pt2_fail(r, token, "value \"%.*s\" is defined twice", STR_ARG(names_text(&r->m->names, name)));
    b->epoch = r->graph + 1;
    b->value = value;
    return 0;
}

uint32_t pt2_lookup(const struct pt2_reader *r, uint32_t name)
{
    return name < r->cap_bindings && r->bindings[name].epoch == r->graph + 1 ? r->bindings[name].value
                                                                             : IR_NONE;
}

int pt2_metas_read(struct pt2_reader *r, uint32_t tensor_values)
{
    const struct json *j = r->json;
    for (uint32_t k = json_first(j, tensor_values); k != JSON_NONE;
         k = json_next_member(j, tensor_values, k)) {
        int rc;
        uint32_t name = pt2_name(r, k, "tensor_values", &rc);
        if (rc != 0 || (rc = pt2_expect(r, k + 1, JSON_KIND_OBJECT, "tensor_values")) != 0 ||
            (rc = room_for_binding(r, name)) != 0)
            return rc;
        r->bindings[name].meta_epoch = r->graph + 1;
        r->bindings[name].meta = k + 1;
    }
    return 0;
}

/* ---- the signature ---- */

static int read_spec(struct pt2_reader *r, uint32_t body, const char *fqn_key, bool buffer)
{
    uint32_t arg, name_token, fqn;
    int rc;
    if ((rc = pt2_need(&arg, r, body, "arg", JSON_KIND_OBJECT)) != 0 ||
        (rc = pt2_need(&name_token, r, arg, "name", JSON_KIND_STRING)) != 0 ||
        (rc = pt2_need(&fqn, r, body, fqn_key, JSON_KIND_STRING)) != 0)
        return rc;
    uint32_t name = pt2_name(r, name_token, "name", &rc);
    if (rc != 0 || (rc = pt2_room(r, &r->specs, &r->cap_specs, (size_t)name + 1, sizeof *r->specs)) != 0)
        return rc;
    struct pt2_spec *s = &r->specs[name];
    if (s->epoch == r->program + 1)
        return pt2_fail(r, name_token, "argument \"%.*s\" stands twice in the signature",
                        STR_ARG(names_text(&r->m->names, name)));
    s->epoch = r->program + 1;
    s->buffer = buffer;
    return pt2_string(&s->fqn, r, fqn, fqn_key);
}

int pt2_specs_read(struct pt2_reader *r, uint32_t signature)
{
    static const struct {
        const char *kind, *fqn;
        bool buffer;
    } kinds[] = {{"parameter", "parameter_name", false},
                 {"buffer", "buffer_name", true},
                 {"tensor_constant", "tensor_constant_name", true}};
    const struct json *j = r->json;
    uint32_t list;
    int rc = pt2_need(&list, r, signature, "input_specs", JSON_KIND_ARRAY);
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(j, list); rc == 0 && t != JSON_NONE; t = json_next(j, list, t)) {
        uint32_t kind;
        if ((rc = pt2_union(&kind, r, t, "input_specs")) != 0)
            break;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (str_is(json_raw(j, kind), kinds[i].kind) &&
                (rc = pt2_expect(r, kind + 1, JSON_KIND_OBJECT, kinds[i].kind)) == 0)
                rc = read_spec(r, kind + 1, kinds[i].fqn, kinds[i].buffer);
    }
    return rc;
}

/* ---- tensor metas ---- */

struct dims {
    uint32_t rank;
    int64_t dim[IR_RANK_MAX];  /* IR_DIM_UNKNOWN when symbolic */
    int64_t hint[IR_RANK_MAX]; /* then what it was for the exporter */
};

/* The hint of a symbolic expression: {"as_int": 3}, a number in old programs, or null. */
static int64_t hint_of(const struct json *j, uint32_t expr)
{
    uint32_t hint = json_get(j, expr, "hint");
    uint32_t as_int = json_get(j, hint, "as_int");
    int64_t v;
    if (as_int != JSON_NONE)
        hint = as_int;
    return hint != JSON_NONE && json_int(&v, j, hint) && v >= 0 ? v : IR_DIM_UNKNOWN;
}

static int read_dim(struct pt2_reader *r, uint32_t token, const char *what, int64_t *dim, int64_t *hint)
{
    uint32_t kind;
    int rc = pt2_union(&kind, r, token, what);
    if (rc != 0)
        return rc;
    struct str is = json_raw(r->json, kind);
    if (str_is(is, "as_expr")) {
        *dim = IR_DIM_UNKNOWN;
        *hint = hint_of(r->json, kind + 1);
        return pt2_expect(r, kind + 1, JSON_KIND_OBJECT, "as_expr");
    }
    if (!str_is(is, "as_int"))
        return pt2_fail(r, token, "\"%s\": expected \"as_int\" or \"as_expr\"", what);
    if (!json_int(dim, r->json, kind + 1) || *dim < 0)
        return pt2_fail(r, kind + 1, "\"%s\": expected a number, at least 0", what);
    *hint = *dim;
    return 0;
}

/* rank IR_RANK_MAX + 1 when there are too many. */
static int read_dims(struct dims *out, struct pt2_reader *r, uint32_t meta, const char *what)
{
    uint32_t list;
    int rc = pt2_need(&list, r, meta, what, JSON_KIND_ARRAY);
    out->rank = 0;
    if (rc != 0)
        return rc;
    for (uint32_t t = json_first(r->json, list); rc == 0 && t != JSON_NONE && out->rank <= IR_RANK_MAX;
         t = json_next(r->json, list, t)) {
        int64_t dim = 0, hint = 0;
        rc = read_dim(r, t, what, &dim, &hint);
        if (out->rank < IR_RANK_MAX) {
            out->dim[out->rank] = dim;
            out->hint[out->rank] = hint;
        }
        out->rank++;
    }
    return rc;
}

static bool all_known(const struct dims *d)
{
    bool known = true;
    for (uint32_t i = 0; i < d->rank; i++)
        known &= d->hint[i] != IR_DIM_UNKNOWN;
    return known;
}

static int read_layout(struct ir_layout *out, struct pt2_reader *r, uint32_t meta, const struct dims *sizes)
{
    struct dims strides;
    int rc = read_dims(&strides, r, meta, "strides");
    if (rc != 0)
        return rc;
    uint32_t grad = json_get(r->json, meta, "requires_grad");
    uint32_t kind = json_get(r->json, meta, "layout");
    int64_t layout = LAYOUT_STRIDED;
    if (grad != JSON_NONE && json_kind(r->json, grad) != JSON_KIND_TRUE &&
        json_kind(r->json, grad) != JSON_KIND_FALSE)
        return pt2_fail(r, grad, "\"requires_grad\": expected true or false");
    if (kind != JSON_NONE && !json_int(&layout, r->json, kind))
        return pt2_fail(r, kind, "\"layout\": expected a number");
    out->requires_grad = grad != JSON_NONE && json_kind(r->json, grad) == JSON_KIND_TRUE;
    if (sizes->rank > IR_RANK_MAX || strides.rank != sizes->rank || layout != LAYOUT_STRIDED)
        return 0;
    out->sizes = ir_shape_intern(r->m, sizes->rank, sizes->hint);
    out->strides = ir_shape_intern(r->m, strides.rank, strides.hint);
    out->known = all_known(sizes) && all_known(&strides);
    return out->sizes == IR_NONE || out->strides == IR_NONE ? pt2_no_memory(r) : 0;
}

static int read_meta(struct ir_value *v, struct ir_layout *l, struct pt2_reader *r, uint32_t meta)
{
    struct dims sizes;
    uint32_t dtype;
    int64_t scalar;
    int rc = read_dims(&sizes, r, meta, "sizes");
    if (rc != 0 || (rc = pt2_need(&dtype, r, meta, "dtype", JSON_KIND_NUMBER)) != 0)
        return rc;
    if (!json_int(&scalar, r->json, dtype))
        return pt2_fail(r, dtype, "\"dtype\": expected a number");
    v->dtype = pt2_dtype(scalar);
    v->shape = ir_shape_intern(r->m, sizes.rank, sizes.dim);
    return v->shape == IR_NONE ? pt2_no_memory(r) : read_layout(l, r, meta, &sizes);
}

/* ---- values ---- */

/* A value that is described by `meta` (JSON_NONE: by nothing), not yet bound to its name. */
static int value_push(uint32_t *out, struct pt2_reader *r, uint32_t token, uint32_t meta, struct ir_value v)
{
    struct ir_model *m = r->m;
    struct ir_layout layout = {.from = IR_NONE};
    int rc;
    v.graph = r->graph;
    if (meta != JSON_NONE && (rc = read_meta(&v, &layout, r, meta)) != 0)
        return rc;
    if (m->n_values == IR_NONE - 1)
        return pt2_fail(r, token, "too many values");
    if ((rc = pt2_room(r, &m->values, &r->cap_values, (size_t)m->n_values + 1, sizeof *m->values)) != 0 ||
        (rc = pt2_room(r, &m->layouts, &r->cap_layouts, (size_t)m->n_values + 1, sizeof *m->layouts)) != 0)
        return rc;
    *out = m->n_values;
    m->values[m->n_values] = v;
    m->layouts[m->n_values++] = layout;
    return 0;
}

int pt2_value_new(uint32_t *out, struct pt2_reader *r, uint32_t token, uint32_t name, struct ir_value v)
{
    const struct pt2_binding *b = name < r->cap_bindings ? &r->bindings[name] : NULL;
    v.name = name;
    int rc = value_push(out, r, token, b && b->meta_epoch == r->graph + 1 ? b->meta : JSON_NONE, v);
    return rc != 0 ? rc : pt2_bind(r, token, name, *out);
}

/* Bytes of a tensor, 0 when not known or absurd. */
static uint64_t tensor_bytes(const struct ir_model *m, uint32_t value)
{
    const struct ir_shape *s = ir_shape_of(m, value);
    uint64_t n = m->values[value].shape == IR_SHAPE_UNKNOWN ? 0 : element_size(m->values[value].dtype);
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)s->dims[i], &n))
            return 0;
    return n;
}

/* The value becomes a parameter of that name; there is room for it. */
static void make_param(struct ir_model *m, uint32_t value, uint32_t fqn, bool buffer)
{
    m->values[value].name = fqn;
    m->values[value].kind = IR_VALUE_PARAM;
    m->values[value].def = m->n_params;
    m->params[m->n_params++] = (struct ir_param){.value = value,
                                                 .buffer = buffer,
                                                 .no_grad = !m->layouts[value].requires_grad,
                                                 .bytes = tensor_bytes(m, value)};
}

static int room_for_param(struct pt2_reader *r, uint32_t fqn)
{
    int rc = pt2_room(r, &r->specs, &r->cap_specs, (size_t)fqn + 1, sizeof *r->specs);
    return rc != 0
               ? rc
               : pt2_room(r, &r->m->params, &r->cap_params, (size_t)r->m->n_params + 1, sizeof *r->m->params);
}

int pt2_param(struct pt2_reader *r, uint32_t token, uint32_t name)
{
    uint32_t epoch = r->program + 1;
    if (name >= r->cap_specs || r->specs[name].epoch != epoch)
        return 0;
    uint32_t fqn = names_intern(&r->m->names, r->specs[name].fqn);
    if (fqn == NAME_NONE)
        return pt2_no_memory(r);
    int rc = room_for_param(r, fqn);
    if (rc != 0)
        return rc;
    struct pt2_spec *s = &r->specs[fqn];
    if (s->value_epoch == epoch) {
        rc = pt2_bind(r, token, name, s->value);
        return rc != 0 ? rc : 1;
    }
    s->value_epoch = epoch;
    rc = pt2_value_new(&s->value, r, token, name, (struct ir_value){0});
    if (rc == 0)
        make_param(r->m, s->value, fqn, r->specs[name].buffer);
    return rc != 0 ? rc : 1;
}

/* ---- weights that the graph does not use ---- */

/* Where a weight's data lie, as a name id: tied weights lie in one place. NAME_NONE when it does not say. */
static uint32_t place_of(struct pt2_reader *r, uint32_t entry, int *rc)
{
    uint32_t path = json_get(r->json, entry, "path_name");
    *rc = 0;
    if (path == JSON_NONE || json_kind(r->json, path) != JSON_KIND_STRING)
        return NAME_NONE;
    uint32_t id = pt2_name(r, path, "path_name", rc);
    if (*rc == 0)
        *rc = pt2_room(r, &r->specs, &r->cap_specs, (size_t)id + 1, sizeof *r->specs);
    return *rc == 0 ? id : NAME_NONE;
}

static bool is_known(const struct pt2_reader *r, uint32_t fqn)
{
    return fqn < r->cap_specs && r->specs[fqn].value_epoch == r->program + 1;
}

/* Notes where the weight of a known parameter lies. */
static int note_place(struct pt2_reader *r, uint32_t name, uint32_t entry)
{
    int rc;
    uint32_t fqn = pt2_name(r, name, "config", &rc);
    if (rc != 0 || !is_known(r, fqn))
        return rc;
    uint32_t place = place_of(r, entry, &rc);
    if (place != NAME_NONE)
        r->specs[place].place_epoch = r->program + 1;
    return rc;
}

/* A trained weight that nothing known lies with becomes a parameter of the graph. */
static int add_unused(struct pt2_reader *r, uint32_t name, uint32_t entry)
{
    int rc;
    uint32_t meta = json_get(r->json, entry, "tensor_meta"), is_param = json_get(r->json, entry, "is_param");
    if (meta == JSON_NONE || json_kind(r->json, meta) != JSON_KIND_OBJECT || is_param == JSON_NONE ||
        json_kind(r->json, is_param) != JSON_KIND_TRUE)
        return 0;
    uint32_t fqn = pt2_name(r, name, "config", &rc);
    uint32_t place = rc == 0 && !is_known(r, fqn) ? place_of(r, entry, &rc) : NAME_NONE;
    if (place == NAME_NONE || r->specs[place].place_epoch == r->program + 1 ||
        (rc = room_for_param(r, fqn)) != 0)
        return rc;
    struct pt2_spec *s = &r->specs[fqn];
    s->value_epoch = r->program + 1;
    rc = value_push(&s->value, r, name, meta, (struct ir_value){.name = fqn});
    if (rc == 0)
        make_param(r->m, s->value, fqn, false);
    return rc;
}

int pt2_weights_read(struct pt2_reader *r)
{
    const struct json *j = r->json;
    uint32_t config = json_get(j, 0, "config");
    int rc = 0;
    if (config == JSON_NONE || json_kind(j, config) != JSON_KIND_OBJECT)
        return 0;
    for (uint32_t k = json_first(j, config); rc == 0 && k != JSON_NONE; k = json_next_member(j, config, k))
        rc = note_place(r, k, k + 1);
    for (uint32_t k = json_first(j, config); rc == 0 && k != JSON_NONE; k = json_next_member(j, config, k))
        rc = add_unused(r, k, k + 1);
    return rc;
}
