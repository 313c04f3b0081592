"""What fits what: ROCm releases, kernel drivers, torch wheels, CUDA drivers, and known issues of releases.

All figures come from ``compat.yaml``. None means that the table does not know the pair; it never means "does not fit".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.knowledge.gpus.gfx import arch_list_covers
from rocdoctor.knowledge.load import load_table, numbers, words


@dataclass(frozen=True, slots=True)
class DriverWindow:
    """Package numbers ("6.4", "30.30") of the kernel drivers that a ROCm release lists; None is not verified."""

    min: str | None
    max: str | None
    listed: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RocmRelease:
    """A row of the release table. ``gfx`` None was not read; ``complete`` False: more targets may be supported."""

    series: tuple[str, ...]
    versions: tuple[str, ...]
    stream: str
    released: str | None
    driver: DriverWindow
    gfx: tuple[str, ...] | None
    gfx_deprecated: tuple[str, ...]
    complete: bool
    systems: tuple[str, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TorchFlavour:
    """A ROCm flavour of a torch release. ``basis``: printed, build-script, table or none (targets not known).

    ``gfx`` are the targets of torch's own kernels.
    """

    flavour: str
    gfx: tuple[str, ...] | None
    basis: str
    sources: tuple[str, ...]

    def runs_on(self, gfx: str) -> bool:
        """Whether torch and the rocBLAS beside it are known to have code for a target."""
        return arch_list_covers(self.gfx or (), gfx) and not rocblas_lacks(self.flavour, gfx)


@dataclass(frozen=True, slots=True)
class TorchRelease:
    """A torch release. ``rocm`` and ``cuda`` are its flavours (None: not verified); ``flavour`` is the asked one."""

    version: str
    date: str | None
    python: tuple[str, ...]
    cuda: tuple[str, ...] | None
    pypi_cuda: str | None
    rocm: tuple[TorchFlavour, ...] | None
    flavour: TorchFlavour | None
    note: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CudaDriver:
    """NVIDIA drivers for a CUDA release: ``full`` has all of it, from ``minor_compat`` on its programs run.

    Only a driver below ``minor_compat`` is a fault. ``branch_only``: ``full`` is a branch, not an exact driver.
    """

    cuda: str
    full: str
    minor_compat: str | None
    branch_only: bool
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """An issue of a release: advice with a date, never an error by itself. ``open_keys`` are conditions not checked."""

    id: str
    seen: str
    status: str
    weight: str
    workload: str
    symptom: str
    workaround: str | None
    open_keys: tuple[str, ...]
    sources: tuple[str, ...]


def read_through() -> str:
    """The month up to which the table was read (``2026-11``); print it beside what ages fast."""
    return str(load_table("compat")["read_through"])


def series(version: str) -> str:
    """The release line of a version: ``7.2.1-43`` is ``7.2``; "" when there is none."""
    found = numbers(version)
    return f"{found[0]}.{found[1]}" if len(found) >= 2 else ""


def _dotted(version: str) -> str:
    return ".".join(map(str, numbers(version)[:3]))


@cache
def rocm_releases() -> tuple[RocmRelease, ...]:
    """Every row, oldest first."""
    return tuple(_release(raw) for raw in load_table("compat")["rocm_releases"])


def _release(raw: Any) -> RocmRelease:
    driver, sources = raw["driver"], words(raw["s"])
    return RocmRelease(
        words(raw["series"]),
        words(raw["versions"]),
        raw["stream"],
        raw.get("released"),
        DriverWindow(driver.get("min"), driver.get("max"), words(driver.get("listed")), sources),
        words(raw["gfx"]) if raw["gfx"] is not None else None,
        words(raw.get("gfx_deprecated")),
        raw["complete"],
        words(raw.get("os")),
        words(raw.get("notes")),
        sources,
    )


def rocm_release(version: str) -> RocmRelease | None:
    """The row of a ROCm version (``6.3.2``, ``7.2.1``), or None when no row was read for it."""
    line, exact = series(version), _dotted(version)
    rows = [row for row in rocm_releases() if line in row.series]
    named = [row for row in rows if exact in row.versions]
    if named:
        return named[0]
    whole = [row for row in rows if not row.versions]
    if whole:
        return whole[0]
    # "7.1" alone: the line is known by one row only
    return rows[0] if len(rows) == 1 and len(numbers(version)) == 2 else None


def driver_window(rocm_version: str) -> DriverWindow | None:
    """The kernel drivers that go with a ROCm version, by package number, or None when not known."""
    found = rocm_release(rocm_version)
    if found is None:
        rows = [row for row in rocm_releases() if series(rocm_version) in row.series]
        windows = {(row.driver.min, row.driver.max) for row in rows}
        found = rows[0] if len(windows) == 1 else None
    return found.driver if found is not None else None


def driver_package(version: str) -> str | None:
    """The package line of an amdgpu driver version: of a module version by the table, of a package number itself.

    ``6.19.14`` is 31.40. Module and package numbers below 31 overlap (6.10.5 is a module), so a version that is none of
    the table's modules is taken for a package where such a package exists, else None.
    """
    exact = numbers(version)
    for row in load_table("compat")["driver"]["module_versions"]:
        module = numbers(str(row["module"]))
        if exact[: len(module)] == module:
            return str(row["package"])
    line = series(version)
    known = {one for row in load_table("compat")["driver"]["matrix"] for one in row["drivers"]}
    known |= {one for row in rocm_releases() for one in row.driver.listed}
    known |= {str(row["package"]) for row in load_table("compat")["driver"]["module_versions"]}
    return line if line in known else None


def driver_supports(package: str, rocm_version: str) -> bool | None:
    """Whether a driver (package number, not module version) is listed for a ROCm version; None where nobody says.

    False only where a list is closed: below the release's oldest driver, or missing from the driver's own row.
    """
    driver, line = series(package), series(rocm_version)
    rows = [row for row in load_table("compat")["driver"]["matrix"] if driver in row["drivers"]]
    if any(line in row["user_space"] or line in row.get("listed", ()) for row in rows):
        return True
    window = driver_window(rocm_version)
    if window is None or driver_package(package) is None:
        return None
    if driver in window.listed:
        return True
    if window.min is not None and numbers(driver) < numbers(window.min):
        return False
    if window.max is not None and numbers(driver) > numbers(window.max) and any(row["user_space"] for row in rows):
        return False
    return None


def torch_release(version: str, flavour: str | None = None) -> TorchRelease | None:
    """The row of a torch version; the flavour (``rocm6.4``) may stand in the version's local part (``+rocm6.4``)."""
    public, _, local = version.strip().partition("+")
    wanted = flavour or local or None
    for raw in load_table("compat")["torch"]["releases"]:
        if raw["version"] == public:
            return _torch(raw, wanted)
    return None


def rocm_without(gfx: str) -> str | None:
    """The ROCm release from which on AMD says that it does not support a target; "0": it never did; None: not told."""
    return next((str(row["from"]) for row in load_table("compat")["rocm_without"] if gfx in row["gfx"]), None)


def rocblas_lacks(flavour: str, gfx: str) -> bool:
    """Whether rocBLAS in the wheels of a flavour (``rocm7.2``) was seen to have no files for a target."""
    line = numbers(flavour.removeprefix("rocm"))[:2]
    return bool(line) and any(
        gfx in row["gfx"] and numbers(row["from"]) <= line <= numbers(row["through"])
        for row in load_table("compat")["torch"]["rocblas_lacks"]
    )


@cache
def torch_releases() -> tuple[TorchRelease, ...]:
    """Every torch release of the table, newest first."""
    return tuple(_torch(raw, None) for raw in load_table("compat")["torch"]["releases"])


def _torch(raw: Any, wanted: str | None) -> TorchRelease:
    rocm = None
    if raw["rocm"] is not None:
        rocm = tuple(
            TorchFlavour(f["flavour"], words(f["gfx"]) if f["gfx"] else None, f["basis"], words(f["s"]))
            for f in raw["rocm"]
        )
    return TorchRelease(
        raw["version"],
        raw["date"],
        words(raw["python"]),
        words(raw["cuda"]) if "cuda" in raw else None,
        raw.get("pypi_cuda"),
        rocm,
        next((one for one in rocm or () if one.flavour == wanted), None),
        raw.get("note"),
        words(raw["s"]),
    )


def cuda_min_driver(cuda: str) -> CudaDriver | None:
    """The drivers for a CUDA version (``12.8``, ``12.8.1``), or None when the table has no row."""
    asked = numbers(cuda)
    if len(asked) < 2:
        return None
    table = load_table("compat")["cuda"]
    line, update = f"{asked[0]}.{asked[1]}", asked[2] if len(asked) > 2 else 0
    rows = [row for row in table["rows"] if row["cuda"] == line and row.get("update", 0) <= update]
    if not rows:
        return None
    row = max(rows, key=lambda one: int(one.get("update", 0)))
    floor = next((str(one["driver"]) for one in table["minor_compat"] if one["major"] == asked[0]), None)
    return CudaDriver(line, row["driver"], floor, row.get("branch_only", False), words(row["s"]))


def cuda_floor(cuda: str) -> str | None:
    """The first driver on which a build for a CUDA version runs: of its major release from 11 on, else of its own."""
    row = cuda_min_driver(cuda)
    if row is None:
        return None
    return row.minor_compat or (row.full if numbers(cuda) < (11,) else None)


def cuda_without_label(torch: str) -> str | None:
    """The CUDA version of the torch wheel that pip takes where nothing names one; None where it was not read."""
    release = torch_release(torch)
    if release is not None and release.pypi_cuda:
        return release.pypi_cuda
    rows = load_table("compat")["torch"]["without_label"]
    return next((str(row["cuda"]) for row in rows if series(torch) in row["series"]), None)


def meets(version: str, condition: str) -> bool | None:
    """Whether a version meets ``>=7.13``, ``<6.4`` or ``=10.0``, compared by as many numbers as the condition has."""
    operator = condition.rstrip("0123456789.")
    wanted = numbers(condition[len(operator) :])
    have = numbers(version)[: len(wanted)]
    if len(have) < min(len(wanted), 2):
        return None
    have += (0,) * (len(wanted) - len(have))
    outcome = {">=": have >= wanted, "<=": have <= wanted, "<": have < wanted, ">": have > wanted, "=": have == wanted}
    return outcome.get(operator)


def known_issues(
    *,
    rocm: str | None = None,
    torch: str | None = None,
    rccl: str | None = None,
    kernel: str | None = None,
    gfx: Iterable[str] = (),
    gpus: int | None = None,
    nodes: int | None = None,
    variables: Iterable[str] = (),
    strict: bool = True,
) -> tuple[KnownIssue, ...]:
    """The known issues that fit what is given; a condition whose fact is not given stays in ``open_keys``.

    ``strict`` leaves out issues with an open condition on a version or a target, so only those on the number of
    GPUs or nodes and the like stay open.
    """
    targets, names = set(gfx), set(variables)
    versions = {"rocm": rocm, "torch": torch.partition("+")[0] if torch else None, "rccl": rccl, "kernel": kernel}
    found: list[KnownIssue] = []
    for raw in load_table("compat")["known_issues"]:
        answers = {
            key: _applies(key, wanted, versions, targets, names, gpus, nodes, torch)
            for key, wanted in raw["applies"].items()
        }
        unknown = tuple(key for key, answer in answers.items() if answer is None)
        if False in answers.values() or True not in answers.values():
            continue
        if strict and {"rocm", "torch", "rccl", "kernel", "gfx"} & set(unknown):
            continue
        found.append(
            KnownIssue(
                raw["id"],
                raw["seen"],
                raw["status"],
                raw["weight"],
                raw["workload"],
                raw["symptom"],
                raw["workaround"],
                unknown,
                words(raw["s"]),
            )
        )
    return tuple(found)


def _applies(
    key: str,
    wanted: Any,
    versions: dict[str, str | None],
    targets: set[str],
    names: set[str],
    gpus: int | None,
    nodes: int | None,
    torch: str | None,
) -> bool | None:
    if key in versions:
        have = versions[key]
        if have is None:
            return None
        answers = [meets(have, condition) for condition in wanted]
        return None if None in answers else all(answers)
    if key == "gfx":
        return bool(targets & set(wanted)) if targets else None
    if key == "gpus_at_least":
        return None if gpus is None else gpus >= wanted
    if key == "gpus_at_most":
        return None if gpus is None else gpus <= wanted
    if key == "nodes_at_least":
        return None if nodes is None else nodes >= wanted
    if key == "variable":
        return wanted in names
    if key == "torch_flavour":
        return None if torch is None else torch.endswith(f"+{wanted}")
    return None
