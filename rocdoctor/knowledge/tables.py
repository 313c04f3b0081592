"""What checks and reports ask the tables: one import for every typed accessor.

Each accessor parses its table at the first call. None means that the tables do not know, never that something is
absent from the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.gfx import (
    Chip,
    GfxTarget,
    OverrideRow,
    arch_list_covers,
    chip_of_device,
    generic_group,
    gfx_name,
    gfx_target,
    gfx_targets,
    kernel_knows,
    override_gfx_name,
    override_row,
    same_isa_group,
)
from rocdoctor.knowledge.load import TableError, TableSource, load_table, source
from rocdoctor.knowledge.names import profiles_by_name
from rocdoctor.knowledge.profiles import (
    Figure,
    GpuProfile,
    all_profiles,
    families,
    family_profiles,
    gpu_candidates,
    gpu_profile,
)

__all__ = [
    "CauseEntry",
    "Chip",
    "Figure",
    "GfxTarget",
    "GpuProfile",
    "OverrideRow",
    "TableError",
    "TableSource",
    "all_profiles",
    "arch_list_covers",
    "cause",
    "causes",
    "chip_of_device",
    "families",
    "family_profiles",
    "generic_group",
    "gfx_name",
    "gfx_of_device",
    "gfx_target",
    "gfx_targets",
    "gpu_candidates",
    "gpu_profile",
    "kernel_knows",
    "load_table",
    "override_gfx_name",
    "override_row",
    "profiles_by_name",
    "same_isa_group",
    "source",
]


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """A root cause: what it means, what to do, and how it ranks against others (higher is nearer to the root)."""

    id: str
    title: str
    meaning: str
    first_step: str
    details: str
    safety: str
    rank: int
    explains: tuple[str, ...]

    @property
    def remedy(self) -> str:
        """The whole advice: the first step, then what to watch for."""
        return f"{self.first_step} {self.details}"


@cache
def causes() -> Mapping[str, CauseEntry]:
    """Every root cause by id."""
    return {
        raw["id"]: CauseEntry(
            raw["id"], raw["title"], raw["meaning"], raw["first_step"], raw["remedy"], raw["safety"], raw["rank"],
            tuple(raw["explains"]),
        )
        for raw in load_table("causes")["causes"]
    }  # fmt: skip


def cause(cause_id: str) -> CauseEntry | None:
    """The root cause with this id, or None when there is none."""
    return causes().get(cause_id)


def gfx_of_device(device_id: int | str, revision: int | str | None = None) -> str | None:
    """The gfx target of an AMD PCI device id when every part with that id agrees, else None."""
    found = {one.gfx for one in gpu_candidates("amd", device_id, revision)}
    found = found or {one.gfx for one in gpu_candidates("amd", device_id)}
    if not found and (chip := chip_of_device(device_id)) is not None:
        found = {chip.gfx}
    return found.pop() if len(found) == 1 else None
