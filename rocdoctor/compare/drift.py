"""What has changed on a machine since a profile of it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.compare.gpu_matching import Key, Match, match
from rocdoctor.compare.traits import (
    OF_GPU,
    OF_MACHINE,
    PACKAGE,
    Group,
    Trait,
    number,
    of_gpu,
    of_machine,
    packages,
    packages_complete,
    same,
    shown,
)
from rocdoctor.judging.check import Outcome, cite, finding
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Fact, Known, Unknown, is_known, unknown
from rocdoctor.model.facts import Expected, Gpu, Machine
from rocdoctor.model.finding import Evidence, Finding, Fix, NotApplicable, Severity
from rocdoctor.model.subject import Subject

NO_PROFILE = NotApplicable("no profile was given (check --profile FILE)")
Traits = Mapping[str, Known[str]]
Present = tuple[Gpu, Mapping[str, Fact[str]]]


@dataclass(frozen=True, slots=True)
class Change:
    """One trait that is not what the profile says; ``gpu``: None for the machine."""

    trait: Trait
    before: Known[str]
    now: Known[str]
    gpu: Subject | None = None

    @property
    def less(self) -> bool:
        """Whether there is less of it than before."""
        old, new = number(self.before.value), number(self.now.value)
        return old is not None and new is not None and new < old

    @property
    def severity(self) -> Severity:
        """How much it matters: an error where nothing can train, a warning where the plan rests on it."""
        if (self.trait.key, self.now.value) in (("driver", "none"), ("torch", "not installed")):
            return "error"
        if self.now.value == "not installed":
            return "warning"
        if not self.trait.grave:
            return "info"
        if self.trait.kind in ("near", "number"):
            return "warning" if self.less or number(self.now.value) is None else "info"
        if self.trait.kind in ("version", "release"):
            old, new = numbers(self.before.value)[:2], numbers(self.now.value)[:2]
            return "info" if old and old == new else "warning"
        return "warning"

    @property
    def message(self) -> str:
        """The change in a sentence with both values."""
        what = self.trait.words[0].upper() + self.trait.words[1:]
        old, new = shown(self.trait, self.before.value), shown(self.trait, self.now.value)
        if self.trait.kind == "words" and "none" not in (old, new):
            gone = " ".join(word for word in old.split() if word not in new.split())
            added = " ".join(word for word in new.split() if word not in old.split())
            said = [f"{gone} when the profile was made" if gone else "", f"{added} now" if added else ""]
            if not (gone and added):
                said.append("not then" if added else "not now")
            return f"{what}: {', '.join(one for one in said if one)}."
        return f"{what}: {old} when the profile was made, {new} now."


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """What differs, and the traits that the profile has and this evidence does not tell."""

    changes: tuple[Change, ...]
    gaps: tuple[tuple[Trait, Unknown], ...]
    compared: int


def _key(traits: Mapping[str, Fact[str]]) -> Key:
    def value(name: str) -> str | None:
        fact = traits.get(name)
        return fact.value if isinstance(fact, Known) else None

    return Key(value("bdf"), value("pci_id"))


def matched(machine: Machine, expected: Expected) -> Match[Traits, Present] | None:
    """The GPUs of the profile and of the machine; None where the profile lists none."""
    if not isinstance(expected.gpus, Known):
        return None
    here: list[Present] = [(gpu, of_gpu(machine, gpu)) for gpu in machine.gpus]
    return match(expected.gpus.value, here, _key, lambda one: _key(one[1]))


def foreign(machine: Machine, expected: Expected) -> str | None:
    """Why the profile is of another machine (another processor and no GPU of the same chip); None otherwise."""
    cpu, then = of_machine(machine)["cpu"], expected.machine.get("cpu")
    if not isinstance(cpu, Known) or then is None or cpu.value == then.value or not isinstance(expected.gpus, Known):
        return None
    chips = {one["pci_id"].value for one in expected.gpus.value if "pci_id" in one}
    here = {gpu.pci_id.value for gpu in machine.gpus if isinstance(gpu.pci_id, Known)}
    if chips & here or not (chips and machine.gpus_complete):
        return None
    return f"{_counted(expected.gpus.value)} and {then.value}; here are {_counted_here(machine)} and {cpu.value}"


def _counted(gpus: Sequence[Traits]) -> str:
    return _words([one["name"].value if "name" in one else "GPU" for one in gpus])


def _counted_here(machine: Machine) -> str:
    return _words([gpu.name.value if isinstance(gpu.name, Known) else "GPU" for gpu in machine.gpus])


def _words(names: list[str]) -> str:
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or "no GPU"


def compare(machine: Machine, expected: Expected, group: Group) -> ProfileComparison:
    """The traits of one group, profile against machine."""
    changes: list[Change] = []
    gaps: list[tuple[Trait, Unknown]] = []
    compared = 0

    def look(trait: Trait, before: Known[str] | None, now: Fact[str], gpu: Subject | None = None) -> None:
        nonlocal compared
        if before is None:
            return
        compared += 1
        if isinstance(now, Unknown):
            gaps.append((trait, now))
        elif not same(trait, before.value, now.value):
            changes.append(Change(trait, before, now, gpu))

    pairing = matched(machine, expected)
    for then, (gpu, traits) in pairing.pairs if pairing is not None else ():
        for one in OF_GPU:
            # Sources spell the name of one chip in several ways; the address of a card that moved is told by itself.
            told = one.trait.key == "name" and "pci_id" in then and is_known(traits["pci_id"])
            if one.trait.group == group and one.trait.key != "bdf" and not told:
                look(one.trait, then.get(one.trait.key), traits[one.trait.key], gpu.subject)
    here = of_machine(machine)
    for each in OF_MACHINE:
        if each.trait.group == group:
            look(each.trait, expected.machine.get(each.trait.key), here[each.trait.key])
    if group == "version":
        for name, before in expected.packages.items():
            look(_package(name), before, _installed(machine, name))
    return ProfileComparison(tuple(changes), tuple(gaps), compared)


def _package(name: str) -> Trait:
    return Trait(PACKAGE.key, PACKAGE.group, f"{PACKAGE.words} {name}", PACKAGE.why, PACKAGE.kind)


def _installed(machine: Machine, name: str) -> Fact[str]:
    found = packages(machine)
    if isinstance(found, Unknown):
        return found
    if name in found.value:
        return Known(found.value[name], found.source)
    if packages_complete(machine):
        return Known("not installed", found.source)
    return Unknown("this evidence may not list every package")


def judged(machine: Machine, group: Group, fix: str, more: Sequence[Finding] = ()) -> Outcome:
    """What a check of one group answers; ``fix`` says what to do about a change."""
    expected = machine.expected
    if expected is None:
        return NO_PROFILE
    if foreign(machine, expected) is not None:
        return NotApplicable("the profile is from another machine")
    found = compare(machine, expected, group)
    findings = [*more, *(_finding(one, fix) for one in found.changes)]
    if findings:
        return findings
    if found.gaps:
        raise unknown(_gap(found.gaps))
    return None if found.compared else NotApplicable("the profile does not say anything of this")


def _finding(change: Change, fix: str) -> Finding:
    linked = change.trait.key in ("pcie_width", "pcie_speed_gt_s") and change.severity == "warning"
    return finding(
        change.severity,
        change.message,
        evidence=[cite(change.now), quoted(change.before)],
        fix=Fix(fix),
        subject=change.gpu,
        cause="pcie-link-degraded" if linked else "",
    )


def quoted(fact: Known[str]) -> Evidence:
    """A line of the profile as evidence."""
    return Evidence(fact.value, fact.source.question, fact.source.line)


def _gap(gaps: Sequence[tuple[Trait, Unknown]]) -> Unknown:
    names = list(dict.fromkeys(trait.words for trait, _ in gaps))
    left = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return Unknown(f"not known here: {', '.join(names[:5])}{left} ({gaps[0][1].why})", gaps[0][1].reason)
