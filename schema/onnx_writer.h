/* What the files of the ONNX writer share; nobody else includes this.
 *
 *     onnx_write.c   which nodes and records are touched; writing
 *     onnx_widths.c  how wide their length prefixes are
 *     onnx_edit.c    the fields of one record: what goes, what comes, what comes back
 *     onnx_pack.c    new entries
 *     onnx_undo.c    what gives way, and what an earlier run's record may say */
#ifndef SACTAG_SCHEMA_ONNX_WRITER_H
#define SACTAG_SCHEMA_ONNX_WRITER_H

#include "schema/onnx_fields.h"
#include "schema/onnx_write.h"
#include "schema/wire.h"

int onnx_write_no_memory(struct onnx_writer *w);

/* ---- onnx_widths.c */

/* The base's prefixes get the widths that they had before the earlier run. */
void onnx_widths_restore(struct onnx_writer *w);

/* The output's: as short as can be where we tag, noting in w->done what is lost by that; else as they were.
 */
int onnx_widths_choose(struct onnx_writer *w);

/* ---- onnx_undo.c */

/* The key of a metadata_props entry, or the name of an attribute: both are field 1. Empty if malformed. */
struct str onnx_key_of(struct str body);

/* Is it an entry that tags may replace: no tensor and no graph in it? */
bool onnx_gives_way(uint32_t number, struct str body);

/* Is it a field of our kind (metadata or attribute) with one of our keys? */
bool onnx_undo_owns(const struct onnx_undo *u, const struct wire_field *f);

/* ---- onnx_edit.c */

struct onnx_pending {
    uint64_t off, del;
    struct str ins;
};

/* A record whose fields are being walked. */
struct onnx_record {
    struct onnx_writer *w;
    uint32_t node;                            /* or ANNOT_MODEL */
    uint32_t base, out;                       /* record numbers */
    bool tagged;                              /* is to get entries of its own */
    uint32_t index;                           /* position of the next field in the base */
    const struct onnx_field *back, *back_end; /* fields that are to be put back in the base */
    struct onnx_pending base_edit, out_edit;
};

/* Edits a node's record, which has been made in the splices: `tagged` with annotations a[0..n), or free of
 * those that an earlier run wrote (`was_tagged`). */
int onnx_edit_node(struct onnx_record *r, bool was_tagged, const struct annot *a, size_t n);
/* Edits the model's own fields. */
int onnx_edit_model(struct onnx_record *r);

/* ---- onnx_pack.c */

/* The fields that annotations a[0..n) of one node become. */
int onnx_pack_node(struct onnx_writer *w, struct str *bytes, const struct annot *a, size_t n);
/* ModelProto.ir_version. */
int onnx_pack_ir_version(struct onnx_writer *w, struct str *bytes, int64_t version);

#endif
