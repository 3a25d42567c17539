/* What the files of the .pt2 writer share; nobody else includes this.
 *
 *     pt2_write.c    what each node's and the model's custom becomes; the archive with that
 *     pt2_edit.c     where custom stands in a program's text, and the edits that change it
 *     pt2_undo.c     what sac.undo says
 *     pt2_digest.c   the digest
 *     pt2_custom.c   the text of one custom (schema/pt2_custom.h)
 *
 * Functions return 0 or a negative ir_err (reported), unless said otherwise. */
#ifndef SACTAG_SCHEMA_PT2_WRITER_H
#define SACTAG_SCHEMA_PT2_WRITER_H

#include "schema/pt2_read.h"
#include "schema/pt2_write.h"
#include "schema/zip_edit.h"

/* A place that tags go to: the metadata of a node, or of the model. */
struct pt2_target {
    uint32_t node;       /* or ANNOT_MODEL */
    struct str metadata; /* the object, in the program */
    struct str custom;   /* the inside of its member "custom"; s == NULL: there is none */
    struct str member;   /* ... with its name and all that goes with it when it is taken out */
    const char *insert;  /* where a new member goes, */
    bool comma;          /* after a comma */
    struct str was;      /* custom in the original */
    bool foreign;        /* custom is no string: nothing that torch writes */
};

/* What sac.undo of the model says. */
struct pt2_undo {
    struct str *nodes; /* per node: its custom in the original; s == NULL: nothing is said */
    struct str model;
    struct zip_wide wide;
};

/* One change of a program's text. */
struct pt2_text_edit {
    struct str del; /* in the program */
    struct str ins;
};

struct pt2_writer {
    struct ir_model *m;
    const struct pt2 *pt2;
    const struct annots *a;
    struct diag *d;
    struct arena arena;
    bool tagged; /* the model carries our tags */
    struct pt2_undo was;
    uint32_t model_node; /* node that stands for the model; ANNOT_MODEL: graph_module.metadata does */
    struct pt2_text_edit *edits;
    size_t n_edits, cap_edits;
    int64_t *grown;       /* per program: how much longer it becomes */
    int64_t *original;    /* per program: how much longer the original is than what is there now */
    struct zip_wide wide; /* of the output */
    char *undo;           /* sac.undo of the output, as far as it is known */
    size_t n_undo, cap_undo;
};

/* ---- pt2_write.c */

int pt2_write_no_memory(struct pt2_writer *w);

/* Finds all changes of the text, sorted by place. In each case to be closed. */
int pt2_writer_open(struct pt2_writer *w, struct ir_model *m, bool tagged, const struct annots *a,
                    struct diag *d);
void pt2_writer_close(struct pt2_writer *w);

/* ---- pt2_undo.c */

/* Fills w->was; with nothing when the model does not carry our tags. */
int pt2_undo_read(struct pt2_writer *w);
/* Adds to w->undo what custom was: "n12=7b7d;" or, for the model, "m=7b7d;". */
int pt2_undo_note(struct pt2_writer *w, uint32_t node, struct str custom);
/* Adds which zip64 fields the original has not: "z3;", "Z;", "E;". */
int pt2_undo_note_wide(struct pt2_writer *w, const struct zip_wide *wide);

/* ---- pt2_edit.c */

/* Finds the place of a node's tags (ANNOT_MODEL: of the model's), what is there and what was. */
int pt2_target_read(struct pt2_target *t, struct pt2_writer *w, uint32_t node);
/* Adds to *delta how much longer the text becomes when a target's custom becomes `custom` (s == NULL: there
 * is none any more); makes the edit when told to. */
int pt2_target_change(struct pt2_writer *w, int64_t *delta, const struct pt2_target *t, struct str custom,
                      bool edit);
/* Makes that edit, and keeps w->grown and w->original. */
int pt2_target_apply(struct pt2_writer *w, uint32_t program, const struct pt2_target *t, struct str custom);

/* Sorts w->edits by place, which the two functions below need. */
void pt2_edits_sort(struct pt2_writer *w);
/* The edits that lie in a program: w->edits[*from .. *to). */
void pt2_edits_of(const struct pt2_writer *w, uint32_t program, size_t *from, size_t *to);
/* Gives the new text of a program to `put`, piece by piece. 0 or what that returned. */
int pt2_for_text(struct pt2_writer *w, uint32_t program, int (*put)(void *ctx, const char *s, size_t n),
                 void *ctx);

#endif
