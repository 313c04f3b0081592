"""The kernel has marked itself as tainted after a serious event.

Why
  After an oops, a machine check, a bad memory page or a soft lockup the kernel sets a mark that stays until the next
  boot. From then on odd failures may be after-effects: look for them on a fresh boot before blaming a driver or a
  GPU. Marks for proprietary, out-of-tree or unsigned modules (NVIDIA, DKMS) are normal and are not reported here.

Fix
  Look for the first event in the kernel log, then reboot.

References
  https://docs.kernel.org/admin-guide/tainted-kernels.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_gpus
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine

_SERIOUS = {4: "machine check (M)", 5: "bad page (B)", 7: "oops (D)", 14: "soft lockup (L)"}


@check(machine_with_gpus)
def kernel_tainted(machine: Machine) -> Outcome:
    taint = known(machine.kernel.taint)
    marks = [words for bit, words in _SERIOUS.items() if taint >> bit & 1]
    if not marks:
        return None
    return info(
        f"Since this boot the kernel has noted: {', '.join(marks)}.",
        evidence=[cite(machine.kernel.taint, f"taint {taint}")],
        fix=Fix(
            "Read the kernel log for the first such event, and reboot before looking for other faults",
            command="sudo dmesg --level=emerg,alert,crit,err",
            safety="safe",
            effective="reboot",
            verify="cat /proc/sys/kernel/tainted",
        ),
    )
