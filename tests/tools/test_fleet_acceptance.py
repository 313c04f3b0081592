"""The tool that measures the figures of the fleet: what it prints and how it ends; the heavy stage runs it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from tools.fleet_acceptance import __main__ as tool
from tools.fleet_acceptance.held_out import HELD_OUT
from tools.fleet_acceptance.rows import Row, Setting, most, none, share, skipped
from tools.fleet_faults import FAULTS


def test_a_row_over_its_limit_is_told_and_ends_it_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (most("a", 2, 2, " s"), share("b", 99, 100, 0.99), none("c", []), skipped("d", "no root"))
    bad = (most("a", 2.1, 2, " s"), share("b", 98, 100, 0.99), none("c", ["n1"]), share("d", 0, 0, 1.0))
    assert [one.ok for one in good] == [True, True, True, None]
    assert [one.ok for one in bad] == [False, False, False, False]
    rows: list[Row] = []

    def figure(setting: Setting) -> Iterator[Row]:
        assert (setting.seed, setting.nodes, setting.heavy) == (5, 1000, False)
        yield from rows

    monkeypatch.setattr(tool, "FIGURES", {3: ("slow GPUs", figure)})
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["fleet_acceptance", "3", "--light", "--seed", "5"])
    for made, status, words in ((good, 0, "not tried: no root"), ((*good, bad[2]), 1, "1 (n1)")):
        rows[:] = made
        assert tool.main() == status
        assert words in capsys.readouterr().out


def test_what_is_held_out_is_planted_nowhere_else() -> None:
    assert not {(one.check, one.edit) for one in HELD_OUT.values()} & {(one.check, one.edit) for one in FAULTS.values()}
    assert sorted(tool.FIGURES) == list(range(1, 11))


@pytest.mark.heavy
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 8, 9])
def test_a_light_run_is_within_its_limits(number: int) -> None:
    """Of those that are no tests of this suite themselves."""
    over = [row for row in tool.FIGURES[number][1](Setting(number + 100, 1000, False)) if row.ok is False]
    assert over == []
