/* Runs a target over files and the files of folders, each once: for compilers without libFuzzer, and for
 * AFL++, whose compiler defines the macros below. Prints how many there were. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned files;

static void run_bytes(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1); /* so that a byte read too far is seen */

    must(exact);
    if (n)
        memcpy(exact, bytes, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

static void run(const char *path)
{
    struct fuzz_text bytes = {0};
    FILE *f = fopen(path, "rb");
    char part[4096];

    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        fuzz_add(&bytes, part, n);
    fclose(f);
    fprintf(stderr, "%s\n", path); /* if it ends here, this is why */
    run_bytes((const uint8_t *)bytes.s, bytes.n);
    fuzz_text_free(&bytes);
    files++;
}

static void run_folder(const char *path)
{
    DIR *dir = opendir(path);
    char file[4096];

    if (!dir) {
        run(path);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        run(file);
    }
    closedir(dir);
}

#ifdef __AFL_FUZZ_TESTCASE_LEN
#pragma clang diagnostic ignored "-Wshorten-64-to-32" /* in AFL++'s macros */
__AFL_FUZZ_INIT();

static int by_afl(void)
{
    __AFL_INIT();
    const uint8_t *bytes = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000)) {
        size_t n = (size_t)__AFL_FUZZ_TESTCASE_LEN;
        run_bytes(bytes, n);
    }
    return 0;
}
#else
static int by_afl(void)
{
    return 2;
}
#endif

int main(int argc, char **argv)
{
    if (argc < 2)
        return by_afl();
    for (int i = 1; i < argc; i++)
        run_folder(argv[i]);
    printf("%u\n", files);
    return 0;
}
