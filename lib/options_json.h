/* The options that a plan was made with, as JSON: in plan files and in sac.plan. What lib/options_read.h
 * reads back. */
#ifndef SACTAG_LIB_OPTIONS_JSON_H
#define SACTAG_LIB_OPTIONS_JSON_H

#include "passes/plan.h"

#include <jansson.h>

/* The words of options: by enum match, enum mm_rule, and whether the file's order is taken. */
extern const char *const match_words[3], *const rule_words[2], *const order_words[2];

/* A new reference; NULL when memory is exhausted. */
json_t *options_to_json(const struct policy_options *o);

/* A name, escaped as everywhere, so that it is valid text; null when it is empty. NULL when memory is
 * exhausted. */
json_t *name_to_json(struct str s);
json_t *shape_to_json(struct mm_shape s);

/* A document as text, to be freed; NULL when memory is exhausted. */
char *json_to_text(const json_t *j, size_t flags);

#endif
