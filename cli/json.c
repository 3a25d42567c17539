#include "cli/print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* One row, block or Linear a line, so that the output can be kept in git and read in a diff. Text is escaped
 * as in tsv, so any bytes survive; what tsv prints as "-" is null. */

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

static json_t *shape(struct sactag_shape s)
{
    char out[SHAPE_MAX];
    return json_string(shape_text(out, s));
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

static json_t *graph_path(struct sactag_text t)
{
    return t.n == 1 && t.s[0] == '-' ? json_null() : text(t);
}

static bool put_row(FILE *f, const struct sactag_row *r)
{
    json_t *j = json_object();
    bool ok = j != NULL;

    set(j, "index", count(r->index), &ok);
    set(j, "graph", graph_path(r->graph), &ok);
    set(j, "node", text(r->node), &ok);
    set(j, "output", text(r->output), &ok);
    set(j, "op", text(r->op), &ok);
    set(j, "block", text(r->block), &ok);
    set(j, "call", r->block.n ? count(r->call) : json_null(), &ok);
    set(j, "fqn", text(r->fqn), &ok);
    set(j, "evidence", word(sactag_evidence_name(r->evidence)), &ok);
    set(j, "rhs", shape(r->rhs), &ok);
    set(j, "policy", json_string(sactag_policy_name(r->policy)), &ok);
    set(j, "reason", text(r->reason), &ok);
    return put(f, j, ok);
}

static json_t *forced(const struct sactag_forced *x)
{
    json_t *j = json_object();
    bool ok = j != NULL;

    set(j, "rhs", shape(x->rhs), &ok);
    set(j, "fqn", text(x->fqn), &ok);
    set(j, "also", text(x->also), &ok);
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

static bool put_block(FILE *f, const struct sactag_block *b)
{
    json_t *j = json_object(), *list = json_array();
    bool ok = j && list;

    for (size_t i = 0; ok && i < b->n_forced; i++)
        ok = json_array_append_new(list, forced(&b->forced[i])) == 0;
    set(j, "fqn", text(b->fqn), &ok);
    set(j, "calls", count(b->calls), &ok);
    set(j, "saved", count(b->saved), &ok);
    set(j, "recomputed", count(b->recomputed), &ok);
    set(j, "forced_rows", count(b->forced_rows), &ok);
    set(j, "forced", list, &ok);
    return put(f, j, ok);
}

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

static json_t *strings(const struct strings *list, bool *ok)
{
    json_t *j = json_array();

    for (size_t i = 0; j && i < list->n; i++)
        if (json_array_append_new(j, text(text_of(list->s[i]))))
            *ok = false;
    return j;
}

static json_t *shapes(const struct options *o, bool *ok)
{
    json_t *j = json_array();

    for (size_t i = 0; j && i < o->n_shapes; i++)
        if (json_array_append_new(j, shape(o->shapes[i])))
            *ok = false;
    return j;
}

/* The options as decided with: no default is left to guess. */
static bool put_options(const struct page *p, const struct sactag_summary *s)
{
    static const char *const matches[] = {"exact", "exact", "substring", "glob"};
    const struct sactag_options *x = &p->o->policy;
    bool titan = x->profile == SACTAG_PROFILE_TITAN, ok = true;
    json_t *j = json_object();

    set(j, "fqns", strings(&p->o->fqns, &ok), &ok);
    set(j, "force_shapes", shapes(p->o, &ok), &ok);
    set(j, "match", json_string(x->match == SACTAG_MATCH_DEFAULT && titan ? "substring" : matches[x->match]),
        &ok);
    set(j, "profile", titan ? json_string("titan") : json_null(), &ok);
    set(j, "blocks", strings(&p->o->blocks, &ok), &ok);
    set(j, "mm_rule", json_string(s->mm_rule == SACTAG_MM_TORCH ? "torch" : "onnx"), &ok);
    set(j, "mm_ops", strings(&p->o->mm_ops, &ok), &ok);
    set(j, "order", json_string(x->order == SACTAG_ORDER_FILE ? "file" : "auto"), &ok);
    set(j, "strict", json_boolean(x->strict), &ok);
    set(j, "specialize", json_boolean(x->specialize), &ok);
    return put(p->f, j, ok);
}

static bool put_summary(const struct page *p, const struct sactag_summary *s)
{
    json_t *j = json_object(), *evidence = json_object();
    bool ok = j && evidence;

    for (int i = 0; i < 6; i++) {
        const char *name = sactag_evidence_name((enum sactag_evidence)i);
        set(evidence, strcmp(name, "-") == 0 ? "none" : name, count(s->evidence[i]), &ok);
    }
    set(j, "rows", count(s->rows), &ok);
    set(j, "saved", count(s->saved), &ok);
    set(j, "recomputed", count(s->recomputed), &ok);
    set(j, "forced", count(s->forced), &ok);
    set(j, "addmm", count(s->addmm), &ok);
    set(j, "outside", count(s->outside), &ok);
    if (p->tags) {
        json_decref(evidence);
    } else {
        set(j, "evidence", evidence, &ok);
        set(j, "rules_differ", count(s->rules_differ), &ok);
        set(j, "assumed", count(s->assumed), &ok);
        set(j, "blocks", json_string(s->blocks_how), &ok);
    }
    return put(p->f, j, ok);
}

/* ---- the whole ---- */

static bool put_blocks(const struct page *p)
{
    size_t n = sactag_plan_block_count(p->plan);
    bool ok = true;

    fputs(",\n\"blocks\": [", p->f);
    for (size_t i = 0; ok && i < n; i++) {
        struct sactag_block b;
        sactag_plan_block(p->plan, i, &b);
        fputs(i ? ",\n" : "\n", p->f);
        ok = put_block(p->f, &b);
    }
    fputs("]", p->f);
    return ok;
}

static bool put_rows(const struct page *p)
{
    size_t n = sactag_plan_count(p->plan);
    bool ok = true;

    fputs(",\n\"rows\": [", p->f);
    for (size_t i = 0; ok && i < n; i++) {
        struct sactag_row r;
        sactag_plan_row(p->plan, i, &r);
        fputs(i ? ",\n" : "\n", p->f);
        ok = put_row(p->f, &r);
    }
    fputs("]\n", p->f);
    return ok;
}

static bool put_plan(const struct page *p, const char *digest)
{
    struct sactag_summary s;

    sactag_plan_summary(p->plan, &s);
    fprintf(p->f, "{\n\"sactag\": \"%s\",\n\"version\": 1,\n\"model\": ", p->tags ? "tags" : "plan");
    if (!put_model(p, digest))
        return false;
    if (!p->tags) {
        fputs(",\n\"options\": ", p->f);
        if (!put_options(p, &s))
            return false;
    }
    fputs(",\n\"summary\": ", p->f);
    if (!put_summary(p, &s) || !put_blocks(p) || !put_rows(p))
        return false;
    fputs("}\n", p->f);
    return true;
}

int print_plan_json(const struct page *p)
{
    char digest[33];
    int e = input_done(p->in, p->o, sactag_digest(p->in->m, digest, p->in->d));

    if (e)
        return e;
    return put_plan(p, digest) ? 0 : message_nomem(&p->o->voice);
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
