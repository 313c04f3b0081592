"""A machine cut down to what is compared: traits, tables of versions, findings.

It is plain and small, so that processes can pass it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rocdoctor.compare.traits import of_gpu, of_machine, packages, packages_complete
from rocdoctor.model.evidence import Fact, Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Severity, Verdict
from rocdoctor.model.subject import Subject


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU: ``chip`` is its device id; what is not known is None."""

    index: int
    subject: Subject
    bdf: str | None
    chip: str | None
    name: str
    traits: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SnapshotTable:
    """Names with values (packages with versions); ``complete``: what is not in it is not there."""

    values: Mapping[str, str]
    complete: bool


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a check on a subject."""

    check: str
    subject: Subject
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One machine. ``name`` is what it was called on the command line.

    ``unknown``: for each check the subjects that it could not judge; in evidence that may not show every GPU also
    those to which it says that it does not apply, and in an excerpt all without a finding. ``tables`` by name
    (``package``, ...); one that nobody could list is not in it.
    """

    name: str
    gpus: tuple[GpuState, ...] = ()
    gpus_complete: bool = False
    traits: Mapping[str, str | None] = field(default_factory=dict)
    tables: Mapping[str, SnapshotTable] = field(default_factory=dict)
    findings: tuple[Found, ...] = ()
    unknown: Mapping[str, frozenset[Subject]] = field(default_factory=dict)

    def discreetly(self, mask: Callable[[str], str]) -> Snapshot:
        """The same with each value of a trait and a table as ``mask`` says it."""
        return replace(
            self,
            gpus=tuple(replace(gpu, name=mask(gpu.name), traits=_masked(gpu.traits, mask)) for gpu in self.gpus),
            traits=_masked(self.traits, mask),
            tables={
                title: replace(table, values={name: mask(value) for name, value in table.values.items()})
                for title, table in self.tables.items()
            },
        )


def _masked(traits: Mapping[str, str | None], mask: Callable[[str], str]) -> dict[str, str | None]:
    return {key: value if value is None else mask(value) for key, value in traits.items()}


# Modules whose parameters say how GPUs work.
_MODULES = ("amdgpu", "nvidia", "ttm", "amdttm")


def snapshot(name: str, machine: Machine, verdicts: Iterable[Verdict], excerpt: bool = False) -> Snapshot:
    """The machine with what the checks said of it; ``excerpt``: pasted text, which proves of nothing that it is not."""
    gpus = tuple(
        GpuState(
            gpu.index,
            gpu.subject,
            value_or(gpu.bdf, None),
            value_or(gpu.pci_id, None),
            value_or(gpu.name, None) or "GPU",
            _values(of_gpu(machine, gpu)),
        )
        for gpu in machine.gpus
    )
    found: list[Found] = []
    unknown: dict[str, set[Subject]] = {}
    judged = () if excerpt else ("pass", "not-applicable") if machine.gpus_complete else ("pass",)
    for one in verdicts:
        if one.finding is not None:
            found.append(Found(one.check, one.subject, one.finding.severity, one.finding.message))
        elif one.state not in judged:
            unknown.setdefault(one.check, set()).add(one.subject)
    return Snapshot(
        name,
        gpus,
        machine.gpus_complete,
        _values(of_machine(machine)),
        _tables(machine),
        tuple(found),
        {check: frozenset(subjects) for check, subjects in unknown.items()},
    )


def _values(facts: Mapping[str, Fact[str]]) -> dict[str, str | None]:
    return {key: fact.value if isinstance(fact, Known) else None for key, fact in facts.items()}


def _tables(machine: Machine) -> dict[str, SnapshotTable]:
    tables: dict[str, SnapshotTable] = {}
    python = packages(machine)
    if isinstance(python, Known):
        tables["package"] = SnapshotTable(python.value, packages_complete(machine))
    if isinstance(machine.rocm_packages, Known):
        tables["ROCm package"] = SnapshotTable(machine.rocm_packages.value, False)
    parameters = {
        f"{module}.{name}": value
        for module, values in machine.kernel.module_parameters.items()
        if module in _MODULES
        for name, value in values.items()
    }
    if parameters:
        tables["module parameter"] = SnapshotTable(parameters, False)
    return tables
