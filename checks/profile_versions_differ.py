"""Software versions differ from the profile.

Why
  A plan is made for a set of versions that work together: kernel, driver, ROCm or CUDA, torch and its companion
  packages. An update of one of them may be wanted and harmless, or the reason why a job that ran last week does not
  run today.
  A different minor release of a driver, of ROCm or CUDA, or of torch is a warning, because earlier measurements may no
  longer apply; smaller steps are notes. This check looks only when a profile is given
  (`rocdoctor check --profile FILE`), and only at what the profile lists: packages that were added are not drift.

Fix
  Go back to the versions of the profile, or prove the new ones with `rocdoctor smoke` and make the profile again.

References
  `rocdoctor smoke`, `rocdoctor emit profile`
"""

from __future__ import annotations

from rocdoctor.compare.drift import judged
from rocdoctor.judging.check import Outcome, check, whole_machine
from rocdoctor.model.facts import Machine

_FIX = "Go back to the versions of the profile, or prove the new ones with rocdoctor smoke and make the profile again"


@check(whole_machine)
def profile_versions_differ(machine: Machine) -> Outcome:
    return judged(machine, "version", _FIX)
