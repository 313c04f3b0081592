"""What Slurm and Kubernetes are told of a node."""

from __future__ import annotations

from rocdoctor.model.facts import DeviceNode
from tests.kit import k, nvidia_gpu
from tests.repair.setup.desk import desk, gpu, planned
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, step_of

_MINE = {"slurm-gres-amd", "kubernetes-gpus-amd", "slurm-gres-nvidia", "kubernetes-gpus-nvidia"}


def test_only_a_node_of_a_cluster_has_them_and_no_goal_needs_them() -> None:
    machine = desk(gpu("xtx"))
    found = planned(machine, "cluster-node")
    assert {"slurm-gres-amd", "kubernetes-gpus-amd"} == _MINE & set(ids(found))
    assert all(step_of(found, name).optional for name in ("slurm-gres-amd", "kubernetes-gpus-amd"))
    assert not _MINE & set(ids(planned(machine)))
    assert not _MINE & set(ids(planned(desk(), "cluster-node")))


def test_slurm_is_told_by_rsmi_and_by_the_device_nodes_where_that_finds_nothing() -> None:
    found = step_of(plan_in("mi300x-8-rhel9-cluster-node"), "slurm-gres-amd")
    said = " ".join(found.notes)
    assert "AutoDetect=rsmi" in said and "Gres=gpu:8" in said and "slurm-wlm-rsmi-plugin" in said
    assert "Name=gpu File=/dev/dri/renderD[128-135] Flags=amd_gpu_env" in said
    assert "From 10.1 on, ROCm no longer contains the ROCm SMI library" in said
    assert found.verify is not None and found.verify.line == "slurmd -G" and "Count=8" in found.verify.shows


def test_device_nodes_that_do_not_follow_each_other_are_listed() -> None:
    nodes = tuple(
        DeviceNode(f"/dev/dri/renderD{number}", k(True), bdf=k(bdf))
        for number, bdf in ((128, "0000:03:00.0"), (130, "0000:83:00.0"))
    )
    cards = [gpu("xtx", index, bdf=bdf) for index, bdf in enumerate(("0000:03:00.0", "0000:83:00.0"))]
    found = step_of(planned(desk(*cards, nodes=nodes), "cluster-node"), "slurm-gres-amd")
    assert "File=/dev/dri/renderD128,/dev/dri/renderD130 " in " ".join(found.notes)


def test_nvidia_takes_nvml_and_the_operator_without_its_driver() -> None:
    cards = [nvidia_gpu(index, compute_capability="9.0") for index in range(4)]
    found = planned(desk(*cards), "cluster-node")
    said = " ".join(step_of(found, "slurm-gres-nvidia").notes)
    assert "AutoDetect=nvml" in said and "Name=gpu File=/dev/nvidia[0-3]" in said and "ROCm" not in said
    assert "--set driver.enabled=false" in commands(step_of(found, "kubernetes-gpus-nvidia"))[-1]


def test_kubernetes_gets_the_plug_in_of_amd_with_its_undo() -> None:
    found = step_of(planned(desk(gpu("xtx")), "cluster-node"), "kubernetes-gpus-amd")
    assert commands(found)[0].startswith("kubectl create -f https://raw.githubusercontent.com/ROCm/k8s-device-plugin/")
    assert found.undo[0].words[:2] == ("kubectl", "delete") and found.risk == "manual"
    assert found.verify is not None and "amd.com/gpu: 1" in found.verify.shows


def test_a_job_has_its_scheduler_already() -> None:
    assert not _MINE & set(ids(plan_of("mi210-slurm-2of8", goal="cluster-node")))
    assert not _MINE & set(ids(plan_of("mi300x-docker", goal="cluster-node")))
