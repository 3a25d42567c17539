/* Lists of strings as Python's repr() writes them, "['', 'a', 'mul_3']": exporters put them into metadata. */
#ifndef SACTAG_IR_PYLIST_H
#define SACTAG_IR_PYLIST_H

#include "ir/str.h"

/* The second-to-last element: of a node's scopes the module, before the operator. False if the text is no
 * such list or has fewer than two elements; an element with a backslash is no module's name. A part of
 * `text`. */
bool pylist_before_last(struct str text, struct str *item);

/* Goes through the elements of what pylist_before_last() found to be a list: *p starts at 0. False at the
 * end. */
bool pylist_next(struct str text, size_t *p, struct str *item);

/* The text up to the quote before its last element, "['', 'a', '"; empty when that element is not plain. */
struct str pylist_head(struct str text);

/* Is that pylist_head(text)? `head` is that of another list, or empty: then not. */
bool pylist_has_head(struct str text, struct str head);

#endif
