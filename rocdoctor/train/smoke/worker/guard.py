"""Unpickling without running anything: what ranks send each other may hold plain values and records, never calls.

torch's collectives for Python objects unpickle what comes over connections that gloo does not authenticate (torch's
SECURITY.md: they are for trusted networks). On a machine with other users, or in a network with other machines, whoever
wins the race for such a connection would run code in a rank. So the ranks look up only the names below.
"""

from __future__ import annotations

import builtins
import functools
import pickle
from typing import Any

# Names by which values and records are made again; none of them calls what it is given, opens or imports anything.
_VALUES = {
    "builtins": ("bytearray", "complex", "frozenset", "range", "set", "slice"),
    "collections": ("OrderedDict", "deque"),
    "datetime": ("timedelta",),
    "pathlib": ("PosixPath", "PurePosixPath"),
    "pathlib._local": ("PosixPath", "PurePosixPath"),  # Python 3.13
    "torch": ("Size", "device"),
    "torch.serialization": ("_get_layout",),
    "traceback": ("FrameSummary", "StackSummary"),
}
# Their classes are records: dataclasses, named tuples and enumerations of plans and of what was written.
_RECORDS = (
    "torch.distributed._shard.sharded_tensor.metadata",
    "torch.distributed.checkpoint.api",
    "torch.distributed.checkpoint.filesystem",
    "torch.distributed.checkpoint.metadata",
    "torch.distributed.checkpoint.planner",
    "torch.distributed.checkpoint.storage",
)


class PlainUnpickler(pickle.Unpickler):
    """An unpickler that knows only what is needed to exchange values and plans of checkpoints."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or value of that name; UnpicklingError for all that is not on the list."""
        if name in _VALUES.get(module, ()):
            return super().find_class(module, name)
        if "." not in name:
            if module == "builtins":
                found = getattr(builtins, name, None)
                if isinstance(found, type) and issubclass(found, Exception):
                    return found
            elif module == "torch":
                import torch  # type: ignore[import-not-found, unused-ignore]

                found = getattr(torch, name, None)
                if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
                    return found
            elif module in _RECORDS:
                found = super().find_class(module, name)
                if _is_record(found, module):
                    return found
        raise pickle.UnpicklingError(f"rocdoctor does not unpickle {module}.{name} from another rank")


def _is_record(found: Any, module: str) -> bool:
    if not isinstance(found, type) or found.__module__ != module:
        return False
    plain = hasattr(found, "__dataclass_fields__") or hasattr(found, "_fields") or hasattr(found, "__members__")
    return plain or issubclass(found, BaseException)


def install() -> None:
    """Put it in the place of torch's unpickler in this process, and let torch.load take tensors and plain values."""
    import torch
    from torch.distributed import distributed_c10d as inner

    inner._unpickler = PlainUnpickler  # type: ignore[assignment, attr-defined, unused-ignore]
    load = torch.load

    @functools.wraps(load)
    def plain(*args: Any, **keywords: Any) -> Any:
        return load(*args, **{**keywords, "weights_only": True})

    torch.load = plain
