"""GPU or kernel settings differ from the profile.

Why
  Partition modes decide how many devices a job sees and how large they are; power caps, ECC, the IOMMU, CPU governor
  and huge pages decide how fast and how safely it runs. After a reboot such settings may fall back to their defaults.
  Environment variables are those of the shell that asked, so a difference there is a note. This check looks only when
  a profile is given (`rocdoctor check --profile FILE`).

Fix
  Set the old value again and make it last over reboots, or make the plan and the profile again.

References
  `amd-smi set --help`, `nvidia-smi -h`, https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

from __future__ import annotations

from rocdoctor.compare.drift import judged
from rocdoctor.judging.check import Outcome, check, whole_machine
from rocdoctor.model.facts import Machine

_FIX = "Set the value of the profile again and make it last over reboots; if changed on purpose, make the profile again"


@check(whole_machine)
def profile_settings_differ(machine: Machine) -> Outcome:
    return judged(machine, "setting", _FIX)
