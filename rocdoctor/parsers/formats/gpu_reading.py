"""One GPU as a tool shows it: what every reader of such tools gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# More than any tool tells of a GPU: an output may name as many sensors and clocks as it likes.
_MOST_NAMES = 2048
_MOST_PARTS = 256


@dataclass(frozen=True, slots=True)
class BlockErrors:
    """Error counts of one block since the driver was loaded."""

    line: int
    correctable: int | None = None
    uncorrectable: int | None = None


@dataclass(slots=True)
class GpuReading:
    """The values of one GPU, each with its line; the first that is told of a name counts.

    What is a fact as it stands has the fact's name (``vram_bytes``, ``power.now_w``); what facts are made of has
    another. ``index`` is the tool's own number, None where the output does not tell it.
    """

    line: int
    index: int | None = None
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def put(self, name: str, value: Any, line: int) -> None:
        """Note a value; of values by part (a temperature a sensor) the parts that are new. None says nothing."""
        if value is None or (name not in self.values and len(self.values) >= _MOST_NAMES):
            return
        if isinstance(value, dict):
            known = self.values.setdefault(name, {})
            if len(known) < _MOST_PARTS:
                known.update({part: one for part, one in value.items() if part not in known})
        else:
            self.values.setdefault(name, value)
        self.lines.setdefault(name, line)

    def get(self, name: str) -> Any:
        """The value of a name, None where the tool does not tell it."""
        return self.values.get(name)

    def line_of(self, name: str) -> int:
        """Where a value stands; where the GPU does for one that is not told."""
        return self.lines.get(name, self.line)
