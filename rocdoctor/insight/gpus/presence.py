"""Whether GPUs are there, driven and open to compute: small judgements that several checks share.

Every function answers from evidence alone: True or False only where the evidence decides, else None.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.knowledge.lookup import amdgpu_refuses, chip_of_device
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, KernelLog, LogEvent, Machine
from rocdoctor.model.finding import SEVERITIES, Severity
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.of_same import of_same
from rocdoctor.model.question import Question

# The module that training needs, by vendor.
MODULES = {"amd": "amdgpu", "nvidia": "nvidia"}
# Drivers that keep a device for a guest; gim is AMD's driver for hosts of virtual functions.
RESERVING = ("vfio-pci", "pci-stub", "pciback", "xen-pciback", "gim")
# Drivers that show pictures and have no compute part that torch could use.
DISPLAY_ONLY = {"amd": ("radeon",), "nvidia": ("nouveau", "nvidiafb", "rivafb")}
# Variables that select or hide GPUs of a process.
VISIBLE_AMD = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
VISIBLE_NVIDIA = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
# What the driver says of a GPU that it gives up on.
PROBE_KINDS = ("gpu-probe-failed", "amdgpu-init-failed")
REASON_KINDS = ("amdgpu-discovery-failed", "amdgpu-ip-block-failed", "psp-load-failed", "amdgpu-firmware-boot-failed")

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TOOLS = {"amd": ("rocminfo", "rocm-smi", "amd-smi"), "nvidia": ("nvidia-smi",)}
# Firmware that the driver can do without: requests that are optional or have a fallback in
# Linux 7.1 drivers/gpu/drm/amd/amdgpu.
_OPTIONAL_FIRMWARE = regex(
    r"(?:_ta|_ta_kicker|_cap|_mes1|_mes_2|_(?:pfp|me|ce|mec|mec2)_2|_gpu_info|ip_discovery|/isp_[0-9_]{1,9})\.bin"
)

_NOT_THERE = -2  # ENOENT


def count_words(count: int, noun: str = "GPU") -> str:
    """A small number in words: ``one GPU``, ``eight GPUs``, ``16 GPUs``."""
    word = _WORDS[count] if 0 <= count < len(_WORDS) else str(count)
    return f"{word} {noun}{'' if count == 1 else 's'}"


def no_gpu_words(machine: Machine) -> str:
    """What is said of a machine without a known GPU, without the full stop."""
    if machine.gpus_gap is not None:
        return f"Which GPUs are here is unknown: {machine.gpus_gap.why}"
    return "No GPU is on the PCI bus" if machine.gpus_complete else "No GPU is in this evidence"


def kernel_log(machine: Machine) -> KernelLog | None:
    """The kernel log where there is one."""
    return value_or(machine.kernel.log, None)


def of_vendor(machine: Machine, vendor: str) -> list[Gpu]:
    """The GPUs of a vendor."""
    return [gpu for gpu in machine.gpus if gpu.vendor == vendor]


def is_integrated(gpu: Gpu) -> bool:
    """Known to be integrated."""
    return value_or(gpu.integrated, False)


def is_driven(gpu: Gpu) -> bool | None:
    """Whether the driver that training needs is bound; None when the driver is not known."""
    if not isinstance(gpu.driver, Known):
        return None
    return gpu.driver.value == MODULES.get(gpu.vendor)


def is_reserved(gpu: Gpu) -> bool:
    """Kept for a virtual machine."""
    return value_or(gpu.driver, None) in RESERVING


def is_refused(gpu: Gpu) -> bool:
    """Known to be of a generation that amdgpu leaves to older drivers: nothing computes on it."""
    return gpu.vendor == "amd" and amdgpu_refuses(value_or(gpu.pci_id, "").split(":")[-1])


def kfd_path(gpu: Gpu) -> bool | None:
    """Whether the compute driver handles this chip at all, by the driver's table; None where that is silent."""
    if gpu.vendor != "amd" or not isinstance(gpu.pci_id, Known):
        return None
    chip = chip_of_device(gpu.pci_id.value.split(":")[-1])
    if chip is None:
        return False if is_refused(gpu) else None
    return chip.kfd


def events_of(machine: Machine, gpu: Gpu, *kinds: str) -> tuple[LogEvent, ...]:
    """Events of the last driver load that speak of this GPU.

    Lines without an address count when no other GPU of the vendor is there that they could mean.
    """
    log = kernel_log(machine)
    if log is None:
        return ()
    alone = len(of_vendor(machine, gpu.vendor)) == 1
    bdf = value_or(gpu.bdf, None)
    return tuple(
        event
        for event in log.of(*kinds)
        if not event.before_driver_load and (alone if event.bdf is None else event.bdf == bdf)
    )


def probe_failure(machine: Machine, gpu: Gpu) -> LogEvent | None:
    """The line with which the driver gave up on this GPU, unless its driver is bound all the same."""
    if is_driven(gpu):
        return None
    module = MODULES.get(gpu.vendor)
    found = [
        event
        for event in events_of(machine, gpu, *PROBE_KINDS)
        if gpu.vendor == "amd" or event.kind == "gpu-probe-failed"
        if event.values.get("driver", module) == module
    ]
    # The line with the error number says most.
    return next((event for event in found if event.kind == "gpu-probe-failed"), found[0] if found else None)


def taken_in_log(machine: Machine, gpu: Gpu) -> LogEvent | None:
    """The line with which the compute driver took this GPU at the last start; None without one, or where it failed."""
    own = value_or(gpu.pci_id, "")
    lines = [one for one in events_of(machine, gpu, "kfd-device-added") if one.values.get("pci_id") == own]
    return lines[-1] if own and lines and probe_failure(machine, gpu) is None else None


def missing_firmware(machine: Machine, gpu: Gpu) -> tuple[LogEvent, ...]:
    """Firmware files that were not found for this GPU, those left out that the driver can do without.

    A file that drivers of today can do without is named where it is the only one and the start ended because a file
    was not there (ENOENT): older kernels read the description of the GPU (``*_gpu_info.bin``) from a file.
    """
    found = tuple(
        event
        for event in events_of(machine, gpu, "gpu-firmware-missing")
        if event.values.get("driver", MODULES.get(gpu.vendor)) == MODULES.get(gpu.vendor)
    )
    needed = tuple(event for event in found if not _OPTIONAL_FIRMWARE.search(str(event.values.get("firmware", ""))))
    if needed or not found:
        return needed
    failure = probe_failure(machine, gpu)
    return found if failure is not None and failure.values.get("error") == _NOT_THERE else ()


def module_loaded(machine: Machine, module: str) -> bool | None:
    """Whether a kernel module is loaded; a bound device proves it too."""
    if any(value_or(gpu.driver, None) == module for gpu in machine.gpus):
        return True
    modules = machine.kernel.modules
    if isinstance(modules, Known) and module in modules.value:
        return True
    return False if isinstance(modules, Known) and machine.kernel.modules_complete else None


def module_refusals(machine: Machine, module: str) -> tuple[LogEvent, ...]:
    """Lines that say that the kernel refused to load this module; also those that name no module."""
    log = kernel_log(machine)
    if log is None:
        return ()
    return tuple(
        event
        for event in log.of("module-rejected")
        if not event.before_driver_load
        and str(event.values.get("module", module)).replace("_", "-").removesuffix("-modeset") == module
    )


def command_line_block(machine: Machine, module: str) -> str | None:
    """The word of the kernel command line that keeps a module from loading (``nomodeset``, a blacklist)."""
    words = value_or(machine.kernel.cmdline, "").split()
    for word in words:
        name, _, value = word.partition("=")
        if name in ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist") and module in value.split(","):
            return word
    # amdgpu asks drm_firmware_drivers_only(); the NVIDIA module does not.
    if module == "amdgpu" and "nomodeset" in words and "amdgpu.modeset=1" not in words:
        return "nomodeset"
    return None


def is_blocked(machine: Machine, module: str) -> bool:
    """A blacklist file or the command line keeps the module from loading, and it is known not to be loaded."""
    listed = module in value_or(machine.kernel.blacklisted, {})
    return module_loaded(machine, module) is False and (listed or command_line_block(machine, module) is not None)


def reason_elsewhere(machine: Machine, gpu: Gpu) -> str | None:
    """The check that says why no driver is bound to this GPU."""
    module = MODULES.get(gpu.vendor)
    if module is None or is_refused(gpu):
        return None
    if probe_failure(machine, gpu) is not None:
        return "driver-probe-failed"
    if module_loaded(machine, module) is not False:
        return None
    if module_refusals(machine, module):
        return "secure-boot-refuses-module"
    return "driver-module-blacklisted" if is_blocked(machine, module) else "driver-module-not-loaded"


def wants(machine: Machine, vendor: str) -> bool:
    """Something here was installed or run to compute on GPUs of this vendor: a torch build, a toolkit, its tools."""
    torch = machine.torch
    built = torch.hip if vendor == "amd" else torch.cuda
    # Distributions bring ROCm libraries along with other programs (MPI, hwloc, Blender).
    installed = (
        [one for one in machine.rocm if one.kind != "distribution"] if vendor == "amd" else machine.cuda_toolkits
    )
    if value_or(built, None) is not None or installed:
        return True
    asked = {Question.of(failure.question).program for failure in machine.failures}
    return not asked.isdisjoint(_TOOLS.get(vendor, ()))


def others_work(machine: Machine, gpu: Gpu) -> bool:
    """Another kind of discrete GPU that training could use has its driver."""
    own = value_or(gpu.pci_id, None)
    return any(kind != own for kind in _working(machine))


@of_same
def _working(machine: Machine) -> frozenset[str | None]:
    """The PCI ids of the discrete GPUs that training could use and that have their driver; None for unknown ones."""
    return frozenset(
        value_or(gpu.pci_id, None)
        for gpu in machine.gpus
        if is_driven(gpu) and not is_integrated(gpu) and kfd_path(gpu) is not False
    )


def harm(machine: Machine, gpu: Gpu) -> Severity:
    """What it costs training that this GPU cannot be used.

    Nothing where it could not compute anyway or is the integrated GPU beside working ones; little where training has
    other GPUs, or on a laptop that shows no sign of using it.
    """
    if kfd_path(gpu) is False:
        return "info"
    # A host of virtual machines keeps its own drivers away from the GPUs that it passes on.
    if "vfio_pci" in value_or(machine.kernel.modules, frozenset()) and not wants(machine, gpu.vendor):
        return "info"
    if is_integrated(gpu):
        rest = [other for other in machine.gpus if other is not gpu and other.vendor in MODULES]
        return "info" if rest or not machine.gpus_complete else "warning"
    if others_work(machine, gpu):
        return "warning"
    if value_or(machine.laptop, False) and not wants(machine, gpu.vendor):
        return "warning"
    return "error"


def worst_harm(machine: Machine, gpus: Iterable[Gpu]) -> Severity:
    """The worst harm that any of these GPUs does by its absence."""
    found = [SEVERITIES.index(harm(machine, gpu)) for gpu in gpus]
    return SEVERITIES[min(found, default=SEVERITIES.index("info"))]


def capped(severity: Severity, most: Severity) -> Severity:
    """The severity, but no more than ``most``."""
    return SEVERITIES[max(SEVERITIES.index(severity), SEVERITIES.index(most))]


def chosen_by(machine: Machine, names: Iterable[str]) -> str | None:
    """The variable that selects GPUs here, for instance ``HIP_VISIBLE_DEVICES``; None when none of them is set."""
    return next((name for name in names if name in machine.environment.variables), None)


def has_node(gpu: Gpu) -> bool:
    """The compute driver lists this GPU."""
    return isinstance(gpu.kfd_node, Known) or bool(gpu.compute_nodes)
