"""Checks: functions from facts to verdicts.

A check is one file in ``checks/`` whose only public function has the file's name. It is told what to look at by a
selector and answers with findings::

    @check(each_amd_gpu, cause="pcie-link-degraded")
    def pcie_link_narrow(machine: Machine, gpu: Gpu) -> Outcome:
        width, capable = known(gpu.pcie.device.width), known(gpu.pcie.device.max_width)
        if width >= capable:
            return None
        return warning(f"...", evidence=[cite(gpu.pcie.device.width)], fix=Fix("..."))

``None`` is a pass, a finding (or several) a fail, ``not_applicable(reason)`` says so, and a fact that ``known`` does
not have makes the verdict ``unknown``. The module's docstring is the manual page: first line the problem, then ``Why``,
``Fix`` and ``References``.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from rocdoctor.change import Change
from rocdoctor.evidence import Fact, Known, NotKnown, Source, Unknown
from rocdoctor.facts import Gpu, Machine
from rocdoctor.host.trusted import read_code
from rocdoctor.shell_command import CommandText

Severity = Literal["error", "warning", "info"]
State = Literal["pass", "fail", "unknown", "not-applicable", "crashed"]
Safety = Literal["safe", "reboots", "risky", "manual"]
Effective = Literal["now", "new-login", "reboot"]
Confidence = Literal["certain", "likely", "possible"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value and where it was read."""

    value: str
    source: str
    line: int | None = None
    voice: str = "program"  # of pasted text: "words" of the writer, or of a "reply"


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do: words, a command where there is one, how safe it is, when it takes effect, and how to verify it.

    A command is a literal, or made by ``shell_command.shell``, which quotes what comes from the evidence.
    ``changes``: the whole of it as changes that ``rocdoctor fix --apply`` can make; empty where a person has to judge.
    """

    text: str
    command: CommandText = ""
    safety: Safety = "manual"
    effective: Effective = "now"
    verify: CommandText = ""  # empty: running the check again
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: a sentence with the actual values, its evidence and the way out.

    ``explains`` names checks (or cause ids) whose findings follow from this one. ``cause`` overrides the check's.
    ``confidence`` follows the evidence: certain when read from the machine, likely when inferred, possible from prose.
    """

    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    cause: str = ""
    explains: tuple[str, ...] = ()
    confidence: Confidence = "certain"
    references: tuple[str, ...] = ()
    subject: str = ""  # empty: the subject of the check


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """There is nothing to judge here, and why."""

    reason: str


Outcome = Finding | NotApplicable | Sequence[Finding] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """What one verdict is about: the words that name it, and the object."""

    label: str
    item: Any = None


Selector = Callable[[Machine], "Sequence[Subject] | NotApplicable"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was loaded from a file."""

    name: str
    function: Callable[..., Outcome]
    selector: Selector
    cause: str
    manual: str
    path: Path

    @property
    def title(self) -> str:
        """The problem in one line."""
        return self.manual.strip().split("\n", 1)[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says of one subject. ``why`` is the reason of unknown, not-applicable and crashed."""

    check: str
    subject: str
    state: State
    finding: Finding | None = None
    why: str = ""


# -- what check files use


def check(selector: Selector, cause: str = "") -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Mark a function as the check of its file: what it looks at, and the root cause that its findings point to."""

    def mark(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        function.__rocdoctor__ = (selector, cause)  # type: ignore[attr-defined]
        return function

    return mark


def finding(severity: Severity, message: str, **more: Any) -> Finding:
    """A finding; ``evidence`` may be any iterable, facts and sources included through ``cite``."""
    return Finding(severity, message, evidence=tuple(more.pop("evidence", ())), **more)


def error(message: str, **more: Any) -> Finding:
    """Training fails, hangs or computes wrongly."""
    return finding("error", message, **more)


def warning(message: str, **more: Any) -> Finding:
    """Training is slower or at risk."""
    return finding("warning", message, **more)


def info(message: str, **more: Any) -> Finding:
    """Worth knowing."""
    return finding("info", message, **more)


def not_applicable(reason: str) -> NotApplicable:
    """The verdict of a check that has nothing to judge."""
    return NotApplicable(reason)


def cite(fact: Fact[Any], value: str = "") -> Evidence:
    """A fact as evidence: its value (or the words given) and its source."""
    if isinstance(fact, Known):
        shown = value or str(fact.value)
        return Evidence(shown, fact.source.question, fact.source.line)
    return Evidence(value or f"unknown: {fact.why}", str(fact.source or ""))


def quote(source: str | Source, value: str, line: int | None = None) -> Evidence:
    """Evidence from a source that is not a fact (a line of a log)."""
    if isinstance(source, Source):
        return Evidence(value, source.question, source.line)
    return Evidence(value, source, line)


# -- selectors


def whole_machine(machine: Machine) -> Sequence[Subject]:
    """One verdict for the machine."""
    return [Subject("machine")]


def _gpus(machine: Machine, wanted: Callable[[Gpu], bool], words: str) -> Sequence[Subject] | NotApplicable:
    found = [Subject(gpu.label, gpu) for gpu in machine.gpus if wanted(gpu)]
    if found:
        return found
    return NotApplicable(f"no {words} here" if machine.gpus_complete else f"no {words} in this evidence")


def each_gpu(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """Every GPU of any vendor, integrated ones too."""
    return _gpus(machine, lambda gpu: True, "GPU")


def each_amd_gpu(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """Every AMD GPU, integrated ones too."""
    return _gpus(machine, lambda gpu: gpu.vendor == "amd", "AMD GPU")


def each_discrete_gpu(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """Every GPU that is not known to be integrated (an APU's link, carve-out and sensors follow other rules)."""
    return _gpus(machine, lambda gpu: not (isinstance(gpu.integrated, Known) and gpu.integrated.value), "discrete GPU")


def each_discrete_amd_gpu(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """Every AMD GPU that is not known to be integrated."""
    return _gpus(
        machine,
        lambda gpu: gpu.vendor == "amd" and not (isinstance(gpu.integrated, Known) and gpu.integrated.value),
        "discrete AMD GPU",
    )


def each_nvidia_gpu(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """Every NVIDIA GPU."""
    return _gpus(machine, lambda gpu: gpu.vendor == "nvidia", "NVIDIA GPU")


def machine_with_gpus(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """The machine, when it has GPUs that training could use (AMD or NVIDIA)."""
    found = _gpus(machine, lambda gpu: gpu.vendor in ("amd", "nvidia"), "AMD or NVIDIA GPU")
    return found if isinstance(found, NotApplicable) else [Subject("machine")]


def machine_with_amd(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """The machine, when it has AMD GPUs."""
    found = each_amd_gpu(machine)
    return found if isinstance(found, NotApplicable) else [Subject("machine")]


def machine_with_nvidia(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """The machine, when it has NVIDIA GPUs."""
    found = each_nvidia_gpu(machine)
    return found if isinstance(found, NotApplicable) else [Subject("machine")]


def machine_with_several_gpus(machine: Machine) -> Sequence[Subject] | NotApplicable:
    """The machine, when two or more discrete GPUs of AMD or NVIDIA could train together."""
    usable = [
        gpu for gpu in machine.gpus
        if gpu.vendor in ("amd", "nvidia") and not (isinstance(gpu.integrated, Known) and gpu.integrated.value)
    ]  # fmt: skip
    return [Subject("machine")] if len(usable) > 1 else NotApplicable("fewer than two GPUs that could train together")


# -- loading


class CheckLoadError(Exception):
    """A check file that cannot be loaded; the message names the file."""


def checks_folder() -> Path:
    """Where our own checks lie: inside the package, or beside it in a checkout of this project."""
    inside = Path(__file__).parent / "checks"
    if inside.is_dir():
        return inside
    beside = Path(__file__).parents[1]
    try:
        ours = 'name = "rocdoctor"' in (beside / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        ours = False
    if ours:
        return beside / "checks"
    raise CheckLoadError("rocdoctor is not installed completely: its checks are missing")


def check_files(folder: Path) -> list[Path]:
    """The check files of a folder, sorted by name; names with a leading underscore are helpers."""
    return sorted(path for path in folder.glob("*.py") if re.fullmatch(r"[a-z][a-z0-9_]*", path.stem))


def manual_of(path: Path) -> str:
    """The manual page of a check file: its docstring, read without importing it."""
    try:
        text = path.read_text(encoding="utf-8")
        end = text.find('"""', 3)
        if text.startswith('"""') and end > 0 and "\\" not in text[:end]:  # the usual form: no parsing needed
            return inspect.cleandoc(text[3:end])
        return ast.get_docstring(ast.parse(text)) or ""
    except (OSError, SyntaxError, ValueError):
        return ""


def name_of(path: Path) -> str:
    """A check's name from its file name."""
    return path.stem.replace("_", "-")


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rocdoctor.checks.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CheckLoadError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        if _byte_code_is_ours(path.parent):
            spec.loader.exec_module(module)
        else:  # never what lies in a __pycache__ there, and what is judged is what runs
            exec(compile(read_code(path), str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise CheckLoadError(f"{path}: {type(problem).__name__}: {why}") from problem
    return module


@cache
def _byte_code_is_ours(folder: Path) -> bool:
    """Whether these are our own checks, and their byte code is as safe as that of the package that runs."""
    try:
        if folder != checks_folder():
            return False
        owners = (0, os.stat(__file__).st_uid, getattr(os, "geteuid", lambda: 0)())
        places = [os.stat(one) for one in (folder, folder / "__pycache__") if os.path.lexists(one)]
    except (CheckLoadError, OSError):
        return False
    return all(one.st_uid in owners and not one.st_mode & stat.S_IWOTH for one in places)


def load_check(path: Path) -> Check:
    """The check in one file; raises CheckLoadError when there is none of the file's name."""
    module = _module(path)
    function = getattr(module, path.stem, None)
    marked = getattr(function, "__rocdoctor__", None)
    if function is None or marked is None:
        raise CheckLoadError(f"{path}: no function '{path.stem}' with the @check decorator")
    selector, cause = marked
    manual = inspect.cleandoc(module.__doc__) if module.__doc__ else manual_of(path)  # Python may have dropped it
    return Check(name_of(path), function, selector, cause, manual, path)


def load_checks(folders: Iterable[Path]) -> tuple[list[Check], list[str]]:
    """All checks of some folders and the problems met; the first of two checks of one name counts."""
    found: dict[str, Check] = {}
    problems: list[str] = []
    for folder in folders:
        for path in check_files(folder):
            try:
                loaded = load_check(path)
            except CheckLoadError as problem:
                problems.append(str(problem))
                continue
            if loaded.name in found:
                problems.append(f"{path}: a check named {loaded.name} exists already; this one is ignored")
            found.setdefault(loaded.name, loaded)
    return sorted(found.values(), key=lambda one: one.name), problems


# -- running


def run_check(one: Check, machine: Machine) -> list[Verdict]:
    """The verdicts of one check on one machine; a crash of the check is a verdict too."""
    try:
        subjects = one.selector(machine)
    except Exception as problem:
        return [Verdict(one.name, "machine", "crashed", why=f"{type(problem).__name__}: {problem}")]
    if isinstance(subjects, NotApplicable):
        return [Verdict(one.name, "machine", "not-applicable", why=subjects.reason)]
    verdicts: list[Verdict] = []
    for subject in subjects:
        verdicts += _judge(one, machine, subject)
    return verdicts


def _judge(one: Check, machine: Machine, subject: Subject) -> list[Verdict]:
    try:
        outcome = one.function(machine) if subject.item is None else one.function(machine, subject.item)
        if isinstance(outcome, NotApplicable):
            return [Verdict(one.name, subject.label, "not-applicable", why=outcome.reason)]
        findings = [outcome] if isinstance(outcome, Finding) else list(outcome or ())
        failed = [
            Verdict(one.name, each.subject or subject.label, "fail", replace(each, cause=each.cause or one.cause))
            for each in findings
        ]
    except NotKnown as gap:
        return [Verdict(one.name, subject.label, "unknown", why=_gap(gap.unknown))]
    except (Exception, SystemExit) as problem:  # a crashed check never stops another
        return [Verdict(one.name, subject.label, "crashed", why=f"{type(problem).__name__}: {problem}")]
    return failed or [Verdict(one.name, subject.label, "pass")]


def _gap(unknown: Unknown) -> str:
    return unknown.why
