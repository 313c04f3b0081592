"""All NVLinks of a GPU are down, although its board has them.

Why
  On SXM boards every GPU is wired to the others by NVLink. A GPU whose links are all inactive exchanges data over PCIe
  and host memory only, so collectives of the whole machine run at that pace (or fail if they need NVLink). If
  only one GPU is affected, suspect that GPU, its seating or its switch; if all are, suspect the fabric manager service,
  a driver option or a hypervisor that does not pass NVLink through. Cards with a PCIe connector have NVLink only with a
  bridge between two of them, and A100 boards turn the links off for a GPU in MIG mode: both are healthy.

Fix
  Look at `nvidia-smi nvlink --status` and at Xid 74 and SXid lines in the kernel log. Then reset the GPU or reboot; on
  boards with NVSwitch check `systemctl status nvidia-fabricmanager` first. If the same GPU still has no links, ask the
  vendor.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (nvlink)
  https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
  https://docs.nvidia.com/datacenter/tesla/mig-user-guide/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import active_links, equals_of, is_module, nvlink_turned_off
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, info, not_applicable, quote, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(each_nvidia_gpu, cause="gpu-hardware-fault")
def nvlink_inactive(machine: Machine, gpu: Gpu) -> Outcome:
    peers = equals_of(machine, gpu)
    linked = [one for one in peers if active_links(one)]
    if not is_module(gpu) and not linked:
        return not_applicable("nothing shows that this GPU should have NVLink")
    if value_or(gpu.mig, False):
        return not_applicable("this GPU is in MIG mode, in which GPUs do not use NVLink with each other")
    known(gpu.nvlinks)
    if active_links(gpu):
        return None
    cut = cite(gpu.nvlinks, "all NVLinks inactive")
    parameter = nvlink_turned_off(machine)
    if parameter:
        return info(
            f"NVLink is turned off by the module parameter {parameter}, so the GPUs exchange data over PCIe.",
            evidence=[cut, quote("read /proc/driver/nvidia/params", parameter)],
            fix=Fix(
                f"Remove {parameter} from /etc/modprobe.d unless it is there on purpose",
                safety="manual",
                effective="reboot",
            ),
            cause="",
        )
    if linked and is_module(gpu):
        count = active_links(linked[0])
        return warning(
            f"All NVLinks of this GPU are inactive, while an identical GPU of this machine has {count} active: it "
            "exchanges data over PCIe only and slows down every collective.",
            evidence=[cut, cite(linked[0].nvlinks, f"{count} NVLinks active on an identical GPU")],
            fix=Fix(
                "Look for Xid 74 and SXid lines in the kernel log, then reset this GPU or reboot; leave it out of jobs "
                "until its links are back",
                command="sudo dmesg | grep -i -e 'xid' -e nvlink; nvidia-smi nvlink --status",
                safety="reboots",
                effective="reboot",
                verify="nvidia-smi nvlink --status",
            ),
            explains=("nvlink-fewer-links",),
        )
    if linked:
        return info(
            "This GPU has no active NVLink, while an identical card of this machine has a bridge: only bridged cards "
            "exchange data over NVLink.",
            evidence=[cut, cite(linked[0].nvlinks, f"{active_links(linked[0])} NVLinks active on an identical GPU")],
            fix=Fix(
                "Bridge this card too, or keep ranks that exchange much data on the bridged cards",
                safety="manual",
            ),
            cause="",
        )
    return _all_down(machine, gpu, peers)


def _all_down(machine: Machine, gpu: Gpu, peers: list[Gpu]) -> Outcome:
    """Every GPU of an SXM board without links: a guest may be given just that, bare metal not."""
    if not peers:
        return not_applicable("the only GPU of its kind here: there is none that NVLink could lead to")
    if any(active_links(one) is None for one in peers):
        return known(next(one.nvlinks for one in peers if not isinstance(one.nvlinks, Known)))
    evidence = [cite(gpu.nvlinks, "all NVLinks inactive")]
    guest = machine.container.virtual_machine
    if not isinstance(guest, Known) or guest.value is not None:
        return info(
            "All NVLinks of this board are inactive, so its GPUs exchange data over PCIe; in a virtual machine the "
            "hypervisor decides about that.",
            evidence=evidence,
            fix=Fix(
                "Ask the provider for an instance type with NVLink, if the job needs its bandwidth", safety="manual"
            ),
            cause="",
        )
    return warning(
        "All NVLinks of this board are inactive, so its GPUs exchange data over PCIe only.",
        evidence=[*evidence, cite(guest, "no virtual machine")],
        fix=Fix(
            "On boards with NVSwitch start the fabric manager in exactly the driver's version; on others reboot and "
            "look at the kernel log",
            command="systemctl status nvidia-fabricmanager; sudo dmesg | grep -i nvlink",
            safety="manual",
            verify="nvidia-smi nvlink --status",
        ),
        cause="fabric-manager-down",
        confidence="likely",
    )
