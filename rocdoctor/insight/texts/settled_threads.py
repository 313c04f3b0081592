"""Public threads in which somebody had what a pasted text shows, and that were settled."""

from __future__ import annotations

from rocdoctor.insight.texts.open_symptoms import remaining
from rocdoctor.knowledge.messages.threads import threads_like
from rocdoctor.model.finding import Diagnosis, SettledThread

_SAID_BY = "known-message"  # speaks for every row of the tables, so only the message tells what it is about


def settled_threads(diagnosis: Diagnosis) -> tuple[SettledThread, ...]:
    """At most two, of the main cause: about the check that found it, a message that stands there, or its symptom."""
    if not diagnosis.causes:
        return ()
    main = diagnosis.causes[0]
    present = {one.kind for one in diagnosis.machine.messages if one.role == "now"} | {main.check}
    if diagnosis.open and (found := remaining(diagnosis.machine)) is not None:
        present.add(found.symptom.name)
    like = threads_like(main.cause, present - {_SAID_BY})
    return tuple(SettledThread(one.address, one.settled, one.by) for one in like)
