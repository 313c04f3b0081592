"""Installed packages as the package managers list them: pip, conda, dpkg, rpm, pacman, apk."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.json_text import load_json
from rocdoctor.parsers.formats.text import lines_of

_PIP_NAME = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,120}[A-Za-z0-9])?\Z")
_FREEZE = regex(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,120})(?:\[[^\]]{0,80}\])?(===?)([^\s;#]{1,120})(?=[ \t]*(?:[;#\\]|--hash|\Z))"
)
_FREEZE_URL = regex(r"([A-Za-z0-9][A-Za-z0-9._-]{0,120}) @ (\S{1,2000})\Z")
_WHEEL_VERSION = regex(r"/[A-Za-z0-9_.]{1,120}-([0-9][A-Za-z0-9_.+!%]{0,80})-[^/-]{1,40}-[^/-]{1,40}-[^/]{1,120}\.whl")
_VERSION = regex(r"[0-9][A-Za-z0-9.+!_-]{0,100}\Z")
_DPKG = regex(r"([uihrp][ncHUFWti][ R]?)[ \t]+(\S{1,120})[ \t]+([0-9]\S{0,119}|<none>)(?:[ \t]+(\S{1,20}))?")
_RPM = regex(r"(\S{1,160})-([^\s-]{1,100})-([^\s-]{1,100})\.(x86_64|noarch|aarch64|ppc64le|i686|s390x|src)\Z")
_RPM_BARE = regex(r"([A-Za-z0-9][A-Za-z0-9+._-]{0,120}?)-([0-9][^\s-]{0,100})-([^\s-]{1,100})\Z")


@dataclass(frozen=True, slots=True)
class Package:
    """One package: ``version`` as listed (with rpm's release), None where the list has none (a source tree)."""

    name: str
    version: str | None
    line: int


def canonical_name(name: str) -> str:
    """A Python package's name in the form in which names are compared (PEP 503): lower case, "-" between parts."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_pip_list(text: str) -> tuple[Package, ...]:
    """Reads `pip list` in columns, `pip freeze`, `pip list --format=json`, and uv's likenesses of them."""
    if text.lstrip()[:1] == "[":
        return _json(text)
    found: list[Package] = []
    in_columns = False
    for line, raw in enumerate(lines_of(text, 50_000), 1):
        stripped = raw.strip()[:2500]
        words = stripped.split()
        if words[:2] == ["Package", "Version"]:
            in_columns = True
            continue
        if not words or set(stripped) <= {"-", " "}:
            continue
        frozen = _frozen(stripped, line)
        if frozen is not None:
            found.append(frozen)
        elif in_columns:
            if len(words) < 2 or not _PIP_NAME.match(words[0]) or not _VERSION.match(words[1]):
                in_columns = False
                continue
            found.append(Package(words[0], words[1], line))
    return tuple(found)


def _frozen(stripped: str, line: int) -> Package | None:
    exact = _FREEZE.match(stripped)
    if exact:
        return Package(exact.group(1), exact.group(3), line)
    url = _FREEZE_URL.match(stripped)
    if url:
        wheel = _WHEEL_VERSION.search(url.group(2))
        version = wheel.group(1).replace("%2B", "+").replace("%2b", "+") if wheel else None
        return Package(url.group(1), version, line)
    if stripped.startswith("-e ") and "#egg=" in stripped:
        name = stripped.rsplit("#egg=", 1)[1].split("&")[0]
        return Package(name, None, line) if _PIP_NAME.match(name) else None
    return None


def _json(text: str) -> tuple[Package, ...]:
    found = load_json(text)
    if found is None or not isinstance(found.value, list):
        return ()
    packages: list[Package] = []
    for index, item in enumerate(found.value[:50_000]):
        if not isinstance(item, dict):
            continue
        name, version = item.get("name"), item.get("version")
        if isinstance(name, str) and _PIP_NAME.match(name):
            listed = version if isinstance(version, str) else None
            packages.append(Package(name, listed, found.line_of(index, "name")))
    return tuple(packages)


def parse_conda_list(text: str) -> tuple[Package, ...]:
    """Reads `conda list` ("# Name Version Build Channel") or `conda list --json`; mamba prints the same."""
    if text.lstrip()[:1] == "[":
        return _json(text)
    found: list[Package] = []
    for line, raw in enumerate(lines_of(text, 50_000), 1):
        words = raw.split()
        if not 2 <= len(words) <= 4 or words[0].startswith("#") or not _VERSION.match(words[1]):
            continue
        if re.match(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}\Z", words[0]):
            found.append(Package(words[0], words[1], line))
    return tuple(found)


def parse_dpkg(text: str) -> tuple[Package, ...]:
    """Reads `dpkg -l` (but not what was removed) or `dpkg-query -W`, "name<TAB>version"; ":amd64" is left out."""
    found: list[Package] = []
    for line, raw in enumerate(lines_of(text), 1):
        match = _DPKG.match(raw[:600])
        if match:
            state, name, version, _ = match.groups()
            if state[1] in "nc":  # not there, or removed with its settings kept
                continue
            found.append(Package(name.partition(":")[0], None if version == "<none>" else version, line))
            continue
        parts = raw.strip().split("\t")
        if len(parts) == 2 and re.match(r"[a-z0-9][a-z0-9+.:-]{0,120}\Z", parts[0]) and " " not in parts[1].strip():
            found.append(Package(parts[0].partition(":")[0], parts[1].strip() or None, line))
    return tuple(found)


def parse_rpm(text: str) -> tuple[Package, ...]:
    """Reads `rpm -qa`: name-version-release.arch, version and release kept together ("6.2.0-66.el8")."""
    found: list[Package] = []
    for line, raw in enumerate(lines_of(text), 1):
        stripped = raw.strip()[:400]
        match = _RPM.match(stripped)
        if match:
            name, version, release, _ = match.groups()
            found.append(Package(name, f"{version}-{release}", line))
            continue
        bare = _RPM_BARE.match(stripped)
        if bare:
            found.append(Package(bare.group(1), f"{bare.group(2)}-{bare.group(3)}", line))
    return tuple(found)


def parse_pacman(text: str) -> tuple[Package, ...]:
    """Reads `pacman -Q`: "name version" a line."""
    found: list[Package] = []
    for line, raw in enumerate(lines_of(text), 1):
        words = raw.split()
        if len(words) == 2 and re.match(r"[a-z0-9@][A-Za-z0-9@._+-]{0,120}\Z", words[0]) and _pacman_version(words[1]):
            found.append(Package(words[0], words[1], line))
    return tuple(found)


def _pacman_version(word: str) -> bool:
    return re.match(r"(?:\d{1,6}:)?[A-Za-z0-9][A-Za-z0-9._+]{0,80}-\d[0-9.]{0,10}\Z", word) is not None
