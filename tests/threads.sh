#!/bin/sh
# Eight threads on models of several kinds: threads.sh THREADS. The last line is "N passed, M failed".
#
# ThreadSanitizer wants memory where kernels that place it at random may have put something else: setarch -R.
set -u
cd "$(dirname "$0")/.." || exit 1
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
set -- "$1" tests/cases/toy/model_external.onnx tests/cases/gpt2_conv1d/model_dynamoopt.onnx \
    tests/cases/llama_gqa/model_functions.onnx tests/cases/reuse/model.pt2 tests/cases/scripted/model_train.onnx \
    tests/cases/bert/model_dynamo.onnx tests/pt2/programs.pt2 tests/pt2/cond.pt2 examples/moe.onnx
setarch -R true 2>/dev/null && set -- setarch -R "$@"
exec "$@" 2>&1
