#include "lib/specialize.h"

#include "schema/onnx_clone.h"
#include "schema/sink.h"

#include <stdlib.h>

int specialize(struct specialized *out, sactag_model *m, const struct plan *p, struct diag *d)
{
    *out = (struct specialized){0};
    struct sink_mem sink;
    sink_mem_init(&sink, d);
    int rc = onnx_clone(&m->ir, &p->clones, &sink.sink, d);
    if (rc) {
        sink_mem_free(&sink);
        return rc;
    }
    out->bytes = sink.bytes;
    sactag_diag *own = sactag_diag_new(); /* what is noted of the copy was noted of the original */
    rc = own ? sactag_open_buffer(&out->model, sink.bytes, sink.n, NULL, own) : IR_EMEM;
    if (rc)
        diag_error(d, rc, "the model with copies of functions cannot be read: %s",
                   own ? sactag_diag_error(own) : "");
    struct policy_options options = p->options;
    options.specialize = false;
    if (!rc)
        rc = plan_make(&out->plan, &out->model->ir, &options, NULL);
    sactag_diag_free(own);
    if (out->model)
        out->model->ir.diag = d;
    return rc;
}

void specialized_free(struct specialized *s)
{
    plan_free(&s->plan);
    sactag_close(s->model);
    free(s->bytes);
}
