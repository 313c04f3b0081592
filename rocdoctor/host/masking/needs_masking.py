"""Texts that need no masking at all, told at a glance: most answers are a number or a path under /sys.

A text is plain when nothing in it could begin a secret or an identity. It is cheap to ask and never wrong to say no.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rocdoctor.host.masking.paths import WORDS as PATH_WORDS
from rocdoctor.host.masking.rules import load_tables
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

_LONGEST = 300
_MOST_NUMBERS = 4000  # signs; of more the different lines are looked at
# Four numbers, pairs of digits, long runs, capitals (as all codes have), and signs that join names and addresses.
_NOTABLE = regex(
    r"[a-z0-9]\.[a-z0-9.-]{0,80}\.[a-z]{2,6}(?![a-z0-9_])|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]|\d\.\d{1,3}\.\d{1,3}\.\d|"
    r"(?:[0-9a-f]{2}[:-]){3}|(?:[0-9a-f]{0,4}:){3}|::|[0-9a-f]{9}|(?:[0-9a-f]{2} ){12}|"
    r"\d{6}-\d{6}-|[A-Z@\\%$~]|[^\x00-\x7f]"
)
# Paths of the kernel in which a word stands that names a machine elsewhere; digits are 0.
_OF_KERNEL = regex(r"/topology/nodes(?=/0{1,4}(?:/|$))|(?<=/numa_)node$|^node(?=_(?:from|to) 0{1,5}$)", re.MULTILINE)
# Addresses of PCI devices and nodes of GPUs: what stands in most questions, and tells nothing; digits are 0.
_DEVICE = regex(
    r"(?<![0-9A-Za-z:.-])[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0(?![\w:.-])|/renderD(?:0{1,4}|\*)(?![\w.-])|"
    r"/sys/class/net/"
)
# Words that any step of masking looks for, beyond those of the tables.
_WORDS = (
    "://",
    "</",
    "unique",
    "hive_",
    "hive id",
    "guid",
    "uuid",
    "serial",
    "pdi",
    "machine",
    "boot_id",
    "boot-id",
    "bootid",
    "boot id",
    "invocation",
    "/journal",
    "asset",
    "service_tag",
    "service tag",
    "servicetag",
    "s/n",
    "wwn-",
    "eui.",
    "naa.",
    "nvme.",
    "/by-",
    "/home/",
    "/users/",
    "user=",
    "for user",
    "/media/",
    "logname",
    "whoami",
    "id -un",
    "id -nu",
    "uname -n",
    "user: ",
    "[user]",
    "hostname",
    "linux ",
    "nccl ",
    "_addr",
    "-addr",
    "nodelist",
    "nodename",
    "nodeaddr",
    "nodehost",
    "endpoint",
    "]:",
    "kernel:",
    "ip-",
    ".cluster",
    ".internal",
    "ssid",
    "enx",
    "wlx",
    "wwx",
    "gpu-",
    "mig-",
    "ssh",
    "scp ",
    "rsync",
    "sftp",
    "mosh",
    "-----",
    "(at)",
    "[at]",
    " dot ",
    " at ",
    "_at_",
)


@lru_cache(maxsize=1)
def _words() -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Words of up to three signs, and the others by their first four; digits are made equal."""
    tables = load_tables()
    words = {
        *tables.literals,
        *tables.span_literals,
        *tables.stems,
        *_WORDS,
        *PATH_WORDS,
    }
    words.update(word for place in tables.places for word in place.words)
    words.update(word for command in tables.commands for word in command.words)
    words = {alike(word) for word in words}
    by_start: dict[str, tuple[str, ...]] = {}
    for word in words:
        if len(word) > 3:
            by_start[word[:4]] = (*by_start.get(word[:4], ()), word)
    return tuple(sorted(word for word in words if len(word) <= 3)), by_start


def is_plain(text: str) -> bool:
    """Whether no step of masking but that of learned names and values could change the text."""
    return len(text) <= _LONGEST and _plain_shape(alike(text))


# Very long ones and pairs may be letters in hexadecimal.
_NUMBERS = regex(r"(?![0-9 \t\n-]*(?:[0-9]{20}|(?:[0-9]{2} ){12}))[ \t\n]*(?:-?[0-9]{1,19}(?:[ \t\n]+|\Z))*")


def is_numbers(text: str) -> bool:
    """Whether a text is nothing but numbers: they may be ids, and nothing else."""
    return len(text) <= _MOST_NUMBERS and _NUMBERS.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _plain_shape(text: str) -> bool:
    """Whether a text is plain whatever its digits are: captures have few shapes and many numbers."""
    text = _DEVICE.sub("\n", text)
    if _NOTABLE.search(text):
        return False
    text = _OF_KERNEL.sub("\n", text)
    short, by_start = _words()
    if any(word in text for word in short):
        return False
    starts = by_start.keys() & {text[at : at + 4] for at in range(len(text) - 3)}
    return not any(word in text for start in starts for word in by_start[start])
