"""Trains a tagged ONNX graph in PyTorch and honours its tags: consume_onnx.py TAGGED.onnx

A reader as docs/TAGS.md asks for: each region of sac.plan runs inside one selective checkpoint, whose policy is the tag of the node
that is being run. Prints what backward ran again, what was kept for it, and whether the gradients are those without tags.
Needs torch and onnx."""

import collections
import functools
import itertools
import json
import sys

import onnx
import torch
from onnx import helper, numpy_helper
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, set_checkpoint_early_stop

aten = torch.ops.aten
PRODUCTS = {aten.mm.default, aten.bmm.default, aten.addmm.default, aten.baddbmm.default}
HOLD_PRODUCTS = {"MatMul", "Gemm", "Einsum"}
POLICIES = {"save": CheckpointPolicy.MUST_SAVE, "recompute": CheckpointPolicy.PREFER_RECOMPUTE}
CARRIERS = {"attribute": ("__sac_policy", "__sac_region"), "metadata": ("sac.policy", "sac.region")}


def read_tags(model):
    """{output of a node: policy} and {output: number of its region}. A node without a tag belongs to the region whose values it uses."""
    plan = next((json.loads(e.value) for e in model.metadata_props if e.key == "sac.plan"), None)
    if plan is None or plan["version"] != 1 or plan["carrier"] not in CARRIERS:
        sys.exit("not tagged, or not in a way that is known here")
    key, region_key = CARRIERS[plan["carrier"]]
    number = {r["region"]: i for i, r in enumerate(plan["regions"])}
    policy, region = {}, {}
    for node in model.graph.node:
        tags = {e.key: e.value for e in node.metadata_props} | {a.name: a.s.decode() for a in node.attribute if a.name.startswith("__")}
        if key in tags:
            policy[node.output[0]], region[node.output[0]] = POLICIES[tags[key]], number[tags[region_key]]
    return policy, members(model.graph, plan["regions"], region)


def members(graph, regions, region):
    """Adds to `region` the untagged nodes: what lies on a way from the inputs of a region to its outputs."""
    maker = {o: node for node in graph.node for o in node.output}
    for i, r in enumerate(regions):
        stop, todo, seen = set(r["inputs"]), [*r["outputs"], *(o for o, n in region.items() if n == i)], set()
        while todo:
            value = todo.pop()
            if value in maker and value not in stop and value not in seen:
                seen.add(value)
                region.setdefault(maker[value].output[0], i)
                todo += maker[value].input
    return region


def slice_(x, starts, ends, axes=None, steps=None):
    where = [slice(None)] * x.dim()
    for i, axis in enumerate(range(len(starts)) if axes is None else axes.tolist()):
        where[axis] = slice(int(starts[i]), min(int(ends[i]), x.shape[axis]), 1 if steps is None else int(steps[i]))
    return x[tuple(where)]


def gather(x, index, axis=0):
    index = index % x.shape[axis]  # negative ones count from the end
    return torch.index_select(x, axis, index.reshape(-1)).reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return product if c is None else product + beta * c


def dropout(x, ratio=None, training=None, seed=0):
    """Random, but a region that is run again begins with the random state that it had; `seed` is that of one run alone."""
    return torch.native_dropout(x, 0.5 if ratio is None else float(ratio), bool(training))


def topk(x, k, axis=-1, largest=1, sorted=1):
    return torch.topk(x, int(k), axis, bool(largest), bool(sorted))


DTYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}
OPS = {
    "Abs": torch.abs, "Add": torch.add, "And": torch.logical_and, "Cast": lambda x, to: x.to(DTYPES[to]), "Clip": torch.clamp, "Concat": lambda *x, axis: torch.cat(x, axis),
    "Constant": lambda value: value, "ConstantOfShape": lambda s, value=torch.zeros(1): torch.full(s.tolist(), value.item(), dtype=value.dtype),
    "Cos": torch.cos, "Div": lambda x, y: x / y if x.is_floating_point() else x // y, "Dropout": dropout, "Equal": torch.eq, "Erf": torch.erf,
    "Einsum": lambda *x, equation: torch.einsum(equation.decode(), *x), "Expand": lambda x, s: x * torch.ones(s.tolist(), dtype=x.dtype), "Gather": gather, "Gemm": gemm, "Identity": lambda x: x,
    "GatherElements": lambda x, i, axis=0: torch.gather(x, axis, i), "Greater": torch.gt, "Less": torch.lt, "IsNaN": torch.isnan,
    "LayerNormalization": lambda x, w, b=None, axis=-1, epsilon=1e-5: torch.nn.functional.layer_norm(x, x.shape[axis:], w, b, epsilon),
    "MatMul": torch.matmul, "OneHot": lambda i, n, v, axis=-1: torch.where(torch.nn.functional.one_hot(i, int(n)).bool(), v[1], v[0]),
    "Mul": torch.mul, "Neg": torch.neg, "Pow": torch.pow, "Range": lambda a, b, s: torch.arange(int(a), int(b), int(s)),
    "ReduceMean": lambda x, axes, keepdims=1: x.mean(list(axes), keepdim=bool(keepdims)), "Relu": torch.relu,
    "ReduceSum": lambda x, axes, keepdims=1: x.sum(list(axes), keepdim=bool(keepdims)), "Reciprocal": torch.reciprocal,
    "Reshape": lambda x, s, allowzero=0: x.reshape([x.shape[i] if d == 0 else int(d) for i, d in enumerate(s)]), "Shape": lambda x: torch.tensor(x.shape),
    "Sigmoid": torch.sigmoid, "Sin": torch.sin, "Slice": slice_, "Softmax": lambda x, axis=-1: torch.softmax(x, axis), "Sqrt": torch.sqrt,
    "Split": lambda x, s, axis=0: torch.split(x, s.tolist(), axis), "Squeeze": lambda x, axes: x.squeeze(tuple(axes.tolist())), "Sub": torch.sub,
    "Tanh": torch.tanh, "TopK": topk, "Transpose": lambda x, perm: x.permute(*perm), "Tile": lambda x, r: x.repeat(*r.tolist()), "Trilu": lambda x, k=None, upper=1: (torch.triu if upper else torch.tril)(x, int(k or 0)),
    "Unsqueeze": lambda x, axes: functools.reduce(torch.unsqueeze, axes.tolist(), x), "Where": torch.where,
}  # fmt: skip


def tensor(proto):
    return torch.from_numpy(numpy_helper.to_array(proto).copy())


class Graph(torch.nn.Module):
    """Runs an ONNX graph, cut into the regions of its tags; `honour` says whether they are checkpointed."""

    def __init__(self, model):
        super().__init__()
        self.policy, self.region = read_tags(model)
        unknown = sorted({n.op_type for n in model.graph.node} - OPS.keys())
        if unknown:
            sys.exit(f"the graph has operators that this example does not know: {', '.join(unknown)}")
        self.outputs = [o.name for o in model.graph.output]
        self.weights = {}
        for i in model.graph.initializer:
            t = tensor(i)
            self.weights[i.name] = torch.nn.Parameter(t) if t.is_floating_point() else t
        self.params = torch.nn.ParameterList(w for w in self.weights.values() if isinstance(w, torch.nn.Parameter))
        self.inputs = [i.name for i in model.graph.input if i.name not in self.weights]
        self.honour, self.node = True, None
        self.attributes = {n.output[0]: self.attributes_of(n) for n in model.graph.node}
        self.parts = self.cut(model.graph.node)

    def cut(self, nodes):
        """[(region, nodes, values that enter, values that leave)]: neighbouring nodes of one region, or of none."""
        runs = [(at, list(run)) for at, run in itertools.groupby(nodes, lambda n: self.region.get(n.output[0]))]
        users = collections.Counter(i for n in nodes for i in n.input)
        parts = []
        for at, run in runs:
            made = {o for n in run for o in n.output}
            inside = collections.Counter(i for n in run for i in n.input)
            leave = [o for o in made if o in self.outputs or users[o] > inside[o]]
            parts.append((at, run, sorted({i for i in inside if i and i not in made}), sorted(leave)))
        return parts

    @staticmethod
    def attributes_of(node):
        found = {a.name: a for a in node.attribute if not a.name.startswith("__")}
        return {k: tensor(a.t) if a.type == a.TENSOR else helper.get_attribute_value(a) for k, a in found.items()}

    def forward(self, *inputs):
        values = {**self.weights, **dict(zip(self.inputs, inputs))}
        contexts = functools.partial(create_selective_checkpoint_contexts, self.decide)
        for at, nodes, enter, leave in self.parts:
            run, given = functools.partial(self.run, nodes, enter, leave), [values[i] for i in enter]
            if at is not None and self.honour:
                values.update(checkpoint(run, *given, use_reentrant=False, context_fn=contexts))
            else:
                values.update(run(*given))
        return [values[o] for o in self.outputs]

    def run(self, nodes, enter, leave, *entering):
        values = dict(zip(enter, entering))
        try:
            for node in nodes:
                self.node = node
                given = [values[i] if i else None for i in node.input]
                try:
                    out = OPS[node.op_type](*given, **self.attributes[node.output[0]])
                except TypeError as error:
                    sys.exit(f"node {node.name}: this example does not know this form of {node.op_type}: {error}")
                values.update(zip(node.output, out) if isinstance(out, tuple) else [(node.output[0], out)])
        finally:
            self.node = None  # also when checkpoint stops a recomputation early
        return {o: values[o] for o in leave}

    def decide(self, ctx, op, *args, **kwargs):
        """The tag of the node being run; where that has a product, for the product alone. All else in a region is run again."""
        wanted = self.node is not None and (op in PRODUCTS or self.node.op_type not in HOLD_PRODUCTS)
        return (self.policy.get(self.node.output[0]) if wanted else None) or CheckpointPolicy.PREFER_RECOMPUTE


class Meter(TorchDispatchMode):
    """Which nodes' products ran in forward and again in backward, and what forward leaves alive."""

    def __init__(self, graph):
        super().__init__()
        self.graph, self.backward, self.ran, self.made = graph, False, {False: [], True: []}, {}
        self.own = {t.untyped_storage()._cdata for t in graph.weights.values()}

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        node = self.graph.node
        if op in PRODUCTS and node is not None:
            self.ran[self.backward].append(node.output[0])
        for t in torch.utils._pytree.tree_leaves(out):
            if isinstance(t, torch.Tensor) and not self.backward and t.untyped_storage()._cdata not in self.own:
                self.made[t.untyped_storage()._cdata] = (StorageWeakRef(t.untyped_storage()), t.untyped_storage().nbytes())
        return out

    def alive(self):
        return sum(size for ref, size in self.made.values() if not ref.expired())


def step(graph, inputs, honour):
    torch.manual_seed(2)  # the same dropout in each
    graph.honour = honour
    graph.zero_grad()
    with Meter(graph) as meter:
        out = graph(*inputs)
        held = meter.alive()
        loss = sum(o.float().square().mean() for o in out if o.is_floating_point())
        meter.backward = True
        loss.backward()
    return loss.detach(), [p.grad for p in graph.params], meter.ran, held


def random_inputs(model, graph, limit=50):
    torch.manual_seed(1)
    for i in model.graph.input:
        if i.name in graph.inputs:
            shape = [d.dim_value or 2 for d in i.type.tensor_type.shape.dim]
            is_float = i.type.tensor_type.elem_type == 1
            yield torch.randn(shape) if is_float else torch.randint(0, limit, shape)


def main(path):
    model = onnx.load(path)
    graph = Graph(model)
    inputs = list(random_inputs(model, graph))
    loss, grads, ran, held = step(graph, inputs, False)
    with set_checkpoint_early_stop(False):
        loss_tags, grads_tags, ran_tags, held_tags = step(graph, inputs, True)
    tagged = [o for o in ran[False] if o in graph.policy]  # products; with --tag all other nodes have tags, too
    want = sorted(o for o in tagged if graph.policy[o] == CheckpointPolicy.PREFER_RECOMPUTE)
    again = sorted(o for o in ran_tags[True] if o in graph.policy)
    same = sum(a is b is None or torch.equal(a, b) for a, b in zip(grads, grads_tags))
    print(f"regions: {len({r for r in graph.region.values()})}; tags: {len(graph.policy)}; products: {len(tagged)} tagged, {len(want)} of them recompute")
    print(f"products in forward: {len(ran[False])}, of tagged nodes run again in backward: {len(again)}")
    print(f"run again is what is tagged recompute: {again == want}")
    print(f"held for backward: {held} bytes without tags, {held_tags} with")
    print(f"loss bit-identical: {torch.equal(loss, loss_tags)}; gradients bit-identical: {same} of {len(grads)}")
    return not (again == want and torch.equal(loss, loss_tags) and same == len(grads))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
