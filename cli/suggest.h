/* "Did you mean ...?": the word of a list that is closest to what was typed. */
#ifndef SACTAG_CLI_SUGGEST_H
#define SACTAG_CLI_SUGGEST_H

#include <stddef.h>

/* The closest of n words, or NULL when none is close enough to be what was meant. Words that are NULL are
 * skipped. */
const char *suggest(const char *typed, const char *const *words, size_t n);

#endif
