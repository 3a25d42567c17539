#include "cli/print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The Linears as JSON, in the form of sactag_plan_to_json(): one a line, so that the output can be kept in
 * git and read in a diff. Text is escaped as in tsv, so any bytes survive; what tsv prints as "-" is null. */

static json_t *text(struct sactag_text t)
{
    char room[256], *big = NULL;

    if (t.n == 0)
        return json_null();
    size_t n = sactag_escape(room, sizeof room, t);
    if (n >= sizeof room) {
        big = malloc(n + 1);
        if (!big)
            return NULL;
        sactag_escape(big, n + 1, t);
    }
    json_t *j = json_stringn(big ? big : room, n);
    free(big);
    return j;
}

static json_t *word(const char *s)
{
    return strcmp(s, "-") == 0 ? json_null() : json_string(s);
}

static json_t *number(int64_t v)
{
    return v < 0 ? json_null() : json_integer(v);
}

static json_t *count(uint64_t v)
{
    return json_integer((json_int_t)v);
}

/* Takes over `value`; a value that found no memory makes *ok false. */
static void set(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (!value || json_object_set_new(object, key, value))
        *ok = false;
}

/* Prints an object and drops it. */
static bool put(FILE *f, json_t *object, bool ok)
{
    char *s = object && ok ? json_dumps(object, 0) : NULL;

    json_decref(object);
    if (!s)
        return false;
    fputs(s, f);
    free(s);
    return true;
}

/* ---- the parts ---- */

static bool put_linear(FILE *f, const struct sactag_linear *l)
{
    json_t *j = json_object();
    bool ok = j != NULL;

    set(j, "fqn", text(l->fqn), &ok);
    set(j, "weight", text(l->weight), &ok);
    set(j, "in", number(l->in), &ok);
    set(j, "out", number(l->out), &ok);
    set(j, "block", text(l->block), &ok);
    set(j, "evidence", word(sactag_evidence_name(l->evidence)), &ok);
    return put(f, j, ok);
}

static bool put_model(const struct page *p, const char *digest)
{
    struct sactag_info info;
    json_t *j = json_object();
    bool ok = j != NULL;

    sactag_get_info(p->in->m, &info);
    set(j, "name", text(text_of(p->in->base)), &ok);
    set(j, "format", json_string(info.format), &ok);
    set(j, "producer", text(info.producer), &ok);
    set(j, "producer_version", text(info.producer_version), &ok);
    set(j, "ir_version", info.ir_version ? json_integer(info.ir_version) : json_null(), &ok);
    set(j, "opset", info.opset ? json_integer(info.opset) : json_null(), &ok);
    set(j, "nodes", count(info.nodes), &ok);
    set(j, "graphs", count(info.graphs), &ok);
    set(j, "digest", json_string(digest), &ok);
    return put(p->f, j, ok);
}

static int put_text_piece(void *ctx, const char *piece, size_t n)
{
    return fwrite(piece, 1, n, ctx) == n ? 0 : -1;
}

int print_plan_json(const struct page *p)
{
    int status = sactag_plan_to_json(p->plan, p->in->base, put_text_piece, p->f, p->in->d);

    return input_done(p->in, p->o, ferror(p->f) ? 0 : status); /* write errors stay with the file */
}

int print_linears_json(const struct page *p)
{
    size_t n = sactag_plan_linear_count(p->plan);
    char digest[33];
    bool ok;
    int e = input_done(p->in, p->o, sactag_digest(p->in->m, digest, p->in->d));

    if (e)
        return e;
    fputs("{\n\"sactag\": \"linears\",\n\"version\": 1,\n\"model\": ", p->f);
    ok = put_model(p, digest);
    fputs(",\n\"linears\": [", p->f);
    for (size_t i = 0; ok && i < n; i++) {
        struct sactag_linear l;
        sactag_plan_linear(p->plan, i, &l);
        fputs(i ? ",\n" : "\n", p->f);
        ok = put_linear(p->f, &l);
    }
    fputs("]\n}\n", p->f);
    return ok ? 0 : message_nomem(&p->o->voice);
}
