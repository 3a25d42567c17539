/* Reading documents of ours, as tokens: each is asked for by type, and what is wrong is reported with its
 * line and column. */
#ifndef SACTAG_LIB_JSON_READER_H
#define SACTAG_LIB_JSON_READER_H

#include "lib/plan_file.h"
#include "schema/json.h"

struct json_reader {
    struct json j;
    struct arena *arena; /* where decoded text goes */
    struct diag *d;
    struct locator at;
};

/* Parses; frees nothing after a failure but may be freed. */
int json_reader_open(struct json_reader *r, struct str text, struct arena *arena, struct diag *d);
void json_reader_close(struct json_reader *r);

/* Where a token is. Tokens must be asked for in rising order, or the count begins anew. */
struct place json_place(struct json_reader *r, uint32_t token);

/* "line 3, column 7: WHERE: expected WHAT but found TOKEN". Returns IR_EINPUT. */
int json_expected(struct json_reader *r, const char *where, const char *what, uint32_t token);

/* Which members an object has. */
struct json_object {
    const char *const *names;
    size_t n;
    bool all;    /* each of them must be there */
    bool others; /* members that are not named are allowed */
};

/* The members of an object by their names: found[i] is the value of names[i], JSON_NONE when absent. No name
 * may occur twice. 0, IR_EINPUT or IR_EMEM, reported. */
int json_members(struct json_reader *r, const char *where, uint32_t object, const struct json_object *want,
                 uint32_t *found);

/* A string, decoded and without the escapes of names; may hold any byte. With `nullable` null gives n = 0. */
int json_read_text(struct json_reader *r, const char *where, uint32_t token, bool nullable, struct str *out);

/* One of the words. */
int json_read_word(struct json_reader *r, const char *where, uint32_t token, const char *const *words,
                   size_t n, size_t *choice);
int json_read_bool(struct json_reader *r, const char *where, uint32_t token, bool *out);

#endif
