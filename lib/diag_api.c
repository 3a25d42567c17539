/* Diagnostics of the public API: struct diag under another name. */
#include "lib/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *sactag_version(void)
{
    return SACTAG_VERSION;
}

int sactag_exit_code(int status)
{
    if (status >= 0)
        return 0;
    return status == SACTAG_EMEM ? -SACTAG_EIO : -status;
}

sactag_diag *sactag_diag_new(void)
{
    sactag_diag *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    diag_init(&d->d);
    d->error = calloc(1, ERROR_ROOM);
    if (d->error)
        return d;
    free(d);
    return NULL;
}

void sactag_diag_free(sactag_diag *d)
{
    if (!d)
        return;
    diag_free(&d->d);
    free(d->error);
    free(d);
}

size_t sactag_diag_count(const sactag_diag *d)
{
    return d ? d->d.n : 0;
}

struct sactag_message sactag_diag_get(const sactag_diag *d, size_t i)
{
    const struct diag_item *item = &d->d.items[i];

    return (struct sactag_message){
        .level = (enum sactag_level)item->level,
        .status = item->code,
        .text = item->message,
        .node = item->node,
        .field = item->field,
        .offset = item->offset,
    };
}

void sactag_diag_clear(sactag_diag *d)
{
    if (!d)
        return;
    diag_free(&d->d);
    diag_init(&d->d);
}

size_t sactag_diag_dropped(const sactag_diag *d)
{
    return d ? d->d.dropped : 0;
}

/* snprintf() to the end of what has been written, counting on where nothing is written any more. */
static void append(char *out, size_t cap, size_t *n, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void append(char *out, size_t cap, size_t *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int more = vsnprintf(*n < cap ? out + *n : NULL, *n < cap ? cap - *n : 0, fmt, ap);
    va_end(ap);
    *n += more > 0 ? (size_t)more : 0;
}

size_t sactag_message_text(char *out, size_t cap, const struct sactag_message *m)
{
    const char *sep = " (";
    size_t n = 0;

    append(out, cap, &n, "%s", m->text);
    if (m->node) {
        append(out, cap, &n, "%snode '%s'", sep, m->node);
        sep = ", ";
    }
    if (m->field) {
        append(out, cap, &n, "%sfield %s", sep, m->field);
        sep = ", ";
    }
    if (m->offset != DIAG_NO_OFFSET) {
        append(out, cap, &n, "%soffset %" PRIu64, sep, m->offset);
        sep = ", ";
    }
    if (sep[0] == ',')
        append(out, cap, &n, ")");
    return n;
}

const char *sactag_diag_error(const sactag_diag *d)
{
    for (size_t i = 0; i < sactag_diag_count(d); i++) {
        struct sactag_message m = sactag_diag_get(d, i);
        if (m.level != SACTAG_ERROR)
            continue;
        sactag_message_text(d->error, ERROR_ROOM, &m);
        return d->error;
    }
    return "";
}

size_t sactag_escape(char *out, size_t cap, struct sactag_text in)
{
    return str_escape(out, cap, (struct str){in.s, in.n});
}
