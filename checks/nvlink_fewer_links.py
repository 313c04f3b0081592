"""A GPU has fewer active NVLinks than an identical GPU of this machine.

Why
  Bandwidth between GPUs grows with the number of links that are up. A GPU that lost some of them is the slowest member
  of every collective. Identical modules on one board have the same number, so the difference shows the fault without
  a table; cards with a PCIe connector may differ by the bridges that somebody plugged in.

Fix
  Check which links are down (`nvidia-smi nvlink --status`), their error counters (`nvidia-smi nvlink -e`) and Xid 74 in
  the kernel log. Reset the GPU or reboot. If there is a bridge, reseat it.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (nvlink)
  https://docs.nvidia.com/deploy/xid-errors/index.html (Xid 74)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import active_links, equals_of, is_module
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, info, not_applicable, unknown, warning
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(each_nvidia_gpu, cause="gpu-hardware-fault")
def nvlink_fewer_links(machine: Machine, gpu: Gpu) -> Outcome:
    peers = [one for one in equals_of(machine, gpu) if active_links(one) and not value_or(one.mig, False)]
    if not peers:
        return not_applicable("no identical GPU with NVLinks to compare with")
    if value_or(gpu.mig, False):
        return not_applicable("this GPU is in MIG mode, in which GPUs do not use NVLink with each other")
    links = known(gpu.nvlinks)
    here = sum(link.active for link in links)
    best = max(peers, key=lambda one: active_links(one) or 0)
    most = active_links(best) or 0
    if here == 0 or here >= most:
        return None  # none at all is the matter of nvlink-inactive
    down = [str(link.link) for link in links if not link.active]
    if here + len(down) < most:
        raise unknown("not every NVLink of this GPU is in this evidence")
    which = f" (down: link {', '.join(down)})" if down else ""
    message = f"{here} NVLinks of this GPU are active{which}, while an identical GPU of this machine has {most}."
    evidence = [cite(gpu.nvlinks, f"{here} active"), cite(best.nvlinks, f"{most} active on an identical GPU")]
    if not is_module(gpu):
        return info(
            f"{message} A card has as many as its bridges connect.",
            evidence=evidence,
            cause="",
            fix=Fix(
                "If every card should have the same bridges, power off and check that they are seated", safety="manual"
            ),
        )
    return warning(
        message,
        evidence=evidence,
        fix=Fix(
            "Look at the error counters of the links and for Xid 74 in the kernel log, then reset this GPU or reboot",
            command="nvidia-smi nvlink -e; sudo dmesg | grep -i xid",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi nvlink --status",
        ),
        confidence="likely",
    )
