/* What the files of the JSON reader share; nobody else includes this.
 *
 *     json_scan.c     is a text JSON, how deep, and how many tokens
 *     json.c          tokens
 *     json_string.c   what strings stand for, and how to write them */
#ifndef SACTAG_SCHEMA_JSON_SCAN_H
#define SACTAG_SCHEMA_JSON_SCAN_H

#include "schema/json.h"

/* Checks a text (not NULL), and counts its tokens. 0, or IR_EINPUT and *e: no JSON, or brackets more than
 * max_depth or JSON_DEPTH_MAX deep. */
int json_scan(struct str text, uint32_t max_depth, size_t *tokens, struct json_error *e);

/* 0 to 15; -1 when c is no hexadecimal digit. JSON takes capitals too. */
static inline int json_hex_digit(char c)
{
    return str_hex_digit(c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c);
}

#endif
