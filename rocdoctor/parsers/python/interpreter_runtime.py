"""Parses what the interpreter probe asked the imported torch: one record a question, announced before it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.python.probe_json import Record, dicts, flag, seconds, strings, text, whole

_MISSING_LIBRARY = regex(r"(?<![\w.+-])([\w.+-]{1,200}\.so[\w.]{0,60}): cannot open shared object file")
_UNDEFINED_SYMBOL = regex(r"undefined symbol: ([\w@.$]+)")
_MISSING_VERSION = regex(r"version [`'\"]([A-Z][\w.]+)['\"] not found")
_BACKENDS = {
    "is_nccl_available": "nccl",
    "is_gloo_available": "gloo",
    "is_mpi_available": "mpi",
    "is_ucc_available": "ucc",
    "is_xccl_available": "xccl",
}


@dataclass(frozen=True, slots=True)
class StepError:
    """One question that ended in an exception, with what a dynamic loader's message names."""

    step: str
    error_class: str | None
    message: str | None
    missing_library: str | None = None  # "libamdhip64.so.6"
    undefined_symbol: str | None = None
    missing_version: str | None = None  # "GLIBCXX_3.4.30"
    frames: tuple[str, ...] = ()  # innermost last, "file:line function"
    cause: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class StepWarning:
    """A Python warning that was raised while a question was answered."""

    step: str
    warning_class: str | None
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ProbedDevice:
    """A GPU as torch lists it. ``bdf`` has function 0: torch does not tell it."""

    index: int
    gfx: str | None = None  # "gfx90a"
    gfx_features: str | None = None  # "sramecc+:xnack-"
    compute_capability: str | None = None  # NVIDIA only: on ROCm the numbers mean something else
    vram_bytes: int | None = None
    warp_size: int | None = None
    integrated: bool | None = None
    bdf: str | None = None
    uuid: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TorchRuntime:
    """What the imported torch told; None where it was not asked, failed, or the process ended before."""

    imported: bool | None = None  # None: the import began and never ended, see unfinished_step
    import_s: float | None = None
    file: str | None = None
    version: str | None = None
    hip: str | None = None
    cuda: str | None = None
    rocm: str | None = None
    git_version: str | None = None
    available: bool | None = None
    device_count: int | None = None
    arch_list: tuple[str, ...] | None = None
    devices: tuple[ProbedDevice, ...] = ()
    distributed: bool | None = None
    backends: tuple[tuple[str, bool], ...] = ()  # ("nccl", True), ("gloo", True), ...
    nccl_version: str | None = None  # RCCL's on ROCm
    cudnn_version: int | None = None  # MIOpen's on ROCm
    allocator: str | None = None
    bf16: bool | None = None
    mps_available: bool | None = None
    xpu_available: bool | None = None
    threads: int | None = None
    rocm_home: str | None = None
    cuda_home: str | None = None
    config: str | None = None
    warnings: tuple[StepWarning, ...] = ()
    errors: tuple[StepError, ...] = ()
    unfinished_step: str | None = None  # where the process was killed, crashed or hung
    lines: dict[str, int] = field(default_factory=dict)  # step -> line


def step_error(values: Mapping[str, Any], step: str, line: int) -> StepError:
    """The error in one ``error`` object of the probe."""
    message = text(values, "message")
    said = message or ""
    library = _MISSING_LIBRARY.search(said)
    symbol = _UNDEFINED_SYMBOL.search(said)
    version = _MISSING_VERSION.search(said)
    cause = values.get("cause")
    return StepError(
        step=step,
        error_class=text(values, "class"),
        message=message,
        missing_library=library.group(1) if library else None,
        undefined_symbol=symbol.group(1) if symbol else None,
        missing_version=version.group(1) if version else None,
        frames=strings(values, "frames"),
        cause=text(cause, "message") if isinstance(cause, dict) else None,
        line=line,
    )


def parse_runtime(found: Iterable[Record]) -> TorchRuntime | None:
    """The answers of the imported torch; None where the probe was not asked to import it."""
    answers: dict[str, Any] = {}
    timed: dict[str, float | None] = {}
    lines: dict[str, int] = {}
    errors: list[StepError] = []
    warnings: list[StepWarning] = []
    begun: str | None = None
    asked = False
    for record in found:
        part, step = text(record.values, "part"), text(record.values, "step")
        if step is None or part not in ("begin", "step"):
            continue
        asked = True
        if part == "begin":
            begun = step
            continue
        begun = None
        lines[step] = record.line
        timed[step] = seconds(record.values, "elapsed_s")
        if flag(record.values, "ok"):
            answers[step] = record.values.get("value")
        elif isinstance(record.values.get("error"), dict):
            errors.append(step_error(record.values["error"], step, record.line))
        warnings.extend(_warnings(record, step))
    if not asked:
        return None

    def table(step: str) -> dict[str, Any]:
        value = answers.get(step)
        return value if isinstance(value, dict) else {}

    loaded, build, homes = table("import torch"), table("version"), table("cpp_extension")
    spread = table("distributed")
    available = flag(answers, "cuda.is_available")
    return TorchRuntime(
        imported="import torch" in answers if "import torch" in lines else None,
        import_s=timed.get("import torch"),
        file=text(loaded, "file"),
        version=text(build, "__version__") or text(loaded, "version"),
        hip=text(build, "hip"),
        cuda=text(build, "cuda"),
        rocm=text(build, "rocm"),
        git_version=text(build, "git_version"),
        available=available,
        device_count=whole(answers, "cuda.device_count"),
        # Without a usable GPU torch returns an empty list whatever it was built for.
        arch_list=strings(answers, "arch_list") if available and isinstance(answers.get("arch_list"), list) else None,
        devices=_devices(answers, lines, rocm=text(build, "hip") is not None),
        distributed=flag(spread, "is_available"),
        backends=tuple((name, spread[key]) for key, name in _BACKENDS.items() if isinstance(spread.get(key), bool)),
        nccl_version=_dotted(answers.get("nccl.version")),
        cudnn_version=whole(answers, "cudnn.version"),
        allocator=text(answers, "allocator"),
        bf16=flag(answers, "bf16"),
        mps_available=flag(table("backends.mps"), "is_available"),
        xpu_available=flag(table("xpu"), "is_available"),
        threads=whole(answers, "threads"),
        rocm_home=text(homes, "ROCM_HOME"),
        cuda_home=text(homes, "CUDA_HOME"),
        config=text(answers, "config"),
        warnings=tuple(warnings),
        errors=tuple(errors),
        unfinished_step=begun,
        lines=lines,
    )


def _warnings(record: Record, step: str) -> Iterable[StepWarning]:
    for item in dicts(record.values.get("warnings")):
        message = text(item, "message")
        if message is not None:
            yield StepWarning(step, text(item, "class"), message, record.line)


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
        arch = text(value, "gcnArchName") if rocm else None
        gfx, _, features = (arch or "").partition(":")
        major, minor = whole(value, "major"), whole(value, "minor")
        devices.append(
            ProbedDevice(
                index=index,
                gfx=gfx if gfx.startswith("gfx") else None,
                gfx_features=features or None,
                compute_capability=f"{major}.{minor}" if not rocm and major is not None and minor is not None else None,
                vram_bytes=whole(value, "total_memory"),
                warp_size=whole(value, "warp_size"),
                integrated=_truth(value.get("is_integrated")),
                bdf=_bdf(value),
                uuid=text(value, "uuid"),
                line=lines.get(step),
            )
        )
    return tuple(sorted(devices, key=lambda device: device.index))


def _truth(value: object) -> bool | None:
    return bool(value) if isinstance(value, int) else None


def _bdf(value: Mapping[str, Any]) -> str | None:
    domain, bus, device = (whole(value, f"pci_{part}_id") for part in ("domain", "bus", "device"))
    if domain is None or bus is None or device is None or bus > 255 or device > 31 or domain > 0xFFFFFFFF:
        return None
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"
