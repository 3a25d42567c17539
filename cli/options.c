#include "cli/options.h"

#include "cli/suggest.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_spec specs[OPT_COUNT] = {
    [OPT_FQN] =
        {"fqn", "force-recompute-mm-shapes-by-fqns", "NAME[,NAME...]",
         "recompute every mm whose rhs has the shape of this module's weight\n(\\, in a name is a comma of its own)",
         0, GROUP_POLICY, true, true},
    [OPT_FORCE_SHAPE] = {"force-shape", NULL, "KxN[,KxN...]", "recompute every mm with this rhs shape", 0,
                         GROUP_POLICY, true, true},
    [OPT_MATCH] = {"match", NULL, "exact|substring|glob",
                   "how --fqn names are compared with modules (exact). glob, of the relative or\n"
                   "full name: * within a component, ** anything, ? one character that is no dot",
                   0, GROUP_POLICY, false, true},
    [OPT_PROFILE] = {"profile", NULL, "none|titan",
                     "titan: as torchtitan does today: substring match, rule torch, its save list (none)", 0,
                     GROUP_POLICY, false, true},
    [OPT_BLOCKS] = {"blocks", NULL, "PATTERN",
                    "modules that are checkpointed, * = one segment; auto; whole (auto)", 0, GROUP_POLICY,
                    true, true},
    [OPT_MM_RULE] = {"mm-rule", NULL, "onnx|torch", "what counts as an mm (onnx; torch for .pt2)", 0,
                     GROUP_POLICY, false, true},
    [OPT_MM_OPS] = {"mm-ops", NULL, "[DOMAIN:]OP[,...]",
                    "further operators that are mms, their rhs being input 1", 0, GROUP_POLICY, true, true},
    [OPT_ORDER] = {"order", NULL, "auto|file", "auto: recover execution order where a tool reordered nodes",
                   0, GROUP_POLICY, false, true},
    [OPT_STRICT] = {"strict", NULL, NULL, "a --fqn that matches nothing is an error", 0, GROUP_POLICY, false,
                    true},
    [OPT_SPECIALIZE] = {"specialize", NULL, NULL, "clone functions whose calls decide differently", 0,
                        GROUP_POLICY, false, true},
    [OPT_CONFIG] = {"config", NULL, "FILE", "read policy options from FILE, one `option = value` a line", 0,
                    GROUP_POLICY, false, false},
    [OPT_OUTPUT] = {"output", NULL, "FILE", "write to FILE (-: standard output)", 'o', GROUP_WRITE, false,
                    false},
    [OPT_IN_PLACE] = {"in-place", NULL, NULL, "write to the input file", 0, GROUP_WRITE, false, false},
    [OPT_CARRIER] = {"carrier", NULL, "metadata|attribute|popart", "how a tag stands on its node (metadata)",
                     0, GROUP_WRITE, false, true},
    [OPT_TAG] = {"tag", NULL, "mm|all", "tag the mms, or every node of a block (mm)", 0, GROUP_WRITE, false,
                 true},
    [OPT_EXTERNAL_DATA] = {"external-data", NULL, "copy|hardlink|symlink|keep",
                           "what becomes of data files when writing into another directory", 0, GROUP_WRITE,
                           false, false},
    [OPT_NO_SYNC] = {"no-sync", NULL, NULL, "do not flush to disk before the rename", 0, GROUP_WRITE, false,
                     false},
    [OPT_SET_IR_VERSION] = {"set-ir-version", NULL, "N", "write this ir_version (left as it is)", 0,
                            GROUP_WRITE, false, false},
    [OPT_FORMAT] = {"format", NULL, "text|tsv|json",
                    "for people; one row a line; one object (by FILE's name, else text)", 0, GROUP_PRINT,
                    false, false},
    [OPT_MERGE] = {"merge", NULL, NULL, "text: print the rows of equal neighbouring blocks once", 0,
                   GROUP_PRINT, false, false},
    [OPT_STAT] = {"stat", NULL, NULL, "print how much changed in each block, not what", 0, GROUP_PRINT, false,
                  false},
    [OPT_CONTEXT] = {"unified", NULL, "N", "text: show N equal rows around a change (3)", 'U', GROUP_PRINT,
                     false, false},
    [OPT_REASONS] = {"reasons", NULL, NULL, "the same decision for another reason is a difference, too", 0,
                     GROUP_PRINT, false, false},
    [OPT_REBASE] = {"rebase", NULL, NULL,
                    "take a plan that was made for another graph, as far as its rows are found", 0,
                    GROUP_WRITE, false, false},
    [OPT_DUMP_IR] = {"dump-ir", NULL, NULL, "print the graph as sactag understands it", 0, GROUP_PRINT, false,
                     false},
    [OPT_DOT] = {"dot", NULL, NULL, "print the graph for Graphviz, coloured by policy", 0, GROUP_PRINT, false,
                 false},
    [OPT_MAX_DEPTH] = {"max-depth", NULL, "N", "refuse graphs nested deeper (64)", 0, GROUP_LIMIT, false,
                       false},
    [OPT_MAX_NODES] = {"max-nodes", NULL, "N", "refuse models with more nodes (50000000)", 0, GROUP_LIMIT,
                       false, false},
    [OPT_MAX_STEPS] = {"max-steps", NULL, "N",
                       "refuse calls of functions that expand to more nodes (50000000)", 0, GROUP_LIMIT,
                       false, false},
    [OPT_MAX_MEMORY] = {"max-memory", NULL, "N[K|M|G]",
                        "refuse what needs more bytes of memory (by size of the graph)", 0, GROUP_LIMIT,
                        false, false},
    [OPT_COLOR] = {"color", NULL, "auto|always|never",
                   "colours (auto: on a terminal, unless NO_COLOR is set)", 0, GROUP_COMMON, false, false},
    [OPT_QUIET] = {"quiet", NULL, NULL, "no warnings, notes and summaries", 'q', GROUP_COMMON, false, false},
    [OPT_VERBOSE] = {"verbose", NULL, NULL, "more notes, with the forced shapes of every block", 'v',
                     GROUP_COMMON, false, false},
    [OPT_HELP] = {"help", NULL, NULL, "this text", 'h', GROUP_COMMON, false, false},
    [OPT_VERSION] = {"version", NULL, NULL, "the version of sactag", 'V', GROUP_COMMON, false, false},
};

const struct option_spec *option_spec(enum option_id id)
{
    return &specs[id];
}

static const char *const format_words[] = {"text", "tsv", "json"};

/* ---- values ---- */

static int bad_word(const struct options *o, const char *where, const char *value, const char *const *words,
                    size_t n)
{
    char list[128] = "";
    const char *close = suggest(value, words, n);

    if (close)
        return message_error(2, &o->voice, NULL, "%s: '%s' is not a choice (did you mean '%s'?)", where,
                             value, close);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    return message_error(2, &o->voice, NULL, "%s: expected %s but found '%s'", where, list, value);
}

/* The position of `value` among the words. */
static int take_word(struct options *o, const char *where, const char *value, const char *const *words,
                     size_t n, size_t *choice)
{
    for (*choice = 0; *choice < n; ++*choice)
        if (strcmp(value, words[*choice]) == 0)
            return 0;
    return bad_word(o, where, value, words, n);
}

static int take_number(struct options *o, const char *where, const char *value, uint64_t most, bool with_unit,
                       uint64_t *out)
{
    char *end = NULL;
    unsigned shift = 0;
    const char *unit = with_unit ? ", which K, M or G may follow," : "";

    errno = 0;
    unsigned long long v = value[0] >= '0' && value[0] <= '9' ? strtoull(value, &end, 10) : 0;
    if (end && with_unit && *end && strchr("KMG", *end))
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
    if (!end || *end || errno || v == 0 || v > (UINT64_MAX >> shift) || (v << shift) > most)
        return message_error(2, &o->voice, NULL, "%s: expected a number from 1 to %llu%s but found '%s'",
                             where, (unsigned long long)most, unit, value);
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

static int take_list(struct options *o, const char *where, const char *value, struct strings *list,
                     bool commas)
{
    for (const char *s = value;;) {
        size_t n = commas ? item_length(s) : strlen(s);
        const char *next = s + n;
        trim(&s, &n);
        if (n == 0)
            return message_error(2, &o->voice, NULL, "%s: empty name in '%s'", where, value);
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

static int take_shapes(struct options *o, const char *where, const char *value)
{
    for (const char *s = value;;) {
        size_t n = strcspn(s, ",");
        const char *next = s + n;
        trim(&s, &n);
        int e = take_shape(o, where, s, n);
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

static int take_ops(struct options *o, const char *where, const char *value)
{
    size_t before = o->mm_ops.n;
    int e = take_list(o, where, value, &o->mm_ops, true);

    for (size_t i = before; !e && i < o->mm_ops.n; i++)
        if (!is_op_name(o->mm_ops.s[i]))
            e = message_error(2, &o->voice, NULL, "%s: expected an operator, OP or DOMAIN:OP, but found '%s'",
                              where, o->mm_ops.s[i]);
    return e;
}

/* A flag on the command line has no value; in a file it may have one. */
static int take_flag(struct options *o, const char *where, const char *value, bool *out)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};
    size_t choice = 0;

    if (value) {
        int e = take_word(o, where, value, words, 8, &choice);
        if (e)
            return e;
    }
    *out = choice % 2 == 0;
    return 0;
}

/* Two outputs cannot both be meant, nor two configurations. */
static int take_file(struct options *o, const char **path, const char *where, const char *value)
{
    if (!*value)
        return message_error(2, &o->voice, NULL, "%s: the name of the file is empty", where);
    if (*path)
        return message_error(2, &o->voice, NULL, "%s is given twice: '%s' and '%s'", where, *path, value);
    *path = value;
    return 0;
}

#define WORDS(...)                                                                                           \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

static int take_policy(struct options *o, enum option_id id, const char *value, const char *where)
{
    struct sactag_options *p = &o->policy;
    size_t choice = 0;
    int e = 0;

    if (id == OPT_FQN)
        e = take_list(o, where, value, &o->fqns, true);
    else if (id == OPT_FORCE_SHAPE)
        e = take_shapes(o, where, value);
    else if (id == OPT_BLOCKS)
        e = take_list(o, where, value, &o->blocks, false);
    else if (id == OPT_MM_OPS)
        e = take_ops(o, where, value);
    else if (id == OPT_STRICT)
        e = take_flag(o, where, value, &p->strict);
    else if (id == OPT_SPECIALIZE)
        e = take_flag(o, where, value, &p->specialize);
    else if (id == OPT_CONFIG)
        e = take_file(o, &o->config, where, value);
    else if (id == OPT_MATCH &&
             !(e = take_word(o, where, value, WORDS("exact", "substring", "glob"), &choice)))
        p->match = (enum sactag_match)(SACTAG_MATCH_EXACT + choice);
    else if (id == OPT_PROFILE && !(e = take_word(o, where, value, WORDS("none", "titan"), &choice)))
        p->profile = choice ? SACTAG_PROFILE_TITAN : SACTAG_PROFILE_NONE;
    else if (id == OPT_MM_RULE && !(e = take_word(o, where, value, WORDS("onnx", "torch"), &choice)))
        p->mm_rule = choice ? SACTAG_MM_TORCH : SACTAG_MM_ONNX;
    else if (id == OPT_ORDER && !(e = take_word(o, where, value, WORDS("auto", "file"), &choice)))
        p->order = choice ? SACTAG_ORDER_FILE : SACTAG_ORDER_AUTO;
    return e;
}

static int take_write(struct options *o, enum option_id id, const char *value, const char *where)
{
    struct sactag_write_options *w = &o->write;
    size_t choice = 0;
    uint64_t number = 0;
    int e = 0;

    if (id == OPT_OUTPUT)
        e = take_file(o, &o->output, where, value);
    else if (id == OPT_IN_PLACE)
        o->in_place = true;
    else if (id == OPT_NO_SYNC)
        w->no_sync = true;
    else if (id == OPT_REBASE)
        o->rebase = true;
    else if (id == OPT_CARRIER &&
             !(e = take_word(o, where, value, WORDS("metadata", "attribute", "popart"), &choice)))
        w->carrier = (enum sactag_carrier)(SACTAG_CARRIER_METADATA + choice);
    else if (id == OPT_TAG && !(e = take_word(o, where, value, WORDS("mm", "all"), &choice)))
        w->tag = choice ? SACTAG_TAG_ALL : SACTAG_TAG_MM;
    else if (id == OPT_EXTERNAL_DATA &&
             !(e = take_word(o, where, value, WORDS("copy", "hardlink", "symlink", "keep"), &choice)))
        w->external = (enum sactag_external)(SACTAG_EXTERNAL_COPY + choice);
    else if (id == OPT_SET_IR_VERSION && !(e = take_number(o, where, value, INT32_MAX, false, &number)))
        w->set_ir_version = (int64_t)number;
    return e;
}

static int take_context(struct options *o, const char *where, const char *value)
{
    uint64_t number = 0;

    if (strspn(value, "0123456789") != strlen(value) || !*value)
        return message_error(2, &o->voice, NULL, "%s: expected a number but found '%s'", where, value);
    for (const char *s = value; *s && number < UINT32_MAX / 16; s++)
        number = number * 10 + (uint64_t)(*s - '0');
    o->context = (uint32_t)number; /* more than any block has, if that is cut */
    return 0;
}

static int take_print(struct options *o, enum option_id id, const char *value, const char *where)
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
        e = take_context(o, where, value);
    else if (id == OPT_DUMP_IR)
        o->dump_ir = true;
    else if (id == OPT_DOT)
        o->dot = true;
    else if (!(e = take_word(o, where, value, format_words, 3, &choice)))
        o->format = (enum format)choice;
    return e;
}

static int take_limit(struct options *o, enum option_id id, const char *value, const char *where)
{
    uint64_t number = 0;
    int e = take_number(o, where, value, id == OPT_MAX_MEMORY ? SIZE_MAX : UINT32_MAX - 1,
                        id == OPT_MAX_MEMORY, &number);

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

static bool color_on(enum when w, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (w != WHEN_AUTO)
        return w == WHEN_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static int take_common(struct options *o, enum option_id id, const char *value, const char *where)
{
    size_t choice = 0;
    int e = 0;

    if (id == OPT_QUIET)
        o->voice.quiet = true;
    else if (id == OPT_VERBOSE)
        o->voice.verbose = true;
    else if (id == OPT_COLOR &&
             !(e = take_word(o, where, value, WORDS("auto", "always", "never"), &choice))) {
        o->color = (enum when)choice;
        o->voice.color = color_on(o->color, STDERR_FILENO);
    }
    return e;
}

int options_take(struct options *o, enum option_id id, const char *value, const char *where)
{
    switch (specs[id].group) {
    case GROUP_POLICY:
        return take_policy(o, id, value, where);
    case GROUP_WRITE:
        return take_write(o, id, value, where);
    case GROUP_PRINT:
        return take_print(o, id, value, where);
    case GROUP_LIMIT:
        return take_limit(o, id, value, where);
    case GROUP_COMMON:
        return take_common(o, id, value, where);
    }
    return 0;
}

/* ---- the command line ---- */

#define LONG_BASE 256 /* getopt's value of option id 0: above any letter */

struct getopt_table {
    struct option longs[2 * OPT_COUNT + 1];
    char shorts[4 * OPT_COUNT + 3];
};

static void add_long(struct option *to, const char *name, int id)
{
    *to = (struct option){name, specs[id].arg ? required_argument : no_argument, NULL, LONG_BASE + id};
}

static void make_table(struct getopt_table *t, uint64_t allowed)
{
    size_t n = 0, c = 0;

    memset(t, 0, sizeof *t);
    t->shorts[c++] = ':'; /* a missing value is told from an unknown option */
    for (int id = 0; id < OPT_COUNT; id++) {
        if (!(allowed & OPT_BIT(id)))
            continue;
        add_long(&t->longs[n++], specs[id].name, id);
        if (specs[id].alias)
            add_long(&t->longs[n++], specs[id].alias, id);
        if (specs[id].letter) {
            t->shorts[c++] = specs[id].letter;
            if (specs[id].arg)
                t->shorts[c++] = ':';
        }
    }
}

static int letter_id(int letter)
{
    for (int id = 0; id < OPT_COUNT; id++)
        if (specs[id].letter == letter)
            return id;
    return -1;
}

static bool is_name(int id, const char *name)
{
    return strcmp(specs[id].name, name) == 0 || (specs[id].alias && strcmp(specs[id].alias, name) == 0);
}

/* An option that getopt does not know, `typed` as it stands on the command line. */
static int unknown_long(const struct options *o, const char *command, const char *typed, uint64_t allowed)
{
    const char *words[2 * OPT_COUNT] = {NULL};
    char name[80] = "";
    size_t len = strcspn(typed + 2, "=");

    if (len < sizeof name)
        memcpy(name, typed + 2, len);
    for (int id = 0; id < OPT_COUNT; id++) {
        if (is_name(id, name) && (allowed & OPT_BIT(id)))
            return message_error(2, &o->voice, NULL, "--%s takes no value", name);
        if (is_name(id, name))
            return message_error(2, &o->voice, NULL, "%s has no option --%s (see `sactag help %s`)", command,
                                 name, command);
        if (allowed & OPT_BIT(id)) {
            words[2 * id] = specs[id].name;
            words[2 * id + 1] = specs[id].alias;
        }
    }
    const char *close = suggest(name, words, 2 * OPT_COUNT);
    if (close)
        return message_error(2, &o->voice, NULL, "unknown option '%s' (did you mean '--%s'?)", typed, close);
    return message_error(2, &o->voice, NULL, "unknown option '%s' (see `sactag help %s`)", typed, command);
}

static int unknown(const struct options *o, const char *command, const char *typed, int letter,
                   uint64_t allowed)
{
    if (letter == 0 || letter >= LONG_BASE)
        return unknown_long(o, command, typed, allowed);
    int id = letter_id(letter);
    if (id >= 0)
        return message_error(2, &o->voice, NULL, "%s has no option -%c (see `sactag help %s`)", command,
                             letter, command);
    return message_error(2, &o->voice, NULL, "unknown option '-%c' (see `sactag help %s`)", letter, command);
}

static int no_value(const struct options *o, int letter, const char *typed)
{
    int id = letter < LONG_BASE ? letter_id(letter) : letter - LONG_BASE;

    return message_error(2, &o->voice, NULL, "option '%s' needs a value: %s", typed, specs[id].arg);
}

static void set_defaults(struct options *o)
{
    memset(o, 0, sizeof *o);
    sactag_options_init(&o->policy);
    sactag_write_options_init(&o->write);
    o->voice.color = color_on(WHEN_AUTO, STDERR_FILENO);
    o->context = 3;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* `-o plan.json` asks for JSON. */
static void choose_format(struct options *o, uint64_t allowed)
{
    uint64_t others = OPT_BIT(OPT_FORMAT) | OPT_BIT(OPT_MERGE) | OPT_BIT(OPT_DUMP_IR) | OPT_BIT(OPT_DOT);

    if (!(allowed & OPT_BIT(OPT_FORMAT)) || (o->given & others) || !o->output)
        return;
    if (ends_in(o->output, ".json"))
        o->format = FORMAT_JSON;
    else if (ends_in(o->output, ".tsv"))
        o->format = FORMAT_TSV;
}

static int take_command_line(struct options *o, int argc, char **argv, uint64_t allowed)
{
    struct getopt_table t;
    int c;

    make_table(&t, allowed);
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
        if (c == '?')
            return unknown(o, argv[0], argv[optind - 1], optopt, allowed);
        if (c == ':')
            return no_value(o, optopt, argv[optind - 1]);
        int id = c < LONG_BASE ? letter_id(c) : c - LONG_BASE;
        char where[64];
        snprintf(where, sizeof where, "--%s", specs[id].name);
        int e = options_take(o, (enum option_id)id, optarg, where);
        if (e)
            return e;
        o->given |= OPT_BIT(id);
        if (id == OPT_HELP || id == OPT_VERSION)
            return 0;
    }
    o->args = argv + optind;
    o->n_args = argc - optind;
    return 0;
}

static int take_config(struct options *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (strcmp(o->config, "-") == 0 && strcmp(o->args[i], "-") == 0)
            return message_error(2, &o->voice, NULL, "--config and the input cannot both be standard input");
    return config_read(o, o->config);
}

int options_parse(struct options *o, int argc, char **argv, uint64_t allowed)
{
    set_defaults(o);
    int e = take_command_line(o, argc, argv, allowed);
    if (!e && o->config && !(o->given & (OPT_BIT(OPT_HELP) | OPT_BIT(OPT_VERSION))))
        e = take_config(o);
    choose_format(o, allowed);
    o->policy.fqns = (const char *const *)o->fqns.s;
    o->policy.n_fqns = o->fqns.n;
    o->policy.blocks = (const char *const *)o->blocks.s;
    o->policy.n_blocks = o->blocks.n;
    o->policy.mm_ops = (const char *const *)o->mm_ops.s;
    o->policy.n_mm_ops = o->mm_ops.n;
    o->policy.force_shapes = o->shapes;
    o->policy.n_force_shapes = o->n_shapes;
    return e;
}

static void strings_free(struct strings *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->s[i]);
    free(list->s);
}

void options_free(struct options *o)
{
    strings_free(&o->fqns);
    strings_free(&o->blocks);
    strings_free(&o->mm_ops);
    free(o->shapes);
}
