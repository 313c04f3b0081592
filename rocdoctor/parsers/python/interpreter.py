"""Parses what the probe of the interpreter under test prints (``host/probe/interpreter.py``, rocdoctor.probe/1).

The text is one JSON object a line, with whatever else got onto the same stream around them. A line that is missing
(the child was killed, or only the static part was asked) leaves its fields None; the step that had begun and never
answered is named. The probe tells more than is a fact: that is for people who read a bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.parsers.python.probe_json import Record, dicts, flag, records, strings, text, whole


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """The interpreter: ``kind`` is venv, conda, pyenv, uv, nix, system or other; ``base_kind`` is that of its base."""

    executable: str | None
    version: str | None
    prefix: str | None
    base_prefix: str | None
    kind: str | None
    base_kind: str | None
    externally_managed: str | None  # path of the marker file of the base
    line: int


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """One distribution by its metadata; ``requires`` has only what concerns torch, its companions and GPU libraries."""

    name: str  # canonical: lower case, hyphens
    version: str | None
    metadata: str | None  # path of the .dist-info, .egg-info or .egg-link
    requires: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Shadow:
    """A module that hides one of the standard library or of a known package where a job would meet it first."""

    name: str
    path: str | None


@dataclass(frozen=True, slots=True)
class ArchSource:
    """Architectures of a torch build by one source; not ``complete``: there may be more.

    method: build-flags (the words of torch.cuda.get_arch_list()), code-objects (bundles in a library), file-names (of
    a math library: nothing about the kernels of torch itself).
    """

    method: str | None
    targets: tuple[str, ...]
    complete: bool
    line: int


@dataclass(frozen=True, slots=True)
class TorchStatic:
    """The torch build as its files tell it."""

    version: str | None
    cuda: str | None
    hip: str | None
    stated: tuple[str, ...]  # names that version.py assigns: "hip" here and hip None means built without
    bundled_rocm: bool | None  # of a ROCm build: it carries its own libamdhip64
    line: int
    sources: tuple[ArchSource, ...] = ()


@dataclass(frozen=True, slots=True)
class StepError:
    """One question to the imported torch that ended in an exception."""

    error_class: str | None
    message: str | None
    line: int


@dataclass(frozen=True, slots=True)
class ProbedDevice:
    """A GPU as torch lists it. ``bdf`` has function 0: torch does not tell it."""

    index: int
    gfx: str | None  # "gfx90a"
    vram_bytes: int | None
    bdf: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class TorchRuntime:
    """What the imported torch told; None where it was not asked, failed, or the process ended before."""

    imported: bool | None  # None: the import began and never ended, see unfinished_step
    device_count: int | None
    arch_list: tuple[str, ...] | None
    arch_list_line: int | None
    devices: tuple[ProbedDevice, ...]
    nccl_version: str | None  # RCCL's on ROCm
    errors: tuple[StepError, ...]
    unfinished_step: str | None  # where the process was killed, crashed or hung


@dataclass(frozen=True, slots=True)
class InterpreterReport:
    """All that the probe told. ``torch`` None means: not installed if ``torch_absent``, else unknown.

    ``duplicates`` are names of distributions that are there more than once: the first is imported.
    """

    python: PythonFacts | None = None
    packages: tuple[PythonPackage, ...] | None = None
    duplicates: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    torch: TorchStatic | None = None
    torch_absent: bool | None = None
    runtime: TorchRuntime | None = None
    not_imported: str | None = None  # why torch was not imported, where somebody said so
    asked: str | None = None  # path of an interpreter that did not tell about itself, as it was started
    asked_line: int | None = None


def parse(text_: str) -> InterpreterReport:
    """The report in the probe's output; an empty one for any other text."""
    report = InterpreterReport()
    found = list(records(text_))
    for record in found:
        part = text(record.values, "part")
        if part == "static":
            report = _static(report, record)
        elif part == "device-code" and report.torch is not None:
            report = replace(report, torch=replace(report.torch, sources=tuple(_sources(record))))
        elif part == "not-imported":
            report = replace(report, not_imported=text(record.values, "reason"))
        elif part == "asked" and report.asked is None:
            report = replace(report, asked=text(record.values, "interpreter"), asked_line=record.line)
    return replace(report, runtime=_runtime(found))


def package(report: InterpreterReport, name: str) -> PythonPackage | None:
    """The package of a canonical name that an import gets: the first one on the path."""
    return next((item for item in report.packages or () if item.name == name), None)


def architectures(torch: TorchStatic) -> ArchSource | None:
    """The best source for what torch itself was built for: its build flags, else its code objects; None if unknown."""
    for method in ("build-flags", "code-objects"):
        for source in torch.sources:
            if source.method == method and source.targets:
                return source
    return None


def _static(report: InterpreterReport, record: Record) -> InterpreterReport:
    values, line = record
    listed = values.get("packages")
    packages = tuple(_packages(listed, line)) if isinstance(listed, list) else None
    python, torch = values.get("python"), values.get("torch")
    return replace(
        report,
        python=_python(python, line) if isinstance(python, dict) else None,
        packages=packages,
        duplicates=_duplicates(packages or ()),
        shadows=tuple(_shadows(values.get("shadows"))),
        torch=_build(torch, line) if isinstance(torch, dict) else None,
        torch_absent=torch is None if flag(values, "torch_known") and "torch" in values else None,
    )


def _python(values: Mapping[str, Any], line: int) -> PythonFacts:
    return PythonFacts(
        text(values, "executable"),
        text(values, "version"),
        text(values, "prefix"),
        text(values, "base_prefix"),
        text(values, "kind"),
        text(values, "base_kind"),
        text(values, "externally_managed"),
        line,
    )


def _packages(value: object, line: int) -> Iterator[PythonPackage]:
    for item in dicts(value):
        if (name := text(item, "name")) is not None:
            yield PythonPackage(name, text(item, "version"), text(item, "metadata"), strings(item, "requires"), line)


def _duplicates(packages: Iterable[PythonPackage]) -> tuple[str, ...]:
    # One editable install leaves two traces: a link in site-packages and the metadata in its source folder.
    counts = Counter(one.name for one in packages if not (one.metadata or "").endswith(".egg-link"))
    return tuple(name for name, count in counts.items() if count > 1)


def _shadows(value: object) -> Iterator[Shadow]:
    for item in dicts(value):
        if (name := text(item, "name")) is not None and text(item, "role") is not None:
            yield Shadow(name, text(item, "path"))


def _build(values: Mapping[str, Any], line: int) -> TorchStatic:
    stated = values.get("version_file")
    build: dict[str, object] = stated if isinstance(stated, dict) else {}
    libraries = strings(values, "lib")
    bundled = any(name.startswith("libamdhip64.so") for name in libraries)
    of_rocm = bundled or "libtorch_hip.so" in libraries
    return TorchStatic(
        version=text(build, "__version__"),
        cuda=text(build, "cuda"),
        hip=text(build, "hip"),
        stated=tuple(sorted(build)),
        bundled_rocm=bundled if of_rocm else None,
        line=line,
    )


def _sources(record: Record) -> Iterator[ArchSource]:
    for item in dicts(record.values.get("sources")):
        if text(item, "source") is not None:
            complete = flag(item, "complete") is True
            yield ArchSource(text(item, "method"), strings(item, "targets"), complete, record.line)


def _runtime(found: Iterable[Record]) -> TorchRuntime | None:
    """The answers of the imported torch; None where the probe was not asked to import it."""
    answers: dict[str, Any] = {}
    lines: dict[str, int] = {}
    errors: list[StepError] = []
    begun: str | None = None
    asked = False
    for record in found:
        part, step = text(record.values, "part"), text(record.values, "step")
        if step is None or part not in ("begin", "step"):
            continue
        asked = True
        begun = step if part == "begin" else None
        if part == "begin":
            continue
        lines[step] = record.line
        error = record.values.get("error")
        if flag(record.values, "ok"):
            answers[step] = record.values.get("value")
        elif isinstance(error, dict):
            errors.append(StepError(text(error, "class"), text(error, "message"), record.line))
    if not asked:
        return None
    build = answers.get("version")
    # Without a usable GPU torch returns an empty list whatever it was built for.
    listed = flag(answers, "cuda.is_available") and isinstance(answers.get("arch_list"), list)
    return TorchRuntime(
        imported="import torch" in answers if "import torch" in lines else None,
        device_count=whole(answers, "cuda.device_count"),
        arch_list=strings(answers, "arch_list") if listed else None,
        arch_list_line=lines.get("arch_list"),
        devices=_devices(answers, lines, rocm=isinstance(build, dict) and text(build, "hip") is not None),
        nccl_version=_dotted(answers.get("nccl.version")),
        errors=tuple(errors),
        unfinished_step=begun,
    )


def _dotted(value: object) -> str | None:
    """(2, 21, 5) -> "2.21.5"; a suffix follows a hyphen."""
    if not isinstance(value, list) or not value:
        return None
    numbers = [str(item) for item in value if isinstance(item, int) and not isinstance(item, bool)]
    suffix = [item for item in value if isinstance(item, str) and item]
    return "-".join([".".join(numbers), *suffix]) if numbers else None


def _devices(answers: Mapping[str, Any], lines: Mapping[str, int], rocm: bool) -> tuple[ProbedDevice, ...]:
    devices = []
    for step, value in answers.items():
        index = whole(value, "index") if step.startswith("device.") and isinstance(value, dict) else None
        if index is None:
            continue
        # CUDA builds have gcnArchName too: there it repeats the card's name.
        gfx = (text(value, "gcnArchName") or "").partition(":")[0] if rocm else ""
        memory = whole(value, "total_memory")
        devices.append(
            ProbedDevice(index, gfx if gfx.startswith("gfx") else None, memory, _bdf(value), lines.get(step))
        )
    return tuple(sorted(devices, key=lambda device: device.index))


def _bdf(value: Mapping[str, Any]) -> str | None:
    domain, bus, device = (whole(value, f"pci_{part}_id") for part in ("domain", "bus", "device"))
    if domain is None or bus is None or device is None or bus > 255 or device > 31 or domain > 0xFFFFFFFF:
        return None
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"
