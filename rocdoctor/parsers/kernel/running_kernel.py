"""The running kernel: command line, version, taint, lockdown, secure boot and /proc/sys values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

_VERSION = regex(r"Linux version (\S{1,120})(?: \(([^()]{0,200})\))?(.{0,1000})")
_BUILD = regex(r"#\d{1,6}\S{0,80} .{0,300}\Z")
_UNAME = regex(r"Linux \S{1,255} (\d\S{1,120}) (#\d.{1,300})\Z")
_RELEASE = regex(r"(\d{1,4})\.(\d{1,5})(?:\.(\d{1,5}))?(?!\d)")
_MACHINES = frozenset({"x86_64", "aarch64", "ppc64le", "ppc64", "riscv64", "s390x", "i686", "loongarch64", "armv7l"})


@dataclass(frozen=True, slots=True)
class Cmdline:
    """The kernel's command line as (name, value) pairs; the value is None for a bare word, quotes are taken off.

    What follows "--" goes to init and is left out. Names are compared as the kernel does: "-" and "_" are one.
    """

    parameters: tuple[tuple[str, str | None], ...] = ()

    def get(self, name: str) -> str | None:
        """The value that counts: that of the last mention; None where there is none (see ``has``)."""
        return next((value for key, value in reversed(self.parameters) if _plain(key) == _plain(name)), None)

    def options(self, name: str) -> tuple[str, ...]:
        """All comma-separated options of a parameter that adds up over its mentions: pci=, iommu=, amd_iommu=."""
        found: list[str] = []
        for key, value in self.parameters:
            if _plain(key) == _plain(name) and value:
                found.extend(option for option in value.split(",") if option)
        return tuple(found)

    def blacklisted_modules(self) -> tuple[str, ...]:
        """Modules that modprobe.blacklist= or module_blacklist= keep out."""
        return tuple(_plain(name) for key in ("modprobe.blacklist", "module_blacklist") for name in self.options(key))


@dataclass(frozen=True, slots=True)
class KernelVersion:
    """Release ("6.8.0-45-generic") and, from uname -a, the machine ("x86_64")."""

    release: str
    machine: str | None = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class SecureBoot:
    """Secure boot: ``enabled`` None where the text does not tell or the machine has no UEFI."""

    enabled: bool | None = None
    line: int | None = None


def parse_cmdline(text: str) -> Cmdline:
    """Reads /proc/cmdline or the value of a boot loader's variable; double quotes keep blanks together."""
    parameters: list[tuple[str, str | None]] = []
    for word in _words(text[:65_536]):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name:
            parameters.append((name, value if equals else None))
    return Cmdline(tuple(parameters))


def _words(text: str) -> list[str]:
    words: list[str] = []
    current: list[str] = []
    quoted = started = False
    for char in text:
        if char == '"':
            quoted = not quoted
            started = True
        elif not quoted and (char.isspace() or char == "\0"):
            if started:
                words.append("".join(current))
            current, started = [], False
        else:
            current.append(char)
            started = True
    if started:
        words.append("".join(current))
    return words


def _plain(name: str) -> str:
    return name.replace("-", "_")


def parse_version(text: str) -> KernelVersion | None:
    """Reads /proc/version, `uname -a`, `uname -sr` or `uname -r`; None where no release is in the text.

    The host name of `uname -a` is not kept.
    """
    for line, raw in enumerate(lines_of(text, 200), 1):
        stripped = raw.strip()[:2000]
        proc = _VERSION.search(stripped)
        if proc:
            return KernelVersion(proc.group(1), None, line)
        words = stripped.split()
        if words and release_number(words[0]) and len(words) == 1 and words[0][0].isdigit():
            return KernelVersion(words[0], line=line)
        if words[:1] == ["Linux"] and len(words) == 2 and release_number(words[1]):
            return KernelVersion(words[1], line=line)
        uname = _UNAME.match(stripped)
        if uname:
            machine = next((word for word in reversed(uname.group(2).split()) if word in _MACHINES), None)
            return KernelVersion(uname.group(1), machine, line)
    return None


def release_number(release: str) -> tuple[int, int, int] | None:
    """(6, 8, 0) from "6.8.0-45-generic", (6, 1, 0) from "6.1-rc3"; None for other texts."""
    match = _RELEASE.match(release)
    return None if match is None else (int(match.group(1)), int(match.group(2)), int(match.group(3) or 0))


def parse_mokutil(text: str) -> SecureBoot:
    """Reads `mokutil --sb-state`, or the "Secure Boot:" line of `bootctl status`."""
    enabled: bool | None = None
    where: int | None = None
    for line, raw in enumerate(lines_of(text, 500), 1):
        low = raw.strip().lower()
        if low.startswith(("efi variables are not supported", "not booted with efi")):
            return SecureBoot(None, line)
        if low.startswith("this system doesn't support secure boot"):
            return SecureBoot(False, line)
        if enabled is None and low.startswith(("secureboot enabled", "secure boot: enabled")):
            enabled, where = True, line
        elif enabled is None and low.startswith(("secureboot disabled", "secure boot: disabled")):
            enabled, where = False, line
    return SecureBoot(enabled, where)


def secure_boot_variable(data: bytes) -> bool | None:
    """The efivar SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c: four bytes of attributes, then 0 or 1."""
    if len(data) == 5 and data[4] in (0, 1):
        return data[4] == 1
    return None


@dataclass(frozen=True, slots=True)
class Sysctls:
    """`sysctl -a` or sysctl.conf: values as text by name with dots, 1-based ``lines`` by the same name."""

    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def parse_sysctl(text: str) -> Sysctls:
    """Reads "kernel.numa_balancing = 1" lines; comments are passed over and the last value counts."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, raw in enumerate(lines_of(text, 50_000), 1):
        stripped = raw.strip().removeprefix("-").strip()
        name, equals, value = stripped.partition("=")
        name = name.strip().replace("/", ".")
        if equals and re.match(r"[a-z][A-Za-z0-9_.-]{2,120}\Z", name) and "." in name:
            values[name], lines[name] = value.strip()[:4096], line
    return Sysctls(values, lines)
