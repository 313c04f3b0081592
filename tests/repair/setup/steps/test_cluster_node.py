"""A node of a cluster, and WSL."""

from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Machine, Nic, RocmInstall, ToolFailure
from rocdoctor.repair.setup.plan import Step
from tests.kit import k, u
from tests.repair.setup.desk import desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, plan_of, step_of

_TOOL: dict[str, Any] = {"ibv_devinfo": k("/usr/bin/ibv_devinfo")}
_NONE: dict[str, Any] = {"ibv_devinfo": k(None)}
_WSL: dict[str, Any] = {
    "kernel": {"release": "6.6.87.2-microsoft-standard-WSL2"},
    "container": {"kind": "wsl", "rootless": False},
}


def _nic(name: str, kind: str = "infiniband", state: str = "active") -> Nic:
    return Nic(name, kind, state=k(state), speed_gbit_s=k(400.0), mtu=k(4096))


def _step(machine: Machine, step_id: str) -> Step:
    return step_of(planned(machine, "cluster-node"), step_id)


def test_only_a_node_of_a_cluster_has_these_steps() -> None:
    machine = desk(gpu("xtx"), network=(_nic("mlx5_0"),))
    mine = {"rdma-tools", "cluster-network", "same-software"}
    assert mine <= set(ids(planned(machine, "cluster-node"))) and not mine & set(ids(planned(machine)))


def test_rdma_tools_come_where_an_adapter_is() -> None:
    found = _step(desk(gpu("xtx"), network=(_nic("mlx5_0"),), programs=_NONE), "rdma-tools")
    assert commands(found) == ["apt update", "apt install rdma-core ibverbs-utils perftest infiniband-diags"]
    assert not found.optional and "one InfiniBand adapter" in found.why
    rhel = _step(desk(gpu("xtx"), os="rhel 9.6", network=(_nic("mlx5_0"),), programs=_NONE), "rdma-tools")
    assert commands(rhel)[0].startswith("dnf install rdma-core libibverbs-utils")
    assert _step(desk(gpu("xtx"), network=(_nic("mlx5_0"),), programs=_TOOL), "rdma-tools").state == "done"
    assert _step(desk(gpu("xtx"), network=(_nic("mlx5_0"),)), "rdma-tools").state == "unknown"


def test_ethernet_that_could_do_rdma_asks_for_nothing() -> None:
    assert _step(desk(gpu("xtx"), network=(_nic("mlx5_0", "roce"),), programs=_NONE), "rdma-tools").optional
    plain = desk(gpu("xtx"), network=(_nic("enp1s0", "ethernet", "up"),), programs=_NONE)
    assert "rdma-tools" not in ids(planned(plain, "cluster-node"))


def test_in_a_job_packages_are_for_the_administrator() -> None:
    job = desk(gpu("xtx"), network=(_nic("mlx5_0"),), programs=_NONE, variables={"SLURM_JOB_ID": "1"})
    found = _step(job, "rdma-tools")
    assert found.state == "waiting" and not found.actions and "administrator" in found.why


def test_the_network_is_shown_with_what_must_be_equal() -> None:
    nics = (_nic("mlx5_0"), _nic("mlx5_1"), _nic("mlx5_2"), _nic("mlx5_3", state="down"))
    found = _step(desk(gpu("xtx"), network=nics), "cluster-network")
    assert found.state == "done" and "mlx5_0 ... mlx5_2 (infiniband, 400 Gbit/s, MTU 4096)" in found.why
    notes = " ".join(found.notes)
    assert "Not up: mlx5_3." in notes and "MTU" in notes and "29500" in notes and "subnet manager" in notes


def test_an_interface_that_is_not_there_is_to_be_named_right() -> None:
    machine = desk(
        gpu("xtx"),
        network=(_nic("mlx5_0"),),
        interfaces=k({"ib0": "up", "lo": "up"}),
        variables={"NCCL_SOCKET_IFNAME": "eth7"},
    )
    found = _step(machine, "cluster-network")
    assert found.state == "todo" and found.risk == "manual" and "eth7" in found.why
    assert found.verify is not None and found.verify.check == "network-interface-missing"


def test_interfaces_without_a_known_card_are_better_than_nothing() -> None:
    names = k({"lo": "unknown", "docker0": "up", "eth0": "up", "wlan0": "down"})
    inside = {"kind": "docker", "rootless": False}
    found = _step(desk(gpu("xtx"), interfaces=names, container=inside), "cluster-network")
    assert found.state == "done" and found.why.startswith("Up: eth0;")
    assert any("--network=host" in note for note in found.notes)
    assert _step(desk(gpu("xtx"), interfaces=k({"docker0": "up", "lo": "up"})), "cluster-network").state == "unknown"


def test_no_card_that_is_up_leaves_it_unknown() -> None:
    assert _step(desk(gpu("xtx")), "cluster-network").state == "unknown"


def test_the_comparison_is_made_with_bundles_and_does_not_hold_up_the_goal() -> None:
    found = step_of(plan_of("mi300x-8gpu", goal="cluster-node"), "same-software")
    assert found.optional and commands(found) == ["rocdoctor bundle"]
    assert "ROCm 7.2.0" in found.why and "torch 2.11.0+rocm7.2" in found.why and "6.14.14" in found.why
    assert found.verify is not None and found.verify.command.startswith("rocdoctor diff ")


# -- WSL


def _windows(machine: Machine) -> Step:
    return step_of(planned(machine), "driver-windows")


def test_the_driver_of_windows_is_done_where_anything_reaches_the_gpu() -> None:
    assert step_of(plan_of("wsl2-rx7900xtx"), "driver-windows").state == "done"
    newest = (RocmInstall(k("10.1.0"), "/opt/rocm", "core"),)
    lists = desk(gpu("xtx", driver=u(), bdf=u()), build=torch(), rocm=newest, **_WSL)
    assert _windows(lists).state == "done" and "gfx1100" in _windows(lists).why
    smi = desk(
        gpu("ada", driver=u()),
        build=torch(),
        drivers={"nvidia": {"version": k("580.82.07")}},
        nvidia_failure=k(None),
        **_WSL,
    )
    assert _windows(smi).state == "done" and "580.82.07" in _windows(smi).why


def test_a_runtime_that_is_older_than_the_rocm_of_the_plan_says_nothing_of_the_driver_of_windows() -> None:
    for rocm in ((RocmInstall(k("7.2.0"), "/opt/rocm-7.2.0", "classic"),), ()):
        found = _windows(desk(gpu("xtx", driver=u(), bdf=u()), build=torch(), rocm=rocm, **_WSL))
        assert found.state == "unknown" and not found.actions
        assert "26.10.41.05" in found.title and "ROCm 10.1, which this plan installs" in found.why
        assert any("technical preview" in note for note in found.notes)


def test_nothing_is_installed_for_the_kernel_under_wsl() -> None:
    for machine in (desk(build=torch(), **_WSL), desk(gpu("ada", driver=u()), build=torch(), **_WSL)):
        found = planned(machine)
        assert not {"driver-nvidia", "driver-amd", "restart"} & set(ids(found))
        text = " ".join(command for step in found.steps for command in commands(step))
        assert "dkms" not in text and "nvidia-driver" not in text and "modprobe" not in text


def test_which_gpu_windows_has_is_unknown_without_a_sign_of_it() -> None:
    found = planned(desk(build=torch(), **_WSL))
    assert step_of(found, "driver-windows").state == step_of(found, "torch").state == "unknown"
    assert "Windows" in step_of(found, "torch").why
    notes = step_of(found, "driver-windows").notes
    assert any("wsl_compatibility" in note for note in notes)
    assert any("26.6.4 for ROCm 7.14" in note for note in notes) and any("librocdxg" in note for note in notes)


def test_nvidia_under_wsl_hears_nothing_of_amd() -> None:
    found = _windows(desk(gpu("ada", driver=u()), build=torch(), **_WSL))
    assert found.state == "unknown" and any("docs.nvidia.com" in note for note in found.notes)
    assert not any("Adrenalin" in note or "librocdxg" in note or "AMD lists" in note for note in found.notes)


def test_an_override_is_not_set_under_wsl() -> None:
    card = gpu("navi24", driver=u(), bdf=u())
    assert "gfx-override" not in ids(planned(desk(card, build=torch(), **_WSL)))
    assert "gfx-override" in ids(planned(desk(card, build=torch())))


def test_a_runtime_that_finds_nothing_is_told_by_the_check() -> None:
    failure = ToolFailure("run rocminfo", "exit 1", "ROCk module is NOT loaded")
    found = _windows(desk(build=torch(), failures=(failure,), **_WSL))
    assert found.state == "todo" and found.risk == "manual" and not found.actions


def test_other_machines_have_no_driver_of_windows() -> None:
    assert "driver-windows" not in ids(planned(desk(gpu("xtx"))))
