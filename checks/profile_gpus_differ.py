"""The GPUs differ from those in the profile.

Why
  A plan and the files made from it assume certain GPUs: one rank per GPU, sizes that fit their memory, binaries built
  for their target. A GPU that is gone ends the job at its start; one that was replaced by a smaller one ends it at the
  first large allocation. This check looks only when a profile is given (`rocdoctor check --profile FILE`, a file that
  `rocdoctor emit profile` wrote), and only at what the profile says.

Fix
  Find out why a GPU is missing: the other findings of this report, the kernel log, the slot. If it was taken out or
  replaced on purpose, create the plan and the profile again.

References
  `rocdoctor emit profile`, `rocdoctor facts`
"""

from __future__ import annotations

from rocdoctor.compare.drift import Present, Traits, foreign, judged, matched, quoted
from rocdoctor.compare.gpu_matching import Match
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, error, info, unknown, whole_machine
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Machine

_FIX = "Find out why it changed; if on purpose, make the plan and the profile again"


@check(whole_machine)
def profile_gpus_differ(machine: Machine) -> Outcome:
    expected = machine.expected
    pairing = matched(machine, expected) if expected is not None else None
    if expected is None or pairing is None:
        return judged(machine, "gpu", _FIX)
    if not machine.gpus_complete and (pairing.gone or not pairing.pairs):
        outcome = judged(machine, "gpu", _FIX)
        if outcome is None or not pairing.pairs:
            raise unknown("this evidence may not show every GPU of the machine")
        return outcome
    if not machine.gpus and not pairing.gone and foreign(machine, expected) is None:
        return None  # no GPU then and now
    return judged(machine, "gpu", _FIX, _counts(machine, pairing))


def _counts(machine: Machine, pairing: Match[Traits, Present]) -> list[Finding]:
    found: list[Finding] = []
    expected = machine.expected.gpus if machine.expected is not None else Unknown("")
    then, here = len(value_or(expected, ())), len(machine.gpus)
    for gone in pairing.gone:
        name, where = (gone[key].value if key in gone else "" for key in ("name", "bdf"))
        what = f"{name or 'a GPU'}{f' at {where}' if where else ''}"
        unsure = " Addresses have changed since, so it may be another of them." if pairing.moved else ""
        found.append(
            error(
                f"GPUs: {then} when the profile was made, {here} now: {what} is missing.{unsure}",
                evidence=[quoted(gone[key]) for key in ("bdf", "name") if key in gone],
                fix=Fix(
                    "Look for the GPU: power, slot, kernel log; leave this machine out of jobs until it is back",
                    command="lspci -nn | grep -Ei 'vga|3d|display|accelerator'",
                    safety="safe",
                ),
            )
        )
    for gpu, _ in pairing.new:
        found.append(
            info(
                "This GPU is new: the profile does not have it.",
                evidence=[cite(gpu.bdf if isinstance(gpu.bdf, Known) else gpu.name)],
                fix=Fix(_FIX),
                subject=gpu.subject,
            )
        )
    for then_traits, (gpu, traits) in pairing.moved:
        bdf = traits["bdf"]
        if isinstance(bdf, Known):
            found.append(
                info(
                    f"PCI address: {then_traits['bdf'].value} when the profile was made, {bdf.value} now.",
                    evidence=[cite(bdf), quoted(then_traits["bdf"])],
                    fix=Fix(
                        "Nothing, unless files name GPUs by address: adding or removing a card "
                        "shifts the addresses of others",
                        safety="safe",
                    ),
                    subject=gpu.subject,
                )
            )
    return found
