"""ROCm installations, CUDA toolkits, and the interpreter under test with its torch."""

from __future__ import annotations

import re
from typing import TypeVar

from rocdoctor.collect.software.listed_software import listed_torch
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import CudaToolkit, NoAnswer, RocmInstall, TorchBuild, TorchDevice
from rocdoctor.parsers.amd.rocm_install import cuda_toolkits, rocm_installs
from rocdoctor.parsers.python import interpreter
from rocdoctor.parsers.python.interpreter import (
    InterpreterReport,
    PythonFacts,
    TorchRuntime,
    TorchStatic,
    architectures,
)

T = TypeVar("T")

# Version files of every layout (classic, side by side, core, distribution packages).
_ROCM_PATTERNS = (
    "/opt/rocm*",
    "/opt/rocm*/.info/version*",
    "/opt/rocm*/core*",
    "/opt/rocm*/core*/.info/version*",
    "/opt/rocm*/share/rocm/version",
    "/usr/share/rocm/.info/version",
    "/usr/lib/x86_64-linux-gnu/libamdhip64.so*",
    "/usr/lib64/libamdhip64.so*",
    "/usr/lib/libamdhip64.so*",
    "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so*",
    "/usr/lib64/libhsa-runtime64.so*",
    "/usr/share/hip/version",
    "/opt/rocm*/share/hip/version",
)
_CUDA_PATTERNS = ("/usr/local/cuda*", "/usr/local/cuda*/version.json", "/usr/local/cuda*/version.txt")


def _files(host: Host, patterns: tuple[str, ...]) -> tuple[list[str], dict[str, str], dict[str, str], bool]:
    """(paths, texts of version files, links of roots, whether absence counts)."""
    questions = [f"list {pattern}" for pattern in patterns]
    host.prefetch(questions)
    answers = [host.ask(question) for question in questions]
    paths = sorted({path for answer in answers if answer.ok for path in answer.lines()})
    complete = all(answer.ok and answer.complete for answer in answers)
    wanted = [path for path in paths if path.rsplit("/", 1)[-1].startswith("version")]
    host.prefetch(f"read {path}" for path in wanted)
    texts = {path: answer.text for path in wanted if (answer := host.ask(f"read {path}")).ok}
    roots = [path for path in paths if path.count("/") <= 3 and "version" not in path and "/lib" not in path]
    links = {root: answer.text.strip() for root in roots if (answer := host.ask(f"link {root}")).ok}
    return paths, texts, links, complete


def collect_rocm(host: Host, os_id: str | None) -> tuple[tuple[RocmInstall, ...], bool]:
    """All ROCm installations, and whether the list is complete."""
    paths, texts, links, complete = _files(host, _ROCM_PATTERNS)
    found = rocm_installs(paths, texts, links, os_id)
    return tuple(
        RocmInstall(_version(one.version, one.source, one.line), one.root, one.kind, aliases=one.aliases)
        for one in found
    ), complete


def collect_cuda(host: Host) -> tuple[CudaToolkit, ...]:
    """All CUDA toolkits below /usr/local."""
    paths, texts, links, _ = _files(host, _CUDA_PATTERNS)
    return tuple(
        CudaToolkit(_version(one.version, one.source, one.line), one.root) for one in cuda_toolkits(paths, texts, links)
    )


def _version(version: str | None, source: str | None, line: int | None) -> Fact[str]:
    if version is None:
        return Unknown("no version file in this installation", "absent")
    return Known(version, Source(f"read {source}" if source else "list /opt/rocm*", line))


def question(import_torch: bool) -> str:
    """The question to the interpreter under test."""
    return "python default --import" if import_torch else "python default"


def collect_torch(host: Host, import_torch: bool) -> TorchBuild:
    """The torch of the interpreter under test; where it was recorded with an import, that answer is used."""
    wanted = question(import_torch)
    if host.kind != "live":
        wanted = next((one for one in host.available() if one.startswith("python default --import")), wanted)
    answer = host.ask(wanted)
    if not answer.data:
        listed = listed_torch(host) if host.kind != "live" else None
        if listed is not None:
            return listed
        gap = answer.unknown()
        return TorchBuild(interpreter=gap, python=gap, version=gap, packages=gap, no_answer=gap)
    return _build(interpreter.parse(answer.text), answer)


def _build(report: InterpreterReport, answer: Answer) -> TorchBuild:
    gap = answer.unknown() if not answer.ok else Unknown("the interpreter did not say", "unparsable", answer.source())
    if report.asked is not None:
        gap = Unknown(f"{report.asked}: {gap.why}", gap.reason, gap.source)

    def known(value: T | None, line: int | None = None) -> Fact[T]:
        return gap if value is None else Known(value, answer.source(line))

    python, static, runtime = report.python, report.torch, report.runtime
    names = {one.name: one.version for one in report.packages or () if one.version}
    if static is not None and static.version and "torch" not in names:
        names["torch"] = static.version
    demands = {
        one.name: requirement
        for one in report.packages or ()
        for requirement in one.requires
        if _demands(requirement, "torch")
    }
    shadows = [f"{name} is installed more than once" for name in report.duplicates]
    shadows += [f"{one.path} hides {one.name}" for one in report.shadows]
    path, path_line = (python.executable, python.line) if python else (report.asked, report.asked_line)
    return TorchBuild(
        interpreter=known(path, path_line),
        no_answer=_no_answer(report, answer),
        python=known(python.version if python else None, python.line if python else None),
        version=_torch_version(report, answer, gap),
        hip=_backend(static, "hip", answer, gap),
        cuda=_backend(static, "cuda", answer, gap),
        arch_list=_arch_list(static, runtime, answer),
        arch_list_complete=_arch_list_complete(static, runtime),
        torch_requires=_torch_requires(report),
        packages=Known(names, answer.source()) if report.packages is not None else gap,
        requires_torch=demands,
        shadowed=tuple(shadows),
        import_error=_import_error(runtime, answer, report.not_imported),
        device_count=_runtime(runtime.device_count if runtime else None, answer, report.not_imported),
        devices=_devices(runtime, answer),
        nccl=_runtime(runtime.nccl_version if runtime else None, answer, report.not_imported),
        bundled_rocm=known(static.bundled_rocm if static else None),
        environment=known(_environment(python), python.line if python else None),
        externally_managed=known(_managed(python), python.line if python else None),
    )


def _no_answer(report: InterpreterReport, answer: Answer) -> Fact[NoAnswer | None]:
    """Whether the interpreter said what it was asked, or how it failed to."""
    step = (report.runtime.unfinished_step if report.runtime is not None else None) or ""
    path = report.asked or ""
    if answer.status == "timeout":
        return Known(NoAnswer("timeout", step, answer.note, path), answer.source(report.asked_line))
    if report.python is not None or report.asked is None:
        return Known(None, answer.source()) if report.python is not None else NOT_ASKED
    if answer.status == "denied":
        return Known(NoAnswer("denied", path=path), answer.source(report.asked_line))
    return Known(NoAnswer("flood" if answer.truncated else "silent", path=path), answer.source(report.asked_line))


def _environment(python: PythonFacts | None) -> str | None:
    """Who provides the interpreter; a prefix that is that of the base makes no virtual environment."""
    if python is None or python.kind != "venv":
        return python.kind if python is not None else None
    own = python.prefix is not None and python.prefix == python.base_prefix
    return python.base_kind if own else "venv"


def _managed(python: PythonFacts | None) -> bool | None:
    """Whether pip refuses to install: a virtual environment is free of the mark of its base."""
    kind = _environment(python)
    if python is None or kind is None:
        return None
    return python.externally_managed is not None and kind != "venv"


def _demands(requirement: str, name: str) -> bool:
    """Whether a requirement always asks for this package (one of an extra binds nobody)."""
    plain = requirement.replace(" ", "").lower()
    return plain.startswith(tuple(f"{name}{sign}" for sign in "=<>~(!")) and "extra==" not in plain


def _torch_requires(report: InterpreterReport) -> dict[str, str]:
    """What torch itself asks for: companion -> version specifier, without markers."""
    package = interpreter.package(report, "torch")
    found: dict[str, str] = {}
    for requirement in package.requires if package else ():
        match = re.match(r"([A-Za-z0-9_.-]{1,80})\s*\(?([=<>~!][^;)]{1,80})", requirement)
        if match and "extra" not in requirement.split(";")[-1]:
            found.setdefault(match[1].lower().replace("_", "-"), match[2].strip())
    return found


def _arch_list_complete(static: TorchStatic | None, runtime: TorchRuntime | None) -> bool:
    if runtime is not None and runtime.arch_list:
        return True
    found = architectures(static) if static is not None else None
    return found is not None and found.complete


def _torch_version(report: InterpreterReport, answer: Answer, gap: Unknown) -> Fact[str | None]:
    if report.torch is not None and report.torch.version:
        return Known(report.torch.version, answer.source(report.torch.line))
    package = interpreter.package(report, "torch")
    if package is not None and package.version:
        return Known(package.version, answer.source(package.line))
    return Known(None, answer.source()) if report.torch_absent else gap


def _backend(static: TorchStatic | None, name: str, answer: Answer, gap: Unknown) -> Fact[str | None]:
    if static is None:
        return gap
    value = getattr(static, name)
    if value is None and name not in static.stated:
        return Unknown(f"the version file of torch does not name {name}", "absent", answer.source(static.line))
    return Known(value, answer.source(static.line))


def _arch_list(static: TorchStatic | None, runtime: TorchRuntime | None, answer: Answer) -> Fact[tuple[str, ...]]:
    if runtime is not None and runtime.arch_list:
        return Known(runtime.arch_list, answer.source(runtime.arch_list_line))
    found = architectures(static) if static is not None else None
    if found is None:
        return Unknown("which architectures this torch was built for is not known without importing it", "not-asked")
    return Known(found.targets, Source(answer.question, found.line))


def _import_error(runtime: TorchRuntime | None, answer: Answer, why: str | None) -> Fact[str | None]:
    if runtime is None:
        return Unknown(why or "torch was not imported", "not-asked", answer.source())
    if runtime.imported:
        return Known(None, answer.source())
    if runtime.errors:
        first = runtime.errors[0]
        return Known(f"{first.error_class}: {first.message}", answer.source(first.line))
    if runtime.unfinished_step and answer.status == "ok" and answer.complete and not answer.truncated:
        return Known(f"the interpreter ended during the step '{runtime.unfinished_step}'", answer.source())
    # A first import from a slow disk takes longer than any deadline, and an excerpt may lack the end.
    return Unknown("the import did not answer", "timeout", answer.source())


def _runtime(value: T | None, answer: Answer, why: str | None) -> Fact[T]:
    if value is None:
        return Unknown(why or "torch was not imported", "not-asked", answer.source())
    return Known(value, answer.source())


def _devices(runtime: TorchRuntime | None, answer: Answer) -> tuple[TorchDevice, ...]:
    if runtime is None:
        return ()

    def fact(value: T | None, line: int | None) -> Fact[T]:
        return NOT_ASKED if value is None else Known(value, answer.source(line))

    return tuple(
        TorchDevice(
            one.index,
            fact(one.gfx, one.line),
            fact(one.bdf, one.line),
            fact(one.vram_bytes, one.line),
        )
        for one in runtime.devices
    )
