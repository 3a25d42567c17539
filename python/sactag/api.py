"""The functions of the package. Each opens what it is given, does one thing, and closes everything."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union, overload

from . import _arguments, _ffi
from ._session import Session
from .errors import ArgumentError, UsageError, io_error
from .results import Diff, Info, Linear, Plan, Problem

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Unpack

    Path = Union[str, "os.PathLike[str]"]
    # A path, bytes, or an onnx.ModelProto (anything with SerializeToString).
    Model = Any

    class PolicyOptions(TypedDict, total=False):
        """What `sactag plan --help` explains, with the same names and values."""

        force_shapes: Iterable[Union[str, Tuple[int, int]]]
        match: str  # "exact", "substring", "glob"
        profile: str  # "titan"
        blocks: Union[str, Sequence[str]]  # patterns over full FQNs; "whole", "auto"
        mm_rule: str  # "onnx", "torch"
        mm_ops: Sequence[str]
        order: str  # "auto", "file"
        strict: bool
        specialize: bool


__version__ = "0.1.0"
_lib: Optional[ctypes.CDLL] = None


def _session() -> Session:
    global _lib
    if _lib is None:
        _lib = _ffi.load(__version__)
    return Session(_lib)


def _name(model: Any) -> Optional[str]:
    return os.path.basename(os.fsdecode(model)) if isinstance(model, (str, os.PathLike)) else None


def _options(fqns: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    given = _arguments.names("fqns", fqns)
    return {"fqns": given, **options} if given else dict(options)


def _read_text(path: Any) -> str:
    """A plan file as the library takes it."""
    try:
        with open(os.fsdecode(_arguments.path("plan", path)), "rb") as f:
            return f.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise io_error(error) from error


def _out(out: Any) -> Optional[bytes]:
    return None if out is None else _arguments.path("out", out)


def as_plan(plan: Any) -> Plan:
    """A plan, or the one in the file that a path names."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, (str, os.PathLike)):
        return load_plan(plan)
    raise ArgumentError(f"plan: expected a Plan or the path of a plan file, not {type(plan).__name__}")


def library_version() -> str:
    """Version of libsactag.so."""
    with _session() as s:
        return s.lib.sactag_version().decode()


def plan(model: "Model", fqns: "Union[str, Iterable[str]]" = (), **options: "Unpack[PolicyOptions]") -> Plan:
    """Decides, and writes nothing."""
    with _session() as s:
        handle = s.decide(s.open(model), _options(fqns, options))
        return s.plan(handle, s.json(handle, _name(model)))


def load_plan(path: "Path") -> Plan:
    """Reads a plan file: JSON, or the tsv of `sactag plan` and `sactag show`."""
    text = _read_text(path)
    with _session() as s:
        return s.plan(s.from_text(text), text)


def tags(model: "Model") -> Plan:
    """What the tags of a model say. A model without tags gives a plan without rows."""
    with _session() as s:
        handle = s.read_tags(s.open(model))
        return s.plan(handle, s.json(handle, _name(model)))


def linears(model: "Model", *, blocks: "Union[str, Sequence[str]]" = ()) -> Tuple[Linear, ...]:
    """Every Linear: the names that `fqns` can hold."""
    with _session() as s:
        return s.linears(s.decide(s.open(model), {"blocks": blocks}))


def digest(model: "Model") -> str:
    """32 hex digits, the same for a model, the tagged model and the stripped one. Never reads weights."""
    with _session() as s:
        out = ctypes.create_string_buffer(33)
        s.check(s.lib.sactag_digest(s.open(model), out, s.diag))
        return out.value.decode()


def info(model: "Model") -> Info:
    with _session() as s:
        return s.info(s.open(model))


@overload
def tag(model: "Model", fqns: "Union[str, Iterable[str]]" = ..., *, out: None = ..., **options: Any) -> bytes: ...
@overload
def tag(model: "Model", fqns: "Union[str, Iterable[str]]" = ..., *, out: "Path", **options: Any) -> pathlib.Path: ...
def tag(
    model: "Model",
    fqns: "Union[str, Iterable[str]]" = (),
    *,
    out: "Optional[Path]" = None,
    plan: "Union[Plan, Path, None]" = None,
    rebase: bool = False,
    carrier: str = "metadata",
    tag: str = "mm",
    external_data: str = "refuse",
    sync: bool = True,
    set_ir_version: Optional[int] = None,
    **options: "Unpack[PolicyOptions]",
) -> Union[bytes, pathlib.Path]:
    """Decides, and writes the tagged model: to the file `out`, which is returned, or else as bytes.

    `out` may be the model's own path. With `plan` (of plan() or load_plan(), or a plan file's path) nothing is decided: the plan is placed on the
    model, which must be the one that it was made for, or with `rebase` resemble it."""
    if plan is not None and (fqns or options):
        raise ArgumentError("give either a plan, or what to make one with")
    if _arguments.flag("rebase", rebase) and plan is None:
        raise UsageError("rebase: there is no plan to place: give one as plan")
    target, text = _out(out), None if plan is None else as_plan(plan).text
    write = {"carrier": carrier, "tag": tag, "external_data": external_data, "sync": sync, "set_ir_version": set_ir_version}
    with _session() as s:
        handle = s.open(model)
        if text is None:
            decided = s.decide(handle, _options(fqns, options))
        else:
            decided = s.place(handle, s.from_text(text), rebase)
        tagged = s.write("tag", (handle, decided), target, write)
    return pathlib.Path(os.fsdecode(target)) if target is not None else tagged or b""


@overload
def strip(model: "Model", *, out: None = ..., external_data: str = ..., sync: bool = ...) -> bytes: ...
@overload
def strip(model: "Model", *, out: "Path", external_data: str = ..., sync: bool = ...) -> pathlib.Path: ...
def strip(
    model: "Model", *, out: "Optional[Path]" = None, external_data: str = "refuse", sync: bool = True
) -> Union[bytes, pathlib.Path]:
    """Removes what tag() added: the original bytes."""
    target = _out(out)
    with _session() as s:
        stripped = s.write("strip", (s.open(model),), target, {"external_data": external_data, "sync": sync})
    return pathlib.Path(os.fsdecode(target)) if target is not None else stripped or b""


def _is_plan_file(model: Any) -> bool:
    """Whether a path leads to text that is no model: the library tells by content, this tells which of its functions to ask."""
    if not isinstance(model, (str, os.PathLike)):
        return False
    try:
        with open(_arguments.path("model", model), "rb") as f:
            head = f.read(16).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError:
        return False  # the library says what is wrong
    return head[:1] == b"{" or head.startswith(b"index\t")


def diff(a: "Union[Plan, Model]", b: "Union[Plan, Model]", fqns: "Union[str, Iterable[str]]" = (), **options: "Unpack[PolicyOptions]") -> Diff:
    """Compares plans, plan files and models; matmuls are matched by what they are, never by where they stand.

    A tagged model stands for its tags. An untagged one is decided by the options, or, when none are given, by those of the
    other side."""
    given = _options(fqns, options)
    with _session() as s:
        sides: List[Any] = [None, None]
        models: List[Any] = [None, None]
        for i, side in enumerate((a, b)):
            if isinstance(side, Plan):
                sides[i] = s.from_text(side.text)
            elif _is_plan_file(side):
                sides[i] = s.from_text(_read_text(side))
            else:
                models[i] = s.open(side)
                if s.info(models[i]).tagged:
                    sides[i] = s.decide_tagged(models[i], given)
        for i in (0, 1):
            if sides[i] is None:
                other = s._options(sides[1 - i]) if sides[1 - i] is not None and not given else None
                sides[i] = s.decide(models[i], given or other or {})
        return s.diff(*sides)


def check(model: "Model", fqns: "Union[str, Iterable[str]]" = (), **options: "Unpack[PolicyOptions]") -> Tuple[Problem, ...]:
    """What is wrong with the tags of a model: nothing, when they are there, complete, and what the policy says today. Without
    options, that is the policy it was tagged with."""
    with _session() as s:
        return s.problems(s.open(model), _options(fqns, options))
