"""What the steps look at: the facts, the verdicts, the goal, and the routes that the tables know for this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from rocdoctor.check import Finding, Verdict
from rocdoctor.diagnose import Diagnosis
from rocdoctor.evidence import value_or
from rocdoctor.facts import Gpu, Machine
from rocdoctor.knowledge import install
from rocdoctor.setup.plan import Goal


@dataclass(frozen=True)
class Situation:
    """One machine, one goal."""

    diagnosis: Diagnosis
    goal: Goal

    @property
    def machine(self) -> Machine:
        """The facts."""
        return self.diagnosis.machine

    @cached_property
    def distribution(self) -> install.Distribution | None:
        """The row of the tables for this distribution; None where no table knows it."""
        return install.distribution(self.machine.os)

    def gpus(self, vendor: str) -> tuple[Gpu, ...]:
        """The GPUs of a vendor, integrated ones too."""
        return tuple(gpu for gpu in self.machine.gpus if gpu.vendor == vendor)

    @cached_property
    def targets(self) -> tuple[install.Targets, ...]:
        """The LLVM targets of the AMD GPUs that training would use, by device."""
        return install.training_targets(self.machine.gpus)

    @cached_property
    def wsl(self) -> bool:
        """Whether this is Linux inside Windows, where the driver is not ours."""
        return "microsoft" in value_or(self.machine.kernel.release, "").lower()

    def verdicts(self, check: str) -> tuple[Verdict, ...]:
        """What a check said of its subjects."""
        return tuple(verdict for verdict in self.diagnosis.verdicts if verdict.check == check)

    def findings(self, checks: Iterable[str]) -> tuple[tuple[Verdict, Finding], ...]:
        """The findings of some checks, in the order of the checks."""
        return tuple(
            (verdict, verdict.finding)
            for check in checks
            for verdict in self.verdicts(check)
            if verdict.finding is not None
        )
