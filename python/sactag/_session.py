"""One call into the library: what it opens is closed, what it says becomes warnings or an exception."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import sys
import warnings
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _ffi
from ._arguments import CHOICES, choice, flag, ir_version, names, path, shapes, strings
from .errors import BY_STATUS, ArgumentError, Error, IOError_, Message, NotFoundError, SactagWarning
from .results import Block, Change, Diff, Forced, Info, Linear, Plan, Problem, Row, Shape, Summary

LEVELS = ("error", "warning", "note", "debug")
POLICIES = ("none", "save", "recompute")
DIFFERS = ("policy", "rhs", "block", "reason")
A_MODEL = "a model is a path, bytes or an onnx.ModelProto (of sactag.torch.plan also a torch.export.ExportedProgram)"
log = logging.getLogger("sactag")


def name_of(number: int, name: str, first: int) -> Optional[str]:
    return CHOICES[name][number - first] if number >= first else None


def options_struct(lib: Any, given: Dict[str, Any]) -> _ffi.Options:
    options = _ffi.Options()
    lib.sactag_options_init(byref(options))
    unknown = set(given) - {
        *("fqns", "force_shapes", "match", "blocks", "mm_rule", "profile", "order", "mm_ops", "strict", "specialize")
    }
    if unknown:
        raise ArgumentError(f"unknown option {sorted(unknown)[0]!r}")
    for key in ("fqns", "blocks", "mm_ops"):
        values = names(key, given.get(key))
        setattr(options, key, strings(key, values))
        setattr(options, "n_" + key, len(values))
    forced = shapes(given.get("force_shapes"))
    options.force_shapes = (_ffi.Shape * len(forced))(*forced)
    options.n_force_shapes = len(forced)
    options.match = choice("match", given.get("match"), 1)
    options.mm_rule = choice("mm_rule", given.get("mm_rule"), 1)
    options.profile = choice("profile", given.get("profile"), 1)
    options.order = choice("order", given.get("order"), 0)
    options.strict = flag("strict", given.get("strict"))
    options.specialize = flag("specialize", given.get("specialize"))
    return options


def _shape(s: _ffi.Shape) -> Shape:
    return Shape(*(None if d < 0 else d for d in (s.k, s.n)))


def _dash(text: Optional[str]) -> Optional[str]:
    return None if text in ("-", "") else text


def _decoded(raw: Optional[bytes]) -> Optional[str]:
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


class Session:
    """Used in a `with`: everything opened in it is closed at its end, plans before their models."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.diag = lib.sactag_diag_new()
        self.messages: List[Message] = []
        self._models: List[c_void_p] = []
        self._plans: List[c_void_p] = []
        self._kept: List[Any] = []  # buffers that models lie in

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        for plan in reversed(self._plans):
            self.lib.sactag_plan_free(plan)
        for model in reversed(self._models):
            self.lib.sactag_close(model)
        self._collect()
        self.lib.sactag_diag_free(self.diag)
        if kind is None:
            self._tell()

    def _collect(self) -> None:
        buffer = ctypes.create_string_buffer(4096)
        for i in range(len(self.messages), self.lib.sactag_diag_count(self.diag)):
            m = self.lib.sactag_diag_get(self.diag, i)
            need = self.lib.sactag_message_text(buffer, len(buffer), byref(m))
            if need >= len(buffer):
                buffer = ctypes.create_string_buffer(need + 1)
                self.lib.sactag_message_text(buffer, len(buffer), byref(m))
            offset = None if m.offset == _ffi.NO_OFFSET else m.offset
            text = _decoded(buffer.value) or ""
            self.messages.append(Message(LEVELS[m.level], text, _decoded(m.node), _decoded(m.field), offset))

    def _tell(self) -> None:
        frame, level = sys._getframe(1), 2
        while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "sactag":
            frame, level = frame.f_back, level + 1
        for m in self.messages:
            if m.level == "warning":
                warnings.warn(m.text, SactagWarning, stacklevel=level)
            else:
                log.info("%s: %s", m.level, m.text)

    def check(self, status: int, *needed: Any) -> None:
        """Raises what a status means. `needed`: paths without which reading or writing had to fail."""
        if status == 0:
            return
        self._collect()
        text = next((m.text for m in self.messages if m.level == "error"), "out of memory" if status == -6 else "failed")
        kind = BY_STATUS.get(status, Error)
        if kind is IOError_ and not all(os.path.exists(p) for p in needed):
            kind = NotFoundError
        error = kind(text, list(self.messages))
        if isinstance(error, NotFoundError):
            error.errno = errno.ENOENT
        raise error

    # ---- models and plans

    def open(self, model: Any) -> c_void_p:
        """A model from a path, bytes, or what has SerializeToString(), as an onnx.ModelProto has."""
        handle = c_void_p()
        if isinstance(model, (str, os.PathLike)):
            self.check(self.lib.sactag_open(byref(handle), path("model", model), None, self.diag), model)
        else:
            address, size = self._buffer(model)
            self.check(self.lib.sactag_open_buffer(byref(handle), address, size, None, self.diag))
        self._models.append(handle)
        return handle

    def _buffer(self, model: Any) -> Tuple[Any, int]:
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        if not isinstance(model, bytes):
            try:
                view = memoryview(model).cast("B")
            except TypeError:
                raise ArgumentError(f"{A_MODEL}, not {type(model).__name__}") from None
            if not view.readonly and view.contiguous and view.nbytes:
                array = (ctypes.c_char * view.nbytes).from_buffer(view)
                self._kept.append(array)
                return ctypes.addressof(array), view.nbytes
            model = view.tobytes()
        self._kept.append(model)
        return ctypes.cast(ctypes.c_char_p(model), c_void_p), len(model)

    def options(self, given: Dict[str, Any]) -> _ffi.Options:
        return options_struct(self.lib, given)

    def keep_plan(self, status: int, handle: c_void_p) -> c_void_p:
        self.check(status)
        self._plans.append(handle)
        return handle

    def decide(self, model: c_void_p, given: Dict[str, Any]) -> c_void_p:
        handle = c_void_p()
        options = self.options(given)
        return self.keep_plan(self.lib.sactag_decide(byref(handle), model, byref(options), self.diag), handle)

    def decide_tagged(self, model: c_void_p, given: Dict[str, Any]) -> c_void_p:
        handle = c_void_p()
        options = byref(self.options(given)) if given else None
        return self.keep_plan(self.lib.sactag_decide_tagged(byref(handle), model, options, self.diag), handle)

    def read_tags(self, model: c_void_p) -> c_void_p:
        handle = c_void_p()
        return self.keep_plan(self.lib.sactag_read_tags(byref(handle), model, self.diag), handle)

    def from_text(self, text: str) -> c_void_p:
        handle, raw = c_void_p(), text.encode("utf-8", "surrogateescape")
        return self.keep_plan(self.lib.sactag_plan_from_text(byref(handle), raw, len(raw), self.diag), handle)

    def place(self, model: c_void_p, file: c_void_p, rebase: bool) -> c_void_p:
        handle = c_void_p()
        return self.keep_plan(self.lib.sactag_apply(byref(handle), model, file, rebase, self.diag), handle)

    def info(self, model: c_void_p) -> Info:
        raw = _ffi.Info()
        self.lib.sactag_get_info(model, byref(raw))
        return Info(
            format=_decoded(raw.format) or "",
            ir_version=raw.ir_version,
            producer=raw.producer.str(),
            producer_version=raw.producer_version.str(),
            opset=raw.opset,
            bytes=raw.bytes,
            nodes=raw.nodes,
            graphs=raw.graphs,
            tagged=raw.tagged,
            external_data=raw.external_data,
        )

    # ---- to plain data

    def json(self, plan: c_void_p, name: Optional[str]) -> str:
        parts: List[bytes] = []

        def put(_: Any, text: Any, n: int) -> int:
            parts.append(ctypes.string_at(text, n))
            return 0

        raw = name.encode("utf-8", "surrogateescape") if name else None
        self.check(self.lib.sactag_plan_to_json(plan, raw, _ffi.PUT(put), None, self.diag))
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def plan(self, handle: c_void_p, text: str) -> Plan:
        lib = self.lib
        self._collect()
        return Plan(
            rows=tuple(self.row(handle, i) for i in range(lib.sactag_plan_count(handle))),
            blocks=tuple(self._block(handle, i) for i in range(lib.sactag_plan_block_count(handle))),
            linears=self.linears(handle),
            summary=self._summary(handle),
            options=self._options(handle),
            text=text,
            messages=tuple(self.messages),
        )

    def row(self, handle: c_void_p, i: int) -> Row:
        r = _ffi.Row()
        self.lib.sactag_plan_row(handle, i, byref(r))
        block = r.block.str()
        return Row(
            index=r.index,
            graph=_dash(r.graph.str()),
            node=r.node.str() or None,
            output=r.output.str() or None,
            op=r.op.str() or "",
            block=block,
            call=None if block is None else r.call,
            fqn=r.fqn.str(),
            evidence=_dash(_decoded(self.lib.sactag_evidence_name(r.evidence))),
            rhs=_shape(r.rhs),
            policy=POLICIES[r.policy],
            reason=r.reason.str() or "",
        )

    def _block(self, handle: c_void_p, i: int) -> Block:
        b = _ffi.Block()
        self.lib.sactag_plan_block(handle, i, byref(b))
        return Block(
            fqn=b.fqn.str() or "",
            calls=b.calls,
            saved=b.saved,
            recomputed=b.recomputed,
            forced_rows=b.forced_rows,
            forced=tuple(
                Forced(_shape(f.rhs), f.fqn.str(), tuple(names("also", f.also.str()))) for f in b.forced[: b.n_forced]
            ),
        )

    def linears(self, handle: c_void_p) -> Tuple[Linear, ...]:
        found = []
        for i in range(self.lib.sactag_plan_linear_count(handle)):
            raw = _ffi.Linear()
            self.lib.sactag_plan_linear(handle, i, byref(raw))
            found.append(
                Linear(
                    fqn=raw.fqn.str(),
                    weight=raw.weight.str(),
                    in_=None if getattr(raw, "in") < 0 else getattr(raw, "in"),
                    out=None if raw.out < 0 else raw.out,
                    block=raw.block.str(),
                    evidence=_dash(_decoded(self.lib.sactag_evidence_name(raw.evidence))),
                )
            )
        return tuple(found)

    def _summary(self, handle: c_void_p) -> Summary:
        s = _ffi.Summary()
        self.lib.sactag_plan_summary(handle, byref(s))
        counts = {k: getattr(s, k) for k in ("rows", "saved", "recomputed", "forced", "addmm", "outside", "rules_differ", "assumed")}
        return Summary(
            **counts,
            mm_rule=name_of(s.mm_rule, "mm_rule", 1),
            blocks_how=_decoded(s.blocks_how),
            carrier=_decoded(s.carrier),
        )

    def _options(self, handle: c_void_p) -> Optional[Dict[str, Any]]:
        o = _ffi.Options()
        if not self.lib.sactag_plan_options(handle, byref(o)):
            return None
        found: Dict[str, Any] = {k: [_decoded(v) for v in getattr(o, k)[: getattr(o, "n_" + k)]] for k in ("fqns", "blocks", "mm_ops")}
        found["force_shapes"] = [(s.k, s.n) for s in o.force_shapes[: o.n_force_shapes]]
        found["match"] = name_of(o.match, "match", 1)
        found["mm_rule"] = name_of(o.mm_rule, "mm_rule", 1)
        found["profile"] = name_of(o.profile, "profile", 1)
        found["order"] = name_of(o.order, "order", 0)
        found["strict"], found["specialize"] = o.strict, o.specialize
        return found

    def diff(self, a: c_void_p, b: c_void_p) -> Diff:
        handle = c_void_p()
        self.check(self.lib.sactag_diff(byref(handle), a, b, self.diag))
        try:
            return Diff(tuple(self._change(handle, i, a, b) for i in range(self.lib.sactag_changes_count(handle))))
        finally:
            self.lib.sactag_changes_free(handle)

    def _change(self, handle: c_void_p, i: int, a: c_void_p, b: c_void_p) -> Change:
        c = self.lib.sactag_changes_get(handle, i)
        return Change(
            kind=_decoded(self.lib.sactag_change_name(c.kind)) or "",
            matched=_dash(_decoded(self.lib.sactag_matched_name(c.matched))),
            differs=tuple(what for bit, what in enumerate(DIFFERS) if c.differs & (1 << bit)),
            a=None if c.a == _ffi.NO_ROW else self.row(a, c.a),
            b=None if c.b == _ffi.NO_ROW else self.row(b, c.b),
            cause=c.cause.str() or None,
        )

    def problems(self, model: c_void_p, given: Dict[str, Any]) -> Tuple[Problem, ...]:
        handle = c_void_p()
        options = byref(self.options(given)) if given else None
        self.check(self.lib.sactag_check(byref(handle), model, options, self.diag))
        try:
            raw = [self.lib.sactag_problems_get(handle, i) for i in range(self.lib.sactag_problems_count(handle))]
            return tuple(
                Problem(_decoded(self.lib.sactag_problem_name(p.kind)) or "", p.text.str() or "", p.node.str(), p.graph.str(), p.index)
                for p in raw
            )
        finally:
            self.lib.sactag_problems_free(handle)

    # ---- writing

    def write_options(self, given: Dict[str, Any]) -> _ffi.WriteOptions:
        w = _ffi.WriteOptions()
        self.lib.sactag_write_options_init(byref(w))
        w.carrier = choice("carrier", given.get("carrier"), 0)
        w.tag = choice("tag", given.get("tag"), 0)
        w.external = choice("external_data", given.get("external_data"), 0)
        w.no_sync = not flag("sync", given.get("sync", True))
        w.set_ir_version = ir_version(given.get("set_ir_version"))
        return w

    def write(self, function: str, handles: Sequence[c_void_p], out: Optional[bytes], given: Dict[str, Any]) -> Optional[bytes]:
        """sactag_tag_* or sactag_strip_*: to the file `out`, or to the bytes that are returned when it is None."""
        w = self.write_options(given)
        if out is not None:
            to_file = getattr(self.lib, f"sactag_{function}_file")
            self.check(to_file(*handles, out, byref(w), self.diag), os.path.dirname(out) or b".")
            return None
        to_buffer = getattr(self.lib, f"sactag_{function}_buffer")
        address, n = c_void_p(), c_size_t()
        self.check(to_buffer(*handles, byref(address), byref(n), byref(w), self.diag))
        try:
            return ctypes.string_at(address, n.value)
        finally:
            _ffi.free(address)
