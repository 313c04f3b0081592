"""What a fix can have done, by form: the commands, the files of the kernel, the start-up files.

A list of changes is read again when they are taken back. Whoever had it made elsewhere must not get more from it than
we would have written ourselves, so each step is held against these forms, and a step of no form is never begun either.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

from rocdoctor.insight.gpus.access import joinable
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.fixes.target_machine import USER_NAME, startup_patterns

_ACCOUNTS = frozenset(("/etc/group", "/etc/gshadow"))
# In bytes or with a unit, at most some petabytes: for tmpfs 0 is no limit at all (Documentation/filesystems/tmpfs.rst),
# and a number that does not fit into 64 bits may become it.
_SIZE = regex(r"remount,size=(?:[1-9][0-9]{0,15}|[1-9][0-9]{0,5}[KMG])\Z")
_KERNEL = regex(
    r"/proc/sys/kernel/numa_balancing\Z|/sys/kernel/mm/transparent_hugepage/enabled\Z"
    r"|/sys/(?:bus/pci/)?devices/[^\0]+/(?:scaling_governor|power_dpm_force_performance_level)\Z"
)
_WORD = regex(r"[A-Za-z0-9_-]{1,40}\Z")


def is_command(words: Sequence[str]) -> bool:
    """Whether it is a command that a finding may have run, or that takes one back."""
    if words[:2] == ("usermod", "-aG"):
        return len(words) == 4 and all(map(joinable, words[2].split(","))) and _is_user(words[3])
    if words[:2] == ("gpasswd", "-d"):
        return len(words) == 4 and _is_user(words[2]) and joinable(words[3])
    if words[:2] == ("mount", "-o"):
        return len(words) == 4 and _SIZE.match(words[2]) is not None and words[3] == "/dev/shm"
    return words == ("udevadm", "trigger", "--subsystem-match=kfd")


def is_undoing(words: Sequence[str], undo: Sequence[Sequence[str]], changes: Sequence[str]) -> bool:
    """Whether a command, what takes it back and the files that it changes belong together."""
    if not is_command(words) or not all(map(is_command, undo)):
        return False
    if words[0] == "usermod":
        groups = words[2].split(",")
        return set(changes) <= _ACCOUNTS and all(
            one[0] == "gpasswd" and one[2] == words[3] and one[3] in groups for one in undo
        )
    return not changes and words[0] in ("mount", "udevadm") and all(one[0] == words[0] == "mount" for one in undo)


def is_kernel(path: str, *values: str) -> bool:
    """Whether a finding may have these words written to a file of the kernel."""
    return ".." not in path.split("/") and _KERNEL.match(path) is not None and all(map(_WORD.match, values))


def is_startup(path: str, home: str) -> bool:
    """Whether it is one of the start-up files, whose lines a fix may switch off."""
    parts = path.split("/")
    if ".." in parts or not _is_path(path):
        return False
    return any(
        len(parts) == len(wanted) and all(map(_fits, parts, wanted))
        for wanted in (pattern.split("/") for pattern in startup_patterns(home))
    )


def _fits(part: str, wanted: str) -> bool:
    return part == wanted or ("*" in wanted and fnmatchcase(part, wanted))


def _is_user(word: str) -> bool:
    return USER_NAME.match(word) is not None


def _is_path(text: str) -> bool:
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False
