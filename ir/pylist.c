#include "ir/pylist.h"

/* One element; *p stands at its quote, and is left behind it. */
static bool next_item(struct str text, size_t *p, struct str *item)
{
    if (*p >= text.n || (text.s[*p] != '\'' && text.s[*p] != '"'))
        return false;
    struct str rest = str_sub(text, *p + 1, text.n - *p - 1);
    ptrdiff_t end = str_chr(rest, text.s[*p]);
    if (end < 0)
        return false;
    *item = str_sub(rest, 0, (size_t)end);
    *p += (size_t)end + 2;
    return true;
}

bool pylist_next(struct str text, size_t *p, struct str *item)
{
    size_t at = *p == 0 ? 1 : *p + 2; /* behind "[" or ", " */
    if (!next_item(text, &at, item))
        return false;
    *p = at;
    return true;
}

bool pylist_before_last(struct str text, struct str *item)
{
    struct str last = {0}, before = {0};
    size_t p = 1, n = 0;
    if (text.n < 2 || text.s[0] != '[' || str_chr(text, '\\') >= 0)
        return false;
    while (p < text.n && text.s[p] != ']') {
        before = last;
        if (!next_item(text, &p, &last))
            return false;
        n++;
        if (p + 1 < text.n && text.s[p] == ',' && text.s[p + 1] == ' ')
            p += 2;
        else if (p >= text.n || text.s[p] != ']')
            return false;
    }
    *item = before;
    return p + 1 == text.n && n >= 2;
}

bool pylist_has_head(struct str text, struct str head)
{
    if (head.n == 0 || text.n < 4 || text.n < head.n + 2 || text.s[text.n - 1] != ']' ||
        text.s[text.n - 2] != '\'' || memcmp(text.s, head.s, head.n) != 0)
        return false;
    return !str_has_either(str_sub(text, head.n, text.n - 2 - head.n), '\'', '\\');
}

struct str pylist_head(struct str text)
{
    const struct str none = {0};
    if (text.n < 4 || text.s[text.n - 1] != ']' || text.s[text.n - 2] != '\'')
        return none;
    ptrdiff_t quote = str_rchr(str_sub(text, 0, text.n - 2), '\'');
    size_t n = quote < 0 ? 0 : (size_t)quote + 1;
    return n && str_chr(str_sub(text, n, text.n - n), '\\') < 0 ? str_sub(text, 0, n) : none;
}
