/* The directory of a zip archive, with what a zip library does not tell: where each header and each member's
 * data lie, so that a writer can change one member and copy the rest byte for byte.
 *
 * Stricter than most readers: an archive that two readers could read differently is refused. Members may not
 * overlap or share a name; the local header must agree with the central one; the directory must end where
 * the end record begins; names are relative and hold no ".." and no control characters. One disk, not
 * encrypted. Zip64 is understood. Nothing is allocated but the list, at most 3 bytes for each byte of
 * directory. */
#ifndef SACTAG_SCHEMA_ZIP_DIR_H
#define SACTAG_SCHEMA_ZIP_DIR_H

#include "ir/arena.h"
#include "ir/diag.h"
#include "ir/str.h"
#include "schema/zip_format.h"

#include <stdbool.h>
#include <stdint.h>

#define ZIP_NONE UINT64_MAX

enum zip_descriptor { ZIP_DESC_NONE, ZIP_DESC_32, ZIP_DESC_64 }; /* after the data, with its signature */

/* Offsets are from the start of the archive. */
struct zip_member {
    struct str name;  /* in the archive */
    uint64_t central; /* its header in the directory */
    uint64_t local;   /* its local header */
    uint64_t data;    /* its data */
    uint64_t stored;  /* bytes of data in the archive */
    uint64_t size;    /* bytes of data, unpacked */
    uint64_t end;     /* after data and descriptor */
    uint64_t pad; /* torch's alignment field ("FB") in the local header: its 4-byte head; ZIP_NONE if none */
    uint32_t pad_len; /* bytes of padding after that head, all 'Z' */
    uint32_t crc;
    uint16_t method; /* 0 = stored */
    uint8_t desc;    /* enum zip_descriptor */
};

struct zip_dir {
    const uint8_t *bytes; /* the archive; borrowed */
    uint64_t size;
    struct zip_member *members; /* in the directory's order */
    uint32_t *by_offset;        /* their numbers in the order of their data */
    uint32_t n;
    uint64_t central, central_len;
    uint64_t end64; /* zip64 end record, or ZIP_NONE; its locator lies before `end` */
    uint64_t end;   /* end record */
};

/* Reads the directory of an archive, which must live as long as *z; its lists are in the arena. 0; IR_EINPUT:
 * no archive, or one that could be read in two ways; IR_EMEM; reported. */
int zip_dir_read(struct zip_dir *z, const uint8_t *bytes, uint64_t size, struct arena *a, struct diag *d);

/* The extra field of an id in a run of extra fields: offset of its 4-byte head, or ZIP_NONE; *len is the
 * length of its body. */
uint64_t zip_extra(const uint8_t *bytes, uint64_t from, uint64_t to, uint16_t id, uint16_t *len);

/* Does the offset of a member's header, or of the directory, stand in a zip64 field? */
static inline bool zip_offset_is_wide(const struct zip_dir *z, uint32_t member)
{
    return zip_u32(z->bytes + z->members[member].central + ZIP_CENTRAL_AT_LOCAL) == ZIP_WIDE;
}

static inline bool zip_end_is_wide(const struct zip_dir *z)
{
    return zip_u32(z->bytes + z->end + ZIP_END_AT_OFFSET) == ZIP_WIDE;
}

#endif
