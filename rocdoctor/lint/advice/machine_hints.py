"""What a file says of the machine that it is meant for, and how options of its commands are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.knowledge.load import numbers
from rocdoctor.lint.advice.file_parts import Parts
from rocdoctor.lint.advice.package_requests import system_packages
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import Token

_VARIABLES = (
    (
        "amd",
        regex(r"(?:HIP|ROCR)_VISIBLE_DEVICES|HSA_\w+|MIOPEN_\w+|PYTORCH_ROCM_ARCH|ROCM_(?:PATH|HOME)|HIP_PATH"),
    ),
    ("habana", regex(r"(?:HABANA|HL|PT_HPU)_\w+")),
    ("ascend", regex(r"(?:ASCEND|HCCL)_(?!DEBUG)\w+")),
    ("nvidia", regex(r"NVIDIA_VISIBLE_DEVICES|CUDA_HOME|CUDA_PATH|TORCH_CUDA_ARCH_LIST")),
)
_WORDS = (
    (
        "amd",
        regex(r"(?:.*/)?(?:rocm-smi|amd-smi|rocminfo)\Z|rocm(?:/[\w.]+)?\Z|amd\.com/gpu|.*/whl/(?:nightly/)?rocm.*"),
    ),
    ("nvidia", regex(r"(?:.*/)?nvidia-smi\Z|cuda/[\d.]+\Z|nvidia\.com/gpu|.*/whl/(?:nightly/)?cu\d+.*")),
    ("habana", regex(r"(?:.*/)?hl-smi\Z|habana.*", re.I)),
    ("ascend", regex(r"(?:.*/)?npu-smi\Z|ascend.*", re.I)),
)
_FLAVOUR = regex(r"/whl/(?:nightly/|test/)?(rocm|cu)(\d+(?:\.\d+)*)")
_OF_TAG = regex(r"(?:\A|rocm)(\d{1,2}\.\d{1,2})(?![\d])")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands, and what; ``possible``: whether it is wrong there is not told by the file."""

    line: int
    value: str
    possible: bool = False


def options(words: Sequence[Token], names: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """The options with these names: name as given in ``names`` (with "-"), value, line; "_" counts as "-"."""
    for place, word in enumerate(words):
        if not word.text.startswith("-"):
            continue
        told, equals, value = word.text.partition("=")
        name = told.lstrip("-").replace("_", "-")
        if name not in names:
            continue
        if equals:
            yield name, value, word.line
        elif place + 1 < len(words):
            yield name, words[place + 1].text, word.line


def option(words: Sequence[Token], *names: str) -> str | None:
    """The value of an option, the last one given; None without it."""
    return next((value for _, value, _ in reversed(list(options(words, names)))), None)


def vendors_of(parts: Parts) -> frozenset[str]:
    """The makers of accelerators that a file speaks of: amd, nvidia, habana, ascend."""
    found = {_of_image(image.repository, image.tag) for image in parts.images}
    names = [one.name for one in parts.settings]
    for box in parts.containers:
        names += box.environment
        found.add("amd" if "/dev/kfd" in box.devices else box.vendor)
    found |= {vendor for vendor, shape in _VARIABLES if any(shape.fullmatch(name) for name in names)}
    for told in parts.told():
        if not told.is_text:
            found |= {vendor for word in told.one.words for vendor, shape in _WORDS if shape.match(word.text)}
            rocm = any(name.startswith(("rocm", "amdgpu")) for name, _ in system_packages(told.words))
            found |= {"amd"} if rocm else set()
    for install in parts.installs:
        flavours = [_FLAVOUR.search(url) for url, _ in install.indexes]
        found |= {"amd" if one[1] == "rocm" else "nvidia" for one in flavours if one is not None}
    if any(re.search(r"\bmi\d{2,3}", value, re.I) for value, _ in parts.batch.values()):
        found.add("amd")
    return frozenset(found & {"amd", "nvidia", "habana", "ascend"})


def _of_image(repository: str, tag: str) -> str:
    if repository.startswith("rocm/") or "rocm" in tag:
        return "amd"
    if repository.startswith("nvidia/") or "cuda" in tag or re.search(r"\bcu1\d\d", tag) is not None:
        return "nvidia"
    return next((vendor for vendor in ("habana", "ascend") if vendor in repository), "")


def rocm_of(parts: Parts) -> tuple[int, ...] | None:
    """The ROCm release (major, minor) that a file names, where it names one only."""
    found = {
        match[1]
        for image in parts.images
        if image.repository.startswith("rocm/")
        for match in [_OF_TAG.search(image.tag)]
        if match is not None
    }
    for install in parts.installs:
        told = [_FLAVOUR.search(url) for url, _ in install.indexes]
        found |= {".".join(one[2].split(".")[:2]) for one in told if one is not None and one[1] == "rocm"}
    return numbers(found.pop()) if len(found) == 1 else None
