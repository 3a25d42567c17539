/* Transformers as torch.onnx exports them. */
#include "bench/gen.h"

#include <string.h>

static const char LINEAR[] = "torch.nn.modules.linear.Linear";
static const char NORM[] = "transformers.models.decoder.modeling_decoder.DecoderRMSNorm";

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

static struct name linear(struct gen *g, const struct scope *sc, const char *x, unsigned in, unsigned out)
{
    char w[96], shape[48];
    struct scope own = *sc;
    snprintf(w, sizeof w, "%s.weight", own.path[own.n - 1]);
    snprintf(shape, sizeof shape, "batch,seq,%u", out);
    weight(g, w, in, out, g->size.type);
    return OP(g, &own, "MatMul", "aten.linear.default", "linear", shape, x, w);
}

static struct name norm(struct gen *g, const struct scope *sc, const char *x)
{
    char w[96];
    snprintf(w, sizeof w, "%s.weight", sc->path[sc->n - 1]);
    weight(g, w, g->size.hidden, 0, g->size.type);
    struct name p = OP(g, sc, "Pow", "aten.pow.Tensor_Scalar", "pow", g->size.h, x, "c_two");
    struct name m = OPA(g, sc, "ReduceMean", "aten.mean.dim", "mean", g->size.one, "keepdims=1", p.s, "c_m1");
    struct name a = OP(g, sc, "Add", "aten.add.Tensor", "add", g->size.one, m.s, "c_eps");
    struct name q = OP(g, sc, "Sqrt", "aten.rsqrt.default", "val", g->size.one, a.s);
    struct name r = OP(g, sc, "Reciprocal", "aten.rsqrt.default", "rsqrt", g->size.one, q.s);
    struct name v = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", g->size.h, x, r.s);
    return OP(g, sc, "Mul", "aten.mul.Tensor", "mul", g->size.h, w, v.s);
}

static struct name rope(struct gen *g, const struct scope *sc, const char *x, const char *shape)
{
    struct name a = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", shape, x, "cos");
    struct name s1 =
        OP(g, sc, "Slice", "aten.slice.Tensor", "slice", g->size.half, x, "c_0", "c_half", "c_m1", "c_1");
    struct name s2 =
        OP(g, sc, "Slice", "aten.slice.Tensor", "slice", g->size.half, x, "c_half", "c_max", "c_m1", "c_1");
    struct name n = OP(g, sc, "Neg", "aten.neg.default", "neg", g->size.half, s2.s);
    struct name c = OPA(g, sc, "Concat", "aten.cat.default", "cat", shape, "axis=-1", n.s, s1.s);
    struct name b = OP(g, sc, "Mul", "aten.mul.Tensor", "mul", shape, c.s, "sin");
    return OP(g, sc, "Add", "aten.add.Tensor", "add", shape, a.s, b.s);
}

static struct name head(struct gen *g, const struct scope *at, const char *x, char which)
{
    bool q = which == 'q';
    unsigned out = q ? g->size.hidden : g->size.hidden / g->size.heads * g->size.kv;
    const char *shape = q ? g->size.q : g->size.k;
    struct scope sc = inside(at, LINEAR, "%s.%c_proj", at->path[at->n - 1], which);
    struct name y = linear(g, &sc, x, g->size.hidden, out);
    y = OPA(g, at, "Reshape", "aten.view.default", "view", NULL, "allowzero=0", y.s, q ? "c_sh_q" : "c_sh_k");
    y = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", shape, "perm:0,2,1,3", y.s);
    if (which != 'v')
        y = rope(g, at, y.s, shape);
    if (q)
        return y;
    y = OP(g, at, "Unsqueeze", "aten.unsqueeze.default", "unsqueeze", NULL, y.s, "c_2");
    y = OP(g, at, "Expand", "aten.expand.default", "expand", NULL, y.s, "c_exp");
    return OPA(g, at, "Reshape", "aten.view.default", "view", g->size.q, "allowzero=0", y.s, "c_sh_r");
}

static struct name attention(struct gen *g, const struct scope *at, const char *x)
{
    struct name q = head(g, at, x, 'q'), k = head(g, at, x, 'k'), v = head(g, at, x, 'v');
    struct name t = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", NULL, "perm:0,1,3,2", k.s);
    struct name w = OP(g, at, "MatMul", "aten.matmul.default", "matmul", g->size.scores, q.s, t.s);
    w = OP(g, at, "Mul", "aten.mul.Tensor", "mul", g->size.scores, w.s, "c_scale");
    w = OP(g, at, "Add", "aten.add.Tensor", "add", g->size.scores, w.s, "attention_mask");
    w = OPA(g, at, "Softmax", "aten.softmax.int", "softmax", g->size.scores, "axis=-1", w.s);
    w = OP(g, at, "MatMul", "aten.matmul.default", "matmul", g->size.q, w.s, v.s);
    w = OPA(g, at, "Transpose", "aten.transpose.int", "transpose", NULL, "perm:0,2,1,3", w.s);
    w = OPA(g, at, "Reshape", "aten.view.default", "view", g->size.h, "allowzero=0", w.s, "c_sh_o");
    struct scope sc = inside(at, LINEAR, "%s.o_proj", at->path[at->n - 1]);
    return linear(g, &sc, w.s, g->size.hidden, g->size.hidden);
}

static struct name mlp(struct gen *g, const struct scope *at, const char *x)
{
    const char *path = at->path[at->n - 1];
    struct scope s1 = inside(at, LINEAR, "%s.w1", path), s2 = inside(at, LINEAR, "%s.w2", path),
                 s3 = inside(at, LINEAR, "%s.w3", path);
    struct name a = linear(g, &s1, x, g->size.hidden, g->size.inner);
    struct name s = OP(g, at, "Sigmoid", "aten.silu.default", "val", g->size.i, a.s);
    a = OP(g, at, "Mul", "aten.silu.default", "silu", g->size.i, a.s, s.s);
    struct name b = linear(g, &s3, x, g->size.hidden, g->size.inner);
    a = OP(g, at, "Mul", "aten.mul.Tensor", "mul", g->size.i, a.s, b.s);
    return linear(g, &s2, a.s, g->size.inner, g->size.hidden);
}

/* Where the router sends tokens. */
struct routing {
    struct name weights, indices;
};

static struct name expert(struct gen *g, const struct scope *at, unsigned e, const char *x,
                          const struct routing *to)
{
    char number[16];
    struct scope own = inside(at, "transformers.models.decoder.modeling_decoder.DecoderExpert",
                              "%s.experts.%u", at->path[at->n - 1], e);
    snprintf(number, sizeof number, "e_%u", e);
    struct name m =
        node(g, at, &(struct op){"Equal", "aten.eq.Scalar", "eq", "batch,seq,2", NULL, NULL, BOOL},
             to->indices.s, number);
    m = OPA(g, at, "Cast", "aten._to_copy.default", "_to_copy", "batch,seq,2", "to=1", m.s);
    m = OP(g, at, "Mul", "aten.mul.Tensor", "mul", "batch,seq,2", m.s, to->weights.s);
    m = OPA(g, at, "ReduceSum", "aten.sum.dim_IntList", "sum", g->size.one, "keepdims=1", m.s, "c_m1");
    m = OP(g, at, "Squeeze", "aten.squeeze.dim", "squeeze", "batch,seq", m.s, "c_m1");
    m = OP(g, at, "Unsqueeze", "aten.unsqueeze.default", "unsqueeze", g->size.one, m.s, "c_m1");
    struct name h = OP(g, at, "Identity", "aten.clone.default", "clone", g->size.h, x);
    h = OPA(g, at, "Reshape", "aten.view.default", "view", g->size.h, "allowzero=0", h.s, "c_sh_o");
    h = mlp(g, &own, h.s);
    h = OP(g, at, "Mul", "aten.mul.Tensor", "mul", g->size.h, h.s, m.s);
    for (int i = 0; i < 14; i++)
        h = OP(g, at, "Identity", "aten.clone.default", "clone", g->size.h, h.s);
    return h;
}

static struct name moe(struct gen *g, const struct scope *at, const char *x)
{
    struct scope router = inside(at, "transformers.models.decoder.modeling_decoder.DecoderRouter",
                                 "%s.router", at->path[at->n - 1]);
    struct scope gate = inside(&router, LINEAR, "%s.gate", router.path[router.n - 1]);
    struct name w = linear(g, &gate, x, g->size.hidden, g->size.experts), y = {""};
    w = OPA(g, &router, "Softmax", "aten.softmax.int", "softmax", g->size.e, "axis=-1", w.s);
    w = OP(g, &router, "TopK", "aten.topk.default", "topk", "batch,seq,2", w.s, "c_2");
    struct routing to; /* node_() names its outputs so: "topk_3" comes with "indices_3" */
    snprintf(to.indices.s, sizeof to.indices.s, "%sindices%.64s", g->prefix,
             w.s + strlen(g->prefix) + strlen("topk"));
    struct name s =
        OPA(g, at, "ReduceSum", "aten.sum.dim_IntList", "sum", g->size.one, "keepdims=1", w.s, "c_m1");
    to.weights = OP(g, at, "Div", "aten.div.Tensor", "div", "batch,seq,2", w.s, s.s);
    for (unsigned e = 0; e < g->size.experts; e++) {
        struct name out = expert(g, at, e, x, &to);
        y = e ? OP(g, at, "Add", "aten.index_add.default", "index_add", g->size.h, y.s, out.s) : out;
    }
    return OPA(g, at, "Reshape", "aten.view.default", "view", g->size.h, "allowzero=0", y.s, "c_sh_o");
}

static void constants(struct gen *g)
{
    int64_t d = g->size.hidden / g->size.heads, heads = g->size.heads, kv = g->size.kv;
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
        {"c_sh_o", 3, {0, -1, g->size.hidden}},
        {"c_exp", 5, {1, 1, heads / kv, 1, 1}},
        {"c_sh_r", 4, {0, heads, -1, d}},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        constant(g, c[i].name, c[i].n, c[i].v);
    weight(g, "c_two", 1, 0, F32);
    weight(g, "c_eps", 1, 0, F32);
    weight(g, "c_scale", 1, 0, F32);
    for (int64_t e = 0; e < g->size.experts; e++) {
        char name[16];
        snprintf(name, sizeof name, "e_%u", (unsigned)e);
        constant(g, name, 1, &e);
    }
}

static void decoder(struct gen *g, uint64_t layers)
{
    struct scope root =
        inside(&(struct scope){0}, "transformers.models.decoder.modeling_decoder.ForCausalLM", "%s", "");
    struct scope model = inside(&root, "transformers.models.decoder.modeling_decoder.Model", "model");
    struct scope last = inside(&model, NORM, "model.norm"), lm = inside(&root, LINEAR, "lm_head");
    constants(g);
    weight(g, "model.embed_tokens.weight", g->size.vocab, g->size.hidden, g->size.type);
    struct name x = OP(g, &model, "Gather", "aten.embedding.default", "embedding", g->size.h,
                       "model.embed_tokens.weight", "input_ids");
    for (unsigned i = 0; i < layers; i++) {
        struct scope layer =
            inside(&model, "transformers.models.decoder.modeling_decoder.DecoderLayer", "model.layers.%u", i);
        const char *path = layer.path[layer.n - 1];
        struct scope n1 = inside(&layer, NORM, "%s.attention_norm", path),
                     n2 = inside(&layer, NORM, "%s.ffn_norm", path),
                     at = inside(&layer, "transformers.models.decoder.modeling_decoder.DecoderAttention",
                                 "%s.attention", path),
                     ff = g->size.experts
                              ? inside(&layer, "transformers.models.decoder.modeling_decoder.DecoderMoE",
                                       "%s.moe", path)
                              : inside(&layer,
                                       "transformers.models.decoder.modeling_decoder.DecoderFeedForward",
                                       "%s.feed_forward", path);
        struct name h = norm(g, &n1, x.s);
        h = attention(g, &at, h.s);
        x = OP(g, &layer, "Add", "aten.add.Tensor", "add", g->size.h, x.s, h.s);
        h = norm(g, &n2, x.s);
        h = g->size.experts ? moe(g, &ff, h.s) : mlp(g, &ff, h.s);
        x = OP(g, &layer, "Add", "aten.add.Tensor", "add", g->size.h, x.s, h.s);
    }
    x = norm(g, &last, x.s);
    x = linear(g, &lm, x.s, g->size.hidden, g->size.vocab);
    OP(g, &root, "Identity", "aten.clone.default", "logits", NULL, x.s);
}

void llama(struct gen *g, uint64_t layers)
{
    g->size = (struct size){2048, 5632, 32, 4, 32000, 0, F16, "", "", "", "", "", "", "", ""};
    if (g->data == HOLE)
        g->size = (struct size){4096, 14336, 32, 8, 128256, 0, F16, "", "", "", "", "", "", "", ""};
    set_sizes(&g->size);
    decoder(g, layers);
}

void mixtral(struct gen *g, uint64_t layers)
{
    g->size = (struct size){8, 16, 4, 2, 64, 8, F32, "", "", "", "", "", "", "", ""};
    set_sizes(&g->size);
    decoder(g, layers);
}
