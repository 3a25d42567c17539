/* Changing the size of members of a zip archive in place: everything else stays where and as it is, but for
 * what must follow: offsets, sizes and checksums, and torch's alignment padding in the next local headers, so
 * that the data of each padded member keep their place modulo 64.
 *
 * Undoing a change by the opposite one gives the original bytes, with one exception: a field that has to
 * become a zip64 one because an offset passes 4 GiB. Which fields did is returned in words, to be kept and
 * given back (struct zip_wide). */
#ifndef SACTAG_SCHEMA_ZIP_EDIT_H
#define SACTAG_SCHEMA_ZIP_EDIT_H

#include "schema/splice.h"
#include "schema/zip_dir.h"

/* Fields that are zip64 because of us, not in the original. */
struct zip_wide {
    bool *members; /* per member: its offset in the directory */
    bool record;   /* there is a zip64 end record at all */
    bool end; /* the end record's offset of the directory, where the original had a zip64 end record too */
};

/* A new state of the archive's members, in the order of the directory. */
struct zip_state {
    const struct zip_dir *z;
    uint64_t *sizes; /* only members that are stored may differ from the archive */
    uint32_t *crcs;
    struct zip_wide wide;
};

/* The state of the archive as it is, with the flags of `wide` (NULL: none). Its lists are in the arena. 0 or
 * IR_EMEM, not reported. */
int zip_state_init(struct zip_state *s, const struct zip_dir *z, const struct zip_wide *wide,
                   struct arena *a);

/* Sets to->wide: the fields that are plain ones in the original (the archive in state `from`, less our
 * changes) and would not fit if everything in it moved by `growth`. `growth` must depend on the original and
 * the change only, for the result to be the same from any state. 0 or IR_EMEM, not reported. */
int zip_widen(struct zip_state *to, const struct zip_state *original, const struct zip_state *from,
              uint64_t growth, struct arena *a);

/* Adds the edits that make the state `to` of the archive, whose own state is `from`; the members' data are
 * the caller's to edit. Inserted bytes are in the arena. 0, IR_EINPUT (a header has no room), IR_EMEM;
 * reported. */
int zip_edits(struct splice *s, const struct zip_state *from, const struct zip_state *to, struct arena *a,
              struct diag *d);

#endif
