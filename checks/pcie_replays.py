"""A GPU had to send PCIe packets again more often than a healthy link needs.

Why
  A packet that arrives damaged is sent again. Nothing is lost, but each replay costs time, and many of them announce a
  riser, a cable or a contact that is about to fail. PCI Express tolerates one wrong bit in 10^12; the limit used here
  is what that means for a link of 32 GT/s x16 in use all the time since boot, so slower links are judged leniently.

Fix
  Read the counter twice with a job running. If it grows, reseat the card, remove risers and try another slot.

References
  https://docs.kernel.org/gpu/amdgpu/driver-misc.html (pcie_replay_count)
  nvidia-smi(1): Replays Since Reset
"""

from __future__ import annotations

from rocdoctor.insight.links.pcie_path import SPECIFIED_ERRORS_PER_S
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, warning
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine

_HARMLESS = 100  # our choice: training of the link and a reset leave some, whatever the uptime


@check(each_discrete_gpu, cause="pcie-link-degraded")
def pcie_replays(machine: Machine, gpu: Gpu) -> Outcome:
    count = known(gpu.pcie.replay_count)
    if count < _HARMLESS:
        return None
    uptime_s = known(machine.kernel.uptime_s)
    rate = count / max(uptime_s, 1.0)
    if rate <= SPECIFIED_ERRORS_PER_S:
        return None
    return warning(
        f"The PCIe link of this GPU replayed {count} packets, {rate * 3600:.0f} an hour since boot, more than a "
        f"healthy "
        "link needs.",
        evidence=[
            cite(gpu.pcie.replay_count, f"{count} replays"),
            cite(machine.kernel.uptime_s, f"up {uptime_s:.0f} s"),
        ],
        fix=Fix(
            "See whether the count grows under load; reseat the card, remove risers, try another slot",
            command="grep -H . /sys/class/drm/card*/device/pcie_replay_count",
        ),
    )
