"""The list of what a plan fetches: nothing is missing, and what is typed on the machine itself needs no network."""

from __future__ import annotations

import re
from functools import cache

import pytest

from rocdoctor.cli.main import run
from rocdoctor.knowledge.load import load_table
from rocdoctor.repair.setup.offline import FOLDER, Fetch, fetches
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.planner import plan
from rocdoctor.report import text
from rocdoctor.report.setup.offline_document import offline_document
from tests.kit import ROOT
from tests.repair.setup.plan_kit import PLANS
from tests.repair.setup.world.catalogue import CASES, FRESH
from tests.repair.setup.world.judge import files_of, judged
from tests.repair.setup.world.routes import ROUTES

_NAMED = {case.name: case for case in (*CASES, *FRESH, *ROUTES)}
# One of each package manager, with drivers of both vendors.
_MACHINES = (
    "xtx-ubuntu2204-fresh",
    "mi300x-8-ubuntu2204-fresh",
    "mi300x-8-rhel9-cluster-node",
    "h100-8-rhel9-nothing",
    "h100-8-ubuntu2404-nothing",
    "mi210-8-sles15",
    "xtx-arch-fresh",
    "xtx-centos9-nothing",
)


@cache
def _plan(name: str) -> SetupPlan:
    case = _NAMED[name]
    return plan(judged(files_of(case)), case.goal)


def _fetch(name: str, step: str) -> Fetch:
    return next(one for one in fetches(_plan(name)) if one.step.id == step)


def test_every_address_and_every_package_of_the_plan_is_in_the_list() -> None:
    for name in _MACHINES:
        found = fetches(_plan(name))
        addresses = {one for fetch in found for one in fetch.addresses}
        listed = {one for fetch in found for one in fetch.names} | addresses
        by_hand = " ".join(command for fetch in found for command in fetch.by_hand)
        for step in _plan(name).steps:
            if step.state not in ("todo", "waiting"):
                continue
            for action in step.actions:
                texts = " ".join((*action.words, *action.lines))
                for address in re.findall(r"https?://[^\s\"']+", texts):
                    assert address.rstrip("/") in addresses, (name, address)
                if "install" in action.words and action.words[0] in ("apt", "dnf", "zypper"):
                    wanted = [word for word in action.words[action.words.index("install") + 1 :] if word[0] != "-"]
                    assert all(word in listed or word in by_hand for word in wanted), (name, wanted)


def test_what_is_typed_on_the_machine_itself_asks_nobody() -> None:
    for name in _MACHINES:
        for fetch in fetches(_plan(name)):
            for action in fetch.here:
                assert not action.file.startswith(("/etc/apt/sources", "/etc/yum", "/etc/zypp")), (name, action)
                assert "http" not in action.command and "update" not in action.words, (name, action.command)
                installs = "install" in action.words and action.words[0] in ("apt", "dnf", "zypper")
                assert not installs or all(FOLDER in word for word in action.words[2:]), (name, action.command)
                assert action.words[:1] not in (("curl",), ("gpg",), ("crb",), ("pacman",), ("ubuntu-drivers",))


def test_apt_reads_its_lists_after_the_repository_and_finds_its_folder() -> None:
    there = [action.command or action.file for action in _fetch("mi300x-8-ubuntu2204-fresh", "driver-amd").there]
    at = there.index("/etc/apt/sources.list.d/amdgpu.list")
    driver = next(number for number, one in enumerate(there) if one.endswith(" amdgpu-dkms"))
    assert "apt update" in there[at:driver]
    assert there[0].startswith("mkdir -p ") and there[0].endswith("/driver-amd/packages/partial'")


def test_wheels_come_from_their_index_and_go_in_without_one() -> None:
    torch = _fetch("xtx-ubuntu2204-fresh", "torch")
    assert torch.there[0].words[:6] == ("python3", "-m", "pip", "download", "-d", f"{FOLDER}/torch/wheels")
    assert "--index-url" in torch.there[0].words and "--index-url" not in torch.here[0].words
    assert "--no-index" in torch.here[0].words and any(word.startswith("torch==") for word in torch.here[0].words)


def test_what_has_no_such_form_is_said() -> None:
    assert _fetch("h100-8-ubuntu2404-nothing", "driver-nvidia").by_hand[0].startswith("ubuntu-drivers install")
    assert _fetch("xtx-arch-fresh", "rocm").by_hand[0].startswith("pacman ")


def test_each_kind_of_command_has_its_source() -> None:
    known = load_table("install_offline")["sources"]
    for name in _MACHINES:
        for fetch in fetches(_plan(name)):
            assert set(fetch.sources) <= set(known)
            assert fetch.sources or not fetch.names


def test_a_plan_that_fetches_nothing_says_so() -> None:
    assert "Nothing that is left" in text.render(offline_document(PLANS["done"]), 80)


def test_the_list_names_what_nobody_has_a_size_for_and_leaves_the_files_to_the_shell() -> None:
    said = text.render(offline_document(_plan("mi300x-8-ubuntu2204-fresh")), 100)
    driver, torch = said.partition("rocm.gpg.key")[2], said.partition("Install torch")[2]
    assert re.match(r"(?:\n +address .*)*\n +size +unknown", driver)
    assert re.match(r".*(?:\n +address .*)*\n +size +about \d+ GB to download", torch)
    assert 'sudo apt install "$HOME/rocdoctor-offline/driver-amd/packages"/*.deb' in said


@pytest.mark.parametrize("more", [["--json"], ["--script", "x.sh"]])
def test_it_is_a_list_to_read(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    fixture = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")
    assert run(["setup", "--offline", "--from", fixture, *more]) == 2
    assert "--offline is a list to read" in capsys.readouterr().err


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    fixture = str(ROOT / "fixtures" / "rx6600.capture")
    assert run(["setup", "--offline", "--from", fixture]) in (0, 1)
    assert "network" in capsys.readouterr().out
