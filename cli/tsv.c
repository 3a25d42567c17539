/* tsv: one row a line, for programs. */
#include "cli/print.h"

#include <inttypes.h>
#include <string.h>

static void word(FILE *f, const char *s, char end)
{
    fprintf(f, "%s%c", s, end);
}

static void row(FILE *f, const struct sactag_row *r)
{
    char shape[SHAPE_MAX];

    fprintf(f, "%" PRIu32 "\t", r->index);
    if (r->graph.n == 1 && r->graph.s[0] == '-')
        word(f, "-", '\t'); /* the main graph: no other path reads so */
    else
        put_cell(f, r->graph, '\t');
    put_cell(f, r->node, '\t');
    put_cell(f, r->output, '\t');
    put_cell(f, r->op, '\t');
    put_cell(f, r->block, '\t');
    if (r->block.n)
        fprintf(f, "%" PRIu32 "\t", r->call);
    else
        word(f, "-", '\t');
    put_cell(f, r->fqn, '\t');
    word(f, sactag_evidence_name(r->evidence), '\t');
    word(f, shape_text(shape, r->rhs), '\t');
    word(f, sactag_policy_name(r->policy), '\t');
    put_cell(f, r->reason, '\n');
}

int print_plan_tsv(const struct page *p)
{
    struct sactag_row r;
    size_t n = sactag_plan_count(p->plan);

    fputs("index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n", p->f);
    for (size_t i = 0; i < n; i++) {
        sactag_plan_row(p->plan, i, &r);
        row(p->f, &r);
    }
    return 0;
}

static void feature(FILE *f, int64_t dim)
{
    if (dim < 0)
        word(f, "?", '\t');
    else
        fprintf(f, "%" PRId64 "\t", dim);
}

int print_linears_tsv(const struct page *p)
{
    struct sactag_linear l;
    size_t n = sactag_plan_linear_count(p->plan);

    fputs("fqn\tweight\tin\tout\tblock\tevidence\n", p->f);
    for (size_t i = 0; i < n; i++) {
        sactag_plan_linear(p->plan, i, &l);
        put_cell(p->f, l.fqn, '\t');
        put_cell(p->f, l.weight, '\t');
        feature(p->f, l.in);
        feature(p->f, l.out);
        put_cell(p->f, l.block, '\t');
        word(p->f, sactag_evidence_name(l.evidence), '\n');
    }
    return 0;
}
