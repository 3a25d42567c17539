#include "ir/diag.h"

#include "ir/arena.h"
#include "ir/str.h"

#include <stdio.h>
#include <stdlib.h>

void diag_init(struct diag *d)
{
    *d = (struct diag){0};
}

void diag_free(struct diag *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->items[i].message);
        free(d->items[i].node);
        free(d->items[i].field);
    }
    free(d->items);
    diag_init(d);
}

static char *escaped(struct str s)
{
    size_t n = str_escape(NULL, 0, s);
    char *p = malloc(n + 1);
    if (p)
        str_escape(p, n + 1, s);
    return p;
}

/* Escaped, and cut to DIAG_TEXT_MAX bytes before that; NULL for NULL or without memory. */
static char *escaped_z(const char *z)
{
    return z ? escaped((struct str){z, strnlen(z, DIAG_TEXT_MAX)}) : NULL;
}

static char *format(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
static char *format(const char *fmt, va_list ap)
{
    static const char dots[] = "...";
    char buf[DIAG_TEXT_MAX + sizeof dots];
    buf[0] = '\0';
    int n = vsnprintf(buf, DIAG_TEXT_MAX + 1, fmt, ap);
    size_t len = strnlen(buf, DIAG_TEXT_MAX);
    if (n < 0 || (size_t)n > len) { /* cut (the length may even pass INT_MAX) */
        memcpy(buf + len, dots, sizeof dots);
        len += sizeof dots - 1;
    }
    return escaped((struct str){buf, len});
}

/* Was the same said before? Several programs of one archive give rise to the same warnings. */
static bool said(const struct diag *d, const struct diag_item *it)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].level == it->level && strcmp(d->items[i].message, it->message) == 0)
            return true;
    return false;
}

static void add(struct diag *d, struct diag_item it, const char *node, const char *field, const char *fmt,
                va_list ap) __attribute__((format(printf, 5, 0)));
static void add(struct diag *d, struct diag_item it, const char *node, const char *field, const char *fmt,
                va_list ap)
{
    if (!d)
        return;
    if (d->n >= DIAG_MAX_ITEMS && it.level != DIAG_ERROR) {
        d->dropped++;
        return;
    }
    it.message = format(fmt, ap);
    if (it.message && it.level != DIAG_ERROR && said(d, &it)) {
        free(it.message);
        return;
    }
    if (!it.message || grow(&d->items, &d->cap, d->n + 1, sizeof *d->items) != 0) {
        free(it.message);
        d->dropped++;
        return;
    }
    it.node = escaped_z(node);
    it.field = escaped_z(field);
    d->items[d->n++] = it;
}

int diag_error(struct diag *d, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct diag_item){.level = DIAG_ERROR, .code = code, .offset = DIAG_NO_OFFSET}, NULL, NULL, fmt,
        ap);
    va_end(ap);
    return code;
}

int diag_error_at(struct diag *d, int code, const char *node, const char *field, uint64_t offset,
                  const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct diag_item){.level = DIAG_ERROR, .code = code, .offset = offset}, node, field, fmt, ap);
    va_end(ap);
    return code;
}

void diag_warn(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct diag_item){.level = DIAG_WARNING, .offset = DIAG_NO_OFFSET}, NULL, NULL, fmt, ap);
    va_end(ap);
}

void diag_note(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct diag_item){.level = DIAG_NOTE, .offset = DIAG_NO_OFFSET}, NULL, NULL, fmt, ap);
    va_end(ap);
}

void diag_debug(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct diag_item){.level = DIAG_DEBUG, .offset = DIAG_NO_OFFSET}, NULL, NULL, fmt, ap);
    va_end(ap);
}
