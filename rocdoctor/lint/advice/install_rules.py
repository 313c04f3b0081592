"""Advice about installing that takes more than one part of a file: wheels and their index, repositories, releases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import torch_release
from rocdoctor.lint.advice.file_parts import Image, Parts
from rocdoctor.lint.advice.machine_hints import Place, option
from rocdoctor.lint.advice.package_requests import Install, Requirement
from rocdoctor.model.lazy_re import regex

_INDEX = regex(r"download\.pytorch\.org/whl/(nightly/|test/)?(rocm\d+(?:\.\d+)*|cu\d{3})(?:/|\Z)")
_EXACT = regex(r"===?(\d+\.\d+\.\d+)(?:\+([a-z]+[\d.]+))?\Z")
# The first torch release that a CUDA flavour has no wheel of any more.
_CUDA_UNTIL = {"cu118": (2, 8), "cu121": (2, 6)}
_NEVER = ("rocm5.8",)
_SERIES = regex(r"repo\.radeon\.com/(?:rocm/(?:apt|yum|zyp|rhel\d+|el\d+)|amdgpu-install)/(\d{1,2}\.\d{1,2})")
_CODENAME = regex(
    r"repo\.radeon\.com/(?:amdgpu-install|amdgpu|graphics)/[^/\s]{1,20}/ubuntu/(?:dists/)?([a-z]{4,10})\b"
)
_SUITE = regex(r"https?://repo\.radeon\.com/rocm/apt/\S{1,20}\s+([a-z]{4,10})\b")
_UBUNTU = {"20.04": "focal", "22.04": "jammy", "24.04": "noble", "26.04": "resolute"}
_BASES = regex(r"(?:library/)?ubuntu|rocm/dev-ubuntu-(\d\d\.\d\d)")
# Images of AMD that have ROCm and no torch.
_PLAIN = regex(r"rocm/(?:dev-[a-z]+(?:-[\d.]+)?|rocm-terminal)")


def _indexes(install: Install) -> list[tuple[str, bool, bool]]:
    """The flavours of the PyTorch indexes: name, whether of a nightly or test index, whether beside the usual one."""
    found = [(_INDEX.search(url), extra) for url, extra in install.indexes]
    return [(match[2], match[1] is not None, extra) for match, extra in found if match is not None]


def _torch(install: Install) -> Requirement | None:
    return next((one for one in install.requirements if one.name == "torch"), None)


def flavour_never(parts: Parts) -> Iterator[Place]:
    """An index that never was."""
    for install in parts.installs:
        for flavour, _, _ in _indexes(install):
            if flavour in _NEVER:
                yield Place(install.line, flavour)


def flavour_missing(parts: Parts) -> Iterator[Place]:
    """A torch release together with the index of a flavour that it has no wheel of."""
    for install in parts.installs:
        torch = _torch(install)
        match = _EXACT.match(torch.limits) if torch is not None else None
        told = _indexes(install)
        if torch is None or match is None or len(told) != 1 or told[0][1] or told[0][0] in _NEVER:
            continue
        flavour = told[0][0]
        if flavour.startswith("cu"):
            if numbers(match[1]) >= _CUDA_UNTIL.get(flavour, (99,)):
                yield Place(torch.line, f"torch {match[1]} from {flavour}")
            continue
        release = torch_release(match[1])
        if release is None or release.rocm is None:
            continue
        names = [one.flavour for one in release.rocm]
        # A series such as rocm6.2 stands for its patch releases too.
        if not any(name == flavour or name.startswith(f"{flavour}.") for name in names):
            yield Place(torch.line, f"torch {match[1]} from {flavour} (it has {', '.join(names)})")


def flavour_old(parts: Parts) -> Iterator[Place]:
    """torch without a version from an index that gets no new releases."""
    for install in parts.installs:
        torch = _torch(install)
        for flavour, nightly, _ in _indexes(install):
            old = flavour.startswith("rocm5.") or flavour in _CUDA_UNTIL
            if torch is not None and not torch.limits and old and (not nightly or flavour.startswith("rocm5.")):
                yield Place(torch.line, flavour)


def plain_torch(parts: Parts) -> Iterator[Place]:
    """torch from the usual index in an image that has ROCm and no torch yet."""
    if parts.kind != "dockerfile" or parts.own_index:
        return
    done: set[int] = set()
    bases = _bases(parts)
    for install in parts.installs:
        torch = _torch(install)
        base = bases.get(install.stage)
        if base is None or _PLAIN.fullmatch(base.repository) is None or install.how not in ("pip", "uv"):
            continue
        told = bool(install.indexes) or any("index" in one or "torch-backend" in one for one in install.options)
        if torch is not None and not told and install.stage not in done and not torch.limits.startswith("@"):
            yield Place(torch.line, f"{base.repository} and torch{torch.limits}")
        if torch is not None or told or "-r" in install.options or "--requirement" in install.options:
            done.add(install.stage)  # torch may be there now


def _bases(parts: Parts) -> dict[int, Image]:
    """For each stage of a Dockerfile the image that it stands on, also by way of other stages."""
    found = {image.stage: image for image in reversed(parts.images) if image.stage}
    for stage, below in sorted(parts.stages.items()):
        if stage not in found and below in found:
            found[stage] = found[below]
    return found


def two_releases(parts: Parts) -> Iterator[Place]:
    """Repositories or installers of two ROCm releases, one after the other."""
    found: list[tuple[int, tuple[int, ...], str]] = []
    for place, told in enumerate(parts.told()):
        one = told.one
        if not one.sure or (told.is_text and not _writes_list(parts, place)):
            continue
        stage = parts.places[place] if place < len(parts.places) else 0
        for word in one.words:
            if "repo.radeon" in word.text:
                found += [
                    (stage, numbers(match[1]), f"{match[1]} (line {word.line})")
                    for match in _SERIES.finditer(word.text)
                ]
        release = option(told.words, "rocmrelease") if told.dashed else None
        if release is not None and re.match(r"\d+\.\d+", release):
            found.append((stage, numbers(release)[:2], f"{release} (line {one.words[0].line})"))
    for stage in sorted({row[0] for row in found}):
        rows = {release: text for where, release, text in found if where == stage and (5,) <= release < (11,)}
        if len(rows) > 1:
            yield Place(int(list(rows.values())[-1].rpartition(" ")[2].rstrip(")")), " and ".join(rows.values()))


def _writes_list(parts: Parts, place: int) -> bool:
    """Whether a text goes into a list of package sources."""
    one = parts.commands[place]
    following = parts.commands[place + 1] if place + 1 < len(parts.commands) else None
    targets = list(one.targets)
    if following is not None and following.piped:
        targets += [word.text for word in following.words]
    return any("sources.list" in target or "yum.repos" in target for target in targets)


def other_suite(parts: Parts) -> Iterator[Place]:
    """Packages for one Ubuntu release in an image of another."""
    if parts.kind != "dockerfile":
        return
    bases = _bases(parts)
    for place, told in enumerate(parts.told()):
        one = told.one
        base = bases.get(parts.places[place] if place < len(parts.places) else 0)
        match = _BASES.fullmatch(base.repository) if base is not None else None
        if base is None or match is None or (told.is_text and not _writes_list(parts, place)):
            continue
        here = _UBUNTU.get(match[1] or base.tag[:5]) or next(
            (name for name in _UBUNTU.values() if base.tag == name), None
        )
        for word in one.words:
            for suite in (*_CODENAME.finditer(word.text), *_SUITE.finditer(word.text)):
                if here is not None and suite[1] != here and suite[1] in _UBUNTU.values():
                    yield Place(word.line, f"{suite[1]} packages in {base.repository}:{base.tag}")


def apt_key(parts: Parts) -> Iterator[Place]:
    """The key of AMD's repository added with apt-key."""
    ours = any("repo.radeon.com" in word.text for one in parts.commands for word in one.words)
    for told in parts.told() if ours else ():
        if told.head == "apt-key" and any(word.text == "add" for word in told.words[:6]):
            yield Place(told.one.words[0].line, "apt-key add")


RULES: Mapping[str, Callable[[Parts], Iterator[Place]]] = {
    "flavour-never": flavour_never,
    "flavour-missing": flavour_missing,
    "flavour-old": flavour_old,
    "plain-torch": plain_torch,
    "two-releases": two_releases,
    "other-suite": other_suite,
    "apt-key": apt_key,
}
