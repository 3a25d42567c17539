/* Graphs for tests of passes, written as text, and plans made of them.
 *
 * One statement a line; values without spaces; `#` at the start of a line is a comment.
 *
 *     ir 8 | producer NAME | opset DOMAIN VERSION      of the model; opset "-" is ai.onnx
 *     in x f32[2,?,64]                                 graph input; `in x` has no shape, ? is a symbolic dim
 *     param layers.0.wq.weight f32[64,64]              initializer without data
 *     param axes i64[2]{0,-1}                          initializer with data (i64 or bool)
 *     info y f32[2,64]                                 value_info
 *     out y                                            graph output
 *     y = MatMul(x,w)                                  node without a name
 *     /wq/MatMul: y = com.microsoft::FusedMatMul(x,w) transB=1 alpha=0.5 perm=[1,0] equation=`ij,jk->ik`
 *     c = Constant() value=i64[2]{2,-1}                a tensor; to=@dtype stands for a function's attribute
 *     y = MatMul(x,w) meta:KEY=`text`                  metadata_props of the node
 *     body then_branch ... end                         graph attribute of the node above
 *     function local::Linear(x,w) -> (y) attr,attr ... end        local::Linear:gpu is an overload
 *
 * Lists of operands and results are "a,b,,c"; an empty one is omitted. Shares no code with the library. */
#ifndef SACTAG_TESTS_GRAPH_BUILDER_H
#define SACTAG_TESTS_GRAPH_BUILDER_H

#include "passes/pass.h"
#include "tests/unit/pb.h"

/* A model, the options, and the plan that was made of both. */
struct bench {
    char *text; /* the graph's lines so far */
    size_t n_text, cap_text;
    struct pb bytes;
    struct diag d;
    struct ir_model m;
    bool read;
    struct policy_options o; /* exact, rule onnx, blocks auto */
    struct str lists[16];    /* what o's lists point to */
    uint32_t n_lists;
    struct mm_shape shapes[8];
    struct plan p;
    bool planned;
    struct state s; /* of bench_passes */
    bool passed;
    char *shown[64]; /* texts that were made for assertions */
    uint32_t n_shown;
};

/* The encoded model. */
struct pb graph_bytes(const char *text);

void bench_init(struct bench *b);
void bench_free(struct bench *b);

/* Appends lines. */
void bench_add(struct bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Options; lists are "a,b". */
void bench_fqns(struct bench *b, const char *list);
void bench_blocks(struct bench *b, const char *list);
void bench_mm_ops(struct bench *b, const char *list);
void bench_force(struct bench *b, int64_t k, int64_t n);

/* Reads the lines; the model must be good. bench_plan and bench_passes do it themselves. */
void bench_read(struct bench *b);
/* plan_make's result. May be called again with other options: messages start anew. */
int bench_plan(struct bench *b);
/* Runs the passes one by one up to and with `last`, and keeps their state in b->s. */
int bench_passes(struct bench *b, int (*last)(struct state *s));

/* Rows in execution order, one a line: "name fqn evidence rhs block#call policy reason"; "-" for nothing. The
 * name is the node's, else its first output's; one in another graph follows that graph's path and a space:
 * "fn:local:Linear|MatMul". */
const char *bench_rows(struct bench *b);
/* The chosen columns only, by letter, in this order: n name, f fqn, e evidence, s rhs, b block#call,
 * p policy, r reason. */
const char *bench_columns(struct bench *b, const char *columns);
/* "fqn weight in out block evidence" in the plan's order. */
const char *bench_linears(struct bench *b);
/* "fqn calls" of each block in the plan's order, one a line. */
const char *bench_block_list(struct bench *b);
/* "block: KxN (fqn)[ also a,b]" of each forced shape. */
const char *bench_forced(struct bench *b);
/* Values by name, "block#call: in a,b out c". */
const char *bench_regions(struct bench *b);
/* What --tag all says of nodes that are no mms, in file order: "output policy reason block#call[ shared][
 * bare]". */
const char *bench_neighbours(struct bench *b);
/* All messages of a level, one a line. */
const char *bench_messages(struct bench *b, enum diag_level level);

uint32_t bench_value(const struct bench *b, const char *name);

/* Compares texts and shows both when they differ. */
#define assert_text(found, want)                                                                             \
    do {                                                                                                     \
        const char *found_ = (found), *want_ = (want);                                                       \
        cr_assert(strcmp(found_, want_) == 0, "expected\n%s\nbut found\n%s", want_, found_);                 \
    } while (0)

/* Some message of the level contains `part`; none does. */
#define assert_says(b, level, part)                                                                          \
    cr_assert(strstr(bench_messages((b), (level)), (part)), "expected '%s' in\n%s", (part),                  \
              bench_messages((b), (level)))
#define assert_silent(b, level, part)                                                                        \
    cr_assert(!strstr(bench_messages((b), (level)), (part)), "did not expect '%s' in\n%s", (part),           \
              bench_messages((b), (level)))

/* The plan is made. */
#define assert_planned(b)                                                                                    \
    do {                                                                                                     \
        int rc_ = bench_plan(b);                                                                             \
        cr_assert_eq(rc_, 0, "%d: %s", rc_, bench_messages((b), DIAG_ERROR));                                \
    } while (0)

/* The plan is refused with this code and message. */
#define assert_refused(b, code, part)                                                                        \
    do {                                                                                                     \
        int rc_ = bench_plan(b);                                                                             \
        cr_assert_eq(rc_, (code), "expected %d but found %d", (int)(code), rc_);                             \
        assert_says((b), DIAG_ERROR, (part));                                                                \
    } while (0)

#endif
