#include "schema/onnx_memo.h"

static bool fits(struct str bytes, const char *name)
{
    return bytes.n >= sizeof(uint64_t) && bytes.n <= ONNX_MEMO_BYTES && strlen(name) < ONNX_MEMO_NAME;
}

/* By the last bytes, which are the values, and the first letter. */
static size_t slot_of(struct str bytes, const char *name)
{
    uint64_t last;
    memcpy(&last, bytes.s + bytes.n - sizeof last, sizeof last);
    last += bytes.n + (uint64_t)(unsigned char)name[0] * 64;
    return last * UINT64_C(0x9e3779b97f4a7c15) >> 32 >> (32 - ONNX_MEMO_BITS);
}

/* Bytes of an attribute with that many elements, which stand last in it. */
static size_t attr_size(uint32_t n_ints)
{
    return offsetof(struct ir_attr, ints) + n_ints * sizeof(int64_t);
}

bool onnx_memo_get(const struct onnx_memo *t, struct str bytes, const char *name, bool *found,
                   struct ir_attr *out)
{
    if (!fits(bytes, name))
        return false;
    const struct slot *s = &t->slots[slot_of(bytes, name)];
    if (!str_eq(s->bytes, bytes) || strcmp(s->name, name) != 0)
        return false;
    *found = s->found;
    if (!s->found)
        return true;
    memcpy(out, s->attr, attr_size(s->n_ints));
    return true;
}

void onnx_memo_put(struct onnx_memo *t, struct str bytes, const char *name, const struct ir_attr *out)
{
    if (!fits(bytes, name) || (out && out->n_ints > ONNX_MEMO_INTS))
        return;
    struct slot *s = &t->slots[slot_of(bytes, name)];
    *s = (struct slot){.bytes = bytes, .found = out != NULL, .n_ints = out ? out->n_ints : 0};
    strcpy(s->name, name);
    if (out)
        memcpy(s->attr, out, attr_size(out->n_ints));
}
