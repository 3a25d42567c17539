/* A --config file: one `option = value` a line; a flag may stand alone. Blank lines and what follows a # at
 * the beginning of a line or after white space are ignored. */
#include "cli/options.h"

#include "cli/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 65536 /* of one line: no policy needs more, and no file can make us allocate */

static char *trim(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1]))
        s[--n] = 0;
    return s;
}

static void cut_comment(char *line)
{
    for (char *s = line; (s = strchr(s, '#')); s++) {
        if (s == line || s[-1] == ' ' || s[-1] == '\t') {
            *s = 0;
            return;
        }
    }
}

static int find(const char *name)
{
    for (int id = 0; id < OPT_COUNT; id++)
        if (option_spec(id)->in_config && option_named(id, name))
            return id;
    return -1;
}

static int unknown(const struct options *o, const char *place, const char *name)
{
    const char *words[2 * OPT_COUNT] = {NULL};

    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option_spec *s = option_spec(id);
        if (s->in_config) {
            words[2 * id] = s->name;
            words[2 * id + 1] = s->alias;
        } else if (strcmp(s->name, name) == 0)
            return message_error(2, &o->voice, place, "'%s' is for the command line only", name);
    }
    const char *close = suggest(name, words, 2 * OPT_COUNT);
    if (close)
        return message_error(2, &o->voice, place, "unknown option '%s' (did you mean '%s'?)", name, close);
    return message_error(2, &o->voice, place, "unknown option '%s'", name);
}

/* Takes one line, without its newline. `place` is "FILE:LINE". */
static int take_line(struct options *o, char *line, const char *place)
{
    cut_comment(line);
    char *equals = strchr(line, '=');
    char *value = equals ? trim(equals + 1) : NULL;
    char where[4400];

    if (equals)
        *equals = 0;
    char *name = trim(line);
    if (!*name && !equals)
        return 0;
    int id = find(name);
    if (id < 0)
        return unknown(o, place, name);
    const struct option_spec *s = option_spec(id);
    if (s->arg && (!value || !*value))
        return message_error(2, &o->voice, place, "%s needs a value: %s", s->name, s->arg);
    if (!s->repeatable && (o->given & OPT_BIT(id)))
        return 0;
    snprintf(where, sizeof where, "%s: %s", place, s->name);
    return options_take(o, (enum option_id)id, value, where);
}

enum line { LINE_END, LINE_TEXT, LINE_BAD };

/* The next line, without its newline. */
static enum line next_line(FILE *f, char *line)
{
    size_t n = 0;
    int c;

    while ((c = getc(f)) != EOF && c != '\n') {
        if (c == 0 || n == LINE_MAX_BYTES - 2)
            return LINE_BAD;
        line[n++] = (char)c;
    }
    line[n] = 0;
    return n || c != EOF ? LINE_TEXT : LINE_END;
}

static int take_lines(struct options *o, FILE *f, const char *path, char *line)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a text in UTF-8 with it */
    char place[4200];
    enum line found;

    for (unsigned long number = 1; (found = next_line(f, line)) != LINE_END; number++) {
        snprintf(place, sizeof place, "%s:%lu", path, number);
        if (found == LINE_BAD)
            return message_error(2, &o->voice, place, "expected text but found a NUL or a line over %d bytes",
                                 LINE_MAX_BYTES - 2);
        bool marked = number == 1 && strncmp(line, mark, strlen(mark)) == 0;
        int e = take_line(o, line + (marked ? strlen(mark) : 0), place);
        if (e)
            return e;
    }
    if (ferror(f))
        return message_error(5, &o->voice, path, "cannot read: %s", strerror(errno));
    return 0;
}

static int take_file(struct options *o, const char *path, char *line)
{
    FILE *f = fopen(path, "re");

    if (!f)
        return message_error(5, &o->voice, path, "cannot open: %s", strerror(errno));
    int e = take_lines(o, f, path, line);
    fclose(f);
    return e;
}

int config_read(struct options *o, const char *path)
{
    char *line = malloc(LINE_MAX_BYTES);

    if (!line)
        return message_nomem(&o->voice);
    int e = strcmp(path, "-") == 0 ? take_lines(o, stdin, "stdin", line) : take_file(o, path, line);
    free(line);
    return e;
}
