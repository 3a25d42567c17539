/* Memory in use is counted by the sanitizer's hooks on malloc and free; without a sanitizer only time is
 * bounded. */
#include "fuzz.h"

#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTED 1
#endif
#endif

#ifdef COUNTED
#include <sanitizer/allocator_interface.h>

static size_t used, most;

static void on_malloc(const volatile void *p, size_t n)
{
    (void)p;
    used += n;
    if (used > most)
        most = used;
}

static void on_free(const volatile void *p)
{
    if (p)
        used -= __sanitizer_get_allocated_size(p);
}

static void begin_counting(void)
{
    static int installed;

    if (!installed)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    installed = 1;
    most = used;
}
#else
static size_t used, most;

static void begin_counting(void)
{
}
#endif

static uint64_t processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct fuzz_bound fuzz_begin(void)
{
    begin_counting();
    return (struct fuzz_bound){used, processor_time()};
}

void fuzz_end(struct fuzz_bound began, size_t n)
{
    must(most - began.memory <= FUZZ_MEMORY_BASE + n * FUZZ_MEMORY_PER_BYTE);
    must(processor_time() - began.time < (uint64_t)FUZZ_SECONDS * 1000000000);
}
