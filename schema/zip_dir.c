#include "schema/zip_dir.h"

#include <stdlib.h>

#define FLAG_ENCRYPTED  0x0001u
#define FLAG_DESCRIPTOR 0x0008u
#define FLAG_PATCH      0x0020u
#define FLAG_STRONG     0x2040u /* strong encryption, masked local headers */

struct reader {
    struct zip_dir *z;
    const uint8_t *b; /* the archive */
    uint64_t size;
    struct arena *arena;
    struct diag *diag;
};

static int fail(const struct reader *r, uint64_t off, const struct zip_member *m, const char *message)
{
    if (m && m->name.n)
        return diag_error_at(r->diag, IR_EINPUT, NULL, "zip", off, "member \"%.*s\": %s", STR_ARG(m->name),
                             message);
    return diag_error_at(r->diag, IR_EINPUT, NULL, "zip", off, "%s", message);
}

uint64_t zip_extra(const uint8_t *bytes, uint64_t from, uint64_t to, uint16_t id, uint16_t *len)
{
    while (to - from >= 4) {
        uint16_t n = zip_u16(bytes + from + 2);
        if (n > to - from - 4)
            return ZIP_NONE;
        if (zip_u16(bytes + from) == id) {
            *len = n;
            return from;
        }
        from += 4 + (uint64_t)n;
    }
    return ZIP_NONE;
}

/* ---- the end of the archive ---- */

/* The end record: the last place where a signature is followed by a comment that fills the rest. */
static int find_end(struct reader *r)
{
    uint64_t least = r->size > ZIP_END_LEN + 65535 ? r->size - ZIP_END_LEN - 65535 : 0;
    for (uint64_t off = r->size < ZIP_END_LEN ? 0 : r->size - ZIP_END_LEN + 1; off-- > least;) {
        if (zip_u32(r->b + off) != ZIP_SIG_END)
            continue;
        if (off + ZIP_END_LEN + zip_u16(r->b + off + ZIP_END_AT_COMMENT) == r->size) {
            r->z->end = off;
            return 0;
        }
    }
    return fail(r, r->size, NULL, "no end record: the archive is cut short, or not a zip archive");
}

/* The zip64 end record, when there is one; *limit becomes where the directory must end. */
static int find_end64(struct reader *r, uint64_t *limit)
{
    uint64_t end = r->z->end;
    r->z->end64 = ZIP_NONE;
    *limit = end;
    if (end < ZIP_LOCATOR_LEN || zip_u32(r->b + end - ZIP_LOCATOR_LEN) != ZIP_SIG_LOCATOR)
        return 0;
    uint64_t locator = end - ZIP_LOCATOR_LEN, off = zip_u64(r->b + locator + ZIP_LOCATOR_AT_END64);
    if (locator < ZIP_END64_LEN || off > locator - ZIP_END64_LEN || zip_u32(r->b + off) != ZIP_SIG_END64)
        return fail(r, locator, NULL, "the zip64 locator does not point to a zip64 end record");
    if (zip_u64(r->b + off + ZIP_END64_AT_REST) != locator - off - (ZIP_END64_AT_REST + 8))
        return fail(r, off, NULL, "the zip64 end record does not end at its locator");
    if (zip_u32(r->b + locator + ZIP_LOCATOR_AT_DISK) != 0 ||
        zip_u32(r->b + locator + ZIP_LOCATOR_AT_DISKS) > 1)
        return fail(r, locator, NULL, "the archive is in several volumes");
    r->z->end64 = off;
    *limit = off;
    return 0;
}

static int read_end(struct reader *r, uint64_t *count)
{
    struct zip_dir *z = r->z;
    uint64_t limit;
    if (find_end(r) != 0 || find_end64(r, &limit) != 0)
        return IR_EINPUT;
    const uint8_t *e = r->b + z->end;
    uint32_t disks = zip_u16(e + ZIP_END_AT_DISK) | (uint32_t)zip_u16(e + ZIP_END_AT_FIRST_DISK);
    uint64_t here = zip_u16(e + ZIP_END_AT_HERE);
    *count = zip_u16(e + ZIP_END_AT_COUNT);
    z->central_len = zip_u32(e + ZIP_END_AT_LENGTH);
    z->central = zip_u32(e + ZIP_END_AT_OFFSET);
    if (z->end64 != ZIP_NONE) {
        const uint8_t *e64 = r->b + z->end64;
        disks = zip_u32(e64 + ZIP_END64_AT_DISK) | zip_u32(e64 + ZIP_END64_AT_FIRST_DISK);
        here = zip_u64(e64 + ZIP_END64_AT_HERE);
        *count = zip_u64(e64 + ZIP_END64_AT_COUNT);
        z->central_len = zip_u64(e64 + ZIP_END64_AT_LENGTH);
        z->central = zip_u64(e64 + ZIP_END64_AT_OFFSET);
    }
    if (disks != 0 || here != *count)
        return fail(r, z->end, NULL, "the archive is in several volumes");
    if (z->central > limit || z->central_len != limit - z->central)
        return fail(r, z->end, NULL, "the central directory does not lie right before the end record");
    if (*count > z->central_len / ZIP_CENTRAL_LEN)
        return fail(r, z->end, NULL, "the central directory is too small for the number of members");
    return 0;
}

/* ---- members ---- */

/* Takes the 8-byte value of a zip64 field for a 4-byte one that says so. */
static bool take64(const struct reader *r, uint64_t *v, uint64_t *at, uint64_t end)
{
    if (*v != ZIP_WIDE)
        return true;
    if (end - *at < 8)
        return false;
    *v = zip_u64(r->b + *at);
    *at += 8;
    return true;
}

static int central_zip64(const struct reader *r, struct zip_member *m, uint64_t from, uint64_t to)
{
    if (m->size != ZIP_WIDE && m->stored != ZIP_WIDE && m->local != ZIP_WIDE)
        return 0;
    uint16_t len = 0;
    uint64_t at = zip_extra(r->b, from, to, ZIP_EXTRA_ZIP64, &len);
    if (at == ZIP_NONE)
        return 0; /* such a size can be meant */
    uint64_t end = at + 4 + len;
    at += 4;
    if (take64(r, &m->size, &at, end) && take64(r, &m->stored, &at, end) && take64(r, &m->local, &at, end))
        return 0;
    return fail(r, m->central, m, "its zip64 field is too short");
}

/* A name that no reader could take as a place outside, and that prints as one line. */
static const char *bad_name(struct str name)
{
    if (name.n == 0)
        return "a member has no name";
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.s[i] < 0x20 || name.s[i] == 0x7f)
            return "control character in its name";
    if (name.s[0] == '/' || name.s[0] == '\\' || (name.n > 1 && name.s[1] == ':'))
        return "its name is an absolute path";
    for (size_t i = 0, from = 0; i <= name.n; i++)
        if (i == name.n || name.s[i] == '/' || name.s[i] == '\\') {
            if (i - from == 2 && name.s[from] == '.' && name.s[from + 1] == '.')
                return "its name leads outside (\"..\")";
            from = i + 1;
        }
    return NULL;
}

/* One header of the directory at *at, which moves past it. */
static int read_central(struct reader *r, struct zip_member *m, uint64_t *at)
{
    uint64_t end = r->z->central + r->z->central_len;
    const uint8_t *h = r->b + *at;
    m->central = *at;
    if (end - *at < ZIP_CENTRAL_LEN || zip_u32(h) != ZIP_SIG_CENTRAL)
        return fail(r, *at, NULL, "expected a header of the central directory");
    uint64_t name = zip_u16(h + ZIP_CENTRAL_AT_NAME), extra = zip_u16(h + ZIP_CENTRAL_AT_EXTRA),
             comment = zip_u16(h + ZIP_CENTRAL_AT_COMMENT);
    if (end - *at - ZIP_CENTRAL_LEN < name + extra + comment)
        return fail(r, *at, NULL, "a header passes the end of the central directory");
    m->name = (struct str){(const char *)h + ZIP_CENTRAL_LEN, (size_t)name};
    const char *bad = bad_name(m->name);
    if (bad)
        return fail(r, *at, m, bad);
    m->method = zip_u16(h + ZIP_CENTRAL_AT_METHOD);
    m->crc = zip_u32(h + ZIP_CENTRAL_AT_CRC);
    m->stored = zip_u32(h + ZIP_CENTRAL_AT_STORED);
    m->size = zip_u32(h + ZIP_CENTRAL_AT_SIZE);
    m->local = zip_u32(h + ZIP_CENTRAL_AT_LOCAL);
    if (zip_u16(h + ZIP_CENTRAL_AT_FLAGS) & (FLAG_ENCRYPTED | FLAG_PATCH | FLAG_STRONG))
        return fail(r, *at, m, "is encrypted");
    if (zip_u16(h + ZIP_CENTRAL_AT_DISK) != 0)
        return fail(r, *at, m, "lies in another volume");
    uint64_t from = *at + ZIP_CENTRAL_LEN + name;
    if (central_zip64(r, m, from, from + extra) != 0)
        return IR_EINPUT;
    *at = from + extra + comment;
    return 0;
}

/* Torch's padding: as it writes it, so that a writer can make it longer or shorter and back again. */
static void find_padding(const struct reader *r, struct zip_member *m, uint64_t from)
{
    uint16_t len = 0;
    m->pad = zip_extra(r->b, from, m->data, ZIP_EXTRA_ALIGN, &len);
    for (uint16_t i = 0; m->pad != ZIP_NONE && i < len; i++)
        if (r->b[m->pad + 4 + i] != 'Z')
            m->pad = ZIP_NONE;
    m->pad_len = m->pad == ZIP_NONE ? 0 : len;
}

/* Does a data descriptor of this form follow the data? */
static bool descriptor_is(const struct reader *r, const struct zip_member *m, uint64_t room, bool wide)
{
    const uint8_t *p = r->b + m->end;
    if (room < (wide ? ZIP_DESC64_LEN : ZIP_DESC32_LEN) || zip_u32(p) != ZIP_SIG_DESC ||
        zip_u32(p + ZIP_DESC_AT_CRC) != m->crc)
        return false;
    p += ZIP_DESC_AT_SIZES;
    return wide ? zip_u64(p) == m->stored && zip_u64(p + 8) == m->size
                : zip_u32(p) == m->stored && zip_u32(p + 4) == m->size;
}

static int find_descriptor(const struct reader *r, struct zip_member *m)
{
    uint64_t room = r->z->central - m->end;
    if (descriptor_is(r, m, room, true))
        m->desc = ZIP_DESC_64;
    else if (descriptor_is(r, m, room, false))
        m->desc = ZIP_DESC_32;
    else
        return fail(r, m->end, m, "its data descriptor disagrees with the central directory");
    m->end += m->desc == ZIP_DESC_64 ? ZIP_DESC64_LEN : ZIP_DESC32_LEN;
    return 0;
}

/* Sizes and checksum of a local header that has no data descriptor are the central ones. */
static bool local_agrees(const struct reader *r, const struct zip_member *m, uint64_t from)
{
    const uint8_t *h = r->b + m->local;
    uint64_t stored = zip_u32(h + ZIP_LOCAL_AT_STORED), size = zip_u32(h + ZIP_LOCAL_AT_SIZE);
    if (stored == ZIP_WIDE || size == ZIP_WIDE) {
        uint16_t len = 0;
        uint64_t at = zip_extra(r->b, from, m->data, ZIP_EXTRA_ZIP64, &len), end = at + 4 + len;
        if (at != ZIP_NONE) {
            at += 4;
            if (!take64(r, &size, &at, end) || !take64(r, &stored, &at, end))
                return false;
        }
    }
    return zip_u32(h + ZIP_LOCAL_AT_CRC) == m->crc && stored == m->stored && size == m->size;
}

static int read_local(const struct reader *r, struct zip_member *m)
{
    uint64_t limit = r->z->central;
    if (m->local > limit || limit - m->local < ZIP_LOCAL_LEN || zip_u32(r->b + m->local) != ZIP_SIG_LOCAL)
        return fail(r, m->central, m, "its local header is not where the central directory says");
    const uint8_t *h = r->b + m->local;
    uint64_t name = zip_u16(h + ZIP_LOCAL_AT_NAME), extra = zip_u16(h + ZIP_LOCAL_AT_EXTRA),
             head = ZIP_LOCAL_LEN + name + extra;
    if (head > limit - m->local || m->stored > limit - m->local - head)
        return fail(r, m->local, m, "passes the central directory");
    if (!str_eq(m->name, (struct str){(const char *)h + ZIP_LOCAL_LEN, (size_t)name}) ||
        zip_u16(h + ZIP_LOCAL_AT_METHOD) != m->method)
        return fail(r, m->local, m, "its local header disagrees with the central directory");
    m->data = m->local + head;
    m->end = m->data + m->stored;
    uint64_t from = m->local + ZIP_LOCAL_LEN + name;
    find_padding(r, m, from);
    if (m->method == 0 && m->stored != m->size)
        return fail(r, m->central, m, "is stored, yet its two sizes differ");
    if (zip_u16(h + ZIP_LOCAL_AT_FLAGS) & FLAG_DESCRIPTOR)
        return find_descriptor(r, m);
    if (!local_agrees(r, m, from))
        return fail(r, m->local, m, "its local header disagrees with the central directory");
    return 0;
}

/* ---- what must hold of all members ---- */

static int by_local(const void *a, const void *b, void *members)
{
    const struct zip_member *m = members;
    uint64_t x = m[*(const uint32_t *)a].local, y = m[*(const uint32_t *)b].local;
    return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b, void *members)
{
    const struct zip_member *m = members;
    struct str x = m[*(const uint32_t *)a].name, y = m[*(const uint32_t *)b].name;
    int c = memcmp(x.s, y.s, x.n < y.n ? x.n : y.n);
    return c ? c : (x.n > y.n) - (x.n < y.n);
}

static int check_apart(const struct reader *r)
{
    struct zip_dir *z = r->z;
    uint32_t *order = z->by_offset;
    for (uint32_t i = 0; i < z->n; i++)
        order[i] = i;
    qsort_r(order, z->n, sizeof *order, by_name, z->members);
    for (uint32_t i = 1; i < z->n; i++) {
        const struct zip_member *m = &z->members[order[i]];
        if (str_eq(m->name, z->members[order[i - 1]].name))
            return fail(r, m->central, m, "two members have this name");
    }
    qsort_r(order, z->n, sizeof *order, by_local, z->members);
    for (uint32_t i = 1; i < z->n; i++) {
        const struct zip_member *m = &z->members[order[i]];
        if (m->local < z->members[order[i - 1]].end)
            return fail(r, m->local, m, "overlaps the member before it");
    }
    return 0;
}

int zip_dir_read(struct zip_dir *z, const uint8_t *bytes, uint64_t size, struct arena *a, struct diag *d)
{
    *z = (struct zip_dir){.bytes = bytes, .size = size};
    struct reader r = {.z = z, .b = bytes, .size = size, .arena = a, .diag = d};
    uint64_t count;
    if (size < ZIP_END_LEN)
        return fail(&r, size, NULL, "the archive is cut short");
    if (read_end(&r, &count) != 0)
        return IR_EINPUT;
    if (count >= UINT32_MAX)
        return fail(&r, z->end, NULL, "too many members");
    z->n = (uint32_t)count;
    z->members = arena_alloc(a, z->n, sizeof *z->members);
    z->by_offset = arena_alloc(a, z->n, sizeof *z->by_offset);
    if (!z->members || !z->by_offset)
        return diag_error(d, IR_EMEM, "out of memory for the list of %u members", z->n);
    uint64_t at = z->central;
    for (uint32_t i = 0; i < z->n; i++)
        if (read_central(&r, &z->members[i], &at) != 0)
            return IR_EINPUT;
    if (at != z->central + z->central_len)
        return fail(&r, at, NULL, "the central directory holds more than its members");
    for (uint32_t i = 0; i < z->n; i++)
        if (read_local(&r, &z->members[i]) != 0)
            return IR_EINPUT;
    return check_apart(&r);
}
