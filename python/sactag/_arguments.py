"""What a caller gave, checked before the library sees it: C would cut a string at a NUL and wrap a number that is too large."""

from __future__ import annotations

import ctypes
import operator
import os
import re
from typing import Any, List, Optional, Sequence, Tuple

from .errors import ArgumentError, UsageError

CHOICES = {
    "match": ("exact", "substring", "glob"),
    "mm_rule": ("onnx", "torch"),
    "profile": ("titan",),
    "order": ("auto", "file"),
    "carrier": ("metadata", "attribute", "popart"),
    "tag": ("mm", "all"),
    "external_data": ("refuse", "copy", "hardlink", "symlink", "keep"),
}
MAX_INT64 = 2**63 - 1
MAX_IR_VERSION = 2**31 - 1


def path(name: str, value: Any) -> bytes:
    """A path as the file system has it."""
    try:
        raw = os.fsencode(value)
    except TypeError:
        raise ArgumentError(f"{name}: expected a path, not {type(value).__name__}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{name}: the file system cannot have the name {value!r}") from None
    if b"\0" in raw:
        raise UsageError(f"{name}: a path cannot hold a NUL: {value!r}")
    return raw


def choice(name: str, value: Optional[str], first: int) -> int:
    """The enum's number of a choice; `first` is the number of the first one. None: the default, 0."""
    if value is None or (name == "profile" and value == "none"):
        return 0
    try:
        return CHOICES[name].index(value) + first
    except ValueError:
        raise UsageError(f"{name} is {value!r}: expected one of {', '.join(CHOICES[name])}") from None


def flag(name: str, value: Any) -> bool:
    """Only a bool is one: "no" would be true."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ArgumentError(f"{name}: expected True or False, found {value!r}")
    return value


def names(name: str, value: Any) -> List[str]:
    """A list of names; a comma list in one string is one too, as on the command line."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    found = list(value) if hasattr(value, "__iter__") and not isinstance(value, (bytes, bytearray)) else [value]
    for part in found:
        if not isinstance(part, str):
            raise ArgumentError(f"{name}: expected names as str, found {part!r}")
    return found


def strings(name: str, values: Sequence[str]) -> Any:
    for value in values:
        if "\0" in value:
            raise UsageError(f"{name}: a name cannot hold a NUL: {value!r}")
    return (ctypes.c_char_p * len(values))(*(v.encode("utf-8", "surrogateescape") for v in values))


def _whole(value: Any) -> int:
    """A whole number of any type that is one; TypeError for a float, which int() would cut."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _shape(value: Any) -> Tuple[int, int]:
    try:
        if isinstance(value, str):
            k, n = (int(d) for d in re.fullmatch("([0-9]+)x([0-9]+)", value.strip(), re.ASCII).groups())
        else:
            k, n = (_whole(d) for d in value)
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"force_shapes: expected 'KxN' or a pair of whole numbers, found {value!r}") from None
    if k < 1 or n < 1:
        raise UsageError(f"force_shapes: expected positive numbers, found {value!r}")
    if k > MAX_INT64 or n > MAX_INT64:
        raise UsageError(f"force_shapes: expected numbers up to {MAX_INT64}, found {value!r}")
    return k, n


def shapes(value: Any) -> List[Tuple[int, int]]:
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    if not hasattr(value, "__iter__"):
        raise ArgumentError(f"force_shapes: expected a list, found {value!r}")
    return [_shape(s) for s in value]


def ir_version(value: Any) -> int:
    """0: left as it is."""
    if value is None:
        return 0
    try:
        number = _whole(value)
    except TypeError:
        raise ArgumentError(f"set_ir_version: expected a whole number, found {value!r}") from None
    if not 0 <= number <= MAX_IR_VERSION:
        raise UsageError(f"set_ir_version: expected 0 to {MAX_IR_VERSION}, found {value!r}")
    return number
