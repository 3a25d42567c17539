"""What was decided, as plain data: it can be pickled, compared and printed, and holds nothing of the library."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple, Union

from . import _arguments
from .errors import Message, NoBlockError, io_error


class Shape(NamedTuple):
    """Of a matmul's right operand as multiplied: in x out of a Linear. None: not known."""

    k: Optional[int]
    n: Optional[int]

    def __str__(self) -> str:
        return "x".join("?" if d is None else str(d) for d in self)


@dataclass(frozen=True)
class Row:
    """One matmul in execution order. The attributes are the columns of `sactag plan --format tsv` (docs/FORMATS.md);
    what is `-` there is None."""

    index: int  # in its own graph's node list
    graph: Optional[str]  # None: the main graph
    node: Optional[str]
    output: Optional[str]
    op: str
    block: Optional[str]  # None outside blocks
    call: Optional[int]  # which call of the block, from 0
    fqn: Optional[str]
    evidence: Optional[str]
    rhs: Shape
    policy: str  # "save", "recompute", "none"
    reason: str

    @property
    def name(self) -> str:
        """The module relative to its block, or what else tells the node."""
        if self.fqn is None:
            return f"({self.node or self.output})"
        if self.block and self.fqn.startswith(self.block + "."):
            return self.fqn[len(self.block) + 1 :]
        return self.fqn

    @property
    def region(self) -> Optional[str]:
        """As in the tag sac.region: BLOCK#CALL."""
        return None if self.block is None else f"{self.block}#{self.call}"

    def __str__(self) -> str:
        where = self.region or "outside blocks"
        return f"{where} {self.name} {self.rhs} {self.policy} ({self.reason})"


@dataclass(frozen=True)
class Forced:
    """A shape that a block forces to be recomputed."""

    rhs: Shape
    fqn: Optional[str]  # the configured name; None: force_shapes
    also: Tuple[str, ...]  # other Linears of the block that have the shape


@dataclass(frozen=True)
class Block:
    fqn: str  # "whole" when the graph is one block
    calls: int
    saved: int
    recomputed: int
    forced_rows: int
    forced: Tuple[Forced, ...]


@dataclass(frozen=True)
class Linear:
    fqn: Optional[str]
    weight: Optional[str]
    in_: Optional[int]
    out: Optional[int]
    block: Optional[str]
    evidence: Optional[str]


@dataclass(frozen=True)
class Summary:
    rows: int
    saved: int
    recomputed: int
    forced: int
    addmm: int
    outside: int
    rules_differ: int
    assumed: int
    mm_rule: Optional[str]  # "onnx", "torch"; None: not known, as of tags
    blocks_how: Optional[str]  # "given", "auto", "whole"
    carrier: Optional[str]  # of tags that were read


@dataclass(frozen=True)
class Plan:
    """All decisions for one graph, each with its reason."""

    rows: Tuple[Row, ...]
    blocks: Tuple[Block, ...]
    linears: Tuple[Linear, ...]
    summary: Summary
    options: Optional[Dict[str, Any]]  # what it was made with, defaults included; None: not known, as of tags
    text: str = field(repr=False, compare=False)  # the plan file
    messages: Tuple[Message, ...] = field(default=(), repr=False, compare=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, fqn: str) -> Block:
        """The block of that name; NoBlockError, a KeyError."""
        for block in self.blocks:
            if block.fqn == fqn:
                return block
        raise NoBlockError(f"the plan has no block {fqn!r}; it has {', '.join(b.fqn for b in self.blocks) or 'none'}")

    def rows_of(self, block: str) -> Tuple[Tuple[Row, ...], ...]:
        """The rows of each call of a block."""
        calls: Dict[int, list] = {}
        for row in self.rows:
            if row.block == block:
                calls.setdefault(row.call or 0, []).append(row)
        return tuple(tuple(calls[c]) for c in sorted(calls))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the plan file: JSON, made to be kept in version control."""
        try:
            with open(_arguments.path("path", path), "wb") as f:
                f.write(self.text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise io_error(error) from error


@dataclass(frozen=True)
class Change:
    """What became of a matmul from plan a to plan b."""

    kind: str  # "same", "reason", "changed", "added", "removed"
    matched: Optional[str]  # "fqn", "node", "structure", "place"; None: only in one of them
    differs: Tuple[str, ...]  # of "policy", "rhs", "block", "reason"
    a: Optional[Row]
    b: Optional[Row]
    cause: Optional[str]

    def __str__(self) -> str:
        if self.a is None or self.b is None:
            return f"{self.kind}: {self.b or self.a}"
        text = f"{self.kind}: {self.a} -> {self.b}"
        return f"{text}: {self.cause}" if self.cause else text


@dataclass(frozen=True)
class Diff:
    """Changes between two plans, in the order of the second."""

    changes: Tuple[Change, ...]

    @property
    def same(self) -> bool:
        """No decision differs: policy, rhs, block and call. Reasons may."""
        return not self.changed

    @property
    def changed(self) -> Tuple[Change, ...]:
        return tuple(c for c in self.changes if c.kind not in ("same", "reason"))

    def __bool__(self) -> bool:
        """Whether anything differs, so that `if sactag.diff(a, b):` reads as it should."""
        return not self.same

    def __str__(self) -> str:
        return "\n".join(str(c) for c in self.changed) or "no decision differs"


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with the tags of a model."""

    kind: str  # "not-tagged", "graph-changed", "lost", "stale", "contradicting", "unknown"
    text: str
    node: Optional[str]
    graph: Optional[str]
    index: int


@dataclass(frozen=True)
class Info:
    format: str  # "onnx" or "pt2"
    ir_version: int
    producer: Optional[str]
    producer_version: Optional[str]
    opset: int
    bytes: int
    nodes: int
    graphs: int
    tagged: bool
    external_data: bool
