"""Parses what the probe of the interpreter under test prints (``host/probe/interpreter.py``, rocdoctor.probe/1).

The text is one JSON object a line, with whatever else got onto the same stream around them. A line that is missing
(the child was killed, or only the static part was asked) leaves its fields None; the step that had begun and never
answered is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rocdoctor.parsers.python.interpreter_runtime import StepError, TorchRuntime, parse_runtime, step_error
from rocdoctor.parsers.python.probe_json import Record, dicts, flag, records, strings, text, whole
from rocdoctor.parsers.python.torch_build import ArchSource, TorchStatic, architectures, parse_build, parse_sources

__all__ = [
    "ArchSource",
    "Duplicate",
    "InterpreterReport",
    "PathEntry",
    "PythonFacts",
    "PythonPackage",
    "Shadow",
    "StepError",
    "TorchRuntime",
    "TorchStatic",
    "architectures",
    "package",
    "parse",
]


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """The interpreter: ``kind`` is venv, conda, pyenv, uv, nix, system or other; ``base_kind`` is that of its base."""

    executable: str | None = None
    version: str | None = None
    implementation: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    kind: str | None = None
    base_kind: str | None = None
    system_site_packages: bool | None = None  # of a venv
    externally_managed: str | None = None  # path of the marker file of the base
    platform: str | None = None
    machine: str | None = None
    bits: int | None = None
    libc: str | None = None  # "glibc 2.39"
    soabi: str | None = None  # "cpython-312-x86_64-linux-gnu"
    gil: bool | None = None
    cwd: str | None = None
    customised_by: tuple[str, ...] = ()  # sitecustomize and usercustomize files that ran
    isolated: bool | None = None  # -I: what follows is then not what a job sees
    ignore_environment: bool | None = None
    no_user_site: bool | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PathEntry:
    """One entry of ``sys.path``: origin is stdlib, environment, base, user-site, pythonpath or other."""

    path: str
    origin: str | None = None
    exists: bool | None = None


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """One distribution by its metadata; ``requires`` has only what concerns torch, its companions and GPU libraries."""

    name: str  # canonical: lower case, hyphens
    version: str | None
    metadata: str | None  # path of the .dist-info, .egg-info or .egg-link
    origin: str | None = None
    editable: bool | None = None
    url: str | None = None
    installer: str | None = None
    requires: tuple[str, ...] = ()
    problem: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A distribution that is there more than once: the first is imported, the others are hidden behind it."""

    name: str
    packages: tuple[PythonPackage, ...]


@dataclass(frozen=True, slots=True)
class Shadow:
    """A module that hides one of the standard library ("stdlib") or of a known package ("package").

    ``role`` is where a job would meet it first: cwd, script (its folder) or pythonpath.
    """

    name: str
    path: str | None
    role: str | None
    hides: str | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class InterpreterReport:
    """All that the probe told. ``torch`` None means: not installed if ``torch_absent``, else unknown."""

    python: PythonFacts | None = None
    path: tuple[PathEntry, ...] = ()
    packages: tuple[PythonPackage, ...] | None = None
    packages_total: int | None = None
    requirements_complete: bool | None = None
    leftovers: tuple[str, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    shadows: tuple[Shadow, ...] | None = None
    torch: TorchStatic | None = None
    torch_absent: bool | None = None
    runtime: TorchRuntime | None = None
    errors: tuple[StepError, ...] = ()
    finished: bool = False
    not_imported: str | None = None  # why torch was not imported, where somebody said so
    asked: str | None = None  # path of an interpreter that did not tell about itself, as it was started
    asked_line: int | None = None
    lines: dict[str, int] = field(default_factory=dict)  # part or step -> line


def parse(text_: str) -> InterpreterReport:
    """The report in the probe's output; an empty one for any other text."""
    report = InterpreterReport()
    found = list(records(text_))
    for record in found:
        part = text(record.values, "part")
        if part == "static":
            report = _static(report, record)
        elif part == "device-code" and report.torch is not None:
            sources = tuple(parse_sources(record))
            errors = report.errors + _errors(record)
            report = replace(report, torch=replace(report.torch, sources=sources), errors=errors)
        elif part == "not-imported":
            report = replace(report, not_imported=text(record.values, "reason"))
        elif part == "asked" and report.asked is None:
            report = replace(report, asked=text(record.values, "interpreter"), asked_line=record.line)
        elif part == "end":
            report = replace(report, finished=True)
        step = text(record.values, "step")
        if part is not None and part != "begin":
            report.lines[step or part] = record.line
    return replace(report, runtime=parse_runtime(found))


def package(report: InterpreterReport, name: str) -> PythonPackage | None:
    """The package of a canonical name that an import gets: the first one on the path."""
    return next((item for item in report.packages or () if item.name == name), None)


def _static(report: InterpreterReport, record: Record) -> InterpreterReport:
    values, line = record
    packages = None
    if isinstance(values.get("packages"), list):
        packages = tuple(_packages(values["packages"], line))
    shadows = None
    if isinstance(values.get("shadows"), list):
        shadows = tuple(_shadows(values["shadows"], line))
    python = values.get("python")
    facts = _python(python, line) if isinstance(python, dict) else None
    suffixes = strings(python, "extension_suffixes") if isinstance(python, dict) else ()
    torch = values.get("torch")
    return replace(
        report,
        python=facts,
        path=tuple(_path(values.get("path"))),
        packages=packages,
        packages_total=whole(values, "packages_total"),
        requirements_complete=flag(values, "requirements_complete"),
        leftovers=strings(values, "leftovers"),
        duplicates=_duplicates(packages or ()),
        shadows=shadows,
        torch=parse_build(torch, suffixes, line) if isinstance(torch, dict) else None,
        torch_absent=torch is None if flag(values, "torch_known") and "torch" in values else None,
        errors=report.errors + _errors(record),
    )


def _python(values: dict[str, object], line: int) -> PythonFacts:
    flags = values.get("flags")
    flags = flags if isinstance(flags, dict) else {}
    return PythonFacts(
        executable=text(values, "executable"),
        version=text(values, "version"),
        implementation=text(values, "implementation"),
        prefix=text(values, "prefix"),
        base_prefix=text(values, "base_prefix"),
        kind=text(values, "kind"),
        base_kind=text(values, "base_kind"),
        system_site_packages=flag(values, "system_site_packages"),
        externally_managed=text(values, "externally_managed"),
        platform=text(values, "platform"),
        machine=text(values, "machine"),
        bits=whole(values, "bits"),
        libc=text(values, "libc"),
        soabi=text(values, "soabi"),
        gil=flag(values, "gil"),
        cwd=text(values, "cwd"),
        customised_by=strings(values, "customised_by"),
        isolated=flag(flags, "isolated"),
        ignore_environment=flag(flags, "ignore_environment"),
        no_user_site=flag(flags, "no_user_site"),
        line=line,
    )


def _path(value: object) -> Iterator[PathEntry]:
    for item in dicts(value):
        path = item.get("path")
        if isinstance(path, str):  # the empty entry is the current directory
            yield PathEntry(path, text(item, "origin"), flag(item, "exists"))


def _packages(value: object, line: int) -> Iterator[PythonPackage]:
    for item in dicts(value):
        name = text(item, "name")
        if name is not None:
            yield PythonPackage(
                name=name,
                version=text(item, "version"),
                metadata=text(item, "metadata"),
                origin=text(item, "origin"),
                editable=flag(item, "editable"),
                url=text(item, "url"),
                installer=text(item, "installer"),
                requires=strings(item, "requires"),
                problem=text(item, "problem"),
                line=line,
            )


def _duplicates(packages: tuple[PythonPackage, ...]) -> tuple[Duplicate, ...]:
    groups: dict[str, list[PythonPackage]] = {}
    for item in packages:
        groups.setdefault(item.name, []).append(item)
    return tuple(Duplicate(name, tuple(group)) for name, group in groups.items() if _really_twice(group))


def _really_twice(group: list[PythonPackage]) -> bool:
    # One editable install leaves two traces: a link in site-packages and the metadata in its source folder.
    linked = [item for item in group if not (item.metadata or "").endswith(".egg-link")]
    return len(linked) > 1


def _shadows(value: object, line: int) -> Iterator[Shadow]:
    for item in dicts(value):
        name = text(item, "name")
        if name is not None:
            yield Shadow(name, text(item, "path"), text(item, "role"), text(item, "hides"), line)


def _errors(record: Record) -> tuple[StepError, ...]:
    return tuple(
        step_error(item, text(item, "step") or "?", record.line) for item in dicts(record.values.get("errors"))
    )
