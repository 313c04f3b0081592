"""Profiles of machines made by hand, for tests of the checks that compare with one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.compare.expected import read_expected
from rocdoctor.model.facts import (
    Cpus,
    Gpu,
    GpuLink,
    Kernel,
    LinkState,
    Machine,
    Memory,
    NumaNode,
    Partition,
    Power,
    TorchBuild,
)
from rocdoctor.model.finding import Verdict
from rocdoctor.train.emit.targets.profile import render
from tests.kit import amd_gpu, environment, judge, k, machine
from tests.pcie_kit import board, link

CHECKS = (
    "profile-gpus-differ",
    "profile-host-differs",
    "profile-links-differ",
    "profile-settings-differ",
    "profile-unreadable-or-foreign",
    "profile-versions-differ",
)


def gpu(index: int = 0, lanes: int = 16, speed: float = 16.0, **changes: Any) -> Gpu:
    """An MI210 whose whole path to the CPU is known."""
    slot: LinkState = link(lanes, lanes, speed, speed)
    facts: dict[str, Any] = {
        "pcie": board(slot),
        "numa_node": index // 2,
        "vbios": "113-D67301-063",
        "partition": Partition(k("SPX"), k("NPS1")),
        "power": Power(cap_w=k(300.0)),
        "performance_level": "auto",
        "firmware": {"smc": "0x00443700"},
    }
    return amd_gpu(index, **(facts | changes))


def whole(*gpus: Gpu, **changes: Any) -> Machine:
    """A machine of which everything that a profile holds is known; GPUs are joined by XGMI, each with each."""
    cards = gpus or (gpu(0), gpu(1))
    pairs = [(a.index, b.index) for n, a in enumerate(cards) for b in cards[n + 1 :]]
    facts: dict[str, Any] = {
        "links": tuple(GpuLink(a, b, "xgmi", weight=k(15)) for a, b in pairs),
        "links_complete": True,
        "cpus": Cpus(
            model=k("AMD EPYC 7763"),
            arch=k("x86_64"),
            packages=k(2),
            cores=k(128),
            threads=k(256),
            governors=k(("performance",)),
        ),
        "memory": Memory(
            total_bytes=k(512 << 30), numa_balancing=k(False), transparent_hugepage=k("madvise"), hugepages_total=k(0)
        ),
        "numa_nodes": (NumaNode(0, k("0-63")), NumaNode(1, k("64-127"))),
        "kernel": Kernel(
            release=k("6.8.0-71-generic"),
            parameters=k({"iommu": "pt", "root": "UUID=1"}),
            iommu_default=k("passthrough"),
            modprobe_options=k({}),
        ),
        "drivers": {"amdgpu": {"version": k("6.14.14")}},
        "torch": TorchBuild(
            python=k("3.12.3"),
            version=k("2.9.1+rocm6.4"),
            hip=k("6.4.43482"),
            cuda=k(None),
            packages=k({"torch": "2.9.1+rocm6.4", "pip": "25.2", "deepspeed": "0.18.2"}, "python default"),
        ),
        "environment": environment({"HOME": "/root", "NCCL_DEBUG": "INFO"}),
        "network_complete": True,
    }
    return machine(*cards, **(facts | changes))


def against(now: Machine, then: Machine, edit: tuple[str, str] = ("", "")) -> Machine:
    """A machine with the profile of another (or of itself earlier); ``edit`` replaces words of the profile."""
    text = render(then)
    assert edit[0] in text
    expected, problem = read_expected(text.replace(*edit) if edit[0] else text, "then.yaml")
    assert problem == ""
    return replace(now, expected=expected)


def findings(of: Machine) -> list[tuple[str, str, str, str]]:
    """(check, subject, severity, message) of what the six checks find; none of them may crash."""
    verdicts = [one for name in CHECKS for one in judge(name, of)]
    assert not [one for one in verdicts if one.state == "crashed"]
    return [
        (v.check, v.subject.label, v.finding.severity, v.finding.message) for v in verdicts if v.finding is not None
    ]


def verdicts(name: str, now: Machine, then: Machine) -> list[Verdict]:
    """The verdicts of one check on a machine with the profile of another."""
    return judge(name, against(now, then))
