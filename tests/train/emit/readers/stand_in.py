"""What readers need in order to be imported on a machine without a GPU: a name for triton, and a GPU's generation.

Programs of the readers' environments import it first. The stand-in for triton is seen by torchtitan and Megatron alone:
torch itself would take it for the real one.
"""

from __future__ import annotations

import builtins
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

_SEEN_BY = ("torchtitan", "megatron")


class _Sign:
    """Anything of ``triton.language`` that a signature or table names."""

    def __init__(self, *arguments: object, **options: object) -> None:
        del arguments, options


def _decorate(function: Any = None, *arguments: object, **options: object) -> Any:
    """A decorator with or without options, which leaves functions as they are."""
    del arguments, options
    return function if callable(function) else _decorate


def _module(name: str, value: Any) -> types.ModuleType:
    """A module in which every name is ``value``."""

    def anything(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return value

    one = types.ModuleType(name)
    vars(one)["__getattr__"] = anything
    return one


def install() -> None:
    """Puts the stand-ins in place."""
    triton, language = _module("triton", _decorate), _module("triton.language", _Sign)
    vars(triton).update({"language": language, "__version__": "3.6.0", "Config": _Sign})
    sys.modules.update({"triton": triton, "triton.language": language})
    if not hasattr(typing, "override"):  # Python 3.12 has it
        typing.__dict__["override"] = lambda function: function
    real: Callable[..., Any] = builtins.__import__

    def chosen(
        name: str,
        globals: Any = None,  # noqa: A002
        locals: Any = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        if not level and name.partition(".")[0] == "triton":
            asking = str((globals or {}).get("__name__")).partition(".")[0]
            if asking not in _SEEN_BY:
                raise ImportError(name)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = chosen
