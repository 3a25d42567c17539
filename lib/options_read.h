/* The options that a plan was made with, as the API has them. */
#ifndef SACTAG_LIB_OPTIONS_READ_H
#define SACTAG_LIB_OPTIONS_READ_H

#include "lib/json_reader.h"
#include "passes/plan.h"

/* Reads what lib/options_json.h writes. Lists and their text lie in the reader's arena. */
int options_from_json(struct sactag_options *out, struct json_reader *r, uint32_t object);

/* Those of a plan; lists in the arena, text borrowed from `o`. IR_EMEM (not reported). */
int options_to_api(struct sactag_options *out, const struct policy_options *o, struct arena *a);

#endif
