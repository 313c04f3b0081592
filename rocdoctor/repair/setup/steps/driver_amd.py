"""The kernel driver of AMD GPUs: that of the kernel, or the vendor's package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.insight.gpus.presence import count_words, has_node, is_driven
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown, is_known, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.repair.setup import listed_support as lists
from rocdoctor.repair.setup.logged_driver import lines_in_log, taken_by_log
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    VENDOR_PAGE,
    actions_of,
    by_hand,
    changes_of,
    for_caretaker,
    open_in,
    packages_action,
    sentence,
    sources_of,
    stay_enabled,
    with_fresh_lists,
)

LAYER: Layer = "driver"

_ID = "driver-amd"
_TITLE = "Kernel driver of the AMD GPU"
# What other steps of the plan repair; the driver then waits for them.
_ELSEWHERE = {
    "secure-boot-refuses-module": "secure-boot-key",
    "driver-module-blacklisted": "driver-unblock",
    "gpu-firmware-missing": "gpu-firmware",
    "wrong-kernel-driver": "driver-unblock",
    "kfd-missing": "kernel",
}
_OTHER_DRIVER = ("kernel-too-old-for-gpu", "kfd-skipped-unsupported-gpu")  # a packaged driver knows more GPUs
_EPEL = ("epel", "crb-rhel", "crb-clone")
# What is wrong although the driver is bound, in the order in which it is asked.
_NO_COMPUTE = (
    "kfd-missing",
    "kernel-too-old-for-gpu",
    "pcie-atomics-missing",
    "kfd-skipped-unsupported-gpu",
    "gpu-without-compute-node",
)


def steps(situation: Situation) -> Sequence[Step]:
    """The driver; nothing where no AMD GPU could compute, or under WSL."""
    if not situation.amd_able or situation.wsl:
        return ()
    made = _driver(situation)
    listed = _listed(situation) if made.state == "done" and not situation.caretaker else None
    return for_caretaker(situation, (made,) if listed is None else (made, listed))


def _listed(situation: Situation) -> Step | None:
    """AMD's own driver, where the kernel's works and AMD lists its own with this card on this system.

    It is built for the kernel that runs, so the kernel that AMD lists comes first.
    """
    if not lists.driver_said(situation) or not situation.gfx or lists.listed_kernel_step(situation) is not None:
        return None
    answer = lists.lists_judgement(situation)
    if answer is None or answer.of("card", "distribution", "kernel"):
        return None
    route = install.packaged_driver(
        situation.distribution,
        situation.gfx[0],
        kernel=situation.kernel,
        stream=situation.stream,
        secure_boot=situation.secure_boot,
    )
    if route is None:
        return None
    why = "The kernel's own driver runs the GPU."
    step = _packages(situation, route, why, (), "combination-not-listed")
    built = [one for one in value_or(situation.machine.kernel.dkms, ()) if one.startswith("amdgpu/")]
    if built:
        note = "If the restart does not load it, dkms status and the kernel log show why."
        step = replace(step, state="waiting", actions=(), notes=(note,))
    return replace(step, id="driver-amd-package", optional=True)


def _driver(situation: Situation) -> Step:
    gpus = situation.amd_able
    driven = [True if has_node(gpu) else is_driven(gpu) for gpu in gpus]
    if all(driven):
        return _bound(situation, gpus)
    said = _no_compute(situation) if False not in driven else None
    if said is not None:
        return said
    if None in driven and False not in driven:
        if (logged := taken_by_log(situation, gpus)) is not None:
            return Step(_ID, _TITLE, "done", *logged, verify=Verify("gpu-without-driver"))
        why = "The evidence does not show which driver is bound to the GPU; lspci -k does."
        if lines := lines_in_log(situation, gpus):
            why = "The kernel log has lines of amdgpu about it, but not whether it is bound now; lspci -k shows that."
            return Step(_ID, _TITLE, "unknown", why, lines, verify=Verify("gpu-without-driver"))
        return Step(_ID, _TITLE, "unknown", why, verify=Verify("gpu-without-driver"))
    for check, step_id in _ELSEWHERE.items():
        found = situation.finding(check, "warning")
        if found is not None:
            return _waits(found, step_id)
    failed = situation.finding("driver-probe-failed")
    if failed is not None:
        return _by_hand(failed, "driver-probe-failed")
    return _missing(situation)


def _waits(found: Finding, step_id: str) -> Step:
    """What another step of the plan repairs."""
    note = "It loads at the next start once that is fixed."
    return Step(
        _ID,
        _TITLE,
        "waiting",
        sentence(found.message),
        found.evidence,
        verify=Verify("gpu-without-driver"),
        needs=(step_id,),
        notes=(note,),
    )


# -- a driver is bound


def _bound(situation: Situation, gpus: Sequence[Gpu]) -> Step:
    said = _no_compute(situation)
    if said is not None:
        return said
    late = situation.finding("amdgpu-driver-window", "warning")
    if late is not None and _packaged(situation):
        return _install(situation, late.message, late.evidence, "amdgpu-driver-window")
    if late is not None and (newer := _newer_package(situation)) is not None:
        return _packages(situation, newer, late.message, late.evidence, "amdgpu-driver-window")
    return _done(situation, gpus)


def _newer_package(situation: Situation) -> install.DriverRoute | None:
    """AMD's newer package in place of its old one; None where the kernel's own driver runs, or nothing is proposed."""
    mine = any(one.startswith("amdgpu/") for one in value_or(situation.machine.kernel.dkms, ()))
    if not mine or not situation.gfx or situation.caretaker:
        return None
    return install.packaged_driver(
        situation.distribution,
        situation.gfx[0],
        kernel=situation.kernel,
        stream=situation.stream,
        secure_boot=situation.secure_boot,
    )


def _no_compute(situation: Situation) -> Step | None:
    """Why the compute part of the driver does not take the GPU; None where no check says so."""
    for check in _NO_COMPUTE:
        found = situation.finding(check, "warning")
        if found is None:
            continue
        if check in _OTHER_DRIVER and _packaged(situation):
            return _install(situation, found.message, found.evidence)
        newer = isinstance(situation.driver, install.DriverRoute) and situation.driver.kind == "newer-kernel"
        if check in ("kernel-too-old-for-gpu", "kfd-missing") or (newer and check in _OTHER_DRIVER):
            return _waits(found, "kernel")
        return _by_hand(found, check)
    return None


def _done(situation: Situation, gpus: Sequence[Gpu]) -> Step:
    version = situation.machine.drivers.get("amdgpu", {}).get("version")
    evidence = [cite(gpus[0].driver)] if is_known(gpus[0].driver) else []
    evidence += [cite(gpus[0].kfd_node, f"compute node {value_or(gpus[0].kfd_node, '')}")] * is_known(gpus[0].kfd_node)
    evidence += [cite(version, f"amdgpu {version.value}")] if isinstance(version, Known) else []
    which = f"the packaged driver {version.value}" if isinstance(version, Known) else "the kernel's own driver"
    who = "of the host" if situation.enclosed else ""
    why = f"amdgpu {who} runs {count_words(len(gpus), 'AMD GPU')}: {which}.".replace("  ", " ")
    said = lists.driver_said(situation)
    late = situation.finding("amdgpu-driver-window", "warning")  # where no other driver is proposed
    if late is not None:
        fix = sentence(late.fix.text) if late.fix is not None else ""
        said = f"{sentence(late.message)} {fix} {said}".strip()
    elif said:
        said = f"It works. {said}"
    return Step(
        _ID,
        _TITLE,
        "done",
        why,
        tuple(evidence),
        verify=Verify("gpu-without-driver"),
        support=said,
    )


def _by_hand(found: Finding, check: str) -> Step:
    """Where no command repairs it: a slot, a cold start, a kernel log to read.

    The person decides how the machine is started again: some of it needs the power off.
    """
    return by_hand(_ID, "Make the GPU usable for computing", found, check)


# -- no driver is bound


def _missing(situation: Situation) -> Step:
    machine = situation.machine
    gpu = next(one for one in situation.amd_able if is_driven(one) is False)
    found = situation.finding("driver-module-not-loaded") or situation.finding("gpu-without-driver")
    message = found.message if found is not None else "No kernel driver is bound to the AMD GPU."
    evidence = found.evidence if found is not None else (cite(gpu.driver, "no driver"),)
    built, release = value_or(machine.kernel.dkms, ()), situation.kernel
    mine = [entry for entry in built if entry.startswith("amdgpu/")]
    if release and any(f", {release}," in entry and entry.endswith("installed") for entry in mine):
        entry = next(entry for entry in mine if f", {release}," in entry)
        return Step(
            _ID,
            _TITLE,
            "waiting",
            f"amdgpu-dkms is installed for this kernel, and is not loaded yet: {entry}.",
            (cite(machine.kernel.dkms, entry), *evidence),
            effective="reboot",
            verify=Verify("gpu-without-driver"),
            notes=("If it is still not loaded after a restart, modprobe amdgpu and the kernel log show why.",),
        )
    if release and mine and _packaged(situation):
        return _build(situation, mine, evidence)
    return _install(situation, message, evidence)


def _build(situation: Situation, mine: list[str], evidence: tuple[Evidence, ...]) -> Step:
    """AMD's driver is here, and was not built for the kernel that runs: its headers were missing."""
    route = situation.driver
    headers = (
        [one for one in route.steps if one.id.endswith("headers")] if isinstance(route, install.DriverRoute) else []
    )
    # With the headers of a newer kernel comes that kernel: DKMS builds for it when they are installed, or at its start.
    newer = any(one.after == "reboot" for one in headers)
    built = () if newer else (Action(words=("dkms", "autoinstall"), root=True),)
    actions = with_fresh_lists((*actions_of(headers), *built))
    why = f"amdgpu-dkms is installed, and has no module for Linux {situation.kernel}: {'; '.join(mine[:3])}."
    verify = Verify("gpu-without-driver")
    if not headers or open_in(actions):
        return Step(
            _ID, _TITLE, "unknown", f"{why} The package with its headers is not known here.", evidence, verify=verify
        )
    return Step(
        _ID,
        f"Build AMD's driver for the kernel that {'starts next' if newer else 'runs'}",
        "todo",
        why,
        (cite(situation.machine.kernel.dkms, mine[0]), *evidence),
        actions,
        changes_of(actions),
        "reboots",
        "reboot",
        verify,
        (Action(words=("dkms", "remove", "amdgpu", "--all"), root=True),),
        sources=sources_of(headers),
        table="install",
        kind=install.weakest("install", sources_of(headers)),
    )


def _install(
    situation: Situation, message: str, evidence: tuple[Evidence, ...], check: str = "gpu-without-driver"
) -> Step:
    route = situation.driver
    if isinstance(route, install.DriverRoute) and route.kind == "newer-kernel":
        return Step(
            _ID,
            _TITLE,
            "waiting",
            sentence(message),
            evidence,
            verify=Verify(check),
            needs=("kernel",),
            notes=(sentence(route.why),),
        )
    if isinstance(route, install.DriverRoute) and route.kind == "dkms":
        return _packages(situation, route, message, evidence, check)
    if isinstance(route, install.DriverRoute) and check == "gpu-without-driver":
        return _load(situation, route, message, evidence)
    gap = route.why if isinstance(route, Unknown) else "no other driver is in the tables"
    return Step(
        _ID,
        _TITLE,
        "unknown",
        f"{sentence(message)} {sentence(gap)}",
        evidence,
        verify=Verify(check),
        notes=(f"AMD's page: {VENDOR_PAGE}",),
    )


def _packages(
    situation: Situation, route: install.DriverRoute, message: str, evidence: tuple[Evidence, ...], check: str
) -> Step:
    # On Red Hat and its rebuilds dkms itself comes from EPEL, which the vendor's prerequisites enable.
    rocm = situation.rocm
    extra = [one for one in rocm.steps if one.id in _EPEL] if isinstance(rocm, install.Route) else []
    old = [one for one in value_or(situation.machine.kernel.dkms, ()) if one.startswith("amdgpu/")]
    # AMD asks on all its pages to take an older package out first.
    gone = (packages_action(situation.manager, "remove", "amdgpu-dkms"),) if old else ()
    actions = with_fresh_lists((*gone, *actions_of(extra), *actions_of(route.steps)))
    undo = actions_of(route.undo)
    missing = open_in(actions)
    why = f"{sentence(message)} {sentence(route.why)}"
    said_elsewhere = [*install.boot_notes(route.secure_boot)]
    if isinstance(situation.machine.kernel.dkms, Known):
        said_elsewhere.append(install.driver_caution())  # the old package goes first, or there is none
    notes = [note for note in route.notes if note not in said_elsewhere]
    secure = situation.machine.kernel.secure_boot
    if isinstance(secure, Unknown) and secure.reason != "absent":  # without EFI variables there is no Secure Boot
        notes.append(
            "It is not known whether Secure Boot is on here (mokutil --sb-state shows it). If it is, its key comes "
            "first."
        )
    if situation.secure_boot:
        notes.insert(0, "Enrol its key before the restart (the next step): Secure Boot refuses a module without one.")
    if old:
        was = ", ".join(dict.fromkeys(one.partition(",")[0] for one in old))
        notes.append(f"The undo does not bring the old driver back ({was}).")
    if missing:
        gap = f"The evidence does not show {', '.join(missing)}, which the commands need; see {VENDOR_PAGE}."
        return Step(_ID, "Install AMD's kernel driver", "unknown", f"{why} {gap}", evidence, verify=Verify(check))
    return Step(
        _ID,
        f"Install AMD's kernel driver {route.driver} (amdgpu-dkms)",
        "todo",
        why,
        evidence,
        actions,
        changes_of(actions),
        "reboots",
        "reboot",
        Verify(check),
        undo,
        " ".join(one for one in (lists.support_said(situation, "kernel"), route.risk, route.unsettled) if one),
        (*notes, *lists.firmware_said(situation), *stay_enabled(actions)),
        tuple(dict.fromkeys((*route.sources, *sources_of(extra), *sources_of(route.steps)))),
        route.table,
        install.weakest(route.table, route.sources),
    )


def _load(situation: Situation, route: install.DriverRoute, message: str, evidence: tuple[Evidence, ...]) -> Step:
    """The kernel has the driver, and it is not loaded: extra modules where the distribution keeps it there."""
    first = list(actions_of(route.steps))
    notes: list[str] = []
    found = situation.distribution
    package = install.firmware_package(found) if found is not None and first else None
    if package is not None and package.section:
        notes.append(f"{package.package} is in the section {package.section} of the archive.")
    extra = f"linux-modules-extra-{situation.kernel}"
    generic = situation.kernel.endswith("-generic")
    if generic and found is not None and found.id == "ubuntu" and install.modules_apart(situation.kernel, found.key):
        first = [packages_action(found.manager, "install", extra), *first]
        notes.append("Servers and clouds have kernels without it: the package of extra modules has it.")
        notes += [one for one in install.kernel_gone(found, situation.kernel)[:1] if one]
    actions = with_fresh_lists((*first, Action(words=("modprobe", "amdgpu"), root=True)))
    return Step(
        _ID,
        "Load the kernel's own amdgpu driver",
        "todo",
        f"{sentence(message)} {sentence(route.why)}",
        evidence,
        actions,
        changes_of(actions),
        "safe",
        "now",
        Verify("gpu-without-driver"),
        (Action(words=("modprobe", "-r", "amdgpu"), root=True),),
        " ".join(one for one in (route.risk, lists.driver_said(situation, loading=True)) if one),
        tuple(notes),
        route.sources,
        route.table,
        install.weakest(route.table, route.sources),
    )


def _packaged(situation: Situation) -> bool:
    return isinstance(situation.driver, install.DriverRoute) and situation.driver.kind == "dkms"
