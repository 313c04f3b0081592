"""The list of modes is whole, and its names are unique."""

from __future__ import annotations

from rocdoctor.train.smoke.worker.mode import all_modes


def test_names_are_unique_and_the_quick_set_has_at_least_thirty_modes() -> None:
    names = [one.name for one in all_modes()]
    assert len(names) == len(set(names))
    assert sum(not one.full for one in all_modes()) >= 30
