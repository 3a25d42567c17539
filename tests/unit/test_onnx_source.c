#include "schema/onnx_read.h"

#include "tests/unit/onnx_build.h"

#include <stdio.h>

/* A model of one node with this attribute. */
static void read_attr(struct reading *r, struct pb attr)
{
    struct pb n = make_node("Op", "", "y"), g = {0};
    pb_sub(&n, 5, attr);
    pb_sub(&g, 1, n);
    read_graph(r, g);
}

/* Reads it, looks for attribute "a", and frees; text is copied to `s`. */
static struct ir_attr one_attr(struct pb attr, char s[64])
{
    struct reading r;
    struct ir_attr a;
    pb_text(&attr, 1, "a");
    read_attr(&r, attr);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "a", &a), 1, "%s", reading_message(&r));
    if (s) {
        cr_assert_lt(a.s.n, 64);
        memcpy(s, a.s.s ? a.s.s : "", a.s.n);
        s[a.s.n] = '\0';
    }
    reading_free(&r);
    a.s.s = NULL;
    return a;
}

Test(onnx_source, scalars_and_text)
{
    struct pb p = {0};
    char s[64];
    pb_int(&p, 3, (uint64_t)-7);
    pb_int(&p, 20, 2);
    struct ir_attr a = one_attr(p, NULL);
    cr_assert(a.kind == IR_ATTR_INT && a.i == -7);
    p = (struct pb){0};
    pb_raw(&p, "\x15\0\0\xc0\x3f", 5); /* 1.5f */
    pb_int(&p, 20, 1);
    a = one_attr(p, NULL);
    cr_assert(a.kind == IR_ATTR_FLOAT && a.f == 1.5);
    p = (struct pb){0};
    pb_bytes(&p, 4, "x\0y", 3);
    pb_int(&p, 20, 3);
    a = one_attr(p, s);
    cr_assert(a.kind == IR_ATTR_STR && a.s.n == 3);
    cr_assert_arr_eq(s, "x\0y", 3);
}

Test(onnx_source, the_type_says_which_field_counts)
{
    struct pb p = {0};
    pb_int(&p, 3, 5);
    pb_raw(&p, "\x15\0\0\xc0\x3f", 5);
    pb_int(&p, 20, 1);
    cr_assert_eq(one_attr(p, NULL).kind, IR_ATTR_FLOAT);
    p = (struct pb){0};
    pb_int(&p, 20, 2); /* type INT without i: 0 */
    struct ir_attr a = one_attr(p, NULL);
    cr_assert(a.kind == IR_ATTR_INT && a.i == 0);
    p = (struct pb){0};
    pb_int(&p, 3, 5);
    pb_int(&p, 20, 6); /* FLOATS */
    cr_assert_eq(one_attr(p, NULL).kind, IR_ATTR_OTHER);
}

Test(onnx_source, without_type_the_field_that_is_there)
{
    struct {
        unsigned field;
        enum ir_attr_kind kind;
    } cases[] = {{4, IR_ATTR_STR},   {5, IR_ATTR_TENSOR}, {6, IR_ATTR_GRAPH},
                 {8, IR_ATTR_INTS},  {11, IR_ATTR_GRAPH}, {7, IR_ATTR_OTHER},
                 {9, IR_ATTR_OTHER}, {14, IR_ATTR_OTHER}, {22, IR_ATTR_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pb p = {0};
        pb_bytes(&p, cases[i].field, "", 0);
        cr_assert_eq(one_attr(p, NULL).kind, cases[i].kind, "field %u", cases[i].field);
    }
    struct pb p = {0};
    pb_int(&p, 3, 5);
    cr_assert_eq(one_attr(p, NULL).kind, IR_ATTR_INT);
    cr_assert_eq(one_attr((struct pb){0}, NULL).kind, IR_ATTR_OTHER);
}

Test(onnx_source, references_to_a_functions_attribute)
{
    struct pb p = {0};
    char s[64];
    pb_int(&p, 3, 5);
    pb_int(&p, 20, 2);
    pb_text(&p, 21, "alpha");
    struct ir_attr a = one_attr(p, s);
    cr_assert_eq(a.kind, IR_ATTR_REF);
    cr_assert_str_eq(s, "alpha");
    p = (struct pb){0};
    pb_int(&p, 3, 5);
    pb_text(&p, 21, "");
    cr_assert_eq(one_attr(p, NULL).kind, IR_ATTR_INT, "an empty reference is none");
}

Test(onnx_source, integers_packed_or_not)
{
    struct pb p = {0};
    pb_bytes(&p, 8, "\1\2", 2);
    pb_int(&p, 8, (uint64_t)-1);
    pb_bytes(&p, 8, "\x80\1", 2);
    pb_int(&p, 20, 7);
    struct ir_attr a = one_attr(p, NULL);
    cr_assert(a.kind == IR_ATTR_INTS && a.ints_known && a.n_ints == 4);
    cr_assert(a.ints[0] == 1 && a.ints[1] == 2 && a.ints[2] == -1 && a.ints[3] == 128);
    p = (struct pb){0};
    pb_int(&p, 20, 7);
    a = one_attr(p, NULL);
    cr_assert(a.ints_known && a.n_ints == 0);
}

Test(onnx_source, lists_have_a_bound)
{
    for (unsigned packed = 0; packed < 2; packed++) {
        for (unsigned n = IR_INTS_MAX; n <= IR_INTS_MAX + 1; n++) {
            struct pb p = {0}, list = {0};
            for (unsigned i = 0; i < n; i++) {
                if (packed)
                    pb_varint(&list, i);
                else
                    pb_int(&p, 8, i);
            }
            if (packed)
                pb_sub(&p, 8, list);
            struct ir_attr a = one_attr(p, NULL);
            cr_assert_eq(a.ints_known, n == IR_INTS_MAX);
            if (a.ints_known)
                cr_assert(a.n_ints == n && a.ints[n - 1] == n - 1);
        }
    }
}

Test(onnx_source, the_last_attribute_of_a_name_counts)
{
    struct reading r;
    struct pb n = make_node("Op", "", "y"), g = {0};
    struct ir_attr a;
    for (unsigned i = 1; i <= 3; i++) {
        struct pb p = {0};
        pb_text(&p, 1, i == 3 ? "other" : "axis");
        pb_int(&p, 3, i);
        pb_sub(&n, 5, p);
    }
    pb_sub(&g, 1, n);
    read_graph(&r, g);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "axis", &a), 1);
    cr_assert_eq(a.i, 2);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "axi", &a), 0);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "axis2", &a), 0);
    reading_free(&r);
}

/* ---- tensors */

static struct pb tensor_attr(struct pb tensor)
{
    struct pb p = {0};
    pb_sub(&p, 5, tensor);
    pb_int(&p, 20, 4);
    return p;
}

/* What was read of one node is not read again of another with the same bytes: that must not mix up values,
 * names, or kinds. Twice over, so that each is met when it is known. */
Test(onnx_source, attributes_that_repeat)
{
    struct pb g = {0};
    for (uint64_t i = 0; i < 40; i++) { /* two neighbours differ in nothing but the integers of "a" */
        struct pb n = make_node("Op", "", ""), a = {0}, b = {0};
        pb_text(&a, 1, "a");
        for (uint64_t j = 0; j < i / 2 % 12; j++)
            pb_int(&a, 8, i + j);
        pb_int(&a, 20, 7);
        pb_text(&b, 1, i / 2 % 5 ? "b" : "c");
        pb_int(&b, 3, i / 2);
        pb_int(&b, 20, 2);
        pb_sub(&n, 5, a);
        pb_sub(&n, 5, b);
        pb_sub(&g, 1, n);
    }
    struct reading r;
    read_graph(&r, g);
    for (uint32_t node = 0; node < 80; node++) {
        uint32_t i = node % 40;
        struct ir_attr a = {.n_ints = 99};
        cr_assert_eq(r.m.source->attr(&r.m, i, "a", &a), 1);
        cr_assert(a.kind == IR_ATTR_INTS && a.ints_known && a.n_ints == i / 2 % 12);
        for (uint32_t j = 0; j < a.n_ints; j++)
            cr_assert_eq(a.ints[j], i + j);
        cr_assert_eq(r.m.source->attr(&r.m, i, "b", &a), i / 2 % 5 ? 1 : 0);
        cr_assert(i / 2 % 5 == 0 || (a.kind == IR_ATTR_INT && a.i == i / 2 && a.n_ints == 0));
        cr_assert_eq(r.m.source->attr(&r.m, i, "c", &a), i / 2 % 5 ? 0 : 1);
        cr_assert_eq(r.m.source->attr(&r.m, i, "a name of more than 16 bytes", &a), 0);
    }
    reading_free(&r);
}

Test(onnx_source, tensor_headers)
{
    struct reading r;
    struct ir_attr a;
    int64_t dims[] = {3, 5};
    struct pb p = tensor_attr(make_tensor(NULL, 1, 2, dims));
    pb_text(&p, 1, "value");
    read_attr(&r, p);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "value", &a), 1);
    cr_assert_eq(a.kind, IR_ATTR_TENSOR);
    cr_assert_eq(a.dtype, 1);
    cr_assert_eq(r.m.shapes[a.shape].rank, 2);
    cr_assert_eq(r.m.shapes[a.shape].dims[1], 5);
    cr_assert(!a.ints_known, "floats are not read");
    reading_free(&r);
}

static void elements(int dtype, unsigned list, const void *raw, size_t n_raw, const char *typed,
                     size_t n_typed, int64_t first, int64_t second)
{
    int64_t dims[] = {2};
    for (unsigned k = 0; k < 2; k++) {
        struct pb t = make_tensor(NULL, dtype, 1, dims);
        if (k == 0)
            pb_bytes(&t, 9, raw, n_raw);
        else
            pb_bytes(&t, list, typed, n_typed);
        struct ir_attr a = one_attr(tensor_attr(t), NULL);
        cr_assert(a.ints_known && a.n_ints == 2, "type %d, form %u", dtype, k);
        cr_assert_eq(a.ints[0], first, "type %d, form %u: %lld", dtype, k, (long long)a.ints[0]);
        cr_assert_eq(a.ints[1], second, "type %d, form %u: %lld", dtype, k, (long long)a.ints[1]);
    }
}

Test(onnx_source, elements_of_all_integer_types)
{
    const char *minus1 = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    char typed[16];
    memcpy(typed, minus1, 10);
    typed[10] = 2;
    elements(7, 7, "\xff\xff\xff\xff\xff\xff\xff\xff\2\0\0\0\0\0\0\0", 16, typed, 11, -1, 2);
    elements(6, 5, "\xff\xff\xff\xff\2\0\0\0", 8, typed, 11, -1, 2);
    elements(5, 5, "\xff\xff\2\0", 4, typed, 11, -1, 2);
    elements(3, 5, "\xff\2", 2, typed, 11, -1, 2);
    elements(2, 5, "\xff\2", 2, "\xff\1\2", 3, 255, 2);
    elements(4, 5, "\xff\xff\2\0", 4, "\xff\xff\3\2", 4, 65535, 2);
    elements(9, 5, "\1\0", 2, "\1\0", 2, 1, 0);
    elements(12, 11, "\xff\xff\xff\xff\2\0\0\0", 8, "\xff\xff\xff\xff\x0f\2", 6, 4294967295, 2);
    elements(13, 11, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16, "\1\2", 2, 1, 2);
}

Test(onnx_source, elements_are_all_there_or_not_known)
{
    int64_t two[] = {2}, many[] = {IR_INTS_MAX + 1}, most[] = {IR_INTS_MAX}, zero[] = {0, 1000000},
            huge[] = {INT64_MAX, INT64_MAX}, minus[] = {-1, -2};
    char raw[8 * (IR_INTS_MAX + 1)] = {0};
    struct {
        int dtype, rank;
        const int64_t *dims;
        size_t n_raw;
        bool known;
    } cases[] = {
        {7, 1, two, 16, true},
        {7, 1, two, 8, false},
        {7, 1, two, 24, false},
        {7, 1, two, 15, false},
        {7, 0, NULL, 8, true},
        {7, 0, NULL, 16, false},
        {7, 1, most, 8 * IR_INTS_MAX, true},
        {7, 1, many, 8 * (IR_INTS_MAX + 1), false},
        {7, 2, zero, 0, true},
        {7, 2, huge, 8, false},
        {7, 2, minus, 16, false},
        {1, 1, two, 8, false},
        {22, 1, two, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pb t = make_tensor(NULL, cases[i].dtype, cases[i].rank, cases[i].dims);
        pb_bytes(&t, 9, raw, cases[i].n_raw);
        cr_assert_eq(one_attr(tensor_attr(t), NULL).ints_known, cases[i].known, "case %zu", i);
    }
    for (unsigned n = 2; n <= IR_INTS_MAX + 1;
         n += IR_INTS_MAX - 1) { /* the same as a list: 2, then too many */
        struct pb t = make_tensor(NULL, 7, 1, two);
        for (unsigned i = 0; i < n; i++)
            pb_int(&t, 7, i);
        cr_assert_eq(one_attr(tensor_attr(t), NULL).ints_known, n == 2, "%u elements", n);
    }
    int64_t over[IR_RANK_MAX + 1], eight[] = {8, 9};
    for (size_t i = 0; i <= IR_RANK_MAX; i++)
        over[i] = 1;
    struct pb rank = make_tensor(NULL, 7, IR_RANK_MAX + 1, over), product = make_tensor(NULL, 7, 2, eight);
    pb_bytes(&rank, 9, raw, 8);
    pb_bytes(&product, 9, raw, sizeof raw);
    cr_assert(!one_attr(tensor_attr(rank), NULL).ints_known);
    cr_assert(!one_attr(tensor_attr(product), NULL).ints_known);
    struct pb none = make_tensor(NULL, 7, 1, two); /* a header without data */
    cr_assert(!one_attr(tensor_attr(none), NULL).ints_known);
    struct pb external = make_tensor(NULL, 7, 1, two);
    pb_bytes(&external, 9, raw, 16);
    pb_int(&external, 14, 1);
    cr_assert(!one_attr(tensor_attr(external), NULL).ints_known);
    struct pb both = make_tensor(NULL, 7, 1, two);
    pb_bytes(&both, 9, raw, 16);
    pb_bytes(&both, 7, "\1\2", 2);
    cr_assert(!one_attr(tensor_attr(both), NULL).ints_known, "which of them counts?");
}

Test(onnx_source, occurrences_of_a_tensor_merge)
{
    struct pb head = {0}, data = {0}, p = {0};
    pb_bytes(&data, 7, "\5\6", 2);
    pb_int(&head, 1, 3);
    pb_int(&head, 2, 7);
    pb_int(&head, 7, 9);
    pb_sub(&p, 5, data);
    pb_sub(&p, 5, head);
    pb_int(&p, 20, 4);
    struct ir_attr a = one_attr(p, NULL);
    cr_assert(a.ints_known && a.n_ints == 3);
    cr_assert(a.ints[0] == 5 && a.ints[1] == 6 && a.ints[2] == 9);
}

Test(onnx_source, elements_of_initializers)
{
    struct reading r;
    struct pb g = {0}, t, sparse = {0};
    int64_t dims[] = {2}, out[IR_INTS_MAX];
    uint32_t n = 99;
    t = make_tensor("shape", 7, 1, dims);
    pb_bytes(&t, 9, "\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16);
    pb_sub(&g, 5, t);
    pb_sub(&g, 5, make_tensor("nothing", 7, 1, dims));
    t = make_tensor("external", 7, 1, dims);
    pb_int(&t, 14, 1);
    pb_sub(&g, 5, t);
    t = make_tensor("s", 7, 1, dims);
    pb_bytes(&t, 7, "\1\2", 2);
    pb_sub(&sparse, 1, t);
    pb_sub(&g, 15, sparse);
    t = make_tensor("float", 1, 1, dims);
    pb_bytes(&t, 9, "abcdefgh", 8);
    pb_sub(&g, 5, t);
    read_graph(&r, g);
    cr_assert_eq(r.m.source->param_ints(&r.m, 0, out, &n), 1);
    cr_assert(n == 2 && out[0] == 1 && out[1] == -1);
    for (uint32_t p = 1; p < 5; p++)
        cr_assert_eq(r.m.source->param_ints(&r.m, p, out, &n), 0, "parameter %u", p);
    reading_free(&r);
}

/* ---- metadata */

/* A node's metadata entry in the order that writers use, or value first. */
static void add_meta(struct pb *node, const char *key, const char *value, bool value_first)
{
    struct pb e = {0};
    if (!value_first)
        pb_text(&e, 1, key);
    pb_text(&e, 2, value);
    if (value_first)
        pb_text(&e, 1, key);
    pb_sub(node, 9, e);
}

#define SCOPES  "pkg.torch.onnx.name_scopes"
#define CLASSES "pkg.torch.onnx.class_hierarchy"

Test(onnx_source, the_key_that_passes_ask_for_is_found_wherever_it_stands)
{
    struct pb g = {0}, n = {0}, big = {0};
    struct reading r;
    struct str s;
    struct ir_attr a;
    char *filler = calloc(1, 70001);
    memset(filler, 'x', 70000);

    add_meta(&n, SCOPES, "first field of all", false); /* node 0 */
    pb_names(&n, 2, "a");
    pb_text(&n, 4, "Op");
    pb_sub(&g, 1, n);
    n = make_node("Op", "a", "b"); /* node 1: the last wins, however its entry is written */
    add_meta(&n, SCOPES, "early", false);
    add_meta(&n, "other", "between", false);
    add_meta(&n, SCOPES, "late", true);
    add_meta(&n, "pkg.torch.onnx.name_scopez", "not it", false);
    pb_sub(&g, 1, n);
    n = make_node("Op", "a", "c"); /* node 2: far into the record, behind its attribute */
    pb_text(&big, 1, "big");
    pb_text(&big, 4, filler);
    pb_sub(&n, 5, big);
    add_meta(&n, SCOPES, "far", false);
    pb_sub(&g, 1, n);
    n = make_node("Op", "a", "d"); /* node 3: none */
    add_meta(&n, "other", SCOPES, false);
    pb_sub(&g, 1, n);
    n = make_node("Op", "a", "e"); /* node 4: an attribute behind metadata; a long value */
    add_meta(&n, SCOPES, filler, false);
    big = (struct pb){0};
    pb_text(&big, 1, "late");
    pb_int(&big, 3, 7);
    pb_int(&big, 20, 2);
    pb_sub(&n, 5, big);
    pb_sub(&g, 1, n);
    read_graph(&r, g);

    cr_assert_eq(r.m.source->meta(&r.m, 0, SCOPES, &s), 1);
    cr_assert(str_is(s, "first field of all"));
    cr_assert_eq(r.m.source->meta(&r.m, 1, SCOPES, &s), 1);
    cr_assert(str_is(s, "late"));
    cr_assert_eq(r.m.source->meta(&r.m, 1, "other", &s), 1);
    cr_assert(str_is(s, "between"));
    cr_assert_eq(r.m.source->meta(&r.m, 2, SCOPES, &s), 1);
    cr_assert(str_is(s, "far"));
    cr_assert_eq(r.m.source->attr(&r.m, 2, "big", &a), 1);
    cr_assert_eq(a.s.n, 70000);
    cr_assert_eq(r.m.source->meta(&r.m, 3, SCOPES, &s), 0);
    cr_assert_eq(r.m.source->attr(&r.m, 3, "big", &a), 0);
    cr_assert_eq(r.m.source->meta(&r.m, 4, SCOPES, &s), 1);
    cr_assert_eq(s.n, 70000);
    cr_assert_eq(r.m.source->attr(&r.m, 4, "late", &a), 1);
    cr_assert_eq(a.i, 7);
    reading_free(&r);
    free(filler);
}

Test(onnx_source, lists_equal_but_for_their_last_element_have_one_number)
{
    static const char *const lists[] = {
        "['', 'm', 'mul']",    /* 0 */
        "['', 'm', 'mul_1']",  /* 1: as 0 */
        "['', 'n', 'mul_1']",  /* 2: another module */
        NULL,                  /* 3: no metadata */
        "['', 'm', \"it's\"]", /* 4: not plain */
        "['', 'm', 'a\\'b']",  /* 5: another list, which no pass takes for one */
        "['', 'm', '']",       /* 6: as 0 */
        "['', 'm', 'mul'] ",   /* 7: no list */
        "",                    /* 8: no list */
        "['']",                /* 9: one element */
    };
    struct pb g = {0};
    struct reading r;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char name[8];
        snprintf(name, sizeof name, "v%zu", i);
        struct pb n = make_node("Op", "x", name);
        if (lists[i])
            add_meta(&n, SCOPES, lists[i], i % 2 == 1);
        pb_sub(&g, 1, n);
    }
    struct pb n = make_node("Op", "x", "twice"); /* 10: the last entry wins: as 2 */
    add_meta(&n, SCOPES, lists[0], false);
    add_meta(&n, SCOPES, lists[2], false);
    pb_sub(&g, 1, n);
    pb_sub(&g, 1, make_node("Op", "x", "none")); /* 11 */
    read_graph(&r, g);
    const uint32_t *of = r.m.scope_lists;
    cr_assert(r.m.noted && of);
    cr_assert(of[0] != 0 && of[0] != IR_NONE);
    cr_assert_eq(of[1], of[0]);
    cr_assert_eq(of[6], of[0]);
    cr_assert(of[2] != of[0] && of[2] != 0 && of[2] != IR_NONE);
    cr_assert_eq(of[10], of[2]);
    cr_assert(of[3] == IR_NONE && of[11] == IR_NONE);
    cr_assert(of[4] == 0 && of[5] != of[0] && of[7] == 0 && of[8] == 0);
    cr_assert_neq(of[9], of[0]);
    for (uint32_t i = 0; i < r.m.n_nodes; i++)
        cr_assert(of[i] == IR_NONE || of[i] < r.m.n_scope_lists);
    reading_free(&r);
}

/* The lists that passes read are those of the first node of a number; lists of classes that begin alike are
 * one.
 */
Test(onnx_source, lists_are_kept_once)
{
    static const struct {
        const char *scopes, *classes;
        bool classes_first;
    } nodes[] = {{"['', 'a', 'x']", "['M', 'Linear', 'aten.mm']", true},
                 {"['', 'a', 'y']", "['M', 'Other', 'aten.mm']", true},
                 {"['', 'b', 'x']", "['M', 'Linear', 'aten.add']", false},
                 {"['', 'c', 'x']", NULL, false}};
    struct pb g = {0};
    struct reading r;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char name[8];
        snprintf(name, sizeof name, "v%zu", i);
        struct pb n = make_node("Op", "x", name);
        if (nodes[i].classes && nodes[i].classes_first)
            add_meta(&n, CLASSES, nodes[i].classes, false);
        add_meta(&n, SCOPES, nodes[i].scopes, false);
        if (nodes[i].classes && !nodes[i].classes_first)
            add_meta(&n, CLASSES, nodes[i].classes, false);
        pb_sub(&g, 1, n);
    }
    read_graph(&r, g);
    const uint32_t *of = r.m.scope_lists;
    const struct ir_scope_list *a = &r.m.lists[of[0]], *b = &r.m.lists[of[2]], *c = &r.m.lists[of[3]];
    cr_assert_eq(of[1], of[0]);
    cr_assert(of[0] < r.m.n_lists && of[2] < r.m.n_lists && of[3] < r.m.n_lists);
    cr_assert(a->node == 0 && b->node == 2 && c->node == 3);
    cr_assert(str_is(str_of_ref(a->module), "a") && str_is(str_of_ref(b->module), "b") &&
              str_is(str_of_ref(c->module), "c"));
    cr_assert(str_is(r.m.classes[a->cls], "Linear"));
    cr_assert_eq(b->cls, a->cls);
    cr_assert_eq(c->cls, IR_NONE);
    reading_free(&r);
}

Test(onnx_source, names_of_gradients_are_noted)
{
    static const struct {
        const char *name, *output;
        bool gradient;
    } cases[] = {{"a", "w_grad", true},  {"a", "w_gradient", false}, {"x/MatMul_Grad/Y", "y", true},
                 {"a_grad", "y", false}, {"grad", "grad", false},    {"a", "_grad", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pb g = {0}, n = {0};
        struct reading r;
        pb_text(&n, 2, cases[i].output);
        pb_text(&n, 3, cases[i].name);
        pb_text(&n, 4, "Op");
        pb_sub(&g, 1, n);
        read_graph(&r, g);
        cr_assert_eq(r.m.gradient_names, cases[i].gradient, "%s %s", cases[i].name, cases[i].output);
        reading_free(&r);
    }
}

Test(onnx_source, an_entry_with_two_keys_has_the_last)
{
    struct pb g = {0}, n = make_node("Op", "x", "y"), e = {0};
    struct reading r;
    struct str s;
    pb_text(&e, 1, SCOPES);
    pb_text(&e, 2, "v");
    pb_text(&e, 1, "other");
    pb_sub(&n, 9, e);
    pb_sub(&g, 1, n);
    read_graph(&r, g);
    cr_assert_eq(r.m.source->meta(&r.m, 0, SCOPES, &s), 0);
    cr_assert_eq(r.m.source->meta(&r.m, 0, "other", &s), 1);
    cr_assert(str_is(s, "v"));
    reading_free(&r);
}

Test(onnx_source, metadata_of_nodes)
{
    struct reading r;
    struct pb n = make_node("Op", "", "y"), g = {0}, no_value = {0};
    struct str s = {0};
    pb_entry(&n, 9, "k", "first");
    pb_entry(&n, 9, "other", "x");
    pb_entry(&n, 9, "k", "last\n");
    pb_text(&no_value, 1, "empty");
    pb_sub(&n, 9, no_value);
    pb_sub(&g, 1, n);
    add_node(&g, "Op", "", "z");
    read_graph(&r, g);
    cr_assert_eq(r.m.source->meta(&r.m, 0, "k", &s), 1);
    cr_assert(str_is(s, "last\n"));
    cr_assert_eq(r.m.source->meta(&r.m, 0, "empty", &s), 1);
    cr_assert_eq(s.n, 0);
    cr_assert_eq(r.m.source->meta(&r.m, 0, "kk", &s), 0);
    cr_assert_eq(r.m.source->meta(&r.m, 1, "k", &s), 0);
    reading_free(&r);
}

/* What is decoded late is checked late: the message names the node. */
Test(onnx_source, malformed_insides)
{
    struct reading r;
    struct pb n = make_node("Op", "", "y"), g = {0}, a = {0}, t = {0};
    struct ir_attr attr;
    struct str s;
    int64_t out[IR_INTS_MAX], dims[] = {1};
    uint32_t count;
    pb_text(&a, 1, "axes");
    pb_bytes(&a, 8, "\x80", 1);
    pb_sub(&n, 5, a);
    pb_bytes(&n, 9, "\x0a\x7f", 2);
    pb_sub(&g, 1, n);
    t = make_tensor("w", 7, 1, dims);
    pb_bytes(&t, 7, "\x80", 1);
    pb_sub(&g, 5, t);
    read_graph(&r, g);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "axes", &attr), IR_EINPUT);
    cr_assert_eq(r.m.source->meta(&r.m, 0, "k", &s), IR_EINPUT);
    cr_assert_eq(r.m.source->param_ints(&r.m, 0, out, &count), IR_EINPUT);
    cr_assert_eq(r.d.n, 3);
    cr_assert_not_null(strstr(r.d.items[0].message, "node 0 'y'"));
    cr_assert_str_eq(r.d.items[0].field, "attribute");
    cr_assert_str_eq(r.d.items[1].field, "metadata_props");
    cr_assert_not_null(strstr(r.d.items[2].message, "initializer 'w'"));
    for (size_t i = 0; i < 3; i++)
        cr_assert_lt(r.d.items[i].offset, r.m.size);
    reading_free(&r);
}

Test(onnx_source, weights_are_not_read)
{
    struct reading r;
    struct ir_attr a;
    struct pb g = {0}, n = make_node("Constant", "", "c"), p = {0}, t;
    int64_t dims[] = {1 << 20}, out[IR_INTS_MAX];
    uint32_t count;
    char *data = calloc(8, 1 << 20);
    cr_assert_not_null(data);
    t = make_tensor(NULL, 7, 1, dims);
    pb_bytes(&t, 9, data, (size_t)8 << 20);
    pb_text(&p, 1, "value");
    pb_bytes(&p, 5, t.b, t.n);
    pb_text(&t, 8, "w");
    pb_sub(&g, 5, t);
    pb_sub(&n, 5, p);
    pb_sub(&g, 1, n);
    free(data);
    read_graph(&r, g);
    cr_assert_eq(r.m.n_data, 2);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "value", &a), 1);
    cr_assert(!a.ints_known);
    cr_assert_eq(r.m.source->param_ints(&r.m, 0, out, &count), 0);
    cr_assert_lt(r.m.arena.total, 1 << 16);
    reading_free(&r);
}

/* A node with 1000 numbers of its own, and one with few. */
Test(onnx_source, long_records_may_not_be_asked_for_without_end)
{
    struct reading r;
    struct ir_attr a;
    struct str s;
    struct pb g = {0}, n = make_node("Op", "", "y"), p = {0}, small = make_node("Op", "", "z"), q = {0};
    for (unsigned i = 0; i < 1000; i++)
        pb_int(&p, 8, i);
    pb_text(&p, 1, "ints");
    pb_sub(&n, 5, p);
    pb_sub(&g, 1, n);
    pb_text(&q, 1, "axis");
    pb_int(&q, 3, 1);
    pb_sub(&small, 5, q);
    pb_sub(&g, 1, small);
    struct onnx_limits limits = {.max_work = 50000};
    read_limited(&r, make_model(g), &limits, 0);
    cr_assert_eq(r.rc, 0);
    int rc = 1, calls = 0;
    for (; rc == 1 && calls < 1000; calls++) {
        rc = r.m.source->attr(&r.m, 0, "ints", &a);
        cr_assert_eq(r.m.source->attr(&r.m, 1, "axis", &a), 1, "short records are free");
        cr_assert_eq(r.m.source->meta(&r.m, 0, "k", &s), 0);
    }
    cr_assert_eq(rc, IR_EINPUT);
    cr_assert(calls > 20 && calls < 60, "%d calls", calls);
    cr_assert_eq(r.m.source->attr(&r.m, 0, "other", &a), IR_EINPUT, "absent ones cost the same");
    cr_assert_not_null(strstr(reading_message(&r), "too much work"));
    reading_free(&r);
}
