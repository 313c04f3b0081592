"""The kernel found fewer PCIe lanes on the way to a GPU than the card can use.

Why
  When it finds a device, Linux compares what the card can do with the weakest link up to the processor and writes a
  line "... Gb/s available PCIe bandwidth, limited by ... link at ..." when the path is weaker. Fewer lanes slow down
  copies and collectives over PCIe. A line that names only a lower speed is left alone: links that idle at boot and
  slots of an older generation print it on healthy machines.

Fix
  The line names the port at which the path is narrow: look at the slot, riser or adapter below it.

References
  Linux: drivers/pci/pci.c, __pcie_print_link_status; drivers/pci/probe.c, pcie_report_downtraining
"""

from __future__ import annotations

from rocdoctor.insight.links.pcie_path import has_board_switch, hypervisor_sign, narrowest, wired_on_purpose
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    check,
    finding,
    not_applicable,
    quote,
    unknown,
    whole_machine,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.shell_command import shell
from rocdoctor.model.subject import Subject

_KIND = "pcie-bandwidth-limited"
# Lanes: slots with four are common, and so are external enclosures; no board has a slot for a GPU with fewer.
_FEW = 2
_FULL_WIDTH = 16  # lanes: without a list of devices only a path to such a card is taken for that of a GPU


@check(whole_machine)
def pcie_kernel_bandwidth_limited(machine: Machine) -> Outcome:
    if machine.gpus_complete and not machine.gpus:
        return not_applicable("no GPU here")
    log = known(machine.kernel.log)
    found: dict[str, Finding] = {}
    for event in log.of(_KIND):
        gpu = _gpu_of(machine, event)
        if gpu is None and machine.gpus:
            continue
        if gpu is not None and ((isinstance(narrowest(gpu), Known) and gpu.pcie.hops) or hypervisor_sign(machine, gpu)):
            continue  # the links of now are known: they are judged by pcie-link-narrow
        if one := _judge(machine, event, gpu, log.source):
            found[event.bdf or ""] = one  # the last of several lines of a device is the one that holds
    if found:
        return list(found.values())
    if log.complete or log.of(_KIND, "pcie-bandwidth"):
        return None
    raise unknown("this part of the kernel log says nothing about PCIe bandwidth", "undecided")


def _gpu_of(machine: Machine, event: LogEvent) -> Gpu | None:
    for gpu in machine.gpus:
        if event.bdf is not None and event.bdf in (value_or(gpu.bdf, None), *(hop.bdf for hop in gpu.pcie.hops)):
            return gpu
    return next((gpu for gpu in machine.gpus if _is_board_switch(gpu, event.bdf)), None)


def _is_board_switch(gpu: Gpu, bdf: str | None) -> bool:
    """Whether the address is where the switch of this GPU's board begins: two buses before the GPU itself."""
    if bdf is None or gpu.pcie.hops or not has_board_switch(gpu) or not isinstance(gpu.bdf, Known):
        return False
    domain, bus, _ = gpu.bdf.value.split(":")
    return bdf == f"{domain}:{int(bus, 16) - 2:02x}:00.0"


def _judge(machine: Machine, event: LogEvent, gpu: Gpu | None, source: str) -> Finding | None:
    width, capable = event.values.get("width"), event.values.get("capable_width")
    available, possible = event.values.get("available_gbit_s"), event.values.get("capable_gbit_s")
    numbers = (width, capable, available, possible)
    if not all(isinstance(number, int | float) for number in numbers) or int(width or 0) >= int(capable or 0):
        return None
    if gpu is None and (int(capable or 0) < _FULL_WIDTH or event.bdf is None):
        return None
    few = int(width or 0) <= _FEW
    reason = wired_on_purpose(machine, gpu) if gpu else None
    guest = value_or(machine.container.virtual_machine, None)
    message = (
        f"The kernel reports a PCIe link of x{width} to a card that can do x{capable}: {available:g} of "
        f"{possible:g} Gb/s of bandwidth."
    )
    port = event.values.get("limit_bdf")
    below = f"port {port}" if port else "the port above this device"
    harm = few and reason is None and guest is None
    return finding(
        "warning" if harm else "info",
        message,
        evidence=[quote(source, event.text, event.line)],
        cause="pcie-link-degraded" if harm else "",
        confidence="certain" if gpu and value_or(gpu.bdf, "") == event.bdf else "likely",
        subject=gpu.subject if gpu else Subject("pci-device", address=event.bdf or ""),
        fix=Fix(
            f"Look at the slot, riser or adapter below {below}",
            command=shell("sudo lspci -vv -s {address:pci}", address=str(port or event.bdf)),
        ),
    )
