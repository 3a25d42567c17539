/* Linears: what the plan tells of them. Needs forced. What names and modules were for ends here: it is freed,
 * as a large graph has many. */
#include "passes/decide.h"

#include <stdlib.h>

static int copy_linears(struct state *s)
{
    struct plan *p = s->plan;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->modules.n; i++)
        n += s->modules.a[i].linear;
    p->linears = arena_alloc(&p->arena, n ? n : 1, sizeof *p->linears);
    if (!p->linears)
        return IR_EMEM;
    for (uint32_t i = 0; i < s->modules.n; i++) {
        const struct module *m = &s->modules.a[i];
        if (!m->linear)
            continue;
        struct str fqn = plan_text(s, m->fqn);
        if (!fqn.s)
            return IR_EMEM;
        p->linears[p->n_linears++] = (struct plan_linear){.fqn = fqn,
                                                          .weight = ir_value_name(s->m, m->weight),
                                                          .in = m->in,
                                                          .out = m->out,
                                                          .block = s->module_block[i],
                                                          .evidence = (enum evidence)m->evidence};
    }
    return 0;
}

int pass_linears(struct state *s)
{
    scopes_free(s);
    free(s->named.a);
    s->named = (struct named_values){0};
    int rc = copy_linears(s);
    modules_free(&s->modules);
    return rc;
}
