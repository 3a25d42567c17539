/* Preloaded into the program under test: makes the k-th allocation fail, or all from there on.
 *
 * Covers whatever goes through malloc(): also strdup(), asprintf(), stdio, and the libraries that are linked.
 * Counting begins with main() and ends with it, so that neither the loader nor what runs at exit is
 * disturbed. What is counted lies in memory that the test shares (tests/faults/alloc.h). */
#include "tests/faults/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

typedef int main_fn(int argc, char **argv, char **env);
typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                     void (*rtld_fini)(void), void *stack_end);
start_fn __libc_start_main;

static struct alloc_count *count;
static main_fn *real_main;

/* Is it this one's turn to fail? */
static bool fails(void)
{
    if (!count || !count->active)
        return false;
    uint64_t k = ++count->calls;
    bool it = count->fail_at && (k == count->fail_at || (count->from_there_on && k > count->fail_at));
    if (it) {
        count->failed++;
        errno = ENOMEM;
    }
    return it;
}

static void *noted(void *p)
{
    if (p && count && count->active)
        count->live++;
    return p;
}

void *malloc(size_t n)
{
    return fails() ? NULL : noted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : noted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    if (fails())
        return NULL;
    return p ? __libc_realloc(p, n) : noted(__libc_malloc(n));
}

void free(void *p)
{
    if (p && count && count->active)
        count->live--;
    __libc_free(p);
}

static int counted_main(int argc, char **argv, char **env)
{
    const char *fd = getenv(ALLOC_FD);
    if (fd) {
        void *p = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
        count = p == MAP_FAILED ? NULL : p;
    }
    if (count)
        count->active = true;
    int code = real_main(argc, argv, env);
    if (count)
        count->active = false;
    return code;
}

int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    union {
        void *object;
        start_fn *function;
    } real = {dlsym(RTLD_NEXT, "__libc_start_main")};
    real_main = main;
    return real.function(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
