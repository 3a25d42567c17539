#include "cli/command.h"
#include "cli/print.h"
#include "cli/progress.h"

/* With -v the forced shapes are shown even where the output has no room for them. */
static int tell_forced(const struct input *in, const struct options *o, const sactag_plan *plan)
{
    bool printed = o->format != FORMAT_TSV && !o->dot;

    if (!o->voice.verbose || printed || print_forced(stderr, plan, in->name))
        return 0;
    return message_nomem(&o->voice);
}

static int decide(struct input *in, struct options *o, struct out *out)
{
    sactag_plan *plan = NULL;
    struct progress progress;

    progress_begin(&progress, &o->voice, "deciding", in->name);
    int status = sactag_decide(&plan, in->m, &o->policy, in->d);
    progress_end(&progress);
    int e = input_done(in, o, status);
    if (!e)
        e = tell_forced(in, o, plan);
    struct page p = {.f = out->f, .color = out->color, .o = o, .in = in, .plan = plan};
    if (!e && o->dot)
        e = input_printed(in, o, out->f, sactag_dot(in->m, plan, put_piece, out->f, in->d));
    else if (!e)
        e = print_plan(&p);
    sactag_plan_free(plan);
    return e;
}

static int run(struct options *o)
{
    struct input in;
    struct out out;

    if (o->dot + o->dump_ir + (o->format != FORMAT_TEXT) > 1)
        return message_error(2, &o->voice, NULL, "--dot, --dump-ir and --format exclude each other");
    if (o->merge && (o->format != FORMAT_TEXT || o->dot || o->dump_ir))
        return message_error(2, &o->voice, NULL, "--merge is for --format text");
    int e = input_open(&in, o, o->args[0]);
    if (!e)
        e = input_spared(&in, o);
    if (!e)
        e = out_open(&out, o);
    if (!e) {
        e = o->dump_ir ? input_printed(&in, o, out.f, sactag_dump_ir(in.m, put_piece, out.f, in.d))
                       : decide(&in, o, &out);
        e = out_close(&out, o, e);
    }
    input_close(&in);
    return e;
}

const struct command cmd_plan = {
    .name = "plan",
    .usage = "IN [options]",
    .summary = "decide and print",
    .about = "Decides for every matmul of a model whether its output is saved for backward or\n"
             "recomputed, and prints the decisions with their reasons. The model is not changed.",
    .examples = "  sactag plan model.onnx --fqn moe.router.gate\n"
                "  sactag plan model.onnx --fqn moe.router.gate --merge -o plan.txt\n"
                "  sactag plan model.onnx --blocks 'encoder.layer.*' --format tsv | cut -f8,11\n"
                "  sactag plan model.onnx --dot | dot -Tsvg > model.svg\n",
    .options = OPT_POLICY | OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_FORMAT) | OPT_BIT(OPT_MERGE) |
               OPT_BIT(OPT_DUMP_IR) | OPT_BIT(OPT_DOT),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
