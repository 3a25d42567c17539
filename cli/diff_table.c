/* tsv and json of `sactag diff`: one change a row. */
#include "cli/json_put.h"
#include "cli/print_diff.h"

#include <inttypes.h>
#include <string.h>

/* ---- tsv ---- */

static void word(FILE *f, bool there, const char *s)
{
    fprintf(f, "%s\t", there ? s : "-");
}

static void put_change(FILE *f, const struct diff_line *x)
{
    bool a = x->c.a != SIZE_MAX, b = x->c.b != SIZE_MAX;
    char shape[SHAPE_MAX];

    word(f, true, sactag_change_name(x->c.kind));
    put_cell(f, x->at->block, '\t');
    if (x->at->block.n)
        fprintf(f, "%" PRIu32 "\t", x->at->call);
    else
        word(f, false, "");
    put_cell(f, x->a.fqn, '\t');
    put_cell(f, x->b.fqn, '\t');
    put_cell(f, x->a.node, '\t');
    put_cell(f, x->b.node, '\t');
    word(f, a, shape_text(shape, x->a.rhs));
    word(f, b, shape_text(shape, x->b.rhs));
    word(f, a, sactag_policy_name(x->a.policy));
    word(f, b, sactag_policy_name(x->b.policy));
    put_cell(f, x->a.reason, '\t');
    put_cell(f, x->b.reason, '\t');
    word(f, true, sactag_matched_name(x->c.matched));
    put_cell(f, x->c.cause, '\n');
}

int print_diff_tsv(const struct diff_page *p)
{
    struct diff_line x;

    fputs("change\tblock\tcall\tfqn_a\tfqn_b\tnode_a\tnode_b\trhs_a\trhs_b\tpolicy_a\tpolicy_b\treason_"
          "a\treason_"
          "b\tmatched\tcause\n",
          p->f);
    for (size_t i = 0; i < sactag_changes_count(p->changes); i++) {
        diff_line(p, i, &x);
        if (change_counts(p, &x.c))
            put_change(p->f, &x);
    }
    return 0;
}

/* ---- json ---- */

static json_t *row(const struct sactag_row *r, bool *ok)
{
    json_t *j = json_object();
    char shape[SHAPE_MAX];
    bool main_graph = r->graph.n == 1 && r->graph.s[0] == '-';

    json_set(j, "index", json_integer(r->index), ok);
    json_set(j, "graph", main_graph ? json_null() : text_to_json(r->graph), ok);
    json_set(j, "node", text_to_json(r->node), ok);
    json_set(j, "block", text_to_json(r->block), ok);
    json_set(j, "call", r->block.n ? json_integer(r->call) : json_null(), ok);
    json_set(j, "fqn", text_to_json(r->fqn), ok);
    json_set(j, "rhs", json_string(shape_text(shape, r->rhs)), ok);
    json_set(j, "policy", json_string(sactag_policy_name(r->policy)), ok);
    json_set(j, "reason", text_to_json(r->reason), ok);
    return j;
}

static json_t *differs(unsigned bits, bool *ok)
{
    static const char *const names[] = {"policy", "rhs", "block", "reason"};
    json_t *j = json_array();

    for (unsigned i = 0; i < 4; i++)
        if (bits >> i & 1)
            *ok &= json_array_append_new(j, json_string(names[i])) == 0;
    return j;
}

static bool put_json(FILE *f, const struct diff_line *x)
{
    json_t *j = json_object();
    bool ok = true, pair = x->c.a != SIZE_MAX && x->c.b != SIZE_MAX;

    json_set(j, "change", json_string(sactag_change_name(x->c.kind)), &ok);
    json_set(j, "differs", differs(x->c.differs, &ok), &ok);
    json_set(j, "matched", pair ? json_string(sactag_matched_name(x->c.matched)) : json_null(), &ok);
    json_set(j, "cause", text_to_json(x->c.cause), &ok);
    json_set(j, "a", x->c.a == SIZE_MAX ? json_null() : row(&x->a, &ok), &ok);
    json_set(j, "b", x->c.b == SIZE_MAX ? json_null() : row(&x->b, &ok), &ok);
    return json_put(f, j, ok);
}

static bool put_side(FILE *f, const struct diff_side *s)
{
    json_t *j = json_object();
    bool ok = true;

    json_set(j, "name", text_to_json(text_of(s->name)), &ok);
    json_set(j, "kind", json_string(s->kind), &ok);
    json_set(j, "rows", json_integer((json_int_t)sactag_plan_count(s->plan)), &ok);
    return json_put(f, j, ok);
}

static json_t *size(size_t n)
{
    return json_integer((json_int_t)n);
}

static bool put_summary(const struct diff_page *p)
{
    struct sactag_change_summary s = sactag_changes_summary(p->changes);
    json_t *j = json_object(), *matched = json_object();
    bool ok = true;

    for (int m = SACTAG_BY_FQN; m <= SACTAG_BY_PLACE; m++)
        json_set(matched, sactag_matched_name((enum sactag_matched)m), size(s.matched[m]), &ok);
    json_set(j, "same", size(s.same), &ok);
    json_set(j, "reason", size(s.reason), &ok);
    json_set(j, "changed", size(s.changed), &ok);
    json_set(j, "added", size(s.added), &ok);
    json_set(j, "removed", size(s.removed), &ok);
    json_set(j, "matched", matched, &ok);
    return json_put(p->f, j, ok);
}

int print_diff_json(const struct diff_page *p)
{
    const char *before = "\n";
    struct diff_line x;
    bool ok;

    fputs("{\n\"sactag\": \"diff\",\n\"version\": 1,\n\"a\": ", p->f);
    ok = put_side(p->f, &p->a);
    fputs(",\n\"b\": ", p->f);
    ok = ok && put_side(p->f, &p->b);
    fputs(",\n\"summary\": ", p->f);
    ok = ok && put_summary(p);
    fputs(",\n\"changes\": [", p->f);
    for (size_t i = 0; ok && i < sactag_changes_count(p->changes); i++) {
        diff_line(p, i, &x);
        if (!change_counts(p, &x.c))
            continue;
        fputs(before, p->f);
        before = ",\n";
        ok = put_json(p->f, &x);
    }
    fputs("]\n}\n", p->f);
    return ok ? 0 : message_nomem(&p->o->voice);
}
