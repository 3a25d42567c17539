/* What each option does with its value. */
#include "cli/options.h"

#include "cli/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An option as it was given. */
struct given {
    const char *where; /* what messages call it: "--match", "FILE:3: match" */
    const char *value; /* NULL for a flag */
};

static int bad_word(const struct options *o, const struct given *g, const char *const *words, size_t n)
{
    char list[128] = "";
    const char *close = suggest(g->value, words, n);

    if (close)
        return message_error(2, &o->voice, NULL, "%s: '%s' is not a choice (did you mean '%s'?)", g->where,
                             g->value, close);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    return message_error(2, &o->voice, NULL, "%s: expected %s but found '%s'", g->where, list, g->value);
}

/* The position of `value` among the words. */
static int take_word(struct options *o, const struct given *g, const char *const *words, size_t n,
                     size_t *choice)
{
    for (*choice = 0; *choice < n; ++*choice)
        if (strcmp(g->value, words[*choice]) == 0)
            return 0;
    return bad_word(o, g, words, n);
}

static int take_number(struct options *o, const struct given *g, uint64_t most, bool with_unit, uint64_t *out)
{
    char *end = NULL;
    unsigned shift = 0;
    const char *unit = with_unit ? ", which K, M or G may follow," : "";

    errno = 0;
    unsigned long long v = g->value[0] >= '0' && g->value[0] <= '9' ? strtoull(g->value, &end, 10) : 0;
    if (end && with_unit && *end && strchr("KMG", *end))
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
    if (!end || *end || errno || v == 0 || v > (UINT64_MAX >> shift) || (v << shift) > most)
        return message_error(2, &o->voice, NULL, "%s: expected a number from 1 to %llu%s but found '%s'",
                             g->where, (unsigned long long)most, unit, g->value);
    *out = v << shift;
    return 0;
}

/* Room for one more behind n elements: twice as much whenever n is a power of two. NULL without memory. */
static void *room_for_one_more(void *list, size_t n, size_t size)
{
    return n & (n - 1) ? list : realloc(list, (n ? 2 * n : 1) * size);
}

static int push_string(struct options *o, struct strings *list, const char *s, size_t n)
{
    char **grown = room_for_one_more(list->s, list->n, sizeof *grown), *copy;

    if (!grown)
        return message_nomem(&o->voice);
    list->s = grown;
    copy = strndup(s, n);
    if (!copy)
        return message_nomem(&o->voice);
    list->s[list->n++] = copy;
    return 0;
}

static void trim(const char **s, size_t *n)
{
    while (*n > 0 && (**s == ' ' || **s == '\t'))
        ++*s, --*n;
    while (*n > 0 && ((*s)[*n - 1] == ' ' || (*s)[*n - 1] == '\t'))
        --*n;
}

/* Up to the next comma that has no backslash before it. */
static size_t item_length(const char *s)
{
    size_t n = 0;
    while (s[n] && s[n] != ',')
        n += s[n] == '\\' && s[n + 1] == ',' ? 2 : 1;
    return n;
}

/* A comma with a backslash before it is one of the name's own. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++)
        if (s[0] != '\\' || s[1] != ',')
            *to++ = *s;
    *to = '\0';
}

static int take_list(struct options *o, const struct given *g, struct strings *list, bool commas)
{
    for (const char *s = g->value;;) {
        size_t n = commas ? item_length(s) : strlen(s);
        const char *next = s + n;
        trim(&s, &n);
        if (n == 0)
            return message_error(2, &o->voice, NULL, "%s: empty name in '%s'", g->where, g->value);
        int e = push_string(o, list, s, n);
        if (e)
            return e;
        if (commas)
            unescape(list->s[list->n - 1]);
        if (!*next)
            return 0;
        s = next + 1;
    }
}

static const char *parse_dim(const char *s, int64_t *out)
{
    char *end;

    if (*s < '0' || *s > '9')
        return NULL;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    *out = v;
    return errno || v <= 0 ? NULL : end;
}

/* One shape of a list, of n bytes. */
static int take_shape(struct options *o, const char *where, const char *value, size_t n)
{
    struct sactag_shape shape = {0, 0};
    const char *s = parse_dim(value, &shape.k);

    s = s && *s == 'x' ? parse_dim(s + 1, &shape.n) : NULL;
    if (s != value + n)
        return message_error(2, &o->voice, NULL,
                             "%s: expected KxN, such as 4096x64 (in x out), but found '%.*s'", where, (int)n,
                             value);
    struct sactag_shape *grown = room_for_one_more(o->shapes, o->n_shapes, sizeof *grown);
    if (!grown)
        return message_nomem(&o->voice);
    o->shapes = grown;
    o->shapes[o->n_shapes++] = shape;
    return 0;
}

static int take_shapes(struct options *o, const struct given *g)
{
    for (const char *s = g->value;;) {
        size_t n = strcspn(s, ",");
        const char *next = s + n;
        trim(&s, &n);
        int e = take_shape(o, g->where, s, n);
        if (e || !*next)
            return e;
        s = next + 1;
    }
}

/* "Op" or "domain:Op". */
static bool is_op_name(const char *s)
{
    const char *colon = strchr(s, ':');
    return colon ? colon > s && colon[1] && !strchr(colon + 1, ':') : *s != '\0';
}

static int take_ops(struct options *o, const struct given *g)
{
    size_t before = o->mm_ops.n;
    int e = take_list(o, g, &o->mm_ops, true);

    for (size_t i = before; !e && i < o->mm_ops.n; i++)
        if (!is_op_name(o->mm_ops.s[i]))
            e = message_error(2, &o->voice, NULL, "%s: expected an operator, OP or DOMAIN:OP, but found '%s'",
                              g->where, o->mm_ops.s[i]);
    return e;
}

/* A flag on the command line has no value; in a file it may have one. */
static int take_flag(struct options *o, const struct given *g, bool *out)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};
    size_t choice = 0;

    if (g->value) {
        int e = take_word(o, g, words, 8, &choice);
        if (e)
            return e;
    }
    *out = choice % 2 == 0;
    return 0;
}

/* Two outputs cannot both be meant, nor two configurations. */
static int take_file(struct options *o, const struct given *g, const char **path)
{
    if (!*g->value)
        return message_error(2, &o->voice, NULL, "%s: the name of the file is empty", g->where);
    if (*path)
        return message_error(2, &o->voice, NULL, "%s is given twice: '%s' and '%s'", g->where, *path,
                             g->value);
    *path = g->value;
    return 0;
}

#define WORDS(...)                                                                                           \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

static int take_policy(struct options *o, enum option_id id, const struct given *g)
{
    struct sactag_options *p = &o->policy;
    size_t choice = 0;
    int e = 0;

    if (id == OPT_FQN)
        e = take_list(o, g, &o->fqns, true);
    else if (id == OPT_FORCE_SHAPE)
        e = take_shapes(o, g);
    else if (id == OPT_BLOCKS)
        e = take_list(o, g, &o->blocks, false);
    else if (id == OPT_MM_OPS)
        e = take_ops(o, g);
    else if (id == OPT_STRICT)
        e = take_flag(o, g, &p->strict);
    else if (id == OPT_SPECIALIZE)
        e = take_flag(o, g, &p->specialize);
    else if (id == OPT_CONFIG)
        e = take_file(o, g, &o->config);
    else if (id == OPT_MATCH && !(e = take_word(o, g, match_names + 1, 3, &choice)))
        p->match = (enum sactag_match)(SACTAG_MATCH_EXACT + choice);
    else if (id == OPT_PROFILE && !(e = take_word(o, g, WORDS("none", "titan"), &choice)))
        p->profile = choice ? SACTAG_PROFILE_TITAN : SACTAG_PROFILE_NONE;
    else if (id == OPT_MM_RULE && !(e = take_word(o, g, rule_names + 1, 2, &choice)))
        p->mm_rule = (enum sactag_mm_rule)(SACTAG_MM_ONNX + choice);
    else if (id == OPT_ORDER && !(e = take_word(o, g, WORDS("auto", "file"), &choice)))
        p->order = choice ? SACTAG_ORDER_FILE : SACTAG_ORDER_AUTO;
    return e;
}

static int take_write(struct options *o, enum option_id id, const struct given *g)
{
    struct sactag_write_options *w = &o->write;
    size_t choice = 0;
    uint64_t number = 0;
    int e = 0;

    if (id == OPT_OUTPUT)
        e = take_file(o, g, &o->output);
    else if (id == OPT_IN_PLACE)
        o->in_place = true;
    else if (id == OPT_NO_SYNC)
        w->no_sync = true;
    else if (id == OPT_REBASE)
        o->rebase = true;
    else if (id == OPT_CARRIER && !(e = take_word(o, g, WORDS("metadata", "attribute", "popart"), &choice)))
        w->carrier = (enum sactag_carrier)(SACTAG_CARRIER_METADATA + choice);
    else if (id == OPT_TAG && !(e = take_word(o, g, WORDS("mm", "all"), &choice)))
        w->tag = choice ? SACTAG_TAG_ALL : SACTAG_TAG_MM;
    else if (id == OPT_EXTERNAL_DATA &&
             !(e = take_word(o, g, WORDS("copy", "hardlink", "symlink", "keep"), &choice)))
        w->external = (enum sactag_external)(SACTAG_EXTERNAL_COPY + choice);
    else if (id == OPT_SET_IR_VERSION && !(e = take_number(o, g, INT32_MAX, false, &number)))
        w->set_ir_version = (int64_t)number;
    return e;
}

static int take_context(struct options *o, const struct given *g)
{
    uint64_t number = 0;

    if (strspn(g->value, "0123456789") != strlen(g->value) || !*g->value)
        return message_error(2, &o->voice, NULL, "%s: expected a number but found '%s'", g->where, g->value);
    for (const char *s = g->value; *s && number < UINT32_MAX / 16; s++)
        number = number * 10 + (uint64_t)(*s - '0');
    o->context = (uint32_t)number; /* more than any block has, if that is cut */
    return 0;
}

static int take_print(struct options *o, enum option_id id, const struct given *g)
{
    size_t choice = 0;
    int e = 0;

    if (id == OPT_MERGE)
        o->merge = true;
    else if (id == OPT_STAT)
        o->stat = true;
    else if (id == OPT_REASONS)
        o->reasons = true;
    else if (id == OPT_CONTEXT)
        e = take_context(o, g);
    else if (id == OPT_DUMP_IR)
        o->dump_ir = true;
    else if (id == OPT_DOT)
        o->dot = true;
    else if (!(e = take_word(o, g, WORDS("text", "tsv", "json"), &choice)))
        o->format = (enum format)choice;
    return e;
}

static int take_limit(struct options *o, enum option_id id, const struct given *g)
{
    uint64_t number = 0;
    int e =
        take_number(o, g, id == OPT_MAX_MEMORY ? SIZE_MAX : UINT32_MAX - 1, id == OPT_MAX_MEMORY, &number);

    if (e)
        return e;
    if (id == OPT_MAX_DEPTH)
        o->limits.max_depth = (uint32_t)number;
    else if (id == OPT_MAX_NODES)
        o->limits.max_nodes = number;
    else if (id == OPT_MAX_STEPS)
        o->limits.max_steps = number;
    else
        o->limits.max_memory = number;
    return 0;
}

bool color_on(enum when w, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (w != WHEN_AUTO)
        return w == WHEN_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static int take_common(struct options *o, enum option_id id, const struct given *g)
{
    size_t choice = 0;
    int e = 0;

    if (id == OPT_QUIET)
        o->voice.quiet = true;
    else if (id == OPT_VERBOSE)
        o->voice.verbose = true;
    else if (id == OPT_COLOR && !(e = take_word(o, g, WORDS("auto", "always", "never"), &choice))) {
        o->color = (enum when)choice;
        o->voice.color = color_on(o->color, STDERR_FILENO);
    }
    return e;
}

int options_take(struct options *o, enum option_id id, const char *value, const char *where)
{
    const struct given g = {where, value};

    switch (option_spec((int)id)->group) {
    case GROUP_POLICY:
        return take_policy(o, id, &g);
    case GROUP_WRITE:
        return take_write(o, id, &g);
    case GROUP_PRINT:
        return take_print(o, id, &g);
    case GROUP_LIMIT:
        return take_limit(o, id, &g);
    case GROUP_COMMON:
        return take_common(o, id, &g);
    }
    return 0;
}
