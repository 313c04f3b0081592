"""The kernel driver of NVIDIA GPUs, the key that signs it, and the services that servers run beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.insight.gpus.nvidia import for_one_driver, works_in_torch
from rocdoctor.insight.gpus.presence import count_words, is_driven, is_reserved
from rocdoctor.insight.software.torch_command import served_capabilities
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.nvidia_vgpus import runs_no_cuda
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.model.evidence import NOT_ASKED, Known, Unknown, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, wanted
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    by_hand,
    changes_of,
    effect_of,
    fetched_by,
    for_caretaker,
    key_enrolled,
    open_in,
    sentence,
    sources_of,
    stay_enabled,
    upgrades_all,
    with_fresh_lists,
    with_key_tool,
)

LAYER: Layer = "driver"

_ID, _TITLE, _KEY = "driver-nvidia", "NVIDIA driver", "secure-boot-key-nvidia"
_PAGE = install.hosts()["nvidia_cuda"].page
_VGPU_PAGE = "https://docs.nvidia.com/grid/latest/grid-vgpu-user-guide/index.html"
# Why no driver runs, the most telling first; each has to be about NVIDIA, since some speak of other modules too.
_REASONS = (
    "nvidia-gpu-not-supported",
    "secure-boot-refuses-module",
    "driver-module-blacklisted",
    "wrong-kernel-driver",
    "driver-module-not-loaded",
    "nvidia-smi-failed",
    "gpu-without-driver",
)
# Of these the check speaks of nothing else.
_OF_NVIDIA = ("nvidia-gpu-not-supported", "nvidia-smi-failed")
# The oldest driver of any wheel of the tables (cuda rows of install_torch.yaml).
_FLOOR = (525,)


def steps(situation: Situation) -> Sequence[Step]:
    """Driver, key and services; nothing without an NVIDIA GPU to train on, or where the driver is Windows'."""
    gpus = [gpu for gpu in for_one_driver(situation.machine) if not is_reserved(gpu)]
    if not gpus or situation.wsl or not any(one.vendor == "nvidia" for one in situation.targets):
        return ()
    driver, want = _driver(situation, gpus), wanted(situation)
    # Where torch uses other GPUs, or none, the goal is reached without it.
    driver = replace(driver, optional=isinstance(want, RequiredTorch) and want.backend != "cuda")
    found = [driver, _key(situation, driver), _persistence(situation)]
    return for_caretaker(situation, [one for one in found if one is not None])


def _driver(situation: Situation, gpus: Sequence[Gpu]) -> Step:
    mismatch = situation.finding("nvidia-driver-library-mismatch", "warning")
    if mismatch is not None:
        return Step(
            _ID,
            "Load the NVIDIA module that matches the installed libraries",
            "todo",
            mismatch.message,
            mismatch.evidence,
            risk="reboots",
            effective="reboot",
            verify=Verify("nvidia-driver-library-mismatch"),
            notes=("The restart loads it.",),
        )
    driven = [is_driven(gpu) for gpu in gpus]
    reason = _reason(situation)
    version = situation.machine.drivers.get("nvidia", {}).get("version", NOT_ASKED)
    if all(driven) or works_in_torch(situation.machine):
        told = served_capabilities(situation.machine)
        ended = bool(told) and install.driver_needed(told[0]) == "ended"  # a newer one would not run it
        if isinstance(version, Known) and not ended and numbers(version.value) and numbers(version.value) < _FLOOR:
            why = f"Driver {version.value} is too old for every CUDA 12 build of torch ({_FLOOR[0]} or newer)."
            newer = Verify(command="nvidia-smi", shows=f"driver {_FLOOR[0]} or newer")
            return _install(situation, why, (cite(version),), newer)
        if reason is None or reason[0] in ("gpu-without-driver", "wrong-kernel-driver"):
            return _done(situation, gpus)
        return _by_hand(*reason)
    if reason is None:
        why = "The evidence does not show which driver is bound to the GPU; nvidia-smi shows it."
        return Step(_ID, _TITLE, "unknown", why, verify=Verify("gpu-without-driver"))
    return _repair(situation, *reason)


def _reason(situation: Situation) -> tuple[str, Finding] | None:
    """The check, and what it found, that says why no NVIDIA driver runs."""
    own = {gpu.subject for gpu in for_one_driver(situation.machine)}
    others = {gpu.subject for gpu in situation.gpus("nvidia")} - own
    for verdict, found in situation.findings(_REASONS):
        if verdict.subject in others:
            continue
        if verdict.subject in own or found.about.module == "nvidia" or verdict.check in _OF_NVIDIA:
            return verdict.check, found
    return None


def _done(situation: Situation, gpus: Sequence[Gpu]) -> Step:
    told = situation.machine.drivers.get("nvidia", {})
    version, cuda = told.get("version", NOT_ASKED), told.get("cuda", NOT_ASKED)
    evidence = [cite(gpus[0].driver)] if isinstance(gpus[0].driver, Known) else []
    evidence += [cite(version, f"driver {version.value}")] if isinstance(version, Known) else []
    evidence += [cite(cuda, f"CUDA {cuda.value}")] if isinstance(cuda, Known) else []
    which = f"Driver {version.value}" if isinstance(version, Known) else "The driver"
    serves = f" and serves CUDA programs up to {cuda.value}" if isinstance(cuda, Known) else ""
    why = f"{which} runs {count_words(len(gpus), 'NVIDIA GPU')}{serves}."
    verify = Verify("nvidia-smi-failed")
    said = " ".join(_without_cuda(gpus))
    return Step(_ID, _TITLE, "done", why, tuple(evidence), verify=verify, support=said, notes=_left_out(situation))


def _without_cuda(gpus: Sequence[Gpu]) -> tuple[str, ...]:
    """What no driver changes: a vGPU of a series without CUDA."""
    names = [value_or(gpu.name, "") for gpu in gpus if value_or(gpu.vgpu, False)]
    name = next(filter(runs_no_cuda, names), None)
    ask = "ask whoever runs the hypervisor for one of the C or Q series."
    return () if name is None else (f"{name} is a vGPU of a series that does not support CUDA: {ask}",)


def _left_out(situation: Situation) -> tuple[str, ...]:
    """The GPUs that are too old for the driver of the others, each with its capability."""
    served = for_one_driver(situation.machine)
    gone = [
        f"{gpu.label}, compute capability {gpu.compute_capability.value},"
        for gpu in situation.gpus("nvidia")
        if gpu not in served and not is_reserved(gpu) and isinstance(gpu.compute_capability, Known)
        if install.driver_needed(gpu.compute_capability.value) in ("ended", "closed")
    ]
    dark = "" if any(map(is_driven, served)) else " A screen connected to it stays dark once nouveau no longer loads."
    return tuple(f"{one} is left out: the driver of the newer GPUs does not support it.{dark}" for one in gone)


def _by_hand(check: str, found: Finding) -> Step:
    return by_hand(_ID, "Make the NVIDIA driver usable", found, check, effect_of(found))


# -- no driver runs


def _repair(situation: Situation, check: str, found: Finding) -> Step:
    if check == "secure-boot-refuses-module":
        return Step(
            _ID,
            "Load the NVIDIA driver",
            "waiting",
            found.message,
            found.evidence,
            effective="reboot",
            verify=Verify(check),
            needs=(_KEY,),
            notes=("It loads at the next start once its key is enrolled.",),
        )
    if check == "driver-module-blacklisted":
        return _by_hand(check, found)
    built = [one for one in value_or(situation.machine.kernel.dkms, ()) if one.startswith("nvidia")]
    release = situation.kernel
    if any(value_or(gpu.vgpu, False) for gpu in for_one_driver(situation.machine)):
        return _guest_driver(for_one_driver(situation.machine), found.message, found.evidence, Verify(check))
    here = next((one for one in built if release and f", {release}," in one and one.endswith("installed")), None)
    if here is not None and check == "driver-module-not-loaded":
        why = f"The driver is installed for this kernel, and is not loaded yet: {here}."
        evidence = (cite(situation.machine.kernel.dkms, here), *found.evidence)
        return Step(_ID, "Load the NVIDIA driver", "waiting", why, evidence, effective="reboot", verify=Verify(check))
    return _install(situation, found.message, found.evidence, Verify(check))


def _guest_driver(gpus: Sequence[Gpu], message: str, evidence: tuple[Evidence, ...], verify: Verify) -> Step:
    """What drives a vGPU comes from whoever lends it: no package of a distribution or of NVIDIA's repositories does."""
    shares = [gpu for gpu in gpus if value_or(gpu.vgpu, False)]
    first = shares[0]
    named = value_or(first.name, first.label)
    why = f"{message} {count_words(len(shares), 'vGPU')} from the hypervisor ({named}): no ordinary driver works."
    return Step(
        _ID,
        "Install the NVIDIA vGPU guest driver",
        "todo",
        why,
        (*evidence, cite(first.vgpu, f"vGPU {named}")),
        risk="manual",
        effective="reboot",
        verify=verify,
        notes=(
            *_without_cuda(shares),
            "Ask the hypervisor's or cloud's operator for the guest driver (GRID) of the host's vGPU release.",
            "It needs a licence too: put the client configuration token into /etc/nvidia/ClientConfigToken.",
            "Its release decides which builds of torch run: the one in this plan runs with every CUDA 12 driver.",
            f"NVIDIA's page: {_VGPU_PAGE}",
        ),
    )


def _of_nixos(situation: Situation, message: str, evidence: tuple[Evidence, ...], verify: Verify) -> Step:
    """No package brings it there: lines of the configuration, which we do not edit."""
    told, table = served_capabilities(situation.machine), load_table("install_nix")["nvidia"]
    old = bool(told) and install.driver_needed(told[0]) in ("ended", "closed")
    sources = words(table["s"])
    return Step(
        _ID,
        "Enable the NVIDIA driver in configuration.nix",
        "todo",
        f"{message} {table['why']}",
        evidence,
        risk="manual",
        effective="reboot",
        verify=verify,
        notes=(
            *(one.format(module="false" if old else "true") for one in table["notes"]),
            *((table["old"],) if old else ()),
        ),
        sources=sources,
        table="install_nix",
        kind=install.weakest("install_nix", sources),
    )


def _install(situation: Situation, message: str, evidence: tuple[Evidence, ...], verify: Verify) -> Step:
    route = situation.nvidia_driver
    title = "Install the NVIDIA driver"
    if situation.nixos and not situation.enclosed:
        return _of_nixos(situation, message, evidence, verify)
    if isinstance(route, Unknown):
        why = f"{message} {sentence(route.why)}"
        return Step(
            _ID,
            title,
            "unknown",
            why,
            evidence,
            verify=verify,
            notes=(f"NVIDIA's page: {_PAGE}",),
        )
    actions, undo = with_fresh_lists(actions_of(route.steps)), actions_of(route.undo)
    fetched = fetched_by(actions)
    undo = (*undo, *(Action(words=("rm", "-f", path), root=True) for path in fetched))
    missing = open_in(actions)
    if missing:
        why = f"{message} The evidence does not show {', '.join(missing)}, which the commands need."
        return Step(_ID, title, "unknown", why, evidence, verify=verify, notes=(f"See {_PAGE}",))
    branch = f" {route.driver}" if route.driver else ""
    if any(one.words[:2] == ("mokutil", "--import") for one in actions):
        branch += " and enrol the key that signs it (Secure Boot)"
    sources = tuple(dict.fromkeys((*route.sources, *sources_of(route.steps))))
    signing = install.boot_notes(route.secure_boot)
    notes = [
        *_flavour(situation),
        *_left_out(situation),
        *_lent(situation),
        *(one for one in route.notes if one not in signing),
    ]
    if situation.secure_boot and route.secure_boot:
        notes.insert(0, "Enrol its key before the restart (the next step): Secure Boot refuses a module without one.")
    if situation.secure_boot is None and route.secure_boot:
        notes.append(f"It is not known whether Secure Boot is on. {install.boot_notes(route.secure_boot)[0]}")
    if situation.manager == "apt" and situation.secure_boot is not False and not route.secure_boot:
        notes.append("Ubuntu signs this module, so Secure Boot accepts it.")
    if any(gpu.vendor == "nvidia" and value_or(gpu.driver, "") == "nouveau" for gpu in situation.machine.gpus):
        notes.append("nouveau drives the GPU until the restart; the package keeps it from loading afterwards.")
    return Step(
        _ID,
        f"{title}{branch}",
        "todo",
        f"{message} {sentence(route.why)}",
        evidence,
        actions,
        tuple(dict.fromkeys((*fetched, *changes_of(actions)))),
        "risky" if any(map(upgrades_all, actions)) else "reboots",
        "reboot",
        verify,
        undo,
        route.risk or "",
        (*notes, *stay_enabled(actions)),
        sources,
        route.table,
        install.weakest(route.table, sources),
    )


def _flavour(situation: Situation) -> tuple[str, ...]:
    """Which kernel module these GPUs need, by the table."""
    table = load_table("install_nvidia")
    told = served_capabilities(situation.machine)
    if not told:
        return ("GPUs before Turing need NVIDIA's proprietary kernel module, Blackwell its open one.",)
    if install.driver_needed(told[0]) in ("ended", "closed"):
        return ("This GPU needs NVIDIA's proprietary kernel module, not the open one.",)
    if install.driver_needed(told[-1]) == "open":
        return (f"This GPU needs NVIDIA's open kernel module, branch {table['blackwell']['branch']} or newer.",)
    return ()


def _lent(situation: Situation) -> tuple[str, ...]:
    """In a virtual machine: what these packages do not drive."""
    if value_or(situation.machine.container.virtual_machine, None) is None:
        return ()
    return ("If the host provides a vGPU instead of the whole GPU, ask for the guest driver of its release.",)


def _key(situation: Situation, driver: Step) -> Step | None:
    """The key for a module that is built here, where Secure Boot is known to be on."""
    secure = situation.machine.kernel.secure_boot
    refused = next(
        (one for _, one in situation.findings(["secure-boot-refuses-module"]) if one.about.module == "nvidia"), None
    )
    built = any(one.startswith("nvidia") for one in value_or(situation.machine.kernel.dkms, ()))
    if refused is None and (situation.secure_boot is not True or driver.state == "done"):
        return None
    if refused is None and not built and not driver.actions:
        return None
    route = situation.nvidia_driver
    keys = route.secure_boot if isinstance(route, install.DriverRoute) else ()
    if not keys and refused is None:
        return None  # the distribution signs its own module
    title = "Enrol the key that signs the NVIDIA module (Secure Boot)"
    why = (
        refused.message
        if refused is not None
        else ("Secure Boot is on: a module built on this machine loads only if its key is enrolled.")
    )
    evidence = (
        *(refused.evidence if refused is not None else ()),
        *([cite(secure, "Secure Boot is on")] if situation.secure_boot else []),
    )
    check = Verify("secure-boot-refuses-module")
    if not keys:
        fix = refused.fix.text if refused is not None and refused.fix is not None else ""
        return Step(
            _KEY, title, "todo", why, evidence, risk="manual", effective="reboot", verify=check, notes=(sentence(fix),)
        )
    actions = with_key_tool(situation, actions_of(keys))
    return Step(
        _KEY,
        title,
        "todo",
        why,
        evidence,
        actions,
        changes_of(actions),
        "reboots",
        "reboot",
        key_enrolled(actions[-1].words[-1]),
        (Action(words=("mokutil", "--delete", actions[-1].words[-1]), root=True),),
        notes=install.boot_notes(keys),
        sources=sources_of(keys),
        table="install",
        kind=install.weakest("install", sources_of(keys)),
    )


# -- services of servers


def _persistence(situation: Situation) -> Step | None:
    found = situation.finding("persistence-off")
    if found is None:
        return None
    unit = "nvidia-persistenced"
    return Step(
        "nvidia-persistence",
        "Keep the GPUs initialised (persistence service)",
        "todo",
        found.message,
        found.evidence,
        (Action(words=("systemctl", "enable", "--now", unit), root=True),),
        (f"service {unit}",),
        "safe",
        "now",
        Verify("persistence-off"),
        (Action(words=("systemctl", "disable", "--now", unit), root=True),),
        optional=True,
        needs=(_ID,),
    )
