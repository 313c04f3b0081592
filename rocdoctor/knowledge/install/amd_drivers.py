"""Kernel drivers of AMD GPUs, and the generations of ROCm packages.

The figures are those of ``install.yaml`` and ``install_rocm.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.gpus.gfx import gfx_target, kernel_knows, override_gfx_name
from rocdoctor.knowledge.install.distributions import Distribution, distribution_risk
from rocdoctor.knowledge.install.kernels import kernel_floor, kernel_gone, kernel_step, kernel_values, modules_apart
from rocdoctor.knowledge.install.steps import InstallStep, Words, hosts, missing_names, steps_of
from rocdoctor.knowledge.install.vendor_lists import release_lists
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.knowledge.software.package_managers import package_managers
from rocdoctor.model.evidence import Unknown

# official: the vendor names card and distribution; deprecated: it names them and announces the end; distribution: the
# distribution's own; works-unsupported: people do it, nobody answers for it, and ``risk`` says what may happen.
Support = Literal["official", "deprecated", "distribution", "works-unsupported"]
DriverKind = Literal["in-tree", "dkms", "packaged", "newer-kernel", "windows", "host", "none"]

# Steps of a registered SLES.
_REGISTERED = ("sles-modules", "sles-hub")


@dataclass(frozen=True, slots=True)
class PackageStream:
    """A generation of ROCm packages; ``gfx`` are the targets with packages, ``deprecated`` those on their way out."""

    id: str
    rocm: str
    prefix: str
    gfx: Words
    deprecated: Words
    sources: Words


@dataclass(frozen=True, slots=True)
class DriverRoute:
    """How the kernel gets its driver. ``secure_boot`` are the steps that a module of DKMS needs under Secure Boot."""

    kind: DriverKind
    support: Support
    why: str
    driver: str | None = None
    steps: tuple[InstallStep, ...] = ()
    undo: tuple[InstallStep, ...] = ()
    secure_boot: tuple[InstallStep, ...] = ()
    verify: tuple[Words, ...] = ()
    kernel_at_least: str | None = None
    risk: str | None = None
    notes: Words = ()
    sources: Words = ()
    table: str = "install"  # in which the sources stand
    kernel_line: str = ""  # of the newer kernel that the steps install: 7.0
    unsettled: str = ""  # what no page that was read tells of the steps
    least: str = ""  # the oldest branch that the steps can bring: 580

    @property
    def ordered(self) -> tuple[InstallStep, ...]:
        """All steps under Secure Boot in their order: the key goes in before the restart, and is looked at after it."""
        before = tuple(step for step in self.steps if step.id != "reboot")
        restart = tuple(step for step in self.steps if step.id == "reboot")
        keys = tuple(step for step in self.secure_boot if step.after == "reboot")
        return (*before, *keys, *restart, *(step for step in self.secure_boot if step not in keys))

    @property
    def missing(self) -> Words:
        """Names that are open in the steps: what the machine has to tell, or an address that was not read."""
        return missing_names((*self.steps, *self.undo, *self.secure_boot))


@dataclass(frozen=True, slots=True)
class Firmware:
    """The package with the firmware that the kernel's own driver loads; ``section`` of the archive, where it is not
    in the usual one. ``too_old_for`` are targets that are younger than it."""

    package: str
    section: str | None
    too_old_for: Words
    text: str
    sources: Words


@dataclass(frozen=True, slots=True)
class Route:
    """ROCm packages for a machine. ``environment`` are variables that the route lives on (overrides of the target).

    ``built_for`` are targets that a distribution's own packages are known to have code for.
    """

    stream: str
    rocm: str | None
    support: Support
    packages: Words
    steps: tuple[InstallStep, ...]
    undo: tuple[InstallStep, ...]
    verify: tuple[Words, ...]
    prefix: str | None = None
    environment: Mapping[str, str] | None = None
    risk: str | None = None
    notes: Words = ()
    remove_first: Words = ()
    disk_gb: float | None = None
    sources: Words = ()
    download_gb: float | None = None
    built_for: Words = ()

    @property
    def missing(self) -> Words:
        """Names that are open in the steps; ``pages`` says where an address stands."""
        return missing_names((*self.steps, *self.undo))

    @property
    def pages(self) -> Words:
        """The vendor pages that show the addresses that are missing."""
        return tuple(hosts()[name].page for name in self.missing if name in hosts())


@cache
def streams() -> tuple[PackageStream, ...]:
    """The generations of ROCm packages, newest first."""
    return tuple(
        PackageStream(
            raw["id"], raw["rocm"], raw["prefix"], words(raw["gfx"]), words(raw.get("deprecated")), words(raw["s"])
        )
        for raw in load_table("install_rocm")["streams"]
    )


@cache
def current_targets() -> frozenset[str]:
    """The targets that a ROCm release of the last generations has packages for, not counting deprecated ones."""
    return frozenset(gfx for stream in streams() for gfx in stream.gfx)


def override_of(gfx: str) -> tuple[str, str, str] | None:
    """Value, target that it stands for, and note of an override in common use within one instruction set, or None."""
    for raw in load_table("gfx")["override"]["pairs"]:
        if raw["physical"] == gfx and raw["in_common_use"] and raw["safety"] == "same-group":
            stand_in = override_gfx_name(raw["override"])
            return (raw["override"], stand_in, raw["note"]) if stand_in is not None else None
    return None


def _firmware(found: Distribution) -> Any:
    return next((one for one in load_table("install")["firmware"] if one["distribution"] == found.key), None)


def firmware_package(found: Distribution) -> Firmware | None:
    """The package with the GPU firmware of a distribution; None where it was not read."""
    raw = _firmware(found)
    if raw is None:
        return None
    return Firmware(raw["package"], raw["section"], words(raw["too_old_for"]), raw["text"], words(raw["s"]))


def driver_route(
    found: Distribution | None,
    gfx: str,
    *,
    kernel: str = "",
    container: str = "none",
    stream: str = "newgen_10",
    secure_boot: bool | None = None,
    arch: str = "x86_64",
    packaged: bool = False,
) -> DriverRoute | Unknown:
    """The kernel driver for an AMD target; "" as target is a machine without a GPU, which needs none.

    ``kernel`` is the release of the running kernel, ``stream`` the ROCm generation that decides the driver's release.
    ``secure_boot`` False leaves out the steps for its key, ``arch`` is that of the processor, ``packaged`` says that
    AMD's driver is installed here, so that no other kernel comes before it. NVIDIA: ``install_others.nvidia_driver``.
    """
    table = load_table("install")["driver"]
    elsewhere = driver_elsewhere("install", table["elsewhere"], container)
    if elsewhere is not None:
        return elsewhere
    if not gfx:
        return DriverRoute("none", "official", "There is no GPU that needs a driver.")
    target = gfx_target(gfx)
    if arch != "x86_64":
        return Unknown(f"the tables have drivers of AMD GPUs for x86_64 only, not for {arch}")
    if found is None:
        return Unknown("the tables have no row for this distribution")
    if target is None:
        return Unknown(f"the tables do not know the target {gfx}")
    firmware = _firmware(found)
    knows = kernel_knows(gfx, kernel)
    if firmware is not None and gfx in firmware["too_old_for"]:
        knows = False
    if gfx in table["apus"]:
        for row in table["apu_kernels"]:
            if row["distribution"] == found.key and found.derived_from is None:
                return _apu_kernel(found, gfx, kernel, row)
    elif gfx in current_targets() and found.dkms in ("vendor", "works-unsupported"):
        release = table["releases"].get(stream)
        if release is not None and (gfx in table["prefer_dkms"] or knows is not True):
            first = None if packaged else _listed_kernel(found, gfx, kernel, stream)
            return first if first is not None else _dkms(found, gfx, kernel, release, secure_boot)
    if knows is False:
        return Unknown(_no_kernel(gfx, kernel, target.kernel_present, firmware, found))
    steps: tuple[InstallStep, ...] = ()
    if firmware is not None and firmware["section"] is not None:
        command = package_managers()[found.manager].command("install")
        steps = steps_of("install", ["firmware"], {"firmware": firmware["package"]}, {"install": command})
    risks: list[str] = []
    if knows is None:
        since = target.kernel_present or "no release that was looked at"
        risks.append(f"It is not known whether this kernel has the compute path of {gfx}; Linux {since} has it.")
    if gfx not in current_targets():
        risks.append(f"No current list of AMD has {gfx}, so nobody tests the driver with it.")
    risk = " ".join(risks) or None
    support: Support = "distribution" if risk is None else "works-unsupported"
    return DriverRoute(
        "in-tree",
        support,
        f"The kernel's own driver {'knows' if knows else 'is the only one for'} {gfx}.",
        steps=steps,
        verify=_verify(),
        kernel_at_least=target.kernel_present,
        risk=risk,
        sources=target.sources,
        table="gfx",
    )


def _listed_kernel(found: Distribution, gfx: str, kernel: str, stream: str) -> DriverRoute | None:
    """The newer kernel of this distribution with which AMD lists a target; None where it lists the one that runs."""
    lists = release_lists(next((one.rocm for one in streams() if one.id == stream), ""))
    if lists is None or found.derived_from is not None or not numbers(kernel):
        return None
    systems = {system: None for row in lists.of_gfx(gfx) for system in row.systems}
    here = [one for one in systems if one.is_release(found.id, found.version)]
    if any(one.has_kernel(kernel) for one in here):
        return None
    for one in here:
        steps = kernel_step(found.key, one.kind, one.kernel)
        if steps and numbers(kernel)[:2] < numbers(one.kernel)[:2]:
            return DriverRoute(
                "newer-kernel",
                "official",
                f"AMD lists {gfx} on {one.name} with {one.kernel_words} (ROCm {lists.rocm}).",
                steps=steps,
                verify=_verify(),
                kernel_line=one.kernel,
                sources=steps[0].sources,
            )
    return None


def _apu_kernel(found: Distribution, gfx: str, kernel: str, row: Any) -> DriverRoute:
    """The kernel's own driver for an APU: with the newer kernel that AMD lists, where another one runs."""
    target = gfx_target(gfx)
    lines = [one.split(" ") for one in row["kernels"]]
    listed = any(numbers(kernel)[:2] == numbers(line) and ("-oem" in kernel) == (kind == "OEM") for kind, line in lines)
    newest = max((numbers(line) for _, line in lines), default=())
    names = [row["step"]] if row["step"] and kernel and not listed and numbers(kernel)[:2] <= newest else []
    floor = kernel_floor(gfx, found.id, found.version, kernel)
    asked = f"AMD does not support {gfx} on Linux {kernel}: it requires {floor}." if floor is not None else None
    return DriverRoute(
        "newer-kernel" if names else "in-tree",
        "official",
        row["why"],
        steps=steps_of("install", names, {}),
        verify=_verify(),
        kernel_at_least=target.kernel_present if target is not None else None,
        kernel_line=".".join(map(str, newest)) if names else "",
        risk=asked,
        sources=words(row["s"]),
    )


def packaged_driver(
    found: Distribution | None,
    gfx: str,
    *,
    kernel: str = "",
    stream: str = "newgen_10",
    secure_boot: bool | None = None,
) -> DriverRoute | None:
    """The vendor's driver package beside the driver of the kernel; None where the vendor has none for it here."""
    table = load_table("install")["driver"]
    release = table["releases"].get(stream)
    if found is None or found.dkms != "vendor" or found.derived_from is not None or release is None:
        return None
    if gfx in table["apus"] or gfx not in current_targets():
        return None
    return _dkms(found, gfx, kernel, release, secure_boot)


def driver_elsewhere(table: str, rows: Any, container: str) -> DriverRoute | None:
    """The answer inside a container or WSL, where the driver belongs to somebody else; None on the machine itself."""
    if container in ("", "none"):
        return None
    row = rows["wsl" if container == "wsl" else "container"]
    return DriverRoute(row["kind"], "official", row["why"], sources=words(row["s"]), table=table)


def _no_kernel(gfx: str, kernel: str, present: str | None, firmware: Any, found: Distribution) -> str:
    if firmware is not None and gfx in firmware["too_old_for"]:
        return f"the firmware of {found.name} is too old for {gfx}, and the tables have no other driver for it there"
    return f"Linux {kernel} does not know {gfx} (it is in {present}), and the tables have no other driver for it here"


def _verify() -> tuple[Words, ...]:
    return tuple(words(one) for one in load_table("install")["driver"]["verify"])


def _dkms(found: Distribution, gfx: str, kernel: str, release: str, secure_boot: bool | None) -> DriverRoute:
    table = load_table("install")
    base = found.key.split(" ")[0]
    uek = found.uek and (not kernel or "uek" in kernel)  # Oracle Linux starts the kernel of RHEL as well
    name = "uek" if uek else {"clone": "clone", "rhel": "rhel"}.get(found.repos or "", base)
    routes = table["driver"]["routes"]
    route = routes[name] if name in routes else routes[found.key]
    instead = table["driver"]["instead"].get(found.values.get("el", ""), {})
    in_one = table["driver"]["modules_in_one"]
    whole = base == "ubuntu" and bool(kernel) and not modules_apart(kernel, found.key)
    if whole:
        instead = {**instead, **in_one["instead"]}
    # Modules are enabled where a system is registered, and what is built on it has their packages without that.
    names = [instead.get(one, one) for one in route["steps"] if found.derived_from is None or one not in _REGISTERED]
    caution = table["driver"]["caution"]
    unsettled = [one for one in table["driver"]["unsettled"] if table["driver"]["releases"][one["stream"]] == release]
    values = {**found.values, "drv": release} | kernel_values(kernel)
    boot = secure_boot_steps(found) if secure_boot is not False else ()
    risk = distribution_risk(found, found.dkms or "")
    gone, gone_s = kernel_gone(found, kernel)
    return DriverRoute(
        "dkms",
        "official" if risk is None else "works-unsupported",
        f"AMD's pages name driver {release} for {gfx}.",
        release,
        steps_of("install", names, values),
        steps_of("install", route["undo"], values),
        boot,
        (("dkms", "status"), *_verify()),
        risk=risk,
        notes=(
            driver_caution(),
            *([gone] if gone else []),
            *found.driver_notes,
            *boot_notes(boot),
        ),
        sources=(
            *words(route["s"]),
            *words(table["driver"]["releases_s"]),
            *words(caution["s"]),
            *(words(in_one["s"]) if whole else ()),
            *gone_s,
        ),
        unsettled=" ".join((*words(route.get("note")), *(one["text"] for one in unsettled))),
    )


def driver_caution() -> str:
    """What to do first where another package of AMD's driver may be installed."""
    return str(load_table("install")["driver"]["caution"]["text"])


def secure_boot_steps(found: Distribution) -> tuple[InstallStep, ...]:
    """How the key that DKMS signs with is enrolled; empty where its place was not read."""
    base = found.key.split(" ")[0]
    keys = load_table("install")["secure_boot"][base if base in ("sles", "ubuntu") else "other"]
    if keys is None:
        return ()
    return steps_of("install", ["secure-boot-import", "secure-boot-check"], {"cert": keys["cert"]})


def boot_notes(steps: tuple[InstallStep, ...]) -> Words:
    """What to know of keys for Secure Boot, where there are steps for them."""
    raw = load_table("install")["secure_boot"]
    return (raw["text"], raw["console"], raw["typed"]) if steps else ()


def groups_step(user: str) -> InstallStep:
    """The step that gives a user access to the GPU; needless where the nodes can be opened already."""
    return steps_of("install", [load_table("install")["groups"]["step"]], {"user": user} if user else {})[0]


def open_to_all() -> tuple[tuple[InstallStep, ...], tuple[InstallStep, ...], str]:
    """The udev rule that opens the nodes to every user, what takes it back, and what it means."""
    table = "install_access"
    return steps_of(table, ["rule"], {}), steps_of(table, ["rule-remove"], {}), str(load_table(table)["text"])
