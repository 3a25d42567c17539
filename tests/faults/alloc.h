/* What the preloaded allocator (alloc_shim.c) and the test share. */
#ifndef SACTAG_TESTS_FAULTS_ALLOC_H
#define SACTAG_TESTS_FAULTS_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* The environment variable that holds the number of the descriptor where a struct alloc_count lies. */
#define ALLOC_FD "FAULTS_ALLOC_FD"

struct alloc_count {
    uint64_t fail_at; /* the allocation that fails, from 1; 0: none */
    bool from_there_on;
    bool active;     /* main() is running */
    uint64_t calls;  /* allocations asked for */
    uint64_t failed; /* of them */
    int64_t live;    /* not freed */
};

#endif
