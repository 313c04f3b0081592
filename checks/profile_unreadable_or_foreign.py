"""Parts of the profile make no sense, or it is from another machine.

Why
  What cannot be read in a profile is not compared, so a misspelt key would pass for "no drift". And a profile that was
  made on a machine with another processor and other GPUs differs in nearly everything: that is the wrong file, not a
  changed machine, and the checks that compare with it do not apply. This check looks only when a profile is given
  (`rocdoctor check --profile FILE`). A file that is not a profile at all ends the command with status 2 instead.

Fix
  Name the profile that was made on this machine, or make it again with `rocdoctor emit profile`.

References
  `rocdoctor emit profile`
"""

from __future__ import annotations

from rocdoctor.compare.drift import NO_PROFILE, foreign
from rocdoctor.judging.check import Finding, Fix, Outcome, check, quote, warning, whole_machine
from rocdoctor.model.facts import Machine

_FIX = Fix("Name the profile of this machine, or make it again: rocdoctor emit profile", safety="safe")


@check(whole_machine)
def profile_unreadable_or_foreign(machine: Machine) -> Outcome:
    expected = machine.expected
    if expected is None:
        return NO_PROFILE
    found: list[Finding] = []
    if expected.problems:
        count = len(expected.problems)
        found.append(
            warning(
                f"{count} line{'s' if count != 1 else ''} of the profile {expected.name} could not be used, the first: "
                f"{expected.problems[0].value}.",
                evidence=[quote(one.source, one.value) for one in expected.problems],
                fix=_FIX,
            )
        )
    if words := foreign(machine, expected):
        found.append(
            warning(
                f"The profile {expected.name} was made for another machine: {words}.",
                evidence=[quote(f"profile {expected.name}", words)],
                fix=_FIX,
            )
        )
    return found
