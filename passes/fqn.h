/* FQNs: what exporters make of module names, and back. Text only; knows no graph. */
#ifndef SACTAG_PASSES_FQN_H
#define SACTAG_PASSES_FQN_H

#include "ir/arena.h"
#include "ir/str.h"

enum param_kind {
    PARAM_NO_NAME, /* made up by a tool ("onnx::MatMul_11", "val_3", "/a/b/Cast_output_0"): tells nothing */
    PARAM_WEIGHT,  /* FQN.weight, (out, in) */
    PARAM_KERNEL, /* a weight kept as multiplied, (in, out): FQN.weight_transposed, TensorFlow's FQN/kernel */
    PARAM_BIAS,   /* FQN.bias */
    PARAM_OTHER   /* FQN.anything: a bare parameter of module FQN, or one of a reparametrised weight */
};

/* The module that a parameter's name belongs to, and what the parameter is to it. *fqn is cleaned
 * (fqn_clean), in the arena or a part of `name`; empty when the name has no module part. IR_EMEM when memory
 * is exhausted, else 0.
 *
 *     layers.0.wq.weight                             layers.0.wq   WEIGHT
 *     layers.0.wq.weight_quantized                   layers.0.wq   WEIGHT     suffixes that tools append
 *     model.layers.0.attn.q_proj.MatMul.weight       ...q_proj     KERNEL     a graph builder's name
 *     bert/encoder/layer_0/query/kernel:0            bert.encoder.layer_0.query  KERNEL
 *     fc_0.w_0                                       fc_0          KERNEL     PaddlePaddle
 *     layers.0.wn.parametrizations.weight.original1  layers.0.wn   OTHER      torch.nn.utils.parametrizations
 *     layers.0.wn.weight_v                           layers.0.wn   OTHER      torch.nn.utils.weight_norm */
int fqn_of_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a);

/* The same of a name that is known to be as torch gave it, FQN.weight: nothing is guessed. */
int fqn_of_exact_param(enum param_kind *kind, struct str *fqn, struct str name, struct arena *a);

/* A name that ends in ".weight" or ".bias": does fqn_of_param() read a tool's habit into it, where it may as
 * well mean what it says? "experts.a/b.weight", "experts.MatMul.weight". */
bool fqn_param_guessed(struct str name);

/* Has the name a dot or a slash, as those of parameters do? Most names are of values that nodes compute, and
 * have neither: they need not be looked at closely. */
bool fqn_may_be_param(struct str name);

/* Is this one of the parameters that a reparametrised Linear weight is computed from? */
ptrdiff_t fqn_parametrized(struct str name); /* where ".parametrizations." stands in it, or -1 */
bool fqn_is_reparam(struct str name);

/* Without the components that wrappers insert: _orig_mod, _fsdp_wrapped_module, _checkpoint_wrapped_module
 * anywhere, and module (DDP) in front. Returns `fqn` itself when there is nothing to remove. {NULL, 0} when
 * memory is exhausted (an FQN that was only wrappers gives a non-NULL empty text). */
struct str fqn_clean(struct str fqn, struct arena *a);
bool fqn_is_wrapper(struct str component);

/* Strict torch.export names modules by the Python expression that reaches them where it is not `self....`:
 *
 *     L['x'].encoder.layers[0]              encoder.layers.0
 *     getattr(L['fn'], '1').attn            1.attn
 *
 * The FQN of such an expression; `text` itself when it is none. {NULL, 0} when memory is exhausted. */
struct str fqn_of_source(struct str text, struct arena *a);

/* A module's own name, as exporters write it in a scope: the last component that is no number, with the
 * numbers after it. "layers.0" → "layers.0"; "layers.0.wq" → "wq"; "h.0.ff.0.0" → "ff.0.0". */
struct str fqn_unqualified(struct str fqn);

/* Parent module: all but the last component; empty at the top. */
struct str fqn_parent(struct str fqn);
struct str fqn_last(struct str fqn);

/* Is `fqn` inside module `outer` (strictly)? Everything but "" is inside "". */
bool fqn_inside(struct str fqn, struct str outer);
/* What follows "outer." */
struct str fqn_relative(struct str fqn, struct str outer);

/* No module lies this deep: names and scopes with more components tell nothing (and cost nothing). */
#define FQN_DEPTH_MAX 256
bool fqn_too_deep(struct str fqn); /* components end at a dot or a slash */

/* A number: digits only, at least one. */
bool fqn_is_number(struct str component);

/* A scope atom without the "_3" that TorchScript appends to a scope's last atom when the scope was used
 * before. Returns the whole atom when it has no such suffix. */
struct str atom_stem(struct str atom);

/* `*` matches within one component, `**` any number of components, `?` one character that is no dot. A longer
 * pattern matches nothing. *steps counts what matching takes: for each character the places of the pattern
 * that may be its own, so the product of both lengths at most. */
#define FQN_PATTERN_MAX 4096
bool fqn_glob(struct str pattern, struct str text, uint64_t *steps);
bool fqn_has_wildcard(struct str pattern);

#endif
