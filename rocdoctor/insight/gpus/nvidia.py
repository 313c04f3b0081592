"""What checks of NVIDIA GPUs share: which boards have NVLink, which are data-center parts, whether the tool works."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocdoctor.insight.gpus.presence import is_driven, is_integrated, is_reserved
from rocdoctor.insight.texts.log_events import is_current
from rocdoctor.judging.check import quote
from rocdoctor.judging.selectors import none_here
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine, ToolFailure
from rocdoctor.model.finding import Evidence, Selected, Subjects
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import MACHINE

# Modules whose NVLinks are wired on the baseboard. The names of newer ones do not say SXM; their cards say PCIe or NVL.
_MODULE = regex(r"\bSXM\d?\b|\bH[18]00 \d{2,3}GB HBM3|\bH(?:200|20)\b|\bG?B[123]00\b|\bGH200\b", re.IGNORECASE)
_CARD = regex(r"\b(?:PCIe|NVL)\b|\bPCIE\b", re.IGNORECASE)
# Product names of parts for servers; those of workstation and consumer parts say RTX, Quadro or GeForce.
_SERVER = regex(
    r"\bTesla\b|\bA(?:100|800|30|40|10G?|16|2)\b|\bH(?:100|200|800|20)\b|\bL(?:2|4|20|40S?|40G)\b|\bG?B[123]00\b|\bGH200\b",
    re.IGNORECASE,
)
_DESK = regex(r"\b(?:GeForce|RTX|GTX|Quadro|TITAN|NVS|MX\d+)\b", re.IGNORECASE)


def name_of(gpu: Gpu) -> str:
    """The product name, empty where it is not known."""
    return value_or(gpu.name, None) or ""


def is_module(gpu: Gpu) -> bool:
    """A module with NVLinks that are wired on its board (SXM and its successors), by its product name."""
    name = name_of(gpu)
    return bool(_MODULE.search(name)) and not _CARD.search(name)


def is_server_part(gpu: Gpu) -> bool:
    """A data-center GPU, by its product name."""
    name = name_of(gpu)
    return bool(_SERVER.search(name)) and not _DESK.search(name)


def nvidia_gpus(machine: Machine) -> list[Gpu]:
    """The NVIDIA GPUs."""
    return [gpu for gpu in machine.gpus if gpu.vendor == "nvidia"]


def for_one_driver(machine: Machine) -> list[Gpu]:
    """The NVIDIA GPUs that the driver is there for; all of them where nothing tells them apart.

    Left out are those kept for virtual machines, those that no maintained branch drives beside newer ones, and those
    before Turing that a running driver leaves alone while it drives newer ones: an older branch would end that.
    """
    every = nvidia_gpus(machine)
    discrete = [gpu for gpu in every if not is_integrated(gpu)] or every
    mine = [gpu for gpu in discrete if not is_reserved(gpu)]
    needed = {gpu.index: install.driver_needed(value_or(gpu.compute_capability, None)) for gpu in mine}
    newer = [gpu for gpu in mine if needed[gpu.index] in ("either", "open")]
    old = {"closed", "ended"} if any(is_driven(gpu) for gpu in newer) else set[str]()
    mine = [gpu for gpu in mine if needed[gpu.index] not in old or is_driven(gpu) is not False]
    current = [gpu for gpu in mine if needed[gpu.index] != "ended"]
    return current or mine or discrete


def equals_of(machine: Machine, gpu: Gpu) -> list[Gpu]:
    """The other NVIDIA GPUs of the same name."""
    name = name_of(gpu)
    return [one for one in nvidia_gpus(machine) if one is not gpu and name and name_of(one) == name]


def active_links(gpu: Gpu) -> int | None:
    """How many NVLinks are up; None where that is not known."""
    return sum(link.active for link in gpu.nvlinks.value) if isinstance(gpu.nvlinks, Known) else None


def loaded_and_installed(machine: Machine) -> tuple[Known[str] | None, Known[str] | None]:
    """The versions of the loaded kernel module and of the installed libraries, as far as outputs show them.

    Libraries of the same version as the module are left out: those that do not fit it are others then.
    """
    told = machine.drivers.get("nvidia", {})
    loaded, installed = told.get("version"), told.get("libraries")
    if not isinstance(loaded, Known) or loaded.source.asked.verb == "text":
        return None, installed if isinstance(installed, Known) else None
    if not isinstance(installed, Known) or installed.value == loaded.value:
        return loaded, None
    return loaded, installed


def nvlink_turned_off(machine: Machine) -> str | None:
    """The module parameter that turns NVLink off for all GPUs, with its value, when it is set."""
    value = machine.kernel.module_parameters.get("nvidia", {}).get("NVreg_NvLinkDisable", "0")
    return f"NVreg_NvLinkDisable={value}" if value not in ("0", "") else None


def failure_of_tool(machine: Machine, *kinds: str) -> ToolFailure | None:
    """The failure of nvidia-smi when it is one of these kinds."""
    failure = value_or(machine.nvidia_failure, None)
    return failure if failure is not None and failure.kind in kinds else None


def machine_of_nvidia_tool(machine: Machine) -> Subjects[None]:
    """The machine, when it has NVIDIA GPUs, or when all that the evidence shows is that nvidia-smi fails.

    A failing nvidia-smi on a machine without an NVIDIA GPU is a leftover that disturbs nobody.
    """
    if nvidia_gpus(machine):
        return [Selected(MACHINE, None)]
    if not machine.gpus and not machine.gpus_complete and value_or(machine.nvidia_failure, None) is not None:
        return [Selected(MACHINE, None)]
    return none_here(machine, "NVIDIA GPU")


def works_in_torch(machine: Machine) -> bool:
    """Torch has been seen to find GPUs here, whatever nvidia-smi says."""
    return value_or(machine.torch.device_count, 0) > 0


def is_enclosed(machine: Machine) -> bool:
    """Inside a container, where devices and libraries are those that somebody passed in."""
    return value_or(machine.container.kind, "none") not in ("none", "wsl")


def unsupported_words(values: Mapping[str, object]) -> tuple[str, str]:
    """(message, remedy) for a GPU that the installed driver refused, by the values of the kernel's messages."""
    flavour, branch = values.get("flavour"), values.get("legacy_branch")
    if flavour == "open":
        return (
            "The open NVIDIA kernel modules do not support this GPU, so the driver refused it.",
            "Install the proprietary flavour of the NVIDIA kernel modules (GPUs before Turing need it)",
        )
    if flavour == "proprietary":
        return (
            "This GPU needs the open NVIDIA kernel modules; the installed proprietary ones refused it.",
            "Install the open flavour of the NVIDIA kernel modules",
        )
    if branch:
        return (
            f"The installed NVIDIA driver no longer supports this GPU; the last branch that does is {branch}.xx.",
            f"Install the legacy NVIDIA driver of branch {branch}",
        )
    return (
        "The installed NVIDIA driver does not support this GPU and refused it.",
        "Install an NVIDIA driver whose list of supported products names this GPU (a newer one for a new GPU)",
    )


def unsupported(machine: Machine) -> tuple[str, str, tuple[Evidence, ...]] | None:
    """(message, remedy, evidence) where the kernel log says of some GPU that the installed driver refused it."""
    log = value_or(machine.kernel.log, None)
    events = [event for event in log.of("nvidia-gpu-not-supported") if is_current(event)] if log is not None else []
    if log is None or not events:
        return None
    message, remedy = unsupported_words({key: value for event in events for key, value in event.values.items()})
    return message, remedy, tuple(quote(log.source, event.text, event.line) for event in events[:2])
