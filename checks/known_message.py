"""A program printed an error whose causes are known.

Why
  The sources of the libraries that training relies on show under which condition each message is printed. The tables
  of rocdoctor name this condition, its causes and what distinguishes them; docs/signatures.md lists them all.

Fix
  Each message has its own remedy. If the text alone cannot decide between causes, each is only possible, and the
  commands at the end of the report tell them apart.

References
  https://github.com/ROCm/rocm-systems
  https://github.com/pytorch/pytorch
"""

from __future__ import annotations

from rocdoctor.insight.texts.answers import Applied, applied, fill
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Subjects, check, finding
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.model.subject import MACHINE


def when_an_answer_is_known(machine: Machine) -> Subjects[None]:
    """The machine, when the text holds a message whose causes stand in the tables."""
    if machine.messages and applied(machine):
        return [Selected(MACHINE, None)]
    return NotApplicable("no message of a known cause in this evidence")


@check(when_an_answer_is_known)
def known_message(machine: Machine) -> Outcome:
    return [_finding(one) for one in applied(machine)]


def _finding(one: Applied) -> Finding:
    told = one.answer
    return finding(
        told.severity,
        fill(told.text, one.values),
        evidence=shown(one.messages),
        fix=Fix(
            fill(told.fix, one.values),
            command=shell_of_table(told.command, **one.values),
            safety=told.safety,
            verify=shell_of_table(told.verify, **one.values),
        ),
        cause=told.cause,
        explains=told.explains,
        confidence=told.confidence,
        finer=told.finer,
        of_table=True,
    )
