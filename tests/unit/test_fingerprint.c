/* What a node is, whatever it is called. */
#include "lib/fingerprint.h"

#include "lib/model.h"
#include "tests/unit/graph_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct printed {
    struct pb bytes;
    sactag_model *m;
    struct fingerprints f;
};

static struct printed print_model(sactag_model *m)
{
    struct printed p = {.m = m};
    cr_assert_eq(fingerprints_make(&p.f, &m->ir), 0);
    return p;
}

static struct printed print_graph(const char *text)
{
    struct pb bytes = graph_bytes(text);
    sactag_model *m;
    cr_assert_eq(sactag_open_buffer(&m, bytes.b, bytes.n, NULL, NULL), 0);
    struct printed p = print_model(m);
    p.bytes = bytes;
    return p;
}

static void done(struct printed *p)
{
    fingerprints_free(&p->f);
    sactag_close(p->m);
    free(p->bytes.b);
}

/* Has the last node the same fingerprint in both graphs? */
static bool same_last(const char *a, const char *b)
{
    struct printed x = print_graph(a), y = print_graph(b);
    uint32_t i = x.m->ir.n_nodes - 1, j = y.m->ir.n_nodes - 1;
    bool full = x.f.full[i] == y.f.full[j], nearest = x.f.nearest[i] == y.f.nearest[j];
    cr_assert(!full || (x.f.near[i] == y.f.near[j] && nearest));
    done(&x);
    done(&y);
    return full;
}

#define HEAD "in x f32[2,8]\nparam w f32[8,4]\n"

Test(fingerprint, names_take_no_part)
{
    cr_assert(same_last(HEAD "/a: p = Relu(x)\n/b: q = MatMul(p,w)\n",
                        "in i f32[2,8]\nparam k f32[8,4]\n/c: r = Relu(i)\ns = MatMul(r,k)\n"));
}

Test(fingerprint, what_a_file_may_leave_out_takes_no_part)
{
    cr_assert(same_last(HEAD "p = Relu(x)\nq = MatMul(p,w)\n",
                        "in x f32[?,8]\nparam w f32[8,4]\ninfo p f32[2,8]\np = Relu(x)\n"
                        "q = MatMul(p,w) __sac_policy=`save` meta:sac.policy=`save` meta:pkg.x=`y`\n"));
}

Test(fingerprint, operators_operands_and_attributes_do)
{
    const char *a = HEAD "p = Relu(x)\nq = MatMul(p,w)\n";
    cr_expect(!same_last(a, HEAD "p = Sigmoid(x)\nq = MatMul(p,w)\n"));
    cr_expect(!same_last(a, HEAD "p = com.x::Relu(x)\nq = MatMul(p,w)\n"));
    cr_expect(!same_last(a, HEAD "p = Relu(x)\nq = MatMul(w,p)\n"));
    cr_expect(!same_last(a, HEAD "p = Relu(x)\nq = MatMul(x,w)\n"));
    cr_expect(!same_last(a, HEAD "p = Relu(x) alpha=0.5\nq = MatMul(p,w)\n"));
    cr_expect(!same_last(a, "in x f32[2,8]\nparam w f32[4,8]\np = Relu(x)\nq = MatMul(p,w)\n"));
    cr_expect(
        !same_last(a, "in y f32[2,8]\nin x f32[2,8]\nparam w f32[8,4]\np = Relu(x)\nq = MatMul(p,w)\n"));
    cr_expect(
        !same_last("in x f32[2,8]\np = Relu(x) perm=[1,0]\n", "in x f32[2,8]\np = Relu(x) perm=[0,1]\n"));
}

Test(fingerprint, attributes_in_any_order)
{
    cr_assert(same_last(HEAD "q = Gemm(x,w) alpha=0.5 beta=0.25 transB=1\n",
                        HEAD "q = Gemm(x,w) transB=1 beta=0.25 alpha=0.5\n"));
}

Test(fingerprint, tensors_count_without_their_names)
{
    cr_expect(same_last("c = Constant() value=i64[2]{2,-1}\n", "d = Constant() value=i64[2]{2,-1}\n"));
    cr_expect(!same_last("c = Constant() value=i64[2]{2,-1}\n", "c = Constant() value=i64[2]{2,-2}\n"));
}

/* Further back than it looks, a near fingerprint sees nothing. */
Test(fingerprint, near_ends_where_it_says)
{
    struct printed x = print_graph("in x f32[2,8]\na = Relu(x)\nb = Abs(a)\nc = Neg(b)\nd = Exp(c)\n");
    struct printed y = print_graph("in x f32[2,8]\na = Tanh(x)\nb = Abs(a)\nc = Neg(b)\nd = Exp(c)\n");
    struct printed z =
        print_graph("in x f32[2,8]\na = Sin(x)\na2 = Cos(a)\nb = Abs(a2)\nc = Neg(b)\nd = Exp(c)\n");

    cr_assert_eq(FINGERPRINT_NEAR, 4);
    cr_assert_eq(FINGERPRINT_NEAREST, 2);
    cr_assert_neq(x.f.full[3], y.f.full[3]);
    cr_assert_neq(x.f.near[3], y.f.near[3]); /* the fourth node, counted from d, is another one */
    cr_assert_eq(x.f.nearest[3], y.f.nearest[3]);
    cr_assert_neq(y.f.near[3], z.f.near[4]);
    cr_assert_eq(y.f.nearest[3], z.f.nearest[4]);
    cr_assert_neq(x.f.nearest[1], y.f.nearest[1]);
    done(&x);
    done(&y);
    done(&z);
}

Test(fingerprint, of_a_pt2)
{
    static const char *const files[] = {"tests/cases/toy/model.pt2", "tests/cases/toy/model_nonstrict.pt2"};
    struct printed p[2];
    size_t equal = 0;

    for (int i = 0; i < 2; i++) {
        sactag_model *m;
        cr_assert_eq(sactag_open(&m, files[i], NULL, NULL), 0);
        p[i] = print_model(m);
    }
    /* Two exports of one program: the same nodes under other names. */
    cr_assert_eq(p[0].m->ir.n_nodes, p[1].m->ir.n_nodes);
    for (uint32_t i = 0; i < p[0].m->ir.n_nodes; i++) {
        equal += p[0].f.full[i] == p[1].f.full[i];
        for (uint32_t j = 0; j < i; j++)
            cr_expect_neq(p[0].f.full[i], p[0].f.full[j], "nodes %u and %u", i, j);
    }
    cr_assert_eq(equal, p[0].m->ir.n_nodes);
    done(&p[0]);
    done(&p[1]);
}
