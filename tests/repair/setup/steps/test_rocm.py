"""ROCm's packages: the stream of the tables, what speaks against it, and cards without any."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.knowledge import install
from rocdoctor.knowledge.install import package_exists
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.steps.rocm import _removal
from tests.golden.edits import Broken
from tests.golden.replay import judged
from tests.machines import cards
from tests.machines.amd import Gpu, behind_switch
from tests.machines.files import MachineHost
from tests.repair.setup.kit import commands, ids, no_rocm, plan_in, plan_of, set_os, step_of
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES

PACKAGES = {
    "xtx-ubuntu2204-fresh": "apt install amdrocm10.1-gfx1100",
    "xtx-ubuntu2404-fresh": "apt install amdrocm10.1-gfx1100",
    "xtx-debian12-fresh": "apt install amdrocm10.1-gfx1100",
    "xtx-debian13-fresh": "apt install amdrocm10.1-gfx1100",
    "xtx-rhel9-fresh": "dnf install amdrocm10.1-gfx1100",
    "xtx-rhel10-fresh": "dnf install amdrocm10.1-gfx1100",
    "mi300x-8-ubuntu2204-fresh": "apt install amdrocm10.1-gfx942",
    "xtx-arch-fresh": "pacman -Syu rocm-hip-sdk rocminfo rocm-smi-lib",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_packages_for_this_target_from_the_source_of_this_release(name: str) -> None:
    found = step_of(plan_in(name), "rocm")
    assert found.state == "todo"
    assert commands(found)[-1] == PACKAGES[name]
    assert found.undo
    assert found.optional  # a torch wheel has libraries of its own
    assert any("wheel" in note for note in found.notes)


def test_the_goal_rocm_needs_them_and_a_host_of_containers_does_not() -> None:
    assert not step_of(plan_in("xtx-ubuntu2404-fresh", "rocm"), "rocm").optional
    assert "rocm" not in ids(plan_in("xtx-ubuntu2404-fresh", "container"))


def test_an_installed_release_is_done_with_its_folder() -> None:
    found = step_of(plan_of("mi300x-8gpu"), "rocm")
    assert (found.state, found.support) == ("done", "")
    assert found.evidence[0].value == "ROCm 7.2.0 in /opt/rocm-7.2.0"


def test_an_installed_release_that_does_not_list_the_card_says_so() -> None:
    found = step_of(plan_of("rx6700xt-override"), "rocm")
    assert found.state == "done"
    listed = plan_of("rx7900xtx-2gpu")
    assert step_of(listed, "rocm").support == ""


def test_a_release_that_is_too_old_is_replaced() -> None:
    def old(machine: Broken) -> None:
        for question in machine.host.available():
            if "/opt/rocm" in question and machine.host.ask(question).ok:
                machine.set(question, machine.text(question).replace("7.2.0", "6.2.0"))
        machine.set("list /opt/rocm*", "/opt/rocm\n/opt/rocm-6.2.0")
        machine.set("list /opt/rocm*/.info/version*", "/opt/rocm-6.2.0/.info/version")
        machine.set("read /opt/rocm-6.2.0/.info/version", "6.2.0-66")
        machine.set("link /opt/rocm", "/opt/rocm-6.2.0")
        machine.set("link /opt/rocm-6.2.0", "/opt/rocm-6.2.0")

    found = step_of(plan_of("rx9070xt", old, set_os("ubuntu", "24.04")), "rocm")
    assert found.state == "todo"
    assert "6.2.0" in found.why
    assert "amdrocm10.1-gfx1201" in commands(found)[-1]


@pytest.mark.parametrize("name", ["rx580", "r7-240-display"])
@pytest.mark.parametrize("goal", ["pytorch", "rocm", "container", "cluster-node"])
def test_a_card_without_rocm_is_told_the_truth(name: str, goal: object) -> None:
    found = step_of(plan_of(name, goal=goal), "rocm")  # type: ignore[arg-type]
    assert (found.state, found.actions) == ("impossible", ())
    assert "CPU wheel" in found.notes[0]
    # volunteers build torch for chips that the compute driver takes, and for no others
    assert ("nobody guarantees" in found.notes[0]) == (name == "rx580")
    assert found.optional == (goal in ("pytorch", "cluster-node"))  # the CPU trains all the same
    assert any("training runs on the CPU" in note for note in plan_of(name).notes)


def test_a_card_that_only_the_wheels_remember_is_told_so() -> None:
    def vega(machine: Broken) -> None:
        for question in machine.host.available():
            answer = machine.host.ask(question)
            if answer.ok and question.endswith("/properties") and "gfx_target_version 90006" in answer.text:
                machine.replace(question, "gfx_target_version 90006", "gfx_target_version 90000")

    found = plan_of("radeon-vii-old-board", no_rocm(), vega)
    step = step_of(found, "rocm")
    assert (step.state, step.optional) == ("impossible", True)
    assert "gfx900" in step.why
    assert "still carry code" in step.notes[0]
    assert not any("CPU" in note for note in found.notes)


def test_a_target_that_no_list_names_runs_as_its_relative_at_a_risk() -> None:
    found = step_of(plan_in("rx6600-ubuntu2404"), "rocm")
    assert (found.state, found.risk) == ("todo", "risky")
    assert "no code for gfx1032" in found.why
    assert "has packages for gfx1032" not in found.why
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in found.support
    assert found.notes[0] == "Programs must be started with HSA_OVERRIDE_GFX_VERSION=10.3.0."


def test_of_unlike_cards_those_with_packages_get_them_and_the_others_are_named() -> None:
    case = next(one for one in CASES if one.name == "xtx-ubuntu2404-fresh")
    assert case.box is not None and case.state is not None
    other = Gpu(cards.RX_6600, behind_switch(0x41, "00:03.1", cards.RX_6600))
    files = evidence(replace(case.box, amd=(*case.box.amd, other)), case.state)
    found = step_of(plan(judged(MachineHost(files))), "rocm")
    assert commands(found)[-1] == "apt install amdrocm10.1-gfx1100"
    assert "None has packages for gfx1032" in found.notes[0]
    assert "gfx1032" not in found.why
    both = Gpu(cards.RX_9070_XT, behind_switch(0x41, "00:03.1", cards.RX_9070_XT))
    files = evidence(replace(case.box, amd=(*case.box.amd, both)), case.state)
    found = step_of(plan(judged(MachineHost(files))), "rocm")
    assert commands(found)[-1] == "apt install amdrocm10.1-gfx1100 amdrocm10.1-gfx1201"
    assert not any("None has packages" in note for note in found.notes)


def test_a_card_in_no_list_is_said_to_be_in_none() -> None:
    found = step_of(plan_of("rx7600s-laptop", set_os("ubuntu", "24.04")), "rocm")
    assert "none of AMD's lists names this card" in found.support


def test_a_distributions_own_release_that_is_older_than_the_card_is_none() -> None:
    old = step_of(plan_in("rx9070xt-fedora42"), "rocm")
    assert (old.state, old.actions) == ("impossible", ())
    assert "6.3.1" in old.why and "gfx1201" in old.why and "7.1" in old.why
    related = step_of(plan_in("strix-halo-fedora42"), "rocm")
    assert (related.state, related.actions, related.optional) == ("unknown", (), True)
    assert "does not have gfx1151 (the list for 7.14 does)" in related.why and "is not known" in related.why
    built = step_of(plan_in("rx7600s-rembrandt-laptop-fedora42"), "rocm")
    assert (built.state, commands(built)) == ("todo", ["dnf install rocm rocminfo"]), "Fedora builds for gfx1102"
    assert "amdrocm-core-dev" not in " ".join(built.notes), "that is a package of AMD's repository"
    newer = step_of(plan_of("rx9070xt", no_rocm(), set_os("fedora", "44", "")), "rocm")
    assert newer.state == "todo"


def test_what_the_tables_do_not_have_is_unknown_with_the_vendors_page() -> None:
    for found in (
        step_of(plan_in("radeon-vii-ubuntu2404"), "rocm"),
        step_of(plan_of("rx9070xt", no_rocm(), set_os("gentoo", "2.15", "gentoo")), "rocm"),
    ):
        assert (found.state, found.actions) == ("unknown", ())
        assert "https://rocm.docs.amd.com" in found.notes[0]


def test_the_last_release_that_has_a_deprecated_target_says_so() -> None:
    found = step_of(plan_of("radeon-vii-old-board", no_rocm()), "rocm")
    assert found.state == "todo"
    assert "6.1.2" in found.title
    assert "deprecated" in found.support


def test_without_the_drivers_word_the_card_itself_tells_its_target() -> None:
    found = step_of(plan_in("mi300x-8-ubuntu2204-fresh"), "rocm")
    assert found.state == "todo"
    assert "gfx942" in found.evidence[0].value


def test_every_package_of_every_plan_exists_for_its_release() -> None:
    seen = 0
    for name in PACKAGES:
        if "arch" in name:
            continue
        whole = plan_in(name)
        key = name.split("-")[1] if not name.startswith("mi300x") else "ubuntu2204"
        release = {
            "ubuntu2204": "ubuntu 22.04",
            "ubuntu2404": "ubuntu 24.04",
            "debian12": "debian 12",
            "debian13": "debian 13",
            "rhel9": "rhel 9",
            "rhel10": "rhel 10",
        }[key]
        found = next(one for one in install.distributions() if one.key == release)
        for step in whole.steps:
            for action in step.actions:
                if action.words[:2] in (("apt", "install"), ("dnf", "install")):
                    for package in action.words[2:]:
                        if not package.startswith(("-", "https://")):
                            seen += 1
                            assert package_exists(found, package) is True, f"{package} on {release}"
    assert seen > 20


def test_generations_that_cannot_stand_side_by_side_are_removed_by_their_names() -> None:
    case = next(one for one in CASES if one.name == "xtx-ubuntu2404-fresh")
    assert case.box is not None and case.state is not None
    packages = {"rocm-core": "7.2.0.70200-43~24.04", "rccl": "2.27.7.70200-43~24.04", "amdrocm10.1-gfx1100": "10.1.0-1"}
    files = evidence(case.box, replace(case.state, packages=packages, rocm="7.2.0"))
    situation = Situation(judged(MachineHost(files)), "rocm")
    route = install.rocm_routes(install.distributions()[1], "gfx1100")[0]
    do, undo = _removal(situation, replace(route, remove_first=("classic", "classic_61")))
    assert [one.words for one in do] == [("apt", "autoremove", "rccl", "rocm-core")]
    assert [one.words for one in undo] == [("apt", "install", "rccl", "rocm-core")]
    do, _ = _removal(situation, replace(route, remove_first=("newgen_10",)))
    assert [one.words for one in do] == [("apt", "autoremove", "amdrocm10.1-gfx1100")]
    assert _removal(situation, replace(route, remove_first=())) == ((), ())


def test_nothing_is_asked_for_a_gpu_that_trains_nothing() -> None:
    found = plan_in("rx580-debian12")
    access, checks = step_of(found, "device-access"), step_of(found, "checks")
    assert (access.state, access.optional) == ("todo", True)
    assert "makes no difference to training" in access.notes[-1]
    assert (checks.state, checks.evidence != ()) == ("waiting", True), "torch is not there yet"
    assert found.next is not None and found.next.id == "python-environment"
    assert not step_of(plan_in("xtx-ubuntu2404-fresh"), "device-access").optional


def test_a_card_without_its_driver_is_known_by_its_chip() -> None:
    def unbound(machine: Broken) -> None:
        machine.unbind("0000:0a:00.0", "card0", 1)

    found = step_of(plan_of("rx580", unbound), "rocm")
    assert (found.state, found.evidence[0].value) == ("impossible", "1002:67df")
    assert "gfx803" in found.why
