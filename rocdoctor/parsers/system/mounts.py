"""Mounted file systems: /proc/mounts, /proc/PID/mountinfo and `mount`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, to_bytes, whole_number

_ESCAPE = regex(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: ``device`` as the kernel names it, ``options`` of the mount and of the file system, in order."""

    mount_point: str
    kind: str
    options: tuple[str, ...]
    line: int

    def option(self, name: str) -> str | None:
        """The value of "name=value", "" for a bare "name", None where the option is not there (the last one counts)."""
        for option in reversed(self.options):
            key, _, value = option.partition("=")
            if key == name:
                return value
        return None

    @property
    def size_bytes(self) -> int | None:
        """The size option of a tmpfs; None where it is left at the default (half of memory) or is a percentage."""
        value = self.option("size")
        return to_bytes(value) if value and not value.endswith("%") else None


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Reads /proc/mounts, mountinfo or the output of `mount`, told apart line by line."""
    mounts: list[Mount] = []
    for line, raw in enumerate(lines_of(text), 1):
        mount = _mountinfo(raw, line) or _command(raw, line) or _fstab_like(raw, line)
        if mount is not None:
            mounts.append(mount)
    return tuple(mounts)


def mount_at(mounts: Sequence[Mount], path: str) -> Mount | None:
    """The mount whose mount point is exactly ``path``; of several on top of each other the last, which is seen."""
    return next((mount for mount in reversed(mounts) if mount.mount_point == path), None)


def _mountinfo(raw: str, line: int) -> Mount | None:
    before, dash, after = raw.partition(" - ")
    left, right = before.split(), after.split()
    if not dash or len(left) < 6 or len(right) < 2 or whole_number(left[0]) is None or ":" not in left[2]:
        return None
    options = left[5].split(",") + (right[2].split(",") if len(right) > 2 else [])
    return Mount(_plain(left[4]), right[0], tuple(options[:200]), line)


def _fstab_like(raw: str, line: int) -> Mount | None:
    words = raw.split()
    if len(words) != 6 or not words[1].startswith("/") or words[4] not in ("0", "1") or whole_number(words[5]) is None:
        return None
    return Mount(_plain(words[1]), words[2], tuple(words[3].split(",")[:200]), line)


def _command(raw: str, line: int) -> Mount | None:
    head, bracket, options = raw.strip()[:4000].rpartition(" (")
    place, typed, kind = head.rpartition(" type ")
    _, on, point = place.partition(" on /")
    if not (bracket and typed and on) or not options.endswith(")") or " " in kind.strip():
        return None
    return Mount("/" + point, kind.strip(), tuple(options[:-1].split(",")[:200]), line)


def _plain(text: str) -> str:
    """Blanks, tabs, newlines and backslashes stand in these files as three octal digits."""
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8) & 0xFF), text)
