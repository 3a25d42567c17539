#include "cli/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int print_plan(const struct page *p)
{
    switch (p->o->format) {
    case FORMAT_TSV:
        return print_plan_tsv(p);
    case FORMAT_JSON:
        return print_plan_json(p);
    case FORMAT_TEXT:
        break;
    }
    return print_plan_text(p);
}

int print_linears(const struct page *p)
{
    switch (p->o->format) {
    case FORMAT_TSV:
        return print_linears_tsv(p);
    case FORMAT_JSON:
        return print_linears_json(p);
    case FORMAT_TEXT:
        break;
    }
    return print_linears_text(p);
}

int put_piece(void *ctx, const char *text, size_t n)
{
    return fwrite(text, 1, n, ctx) == n ? 0 : -1;
}

int input_printed(struct input *in, const struct options *o, FILE *f, int status)
{
    return input_done(in, o, ferror(f) ? 0 : status);
}

/* Columns that UTF-8 text takes, not counting that some characters are wide. */
static size_t columns(const char *s, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++)
        width += (s[i] & 0xc0) != 0x80;
    return width;
}

/* Is text of n bytes ASCII? */
static bool ascii(const char *s, size_t n)
{
    uint64_t word, bits = 0;
    size_t i = 0;

    for (; n - i >= sizeof word; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        bits |= word;
    }
    for (; i < n; i++)
        bits |= (unsigned char)s[i];
    return (bits & 0x8080808080808080) == 0;
}

size_t shown_width(const char *s, size_t n)
{
    return ascii(s, n) ? n : columns(s, n);
}

size_t put_text(FILE *f, struct sactag_text t)
{
    char room[1024], *big = NULL;
    size_t n = sactag_escape(room, sizeof room, t);

    if (n >= sizeof room) {
        big = malloc(n + 1);
        if (big)
            sactag_escape(big, n + 1, t);
        else
            n = sizeof room - 1; /* better a cut name than none */
    }
    fwrite(big ? big : room, 1, n, f);
    size_t width = shown_width(big ? big : room, n);
    free(big);
    return width;
}

void put_cell(FILE *f, struct sactag_text t, char end)
{
    if (t.n == 0)
        fputc('-', f);
    else if (t.n == 1 && t.s[0] == '-')
        fputs("\\x2d", f);
    else
        put_text(f, t);
    fputc(end, f);
}

size_t text_width(struct sactag_text t, size_t most)
{
    char room[1024];
    const char *shown = t.s;
    size_t n = sactag_escape(NULL, 0, t);

    if (n >= sizeof room)
        return most;
    if (n != t.n) {
        sactag_escape(room, sizeof room, t);
        shown = room;
    }
    size_t width = shown_width(shown, n);
    return width < most ? width : most;
}

size_t decimal(char out[DECIMAL_MAX], uint64_t v)
{
    char digits[DECIMAL_MAX];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    out[n] = '\0';
    return n;
}

static size_t put_dim(char *out, int64_t dim)
{
    if (dim >= 0)
        return decimal(out, (uint64_t)dim);
    out[0] = '?';
    out[1] = '\0';
    return 1;
}

const char *shape_text(char *out, struct sactag_shape s)
{
    size_t n = put_dim(out, s.k);

    out[n++] = 'x';
    put_dim(out + n, s.n);
    return out;
}
