"""A diagnosis made by hand, for tests of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rocdoctor.judging.diagnose import rank
from rocdoctor.model.facts import Machine, ModeResult, RankResult, SmokeRun, SmokeState
from rocdoctor.model.finding import Diagnosis, Evidence, Finding, Fix, NextStep, Verdict
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.model.subject import MACHINE
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface
from rocdoctor.train.smoke.nodes.leader import NodeOutcome
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink, Stream
from tests.kit import amd_gpu, machine, named

OVERRIDE = Finding(
    "error",
    "This GPU is gfx942, but HSA_OVERRIDE_GFX_VERSION makes it run code for gfx1030.",
    (
        Evidence("gfx942", "read /sys/class/kfd/kfd/topology/nodes/1/properties", 2),
        Evidence("gfx1030", "$HSA_OVERRIDE_GFX_VERSION"),
    ),
    Fix("Unset the variable", command="unset HSA_OVERRIDE_GFX_VERSION", safety="safe"),
    cause="hsa-override-wrong",
)
NARROW = Finding(
    "warning",
    "The PCIe link of this GPU has x4 of x16.",
    (Evidence("x4", "read /sys/x", 1),),
    Fix("Reseat the card", safety="manual"),
    cause="pcie-link-degraded",
)
NOTE = Finding("info", "Persistence mode is off.", (Evidence("off", "run nvidia-smi -q", 9),))


def failed(found: Finding, subject: str, check: str = "gfx-override-mismatch") -> Verdict:
    """A verdict with a finding."""
    return Verdict(check, named(subject), "fail", found)


def diagnosis(verdicts: Sequence[Verdict], of: Machine | None = None, **more: Any) -> Diagnosis:
    """What diagnose would make of these verdicts."""
    return Diagnosis(of if of is not None else machine(amd_gpu()), tuple(verdicts), rank(verdicts), **more)


FULL = diagnosis(
    [
        failed(OVERRIDE, "gpu 0 (0000:23:00.0)"),
        failed(NARROW, "gpu 0 (0000:23:00.0)", "pcie-link-narrow"),
        failed(NOTE, "machine", "persistence-off"),
        Verdict("small-bar", named("gpu 0 (0000:23:00.0)"), "pass"),
        Verdict("ring-timeout", MACHINE, "unknown", why="no kernel log in this evidence"),
        Verdict("mig-enabled", MACHINE, "not-applicable", why="no NVIDIA GPU here"),
        Verdict("odd", MACHINE, "crashed", why="ValueError: boom"),
    ],
    next=(NextStep("sudo dmesg | rocdoctor check --add -", "the kernel log needs root"),),
    problems=("my/check.py: no function",),
)

# Everything that a terminal could be driven with, in one text: colours, a title, the clipboard, cursor moves, C1 codes,
# marks that turn the direction, a bell, half a character.
HOSTILE = (
    "a\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x1b\\\x1b[2J\x9b1A\x90q\x9c\x1b(B\x1bc\x07\x08\r\x00"
    "\u202etxt\u2066\u2028\ufeff\ud800z"
)


def unspelled(text: str) -> str:
    """The text without names that are spelled for the shell, in which escape sequences are letters."""
    return re.sub(r"\$'(?:[^'\\]|\\.)*'", "", text)


def mode(
    name: str, state: SmokeState, states: list[SmokeState], named: tuple[int, ...] = (), words: str = ""
) -> ModeResult:
    """What became of a mode on these ranks."""
    ranks = tuple(RankResult(rank, each, named=rank in named) for rank, each in enumerate(states))
    return ModeResult(name, state, 0.25, words, {"grad": 1.9e-8}, {"grad": 8e-7}, "link" if named else "", 0, ranks)


def smoke_run(*modes: ModeResult, world: int = 4) -> SmokeRun:
    """A run of these modes."""
    return SmokeRun(world, "nccl", "cuda", "2.13.0+rocm7.2", 4.0, modes, ("links between GPUs",))


GOOD = mode("ddp", "pass", ["pass"] * 4)
BAD = mode("zero-1", "crashed", ["crashed"] * 4, (2,), "rank 2 was ended by signal 9")
SKIPPED = mode("fsdp2", "not-applicable", ["not-applicable"] * 4, words="needs torch 2.6")


def probed(words: str = "The port is closed.") -> NodeOutcome:
    """Two nodes of which one cannot reach the other, as a finding says in these words."""
    face = NodeInterface("eth0", True, True, 1500, 10_000, ("10.0.0.1",))
    nodes = tuple(
        NodeFacts(number, {"torch": words, "python": "3.12"}, (face,), None, None, {}, data_address=f"10.0.0.{number}")
        for number in (0, 1)
    )
    found = NodeFinding("reach", "error", "firewall", (0, 1), words, f"Open it: {words}", ShellCommand("ping -c 1 b"))
    links = (
        ProbedLink(0, 1, "10.0.0.1", words),
        ProbedLink(1, 0, "10.0.0.0", connect_ms=0.4, frame_bytes=1500, out=Stream(1 << 20, 0.1, False)),
    )
    return NodeOutcome(1, (found,), nodes, links, {1: (0.25, 0.001)}, (), 2.5)
