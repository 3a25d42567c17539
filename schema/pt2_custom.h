/* The text of "custom" in a .pt2's metadata: a JSON string that holds a JSON object. Tags are members of that
 * object. Everything here works on the inside of the string as it stands in the program (`raw`), so that what
 * is another's stays byte for byte.
 *
 * raw.s == NULL means that there is no "custom". Results are in the arena. */
#ifndef SACTAG_SCHEMA_PT2_CUSTOM_H
#define SACTAG_SCHEMA_PT2_CUSTOM_H

#include "ir/annot.h"
#include "ir/arena.h"

/* Takes out the members whose keys begin with PT2_TAG; nothing is left of a string that held only such. What
 * holds no object is left as it is. 0 or IR_EMEM. */
int custom_strip(struct str *out, struct str raw, struct arena *a);

/* Are two the same but for tags? To have none, or an empty object, is the same here. 0 or IR_EMEM. */
int custom_alike(bool *alike, struct str x, struct str y, struct arena *a);

/* Adds members, in this order, after those that are there. 0; IR_EINPUT: raw holds no object; IR_EMEM. */
int custom_add(struct str *out, struct str raw, const struct annot *members, size_t n, struct arena *a);

#endif
