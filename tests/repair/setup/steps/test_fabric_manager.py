"""Servers with NVSwitches: the flavour of the driver, and the fabric manager in the first plan."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import Gpu
from tests.install_kit import found, whole
from tests.kit import nvidia_gpu
from tests.repair.setup.desk import desk, facts, gpu, planned
from tests.repair.setup.kit import commands, ids, plan_in, step_of


def _board(count: int = 8, name: str = "NVIDIA H100 80GB HBM3", capability: str = "9.0") -> list[Gpu]:
    return [
        nvidia_gpu(index, name=name, pci_id="10de:2330", compute_capability=capability, driver=None)
        for index in range(count)
    ]


def test_ubuntu_takes_one_branch_for_driver_and_fabric_manager_before_one_restart() -> None:
    plan = planned(desk(*_board()))
    driver, fabric = step_of(plan, "driver-nvidia"), step_of(plan, "nvidia-fabric-manager")
    assert "ubuntu-drivers install --gpgpu nvidia:580-server-open" in commands(driver)
    assert "apt install nvidia-utils-580-server" in commands(driver)
    assert commands(fabric)[-2:] == [
        "apt install nvidia-fabricmanager-580 libnvidia-nscq-580",
        "systemctl enable nvidia-fabricmanager",
    ]
    assert ids(plan).index("driver-nvidia") < ids(plan).index("nvidia-fabric-manager") < ids(plan).index("restart")
    assert (fabric.state, fabric.effective, fabric.optional) == ("todo", "reboot", False)
    assert fabric.undo and any("exactly" in note for note in fabric.notes)


@pytest.mark.parametrize(("os", "command"), [("debian 12", "apt install"), ("rhel 9.6", "dnf install")])
def test_elsewhere_the_repository_of_nvidia_has_both(os: str, command: str) -> None:
    plan = planned(desk(*_board(), os=os))
    assert any("nvidia-open" in one or "open-dkms" in one for one in commands(step_of(plan, "driver-nvidia")))
    assert f"{command} nvidia-fabricmanager libnvidia-nscq" in commands(step_of(plan, "nvidia-fabric-manager"))


def test_nvlink_5_also_needs_the_subnet_manager() -> None:
    notes = step_of(planned(desk(*_board(name="NVIDIA B200", capability="10.0"))), "nvidia-fabric-manager").notes
    assert any("nvlsm" in note for note in notes)
    assert not any("nvlsm" in note for note in step_of(planned(desk(*_board())), "nvidia-fabric-manager").notes)


def test_where_its_package_is_not_known_it_is_unknown_and_still_named() -> None:
    fabric = step_of(planned(desk(*_board(), os="fedora 43")), "nvidia-fabric-manager")
    assert fabric.state == "unknown" and not fabric.actions


@pytest.mark.parametrize(
    ("cards", "more"),
    [
        (_board(4), {}),
        (_board(8, "NVIDIA H100 PCIe"), {}),
        ([gpu("ada", index, driver=None) for index in range(8)], {}),
        (_board(), {"container": {"kind": "none", "rootless": False, "virtual_machine": "kvm"}}),
        ([nvidia_gpu(index, name="NVIDIA H100 80GB HBM3") for index in range(8)], {}),
    ],
    ids=["four are wired directly", "cards", "consumer cards", "a guest", "a driver runs"],
)
def test_others_get_none(cards: list[Gpu], more: dict[str, Any]) -> None:
    assert "nvidia-fabric-manager" not in ids(planned(desk(*cards, **more)))


def test_a_desktop_keeps_the_choice_of_ubuntu() -> None:
    assert commands(step_of(planned(desk(gpu("ada", driver=None))), "driver-nvidia"))[-1] == "ubuntu-drivers install"


def test_nobody_is_given_an_ended_branch_where_nvidia_has_a_newer_one() -> None:
    """Debian 12 has 535 (ended 2026-06), 13 has 550; what the open module does not drive takes 580 of NVIDIA's."""
    for key, server in (("debian 12", True), ("debian 12", False), ("debian 13", False)):
        route = install.nvidia_driver(found(key), "8.9", server=server)
        assert not isinstance(route, Unknown) and (route.driver, route.kind) == (None, "dkms"), key
        assert "In the archive of the distribution: Branch 5" in route.why
    old = install.nvidia_driver(found("debian 12"), "7.0")
    assert not isinstance(old, Unknown) and old.driver == "580" and "Branch 535 ended in 2026-06" in old.why
    unseen = install.nvidia_driver(found("debian 12"))
    assert not isinstance(unseen, Unknown) and unseen.driver == "535"
    assert "Branch 535 ended in 2026-06" in (unseen.risk or "")
    steps = commands(step_of(plan_in("rtx4090-debian12-nouveau"), "driver-nvidia"))
    assert steps[-1] == "apt install nvidia-open" and any("cuda-keyring" in one for one in steps)


def test_old_parts_take_the_closed_module() -> None:
    """Volta (7.0) is not driven by the open one."""
    route = install.nvidia_driver(whole("ubuntu 24.04"), "7.0", server=True)
    assert not isinstance(route, Unknown)
    assert any("nvidia:580-server" in run for step in route.steps for run in step.run)


def test_branches_and_their_ends() -> None:
    """docs.nvidia.com/datacenter/tesla/drivers/620: R580 until 2028-06, R595 until 2027-03, R620 until 2029-09."""
    assert install.ended_branch(580) is None and install.ended_branch(595) is None and install.ended_branch(620) is None
    assert "ended in 2026-02" in (install.ended_branch(570) or "")
    assert "no longer on NVIDIA's list" in (install.ended_branch(550) or "")
    assert "580 until 2028-06, 595 until 2027-03, 620 until 2029-09" in (install.ended_branch(535) or "")
    assert install.ended_branch(700) is None  # newer than the list
    assert install.ended_branch(595, "2027-03-31") is None
    later = install.ended_branch(595, "2027-04-01") or ""
    assert "ended in 2027-03" in later and "595 until" not in later and "620 until 2029-09" in later


def test_one_that_is_down_is_started_and_its_package_named() -> None:
    cards = [nvidia_gpu(index, fabric_state="In Progress") for index in range(2)]
    works: dict[str, Any] = {"drivers": {"nvidia": facts({"version": "580.82.07"})}, "kernel": {"uptime_s": 86400.0}}
    fabric = step_of(planned(desk(*cards, **works)), "nvidia-fabric-manager")
    assert any("nvidia-fabricmanager-580" in note and "580.82.07" in note for note in fabric.notes)
