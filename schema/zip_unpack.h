/* Unpacks one member of a zip archive in memory, by minizip. */
#ifndef SACTAG_SCHEMA_ZIP_UNPACK_H
#define SACTAG_SCHEMA_ZIP_UNPACK_H

#include "schema/zip_dir.h"

/* Writes the f->size bytes of member f of the archive to `to`. 0, IR_EMEM, or IR_EINPUT: *why says what is
 * wrong, a constant. */
int zip_unpack(const uint8_t *archive, uint64_t size, const struct zip_member *f, char *to, const char **why);

#endif
