"""Selective activation checkpointing, decided ahead of time and written onto an exported graph.

    import sactag
    sactag.tag("model.onnx", fqns=["moe.router.gate"], out="model.onnx")

A model is a path, bytes, or an onnx.ModelProto; ONNX or the .pt2 of torch.export.save. What the options mean is said by
docs/POLICY.md, and what is written by docs/TAGS.md. Needs neither onnx nor torch; `sactag.torch` honours a plan in PyTorch.
"""

from .api import check, diff, digest, info, library_version, linears, load_plan, plan, strip, tag, tags
from .errors import (
    ArgumentError,
    Error,
    InputError,
    IOError_,
    MemoryError_,
    Message,
    MismatchError,
    NoBlockError,
    NotFoundError,
    PolicyError,
    SactagWarning,
    UsageError,
)
from .results import Block, Change, Diff, Forced, Info, Linear, Plan, Problem, Row, Shape, Summary

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Block", "Change", "Diff", "Error", "Forced", "IOError_", "Info", "InputError", "Linear", "MemoryError_", "Message",
    "MismatchError", "NoBlockError", "NotFoundError", "Plan", "PolicyError", "Problem", "Row", "SactagWarning", "Shape", "Summary",
    "UsageError", "check", "diff", "digest", "info", "library_version", "linears", "load_plan", "plan", "strip", "tag", "tags",
]  # fmt: skip
