/* What every JSON output of the command line is made with. */
#ifndef SACTAG_CLI_JSON_PUT_H
#define SACTAG_CLI_JSON_PUT_H

#include "sactag.h"

#include <jansson.h>
#include <stdio.h>

/* Text as a string, escaped as in tsv, so that any bytes survive; null when it is absent or empty. NULL when
 * memory is exhausted. */
json_t *text_to_json(struct sactag_text t);

/* Gives a value to a key. Takes over `value`; when memory is exhausted, or was for the value, *ok becomes
 * false. */
void json_set(json_t *object, const char *key, json_t *value, bool *ok);

/* Prints an object and drops it. False when there was no memory for it, or for a part (`ok` is false); a
 * failure to write stays with the stream. */
bool json_put(FILE *f, json_t *object, bool ok);

#endif
