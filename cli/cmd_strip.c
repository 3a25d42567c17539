#include "cli/command.h"
#include "cli/write.h"

#include <limits.h>

static int run_one(struct options *o, const char *arg, const struct target *t)
{
    struct input in;
    int e = input_open(&in, o, arg);

    if (!e)
        e = write_model(&in, o, NULL, t);
    input_close(&in);
    return e;
}

static int run(struct options *o)
{
    return target_each(o, run_one);
}

const struct command cmd_strip = {
    .name = "strip",
    .usage = "IN... -o OUT [options]",
    .summary = "remove the tags: the original bytes",
    .about = "Removes what `sactag tag` added, and nothing else: the output is the original file,\n"
             "byte for byte; only copies of functions that --specialize made stay. A model without\n"
             "tags is written unchanged. For several inputs OUT is a directory, as for `sactag tag`.",
    .examples = "  sactag strip tagged.onnx -o model.onnx\n"
                "  sactag strip --in-place tagged.onnx\n"
                "  sactag strip tagged.onnx -o - | cmp - model.onnx\n",
    .options = OPT_WRITE,
    .min_args = 1,
    .max_args = INT_MAX,
    .run = run,
};
