/* `--specialize`: an ONNX model with copies of some functions, and calls that go to them. The one writer that
 * changes more than tags: op_types of calls, and functions added at the end. */
#ifndef SACTAG_SCHEMA_ONNX_CLONE_H
#define SACTAG_SCHEMA_ONNX_CLONE_H

#include "ir/clone.h"
#include "ir/ir.h"
#include "schema/sink.h"

/* Writes the whole model to a sink and finishes it. 0, or IR_EIO, IR_EMEM; reported. */
int onnx_clone(struct ir_model *m, const struct clones *c, struct sink *to, struct diag *d);

#endif
