from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.model.facts import Nic, NumaNode
from tests.kit import judge, k, states, u
from tests.profile_kit import against, findings, verdicts, whole

NAME = "profile-host-differs"


def test_without_a_profile_and_with_its_own() -> None:
    assert states(judge(NAME, whole())) == ["not-applicable"]
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]


def test_fewer_threads_and_less_memory_are_warnings() -> None:
    then = whole()
    now = replace(then, cpus=replace(then.cpus, threads=k(128)), memory=replace(then.memory, total_bytes=k(448 << 30)))
    assert [one[2:] for one in findings(against(now, then))] == [
        ("warning", "CPU threads online: 256 when the profile was made, 128 now."),
        ("warning", "Main memory: 512 GiB when the profile was made, 448 GiB now."),
    ]


@pytest.mark.parametrize(("lost_mib", "count"), [(200, 0), (32 << 10, 1)])
def test_what_another_kernel_keeps_for_itself_is_no_lost_module(lost_mib: int, count: int) -> None:
    then = whole()
    now = replace(then, memory=replace(then.memory, total_bytes=k((512 << 30) - (lost_mib << 20))))
    assert len(findings(against(now, then))) == count


def test_another_layout_of_numa_nodes() -> None:
    now = replace(whole(), numa_nodes=tuple(NumaNode(n, k(f"{n * 32}-{n * 32 + 31}")) for n in range(4)))
    assert [one[2:] for one in findings(against(now, whole()))] == [
        (
            "warning",
            "NUMA nodes with their CPUs: 0: 0-63; 1: 64-127 when the profile was made, "
            "0: 0-31; 1: 32-63; 2: 64-95; 3: 96-127 now.",
        ),
    ]
    gap = replace(whole(), numa_nodes=(NumaNode(0, k("0-63")), NumaNode(1, u())))
    assert states(verdicts(NAME, gap, whole())) == ["unknown"]


def test_a_port_that_is_down() -> None:
    def ports(*states_: str) -> tuple[Nic, ...]:
        return tuple(
            Nic(f"mlx5_{n}", "infiniband", speed_gbit_s=k(400.0), state=k(state)) for n, state in enumerate(states_)
        )

    then, now = replace(whole(), network=ports("up", "up")), replace(whole(), network=ports("up", "down"))
    assert [one[3] for one in findings(against(now, then))] == [
        "InfiniBand and RoCE ports: 2 x infiniband 400 Gbit/s when the profile was made, "
        "1 x infiniband 400 Gbit/s, 1 x infiniband down now."
    ]
    assert states(verdicts(NAME, replace(now, network_complete=False), then)) == ["unknown"]
