#include "schema/onnx_reader.h"

#include <criterion/criterion.h>

static void guesses(const char *bytes, size_t n, const char *part)
{
    /* A copy of that length: a sanitizer sees what is read too far. */
    uint8_t *exact = malloc(n ? n : 1);
    cr_assert_not_null(exact);
    memcpy(exact, bytes, n);
    const char *got = onnx_guess(exact, n);
    free(exact);
    if (part)
        cr_assert(got && strstr(got, part), "expected '%s' but found '%s'", part, got ? got : "nothing");
    else
        cr_assert_null(got);
}

Test(onnx_guess, known_beginnings)
{
    guesses("version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull");
    guesses("\x1f\x8b\x08", 3, "gzip");
    guesses("PK\3\4rest", 8, "zip");
    guesses("\x89HDF\r\n\x1a\n", 8, "HDF5");
    guesses("\xfd"
            "7zXZ\0",
            6, "xz");
    guesses("\x28\xb5\x2f\xfd", 4, "zstd");
    guesses("BZh9", 4, "bzip2");
    guesses("\x93NUMPY\1", 7, "NumPy");
    guesses("GGUF\3\0\0\0", 8, "GGUF");
    guesses("\x20\0\0\0ORTM", 8, ".ort");
    guesses("\x1c\0\0\0TFL3", 8, "TensorFlow Lite");
    guesses("\x80\2}q", 4, "pickle");
    guesses("\x7f"
            "ELF\2\1",
            6, "ELF");
}

Test(onnx_guess, safetensors)
{
    guesses("\x02\0\0\0\0\0\0\0{}", 10, "safetensors");
    guesses("\x03\0\0\0\0\0\0\0{}", 10, NULL);
    guesses("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, NULL);
}

Test(onnx_guess, text)
{
    guesses("hello\tworld\r\n", 13, "a text file");
    guesses("caf\xc3\xa9\n", 6, "a text file");
    guesses("hello\0world", 11, NULL);
    guesses("hello\xff\xfe", 7, NULL);
    guesses("a\x1b[2J", 5, NULL);
    char sample[2000];
    for (size_t i = 0; i < sizeof sample; i++)
        sample[i] = "\xe2\x82\xac"[i % 3];
    guesses(sample, sizeof sample, "a text file"); /* the sample ends inside a character */
    sample[100] = '\n';
    guesses(sample, sizeof sample, NULL);
    guesses("\x08\x08\x12\x07pytorch", 11, NULL);
}

Test(onnx_guess, too_short_to_tell)
{
    guesses("", 0, NULL);
    guesses("\x1f", 1, NULL);
    guesses("\x20\0\0\0ORT", 7, NULL);
    guesses("\x02\0\0\0\0\0\0\0{", 9, NULL);
}
