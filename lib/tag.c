#include "lib/tag.h"

#include "lib/plan_meta.h"
#include "schema/onnx_write.h"
#include "schema/pt2_write.h"

#include <inttypes.h>
#include <stdlib.h>

#define READERS_MAX INT32_MAX /* what libraries that build a protobuf message of the whole model can read */

static const char changed_warning[] =
    "the model was changed since it was tagged: its tags are removed, but the "
    "bytes need not be those from before";

/* Stripping touches only what sac.plan records. Without it tags may stand there all the same: sactag's, of
 * which nobody knows any more what they replaced, or others'. */
static int tell_untagged(struct ir_model *m, struct diag *d)
{
    struct tags tags;
    struct diag *reports_to = m->diag;

    m->diag = NULL;                     /* what cannot be read is no reason not to write it as it is */
    int rc = tags_load(&tags, m, NULL); /* sac.plan has been warned of already */
    uint32_t n = tags.n;
    m->diag = reports_to;
    if (rc == IR_EMEM)
        diag_nomem(d);
    else if (n)
        diag_warn(d,
                  "%" PRIu32
                  " node%s (carrier %s): there is no sac.plan that says what tagging added and what "
                  "stood there before; the model is written as it is",
                  n, n == 1 ? " keeps its tag" : "s keep their tags", carrier_name(tags.carrier));
    else
        diag_note(d, "the model carries no tags%s: it is written as it is", rc ? " that can be read" : "");
    tags_free(&tags);
    return rc == IR_EMEM ? rc : 0;
}

/* ---- ONNX */

/* What all that looks at an ONNX model's bytes without tags has. */
struct job {
    struct ir_model *m;
    struct diag *d;
    struct plan_meta was; /* what the model carries */
    bool tagged;
    struct onnx_writer w;
    struct sink_digest digest;
};

static int job_open(struct job *j, struct ir_model *m, const struct annots *a, int64_t ir_version,
                    struct diag *d)
{
    *j = (struct job){.m = m, .d = d};
    int rc = plan_meta_read(&j->was, m, d);
    if (rc < 0)
        return rc;
    j->tagged = rc == 1;
    struct onnx_edit e = {.undo = j->tagged ? &j->was.undo : NULL,
                          .undo_entry = j->was.entry,
                          .annots = a,
                          .model_key = PLAN_META_KEY,
                          .set_ir_version = ir_version};
    rc = onnx_write_init(&j->w, m, &e, d);
    return rc ? rc : sink_digest_init(&j->digest, m->data, m->n_data, d);
}

static void job_close(struct job *j)
{
    sink_digest_free(&j->digest);
    onnx_write_free(&j->w);
    plan_meta_free(&j->was);
}

/* Writes, and computes the digest on the way. Says when the model is not what was tagged. */
static int job_write(struct job *j, struct sink *to, char digest[DIGEST_TEXT])
{
    int rc = onnx_write(&j->w, to, &j->digest.sink);
    if (rc)
        return rc;
    sink_digest_text(&j->digest, digest);
    return 0;
}

static bool changed(const struct job *j, const char *digest)
{
    return j->tagged && (j->w.loose || strcmp(j->was.digest, digest) != 0);
}

static void warn_lost(const struct job *j)
{
    if (j->w.lost)
        diag_warn(j->d, "%" PRIu32 " entries of others that had given way to tags cannot be put back",
                  j->w.lost);
}

static void tell_copies(uint32_t n, const char *what, struct diag *d)
{
    if (n)
        diag_note(d, "%" PRIu32 " cop%s of functions %s", n, n == 1 ? "y" : "ies", what);
}

static void warn_size(uint64_t size, struct diag *d)
{
    if (size > READERS_MAX)
        diag_warn(d, "the output is over 2 GiB (%" PRIu64 " bytes): readers based on protobuf refuse it",
                  size);
}

/* Tags, and behind all else the model's entry: its text tells the digest of what has just been written. */
static int write_onnx(struct job *j, struct plan *p, const struct tag_options *o, struct sink *to)
{
    char digest[DIGEST_TEXT], *text, *zeros, *value;
    struct str entry;
    struct tag_options with = *o;
    if (j->tagged && !o->copies)
        with.copies = j->was.copies; /* still there */
    int rc = plan_meta_text(&text, &zeros, j->m, p, &with, &j->w.done, j->d);
    if (rc)
        return rc;
    rc = onnx_model_entry(&j->w, &entry, &value, STR_LIT(PLAN_META_KEY), str_of(text));
    if (rc == 0) {
        to->total = j->w.out.out_size + entry.n;
        warn_size(to->total, j->d);
        rc = job_write(j, to, digest);
    }
    if (rc == 0) {
        memcpy(value + (zeros - text), digest, DIGEST_TEXT - 1);
        rc = sink_put(to, entry.s, entry.n, SINK_NEW);
    }
    free(text);
    if (rc == 0)
        rc = to->finish(to);
    if (rc == 0 && changed(j, digest))
        diag_note(j->d, "the model was changed since it was tagged; its earlier tags are replaced");
    return rc;
}

static int tag_onnx(struct ir_model *m, struct plan *p, const struct annots *a, const struct tag_options *o,
                    struct sink *to, struct diag *d)
{
    struct job j;
    int rc = job_open(&j, m, a, o->set_ir_version, d);
    if (rc == 0)
        rc = write_onnx(&j, p, o, to);
    if (rc == 0)
        warn_lost(&j);
    job_close(&j);
    return rc;
}

static int strip_onnx(struct ir_model *m, struct sink *to, struct diag *d)
{
    struct job j;
    char digest[DIGEST_TEXT];
    int rc = job_open(&j, m, NULL, 0, d);
    if (rc == 0) {
        to->total = j.w.base.out_size;
        warn_size(to->total, d);
        rc = job_write(&j, to, digest);
    }
    if (rc == 0)
        rc = to->finish(to);
    if (rc == 0 && !j.tagged)
        rc = tell_untagged(m, d);
    if (rc == 0 && changed(&j, digest))
        diag_warn(d, "%s", changed_warning);
    if (rc == 0)
        warn_lost(&j);
    if (rc == 0 && j.tagged)
        tell_copies(j.was.copies, "from --specialize stay: these are not the original bytes", d);
    job_close(&j);
    return rc;
}

static int digest_onnx(struct ir_model *m, char out[DIGEST_TEXT], struct diag *d)
{
    struct job j;
    int rc = job_open(&j, m, NULL, 0, d);
    if (rc == 0)
        rc = job_write(&j, NULL, out);
    job_close(&j);
    return rc;
}

/* ---- .pt2 */

/* Does it carry tags of ours? 1 or 0, or a negative ir_err. */
static int tagged_pt2(struct ir_model *m, struct diag *d)
{
    struct plan_meta was;
    int rc = plan_meta_read(&was, m, d);
    plan_meta_free(&was);
    return rc;
}

/* The annotations with the model's own behind them. */
static int write_pt2(struct ir_model *m, bool tagged, const struct annots *a, const char *text,
                     struct sink *to, struct diag *d)
{
    struct annot *all = calloc(a->n + 1, sizeof *all);
    if (!all)
        return diag_nomem(d);
    if (a->n)
        memcpy(all, a->a, a->n * sizeof *all);
    all[a->n] = (struct annot){
        .node = ANNOT_MODEL, .kind = ANNOT_META, .key = STR_LIT(PLAN_META_KEY), .value = str_of(text)};
    int rc = pt2_write(m, tagged, &(struct annots){all, a->n + 1}, to, d);
    free(all);
    return rc;
}

static int tag_pt2(struct ir_model *m, struct plan *p, const struct annots *a, const struct tag_options *o,
                   struct sink *to, struct diag *d)
{
    char digest[DIGEST_TEXT], *text, *zeros;
    int tagged = tagged_pt2(m, d);
    int rc = tagged < 0 ? tagged : pt2_digest(m, tagged, digest, d);
    if (rc == 0)
        rc = plan_meta_text(&text, &zeros, m, p, o, NULL, d);
    if (rc)
        return rc;
    memcpy(zeros, digest, DIGEST_TEXT - 1);
    rc = write_pt2(m, tagged, a, text, to, d);
    free(text);
    return rc;
}

/* Is it what was tagged? Says so if it is not. */
static int compare_pt2(struct ir_model *m, const char *was, struct diag *d)
{
    char digest[DIGEST_TEXT];
    int rc = pt2_digest(m, true, digest, d);
    if (rc == 0 && strcmp(digest, was) != 0)
        diag_warn(d, "%s", changed_warning);
    return rc;
}

static int strip_pt2(struct ir_model *m, struct sink *to, struct diag *d)
{
    struct plan_meta was;
    int tagged = plan_meta_read(&was, m, d);
    int rc = tagged < 0 ? tagged : pt2_strip(m, tagged, to, d);
    if (rc == 0 && tagged)
        rc = compare_pt2(m, was.digest, d);
    else if (rc == 0)
        rc = tell_untagged(m, d);
    plan_meta_free(&was);
    return rc;
}

static int digest_pt2(struct ir_model *m, char out[DIGEST_TEXT], struct diag *d)
{
    int tagged = tagged_pt2(m, d);
    return tagged < 0 ? tagged : pt2_digest(m, tagged, out, d);
}

/* ---- whatever the format */

static void tell_neighbours(const struct plan *p, enum carrier c, struct diag *d)
{
    uint32_t n = 0, saved = 0;
    for (uint32_t i = 0; i < p->n_neighbours; i++) {
        bool written = !p->neighbours[i].bare || c == CARRIER_METADATA;
        n += written;
        saved += written && p->neighbours[i].policy == POLICY_SAVE;
    }
    diag_note(d, "%" PRIu32 " other node%s in blocks: %" PRIu32 " saved, %" PRIu32 " recomputed", n,
              n == 1 ? "" : "s", saved, n - saved);
}

int tag_write(struct ir_model *m, struct plan *p, const struct tag_options *o, struct sink *to,
              struct diag *d)
{
    struct annots a;
    int rc = o->all ? plan_neighbours(p, m, d) : 0;
    if (rc == 0)
        rc = plan_annotate(&a, p, o->all, o->carrier, d);
    if (rc)
        return rc;
    rc = m->format == IR_PT2 ? tag_pt2(m, p, &a, o, to, d) : tag_onnx(m, p, &a, o, to, d);
    if (rc == 0 && a.n == 0)
        diag_note(d, "no matmul is in a block: nothing but %s is written", PLAN_META_KEY);
    if (rc == 0)
        tell_copies(o->copies, "added: strip will not remove them", d);
    if (rc == 0 && o->all && p->n_neighbours)
        tell_neighbours(p, o->carrier, d);
    return rc;
}

int strip_write(struct ir_model *m, struct sink *to, struct diag *d)
{
    return m->format == IR_PT2 ? strip_pt2(m, to, d) : strip_onnx(m, to, d);
}

int tag_digest(struct ir_model *m, char out[DIGEST_TEXT], struct diag *d)
{
    return m->format == IR_PT2 ? digest_pt2(m, out, d) : digest_onnx(m, out, d);
}
