"""The text resembles reports of a few known causes, but shows none of them clearly.

Why
  If no message, setting or symptom in a text is known, its words still resemble the reports of some causes more than
  others. How strongly each word points to a cause was learned from labelled texts. It is reported only if nothing more
  certain was found and one cause stands out, and only as possible. The likeliest is given with a count: how many other
  reports resembled one cause this closely, and how many of them had it.

Fix
  Run the commands at the end of the report: each shows what one of the causes would look like. Change nothing before
  that.

References
  https://github.com/ROCm/ROCm/issues
  https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression
"""

from __future__ import annotations

from rocdoctor.insight.texts.answers import Applied, fill
from rocdoctor.insight.texts.likeness import how_often, resembling
from rocdoctor.insight.texts.open_symptoms import remaining
from rocdoctor.insight.texts.pasted import SOURCE, said
from rocdoctor.insight.texts.statements import told_causes
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Subjects, check, finding, quote
from rocdoctor.knowledge.messages.told import MENDED, NO_REPORT
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.model.subject import MACHINE

# A name that a Python module does not have: a matter of its code or release, whatever other words stand beside it.
_OF_CODE = ("python-name-absent", "python-attribute-absent")
# Driver, device files and card serve another program: what the words of others resemble is not what is left.
_OTHERS_WORK = ("said-others-work-on-gpu",)


def when_it_reads_like_others(machine: Machine) -> Subjects[tuple[Applied, ...]]:
    """The machine, when its text is a report that no symptom explains and that is like others."""
    surer = (
        remaining(machine) is not None
        or told_causes(machine)
        or said(machine, NO_REPORT, MENDED, *_OF_CODE, *_OTHERS_WORK)
    )
    found = resembling(machine) if machine.told.words and not surer else ()
    return [Selected(MACHINE, found)] if found else NotApplicable("no report that is like others in this evidence")


@check(when_it_reads_like_others)
def like_known_reports(machine: Machine, found: tuple[Applied, ...]) -> Outcome:
    likeliest, *others = found
    return [_finding(likeliest, how_often(machine)), *(_finding(one) for one in others)]


def _finding(one: Applied, often: str = "") -> Finding:
    told = one.answer
    return finding(
        told.severity,
        " ".join(filter(None, (fill(told.text, one.values), often))),
        evidence=[quote(SOURCE, message.text, message.line) for message in one.messages],
        fix=Fix(fill(told.fix, one.values), command=shell_of_table(told.command, **one.values), safety=told.safety),
        cause=told.cause,
        confidence="possible",
        undecided=True,
    )
