/* What a file that is no model may be: for the message alone. */
#include "schema/onnx_reader.h"

#define TEXT_SAMPLE 1024

static bool starts(const uint8_t *b, uint64_t n, uint64_t at, struct str magic)
{
    return n >= at + magic.n && memcmp(b + at, magic.s, magic.n) == 0;
}

/* Valid UTF-8 without control bytes, as far as a sample tells: all that str_escape() escapes is white space
 * and backslashes. */
static bool looks_like_text(const uint8_t *b, uint64_t n)
{
    struct str s = {(const char *)b, (size_t)(n < TEXT_SAMPLE ? n : TEXT_SAMPLE)};
    if (n > s.n)
        while (s.n && (b[s.n] & 0xc0) == 0x80) /* not through a character */
            s.n--;
    size_t want = s.n;
    for (size_t i = 0; i < s.n; i++)
        want += b[i] == '\n' || b[i] == '\t' || b[i] == '\\' ? 1 : b[i] == '\r' ? 3 : 0;
    return s.n && str_escape(NULL, 0, s) == want;
}

/* An 8-byte header length, then a JSON object of that length. */
static bool looks_like_safetensors(const uint8_t *b, uint64_t n)
{
    uint64_t len = 0;
    if (n < 10 || b[8] != '{')
        return false;
    for (unsigned i = 0; i < 8; i++)
        len |= (uint64_t)b[i] << (8 * i);
    return len >= 2 && len <= n - 8;
}

const char *onnx_guess(const uint8_t *bytes, uint64_t size)
{
    static const struct {
        unsigned at;
        struct str magic;
        const char *what;
    } table[] = {
        {0, {"version https://git-lfs", 23}, "a Git LFS pointer, not the file itself: run `git lfs pull`"},
        {0, {"{\n\"sactag\": \"plan\"", 17}, "a plan file: give the model that it was made for"},
        {0, {"{\"sactag\": \"plan\"", 16}, "a plan file: give the model that it was made for"},
        {0, {"index\tgraph\tnode\t", 17}, "a plan as tsv: give the model that it was made for"},
        {0, {"\x1f\x8b", 2}, "a gzip file: decompress it first"},
        {0, {"PK\x03\x04", 4}, "a zip archive"},
        {0, {"\x89HDF\r\n\x1a\n", 8}, "an HDF5 file (Keras?)"},
        {0, {"\3757zXZ", 5}, "an xz file: decompress it first"},
        {0, {"\x28\xb5\x2f\xfd", 4}, "a zstd file: decompress it first"},
        {0, {"BZh", 3}, "a bzip2 file: decompress it first"},
        {0, {"\x93NUMPY", 6}, "a NumPy array"},
        {0, {"GGUF", 4}, "a GGUF file"},
        {4, {"ORTM", 4}, "an ONNX Runtime .ort file: convert the .onnx file instead"},
        {4, {"TFL3", 4}, "a TensorFlow Lite file"},
        {0, {"\x80\x02", 2}, "a Python pickle"},
        {0, {"\x80\x04", 2}, "a Python pickle"},
        {0, {"\177ELF", 4}, "an ELF binary"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (starts(bytes, size, table[i].at, table[i].magic))
            return table[i].what;
    if (looks_like_safetensors(bytes, size))
        return "a safetensors file";
    return looks_like_text(bytes, size) ? "a text file" : NULL;
}
