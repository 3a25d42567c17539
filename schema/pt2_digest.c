/* The digest of a .pt2 (TAGS.md 4). */
#include "schema/pt2_writer.h"

#include <stdio.h>

static int put_sink(void *ctx, const char *s, size_t n)
{
    return sink_put(ctx, s, n, SINK_NEW);
}

static const struct pt2_program *program_of(const struct pt2 *p, uint32_t member)
{
    for (uint32_t i = 0; i < p->n_programs; i++)
        if (p->programs[i].member == member)
            return &p->programs[i];
    return NULL;
}

/* Name and size of a member that is no program. */
static int digest_member(const struct zip_member *f, struct sink *to)
{
    char size[32];
    ptrdiff_t slash = str_chr(f->name, '/');
    struct str name = str_sub(f->name, (size_t)(slash + 1), f->name.n - (size_t)(slash + 1));
    int n = snprintf(size, sizeof size, "%c%llu%c", 0, (unsigned long long)f->size, 0);
    int rc = put_sink(to, name.s, name.n);
    return rc != 0 ? rc : put_sink(to, size, (size_t)n);
}

int pt2_digest(struct ir_model *m, bool tagged, char out[DIGEST_TEXT], struct diag *d)
{
    static const struct annots none = {NULL, 0};
    struct pt2_writer w;
    struct sink_digest sink;
    int rc = pt2_writer_open(&w, m, tagged, &none, d);
    if (rc == 0 && (rc = sink_digest_init(&sink, NULL, 0, d)) == 0) {
        for (uint32_t i = 0; rc == 0 && i < w.pt2->zip.n; i++) {
            const struct pt2_program *p = program_of(w.pt2, i);
            rc = p ? pt2_for_text(&w, (uint32_t)(p - w.pt2->programs), put_sink, &sink.sink)
                   : digest_member(&w.pt2->zip.members[i], &sink.sink);
        }
        sink_digest_text(&sink, out);
        sink_digest_free(&sink);
    }
    pt2_writer_close(&w);
    return rc;
}
