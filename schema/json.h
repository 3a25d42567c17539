/* JSON as tokens with byte offsets, for reading and splicing the text of a .pt2 program.
 *
 * The tokens are libjsmn's. jsmn is no validator, so the text is first checked (json_scan.c), strictly (RFC
 * 8259, plus NaN and Infinity, which Python writes), in one pass that also bounds the depth and counts the
 * tokens. After that nothing about the structure can surprise: each member of an object is a string token
 * followed by its value. */
#ifndef SACTAG_SCHEMA_JSON_H
#define SACTAG_SCHEMA_JSON_H

#include "ir/arena.h"
#include "ir/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_NONE      UINT32_MAX
#define JSON_DEPTH_MAX 1024                /* objects and arrays in each other */
#define JSON_TEXT_MAX  ((size_t)INT32_MAX) /* bytes: jsmn's offsets are int */

enum json_kind {
    JSON_KIND_OBJECT,
    JSON_KIND_ARRAY,
    JSON_KIND_STRING,
    JSON_KIND_NUMBER,
    JSON_KIND_TRUE,
    JSON_KIND_FALSE,
    JSON_KIND_NULL
};

struct json_token {
    uint32_t start, end; /* bytes of the text: an object with its braces, a string without its quotes */
    uint32_t next;       /* the first token after this one and all that is in it */
    uint32_t type;       /* enum json_kind */
};

/* tokens[0] is the whole value. */
struct json {
    struct str text; /* borrowed */
    struct json_token *tokens;
    uint32_t n;
};

struct json_error {
    const char *message;
    size_t offset; /* in the text */
};

/* Tokens of `text`. At most `max_bytes` are allocated for them (0 = no limit). IR_EINPUT: not JSON, too deep,
 * too long, too many tokens; IR_EMEM. Frees nothing that *out held. */
int json_parse(struct json *out, struct str text, uint32_t max_depth, size_t max_bytes, struct json_error *e);
void json_free(struct json *j);

static inline enum json_kind json_kind(const struct json *j, uint32_t t)
{
    return (enum json_kind)j->tokens[t].type;
}

/* "an object", "a string", ... for messages. */
const char *json_kind_name(enum json_kind t);

/* The value of a member of an object (the last of that name, as Python reads it), or JSON_NONE; JSON_NONE
 * too when `object` is none. The name must need no escapes. */
uint32_t json_get(const struct json *j, uint32_t object, const char *name);

/* First element of an array, first member's name of an object (its value is the next token), or JSON_NONE. */
static inline uint32_t json_first(const struct json *j, uint32_t t)
{
    return t + 1 < j->tokens[t].next ? t + 1 : JSON_NONE;
}

/* The element after `element` in `array`. */
static inline uint32_t json_next(const struct json *j, uint32_t array, uint32_t element)
{
    uint32_t next = j->tokens[element].next;
    return next < j->tokens[array].next ? next : JSON_NONE;
}

/* The member's name after `name` in `object`. */
static inline uint32_t json_next_member(const struct json *j, uint32_t object, uint32_t name)
{
    return json_next(j, object, name + 1);
}

/* Elements of an array, members of an object. */
uint32_t json_count(const struct json *j, uint32_t t);

/* The bytes of a token as they stand. */
static inline struct str json_raw(const struct json *j, uint32_t t)
{
    return str_sub(j->text, j->tokens[t].start, j->tokens[t].end - j->tokens[t].start);
}

/* A string's text: as it stands when it has no escapes, else decoded (UTF-8; a lone surrogate becomes
 * U+FFFD) into the arena. 0, IR_EINPUT when it is no string, IR_EMEM. */
int json_text(struct str *out, const struct json *j, uint32_t t, struct arena *a);

/* Decodes the inside of a JSON string into `out`, which has room for raw.n bytes; returns the length. */
size_t json_unescape(char *out, struct str raw);

/* Is it a number without fraction and exponent that fits? */
bool json_int(int64_t *out, const struct json *j, uint32_t t);

/* Length of `s` as the inside of a JSON string; written to `out` when that is not NULL. ASCII only, as
 * Python's json.dumps() does it; a byte that is no UTF-8 becomes U+FFFD. */
size_t json_escape(char *out, struct str s);

#endif
