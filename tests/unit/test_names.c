#include "ir/names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(names, equal_text_has_one_id)
{
    struct names t;
    names_init(&t);
    char copy[] = "layers.0.weight";
    cr_assert_eq(names_intern(&t, STR_LIT("layers.0.weight")), 0);
    cr_assert_eq(names_intern(&t, STR_LIT("layers.1.weight")), 1);
    cr_assert_eq(names_intern(&t, str_of(copy)), 0);
    cr_assert_eq(t.n, 2);
    cr_assert(str_is(names_text(&t, 1), "layers.1.weight"));
    names_free(&t);
}

Test(names, find_adds_nothing)
{
    struct names t;
    names_init(&t);
    cr_assert_eq(names_find(&t, STR_LIT("x")), NAME_NONE);
    names_intern(&t, STR_LIT("x"));
    cr_assert_eq(names_find(&t, STR_LIT("x")), 0);
    cr_assert_eq(names_find(&t, STR_LIT("y")), NAME_NONE);
    cr_assert_eq(t.n, 1);
    names_free(&t);
}

Test(names, empty_text_and_nuls_are_names)
{
    struct names t;
    names_init(&t);
    uint32_t empty = names_intern(&t, (struct str){NULL, 0});
    uint32_t nul = names_intern(&t, STR_LIT("\0"));
    uint32_t two = names_intern(&t, STR_LIT("\0\0"));
    cr_assert_neq(empty, nul);
    cr_assert_neq(nul, two);
    cr_assert_eq(names_intern(&t, STR_LIT("")), empty);
    cr_assert_eq(names_find(&t, STR_LIT("\0")), nul);
    names_free(&t);
}

Test(names, many_names_stay_found_while_the_table_grows)
{
    enum { N = 100000 };
    struct names t;
    names_init(&t);
    char(*text)[16] = calloc(N, sizeof *text);
    cr_assert_not_null(text);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "val_%u", i);
        cr_assert_eq(names_intern(&t, str_of(text[i])), i);
    }
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(names_find(&t, str_of(text[i])), i);
        cr_assert_eq(names_intern(&t, str_of(text[i])), i);
    }
    cr_assert_eq(t.n, N);
    cr_assert_leq(t.mask + 1, 4 * N, "the table takes %zu slots", t.mask + 1);
    names_free(&t);
    free(text);
}

Test(names, two_steps_are_the_same_as_one)
{
    struct names t;
    names_init(&t);
    uint32_t hash = names_hash(&t, STR_LIT("a")); /* before there is a table */
    cr_assert_eq(names_intern_hashed(&t, STR_LIT("a"), hash), 0);
    cr_assert_eq(names_intern(&t, STR_LIT("a")), 0);
    hash = names_hash(&t, STR_LIT("b"));
    char text[1000][8];
    for (unsigned i = 0; i < 1000; i++) { /* the table grows in between */
        snprintf(text[i], sizeof text[i], "n%u", i);
        names_intern(&t, str_of(text[i]));
    }
    cr_assert_eq(names_intern_hashed(&t, STR_LIT("b"), hash), 1001);
    unsigned first = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t id = names_first_slot(&t, str_of(text[i]), names_hash(&t, str_of(text[i])));
        cr_assert(id == NAME_NONE || id == i + 1);
        first += id != NAME_NONE;
    }
    cr_assert_gt(first, 500, "most are where their hash says");
    cr_assert_eq(names_first_slot(&t, STR_LIT("c"), names_hash(&t, STR_LIT("c"))), NAME_NONE);
    cr_assert_eq(names_find(&t, STR_LIT("b")), 1001);
    names_free(&t);
}

Test(names, tables_do_not_share_their_hash)
{
    /* A file must not be able to choose names that collide. */
    struct names a, b;
    names_init(&a);
    names_init(&b);
    unsigned equal = 0;
    char text[64][8];
    for (unsigned i = 0; i < 64; i++) {
        snprintf(text[i], sizeof text[i], "n%u", i);
        equal += names_hash(&a, str_of(text[i])) == names_hash(&b, str_of(text[i]));
    }
    cr_assert_lt(equal, 4);
    names_free(&a);
    names_free(&b);
}

Test(names, texts_of_any_length_and_place)
{
    enum { LONG = 70000 };
    struct names t;
    names_init(&t);
    char *long_text = malloc(LONG + 1);
    cr_assert(long_text);
    memset(long_text, 'x', LONG + 1);
    uint32_t n[] = {UINT16_MAX - 1, UINT16_MAX, UINT16_MAX + 1, LONG, LONG + 1}, count = sizeof n / sizeof *n;
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(names_intern(&t, (struct str){long_text, n[i]}), i);
    cr_assert_eq(names_intern(&t, (struct str){NULL, 0}), count);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(names_text(&t, i).s == long_text && names_text(&t, i).n == n[i]);
        cr_assert_eq(names_find(&t, (struct str){long_text, n[i]}), i);
    }
    cr_assert_eq(names_text(&t, count).n, 0);
    char other[] = "short", *high = (char *)(uintptr_t)(UINT64_MAX - 100);
    cr_assert_eq(names_move(&t, 1, str_of(other)), 0);
    cr_assert(names_text(&t, 1).s == other && names_text(&t, 1).n == 5);
    cr_assert_eq(names_move(&t, 2, (struct str){high, 7}), 0);
    cr_assert(names_text(&t, 2).s == high && names_text(&t, 2).n == 7);
    cr_assert_geq(names_bytes(&t), t.cap * sizeof *t.refs + 4 * sizeof(struct str));
    names_free(&t);
    free(long_text);
}

Test(names, copies_are_what_is_compared)
{
    enum { N = 5000, LONG = 200 };
    struct names t;
    names_init(&t);
    t.copied = true;
    char(*text)[16] = calloc(N, sizeof *text), lasting[LONG], long_text[LONG];
    cr_assert_not_null(text);
    memset(lasting, 'l', LONG);
    memset(long_text, 'l', LONG);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "val_%u", i);
        cr_assert_eq(names_intern(&t, str_of(text[i])), i);
    }
    cr_assert_eq(names_intern(&t, (struct str){lasting, LONG}), N, "too long for a copy");
    cr_assert_eq(names_intern(&t, (struct str){NULL, 0}), N + 1);
    for (uint32_t i = 0; i < N; i++)
        cr_assert_eq(names_text(&t, i).s, text[i], "the text itself is the caller's");
    memset(text, 'x', N * sizeof *text); /* which a look-up leaves alone */
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "val_%u", i);
        cr_assert_eq(names_find(&t, str_of(name)), i);
        cr_assert(names_is(&t, i, str_of(name)));
        cr_assert_not(names_is(&t, i, STR_LIT("val_")));
        cr_assert_not(names_is(&t, (i + 1) % N, str_of(name)));
    }
    cr_assert(names_is(&t, N, (struct str){long_text, LONG}));
    cr_assert_not(names_is(&t, N, (struct str){long_text, LONG - 1}));
    cr_assert_eq(names_find(&t, (struct str){long_text, LONG}), N);
    cr_assert(names_is(&t, N + 1, STR_LIT("")));
    cr_assert_not(names_is(&t, N + 1, STR_LIT("x")));
    cr_assert_geq(names_bytes(&t),
                  N * (sizeof *t.refs + sizeof *t.hashes + sizeof *t.copy_at + sizeof("val_1") - 1));
    size_t before = names_bytes(&t);
    cr_assert_eq(names_seal(&t) + names_bytes(&t), before);
    names_free(&t);
    free(text);
}

Test(names, sealed_ids_keep_their_text)
{
    struct names t;
    names_init(&t);
    cr_assert_eq(names_seal(&t), 0, "empty");
    cr_assert_eq(names_intern(&t, STR_LIT("x")), 0, "nothing was sealed");
    cr_assert_geq(names_seal(&t), sizeof *t.tags + sizeof *t.ids + sizeof *t.hashes);
    cr_assert(t.n == 1 && str_is(names_text(&t, 0), "x"));
    cr_assert_eq(names_find(&t, STR_LIT("x")), NAME_NONE);
    cr_assert_eq(names_first_slot(&t, STR_LIT("x"), names_hash(&t, STR_LIT("x"))), NAME_NONE);
    cr_assert_eq(names_intern(&t, STR_LIT("y")), NAME_NONE);
    cr_assert_eq(t.n, 1);
    names_free(&t);
}
