#include "cli/row.h"

#include "cli/groups.h"
#include "cli/print.h"

#include <string.h>

void row_begin(struct row *r, FILE *f)
{
    r->f = f;
    r->n = 0;
}

void row_flush(struct row *r)
{
    fwrite(r->text, 1, r->n, r->f);
    r->n = 0;
}

void row_put(struct row *r, const char *s, size_t n)
{
    if (n > sizeof r->text - r->n)
        row_flush(r);
    if (n > sizeof r->text) {
        fwrite(s, 1, n, r->f);
        return;
    }
    memcpy(r->text + r->n, s, n);
    r->n += n;
}

size_t row_text(struct row *r, struct sactag_text t)
{
    size_t room = sizeof r->text - r->n, n = sactag_escape(r->text + r->n, room, t);

    if (n >= room) { /* with its NUL it did not fit */
        row_flush(r);
        return put_text(r->f, t);
    }
    r->n += n;
    return shown_width(r->text + r->n - n, n);
}

size_t row_word(struct row *r, const char *word)
{
    size_t n = strlen(word);

    row_put(r, word, n);
    return n;
}

void row_pad(struct row *r, size_t width, size_t to)
{
    static const char spaces[] = "                                                                ";

    while (width < to) {
        size_t n = to - width < sizeof spaces - 1 ? to - width : sizeof spaces - 1;
        row_put(r, spaces, n);
        width += n;
    }
}

void row_gap(struct row *r, size_t width, size_t to)
{
    row_pad(r, width, to < width + 2 ? width + 2 : to);
}

void row_end(struct row *r)
{
    row_put(r, "\n", 1);
    row_flush(r);
}

size_t cell_text(struct row *r, struct sactag_text t)
{
    return r ? row_text(r, t) : text_width(t, CELL_MOST);
}

static size_t cell_word(struct row *r, const char *word)
{
    return r ? row_word(r, word) : strlen(word);
}

size_t cell_name(struct row *r, const struct sactag_row *x)
{
    size_t width;

    if (x->fqn.n) {
        width = cell_text(r, relative_fqn(x));
    } else {
        width = cell_word(r, "(") + cell_text(r, x->node.n ? x->node : x->output);
        if (x->graph.n && x->graph.s[0] != '-')
            width += cell_word(r, " in ") + cell_text(r, x->graph);
        width += cell_word(r, ")");
    }
    return r || width < CELL_MOST ? width : CELL_MOST;
}

void widen(size_t *column, size_t width)
{
    if (width > *column)
        *column = width;
}
