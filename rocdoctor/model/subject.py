"""What a verdict is about, as a value: programs compare its fields, people read its label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from rocdoctor.model.printable import spelled

SubjectKind = Literal["machine", "gpu", "device", "pci-device", "nic", "node", "job", "process", "file", "files"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that is judged; what does not belong to its kind is empty.

    ``index``: of a GPU its place among the GPUs, of a process its id, in a file the line (counted from 1). ``address``:
    the PCI address of a GPU or a device. ``name``: of a network card, a node or a file; of a GPU without an address the
    tool and the number that it has there.
    """

    kind: SubjectKind = "machine"
    index: int | None = None
    address: str = ""
    name: str = ""

    @property
    def label(self) -> str:
        """How reports name it: ``gpu 3 (0000:6a:00.0)``, ``device 0000:01:00.0``, ``run.sh:7``."""
        if self.kind == "gpu":
            return f"gpu {self.index}" + (f" ({self.where})" if self.where else "")
        if self.kind == "file":
            name = spelled(self.name)
            return name if self.index is None else f"{name}:{self.index}"
        words = (_FRONT.get(self.kind, ""), self.address, self.name, "" if self.index is None else str(self.index))
        return " ".join(word for word in words if word)

    @property
    def where(self) -> str:
        """What stands in brackets behind the number of a GPU; "" where there is nothing to say."""
        return self.address or self.name

    def named(self, reword: Callable[[str], str]) -> Subject:
        """The same with another name and address; ``reword`` gets each behind the words that stand before it."""
        front = f"{_FRONT[self.kind]} " if self.kind in _FRONT else ""

        def other(text: str) -> str:
            return reword(front + text).removeprefix(front) if text else ""

        return replace(self, address=other(self.address), name=other(self.name))

    def __str__(self) -> str:
        return self.label


# What stands before the address, name or number; cards and files are named by themselves.
_FRONT: dict[SubjectKind, str] = {
    "machine": "machine",
    "device": "device",
    "pci-device": "PCI device",
    "node": "node",
    "job": "job",
    "process": "process",
    "files": "files",
}
MACHINE = Subject()
