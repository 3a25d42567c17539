#include "cli/options.h"

#include "cli/suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_BASE 256 /* getopt's value of option id 0: above any letter */

struct getopt_table {
    struct option longs[2 * OPT_COUNT + 1];
    char shorts[4 * OPT_COUNT + 3];
};

static void add_long(struct option *to, const char *name, int id)
{
    *to = (struct option){name, option_spec(id)->arg ? required_argument : no_argument, NULL, LONG_BASE + id};
}

static void make_table(struct getopt_table *t, uint64_t allowed)
{
    size_t n = 0, c = 0;

    memset(t, 0, sizeof *t);
    t->shorts[c++] = ':'; /* a missing value is told from an unknown option */
    for (int id = 0; id < OPT_COUNT; id++) {
        if (!(allowed & OPT_BIT(id)))
            continue;
        add_long(&t->longs[n++], option_spec(id)->name, id);
        if (option_spec(id)->alias)
            add_long(&t->longs[n++], option_spec(id)->alias, id);
        if (option_spec(id)->letter) {
            t->shorts[c++] = option_spec(id)->letter;
            if (option_spec(id)->arg)
                t->shorts[c++] = ':';
        }
    }
}

static int letter_id(int letter)
{
    for (int id = 0; id < OPT_COUNT; id++)
        if (option_spec(id)->letter == letter)
            return id;
    return -1;
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
        if (option_named(id, name) && (allowed & OPT_BIT(id)))
            return message_error(2, &o->voice, NULL, "--%s takes no value", name);
        if (option_named(id, name))
            return message_error(2, &o->voice, NULL, "%s has no option --%s (see `sactag help %s`)", command,
                                 name, command);
        if (allowed & OPT_BIT(id)) {
            words[2 * id] = option_spec(id)->name;
            words[2 * id + 1] = option_spec(id)->alias;
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

    return message_error(2, &o->voice, NULL, "option '%s' needs a value: %s", typed, option_spec(id)->arg);
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
        snprintf(where, sizeof where, "--%s", option_spec(id)->name);
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
