"""Looks at a live machine again and again: what files and the kernel log tell; programs keep what they said.

Asking programs anew costs seconds; files are read in a few hundredths of one. A GPU that sleeps is left asleep, since
it is asked in the same way as before. Without Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer, Host, same_answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.lazy_re import regex
from rocdoctor.tui.look import SLOW, Again, Look, examine, setup_plan

if TYPE_CHECKING:
    from rocdoctor.collect.gpus.same_answers import SameAnswers
    from rocdoctor.judging.check import Check
    from rocdoctor.model.finding import Diagnosis, Verdict
    from rocdoctor.repair.setup.plan import SetupPlan

EVERY_S = 15.0
# Values of the moment: sensors, the clock, memory in use (of this process too).
_PASSING = regex(
    r"/hwmon\d+/\w+_(?:input|average)$|/(?:gpu_busy_percent|gpu_metrics|pcie_bw|mem_info_\w+_used|pp_dpm_\w+|scaling_cur_freq)$"
    r"|/proc/(?:uptime|loadavg|meminfo|self/status|pressure/\w+)$|/node\d+/meminfo$|^holders "
)
_QUICK = ("run dmesg", "run journalctl")  # programs that are asked as well


class KeptHost(OverlayHost):
    """A machine whose slow programs keep what they said; none of them is started because somebody may ask."""

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(one for one in questions if one not in self.answers and not _slow(one))


@cache
def _gpus() -> SameAnswers:
    """What was read of GPUs; loaded behind the first frame, which all that collects would hold up."""
    from rocdoctor.collect.gpus.same_answers import SameAnswers

    return SameAnswers()


@cache
def _checks() -> tuple[list[Check], list[str]]:
    """All checks with their problems: to load them anew takes a third of another look."""
    from rocdoctor.service.session import chosen_checks

    return chosen_checks((), ())


def _slow(question: str) -> bool:
    return question.startswith(SLOW) and not question.startswith(_QUICK)


def _recorded(host: Host) -> dict[str, Answer]:
    """What was answered so far, as far as this host has a record of it."""
    from rocdoctor.host.recorder import Recorder

    return dict(host.answers) if isinstance(host, Recorder) else {}


def _behind(host: Host) -> tuple[Host, dict[str, Answer]]:
    """The host behind all that was added to it, and what was added."""
    added: dict[str, Answer] = {}
    while isinstance(host, OverlayHost):
        added, host = {**host.answers, **added}, host.inner
    return host, added


def watched(host: Host) -> Host:
    """The same machine, asked anew but for programs that take long; what was added to it stays, and in front."""
    from rocdoctor.collect.gpus.asleep import all_awake
    from rocdoctor.host.supervised.supervised_host import fresh

    host, added = _behind(host)
    known = _recorded(host)
    kept = {question: answer for question, answer in known.items() if _slow(question)}
    again = KeptHost(fresh(host), {**kept, **added})
    if all_awake(again, {question: answer.data for question, answer in known.items()}):
        again.prefetch(known)
    return again


def look_again(host: Host, smoke: str, cancelled: Callable[[], bool], before: Look | None = None) -> tuple[Host, Look]:
    """(the host that was asked, what is known now). ``before``: what is known of the host as it was asked before."""
    asked, looks = watched(host), [Look()]

    def setup(diagnosis: Diagnosis) -> SetupPlan | None:
        if before is None or before.setup is None or before.diagnosis is None:
            return setup_plan(diagnosis)
        same = _sensors_alone(_recorded(_behind(host)[0]), _recorded(_behind(asked)[0]))
        return before.setup if same and same_verdicts(before.diagnosis, diagnosis) else setup_plan(diagnosis)

    examine(asked, looks.append, cancelled, smoke, Again(_gpus(), _checks(), setup))
    return asked, looks[-1]


def _sensors_alone(known: Mapping[str, Answer], now: Mapping[str, Answer]) -> bool:
    """Whether nothing is answered otherwise but what always changes: the plan of set-up reads none of that."""
    return all(
        ((was := known.get(question)) is not None and same_answer(was, answer)) or _PASSING.search(question) is not None
        for question, answer in now.items()
    )


def same_verdicts(before: Diagnosis, now: Diagnosis) -> bool:
    """Whether all is judged as it was."""
    return before.verdicts == now.verdicts or [*map(_said, before.verdicts)] == [*map(_said, now.verdicts)]


def same_look(before: Look, now: Look) -> bool:
    """Whether all is judged as it was, and the same is left to set up: the plan reads facts that no check judges."""
    known, seen = before.diagnosis, now.diagnosis
    return known is not None and seen is not None and same_verdicts(known, seen) and before.setup == now.setup


def _said(verdict: Verdict) -> tuple[object, ...]:
    message = verdict.finding.message if verdict.finding is not None else ""
    return verdict.check, verdict.subject, verdict.state, message


def with_values(look: Look, seen: Look) -> Look:
    """The same diagnosis with the values of now: screens that work with the diagnosis need not begin anew."""
    machine = seen.diagnosis.machine if seen.diagnosis is not None else None
    return replace(look, now=machine, asked=seen.asked)
