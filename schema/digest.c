#include "schema/digest.h"

#include <stdio.h>
#include <stdlib.h>

/* gcc leaves the hash's short inner loop rolled at -O2, which takes half as many instructions again. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__
#pragma GCC optimize("O3")
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

static void update(struct sink_digest *s, const uint8_t *p, uint64_t n)
{
    if (n)
        XXH3_128bits_update(s->state, p, (size_t)n);
}

static int put(struct sink *sink, const void *bytes, size_t n, uint64_t src)
{
    struct sink_digest *s = (struct sink_digest *)(void *)sink;
    const uint8_t *p = bytes;
    if (src == SINK_NEW) {
        update(s, p, n);
        return 0;
    }
    uint64_t at = src, end = src + n;
    while (s->i < s->n_skip && s->skip[s->i].off < end) {
        const struct ir_span *x = &s->skip[s->i];
        uint64_t x_end = x->off + x->len;
        if (x->off > at) {
            update(s, p + (at - src), x->off - at);
            at = x->off;
        }
        if (x_end > end) { /* goes on in the next piece */
            return 0;
        }
        if (x_end > at)
            at = x_end;
        s->i++;
    }
    update(s, p + (at - src), end - at);
    return 0;
}

static int finish(struct sink *sink)
{
    (void)sink;
    return 0;
}

int sink_digest_init(struct sink_digest *s, const struct ir_span *skip, size_t n_skip, struct diag *d)
{
    *s = (struct sink_digest){.sink = {.put = put, .finish = finish}, .skip = skip, .n_skip = n_skip};
    s->state = XXH3_createState();
    if (!s->state)
        return diag_nomem(d);
    XXH3_128bits_reset(s->state);
    return 0;
}

void sink_digest_free(struct sink_digest *s)
{
    XXH3_freeState(s->state);
    s->state = NULL;
}

void sink_digest_text(const struct sink_digest *s, char out[DIGEST_TEXT])
{
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(s->state));
    for (size_t i = 0; i < sizeof c.digest; i++)
        snprintf(out + 2 * i, 3, "%02x", c.digest[i]);
}
