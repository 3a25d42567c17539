/* What stands above the rows: the model, the options, how many mms and blocks, and which names are known. */
#include "cli/text.h"

#include "cli/style.h"

#include <inttypes.h>
#include <string.h>

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void put_key(const struct page *p, const char *name)
{
    style(p->f, p->color, FAINT);
    fprintf(p->f, "%-9s", name);
    style(p->f, p->color, RESET);
}

static void put_format(const struct page *p, const struct sactag_info *info)
{
    put_key(p, "format");
    fputs(info->format, p->f);
    if (info->ir_version)
        fprintf(p->f, ", IR version %" PRId64, info->ir_version);
    if (info->opset)
        fprintf(p->f, ", opset %" PRId64, info->opset);
    if (info->producer.n) {
        fputs(", by ", p->f);
        put_text(p->f, info->producer);
    }
    if (info->producer_version.n) {
        fputc(' ', p->f);
        put_text(p->f, info->producer_version);
    }
    fputc('\n', p->f);
}

void put_model(const struct page *p)
{
    struct sactag_info info;

    sactag_get_info(p->in->m, &info);
    put_key(p, "model");
    put_text(p->f, text_of(p->in->base));
    fputc('\n', p->f);
    put_format(p, &info);
    put_key(p, "nodes");
    fprintf(p->f, "%" PRIu64, info.nodes);
    if (info.graphs > 1)
        fprintf(p->f, " in %" PRIu64 " graphs", info.graphs);
    fputc('\n', p->f);
}

static void put_flags(FILE *f, const char *name, const struct strings *list)
{
    for (size_t i = 0; i < list->n; i++) {
        fprintf(f, " --%s ", name);
        put_text(f, text_of(list->s[i]));
    }
}

/* The options that the plan was made with, as they would be typed. */
static void put_options(const struct page *p)
{
    const struct sactag_options *x = &p->o->policy;
    char shape[SHAPE_MAX];

    if (!x->n_fqns && !x->n_force_shapes && !x->n_blocks && !x->n_mm_ops && !x->match && !x->mm_rule &&
        !x->profile && !x->order && !x->strict && !x->specialize)
        return;
    style(p->f, p->color, FAINT);
    fputs("options ", p->f); /* each option brings a space of its own */
    style(p->f, p->color, RESET);
    put_flags(p->f, "fqn", &p->o->fqns);
    for (size_t i = 0; i < x->n_force_shapes; i++)
        fprintf(p->f, " --force-shape %s", shape_text(shape, x->force_shapes[i]));
    if (x->match)
        fprintf(p->f, " --match %s", match_names[x->match]);
    if (x->profile)
        fputs(" --profile titan", p->f);
    put_flags(p->f, "blocks", &p->o->blocks);
    if (x->mm_rule)
        fprintf(p->f, " --mm-rule %s", rule_names[x->mm_rule]);
    put_flags(p->f, "mm-ops", &p->o->mm_ops);
    fputs(x->order ? " --order file" : "", p->f);
    fputs(x->strict ? " --strict" : "", p->f);
    fputs(x->specialize ? " --specialize" : "", p->f);
    fputc('\n', p->f);
}

static void put_mms(const struct page *p, const struct sactag_summary *s)
{
    bool torch = s->mm_rule == SACTAG_MM_TORCH;

    put_key(p, "mms");
    fprintf(p->f, "%" PRIu32 " (rule %s", s->rows, torch ? "torch" : "onnx");
    if (s->rules_differ)
        fprintf(p->f, "; rule %s would differ in %" PRIu32 " row%s", torch ? "onnx" : "torch",
                s->rules_differ, plural(s->rules_differ));
    fputs(")\n", p->f);
    if (s->assumed) {
        put_key(p, "assumed");
        fprintf(p->f, "%" PRIu32 " row%s rest%s on what the file cannot tell: see their reasons\n",
                s->assumed, plural(s->assumed), s->assumed == 1 ? "s" : "");
    }
}

#define RANGES_MOST 8 /* more ranges of block names are only counted */

static void put_blocks(const struct page *p, const struct groups *g, const struct sactag_summary *s)
{
    const char *sep = ": ";
    uint32_t ranges = 0, left_off = 0;

    put_key(p, "blocks");
    if (strcmp(s->blocks_how, "whole") == 0) {
        fputs("the whole graph is one\n", p->f);
        return;
    }
    fprintf(p->f, "%" PRIu32 " (%s)", g->n_blocks, s->blocks_how);
    for (uint32_t b = 0; b < g->n_blocks; b = group_last(g, g->by_name, b) + 1) {
        uint32_t last = group_last(g, g->by_name, b);
        if (++ranges > RANGES_MOST) {
            left_off += last - b + 1;
            continue;
        }
        fputs(sep, p->f);
        put_group(p->f, p->plan, b, last);
        sep = ", ";
    }
    if (left_off)
        fprintf(p->f, " and %" PRIu32 " more", left_off);
    fputc('\n', p->f);
}

/* "28 of 28 known: 20 param, 8 scope". */
static void put_evidence(const struct page *p, const struct sactag_summary *s)
{
    const char *sep = ": ";
    uint32_t known = s->rows - s->evidence[SACTAG_EV_NONE] - s->evidence[SACTAG_EV_NEIGHBOUR];

    put_key(p, "names");
    fprintf(p->f, "%" PRIu32 " of %" PRIu32 " known", known, s->rows);
    for (int i = SACTAG_EV_PARAM; i <= SACTAG_EV_NEIGHBOUR; i++) {
        if (s->evidence[i] == 0)
            continue;
        fprintf(p->f, "%s%" PRIu32 " %s", sep, s->evidence[i], sactag_evidence_name((enum sactag_evidence)i));
        sep = ", ";
    }
    fputc('\n', p->f);
}

void put_header(const struct page *p, const struct groups *g, const struct sactag_summary *s)
{
    put_model(p);
    if (p->tags) {
        put_key(p, "tags");
        if (s->rows)
            fprintf(p->f, "%" PRIu32 " (carrier %s)\n", s->rows, s->carrier ? s->carrier : "?");
        else
            fputs("none\n", p->f);
        return;
    }
    put_options(p);
    put_mms(p, s);
    if (s->rows) {
        put_blocks(p, g, s);
        put_evidence(p, s);
    }
}
