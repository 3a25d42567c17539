/* sactag: selective activation checkpointing, decided ahead of time and written onto an exported graph.
 *
 *     sactag_model *m;  sactag_plan *p;  sactag_diag *d = sactag_diag_new();
 *     struct sactag_options opt;
 *     sactag_options_init(&opt);
 *     const char *fqns[] = {"moe.router.gate"};
 *     opt.fqns = fqns, opt.n_fqns = 1;
 *     if (sactag_open(&m, "model.onnx", NULL, d) == 0 && sactag_decide(&p, m, &opt, d) == 0)
 *         sactag_tag_file(m, p, "tagged.onnx", NULL, d);
 *
 * Conventions. Functions that can fail return 0 or one negative enum sactag_status; the out-parameter comes
 * first and is NULL after a failure. What went wrong, and where, is in the diag object. Getters return
 * borrowed pointers that live as long as the object they came from. Nothing is global: different models may
 * be used from different threads at the same time; one model, with its plans and diag, from one thread at a
 * time. The library never prints, never exits and installs no signal handlers. Pointers must point to
 * something, but where NULL is said to be allowed; a list of 0 elements may be NULL.
 *
 * Files are mapped, never copied to memory. If another process truncates a file while it is mapped, the
 * kernel sends SIGBUS: a program that cannot rule that out installs a handler (as the command line does) or
 * uses sactag_open_buffer. What is cut off within the file's last page reads as zeros, without a signal:
 * opening, deciding and writing look for that at their end, and fail with SACTAG_EIO.
 *
 * What is cited as POLICY.md, TAGS.md and FORMATS.md lies in docs/ beside the sources: the rules with
 * where each comes from, what is written on a graph, and the columns, escapes and exit codes. */
#ifndef SACTAG_H
#define SACTAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SACTAG_VERSION_MAJOR 0
#define SACTAG_VERSION_MINOR 1
#define SACTAG_VERSION_PATCH 0
#define SACTAG_VERSION       "0.1.0"

/* Version of the library that is linked, as "major.minor.patch". */
const char *sactag_version(void);

/* ---- results ---- */

enum sactag_status {
    SACTAG_OK = 0,
    SACTAG_EUSAGE = -2,  /* an argument that makes no sense: an unknown option value, a bad pattern */
    SACTAG_EPOLICY = -3, /* a configured FQN is no Linear or cannot be told; with `strict`, names nothing;
                            a pattern of `blocks` names nothing; bodies whose calls disagree; a plan made for
                            another graph */
    SACTAG_EINPUT = -4,  /* input that is malformed, over a limit, or unsafe */
    SACTAG_EIO = -5,     /* reading or writing failed */
    SACTAG_EMEM = -6     /* memory ran out */
};

/* The command line's exit code for a status: 0, or 2 to 5 (SACTAG_EMEM is 5 too). */
int sactag_exit_code(int status);

/* Text that may hold any byte and is not NUL-terminated, since it lies in the model: print it by
 * sactag_escape(), or by printf("%.*s", SACTAG_ARG(text)). {NULL, 0} = absent. */
struct sactag_text {
    const char *s;
    size_t n; /* bytes */
};
#define SACTAG_ARG(t) (int)((t).n > 0x7fffffff ? 0x7fffffff : (t).n), ((t).s ? (t).s : "")

/* ---- diagnostics ---- */

typedef struct sactag_diag sactag_diag;

enum sactag_level { SACTAG_ERROR, SACTAG_WARNING, SACTAG_NOTE, SACTAG_DEBUG };

struct sactag_message {
    enum sactag_level level;
    int status;        /* enum sactag_status of an error, else 0 */
    const char *text;  /* one line, printable: names in it are escaped */
    const char *node;  /* node concerned, or NULL */
    const char *field; /* field path in the input, or NULL */
    uint64_t offset;   /* byte offset in the input, UINT64_MAX if there is none */
};

/* To be freed; NULL when memory is exhausted. Every function accepts NULL for its diag: then nothing is
 * recorded. */
sactag_diag *sactag_diag_new(void);
void sactag_diag_free(sactag_diag *d); /* NULL is allowed */
size_t sactag_diag_count(const sactag_diag *d);
/* The i-th message, oldest first; i < count. Its text lives until the diag is cleared or freed. */
struct sactag_message sactag_diag_get(const sactag_diag *d, size_t i);
void sactag_diag_clear(sactag_diag *d);
/* Messages that were not kept: past a thousand warnings and notes, or for want of memory. */
size_t sactag_diag_dropped(const sactag_diag *d);
/* A message with its place, "expected X but found Y (node 'n', offset 12)". Like snprintf: writes at most
 * `cap` bytes with the NUL, returns the length the whole needs. */
size_t sactag_message_text(char *out, size_t cap, const struct sactag_message *m);
/* The first error's text with its place, "" if there is none. Lives until the next call on this diag. */
const char *sactag_diag_error(const sactag_diag *d);

/* ---- models ---- */

/* Bounds on what a hostile file can make us do. Past one: SACTAG_EINPUT. 0 in a field means the default. */
#define SACTAG_MAX_DEPTH       64 /* graphs nested in graphs; torch.export nests fewer than 10 */
#define SACTAG_MAX_NODES       UINT64_C(50000000) /* in all graphs; numbers of nodes are 32 bits */
#define SACTAG_MAX_STEPS       UINT64_C(50000000) /* nodes after expanding calls of functions: calls multiply */
/* Memory of the graph ≤ this × bytes of the graph without tensors, plus a base, so that small files are never
 * refused; as much again for a plan, and for making one. */
#define SACTAG_MEMORY_PER_BYTE 32
#define SACTAG_MEMORY_BASE     (64u << 20)

struct sactag_limits {
    uint32_t max_depth;
    uint64_t max_nodes;
    uint64_t max_steps;
    uint64_t max_memory; /* bytes; 0: by SACTAG_MEMORY_PER_BYTE and _BASE */
};

typedef struct sactag_model sactag_model;

/* Opens a model file; the format is told by content, never by name. The file is mapped and must not change
 * while the model is open. limits may be NULL. SACTAG_EIO: cannot be opened or mapped (not a regular file:
 * see sactag_open_fd). SACTAG_EINPUT: not a model, malformed, over a limit. SACTAG_EMEM. */
int sactag_open(sactag_model **out, const char *path, const struct sactag_limits *limits, sactag_diag *d);

/* The same from a descriptor, which stays the caller's. What is not a regular file is first copied to an
 * unlinked temporary file in TMPDIR. `name` is for messages. */
int sactag_open_fd(sactag_model **out, int fd, const char *name, const struct sactag_limits *limits,
                   sactag_diag *d);

/* The same from memory, which must outlive the model and is never written to. */
int sactag_open_buffer(sactag_model **out, const void *bytes, size_t n, const struct sactag_limits *limits,
                       sactag_diag *d);

/* Frees the model. Its plans must be freed before. NULL is allowed. */
void sactag_close(sactag_model *m);

struct sactag_info {
    const char *format; /* "onnx" or "pt2" */
    int64_t ir_version; /* 0 if absent */
    struct sactag_text producer, producer_version;
    int64_t opset;      /* version of ai.onnx, 0 if absent */
    uint64_t bytes;     /* size of the input */
    uint64_t nodes;     /* in all graphs */
    uint64_t graphs;    /* main, nested and functions */
    bool tagged;        /* carries sac.plan */
    bool external_data; /* tensors in other files */
};
void sactag_get_info(const sactag_model *m, struct sactag_info *out);

/* XXH3-128, canonical (big-endian) hex with a NUL, of the model without its tags and without tensor data: the
 * same for a model, the tagged model and the stripped one (TAGS.md 4). Never reads weights. Works on a tagged
 * model. */
int sactag_digest(sactag_model *m, char out[33], sactag_diag *d);

/* ---- policy options ---- */

enum sactag_match { SACTAG_MATCH_DEFAULT, SACTAG_MATCH_EXACT, SACTAG_MATCH_SUBSTRING, SACTAG_MATCH_GLOB };
enum sactag_mm_rule { SACTAG_MM_DEFAULT, SACTAG_MM_ONNX, SACTAG_MM_TORCH };
enum sactag_profile { SACTAG_PROFILE_NONE, SACTAG_PROFILE_TITAN };
enum sactag_order { SACTAG_ORDER_AUTO, SACTAG_ORDER_FILE };

struct sactag_shape {
    int64_t k, n; /* rows (in) and columns (out) of a matmul's right operand; -1 = not known */
};

/* POLICY.md 2. Strings are borrowed during the call only. */
struct sactag_options {
    const char *const *fqns; /* module names whose Linears' shapes are forced to recompute */
    size_t n_fqns;
    const struct sactag_shape *force_shapes; /* shapes forced in every block */
    size_t n_force_shapes;
    enum sactag_match match;   /* default: exact; substring under profile titan */
    const char *const *blocks; /* patterns of full FQNs, `*` = one segment; {"whole"}; {"auto"} or none */
    size_t n_blocks;
    enum sactag_mm_rule mm_rule; /* default: onnx for ONNX, torch for .pt2 and profile titan */
    enum sactag_profile profile;
    enum sactag_order order;   /* auto: recover execution order where a tool reordered the nodes */
    const char *const *mm_ops; /* further ops that are mms: "domain:Op" or "Op", rhs = input 1 */
    size_t n_mm_ops;
    bool strict;     /* a configured FQN that matches nothing is an error */
    bool specialize; /* clone functions whose calls decide differently; stripping leaves the clones */
};

/* Defaults; always call it, so that fields added later are set. */
void sactag_options_init(struct sactag_options *o);

/* ---- plans ---- */

enum sactag_policy { SACTAG_NONE, SACTAG_SAVE, SACTAG_RECOMPUTE };
/* By what an mm's module is known, strongest first (POLICY.md 3). */
enum sactag_evidence {
    SACTAG_EV_NONE,     /* it is not known */
    SACTAG_EV_PARAM,    /* the weight's name */
    SACTAG_EV_METADATA, /* what the exporter noted on the node */
    SACTAG_EV_SCOPE,    /* the node's name */
    SACTAG_EV_BIAS,     /* the bias's name */
    SACTAG_EV_NEIGHBOUR /* its block alone is known, from the nodes around it */
};

/* "none" / "save" / "recompute", and "-" / "param" / ... */
const char *sactag_policy_name(enum sactag_policy p);
const char *sactag_evidence_name(enum sactag_evidence e);

/* One mm in execution order: the columns of docs/FORMATS.md. */
struct sactag_row {
    uint32_t index;            /* in its own graph's node list */
    struct sactag_text graph;  /* "-", or the path of the graph */
    struct sactag_text node;   /* name; may be empty */
    struct sactag_text output; /* name of output 0 */
    struct sactag_text op;     /* "MatMul", "com.microsoft:FusedMatMul" */
    struct sactag_text block;  /* its FQN, "whole" when the graph is one block; absent outside blocks */
    uint32_t block_index;      /* of that block among the plan's, UINT32_MAX outside blocks */
    uint32_t call;             /* which call of the block, from 0 */
    struct sactag_text fqn;    /* module, absent if unknown */
    enum sactag_evidence evidence;
    struct sactag_shape rhs;
    enum sactag_policy policy;
    struct sactag_text reason; /* "forced:64x8:moe.router.gate", "odd:3", ... */
};

/* A shape that a block forces. */
struct sactag_forced {
    struct sactag_shape rhs;
    struct sactag_text fqn;  /* the configured FQN that put it there, absent for force_shapes */
    struct sactag_text also; /* relative FQNs of the other Linears it forces, comma-separated; may be empty */
};

struct sactag_block {
    struct sactag_text fqn; /* "whole" when the graph is one block */
    uint32_t calls;
    uint32_t saved, recomputed, forced_rows; /* over all calls */
    const struct sactag_forced *forced;
    size_t n_forced;
};

/* One Linear of the model. */
struct sactag_linear {
    struct sactag_text fqn;    /* absent if unknown */
    struct sactag_text weight; /* name of the parameter, absent if unknown */
    int64_t in, out;           /* features; -1 = not known */
    struct sactag_text block;  /* absent outside blocks */
    enum sactag_evidence evidence;
};

struct sactag_summary {
    uint32_t rows, saved, recomputed, forced, addmm, outside;
    uint32_t evidence[6];  /* rows per enum sactag_evidence */
    uint32_t rules_differ; /* rows that the other mm rule would decide differently or not list */
    uint32_t assumed;      /* rows whose reason carries an assumption */
    enum sactag_mm_rule mm_rule;
    const char *blocks_how; /* "given", "auto", "whole" */
    const char *carrier; /* of tags that were read: "metadata", "attribute", "popart"; NULL for a decision */
};

typedef struct sactag_plan sactag_plan;

/* Decides (POLICY.md 2 and 3). The plan borrows from the model. o NULL: the defaults. SACTAG_EUSAGE: options.
 * SACTAG_EPOLICY: see there. SACTAG_EINPUT: the graph is not one (cyclic, not SSA). SACTAG_EMEM. */
int sactag_decide(sactag_plan **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d);

/* What the tags of a tagged model say: the rows that carry a tag, as far as tags tell (FORMATS.md: `show`);
 * with SACTAG_TAG_ALL also of nodes that are no mms. A model without tags gives a plan without rows. */
int sactag_read_tags(sactag_plan **out, sactag_model *m, sactag_diag *d);

void sactag_plan_free(sactag_plan *p); /* NULL is allowed */

/* What a plan holds; i is less than the count above each. Text is the plan's or its model's. */
size_t sactag_plan_count(const sactag_plan *p);
void sactag_plan_row(const sactag_plan *p, size_t i, struct sactag_row *out);
size_t sactag_plan_block_count(const sactag_plan *p);
void sactag_plan_block(const sactag_plan *p, size_t i, struct sactag_block *out);
size_t sactag_plan_linear_count(const sactag_plan *p);
void sactag_plan_linear(const sactag_plan *p, size_t i, struct sactag_linear *out);
void sactag_plan_summary(const sactag_plan *p, struct sactag_summary *out);

/* ---- writing ---- */

enum sactag_carrier { SACTAG_CARRIER_METADATA, SACTAG_CARRIER_ATTRIBUTE, SACTAG_CARRIER_POPART };
/* What becomes of external data when the output lies in another directory. */
enum sactag_external {
    SACTAG_EXTERNAL_REFUSE, /* nothing is written: SACTAG_EUSAGE */
    SACTAG_EXTERNAL_COPY,   /* copied, hard-linked or linked beside the output; never over a different file */
    SACTAG_EXTERNAL_HARDLINK,
    SACTAG_EXTERNAL_SYMLINK,
    SACTAG_EXTERNAL_KEEP /* left to the caller */
};
/* ALL: every node of a block gets a policy, the mms the same as with MM (docs/TAGS.md). */
enum sactag_scope { SACTAG_TAG_MM, SACTAG_TAG_ALL };

struct sactag_write_options {
    enum sactag_carrier carrier;
    enum sactag_scope tag;
    enum sactag_external external; /* of a model with external data, in another directory than its own */
    bool no_sync;                  /* do not flush to disk before the rename */
    int64_t set_ir_version;        /* 0: leave it as it is; up to INT32_MAX; of a .pt2 a warning alone */
    /* Called now and then with the bytes written so far and in all; may be NULL. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Called with the path of the temporary file just before it is made, and with NULL when it is gone, so
     * that a signal handler can remove it; may be NULL. The path may not exist yet, or not any more. */
    void (*temporary)(void *ctx, const char *path);
    void *temporary_ctx;
};
/* Defaults; always call it, so that fields added later are set. Where a function takes these options, NULL
 * means the defaults. */
void sactag_write_options_init(struct sactag_write_options *w);

/* Writes the model with the plan's tags. Tags from an earlier run are replaced, so the result is the same as
 * from the untagged model. Written to a temporary file in the directory of `path`, flushed, renamed: after
 * any failure the old file is untouched and no temporary file is left. `path` may be the model's own. A
 * symlink's target is replaced; what is not a regular file (a device, a FIFO) is written through.
 * SACTAG_EUSAGE: options; a plan of another model, or of tags; external data and another directory, with
 * SACTAG_EXTERNAL_REFUSE. SACTAG_EPOLICY: one node would have to carry two policies. SACTAG_EINPUT: tags that
 * cannot be replaced. SACTAG_EIO. SACTAG_EMEM. */
int sactag_tag_file(sactag_model *m, const sactag_plan *p, const char *path,
                    const struct sactag_write_options *w, sactag_diag *d);
/* Written through to a descriptor, beside which no external data can be put: with EXTERNAL_COPY, _HARDLINK or
 * _SYMLINK and a model that has some SACTAG_EUSAGE, as by sactag_tag_buffer(). */
int sactag_tag_fd(sactag_model *m, const sactag_plan *p, int fd, const struct sactag_write_options *w,
                  sactag_diag *d);
/* Into memory: *bytes is freed with free(). */
int sactag_tag_buffer(sactag_model *m, const sactag_plan *p, void **bytes, size_t *n,
                      const struct sactag_write_options *w, sactag_diag *d);

/* Removes what tagging added, and writes as the functions above do: the original bytes, but for functions
 * that were cloned (`specialize`), with a note. A model without sac.plan is written unchanged, with a note,
 * or with a warning when nodes carry tags all the same. SACTAG_EINPUT: sac.plan was written by a newer
 * version, or is there twice. Otherwise as above. */
int sactag_strip_file(sactag_model *m, const char *path, const struct sactag_write_options *w,
                      sactag_diag *d);
int sactag_strip_fd(sactag_model *m, int fd, const struct sactag_write_options *w, sactag_diag *d);
int sactag_strip_buffer(sactag_model *m, void **bytes, size_t *n, const struct sactag_write_options *w,
                        sactag_diag *d);

/* May a file of the caller's, such as a plan, be written to this path? SACTAG_EUSAGE: it is the model's
 * external data, which that would destroy. Functions that write the model look by themselves. SACTAG_EIO.
 * SACTAG_EMEM. */
int sactag_check_output(sactag_model *m, const char *path, sactag_diag *d);

/* ---- looking inside ---- */

/* Takes n bytes of text, which is not NUL-terminated; 0 to go on. */
typedef int (*sactag_put)(void *ctx, const char *text, size_t n);
/* Stable text of the IR; and Graphviz, coloured by the plan's policies (p may be NULL). put's non-zero return
 * stops, and is returned. SACTAG_EMEM. */
int sactag_dump_ir(sactag_model *m, sactag_put put, void *ctx, sactag_diag *d);
int sactag_dot(sactag_model *m, const sactag_plan *p, sactag_put put, void *ctx, sactag_diag *d);

/* ---- plan files ---- */

/* The plan as a JSON document (docs/FORMATS.md, docs/plan.schema.json): the graph's digest, the options, the
 * blocks with what they force, the rows. Of what sactag_read_tags() gave, a document "tags". `name`: the
 * model's, without folders, or NULL. put's non-zero return stops, and is returned. SACTAG_EUSAGE: the plan
 * was itself read from a file. SACTAG_EMEM. */
int sactag_plan_to_json(const sactag_plan *p, const char *name, sactag_put put, void *ctx, sactag_diag *d);

/* Reads a plan file back: a JSON document "plan" or "tags", or the tsv of `sactag plan` and `sactag show`;
 * told by content. The text may be freed then. The plan belongs to no model: it can be looked at, compared
 * (sactag_diff) and, when it was JSON, placed on a model (sactag_apply). A row whose policy its reason does
 * not explain was changed by hand: its reason is `manual`. SACTAG_EINPUT, with "line N, column N" in the
 * message: malformed, rows that miss a key, a node with two rows, a word that is no policy. SACTAG_EMEM. */
int sactag_plan_from_text(sactag_plan **out, const char *text, size_t n, sactag_diag *d);

/* Opens what may be either, told by content: a model (*m, as sactag_open() does) or a plan file (*p). The
 * other is NULL; after a failure both are. */
int sactag_open_either(sactag_model **m, sactag_plan **p, const char *path,
                       const struct sactag_limits *limits, sactag_diag *d);
int sactag_open_either_fd(sactag_model **m, sactag_plan **p, int fd, const char *name,
                          const struct sactag_limits *limits, sactag_diag *d);

/* The options that a plan was made with, complete: no default is left to choose. Lists and text are the
 * plan's. False when the plan does not know them (tags, tsv): then *out is sactag_options_init()'s. */
bool sactag_plan_options(const sactag_plan *p, struct sactag_options *out);

/* What a tagged model's tags say of each mm: the rows and names are those that the policy finds today; the
 * policies, reasons and regions are the tags' (without a region in the tag the policy's); an mm without a tag
 * has policy `none` and reason `untagged`. o NULL: the options that the model was tagged with. Not to be
 * written. Errors are those of sactag_decide(). */
int sactag_decide_tagged(sactag_plan **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d);

/* Places a plan file on a model: *out is a plan of `m` with the file's policies and reasons, to be written by
 * sactag_tag_file(). Without `rebase` the model must be the one that the plan was made for (digest), and each
 * mm must have its row. With it rows are matched as sactag_diff() does; warnings name the rows that could not
 * be placed, and mms without a row are decided by the plan's options. SACTAG_EUSAGE: `file` is no JSON plan.
 * SACTAG_EPOLICY: made for another graph; the options cannot be applied to it. SACTAG_EINPUT: a row names a
 * node that is not there, or an mm has none. SACTAG_EMEM. */
int sactag_apply(sactag_plan **out, sactag_model *m, const sactag_plan *file, bool rebase, sactag_diag *d);

/* ---- comparing ---- */

/* What became of an mm from plan a to plan b. */
enum sactag_change_kind {
    SACTAG_SAME,
    SACTAG_REASON, /* same decision, for another reason */
    SACTAG_CHANGED,
    SACTAG_ADDED,
    SACTAG_REMOVED
};

/* By what two rows were found to be the same mm, strongest first. */
enum sactag_matched {
    SACTAG_BY_NONE,      /* only in one of the plans */
    SACTAG_BY_FQN,       /* module and call */
    SACTAG_BY_NODE,      /* the node's name */
    SACTAG_BY_STRUCTURE, /* all that the node computes from: operators, attributes, shapes */
    SACTAG_BY_PLACE      /* between the same neighbours, with the same rhs */
};

/* What differs, as bits. Unknown differs from nothing. */
#define SACTAG_DIFFERS_POLICY 1u
#define SACTAG_DIFFERS_RHS    2u
#define SACTAG_DIFFERS_BLOCK  4u /* or the call of it */
#define SACTAG_DIFFERS_REASON 8u /* but for the count in odd:3 and even:4, and for assumptions */

struct sactag_change {
    enum sactag_change_kind kind;
    enum sactag_matched matched;
    unsigned differs;         /* SACTAG_DIFFERS_... */
    size_t a, b;              /* numbers of the rows; SIZE_MAX where there is none */
    struct sactag_text cause; /* "wq's shape 32x32 is now forced"; absent where no cause is visible */
};

struct sactag_change_summary {
    size_t same, reason, changed, added, removed;
    size_t matched[5]; /* by enum sactag_matched */
};

typedef struct sactag_changes sactag_changes;

/* "same", "reason", ... and "-", "fqn", "node", "structure", "place". */
const char *sactag_change_name(enum sactag_change_kind k);
const char *sactag_matched_name(enum sactag_matched m);

/* Compares two plans, whose rows are matched by what they are, never by index. Of a decision counts: policy,
 * rhs, block and call. Linear in the size of both plans (and models, where needed). SACTAG_EMEM. */
int sactag_diff(sactag_changes **out, const sactag_plan *a, const sactag_plan *b, sactag_diag *d);
void sactag_changes_free(sactag_changes *c); /* NULL is allowed */
/* In the order of plan b, what was removed where it was in a. */
size_t sactag_changes_count(const sactag_changes *c);
struct sactag_change sactag_changes_get(const sactag_changes *c, size_t i);
struct sactag_change_summary sactag_changes_summary(const sactag_changes *c);

/* ---- checking ---- */

enum sactag_problem_kind {
    SACTAG_NOT_TAGGED,    /* the model carries no tags at all */
    SACTAG_GRAPH_CHANGED, /* it is not the graph that was tagged, or that is not known any more; or sac.plan
                             lacks the regions that readers need */
    SACTAG_LOST,          /* an mm without its tag, or with one that means nothing; of a model that was
                             tagged with SACTAG_TAG_ALL any node of a block */
    SACTAG_STALE,         /* a tag that is not what the policy says today */
    SACTAG_CONTRADICTING, /* a tag that contradicts its own reason */
    SACTAG_UNKNOWN        /* a tag on a node that is no mm in a block; with ALL, on one outside all blocks */
};

struct sactag_problem {
    enum sactag_problem_kind kind;
    struct sactag_text text;  /* what is wrong, one line, escaped */
    struct sactag_text node;  /* the node's name; absent when it is about the model */
    struct sactag_text graph; /* its graph's path; absent when it is about the model */
    uint32_t index;           /* of the node in that graph */
};

typedef struct sactag_problems sactag_problems;

/* "not-tagged", "graph-changed", "lost", "stale", "contradicting", "unknown". */
const char *sactag_problem_name(enum sactag_problem_kind k);

/* Are the tags of a model there, complete, and what the policy says today? o NULL: the policy that the model
 * was tagged with. Tags that were set by hand (reason `manual`) need not be what the policy says: they
 * are counted, and are no problems. Finding problems is no error: errors are those of sactag_decide(). */
int sactag_check(sactag_problems **out, sactag_model *m, const struct sactag_options *o, sactag_diag *d);
void sactag_problems_free(sactag_problems *c); /* NULL is allowed */
size_t sactag_problems_count(const sactag_problems *c);
/* Tags that were set by hand and are not what the policy says. */
size_t sactag_problems_by_hand(const sactag_problems *c);
struct sactag_problem sactag_problems_get(const sactag_problems *c, size_t i);

/* The escapes of docs/FORMATS.md: \t \n \\ \xHH for bytes that would break a row or drive a terminal. Like
 * snprintf: writes at most `cap` bytes with the NUL, returns the length the whole needs. */
size_t sactag_escape(char *out, size_t cap, struct sactag_text in);

#ifdef __cplusplus
}
#endif

#endif
