"""A recorded machine as one that is watched: the values of a training run in which one GPU gets too hot.

The values of the moment are made; limits, names and all else are those of the fixture. Each picture has the same ones,
and the same time of day.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rocdoctor.host.base import Answer, Kind
from rocdoctor.model.lazy_re import regex
from rocdoctor.service.evidence import open_evidence
from rocdoctor.tui.app import RocdoctorApp

_LOOK_S, _SECONDS = 2.0, 560.0
_BEGAN_S, _RISES_S = 60.0, 330.0  # the run, and the fan of one GPU stops
_NOON = 14 * 3600 + 23 * 60 + 10  # when the picture is taken, in seconds of that day
_SENSOR = regex(
    r"/card(\d{1,2})/device/(?:hwmon/hwmon\d{1,2}/)?(temp\d_input|power1_input|freq1_input|gpu_busy_percent|"
    r"mem_info_vram_used)$"
)
_HOT = 4  # the DRM card of the GPU that gets too hot
_WATTS, _IDLE_WATTS = 690.0, 141.0


class LiveCapture:
    """The fixture at a moment of the run; ``at_s`` is moved by who looks at it."""

    kind: Kind = "live"
    origin = "this machine"

    def __init__(self, path: Path) -> None:
        self.inner = open_evidence(str(path))
        self.at_s = _SECONDS

    def ask(self, question: str) -> Answer:
        """The value of the moment, or what was recorded."""
        found = _SENSOR.search(question)
        answer = self.inner.ask(question)
        if found is None or not answer.ok:
            return answer
        return Answer(question, "ok", str(_value(int(found[1]), found[2], self.at_s)).encode())

    def prefetch(self, questions: Iterable[str]) -> None:
        """Nothing is begun before it is asked."""

    def available(self) -> tuple[str, ...]:
        return ()


def _value(card: int, name: str, at_s: float) -> int:
    """What a sensor shows, in the units of its file."""
    noise = math.sin(at_s / 7 + card * 1.7) + math.sin(at_s / 2.3 + card)
    works = at_s >= _BEGAN_S + card % 3
    heated = 1 - math.exp(-max(0.0, at_s - _BEGAN_S) / 70)
    hot = max(0.0, min(1.0, (at_s - _RISES_S) / 180)) if card == _HOT else 0.0
    if name.startswith("temp"):
        base = 40 + card % 4 + (3 if name == "temp2_input" else 0)
        return round((base + heated * 30 + noise * 0.6 * heated + hot * 32) * 1000)
    if name == "power1_input":
        return round((_IDLE_WATTS + works * (_WATTS - _IDLE_WATTS) * (1 - 0.35 * hot) + noise * 6 * works) * 1e6)
    if name == "freq1_input":
        return round((132 + works * (1968 - 620 * hot + noise * 12)) * 1e6)
    if name == "gpu_busy_percent":
        return min(100, round(works * (98 + noise)))
    return round((0.3 + works * 171.2) * 2**30)


@contextmanager
def stopped_clock() -> Iterator[None]:
    """It is always the same time of day, and nobody looks again."""
    form = time.strftime

    def told(words: str, *when: Any) -> str:
        return form(words, time.gmtime(_NOON)) if words == "%H:%M:%S" else form(words, *when)

    with patch.object(time, "strftime", told), patch.object(RocdoctorApp, "_look_again", lambda self: None):
        yield


def watch(app: RocdoctorApp, host: LiveCapture) -> None:
    """Have the screen of sensors see the whole run, and look no more."""
    from rocdoctor.tui.thermals.live_values import History, Watch
    from rocdoctor.tui.thermals.screen import ThermalsPage

    page = app.screen
    assert isinstance(page, ThermalsPage)
    page._asked_at = math.inf
    if page._asking is not None:
        page._asking.cancel()
        page._asking = None
    page._history = History()
    seen = Watch(lambda: host, lambda: host.at_s)
    for at in range(int(_SECONDS / _LOOK_S) + 1):
        host.at_s = at * _LOOK_S
        page._history.add(seen.look())
    page._draw()
