#include "ir/diag.h"

#include "ir/arena.h"
#include "ir/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- formatting: vsnprintf() would end a name of %.*s at a NUL, and hide what follows */

struct text {
    char *s;
    size_t cap, n;
    bool cut;
    va_list ap;
};

static void put(struct text *t, const char *s, size_t n)
{
    size_t room = t->cap - t->n, take = n < room ? n : room;

    if (t->cut || n == 0)
        return;
    memcpy(t->s + t->n, s, take);
    t->n += take;
    t->cut = take < n;
}

static void put_number(struct text *t, char conversion, size_t longs, bool is_size)
{
    char digits[32];
    int n;

    if (conversion == 'd' || conversion == 'i') {
        long long v = longs > 1    ? va_arg(t->ap, long long)
                      : longs == 1 ? va_arg(t->ap, long)
                      : is_size    ? va_arg(t->ap, ptrdiff_t)
                                   : va_arg(t->ap, int);
        n = snprintf(digits, sizeof digits, "%lld", v);
    } else {
        unsigned long long v = longs > 1    ? va_arg(t->ap, unsigned long long)
                               : longs == 1 ? va_arg(t->ap, unsigned long)
                               : is_size    ? va_arg(t->ap, size_t)
                                            : va_arg(t->ap, unsigned);
        n = snprintf(digits, sizeof digits, conversion == 'x' ? "%llx" : "%llu", v);
    }
    put(t, digits, n > 0 ? (size_t)n : 0);
}

/* The conversion after a %; returns its length. */
static size_t put_conversion(struct text *t, const char *fmt)
{
    if (strncmp(fmt, ".*s", 3) == 0) {
        int n = va_arg(t->ap, int);
        put(t, va_arg(t->ap, const char *), n > 0 ? (size_t)n : 0);
        return 3;
    }
    size_t longs = strspn(fmt, "l"), size = strspn(fmt, "z");
    char conversion = fmt[longs + size];
    if (conversion == 's') {
        const char *s = va_arg(t->ap, const char *);
        put(t, s, s ? strlen(s) : 0);
    } else if (conversion == 'c') {
        char c = (char)va_arg(t->ap, int);
        put(t, &c, 1);
    } else if (conversion == '%') {
        put(t, "%", 1);
    } else {
        put_number(t, conversion, longs, size > 0);
    }
    return longs + size + (conversion != '\0');
}

static void put_all(struct text *t, const char *fmt)
{
    while (*fmt) {
        size_t n = strcspn(fmt, "%");
        put(t, fmt, n);
        fmt += n;
        if (*fmt)
            fmt += 1 + put_conversion(t, fmt + 1);
    }
}

size_t diag_format(char *out, size_t cap, const char *fmt, va_list ap)
{
    static const char dots[] = "...";
    struct text t = {.s = out, .cap = cap - sizeof dots};

    va_copy(t.ap, ap);
    put_all(&t, fmt);
    va_end(t.ap);
    strcpy(out + t.n, t.cut ? dots : "");
    return t.cut ? t.n + sizeof dots - 1 : t.n;
}

static char *format(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
static char *format(const char *fmt, va_list ap)
{
    char text[DIAG_TEXT_MAX + sizeof "..."];
    size_t n = diag_format(text, sizeof text, fmt, ap);

    return escaped((struct str){text, n});
}

/* Was the same said before? Several programs of one archive give rise to the same warnings. */
static bool said(const struct diag *d, const struct diag_item *it)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].level == it->level && strcmp(d->items[i].message, it->message) == 0)
            return true;
    return false;
}

/* That memory ran out is said once, by whom it happened to. */
static bool said_no_memory(const struct diag *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].level == DIAG_ERROR && d->items[i].code == IR_EMEM)
            return true;
    return false;
}

/* What is reported, in the caller's words. */
struct report {
    enum diag_level level;
    int code;
    const char *node, *field; /* or NULL */
    uint64_t offset;
};

static void add(struct diag *d, struct report r, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static void add(struct diag *d, struct report r, const char *fmt, va_list ap)
{
    struct diag_item it = {.level = r.level, .code = r.code, .offset = r.offset};
    if (!d)
        return;
    if (d->n >= DIAG_MAX_ITEMS && it.level != DIAG_ERROR) {
        d->dropped++;
        return;
    }
    if (it.level == DIAG_ERROR && it.code == IR_EMEM && said_no_memory(d))
        return;
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
    it.node = escaped_z(r.node);
    it.field = escaped_z(r.field);
    d->items[d->n++] = it;
}

int diag_error(struct diag *d, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct report){.level = DIAG_ERROR, .code = code, .offset = DIAG_NO_OFFSET}, fmt, ap);
    va_end(ap);
    return code;
}

int diag_error_at(struct diag *d, int code, const char *node, const char *field, uint64_t offset,
                  const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct report r = {.level = DIAG_ERROR, .code = code, .node = node, .field = field, .offset = offset};
    add(d, r, fmt, ap);
    va_end(ap);
    return code;
}

void diag_warn(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct report){.level = DIAG_WARNING, .offset = DIAG_NO_OFFSET}, fmt, ap);
    va_end(ap);
}

void diag_note(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct report){.level = DIAG_NOTE, .offset = DIAG_NO_OFFSET}, fmt, ap);
    va_end(ap);
}

void diag_debug(struct diag *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(d, (struct report){.level = DIAG_DEBUG, .offset = DIAG_NO_OFFSET}, fmt, ap);
    va_end(ap);
}
