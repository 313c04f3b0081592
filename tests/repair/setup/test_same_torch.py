"""Findings and set-up bring the same torch: one judgement of the wheel, one command."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from rocdoctor.insight.software.torch_command import install_command, right_build
from rocdoctor.model.facts import Gpu
from tests.repair.setup.desk import VENV, desk, gpu, planned, torch
from tests.repair.setup.kit import step_of


@pytest.mark.parametrize("version", [None, "2.9.1+cpu"])
@pytest.mark.parametrize(
    ("cards", "changes"),
    [
        ((gpu("xtx"),), {}),
        ((gpu("navi48"),), {"os": "debian 13"}),
        ((gpu("xtx"), gpu("navi48", 1)), {}),
        ((gpu("xtx"), gpu("xtx", 1, gfx="gfx1103")), {}),
        ((gpu("ada"),), {}),
        ((gpu("xtx", gfx="gfx1103"),), {}),
        ((gpu("xtx"),), {"arch": "aarch64"}),
    ],
)
def test_a_fix_installs_what_set_up_installs(
    cards: tuple[Gpu, ...], changes: dict[str, Any], version: str | None
) -> None:
    machine = desk(*cards, build=torch(version), **changes)
    step = step_of(planned(machine), "torch")
    wanted = [one.words for one in step.actions if one.words[3:4] == ("install",)]
    command = right_build(machine, cards[0]).command if version else install_command(machine, cards[0])
    if not wanted:  # the tables have no wheel, so nothing is pinned
        assert "==" not in command
        return
    assert [tuple(shlex.split(one)) for one in command.split("; ") if " install " in one] == wanted


def test_the_interpreter_of_the_system_is_left_alone() -> None:
    build = torch(None, path="/usr/bin/python3", environment="system")
    command = install_command(desk(gpu("xtx"), build=build), gpu("xtx"))
    assert command.startswith("python3 -m venv ~/torch-venv; ~/torch-venv/bin/python -m pip install torch==")
    inside = desk(gpu("xtx"), build=build, container={"kind": "docker", "rootless": False})
    assert install_command(inside, gpu("xtx")).startswith("/usr/bin/python3 -m pip install torch==")


def test_a_path_of_the_evidence_is_quoted_or_left_out() -> None:
    hostile = torch(None, path="/tmp/x\x1b[31m/bin/python")
    assert install_command(desk(gpu("xtx"), build=hostile), gpu("xtx")).startswith("pip install torch==")
    spaced = torch(None, path="/tmp/a b;id/bin/python")
    assert "'/tmp/a b;id/bin/python'" in install_command(desk(gpu("xtx"), build=spaced), gpu("xtx"))
    assert VENV in install_command(desk(gpu("xtx"), build=torch(None)), gpu("xtx"))
