#include "ir/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

Test(arena, memory_is_zeroed_aligned_and_apart)
{
    struct arena a;
    arena_init(&a, 0);
    char *p[300];
    for (size_t i = 0; i < 300; i++) {
        size_t n = i * 37 % 5000;
        p[i] = arena_alloc(&a, n, 1);
        cr_assert_not_null(p[i]);
        cr_assert_eq((uintptr_t)p[i] % _Alignof(max_align_t), 0);
        cr_assert(all_zero(p[i], n), "object %zu is not zeroed", i);
        memset(p[i], (int)i + 1, n);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t k = 0; k < i * 37 % 5000; k++)
            cr_assert_eq(p[i][k], (char)(i + 1), "object %zu was overwritten", i);
    arena_free(&a);
    cr_assert_null(a.head);
    cr_assert_eq(a.total, 0);
}

Test(arena, is_usable_after_free)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    cr_assert_not_null(arena_alloc(&a, 1, 100));
    arena_free(&a);
    cr_assert_not_null(arena_alloc(&a, 1, 100));
    arena_free(&a);
}

Test(arena, sizes_that_overflow_are_refused)
{
    struct arena a;
    arena_init(&a, 0);
    cr_assert_null(arena_alloc(&a, SIZE_MAX / 2, 3));
    cr_assert_null(arena_alloc(&a, SIZE_MAX, 1));
    cr_assert_null(arena_alloc(&a, SIZE_MAX - 15, 1));
    cr_assert_null(arena_strdup(&a, "", SIZE_MAX));
    cr_assert_not_null(arena_alloc(&a, 8, 8));
    arena_free(&a);
}

Test(arena, nothing_is_asked_beyond_the_limit)
{
    struct arena a;
    arena_init(&a, 100000);
    size_t got = 0;
    for (size_t i = 0; i < 10000 && arena_alloc(&a, 1, 96); i++)
        got += 96;
    cr_assert_leq(a.total, 100000);
    cr_assert_geq(got, 50000, "most of the limit can be used, but only %zu bytes were", got);
    cr_assert_null(arena_alloc(&a, 1, 100000));
    arena_free(&a);
}

Test(arena, a_large_object_does_not_waste_the_room_that_is_left)
{
    struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < 100; i++) {
        cr_assert_not_null(arena_alloc(&a, 1, 16));
        cr_assert_not_null(arena_alloc(&a, 1, 1 << 20));
    }
    cr_assert_leq(a.total, (size_t)101 << 20);
    arena_free(&a);
}

Test(arena, empty_objects_have_an_address)
{
    struct arena a;
    arena_init(&a, 0);
    cr_assert_not_null(arena_alloc(&a, 0, 8));
    cr_assert_not_null(arena_alloc(&a, 8, 0));
    arena_free(&a);
}

Test(arena, strdup_keeps_nuls_and_ends_in_one)
{
    struct arena a;
    arena_init(&a, 0);
    char *s = arena_strdup(&a, "a\0b", 3);
    cr_assert_arr_eq(s, "a\0b", 4);
    cr_assert_str_eq(arena_strdup(&a, NULL, 0), "");
    arena_free(&a);
}

Test(arena, printf_formats_any_length)
{
    struct arena a;
    arena_init(&a, 0);
    cr_assert_str_eq(arena_printf(&a, "%d-%s", 12, "x"), "12-x");
    char *s = arena_printf(&a, "%05000d", 7);
    cr_assert_eq(strlen(s), 5000);
    cr_assert_eq(s[4999], '7');
    arena_free(&a);
}

Test(arena, grow_keeps_what_is_there)
{
    int *v = NULL;
    size_t cap = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(grow(&v, &cap, (size_t)i + 1, sizeof *v), 0);
        v[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(v[i], i);
    cr_assert_lt(cap, 3000);
    free(v);
}

Test(arena, grow_refuses_what_overflows)
{
    int *v = NULL;
    size_t cap = 0;
    cr_assert_eq(grow(&v, &cap, 10, sizeof *v), 0);
    int *before = v;
    size_t cap_before = cap;
    cr_assert_eq(grow(&v, &cap, SIZE_MAX / 2, sizeof *v), -1);
    cr_assert_eq(v, before);
    cr_assert_eq(cap, cap_before);
    free(v);
}

Test(arena, remembers_that_it_failed)
{
    struct arena a, b;
    arena_init(&a, 10000);
    arena_init(&b, 0);
    cr_assert_not_null(arena_alloc(&a, 10, 10));
    cr_assert(!a.failed);
    cr_assert_null(arena_alloc(&a, 100, 1000));
    cr_assert(a.failed);
    cr_assert_not_null(arena_alloc(&a, 10, 10));
    cr_assert(a.failed);
    arena_adopt(&b, &a);
    cr_assert(b.failed);
    cr_assert(!a.failed);
    arena_free(&b);
    cr_assert(!b.failed);
    cr_assert_null(arena_alloc(&b, SIZE_MAX, 2));
    cr_assert(b.failed);
}

Test(arena, what_lies_elsewhere_counts_towards_the_limit)
{
    struct arena a;
    arena_init(&a, 10000);
    cr_assert_eq(arena_charge(&a, 9000), 0);
    cr_assert_not(a.over);
    cr_assert_null(arena_alloc(&a, 2000, 1));
    cr_assert(a.over && a.failed);
    arena_free(&a);
    arena_init(&a, 10000);
    cr_assert_eq(arena_charge(&a, 10001), -1);
    cr_assert(a.over);
    cr_assert_eq(arena_charge(&a, SIZE_MAX), -1, "without overflow");
    cr_assert_eq(arena_charge(&a, 10000), 0, "what was refused does not count");
    arena_free(&a);
    arena_init(&a, 0);
    cr_assert_eq(arena_charge(&a, SIZE_MAX / 2), 0, "no limit");
    arena_free(&a);
}

Test(arena, tells_what_lies_in_it)
{
#ifdef SACTAG_ARENA_MALLOC
    const bool told = false;
#else
    const bool told = true;
#endif
    struct arena a, other;
    arena_init(&a, 0);
    arena_init(&other, 0);
    cr_assert_not(arena_holds(&a, &a), "empty");
    char *p[4];
    for (size_t i = 0; i < 4; i++) /* the last three have chunks of their own */
        cr_assert_not_null(p[i] = arena_alloc(&a, i ? (size_t)4 << 20 : 10, 1));
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < 4; i++) {
            cr_assert_eq(arena_holds(&a, p[i]) && arena_holds(&a, p[i] + 9), told, "%zu", i);
            cr_assert_not(arena_holds(&a, &a));
            cr_assert_not(arena_holds(&other, p[i]));
        }
    char *late = arena_alloc(&other, 10, 1);
    cr_assert_not_null(late);
    cr_assert_eq(arena_holds(&other, late), told);
    cr_assert_not(arena_holds(&a, late));
    arena_adopt(&a, &other);
    cr_assert_eq(arena_holds(&a, late) && arena_holds(&a, p[0]), told);
    arena_free(&a);
    cr_assert_not(arena_holds(&a, p[0]));
}
