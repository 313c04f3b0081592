"""Findings and set-up bring the same torch: one judgement of the wheel, one command."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from rocdoctor.insight.software.torch_command import install_command, right_build
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Gpu
from tests.kit import amd_gpu, k
from tests.message_kit import finding_of
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
        ((gpu("ada", driver=None),), {}),
        ((gpu("ada", driver="nouveau"),), {"os": "rhel 10.0"}),
        ((gpu("ada"), gpu("ada", 1, compute_capability="7.0")), {}),
        ((gpu("xtx", gfx="gfx1103"),), {}),
        ((gpu("xtx"),), {"arch": "aarch64"}),
        ((gpu("xtx", gfx="gfx1103"),), {"arch": "aarch64"}),
    ],
)
def test_a_fix_installs_what_set_up_installs(
    cards: tuple[Gpu, ...], changes: dict[str, Any], version: str | None
) -> None:
    machine = desk(*cards, build=torch(version), **changes)
    step = step_of(planned(machine), "torch")
    wanted = [one.words for one in step.actions if one.words[3:4] == ("install",)]
    command = right_build(machine, cards[0]).command if version else install_command(machine, cards[0])
    if not wanted:  # the tables have no wheel, so no index is named
        assert not command
        return
    assert [tuple(shlex.split(one)) for one in command.split("; ") if " install " in one] == wanted


def test_the_driver_that_is_not_there_yet_chooses_the_build_too() -> None:
    """Set-up brings driver 580 or newer first; where nobody knows which driver runs, a build for CUDA 12 is the one."""
    there = {"nvidia": {"version": k("570.86.15")}}
    cases: tuple[tuple[Any, dict[str, Any], str], ...] = (
        (None, {}, "cu130"),
        ("nouveau", {}, "cu130"),
        ("nvidia", {}, "cu128"),
        (Unknown("not read", "not-asked"), {}, "cu128"),
        (None, {"os": "arch"}, "cu128"),  # no row tells which release its packages have
        ("nvidia", {"drivers": there}, "cu128"),
        ("nvidia", {"drivers": {"nvidia": {"version": k("580.95.05")}}}, "cu130"),
    )
    for driver, more, flavour in cases:
        card = gpu("ada", driver=driver)
        found = desk(card, build=torch(None), **more)
        urls = [
            one for step in planned(found).steps for action in step.actions for one in action.words if "/whl/" in one
        ]
        assert install_command(found, card).endswith(f"/{flavour}") and urls[0].endswith(f"/{flavour}"), (driver, more)


def test_a_card_without_a_wheel_is_given_no_index() -> None:
    old = gpu("xtx", gfx="gfx803")
    assert not install_command(desk(old, build=torch(None)), old)


def test_messages_of_pasted_text_bring_it_too() -> None:
    """gfx1103: AMD's index, whose wheels are asked for by their device. An old Python may lack the newest release."""
    text = "AssertionError: Torch not compiled with CUDA enabled"
    named = finding_of("torch-build-message", text, amd_gpu(gfx="gfx1103"), amd_gpu(1, gfx="gfx1036", integrated=True))
    assert named is not None and named.fix is not None and "torch[device-gfx1103]==" in named.fix.command
    ada = gpu("ada", driver="nvidia")
    newer = finding_of("torch-build-message", text, ada, drivers={"nvidia": {"version": k("580.95.05")}})
    assert (
        newer is not None
        and newer.fix is not None
        and newer.fix.command.endswith("torch torchvision --index-url https://download.pytorch.org/whl/cu130")
    )


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
