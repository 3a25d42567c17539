#include "passes/aten.h"

#include "tests/unit/pt2_build.h"

#include <dirent.h>

/* One product as the tables of PyTorch's traces have it: "mm\t32x64". */
static void print_product(char *buf, size_t n, const struct aten_mm *p)
{
    static const char *const names[] = {"mm", "addmm", "bmm"};
    char batch[32] = "";
    if (p->kind == ATEN_KIND_BMM)
        snprintf(batch, sizeof batch, "%ldx", (long)p->batch);
    snprintf(buf, n, "%s\t%s%ldx%ld", names[p->kind], batch, (long)p->k, (long)p->n);
}

static void add_products(struct pb *out, struct ir_model *m, uint32_t graph)
{
    const struct ir_graph *g = &m->graphs[graph];
    for (uint32_t n = g->first_node; n < g->first_node + g->n_nodes; n++) {
        struct aten_mm p[ATEN_MM_MAX];
        int count = aten_lower(m, n, p);
        cr_assert_geq(count, 0);
        for (int i = 0; i < count; i++) {
            char line[96];
            print_product(line, sizeof line, &p[i]);
            pb_raw(out, line, strlen(line));
            pb_raw(out, "\n", 1);
        }
        for (uint32_t b = ir_node_body(m, &m->nodes[n]); b != IR_NONE; b = m->graphs[b].next_body)
            add_products(out, m, b);
    }
}

/* All products of a file in the order in which they run. */
static struct pb products_of(const char *path)
{
    struct opened o;
    struct pb out = {0};
    open_bytes(&o, read_file(path));
    cr_assert_eq(o.rc, 0, "%s: %s", path, first_error(&o.d));
    add_products(&out, &o.m, 0);
    pb_raw(&out, "", 1);
    close_model(&o);
    return out;
}

/* The lines of a table that tell of mm, addmm and bmm, from the column of the operator on. */
static struct pb expected_of(const char *path, bool numbered)
{
    struct pb in = read_file(path), out = {0};
    pb_raw(&in, "", 1);
    char *save = NULL, *line = strtok_r((char *)in.b, "\n", &save); /* the header */
    while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
        char *op = numbered ? strchr(line, '\t') + 1 : line;
        if (strncmp(op, "mm\t", 3) && strncmp(op, "addmm\t", 6) && strncmp(op, "bmm\t", 4))
            continue;
        pb_raw(&out, op, strlen(op));
        pb_raw(&out, "\n", 1);
    }
    pb_raw(&out, "", 1);
    pb_free(&in);
    return out;
}

/* In all programs exported for training PyTorch ran exactly these products. */
Test(aten, every_program_is_what_pytorch_traced)
{
    DIR *dir = opendir("tests/cases");
    cr_assert_not_null(dir);
    int programs = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        static const char *const files[] = {"model.pt2", "model_nonstrict.pt2"};
        for (int i = 0; i < 2; i++) {
            char path[512], trace[512];
            snprintf(path, sizeof path, "tests/cases/%s/%s", e->d_name, files[i]);
            snprintf(trace, sizeof trace, "tests/cases/%s/trace.tsv", e->d_name);
            FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
            if (!f)
                continue;
            fclose(f);
            struct pb got = products_of(path), want = expected_of(trace, true);
            cr_expect_str_eq((char *)got.b, (char *)want.b, "%s", path);
            pb_free(&got);
            pb_free(&want);
            programs++;
        }
    }
    closedir(dir);
    cr_expect_geq(programs, 20);
}

Test(aten, random_operands_run_as_pytorch_ran_them)
{
    struct pb got = products_of("tests/pt2/ops.pt2"), want = expected_of("tests/pt2/ops.tsv", false);
    cr_expect_str_eq((char *)got.b, (char *)want.b);
    pb_free(&got);
    pb_free(&want);
}

/* ---- one operator at a time: y = op(a, b[, c]) over tensors that are described by hand */

#define A "\"a\": "
#define B ", \"b\": "
#define C ", \"c\": "
#define BINARY(target, rest, values)                                                                         \
    PROGRAM(                                                                                                 \
        GRAPH(TENSOR("a") ", " TENSOR("b") ", " TENSOR("c"), TENSOR("y"),                                    \
              NODE(target, ARG("self", TENSOR("a")) ", " ARG("other", TENSOR("b")) rest, TENSOR("y"), ""),   \
              values),                                                                                       \
        "{\"parameter\": {\"arg\": {\"name\": \"b\"}, \"parameter_name\": \"w.weight\"}}", "", "")
#define V(n)       "[" INT(n) "]"
#define M(m, n)    "[" INT(m) ", " INT(n) "]"
#define T(l, m, n) "[" INT(l) ", " INT(m) ", " INT(n) "]"
#define BIAS       ", " ARG("bias", TENSOR("c"))

static int lower_text(struct aten_mm *out, const char *program)
{
    struct opened o;
    open_bytes(&o, flat_archive(program));
    cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
    int n = aten_lower(&o.m, 0, out);
    for (int i = 0; i < n; i++) /* a name that lives on */
        out[i].weight =
            out[i].weight == IR_NONE ? IR_NONE : str_is(ir_value_name(&o.m, out[i].weight), "w.weight");
    close_model(&o);
    return n;
}

static void expect_one(const char *program, const char *want, bool weight, bool transposed)
{
    struct aten_mm p[ATEN_MM_MAX];
    char got[96] = "";
    int n = lower_text(p, program);
    cr_expect_eq(n, 1, "%s: %d products", want, n);
    if (n < 1)
        return;
    print_product(got, sizeof got, &p[0]);
    cr_expect_str_eq(got, want);
    cr_expect_eq(p[0].weight == 1, weight, "%s: weight", want);
    cr_expect_eq(p[0].transposed, transposed, "%s: transposed", want);
}

Test(aten, linear_with_and_without_bias)
{
    const char *dense = BINARY("torch.ops.aten.linear.default", "",
                               A META(T(2, 5, 4), T(20, 4, 1), "false") B META(M(3, 4), M(4, 1), "true"));
    expect_one(dense, "mm\t4x3", true, true);
    dense = BINARY("torch.ops.aten.linear.default", BIAS,
                   A META(T(2, 5, 4), T(20, 4, 1), "false") B META(M(3, 4), M(4, 1), "true")
                       C META(V(3), V(1), "true"));
    expect_one(dense, "addmm\t4x3", true, true);
    /* an input with gaps is not flattened, so the bias is added afterwards */
    expect_one(BINARY("torch.ops.aten.linear.default", BIAS,
                      A META(T(2, 5, 4), T(40, 4, 1), "false") B META(M(3, 4), M(4, 1), "true")
                          C META(V(3), V(1), "true")),
               "mm\t4x3", true, true);
    /* two dimensions are never a question */
    expect_one(BINARY("torch.ops.aten.linear.default", BIAS,
                      A META(M(5, 4), M(8, 1), "false") B META(M(3, 4), M(4, 1), "true")
                          C META(V(3), V(1), "true")),
               "addmm\t4x3", true, true);
}

Test(aten, a_frozen_weight_is_not_worth_a_copy)
{
    expect_one(BINARY("torch.ops.aten.linear.default", "",
                      A META(T(2, 5, 4), T(40, 4, 1), "false") B META(M(3, 4), M(4, 1), "false")),
               "bmm\t2x4x3", true, true);
    expect_one(BINARY("torch.ops.aten.linear.default", "",
                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(M(3, 4), M(4, 1), "false")),
               "mm\t4x3", true, true);
}

Test(aten, matmul_folds_squeezes_and_batches)
{
    expect_one(BINARY("torch.ops.aten.matmul.default", "",
                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(M(4, 3), M(3, 1), "true")),
               "mm\t4x3", true, false);
    /* a parameter from the left: both are transposed */
    expect_one(BINARY("torch.ops.aten.matmul.default", "",
                      A META(M(5, 5), M(5, 1), "true") B META(T(2, 5, 4), T(20, 4, 1), "true")),
               "mm\t5x5", false, true);
    /* a batch of one is squeezed away when it needs a gradient, else broadcast */
    expect_one(BINARY("torch.ops.aten.matmul.default", "",
                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(T(1, 4, 3), T(12, 3, 1), "true")),
               "mm\t4x3", true, false);
    expect_one(BINARY("torch.ops.aten.matmul.default", "",
                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(T(1, 4, 3), T(12, 3, 1), "false")),
               "bmm\t2x4x3", true, false);
    expect_one(BINARY("torch.ops.aten.matmul.default", "",
                      A META(V(4), V(1), "false") B META(M(4, 3), M(3, 1), "true")),
               "mm\t4x3", true, false);
    struct aten_mm p[ATEN_MM_MAX];
    cr_expect_eq(lower_text(p, BINARY("torch.ops.aten.matmul.default", "",
                                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(V(4), V(1), "true"))),
                 0, "mv");
    cr_expect_eq(lower_text(p, BINARY("torch.ops.aten.matmul.default", "",
                                      A META(V(4), V(1), "false") B META(V(4), V(1), "true"))),
                 0, "dot");
}

Test(aten, products_that_are_written_out)
{
    expect_one(BINARY("torch.ops.aten.mm.default", "",
                      A META(M(2, 4), M(4, 1), "false") B META(M(4, 3), M(3, 1), "true")),
               "mm\t4x3", true, false);
    expect_one(BINARY("torch.ops.aten.bmm.default", "",
                      A META(T(2, 5, 4), T(20, 4, 1), "false") B META(T(2, 4, 3), T(12, 3, 1), "true")),
               "bmm\t2x4x3", true, false);
    expect_one(BINARY("torch.ops.aten.addmm.default", ", " ARG("mat2", TENSOR("c")),
                      A META(V(3), V(1), "true") B META(M(2, 4), M(4, 1), "true")
                          C META(M(4, 3), M(3, 1), "true")),
               "addmm\t4x3", false, false);
    expect_one(BINARY("torch.ops.aten.inner.default", "",
                      A META(M(2, 4), M(4, 1), "false") B META(M(3, 4), M(4, 1), "true")),
               "mm\t4x3", true, true);
}

Test(aten, the_literal_right_side)
{
    struct aten_mm p[ATEN_MM_MAX];
    cr_assert_eq(
        lower_text(p, BINARY("torch.ops.aten.linear.default", "",
                             A META(T(2, 5, 4), T(40, 4, 1), "false") B META(M(3, 4), M(4, 1), "false"))),
        1);
    cr_expect(p[0].kind == ATEN_KIND_BMM && p[0].matrix && p[0].literal_k == 4 && p[0].literal_n == 3);
    cr_assert_eq(lower_text(p, BINARY("torch.ops.aten.bmm.default", "",
                                      A META(T(2, 5, 4), T(20, 4, 1), "false")
                                          B META(T(2, 4, 3), T(12, 3, 1), "true"))),
                 1);
    cr_expect_not(p[0].matrix);
}

Test(aten, symbolic_sizes_are_not_known_but_their_strides_decide)
{
    struct opened o;
    struct aten_mm p[ATEN_MM_MAX];
    open_bytes(&o, read_file("tests/pt2/dynamic.pt2"));
    cr_assert_eq(o.rc, 0);
    int linears = 0;
    for (uint32_t n = 0; n < o.m.n_nodes; n++) {
        int count = aten_lower(&o.m, n, p);
        if (count == 0)
            continue;
        linears++;
        cr_expect(count == 1 && p[0].k == 8 && p[0].n == 8 && !p[0].assumed);
        cr_expect_eq(p[0].kind, linears == 1 ? ATEN_KIND_MM : ATEN_KIND_ADDMM);
    }
    cr_expect_eq(linears, 2);
    close_model(&o);
}

Test(aten, without_strides_contiguous_ones_are_assumed)
{
    const char *program =
        BINARY("torch.ops.aten.linear.default", BIAS,
               A META(T(2, 5, 4), "[]", "false") B META(M(3, 4), M(4, 1), "true") C META(V(3), V(1), "true"));
    struct aten_mm p[ATEN_MM_MAX];
    cr_assert_eq(lower_text(p, program), 1);
    cr_expect(p[0].kind == ATEN_KIND_ADDMM && p[0].assumed);
}

Test(aten, what_hides_products)
{
    static const struct {
        const char *target;
        bool hides;
    } cases[] = {{"torch.ops.aten.lstm.input", true},
                 {"torch.ops.aten.cdist.default", true},
                 {"torch.ops.aten.relu.default", false},
                 {"torch.ops.aten.linear.default", false},
                 {"lstm", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char program[4096];
        struct opened o;
        struct aten_mm p[ATEN_MM_MAX];
        snprintf(program, sizeof program,
                 PROGRAM(GRAPH(TENSOR("a"), "", NODE("%s", ARG("self", TENSOR("a")), TENSOR("y"), ""), ""),
                         "", "", ""),
                 cases[i].target);
        open_bytes(&o, flat_archive(program));
        cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
        cr_expect_eq(aten_hides(&o.m, 0), cases[i].hides, "%s", cases[i].target);
        cr_expect_eq(aten_lower(&o.m, 0, p), 0, "%s", cases[i].target);
        close_model(&o);
    }
}

/* Where a program was decomposed without gradients, these nodes are bmm, and training ran an mm: three
 * Linears with a bias and an input that is not contiguous in each of two blocks. (A frozen one is a bmm in
 * training too.) */
Test(aten, a_decomposed_program_misleads_where_training_folds)
{
    struct opened o;
    open_bytes(&o, read_file("tests/pt2/decomposed.pt2"));
    cr_assert_eq(o.rc, 0);
    cr_expect(o.m.decomposed);
    int n = 0;
    for (uint32_t node = 0; node < o.m.n_nodes; node++)
        if (aten_misleads(&o.m, node)) {
            cr_expect(str_is(ir_node_op(&o.m, &o.m.nodes[node])->type, "aten.bmm.default"));
            n++;
        }
    cr_expect_eq(n, 6);
    close_model(&o);
    open_bytes(&o, read_file("tests/cases/layout/model.pt2"));
    cr_assert_eq(o.rc, 0);
    cr_expect_not(o.m.decomposed);
    for (uint32_t node = 0; node < o.m.n_nodes; node++)
        cr_expect_not(aten_misleads(&o.m, node));
    close_model(&o);
}

static void expect_warning(const char *path, const char *want)
{
    struct opened o;
    open_bytes(&o, read_file(path));
    cr_assert_eq(o.rc, 0);
    aten_warn(&o.m, &o.d);
    cr_expect_eq(o.d.n, want ? 1 : 0, "%s: %zu messages", path, o.d.n);
    if (want && o.d.n) {
        cr_expect_eq(o.d.items[0].level, DIAG_WARNING);
        cr_expect_str_eq(o.d.items[0].message, want);
    }
    close_model(&o);
}

Test(aten, warnings_name_the_nodes)
{
    expect_warning("tests/pt2/decomposed.pt2", "the program was decomposed and traced without gradients, "
                                               "which is not what trains: 6 nodes ('bmm', 'bmm_2', "
                                               "'bmm_3', 'bmm_4', 'bmm_6', 'bmm_7') would be mm in training; "
                                               "export it with torch.export.export alone");
    expect_warning("tests/pt2/cond.pt2", NULL);
    expect_warning("tests/cases/layout/model.pt2", NULL);
}

/* out_dtype says which operator it runs. */
Test(aten, products_of_integers_are_hidden)
{
    static const struct {
        const char *op;
        bool hides;
    } table[] = {
        {"torch.ops.aten.mm.default", true}, {"torch.ops.aten.mul.Tensor", false}, {"aten.mm", false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct opened o;
        char text[1024];
        snprintf(
            text, sizeof text,
            "{\"graph_module\": {\"graph\": " GRAPH(
                TENSOR("x"), "",
                NODE("torch.ops.higher_order.out_dtype",
                     ARG("", "{\"as_operator\": \"%s\"}") ", " ARG("", "{\"as_scalar_type\": 4}") ", " ARG(
                         "", TENSOR("x")) ", " ARG("", TENSOR("x")),
                     TENSOR("y"), ""),
                "") ", \"signature\": {\"input_specs\": []}}}",
            table[i].op);
        open_bytes(&o, flat_archive(text));
        cr_assert_eq(o.rc, 0, "%s", first_error(&o.d));
        cr_expect_eq(aten_hides(&o.m, 0), table[i].hides, "%s", table[i].op);
        close_model(&o);
    }
}
