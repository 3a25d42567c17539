/* Makes the models of the benchmark: gen KIND:COUNT OUT.onnx [PREFIX]; without arguments it lists the kinds.
 * The same arguments give the same bytes. The names of nodes and of what they compute begin with PREFIX: the
 * same model as another exporter would name it.
 *
 * Fields come in the order in which protobuf writes them. The length of the graph stands before it, and
 * nothing is kept: the model is generated once to be measured, then once for each section. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- protobuf */

struct buf {
    uint8_t *p;
    size_t n, cap;
};

static void put(struct buf *b, const void *s, size_t n)
{
    if (b->cap - b->n < n) {
        b->cap = (b->n + n) * 2;
        b->p = realloc(b->p, b->cap);
        if (!b->p)
            die("gen");
    }
    if (n)
        memcpy(b->p + b->n, s, n);
    b->n += n;
}

static void put_varint(struct buf *b, uint64_t v)
{
    uint8_t s[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        s[n++] = (uint8_t)(v | 128);
    s[n++] = (uint8_t)v;
    put(b, s, n);
}

static void put_int(struct buf *b, unsigned field, int64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)v);
}

static void put_head(struct buf *b, unsigned field, uint64_t len)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, len);
}

static void put_bytes(struct buf *b, unsigned field, const void *s, size_t n)
{
    put_head(b, field, n);
    put(b, s, n);
}

static void put_text(struct buf *b, unsigned field, const char *s)
{
    put_bytes(b, field, s, strlen(s));
}

static void put_record(struct buf *b, unsigned field, const struct buf *body)
{
    put_bytes(b, field, body->p, body->n);
}

static void put_pair(struct buf *b, unsigned field, const char *key, const char *value)
{
    static struct buf e;
    e.n = 0;
    put_text(&e, 1, key);
    put_text(&e, 2, value);
    put_record(b, field, &e);
}

/* ---- the generator */

enum section { MEASURE, NODES, INITS, INFOS };
enum data { INLINE, EXTERNAL, HOLE };
enum { F16 = 10, F32 = 1, I64 = 7, BOOL = 9 };
enum { NODE = 1, INIT = 5, INPUT = 11, OUTPUT = 12, INFO = 13 }; /* of GraphProto */

#define BASES 64
#define TEXT  2048

struct gen {
    FILE *out, *file; /* the model; its external data */
    const char *location, *prefix;
    enum section section;
    enum data data;
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

static bool wants(const struct gen *g, enum section s)
{
    return g->section == MEASURE || g->section == s;
}

static void write_out(FILE *f, const void *p, size_t n)
{
    if (n && fwrite(p, 1, n, f) != n)
        die("gen");
}

/* The record as a field of the graph; `more` bytes of it are the caller's to write. */
static void emit(struct gen *g, unsigned field, const struct buf *body, uint64_t more)
{
    static struct buf head;
    head.n = 0;
    put_head(&head, field, body->n + more);
    if (g->section == MEASURE) {
        g->total += head.n + body->n + more;
        return;
    }
    write_out(g->out, head.p, head.n);
    write_out(g->out, body->p, body->n);
}

static void random_bytes(struct gen *g, FILE *f, uint64_t n)
{
    uint64_t block[4096];
    while (n) {
        uint64_t part = n < sizeof block ? n : sizeof block;
        for (size_t i = 0; i < (part + 7) / 8; i++) {
            g->rng ^= g->rng << 13;
            g->rng ^= g->rng >> 7;
            g->rng ^= g->rng << 17;
            block[i] = g->rng;
        }
        write_out(f, block, (size_t)part);
        n -= part;
    }
}

static void skip_bytes(FILE *f, uint64_t n)
{
    if (fseeko(f, (off_t)n, SEEK_CUR) != 0)
        die("gen");
}

static void put_external(struct gen *g, struct buf *b, uint64_t n)
{
    char text[32];
    put_pair(b, 13, "location", g->location);
    snprintf(text, sizeof text, "%llu", (unsigned long long)g->external);
    put_pair(b, 13, "offset", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    put_pair(b, 13, "length", text);
    put_int(b, 14, 1);
    if (g->section == INITS) {
        random_bytes(g, g->file, n);
        skip_bytes(g->file, (4096 - n % 4096) % 4096);
    }
    g->external += (n + 4095) / 4096 * 4096;
}

/* An initializer of rank 1 (cols 0) or 2. */
static void weight(struct gen *g, const char *name, uint64_t rows, uint64_t cols, int type)
{
    if (!wants(g, INITS))
        return;
    struct buf *b = &g->record;
    uint64_t n = rows * (cols ? cols : 1) * (type == F16 ? 2 : type == I64 ? 8 : 4);
    b->n = 0;
    put_int(b, 1, (int64_t)rows);
    if (cols)
        put_int(b, 1, (int64_t)cols);
    put_int(b, 2, type);
    put_text(b, 8, name);
    if (g->data == EXTERNAL && type != I64) {
        put_external(g, b, n);
        emit(g, INIT, b, 0);
        return;
    }
    put_head(b, 9, n);
    emit(g, INIT, b, n);
    if (g->section == INITS && g->data == HOLE)
        skip_bytes(g->out, n);
    else if (g->section == INITS)
        random_bytes(g, g->out, n);
}

static void constant(struct gen *g, const char *name, unsigned n, const int64_t *v)
{
    if (!wants(g, INITS))
        return;
    struct buf *b = &g->record;
    b->n = 0;
    put_int(b, 1, n);
    put_int(b, 2, I64);
    put_text(b, 8, name);
    put_bytes(b, 9, v, n * sizeof *v);
    emit(g, INIT, b, 0);
}

/* ValueInfoProto; the shape as text: "batch,seq,64". */
static void value_info(struct gen *g, unsigned field, const char *name, int type, const char *shape)
{
    static struct buf dims, dim, tensor, t;
    dims.n = tensor.n = t.n = g->record.n = 0;
    for (const char *p = shape; *p;) {
        size_t n = strcspn(p, ",");
        dim.n = 0;
        if (*p >= '0' && *p <= '9')
            put_int(&dim, 1, atoll(p));
        else
            put_bytes(&dim, 2, p, n);
        put_record(&dims, 1, &dim);
        p += n + (p[n] == ',');
    }
    put_int(&tensor, 1, type);
    put_record(&tensor, 2, &dims);
    put_record(&t, 1, &tensor);
    put_text(&g->record, 1, name);
    put_record(&g->record, 2, &t);
    emit(g, field, &g->record, 0);
}

/* Where in the module tree a node stands. */
struct scope {
    unsigned n;
    char path[6][64];
    const char *cls[6];
};

static struct scope inside(const struct scope *up, const char *cls, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static struct scope inside(const struct scope *up, const char *cls, const char *fmt, ...)
{
    struct scope s = *up;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s.path[s.n], sizeof s.path[s.n], fmt, ap);
    va_end(ap);
    s.cls[s.n++] = cls;
    return s;
}

struct op {
    const char *type, *aten, *base, *shape;
    const char *attr; /* "axis=-1" an integer, "perm:1,0" a list; NULL for none */
    const char *code;
    int dtype;
};

static void put_attr(struct buf *b, const char *attr)
{
    static struct buf a;
    size_t n = strcspn(attr, "=:");
    a.n = 0;
    put_bytes(&a, 1, attr, n);
    if (attr[n] == '=') {
        put_int(&a, 3, atoll(attr + n + 1));
        put_int(&a, 20, 2);
    } else {
        for (const char *p = attr + n; *p; p += 1 + strcspn(p + 1, ","))
            put_int(&a, 8, atoll(p + 1));
        put_int(&a, 20, 7);
    }
    put_record(b, 5, &a);
}

/* "['a', 'b', 'last']" */
static void list(char *out, const struct scope *sc, bool classes, const char *last)
{
    size_t n = 0;
    for (unsigned i = 0; i < sc->n; i++)
        n +=
            (size_t)snprintf(out + n, TEXT - n, "%s'%s'", i ? ", " : "[", classes ? sc->cls[i] : sc->path[i]);
    snprintf(out + n, TEXT - n, ", '%s']", last);
}

static void put_metadata(struct buf *b, const struct scope *sc, const struct op *op, const char *output,
                         const char *const *in, unsigned n_in)
{
    char text[TEXT];
    size_t n = 0;
    for (unsigned i = 0; i < sc->n; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s: %s/", sc->path[i], sc->cls[i]);
    snprintf(text + n, TEXT - n, "%s: %s", output, op->aten);
    put_pair(b, 9, "namespace", text);
    list(text, sc, true, op->aten);
    put_pair(b, 9, "pkg.torch.onnx.class_hierarchy", text);
    list(text, sc, false, output);
    put_pair(b, 9, "pkg.torch.onnx.name_scopes", text);
    n = (size_t)snprintf(text, TEXT, "%%%s : [num_users=1] = call_function[target=torch.ops.%s](args = (",
                         output, op->aten);
    for (unsigned i = 0; i < n_in; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s%%%s", i ? ", " : "", in[i]);
    snprintf(text + n, TEXT - n, "), kwargs = {})");
    put_pair(b, 9, "pkg.torch.onnx.fx_node", text);
    snprintf(text, TEXT,
             "File \"/usr/lib/python3/dist-packages/transformers/models/decoder/modeling_decoder.py\", line "
             "912, in forward\n    "
             "hidden_states = "
             "decoder_layer(hidden_states, position_embeddings)\n  File "
             "\"/usr/lib/python3/dist-packages/transformers/models/decoder/modeling_decoder.py\", line 204, "
             "in forward\n    %s",
             op->code ? op->code : "return self.weight * hidden_states.to(input_dtype)");
    put_pair(b, 9, "pkg.torch.onnx.stack_trace", text);
}

/* "base", "base_1", ... */
static struct name fresh(struct gen *g, const char *base)
{
    struct name out;
    unsigned i = 0;
    while (i < BASES - 1 && g->bases[i].base && strcmp(g->bases[i].base, base) != 0)
        i++;
    g->bases[i].base = base;
    if (g->bases[i].n++ == 0)
        snprintf(out.s, sizeof out.s, "%s%s", g->prefix, base);
    else
        snprintf(out.s, sizeof out.s, "%s%s_%u", g->prefix, base, g->bases[i].n - 1);
    return out;
}

#define IN_MAX    8
#define node(...) node_(__VA_ARGS__, (const char *)NULL)
/* One node with one output, or two for TopK ("indices" is the second's base); its inputs follow. */
static struct name node_(struct gen *g, const struct scope *sc, const struct op *op, ...)
{
    const char *in[IN_MAX];
    unsigned n_in = 0;
    va_list ap;
    va_start(ap, op);
    for (const char *s; n_in < IN_MAX && (s = va_arg(ap, const char *)) != NULL;)
        in[n_in++] = s;
    va_end(ap);
    struct name out = fresh(g, op->base), second = {""};
    if (strcmp(op->type, "TopK") == 0)
        second = fresh(g, "indices");
    uint64_t id = g->n_nodes++;
    if (wants(g, NODES)) {
        struct buf *b = &g->record;
        char text[TEXT];
        b->n = 0;
        for (unsigned i = 0; i < n_in; i++)
            put_text(b, 1, in[i]);
        put_text(b, 2, out.s);
        if (*second.s)
            put_text(b, 2, second.s);
        snprintf(text, sizeof text, "%snode_%s_%llu", g->prefix, op->type, (unsigned long long)id);
        put_text(b, 3, text);
        put_text(b, 4, op->type);
        if (op->attr)
            put_attr(b, op->attr);
        if (g->meta)
            put_metadata(b, sc, op, out.s, in, n_in);
        emit(g, NODE, b, 0);
    }
    if (wants(g, INFOS) && op->shape) {
        value_info(g, INFO, out.s, op->dtype ? op->dtype : F32, op->shape);
        if (*second.s)
            value_info(g, INFO, second.s, I64, op->shape);
    }
    return out;
}

/* ---- transformers */

struct size {
    unsigned hidden, inner, heads, kv, vocab, experts;
    int type;
    char h[48], i[48], one[48], q[64], k[64], half[64], scores[64], e[48]; /* shapes as text */
};

static const char LINEAR[] = "torch.nn.modules.linear.Linear";
static const char NORM[] = "transformers.models.decoder.modeling_decoder.DecoderRMSNorm";

#define OP(g, sc, type_, aten_, base_, shape_, ...)                                                          \
    node(g, sc, &(struct op){.type = type_, .aten = aten_, .base = base_, .shape = shape_}, __VA_ARGS__)
#define OPA(g, sc, type_, aten_, base_, shape_, attr_, ...)                                                  \
    node(g, sc, &(struct op){.type = type_, .aten = aten_, .base = base_, .shape = shape_, .attr = attr_},   \
         __VA_ARGS__)

static void set_sizes(struct size *z)
{
    unsigned d = z->hidden / z->heads;
    snprintf(z->h, sizeof z->h, "batch,seq,%u", z->hidden);
    snprintf(z->i, sizeof z->i, "batch,seq,%u", z->inner);
    snprintf(z->e, sizeof z->e, "batch,seq,%u", z->experts);
    snprintf(z->one, sizeof z->one, "batch,seq,1");
    snprintf(z->q, sizeof z->q, "batch,%u,seq,%u", z->heads, d);
    snprintf(z->k, sizeof z->k, "batch,%u,seq,%u", z->kv, d);
    snprintf(z->half, sizeof z->half, "batch,heads,seq,%u", d / 2);
    snprintf(z->scores, sizeof z->scores, "batch,%u,seq,seq", z->heads);
}

static struct name linear(struct gen *g, const struct size *z, const struct scope *sc, const char *x,
                          unsigned in, unsigned out)
{
    char w[96], shape[48];
    struct scope own = *sc;
    snprintf(w, sizeof w, "%s.weight", own.path[own.n - 1]);
    snprintf(shape, sizeof shape, "batch,seq,%u", out);
    weight(g, w, in, out, z->type);
    return OP(g, &own, "MatMul", "aten.linear.default", "linear", shape, x, w);
}

static struct name norm(struct gen *g, const struct size *z, const struct scope *sc, const char *x)
{
    char w[96];
    snprintf(w, sizeof w, "%s.weight", sc->path[sc->n - 1]);
    weight(g, w, z->hidden, 0, z->type);
    struct name p = OP(g, sc, "Pow", "aten.pow.Tensor_Scalar", "pow", z->h, x, "c_two");
    struct name m = OPA(g, sc, "ReduceMean", "aten.mean.dim", "mean", z->one, "keepdims=1", p.s, "c_m1");
    struct name a = OP(g, sc, "Add", "aten.add.Tensor", "add", z->one, m.s, "c_eps");
    struct name q = OP(g, sc, "Sqrt", "aten.rsqrt.default", "val", z->one, a.s);
    struct name r = OP(g, sc, "Reciprocal", "aten.rsqrt.default", "rsqrt", z->one, q.s);
    struct name v = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", z->h, x, r.s);
    return OP(g, sc, "Mul", "aten.mul.Tensor", "mul", z->h, w, v.s);
}

static struct name rope(struct gen *g, const struct size *z, const struct scope *sc, const char *x,
                        const char *shape)
{
    struct name a = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", shape, x, "cos");
    struct name s1 =
        OP(g, sc, "Slice", "aten.slice.Tensor", "slice", z->half, x, "c_0", "c_half", "c_m1", "c_1");
    struct name s2 =
        OP(g, sc, "Slice", "aten.slice.Tensor", "slice", z->half, x, "c_half", "c_max", "c_m1", "c_1");
    struct name n = OP(g, sc, "Neg", "aten.neg.default", "neg", z->half, s2.s);
    struct name c = OPA(g, sc, "Concat", "aten.cat.default", "cat", shape, "axis=-1", n.s, s1.s);
    struct name b = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", shape, c.s, "sin");
    return OP(g, sc, "Add", "aten.add.Tensor", "add", shape, a.s, b.s);
}

static struct name head(struct gen *g, const struct size *z, const struct scope *at, const char *x,
                        char which)
{
    bool q = which == 'q';
    unsigned out = q ? z->hidden : z->hidden / z->heads * z->kv;
    const char *shape = q ? z->q : z->k;
    struct scope sc = inside(at, LINEAR, "%s.%c_proj", at->path[at->n - 1], which);
    struct name y = linear(g, z, &sc, x, z->hidden, out);
    y = OPA(g, at, "Reshape", "aten.view.default", "view", NULL, "allowzero=0", y.s, q ? "c_sh_q" : "c_sh_k");
    y = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", shape, "perm:0,2,1,3", y.s);
    if (which != 'v')
        y = rope(g, z, at, y.s, shape);
    if (q)
        return y;
    y = OP(g, at, "Unsqueeze", "aten.unsqueeze.default", "unsqueeze", NULL, y.s, "c_2");
    y = OP(g, at, "Expand", "aten.expand.default", "expand", NULL, y.s, "c_exp");
    return OPA(g, at, "Reshape", "aten.view.default", "view", z->q, "allowzero=0", y.s, "c_sh_r");
}

static struct name attention(struct gen *g, const struct size *z, const struct scope *at, const char *x)
{
    struct name q = head(g, z, at, x, 'q'), k = head(g, z, at, x, 'k'), v = head(g, z, at, x, 'v');
    struct name t = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", NULL, "perm:0,1,3,2", k.s);
    struct name w = OP(g, at, "MatMul", "aten.matmul.default", "matmul", z->scores, q.s, t.s);
    w = OP(g, at, "Mul", "aten.mul.Tensor", "mul", z->scores, w.s, "c_scale");
    w = OP(g, at, "Add", "aten.add.Tensor", "add", z->scores, w.s, "attention_mask");
    w = OPA(g, at, "Softmax", "aten.softmax.int", "softmax", z->scores, "axis=-1", w.s);
    w = OP(g, at, "MatMul", "aten.matmul.default", "matmul", z->q, w.s, v.s);
    w = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", NULL, "perm:0,2,1,3", w.s);
    w = OPA(g, at, "Reshape", "aten.view.default", "view", z->h, "allowzero=0", w.s, "c_sh_o");
    struct scope sc = inside(at, LINEAR, "%s.o_proj", at->path[at->n - 1]);
    return linear(g, z, &sc, w.s, z->hidden, z->hidden);
}

static struct name mlp(struct gen *g, const struct size *z, const struct scope *at, const char *x)
{
    const char *path = at->path[at->n - 1];
    struct scope s1 = inside(at, LINEAR, "%s.w1", path), s2 = inside(at, LINEAR, "%s.w2", path),
                 s3 = inside(at, LINEAR, "%s.w3", path);
    struct name a = linear(g, z, &s1, x, z->hidden, z->inner);
    struct name s = OP(g, at, "Sigmoid", "aten.silu.default", "val", z->i, a.s);
    a = OP(g, at, "Mul", "aten.silu.default", "silu", z->i, a.s, s.s);
    struct name b = linear(g, z, &s3, x, z->hidden, z->inner);
    a = OP(g, at, "Mul", "aten.mul.Tensor", "mul", z->i, a.s, b.s);
    return linear(g, z, &s2, a.s, z->inner, z->hidden);
}

static struct name expert(struct gen *g, const struct size *z, const struct scope *at, unsigned e,
                          const char *x, const char *weights, const char *indices)
{
    char number[16];
    struct scope own = inside(at, "transformers.models.decoder.modeling_decoder.DecoderExpert",
                              "%s.experts.%u", at->path[at->n - 1], e);
    snprintf(number, sizeof number, "e_%u", e);
    struct name m =
        node(g, at, &(struct op){"Equal", "aten.eq.Scalar", "eq", "batch,seq,2", NULL, NULL, BOOL}, indices,
             number);
    m = OPA(g, at, "Cast", "aten._to_copy.default", "_to_copy", "batch,seq,2", "to=1", m.s);
    m = OP(g, at, "Mul", "aten.mul.Tensor", "mul", "batch,seq,2", m.s, weights);
    m = OPA(g, at, "ReduceSum", "aten.sum.dim_IntList", "sum", z->one, "keepdims=1", m.s, "c_m1");
    m = OP(g, at, "Squeeze", "aten.squeeze.dim", "squeeze", "batch,seq", m.s, "c_m1");
    m = OP(g, at, "Unsqueeze", "aten.unsqueeze.default", "unsqueeze", z->one, m.s, "c_m1");
    struct name h = OP(g, at, "Identity", "aten.clone.default", "clone", z->h, x);
    h = OPA(g, at, "Reshape", "aten.view.default", "view", z->h, "allowzero=0", h.s, "c_sh_o");
    h = mlp(g, z, &own, h.s);
    h = OP(g, at, "Mul", "aten.mul.Tensor", "mul", z->h, h.s, m.s);
    for (int i = 0; i < 14; i++)
        h = OP(g, at, "Identity", "aten.clone.default", "clone", z->h, h.s);
    return h;
}

static struct name moe(struct gen *g, const struct size *z, const struct scope *at, const char *x)
{
    struct scope router = inside(at, "transformers.models.decoder.modeling_decoder.DecoderRouter",
                                 "%s.router", at->path[at->n - 1]);
    struct scope gate = inside(&router, LINEAR, "%s.gate", router.path[router.n - 1]);
    struct name w = linear(g, z, &gate, x, z->hidden, z->experts), y = {""};
    w = OPA(g, &router, "Softmax", "aten.softmax.int", "softmax", z->e, "axis=-1", w.s);
    w = OP(g, &router, "TopK", "aten.topk.default", "topk", "batch,seq,2", w.s, "c_2");
    struct name indices; /* as node_() names them: "topk_3" comes with "indices_3" */
    snprintf(indices.s, sizeof indices.s, "%sindices%.64s", g->prefix,
             w.s + strlen(g->prefix) + strlen("topk"));
    struct name s = OPA(g, at, "ReduceSum", "aten.sum.dim_IntList", "sum", z->one, "keepdims=1", w.s, "c_m1");
    w = OP(g, at, "Div", "aten.div.Tensor", "div", "batch,seq,2", w.s, s.s);
    for (unsigned e = 0; e < z->experts; e++) {
        struct name out = expert(g, z, at, e, x, w.s, indices.s);
        y = e ? OP(g, at, "Add", "aten.index_add.default", "index_add", z->h, y.s, out.s) : out;
    }
    return OPA(g, at, "Reshape", "aten.view.default", "view", z->h, "allowzero=0", y.s, "c_sh_o");
}

static void constants(struct gen *g, const struct size *z)
{
    int64_t d = z->hidden / z->heads, heads = z->heads, kv = z->kv;
    const struct {
        const char *name;
        unsigned n;
        int64_t v[5];
    } c[] = {
        {"c_m1", 1, {-1}},
        {"c_0", 1, {0}},
        {"c_1", 1, {1}},
        {"c_2", 1, {2}},
        {"c_half", 1, {d / 2}},
        {"c_max", 1, {INT64_MAX}},
        {"c_sh_q", 4, {0, -1, heads, d}},
        {"c_sh_k", 4, {0, -1, kv, d}},
        {"c_sh_o", 3, {0, -1, z->hidden}},
        {"c_exp", 5, {1, 1, heads / kv, 1, 1}},
        {"c_sh_r", 4, {0, heads, -1, d}},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        constant(g, c[i].name, c[i].n, c[i].v);
    weight(g, "c_two", 1, 0, F32);
    weight(g, "c_eps", 1, 0, F32);
    weight(g, "c_scale", 1, 0, F32);
    for (int64_t e = 0; e < z->experts; e++) {
        char name[16];
        snprintf(name, sizeof name, "e_%u", (unsigned)e);
        constant(g, name, 1, &e);
    }
}

static void decoder(struct gen *g, const struct size *z, uint64_t layers)
{
    struct scope root =
        inside(&(struct scope){0}, "transformers.models.decoder.modeling_decoder.ForCausalLM", "%s", "");
    struct scope model = inside(&root, "transformers.models.decoder.modeling_decoder.Model", "model");
    struct scope last = inside(&model, NORM, "model.norm"), lm = inside(&root, LINEAR, "lm_head");
    constants(g, z);
    weight(g, "model.embed_tokens.weight", z->vocab, z->hidden, z->type);
    struct name x = OP(g, &model, "Gather", "aten.embedding.default", "embedding", z->h,
                       "model.embed_tokens.weight", "input_ids");
    for (unsigned i = 0; i < layers; i++) {
        struct scope layer =
            inside(&model, "transformers.models.decoder.modeling_decoder.DecoderLayer", "model.layers.%u", i);
        const char *path = layer.path[layer.n - 1];
        struct scope n1 = inside(&layer, NORM, "%s.attention_norm", path),
                     n2 = inside(&layer, NORM, "%s.ffn_norm", path),
                     at = inside(&layer, "transformers.models.decoder.modeling_decoder.DecoderAttention",
                                 "%s.attention", path),
                     ff = z->experts
                              ? inside(&layer, "transformers.models.decoder.modeling_decoder.DecoderMoE",
                                       "%s.moe", path)
                              : inside(&layer,
                                       "transformers.models.decoder.modeling_decoder.DecoderFeedForward",
                                       "%s.feed_forward", path);
        struct name h = norm(g, z, &n1, x.s);
        h = attention(g, z, &at, h.s);
        x = OP(g, &layer, "Add", "aten.add.Tensor", "add", z->h, x.s, h.s);
        h = norm(g, z, &n2, x.s);
        h = z->experts ? moe(g, z, &ff, h.s) : mlp(g, z, &ff, h.s);
        x = OP(g, &layer, "Add", "aten.add.Tensor", "add", z->h, x.s, h.s);
    }
    x = norm(g, z, &last, x.s);
    x = linear(g, z, &lm, x.s, z->hidden, z->vocab);
    OP(g, &root, "Identity", "aten.clone.default", "logits", NULL, x.s);
}

static void llama(struct gen *g, uint64_t layers)
{
    struct size z = {2048, 5632, 32, 4, 32000, 0, F16, "", "", "", "", "", "", "", ""};
    if (g->data == HOLE)
        z = (struct size){4096, 14336, 32, 8, 128256, 0, F16, "", "", "", "", "", "", "", ""};
    set_sizes(&z);
    decoder(g, &z, layers);
}

static void mixtral(struct gen *g, uint64_t layers)
{
    struct size z = {8, 16, 4, 2, 64, 8, F32, "", "", "", "", "", "", "", ""};
    set_sizes(&z);
    decoder(g, &z, layers);
}

/* ---- shapes that a hostile or odd graph may have */

static const struct scope NOWHERE = {.n = 0};

/* The end of these: one matmul in a block, so that there is something to tag. */
static void one_mm(struct gen *g, const char *x)
{
    weight(g, "layers.0.wq.weight", 4, 4, F32);
    OP(g, &NOWHERE, "MatMul", "", "logits", NULL, x, "layers.0.wq.weight");
}

static void fan(struct gen *g, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        OP(g, &NOWHERE, "Identity", "", "fan", "4,4", "input_ids");
    one_mm(g, "fan");
}

static void chain(struct gen *g, uint64_t n)
{
    struct name x = {"input_ids"};
    for (uint64_t i = 0; i < n; i++)
        x = OP(g, &NOWHERE, "Identity", "", "chain", "4,4", x.s);
    one_mm(g, x.s);
}

static void names(struct gen *g, uint64_t n)
{
    char name[128];
    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%088d.%011llu", 0, (unsigned long long)i);
        weight(g, name, 1, 0, F32);
    }
    one_mm(g, "input_ids");
}

/* A node with a constant in an attribute: the tensor's bytes are streamed. */
static void attr(struct gen *g, uint64_t bytes)
{
    static struct buf tensor, a;
    uint64_t floats = bytes / 4;
    tensor.n = a.n = g->record.n = 0;
    put_int(&tensor, 1, (int64_t)floats);
    put_int(&tensor, 2, F32);
    put_head(&tensor, 9, floats * 4);
    put_text(&a, 1, "value");
    put_int(&a, 20, 4);
    put_head(&a, 5, tensor.n + floats * 4);
    put(&a, tensor.p, tensor.n);
    put_text(&g->record, 2, "big");
    put_text(&g->record, 4, "Constant");
    put_head(&g->record, 5, a.n + floats * 4);
    put(&g->record, a.p, a.n);
    if (wants(g, NODES))
        emit(g, NODE, &g->record, floats * 4);
    if (g->section == NODES)
        random_bytes(g, g->out, floats * 4);
    one_mm(g, "input_ids");
}

/* Built from the innermost graph outwards. */
static void depth(struct gen *g, uint64_t n)
{
    struct buf inner = {0}, a = {0}, outer = {0}, info = {0};
    put_text(&info, 1, "y");
    for (uint64_t i = 0; i <= n; i++) {
        outer.n = a.n = 0;
        if (i == 0)
            put_text(&outer, 1, "input_ids");
        else
            put_text(&outer, 1, "condition");
        put_text(&outer, 2, "y");
        put_text(&outer, 4, i ? "If" : "Identity");
        for (int branch = 0; i && branch < 2; branch++) {
            a.n = 0;
            put_text(&a, 1, branch ? "else_branch" : "then_branch");
            put_int(&a, 20, 5);
            if (branch == 0) {
                put_record(&a, 6, &inner);
            } else {
                static const uint8_t leaf[] = "\x0a\x18\x0a\x09input_ids\x12\x01y\x22\x08Identity";
                struct buf leafs = {0};
                put(&leafs, leaf, sizeof leaf - 1);
                put_record(&leafs, OUTPUT, &info);
                put_record(&a, 6, &leafs);
                free(leafs.p);
            }
            put_record(&outer, 5, &a);
        }
        inner.n = 0;
        put_record(&inner, NODE, &outer);
        put_record(&inner, OUTPUT, &info);
    }
    if (wants(g, NODES))
        emit(g, NODE, &outer, 0);
    one_mm(g, "y");
    free(inner.p), free(a.p), free(outer.p), free(info.p);
}

/* ---- the model around it */

static const struct kind {
    const char *name;
    void (*build)(struct gen *g, uint64_t count);
    enum data data;
    bool meta;
    const char *what;
} kinds[] = {
    {"llama", llama, INLINE, true, "decoder layers, weights inline (about 100 MB a layer)"},
    {"llama-external", llama, EXTERNAL, true, "the same, weights in OUT.onnx.data"},
    {"sparse", llama, HOLE, true, "wide layers, weights a hole in the file (about 0.44 GB a layer)"},
    {"moe", mixtral, INLINE, true, "mixture-of-experts layers of 300 nodes, with all that exporters write"},
    {"fan", fan, INLINE, false, "nodes that read one value"},
    {"chain", chain, INLINE, false, "nodes, each reads the one before"},
    {"depth", depth, INLINE, false, "graphs, each in an If of the one before"},
    {"attr", attr, INLINE, false, "bytes of one constant in an attribute"},
    {"names", names, INLINE, false, "initializers with names of 100 bytes"},
};

static void usage(void)
{
    fputs("usage: gen KIND:COUNT OUT.onnx [PREFIX]; COUNT is the number of\n", stderr);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(stderr, "  %-15s %s\n", kinds[i].name, kinds[i].what);
}

/* They stand between initializers and value_info. */
static void inputs_and_outputs(struct gen *g)
{
    value_info(g, INPUT, "input_ids", I64, "batch,seq");
    value_info(g, INPUT, "attention_mask", F32, "batch,1,seq,seq");
    value_info(g, INPUT, "cos", F32, "batch,1,seq,dim");
    value_info(g, INPUT, "sin", F32, "batch,1,seq,dim");
    value_info(g, INPUT, "condition", BOOL, "");
    char logits[32];
    snprintf(logits, sizeof logits, "%slogits", g->prefix);
    value_info(g, OUTPUT, logits, F32, "batch,seq,vocab");
}

static void run(struct gen *g, const struct kind *k, uint64_t count, enum section section)
{
    g->section = section;
    g->n_nodes = g->external = 0;
    g->rng = 0x9e3779b97f4a7c15u;
    memset(g->bases, 0, sizeof g->bases);
    if (wants(g, INFOS))
        inputs_and_outputs(g);
    k->build(g, count);
}

static void write_model(struct gen *g, const struct kind *k, uint64_t count)
{
    struct buf head = {0}, tail = {0}, opset = {0}, title = {0};
    put_text(&title, 2, "main_graph");
    run(g, k, count, MEASURE);
    put_int(&head, 1, 10);
    put_text(&head, 2, "pytorch");
    put_text(&head, 3, "2.6.0");
    put_head(&head, 7, g->total + title.n);
    write_out(g->out, head.p, head.n);
    run(g, k, count, NODES);
    write_out(g->out, title.p, title.n);
    run(g, k, count, INITS);
    run(g, k, count, INFOS);
    put_text(&opset, 1, "");
    put_int(&opset, 2, 18);
    put_record(&tail, 8, &opset);
    write_out(g->out, tail.p, tail.n);
    free(head.p), free(tail.p), free(opset.p), free(title.p);
}

int main(int argc, char **argv)
{
    const struct kind *k = NULL;
    char *colon = argc == 3 || argc == 4 ? strchr(argv[1], ':') : NULL;
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == (size_t)(colon - argv[1]) &&
            strncmp(kinds[i].name, argv[1], strlen(kinds[i].name)) == 0)
            k = &kinds[i];
    if (!k) {
        usage();
        return 2;
    }
    struct gen g = {.data = k->data, .meta = k->meta, .prefix = argc == 4 ? argv[3] : ""};
    char path[4096];
    snprintf(path, sizeof path, "%s.data", argv[2]);
    g.location = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    g.out = fopen(argv[2], "wb");
    if (!g.out || (g.data == EXTERNAL && !(g.file = fopen(path, "wb"))))
        die(argv[2]);
    write_model(&g, k, strtoull(colon + 1, NULL, 10));
    if ((g.file && fclose(g.file) != 0) || fclose(g.out) != 0)
        die(argv[2]);
    free(g.record.p);
    return 0;
}
