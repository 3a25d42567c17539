#include "cli/command.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/write.h"

#include <limits.h>

static int tag(struct input *in, struct options *o, const struct target *t)
{
    sactag_plan *plan = NULL;
    struct progress progress;

    progress_begin(&progress, &o->voice, "deciding", in->name);
    int status = sactag_decide(&plan, in->m, &o->policy, in->d);
    progress_end(&progress);
    int e = input_done(in, o, status);
    if (!e && o->voice.verbose && !print_forced(stderr, plan, in->name))
        e = message_nomem(&o->voice);
    if (!e)
        e = write_model(in, o, plan, t);
    if (!e)
        tell_written(o, plan, t);
    sactag_plan_free(plan);
    return e;
}

static int run_one(struct options *o, const char *arg, const struct target *t)
{
    struct input in;
    int e = input_open(&in, o, arg);

    if (!e)
        e = tag(&in, o, t);
    input_close(&in);
    return e;
}

static int run(struct options *o)
{
    return target_each(o, run_one);
}

const struct command cmd_tag = {
    .name = "tag",
    .usage = "IN... -o OUT [options]",
    .summary = "decide and write the tags onto the nodes",
    .about = "Decides for every matmul of a model whether its output is saved for backward or\n"
             "recomputed, and writes that onto the node. Nothing else in the file changes (but with\n"
             "--specialize): `sactag strip` gives back the original bytes. Tags of an earlier run\n"
             "are replaced.\n"
             "OUT may be a directory (made, when its name ends in a slash), and must be for several\n"
             "inputs: each keeps its name. One that fails does not stop the rest; the exit code is\n"
             "the largest.",
    .examples = "  sactag tag model.onnx -o tagged.onnx --fqn moe.router.gate\n"
                "  sactag tag --in-place model.onnx --config policy.conf\n"
                "  sactag tag shards/*.onnx -o tagged/ --fqn moe.router.gate\n"
                "  sactag tag - -o - --carrier attribute < model.onnx > tagged.onnx\n",
    .options = OPT_POLICY | OPT_WRITE | OPT_BIT(OPT_CARRIER) | OPT_BIT(OPT_TAG) | OPT_BIT(OPT_SET_IR_VERSION),
    .min_args = 1,
    .max_args = INT_MAX,
    .run = run,
};
