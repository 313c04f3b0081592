"""Clocks of figures on the CPU: time for which other programs had the processor does not count."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker import timing

ON_CPU: Any = SimpleNamespace(device=SimpleNamespace(type="cpu"))


@pytest.mark.parametrize(
    ("told", "lost_s", "seconds"),
    [
        (True, 0.0, 2.5),
        (True, 3.0, 8.5),  # lost between two clocks, at either end: too long a time rather than too short a one
        (False, 0.0, 10.0),
    ],
)
def test_waiting_for_a_processor_is_no_part_of_a_figure(
    monkeypatch: pytest.MonkeyPatch, told: bool, lost_s: float, seconds: float
) -> None:
    """Two calls of 5 s, in which the thread waited for 3.75 s each; a kernel without such counts tells all of it."""
    at = {"now": 50.0, "waited": 7.0}

    def go_on(passed_s: float, waited_s: float) -> None:
        at["now"] += passed_s
        at["waited"] += waited_s

    def opened(path: str, mode: str) -> io.BytesIO:
        assert path == "/proc/thread-self/schedstat"
        if not told:
            raise FileNotFoundError(path)
        go_on(lost_s, lost_s)
        words = f"123 {at['waited'] * 1e9:.0f} 9\n"
        go_on(lost_s, lost_s)
        return io.BytesIO(words.encode())

    monkeypatch.setattr(timing, "open", opened, raising=False)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: at["now"]))
    assert timing.elapsed(ON_CPU, lambda: go_on(5.0, 3.75), 2) == pytest.approx(seconds)
