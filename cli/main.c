/* The command line: finds the command, parses its options, runs it. */
#include "cli/command.h"

#include "cli/clash.h"
#include "cli/signals.h"
#include "cli/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {&cmd_tag,  &cmd_plan,  &cmd_apply, &cmd_show,
                                                 &cmd_diff, &cmd_check, &cmd_strip, &cmd_linears};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const struct voice voice = {.quiet = false};
    const char *names[N_COMMANDS];

    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *close = suggest(name, names, N_COMMANDS);
    if (name[0] == '-')
        return message_error(2, &voice, NULL, "expected a command before '%s' (see `sactag help`)", name);
    if (close)
        return message_error(2, &voice, NULL, "unknown command '%s' (did you mean '%s'?)", name, close);
    return message_error(2, &voice, NULL, "unknown command '%s' (see `sactag help`)", name);
}

static int wrong_number(const struct command *c, const struct options *o)
{
    if (o->n_args > c->max_args)
        return message_error(2, &o->voice, NULL, "%s: unexpected argument '%s' (usage: sactag %s %s)",
                             c->name, o->args[c->max_args], c->name, c->usage);
    return message_error(2, &o->voice, NULL, "%s: %s (usage: sactag %s %s)", c->name,
                         o->n_args ? "an argument is missing" : "no input given", c->name, c->usage);
}

static int print_version(void)
{
    printf("sactag %s\n", sactag_version());
    return 0;
}

static int run_with(const struct command *c, struct options *o)
{
    if (o->given & OPT_BIT(OPT_HELP)) {
        help_command(c);
        return 0;
    }
    if (o->given & OPT_BIT(OPT_VERSION))
        return print_version();
    if (o->n_args < c->min_args || o->n_args > c->max_args)
        return wrong_number(c, o);
    for (int i = 0; i < o->n_args; i++)
        if (!*o->args[i])
            return message_error(2, &o->voice, NULL, "%s: the name of an input is empty", c->name);
    /* Commands that can write in place rewrite their (first) input; into a directory they look themselves. */
    const char *own = c->options & OPT_BIT(OPT_IN_PLACE) ? o->args[0] : NULL;
    int e = o->in_place ? 0 : output_check(o, o->output, own);
    return e ? e : c->run(o);
}

static int run_command(const struct command *c, int argc, char **argv)
{
    struct options o;
    int e = options_parse(&o, argc, argv, c->options | OPT_COMMON);

    if (!e)
        e = run_with(c, &o);
    options_free(&o);
    return e;
}

static int unexpected(const char *arg)
{
    const struct voice voice = {.quiet = false};
    return message_error(2, &voice, NULL, "unexpected argument '%s' (see `sactag help`)", arg);
}

static int help(int argc, char **argv)
{
    const struct command *c = argc > 2 ? find(argv[2]) : NULL;

    if (argc > 2 && !c && strcmp(argv[2], "help") != 0)
        return unknown_command(argv[2]);
    if (argc > 3)
        return unexpected(argv[3]);
    if (c)
        help_command(c);
    else
        help_all(commands, N_COMMANDS);
    return 0;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    if (!name) {
        help_short(commands, N_COMMANDS);
        return 2;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc, argv);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return argc > 2 ? unexpected(argv[2]) : print_version();
    const struct command *c = find(name);
    return c ? run_command(c, argc - 1, argv + 1) : unknown_command(name);
}

/* A standard descriptor that is closed would be given to the next file that is opened, and what is meant for
 * the terminal would be written into a model. So it stays what it was: reading from it, or writing, fails. */
static void keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

/* What was printed counts only once it is written. */
static int close_stdout(int code)
{
    const struct voice voice = {.quiet = false};
    bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) == 0 && !failed)
        return code;
    if (errno == EPIPE)
        return 5; /* the reader has gone: nobody is there to be told */
    return message_error(5, &voice, "standard output", "cannot write: %s", errno ? strerror(errno) : "error");
}

/* Arrays from this size on are mapped: they grow without being copied, and what is freed goes back to the
 * system at once. The C library would raise the bound with the first large array that is freed. */
#define MAPPED_FROM (128 << 10)

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    keep_standard_descriptors();
    signals_install();
    return close_stdout(dispatch(argc, argv));
}
