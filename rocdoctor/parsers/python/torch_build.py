"""Parses the torch build as the interpreter probe reads it from the files of torch, without an import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.python.probe_json import Record, dicts, flag, strings, text, whole

_ROCM = regex(r"\+rocm[0-9]")
_CUDA = regex(r"\+cu[0-9]{2,3}")


@dataclass(frozen=True, slots=True)
class ArchSource:
    """Architectures of a torch build by one source.

    method: build-flags (the words of torch.cuda.get_arch_list()), code-objects (bundles in a library), file-names (of
    a math library: nothing about the kernels of torch itself). Not ``complete``: there may be more, see ``reason``.
    """

    source: str
    method: str | None
    targets: tuple[str, ...]
    complete: bool
    counts: tuple[tuple[str, int], ...] = ()  # full target id -> number of bundles that have it
    bundles: int | None = None
    reason: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TorchStatic:
    """The torch build as its files tell it; ``kind`` is package, namespace (no __init__.py) or module."""

    path: str | None = None
    kind: str | None = None
    version: str | None = None
    debug: bool | None = None
    cuda: str | None = None
    hip: str | None = None
    rocm: str | None = None
    xpu: str | None = None
    git_version: str | None = None
    stated: tuple[str, ...] = ()  # names that version.py assigns: "hip" here and hip None means built without
    flavour: str | None = None  # rocm, cuda, xpu or cpu
    extensions: tuple[str, ...] = ()  # torch/_C.*.so
    extension_fits: bool | None = None  # one of them is for this interpreter
    libraries: tuple[str, ...] = ()  # names in torch/lib
    bundled_rocm: bool | None = None  # of a ROCm build: it carries its own libamdhip64
    rocm_init: bool | None = None  # the build takes its libraries from rocm-sdk wheels
    rocm_sdk: tuple[str, ...] = ()  # _rocm_sdk_* folders beside torch
    problem: str | None = None
    sources: tuple[ArchSource, ...] = ()
    line: int | None = None


def architectures(torch: TorchStatic) -> ArchSource | None:
    """The best source for what torch itself was built for: its build flags, else its code objects; None if unknown."""
    for method in ("build-flags", "code-objects"):
        for source in torch.sources:
            if source.method == method and source.targets:
                return source
    return None


def parse_build(values: dict[str, object], suffixes: tuple[str, ...], line: int) -> TorchStatic:
    """The ``torch`` object of the static part; ``suffixes`` are the extension suffixes of the interpreter."""
    stated = values.get("version_file")
    build: dict[str, object] = stated if isinstance(stated, dict) else {}
    extensions, libraries = strings(values, "extensions"), strings(values, "lib")
    kind = text(values, "kind")
    bundled = None
    if any(name.startswith("libamdhip64.so") for name in libraries):
        bundled = True
    elif "libtorch_hip.so" in libraries:
        bundled = False
    fits = None
    if kind == "package" and suffixes and "extensions" in values:
        fits = any("_C" + suffix in extensions for suffix in suffixes) if extensions else None
    return TorchStatic(
        path=text(values, "path"),
        kind=kind,
        version=text(build, "__version__"),
        debug=flag(build, "debug"),
        cuda=text(build, "cuda"),
        hip=text(build, "hip"),
        rocm=text(build, "rocm"),
        xpu=text(build, "xpu"),
        git_version=text(build, "git_version"),
        stated=tuple(sorted(build)),
        flavour=_flavour(build),
        extensions=extensions,
        extension_fits=fits,
        libraries=libraries,
        bundled_rocm=bundled,
        rocm_init=flag(values, "rocm_init"),
        rocm_sdk=strings(values, "rocm_sdk"),
        problem=text(values, "problem"),
        line=line,
    )


def _flavour(build: dict[str, object]) -> str | None:
    version = text(build, "__version__") or ""
    if text(build, "hip") or text(build, "rocm") or _ROCM.search(version):
        return "rocm"
    if text(build, "cuda") or _CUDA.search(version):
        return "cuda"
    if text(build, "xpu") or "+xpu" in version:
        return "xpu"
    # Before 1.8 version.py had no "hip": its silence is not a statement, "+cpu" is one.
    return "cpu" if "+cpu" in version or {"cuda", "hip"} <= set(build) else None


def parse_sources(record: Record) -> Iterator[ArchSource]:
    """The sources in a device-code record."""
    for item in dicts(record.values.get("sources")):
        source = text(item, "source")
        if source is None:
            continue
        counts = item.get("counts")
        pairs = counts.items() if isinstance(counts, dict) else ()
        yield ArchSource(
            source=source,
            method=text(item, "method"),
            targets=strings(item, "targets"),
            complete=flag(item, "complete") is True,
            counts=tuple((key, number) for key, number in pairs if isinstance(number, int)),
            bundles=whole(item, "count") if text(item, "method") == "code-objects" else None,
            reason=text(item, "reason"),
            line=record.line,
        )
