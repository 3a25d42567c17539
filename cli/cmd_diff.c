#include "cli/command.h"
#include "cli/print_diff.h"
#include "cli/progress.h"

#include <string.h>

struct side {
    struct input in;
    sactag_plan *plan;
    const char *kind;
};

/* Does a model carry tags? `lost`: but no sac.plan. */
static int has_tags(struct side *s, const struct options *o, bool *tags, bool *lost)
{
    struct sactag_info info;
    sactag_plan *read = NULL;
    int e = 0;

    sactag_get_info(s->in.m, &info);
    *tags = info.tagged;
    *lost = !info.tagged;
    if (!info.tagged) {
        e = input_done(&s->in, o, sactag_read_tags(&read, s->in.m, s->in.d));
        *tags = !e && sactag_plan_count(read) > 0;
    }
    sactag_plan_free(read);
    return e;
}

/* Tags speak for themselves. What has none is decided: by the options given, else by the other side's. */
static int decide(struct side *s, const struct side *other, const struct options *o)
{
    struct sactag_options policy = o->policy;
    struct progress progress;
    bool tags, lost;
    int e = has_tags(s, o, &tags, &lost), status;

    if (e)
        return e;
    if (!any_policy(o) && other->plan && !sactag_plan_options(other->plan, &policy))
        policy = o->policy;
    progress_begin(&progress, &o->voice, "deciding", s->in.name);
    if (tags)
        status = sactag_decide_tagged(&s->plan, s->in.m, lost ? &policy : NULL, s->in.d);
    else
        status = sactag_decide(&s->plan, s->in.m, &policy, s->in.d);
    progress_end(&progress);
    s->kind = tags ? "tags" : "model";
    return input_done(&s->in, o, status);
}

static int open_side(struct side *s, const struct options *o, const char *arg)
{
    s->kind = "plan";
    return input_open_either(&s->in, &s->plan, o, arg);
}

/* The one that knows its options goes first. */
static int decide_both(struct side *a, struct side *b, const struct options *o)
{
    struct side *first = a->plan || !b->plan ? a : b, *second = first == a ? b : a;
    struct sactag_info info;
    int e;

    if (!a->plan && !b->plan) { /* two models: tags know theirs */
        sactag_get_info(b->in.m, &info);
        if (info.tagged)
            first = b, second = a;
    }
    e = first->plan ? 0 : decide(first, second, o);
    return e || second->plan ? e : decide(second, first, o);
}

static struct diff_side page_side(const struct side *s, const char *arg)
{
    return (struct diff_side){arg[0] == '/' ? s->in.base : arg, s->kind, s->plan};
}

static int compare(struct side *a, struct side *b, struct options *o, bool *differ)
{
    struct diff_page page = {
        .o = o, .a = page_side(a, o->args[0]), .b = page_side(b, o->args[1]), .changes = NULL};
    sactag_changes *changes = NULL;
    struct out out = {.fd = -1};
    int e = input_done(&b->in, o, sactag_diff(&changes, a->plan, b->plan, b->in.d));

    page.changes = changes;
    for (size_t i = 0; !e && i < sactag_changes_count(changes); i++) {
        struct sactag_change c = sactag_changes_get(changes, i);
        *differ |= change_counts(&page, &c);
    }
    if (!e && !o->voice.quiet)
        e = out_open(&out, o);
    if (!e && !o->voice.quiet) {
        page.f = out.f;
        page.color = out.color;
        e = out_close(&out, o, print_diff(&page));
    }
    sactag_changes_free(changes);
    return e;
}

static void close_side(struct side *s)
{
    sactag_plan_free(s->plan);
    input_close(&s->in);
}

static int run(struct options *o)
{
    struct side a, b;
    bool differ = false;

    if (is_dash(o->args[0]) && is_dash(o->args[1]))
        return message_error(2, &o->voice, NULL, "only one of the two can be standard input");
    if (o->format != FORMAT_TEXT && (o->merge || o->stat || (o->given & OPT_BIT(OPT_CONTEXT))))
        return message_error(2, &o->voice, NULL, "--merge, --stat and --unified are for --format text");
    memset(&b, 0, sizeof b);
    memset(&a, 0, sizeof a);
    int e = open_side(&a, o, o->args[0]);
    if (!e)
        e = open_side(&b, o, o->args[1]);
    if (!e)
        e = input_spared(&a.in, o);
    if (!e)
        e = input_spared(&b.in, o);
    if (!e)
        e = decide_both(&a, &b, o);
    if (!e)
        e = compare(&a, &b, o, &differ);
    close_side(&a);
    close_side(&b);
    return e ? e : differ;
}

const struct command cmd_diff = {
    .name = "diff",
    .usage = "A B [options]",
    .summary = "compare decisions",
    .about = "Compares two models, plan files or goldens (tsv): decision by decision, with matmuls\n"
             "matched by what they are (module and call, node name, structure), not by where they\n"
             "stand. A tagged model stands for its tags; an untagged one for what is decided by the\n"
             "policy options, or, when none are given, by those of the other side. With -q nothing is\n"
             "printed: the exit code tells.",
    .examples = "  sactag diff golden.json model.onnx\n"
                "  sactag diff old.onnx new.onnx --fqn moe.router.gate --merge\n"
                "  sactag diff golden.tsv model.onnx --config policy.conf --stat\n"
                "  sactag diff -q plan.json tagged.onnx || echo 'the plan is not what is tagged'\n",
    .options = OPT_POLICY | OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_FORMAT) | OPT_BIT(OPT_MERGE) |
               OPT_BIT(OPT_STAT) | OPT_BIT(OPT_CONTEXT) | OPT_BIT(OPT_REASONS),
    .min_args = 2,
    .max_args = 2,
    .differs = true,
    .run = run,
};
