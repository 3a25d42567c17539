/* Any bytes as an ONNX model, by each carrier. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_model(bytes, n, FUZZ_METADATA | FUZZ_ATTRIBUTE | FUZZ_POPART, n);
    return 0;
}
