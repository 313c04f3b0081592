from __future__ import annotations

from rocdoctor.insight.gpus.left_out import command_without
from rocdoctor.model.facts import ComputeNode, Gpu
from tests.kit import amd_gpu, environment, k, machine, nvidia_gpu, u


def _node(number: int, **changes: object) -> Gpu:
    return amd_gpu(number, **{"compute_nodes": (ComputeNode(kfd_node=k(number + 2)),), "hip_index": number, **changes})


def _without(sick: int, *gpus: Gpu, **values: str) -> str:
    return command_without(machine(*gpus, environment=environment(values)), {gpus[sick].subject})


def test_the_others_are_named_by_the_numbers_of_hip() -> None:
    order = [_node(0, hip_index=2), _node(1, hip_index=0), _node(2, hip_index=1)]
    assert _without(0, *order) == "export HIP_VISIBLE_DEVICES=0,1"
    assert _without(1, *order) == "export HIP_VISIBLE_DEVICES=1,2"


def test_cuda_counts_by_address() -> None:
    order = [nvidia_gpu(0, bdf="0000:d8:00.0"), nvidia_gpu(1, bdf="0000:18:00.0")]
    assert _without(0, *order) == "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0"


def test_several_are_left_out_by_one_command() -> None:
    gpus = [_node(one) for one in range(4)]
    sick = {gpus[1].subject, gpus[3].subject}
    assert command_without(machine(*gpus, environment=environment({})), sick) == "export HIP_VISIBLE_DEVICES=0,2"


def test_nothing_is_said_where_a_number_is_not_sure_or_none_is_left() -> None:
    pair = [_node(0), _node(1)]
    assert _without(0, *pair) == "export HIP_VISIBLE_DEVICES=1"
    assert _without(0, _node(0)) == ""
    assert _without(0, _node(0), _node(1, hip_index=u())) == ""
    assert _without(0, _node(0), _node(1, hip_index=5)) == ""
    assert _without(0, *pair, HIP_VISIBLE_DEVICES="1,0") == ""
    parts = tuple(ComputeNode(kfd_node=k(one)) for one in (2, 3))
    assert _without(0, _node(0, compute_nodes=parts), _node(1)) == ""
    assert _without(0, nvidia_gpu(0), nvidia_gpu(1, driver="vfio-pci")) == ""
    assert _without(0, nvidia_gpu(0, mig=True), nvidia_gpu(1)) == ""
    assert command_without(machine(*pair), {pair[0].subject}) == ""  # the environment was not shown
    other = nvidia_gpu(2)
    whole = machine(*pair, other, environment=environment({}))
    assert command_without(whole, {pair[0].subject, other.subject}) == ""


def test_the_gpu_of_a_processor_is_no_stand_in_for_a_card() -> None:
    assert _without(0, _node(0), _node(1, integrated=True)) == ""
    assert _without(0, _node(0, integrated=True), _node(1, integrated=True)) == "export HIP_VISIBLE_DEVICES=1"
