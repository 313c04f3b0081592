"""Machines made by hand, for tests of checks: every fact is unknown until a test states it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rocdoctor.judging.loading import load_check
from rocdoctor.judging.running import run_check
from rocdoctor.model.change import Command
from rocdoctor.model.evidence import Known, Source, Unknown
from rocdoctor.model.facts import Environment, Gpu, KernelLog, LogEvent, Machine, Variable
from rocdoctor.model.finding import Fix, Verdict
from rocdoctor.model.subject import MACHINE, Subject

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Source("read /constructed/for/a/test", 1)


def k(value: T, question: str = SOURCE.question, line: int | None = 1) -> Known[T]:
    """A known fact."""
    return Known(value, Source(question, line))


def u(why: str = "denied in this test") -> Unknown:
    """An unknown fact."""
    return Unknown(why, "denied", SOURCE)


def amd_gpu(index: int = 0, **changes: Any) -> Gpu:
    """A healthy Instinct MI210 on its own bus; ``changes`` are Gpu fields (plain values become known facts)."""
    facts: dict[str, Any] = {
        "bdf": k(f"0000:{0x23 + 0x20 * index:02x}:00.0"),
        "name": k("AMD Instinct MI210"),
        "pci_id": k("1002:740f"),
        "driver": k("amdgpu"),
        "gfx": k("gfx90a"),
        "integrated": k(False),
        "compute_units": k(104),
        "vram_bytes": k(64 << 30),
        "kfd_node": k(index + 2),
    }
    facts |= {name: _fact(name, value) for name, value in changes.items()}
    return Gpu(index, "amd", **facts)


def nvidia_gpu(index: int = 0, **changes: Any) -> Gpu:
    """A healthy H100; ``changes`` as for ``amd_gpu``."""
    facts: dict[str, Any] = {
        "bdf": k(f"0000:{0x18 + 0x10 * index:02x}:00.0"),
        "name": k("NVIDIA H100 80GB HBM3"),
        "pci_id": k("10de:2330"),
        "driver": k("nvidia"),
        "compute_capability": k("9.0"),
        "integrated": k(False),
        "vram_bytes": k(80 << 30),
    }
    facts |= {name: _fact(name, value) for name, value in changes.items()}
    return Gpu(index, "nvidia", **facts)


_PLAIN = frozenset(
    (
        "compute_nodes",
        "pcie",
        "temps",
        "power",
        "fan",
        "traffic",
        "clocks_mhz",
        "max_clocks_mhz",
        "partition",
        "ras",
        "firmware",
    )
)


def _fact(name: str, value: Any) -> Any:
    return value if name in _PLAIN or isinstance(value, Known | Unknown) else k(value)


def machine(*gpus: Gpu, **changes: Any) -> Machine:
    """A machine with these GPUs (and no others); ``changes`` are Machine fields."""
    return replace(Machine(gpus=gpus, gpus_complete=True), **changes)


def environment(values: Mapping[str, str], complete: bool = True) -> Environment:
    """An environment with these variables set."""
    variables = {name: Variable(name, value, "env", number) for number, (name, value) in enumerate(values.items(), 1)}
    return Environment(variables, complete)


def log(*events: LogEvent, complete: bool = True) -> Known[KernelLog]:
    """A kernel log with these events."""
    return k(KernelLog("run dmesg", complete, tuple(events)), "run dmesg")


def event(kind: str, text: str = "", bdf: str | None = None, **values: Any) -> LogEvent:
    """One event of the kernel log; fields of LogEvent by name, everything else becomes one of its values."""
    named = {
        key: values.pop(key) for key in ("age_s", "time_s", "before_driver_load", "during_resume") if key in values
    }
    return LogEvent(kind, 1, text or kind, bdf, values=values, **named)


def named(label: str) -> Subject:
    """A subject by its label; words that are no label of ours name a network card."""
    gpu = re.fullmatch(r"gpu (\d+)(?: \(([0-9a-f:.]+)\)| \((\S+ \d+)\))?", label)
    if gpu is not None:
        return Subject("gpu", int(gpu[1]), gpu[2] or "", gpu[3] or "")
    return MACHINE if label == "machine" else Subject("nic", name=label)


def keeps_contract(verdicts: Sequence[Verdict]) -> None:
    """Every finding says what to do and what it rests on, with the question that was answered."""
    for verdict in verdicts:
        if verdict.state == "fail":
            found = verdict.finding
            assert found is not None and found.message, verdict
            assert found.fix is not None and found.fix.text.strip(), verdict
            assert any(one.source and one.value for one in found.evidence), verdict
            _does_what_it_types(found.fix)


# What ends what runs, replaces what is installed, or loads code into the kernel.
NOT_SAFE = re.compile(
    r"\b(?:restart|reboot|kill)\b|modprobe|rmmod|pip uninstall"
    r"|pip install [^;&|]*(?:-U|--upgrade|--force-reinstall|[<=>])"
)


def _does_what_it_types(fix: Fix) -> None:
    """The data of a fix is what its command does: a set-up plan follows the one, a person the other."""
    # Where torch is absent, a pin of torch replaces nothing; where it is there, it is uninstalled first.
    replaces = re.sub(r"\btorch(?:vision|audio)?(?:\[[^\]]*\])?'?==\S+", "torch", fix.command)
    assert fix.safety != "safe" or not NOT_SAFE.search(replaces), fix
    words = fix.command.split(";")[0].split()
    assert fix.unsets == (tuple(words[1:]) if words[:1] == ["unset"] else ()), fix
    joins = tuple(words[words.index("-aG") + 1].split(",")) if "-aG" in words else ()
    assert fix.joins == (() if joins == ("GROUPS",) else joins), fix  # a group that no command can name
    assert fix.sets is None or words == ["export", "=".join(fix.sets)], fix
    for change in fix.changes:
        if isinstance(change, Command) and change.words[0] in words:
            own = [word for word in words if word != "sudo"]
            assert list(change.words) == own, fix


def judge(name: str, of: Machine) -> list[Verdict]:
    """The verdicts of one of our checks, which keep the contract of findings."""
    verdicts = run_check(load_check(ROOT / "checks" / f"{name.replace('-', '_')}.py"), of)
    keeps_contract(verdicts)
    return verdicts


def states(verdicts: Sequence[Verdict]) -> list[str]:
    """Their states, in order."""
    return [verdict.state for verdict in verdicts]


def severities(verdicts: Sequence[Verdict]) -> list[str]:
    """The severities of the findings among them."""
    return [verdict.finding.severity for verdict in verdicts if verdict.finding is not None]
