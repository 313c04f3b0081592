"""Links of GPUs differ from the profile.

Why
  Copies between host and GPU take the PCIe link, collectives take XGMI, NVLink or PCIe. A link that trained with fewer
  lanes or at a lower speed than when the plan was made slows every step, and one GPU with a weaker link slows all of
  them. The speed of an idle link is left out because it may be low on purpose. This check looks only when a profile is
  given (`rocdoctor check --profile FILE`).

Fix
  Reseat the card, look for bridges and cables, and for the lane setting of the slot in the firmware setup. If the
  card was moved on purpose, make the profile again.

References
  `rocdoctor explain pcie-link-narrow`, `rocdoctor explain xgmi-links-missing`, `rocdoctor explain nvlink-fewer-links`
"""

from __future__ import annotations

from rocdoctor.compare.drift import judged
from rocdoctor.judging.check import Outcome, check, whole_machine
from rocdoctor.model.facts import Machine

_FIX = "Reseat the card and bridges, compare the slot's firmware setting; if on purpose, make the profile again"


@check(whole_machine)
def profile_links_differ(machine: Machine) -> Outcome:
    return judged(machine, "link", _FIX)
