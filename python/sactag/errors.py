"""What can go wrong: one class for each kind, with the exit code that the command line has for it."""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional


class Message(NamedTuple):
    """A message of the library, with its place in the model as far as it has one."""

    level: str  # "error", "warning", "note", "debug"
    text: str  # with its place, one line
    node: Optional[str]
    field: Optional[str]
    offset: Optional[int]  # byte offset in the input


class Error(Exception):
    """Base of all errors of this package."""

    exit_code = 5

    def __init__(self, text: str, messages: Optional[List[Message]] = None) -> None:
        super().__init__(text)
        self.messages = messages or []
        first = next((m for m in self.messages if m.level == "error"), None)
        self.node = first.node if first else None
        self.field = first.field if first else None
        self.offset = first.offset if first else None

    def __reduce__(self):
        return (type(self), (self.args[0], self.messages))


class UsageError(Error, ValueError):
    """An argument that makes no sense, or external data that would be left behind."""

    exit_code = 2


class ArgumentError(UsageError, TypeError):
    """An argument of a type that makes no sense."""


class NoBlockError(UsageError, KeyError):
    """A plan has no block of that name."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError's own is its repr


class PolicyError(Error):
    """A configured name is no Linear or cannot be told; bodies whose calls disagree; a plan made for another graph."""

    exit_code = 3


class InputError(Error, ValueError):
    """A model or plan that is malformed, over a limit, or unsafe."""

    exit_code = 4


class IOError_(Error, OSError):
    """Reading or writing failed."""

    exit_code = 5


class NotFoundError(IOError_, FileNotFoundError):
    """A file of the caller, or the folder that it should be in, is not there."""


def io_error(error: OSError) -> IOError_:
    """Python's own error about a file, as one of this package."""
    kind = NotFoundError if isinstance(error, FileNotFoundError) else IOError_
    filename = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    found = kind(f"{error.strerror or error}: {filename}" if filename else str(error))
    found.errno, found.strerror, found.filename = error.errno, error.strerror, filename
    return found


class MemoryError_(Error, MemoryError):
    """Memory ran out."""

    exit_code = 5


class MismatchError(PolicyError):
    """PyTorch runs other matmuls than the plan has rows for."""


class SactagWarning(UserWarning):
    """A warning about a model or a policy."""


BY_STATUS = {-2: UsageError, -3: PolicyError, -4: InputError, -5: IOError_, -6: MemoryError_}
