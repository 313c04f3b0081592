"""Processors, memory, NUMA nodes or network ports differ from the profile.

Why
  Ranks are bound to CPUs by numbers, their threads are a share of the CPUs, and offload and checkpoints count on the
  memory of the host. A change of the firmware setup (SMT, NUMA nodes per socket), a lost memory module or a network
  port that is down shows here. This check looks only when a profile is given (`rocdoctor check --profile FILE`).

Fix
  Compare the firmware setup with that of an identical machine, look for lost modules and links. If it was changed on
  purpose, make the plan and the profile again: CPU lists in its files are numbers of the old layout.

References
  `lscpu`, `numactl --hardware`, `rocdoctor facts`
"""

from __future__ import annotations

from rocdoctor.compare.drift import judged
from rocdoctor.judging.check import Outcome, check, whole_machine
from rocdoctor.model.facts import Machine

_FIX = "Look for lost parts and a changed firmware setup; if on purpose, make the plan and the profile again"


@check(whole_machine)
def profile_host_differs(machine: Machine) -> Outcome:
    return judged(machine, "host", _FIX)
