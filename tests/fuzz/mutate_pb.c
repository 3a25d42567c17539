/* A mutator that keeps protobuf well-formed: it goes down into a random record, changes something there, and
 * repairs the lengths around it. */
#include "fuzz.h"
#include "schema/wire.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MOST   24
#define FIELDS_MOST 4096

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                                 size_t most, unsigned seed);

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return below ? (uint32_t)((uint64_t)(*state >> 4) * below >> 28) : 0;
}

struct field {
    size_t start, body, end;
    uint32_t number, type;
};

/* The fields of a record at [from, to). Their number; 0 too when it is none. */
static size_t fields_of(struct field *list, const uint8_t *bytes, size_t from, size_t to)
{
    struct wire w = wire_over(bytes + from, to - from);
    struct wire_field f;
    size_t n = 0;
    int rc;

    while (n < FIELDS_MOST && (rc = wire_next(&w, &f)) != 0) {
        if (rc < 0)
            return 0;
        list[n++] = (struct field){(size_t)(f.start - bytes), (size_t)(f.body - bytes),
                                   (size_t)(w.at - bytes), f.number, f.type};
    }
    return n;
}

/* A way down: the record at each level. */
struct way {
    struct field at[NEST_MOST];
    uint32_t depth;
    size_t from, to; /* the innermost record's body */
};

/* Goes down at random; list[0..*n) are then the fields of the innermost record. */
static void go_down(struct way *w, struct field *list, size_t *n, const uint8_t *bytes, size_t size,
                    uint32_t *rnd)
{
    static struct field inner[FIELDS_MOST];

    *w = (struct way){.to = size};
    *n = fields_of(list, bytes, 0, size);
    while (*n && w->depth < NEST_MOST && next_random(rnd, 8)) {
        struct field f = list[next_random(rnd, (uint32_t)*n)];
        size_t n_inner = f.type == WIRE_LEN && f.body < f.end ? fields_of(inner, bytes, f.body, f.end) : 0;
        if (!n_inner) {
            if (next_random(rnd, 4))
                continue;
            break;
        }
        w->at[w->depth++] = f;
        w->from = f.body, w->to = f.end;
        memcpy(list, inner, n_inner * sizeof *inner);
        *n = n_inner;
    }
}

static size_t varint(uint8_t *out, uint64_t v, unsigned wider)
{
    size_t n = 0;

    for (; v > 0x7f || wider; v >>= 7, wider -= wider > 0)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

/* bytes[at, at + del) becomes `ins`. False when there is no room. */
static bool replace(uint8_t *bytes, size_t *size, size_t most, size_t at, size_t del, const uint8_t *ins,
                    size_t n_ins)
{
    if (*size - del + n_ins > most)
        return false;
    memmove(bytes + at + n_ins, bytes + at + del, *size - at - del);
    if (n_ins)
        memcpy(bytes + at, ins, n_ins);
    *size = *size - del + n_ins;
    return true;
}

/* The same inside a record, with all lengths around it. Now and then one is written wider than need be. */
static bool replace_inside(const struct way *w, uint8_t *bytes, size_t *size, size_t most, size_t at,
                           size_t del, const uint8_t *ins, size_t n_ins, uint32_t *rnd)
{
    if (*size - del + n_ins + (size_t)w->depth * 10 > most)
        return false;
    replace(bytes, size, most, at, del, ins, n_ins);
    size_t grown = n_ins - del; /* modulo 2^64 */
    for (uint32_t i = w->depth; i-- > 0;) {
        struct field f = w->at[i];
        uint8_t prefix[20];
        int error;
        uint64_t tag;
        size_t len_at = (size_t)(wire_varint(bytes + f.start, bytes + f.body, &tag, &error) - bytes);
        size_t n = varint(prefix, f.end - f.body + grown, next_random(rnd, 40) ? 0 : 1);
        replace(bytes, size, most, len_at, f.body - len_at, prefix, n);
        grown += n - (f.body - len_at);
    }
    return true;
}

static size_t as_bytes(uint8_t *bytes, size_t n, size_t most)
{
    return LLVMFuzzerMutate(bytes, n, most);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed)
{
    static struct field list[FIELDS_MOST];
    struct way w;
    size_t n_fields, size = n, room;
    uint32_t rnd = seed;
    uint8_t *part = NULL;
    bool done = false;

    if (next_random(&rnd, 10) == 0)
        return as_bytes(bytes, n, most);
    go_down(&w, list, &n_fields, bytes, n, &rnd);
    if (n_fields == 0)
        return as_bytes(bytes, n, most);
    struct field f = list[next_random(&rnd, (uint32_t)n_fields)];
    struct field g = list[next_random(&rnd, (uint32_t)n_fields)];
    room = most > n ? most - n : 0;
    if (room > 256)
        room = 256;
    part = malloc(f.end - f.start + g.end - g.start + room + 64);
    must(part);
    switch (next_random(&rnd, 9)) {
    case 0: /* a field goes */
        done = replace_inside(&w, bytes, &size, most, f.start, f.end - f.start, NULL, 0, &rnd);
        break;
    case 1: /* comes again, somewhere */
        memcpy(part, bytes + f.start, f.end - f.start);
        done = replace_inside(&w, bytes, &size, most, g.start, 0, part, f.end - f.start, &rnd);
        break;
    case 2: /* one in the place of another */
        memcpy(part, bytes + f.start, f.end - f.start);
        done = replace_inside(&w, bytes, &size, most, g.start, g.end - g.start, part, f.end - f.start, &rnd);
        break;
    case 3: { /* has another number */
        size_t k = varint(part, (uint64_t)(1 + next_random(&rnd, 27)) << 3 | f.type, 0);
        int error;
        uint64_t tag;
        const uint8_t *behind = wire_varint(bytes + f.start, bytes + f.end, &tag, &error);
        if (f.type != WIRE_GROUP)
            done = replace_inside(&w, bytes, &size, most, f.start, (size_t)(behind - (bytes + f.start)), part,
                                  k, &rnd);
        break;
    }
    case 4: /* an integer of note */
        if (f.type == WIRE_VARINT) {
            static const uint64_t of_note[] = {0,          1,
                                               2,          3,
                                               7,          16,
                                               64,         65,
                                               UINT64_MAX, UINT64_MAX - 1,
                                               INT64_MAX,  UINT64_C(1) << 63,
                                               INT32_MAX,  UINT32_MAX,
                                               1u << 20,   50000000000};
            size_t k = varint(part, of_note[next_random(&rnd, 16)], next_random(&rnd, 10) ? 0 : 2);
            done = replace_inside(&w, bytes, &size, most, f.body, f.end - f.body, part, k, &rnd);
            break;
        }
        /* fallthrough */
    case 5: /* a text becomes another of the record's */
        if (f.type == WIRE_LEN && g.type == WIRE_LEN) {
            size_t k = varint(part, (uint64_t)f.number << 3 | WIRE_LEN, 0);
            k += varint(part + k, g.end - g.body, 0);
            memcpy(part + k, bytes + g.body, g.end - g.body);
            done = replace_inside(&w, bytes, &size, most, f.start, f.end - f.start, part, k + g.end - g.body,
                                  &rnd);
            break;
        }
        /* fallthrough */
    case 6: { /* a group around a field, or a stray end */
        static const uint8_t begin[] = {0x9b, 0x06}, end[] = {0x9c, 0x06};
        memcpy(part, begin, 2);
        memcpy(part + 2, bytes + f.start, f.end - f.start);
        memcpy(part + 2 + (f.end - f.start), end, 2);
        done =
            replace_inside(&w, bytes, &size, most, f.start, f.end - f.start, part, f.end - f.start + 4, &rnd);
        break;
    }
    default: { /* the body as bytes */
        size_t len = f.end - f.body, head = f.body - f.start, k;
        if (f.type != WIRE_LEN)
            break;
        uint8_t *body = malloc(len + room + 1);
        must(body);
        memcpy(body, bytes + f.body, len);
        size_t changed = as_bytes(body, len, len + room ? len + room : 1);
        uint8_t *whole = malloc(changed + head + 20);
        must(whole);
        k = varint(whole, (uint64_t)f.number << 3 | WIRE_LEN, 0);
        k += varint(whole + k, changed, 0);
        memcpy(whole + k, body, changed);
        done = replace_inside(&w, bytes, &size, most, f.start, f.end - f.start, whole, k + changed, &rnd);
        free(body), free(whole);
    }
    }
    free(part);
    return done ? size : as_bytes(bytes, n, most);
}

/* A record of b in the place of a field of a, or beside it. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                                 size_t most, unsigned seed)
{
    static struct field list[FIELDS_MOST], other[FIELDS_MOST];
    struct way w, v;
    size_t n, m, size = n_a;
    uint32_t rnd = seed;

    if (n_a > most)
        return 0;
    if (n_a)
        memcpy(out, a, n_a);
    go_down(&w, list, &n, out, n_a, &rnd);
    go_down(&v, other, &m, b, n_b, &rnd);
    if (!n || !m)
        return 0;
    struct field f = list[next_random(&rnd, (uint32_t)n)], g = other[next_random(&rnd, (uint32_t)m)];
    for (int i = 0; i < 8 && g.number != f.number; i++)
        g = other[next_random(&rnd, (uint32_t)m)];
    size_t del = next_random(&rnd, 2) ? f.end - f.start : 0;
    return replace_inside(&w, out, &size, most, f.start, del, b + g.start, g.end - g.start, &rnd) ? size : 0;
}
