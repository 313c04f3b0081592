"""A machine to watch, made from a fixture: answers that a test changes meanwhile, and questions that hang."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from rocdoctor.host.base import Answer, Host, Kind
from tests.tui.kit import fixture_host

HWMON = "/sys/class/drm/card{card}/device/hwmon/hwmon{hwmon}"


class LiveFixture:
    """A fixture that answers as a live machine. ``texts`` and ``answers`` come first; ``hanging`` parts block.

    ``asked`` are all questions so far.
    """

    kind: Kind = "live"
    origin = "this machine"

    def __init__(self, name: str) -> None:
        self.inner: Host = fixture_host(name)
        self.texts: dict[str, str] = {}
        self.timing_out = ""  # questions with this part are not answered in time
        self.hanging = ""  # questions with this part block until let_go
        self.released = threading.Event()
        self.asked: list[str] = []

    def let_go(self) -> None:
        """Let what hangs go on."""
        self.hanging = ""
        self.released.set()

    def ask(self, question: str) -> Answer:
        self.asked.append(question)
        if self.hanging and self.hanging in question:
            assert self.released.wait(60)
        if self.timing_out and self.timing_out in question:
            return Answer(question, "timeout", note="5s")
        if question in self.texts:
            return Answer(question, "ok", self.texts[question].encode())
        return self.inner.ask(question)

    def prefetch(self, questions: Iterable[str]) -> None:
        """Nothing is begun before it is asked."""

    def available(self) -> tuple[str, ...]:
        return ()


def temperature(card: int, sensor: int, hwmon: int = 3) -> str:
    """The question for a temperature."""
    return f"read {HWMON.format(card=card, hwmon=hwmon)}/temp{sensor}_input"
