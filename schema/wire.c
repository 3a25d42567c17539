#include "schema/wire.h"

const char *wire_error_text(int error)
{
    switch ((enum wire_error)error) {
    case WIRE_TRUNCATED:
        return "a field runs past the end of its record";
    case WIRE_OVERFLOW:
        return "a varint has more than 64 bits";
    case WIRE_NUMBER:
        return "a field number is out of range";
    case WIRE_BAD_TYPE:
        return "there is no such wire type";
    case WIRE_BAD_GROUP:
        return "a group is not ended, or ended and not begun";
    case WIRE_TOO_DEEP:
        return "groups are nested too deep";
    }
    return "no error";
}

const uint8_t *wire_varint_long(const uint8_t *p, const uint8_t *end, uint64_t *value, int *error)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == end) {
            *error = WIRE_TRUNCATED;
            return NULL;
        }
        uint8_t b = *p++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *value = v;
            return p;
        }
    }
    *error = WIRE_OVERFLOW;
    return NULL;
}

static uint64_t little_endian(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static int check_number(uint64_t number)
{
    return number == 0 || number > WIRE_FIELD_MAX ? WIRE_NUMBER : 0;
}

/* Moves p over a varint. */
static int take_varint(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
    int error = WIRE_TRUNCATED;
    const uint8_t *after = wire_varint(*p, end, value, &error);
    if (!after)
        return error;
    *p = after;
    return 0;
}

/* Moves p over the value of a field that is no group; 0 or an enum wire_error. */
static int skip_value(const uint8_t **p, const uint8_t *end, unsigned type)
{
    uint64_t v = type == WIRE_I64 ? 8 : 4;
    int error = type == WIRE_VARINT || type == WIRE_LEN ? take_varint(p, end, &v) : 0;
    if (error)
        return error;
    if (type == WIRE_VARINT)
        return 0;
    if (v > (uint64_t)(end - *p))
        return WIRE_TRUNCATED;
    *p += v;
    return 0;
}

/* Moves p from behind a group's start tag to behind its end tag. The numbers of the open groups are kept, so
 * that each end is matched; nothing nests on the stack. */
static int skip_group(const uint8_t **p, const uint8_t *end, uint64_t number)
{
    uint64_t open[WIRE_GROUP_DEPTH];
    unsigned depth = 0;
    open[depth++] = number;
    while (depth) {
        uint64_t tag;
        if (*p == end)
            return WIRE_BAD_GROUP;
        int error = take_varint(p, end, &tag);
        if (error || (error = check_number(tag >> 3)) != 0)
            return error;
        switch (tag & 7) {
        case WIRE_GROUP:
            if (depth == WIRE_GROUP_DEPTH)
                return WIRE_TOO_DEEP;
            open[depth++] = tag >> 3;
            break;
        case WIRE_END_GROUP:
            if (open[--depth] != tag >> 3)
                return WIRE_BAD_GROUP;
            break;
        case WIRE_VARINT:
        case WIRE_I64:
        case WIRE_LEN:
        case WIRE_I32:
            if ((error = skip_value(p, end, tag & 7)) != 0)
                return error;
            break;
        default:
            return WIRE_BAD_TYPE;
        }
    }
    return 0;
}

int wire_next_other(struct wire *w, struct wire_field *f, uint64_t tag)
{
    const uint8_t *p = f->body;
    int error = check_number(tag >> 3);
    if (error)
        return error;
    switch (f->type) {
    case WIRE_VARINT:
        if ((error = take_varint(&p, w->end, &f->value)) != 0)
            return error;
        break;
    case WIRE_I64:
    case WIRE_I32: {
        unsigned n = f->type == WIRE_I64 ? 8 : 4;
        if ((uint64_t)(w->end - p) < n)
            return WIRE_TRUNCATED;
        f->value = little_endian(p, n);
        p += n;
        break;
    }
    case WIRE_GROUP:
        if ((error = skip_group(&p, w->end, f->number)) != 0)
            return error;
        break;
    case WIRE_END_GROUP:
        return WIRE_BAD_GROUP;
    default:
        return WIRE_BAD_TYPE;
    }
    f->len = (uint64_t)(p - f->body);
    w->at = p;
    return 1;
}

int wire_next_len_other(struct wire *w, struct wire_len *f)
{
    struct wire_field any;
    int rc;
    do
        rc = wire_next(w, &any);
    while (rc == 1 && any.type != WIRE_LEN);
    *f = rc == 1 ? (struct wire_len){any.start, wire_str(&any), any.number} : (struct wire_len){0};
    return rc;
}

struct wire_ints wire_ints(const struct wire_field *f)
{
    if (f->type == WIRE_LEN)
        return (struct wire_ints){.packed = wire_into(f)};
    return (struct wire_ints){.single = f->value, .has_single = f->type == WIRE_VARINT};
}

int wire_ints_next(struct wire_ints *it, uint64_t *value)
{
    if (it->has_single) {
        it->has_single = false;
        *value = it->single;
        return 1;
    }
    if (it->packed.at == it->packed.end)
        return 0;
    int error = take_varint(&it->packed.at, it->packed.end, value);
    return error ? error : 1;
}
