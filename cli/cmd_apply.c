#include "cli/command.h"
#include "cli/progress.h"
#include "cli/write.h"

static int write_plan(struct input *in, struct options *o, const sactag_plan *file, const struct target *t)
{
    sactag_plan *plan = NULL;
    struct progress progress;

    progress_begin(&progress, &o->voice, "placing", in->name);
    int status = sactag_apply(&plan, in->m, file, o->rebase, in->d);
    progress_end(&progress);
    /* What is wrong with a row is told with its line: in the plan. */
    struct input about = *in;
    about.name = status == SACTAG_EINPUT || status == SACTAG_EUSAGE || !status ? o->args[1] : in->name;
    int e = input_done(&about, o, status);
    if (!e)
        e = write_model(in, o, plan, t);
    if (!e)
        tell_written(o, plan, t);
    sactag_plan_free(plan);
    return e;
}

static int apply(struct options *o, const sactag_plan *file, const struct target *t)
{
    struct input in;
    int e = input_open(&in, o, o->args[0]);

    if (!e)
        e = write_plan(&in, o, file, t);
    input_close(&in);
    return e;
}

static int run(struct options *o)
{
    struct target t;
    struct input in;
    sactag_plan *file = NULL;
    int e = target_choose(&t, o, o->args[0]);

    if (e)
        return e;
    if (is_dash(o->args[0]) && is_dash(o->args[1]))
        return message_error(2, &o->voice, NULL, "only one of the two can be standard input");
    e = input_open_either(&in, &file, o, o->args[1]);
    if (!e && in.m)
        e = message_error(2, &o->voice, in.name, "expected a plan file but found a model");
    if (!e)
        e = apply(o, file, &t);
    sactag_plan_free(file);
    input_close(&in);
    return e;
}

const struct command cmd_apply = {
    .name = "apply",
    .usage = "IN PLAN.json -o OUT [options]",
    .summary = "write the tags of a plan file",
    .about = "Writes the tags that a plan file says, which `sactag plan -o PLAN.json` made, perhaps with\n"
             "policies changed by hand (their reason is then `manual`). A plan belongs to one graph\n"
             "and is refused for another, unless --rebase finds its rows there.",
    .examples = "  sactag plan model.onnx --fqn moe.router.gate -o plan.json\n"
                "  sactag apply model.onnx plan.json -o tagged.onnx\n"
                "  sactag apply reexported.onnx plan.json -o tagged.onnx --rebase\n",
    .options = OPT_WRITE | OPT_BIT(OPT_CARRIER) | OPT_BIT(OPT_TAG) | OPT_BIT(OPT_SET_IR_VERSION) |
               OPT_BIT(OPT_REBASE),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
