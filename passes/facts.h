/* Facts: what is known of each value before the program runs, by one forward pass over the walk.
 *
 * Per value: rank and dims; the elements of small integer tensors (shape arithmetic: Shape → Gather → Concat
 * → Reshape); the order in which its dimensions lie in memory when PyTorch ran it (Transpose makes a view,
 * and most elementwise operators keep their input's order), and whether it needs a gradient. The last two
 * decide which operator PyTorch ran.
 *
 * An operator that is not in the table gives outputs of which only value_info knows something; a wrong graph
 * gives unknowns, never an error. The graph is not changed. */
#ifndef SACTAG_PASSES_FACTS_H
#define SACTAG_PASSES_FACTS_H

#include "ir/bits.h"
#include "passes/walk.h"

/* An element of a small integer tensor that is not known. */
#define FACT_INT_UNKNOWN INT64_MIN

struct fact {
    uint32_t shape;    /* shape id; IR_SHAPE_UNKNOWN */
    uint32_t ints;     /* 1 + index into facts.ints of a count and that many elements; 0 = not known */
    uint32_t order;    /* shape id whose dims list the dimensions from slowest to fastest; 0 = contiguous */
    bool done : 1;     /* computed */
    bool grad : 1;     /* depends on a parameter through differentiable operators */
    bool fixed : 1;    /* depends on no graph input: the same every time the program runs */
    bool gaps : 1;     /* a slice of something larger: not dense, whatever its order */
    bool expanded : 1; /* repeated without a copy: its own order says nothing */
    bool guessed : 1;  /* order or gaps rest on an assumption that the file cannot confirm */
};

struct facts {
    const struct walk *w;
    const uint8_t *is_param; /* a bit per value: a parameter, or a graph input that is one by its name */
    struct fact *of;         /* per slot; NULL when sealed */
    uint8_t *fixed;          /* sealed: a bit per slot */
    int64_t *ints;
    size_t n_ints, cap_ints;
    bool no_memory; /* something is not known for want of memory alone */
    struct diag *d;
};

int facts_build(struct facts *f, const struct walk *w, const uint8_t *is_param, struct diag *d);
void facts_free(struct facts *f);

/* The fact of a use (resolved here). The unknown fact for a use of nothing. */
struct fact facts_get(const struct facts *f, struct use u);

/* Is it the same every time the program runs? */
static inline bool facts_fixed(const struct facts *f, struct use u)
{
    if (!f->fixed)
        return facts_get(f, u).fixed;
    return u.value != IR_NONE && bits_has(f->fixed, u.value);
}

/* Keeps of a flat walk only what facts_fixed() tells: facts_get() is not asked any more. 0 or IR_EMEM. */
int facts_seal(struct facts *f);

/* Would PyTorch have found it contiguous? */
bool fact_contiguous(const struct facts *f, struct fact x);

static inline const struct ir_shape *fact_shape(const struct facts *f, struct fact x)
{
    return &f->w->m->shapes[x.shape];
}

#endif
