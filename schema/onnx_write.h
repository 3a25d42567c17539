/* The IR's source + annotations → an ONNX model's bytes.
 *
 * Two splices of one source. `base` is the model as it was before tagging: the source itself, or, when it
 * carries tags of an earlier run, the source without them. `out` is what is to be written: the base with the
 * annotations. New entries are the last fields of their node; what had the same key in that node gives way
 * and is noted, as is the width of each length prefix that was longer than it need be and is now rewritten:
 * struct onnx_undo, from which a later run makes the base again, to the byte.
 *
 * Only annotated nodes are looked into. */
#ifndef SACTAG_SCHEMA_ONNX_WRITE_H
#define SACTAG_SCHEMA_ONNX_WRITE_H

#include "ir/annot.h"
#include "ir/ir.h"
#include "schema/splice.h"

/* A field that gave way to one of ours. */
struct onnx_field {
    uint32_t node;    /* or ANNOT_MODEL */
    uint32_t index;   /* its position among the fields of its record in the base */
    struct str bytes; /* all of it, with tag and length */
};

/* A length prefix that is wider in the base than it need be. */
struct onnx_width {
    bool segment;    /* of a segment (a graph, a function, a node that holds a graph), not of a plain node */
    uint32_t record; /* segment number or node id */
    uint8_t width;
};

/* What tagging did to a model. Node ids and segment numbers are those of the reader, the same before and
 * after. */
struct onnx_undo {
    bool attributes;  /* entries are attributes, not metadata */
    struct str *keys; /* entries of these keys on these nodes are ours */
    uint32_t n_keys;
    uint32_t *nodes; /* ascending */
    uint32_t n_nodes;
    uint32_t of;               /* nodes that the model had */
    struct onnx_field *fields; /* by node and index, the model's last */
    uint32_t n_fields;
    uint32_t n_lost;           /* further ones that cannot be put back, for the graph is another one now */
    struct onnx_width *widths; /* nodes first, by number */
    uint32_t n_widths;
    bool ir_version;           /* was changed */
    struct str ir_version_was; /* that field's bytes; empty when there was none */
};

/* Could this be what tagging did: are the fields such as give way, and in order? `model_key` is the key of
 * the model's own entry. A hostile file's record must not bring in what the reader never saw. */
bool onnx_undo_ok(const struct onnx_undo *u, const char *model_key);

/* The value of a metadata_props entry, given as a whole field. Empty if it is none. */
struct str onnx_entry_value(struct str field);

/* What is to be written. */
struct onnx_edit {
    const struct onnx_undo *undo; /* what an earlier run did; NULL for an untagged model */
    struct ir_span undo_entry;    /* the model's entry that holds it, with tag and length */
    const struct annots *annots;  /* of nodes; NULL: strip */
    const char *model_key;        /* key of the model's own entry: others of that key give way */
    int64_t set_ir_version;       /* 0: leave it */
};

#define ONNX_ENTRIES_MAX 8  /* of one node */
#define ONNX_PACKED_SETS 32 /* of entries that are kept packed */
#define ONNX_PACKED_WAYS 4  /* entries of a set */

struct onnx_writer {
    struct ir_model *m;
    struct diag *d;
    struct onnx_edit e;
    struct splice base, out;
    struct onnx_undo done; /* how to undo it */
    bool loose;            /* see onnx_write_init() */
    uint32_t lost;         /* then: fields that had given way and cannot be put back */
    struct arena arena;    /* new bytes, and what `done` refers to */

    uint32_t *seg_order;          /* segments by offset */
    uint32_t *base_seg, *out_seg; /* segment → record number, SPLICE_TOP = not touched there */
    bool *seg_tagged;             /* the segment encloses an annotated node */
    struct onnx_touched {         /* a node that is touched and is no segment */
        uint32_t node, base, out; /* record numbers */
        bool tagged;
    } * touched; /* by node */
    size_t n_touched, cap_touched;
    size_t cap_nodes, cap_fields, cap_widths;
    char *scratch; /* text with a NUL behind it, for protobuf-c */
    size_t cap_scratch;
    struct onnx_packed { /* entries that may be asked for again */
        struct annot annot;
        struct str bytes;                         /* empty: none yet */
    } packed[ONNX_PACKED_SETS][ONNX_PACKED_WAYS]; /* the newest of a set first */
};

/* Prepares both splices. When the nodes that `undo` names do not carry our entries (another tool has changed
 * the graph since), every entry of our keys anywhere is taken for ours instead (`loose`), and fields that had
 * given way are lost, but for the model's. 0, or IR_EINPUT (what would have to give way is no tag: it holds a
 * tensor or a graph), IR_EMEM; reported. In each case to be freed. */
int onnx_write_init(struct onnx_writer *w, struct ir_model *m, const struct onnx_edit *e, struct diag *d);
void onnx_write_free(struct onnx_writer *w);

/* Writes `out` to a sink and, side by side, `base` to another one, either of which may be NULL. The sinks are
 * not finished. */
int onnx_write(const struct onnx_writer *w, struct sink *to, struct sink *base);

/* A metadata_props entry of the model, to be put behind all else: *bytes, in the writer's arena; *value is
 * where the value's text starts in it (which may be overwritten as long as that stays as long as it is). */
int onnx_model_entry(struct onnx_writer *w, struct str *bytes, char **value, struct str key, struct str text);

#endif
