"""What checks and reports ask the tables: one import for every typed accessor.

Each accessor parses its table at the first call. None means that the tables do not know, never that something is
absent from the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.gpus.gfx import (
    Chip,
    GfxTarget,
    OverrideRow,
    amdgpu_refuses,
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
from rocdoctor.knowledge.gpus.part_names import profiles_by_name
from rocdoctor.knowledge.gpus.profiles import (
    Figure,
    GpuProfile,
    all_profiles,
    families,
    family_profiles,
    gpu_candidates,
    gpu_profile,
)
from rocdoctor.knowledge.load import TableError, TableSource, load_table, source
from rocdoctor.knowledge.software.compat import (
    CudaDriver,
    DriverWindow,
    KnownIssue,
    RocmRelease,
    TorchFlavour,
    TorchRelease,
    cuda_floor,
    cuda_min_driver,
    cuda_without_label,
    driver_package,
    driver_supports,
    driver_window,
    known_issues,
    read_through,
    rocm_release,
    rocm_releases,
    rocm_without,
    torch_release,
    torch_releases,
)
from rocdoctor.knowledge.software.env_variables import (
    AllocatorOption,
    BoolSpelling,
    EnvVariable,
    FamilyRule,
    allocator_options,
    bool_spelling,
    env_names,
    env_variable,
    env_variables,
    family_rules,
    rules_for,
)
from rocdoctor.knowledge.software.libc import LibcRelease, first_with, has_symbol, libc_release, newest_symbol
from rocdoctor.knowledge.software.rules import (
    ModuleParameter,
    Rule,
    amdgpu_parameter_names,
    module_parameter,
    module_parameters,
    pcie_gb_s,
    rule,
    rules,
)

__all__ = [
    "AllocatorOption",
    "BoolSpelling",
    "CauseEntry",
    "Chip",
    "CudaDriver",
    "DriverWindow",
    "EnvVariable",
    "FamilyRule",
    "Figure",
    "GfxTarget",
    "GpuProfile",
    "KnownIssue",
    "LibcRelease",
    "ModuleParameter",
    "OverrideRow",
    "RocmRelease",
    "Rule",
    "TableError",
    "TableSource",
    "TorchFlavour",
    "TorchRelease",
    "all_profiles",
    "allocator_options",
    "amdgpu_parameter_names",
    "amdgpu_refuses",
    "arch_list_covers",
    "bool_spelling",
    "cause",
    "causes",
    "chip_of_device",
    "cuda_floor",
    "cuda_min_driver",
    "cuda_without_label",
    "driver_package",
    "driver_supports",
    "driver_window",
    "env_names",
    "env_variable",
    "env_variables",
    "families",
    "family_profiles",
    "family_rules",
    "first_with",
    "generic_group",
    "gfx_name",
    "gfx_of_device",
    "gfx_target",
    "gfx_targets",
    "gpu_candidates",
    "gpu_profile",
    "has_symbol",
    "kernel_knows",
    "known_issues",
    "libc_release",
    "load_table",
    "module_parameter",
    "module_parameters",
    "newest_symbol",
    "override_gfx_name",
    "override_row",
    "pcie_gb_s",
    "profiles_by_name",
    "read_through",
    "rocm_release",
    "rocm_releases",
    "rocm_without",
    "rule",
    "rules",
    "rules_for",
    "same_isa_group",
    "source",
    "torch_release",
    "torch_releases",
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
            raw["id"],
            raw["title"],
            raw["meaning"],
            raw["first_step"],
            raw["remedy"],
            raw["safety"],
            raw["rank"],
            tuple(raw["explains"]),
        )
        for raw in load_table("causes")["causes"]
    }


def cause(cause_id: str) -> CauseEntry | None:
    """The root cause with this id, or None when there is none."""
    return causes().get(cause_id)


def cause_title(cause_id: str) -> str:
    """The title of a root cause; its id where it is of a check of the user's own."""
    entry = causes().get(cause_id)
    return entry.title if entry is not None else cause_id


def finer_title(finer_id: str) -> str:
    """The title of a finer id of causes.yaml, more precise than that of a root cause; "" where there is none."""
    return next((str(one["title"]) for one in load_table("causes")["finer"] if one["id"] == finer_id), "")


def told_title(cause_id: str, finer_id: str) -> str:
    """What a cause is called beside a finding that points to it: more precisely where its ``finer`` says so."""
    return finer_title(finer_id) or cause_title(cause_id)


def gfx_of_device(device_id: int | str, revision: int | str | None = None) -> str | None:
    """The gfx target of an AMD PCI device id when every part with that id agrees, else None."""
    found = {one.gfx for one in gpu_candidates("amd", device_id, revision)}
    found = found or {one.gfx for one in gpu_candidates("amd", device_id)}
    if not found and (chip := chip_of_device(device_id)) is not None:
        found = {chip.gfx}
    return found.pop() if len(found) == 1 else None
