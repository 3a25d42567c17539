/* Help, made from the tables of commands and options. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#define OPTION_COLUMN 36

static void print_option(const struct option_spec *s)
{
    char head[96];
    int n = s->letter ? snprintf(head, sizeof head, "  -%c, --%s", s->letter, s->name)
                      : snprintf(head, sizeof head, "      --%s", s->name);

    if (s->arg)
        n += snprintf(head + n, sizeof head - (size_t)n, " %s", s->arg);
    if (n > OPTION_COLUMN - 2)
        printf("%s\n%*s", head, OPTION_COLUMN, "");
    else
        printf("%-*s", OPTION_COLUMN, head);
    for (const char *line = s->help, *end; line; line = *end ? end + 1 : NULL) {
        end = strchrnul(line, '\n');
        printf("%*s%.*s\n", line == s->help ? 0 : OPTION_COLUMN, "", (int)(end - line), line);
    }
    if (s->alias)
        printf("      --%s\n%*sthe same\n", s->alias, OPTION_COLUMN, "");
}

static void print_group(const struct command *c, enum option_group group, const char *title)
{
    bool any = false;

    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option_spec *s = option_spec(id);
        if (s->group != group || !((c->options | OPT_COMMON) & OPT_BIT(id)))
            continue;
        if (!any)
            printf("\n%s\n", title);
        any = true;
        print_option(s);
    }
}

static void print_exits(bool differs)
{
    printf("\nExit codes:\n");
    printf("  0  done\n");
    if (differs)
        printf("  1  they differ, or tags are not what they should be\n");
    printf("  2  usage\n");
    printf("  3  policy: a --fqn is no Linear, or cannot be told; with --strict, names nothing;\n"
           "     a --blocks pattern matches nothing; calls of a body disagree; a plan for another graph\n");
    printf("  4  the input is malformed, over a limit or unsafe\n");
    printf("  5  reading, writing or memory failed\n");
}

void help_command(const struct command *c)
{
    printf("Usage: sactag %s %s\n\n%s\n", c->name, c->usage, c->about);
    print_group(c, GROUP_POLICY, "Policy:");
    print_group(c, GROUP_WRITE, "Writing:");
    print_group(c, GROUP_PRINT, "Printing:");
    print_group(c, GROUP_LIMIT, "Limits:");
    print_group(c, GROUP_COMMON, "In general:");
    print_exits(c->differs);
    printf("\nExamples:\n%s", c->examples);
}

static size_t widest_usage(const struct command *const *commands, size_t n)
{
    size_t width = 0;

    for (size_t i = 0; i < n; i++)
        if (strlen(commands[i]->usage) > width)
            width = strlen(commands[i]->usage);
    return width;
}

void help_all(const struct command *const *commands, size_t n)
{
    printf("Usage: sactag COMMAND ...\n\n"
           "Selective activation checkpointing, decided ahead of time: for every matmul of an\n"
           "exported graph (ONNX, torch.export .pt2), save its output for backward or recompute\n"
           "it, by PyTorch's rule; written onto the nodes, with nothing else changed.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < n; i++)
        printf("  %-8s %-*s  %s\n", commands[i]->name, (int)widest_usage(commands, n), commands[i]->usage,
               commands[i]->summary);
    printf("\n`sactag help COMMAND` says more. IN and OUT may be `-`: standard input and output.\n\n"
           "Example:\n  sactag tag model.onnx -o tagged.onnx --fqn moe.router.gate\n");
}

void help_short(const struct command *const *commands, size_t n)
{
    fputs("usage: sactag ", stderr);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "%s%s", i ? "|" : "", commands[i]->name);
    fputs(" ...\nTry `sactag help`, or `sactag help COMMAND`.\n", stderr);
}
