/* A mutator that keeps JSON well-formed, for what begins with a brace or a bracket: values go, come again,
 * take each other's place. And one that repairs the checksums of an archive. */
#include "fuzz.h"
#include "schema/zip_dir.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define VALUES_MOST 8192
#define NEST_MOST   256

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed);

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return below ? (uint32_t)((uint64_t)(*state >> 4) * below >> 28) : 0;
}

struct value {
    size_t from, to;
};

/* Where values (and names of members) are; no check of anything. */
static size_t values_of(struct value *list, const uint8_t *b, size_t n)
{
    size_t open[NEST_MOST], depth = 0, count = 0, i = 0;

    while (i < n && count < VALUES_MOST) {
        size_t from = i;
        if (b[i] == '{' || b[i] == '[') {
            if (depth == NEST_MOST)
                return count;
            open[depth++] = count;
            list[count++] = (struct value){i, n};
            i++;
        } else if (b[i] == '}' || b[i] == ']') {
            i++;
            if (depth)
                list[open[--depth]].to = i;
        } else if (b[i] == '"') {
            for (i++; i < n && b[i] != '"'; i++)
                i += b[i] == '\\';
            i = i < n ? i + 1 : n;
            list[count++] = (struct value){from, i};
        } else if (strchr(", \n\t\r:", b[i])) {
            i++;
        } else {
            while (i < n && !strchr(", \n\t\r:{}[]\"", b[i]))
                i++;
            list[count++] = (struct value){from, i > from ? i : from + 1};
            i = list[count - 1].to;
        }
    }
    return count;
}

static size_t put(uint8_t *bytes, size_t n, size_t most, struct value at, const uint8_t *ins, size_t n_ins)
{
    if (n - (at.to - at.from) + n_ins > most)
        return 0;
    memmove(bytes + at.from + n_ins, bytes + at.to, n - at.to);
    if (n_ins)
        memcpy(bytes + at.from, ins, n_ins);
    return n - (at.to - at.from) + n_ins;
}

static size_t json(uint8_t *bytes, size_t n, size_t most, uint32_t rnd)
{
    static struct value list[VALUES_MOST];
    static const char *const words[] = {"null", "true",       "{}",
                                        "[]",   "\"\"",       "0",
                                        "-1",   "1e999",      "NaN",
                                        "1.5",  "4294967296", "9223372036854775807",
                                        "64",   "\"a\"",      "18446744073709551616",
                                        "[[]]"};
    size_t count = values_of(list, bytes, n), k = 0;

    if (count == 0)
        return LLVMFuzzerMutate(bytes, n, most);
    struct value f = list[next_random(&rnd, (uint32_t)count)], g = list[next_random(&rnd, (uint32_t)count)];
    uint8_t *part = malloc(g.to - g.from + 400);
    must(part);
    memcpy(part, bytes + g.from, g.to - g.from);
    switch (next_random(&rnd, 6)) {
    case 0:
        k = put(bytes, n, most, f, part, g.to - g.from);
        break;
    case 1: { /* a copy in front, as one more element or member */
        size_t m = f.to - f.from > 300 ? 0 : f.to - f.from;
        memcpy(part, bytes + f.from, m);
        part[m] = ',';
        k = put(bytes, n, most, (struct value){f.from, f.from}, part, m + 1);
        break;
    }
    case 2: { /* goes, with a comma */
        while (f.to < n && strchr(" \n\t\r", bytes[f.to]))
            f.to++;
        f.to += f.to < n && bytes[f.to] == ',';
        k = put(bytes, n, most, f, NULL, 0);
        break;
    }
    case 3: {
        const char *word = words[next_random(&rnd, sizeof words / sizeof *words)];
        k = put(bytes, n, most, f, (const uint8_t *)word, strlen(word));
        break;
    }
    default:
        if (f.to - f.from < 300) { /* its bytes */
            uint8_t body[400];
            size_t len = f.to - f.from, trim = bytes[f.from] == '"' && len > 2;
            f.from += trim, f.to -= trim, len -= 2 * trim;
            memcpy(body, bytes + f.from, len);
            len = LLVMFuzzerMutate(body, len, sizeof body);
            k = put(bytes, n, most, f, body, len);
        }
    }
    free(part);
    return k ? k : LLVMFuzzerMutate(bytes, n, most);
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* The checksum of each stored member that can be found. */
static void repair(uint8_t *b, size_t n)
{
    for (size_t i = 0; i + ZIP_CENTRAL_LEN <= n; i++) {
        if (memcmp(b + i, "PK\1\2", 4) != 0)
            continue;
        size_t size = zip_u32(b + i + 20), local = zip_u32(b + i + 42);
        if (local + ZIP_LOCAL_LEN > n || memcmp(b + local, "PK\3\4", 4) != 0)
            continue;
        size_t data = local + ZIP_LOCAL_LEN + zip_u16(b + local + 26) + zip_u16(b + local + 28);
        if (data > n || size > n - data)
            continue;
        uint32_t crc = (uint32_t)crc32_z(0, b + data, size);
        put_u32(b + i + 16, crc);
        if (zip_u32(b + local + 14) != 0)
            put_u32(b + local + 14, crc);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed)
{
    uint32_t rnd = seed;

    if (n > 1 && memcmp(bytes, "PK", 2) == 0) {
        n = LLVMFuzzerMutate(bytes, n, most);
        if (next_random(&rnd, 4))
            repair(bytes, n);
        return n;
    }
    if (n == 0 || (bytes[0] != '{' && bytes[0] != '[') || next_random(&rnd, 5) == 0)
        return LLVMFuzzerMutate(bytes, n, most);
    return json(bytes, n, most, next_random(&rnd, UINT32_MAX));
}
