/* Hidden: what multiplies matrices out of reach, so that no row tells of it. An ONNX op is named for all its
 * nodes; of a .pt2 the nodes are named, together with those that are not what trains. */
#include "passes/aten.h"
#include "passes/mm.h"

#include <stdio.h>

void warn_hidden(struct diag *d, uint32_t n, const char *which, struct str name)
{
    diag_warn(d, "%u node%s (%s%.*s) multipl%s matrices inside, where eager PyTorch may run mms: not counted",
              n, n == 1 ? "" : "s", which, STR_ARG(name), n == 1 ? "ies" : "y");
}

#define NAMES_MAX 8  /* in one message */
#define SHOWN_MAX 64 /* bytes of each */

/* "'a', 'b', ...": the first nodes of a kind, and how many there are. */
struct node_list {
    uint32_t n;
    size_t len;
    char text[NAMES_MAX * (SHOWN_MAX + 4) + 8];
};

static void add_name(struct node_list *l, struct str name)
{
    if (name.n > SHOWN_MAX)
        name.n = SHOWN_MAX;
    if (l->n++ < NAMES_MAX)
        l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, "%s'%.*s'",
                                   l->n > 1 ? ", " : "", STR_ARG(name));
    else if (l->n == NAMES_MAX + 1)
        l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, ", ...");
}

void aten_warn(struct ir_model *m, struct diag *d)
{
    struct node_list misleading = {0}, hiding = {0};
    for (uint32_t n = 0; n < m->n_nodes; n++) {
        if (aten_misleads(m, n))
            add_name(&misleading, ir_node_name(m, &m->nodes[n]));
        if (aten_hides(m, n))
            add_name(&hiding, ir_node_name(m, &m->nodes[n]));
    }
    if (misleading.n)
        diag_warn(d,
                  "the program was decomposed and traced without gradients, which is not what trains: %u "
                  "node%s (%s) would be mm in training; export it with torch.export.export alone",
                  misleading.n, misleading.n == 1 ? "" : "s", misleading.text);
    if (hiding.n)
        warn_hidden(d, hiding.n, "", str_of(hiding.text));
}
