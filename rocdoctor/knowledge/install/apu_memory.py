"""How much of main memory an integrated GPU may map, by ``install_apu.yaml``."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.knowledge.install.steps import Words, fill_text
from rocdoctor.knowledge.load import load_table, words

_GIB = 2**30
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class ApuLimit:
    """A limit worth setting. ``tool`` are the commands of AMD's own tool: to install it, to set, to go back."""

    gib: int
    named: bool  # AMD's page is about this target
    tool: Words
    sources: Words

    @property
    def pages(self) -> int:
        """The value of ``ttm.pages_limit``."""
        return self.gib * _GIB // _PAGE


def apu_limit(gfx: str, memory_bytes: int, pages: int) -> ApuLimit | None:
    """The limit to propose for this much memory and the limit that holds, or None where little is to be gained."""
    raw = load_table("install_apu")["limit"]
    keep = max(raw["keep"]["gib"] * _GIB, int(memory_bytes * raw["keep"]["share"]))
    gib = (memory_bytes - keep) // _GIB
    if gib * _GIB - pages * _PAGE < raw["gain"] * _GIB:
        return None
    return ApuLimit(gib, gfx in raw["targets"], apu_tool(str(gib)), words(raw["s"]))


def apu_tool(gib: str) -> Words:
    """The commands of AMD's own tool: to install it, to set so many GiB, to go back."""
    return tuple(fill_text(one, {"gib": gib}) for one in load_table("install_apu")["limit"]["tool"])


def apu_targets() -> Words:
    """The targets of integrated GPUs that this is about: those of AMD's page first."""
    raw = load_table("install_apu")["limit"]
    return (*words(raw["targets"]), *words(raw["others"]))


def large_carve_out(vram_bytes: int) -> bool:
    """Whether the firmware reserves so much that AMD's advice to keep it small is worth a word."""
    return bool(vram_bytes > load_table("install_apu")["limit"]["carve_out"] * _GIB)
