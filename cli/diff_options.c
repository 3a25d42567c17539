/* Which options differ between two plans, as a hunk of `sactag diff`. */
#include "cli/print_diff.h"
#include "cli/style.h"

#include <stdlib.h>
#include <string.h>

static void put_list(FILE *f, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", f);
        put_text(f, text_of(list[i]));
    }
}

enum option_line {
    LINE_FQNS,
    LINE_SHAPES,
    LINE_MATCH,
    LINE_PROFILE,
    LINE_BLOCKS,
    LINE_RULE,
    LINE_OPS,
    LINE_ORDER,
    N_LINES
};

static void put_option(FILE *f, enum option_line l, const struct sactag_options *o)
{
    char shape[SHAPE_MAX];

    if (l == LINE_FQNS)
        put_list(f, o->fqns, o->n_fqns);
    else if (l == LINE_BLOCKS)
        put_list(f, o->blocks, o->n_blocks);
    else if (l == LINE_OPS)
        put_list(f, o->mm_ops, o->n_mm_ops);
    else if (l == LINE_SHAPES)
        for (size_t i = 0; i < o->n_force_shapes; i++)
            fprintf(f, "%s%s", i ? ", " : "", shape_text(shape, o->force_shapes[i]));
    else
        fputs(l == LINE_MATCH     ? match_names[o->match]
              : l == LINE_PROFILE ? (o->profile ? "titan" : "none")
              : l == LINE_RULE    ? rule_names[o->mm_rule]
                                  : (o->order == SACTAG_ORDER_FILE ? "file" : "auto"),
              f);
}

static char *option_text(enum option_line l, const struct sactag_options *o)
{
    char *s = NULL;
    size_t n;
    FILE *f = open_memstream(&s, &n);

    if (!f)
        return NULL;
    put_option(f, l, o);
    if (fclose(f) == 0)
        return s;
    free(s);
    return NULL;
}

static void put_option_line(const struct diff_page *p, char sign, const char *name, const char *value)
{
    FILE *f = p->f;

    style(f, p->color, sign == '-' ? RED : GREEN);
    fprintf(f, "%c%s = %s", sign, name, *value ? value : "(none)");
    style(f, p->color, RESET);
    fputc('\n', f);
}

/* One option, when it differs. `any` tells whether the hunk has been begun. */
static bool put_option_change(const struct diff_page *p, enum option_line l, const struct sactag_options *a,
                              const struct sactag_options *b, bool *any)
{
    static const char *const names[N_LINES] = {"fqn",    "force-shape", "match",  "profile",
                                               "blocks", "mm-rule",     "mm-ops", "order"};
    char *x = option_text(l, a), *y = option_text(l, b);
    bool ok = x && y;
    FILE *f = p->f;

    if (ok && strcmp(x, y) != 0) {
        if (!*any) {
            style(f, p->color, CYAN);
            fputs("@@ options @@", f);
            style(f, p->color, RESET);
            fputc('\n', f);
        }
        *any = true;
        put_option_line(p, '-', names[l], x);
        put_option_line(p, '+', names[l], y);
    }
    free(x);
    free(y);
    return ok;
}

bool put_option_changes(const struct diff_page *p)
{
    struct sactag_options a, b;
    bool any = false, ok = true;

    if (!sactag_plan_options(p->a.plan, &a) || !sactag_plan_options(p->b.plan, &b))
        return true;
    for (int l = 0; ok && l < N_LINES; l++)
        ok = put_option_change(p, (enum option_line)l, &a, &b, &any);
    return ok;
}
