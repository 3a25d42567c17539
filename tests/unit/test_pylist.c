/* Lists of strings as Python writes them. */
#include "ir/pylist.h"

#include <criterion/criterion.h>

Test(pylist, the_last_element_but_one)
{
    static const struct {
        const char *list, *item; /* NULL: none */
    } cases[] = {
        {"['', 'a', 'mul_3']", "a"},
        {"['', 'x']", ""},
        {"['a.b', \"it's\", 'mul']", "it's"},
        {"[\"a\", 'b']", "a"},
        {"['a', 'b',]", NULL},
        {"['a']", NULL},
        {"[]", NULL},
        {"", NULL},
        {"[", NULL},
        {"['a', 'b'", NULL},
        {"['a', 'b'] ", NULL},
        {"['a' 'b']", NULL},
        {"['a', 'b", NULL},
        {"['a\\'', 'b']", NULL},
        {"['a', 'b\\n']", NULL},
        {"('a', 'b')", NULL},
        {"[1, 2]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str item;
        bool found = pylist_before_last(str_of(cases[i].list), &item);
        cr_expect_eq(found, cases[i].item != NULL, "%s", cases[i].list);
        if (found && cases[i].item)
            cr_expect(str_is(item, cases[i].item), "%s: '%.*s'", cases[i].list, STR_ARG(item));
    }
}

Test(pylist, all_elements)
{
    const char *want[] = {"", "a", "it's", "mul"};
    struct str list = STR_LIT("['', 'a', \"it's\", 'mul']"), item;
    size_t p = 0, n = 0;
    for (; pylist_next(list, &p, &item) && n < 4; n++)
        cr_expect(str_is(item, want[n]), "%zu: '%.*s'", n, STR_ARG(item));
    cr_expect_eq(n, 4);
    p = 0;
    cr_expect_not(pylist_next(STR_LIT("[]"), &p, &item));
}

Test(pylist, what_is_before_the_last_element)
{
    static const struct {
        const char *list, *head;
    } cases[] = {
        {"['', 'a', 'mul_3']", "['', 'a', '"},
        {"['mul']", "['"},
        {"['a', '']", "['a', '"},
        {"['a', \"b\"]", ""},
        {"['a', 'b\\n']", ""},
        {"['a'", ""},
        {"']", ""},
        {"'']", ""},
        {"'x']", "'"},
        {"['', 'a', 'it', 'mul_3']", "['', 'a', 'it', '"},
        {"['', 'a', 'it's']", "['', 'a', 'it'"},
        {"['', 'a', 'b\\', 'mul_3']", "['', 'a', 'b\\', '"},
        {"['', 'a', 'mul_3'", ""},
        {"['', 'a', 'mul_3\"]", ""},
        {"", ""},
    };
    size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < n; i++) {
        cr_expect(str_is(pylist_head(str_of(cases[i].list)), cases[i].head), "%s", cases[i].list);
        for (size_t j = 0; j < n; j++) {
            bool same = cases[j].head[0] && strcmp(cases[i].head, cases[j].head) == 0;
            cr_expect_eq(pylist_has_head(str_of(cases[i].list), str_of(cases[j].head)), same, "%s, %s",
                         cases[i].list, cases[j].head);
        }
    }
}
