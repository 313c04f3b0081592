"""The compute driver skips a GPU because it does not support this chip.

Why
  ROCm reaches a GPU through the compute part of amdgpu (KFD). It has no code for first-generation GCN and some small
  later chips ("PITCAIRN not supported in kfd"), and an older kernel has none for GPUs that came after it ("GC IP ...
  not supported in kfd"). Display and games work all the same. Programs then stop with "Unable to open /dev/kfd" or "out
  of resources", which looks like a permission problem, but is not.

Fix
  An old chip: no setting or ROCm release makes it work; use another GPU, or train on the CPU. A GPU newer than the
  kernel: a newer kernel, or the packaged driver (amdgpu-dkms) of a ROCm release that lists it.

References
  Linux drivers/gpu/drm/amd/amdkfd/kfd_device.c (kgd2kfd_probe)
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import has_node, is_driven, is_integrated, kernel_log, kfd_path, of_vendor, wants
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    NotApplicable,
    Outcome,
    Selected,
    Severity,
    Subjects,
    check,
    cite,
    finding,
    quote,
    unknown,
)
from rocdoctor.knowledge.lookup import Chip, chip_of_device
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.subject import MACHINE

_EXPLAINS = (
    "device-permission",
    "gpu-without-compute-node",
    "gpu-without-driver",
    "kfd-missing",
    "kfd-gpu-count-mismatch",
    "torch-gpu-count-mismatch",
    "tool-failed",
)


def _events(machine: Machine) -> list[LogEvent]:
    log = kernel_log(machine)
    found = () if log is None else log.of("kfd-not-supported")
    return [event for event in found if not event.before_driver_load]


def _with_amd(machine: Machine) -> Subjects[None]:
    there = of_vendor(machine, "amd") or _events(machine)
    return [Selected(MACHINE, None)] if there else NotApplicable("no AMD GPU in this evidence")


@check(_with_amd, cause="gpu-not-supported")
def kfd_skipped_unsupported_gpu(machine: Machine) -> Outcome:
    gpus = of_vendor(machine, "amd")
    events = _events(machine)
    found: list[Finding] = []
    for gpu in gpus:
        chip = _chip(gpu)
        if has_node(gpu) or chip is None or chip.kfd or is_driven(gpu) is False:
            continue
        said = [event for event in events if chip.chip == _asic(event)]
        events = [event for event in events if event not in said]
        found.append(_old(machine, gpu, chip, said))
    left = [gpu for gpu in gpus if not has_node(gpu) and kfd_path(gpu) is None]
    one = left[0] if len(left) == 1 else None
    found += [_from_log(machine, event, one) for event in events]
    if found or all(has_node(gpu) or kfd_path(gpu) for gpu in gpus):
        return found
    if known(machine.kernel.log).complete:
        return None
    raise unknown("neither the compute driver's list nor a whole kernel log shows whether it was skipped", "undecided")


def _chip(gpu: Gpu) -> Chip | None:
    return chip_of_device(value_or(gpu.pci_id, "").split(":")[-1] or "0")


def _asic(event: LogEvent) -> str:
    return str(event.values.get("asic", "")).strip().lower().replace(" ", "_")


def _severity(machine: Machine, gpu: Gpu | None, seen: bool) -> Severity:
    """An error only where somebody wants to compute on it and has no other GPU for that."""
    others = any(
        one is not gpu and (has_node(one) or (one.vendor == "nvidia" and is_driven(one))) for one in machine.gpus
    )
    if others or (gpu is not None and is_integrated(gpu) and len(machine.gpus) > 1):
        return "info"
    if wants(machine, "amd"):
        return "error"
    return "warning" if seen and not machine.gpus_complete else "info"


def _quoted(machine: Machine, events: Sequence[LogEvent]) -> list[Evidence]:
    log = kernel_log(machine)
    return [quote(log.source if log else "", event.text, event.line) for event in events[:2]]


def _old(machine: Machine, gpu: Gpu, chip: Chip, said: Sequence[LogEvent]) -> Finding:
    return finding(
        _severity(machine, gpu, bool(said)),
        f"This GPU ({chip.chip}, {chip.family.upper()}) is not supported by the compute driver (KFD) of ROCm.",
        evidence=(*_quoted(machine, said), cite(gpu.pci_id)),
        fix=Fix(
            "Use another GPU for training, or train on the CPU; no setting and no ROCm release makes this chip compute "
            "(the display works without changes)",
            safety="safe",
            verify="rocminfo",
        ),
        explains=_EXPLAINS,
        subject=gpu.subject,
    )


def _from_log(machine: Machine, event: LogEvent, gpu: Gpu | None) -> Finding:
    name = str(event.values.get("asic", "")).strip()
    subject = gpu.subject if gpu is not None else None
    evidence = tuple(_quoted(machine, [event]))
    severity = _severity(machine, gpu, True)
    if name.upper().startswith("GC IP"):
        fix = Fix(
            "Install a newer kernel, or the packaged driver (amdgpu-dkms) of a ROCm release that lists this GPU",
            safety="reboots",
            effective="reboot",
            verify="rocminfo",
        )
        message = f"The compute driver (KFD) of this kernel does not support {name} GPUs."
        return finding(severity, message, evidence=evidence, fix=fix, explains=_EXPLAINS, subject=subject)
    if not name:  # kernels to 5.4 name no chip, and skip new ones that they do not know in the same words
        fix = Fix(
            "Look the GPU up in the list of the ROCm release: if it is listed, install a newer kernel or AMD's "
            "packaged driver (amdgpu-dkms); if it is older, use another GPU",
            safety="reboots",
            effective="reboot",
            verify="rocminfo",
        )
        message = (
            "The compute driver (KFD) of this kernel does not support this GPU: it is older than what ROCm "
            "supports, or newer than this kernel."
        )
        return finding(severity, message, evidence=evidence, fix=fix, explains=_EXPLAINS, subject=subject)
    fix = Fix(
        "Use another GPU for training, or train on the CPU; no setting makes this chip compute (the display "
        "works without changes)",
        safety="safe",
        verify="rocminfo",
    )
    message = f"The compute driver (KFD) skips the GPU {name}: this chip is not supported by ROCm."
    return finding(severity, message, evidence=evidence, fix=fix, explains=_EXPLAINS, subject=subject)
