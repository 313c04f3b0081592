"""Looks at a live machine again and again: what files and the kernel log tell; programs keep what they said.

Asking programs anew costs seconds; files are read in a few hundredths of one. A GPU that sleeps is left asleep, since
it is asked in the same way as before. Without Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer, Host
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.tui.look import SLOW, Look, examine

if TYPE_CHECKING:
    from rocdoctor.model.finding import Diagnosis, Verdict

EVERY_S = 15.0
_QUICK = ("run dmesg", "run journalctl")  # programs that are asked as well


class KeptHost(OverlayHost):
    """A machine whose slow programs keep what they said; none of them is started because somebody may ask."""

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(one for one in questions if one not in self.answers and not _slow(one))


def _slow(question: str) -> bool:
    return question.startswith(SLOW) and not question.startswith(_QUICK)


def _recorded(host: Host) -> dict[str, Answer]:
    """What was answered so far, as far as this host has a record of it."""
    from rocdoctor.host.recorder import Recorder

    return dict(host.answers) if isinstance(host, Recorder) else {}


def watched(host: Host) -> Host:
    """The same machine, asked anew but for programs that take long; what was added to it stays, and in front."""
    from rocdoctor.host.supervised.supervised_host import fresh

    added: dict[str, Answer] = {}
    while isinstance(host, OverlayHost):
        added, host = {**host.answers, **added}, host.inner
    known = _recorded(host)
    kept = {question: answer for question, answer in known.items() if _slow(question)}
    again = KeptHost(fresh(host), {**kept, **added})
    from rocdoctor.collect.gpus.asleep import all_awake

    if all_awake(again, {question: answer.data for question, answer in known.items()}):
        again.prefetch(known)
    return again


def look_again(host: Host, smoke: str, cancelled: Callable[[], bool]) -> tuple[Host, Look]:
    """(the host that was asked, what is known now)."""
    asked, looks = watched(host), [Look()]
    examine(asked, looks.append, cancelled, smoke, patient=True)
    return asked, looks[-1]


def same_verdicts(before: Diagnosis, now: Diagnosis) -> bool:
    """Whether all is judged as it was."""
    return before.verdicts == now.verdicts or [*map(_said, before.verdicts)] == [*map(_said, now.verdicts)]


def _said(verdict: Verdict) -> tuple[object, ...]:
    message = verdict.finding.message if verdict.finding is not None else ""
    return verdict.check, verdict.subject, verdict.state, message


def with_values(look: Look, seen: Look) -> Look:
    """The same diagnosis with the values of now: screens that work with the diagnosis need not begin anew."""
    machine = seen.diagnosis.machine if seen.diagnosis is not None else None
    return replace(look, now=machine, asked=seen.asked)
