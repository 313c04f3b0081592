"""How each GPU stands: the worst that was found of it, and whether a job should run on it as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rocdoctor.judging.subjects import subject_parts
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Finding, Severity, Verdict
from rocdoctor.model.printable import one_line


def about(verdicts: Sequence[Verdict], gpu: Gpu) -> list[Verdict]:
    """The findings that are about a GPU or name it, the gravest first."""
    found: list[tuple[int, Verdict]] = []
    for verdict in verdicts:
        one = verdict.finding
        if one is None:
            continue
        if gpu.subject in (verdict.subject, *one.about.subjects):
            found.append((SEVERITIES.index(one.severity), verdict))
    return [verdict for _, verdict in sorted(found, key=lambda pair: pair[0])]


@dataclass(frozen=True, slots=True)
class GpuStanding:
    """How one GPU stands: its worst finding, or None; whether some check of this GPU passed."""

    gpu: Gpu
    worst: Finding | None = None
    check: str = ""
    passed: bool = False

    @property
    def severity(self) -> Severity | None:
        """Of the worst finding."""
        return self.worst.severity if self.worst is not None else None

    @property
    def fails(self) -> bool:
        """Training on it fails, hangs or computes wrongly: that is what an error means."""
        return self.severity == "error"


def standings(diagnosis: Diagnosis) -> tuple[GpuStanding, ...]:
    """Each GPU with the worst that was found of it itself."""
    return tuple(_standing(gpu, diagnosis.verdicts) for gpu in diagnosis.machine.gpus)


def first_gpu(diagnosis: Diagnosis) -> int | None:
    """The index of the GPU to look at first: that of the gravest error or warning, else the first; None without one."""
    each = standings(diagnosis)
    told = [one for one in each if one.severity in ("error", "warning")]
    chosen = min(told, key=lambda one: SEVERITIES.index(one.severity or "info"), default=each[0] if each else None)
    return chosen.gpu.index if chosen is not None else None


def _standing(gpu: Gpu, verdicts: Sequence[Verdict]) -> GpuStanding:
    own = about(verdicts, gpu)
    passed = any(one.state == "pass" and one.subject == gpu.subject for one in verdicts)
    return GpuStanding(gpu, own[0].finding, own[0].check, passed) if own else GpuStanding(gpu, passed=passed)


@dataclass(frozen=True, slots=True)
class Unfit:
    """GPUs that no job should run on as they are: their indices, that in a few words, and all of it."""

    gpus: tuple[int, ...]
    short: str
    full: str

    @property
    def counted(self) -> str:
        """All of it, for a plan that uses them."""
        return f"{self.full} This plan counts {'it' if len(self.gpus) == 1 else 'them'} in."


def failing(diagnosis: Diagnosis, addresses: Collection[str | None] | None = None) -> tuple[Unfit, ...]:
    """One for each error of GPUs, equal ones as one: what a plan for them has to say first.

    ``addresses``: of the GPUs that the plan uses; None for all of the machine.
    """
    groups: dict[tuple[str, str], list[GpuStanding]] = {}
    for one in standings(diagnosis):
        used = addresses is None or value_or(one.gpu.bdf, None) in addresses
        if used and one.fails and one.worst is not None:
            groups.setdefault((one.check, one.worst.message), []).append(one)
    every = len(diagnosis.machine.gpus)
    found = []
    for (check, message), those in groups.items():
        where = subject_parts(one.gpu.subject for one in those)[0]
        fix = those[0].worst.fix if those[0].worst is not None else None
        alone = len(those) == 1
        it = "it" if alone else "them"
        way = f" First: {one_line(fix.text).rstrip('.')}" if fix is not None else f" First fix {it}"
        left = "" if len(those) == every else f", or leave {it} out"
        unfit = "cannot run a job in its present state" if alone else "cannot run a job in their present state"
        short = f"{where} {unfit}"
        full = f"{short} ({check}): {one_line(message).rstrip('.')}.{way}{left}."
        found.append(Unfit(tuple(one.gpu.index for one in those), short, full))
    return tuple(found)
