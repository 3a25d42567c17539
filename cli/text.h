/* What the parts of the text format share. */
#ifndef SACTAG_CLI_TEXT_H
#define SACTAG_CLI_TEXT_H

#include "cli/groups.h"
#include "cli/print.h"

/* "layers.0-31" for the blocks first..last, or one name. Returns its width on a terminal. */
size_t put_group(FILE *f, const sactag_plan *plan, uint32_t first, uint32_t last);

/* The first word of a line of the head, with blanks up to what it is about. */
void put_key(const struct page *p, const char *name);

/* The lines about the model; and the whole head of a plan. */
void put_model(const struct page *p);
void put_header(const struct page *p, const struct groups *g, const struct sactag_summary *s);

/* An empty line, the titles and the rows, if there are any. False when memory is exhausted. */
bool put_rows(const struct page *p, const struct groups *g);

#endif
