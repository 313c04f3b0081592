"""Two sources state different values for the same fact.

Why
  The kernel's files, the vendor's tools and listings are read side by side. If they differ, rocdoctor uses the
  first one (the kernel before the tools) and says so here. The reason is usually harmless: a release that writes a name
  differently, or a listing that was made on another day. It matters when the outputs come from two machines.

Fix
  Look at the two sources; gather both at the same time on the same machine.

References
  `rocdoctor facts` shows each fact with its source.
"""

from __future__ import annotations

from rocdoctor.judging.check import Evidence, Finding, Fix, Outcome, check, info, not_applicable, quote, whole_machine
from rocdoctor.model.facts import Disagreement, Machine

_FIX = Fix("Check that both outputs come from this machine and from the same boot", safety="safe")
_MOST = 20  # findings; more are counted in the last one


@check(whole_machine)
def sources_disagree(machine: Machine) -> Outcome:
    if not machine.gpus:
        return not_applicable("no GPU in this evidence")
    # Lists of records differ by what a source leaves out; only single values can be set side by side.
    plain = [one for one in machine.disagreements if not any(value[:1] in "([{" for value, _ in one.values)]
    found = [_finding(one) for one in plain[:_MOST]]
    left = len(plain) - _MOST
    if left > 0:
        found.append(
            info(
                f"Sources differ in {left} more facts.",
                evidence=[evidence for one in plain[_MOST : _MOST + 6] for evidence in _values(one)],
                fix=_FIX,
            )
        )
    return found


def _finding(one: Disagreement) -> Finding:
    values = " and ".join(value[:60] for value, _ in one.values[:3])
    message = f"Sources differ on {one.fact}: {values}; the first one is used."
    return info(message, evidence=_values(one), fix=_FIX, subject=one.subject)


def _values(one: Disagreement) -> tuple[Evidence, ...]:
    return tuple(quote(source, value[:200]) for value, source in one.values[:6])
