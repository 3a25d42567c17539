/* Sets of numbers, a bit each. */
#ifndef SACTAG_IR_BITS_H
#define SACTAG_IR_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that n bits take; 1 at least. */
static inline size_t bits_size(uint32_t n)
{
    return (size_t)n / 8 + 1;
}

static inline bool bits_has(const uint8_t *bits, uint32_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

/* Adds i when `yes`; never takes it out. */
static inline void bits_add(uint8_t *bits, uint32_t i, bool yes)
{
    bits[i / 8] |= (uint8_t)(yes << i % 8);
}

#endif
