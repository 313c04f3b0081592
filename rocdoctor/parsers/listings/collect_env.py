"""The output of ``python -m torch.utils.collect_env``, and the same labels where an issue template asks for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, value_of

_MAX_LINES = 5000
_LABEL = regex(r"\s{0,12}(?:[-*] )?\*{0,2}([A-Za-z][A-Za-z0-9 ./()_-]{1,80}?)\*{0,2}:(?:\s(.*)|)\Z")
_GPU = regex(r"\s{0,12}(?:GPU|NVIDIA GPU|HIP device) (\d{1,3}): (\S.{0,120}?)\s*\Z")
_PIP = regex(r"\s{0,12}\[(?:pip3?|conda)\] ([A-Za-z0-9][\w.-]{0,80})(?:==|\s{1,40})([0-9]\S{0,80})")
_VERSION = regex(r"\d{1,3}(?:\.\d{1,5}){1,4}[\w.+!-]{0,60}")
_ARCH = regex(r"\((gfx[0-9a-f]{3,5})[^)]{0,60}\)")
_NAMES = {
    "pytorch version": "torch",
    "is debug build": "debug",
    "cuda used to build pytorch": "cuda",
    "rocm used to build pytorch": "rocm",
    "os": "os",
    "python version": "python",
    "python platform": "platform",
    "is cuda available": "available",
    "gpu models and configuration": "gpus",
    "nvidia driver version": "driver",
    "cudnn version": "cudnn",
    "hip runtime version": "hip",
    "miopen runtime version": "miopen",
    "gpu available": "available",
    "gpu driver version": "driver",
}


@dataclass(frozen=True, slots=True)
class CollectEnv:
    """What it printed. ``cuda`` and ``hip`` are what torch was built with; ``without`` names those of which the text
    says that it was built without ("None", "N/A"). ``gpus``: (index, name, gfx) as torch sees them."""

    torch: str | None = None
    cuda: str | None = None
    hip: str | None = None
    without: tuple[str, ...] = ()
    os: str | None = None
    python: str | None = None
    kernel: str | None = None
    available: bool | None = None
    driver: str | None = None
    gpus: tuple[tuple[int, str, str | None, int], ...] = ()  # index, name, gfx, line
    packages: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def parse_collect_env(text: str) -> CollectEnv:
    """Reads every label that is known; anything else is passed over."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    gpus: list[tuple[int, str, str | None, int]] = []
    packages: dict[str, str] = {}
    listing = False
    for number, raw in enumerate(lines_of(text, _MAX_LINES), 1):
        line = raw[:1000]
        gpu = _GPU.match(line)
        if gpu:
            gpus.append(_gpu(int(gpu[1]), gpu[2], number))
            continue
        package = _PIP.match(line) if "[" in line[:16] else None
        if package:
            packages.setdefault(package[1].lower().replace("_", "-"), package[2])
            continue
        label = _LABEL.match(line)
        name = _NAMES.get(label[1].strip().lower()) if label else None
        if label and name and name not in values:
            values[name] = (label[2] or "").strip()
            lines[name] = number
            listing = name == "gpus"
            if (
                listing
                and (said := value_of(values["gpus"]))
                and not gpus
                and said.lower() not in ("no", "could not collect")
            ):
                gpus.append(_gpu(0, said, number))
                listing = False
        elif label:
            listing = False
        elif listing and line.strip() and len(gpus) < 64:  # AMD cards are listed without a number
            gpus.append(_gpu(len(gpus), line.strip(), number))
    return _result(values, lines, gpus, packages)


def _gpu(index: int, name: str, line: int) -> tuple[int, str, str | None, int]:
    arch = _ARCH.search(name)
    return index, _ARCH.sub("", name).strip(), arch[1] if arch else None, line


def _result(
    values: dict[str, str],
    lines: dict[str, int],
    gpus: list[tuple[int, str, str | None, int]],
    packages: dict[str, str],
) -> CollectEnv:
    def version(name: str) -> str | None:
        match = _VERSION.search(values.get(name, "")[:200])
        return match[0] if match else None

    without = tuple(
        backend
        for backend, label in (("cuda", "cuda"), ("hip", "rocm"))
        if label in values
        and not version(label)
        and values[label].lower() in ("n/a", "none", "no", "could not collect")
    )
    kernel = re.search(
        r"Linux-(\d{1,2}\.\d{1,3}\.[\w.+-]{1,80}?)-(?:x86_64|aarch64|ppc64le)", values.get("platform", "")[:400]
    )
    told = values.get("available", "").lower()
    cuda = version("cuda")
    if cuda is None and values.get("cuda", "").upper().startswith("ROCM"):
        without = (*without, "cuda")
    return CollectEnv(
        torch=version("torch"),
        cuda=cuda if not values.get("cuda", "").upper().startswith("ROCM") else None,
        hip=version("hip") or version("rocm"),
        without=tuple(dict.fromkeys(without)),
        os=value_of(values.get("os")),
        python=version("python"),
        kernel=kernel[1] if kernel else None,
        available=told.startswith("true") if told[:4] in ("true", "fals") else None,
        driver=version("driver"),
        gpus=tuple(gpus),
        packages=packages,
        lines=lines,
    )
