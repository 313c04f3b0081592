"""A GPU stopped answering on the PCIe bus.

Why
  The driver reads only ones from the device: it lost power, its link broke, or its firmware died. Work on it is
  lost, and at best it comes back after a reboot. Power supply and cables under load, risers, seating and heat are the
  usual reasons; a failing card is the least likely. External GPUs and docks that were unplugged look the same.

Fix
  Reboot with a full power-off, then reseat the card and its power cables and remove risers. If the fault comes back
  under load, look at power and temperature; try the card in another machine before replacing it.

References
  https://docs.kernel.org/PCI/pci-error-recovery.html
  https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_reserved, kernel_log
from rocdoctor.insight.texts.log_events import is_recent
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    each_gpu,
    error,
    finding,
    info,
    not_applicable,
    quote,
    unknown,
    warning,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine

_KINDS = ("gpu-lost", "nvidia-fallen-off-bus", "pci-device-inaccessible")
_WORDS = {
    "gpu-lost": "the driver has lost it",
    "nvidia-fallen-off-bus": "the driver says that it has fallen off the bus",
    "pci-device-inaccessible": "the device is inaccessible",
    "pcie-slot-link-down": "the link of its slot went down",
}
_EXPLAINS = ("gpu-without-driver", "driver-probe-failed", "gpu-without-compute-node", "tool-failed")


@check(each_gpu, cause="gpu-hardware-fault")
def gpu_fell_off_bus(machine: Machine, gpu: Gpu) -> Outcome:
    if gpu.vendor not in ("amd", "nvidia"):
        return not_applicable("not an AMD or NVIDIA GPU")
    fix = Fix(
        "Power off completely, reseat the card and its power cables, remove risers, and start again; if it "
        "comes back under load, look at power supply and temperature",
        safety="manual",
        effective="reboot",
        verify="sudo dmesg | grep -iE 'fallen off|lost from bus|inaccessible'",
    )
    lost = _lost(machine, gpu)
    log = kernel_log(machine)
    if lost and log is not None:
        evidence = tuple(quote(log.source, event.text, event.line) for event in lost[:3])
        if value_or(gpu.pcie.removable, "") == "removable":
            return info(
                "This external GPU was disconnected while the driver used it.",
                evidence=evidence,
                fix=Fix(
                    "End its programs before you unplug it; if nobody unplugged it, try another cable and port",
                    safety="manual",
                ),
            )
        what = _WORDS[lost[0].kind]
        if _answers(gpu):
            message = f"This GPU answers now, but it was gone from the PCIe bus before: {what}."
            return (warning if is_recent(lost[-1]) else info)(message, evidence=evidence, fix=fix)
        return error(
            f"This GPU no longer answers on the PCIe bus: {what}.", evidence=evidence, fix=fix, explains=_EXPLAINS
        )
    if value_or(gpu.revision, "") == "ff":
        return _all_ones(machine, gpu, fix)
    if known(machine.kernel.log).complete:
        return None
    raise unknown("the kernel log does not reach back to the boot", "undecided")


def _lost(machine: Machine, gpu: Gpu) -> list[LogEvent]:
    """What the log says of this device, or of the slot above it when its link did not come up again."""
    log, bdf = kernel_log(machine), value_or(gpu.bdf, None)
    if log is None or bdf is None or value_or(gpu.runtime_status, "") == "suspended":
        return []  # a device without power looks just like one that is gone
    found = [event for event in log.of(*_KINDS, bdf=bdf) if not event.before_driver_load]
    # A driver that is bound and a device whose sensors answer tell that it came back after a sleep.
    found = [event for event in found if not (event.during_resume and _answers(gpu))]
    for hop in gpu.pcie.hops:
        down = log.of("pcie-slot-link-down", bdf=hop.bdf)
        up = log.of("pcie-slot-link-up", bdf=hop.bdf)
        if down and not any(event.line > down[-1].line for event in up):
            found.append(down[-1])
    return found


def _answers(gpu: Gpu) -> bool:
    return any(isinstance(one.input_c, Known) for one in gpu.temps) or isinstance(gpu.power.now_w, Known)


def _all_ones(machine: Machine, gpu: Gpu, fix: Fix) -> Finding | None:
    """A listing shows revision ff: the configuration space reads as ones. A laptop GPU that sleeps shows it too."""
    if value_or(machine.laptop, False) or value_or(gpu.runtime_status, "") == "suspended" or is_reserved(gpu):
        return None
    # A listing alone does not tell a laptop, which switches its second GPU off.
    return finding(
        "info" if not isinstance(machine.laptop, Known) else "warning",
        "The configuration space of this GPU reads as all ones (revision ff): it is switched off or no longer answers.",
        evidence=(cite(gpu.revision),),
        fix=fix,
        confidence="likely",
        explains=_EXPLAINS,
    )
