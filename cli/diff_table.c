/* tsv and json of `sactag diff`: one change a row. */
#include "cli/print_diff.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct change {
    struct sactag_change c;
    struct sactag_row a, b;      /* empty where there is none */
    const struct sactag_row *at; /* b, or a when it was removed */
};

static void take(const struct diff_page *p, size_t i, struct change *x)
{
    memset(x, 0, sizeof *x);
    x->c = sactag_changes_get(p->changes, i);
    if (x->c.a != SIZE_MAX)
        sactag_plan_row(p->a.plan, x->c.a, &x->a);
    if (x->c.b != SIZE_MAX)
        sactag_plan_row(p->b.plan, x->c.b, &x->b);
    x->at = x->c.b != SIZE_MAX ? &x->b : &x->a;
}

/* ---- tsv ---- */

static void cell(FILE *f, struct sactag_text t, char end)
{
    if (t.n == 0)
        fputc('-', f);
    else if (t.n == 1 && t.s[0] == '-')
        fputs("\\x2d", f);
    else
        put_text(f, t);
    fputc(end, f);
}

static void word(FILE *f, bool there, const char *s)
{
    fprintf(f, "%s\t", there ? s : "-");
}

static void put_change(FILE *f, const struct change *x)
{
    bool a = x->c.a != SIZE_MAX, b = x->c.b != SIZE_MAX;
    char shape[SHAPE_MAX];

    word(f, true, sactag_change_name(x->c.kind));
    cell(f, x->at->block, '\t');
    if (x->at->block.n)
        fprintf(f, "%" PRIu32 "\t", x->at->call);
    else
        word(f, false, "");
    cell(f, x->a.fqn, '\t');
    cell(f, x->b.fqn, '\t');
    cell(f, x->a.node, '\t');
    cell(f, x->b.node, '\t');
    word(f, a, shape_text(shape, x->a.rhs));
    word(f, b, shape_text(shape, x->b.rhs));
    word(f, a, sactag_policy_name(x->a.policy));
    word(f, b, sactag_policy_name(x->b.policy));
    cell(f, x->a.reason, '\t');
    cell(f, x->b.reason, '\t');
    word(f, true, sactag_matched_name(x->c.matched));
    cell(f, x->c.cause, '\n');
}

int print_diff_tsv(const struct diff_page *p)
{
    struct change x;

    fputs("change\tblock\tcall\tfqn_a\tfqn_b\tnode_a\tnode_b\trhs_a\trhs_b\tpolicy_a\tpolicy_b\treason_"
          "a\treason_"
          "b\tmatched\tcause\n",
          p->f);
    for (size_t i = 0; i < sactag_changes_count(p->changes); i++) {
        take(p, i, &x);
        if (change_counts(p, &x.c))
            put_change(p->f, &x);
    }
    return 0;
}

/* ---- json ---- */

static json_t *text(struct sactag_text t)
{
    size_t n = sactag_escape(NULL, 0, t);
    char *s = t.n ? malloc(n + 1) : NULL;

    if (!t.n)
        return json_null();
    if (!s)
        return NULL;
    sactag_escape(s, n + 1, t);
    json_t *j = json_stringn(s, n);
    free(s);
    return j;
}

/* jansson passes NULL on: the caller looks at the end. */
static json_t *row(const struct sactag_row *r, int *e)
{
    json_t *j = json_object();
    char shape[SHAPE_MAX];
    bool main_graph = r->graph.n == 1 && r->graph.s[0] == '-';

    *e |= json_object_set_new(j, "index", json_integer(r->index));
    *e |= json_object_set_new(j, "graph", main_graph ? json_null() : text(r->graph));
    *e |= json_object_set_new(j, "node", text(r->node));
    *e |= json_object_set_new(j, "block", text(r->block));
    *e |= json_object_set_new(j, "call", r->block.n ? json_integer(r->call) : json_null());
    *e |= json_object_set_new(j, "fqn", text(r->fqn));
    *e |= json_object_set_new(j, "rhs", json_string(shape_text(shape, r->rhs)));
    *e |= json_object_set_new(j, "policy", json_string(sactag_policy_name(r->policy)));
    *e |= json_object_set_new(j, "reason", text(r->reason));
    return j;
}

static json_t *differs(unsigned bits, int *e)
{
    static const char *const names[] = {"policy", "rhs", "block", "reason"};
    json_t *j = json_array();

    for (unsigned i = 0; i < 4; i++)
        if (bits >> i & 1)
            *e |= json_array_append_new(j, json_string(names[i]));
    return j;
}

static bool put_object(FILE *f, json_t *j, int e)
{
    char *s = e ? NULL : json_dumps(j, 0);

    json_decref(j);
    if (s)
        fputs(s, f);
    free(s);
    return s != NULL;
}

static bool put_json(FILE *f, const struct change *x)
{
    json_t *j = json_object();
    int e = json_object_set_new(j, "change", json_string(sactag_change_name(x->c.kind)));
    bool pair = x->c.a != SIZE_MAX && x->c.b != SIZE_MAX;

    e |= json_object_set_new(j, "differs", differs(x->c.differs, &e));
    e |= json_object_set_new(j, "matched",
                             pair ? json_string(sactag_matched_name(x->c.matched)) : json_null());
    e |= json_object_set_new(j, "cause", text(x->c.cause));
    e |= json_object_set_new(j, "a", x->c.a == SIZE_MAX ? json_null() : row(&x->a, &e));
    e |= json_object_set_new(j, "b", x->c.b == SIZE_MAX ? json_null() : row(&x->b, &e));
    return put_object(f, j, e);
}

static bool put_side(FILE *f, const struct diff_side *s)
{
    json_t *j = json_object();
    int e = json_object_set_new(j, "name", text(text_of(s->name)));

    e |= json_object_set_new(j, "kind", json_string(s->kind));
    e |= json_object_set_new(j, "rows", json_integer((json_int_t)sactag_plan_count(s->plan)));
    return put_object(f, j, e);
}

static json_t *size(size_t n)
{
    return json_integer((json_int_t)n);
}

static bool put_summary(const struct diff_page *p)
{
    struct sactag_change_summary s = sactag_changes_summary(p->changes);
    json_t *j = json_object(), *matched = json_object();
    int e = 0;

    for (int m = SACTAG_BY_FQN; m <= SACTAG_BY_PLACE; m++)
        e |= json_object_set_new(matched, sactag_matched_name((enum sactag_matched)m), size(s.matched[m]));
    e |= json_object_set_new(j, "same", size(s.same));
    e |= json_object_set_new(j, "reason", size(s.reason));
    e |= json_object_set_new(j, "changed", size(s.changed));
    e |= json_object_set_new(j, "added", size(s.added));
    e |= json_object_set_new(j, "removed", size(s.removed));
    e |= json_object_set_new(j, "matched", matched);
    return put_object(p->f, j, e);
}

int print_diff_json(const struct diff_page *p)
{
    const char *before = "\n";
    struct change x;
    bool ok;

    fputs("{\n\"sactag\": \"diff\",\n\"version\": 1,\n\"a\": ", p->f);
    ok = put_side(p->f, &p->a);
    fputs(",\n\"b\": ", p->f);
    ok = ok && put_side(p->f, &p->b);
    fputs(",\n\"summary\": ", p->f);
    ok = ok && put_summary(p);
    fputs(",\n\"changes\": [", p->f);
    for (size_t i = 0; ok && i < sactag_changes_count(p->changes); i++) {
        take(p, i, &x);
        if (!change_counts(p, &x.c))
            continue;
        fputs(before, p->f);
        before = ",\n";
        ok = put_json(p->f, &x);
    }
    fputs("]\n}\n", p->f);
    return ok ? 0 : message_nomem(&p->o->voice);
}
