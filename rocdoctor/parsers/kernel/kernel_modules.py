"""Kernel modules: what is loaded, how modprobe is configured, what DKMS built, what modinfo says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, to_int

_DKMS = regex(
    r"([A-Za-z0-9_.+-]{1,80})(?:/|, )([^,:\s]{1,80})(?:, ([^,:\s]{1,120}), ([A-Za-z0-9_]{2,16}))?: ([a-z-]{4,24})"
)
_NAME = regex(r"[A-Za-z0-9_]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class ModprobeRule:
    """One line of modprobe.d: ``kind`` "blacklist", "options", "install", "remove", "softdep" or "alias".

    ``options`` of an options line by name (None for a bare word), ``rest`` everything after the module as written.
    ``install amdgpu /bin/false`` keeps a module out more strongly than a blacklist (see ``blocks``).
    """

    kind: str
    module: str
    rest: str
    options: dict[str, str | None]
    line: int

    @property
    def blocks(self) -> bool:
        """True when the rule keeps the module from being loaded by itself (blacklist) or at all (install)."""
        if self.kind == "blacklist":
            return True
        words = self.rest.split()
        return self.kind == "install" and bool(words) and words[0].rsplit("/", 1)[-1] in ("false", "true", ":")


@dataclass(frozen=True, slots=True)
class DkmsEntry:
    """One line of `dkms status`: ``state`` "added", "built", "installed" or "broken"; kernel None for "added"."""

    module: str
    version: str
    kernel: str | None
    arch: str | None
    state: str


def module_name(name: str) -> str:
    """The name as the kernel lists it: "-" and "_" are one, ".ko" and compression endings are no part of it."""
    return re.sub(r"\.ko(?:\.(?:xz|gz|zst))?\Z", "", name.strip()).replace("-", "_")


def parse_modules(text: str) -> tuple[str, ...]:
    """The names in /proc/modules or `lsmod`, with "_" for "-"."""
    names: list[str] = []
    for raw in lines_of(text, 20_000):
        words = raw.split()
        size = to_int(words[1]) if len(words) >= 3 else None
        used = to_int(words[2]) if len(words) >= 3 else None
        if size is None or size < 0 or not _NAME.match(words[0]) or (used is None and words[2] != "-"):
            continue
        if len(words) > 4 and not (len(words) >= 6 and words[4] in ("Live", "Loading", "Unloading")):
            continue
        names.append(words[0])
    return tuple(names)


def parse_modprobe(text: str) -> tuple[ModprobeRule, ...]:
    """Reads files of /etc/modprobe.d or `modprobe --showconfig` (modprobe.d(5)); a backslash joins lines."""
    rules: list[ModprobeRule] = []
    pending, start = "", 0
    for number, raw in enumerate(lines_of(text), 1):
        if not pending:
            start = number
        if raw.endswith("\\") and len(pending) < 65_536:
            pending += raw[:-1] + " "
            continue
        stripped, pending = (pending + raw).strip(), ""
        words = stripped.split(None, 2)
        if len(words) < 2 or stripped.startswith("#"):
            continue
        kind, module = words[0], module_name(words[1])
        if kind not in ("blacklist", "options", "install", "remove", "softdep", "alias"):
            continue
        if kind != "alias" and not _NAME.match(module):
            continue
        rest = words[2].strip() if len(words) > 2 else ""
        options: dict[str, str | None] = {}
        if kind == "options":
            for word in rest.split()[:500]:
                if word.startswith("#"):
                    break
                name, equals, value = word.partition("=")
                options[name.replace("-", "_")] = value.strip('"') if equals else None
        rules.append(ModprobeRule(kind, module, rest, options, start))
    return tuple(rules)


def parse_dkms_status(text: str) -> tuple[DkmsEntry, ...]:
    """Reads `dkms status`, both as "amdgpu/6.8.5, 6.8.0-45-generic, x86_64: installed" and with ", " for "/"."""
    entries: list[DkmsEntry] = []
    for raw in lines_of(text, 5000):
        match = _DKMS.match(raw.strip()[:600])
        if match is None or match.group(5) not in ("added", "built", "installed", "broken", "installed-weak"):
            continue
        entries.append(DkmsEntry(*match.groups()))
    return tuple(entries)
