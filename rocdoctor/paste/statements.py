"""What a text says in its own words: systems, versions, cards. The answer to the question ``stated``.

One JSON object a line: {"field", "value", "line", "role"}, for cards also vendor, gfx, compute_capability, count and
integrated. ``line`` is that of the text. Fields: gpu, os, kernel, cpu, rocm, driver, amdgpu_driver, driver_cuda, torch,
torch_cuda, torch_hip, torch_archs, cuda, python, container, shm_bytes, groups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.system.os_name import OS_NAME
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.named_cards import Card
from rocdoctor.paste.passage_roles import Role, role_of_block, role_of_name, sentence_around
from rocdoctor.paste.speakers import is_sentence
from rocdoctor.paste.text_part import TextPart
from rocdoctor.paste.word_index import WordIndex, ascending

_LABELS = {
    "os": "os",
    "operating system": "os",
    "operating system version": "os",
    "os version": "os",
    "distro": "os",
    "distribution": "os",
    "linux distribution": "os",
    "linux distro": "os",
    "platform": "os",
    "environment": "os",
    "system": "os",
    "os platform and distribution": "os",
    "kernel": "kernel",
    "kernel version": "kernel",
    "linux kernel": "kernel",
    "linux kernel version": "kernel",
    "cpu": "cpu",
    "processor": "cpu",
    "cpu model": "cpu",
    "rocm": "rocm",
    "rocm version": "rocm",
    "driver": "driver",
    "driver version": "driver",
    "gpu driver": "driver",
    "nvidia driver": "driver",
    "nvidia driver version": "driver",
    "nvidia gpu driver version": "driver",
    "gpu driver version": "driver",
    "cuda": "cuda",
    "cuda version": "cuda",
    "cuda toolkit": "cuda",
    "cuda/cudnn version": "cuda",
    "pytorch": "torch",
    "torch": "torch",
    "pytorch version": "torch",
    "torch version": "torch",
    "python": "python",
    "python version": "python",
}
_PAIR = regex(
    r"[\s|*_#>•-]{0,10}([A-Za-z][A-Za-z/ ]{1,32}?)(?: \([^()]{1,40}\))?[*_]{0,3}\s{0,20}[:=|][*_\s]{0,20}(\S.{0,200})\Z"
)
_HEADING = regex(r"\s{0,3}(?:#{1,6}\s{1,3}|\*\*)([A-Za-z][A-Za-z/ ]{1,32}?)(?: version)?:?\*{0,2}\s*\Z", re.IGNORECASE)
_KERNEL_WORD = regex(
    r"\b(?:kernel(?: version| release| package)?(?: (?:went|moved|update|upgrade|(?:was )?(?:updated|upgraded)) to)?"
    r"|Linux)[ :=v]{1,3}(\d{1,2}\.\d{1,3}(?:\.\d{1,3})"
    r"?(?:-[\w.+~-]{0,60}[\w+~])?)(?![\w.]{0,100}\.so)",
    re.IGNORECASE,
)
_KERNEL_NAME = regex(
    r"(?<![\w./-])(\d\.\d{1,2}\.\d{1,3}-[\w.+-]{0,40}?(?:generic|amd64|lowlatency|azure|aws|gcp|oem|"
    r"MANJARO|zen\d|arch\d-\d|cachyos|el\d\w{0,8}\.x86_64|fc\d\d\.x86_64|microsoft-standard-WSL2|pve|"
    r"default|lts))(?![\w])"
)
_ROCM = regex(
    r"(?<![\w/.-])ROCm(?:\s{0,3}(?:version|release|v|SDK)\s{0,3}[:=]?\s{0,3}|[ :=]{1,4}|-(?=\d))"
    r"v?(\d{1,2}\.\d{1,2}(?:\.\d{1,3})?)(?![\w]*\.whl)(?!\d)(?P<wheel>\s{0,2}wheels?)?",
    re.IGNORECASE,
)
_ROCM_ROOT = regex(r"(?<![\w.])(/opt/rocm-(\d{1,2}\.\d{1,2}\.\d{1,3}))(?=[/\s'\":,)]|\Z)")
_DRIVER = regex(
    r"\b(?:driver|nvidia(?:-dkms)?)(?: version)?(?: is| was)?(?: now)?(?: (?:updated|upgraded|downgraded) to)"
    r"?[ :=v]{1,4}(\d{3}\.\d{2,3}(?:\.\d{2})?)(?!\d|\.\d)",
    re.IGNORECASE,
)
_AMDGPU = regex(
    r"\bamdgpu(?:[- ]dkms)?(?: driver)?(?: version)?[ :=/]{1,3}(?:v|1:)?([456]\.\d\d?\.\d\d?(?:\.\d\d){0,2})(?!\d)",
    re.IGNORECASE,
)
# Its package, by the release that it is of: 5.7, 6.4, 30.10.
_AMDGPU_PACKAGE = regex(
    r"\bamdgpu(?:-dkms(?: driver| package)?| driver)(?: version| release)?[ :=]{1,3}v?((?:5|6|30|31)\.\d{1,2})"
    r"(?![.\d]\d|\d)",
    re.IGNORECASE,
)
_AMDGPU_NUMBER = regex(r"[456]\.\d{1,2}\.\d{1,2}(?:\.\d{2}){0,2}\Z")
_DRIVER_CUDA = regex(r"driver on your system is too old \(found version (\d{4,5})\)")
_TORCH = regex(
    r"(?<![\w./=-])(?:py)?torch(?: version)?(?:\s{0,3}[:=]{1,2}\s{0,3}|\s{1,2}v?)(\d\.\d{1,2}(?:\.\d{1,2})"
    r"?(?:(?:a|b|rc|\.dev)\d{1,10})?(?:\+\w[\w.]{0,38}\w)?)(?![\w.]*\.whl)",
    re.IGNORECASE,
)
_TORCH_SHOWN = regex(r"(?:torch\.__version__\)?|torch\.version\.__version__)")
_TORCH_PART = regex(
    r"torch\.version\.(cuda|hip)\b\)?(?:\s{0,3}(?:is|[:=])?\s{0,3}['\"]?(\d{1,2}\.\d{1,2}[\w.-]{0,40}|None))?"
)
_COMPILED = regex(
    r"Installed CUDA version (\d{1,2}\.\d{1,2}) does not match the version torch was compiled with (\d{1,2}\.\d{1,2})"
)
_ARCHS = regex(r"current PyTorch install supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}a?[ ,]{0,2}){1,30})\.")
_PYTHON = regex(r"\bPython(?: version)?[ :=]{1,4}(\d\.\d{1,2}(?:\.\d{1,2})?)(?!\w|\.\d)", re.IGNORECASE)
_PYTHON_PATH = regex(r"/lib/python(\d\.\d{1,2})/(?:site|dist)-packages/")
_CONTAINER = regex(
    r"\b(?:in|inside|within|into|using|from)(?: (?:the|a|an|our|my|this)| project's| \w{1,20}){0,3} "
    r"(docker|podman|container|kubernetes|k8s|apptainer|singularity|pod|enroot)\b|\bon (kubernetes|k8s)\b|"
    r"(docker) image\b|(docker|podman) run\b",
    re.IGNORECASE,
)
_WSL = regex(
    r"\b(?:in|on|under|using|inside|via|with|through) WSL ?2?\b|\bWSL environment detected|\bWSL2? Ubuntu|"
    r"Ubuntu \(WSL|microsoft-standard-WSL2",
    re.IGNORECASE,
)
_MOST, _MOST_LABELS = 1000, 5000
_PRINTED = regex(r"driver on your|Installed CUDA version|current PyTorch install")
_LABEL_LINE = regex(
    r"[ |*_#>\u2022-]{0,10}(?:"
    + "|".join(re.escape(label) for label in sorted(_LABELS, key=len, reverse=True))
    + r")\b"
)
_HINTS = (
    "rocm",
    "cuda",
    "torch",
    "found version",
    "kernel",
    "linux",
    "ubuntu",
    "debian",
    "fedora",
    "driver",
    "amdgpu-dkms",
    "amdgpu/",
    "python",
    "docker",
    "podman",
    "container",
    "wsl",
    "k8s",
    "kubernetes",
    "mint",
    "manjaro",
    "gentoo",
    "suse",
    "rhel",
    "rocky",
    "neon",
    "generic",
    "nixos",
    "centos",
    "alma",
    "pop!_os",
    "endeavour",
    "cachyos",
    "garuda",
    "sles",
    "oracle",
    "nobara",
    "bazzite",
    "alpine",
    "amd64",
    "lowlatency",
    " pod",
    "apptainer",
    "singularity",
    "enroot",
    "x86_64",
    "-lts",
    "-pve",
    "-azure",
    "-aws",
)


@dataclass(frozen=True, slots=True)
class Said:
    """One value as the text gives it; ``line`` an index."""

    field: str
    value: str
    line: int
    role: Role
    sure: bool = False  # of a labelled list, not of a sentence


def said(clean: Clean, taken: set[int], stops: set[int], index: WordIndex) -> Iterator[Said]:
    """Every value outside of recognised outputs (``taken``: their lines); ``stops`` are lines with a prompt."""
    labels = _labels(clean, index)
    count = 0
    for at in ascending(index.lines(_HINTS), sorted(labels)):
        line = clean.lines[at]
        if len(line) > 3000:
            continue
        label, value = labels.get(at, ("", ""))
        found = _of_paths(clean, at, line) if at in taken else _of_line(clean, at, line, label, value, at in stops)
        for one in found:
            yield one
            count += 1
        if count > _MOST:
            return


def _labels(clean: Clean, index: WordIndex) -> dict[int, tuple[str, str]]:
    """Lines (indices) of the form "label: value", and lines below a heading that is a label: (field, value)."""
    found: dict[int, tuple[str, str]] = {}
    for at in islice(
        clean.alike.of(place for place, low in enumerate(index.low) if _LABEL_LINE.match(low)), _MOST_LABELS
    ):
        line = clean.lines[at][:400]
        heading = _HEADING.match(line) if line[:4].lstrip()[:1] in ("#", "*") else None
        if heading and heading[1].lower() in _LABELS:
            below = next(
                (step for step in range(at + 1, min(at + 4, len(clean.lines))) if clean.lines[step].strip()), None
            )
            if below is not None:
                found[below] = (_LABELS[heading[1].lower()], clean.lines[below].strip())
            continue
        pair = _PAIR.match(line)
        if pair and pair[1].strip().lower() in _LABELS:
            found[at] = (_LABELS[pair[1].strip().lower()], pair[2].strip().strip("|*` "))
    return found


def _of_line(clean: Clean, at: int, line: str, label: str, value: str, command: bool) -> Iterator[Said]:
    if label:
        role: Role = role_of_block(clean, at, at, setting=False)
        yield from _labelled(label, value, at, role)
    for field, pattern in (
        ("kernel", _KERNEL_WORD),
        ("kernel", _KERNEL_NAME),
        ("rocm", _ROCM),
        ("driver", _DRIVER),
        ("amdgpu_driver", _AMDGPU),
        ("amdgpu_driver", _AMDGPU_PACKAGE),
        ("torch", _TORCH),
        ("python", _PYTHON),
    ):
        if field == label or (command and field != "rocm_root"):
            continue
        for match in pattern.finditer(line):
            if field == "rocm" and match["wheel"]:
                continue
            yield Said(field, match[1], at, _role(clean, at, match))
    yield from _of_paths(clean, at, line)
    system = OS_NAME.search(line)
    if label != "os" and system and not command:
        before = line[: system.start()][-24:]
        if (
            system["version"]
            or re.search(r"\b(?:on|running|run|use|using|under)\s\Z", before)
            or re.search(r"(?:testing|sid|docker image)", line[system.start() : system.end() + 16])
        ):
            yield Said("os", system[0].strip(" (-"), at, _role(clean, at, system))
    yield from _of_messages(clean, at, line)
    container = _CONTAINER.search(line)
    if container and not re.search(r"\b(?:not|outside|without|n't)\b", line[: container.start()][-30:]):
        word = next(one for one in container.groups() if one).lower()
        kind = {"k8s": "kubernetes", "pod": "kubernetes", "singularity": "apptainer"}.get(word, word)
        yield Said("container", kind, at, _role(clean, at, container), sure=bool(container[4]))
    if _WSL.search(line) and "mention" not in line:
        yield Said("container", "wsl", at, "now", sure=True)


def _labelled(label: str, value: str, at: int, role: Role) -> Iterator[Said]:
    if label == "os":
        if re.search(r"\bWSL ?2?\b", value, re.IGNORECASE):
            yield Said("container", "wsl", at, role, sure=True)
        match = OS_NAME.search(value)
        if match:
            yield Said("os", re.split(r", | \| |;", value)[0][:120].strip(), at, role, sure=True)
        if kernel := _KERNEL_WORD.search(value):
            yield Said("kernel", kernel[1], at, role)
        return
    if label == "cpu" and whole_number(value) is not None:  # "processor : 0" of /proc/cpuinfo counts
        return
    if label == "cpu":
        yield Said("cpu", value[:120], at, role, sure=True)
        return
    if label == "driver" and _AMDGPU_NUMBER.match(value):
        yield Said("amdgpu_driver", value, at, role, sure=True)
        return
    number = re.match(r"v?(\d{1,3}(?:\.\d{1,5}){1,3}[\w.+-]{0,60})", value)
    if number and not (label == "driver" and not re.match(r"\d{3}\.\d", number[1])):
        yield Said(label, number[1].rstrip(".,"), at, role, sure=True)


def _of_paths(clean: Clean, at: int, line: str) -> Iterator[Said]:
    """Versions in paths, which programs print in their messages."""
    if "/" not in line:
        return
    for root in _ROCM_ROOT.finditer(line):
        yield Said("rocm_root", root[1], at, _role(clean, at, root))
    if match := _PYTHON_PATH.search(line):
        yield Said("python", match[1], at, "now")


def _of_messages(clean: Clean, at: int, line: str) -> Iterator[Said]:
    """Values in messages that programs print."""
    for joined in _joined(clean, at) if _PRINTED.search(line) else (line,):
        if match := _DRIVER_CUDA.search(joined):
            number = int(match[1])
            yield Said("driver_cuda", f"{number // 1000}.{number % 1000 // 10}", at, "now", sure=True)
        if match := _COMPILED.search(joined):
            yield Said("cuda", match[1], at, "now", sure=True)
            yield Said("torch_cuda", match[2], at, "now", sure=True)
        if match := _ARCHS.search(joined):
            yield Said("torch_archs", " ".join(re.findall(r"(?:sm|compute)_\d{2,3}a?", match[1])), at, "now", sure=True)
    for match in _TORCH_PART.finditer(line):
        shown = match[2] or _printed(clean, at)
        if shown and re.match(r"\d", shown):
            yield Said("torch_" + match[1], shown.rstrip(".,"), at, "now", sure=True)
    if _TORCH_SHOWN.search(line):
        shown = _printed(clean, at)
        if shown and re.match(r"\d\.\d", shown):
            yield Said("torch", shown, at, "now", sure=True)


def _joined(clean: Clean, at: int) -> tuple[str, str]:
    """A message from its first line on, over the lines that it may have been wrapped to: at blanks, or in words."""
    lines = [line.strip() for line in clean.lines[at : at + 6]]
    return " ".join(lines), "".join(lines)


def _printed(clean: Clean, at: int) -> str | None:
    """What an interpreter printed for the expression on a line."""
    line = clean.lines[at]
    same = re.search(
        r"(?:__version__|version\.(?:cuda|hip))\)?[\"']?\s{0,3}(?:->|=>|is|:|=)?\s{0,3}['\"]?(\d[\w.+-]{1,40})", line
    )
    if same:
        return same[1]
    following = clean.lines[at + 1].strip() if at + 1 < len(clean.lines) else ""
    match = re.match(r"['\"]?(\d[\w.+-]{1,60})['\"]?\Z", following)
    return match[1] if match else None


def _role(clean: Clean, at: int, match: re.Match[str]) -> Role:
    if (outside := role_of_block(clean, at, at, setting=False)) != "now":
        return outside
    before, after = sentence_around(clean, at, match.start(), match.end())
    return role_of_name(before, after)


def parts(clean: Clean, values: list[Said], cards: list[Card], mentions: list[Card]) -> Iterator[TextPart]:
    """The answer to ``stated``, labelled values first; what is not of this machine now stands in parts of its own."""
    rows: list[tuple[int, str]] = []
    for card in cards:
        same = [one.line for one in mentions if one.role == "now" and (one.vendor, one.key) == (card.vendor, card.key)]
        # A program's output, or a filled-in form, is better evidence than a sentence.
        line = next((at for at in (card.line, *same) if not is_sentence(clean, at)), card.line) + 1
        entry = {
            "field": "gpu",
            "value": card.name,
            "line": line,
            "vendor": card.vendor,
            "gfx": card.gfx,
            "compute_capability": card.capability,
            "count": card.count,
            "integrated": card.integrated,
        }
        rows.append((line, json.dumps(entry)))
    seen: set[tuple[str, str]] = set()
    for one in sorted(values, key=lambda one: (not one.sure, is_sentence(clean, one.line), one.line)):
        if one.role == "now" and (one.field, one.value) not in seen:
            seen.add((one.field, one.value))
            rows.append((one.line + 1, json.dumps({"field": one.field, "value": one.value, "line": one.line + 1})))
    if rows:
        yield TextPart("stated", "\n".join(row for _, row in rows), tuple(number for number, _ in rows))
    for role in ("tried", "advice", "other"):
        lines = sorted(
            {
                *(one.line + 1 for one in values if one.role == role),
                *(one.line + 1 for one in mentions if one.role == role),
            }
        )
        if lines:
            yield TextPart("stated", "", tuple(lines), role)
