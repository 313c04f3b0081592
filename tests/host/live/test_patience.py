"""How long what may hang is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rocdoctor.host.live import patience as patience_room
from rocdoctor.host.live import programs
from rocdoctor.host.live.own_time import left_s
from rocdoctor.host.live.patience import TORCH_S, Patience, each_within, within
from tests.sick.kit import GIVE_UP_S


def test_only_the_first_has_a_whole_deadline() -> None:
    patience = Patience(5.0)
    assert patience.limit_s("/sys/a") == patience.program_limit_s() == 5.0
    patience.hung("/sys/a", 5.0)
    assert patience.limit_s("/sys/b") > patience.limit_s("/sys/a") > 0
    assert patience.program_limit_s() < 5.0


def test_all_that_hangs_later_takes_little_time_together() -> None:
    patience = Patience(5.0)
    patience.hung("/sys/0", 5.0)
    waited = 0.0
    for number in range(400):
        place = f"/sys/{number % 8}"
        waited += (limit_s := patience.limit_s(place))
        patience.hung(place, limit_s)
    assert waited < 2.0


def test_in_a_folder_where_much_hangs_nothing_is_begun_any_more() -> None:
    patience = Patience(5.0)
    for _ in range(8):
        patience.hung("/sys/a", 5.0)
    assert patience.limit_s("/sys/a") == 0.0
    assert patience.limit_s("/sys/b") > 0.0


def test_a_program_that_begins_later_gets_what_is_left_of_the_run() -> None:
    patience = Patience(60.0)
    patience.hung("/home", 2.0)  # a short look, so most of the time is left
    assert 50.0 < patience.program_limit_s() < 60.0
    patience = Patience(60.0)
    patience.hung("/home", 60.0)
    assert patience.program_limit_s() == 1.0


def test_only_a_command_that_imports_torch_has_a_longer_limit() -> None:
    patience = Patience(5.0)
    for command in (
        "run python3 -c 'import torch; print(torch.version.hip)'",
        "run /opt/venv/bin/python3.12 -c 'import numpy, torch'",
        "run python3 -c 'from torch import nn'",
    ):
        assert patience.program_limit_s(command) == TORCH_S > 5.0, command
    for command in ("run rocminfo", "run python3 -c 'import numpy'", "run python3 -c 'print(1)'", "run grep torch x"):
        assert patience.program_limit_s(command) == 5.0, command
    assert Patience(90.0).program_limit_s("run python3 -c 'import torch'") == 90.0
    patience.hung("/sys/a", 5.0)  # the machine is sick: nothing is waited for that long
    assert patience.program_limit_s("run python3 -c 'import torch'") < 5.0


def test_a_new_run_has_its_whole_patience_again() -> None:
    patience = Patience(5.0)
    patience.hung("/sys/a", 5.0)
    patience.begin(7.0)
    assert patience.limit_s("/sys/a") == patience.program_limit_s() == 7.0


@pytest.mark.parametrize(("began", "left"), [(None, 0.0), (10.25, 0.25), (3.0, -7.0)])
def test_the_time_of_a_question_counts_once(began: float | None, left: float) -> None:
    """Asked at 10 with a deadline of 5, looked at again at 15: what began a little later is near its end."""
    assert left_s(began, 10.0, 5.0, 15.0) == left


def test_what_hangs_is_left_out_and_the_rest_is_looked_at() -> None:
    released = threading.Event()
    try:
        seen = each_within(
            0.5, ["a", "sick", "b", "sick too", "c"], lambda one: ("sick" in one and released.wait(GIVE_UP_S)) or one
        )
    finally:
        released.set()
    assert seen == ["a", None, "b", None, "c"]


def test_an_error_is_the_asker_s() -> None:
    def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        within(GIVE_UP_S, broken)


def test_what_hangs_before_the_first_question_takes_little_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a home on a server that is gone: checks, an environment, packages. Each is named, and tried once."""
    waited: list[float] = []

    def never(limit_s: float, _: Callable[[], object]) -> list[object]:
        waited.append(limit_s)
        return []

    monkeypatch.setattr(patience_room, "within", never)
    monkeypatch.setattr(programs, "RUN", patience := Patience(5.0))
    assert patience.look("/gone/.config/rocdoctor/checks", lambda: True) is None
    places = ["/gone/torch-venv/bin", "/gone/.local", "/gone/lib", "/gone"]
    assert not any(patience.answers(one, lambda: True, programs.folder_s()) for one in [*places, *places])
    assert list(patience.silent) == places
    assert len(waited) == 1 + len(places)
    assert sum(waited) < 3.0
    assert patience.program_limit_s() < 5.0
