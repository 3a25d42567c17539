#include "schema/zip_edit.h"

#include <stdlib.h>

#define ALIGN 64 /* what torch aligns data to */

static void set16(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void set32(uint8_t *p, uint64_t v)
{
    set16(p, v);
    set16(p + 2, v >> 16);
}

static void set64(uint8_t *p, uint64_t v)
{
    set32(p, v);
    set32(p + 4, v >> 32);
}

int zip_state_init(struct zip_state *s, const struct zip_dir *z, const struct zip_wide *wide, struct arena *a)
{
    *s = (struct zip_state){.sizes = arena_alloc(a, z->n, sizeof *s->sizes),
                            .crcs = arena_alloc(a, z->n, sizeof *s->crcs)};
    s->wide.members = arena_alloc(a, z->n, sizeof *s->wide.members);
    if (!s->sizes || !s->crcs || !s->wide.members)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++) {
        s->sizes[i] = z->members[i].size;
        s->crcs[i] = z->members[i].crc;
        s->wide.members[i] = wide && wide->members[i];
    }
    s->wide.record = wide && wide->record;
    s->wide.end = wide && wide->end;
    return 0;
}

/* ---- where everything lies ---- */

/* Padding that keeps a member's data in place modulo ALIGN when its header moves by `shift`. Only the part
 * below ALIGN changes, so that moving back gives back the old padding. */
static uint32_t padding(const struct zip_member *m, const uint8_t *bytes, int64_t shift)
{
    uint32_t low = m->pad_len % ALIGN;
    if (m->pad == ZIP_NONE || zip_u16(bytes + m->local + 28) - low > UINT16_MAX - (ALIGN - 1))
        return m->pad_len;
    int64_t now = ((int64_t)low - shift) % ALIGN;
    return m->pad_len - low + (uint32_t)(now < 0 ? now + ALIGN : now);
}

struct layout {
    uint64_t *locals; /* per member: its local header */
    uint32_t *pads;   /* its padding */
    uint64_t central;
};

static int lay_out(struct layout *l, const struct zip_dir *z, const uint8_t *bytes, const struct zip_state *s,
                   struct arena *a)
{
    int64_t shift = 0;
    l->locals = arena_alloc(a, z->n, sizeof *l->locals);
    l->pads = arena_alloc(a, z->n, sizeof *l->pads);
    if (!l->locals || !l->pads)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++) {
        uint32_t id = z->by_offset[i];
        const struct zip_member *m = &z->members[id];
        l->locals[id] = m->local + (uint64_t)shift;
        l->pads[id] = padding(m, bytes, shift);
        shift += (int64_t)l->pads[id] - (int64_t)m->pad_len + (int64_t)(s->sizes[id] - m->size);
    }
    l->central = z->central + (uint64_t)shift;
    return 0;
}

/* Would a plain field that holds `v` in the original be too small? */
static bool outgrows(uint64_t v, uint64_t growth)
{
    return v < UINT32_MAX && growth >= UINT32_MAX - v;
}

int zip_widen(struct zip_state *to, const struct zip_state *original, const struct zip_state *from,
              const struct zip_dir *z, const uint8_t *bytes, uint64_t growth, struct arena *a)
{
    struct layout l;
    if (lay_out(&l, z, bytes, original, a) != 0)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++) {
        bool plain = zip_u32(bytes + z->members[i].central + 42) != UINT32_MAX || from->wide.members[i];
        to->wide.members[i] = plain && outgrows(l.locals[i], growth);
    }
    bool record = z->end64 != ZIP_NONE && !from->wide.record;
    bool plain = zip_u32(bytes + z->end + 16) != UINT32_MAX || from->wide.end || from->wide.record;
    to->wide.record = !record && outgrows(l.central, growth);
    to->wide.end = record && plain && outgrows(l.central, growth);
    return 0;
}

/* ---- local headers ---- */

static int add_edit(struct splice *e, uint64_t off, uint64_t del, const uint8_t *ins, uint64_t n)
{
    struct splice_edit edit = {off, del, ins, (uint32_t)n, SPLICE_TOP};
    return splice_edit(e, edit) == 0 ? 0 : IR_EMEM;
}

/* Replaces bytes by as many others. */
static int overwrite(struct splice *e, uint64_t off, const uint8_t *bytes, size_t n, struct arena *a)
{
    uint8_t *copy = arena_alloc(a, n, 1);
    if (!copy)
        return IR_EMEM;
    memcpy(copy, bytes, n);
    return add_edit(e, off, n, copy, n);
}

static int edit_padding(struct splice *e, const struct zip_member *m, const uint8_t *bytes, uint32_t pad,
                        struct arena *a)
{
    if (pad == m->pad_len)
        return 0;
    uint8_t len[2], extra[2], *more = NULL;
    set16(extra, zip_u16(bytes + m->local + 28) + (uint64_t)pad - m->pad_len);
    set16(len, pad);
    uint32_t ins = pad > m->pad_len ? pad - m->pad_len : 0, del = pad < m->pad_len ? m->pad_len - pad : 0;
    if (ins) {
        if (!(more = arena_alloc(a, ins, 1)))
            return IR_EMEM;
        memset(more, 'Z', ins);
    }
    int rc = overwrite(e, m->local + 28, extra, sizeof extra, a);
    if (rc == 0)
        rc = overwrite(e, m->pad + 2, len, sizeof len, a);
    return rc != 0 ? rc : add_edit(e, m->pad + 4 + m->pad_len - del, del, more, ins);
}

/* Size and checksum in a local header that says them in 8-byte fields. */
static int edit_local64(struct splice *e, const struct zip_member *m, const uint8_t *bytes, uint64_t size,
                        const uint8_t crc[4], struct arena *a)
{
    uint16_t len = 0;
    uint64_t from = m->local + ZIP_LOCAL_LEN + zip_u16(bytes + m->local + 26);
    uint64_t at = zip_extra(bytes, from, m->data, ZIP_EXTRA_ZIP64, &len) + 4;
    bool both = zip_u32(bytes + m->local + 18) == UINT32_MAX && zip_u32(bytes + m->local + 22) == UINT32_MAX;
    uint8_t v[16], half[4];
    set64(v, size);
    set64(v + 8, size);
    set32(half, size);
    int rc = overwrite(e, m->local + 14, crc, 4, a);
    if (rc == 0 && !both) /* the other one is a plain field */
        rc = overwrite(e, m->local + (zip_u32(bytes + m->local + 18) == UINT32_MAX ? 22 : 18), half, 4, a);
    return rc != 0 ? rc : overwrite(e, at, v, both ? 16 : 8, a);
}

/* Size and checksum of a stored member whose data change. */
static int edit_local(struct splice *e, const struct zip_member *m, const uint8_t *bytes, uint64_t size,
                      uint32_t crc, struct arena *a)
{
    const uint8_t *h = bytes + m->local;
    uint32_t stored = zip_u32(h + 18), plain = zip_u32(h + 22);
    uint8_t fields[12], desc[20];
    bool wide = m->desc == ZIP_DESC_64;
    set32(fields, crc);
    set32(fields + 4, size);
    set32(fields + 8, size);
    int rc = 0;
    if (stored == m->size && plain == m->size && zip_u32(h + 14) == m->crc)
        rc = overwrite(e, m->local + 14, fields, sizeof fields, a);
    else if (m->desc == ZIP_DESC_NONE) /* what zip_dir_read() lets through else */
        rc = edit_local64(e, m, bytes, size, fields, a);
    if (rc != 0 || m->desc == ZIP_DESC_NONE)
        return rc;
    set32(desc, crc);
    if (wide) {
        set64(desc + 4, size);
        set64(desc + 12, size);
    } else {
        memcpy(desc + 4, fields + 4, 8);
    }
    return overwrite(e, m->data + m->stored + 4, desc, wide ? 20 : 12, a);
}

/* ---- directory and end, written anew as one piece ---- */

struct tail {
    uint8_t *p;
    size_t n;
};

static void append(struct tail *t, const uint8_t *bytes, size_t n)
{
    memcpy(t->p + t->n, bytes, n);
    t->n += n;
}

/* The extra fields of a header of the directory, with or without room for a zip64 offset. Returns the new
 * length. */
static size_t append_extra(struct tail *t, const uint8_t *extra, size_t n, bool add, bool drop)
{
    size_t before = t->n;
    uint16_t len = 0;
    uint64_t at = zip_extra(extra, 0, n, ZIP_EXTRA_ZIP64, &len);
    uint8_t head[12] = {1, 0, 8, 0};
    if (at == ZIP_NONE || (!add && !drop)) {
        if (add)
            append(t, head, sizeof head);
        append(t, extra, n);
        return t->n - before;
    }
    size_t keep = len - (drop ? 8u : 0u), end = (size_t)at + 4 + len;
    append(t, extra, (size_t)at);
    if (keep || add) { /* else the field was made for the offset alone */
        set16(head + 2, keep + (add ? 8u : 0u));
        append(t, head, 4);
        append(t, extra + at + 4, keep);
        if (add)
            append(t, head + 4, 8);
    }
    append(t, extra + end, n - end);
    return t->n - before;
}

/* Puts sizes and offset into a header of the directory, where its fields say they go. */
static void set_values(uint8_t *h, const uint8_t *extra, uint64_t size, uint64_t stored, uint64_t local)
{
    static const uint8_t fields[] = {24, 20, 42};
    const uint64_t values[] = {size, stored, local};
    uint16_t len = 0;
    uint64_t at = zip_extra(extra, 0, zip_u16(h + 30), ZIP_EXTRA_ZIP64, &len), end = at + 4 + len;
    uint8_t *p = at == ZIP_NONE ? NULL : h + (extra - h) + at + 4;
    for (size_t i = 0, used = 4; i < 3; i++) {
        if (zip_u32(h + fields[i]) == UINT32_MAX && p && used + 8 <= end - at) {
            set64(p + used - 4, values[i]);
            used += 8;
        } else {
            set32(h + fields[i], values[i]);
        }
    }
}

static void append_header(struct tail *t, const struct zip_member *m, const uint8_t *bytes, uint64_t size,
                          uint32_t crc, uint64_t local, bool add, bool drop)
{
    const uint8_t *h = bytes + m->central;
    size_t name = zip_u16(h + 28), extra = zip_u16(h + 30), comment = zip_u16(h + 32), start = t->n;
    append(t, h, ZIP_CENTRAL_LEN + name);
    size_t n = append_extra(t, h + ZIP_CENTRAL_LEN + name, extra, add, drop);
    append(t, h + ZIP_CENTRAL_LEN + name + extra, comment);
    uint8_t *now = t->p + start;
    set16(now + 30, n);
    set32(now + 16, crc);
    if (add)
        set32(now + 42, UINT32_MAX);
    if (drop)
        set32(now + 42, 0);
    set_values(now, now + ZIP_CENTRAL_LEN + name, size, m->method ? m->stored : size, local);
}

struct directory {
    uint64_t central, len; /* its new place */
    bool add, drop;        /* a zip64 end record */
    bool widen, narrow;    /* the end record's own offset */
};

static void append_end64(struct tail *t, const struct zip_dir *z, const uint8_t *bytes,
                         const struct directory *d)
{
    uint64_t at = d->central + d->len;
    size_t start = t->n, len = ZIP_END64_LEN;
    if (d->add) {
        uint8_t fresh[ZIP_END64_LEN + ZIP_LOCATOR_LEN] = {'P', 'K', 6, 6, ZIP_END64_LEN - 12};
        set16(fresh + 12, 45); /* version 4.5 of the format, which has zip64 */
        set16(fresh + 14, 45);
        set64(fresh + 24, z->n);
        set64(fresh + 32, z->n);
        memcpy(fresh + ZIP_END64_LEN, "PK\6\7", 4);
        set32(fresh + ZIP_END64_LEN + 16, 1);
        append(t, fresh, sizeof fresh);
    } else {
        append(t, bytes + z->end64, z->end - z->end64);
        len = (size_t)(z->end - z->end64) - ZIP_LOCATOR_LEN;
    }
    uint8_t *e = t->p + start;
    set64(e + 40, d->len);
    set64(e + 48, d->central);
    set64(e + len + 8, at);
}

static void append_end(struct tail *t, const struct zip_dir *z, const uint8_t *bytes,
                       const struct directory *d)
{
    if (d->add || (z->end64 != ZIP_NONE && !d->drop))
        append_end64(t, z, bytes, d);
    uint8_t *e = t->p + t->n;
    append(t, bytes + z->end, z->size - z->end);
    if (zip_u32(e + 12) != UINT32_MAX)
        set32(e + 12, d->len);
    if (d->widen)
        set32(e + 16, UINT32_MAX);
    else if (d->narrow || zip_u32(e + 16) != UINT32_MAX)
        set32(e + 16, d->central);
}

/* Does each offset fit into the field it goes to? */
static bool fits(const struct zip_dir *z, const uint8_t *bytes, const struct zip_state *from,
                 const struct zip_state *to, const struct layout *l)
{
    for (uint32_t i = 0; i < z->n; i++) {
        bool plain = zip_u32(bytes + z->members[i].central + 42) != UINT32_MAX || from->wide.members[i];
        if (plain && !to->wide.members[i] && l->locals[i] >= UINT32_MAX)
            return false;
        if (to->wide.members[i] && zip_u16(bytes + z->members[i].central + 30) > UINT16_MAX - 12)
            return false;
    }
    bool plain = zip_u32(bytes + z->end + 16) != UINT32_MAX || from->wide.record || from->wide.end;
    return !plain || to->wide.record || to->wide.end || l->central < UINT32_MAX;
}

static int edit_tail(struct splice *e, const struct zip_dir *z, const uint8_t *bytes,
                     const struct zip_state *from, const struct zip_state *to, const struct layout *l,
                     struct arena *a)
{
    struct tail t = {.n = 0};
    struct directory d = {
        .central = l->central,
        .add = to->wide.record && !from->wide.record,
        .drop = from->wide.record && !to->wide.record,
        .widen = (to->wide.record && !from->wide.record) || (to->wide.end && !from->wide.end),
        .narrow = (from->wide.record && !to->wide.record) || (from->wide.end && !to->wide.end)};
    uint64_t most = z->size - z->central + (uint64_t)z->n * 12 + ZIP_END64_LEN + ZIP_LOCATOR_LEN;
    t.p = arena_alloc(a, most, 1);
    if (!t.p)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++) {
        append_header(&t, &z->members[i], bytes, to->sizes[i], to->crcs[i], l->locals[i],
                      to->wide.members[i] && !from->wide.members[i],
                      from->wide.members[i] && !to->wide.members[i]);
    }
    d.len = t.n;
    append_end(&t, z, bytes, &d);
    if (t.n > UINT32_MAX)
        return IR_EMEM;
    return add_edit(e, z->central, z->size - z->central, t.p, t.n);
}

/* ---- all of it ---- */

int zip_edits(struct splice *e, const struct zip_dir *z, const uint8_t *bytes, const struct zip_state *from,
              const struct zip_state *to, struct arena *a, struct diag *d)
{
    struct layout l;
    int rc = lay_out(&l, z, bytes, to, a);
    for (uint32_t i = 0; rc == 0 && i < z->n; i++) {
        const struct zip_member *m = &z->members[i];
        rc = edit_padding(e, m, bytes, l.pads[i], a);
        if (rc == 0 && (to->sizes[i] != m->size || to->crcs[i] != m->crc))
            rc = edit_local(e, m, bytes, to->sizes[i], to->crcs[i], a);
    }
    if (rc == 0 && !fits(z, bytes, from, to, &l))
        return diag_error(d, IR_EINPUT, "the zip directory has no room for an offset over 4 GiB");
    if (rc == 0)
        rc = edit_tail(e, z, bytes, from, to, &l, a);
    return rc == 0 ? 0 : diag_nomem(d);
}
