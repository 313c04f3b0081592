"""The quick set on other releases of torch and Python, where somebody has put their interpreters at hand.

ROCDOCTOR_SMOKE_PYTHONS names them, separated by colons; docs/smoke.md tells which have run, and what each lacks.
"""

from __future__ import annotations

import os

import pytest

from rocdoctor.train.smoke.run.request import Request, perform

PYTHONS = [one for one in os.environ.get("ROCDOCTOR_SMOKE_PYTHONS", "").split(":") if one]


@pytest.mark.heavy
@pytest.mark.skipif(not PYTHONS, reason="ROCDOCTOR_SMOKE_PYTHONS names no interpreters")
@pytest.mark.parametrize("world", (2, 4))
@pytest.mark.parametrize("interpreter", PYTHONS)
def test_nothing_is_wrong_on_a_sound_machine(interpreter: str, world: int) -> None:
    for run in perform(Request(world=world, device="cpu"), interpreter):
        wrong = [f"{one.mode}: {one.message}" for one in run.modes if one.state not in ("pass", "not-applicable")]
        assert not wrong, run.torch
        silent = [one.mode for one in run.modes if one.state == "not-applicable" and not one.message]
        assert not silent, run.torch
        assert sum(one.state == "pass" for one in run.modes) >= 25, run.torch
