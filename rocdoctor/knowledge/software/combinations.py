"""Pairs of versions that a source says do not fit (``combinations.yaml``).

None means that no row names the pair; it never means that the two fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.knowledge.load import load_table, numbers
from rocdoctor.knowledge.software.compat import rocm_release


@dataclass(frozen=True, slots=True)
class DriverBranch:
    """The last (``first`` false) or first NVIDIA driver branch for a generation of GPUs."""

    branch: int
    generation: str
    first: bool


def kernel_without(driver: str) -> str | None:
    """The first Linux release on which an NVIDIA driver does not build as NVIDIA published it; None where not read."""
    have = numbers(driver)
    for row in load_table("combinations")["nvidia_kernels"]:
        if have[:1] == (row["branch"],) and len(have) > 1 and have <= numbers(str(row["through"])):
            return str(row["from"])
    return None


def branch_for(capability: str, driver: str) -> DriverBranch | None:
    """The branch that a GPU of a compute capability needs, where this driver is of a later or earlier one."""
    level, branch = numbers(capability), (*numbers(driver), 0)[0]
    if not level or branch < 300:
        return None
    for row in load_table("combinations")["nvidia_gpus"]:
        if "below" in row and level < numbers(str(row["below"])):
            return DriverBranch(row["last"], str(row["name"]), False) if branch > row["last"] else None
        if "from" in row and level >= numbers(str(row["from"])) and branch < row["first"]:
            return DriverBranch(row["first"], str(row["name"]), True)
    return None


def cuda_left(capability: str, cuda: str) -> str | None:
    """The first CUDA release whose torch builds have no code for a capability, where this one is not before it."""
    level, have = numbers(capability), numbers(cuda)
    for row in load_table("combinations")["torch_cuda"]:
        if level and have and level < numbers(str(row["below"])):
            return str(row["cuda"]) if have >= numbers(str(row["cuda"])) else None
    return None


def torch_of(package: str, version: str) -> str | None:
    """The line of torch ("2.4") that a release of a package was built for."""
    rows = load_table("combinations")["companions"].get(package)
    if rows is None:
        return None
    exact = str(version.partition("+")[0])
    line = ".".join(map(str, numbers(exact)[:2]))
    found = rows.get(exact) or (None if package == "xformers" else rows.get(line))
    return str(found) if found else None


_VERSIONS = re.compile(r"(?<![\w.(-])(\d{1,2}(?:\.\d{1,2}){0,2})(?![\w.-])")
_IDS = {
    "ubuntu": "Ubuntu",
    "rhel": "RHEL",
    "debian": "Debian",
    "sles": "SLES",
    "rocky": "Rocky Linux",
    "centos": "CentOS",
    "ol": "Oracle Linux",
    "fedora": "Fedora",
}
# Of these the minor number is a release of its own; of the others it is an update.
_BY_MINOR = ("ubuntu",)


def rocm_lists_system(rocm: str, os_id: str, version: str) -> tuple[bool, tuple[str, ...]] | None:
    """Whether a ROCm release lists a release of a distribution, and which ones of it; None where this was not read."""
    row, name = rocm_release(rocm), _IDS.get(os_id)
    have = numbers(version)
    if row is None or name is None or not row.systems or not row.complete or not have:
        return None
    if any("others as" in one for one in row.systems):
        return None
    length = 2 if os_id in _BY_MINOR else 1
    named = [one for one in row.systems if one.startswith(name + " ")]
    versions = [found for one in named for found in _VERSIONS.findall(re.sub(r"\([^)]{0,80}\)|SP ?\d", "", one))]
    lines = sorted(dict.fromkeys(".".join(found.split(".")[:length]) for found in versions), key=numbers)
    if not lines and os_id in ("rocky", "ol", "centos"):
        return None  # a rebuild of what is listed
    return any(numbers(one) == have[:length] for one in lines), tuple(f"{name} {one}" for one in lines)
