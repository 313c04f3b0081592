"""Direct traffic between GPUs hangs or fails, or the collective library warns about the IOMMU.

Why
  With an IOMMU that translates, or with access control (ACS) on PCIe switches, direct copies between GPUs (P2P) get
  lost or never end: the first all-reduce hangs while each GPU alone works. RCCL warns when iommu=pt is missing
  from the kernel's command line.

Fix
  Put the IOMMU in pass-through mode (iommu=pt; on Intel, with intel_iommu=on) or off, and disable ACS on bare metal.
  NCCL_P2P_DISABLE=1 confirms the cause and costs bandwidth.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
  https://rocm.docs.amd.com/en/latest/how-to/system-optimization/index.html
"""

from __future__ import annotations

from rocdoctor.insight.jobs.job_log import named_missing, origin
from rocdoctor.insight.texts.pasted import said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine

_MISSING, _HANG, _FAULT = "iommu-not-passthrough", "collective-hang", "peer-access-fault"
_BETWEEN, _ALONE = "prose-several-nodes-hang", "prose-one-node-works"
_REQUEST, _RARE, _UNLIKE = "prose-is-request", "one-collective-named", "prose-ranks-do-unlike"

# Torch's own list of what may be the reason of a time-out is nobody's observation.
_TORCH = ("GIL deadlock", "ProcessGroupNCCL", "Watchdog caught")


@check(when_said(_MISSING, _HANG, _FAULT), cause="iommu-acs-p2p")
def peer_to_peer_message(machine: Machine) -> Outcome:
    missing, faults = said(machine, _MISSING), said(machine, _FAULT)
    hangs = tuple(one for one in said(machine, _HANG) if not any(words in one.text for words in _TORCH))
    # A rank that failed or stayed away is why a collective does not end.
    known_why = origin(machine.run) is not None or bool(named_missing(machine.run))
    # Where one machine works and several hang, the network between them is the first suspect.
    known_why = known_why or bool(said(machine, _BETWEEN) and said(machine, _ALONE)) or bool(said(machine, _REQUEST))
    # Of all collectives only a rare one hangs: that is the library's.
    known_why = known_why or bool(said(machine, _RARE))
    # Some ranks stay away since the program sends them another way.
    known_why = known_why or bool(said(machine, _UNLIKE))
    if not missing and not faults and (known_why or not hangs):
        return None
    amd = vendors(machine) == {"amd"} or bool(missing)
    fix = Fix(
        "Put the IOMMU in pass-through mode (iommu=pt on the kernel command line, with "
        f"{'amd_iommu=on' if amd else 'intel_iommu=on or amd_iommu=on'}) or switch it off in the firmware setup, and "
        "disable ACS on the PCIe switches (lspci -vvv must show ACSCtl with minus signs). To confirm, run once with "
        "NCCL_P2P_DISABLE=1",
        command="cat /proc/cmdline; sudo lspci -vvv | grep ACSCtl; NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO ...",
        safety="reboots",
        effective="reboot",
        verify="cat /proc/cmdline  # then run the collective test again",
    )
    explains = ("network-interface-wrong",)
    if missing:
        return (error if hangs else warning)(
            "The kernel was started without iommu=pt: RCCL warns that direct traffic between GPUs (P2P) may hang.",
            evidence=shown((*missing, *hangs)),
            fix=fix,
            confidence="certain" if hangs else "likely",
            explains=explains,
        )
    if faults:
        return error(
            "Direct copies between GPUs (P2P) fail or give wrong data: the IOMMU or ACS on the PCIe path is the usual "
            "reason.",
            evidence=shown((*faults, *hangs)),
            fix=fix,
            confidence="likely",
            explains=explains,
        )
    return warning(
        "A collective of several GPUs does not end, although nothing failed before: IOMMU translation or PCIe access "
        "control (ACS) that breaks direct GPU-to-GPU traffic (P2P) is the usual reason on one machine.",
        evidence=shown(hangs),
        fix=fix,
        confidence="possible",
        explains=explains,
    )
