#include "cli/command.h"
#include "cli/print.h"

static int show(struct input *in, struct options *o, struct out *out)
{
    sactag_plan *plan = NULL;
    int e = input_done(in, o, sactag_read_tags(&plan, in->m, in->d));

    struct page p = {.f = out->f, .color = out->color, .tags = true, .o = o, .in = in, .plan = plan};
    if (!e)
        e = print_plan(&p);
    sactag_plan_free(plan);
    return e;
}

static int run(struct options *o)
{
    struct input in;
    struct out out;

    if (o->merge && o->format != FORMAT_TEXT)
        return message_error(2, &o->voice, NULL, "--merge is for --format text");
    int e = input_open(&in, o, o->args[0]);
    if (!e)
        e = input_spared(&in, o);
    if (!e)
        e = out_open(&out, o);
    if (!e)
        e = out_close(&out, o, show(&in, o, &out));
    input_close(&in);
    return e;
}

const struct command cmd_show = {
    .name = "show",
    .usage = "IN [options]",
    .summary = "the tags that a file carries",
    .about = "Prints the tags that a model carries, as far as tags tell: the columns of `sactag plan`.\n"
             "A model without tags gives no rows.",
    .examples = "  sactag show tagged.onnx\n"
                "  sactag show tagged.onnx --format tsv\n",
    .options = OPT_BIT(OPT_OUTPUT) | OPT_BIT(OPT_FORMAT) | OPT_BIT(OPT_MERGE),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
