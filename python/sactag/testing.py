"""For the tests of those who use plans: a plan against a golden file, and a plan against PyTorch."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Pattern, Tuple, Union

from . import api
from .results import Plan

UPDATE = "SACTAG_UPDATE_GOLDEN"


def assert_plan(
    model: Any, golden: "Union[str, os.PathLike[str]]", fqns: Union[str, Iterable[str]] = (), **options: Any
) -> None:
    """Decides for a model and compares with a golden plan file, JSON or tsv, by what the matmuls are, never by where they stand.

    Without options, a JSON golden's are taken. With SACTAG_UPDATE_GOLDEN=1 in the environment the file (JSON) is written instead."""
    path = pathlib.Path(golden)
    if os.environ.get(UPDATE):
        old = api.load_plan(path).options if path.exists() and not (fqns or options) else None
        api.plan(model, **(old or {"fqns": fqns, **options})).save(path)
        return
    if not path.exists():
        raise AssertionError(f"{path} is missing: run once with {UPDATE}=1 to write it")
    found = api.diff(path, model, fqns, **options)
    if found:
        raise AssertionError(f"the plan is not the one of {path} ({UPDATE}=1 writes it anew):\n{found}")


class Ran(NamedTuple):
    """A matmul that PyTorch ran in a block, and what its policy said."""

    op: str
    rhs: Tuple[int, int]
    policy: str

    def __str__(self) -> str:
        return f"aten.{self.op} {self.rhs[0]}x{self.rhs[1]} {self.policy}"


def _glob(pattern: str) -> Pattern[str]:
    """A glob over FQNs as docs/POLICY.md has it: `*` stays in its segment, `**` does not."""
    meaning = {"**": ".*", "*": r"[^.]*", "?": r"[^.]"}
    return re.compile("".join(meaning.get(t) or re.escape(t) for t in re.findall(r"\*\*|.", pattern, re.DOTALL)), re.DOTALL)


def _forced(block: str, linears: Dict[str, Tuple[int, int]], options: Dict[str, Any]) -> set:
    """The shapes (in, out) that the options force in a block: the rule in PyTorch's words, without the library."""
    shapes = {tuple(s) for s in options.get("force_shapes", ())}
    for name, shape in linears.items():
        inside = block == "whole" or name.startswith(block + ".")
        relative = name if block == "whole" else name[len(block) + 1 :]
        for wanted in options.get("fqns", ()):
            if options.get("match") == "substring":
                hit = wanted in name
            elif options.get("match") == "glob":
                hit = any(_glob(wanted).fullmatch(n) for n in (name, relative))
            else:
                hit = wanted in (name, relative)
            if inside and hit:
                shapes.add(shape)
    return shapes


def torch_decisions(
    model: Any, plan: Plan, *inputs: Any, linears: Optional[Dict[str, Tuple[int, int]]] = None, **kwargs: Any
) -> Dict[Tuple[str, int], List[Ran]]:
    """One real step of the model, forward and backward, with selective checkpointing by a policy that counts, as torchtitan's does:
    what it decided, per call of each block of the plan. Gradients and random state are left as they were."""
    import functools

    import torch
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    from .torch import _MATMULS, clean_name

    options = plan.options or {}
    addmm = "save" if options.get("profile") == "titan" else "recompute"
    both = plan.summary.mm_rule == "onnx"
    blocks = [b.fqn for b in plan.blocks]
    modules = {clean_name(n): m for n, m in model.named_modules(remove_duplicate=False)}
    if linears is None:
        # A module that stands in two places has one name here, its first.
        linears = {
            clean_name(n): (m.in_features, m.out_features) for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)
        }
    found: Dict[Tuple[str, int], List[Ran]] = {}
    runs = dict.fromkeys(blocks, 0)

    def contexts(block: str) -> Any:
        forced = _forced(block, linears, options)
        counts = {False: 0, True: 0}
        ran = found.setdefault((block, runs[block]), [])
        runs[block] += 1

        def policy(ctx: Any, op: Any, *args: Any, **kw: Any) -> Any:
            name, position = _MATMULS.get(op, ("", 0))
            if not name:
                return CheckpointPolicy.PREFER_RECOMPUTE
            rhs = tuple(int(d) for d in args[position].shape)
            if name == "addmm" and not both:
                decided = addmm
            elif rhs in forced:
                decided = "recompute"
            else:
                counts[ctx.is_recompute] += 1
                decided = "save" if counts[ctx.is_recompute] % 2 else "recompute"
            if not ctx.is_recompute:
                ran.append(Ran(name, rhs, decided))
            return CheckpointPolicy.MUST_SAVE if decided == "save" else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    kept = {p: p.grad for p in model.parameters()}
    replaced = []
    cuda = list(range(torch.cuda.device_count()))
    try:
        for block in blocks:
            module = model if block == "whole" else modules.get(block)
            if module is not None:
                forward = module.forward
                replaced.append(module)
                module.forward = functools.partial(
                    checkpoint, forward, use_reentrant=False, context_fn=functools.partial(contexts, block)
                )
        with torch.random.fork_rng(cuda), torch.enable_grad():
            outputs = torch.utils._pytree.tree_leaves(model(*inputs, **kwargs))
            losses = [t.float().sum() for t in outputs if isinstance(t, torch.Tensor) and t.requires_grad]
            if losses:
                torch.stack([loss.to(losses[0].device) for loss in losses]).sum().backward()
    finally:
        for module in replaced:
            del module.forward
        for p, grad in kept.items():
            p.grad = grad
    return found


def assert_matches_torch(
    model: Any, plan: Plan, *inputs: Any, linears: Optional[Dict[str, Tuple[int, int]]] = None, **kwargs: Any
) -> None:
    """One real step of the model in PyTorch must decide as the plan does; the first row that differs is shown.

    `model` is not wrapped yet. `linears` ({fqn: (in, out)}) replaces what is found by type, nn.Linear."""
    found = torch_decisions(model, plan, *inputs, linears=linears, **kwargs)
    if not found:
        raise AssertionError("PyTorch ran none of the plan's blocks")
    seen = {block for block, _ in found}
    for block in plan.blocks:
        if block.fqn not in seen:
            continue  # of another pipeline stage
        calls = plan.rows_of(block.fqn)
        ran = [found[key] for key in sorted(found) if key[0] == block.fqn]
        if len(calls) != len(ran):
            raise AssertionError(f"{block.fqn}: the plan has {len(calls)} calls, PyTorch made {len(ran)}")
        for number, (rows, call) in enumerate(zip(calls, ran)):
            for i in range(max(len(rows), len(call))):
                row = rows[i] if i < len(rows) else None
                did = call[i] if i < len(call) else None
                if row is None or did is None or row.policy != did.policy or any(
                    known not in (None, d) for known, d in zip(row.rhs, did.rhs)
                ):
                    raise AssertionError(
                        f"{block.fqn}#{number}, matmul {i + 1}: the plan says {row or 'that there is none'}; PyTorch ran {did or 'none'}"
                    )
