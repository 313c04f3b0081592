"""Machines and verdicts for the tests of the findings screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial

from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.host.evidence.capture import CaptureHost
from rocdoctor.host.recorder import Recorder
from rocdoctor.judging.diagnose import rank
from rocdoctor.model.finding import Diagnosis, Evidence, Finding, Fix, Severity, Verdict
from rocdoctor.service.evidence import open_evidence
from tests.golden.edits import Broken
from tests.golden.replay import NAMES, host_of, judged
from tests.golden.test_broken import CASES
from tests.kit import ROOT, named


def _host(edit: Callable[[], Broken]) -> CaptureHost:
    return edit().host


FAULTY = tuple(sorted((ROOT / "tests" / "texts" / "faulty").glob("*.txt")))
BROKEN: dict[str, Callable[[], CaptureHost]] = {name: partial(_host, edit) for name, edit, *_ in CASES}


@cache
def every_machine() -> tuple[tuple[str, Host, Diagnosis], ...]:
    """Healthy machines, broken ones, and texts of people, judged."""
    hosts: dict[str, Host] = {name: host_of(name) for name in NAMES}
    hosts |= {name: make() for name, make in BROKEN.items()}
    hosts |= {path.name: open_evidence(str(path)) for path in FAULTY}
    return tuple((name, host, judged(host)) for name, host in hosts.items())


class LiveCapture(CaptureHost):
    """A capture that says that it is live, and remembers what it was asked."""

    kind: Kind = "live"

    def __init__(self, inner: CaptureHost, extra: dict[str, Answer] | None = None) -> None:
        super().__init__(inner.capture, "this machine")
        self.extra = extra or {}
        self.asked: list[str] = []
        self.closed = False

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        return self.extra.get(question) or super().ask(question)

    def available(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self.closed = True


def recorded(inner: CaptureHost) -> Recorder:
    """A live machine as the app opens it."""
    return Recorder(LiveCapture(inner))


def failed(
    check: str,
    message: str,
    severity: Severity = "error",
    cause: str = "",
    explains: tuple[str, ...] = (),
    subject: str = "machine",
    evidence: tuple[Evidence, ...] = (),
    fix: Fix | None = None,
) -> Verdict:
    """A finding."""
    return Verdict(check, named(subject), "fail", Finding(severity, message, evidence, fix, cause, explains))


def diagnosis_of(verdicts: Iterable[Verdict], fixture: str = "mi300x-8gpu") -> Diagnosis:
    """These verdicts on a machine of the fixtures."""
    kept = tuple(verdicts)
    return replace(judged(host_of(fixture)), verdicts=kept, causes=rank(kept))


def many(count: int) -> Diagnosis:
    """A machine with so many findings, each on its own."""
    severities: tuple[Severity, ...] = ("error", "warning", "info")
    return diagnosis_of(
        failed(
            f"made-up-{number:03}",
            f"Finding number {number} of this machine.",
            severities[number % 3],
            evidence=(Evidence("x", "read /proc/meminfo", 1),),
        )
        for number in range(count)
    )
