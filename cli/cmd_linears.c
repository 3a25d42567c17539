#include "cli/command.h"
#include "cli/print.h"

static int list(struct input *in, struct options *o, struct out *out)
{
    sactag_plan *plan = NULL;
    int e = input_done(in, o, sactag_decide(&plan, in->m, &o->policy, in->d));

    struct page p = {.f = out->f, .color = out->color, .o = o, .in = in, .plan = plan};
    if (!e)
        e = print_linears(&p);
    sactag_plan_free(plan);
    return e;
}

static int run(struct options *o)
{
    struct input in;
    struct out out;
    int e = input_open(&in, o, o->args[0]);

    if (!e)
        e = input_spared(&in, o);
    if (!e)
        e = out_open(&out, o);
    if (!e)
        e = out_close(&out, o, list(&in, o, &out));
    input_close(&in);
    return e;
}

const struct command cmd_linears = {
    .name = "linears",
    .usage = "IN [options]",
    .summary = "every Linear, by name",
    .about = "Lists every Linear of a model: the names that --fqn can take, the weight that each\n"
             "was found by, and its shape as a matmul's rhs (in x out).",
    .examples = "  sactag linears model.onnx\n"
                "  sactag linears model.onnx --format tsv | grep gate\n",
    .options = OPT_BIT(OPT_BLOCKS) | OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_FORMAT),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
