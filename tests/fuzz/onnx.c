/* Any bytes as an ONNX model, by one carrier or the other. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const unsigned carriers[] = {FUZZ_METADATA, FUZZ_ATTRIBUTE, FUZZ_POPART};

    fuzz_model(bytes, n, carriers[n / FUZZ_CHOICES % 3], n % FUZZ_CHOICES);
    return 0;
}
