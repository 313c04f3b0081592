"""Which GPUs of a machine to install for, NVIDIA drivers, container runtimes, and what several nodes need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rocdoctor.knowledge.gpus.gfx import gfx_target
from rocdoctor.knowledge.install.amd_drivers import DriverKind, DriverRoute, boot_notes, driver_elsewhere
from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.kernels import kernel_values
from rocdoctor.knowledge.install.nvidia_servers import ended_branch, server_driver
from rocdoctor.knowledge.install.steps import InstallStep, Words, fill_text, steps_of
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.model.facts.gpu import Gpu

_GPUS = "https://developer.nvidia.com/cuda-gpus"  # NVIDIA's list of GPUs by compute capability


@dataclass(frozen=True, slots=True)
class Targets:
    """The GPUs to install for. ``vendor`` "" is a machine without one; ``left_out`` are indexes of integrated ones."""

    vendor: str
    gfx: Words = ()
    capability: str | None = None
    left_out: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()  # GPUs whose target or capability is not known


@dataclass(frozen=True, slots=True)
class Runtime:
    """How a container gets the GPUs; ``needs`` is a package of the host, or None."""

    engine: str
    args: Words
    needs: str | None
    text: str
    sources: Words


@dataclass(frozen=True, slots=True)
class NodeNeeds:
    """What each node of a job over InfiniBand or RoCE needs. ``packages`` () where the names were not looked up."""

    packages: Words
    limits: InstallStep
    container_args: Words
    verify: tuple[Words, ...]
    same: str
    sources: Words


def training_targets(gpus: Iterable[Gpu]) -> tuple[Targets, ...]:
    """What to install for, one entry a vendor: discrete GPUs, and integrated ones only where there are no others."""
    found: list[Targets] = []
    every = list(gpus)
    for vendor in ("amd", "nvidia"):
        mine = [one for one in every if one.vendor == vendor]
        discrete = [one for one in mine if not _integrated(one)]
        chosen = discrete or mine
        if not chosen:
            continue
        gfx = tuple(dict.fromkeys(value_or(one.gfx, "") for one in chosen))
        capabilities = [value_or(one.compute_capability, "") for one in chosen]
        unknown = tuple(
            one.index for one in chosen if not value_or(one.gfx if vendor == "amd" else one.compute_capability, "")
        )
        # The oldest card decides which driver and which wheel all of them can use.
        lowest = min((one for one in capabilities if one), key=numbers, default=None)
        left = tuple(one.index for one in mine if one not in chosen)
        found.append(
            Targets(vendor, tuple(one for one in gfx if one) if vendor == "amd" else (), lowest, left, unknown)
        )
    # An integrated GPU of AMD beside a card of NVIDIA only drives the display.
    if len(found) == 2 and all(_integrated(one) for one in every if one.vendor == "amd"):
        shown = tuple(one.index for one in every if one.vendor == "amd")
        return (Targets("nvidia", (), found[1].capability, found[1].left_out + shown, found[1].unknown),)
    return tuple(found) or (Targets(""),)


def _integrated(gpu: Gpu) -> bool:
    """Whether a GPU is part of the processor: by its own fact, else by its target; False where neither is known."""
    target = gfx_target(value_or(gpu.gfx, ""))
    return value_or(gpu.integrated, target is not None and target.integrated)


def driver_needed(capability: str | None) -> Literal["ended", "closed", "either", "open", ""]:
    """What drives an NVIDIA GPU: no maintained branch, one of NVIDIA's two kernel modules, or either; "" unknown."""
    have, table = numbers(capability or ""), load_table("install_nvidia")
    if not have:
        return ""
    if have < numbers(table["oldest"]["from"]):
        return "ended"
    if have < numbers(table["proprietary_below"]["below"]):
        return "closed"
    return "open" if have >= numbers(table["blackwell"]["from"]) else "either"


def nvidia_driver(
    found: Distribution | None,
    capability: str | None = None,
    *,
    newest: str | None = None,
    kernel: str = "",
    container: str = "none",
    secure_boot: bool | None = None,
    arch: str = "x86_64",
    server: bool = False,
    today: str = "",
) -> DriverRoute | Unknown:
    """The NVIDIA driver: packages of the distribution where they are new enough for the GPU, else NVIDIA's own.

    ``capability``: that of the oldest GPU which it has to serve, ``newest`` that of the newest one. ``server``: the
    GPUs are data-center parts, for which archives have a flavour of their own. ``today``: the day by which ends of
    driver branches are judged, "" that of the tables.
    """
    table = load_table("install_nvidia")
    elsewhere = driver_elsewhere("install_nvidia", table["elsewhere"], container)
    if elsewhere is not None:
        return elsewhere
    if found is None:
        return Unknown("the tables have no row for this distribution")
    tegra = table["tegra"]
    if arch == "aarch64" and (tegra["kernel"] in kernel or capability in tegra["capabilities"]):
        return Unknown(tegra["why"])
    have = numbers(capability or "")
    needed = driver_needed(capability)
    old = needed in ("ended", "closed")
    if old and driver_needed(newest) == "open":
        return Unknown(table["blackwell"]["beside"].format(older=capability, newer=newest))
    row = next((one for one in table["drivers"] if one["distribution"] == found.key), None)
    if needed == "ended" and (row is None or row["branch"] or "from" in row):
        return Unknown(table["oldest"]["why"].format(capability=capability))
    below = None
    if row is not None and "from" in row:
        if not have:
            whose = f"{row['repository']} for {found.name}" if "repository" in row else found.name
            return _undecided(f"the driver of {whose}", row["from"])
        if arch != "x86_64" or have < numbers(row["from"]):
            below, row = row.get("older"), None  # of others only what was read
    if row is not None and "kernels" in row:
        pair = next((two for form, two in row["kernels"].items() if re.search(form, kernel)), None)
        if pair is None:
            return Unknown(row["other"])
        row = {**row, "steps": [pair[0], *row["steps"]], "undo": [pair[1], *row["undo"]]}
    swap: dict[str, str] = row.get(arch, {}) if row is not None and needed in ("either", "open") else {}
    if row is not None and swap:
        row = {**row, "steps": _swapped(row["steps"], swap), "undo": _swapped(row["undo"], swap)}
    enough = row is not None and (
        row["branch"] is None or needed != "open" or row["branch"] >= table["blackwell"]["branch"]
    )
    if server and enough and needed != "ended" and (own := server_driver(found, capability)) is not None:
        row, names = own
        why = f"{found.key} has driver {row['branch']} for servers in its own archive, and signs its modules."
        ended = ended_branch(row["branch"], today)
        own_row = {**row, "steps": names}
        return _nvidia(found, own_row, why, kernel, secure_boot, ended, "packaged", "install_servers")
    vendors = _of_vendor(table["closed" if old else "vendor"], found)
    # The archive's driver is the easier one, until its branch is at its end: then NVIDIA's own repository comes first.
    ended = ended_branch(row["branch"], today) if row is not None and row["branch"] else None
    # Of a GPU that nobody knows it is the safer one: the open module leaves those before Turing out.
    if ended and vendors is not None and have and arch in _processors(vendors):
        enough = False
    if row is not None and enough:
        why = f"{found.name} has the driver in its own archive."
        if "repository" in row:
            why = f"{row['repository']} has the driver for {found.name}."
        if found.derived_from is not None:
            why = f"{found.name} is built on {found.base}, whose archive has the driver."
        # That a branch has ended weighs more than what it can do.
        unsure = ""
        if not have and not server and row["branch"] and row["branch"] < table["blackwell"]["branch"]:
            least = table["blackwell"]["from"]
            unsure = f"It supports no GPU from {least} on, and the compute capability here is not known (see {_GPUS})."
        risk = " ".join(one for one in (unsure, ended, row.get("risk")) if one) or None
        return _nvidia(found, row, why, kernel, secure_boot, risk, "packaged")
    row = vendors
    if old and row is None:
        need = f"compute capability {capability} needs NVIDIA's proprietary module"
        return Unknown(below or f"{need}, whose packages for {found.name} were not read")
    if row is None or arch not in _processors(row):
        here = found.name if arch == "x86_64" else f"{found.name} on {arch}"
        return Unknown(f"the tables have no NVIDIA driver packages for {here}")
    if not have and not server:  # servers have none that is so old
        return _undecided("the open module of NVIDIA's repository", table["proprietary_below"]["below"])
    whose = f"{row['repository']} has" if "repository" in row else "NVIDIA's own repository has"
    why = f"{whose} drivers for {found.name if {'directories', 'repository'} & set(row) else found.base}."
    why += f" In the archive of the distribution: {ended}" if ended else ""
    risk = row.get("risk")
    if found.derived_from is not None and "directories" not in row:
        risk = f"NVIDIA does not name {found.name}: its packages are made for {found.base}."
    return _nvidia(found, row, why, kernel, secure_boot, risk, "packaged" if "repository" in row else "dkms", arch=arch)


def _swapped(names: Iterable[Any], swap: Mapping[str, str]) -> list[Any]:
    """Names of steps, with others in their place where ``swap`` has them."""
    return [swap.get(one, one) for one in names]


def _processors(row: Any) -> dict[str, Words]:
    """The architectures for which the packages of a row were read, with what more was read for each."""
    return {"x86_64": (), **{arch: words(one["s"]) for arch, one in row.get("processors", {}).items()}}


def _of_vendor(rows: Iterable[Any], found: Distribution) -> Any:
    """The row of a distribution among those of a vendor's repositories, with its directory; None where it has none."""
    row = next((one for one in rows if found.key in one["distributions"]), None)
    if row is None or "directories" not in row:
        return row
    folders = row["directories"]
    folder = folders.get(f"{found.id} {found.version}", folders.get(found.id))
    return None if folder is None else {**row, "nvdir": folder}


def _undecided(what: str, least: str) -> Unknown:
    """A driver that leaves older GPUs out, and a GPU of which nobody knows whether it is one."""
    return Unknown(
        f"{what} is for compute capability {least} and newer, and that of this GPU is not known (see {_GPUS})"
    )


def _nvidia(
    found: Distribution,
    row: Any,
    why: str,
    kernel: str,
    secure_boot: bool | None,
    risk: str | None,
    kind: DriverKind,
    table: str = "install_nvidia",
    arch: str = "x86_64",
) -> DriverRoute:
    values = {**found.values, "nvdir": row.get("nvdir", "")} | kernel_values(kernel)
    values |= {"arch": arch, "nvarch": "sbsa" if arch == "aarch64" else arch}
    boot: tuple[InstallStep, ...] = ()
    key = row.get("key")
    signing = row.get("signing")
    # Ubuntu signs its modules; Debian and NVIDIA's repository build them on the machine.
    if secure_boot is not False and not found.key.startswith("ubuntu") and key is None and signing is None:
        cert = load_table("install")["secure_boot"]["other"]["cert"]
        boot = steps_of("install", ["secure-boot-import"], {"cert": cert})
    notes, without = boot_notes(boot), set[str]()
    if key is not None:
        without = {*(key["enrol"] if not secure_boot else ()), *(key["make"] if secure_boot is False else ())}
        enrolled = steps_of(table, [one for one in key["enrol"] if secure_boot], values)
        notes = boot_notes(enrolled) if secure_boot is not None else words(key["ask"])
    notes += words(signing if secure_boot is not False else None) + words(row.get("note"))
    branch = row.get("branch")
    values |= {"branch": str(branch)} if branch else {}
    return DriverRoute(
        kind,
        "distribution" if kind == "packaged" else "official",
        why,
        str(branch) if branch else None,
        steps_of(table, [one for one in row["steps"] if one not in without], values),
        steps_of(table, [one for one in row["undo"] if one not in without], values),
        boot,
        tuple(words(one) for one in load_table("install_nvidia")["verify"]),
        None,
        risk,
        notes,
        (*words(row["s"]), *_processors(row).get(arch, ())),
        table,
        least=str(branch or row.get("least", "")),
    )


def container_runtime(vendor: str, engine: str, values: dict[str, str] | None = None) -> Runtime | None:
    """How a container of this engine (docker, podman) gets the GPUs of a vendor, or None where it was not read."""
    for raw in load_table("install_cluster")["runtimes"]:
        if raw["vendor"] == vendor and raw["engine"] == engine:
            args = tuple(fill_text(one, values or {}) for one in raw["args"])
            return Runtime(engine, args, raw["needs"], raw["text"], words(raw["s"]))
    return None


def toolkit_steps(found: Distribution, vendor: str) -> tuple[InstallStep, ...] | Unknown:
    """The steps that install a vendor's container toolkit. AMD GPUs work in containers without one."""
    for raw in load_table("install_cluster")["toolkits"]:
        fits = found.key in raw["distributions"] if "distributions" in raw else raw["manager"] == found.manager
        if raw["vendor"] == vendor and fits:
            return steps_of("install_cluster", raw["steps"], found.values)
    return Unknown(f"the tables have no container toolkit of {vendor} for {found.name}")


def node_needs(found: Distribution) -> NodeNeeds:
    """What each node of a job over several machines needs beside its GPUs."""
    raw = load_table("install_cluster")["nodes"]
    packages, limits = raw["packages"].get(found.manager), raw["memlock"]
    step = InstallStep(
        "memlock",
        limits["text"],
        root=True,
        file=limits["file"],
        lines=words(limits["lines"]),
        after=limits["after"],
        sources=words(limits["s"]),
        table="install_cluster",
    )
    return NodeNeeds(
        words(packages["names"]) if packages else (),
        step,
        words(raw["container"]["args"]),
        tuple(words(one) for one in raw["verify"]),
        raw["same"],
        words(packages["s"]) if packages else (),
    )
