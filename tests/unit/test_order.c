#include "ir/ir.h"

#include "tests/unit/onnx_build.h"

#include <stdio.h>

/* Orders the main graph and expects these positions. */
static void ordered(struct reading *r, uint32_t n, const uint32_t *want, bool want_sorted)
{
    bool sorted;
    uint32_t *order = calloc((size_t)n + 1, sizeof *order);
    cr_assert_not_null(order);
    cr_assert_eq(r->m.graphs[0].n_nodes, n);
    cr_assert_eq(ir_order(&r->m, 0, order, &sorted, &r->d), 0, "%s", reading_message(r));
    cr_assert_eq(sorted, want_sorted);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(order[i], want[i], "place %u: expected node %u but found %u", i, want[i], order[i]);
    free(order);
    reading_free(r);
}

Test(order, a_sorted_graph_stays_as_it_is)
{
    struct reading r;
    struct pb g = {0};
    add_node(&g, "A", "x", "a");
    add_node(&g, "B", "x", "b");
    add_node(&g, "C", "b,a", "c");
    add_input(&g, "x");
    read_graph(&r, g);
    ordered(&r, 3, (uint32_t[]){0, 1, 2}, true);
}

Test(order, an_empty_graph)
{
    struct reading r;
    struct pb g = {0};
    add_input(&g, "x");
    read_graph(&r, g);
    ordered(&r, 0, NULL, true);
}

Test(order, of_what_can_run_the_first_in_the_file_runs)
{
    struct reading r;
    struct pb g = {0};
    add_node(&g, "A", "e", "a"); /* 0 waits for 4 */
    add_node(&g, "B", "x", "b");
    add_node(&g, "C", "a,b", "c");
    add_node(&g, "D", "x", "d");
    add_node(&g, "E", "d", "e");
    add_node(&g, "F", "x", "f");
    add_input(&g, "x");
    read_graph(&r, g);
    ordered(&r, 6, (uint32_t[]){1, 3, 4, 0, 2, 5}, false);
}

Test(order, a_value_used_twice_is_one_wait_each)
{
    struct reading r;
    struct pb g = {0};
    add_node(&g, "A", "b,b,b", "a");
    add_node(&g, "B", "x,x", "b");
    add_input(&g, "x");
    read_graph(&r, g);
    ordered(&r, 2, (uint32_t[]){1, 0}, false);
}

/* An If whose body's body uses `late`, which is defined after the If. */
static void read_capture(struct reading *r, bool as_output)
{
    struct pb inner = {0}, outer = {0}, loop = {0}, branch = {0}, g = {0};
    if (as_output) {
        add_output(&inner, "late");
    } else {
        add_node(&inner, "Relu", "late", "i");
    }
    loop = make_node("Loop", "", "l");
    add_body(&loop, "body", inner);
    pb_sub(&outer, 1, loop);
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", outer);
    pb_sub(&g, 1, branch);
    add_node(&g, "Relu", "x", "late");
    add_input(&g, "x");
    read_graph(r, g);
}

Test(order, what_nested_bodies_use_counts)
{
    struct reading r;
    read_capture(&r, false);
    ordered(&r, 2, (uint32_t[]){1, 0}, false);
    read_capture(&r, true);
    ordered(&r, 2, (uint32_t[]){1, 0}, false);
}

Test(order, a_name_that_a_body_defines_itself_is_no_use)
{
    struct reading r;
    struct pb body = {0}, branch = {0}, g = {0};
    add_node(&body, "Relu", "x", "late");
    add_node(&body, "Relu", "late", "i");
    branch = make_node("If", "x", "z");
    add_body(&branch, "then_branch", body);
    pb_sub(&g, 1, branch);
    add_node(&g, "Relu", "x", "late");
    add_input(&g, "x");
    read_graph(&r, g);
    ordered(&r, 2, (uint32_t[]){0, 1}, true);
}

static void cyclic(struct pb g, const char *part)
{
    struct reading r;
    uint32_t order[16];
    bool sorted;
    add_input(&g, "x");
    read_graph(&r, g);
    cr_assert_eq(ir_order(&r.m, 0, order, &sorted, &r.d), IR_EINPUT);
    cr_assert_eq(r.d.n, 1);
    cr_assert(strstr(reading_message(&r), part), "expected '%s' in '%s'", part, reading_message(&r));
    reading_free(&r);
}

Test(order, cycles_are_named)
{
    struct pb g = {0};
    add_node(&g, "Relu", "a", "a");
    cyclic(g, "node 0 'a' (Relu)");
    g = (struct pb){0};
    add_node(&g, "A", "x", "a");
    add_node(&g, "B", "a,d", "b");
    add_node(&g, "C", "b", "c");
    add_node(&g, "D", "c", "d");
    add_node(&g, "E", "d", "e"); /* waits for the cycle, is not on it */
    add_node(&g, "F", "e", "f");
    cyclic(g, "on one");
}

Test(order, the_node_named_is_on_the_cycle)
{
    struct reading r;
    struct pb g = {0};
    uint32_t order[8];
    bool sorted;
    add_node(&g, "Z", "b", "z");
    add_node(&g, "Y", "z", "y");
    add_node(&g, "A", "b", "a");
    add_node(&g, "B", "a", "b");
    add_node(&g, "X", "y", "w");
    read_graph(&r, g);
    cr_assert_eq(ir_order(&r.m, 0, order, &sorted, &r.d), IR_EINPUT);
    cr_assert(strstr(reading_message(&r), "'a'") || strstr(reading_message(&r), "'b'"), "%s",
              reading_message(&r));
    reading_free(&r);
}

Test(order, a_long_chain_backwards)
{
    enum { N = 20000 };
    struct reading r;
    struct pb g = {0};
    char in[16], out[16];
    uint32_t *want = calloc(N, sizeof *want);
    cr_assert_not_null(want);
    for (unsigned i = 0; i < N; i++) {
        snprintf(in, sizeof in, "v%u", i + 1);
        snprintf(out, sizeof out, "v%u", i);
        add_node(&g, "Relu", in, out);
        want[i] = N - 1 - i;
    }
    snprintf(in, sizeof in, "v%u", (unsigned)N);
    add_input(&g, in);
    read_graph(&r, g);
    ordered(&r, N, want, false);
    free(want);
}
