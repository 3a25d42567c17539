"""Honours a plan in PyTorch: the plan's decisions instead of a policy that counts while the model trains.

    plan = sactag.torch.plan(exported_program_or_path, fqns=["moe.router.gate"])
    model = sactag.torch.apply(model, plan)

Decisions are keyed by the ordinal of a matmul within the call of its block, and the shape of its right operand is compared with the
plan's row whenever it runs, also when it is re-run: a model that is not the one that was decided for raises MismatchError.
"""

from __future__ import annotations

import functools
import io
import os
import weakref
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple, Union

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from . import api
from .errors import MismatchError, UsageError
from .results import Plan, Row

aten = torch.ops.aten

# Names that wrappers put between a module and its children.
WRAPPERS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def _ops(names: Iterable[str]) -> FrozenSet[Any]:
    """The overloads of these names that this PyTorch has."""
    found = []
    for name in names:
        namespace, op = name.split("::")
        packet = getattr(getattr(torch.ops, namespace), op, None)
        if packet is not None:
            found.append(packet.default)
    return frozenset(found)


ATTENTION = _ops(
    f"aten::_scaled_dot_product_{kind}"
    for kind in ("efficient_attention", "flash_attention", "flash_attention_for_cpu", "cudnn_attention", "fused_attention_overrideable")
)
# What is saved besides matmuls. "seed": as in torchtitan when it got the option that sactag implements; "titan": also what its later
# list names, all that is expensive to run again and all that communicates.
SAVE_OPS: Dict[str, FrozenSet[Any]] = {
    "none": frozenset(),
    "seed": ATTENTION | _ops(["_c10d_functional::reduce_scatter_tensor", "aten::max"]),
    "titan": ATTENTION
    | _ops(
        [
            "aten::convolution",
            "aten::bmm",
            "aten::baddbmm",
            "aten::topk",
            "aten::max",
            "aten::_grouped_mm",
            "_c10d_functional::reduce_scatter_tensor",
            "_c10d_functional::all_to_all_single",
            "_c10d_functional::all_gather_into_tensor",
        ]
    ),
}


# A plan, or the path of a plan file.
PlanOrPath = Union[Plan, str, "os.PathLike[str]"]


class _Decision(NamedTuple):
    """A row as the policy sees it. It holds nothing of the block's name: equal blocks have equal rows."""

    op: str  # "mm", "addmm"; "": either, in a plan that was made by rule onnx
    k: Optional[int]
    n: Optional[int]
    save: bool
    text: str


def _decision(row: Row, rule: Optional[str]) -> _Decision:
    known = "(name not known)" if row.fqn is None else row.name
    text = f"{known} {row.rhs} {row.policy} ({row.reason})"
    if rule == "onnx":
        op = ""
    else:
        op = "addmm" if row.reason.split(";")[0] == "addmm" else "mm"
    return _Decision(op, row.rhs.k, row.rhs.n, row.policy == "save", text)


# One for each different call of the block.
_Calls = Tuple[Tuple[_Decision, ...], ...]


def _calls(plan: Plan, block: str) -> _Calls:
    plan.block(block)
    distinct = dict.fromkeys(tuple(_decision(row, plan.summary.mm_rule) for row in rows) for rows in plan.rows_of(block))
    return tuple(distinct)


class _Walk:
    """Follows one run of a block along its rows."""

    def __init__(self, calls: _Calls) -> None:
        self.calls = calls
        self.restart()

    def restart(self) -> None:
        self.count = 0
        # The calls of the block that this run may be: those with the same shapes so far.
        self.left = self.calls

    def step(self, op: str, rhs: Any) -> bool:
        """Whether the next matmul is saved."""
        i = self.count
        fits = [c for c in self.left if i < len(c) and c[i].op in ("", op) and _fits(c[i].k, rhs[0]) and _fits(c[i].n, rhs[1])]
        if not fits:
            raise MismatchError(self._mismatch(op, rhs))
        saves = {c[i].save for c in fits}
        if len(saves) > 1:
            raise MismatchError(
                f"matmul {i + 1} of the block: calls of the block with the same shapes are decided differently: "
                + " and ".join(sorted({c[i].text for c in fits}))
            )
        self.count, self.left = i + 1, tuple(fits)
        return saves.pop()

    def _mismatch(self, op: str, rhs: Any) -> str:
        i = self.count
        rows = sorted({c[i].text + (" as aten." + c[i].op if c[i].op else "") for c in self.left if i < len(c)})
        found = f"PyTorch runs aten.{op} with a right operand of {int(rhs[0])}x{int(rhs[1])}"
        if not rows:
            return f"matmul {i + 1} of the block: {found}, but the plan has only {i} rows for it"
        return f"matmul {i + 1} of the block: {found}, but row {i + 1} of the plan is {' or '.join(rows)}"

    def finish(self) -> None:
        if any(len(c) == self.count for c in self.left):
            return
        rows = sorted({c[self.count].text for c in self.left})
        raise MismatchError(
            f"the block ended after {self.count} matmuls, but row {self.count + 1} of the plan is {' or '.join(rows)}"
        )


def _fits(known: Optional[int], found: Any) -> bool:
    return known is None or known == found


# op -> (name, position of the right operand)
_MATMULS = {aten.mm.default: ("mm", 1), aten.addmm.default: ("addmm", 2)}
_REFUSED = _ops(["aten::_scaled_mm"])


def _policy(walks: Tuple[_Walk, _Walk], save_ops: FrozenSet[Any], ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    matmul = _MATMULS.get(op)
    if matmul is not None:
        # A DTensor's shape is the global one, as the policy of torchtitan sees it.
        saved = walks[bool(ctx.is_recompute)].step(matmul[0], args[matmul[1]].shape)
    elif op in _REFUSED:
        raise MismatchError(f"{op} is a matmul in fp8, of which plans know nothing: decide and apply before converting to fp8")
    else:
        saved = op in save_ops
    return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE


class _Region(TorchDispatchMode):
    """One of torch's two selective-checkpoint modes, with a walk that starts when the mode is entered."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __init__(self, inner: Any, walk: _Walk, whole: bool) -> None:
        super().__init__()
        self.inner, self.walk, self.whole = inner, walk, whole

    def __enter__(self) -> "_Region":
        self.walk.restart()
        super().__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        result = super().__exit__(kind, error, trace)
        if self.whole and kind is None:
            self.walk.finish()
        return result

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.inner.__torch_dispatch__(func, types, args, kwargs or {})


def _contexts(calls: _Calls, save: str) -> Tuple[_Region, _Region]:
    walks = (_Walk(calls), _Walk(calls))
    policy = functools.partial(_policy, walks, SAVE_OPS[save])
    forward, recompute = create_selective_checkpoint_contexts(policy)
    # Early stop may end a recomputation before its last matmul.
    return _Region(forward, walks[0], whole=True), _Region(recompute, walks[1], whole=False)


def _save_list(plan: Plan, save: Optional[str]) -> str:
    if save is None:
        save = "titan" if plan.options and plan.options.get("profile") == "titan" else "seed"
    if save not in SAVE_OPS:
        raise UsageError(f"save is {save!r}: expected one of {', '.join(SAVE_OPS)}")
    return save


def plan(model: Any, fqns: Union[str, Iterable[str]] = (), **options: Any) -> Plan:
    """As sactag.plan(), by rule `torch` unless another is given; takes a torch.export.ExportedProgram too."""
    if isinstance(model, torch.export.ExportedProgram):
        buffer = io.BytesIO()
        torch.export.save(model, buffer)
        model = buffer.getvalue()
    if "profile" not in options:
        options.setdefault("mm_rule", "torch")
    return api.plan(model, fqns, **options)


def context_fn(plan: PlanOrPath, block: str, *, save: Optional[str] = None) -> Callable[[], Tuple[Any, Any]]:
    """The `context_fn` of torch.utils.checkpoint.checkpoint and checkpoint_wrapper, for one block of the plan.

    `save` says what is saved besides matmuls: "seed", "titan" (the default of plans with that profile) or "none". The result
    is a functools.partial over the block's rows and not its name, so that torch.compile compiles equal blocks once."""
    plan = api.as_plan(plan)
    return functools.partial(_contexts, _calls(plan, block), _save_list(plan, save))


def clean_name(name: str) -> str:
    """A module's name without what wrappers put into it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def apply(model: torch.nn.Module, plan: PlanOrPath, *, save: Optional[str] = None, **checkpoint: Any) -> torch.nn.Module:
    """Wraps every block of the plan that the model holds (a pipeline stage holds some) so that it is checkpointed as planned.

    Returns the model: another one only when the model itself is the block. `checkpoint` goes to torch.utils.checkpoint:
    preserve_rng_state, determinism_check, ..."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper, checkpoint_wrapper

    def wrap(module: torch.nn.Module, block: str) -> torch.nn.Module:
        if any(isinstance(m, CheckpointWrapper) for m in module.modules()):
            raise UsageError(f"block {block!r} is checkpointed already, or holds a module that is")
        return checkpoint_wrapper(module, context_fn=context_fn(plan, block, save=save), **checkpoint)

    plan = api.as_plan(plan)
    blocks = [b.fqn for b in plan.blocks]
    if blocks == ["whole"]:
        return wrap(model, "whole")
    places: Dict[str, List[Tuple[torch.nn.Module, str]]] = {}
    modules = dict(model.named_modules(remove_duplicate=False))
    for name in modules:
        parent, _, last = name.rpartition(".")
        if name and last not in WRAPPERS:
            places.setdefault(clean_name(name), []).append((modules[parent], last))
    found = [block for block in blocks if block in places]
    if not found:
        raise UsageError(f"the model has none of the plan's blocks: {', '.join(blocks) or 'none'}")
    wrapped: Dict[int, torch.nn.Module] = {}  # one module may stand in several places
    for block in found:
        for parent, last in places[block]:
            module = getattr(parent, last)
            if id(module) not in wrapped:
                wrapped[id(module)] = wrap(module, block)
            parent.register_module(last, wrapped[id(module)])
    return model


# ---- FX graphs

# op -> (name, position of the right operand, whether the operand is transposed). Of a Linear's composite op, bias decides.
_FX = {
    aten.mm.default: ("mm", 1, False),
    aten.addmm.default: ("addmm", 2, False),
    aten.linear.default: ("linear", 1, True),
    aten.matmul.default: ("mm", 1, False),
}


def _rhs(node: Any, position: int, transposed: bool) -> Optional[Tuple[Any, Any]]:
    value = node.args[position].meta.get("val")
    if value is None or value.dim() != 2:
        return None
    return (value.shape[1], value.shape[0]) if transposed else (value.shape[0], value.shape[1])


def _is_backward(node: Any) -> bool:
    return node.meta.get("partitioner_tag") == "is_backward" or bool(node.meta.get("autograd_backward"))


def _module_path(node: Any) -> List[Tuple[str, str]]:
    """(key, name) of the modules that a node was called in, outermost first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [(str(key), clean_name(str(value[0]).replace("L['self'].", "").replace("L__self___", ""))) for key, value in stack.items()]


def regions(graph: torch.fx.Graph, plan: PlanOrPath) -> Dict[Any, Tuple[str, int]]:
    """Which call of which block each node of a graph belongs to; nodes outside blocks are left out. Calls are numbered as in the plan."""
    plan = api.as_plan(plan)
    blocks = {b.fqn for b in plan.blocks}
    found: Dict[Any, Tuple[str, int]] = {}
    keys: Dict[str, List[str]] = {}  # block: the keys of its calls
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        if blocks == {"whole"}:
            found[node] = ("whole", 0)
            continue
        for key, name in reversed(_module_path(node)):
            base = name.split("@")[0]
            if base in blocks:
                # A call beyond the first has "@N" in its key.
                calls = keys.setdefault(base, [])
                if key not in calls:
                    calls.append(key)
                found[node] = (base, calls.index(key))
                break
    return found


def policy_fn(plan: PlanOrPath) -> Callable[[torch.fx.Node], Optional[CheckpointPolicy]]:
    """The plan as a policy of nodes: for a torch.fx graph whose nodes know their modules (meta["nn_module_stack"]) and values
    (meta["val"]), as torch.export and make_fx leave them. None: the node is in no block.

    In the graph that the plan was made for (a .pt2), rows are found by the names of their nodes; in another one by their ordinal
    within the call of the block, which graphs that nodes hold (torch.cond, map) upset: then MismatchError. Who decides by nodes
    saves or recomputes such a node as a whole, so nodes inside it are not to be asked about."""
    plan = api.as_plan(plan)
    decided: "weakref.WeakKeyDictionary[torch.fx.Graph, Dict[Any, CheckpointPolicy]]" = weakref.WeakKeyDictionary()
    save_ops = SAVE_OPS[_save_list(plan, None)] | _ops(["aten::scaled_dot_product_attention"])

    def policy(node: torch.fx.Node) -> Optional[CheckpointPolicy]:
        graph = node.graph
        if graph not in decided:
            decided[graph] = _decide(graph, plan, save_ops)
        return decided[graph].get(node)

    return policy


def _rows_by_node(graph: torch.fx.Graph, plan: Plan) -> Optional[Dict[str, Row]]:
    """{name of a node: its row}, when every row of a block names a node of this graph, or lies in a graph that a node of it holds."""
    names = {node.name for node in graph.nodes}
    held = {str(node.target) for node in graph.nodes if node.op == "get_attr"}
    found: Dict[str, Row] = {}
    for row in plan.rows:
        if row.block is None:
            continue
        # "/2:higher_order.cond/true_graph_0/..."
        if not row.op.startswith("torch:") or (row.graph is None and row.node not in names):
            return None
        if row.graph is None:
            found[str(row.node)] = row
        elif not row.graph.startswith("/") or row.graph.split("/")[2] not in held:
            return None
    return found


def _decide(graph: torch.fx.Graph, plan: Plan, save_ops: FrozenSet[Any]) -> Dict[Any, CheckpointPolicy]:
    by_node = _rows_by_node(graph, plan)
    walks: Dict[Tuple[str, int], _Walk] = {}
    policies: Dict[Any, CheckpointPolicy] = {}
    for node, region in regions(graph, plan).items():
        if _is_backward(node):
            continue
        if node.target in _REFUSED:
            raise MismatchError(f"node {node.name}: {node.target} is a matmul in fp8, of which plans know nothing")
        if by_node is not None:
            row = by_node.get(node.name)
            saved = node.target in save_ops if row is None else row.policy == "save"
            _check_node(node, row)
        else:
            saved = _walk_to(node, region, plan, walks, save_ops)
        policies[node] = CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE
    for region, walk in walks.items():
        try:
            walk.finish()
        except MismatchError as error:
            raise MismatchError(f"{region[0]}#{region[1]}: {error}") from None
    return policies


def _check_node(node: Any, row: Optional[Row]) -> None:
    form = _FX.get(node.target)
    rhs = _rhs(node, *form[1:]) if form and row else None
    # A folded product has another rank in the graph: then there is nothing to compare.
    if row and rhs and not (_fits(row.rhs.k, rhs[0]) and _fits(row.rhs.n, rhs[1])):
        raise MismatchError(f"node {node.name} has a right operand of {rhs[0]}x{rhs[1]}, but its row of the plan is {row}")


def _walk_to(
    node: Any, region: Tuple[str, int], plan: Plan, walks: Dict[Tuple[str, int], _Walk], save_ops: FrozenSet[Any]
) -> bool:
    """Whether a node is saved, by its ordinal."""
    form = _FX.get(node.target)
    rhs = _rhs(node, *form[1:]) if form else None
    if form is None or rhs is None:
        return node.target in save_ops
    walk = walks.get(region)
    if walk is None:
        calls = plan.rows_of(region[0])
        if region[1] >= len(calls):
            raise MismatchError(f"node {node.name}: call {region[1]} of {region[0]}, which the plan does not have")
        walk = walks[region] = _Walk((tuple(_decision(row, plan.summary.mm_rule) for row in calls[region[1]]),))
    op = form[0]
    if op == "linear":
        bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
        op = "mm" if bias is None else "addmm"
    try:
        return walk.step(op, rhs)
    except MismatchError as error:
        raise MismatchError(f"{region[0]}#{region[1]}, node {node.name}: {error}") from None


def annotate(module: torch.fx.GraphModule, plan: PlanOrPath) -> torch.fx.GraphModule:
    """Writes the plan onto the nodes for AOTAutograd's partitioners: meta["recompute"], and the number of the region in
    meta["ac_graph_id"]. For torch.compile and aot_module_simplified."""
    plan = api.as_plan(plan)
    policy = policy_fn(plan)
    numbers: Dict[Tuple[str, int], int] = {}
    for node, region in regions(module.graph, plan).items():
        decided = policy(node)
        if decided is not None:
            node.meta["recompute"] = decided
            node.meta["ac_graph_id"] = numbers.setdefault(region, len(numbers))
    return module
