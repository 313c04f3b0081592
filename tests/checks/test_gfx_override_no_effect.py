from __future__ import annotations

from rocdoctor.model.facts import ComputeNode
from tests.kit import amd_gpu, environment, judge, k, machine, states, u

NAME = "gfx-override-no-effect"
SET = environment({"HSA_OVERRIDE_GFX_VERSION_0": "10.3.0"})


def test_the_node_of_a_processor_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(kfd_node=1), environment=SET))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.message == (
        "HSA_OVERRIDE_GFX_VERSION_0 has no effect: node 0 is not a GPU (the GPUs are KFD nodes 1)."
    )


def test_the_node_of_a_gpu_or_of_a_partition_passes() -> None:
    assert states(judge(NAME, machine(amd_gpu(kfd_node=0), environment=SET))) == ["pass"]
    parts = amd_gpu(compute_nodes=(ComputeNode(kfd_node=k(5)), ComputeNode(kfd_node=k(0))))
    assert states(judge(NAME, machine(parts, environment=SET))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(kfd_node=u()), environment=SET))) == ["unknown"]
    plain = environment({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert states(judge(NAME, machine(amd_gpu(), environment=plain))) == ["not-applicable"]
    assert states(judge(NAME, machine(environment=SET))) == ["not-applicable"]
