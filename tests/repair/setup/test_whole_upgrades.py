"""A command that upgrades the whole system is risky wherever a plan has it: it brings another kernel and driver."""

from __future__ import annotations

from rocdoctor.repair.setup.plan import Action
from rocdoctor.repair.setup.step_parts import changes_of, upgrades_all
from tests.repair.setup.world.catalogue import CASES
from tests.repair.setup.world.judge import plan_of

_WHOLE = (
    "pacman -Syu",
    "pacman -Syu rocm-hip-sdk",
    "pacman -Su",
    "apt upgrade",
    "apt-get dist-upgrade",
    "apt full-upgrade",
    "dnf upgrade",
    "dnf update --refresh",
    "dnf distro-sync",
    "zypper dup",
    "zypper update",
)
_PART = (
    "pacman -S rocminfo",
    "pacman -Rns rocminfo",
    "apt update",
    "apt install upgrade",
    "dnf upgrade --refresh kernel",
    "dnf install kernel",
    "zypper refresh",
    "zypper update kernel-default",
    "dnf clean all",
)


def test_which_commands_upgrade_the_whole_system() -> None:
    assert [one for one in _WHOLE if not upgrades_all(Action(tuple(one.split())))] == []
    assert [one for one in _PART if upgrades_all(Action(tuple(one.split())))] == []
    assert changes_of([Action(("pacman", "-Syu", "rocminfo"))]) == ("every package of this system", "rocminfo")
    assert changes_of([Action(("dnf", "upgrade", "--refresh", "kernel"))]) == ("kernel",)


def test_no_plan_calls_such_a_step_safe() -> None:
    found = [
        (case.name, step.id, step.risk, "every package of this system" in step.changes)
        for case in CASES
        for step in plan_of(case.name).steps
        if any(map(upgrades_all, step.actions))
    ]
    assert ("xtx-arch-fresh", "rocm", "risky", True) in found
    assert [one for one in found if one[2:] != ("risky", True)] == []
