"""Several causes have this symptom, and the text does not say which one applies.

Why
  Many reports say what somebody sees (no GPU, a crash, a library that does not load) and little about the machine. This
  leaves two or three possible causes. rocdoctor reports this only if it found
  nothing more certain.

Fix
  Run the commands at the end of the report: they tell the causes apart, and each comes with what its outcome means.
  Then do what the remedy of that cause says.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/install-faq.html
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.answers import Applied, fill
from rocdoctor.insight.texts.likeness import resembling
from rocdoctor.insight.texts.open_symptoms import Remaining, last_resort, remaining
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.insight.texts.statements import told_causes
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Subjects, check, finding
from rocdoctor.knowledge.messages.program_errors import told_by_people
from rocdoctor.knowledge.messages.told import NO_REPORT
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.model.subject import MACHINE


def when_a_symptom_is_told(machine: Machine) -> Subjects[Remaining]:
    """The machine, when its text tells of a symptom whose causes stand in the table."""
    found = None if told_causes(machine) else remaining(machine)
    if found is not None and said(machine, NO_REPORT) and not _printed(found):
        found = None
    if found is None and not told_causes(machine) and not resembling(machine):
        found = last_resort(machine)
    if found is not None and not found.causes:  # only commands are said of it
        found = None
    return [Selected(MACHINE, found)] if found is not None else NotApplicable("no known symptom in this evidence")


def _printed(found: Remaining) -> bool:
    """Whether programs print what tells of a symptom: an error line counts without a tale around it."""
    return not any(told_by_people(kind) for kind in found.symptom.seen)


@check(when_a_symptom_is_told)
def known_symptom(machine: Machine, found: Remaining) -> Outcome:
    return [_finding(one) for one in found.causes]


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
        confidence="possible",
        finer=told.finer,
        undecided=True,
    )
