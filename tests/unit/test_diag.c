#include "ir/diag.h"

#include <criterion/criterion.h>
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
    /* A length that no int holds is no reason to lose the message. */
    volatile int width = INT_MAX; /* volatile: compilers warn of what they can see */
    diag_error(&d, IR_EINPUT, "%s%*s", "begin", width, "x");
    cr_assert_eq(strncmp(d.items[2].message, "begin", 5), 0);
    free(s);
    diag_free(&d);
}
