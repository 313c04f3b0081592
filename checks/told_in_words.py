"""The writer of a text says what makes it work or fail.

Why
  Many reports contain no program output, but say what somebody tried: it works as root, on the host, with one card,
  with the previous kernel, with less power, without the riser. Such a comparison separates causes that look alike in
  messages. It counts only if the text gives both sides, and they concern the GPU, its driver or the program on it.

Fix
  What the writer says is not proof: run the commands at the end of the report first. Then do what the remedy says.

References
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/install-faq.html
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.answers import Applied, fill
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.insight.texts.statements import told_causes
from rocdoctor.judging.check import Finding, Fix, NotApplicable, Outcome, Subjects, check, finding
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Selected
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.model.subject import MACHINE


def when_words_point_to_a_cause(machine: Machine) -> Subjects[tuple[Applied, ...]]:
    """The machine, when sentences of its text compare two conditions."""
    found = told_causes(machine)
    return [Selected(MACHINE, found)] if found else NotApplicable("no known comparison in words in this evidence")


@check(when_words_point_to_a_cause)
def told_in_words(machine: Machine, found: tuple[Applied, ...]) -> Outcome:
    return [_finding(one) for one in found]


def _finding(one: Applied) -> Finding:
    told, values = one.answer, one.values
    return finding(
        told.severity,
        fill(told.text, values),
        evidence=shown(one.messages),
        fix=Fix(
            fill(told.fix, values),
            command=shell_of_table(told.command, **values),
            safety=told.safety,
            verify=shell_of_table(told.verify, **values),
        ),
        cause=told.cause,
        explains=told.explains,
        confidence="possible",
        finer=told.finer,
        decides=True,
    )
