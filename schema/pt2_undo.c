/* What sac.undo says (schema/pt2_write.h): reading an earlier run's, and writing this one's. */
#include "schema/pt2_writer.h"

#include <stdio.h>

/* The bytes that hexadecimal digits stand for. 0, IR_EINPUT: they are none, IR_EMEM. */
static int unhex(struct str *out, struct str hex, struct arena *a)
{
    char *p = arena_alloc(a, hex.n / 2 + 1, 1);
    if (!p)
        return IR_EMEM;
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        int hi = str_hex_digit(hex.s[i]), lo = str_hex_digit(hex.s[i + 1]);
        if (hi < 0 || lo < 0)
            return IR_EINPUT;
        p[i / 2] = (char)(hi << 4 | lo);
    }
    *out = (struct str){p, hex.n / 2};
    return hex.n % 2 ? IR_EINPUT : 0;
}

/* Digits up to the end or an equals sign; false when there are none, or it is not below `limit`. */
static bool take_number(uint32_t *out, struct str *s, uint32_t limit)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s->n && i < 10 && s->s[i] >= '0' && s->s[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s->s[i] - '0');
    *s = str_sub(*s, i, s->n - i);
    *out = (uint32_t)v;
    return i > 0 && v < limit;
}

/* One item of the list. 0, IR_EINPUT: it makes no sense, IR_EMEM. A zip64 field counts only where there is
 * one: another tool may have written the archive anew. */
static int read_item(struct pt2_writer *w, struct str item)
{
    char kind = item.n ? item.s[0] : 0;
    struct str rest = item.n ? str_sub(item, 1, item.n - 1) : item;
    struct str *to = &w->was.model;
    uint32_t id = 0;
    if (kind == 'Z' || kind == 'E') {
        bool wide = w->pt2->zip.end64 != ZIP_NONE && zip_end_is_wide(&w->pt2->zip);
        *(kind == 'Z' ? &w->was.wide.record : &w->was.wide.end) = wide;
        return rest.n ? IR_EINPUT : 0;
    }
    if (kind == 'z') {
        if (!take_number(&id, &rest, w->pt2->zip.n) || rest.n)
            return IR_EINPUT;
        w->was.wide.members[id] = zip_offset_is_wide(&w->pt2->zip, id);
        return 0;
    }
    if (kind == 'n') {
        if (!take_number(&id, &rest, w->m->n_nodes))
            return IR_EINPUT;
        to = &w->was.nodes[id];
    }
    if ((kind != 'n' && kind != 'm') || rest.n == 0 || rest.s[0] != '=')
        return IR_EINPUT;
    return unhex(to, str_sub(rest, 1, rest.n - 1), &w->arena);
}

int pt2_undo_read(struct pt2_writer *w)
{
    const struct ir_entry *e = ir_meta(w->m, PT2_UNDO);
    w->was.nodes = arena_alloc(&w->arena, w->m->n_nodes, sizeof *w->was.nodes);
    w->was.wide.members = arena_alloc(&w->arena, w->pt2->zip.n, sizeof *w->was.wide.members);
    if (!w->was.nodes || !w->was.wide.members)
        return pt2_write_no_memory(w);
    struct str s = w->tagged && e ? e->value : (struct str){0};
    while (s.n) {
        ptrdiff_t end = str_chr(s, ';');
        int rc = end < 0 ? IR_EINPUT : read_item(w, str_sub(s, 0, (size_t)end));
        if (rc == IR_EMEM)
            return pt2_write_no_memory(w);
        if (rc != 0)
            return diag_error(w->d, IR_EINPUT,
                              "\"%s\" of the model makes no sense: the tags cannot be removed", PT2_UNDO);
        s = str_sub(s, (size_t)end + 1, s.n - (size_t)end - 1);
    }
    return 0;
}

static int undo_room(struct pt2_writer *w, size_t n)
{
    return grow(&w->undo, &w->cap_undo, w->n_undo + n, 1) == 0 ? 0 : pt2_write_no_memory(w);
}

int pt2_undo_note(struct pt2_writer *w, uint32_t node, struct str custom)
{
    static const char hex[] = "0123456789abcdef";
    if (undo_room(w, custom.n * 2 + 16) != 0)
        return IR_EMEM;
    w->n_undo += (size_t)(node == ANNOT_MODEL ? sprintf(w->undo + w->n_undo, "m=")
                                              : sprintf(w->undo + w->n_undo, "n%u=", node));
    for (size_t i = 0; custom.s && i < custom.n; i++) {
        w->undo[w->n_undo++] = hex[(uint8_t)custom.s[i] >> 4];
        w->undo[w->n_undo++] = hex[(uint8_t)custom.s[i] & 15];
    }
    w->undo[w->n_undo++] = ';';
    return 0;
}

int pt2_undo_note_wide(struct pt2_writer *w, const struct zip_wide *wide)
{
    for (uint32_t i = 0; i < w->pt2->zip.n; i++) {
        if (!wide->members[i])
            continue;
        if (undo_room(w, 16) != 0)
            return IR_EMEM;
        w->n_undo += (size_t)sprintf(w->undo + w->n_undo, "z%u;", i);
    }
    if ((wide->record || wide->end) && undo_room(w, 4) != 0)
        return IR_EMEM;
    if (wide->record || wide->end)
        w->n_undo += (size_t)sprintf(w->undo + w->n_undo, "%c;", wide->record ? 'Z' : 'E');
    return 0;
}
