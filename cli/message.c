#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define YELLOW "\033[33m"
#define FAINT  "\033[2m"
#define RESET  "\033[0m"

struct line {
    char text[8192];
    size_t n; /* length so far; may pass the size of text: then the line is cut */
};

static void add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *fmt, ...)
{
    if (l->n >= sizeof l->text)
        return;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
    va_end(ap);
    if (n > 0)
        l->n += (size_t)n;
}

static void add_escaped(struct line *l, const char *s)
{
    if (l->n >= sizeof l->text)
        return;
    l->n += sactag_escape(l->text + l->n, sizeof l->text - l->n, (struct sactag_text){s, strlen(s)});
}

/* One write a line, so that the lines of two processes do not mix. */
static void put_line(struct line *l)
{
    static const char cut[] = "...\n";

    if (l->n + 1 < sizeof l->text)
        strcpy(l->text + l->n, "\n");
    else
        strcpy(l->text + sizeof l->text - sizeof cut, cut);
    fputs(l->text, stderr);
}

static void add_label(struct line *l, const struct voice *v, const char *file, const char *color,
                      const char *label)
{
    add(l, "sactag: ");
    if (file) {
        add_escaped(l, file);
        add(l, ": ");
    }
    if (label)
        add(l, "%s%s:%s ", v->color ? color : "", label, v->color ? RESET : "");
}

static void say(const struct voice *v, const char *file, const char *color, const char *label,
                const char *fmt, va_list ap) __attribute__((format(printf, 5, 0)));
static void say(const struct voice *v, const char *file, const char *color, const char *label,
                const char *fmt, va_list ap)
{
    struct line l = {.n = 0};
    char text[4096];

    vsnprintf(text, sizeof text, fmt, ap);
    add_label(&l, v, file, color, label);
    add_escaped(&l, text);
    put_line(&l);
}

int message_error(int code, const struct voice *v, const char *file, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(v, file, "", NULL, fmt, ap);
    va_end(ap);
    return code;
}

void message_note(const struct voice *v, const char *file, const char *fmt, ...)
{
    if (v->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    say(v, file, FAINT, "note", fmt, ap);
    va_end(ap);
}

void message_plain(const struct voice *v, const char *file, const char *fmt, ...)
{
    if (v->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    say(v, file, "", NULL, fmt, ap);
    va_end(ap);
}

static void say_item(const struct voice *v, const char *file, const struct sactag_message *m)
{
    static const char *const label[] = {NULL, "warning", "note", "debug"};
    static const char *const color[] = {"", YELLOW, FAINT, FAINT};
    struct line l = {.n = 0};

    add_label(&l, v, file, color[m->level], label[m->level]);
    if (l.n < sizeof l.text)
        l.n += sactag_message_text(l.text + l.n, sizeof l.text - l.n, m);
    put_line(&l);
}

bool message_diag(const struct voice *v, const char *file, sactag_diag *d)
{
    bool error = false;

    for (size_t i = 0; i < sactag_diag_count(d); i++) {
        struct sactag_message m = sactag_diag_get(d, i);
        error |= m.level == SACTAG_ERROR;
        if (m.level == SACTAG_ERROR || (m.level == SACTAG_DEBUG ? v->verbose : !v->quiet))
            say_item(v, file, &m);
    }
    if (sactag_diag_dropped(d))
        message_note(v, file, "%zu more messages were left out", sactag_diag_dropped(d));
    sactag_diag_clear(d);
    return error;
}

int message_nomem(const struct voice *v)
{
    return message_error(5, v, NULL, "out of memory");
}
