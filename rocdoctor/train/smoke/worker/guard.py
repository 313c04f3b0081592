"""Unpickling without running anything: what ranks send each other may hold plain values and records, never calls.

torch's collectives for Python objects unpickle what comes over connections that gloo does not authenticate (torch's
SECURITY.md: they are for trusted networks). On a machine with other users, or in a network with other machines, whoever
wins the race for such a connection would run code in a rank. So the ranks look up only the names below.
"""

from __future__ import annotations

import builtins
import enum
import functools
import pickle
import re
import traceback
from collections.abc import Callable
from typing import Any, ClassVar

# Names by which values and records are made again; none of them calls what it is given, opens or imports anything
# (frames of tracebacks would read source files: see PlainFrame).
_VALUES = {
    "builtins": ("bytearray", "complex", "frozenset", "range", "set", "slice"),
    "collections": ("OrderedDict", "deque"),
    "datetime": ("timedelta",),
    "pathlib": ("PosixPath", "PurePosixPath"),
    "pathlib._local": ("PosixPath", "PurePosixPath"),  # Python 3.13
    "torch": ("Size", "device"),
    "torch.serialization": ("_get_layout",),
    "traceback": ("StackSummary",),
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
# What torch's writer and reader of checkpoints put behind their folder to get the path of a file, whatever has it.
_NAMES = {"prefix": re.compile(r"__\d{1,10}_"), "relative_path": re.compile(r"__\d{1,10}_\d{1,10}\.\w{1,20}")}


class PlainFrame(traceback.FrameSummary):
    """A line of another rank's traceback: its source is what that rank says, and never read from a file."""

    __slots__ = ()

    def __init__(self, filename: object = "", lineno: object = 0, name: object = "", **_: object) -> None:
        self.__setstate__((None, {"filename": filename, "lineno": lineno, "name": name}))

    def __setstate__(self, state: Any) -> None:
        said = state[1] if isinstance(state, tuple) else state
        file, name, line = (said.get(key) for key in ("filename", "name", "_line"))
        line = said.get("_lines") if line is None else line  # Python 3.13
        number = said.get("lineno")
        super().__init__(
            file if isinstance(file, str) else "?",
            number if isinstance(number, int) else 0,
            name if isinstance(name, str) else "?",
            lookup_line=False,
            line=line if isinstance(line, str) else "",  # None would be looked up when it is shown
        )

    def __reduce_ex__(self, protocol: object) -> Any:
        """As the class that other ranks know: rank 0 hands on what it got."""
        place = self.filename, self.lineno, self.name
        return traceback.FrameSummary, place, (None, dict(zip(("filename", "lineno", "name"), place), _line=self.line))


class PlainUnpickler(pickle._Unpickler):
    """An unpickler that knows only what is needed to exchange values and plans of checkpoints.

    It is Python's own in Python: the one in C does not let us look at what it makes.
    """

    def find_class(self, module: str, name: str) -> Any:
        """The class or value of that name; UnpicklingError for all that is not on the list."""
        if (module, name) == ("traceback", "FrameSummary"):
            return PlainFrame
        if name in _VALUES.get(module, ()):
            return super().find_class(module, name)
        if "." not in name:
            if (module, name) == ("builtins", "getattr"):
                return _member
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

    def _build(self) -> None:
        """Attributes are set of new records and errors, never of classes, functions and members of enumerations."""
        kind = type(self.stack[-2])  # type: ignore[attr-defined, unused-ignore]
        if not (hasattr(kind, "__dataclass_fields__") or issubclass(kind, (BaseException, PlainFrame))):
            raise pickle.UnpicklingError(f"rocdoctor does not unpickle attributes of {kind.__name__} from another rank")
        pickle._Unpickler.dispatch[pickle.BUILD[0]](self)  # type: ignore[arg-type, unused-ignore]

    dispatch: ClassVar = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: _build}  # type: ignore[dict-item, unused-ignore]


def _checked(make: Callable[[Any], None]) -> Callable[[Any], None]:
    """The step of an unpickler that makes or fills an object, and a look at the names of files in it."""

    def step(unpickler: Any) -> None:
        make(unpickler)
        made = unpickler.stack[-1]
        for attribute, pattern in _NAMES.items():
            name = getattr(made, attribute, None)
            if name is not None and not (isinstance(name, str) and pattern.fullmatch(name)):
                raise pickle.UnpicklingError(f"rocdoctor does not unpickle {attribute} {name!r:.200} from another rank")

    return step


for _code in (pickle.REDUCE, pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.OBJ, pickle.INST, pickle.BUILD):
    PlainUnpickler.dispatch[_code[0]] = _checked(PlainUnpickler.dispatch[_code[0]])  # type: ignore[arg-type, unused-ignore]


def _member(kind: Any, name: Any) -> Any:
    """A member of an enumeration of records by its name: Python 3.11.0 to 3.11.3 pickle members as calls of getattr."""
    members = getattr(kind, "__members__", None)
    if not (isinstance(kind, enum.EnumMeta) and _is_record(kind, kind.__module__) and kind.__module__ in _RECORDS):
        raise pickle.UnpicklingError(f"rocdoctor does not unpickle attributes of {kind!r:.200} from another rank")
    if not isinstance(name, str) or members is None or name not in members:
        raise pickle.UnpicklingError(f"rocdoctor does not unpickle member {name!r:.200} from another rank")
    return members[name]


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
