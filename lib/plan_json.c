/* Plan → JSON document (docs/FORMATS.md). One row or block a line, so that the file can be kept in git and
 * read in a diff. */
#include "lib/model.h"
#include "lib/options_json.h"
#include "lib/tag.h"

#include <stdio.h>
#include <stdlib.h>

/* jansson passes NULL on, so that one look at the end of an object tells whether memory ran out. */
struct writer {
    sactag_put put;
    void *ctx;
    int stopped; /* what put() returned */
    bool no_memory;
};

static void raw(struct writer *w, const char *text)
{
    if (!w->stopped && !w->no_memory)
        w->stopped = w->put(w->ctx, text, strlen(text));
}

/* Prints an object and drops it. */
static void put(struct writer *w, json_t *object)
{
    char *text = object && !w->no_memory ? json_to_text(object, 0) : NULL;

    json_decref(object);
    if (text)
        raw(w, text);
    else
        w->no_memory = true;
    free(text);
}

static void set(struct writer *w, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        w->no_memory = true;
}

/* ---- values ---- */

static json_t *text(struct sactag_text t)
{
    return name_to_json(str_from(t));
}

static json_t *shape(struct sactag_shape s)
{
    return shape_to_json((struct mm_shape){s.k, s.n});
}

static json_t *count(uint64_t v)
{
    return json_integer((json_int_t)v);
}

static json_t *known(int64_t v)
{
    return v ? json_integer(v) : json_null();
}

/* ---- parts ---- */

static json_t *model(struct writer *w, const sactag_model *m, const char *name, const char *digest)
{
    struct sactag_info info;
    json_t *j = json_object();

    sactag_get_info(m, &info);
    set(w, j, "name", name_to_json(str_of(name)));
    set(w, j, "format", json_string(info.format));
    set(w, j, "producer", text(info.producer));
    set(w, j, "producer_version", text(info.producer_version));
    set(w, j, "ir_version", known(info.ir_version));
    set(w, j, "opset", known(info.opset));
    set(w, j, "nodes", count(info.nodes));
    set(w, j, "graphs", count(info.graphs));
    set(w, j, "digest", json_string(digest));
    return j;
}

static json_t *evidence(struct writer *w, const struct sactag_summary *s)
{
    json_t *j = json_object();

    for (int i = 0; i < 6; i++) {
        const char *name = sactag_evidence_name((enum sactag_evidence)i);
        set(w, j, i == SACTAG_EV_NONE ? "none" : name, count(s->evidence[i]));
    }
    return j;
}

static json_t *summary(struct writer *w, const struct sactag_summary *s, bool tags)
{
    json_t *j = json_object();

    set(w, j, "rows", count(s->rows));
    set(w, j, "saved", count(s->saved));
    set(w, j, "recomputed", count(s->recomputed));
    set(w, j, "forced", count(s->forced));
    set(w, j, "addmm", count(s->addmm));
    set(w, j, "outside", count(s->outside));
    if (tags) {
        set(w, j, "carrier", s->carrier ? json_string(s->carrier) : json_null());
        return j;
    }
    set(w, j, "evidence", evidence(w, s));
    set(w, j, "rules_differ", count(s->rules_differ));
    set(w, j, "assumed", count(s->assumed));
    set(w, j, "blocks", json_string(s->blocks_how));
    return j;
}

static json_t *forced(struct writer *w, const struct sactag_forced *x)
{
    json_t *j = json_object();

    set(w, j, "rhs", shape(x->rhs));
    set(w, j, "fqn", text(x->fqn));
    set(w, j, "also", text(x->also));
    return j;
}

static json_t *block(struct writer *w, const struct sactag_block *b)
{
    json_t *j = json_object(), *list = json_array();

    for (size_t i = 0; i < b->n_forced; i++)
        if (json_array_append_new(list, forced(w, &b->forced[i])))
            w->no_memory = true;
    set(w, j, "fqn", text(b->fqn));
    set(w, j, "calls", count(b->calls));
    set(w, j, "saved", count(b->saved));
    set(w, j, "recomputed", count(b->recomputed));
    set(w, j, "forced_rows", count(b->forced_rows));
    set(w, j, "forced", list);
    return j;
}

static json_t *row(struct writer *w, const struct sactag_row *r)
{
    json_t *j = json_object();
    bool main_graph = r->graph.n == 1 && r->graph.s[0] == '-';

    set(w, j, "index", count(r->index));
    set(w, j, "graph", main_graph ? json_null() : text(r->graph));
    set(w, j, "node", text(r->node));
    set(w, j, "output", text(r->output));
    set(w, j, "op", text(r->op));
    set(w, j, "block", text(r->block));
    set(w, j, "call", r->block.n ? count(r->call) : json_null());
    set(w, j, "fqn", text(r->fqn));
    set(w, j, "evidence", r->evidence ? json_string(sactag_evidence_name(r->evidence)) : json_null());
    set(w, j, "rhs", shape(r->rhs));
    set(w, j, "policy", json_string(sactag_policy_name(r->policy)));
    set(w, j, "reason", text(r->reason));
    return j;
}

/* ---- the whole ---- */

static void put_blocks(struct writer *w, const sactag_plan *p)
{
    size_t n = sactag_plan_block_count(p);

    raw(w, ",\n\"blocks\": [");
    for (size_t i = 0; i < n && !w->stopped && !w->no_memory; i++) {
        struct sactag_block b;
        sactag_plan_block(p, i, &b);
        raw(w, i ? ",\n" : "\n");
        put(w, block(w, &b));
    }
    raw(w, "]");
}

static void put_rows(struct writer *w, const sactag_plan *p)
{
    size_t n = sactag_plan_count(p);

    raw(w, ",\n\"rows\": [");
    for (size_t i = 0; i < n && !w->stopped && !w->no_memory; i++) {
        struct sactag_row r;
        sactag_plan_row(p, i, &r);
        raw(w, i ? ",\n" : "\n");
        put(w, row(w, &r));
    }
    raw(w, "]\n");
}

static void put_plan(struct writer *w, const sactag_plan *p, const char *name, const char *digest)
{
    struct sactag_summary s;

    sactag_plan_summary(p, &s);
    raw(w, p->from_tags ? "{\n\"sactag\": \"tags\"" : "{\n\"sactag\": \"plan\"");
    raw(w, ",\n\"version\": 1,\n\"model\": ");
    put(w, model(w, p->model, name, digest));
    if (!p->from_tags) {
        raw(w, ",\n\"options\": ");
        put(w, options_to_json(&p->plan->options));
    }
    raw(w, ",\n\"summary\": ");
    put(w, summary(w, &s, p->from_tags));
    put_blocks(w, p);
    put_rows(w, p);
    raw(w, "}\n");
}

int sactag_plan_to_json(const sactag_plan *p, const char *name, sactag_put put_text, void *ctx,
                        sactag_diag *d)
{
    struct writer w = {.put = put_text, .ctx = ctx};
    char digest[DIGEST_TEXT];

    if (!p->model)
        return diag_error(diag_of(d), IR_EUSAGE, "a plan that was read from a file is not written again");
    int e = sactag_digest(p->model, digest, d);
    if (e)
        return e;
    put_plan(&w, p, name, digest);
    return w.no_memory ? diag_nomem(diag_of(d)) : w.stopped;
}
