"""Recognises ROCm and CUDA installations in lists of paths, links and version files.

Layouts (rocm.docs.amd.com transition guide, install pages of 7.2 and 10.0, Debian and Fedora package lists): classic
``/opt/rocm-6.2.0`` with the link ``/opt/rocm``; core ``/opt/rocm/core-10.0`` with the alternatives link
``/opt/rocm/core``; distribution packages below ``/usr`` (Arch puts them into ``/opt/rocm``); wheels with a folder
``_rocm_sdk_core`` in site-packages. ROCm 7.9 and later are built in the core way, wherever they lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from posixpath import dirname, join, normpath
from typing import Literal

from rocdoctor.model.lazy_re import regex

Kind = Literal["classic", "core", "distribution", "wheel"]

MAX_PATHS = 100_000
MAX_TEXT = 100_000
FIRST_CORE = (7, 9)  # numbers from 7.3 to 7.8 were never given out (release notes of 7.9.0)

_VERSION = regex(r"(?<![\w.])(\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)(?:-([\w.~+]{1,60}))?")
_CLASSIC = regex(r"(/.*)?/rocm-(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)[^/]*")
_CORE = regex(r"(/.*)?/rocm/core-(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_ROOT = regex(r"(?:/[^/]+)*/(?:rocm|rocm-\d[^/]*|rocm/core|rocm/core-\d[^/]*|_rocm_sdk_core)")
_BELOW_ROOT = regex(r"(/opt/(?:rocm-\d[^/]*|rocm/core-\d[^/]*))/.*")
_VERSION_FILE = regex(r"(/.*)/(?:\.info/version|include/(?:rocm-core/)?rocm_version\.h)")
_HIP_FILE = regex(r"(/.*)/(?:share/hip/version|bin/\.hipVersion)")
_CORE_LIBRARY = regex(r"(/.*)/lib(?:64)?(?:/[\w-]+-linux-gnu)?/librocm-core\.so\.1\.0\.(\d{5,6})")
_HIP_LIBRARY = regex(r"(/usr)/lib(?:64|/[\w-]+-linux-gnu)?/libamdhip64\.so\.(\d+(?:\.\d+)*)")
_WHEEL_METADATA = regex(r"(/.*)/rocm_sdk_core-(\d[^/-]*)\.dist-info")
_CUDA_ROOT = regex(r"(/usr/local|/opt)/cuda(?:-(\d{1,2}\.\d{1,2}))?")
_CUDA_FILE = regex(r"((?:/[^/]+)*/cuda[^/]*)/version\.(?:json|txt)")


@dataclass(frozen=True, slots=True)
class RocmInstallFiles:
    """One ROCm installation; ``version`` is its release, HIP is numbered apart from ROCm 10.0 on.

    ``aliases`` are other names of the same folder. ``source`` is the path that told the version, ``line`` its line. A
    folder that only its own name vouches for may be an empty leftover: then ``source`` is ``root``.
    """

    root: str
    kind: Kind
    version: str | None
    build: str | None = None
    hip_version: str | None = None
    aliases: tuple[str, ...] = ()
    source: str | None = None
    line: int | None = None
    named_version: str | None = None  # the release in the folder's name


@dataclass(frozen=True, slots=True)
class CudaToolkitFiles:
    """One CUDA toolkit (not the driver's CUDA version)."""

    root: str
    version: str | None
    source: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class _Told:
    version: str
    build: str | None
    source: str
    line: int | None


def release_key(version: str) -> tuple[int, ...]:
    """A release for comparison: its numbers, "7.14.0-rc1" -> (7, 14, 0)."""
    found = _VERSION.search(version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def plausible(version: str) -> bool:
    """True for a number that a ROCm release can have (3.0 to 12.x): not LLVM's 18.0, not a placeholder's 0.1.0."""
    return (3,) <= release_key(version) < (13,)


def decode_release(digits: str) -> str | None:
    """The release in AMD's five or six digits, "60204" -> "6.2.4"; None for numbers that no release can have."""
    if not digits.isascii() or not digits.isdigit() or not 5 <= len(digits) <= 6:
        return None
    major, minor, patch = int(digits[:-4]), int(digits[-4:-2]), int(digits[-2:])
    return f"{major}.{minor}.{patch}" if 3 <= major <= 12 and minor <= 19 and patch <= 9 else None


def rocm_installs(
    paths: Iterable[str], texts: Mapping[str, str], links: Mapping[str, str] | None = None, os_id: str | None = None
) -> tuple[RocmInstallFiles, ...]:
    """The installations that paths, version files (path -> text) and links (path -> target) give, by root.

    ``os_id`` is the ID of os-release: on Arch, ``/opt/rocm`` is the distribution's.
    """
    known = _known_paths(paths, texts)
    targets = {_tidy(path): target for path, target in (links or {}).items()}
    told: dict[str, list[_Told]] = {}
    hip: dict[str, str] = {}
    roots: dict[str, None] = {}
    for path in known:
        text = texts.get(path)
        root = _claim(path, text, told, hip)
        if root is not None:
            roots[root] = None
    aliases: dict[str, set[str]] = {}
    real_roots: dict[str, None] = {}
    for root in roots:
        real = _resolve(root, targets)
        real_roots[real] = None
        if real != root:
            aliases.setdefault(real, set()).add(root)
            told.setdefault(real, []).extend(told.get(root, []))
            if root in hip:
                hip.setdefault(real, hip[root])
    _add_link_names(targets, real_roots, aliases)
    found = []
    for root in real_roots:
        entry = _install(root, told.get(root, []), hip.get(root), tuple(sorted(aliases.get(root, ()))), os_id)
        if entry is not None:
            found.append(entry)
    return tuple(sorted(_merge_copies(found), key=lambda item: item.root))


def cuda_toolkits(
    paths: Iterable[str], texts: Mapping[str, str], links: Mapping[str, str] | None = None
) -> tuple[CudaToolkitFiles, ...]:
    """The CUDA toolkits that paths, version.json and version.txt files, and links give, by root."""
    targets = {_tidy(path): target for path, target in (links or {}).items()}
    told: dict[str, _Told] = {}
    roots: set[str] = set()
    for path in _known_paths(paths, texts):
        file, plain = _CUDA_FILE.fullmatch(path), _CUDA_ROOT.fullmatch(path)
        root = file.group(1) if file else path if plain else None
        if root is None:
            continue
        real = _resolve(root, targets)
        roots.add(real)
        version = cuda_version(texts[path]) if file and path in texts else None
        if version and real not in told:
            told[real] = _Told(version[0], None, path, version[1])
    found = []
    for root in sorted(roots):
        named = _CUDA_ROOT.fullmatch(root)
        fallback = named.group(2) if named else None
        entry = told.get(root) or (_Told(fallback, None, root, None) if fallback else None)
        if entry is None and named is None:
            continue
        values = (entry.version, entry.source, entry.line) if entry else (None, None, None)
        found.append(CudaToolkitFiles(root, values[0], values[1], values[2]))
    return tuple(found)


def cuda_version(text: str) -> tuple[str, int] | None:
    """The toolkit release in a version.json or version.txt ("CUDA Version 10.2.89") and its line."""
    text = text[:MAX_TEXT]
    if text.lstrip().startswith("{"):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return None
        entry = values.get("cuda") if isinstance(values, dict) else None
        version = entry.get("version") if isinstance(entry, dict) else None
        if not isinstance(version, str) or not release_key(version):
            return None
        lines = enumerate(text.splitlines(), 1)
        return version, next((number for number, line in lines if f'"{version}"' in line), 1)
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"CUDA Version (\d{1,3}\.\d{1,3}(?:\.\d{1,5})?)", line)
        if found:
            return found.group(1), number
    return None


def rocm_version(text: str) -> tuple[str, str | None, int] | None:
    """(release, build, line) in a ``.info/version`` file ("6.2.0-66") or in rocm_version.h."""
    numbers: dict[str, str] = {}
    for number, line in enumerate(text[:MAX_TEXT].splitlines(), 1):
        define = re.match(r"\s*#\s*define\s+ROCM_VERSION_(MAJOR|MINOR|PATCH)\s+(\d{1,3})\b", line)
        if define:
            numbers[define.group(1)] = define.group(2)
            if len(numbers) == 3:
                return ".".join(numbers[part] for part in ("MAJOR", "MINOR", "PATCH")), None, number
            continue
        plain = _VERSION.fullmatch(line.strip())
        if plain:
            return plain.group(1), plain.group(2), number
    return None


def hip_version(text: str) -> str | None:
    """major.minor.patch of HIP in ``share/hip/version`` or ``bin/.hipVersion``."""
    found = dict(re.findall(r"(?m)^HIP_VERSION_(MAJOR|MINOR|PATCH)=(\d{1,9})\s*$", text[:MAX_TEXT]))
    parts = [found.get(part) for part in ("MAJOR", "MINOR", "PATCH")]
    numbers = [part for part in parts if part is not None]
    return ".".join(numbers) if len(numbers) == 3 else None


def _known_paths(paths: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    every = dict.fromkeys([*islice(paths, MAX_PATHS), *islice(texts, MAX_PATHS)])
    return [path if path in texts else _tidy(path) for path in every if path.startswith("/") and len(path) < 4096]


def _tidy(path: str) -> str:
    return path.rstrip("/") or "/"


def _claim(path: str, text: str | None, told: dict[str, list[_Told]], hip: dict[str, str]) -> str | None:
    """The root that a path belongs to when it shows an installation; notes the versions that it tells."""
    if file := _VERSION_FILE.fullmatch(path):
        version = rocm_version(text) if text is not None else None
        if version:
            told.setdefault(file.group(1), []).append(_Told(version[0], version[1], path, version[2]))
        return file.group(1) if version or _ROOT.fullmatch(file.group(1)) else None
    if file := _HIP_FILE.fullmatch(path):
        version_text = hip_version(text) if text is not None else None
        if version_text:
            hip.setdefault(file.group(1), version_text)
        return file.group(1) if version_text or _ROOT.fullmatch(file.group(1)) else None
    if library := _CORE_LIBRARY.fullmatch(path):
        release = decode_release(library.group(2))
        if release:
            told.setdefault(library.group(1), []).append(_Told(release, None, path, None))
        return library.group(1) if release else None
    if library := _HIP_LIBRARY.fullmatch(path):
        number = library.group(2)
        if number.count(".") == 2 and hip.get("/usr", "").count(".") < 2:
            hip["/usr"] = number
        return "/usr"
    if wheel := _WHEEL_METADATA.fullmatch(path):
        root = wheel.group(1) + "/_rocm_sdk_core"
        # Version 0.1.0 and the like are empty placeholders on PyPI.
        if not plausible(wheel.group(2)):
            return None
        told.setdefault(root, []).append(_Told(wheel.group(2), None, path, None))
        return root
    if below := _BELOW_ROOT.fullmatch(path):
        return below.group(1)
    return path if _ROOT.fullmatch(path) else None


def _resolve(path: str, links: Mapping[str, str]) -> str:
    for _ in range(8):
        target = links.get(path)
        if not target:
            break
        path = _tidy(normpath(join(dirname(path), target)))
    return path


def _add_link_names(links: Mapping[str, str], roots: Mapping[str, None], aliases: dict[str, set[str]]) -> None:
    for name in islice(links, MAX_PATHS):
        real = _resolve(name, links)
        if real in roots and real != name and not name.startswith("/etc/alternatives/"):
            aliases.setdefault(real, set()).add(name)


def _install(
    root: str, told: list[_Told], hip: str | None, aliases: tuple[str, ...], os_id: str | None
) -> RocmInstallFiles | None:
    named = _CLASSIC.fullmatch(root) or _CORE.fullmatch(root)
    named_version = named.group(2) if named else None
    # Files tell more than the library's name, the folder's name least.
    order = sorted(told, key=lambda item: (not item.source.endswith("version"), not item.source.endswith(".h")))
    best = order[0] if order else None
    if best is None and named_version is not None and root.startswith("/opt/"):
        best = _Told(named_version, None, root, None)
    version = best.version if best else None
    if version is None and hip is None and root != "/usr":
        # A bare /opt/rocm is only the folder of core-10.0 and its like, or a link whose target nobody read.
        return None
    if root.endswith("/_rocm_sdk_core"):
        kind: Kind = "wheel"
    elif root in ("/usr", "/usr/local") or (
        root == "/opt/rocm" and os_id in ("arch", "manjaro", "endeavouros", "cachyos")
    ):
        kind = "distribution"
    elif _CORE.fullmatch(root) or (version is not None and release_key(version) >= FIRST_CORE):
        kind = "core"
    else:
        kind = "classic"
    values = (best.build, best.source, best.line) if best else (None, None, None)
    return RocmInstallFiles(root, kind, version, values[0], hip, aliases, values[1], values[2], named_version)


def _merge_copies(found: list[RocmInstallFiles]) -> list[RocmInstallFiles]:
    """Takes /opt/rocm for another name of the one installation of its version where no link was read."""
    copies = [item for item in found if item.root in ("/opt/rocm", "/opt/rocm/core")]
    others = [item for item in found if item not in copies]
    for item in copies:
        same = [
            other
            for other in others
            if other.named_version and other.source != other.root
            if (other.version, other.build) == (item.version, item.build)
        ]
        if len(same) != 1:
            others.append(item)
            continue
        aliases = tuple(sorted({*same[0].aliases, *item.aliases, item.root}))
        merged = replace(same[0], aliases=aliases, hip_version=same[0].hip_version or item.hip_version)
        others[others.index(same[0])] = merged
    return others
