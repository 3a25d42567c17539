"""The C API of sactag.h by ctypes: structures as the header declares them, and the functions that are used."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
import subprocess
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from typing import Iterator, List, Optional

HERE = pathlib.Path(__file__).resolve().parent
NO_INDEX = 0xFFFFFFFF
NO_OFFSET = 0xFFFFFFFFFFFFFFFF
NO_ROW = ctypes.c_size_t(-1).value


class Text(ctypes.Structure):
    _fields_ = [("s", c_void_p), ("n", c_size_t)]

    def str(self) -> Optional[str]:
        if not self.s:
            return None
        return ctypes.string_at(self.s, self.n).decode("utf-8", "surrogateescape")


class Shape(ctypes.Structure):
    _fields_ = [("k", c_int64), ("n", c_int64)]


class MessageStruct(ctypes.Structure):
    _fields_ = [
        ("level", c_int),
        ("status", c_int),
        ("text", c_char_p),
        ("node", c_char_p),
        ("field", c_char_p),
        ("offset", c_uint64),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("format", c_char_p),
        ("ir_version", c_int64),
        ("producer", Text),
        ("producer_version", Text),
        ("opset", c_int64),
        ("bytes", c_uint64),
        ("nodes", c_uint64),
        ("graphs", c_uint64),
        ("tagged", c_bool),
        ("external_data", c_bool),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("fqns", POINTER(c_char_p)),
        ("n_fqns", c_size_t),
        ("force_shapes", POINTER(Shape)),
        ("n_force_shapes", c_size_t),
        ("match", c_int),
        ("blocks", POINTER(c_char_p)),
        ("n_blocks", c_size_t),
        ("mm_rule", c_int),
        ("profile", c_int),
        ("order", c_int),
        ("mm_ops", POINTER(c_char_p)),
        ("n_mm_ops", c_size_t),
        ("strict", c_bool),
        ("specialize", c_bool),
    ]


class Row(ctypes.Structure):
    _fields_ = [
        ("index", c_uint32),
        ("graph", Text),
        ("node", Text),
        ("output", Text),
        ("op", Text),
        ("block", Text),
        ("block_index", c_uint32),
        ("call", c_uint32),
        ("fqn", Text),
        ("evidence", c_int),
        ("rhs", Shape),
        ("policy", c_int),
        ("reason", Text),
    ]


class Forced(ctypes.Structure):
    _fields_ = [("rhs", Shape), ("fqn", Text), ("also", Text)]


class Block(ctypes.Structure):
    _fields_ = [
        ("fqn", Text),
        ("calls", c_uint32),
        ("saved", c_uint32),
        ("recomputed", c_uint32),
        ("forced_rows", c_uint32),
        ("forced", POINTER(Forced)),
        ("n_forced", c_size_t),
    ]


class Linear(ctypes.Structure):
    _fields_ = [
        ("fqn", Text),
        ("weight", Text),
        ("in", c_int64),
        ("out", c_int64),
        ("block", Text),
        ("evidence", c_int),
    ]


class Summary(ctypes.Structure):
    _fields_ = [
        ("rows", c_uint32),
        ("saved", c_uint32),
        ("recomputed", c_uint32),
        ("forced", c_uint32),
        ("addmm", c_uint32),
        ("outside", c_uint32),
        ("evidence", c_uint32 * 6),
        ("rules_differ", c_uint32),
        ("assumed", c_uint32),
        ("mm_rule", c_int),
        ("blocks_how", c_char_p),
        ("carrier", c_char_p),
    ]


PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_uint64)
TEMPORARY = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
PUT = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_char), c_size_t)


class WriteOptions(ctypes.Structure):
    _fields_ = [
        ("carrier", c_int),
        ("tag", c_int),
        ("external", c_int),
        ("no_sync", c_bool),
        ("set_ir_version", c_int64),
        ("progress", PROGRESS),
        ("progress_ctx", c_void_p),
        ("temporary", TEMPORARY),
        ("temporary_ctx", c_void_p),
    ]


class Change(ctypes.Structure):
    _fields_ = [
        ("kind", c_int),
        ("matched", c_int),
        ("differs", c_uint),
        ("a", c_size_t),
        ("b", c_size_t),
        ("cause", Text),
    ]


class ChangeSummary(ctypes.Structure):
    _fields_ = [
        ("same", c_size_t),
        ("reason", c_size_t),
        ("changed", c_size_t),
        ("added", c_size_t),
        ("removed", c_size_t),
        ("matched", c_size_t * 5),
    ]


class Problem(ctypes.Structure):
    _fields_ = [("kind", c_int), ("text", Text), ("node", Text), ("graph", Text), ("index", c_uint32)]


# The header's name of each structure: a test compares their layouts.
STRUCTS = {
    "sactag_text": Text,
    "sactag_shape": Shape,
    "sactag_message": MessageStruct,
    "sactag_info": Info,
    "sactag_options": Options,
    "sactag_row": Row,
    "sactag_forced": Forced,
    "sactag_block": Block,
    "sactag_linear": Linear,
    "sactag_summary": Summary,
    "sactag_write_options": WriteOptions,
    "sactag_change": Change,
    "sactag_change_summary": ChangeSummary,
    "sactag_problem": Problem,
}

# name: (result, arguments). Handles are void pointers.
_P = POINTER(c_void_p)
_FUNCTIONS = {
    "sactag_version": (c_char_p, []),
    "sactag_diag_new": (c_void_p, []),
    "sactag_diag_free": (None, [c_void_p]),
    "sactag_diag_count": (c_size_t, [c_void_p]),
    "sactag_diag_get": (MessageStruct, [c_void_p, c_size_t]),
    "sactag_message_text": (c_size_t, [c_char_p, c_size_t, POINTER(MessageStruct)]),
    "sactag_open": (c_int, [_P, c_char_p, c_void_p, c_void_p]),
    "sactag_open_buffer": (c_int, [_P, c_void_p, c_size_t, c_void_p, c_void_p]),
    "sactag_close": (None, [c_void_p]),
    "sactag_get_info": (None, [c_void_p, POINTER(Info)]),
    "sactag_digest": (c_int, [c_void_p, c_char_p, c_void_p]),
    "sactag_options_init": (None, [POINTER(Options)]),
    "sactag_policy_name": (c_char_p, [c_int]),
    "sactag_evidence_name": (c_char_p, [c_int]),
    "sactag_decide": (c_int, [_P, c_void_p, POINTER(Options), c_void_p]),
    "sactag_read_tags": (c_int, [_P, c_void_p, c_void_p]),
    "sactag_plan_free": (None, [c_void_p]),
    "sactag_plan_count": (c_size_t, [c_void_p]),
    "sactag_plan_row": (None, [c_void_p, c_size_t, POINTER(Row)]),
    "sactag_plan_block_count": (c_size_t, [c_void_p]),
    "sactag_plan_block": (None, [c_void_p, c_size_t, POINTER(Block)]),
    "sactag_plan_linear_count": (c_size_t, [c_void_p]),
    "sactag_plan_linear": (None, [c_void_p, c_size_t, POINTER(Linear)]),
    "sactag_plan_summary": (None, [c_void_p, POINTER(Summary)]),
    "sactag_write_options_init": (None, [POINTER(WriteOptions)]),
    "sactag_tag_file": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(WriteOptions), c_void_p]),
    "sactag_tag_buffer": (c_int, [c_void_p, c_void_p, _P, POINTER(c_size_t), POINTER(WriteOptions), c_void_p]),
    "sactag_strip_file": (c_int, [c_void_p, c_char_p, POINTER(WriteOptions), c_void_p]),
    "sactag_strip_buffer": (c_int, [c_void_p, _P, POINTER(c_size_t), POINTER(WriteOptions), c_void_p]),
    "sactag_plan_to_json": (c_int, [c_void_p, c_char_p, PUT, c_void_p, c_void_p]),
    "sactag_plan_from_text": (c_int, [_P, c_char_p, c_size_t, c_void_p]),
    "sactag_plan_options": (c_bool, [c_void_p, POINTER(Options)]),
    "sactag_decide_tagged": (c_int, [_P, c_void_p, POINTER(Options), c_void_p]),
    "sactag_apply": (c_int, [_P, c_void_p, c_void_p, c_bool, c_void_p]),
    "sactag_change_name": (c_char_p, [c_int]),
    "sactag_matched_name": (c_char_p, [c_int]),
    "sactag_diff": (c_int, [_P, c_void_p, c_void_p, c_void_p]),
    "sactag_changes_free": (None, [c_void_p]),
    "sactag_changes_count": (c_size_t, [c_void_p]),
    "sactag_changes_get": (Change, [c_void_p, c_size_t]),
    "sactag_changes_summary": (ChangeSummary, [c_void_p]),
    "sactag_problem_name": (c_char_p, [c_int]),
    "sactag_check": (c_int, [_P, c_void_p, POINTER(Options), c_void_p]),
    "sactag_problems_free": (None, [c_void_p]),
    "sactag_problems_count": (c_size_t, [c_void_p]),
    "sactag_problems_get": (Problem, [c_void_p, c_size_t]),
}


def _from_pkg_config() -> Optional[str]:
    try:
        found = subprocess.run(
            ["pkg-config", "--variable=libdir", "sactag"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    path = os.path.join(found.stdout.strip(), "libsactag.so.0")
    return path if found.returncode == 0 and os.path.isfile(path) else None


def candidates() -> Iterator[str]:
    """Where the shared library may be, best first."""
    given = os.environ.get("SACTAG_LIBRARY")
    if given:
        yield given
        return  # who names one does not want another
    yield str(HERE / "libsactag.so")
    if (HERE.parent.parent / "include" / "sactag.h").is_file():
        yield str(HERE.parent.parent / "build" / "libsactag.so")
    yield "libsactag.so.0"
    found = _from_pkg_config()
    if found:
        yield found


def load(version: str) -> ctypes.CDLL:
    """The library, checked to be of this package's version: its structures would not fit otherwise."""
    tried: List[str] = []
    for path in candidates():
        try:
            lib = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path}: {error}")
            continue
        lib.sactag_version.restype = c_char_p
        found = lib.sactag_version().decode()
        if found != version:
            tried.append(f"{path}: version {found}, not {version}")
            continue
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        return lib
    raise ImportError(
        "no libsactag.so was found: name it in SACTAG_LIBRARY, or install it (make install)\n  " + "\n  ".join(tried)
    )


def free(address: c_void_p) -> None:
    """free() of the C library, for buffers that the library hands over."""
    libc = ctypes.CDLL(None)
    libc.free.argtypes, libc.free.restype = [c_void_p], None
    libc.free(address)


__all__ = ["byref", "free", "load", "STRUCTS"]
