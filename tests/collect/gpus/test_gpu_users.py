"""Who uses which GPU: KFD's figures, the vendor's list, and open device nodes together."""

from __future__ import annotations

from rocdoctor.collect.gpus.gpu_users import GpuUser, gpu_users
from rocdoctor.model.facts import ComputeNode, GpuProcess
from tests.collect.hosts import whole
from tests.kit import amd_gpu, k, nvidia_gpu, u

_KFD = "/sys/class/kfd/kfd/proc"
_HOLDERS = "77 90000 /dev/dri/renderD129,/dev/kfd ollama\n4121 7200 /dev/dri/renderD128,/dev/kfd python3\nhidden 3"
_GIB = 2**30


def _amd(index: int, gpu_id: int) -> object:
    return amd_gpu(index, render_minor=128 + index, compute_nodes=(ComputeNode(gpu_id=k(gpu_id)),))


def test_memory_is_that_of_kfd_and_who_holds_most_is_first() -> None:
    host = whole(
        {
            "holders gpu": _HOLDERS,
            f"list {_KFD}/*": f"{_KFD}/4121\n{_KFD}/500",
            f"read {_KFD}/4121/vram_51234": str(3 * _GIB),
            f"read {_KFD}/4121/vram_51235": "0",
            f"read {_KFD}/500/vram_51234": str(9 * _GIB),
        }
    )
    found = gpu_users(host, [_amd(0, 51234), _amd(1, 51235)])  # type: ignore[list-item]
    assert found.by_gpu[0] == (GpuUser(500, "", None, 9 * _GIB), GpuUser(4121, "python3", 7200, 3 * _GIB))
    assert found.by_gpu[1] == (GpuUser(77, "ollama", 90000, None),), "nothing of it is allocated: it has it open"
    assert (found.hidden, found.why) == (3, "")


def test_partitions_of_a_gpu_count_together() -> None:
    host = whole(
        {
            "holders gpu": "",
            f"list {_KFD}/*": f"{_KFD}/9",
            f"read {_KFD}/9/vram_1": str(_GIB),
            f"read {_KFD}/9/vram_2": str(2 * _GIB),
        }
    )
    gpu = amd_gpu(compute_nodes=tuple(ComputeNode(gpu_id=k(one)) for one in (1, 2)))
    assert gpu_users(host, [gpu]).by_gpu[0] == (GpuUser(9, vram_bytes=3 * _GIB),)


def test_further_contexts_of_a_process_count_as_its_own() -> None:
    """As ROCm/amdgpu names them: context_N below the process that opened the driver first."""
    host = whole(
        {
            "holders gpu": "",
            f"list {_KFD}/*": f"{_KFD}/9",
            f"list {_KFD}/*/context_*": f"{_KFD}/9/context_0\n{_KFD}/9/context_1\n{_KFD}/8/context_0",
            f"read {_KFD}/9/vram_51234": str(_GIB),
            f"read {_KFD}/9/context_0/vram_51234": str(2 * _GIB),
            f"read {_KFD}/9/context_1/vram_51234": "0",
            f"read {_KFD}/8/context_0/vram_51234": str(_GIB),
        }
    )
    users = gpu_users(host, [_amd(0, 51234)]).by_gpu[0]  # type: ignore[list-item]
    assert users == (GpuUser(9, vram_bytes=3 * _GIB),), "a folder that ended between two lists has no number"


def test_nvidia_lists_its_own_and_device_numbers_tell_only_where_there_is_one_gpu() -> None:
    host = whole({"holders gpu": "5 60 /dev/nvidia0 train\n6 60 /dev/nvidia0 serve"})
    listed = nvidia_gpu(processes=(GpuProcess(k(2 * _GIB), 5),))
    assert gpu_users(host, [listed]).by_gpu[0] == (GpuUser(5, "train", 60, 2 * _GIB), GpuUser(6, "serve", 60))
    two = gpu_users(host, [listed, nvidia_gpu(1)])
    assert two.by_gpu == {0: (GpuUser(5, "train", 60, 2 * _GIB),), 1: ()}
    assert [*two.untold] == [1], "open nodes do not say whose they are, and no list of the second was given"
    empty = gpu_users(host, [listed, nvidia_gpu(1, processes=())])
    assert not empty.untold and not gpu_users(host, [nvidia_gpu()]).untold
    nameless = nvidia_gpu(processes=(GpuProcess(k(_GIB)),))
    assert [*gpu_users(host, [nameless]).untold] == [0], "a process without a number holds it"


def test_of_a_gpu_whose_device_node_is_not_known_an_empty_list_says_nothing() -> None:
    host = whole({"holders gpu": _HOLDERS})
    assert [*gpu_users(host, [_amd(0, 51234), amd_gpu(1, render_minor=u())]).untold] == [1]  # type: ignore[list-item]


def test_a_list_that_nobody_gave_is_not_an_empty_one() -> None:
    found = gpu_users(whole({}), [amd_gpu()])
    assert found.by_gpu == {0: ()} and found.why


def test_a_number_of_the_host_is_not_a_process_of_this_container() -> None:
    """KFD numbers the processes of the host; one here with that number and no node of the driver open is another."""
    host = whole(
        {
            "holders gpu": "31 60 /dev/dri/renderD129 desktop",
            f"list {_KFD}/*": f"{_KFD}/31",
            f"read {_KFD}/31/vram_51234": str(_GIB),
        }
    )
    found = gpu_users(host, [_amd(0, 51234), _amd(1, 51235)])  # type: ignore[list-item]
    assert found.by_gpu[0] == (GpuUser(31, "", None, _GIB),)
    assert found.by_gpu[1] == (GpuUser(31, "desktop", 60),)
