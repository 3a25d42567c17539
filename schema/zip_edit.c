/* What must follow when members change their size: headers, padding, directory, end. */
#include "schema/zip_edit.h"

#include <stdlib.h>

#define ALIGN 64 /* what torch aligns data to */

int zip_state_init(struct zip_state *s, const struct zip_dir *z, const struct zip_wide *wide, struct arena *a)
{
    *s = (struct zip_state){.z = z,
                            .sizes = arena_alloc(a, z->n, sizeof *s->sizes),
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
static uint32_t padding(const struct zip_dir *z, const struct zip_member *m, int64_t shift)
{
    uint32_t low = m->pad_len % ALIGN;
    if (m->pad == ZIP_NONE ||
        zip_u16(z->bytes + m->local + ZIP_LOCAL_AT_EXTRA) - low > UINT16_MAX - (ALIGN - 1))
        return m->pad_len;
    int64_t now = ((int64_t)low - shift) % ALIGN;
    return m->pad_len - low + (uint32_t)(now < 0 ? now + ALIGN : now);
}

/* Where everything lies in a state of the archive. */
struct layout {
    uint64_t *locals; /* per member: its local header */
    uint32_t *pads;   /* its padding */
    uint64_t central;
};

static int lay_out(struct layout *l, const struct zip_state *s, struct arena *a)
{
    const struct zip_dir *z = s->z;
    int64_t shift = 0;
    l->locals = arena_alloc(a, z->n, sizeof *l->locals);
    l->pads = arena_alloc(a, z->n, sizeof *l->pads);
    if (!l->locals || !l->pads)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++) {
        uint32_t id = z->by_offset[i];
        const struct zip_member *m = &z->members[id];
        l->locals[id] = m->local + (uint64_t)shift;
        l->pads[id] = padding(z, m, shift);
        shift += (int64_t)l->pads[id] - (int64_t)m->pad_len + (int64_t)(s->sizes[id] - m->size);
    }
    l->central = z->central + (uint64_t)shift;
    return 0;
}

/* Would a plain field that holds `v` in the original be too small? */
static bool outgrows(uint64_t v, uint64_t growth)
{
    return v < ZIP_WIDE && growth >= ZIP_WIDE - v;
}

/* Is a field a plain one in the original: the archive in state `from`, less our changes? */
static bool offset_was_plain(const struct zip_state *from, uint32_t member)
{
    return !zip_offset_is_wide(from->z, member) || from->wide.members[member];
}

static bool end_was_plain(const struct zip_state *from)
{
    return !zip_end_is_wide(from->z) || from->wide.end || from->wide.record;
}

int zip_widen(struct zip_state *to, const struct zip_state *original, const struct zip_state *from,
              uint64_t growth, struct arena *a)
{
    const struct zip_dir *z = to->z;
    struct layout l;
    if (lay_out(&l, original, a) != 0)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++)
        to->wide.members[i] = offset_was_plain(from, i) && outgrows(l.locals[i], growth);
    bool had_record = z->end64 != ZIP_NONE && !from->wide.record;
    to->wide.record = !had_record && outgrows(l.central, growth);
    to->wide.end = had_record && end_was_plain(from) && outgrows(l.central, growth);
    return 0;
}

/* ---- local headers ---- */

/* What all that follows works on. */
struct edits {
    struct splice *splice;
    const struct zip_dir *z;
    const struct zip_state *from, *to;
    struct layout l; /* in state `to` */
    struct arena *a;
};

static int add_edit(struct edits *e, uint64_t off, uint64_t del, const uint8_t *ins, uint64_t n)
{
    struct splice_edit edit = {off, del, ins, (uint32_t)n, SPLICE_TOP};
    return splice_edit(e->splice, edit) == 0 ? 0 : IR_EMEM;
}

/* Replaces bytes by as many others. */
static int overwrite(struct edits *e, uint64_t off, const uint8_t *bytes, size_t n)
{
    uint8_t *copy = arena_alloc(e->a, n, 1);
    if (!copy)
        return IR_EMEM;
    memcpy(copy, bytes, n);
    return add_edit(e, off, n, copy, n);
}

static int edit_padding(struct edits *e, uint32_t id)
{
    const struct zip_member *m = &e->z->members[id];
    uint32_t pad = e->l.pads[id];
    if (pad == m->pad_len)
        return 0;
    uint8_t len[2], extra[2], *more = NULL;
    zip_set16(extra, zip_u16(e->z->bytes + m->local + ZIP_LOCAL_AT_EXTRA) + (uint64_t)pad - m->pad_len);
    zip_set16(len, pad);
    uint32_t ins = pad > m->pad_len ? pad - m->pad_len : 0, del = pad < m->pad_len ? m->pad_len - pad : 0;
    if (ins) {
        if (!(more = arena_alloc(e->a, ins, 1)))
            return IR_EMEM;
        memset(more, 'Z', ins);
    }
    int rc = overwrite(e, m->local + ZIP_LOCAL_AT_EXTRA, extra, sizeof extra);
    if (rc == 0)
        rc = overwrite(e, m->pad + 2, len, sizeof len); /* behind its id */
    return rc != 0 ? rc : add_edit(e, m->pad + ZIP_EXTRA_HEAD + m->pad_len - del, del, more, ins);
}

/* Size and checksum in a local header that says them in 8-byte fields. */
static int edit_local64(struct edits *e, uint32_t id)
{
    const struct zip_member *m = &e->z->members[id];
    const uint8_t *bytes = e->z->bytes, *h = bytes + m->local;
    uint16_t len = 0;
    uint64_t from = m->local + ZIP_LOCAL_LEN + zip_u16(h + ZIP_LOCAL_AT_NAME);
    uint64_t at = zip_extra(bytes, from, m->data, ZIP_EXTRA_ZIP64, &len) + ZIP_EXTRA_HEAD;
    bool wide_stored = zip_u32(h + ZIP_LOCAL_AT_STORED) == ZIP_WIDE;
    bool both = wide_stored && zip_u32(h + ZIP_LOCAL_AT_SIZE) == ZIP_WIDE;
    uint8_t wide[16], plain[4], crc[4];
    zip_set64(wide, e->to->sizes[id]);
    zip_set64(wide + 8, e->to->sizes[id]);
    zip_set32(plain, e->to->sizes[id]);
    zip_set32(crc, e->to->crcs[id]);
    int rc = overwrite(e, m->local + ZIP_LOCAL_AT_CRC, crc, sizeof crc);
    if (rc == 0 && !both)
        rc = overwrite(e, m->local + (wide_stored ? ZIP_LOCAL_AT_SIZE : ZIP_LOCAL_AT_STORED), plain,
                       sizeof plain);
    return rc != 0 ? rc : overwrite(e, at, wide, both ? 16 : 8);
}

/* ... in a local header with plain fields. */
static int edit_local32(struct edits *e, uint32_t id)
{
    uint8_t fields[12]; /* they stand one after the other */
    zip_set32(fields, e->to->crcs[id]);
    zip_set32(fields + 4, e->to->sizes[id]);
    zip_set32(fields + 8, e->to->sizes[id]);
    return overwrite(e, e->z->members[id].local + ZIP_LOCAL_AT_CRC, fields, sizeof fields);
}

/* ... in the descriptor behind the data, if there is one. */
static int edit_descriptor(struct edits *e, uint32_t id)
{
    const struct zip_member *m = &e->z->members[id];
    bool wide = m->desc == ZIP_DESC_64;
    uint8_t desc[ZIP_DESC64_LEN];
    if (m->desc == ZIP_DESC_NONE)
        return 0;
    uint8_t *sizes = desc + ZIP_DESC_AT_SIZES;
    zip_set32(desc + ZIP_DESC_AT_CRC, e->to->crcs[id]);
    if (wide) {
        zip_set64(sizes, e->to->sizes[id]);
        zip_set64(sizes + 8, e->to->sizes[id]);
    } else {
        zip_set32(sizes, e->to->sizes[id]);
        zip_set32(sizes + 4, e->to->sizes[id]);
    }
    size_t n = (wide ? ZIP_DESC64_LEN : ZIP_DESC32_LEN) - ZIP_DESC_AT_CRC;
    return overwrite(e, m->data + m->stored + ZIP_DESC_AT_CRC, desc + ZIP_DESC_AT_CRC, n);
}

/* Size and checksum of a stored member whose data change. */
static int edit_local(struct edits *e, uint32_t id)
{
    const struct zip_member *m = &e->z->members[id];
    const uint8_t *h = e->z->bytes + m->local;
    int rc = 0;
    if (zip_u32(h + ZIP_LOCAL_AT_STORED) == m->size && zip_u32(h + ZIP_LOCAL_AT_SIZE) == m->size &&
        zip_u32(h + ZIP_LOCAL_AT_CRC) == m->crc)
        rc = edit_local32(e, id);
    else if (m->desc == ZIP_DESC_NONE) /* what zip_dir_read() lets through else */
        rc = edit_local64(e, id);
    return rc != 0 ? rc : edit_descriptor(e, id);
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
    uint8_t head[ZIP_EXTRA_HEAD + 8] = {ZIP_EXTRA_ZIP64, 0, 8, 0}; /* and the offset, set later */
    if (at == ZIP_NONE || (!add && !drop)) {
        if (add)
            append(t, head, sizeof head);
        append(t, extra, n);
        return t->n - before;
    }
    size_t keep = len - (drop ? 8u : 0u), end = (size_t)at + ZIP_EXTRA_HEAD + len;
    append(t, extra, (size_t)at);
    if (keep || add) { /* else the field was made for the offset alone */
        zip_set16(head + 2, keep + (add ? 8u : 0u));
        append(t, head, ZIP_EXTRA_HEAD);
        append(t, extra + at + ZIP_EXTRA_HEAD, keep);
        if (add)
            append(t, head + ZIP_EXTRA_HEAD, 8);
    }
    append(t, extra + end, n - end);
    return t->n - before;
}

/* Puts sizes and offset into a header of the directory, where its fields say they go. */
static void set_values(uint8_t *h, const uint8_t *extra, uint64_t size, uint64_t stored, uint64_t local)
{
    static const uint8_t fields[] = {ZIP_CENTRAL_AT_SIZE, ZIP_CENTRAL_AT_STORED, ZIP_CENTRAL_AT_LOCAL};
    const uint64_t values[] = {size, stored, local};
    uint16_t len = 0;
    uint64_t at = zip_extra(extra, 0, zip_u16(h + ZIP_CENTRAL_AT_EXTRA), ZIP_EXTRA_ZIP64, &len);
    uint8_t *p = at == ZIP_NONE ? NULL : h + (extra - h) + at + ZIP_EXTRA_HEAD;
    for (size_t i = 0, used = 0; i < 3; i++) {
        if (zip_u32(h + fields[i]) == ZIP_WIDE && p && used + 8 <= len) {
            zip_set64(p + used, values[i]);
            used += 8;
        } else {
            zip_set32(h + fields[i], values[i]);
        }
    }
}

static void append_header(struct tail *t, const struct edits *e, uint32_t id)
{
    const struct zip_member *m = &e->z->members[id];
    bool was = e->from->wide.members[id], is = e->to->wide.members[id], add = is && !was, drop = was && !is;
    const uint8_t *h = e->z->bytes + m->central;
    size_t head = ZIP_CENTRAL_LEN + (size_t)zip_u16(h + ZIP_CENTRAL_AT_NAME);
    size_t extra = zip_u16(h + ZIP_CENTRAL_AT_EXTRA), start = t->n;
    append(t, h, head);
    size_t n = append_extra(t, h + head, extra, add, drop);
    append(t, h + head + extra, zip_u16(h + ZIP_CENTRAL_AT_COMMENT));
    uint8_t *now = t->p + start;
    zip_set16(now + ZIP_CENTRAL_AT_EXTRA, n);
    zip_set32(now + ZIP_CENTRAL_AT_CRC, e->to->crcs[id]);
    if (add)
        zip_set32(now + ZIP_CENTRAL_AT_LOCAL, ZIP_WIDE);
    if (drop)
        zip_set32(now + ZIP_CENTRAL_AT_LOCAL, 0);
    set_values(now, now + head, e->to->sizes[id], m->method ? m->stored : e->to->sizes[id], e->l.locals[id]);
}

/* What the end says of the directory. */
struct directory {
    uint64_t offset, len;
    bool add, drop;     /* a zip64 end record */
    bool widen, narrow; /* the end record's own offset */
};

static void append_end64(struct tail *t, const struct zip_dir *z, const struct directory *d)
{
    uint64_t at = d->offset + d->len;
    size_t start = t->n, len = ZIP_END64_LEN;
    if (d->add) {
        uint8_t fresh[ZIP_END64_LEN + ZIP_LOCATOR_LEN] = {0}, *locator = fresh + ZIP_END64_LEN;
        zip_set32(fresh, ZIP_SIG_END64);
        zip_set64(fresh + ZIP_END64_AT_REST, ZIP_END64_LEN - (ZIP_END64_AT_REST + 8));
        zip_set16(fresh + ZIP_END64_AT_VERSION, 45); /* 4.5 of the format, which has zip64 */
        zip_set16(fresh + ZIP_END64_AT_NEEDED, 45);
        zip_set64(fresh + ZIP_END64_AT_HERE, z->n);
        zip_set64(fresh + ZIP_END64_AT_COUNT, z->n);
        zip_set32(locator, ZIP_SIG_LOCATOR);
        zip_set32(locator + ZIP_LOCATOR_AT_DISKS, 1);
        append(t, fresh, sizeof fresh);
    } else {
        append(t, z->bytes + z->end64, z->end - z->end64);
        len = (size_t)(z->end - z->end64) - ZIP_LOCATOR_LEN;
    }
    uint8_t *e = t->p + start;
    zip_set64(e + ZIP_END64_AT_LENGTH, d->len);
    zip_set64(e + ZIP_END64_AT_OFFSET, d->offset);
    zip_set64(e + len + ZIP_LOCATOR_AT_END64, at);
}

static void append_end(struct tail *t, const struct zip_dir *z, const struct directory *d)
{
    if (d->add || (z->end64 != ZIP_NONE && !d->drop))
        append_end64(t, z, d);
    uint8_t *e = t->p + t->n;
    append(t, z->bytes + z->end, z->size - z->end);
    if (zip_u32(e + ZIP_END_AT_LENGTH) != ZIP_WIDE)
        zip_set32(e + ZIP_END_AT_LENGTH, d->len);
    if (d->widen)
        zip_set32(e + ZIP_END_AT_OFFSET, ZIP_WIDE);
    else if (d->narrow || zip_u32(e + ZIP_END_AT_OFFSET) != ZIP_WIDE)
        zip_set32(e + ZIP_END_AT_OFFSET, d->offset);
}

/* Does each offset fit into the field it goes to? */
static bool fits(const struct edits *e)
{
    const struct zip_dir *z = e->z;
    const struct zip_wide *wide = &e->to->wide;
    for (uint32_t i = 0; i < z->n; i++) {
        uint16_t extra = zip_u16(z->bytes + z->members[i].central + ZIP_CENTRAL_AT_EXTRA);
        if (offset_was_plain(e->from, i) && !wide->members[i] && e->l.locals[i] >= ZIP_WIDE)
            return false;
        if (wide->members[i] && extra > UINT16_MAX - (ZIP_EXTRA_HEAD + 8))
            return false;
    }
    return !end_was_plain(e->from) || wide->record || wide->end || e->l.central < ZIP_WIDE;
}

static int edit_tail(struct edits *e)
{
    const struct zip_dir *z = e->z;
    const struct zip_wide *was = &e->from->wide, *is = &e->to->wide;
    struct directory d = {
        .offset = e->l.central, .add = is->record && !was->record, .drop = was->record && !is->record};
    d.widen = d.add || (is->end && !was->end);
    d.narrow = d.drop || (was->end && !is->end);
    struct tail t = {.n = 0};
    uint64_t most =
        z->size - z->central + (uint64_t)z->n * (ZIP_EXTRA_HEAD + 8) + ZIP_END64_LEN + ZIP_LOCATOR_LEN;
    t.p = arena_alloc(e->a, most, 1);
    if (!t.p)
        return IR_EMEM;
    for (uint32_t i = 0; i < z->n; i++)
        append_header(&t, e, i);
    d.len = t.n;
    append_end(&t, z, &d);
    if (t.n > UINT32_MAX)
        return IR_EMEM;
    return add_edit(e, z->central, z->size - z->central, t.p, t.n);
}

/* ---- all of it ---- */

int zip_edits(struct splice *s, const struct zip_state *from, const struct zip_state *to, struct arena *a,
              struct diag *d)
{
    struct edits e = {.splice = s, .z = from->z, .from = from, .to = to, .a = a};
    int rc = lay_out(&e.l, to, a);
    for (uint32_t i = 0; rc == 0 && i < e.z->n; i++) {
        const struct zip_member *m = &e.z->members[i];
        rc = edit_padding(&e, i);
        if (rc == 0 && (to->sizes[i] != m->size || to->crcs[i] != m->crc))
            rc = edit_local(&e, i);
    }
    if (rc == 0 && !fits(&e))
        return diag_error(d, IR_EINPUT, "the zip directory has no room for an offset over 4 GiB");
    if (rc == 0)
        rc = edit_tail(&e);
    return rc == 0 ? 0 : diag_nomem(d);
}
