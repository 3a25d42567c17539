#include "ir/diag.h"

#include "ir/str.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

Test(diag, errors_return_their_code)
{
    struct diag d;
    diag_init(&d);
    cr_assert_eq(diag_error(&d, IR_EINPUT, "node %d", 3), IR_EINPUT);
    cr_assert_eq(diag_error_at(&d, IR_EIO, "n", "graph.node[3]", 77, "cannot"), IR_EIO);
    diag_warn(&d, "w");
    diag_note(&d, "n");
    diag_debug(&d, "g");
    cr_assert_eq(d.n, 5);
    cr_assert_eq(d.items[0].level, DIAG_ERROR);
    cr_assert_eq(d.items[0].code, IR_EINPUT);
    cr_assert_str_eq(d.items[0].message, "node 3");
    cr_assert_null(d.items[0].node);
    cr_assert_eq(d.items[0].offset, DIAG_NO_OFFSET);
    cr_assert_str_eq(d.items[1].node, "n");
    cr_assert_str_eq(d.items[1].field, "graph.node[3]");
    cr_assert_eq(d.items[1].offset, 77);
    cr_assert_eq(d.items[2].level, DIAG_WARNING);
    cr_assert_eq(d.items[2].code, 0);
    cr_assert_eq(d.items[3].level, DIAG_NOTE);
    cr_assert_eq(d.items[4].level, DIAG_DEBUG);
    diag_free(&d);
    cr_assert_eq(d.n, 0);
}

Test(diag, null_keeps_nothing)
{
    cr_assert_eq(diag_error(NULL, IR_EMEM, "x"), IR_EMEM);
    cr_assert_eq(diag_error_at(NULL, IR_EIO, "a", "b", 1, "x"), IR_EIO);
    diag_warn(NULL, "x");
}

Test(diag, that_memory_ran_out_is_said_once)
{
    struct diag d;
    diag_init(&d);
    cr_assert_eq(diag_error(&d, IR_EINPUT, "first"), IR_EINPUT);
    cr_assert_eq(diag_error(&d, IR_EMEM, "no memory here"), IR_EMEM);
    cr_assert_eq(diag_error(&d, IR_EMEM, "nor there"), IR_EMEM);
    diag_error(&d, IR_EIO, "last");
    cr_assert_eq(d.n, 3);
    cr_assert_str_eq(d.items[1].message, "no memory here");
    cr_assert_str_eq(d.items[2].message, "last");
    diag_free(&d);
}

Test(diag, everything_is_escaped)
{
    struct diag d;
    diag_init(&d);
    diag_error_at(&d, IR_EINPUT, "a\033[2Jb", "f\n", 0, "value '%s'", "x\ny\\");
    cr_assert_str_eq(d.items[0].message, "value 'x\\ny\\\\'");
    cr_assert_str_eq(d.items[0].node, "a\\x1b[2Jb");
    cr_assert_str_eq(d.items[0].field, "f\\n");
    diag_free(&d);
}

Test(diag, warnings_are_bounded_errors_are_kept)
{
    struct diag d;
    diag_init(&d);
    for (int i = 0; i < DIAG_MAX_ITEMS + 50; i++)
        diag_warn(&d, "w %d", i);
    cr_assert_eq(d.n, DIAG_MAX_ITEMS);
    cr_assert_eq(d.dropped, 50);
    diag_error(&d, IR_EINPUT, "the error");
    cr_assert_eq(d.n, DIAG_MAX_ITEMS + 1);
    cr_assert_str_eq(d.items[DIAG_MAX_ITEMS].message, "the error");
    diag_free(&d);
}

Test(diag, long_texts_are_cut)
{
    struct diag d;
    diag_init(&d);
    size_t n = 100000;
    char *s = malloc(n + 1);
    cr_assert_not_null(s);
    memset(s, 'x', n);
    s[n] = '\0';
    diag_error_at(&d, IR_EINPUT, s, s, 0, "%s", s);
    cr_assert_eq(strlen(d.items[0].message), DIAG_TEXT_MAX + 3);
    cr_assert_str_eq(d.items[0].message + DIAG_TEXT_MAX, "...");
    cr_assert_eq(strlen(d.items[0].node), DIAG_TEXT_MAX);
    s[DIAG_TEXT_MAX] = '\0';
    diag_error(&d, IR_EINPUT, "%s", s);
    cr_assert_eq(strlen(d.items[1].message), DIAG_TEXT_MAX, "what fits is not cut");
    s[DIAG_TEXT_MAX] = 'x';
    diag_error(&d, IR_EINPUT, "%s%.*s%s", "begin", (int)n, s, "end");
    cr_assert_eq(strncmp(d.items[2].message, "beginx", 6), 0);
    cr_assert_eq(strlen(d.items[2].message), DIAG_TEXT_MAX + 3, "nothing follows what was cut");
    free(s);
    diag_free(&d);
}

Test(diag, names_go_on_past_a_nul)
{
    struct diag d;
    diag_init(&d);
    diag_error(&d, IR_EINPUT, "'%.*s' and '%.*s'", STR_ARG(STR_LIT("a\0b")), STR_ARG(STR_LIT("a\0c")));
    diag_error(&d, IR_EINPUT, "'%.*s'", STR_ARG(((struct str){NULL, 0})));
    cr_assert_str_eq(d.items[0].message, "'a\\x00b' and 'a\\x00c'");
    cr_assert_str_eq(d.items[1].message, "''");
    diag_free(&d);
}

Test(diag, formats)
{
    struct diag d;
    diag_init(&d);
    diag_error(&d, IR_EINPUT, "%d %i %u %x %c%% %s", -1, INT_MIN, UINT_MAX, 0xabcdu, '!', "s");
    diag_error(&d, IR_EINPUT, "%ld %lu %lld %llu %zu %zd", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX,
               SIZE_MAX, (ptrdiff_t)-2);
    diag_error(&d, IR_EINPUT, "%" PRIu32 "x%" PRId64 ";%" PRIu64, UINT32_C(7), INT64_C(-8), UINT64_C(9));
    cr_assert_str_eq(d.items[0].message, "-1 -2147483648 4294967295 abcd !% s");
    cr_assert_str_eq(d.items[1].message, "-9223372036854775808 18446744073709551615 -9223372036854775808 "
                                         "18446744073709551615 18446744073709551615 -2");
    cr_assert_str_eq(d.items[2].message, "7x-8;9");
    diag_free(&d);
}
