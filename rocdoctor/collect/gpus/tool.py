"""What a tool that tells of single GPUs is to us: what is asked, who reads it, and what it says of which GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from rocdoctor.collect.gpus.records import GpuRecord
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts import Display, ToolFailure

T = TypeVar("T")

Parsed = tuple[T, Answer]


def _nothing(parsed: Any, answer: Answer) -> Sequence[Any]:
    del parsed, answer
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Tool(Generic[T]):
    """A program whose output tells of single GPUs, or a kind of dump, which is known by its text.

    ``order``: its place among all tools. ``parse`` loads the parser when it is called: most machines have few of these
    tools. ``records``: a GpuRecord of each GPU, a Display of what only shows a picture.

    A live machine is asked ``live`` where the bus has a GPU of the ``vendor``, ``between`` where it has several of
    any, and ``in_wsl`` inside WSL, where the bus shows none. Other evidence gives whatever output it has.
    """

    order: int
    parse: Callable[[Answer], T]
    program: str = ""
    subcommand: Callable[[Sequence[str]], bool] = lambda arguments: True  # whether these arguments make it its output
    dump: Callable[[str], bool] = lambda text: False
    records: Callable[[T, Answer], Sequence[GpuRecord | Display]] = _nothing
    failures: Callable[[T, Answer], Sequence[ToolFailure]] = _nothing
    vendor: str = ""
    live: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    in_wsl: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether a live machine is ever asked for it."""
        return bool(self.live or self.between or self.in_wsl)


@dataclass
class Tools:
    """Every output of a tool in the evidence, parsed, with the answer it came from."""

    outputs: dict[Tool[Any], list[Parsed[Any]]] = field(default_factory=dict)
    failures: list[ToolFailure] = field(default_factory=list)

    def of(self, tool: Tool[T]) -> list[Parsed[T]]:
        """The outputs of one tool in the order of the evidence."""
        return self.outputs.get(tool, [])

    def add(self, tool: Tool[T], answer: Answer) -> None:
        """Parse an answer and note what went wrong."""
        parsed = tool.parse(answer)
        self.outputs.setdefault(tool, []).append((parsed, answer))
        self.failures += tool.failures(parsed, answer)


class LateTools(Tools):
    """Those that ``find`` asks for, asked when somebody looks at an output that a live machine is asked for at all."""

    def __init__(self, find: Callable[[], Tools]) -> None:
        super().__init__()
        self._find = find

    def of(self, tool: Tool[T]) -> list[Parsed[T]]:
        return self._find().of(tool) if tool.asked else []


def told(value: T | None, question: str, line: int | None) -> Fact[T]:
    """A value of an output as a fact; None means that the output does not have it."""
    return NOT_ASKED if value is None else Known(value, Source(question, line))
