#include "passes/einsum.h"

#include <criterion/criterion.h>

struct shape {
    uint32_t rank;
    int64_t dims[6];
};

static int products(struct einsum_product *out, const char *equation, const struct shape *s, uint32_t n,
                    const int64_t *path, uint32_t n_path)
{
    struct einsum e = {.n = n, .path = path, .n_path = n_path};
    for (uint32_t i = 0; i < n; i++)
        e.operands[i] = (struct einsum_operand){s[i].rank, s[i].dims, s[i].dims};
    return einsum_products(out, &e, str_of(equation));
}

static void expect(const char *equation, struct shape a, struct shape b, int64_t batch, int64_t k, int64_t n)
{
    struct einsum_product p[EINSUM_OPERANDS];
    struct shape s[] = {a, b};
    cr_assert_eq(products(p, equation, s, 2, NULL, 0), 1, "%s", equation);
    cr_expect(p[0].batch == batch && p[0].k == k && p[0].n == n, "%s: %ldx%ldx%ld", equation,
              (long)p[0].batch, (long)p[0].k, (long)p[0].n);
    cr_expect_eq(p[0].right, 1);
}

/* The shapes of the right operands were taken from a trace of PyTorch 2.6. */
Test(einsum, two_operands)
{
    expect("ij,jk->ik", (struct shape){2, {2, 3}}, (struct shape){2, {3, 4}}, 1, 3, 4);
    expect("bsd,df->bsf", (struct shape){3, {2, 12, 32}}, (struct shape){2, {32, 20}}, 1, 32, 20);
    expect("td,edh->eth", (struct shape){2, {24, 32}}, (struct shape){3, {5, 32, 28}}, 1, 32, 140);
    expect("eth,ehd->etd", (struct shape){3, {5, 24, 28}}, (struct shape){3, {5, 28, 32}}, 5, 28, 32);
    expect("bhqd,bhkd->bhqk", (struct shape){4, {2, 4, 12, 8}}, (struct shape){4, {2, 4, 10, 8}}, 8, 8, 10);
    expect("...d,df->...f", (struct shape){3, {2, 12, 32}}, (struct shape){2, {32, 20}}, 1, 32, 20);
    expect("ij,jk", (struct shape){2, {2, 3}}, (struct shape){2, {3, 4}}, 1, 3, 4);
    expect(" i j , j k -> i k ", (struct shape){2, {2, 3}}, (struct shape){2, {3, 4}}, 1, 3, 4);
}

Test(einsum, dimensions_of_size_one_are_not_summed_by_a_product)
{
    struct einsum_product p[EINSUM_OPERANDS];
    struct shape s[] = {{2, {2, 1}}, {2, {1, 4}}};
    cr_expect_eq(products(p, "ij,jk->ik", s, 2, NULL, 0), 0, "elementwise");
}

Test(einsum, nothing_to_sum_is_no_product)
{
    struct einsum_product p[EINSUM_OPERANDS];
    struct shape s[] = {{1, {2}}, {1, {3}}};
    cr_expect_eq(products(p, "i,j->ij", s, 2, NULL, 0), 0);
    cr_expect_eq(products(p, "i", s, 1, NULL, 0), 0);
}

Test(einsum, a_label_of_one_side_is_summed_before)
{
    expect("ijm,jk->ik", (struct shape){3, {2, 3, 5}}, (struct shape){2, {3, 4}}, 1, 3, 4);
    expect("ij,jkm->ik", (struct shape){2, {2, 3}}, (struct shape){3, {3, 4, 5}}, 1, 3, 4);
}

Test(einsum, symbolic_dimensions_stay_unknown)
{
    expect("bsd,df->bsf", (struct shape){3, {-1, -1, 32}}, (struct shape){2, {32, 20}}, 1, 32, 20);
    expect("bqd,bkd->bqk", (struct shape){3, {2, -1, 8}}, (struct shape){3, {2, -1, 8}}, 2, 8, -1);
}

Test(einsum, three_operands_from_left_to_right_or_along_a_path)
{
    struct einsum_product p[EINSUM_OPERANDS];
    struct shape s[] = {{2, {2, 3}}, {2, {3, 4}}, {2, {4, 5}}};
    cr_assert_eq(products(p, "ij,jk,kl->il", s, 3, NULL, 0), 2);
    cr_expect(p[0].k == 3 && p[0].n == 4 && p[0].right == 1);
    cr_expect(p[1].k == 4 && p[1].n == 5 && p[1].right == 2);
    int64_t path[] = {1, 2, 0, 1};
    cr_assert_eq(products(p, "ij,jk,kl->il", s, 3, path, 4), 2);
    cr_expect(p[0].k == 4 && p[0].n == 5 && p[0].right == 2);
    cr_expect(p[1].k == 3 && p[1].n == 5 && p[1].right == EINSUM_COMPUTED);
}

Test(einsum, what_makes_no_sense_has_no_products)
{
    static const char *const bad[] = {"ij,jk->iz", "ij,jk->ii", "ij,j1->i", "ij->i",  "ij,jk,kl->il",
                                      "ijk,jk->i", "ij,jk->i,", "..ij,jk",  "......", "ij,jk->i...j..."};
    struct einsum_product p[EINSUM_OPERANDS];
    struct shape s[] = {{2, {2, 3}}, {2, {3, 4}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(products(p, bad[i], s, 2, NULL, 0), 0, "%s", bad[i]);
    int64_t path[] = {0, 7};
    cr_expect_eq(products(p, "ij,jk->ik", s, 2, path, 2), 0);
}

Test(einsum, more_dimensions_than_there_is_room_for)
{
    struct einsum_product p[EINSUM_OPERANDS];
    int64_t ones[64] = {0};
    struct einsum e = {.n = 2};
    for (int i = 0; i < 64; i++)
        ones[i] = 2;
    e.operands[0] = e.operands[1] = (struct einsum_operand){64, ones, ones};
    cr_expect_eq(einsum_products(p, &e, str_of("...,...->...")), 0, "64 fit: elementwise");
    cr_expect_eq(einsum_products(p, &e, str_of("...a,...b->...")), 0, "65 do not");
}
