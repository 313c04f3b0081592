from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.visibility import gpu_count, scheduler, select, visible, where_set
from rocdoctor.model.facts import ComputeNode, Variable
from tests.kit import amd_gpu, environment, k, machine, nvidia_gpu, u


def kept(value: str, count: int | None) -> tuple[str, ...]:
    return select(Variable("HIP_VISIBLE_DEVICES", value, "env"), count).kept


def test_the_first_bad_entry_ends_a_list() -> None:
    assert kept("0,1", 2) == ("0", "1")
    assert kept("1,2,0", 2) == ("1",)
    assert kept("-1,0", 2) == ()
    assert kept("", 2) == ()
    assert kept("7", None) == ("7",)
    assert kept("GPU-4f2c1a9b7d3e5f60,0", 1) == ("GPU-4f2c1a9b7d3e5f60", "0")


def test_the_second_list_counts_what_the_first_left() -> None:
    of = machine(
        *(amd_gpu(i) for i in range(4)),
        environment=environment(
            {
                "ROCR_VISIBLE_DEVICES": "2,3",
                "HIP_VISIBLE_DEVICES": "1,2",
            }
        ),
    )
    first, second = visible(of, "amd").steps
    assert first.kept == ("2", "3")
    assert (second.kept, second.rest) == (("1",), ("2",))


def test_an_empty_hip_list_lets_the_cuda_name_count() -> None:
    of = machine(amd_gpu(), environment=environment({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "0"}))
    assert [step.variable.name for step in visible(of, "amd").steps] == ["CUDA_VISIBLE_DEVICES"]


def test_gpus_are_counted_only_where_all_are_seen() -> None:
    assert gpu_count(machine(amd_gpu(), amd_gpu(1, driver="vfio-pci")), "amd") == 1
    assert gpu_count(replace(machine(amd_gpu()), gpus_complete=False), "amd") is None
    assert gpu_count(machine(amd_gpu(driver=u())), "amd") is None
    assert gpu_count(machine(amd_gpu(), kfd_gpu_nodes=k(8), kfd_complete=True), "amd") == 8
    assert gpu_count(machine(amd_gpu(), kfd_gpu_nodes=k(8), kfd_complete=True, kfd_nodes_hidden=k(2)), "amd") is None
    assert gpu_count(machine(amd_gpu(compute_nodes=(ComputeNode(),))), "amd") is None
    assert gpu_count(machine(nvidia_gpu(mig=True)), "nvidia") is None


def test_schedulers_and_the_place_that_sets_a_variable() -> None:
    assert scheduler(environment({"SLURM_JOB_ID": "1"})) == "SLURM_JOB_ID"
    assert scheduler(environment({"HOME": "~"})) is None
    assert where_set(Variable("A", "1", "read /etc/environment", 3)) == "/etc/environment:3"
    assert "shell profile" in where_set(Variable("A", "1", "env", 3))
