/* Any bytes as a .pt2. What does not begin as an archive is the text of a program, which an archive is made
 * around: checksums would keep mutations from ever getting so far. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void le(struct fuzz_text *t, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        fuzz_add(t, &(uint8_t){(uint8_t)v}, 1);
}

static struct fuzz_text archive_of(const uint8_t *text, size_t n)
{
    static const char name[] = "serialized_exported_program.json";
    const size_t name_len = sizeof name - 1;
    uint32_t crc = (uint32_t)crc32_z(0, text, n);
    struct fuzz_text t = {0};

    fuzz_add(&t, "PK\3\4\24\0\0\0\0\0\0\0\41\0", 14);
    le(&t, crc, 4), le(&t, n, 4), le(&t, n, 4), le(&t, name_len, 2), le(&t, 0, 2);
    fuzz_add(&t, name, name_len);
    fuzz_add(&t, text, n);
    size_t central = t.n;
    fuzz_add(&t, "PK\1\2\36\3\24\0\0\0\0\0\0\0\41\0", 16);
    le(&t, crc, 4), le(&t, n, 4), le(&t, n, 4), le(&t, name_len, 2), le(&t, 0, 16);
    fuzz_add(&t, name, name_len);
    size_t end = t.n;
    fuzz_add(&t, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    le(&t, end - central, 4), le(&t, central, 4), le(&t, 0, 2);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n >= 2 && memcmp(bytes, "PK", 2) == 0) {
        fuzz_model(bytes, n, FUZZ_METADATA, n);
        return 0;
    }
    struct fuzz_text t = archive_of(bytes, n);
    fuzz_model((const uint8_t *)t.s, t.n, FUZZ_METADATA, n);
    fuzz_text_free(&t);
    return 0;
}
