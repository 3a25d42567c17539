/* json: the plan is the library's, the Linears have the same form: one a line, so that the output can be kept
 * in git and read in a diff. What tsv prints as "-" is null. */
#include "cli/json_put.h"
#include "cli/print.h"

#include <inttypes.h>
#include <string.h>

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

/* ---- the parts ---- */

static bool put_linear(FILE *f, const struct sactag_linear *l)
{
    json_t *j = json_object();
    bool ok = true;

    json_set(j, "fqn", text_to_json(l->fqn), &ok);
    json_set(j, "weight", text_to_json(l->weight), &ok);
    json_set(j, "in", number(l->in), &ok);
    json_set(j, "out", number(l->out), &ok);
    json_set(j, "block", text_to_json(l->block), &ok);
    json_set(j, "evidence", word(sactag_evidence_name(l->evidence)), &ok);
    return json_put(f, j, ok);
}

static bool put_model(const struct page *p, const char *digest)
{
    struct sactag_info info;
    json_t *j = json_object();
    bool ok = true;

    sactag_get_info(p->in->m, &info);
    json_set(j, "name", text_to_json(text_of(p->in->base)), &ok);
    json_set(j, "format", json_string(info.format), &ok);
    json_set(j, "producer", text_to_json(info.producer), &ok);
    json_set(j, "producer_version", text_to_json(info.producer_version), &ok);
    json_set(j, "ir_version", info.ir_version ? json_integer(info.ir_version) : json_null(), &ok);
    json_set(j, "opset", info.opset ? json_integer(info.opset) : json_null(), &ok);
    json_set(j, "nodes", count(info.nodes), &ok);
    json_set(j, "graphs", count(info.graphs), &ok);
    json_set(j, "digest", json_string(digest), &ok);
    return json_put(p->f, j, ok);
}

int print_plan_json(const struct page *p)
{
    int status = sactag_plan_to_json(p->plan, p->in->base, put_piece, p->f, p->in->d);

    return input_printed(p->in, p->o, p->f, status);
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
