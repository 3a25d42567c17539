/* Facts, one operator at a time: ranks and dims, small integers, layouts, gradients. Expected values by the
 * text of the ONNX operators, and by what PyTorch does in memory. */
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static struct bench b;

static void setup(void)
{
    bench_init(&b);
}

static void teardown(void)
{
    bench_free(&b);
}

TestSuite(facts, .init = setup, .fini = teardown);

static void run(void)
{
    cr_assert_eq(bench_passes(&b, pass_walk), 0, "%s", bench_messages(&b, DIAG_ERROR));
}

static struct fact fact_of(const char *name)
{
    uint32_t v = bench_value(&b, name);
    uint32_t frame = 0; /* the first frame that runs the value's graph */
    while (b.s.walk.frames[frame].graph != b.m.values[v].graph)
        frame++;
    return facts_get(&b.s.facts, (struct use){frame, v});
}

static void dims_text(char *out, size_t cap, const int64_t *dims, uint32_t n, int64_t unknown)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++)
        at +=
            (size_t)(dims[i] == unknown ? snprintf(out + at, cap - at, "%s?", i ? "," : "")
                                        : snprintf(out + at, cap - at, "%s%" PRId64, i ? "," : "", dims[i]));
}

/* "2,?,64"; "none" for an unknown rank, "scalar" for rank 0. */
static const char *shape(const char *name)
{
    static char text[512];
    struct fact x = fact_of(name);
    const struct ir_shape *s = fact_shape(&b.s.facts, x);
    if (x.shape == IR_SHAPE_UNKNOWN)
        return "none";
    if (s->rank == 0)
        return "scalar";
    dims_text(text, sizeof text, s->dims, s->rank, IR_DIM_UNKNOWN);
    return text;
}

/* Elements, "none" when they are not known. */
static const char *ints(const char *name)
{
    static char text[512];
    struct fact x = fact_of(name);
    if (!x.ints)
        return "none";
    dims_text(text, sizeof text, b.s.facts.ints + x.ints, (uint32_t)b.s.facts.ints[x.ints - 1],
              FACT_INT_UNKNOWN);
    return text;
}

/* Dimensions from slowest to fastest, "dense" when in order; then " gaps" and " guessed". */
static const char *layout(const char *name)
{
    static char text[512];
    struct fact x = fact_of(name);
    const struct ir_shape *o = &b.m.shapes[x.order];
    if (x.order)
        dims_text(text, sizeof text, o->dims, o->rank, -1);
    else
        snprintf(text, sizeof text, "dense");
    if (x.gaps)
        strcat(text, " gaps");
    if (x.guessed)
        strcat(text, " guessed");
    return text;
}

#define assert_shape(name, want) assert_text(shape(name), want)
#define assert_ints(name, want)  assert_text(ints(name), want)

static bool contiguous(const char *name)
{
    return fact_contiguous(&b.s.facts, fact_of(name));
}

/* ---- leaves ---- */

Test(facts, leaves)
{
    bench_add(&b, "in x f32[2,?,64]\nin y\nparam w f32[8,4]\nparam s i64[2]{3,-1}\n"
                  "z = Relu(x)\nq = local::Unheard(x)\nr = Reshape(x,s)\nout z");
    run();
    assert_shape("x", "2,?,64");
    assert_shape("y", "none");
    assert_shape("w", "8,4");
    assert_ints("s", "3,-1");
    assert_shape("z", "2,?,64");
    assert_shape("q", "none");
    assert_ints("x", "none");
}

/* value_info is believed where nothing is inferred, and fills in dims; never against what follows from
 * operands. */
Test(facts, value_info)
{
    bench_add(&b, "in x f32[2,?]\nq = local::Unheard(x)\ninfo q f32[3,4]\n"
                  "r = Relu(x)\ninfo r f32[9,5]\nt = Relu(x)\ninfo t f32[2,3,4]\nout r");
    run();
    assert_shape("q", "3,4");
    assert_shape("r", "2,5");
    assert_shape("t", "2,?");
}

/* ---- elementwise ---- */

Test(facts, unary)
{
    bench_add(&b, "in x f32[2,3]\nin i i64[2]");
    static const char *const ops[] = {"Abs",
                                      "Cast",
                                      "Ceil",
                                      "Clip",
                                      "Dropout",
                                      "Erf",
                                      "Exp",
                                      "Gelu",
                                      "Identity",
                                      "Log",
                                      "Neg",
                                      "Relu",
                                      "Sin",
                                      "Softmax",
                                      "Sigmoid",
                                      "Sqrt",
                                      "Tanh",
                                      "Trilu",
                                      "LayerNormalization",
                                      "CumSum",
                                      "BatchNormalization",
                                      "HardSwish",
                                      "Elu"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        bench_add(&b, "y%zu = %s(x)", i, ops[i]);
    bench_add(&b, "out y0");
    run();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%zu", i);
        cr_assert_str_eq(shape(name), "2,3", "%s", ops[i]);
    }
}

Test(facts, broadcasting)
{
    bench_add(&b, "in a f32[2,1,4]\nin c f32[3,1]\nin d f32[?,4]\nin s f32[]\nin u\nin e f32[1,4]\n"
                  "y = Add(a,c)\nz = Mul(a,d)\nq = Sub(s,c)\nr = Add(a,u)\nt = Where(c,a,s)\nv = Div(d,e)\nw "
                  "= Pow(a,s)\n"
                  "x = Max(a,c,d)\nout y");
    run();
    assert_shape("y", "2,3,4");
    assert_shape("z", "2,?,4"); /* 1 and an unknown: the unknown */
    assert_shape("q", "3,1");
    assert_shape("r", "none");
    assert_shape("t", "2,3,4");
    assert_shape("v", "?,4"); /* unknown and 1 */
    assert_shape("w", "2,1,4");
    assert_shape("x", "2,3,4");
}

/* An unknown dim and one that is not 1: must be that one. */
Test(facts, broadcasting_tells_dims)
{
    bench_add(&b, "in a f32[?,4]\nin c f32[3,?]\ny = Add(a,c)\nout y");
    run();
    assert_shape("y", "3,4");
}

Test(facts, comparisons_have_no_gradient)
{
    bench_add(
        &b,
        "in x f32[2,3]\nparam w f32[3]\na = Add(x,w)\nc = Greater(a,x)\nd = Cast(a) to=7\ne = Cast(a) to=10\n"
        "out c\nout d\nout e");
    run();
    assert_shape("c", "2,3");
    cr_assert(fact_of("a").grad);
    cr_assert(!fact_of("c").grad);
    cr_assert(!fact_of("d").grad, "to integers");
    cr_assert(fact_of("e").grad, "to half");
}

/* ---- products ---- */

Test(facts, matmul)
{
    bench_add(&b, "in x f32[2,5,8]\nin v f32[8]\nin w f32[8,4]\nin z f32[3,1,8,6]\nin u\n"
                  "a = MatMul(x,w)\nc = MatMul(x,v)\nd = MatMul(v,w)\ne = MatMul(v,v)\nf = MatMul(x,z)\ng = "
                  "MatMul(x,u)\n"
                  "h = Gemm(w,x) transA=1\nout a");
    run();
    assert_shape("a", "2,5,4");
    assert_shape("c", "2,5");
    assert_shape("d", "4");
    assert_shape("e", "scalar");
    assert_shape("f", "3,2,5,6");
    assert_shape("g", "none");
}

Test(facts, gemm_and_fused)
{
    bench_add(
        &b, "in x f32[5,8]\nin w f32[4,8]\nin k f32[2,3,5,8]\nin q f32[2,3,7,8]\n"
            "a = Gemm(x,w) transB=1\nc = com.microsoft::FusedMatMul(q,k) transB=1\n"
            "d = com.microsoft::FusedMatMul(k,k) transA=1\ne = com.microsoft::TransposeMatMul(x,w) transB=1\n"
            "f = com.microsoft::FusedGemm(x,w) transB=1\nout a");
    run();
    assert_shape("a", "5,4");
    assert_shape("c", "2,3,7,5");
    assert_shape("d", "2,3,8,8");
    assert_shape("e", "5,4");
    assert_shape("f", "5,4");
}

Test(facts, einsum)
{
    bench_add(&b, "in x f32[5,8]\nin w f32[8,4]\na = Einsum(x,w) equation=`ij,jk->ik`\n"
                  "c = Einsum(x,w) equation=`i j, j k -> k i j`\nd = Einsum(x,w) equation=`...j,jk->...k`\n"
                  "e = Einsum(x,w) equation=`ij,jk`\nout a");
    run();
    assert_shape("a", "?,?");
    assert_shape("c", "?,?,?");
    assert_shape("d", "none");
    assert_shape("e", "none");
}

/* ---- views ---- */

Test(facts, transpose)
{
    bench_add(&b,
              "in x f32[2,3,4]\nin u\na = Transpose(x) perm=[0,2,1]\nc = Transpose(x)\nd = Transpose(u) "
              "perm=[1,0]\n"
              "e = Transpose(x) perm=[0,1]\nf = Transpose(x) perm=[0,0,1]\ng = Transpose(x) perm=[0,1,5]\n"
              "h = Transpose(a) perm=[0,2,1]\nk = Transpose(u)\nout a");
    run();
    assert_shape("a", "2,4,3");
    assert_text(layout("a"), "0,2,1 guessed");
    assert_shape("c", "4,3,2");
    assert_text(layout("c"), "2,1,0 guessed");
    assert_shape("d", "?,?");
    assert_shape("e", "none"); /* nonsense */
    assert_shape("f", "none");
    assert_shape("g", "none");
    assert_shape("h", "2,3,4");
    assert_text(layout("h"), "dense guessed"); /* there and back */
    assert_shape("k", "none");
    cr_assert(!contiguous("a"));
    cr_assert(contiguous("h"));
}

/* A dimension of one element may lie anywhere. */
Test(facts, transpose_of_ones)
{
    bench_add(&b, "in x f32[2,1,4]\na = Transpose(x) perm=[1,0,2]\nout a");
    run();
    assert_shape("a", "1,2,4");
    cr_assert(contiguous("a"));
}

Test(facts, reshape)
{
    bench_add(
        &b, "in x f32[2,3,4]\nin u\nin d f32[?,6]\nin rank2 i64[2]\n"
            "param s1 i64[2]{6,-1}\nparam s2 i64[3]{0,0,-1}\nparam s3 i64[1]{-1}\nparam s4 i64[4]{0,2,-1,0}\n"
            "param s5 i64[2]{-1,3}\n"
            "a = Reshape(x,s1)\nc = Reshape(x,s2)\ne = Reshape(x,s3)\nf = Reshape(u,s1)\ng = Reshape(d,s5)\n"
            "h = Reshape(x,rank2)\nk = Reshape(x,s4)\nl = Reshape(u,s2)\nm = Reshape(u,u)\nout a");
    run();
    assert_shape("a", "6,4");
    assert_shape("c", "2,3,4");
    assert_shape("e", "24");
    assert_shape("f", "6,?");
    assert_shape("g", "?,3");
    assert_shape("h", "?,?");
    assert_shape("k", "2,2,?,?"); /* 0 at a position that the input lacks: nonsense, but the rank is told */
    assert_shape("l", "?,?,?");
    assert_shape("m", "none");
}

/* The dimension kept by 0 cancels, whatever it is. */
Test(facts, reshape_keeps_unknown_dims)
{
    bench_add(&b, "in x f32[?,8,6]\nparam s i64[4]{0,0,2,-1}\na = Reshape(x,s)\nparam t i64[3]{0,-1,6}\nc = "
                  "Reshape(x,t)\n"
                  "out a\nout c");
    run();
    assert_shape("a", "?,8,2,3");
    assert_shape("c", "?,8,6");
}

/* Opset 1 and 5: shape as an attribute; allowzero of opset 14. */
Test(facts, reshape_variants)
{
    bench_add(&b, "in x f32[2,0,4]\nin y f32[2,3]\nparam s i64[2]{0,3}\na = Reshape(y) shape=[3,-1]\n"
                  "c = Reshape(x,s) allowzero=1\nout a");
    run();
    assert_shape("a", "3,2");
    assert_shape("c", "0,3");
}

Test(facts, flatten)
{
    bench_add(&b, "in x f32[2,3,4]\nin u\na = Flatten(x)\nc = Flatten(u) axis=2\nout a");
    run();
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("a"))->rank, 2);
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("c"))->rank, 2);
}

Test(facts, unsqueeze_and_squeeze)
{
    bench_add(
        &b,
        "in x f32[2,3]\nin y f32[1,2,1]\nin d f32[?,1]\nin u\nparam ax i64[2]{0,-1}\nparam one i64[1]{1}\n"
        "a = Unsqueeze(x,ax)\nc = Unsqueeze(x) axes=[1]\ne = Squeeze(y,ax)\nf = Squeeze(y) axes=[0]\n"
        "g = Squeeze(y)\nh = Squeeze(d)\nk = Squeeze(d,one)\nl = Unsqueeze(u,ax)\nm = Squeeze(y,u)\n"
        "n = Unsqueeze(x) axes=[7]\nout a");
    run();
    assert_shape("a", "1,2,3,1");
    assert_shape("c", "2,1,3");
    assert_shape("e", "2");
    assert_shape("f", "2,1");
    assert_shape("g", "2");
    assert_shape("h", "none"); /* is the unknown one 1? */
    assert_shape("k", "?");
    assert_shape("l", "none");
    assert_shape("m", "none");
    assert_shape("n", "none");
}

Test(facts, slice)
{
    bench_add(&b, "in x f32[10,8]\nin d f32[?,8]\nin u i64[1]\n"
                  "param i0 i64[1]{0}\nparam i2 i64[1]{2}\nparam i5 i64[1]{5}\nparam i1 i64[1]{1}\nparam m1 "
                  "i64[1]{-1}\n"
                  "param m3 i64[1]{-3}\nparam big i64[1]{9223372036854775807}\nparam small "
                  "i64[1]{-9223372036854775807}\n"
                  "a = Slice(x,i2,i5,i0)\nc = Slice(x,i2,big,i1,i2)\ne = Slice(x,m3,big,i0)\nf = "
                  "Slice(x,m1,small,i0,m1)\n"
                  "g = Slice(x) starts=[1,2] ends=[4,-1]\nh = Slice(d,i2,i5,i0)\nk = Slice(x,u,i5,i0)\nl = "
                  "Slice(x,i2,i5,u)\n"
                  "m = Slice(d,i0,big,i0)\nn = Slice(x,i5,i2,i0)\nout a");
    run();
    assert_shape("a", "3,8");
    assert_shape("c", "10,3"); /* 2, 4, 6 */
    assert_shape("e", "3,8");
    assert_shape("f", "10,8"); /* backwards */
    assert_shape("g", "3,5");
    assert_shape("h", "?,8");
    assert_shape("k", "?,8");
    assert_shape("l", "?,?");
    assert_shape("m", "?,8");
    assert_shape("n", "0,8");
}

Test(facts, slice_layout)
{
    bench_add(&b, "in x f32[10,8]\nparam i0 i64[1]{0}\nparam i4 i64[1]{4}\nparam i1 i64[1]{1}\nparam big "
                  "i64[1]{2147483647}\n"
                  "param i2 i64[1]{2}\na = Slice(x,i0,i4,i0)\nc = Slice(x,i0,i4,i1)\nd = Slice(x,i0,big,i1)\n"
                  "e = Slice(x,i0,big,i0,i2)\nout a");
    run();
    assert_text(layout("a"), "dense"); /* the first rows */
    cr_assert(contiguous("a"));
    assert_text(layout("c"), "dense gaps"); /* the first columns */
    cr_assert(!contiguous("c"));
    assert_text(layout("d"), "dense");      /* all of it */
    assert_text(layout("e"), "dense gaps"); /* every second row */
}

Test(facts, split)
{
    bench_add(&b, "in x f32[4,6]\nin d f32[?,7]\nparam s i64[2]{2,4}\nin u i64[2]\n"
                  "a,a2 = Split(x,s) axis=1\nc,c2 = Split(x) axis=1 split=[1,5]\ne,e2,e3 = Split(x) axis=1\n"
                  "f,f2 = Split(d) axis=0\ng,g2 = Split(x,u) axis=1\nh,h2 = Split(d) axis=-1\nout a");
    run();
    assert_shape("a", "4,2");
    assert_shape("a2", "4,4");
    assert_shape("c", "4,1");
    assert_shape("c2", "4,5");
    assert_shape("e3", "4,2");
    assert_shape("f2", "?,7");
    assert_shape("g", "4,?");
    assert_shape("h", "?,?"); /* 7 in 2 uneven parts */
    assert_text(layout("e2"), "dense gaps");
    assert_text(layout("f2"), "dense");
}

Test(facts, gather)
{
    bench_add(&b, "in x f32[10,8]\nin ids i64[2,5]\nin d f32[?,8]\nparam i i64[]{3}\nparam v i64[1]{3}\n"
                  "a = Gather(x,ids)\nc = Gather(x,i)\ne = Gather(x,i) axis=1\nf = Gather(x,v) axis=-1\n"
                  "g = Gather(d,ids) axis=0\nh = Gather(x,i) axis=2\nout a");
    run();
    assert_shape("a", "2,5,8");
    assert_shape("c", "8");
    assert_text(layout("c"), "dense"); /* a row */
    assert_shape("e", "10");
    assert_text(layout("e"), "dense gaps"); /* a column */
    assert_shape("f", "10,1");
    assert_text(layout("f"), "dense"); /* copied */
    assert_shape("g", "2,5,8");
    assert_shape("h", "none");
}

/* Expert i of stacked weights: rank 2. */
Test(facts, expert_of_a_stack)
{
    bench_add(
        &b, "param w f32[4,16,32]\nparam i i64[]{2}\na = Gather(w,i)\nparam s i64[1]{1}\nparam e i64[1]{2}\n"
            "param z i64[1]{0}\nc = Slice(w,s,e,z)\nd = Squeeze(c,z)\nout a");
    run();
    assert_shape("a", "16,32");
    assert_shape("c", "1,16,32");
    assert_shape("d", "16,32");
    cr_assert(fact_of("d").fixed);
    cr_assert(fact_of("d").grad);
}

Test(facts, concat)
{
    bench_add(
        &b,
        "in x f32[2,3]\nin y f32[2,4]\nin d f32[?,3]\nin u\na = Concat(x,y) axis=1\nc = Concat(x,d) axis=0\n"
        "e = Concat(x,u) axis=-1\nf = Concat(u,x) axis=0\nout a");
    run();
    assert_shape("a", "2,7");
    assert_shape("c", "?,3");
    assert_shape("e", "2,?");
    assert_shape("f", "?,3");
}

Test(facts, expand)
{
    bench_add(&b, "in x f32[2,1]\nparam s i64[3]{4,1,3}\nin r i64[3]\nparam same i64[2]{2,1}\n"
                  "a = Expand(x,s)\nc = Expand(x,r)\nd = Expand(x,same)\nout a");
    run();
    assert_shape("a", "4,2,3");
    assert_text(layout("a"), "dense gaps"); /* strides of 0 */
    assert_shape("c", "?,?,?");
    assert_shape("d", "2,1");
    assert_text(layout("d"), "dense");
}

Test(facts, tile_and_onehot_and_others)
{
    bench_add(&b,
              "in x f32[2,3]\nin i i64[4]\nin dep i64[]\nin vals f32[2]\nparam rep i64[2]{3,1}\nin k i64[1]\n"
              "param k2 i64[1]{2}\n"
              "a = Tile(x,rep)\nc = OneHot(i,dep,vals)\nd,d2 = TopK(x,k)\ne,e2 = TopK(x,k2) axis=0\nf = "
              "NonZero(x)\n"
              "g = ArgMax(x) axis=1\nh = ArgMax(x) axis=1 keepdims=0\nj = Range(dep,dep,dep)\nl = Size(x)\n"
              "m = GatherElements(x,d2) axis=1\nn = GatherND(x,e2)\nout a");
    run();
    assert_shape("a", "6,3");
    assert_shape("c", "?,?");
    assert_shape("d", "2,?");
    assert_shape("d2", "2,?");
    assert_shape("e", "2,3");
    assert_shape("e2", "2,3");
    assert_shape("f", "2,?");
    assert_shape("g", "2,1");
    assert_shape("h", "2");
    assert_shape("j", "?");
    assert_shape("l", "scalar");
    assert_shape("m", "2,?");
}

Test(facts, reductions)
{
    bench_add(
        &b,
        "in x f32[2,3,4]\nparam ax i64[1]{-1}\nin u i64[1]\nparam none i64[0]\n"
        "a = ReduceSum(x,ax)\nc = ReduceSum(x,ax) keepdims=0\nd = ReduceMean(x) axes=[0,2] keepdims=0\n"
        "e = ReduceMax(x)\nf = ReduceMax(x) keepdims=0\ng = ReduceSum(x,u)\nh = ReduceSum(x,u) keepdims=0\n"
        "k = ReduceSum(x) noop_with_empty_axes=1\nl = ReduceL2(x) axes=[1]\nm = ReduceProd(x) axes=[9]\nout "
        "a");
    run();
    assert_shape("a", "2,3,1");
    assert_shape("c", "2,3");
    assert_shape("d", "3");
    assert_shape("e", "1,1,1");
    assert_shape("f", "scalar");
    assert_shape("g", "?,?,?");
    assert_shape("h", "none");
    assert_shape("k", "2,3,4");
    assert_shape("l", "2,1,4");
    assert_shape("m", "none");
}

Test(facts, spatial)
{
    bench_add(&b, "in x f32[2,3,32,32]\nparam w f32[16,3,3,3]\na = Conv(x,w)\nc = MaxPool(x)\nd = "
                  "GlobalAveragePool(x)\n"
                  "e = Resize(x)\nf = Pad(x)\ng = AveragePool(x)\nout a");
    run();
    assert_shape("a", "2,16,30,30");
    assert_shape("c", "?,?,?,?");
    assert_shape("e", "?,?,?,?");
    assert_shape("f", "?,?,?,?");
    assert_shape("g", "?,?,?,?");
}

/* ---- shape arithmetic ---- */

Test(facts, shape_of_shape)
{
    bench_add(&b, "in x f32[2,?,64]\nin u\ns = Shape(x)\nt = Shape(x) start=1\nv = Shape(x) start=-2 "
                  "end=-1\nq = Shape(u)\n"
                  "out s");
    run();
    assert_ints("s", "2,?,64");
    assert_shape("s", "3");
    assert_ints("t", "?,64");
    assert_ints("v", "?");
    assert_ints("q", "none");
}

/* What exporters write for x.view(x.size(0), -1, 4, 16). */
Test(facts, shapes_are_computed)
{
    bench_add(&b, "in x f32[2,5,64]\nparam i0 i64[]{0}\nparam ax i64[1]{0}\ns = Shape(x)\ng = Gather(s,i0)\n"
                  "c4 = Constant() value=i64[1]{4}\nc16 = Constant() value_ints=[16]\nm1 = Constant() "
                  "value=i64[1]{-1}\n"
                  "u = Unsqueeze(g,ax)\nv = Concat(u,m1,c4,c16) axis=0\ny = Reshape(x,v)\nout y");
    run();
    assert_ints("g", "2");
    assert_shape("g", "scalar");
    assert_ints("v", "2,-1,4,16");
    assert_shape("y", "2,5,4,16");
}

Test(facts, unknown_elements_stay_in_place)
{
    bench_add(&b, "in x f32[?,5,64]\nin n i64[1]\nparam i0 i64[1]{0}\ns = Shape(x)\ng = Gather(s,i0)\n"
                  "c = Constant() value=i64[2]{8,8}\nv = Concat(g,c,n) axis=0\ny = Reshape(x,v)\nout y");
    run();
    assert_ints("v", "?,8,8,?");
    assert_shape("y", "?,8,8,?");
}

Test(facts, integer_arithmetic)
{
    bench_add(
        &b,
        "param a i64[2]{6,7}\nparam c i64[1]{3}\nparam z i64[1]{0}\nparam e i64[2]{9223372036854775807,1}\n"
        "s = Add(a,c)\nd = Sub(a,c)\nm = Mul(a,c)\nq = Div(a,c)\nn = Min(a,c)\nx = Max(a,c)\n"
        "o = Add(e,c)\nv = Div(a,z)\nout s");
    run();
    assert_ints("s", "9,10");
    assert_ints("d", "3,4");
    assert_ints("m", "18,21");
    assert_ints("q", "2,2");
    assert_ints("n", "3,3");
    assert_ints("x", "6,7");
    assert_ints("o", "?,4"); /* overflow */
    assert_ints("v", "?,?"); /* division by zero */
}

Test(facts, slices_of_shapes)
{
    bench_add(
        &b,
        "in x f32[2,3,4,5]\nparam i0 i64[1]{0}\nparam i1 i64[1]{1}\nparam m1 i64[1]{-1}\nparam i2 i64[1]{2}\n"
        "param big i64[1]{9223372036854775807}\nparam low i64[1]{-9223372036854775807}\n"
        "s = Shape(x)\na = Slice(s,i0,m1,i0)\nc = Slice(s,m1,big,i0)\nd = Slice(s,i0,big,i0,i2)\n"
        "e = Slice(s,m1,low,i0,m1)\nf = Cast(a) to=7\ng = Squeeze(c,i0)\nout a");
    run();
    assert_ints("a", "2,3,4");
    assert_ints("c", "5");
    assert_ints("d", "2,4");
    assert_ints("e", "5,4,3,2");
    assert_ints("f", "2,3,4");
    assert_ints("g", "5");
    assert_shape("g", "scalar");
}

Test(facts, gathers_of_shapes)
{
    bench_add(&b, "in x f32[2,3,4]\nparam p i64[2]{-1,0}\nparam o i64[1]{7}\ns = Shape(x)\na = "
                  "Gather(s,p)\nc = Gather(s,o)\n"
                  "out a");
    run();
    assert_ints("a", "4,2");
    assert_ints("c", "?"); /* out of range */
}

Test(facts, constants)
{
    bench_add(&b, "a = Constant() value=f32[3,4]\nc = Constant() value=i64[]{5}\nd = Constant() value_int=7\n"
                  "e = Constant() value_ints=[1,2,3]\nf = Constant() value_float=1.5\ng = Constant() "
                  "value=i64[2]{8,9}\n"
                  "h = ConstantOfShape(g)\nk = ConstantOfShape(e) value=i64[1]{1}\nparam n i64[1]{2}\n"
                  "l = ConstantOfShape(n) value=i64[1]{6}\nm = ConstantOfShape(n)\nout a");
    run();
    assert_shape("a", "3,4");
    assert_ints("a", "none");
    assert_ints("c", "5");
    assert_shape("c", "scalar");
    assert_ints("d", "7");
    assert_ints("e", "1,2,3");
    assert_shape("f", "scalar");
    assert_shape("h", "8,9");
    assert_shape("k", "1,2,3");
    assert_ints("l", "6,6");
    cr_assert(fact_of("a").fixed);
    assert_shape("m", "2");
}

/* ConstantOfShape without a value is float zeros; -1 of one times Mul/Equal/Where is torch's Expand idiom. */
Test(facts, expand_idiom)
{
    bench_add(&b, "in x f32[1,5]\nparam three i64[1]{2}\nparam want i64[2]{4,-1}\nparam m1 i64[]{-1}\n"
                  "ones = ConstantOfShape(three) value=i64[1]{1}\nneg = Mul(ones,m1)\neq = Equal(want,neg)\n"
                  "s = Where(eq,ones,want)\ny = Expand(x,s)\nout y");
    run();
    assert_ints("neg", "-1,-1");
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("y"))->rank, 2, "the rank is known");
}

/* ---- bodies ---- */

Test(facts, branches)
{
    bench_add(
        &b, "in x f32[2,3]\nin k bool[]\nI: y,z = If(k)\n"
            "body then_branch\na = Relu(x)\na2 = Relu(x)\nout a\nout a2\nend\n"
            "body else_branch\nc = Neg(x)\nc2 = Transpose(x)\nout c\nout c2\nend\nr = Relu(y)\nout r\nout z");
    run();
    assert_shape("a", "2,3");
    assert_shape("r", "2,3");
    assert_shape("z", "none"); /* they disagree */
}

Test(facts, loops)
{
    bench_add(&b, "in x f32[2,3]\nparam n i64[]{4}\nparam c bool[]\ny,scan = Loop(n,c,x)\n"
                  "body body\nin i i64[]\nin k bool[]\nin s\nt = Relu(s)\nko = Identity(k)\nq = Relu(t)\n"
                  "out ko\nout t\nout q\nend\nout y\nout scan");
    run();
    assert_shape("s", "?,?"); /* of the rank that is carried in; the next iteration may carry other dims */
    assert_shape("t", "?,?");
    assert_shape("y", "?,?");
    assert_shape("scan", "none"); /* stacked, one dimension more */
}

/* What the body's own type says of a carried value is believed. */
Test(facts, loops_with_types)
{
    bench_add(&b, "in x f32[2,3]\nparam n i64[]{4}\nparam c bool[]\nparam w f32[3,3]\ny = Loop(n,c,x)\n"
                  "body body\nin i i64[]\nin k bool[]\nin s f32[2,3]\nt = MatMul(s,w)\nko = Identity(k)\n"
                  "out ko\nout t\nend\nout y");
    run();
    assert_shape("t", "2,3");
    assert_shape("y", "2,3");
}

Test(facts, loops_in_loops)
{
    bench_add(
        &b, "in x f32[2,3]\nparam n i64[]{4}\nparam c bool[]\ny = Loop(n,c,x)\n"
            "body body\nin i i64[]\nin k bool[]\nin s\nko = Identity(k)\n"
            "z = Loop(n,c,s)\nbody body\nin i2 i64[]\nin k2 bool[]\nin s2\nko2 = Identity(k2)\nt = Relu(s2)\n"
            "out ko2\nout t\nend\nout ko\nout z\nend\nout y");
    run();
    assert_shape("s2", "?,?");
    assert_shape("y", "?,?");
}

/* A carried value that grows: the shape of the first iteration is no promise. */
Test(facts, loops_that_grow)
{
    bench_add(&b, "in x f32[2,3]\nparam n i64[]{4}\nparam c bool[]\ny = Loop(n,c,x)\n"
                  "body body\nin i i64[]\nin k bool[]\nin s\nt = Concat(s,s) axis=0\nko = Identity(k)\nout "
                  "ko\nout t\nend\n"
                  "z = Relu(y)\nout z");
    run();
    cr_assert_str_neq(shape("s"), "2,3", "the second iteration gets another shape");
    cr_assert_str_neq(shape("z"), "4,3");
}

Test(facts, scans)
{
    bench_add(&b, "in x f32[5,2,3]\nin h f32[2,3]\ny,ys = Scan(h,x) num_scan_inputs=1\n"
                  "body body\nin a\nin e\nt = Add(a,e)\nu = Relu(t)\nout t\nout u\nend\nout y\nout ys");
    run();
    assert_shape("ys", "none");
}

Test(facts, functions)
{
    bench_add(
        &b, "in x f32[2,8]\nin z f32[5,8]\nparam w f32[4,8]\ny = local::Linear(x,w)\nv = local::Linear(z,w)\n"
            "r = Relu(y)\nq = Relu(v)\nout r\nout q\n"
            "function local::Linear(a,b) -> (c)\nt = Transpose(b)\nc = MatMul(a,t)\nend");
    run();
    assert_shape("r", "2,4");
    assert_shape("q", "5,4"); /* each call has facts of its own */
}

/* ---- layouts ---- */

Test(facts, elementwise_keeps_the_order)
{
    bench_add(&b, "in x f32[2,3,4]\nparam w f32[3]\nt = Transpose(x) perm=[0,2,1]\na = Relu(t)\nc = "
                  "Add(t,w)\nd = Softmax(t)\n"
                  "e = LayerNormalization(t,w)\nf = Add(w,t)\ng = Mul(x,x)\nh = Where(t,w,w)\nout a");
    run();
    assert_text(layout("a"), "0,2,1 guessed");
    assert_text(layout("c"), "0,2,1 guessed");
    assert_text(layout("d"), "dense"); /* writes a new one */
    assert_text(layout("e"), "dense");
    assert_text(layout("f"), "0,2,1 guessed");
    assert_text(layout("g"), "dense");
}

/* A dim that is not known keeps no operand from being the whole. */
Test(facts, the_first_whole_operand_gives_the_order)
{
    bench_add(&b, "in x f32[2,8,?]\nin p f32[7,1,8]\nin z f32[7,2,8]\nt = Transpose(x) perm=[2,0,1]\n"
                  "a = Add(t,p)\nc = Add(t,z)\nd = Add(z,t)\nout a\nout c\nout d");
    run();
    cr_assert(!contiguous("a"));
    cr_assert(!contiguous("c"));
    cr_assert(contiguous("d"));
}

/* Rows and columns of an image lie together: merging them is a view, also with a batch that is not known.
 * Merging others, or splitting what was merged by a copy, is none. */
Test(facts, a_reshape_that_needs_no_copy_is_a_view)
{
    bench_add(&b, "in x f32[2,3,4,5]\nin y f32[?,3,4,5]\nparam s i64[3]{2,20,3}\nparam m i64[3]{-1,20,3}\n"
                  "param q i64[2]{8,15}\nparam p i64[5]{2,2,2,5,3}\n"
                  "t = Transpose(x) perm=[0,2,3,1]\nu = Transpose(y) perm=[0,2,3,1]\na = Reshape(t,s)\n"
                  "c = Reshape(u,m)\nd = Reshape(t,q)\ne = Reshape(t,p)\nout a\nout c\nout d\nout e");
    run();
    assert_text(layout("a"), "0,2,1 guessed");
    assert_text(layout("c"), "0,2,1 guessed");
    assert_text(layout("d"), "dense guessed");
    assert_text(layout("e"), "0,4,1,2,3 guessed");
}

/* An image with its channels last stays so; a sequence is laid anew. */
Test(facts, convolutions_keep_channels_last)
{
    bench_add(
        &b,
        "in x f32[2,6,6,3]\nin z f32[2,6,3]\nparam w f32[8,3,3,3]\nparam v f32[8,3,3]\n"
        "t = Transpose(x) perm=[0,3,1,2]\nu = Transpose(z) perm=[0,2,1]\n"
        "a = Conv(t,w) pads=[1,1,1,1] strides=[2,2]\nc = MaxPool(t)\nd = Conv(u,v) dilations=[2]\nout a\nout c\nout d");
    run();
    assert_shape("a", "2,8,3,3");
    assert_shape("d", "2,8,2");
    assert_text(layout("a"), "0,2,3,1 guessed");
    assert_text(layout("c"), "0,2,3,1 guessed");
    assert_text(layout("d"), "dense");
}

/* What an einsum's bmm writes, as PyTorch 2.6 lays it. */
Test(facts, einsum_lays_batch_left_right)
{
    bench_add(&b,
              "in x f32[2,3,4,5]\nin y f32[2,6,4,5]\nin z f32[5,7]\n"
              "a = Einsum(x,y) equation=`bikc,bjkc->bijc`\nc = Einsum(x,z) equation=`bikc,cd->bikd`\n"
              "d = Einsum(z,x) equation=`cd,bikc->bikd`\ne = Einsum(x,y) equation=`bikc,bjkc->bijkc`\nout a");
    run();
    assert_text(layout("a"), "0,3,1,2");
    assert_text(layout("c"), "dense");
    assert_text(layout("d"), "3,0,1,2");
    assert_text(layout("e"), "dense");
}

/* What is repeated without a copy says nothing of the order. */
Test(facts, an_expanded_operand_gives_no_order)
{
    bench_add(&b, "in x f32[1,5,8]\nin z f32[5,2,8]\nparam n i64[3]{2,5,8}\ne = Expand(x,n)\n"
                  "t = Transpose(z) perm=[1,0,2]\na = Add(e,t)\nc = Add(e,e)\nout a\nout c");
    run();
    cr_assert(!contiguous("a"));
    cr_assert(contiguous("c"));
}

/* nn.LayerNorm before opset 17. PyTorch's kernel writes a dense tensor whatever its input; the same written
 * by hand, with another x or another square, divides elementwise and keeps the order. */
Test(facts, a_layer_norm_in_pieces_is_dense)
{
    bench_add(&b, "in x f32[2,3,4]\nin o f32[2,4,3]\nparam two i64[1]{2}\nparam eps f32[1]\n"
                  "t = Transpose(x) perm=[0,2,1]\nm = ReduceMean(t) axes=[-1]\nd = Sub(t,m)\np = Pow(d,two)\n"
                  "v = ReduceMean(p) axes=[-1]\ns = Add(v,eps)\nr = Sqrt(s)\na = Div(d,r)\n"
                  "other = Sub(t,o)\nc = Div(other,r)\nq = Pow(t,two)\nw = ReduceMean(q) axes=[-1]\n"
                  "z = Add(w,eps)\nk = Sqrt(z)\ne = Div(d,k)\nf = Div(d,s)\nout a\nout c\nout e\nout f");
    run();
    assert_shape("a", "2,4,3");
    assert_text(layout("d"), "0,2,1 guessed");
    assert_text(layout("a"), "dense guessed");
    cr_assert(contiguous("a"));
    assert_text(layout("c"), "0,2,1 guessed"); /* not x - mean(x) */
    assert_text(layout("e"), "0,2,1 guessed"); /* not its square */
    assert_text(layout("f"), "0,2,1 guessed"); /* no root */
}

Test(facts, reshape_of_a_transpose_copies)
{
    bench_add(&b, "in x f32[2,3,4,5]\nparam s i64[3]{0,0,-1}\nt = Transpose(x) perm=[0,2,1,3]\na = "
                  "Reshape(t,s)\nout a");
    run();
    assert_shape("a", "2,4,15");
    assert_text(layout("a"), "dense guessed");
    cr_assert(contiguous("a"));
}

Test(facts, products_are_dense)
{
    bench_add(
        &b,
        "in x f32[2,3,4]\nparam w f32[4,6]\nt = Transpose(x) perm=[0,2,1]\nv = Transpose(t) perm=[0,2,1]\n"
        "a = MatMul(v,w)\nc = MatMul(t,x)\nout a");
    run();
    assert_text(layout("a"), "dense");
    assert_text(layout("c"), "dense");
}

Test(facts, squeeze_keeps_the_order)
{
    bench_add(&b,
              "in x f32[2,1,3,4]\nparam ax i64[1]{1}\nt = Transpose(x) perm=[0,1,3,2]\na = Squeeze(t,ax)\n"
              "c = Unsqueeze(a,ax)\nout a");
    run();
    assert_shape("a", "2,4,3");
    assert_text(layout("a"), "0,2,1 guessed");
    assert_shape("c", "2,1,4,3");
    cr_assert(!contiguous("c"));
}

/* ---- gradients ---- */

Test(facts, gradients)
{
    bench_add(&b, "in x f32[2,3]\nparam w f32[3,4]\nparam n i64[3]\nparam h f16[3]\na = MatMul(x,w)\nc = "
                  "Relu(x)\nd = Add(n,n)\n"
                  "e = Shape(a)\nf = ArgMax(a)\ng = Relu(h)\nout a");
    run();
    cr_assert(fact_of("a").grad);
    cr_assert(!fact_of("c").grad, "no parameter has a say");
    cr_assert(!fact_of("d").grad, "integers");
    cr_assert(!fact_of("e").grad);
    cr_assert(!fact_of("f").grad);
    cr_assert(fact_of("g").grad);
    cr_assert(!fact_of("a").fixed);
    cr_assert(fact_of("d").fixed);
    cr_assert(fact_of("w").fixed);
    cr_assert(!fact_of("x").fixed);
}

/* What a body computes depends on more than its node's operands. */
Test(facts, gradients_through_branches)
{
    bench_add(&b,
              "in x f32[2,3]\nparam w f32[3,3]\nparam k bool[]\ny = If(k)\n"
              "body then_branch\na = MatMul(x,w)\nout a\nend\nbody else_branch\nc = Identity(x)\nout c\nend\n"
              "z = Relu(y)\nout z");
    run();
    cr_assert(fact_of("y").grad);
    cr_assert(fact_of("z").grad);
    cr_assert(!fact_of("y").fixed, "the condition is fixed, the input is not");
    cr_assert(!fact_of("z").fixed);
}

/* Weights as graph inputs: told by their names; dotted activations are none. */
Test(facts, inputs_that_are_parameters)
{
    bench_add(&b, "in x f32[2,3]\nin layers.0.wq.weight f32[4,3]\nin layers.0.scale f32[3]\n"
                  "in past_key_values.0.key f32[2,3]\nin layers.0.dyn f32[?]\na = Relu(x)\nout a");
    run();
    cr_assert(fact_of("layers.0.wq.weight").fixed);
    cr_assert(fact_of("layers.0.wq.weight").grad);
    cr_assert(fact_of("layers.0.scale").fixed, "beside a weight");
    cr_assert(!fact_of("past_key_values.0.key").fixed);
    cr_assert(!fact_of("layers.0.dyn").fixed, "parameters have no symbolic dims");
}

/* ---- bounds ---- */

Test(facts, high_ranks)
{
    bench_add(
        &b,
        "in x "
        "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\nparam ax i64[1]{0}\na = Unsqueeze(x,ax)\nc = Squeeze(x,ax)\n"
        "d = OneHot(x,ax,ax)\nout a");
    run();
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("x"))->rank, 64);
    assert_shape("a", "none"); /* 65 */
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("c"))->rank, 63);
    assert_shape("d", "none");
}

Test(facts, hostile_numbers)
{
    bench_add(
        &b,
        "in x f32[9223372036854775807,9223372036854775807]\nparam s i64[1]{-1}\nparam t i64[3]{-9,-1,-1}\n"
        "param i0 i64[1]{0}\nparam low i64[1]{-9223372036854775808}\nparam big i64[1]{9223372036854775807}\n"
        "a = Reshape(x,s)\nc = Reshape(x,t)\nd = Concat(x,x) axis=0\ne = Slice(x,low,big,i0)\n"
        "f = Slice(x,big,low,i0,low)\ng = Tile(x,big)\nh = Gather(x,big) axis=9223372036854775807\n"
        "k = Transpose(x) perm=[9223372036854775807,0]\nm = Flatten(x) axis=-9223372036854775808\n"
        "n = Shape(x) start=-9223372036854775808 end=9223372036854775807\no,o2 = Split(x) "
        "axis=-9223372036854775808\n"
        "p = GatherND(x,x) batch_dims=-9223372036854775808\nq = Squeeze(x,low)\nr = Unsqueeze(x,big)\n"
        "u = Slice(i0,low,big,i0,low)\nout a");
    run();
    assert_shape("a", "?");
    cr_assert_eq(fact_shape(&b.s.facts, fact_of("c"))->rank, 3);
    assert_shape("d", "?,9223372036854775807");
}
