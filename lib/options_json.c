#include "lib/options_json.h"

#include "ir/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const match_words[3] = {"exact", "substring", "glob"};
const char *const rule_words[2] = {"onnx", "torch"};
const char *const order_words[2] = {"auto", "file"};

/* ---- text ---- */

struct buffer {
    char *s;
    size_t n, cap;
    bool failed;
};

/* Fails for good: jansson goes on after an object's key that could not be put. */
static int add(const char *s, size_t n, void *ctx)
{
    struct buffer *b = ctx;
    if (b->failed || grow(&b->s, &b->cap, b->n + n + 1, 1) != 0) {
        b->failed = true;
        return -1;
    }
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
    return 0;
}

/* Not json_dumps(), which leaves out a key that finds no room in its buffer. */
char *json_to_text(const json_t *j, size_t flags)
{
    struct buffer b = {0};
    if (json_dump_callback(j, add, &b, flags) == 0 && !b.failed)
        return b.s;
    free(b.s);
    return NULL;
}

/* ---- values ---- */

json_t *name_to_json(struct str s)
{
    size_t n = str_escape(NULL, 0, s);
    char *text;
    json_t *j;

    if (s.n == 0)
        return json_null();
    text = malloc(n + 1);
    if (!text)
        return NULL;
    str_escape(text, n + 1, s);
    j = json_stringn(text, n);
    free(text);
    return j;
}

json_t *shape_to_json(struct mm_shape s)
{
    char text[MM_SHAPE_TEXT];

    return json_string(mm_shape_text(text, s));
}

static json_t *names(const struct str *list, uint32_t n)
{
    json_t *j = json_array();
    bool ok = j != NULL;

    for (uint32_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(j, name_to_json(list[i])) == 0;
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

static json_t *shapes(const struct mm_shape *list, uint32_t n)
{
    json_t *j = json_array();
    bool ok = j != NULL;

    for (uint32_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(j, shape_to_json(list[i])) == 0;
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

static json_t *blocks(const struct policy_options *o)
{
    const struct str word = o->whole ? STR_LIT("whole") : STR_LIT("auto");
    return o->n_blocks ? names(o->blocks, o->n_blocks) : names(&word, 1);
}

json_t *options_to_json(const struct policy_options *o)
{
    json_t *j = json_object();
    /* jansson passes NULL on: one look at the end tells whether memory ran out. */
    int e = json_object_set_new(j, "fqns", names(o->fqns, o->n_fqns));
    e |= json_object_set_new(j, "force_shapes", shapes(o->force, o->n_force));
    e |= json_object_set_new(j, "match", json_string(match_words[o->match]));
    e |= json_object_set_new(j, "profile", o->titan ? json_string("titan") : json_null());
    e |= json_object_set_new(j, "blocks", blocks(o));
    e |= json_object_set_new(j, "mm_rule", json_string(rule_words[o->rule]));
    e |= json_object_set_new(j, "mm_ops", names(o->mm_ops, o->n_mm_ops));
    e |= json_object_set_new(j, "order", json_string(order_words[o->file_order]));
    e |= json_object_set_new(j, "strict", json_boolean(o->strict));
    e |= json_object_set_new(j, "specialize", json_boolean(o->specialize));
    if (!e)
        return j;
    json_decref(j);
    return NULL;
}
