/* Tags into and out of a torch.export archive.
 *
 * An annotation is a member of the JSON object that metadata.custom holds as text, the only place for a node
 * that torch.export.load() keeps: node.meta["custom"]. The model's own go to graph_module.metadata.custom
 * (where programs of torch ≤ 2.4, which cannot have that, keep them at their first node). An object that is
 * there is added to; text is spliced, not written anew; the archive's other members are passed on as they
 * are, weights included, which are never read.
 *
 * Keys begin with PT2_TAG; when the model has a "sac.plan" of ours, all that do are ours. Stripping takes
 * them out again, which gives the original bytes, but for what "sac.undo" has to remember, a list of items,
 * each with a semicolon behind it:
 *     n12=7b7d   node 12's custom was this (hexadecimal), for taking out our members would not give it back:
 *                an empty object, or one with keys of the kind that ours are
 *     m=7b7d     the same of the model's
 *     z3  Z  E   zip64 fields that the original has not: member 3's offset, the zip64 end record, the offset
 *                in the end record */
#ifndef SACTAG_SCHEMA_PT2_WRITE_H
#define SACTAG_SCHEMA_PT2_WRITE_H

#include "ir/annot.h"
#include "ir/ir.h"
#include "schema/digest.h"
#include "schema/sink.h"

#define PT2_UNDO "sac.undo"

/* Writes the model without the tags that it may carry, and with `a` (ANNOT_META only, in the order of
 * ir/annot.h; keys begin with PT2_TAG). With tags there must be PT2_PLAN among the model's. Finishes the
 * sink. 0; IR_EUSAGE: a carrier that a .pt2 does not have; IR_EINPUT: a custom that holds no object, a
 * program that is compressed, broken tags; IR_EIO; IR_EMEM; reported. */
int pt2_write(struct ir_model *m, bool tagged, const struct annots *a, struct sink *to, struct diag *d);

/* pt2_write() without tags: the original bytes. */
int pt2_strip(struct ir_model *m, bool tagged, struct sink *to, struct diag *d);

/* The digest (TAGS.md 4): over the programs' text without tags, and the names (below the archive's own
 * folder) and sizes of the other members. Never reads weights. 0, or as pt2_strip(). */
int pt2_digest(struct ir_model *m, bool tagged, char out[DIGEST_TEXT], struct diag *d);

#endif
