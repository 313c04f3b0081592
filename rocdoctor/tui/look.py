"""What the screens show: one record of how far the looking has come, made anew at each step of it.

Without Textual: ``examine`` runs in a thread (or in a test) and tells each new ``Look`` to whoever listens.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

from rocdoctor.host.base import Answer, Host, Kind

if TYPE_CHECKING:
    from rocdoctor.collect.gpus.same_answers import SameAnswers
    from rocdoctor.judging.check import Check
    from rocdoctor.model.facts import Machine
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.repair.setup.plan import Goal, SetupPlan

Phase = Literal["asking", "judging", "done", "failed"]

# Programs that have not answered by then are shown as waited for, and what is known is judged without them.
PATIENCE_S = 0.8
SLOW = ("run ", "python ", "smoke ")


@dataclass(frozen=True, slots=True)
class Look:
    """How far it is: ``diagnosis`` is None until there is one, and ``preliminary`` while programs have not answered.

    ``waiting`` are the questions that are still open; ``titles`` the first lines of the checks' manual pages;
    ``problem`` the reason of a failure; ``setup`` what is left for training with PyTorch, None while it is not known;
    ``asked`` when the answers were there, on the clock of ``time.monotonic``.
    ``now``: the machine as it was read since, where that is judged alike; ``renewing``: it is asked anew meanwhile.
    ``told``: all questions with their answers, in the order asked, when all has been answered.
    """

    phase: Phase = "asking"
    diagnosis: Diagnosis | None = None
    preliminary: bool = False
    waiting: tuple[str, ...] = ()
    checks: int = 0
    titles: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    seconds: float = 0.0
    setup: SetupPlan | None = None
    asked: float | None = None
    now: Machine | None = None
    renewing: bool = False
    told: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """More will come."""
        return self.phase in ("asking", "judging")

    @property
    def diagnosis_now(self) -> Diagnosis | None:
        """What is known, with the values of the last look."""
        if self.diagnosis is None or self.now is None:
            return self.diagnosis
        return replace(self.diagnosis, machine=self.now)


@dataclass(frozen=True, slots=True)
class Again:
    """What is kept from look to look at one machine: what was read of GPUs, and the checks with their problems.

    ``setup`` makes the plan of set-up.
    """

    seen_gpus: SameAnswers
    checks: tuple[list[Check], list[str]]
    setup: Callable[[Diagnosis], SetupPlan | None]


class ImpatientHost:
    """Answers "not asked" for programs that take longer than the patience; they go on running behind it."""

    def __init__(self, inner: Host, patience_s: float = PATIENCE_S) -> None:
        self.inner = inner
        self.kind: Kind = inner.kind
        self.origin = inner.origin
        self.late: list[str] = []
        self._until = time.monotonic() + patience_s

    def ask(self, question: str) -> Answer:
        if not question.startswith(SLOW) or self.kind != "live":
            return self.inner.ask(question)
        said: list[Answer] = []
        answered = threading.Event()

        def wait() -> None:
            said.append(self.inner.ask(question))
            answered.set()

        threading.Thread(target=wait, daemon=True, name=question[:40]).start()
        answered.wait(max(0.0, self._until - time.monotonic()))
        if said:
            return said[0]
        self.late.append(question)
        return Answer(question, "not-asked", complete=False)

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()


def examine(
    host: Host,
    tell: Callable[[Look], None],
    cancelled: Callable[[], bool],
    smoke: str = "",
    again: Again | None = None,
) -> None:
    """Ask, judge, tell: first without the programs that are slow to answer, then with them. Never raises.

    ``again``: what is kept from look to look at this machine; then all are waited for at once.
    """
    began = time.monotonic()
    look = Look()
    try:
        # Imported here: reading parsers and checks in takes longer than the first frame.
        from rocdoctor.collect import collect
        from rocdoctor.host.recorder import Recorder
        from rocdoctor.judging.diagnose import diagnose
        from rocdoctor.judging.next_steps import with_missing
        from rocdoctor.service.session import chosen_checks

        noting = Recorder(host)
        impatient = ImpatientHost(noting)
        asked, seen = (impatient, None) if again is None else (noting, again.seen_gpus)
        machine, now = collect(asked, smoke=smoke, seen_gpus=seen), time.monotonic()
        checks, problems = chosen_checks((), ()) if again is None else again.checks
        look = replace(look, titles={one.name: one.title for one in checks}, checks=len(checks))
        late = tuple(impatient.late)
        while not cancelled():
            look = replace(look, phase="judging", waiting=late, seconds=time.monotonic() - began)
            tell(look)
            diagnosis = with_missing(diagnose(machine, _until(checks, cancelled), problems), host.kind)
            if cancelled():
                return
            phase: Phase = "asking" if late else "done"
            setup = None if late else (again.setup if again is not None else setup_plan)(diagnosis)
            look = replace(look, phase=phase, diagnosis=diagnosis, preliminary=bool(late), setup=setup, asked=now)
            if not late:
                told = {question: answer for question, answer in noting.answers.items() if question != smoke}
                look = replace(look, told=told)
            tell(replace(look, seconds=time.monotonic() - began))
            if not late:
                return
            machine, late, now = collect(noting, smoke=smoke), (), time.monotonic()
    except Exception as error:  # the screens say it, and a person may look on
        tell(replace(look, phase="failed", problem=f"{type(error).__name__}: {error}"))


def today() -> str:
    """The day by which plans are made, such as 2026-12-09: releases end."""
    return date.today().isoformat()


def plan_of_today(diagnosis: Diagnosis, goal: Goal) -> SetupPlan:
    """The plan of set-up; each screen takes it from here, so that all tell of the same day."""
    from rocdoctor.repair.setup.planner import plan

    return plan(diagnosis, goal, today=today())


def setup_plan(diagnosis: Diagnosis) -> SetupPlan | None:
    """The plan for PyTorch; the findings stand without it."""
    try:
        return plan_of_today(diagnosis, "pytorch")
    except Exception:
        return None


def _until(checks: Iterable[Check], cancelled: Callable[[], bool]) -> Iterator[Check]:
    for one in checks:
        if cancelled():
            return
        yield one
