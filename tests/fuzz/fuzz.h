/* What the fuzz targets share. Each target is one file that defines LLVMFuzzerTestOneInput(); what must hold
 * of any input is checked there, and the process aborts where it does not. */
#ifndef SACTAG_TESTS_FUZZ_H
#define SACTAG_TESTS_FUZZ_H

#include <sactag.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Says what does not hold, and aborts. */
#define must(what)                                                                                           \
    do {                                                                                                     \
        if (!(what))                                                                                         \
            fuzz_broken(__FILE__, __LINE__, #what);                                                          \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *what);

/* ---- bounds (bound.c) */

/* Memory: no more than this is in use at any time, for an input of so many bytes. The targets set the library
 * limits that are much smaller than its own, so that what multiplies is soon seen to; a model, plans of it
 * and its tagged copy are in memory at once. Time: of the processor. */
#define FUZZ_LIMIT_BASE      (4u << 20)
#define FUZZ_LIMIT_PER_BYTE  64
#define FUZZ_STEPS           20000
#define FUZZ_MEMORY_BASE     (12 * FUZZ_LIMIT_BASE)
#define FUZZ_MEMORY_PER_BYTE (12 * FUZZ_LIMIT_PER_BYTE)
#define FUZZ_SECONDS         5

struct fuzz_bound {
    size_t memory; /* in use when it began */
    uint64_t time;
};
struct fuzz_bound fuzz_begin(void);
void fuzz_end(struct fuzz_bound began, size_t n);

/* ---- growable text (text.c) */

struct fuzz_text {
    char *s;
    size_t n, cap;
};
void fuzz_add(struct fuzz_text *t, const void *bytes, size_t n);
void fuzz_text_free(struct fuzz_text *t);
int fuzz_put(void *text, const char *bytes, size_t n); /* as sactag_put */

/* ---- models (properties.c) */

#define FUZZ_METADATA  1u
#define FUZZ_ATTRIBUTE 2u
#define FUZZ_POPART    4u

#define FUZZ_CHOICES 12 /* ways to decide */

/* Opens, decides, tags with each of these carriers, strips, and so on; `choice` picks the options. */
void fuzz_model(const uint8_t *bytes, size_t n, unsigned carriers, size_t choice);

/* Each message is one printable line; an error has left one. */
void fuzz_messages(const sactag_diag *d, int status);

#endif
