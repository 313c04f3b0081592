"""The fabric manager's log names a fatal error on an NVSwitch (SXid).

Why
  A fatal SXid ends all NVLink work that goes through the switch: running jobs fail, and new ones do not start until
  GPUs and switches have been reset. The number is the switch's own and has nothing to do with a GPU's Xid.

Fix
  Stop all jobs, reset GPUs and NVSwitches together (or reboot), and look up the number in the guide. If it comes back
  on the same port, have GPU board and switch checked.

References
  https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine


@check(when_said("nvswitch-fatal"), cause="gpu-hardware-fault")
def nvswitch_message(machine: Machine) -> Outcome:
    messages = said(machine, "nvswitch-fatal")
    if not messages:
        return None
    codes = sorted({str(one.values["sxid"]) for one in messages if "sxid" in one.values})
    named = f" SXid {', '.join(codes[:5])}" if codes else ""
    return error(
        f"The fabric manager logged a fatal NVSwitch error{named}: NVLink work through that switch ended.",
        evidence=shown(messages[:3]),
        fix=Fix(
            "Stop all jobs, reset the GPUs and NVSwitches together or reboot, and look for the same SXid in the kernel "
            "log",
            command="sudo dmesg | grep -i sxid; systemctl status nvidia-fabricmanager",
            safety="reboots",
        ),
        confidence="likely",
    )
