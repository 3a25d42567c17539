#include "cli/command.h"
#include "cli/json_put.h"
#include "cli/print.h"
#include "cli/progress.h"

#include <inttypes.h>

/* `text` is printable already. */
static void print_text(FILE *f, const struct sactag_problem *p)
{
    fprintf(f, "%s: %.*s\n", sactag_problem_name(p->kind), SACTAG_ARG(p->text));
}

static void print_tsv(FILE *f, const struct sactag_problem *p)
{
    fprintf(f, "%s\t", sactag_problem_name(p->kind));
    if (p->graph.n)
        fprintf(f, "%" PRIu32, p->index);
    else
        fputc('-', f);
    fprintf(f, "\t%.*s\t", SACTAG_ARG(p->graph.n ? p->graph : text_of("-")));
    put_cell(f, p->node, '\t');
    fprintf(f, "%.*s\n", SACTAG_ARG(p->text));
}

static bool print_json(FILE *f, const struct sactag_problem *p)
{
    json_t *j = json_object();
    bool main_graph = p->graph.n == 1 && p->graph.s[0] == '-', ok = true;

    json_set(j, "problem", json_string(sactag_problem_name(p->kind)), &ok);
    json_set(j, "index", p->graph.n ? json_integer(p->index) : json_null(), &ok);
    json_set(j, "graph", main_graph || !p->graph.n ? json_null() : text_to_json(p->graph), &ok);
    json_set(j, "node", text_to_json(p->node), &ok);
    json_set(j, "text", json_stringn(p->text.s, p->text.n), &ok);
    return json_put(f, j, ok);
}

static int print_all(FILE *f, const struct options *o, const sactag_problems *list)
{
    size_t n = sactag_problems_count(list);
    bool ok = true;

    if (o->format == FORMAT_TSV)
        fputs("problem\tindex\tgraph\tnode\ttext\n", f);
    if (o->format == FORMAT_JSON)
        fputs("{\n\"sactag\": \"check\",\n\"version\": 1,\n\"problems\": [", f);
    for (size_t i = 0; ok && i < n; i++) {
        struct sactag_problem p = sactag_problems_get(list, i);
        if (o->format == FORMAT_TEXT)
            print_text(f, &p);
        else if (o->format == FORMAT_TSV)
            print_tsv(f, &p);
        else {
            fputs(i ? ",\n" : "\n", f);
            ok = print_json(f, &p);
        }
    }
    if (o->format == FORMAT_JSON)
        fputs("]\n}\n", f);
    return ok ? 0 : message_nomem(&o->voice);
}

static int print(struct options *o, const sactag_problems *list)
{
    struct out out;
    int e;

    if (o->voice.quiet)
        return 0;
    e = out_open(&out, o);
    return e ? e : out_close(&out, o, print_all(out.f, o, list));
}

/* "2 problems; besides, 1 tag was set by hand against the policy" */
static void sum_up(const struct input *in, const struct options *o, const sactag_problems *list)
{
    size_t n = sactag_problems_count(list), by_hand = sactag_problems_by_hand(list);
    char text[80];
    const char *verb = by_hand == 1 ? " was" : "s were";

    if (n)
        snprintf(text, sizeof text, "%zu problem%s", n, n == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "the tags are complete, and what the policy says");
    if (by_hand)
        message_plain(&o->voice, in->name, "%s%s %zu tag%s set by hand against the policy", text,
                      n ? "; besides," : ", but for", by_hand,
                      n              ? verb
                      : by_hand == 1 ? ""
                                     : "s");
    else
        message_plain(&o->voice, in->name, "%s", text);
}

static int check(struct input *in, struct options *o, bool *wrong)
{
    sactag_problems *list = NULL;
    struct progress progress;

    progress_begin(&progress, &o->voice, "checking", in->name);
    int status = sactag_check(&list, in->m, any_policy(o) ? &o->policy : NULL, in->d);
    progress_end(&progress);
    int e = input_done(in, o, status);
    if (!e)
        e = print(o, list);
    if (!e) {
        *wrong = sactag_problems_count(list) > 0;
        sum_up(in, o, list);
    }
    sactag_problems_free(list);
    return e;
}

static int run(struct options *o)
{
    struct input in;
    bool wrong = false;
    int e = input_open(&in, o, o->args[0]);

    if (!e)
        e = input_spared(&in, o);
    if (!e)
        e = check(&in, o, &wrong);
    input_close(&in);
    return e ? e : wrong;
}

const struct command cmd_check = {
    .name = "check",
    .usage = "IN [options]",
    .summary = "are the tags what they should be?",
    .about = "Looks whether a model's tags are there, complete, and what the policy says today: by the\n"
             "options given, or, when none are, by those that it was tagged with. Each problem is a\n"
             "line: lost, stale, contradicting, unknown, graph-changed, not-tagged. Tags that were set\n"
             "by hand are not compared with the policy. With -q nothing is printed.",
    .examples = "  sactag check tagged.onnx\n"
                "  sactag check tagged.onnx --config policy.conf\n"
                "  sactag check -q tagged.onnx || sactag tag --in-place tagged.onnx --config policy.conf\n",
    .options = OPT_POLICY | OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_FORMAT),
    .min_args = 1,
    .max_args = 1,
    .differs = true,
    .run = run,
};
