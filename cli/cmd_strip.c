#include "cli/command.h"
#include "cli/write.h"

static int run(struct options *o)
{
    struct target t;
    struct input in;
    int e = target_choose(&t, o, o->args[0]);

    if (e)
        return e;
    e = input_open(&in, o, o->args[0]);
    if (!e)
        e = write_model(&in, o, NULL, &t);
    input_close(&in);
    return e;
}

const struct command cmd_strip = {
    .name = "strip",
    .usage = "IN -o OUT [options]",
    .summary = "remove the tags: the original bytes",
    .about = "Removes what `sactag tag` added, and nothing else: the output is the original file,\n"
             "byte for byte. A model without tags is written unchanged.",
    .examples = "  sactag strip tagged.onnx -o model.onnx\n"
                "  sactag strip --in-place tagged.onnx\n"
                "  sactag strip tagged.onnx -o - | cmp - model.onnx\n",
    .options = OPT_WRITE,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
