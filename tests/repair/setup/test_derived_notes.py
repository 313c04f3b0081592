"""What a plan says of a distribution that no vendor lists."""

from __future__ import annotations

import pytest

from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.facts import OperatingSystem
from rocdoctor.repair.setup.planner import plan
from tests.golden.replay import our_checks
from tests.kit import k, nvidia_gpu
from tests.repair.setup.desk import desk, planned
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.judge import files_of, judged
from tests.repair.setup.world.routes import ROUTES

_NAMED = {case.name: case for case in (*CASES, *ROUTES)}


def _notes(name: str) -> str:
    case = _NAMED[name]
    return " ".join(plan(judged(files_of(case)), case.goal).notes)


def test_a_derived_distribution_is_said_to_be_judged_by_another() -> None:
    assert "No vendor lists Linux Mint 22.1: it is judged as ubuntu 24.04" in _notes("xtx-mint22")


def test_an_unnamed_release_gets_only_its_own_archive() -> None:
    said = _notes("xtx-ubuntu2510")
    assert "No vendor lists Ubuntu 25.10: only packages of its own archive" in said and "is judged as" not in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rx9070xt-rhel10", "names this card on RHEL 10.2 or 9.8, but not on 10.0."),
        ("xtx-debian13-fresh", "names this card on Ubuntu or RHEL, but not on Debian."),
        ("mi210-8-debian13", "names this card on Ubuntu, RHEL or SLES, but not on Debian."),
    ],
)
def test_a_system_that_amd_does_not_list_for_the_card_is_said_in_the_short_plan_too(name: str, said: str) -> None:
    assert said in _notes(name)


def test_a_listed_system_and_one_of_somebody_else_get_no_such_note() -> None:
    for name in ("xtx-ubuntu2404-fresh", "mi300x-8-rhel9-cluster-node", "docker-8-mi300x", "slurm-2-of-8-mi210"):
        assert "AMD's list" not in _notes(name), name
    assert "AMD's list" not in _notes("xtx-mint22"), "it is said to be judged as Ubuntu"
    said = _notes("rx9070xt-leap156")
    assert "judged as sles 15" in said and "names this card on Ubuntu or RHEL, but not on opensuse-leap." in said


def test_a_release_that_nvidia_has_packages_for_is_not_said_to_have_only_its_own() -> None:
    assert "only packages of its own archive" not in _notes("rtx5090-tumbleweed-nothing")


def test_a_jetson_is_not_told_to_train_on_the_cpu() -> None:
    case = _NAMED["orin-jetpack6"]
    found = plan(judged(files_of(case)), case.goal)
    told = " ".join(found.notes)
    assert "This is a Jetson" in told and "training runs on the CPU" not in told
    torch = next(step for step in found.steps if step.id == "torch")
    assert torch.state == "unknown" and "NVIDIA has wheels for each JetPack" in torch.why and not torch.actions


def test_a_card_that_an_index_of_amd_serves_is_not_left_to_the_cpu() -> None:
    case = _NAMED["rx5700xt-ubuntu2404"]
    found = plan(judged(files_of(case)), case.goal)
    assert "training runs on the CPU" not in " ".join(found.notes)
    access = next(step for step in found.steps if step.id == "device-access")
    torch = next(step for step in found.steps if step.id == "torch")
    assert not access.optional and "device-gfx1010" in torch.actions[0].command
    assert "training runs on the CPU" in _notes("rx580-debian12")  # of which no index has anything


def test_nvidia_gpus_without_any_wheel_are_said_to_leave_training_to_the_cpu() -> None:
    card = nvidia_gpu(0, name="Tesla K80", compute_capability="3.7", driver=None)
    assert any("no code for compute capability 3.7" in note for note in planned(desk(card)).notes)


def test_the_end_of_life_of_a_release_is_said() -> None:
    assert "Fedora Linux 42 (Workstation Edition) has reached end of life: no updates since 2026-05-13." in _notes(
        "strix-halo-fedora42"
    )
    assert "no updates since 2026-07" in _notes("xtx-ubuntu2510")
    focal = OperatingSystem(id=k("ubuntu"), version_id=k("20.04"), pretty_name=k("Ubuntu 20.04.6 LTS"))
    assert any("no updates since 2025-05-31 without Ubuntu Pro" in note for note in planned(desk(os=focal)).notes)
    una = OperatingSystem(id=k("linuxmint"), version_id=k("20.3"), pretty_name=k("Linux Mint 20.3"))
    assert any("no updates since 2025-04. " in note for note in planned(desk(os=una)).notes)
    for name in ("xtx-ubuntu2404-fresh", "xtx-debian12-fresh", "xtx-arch-fresh", "xtx-mint22"):
        assert "end of life" not in _notes(name), name


def test_an_end_that_is_to_come_takes_effect_on_its_day() -> None:
    """Fedora 43 ends on 2026-12-09, Leap 16.0 on 2027-10-31 (endoflife.date); nobody edits the table on that day."""

    def said(version: str, today: str, name: str = "fedora") -> str:
        system = OperatingSystem(id=k(name), version_id=k(version), pretty_name=k(f"{name} {version}"))
        notes = plan(diagnose(desk(os=system), our_checks()), today=today).notes
        return " ".join(one for one in notes if "updates" in one)

    soon = "fedora 43 gets its last updates on 2026-12-09: upgrade to a newer release soon."
    assert said("43", "") == said("43", "2026-11-24") == soon
    assert "gets its last updates on 2026-12-09" in said("43", "2026-12-08")
    for today in ("2026-12-09", "2027-03-01"):
        assert "fedora 43 has reached end of life: no updates since 2026-12-09" in said("43", today)
    assert said("16.0", "2026-12-09", "opensuse-leap") == ""
    assert "no updates since 2027-10-31" in said("16.0", "2028-01-01", "opensuse-leap")


def test_a_listed_distribution_gets_no_such_word() -> None:
    assert "No vendor lists" not in _notes("xtx-ubuntu2404-fresh") + _notes("xtx-arch-fresh")


def test_a_system_container_is_unprivileged_and_one_of_podman_rootless() -> None:
    assert "This is an unprivileged lxc container" in _notes("lxc-xtx-without-groups")
    assert "This is a rootless podman container" in _notes("podman-rootless-without-groups")
