"""What the gate of a node needs: little, of the standard library alone, since it runs before every job."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.fleet.classes import EVENTS, class_of
from rocdoctor.host.live.trust import owner_of

MOST_BYTES = 1024 * 1024
_MOST = 1 << 60  # a number of any length may stand in a record, and not every one is a float
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """Whether a job may start here, and why or why not; ``known``: a record of this boot says so."""

    open: bool
    why: str
    known: bool = True


def boot_of(root: str = "/") -> str | None:
    """A name of this boot, which tells nothing of the machine; None where the kernel does not say."""
    try:
        with open(os.path.join(root, "proc/sys/kernel/random/boot_id"), "rb") as stream:
            told = stream.read(100).strip()
    except OSError:
        return None
    return boot_name(told) if told else None


def boot_name(boot_id: bytes) -> str:
    """The name of the boot with this id of the kernel."""
    return f"b-{hashlib.sha256(b'boot ' + boot_id).hexdigest()[:12]}"


def gate(path: str, now: float, most_age_s: float, root: str = "/") -> GateAnswer:
    """What the last record and the bus say. Only a fault that is certain closes: what is not known does not.

    A record of another boot, an old one, or none proves nothing of now.
    """
    data, why = _record(path)
    if data is None:
        return GateAnswer(True, why, False)
    boot = boot_of(root)
    if boot is None or data.get("boot") != boot:
        return GateAnswer(True, "the last record is from another boot", False)
    if gone := _gone(data, root):
        return GateAnswer(False, f"GPU {gone} was there when this node was recorded in this boot and is gone")
    age = now - _number(data.get("taken_at"))
    if not -60 <= age < float("inf"):
        return GateAnswer(True, "the last record has no time that can be", False)
    if age > most_age_s:
        return GateAnswer(True, f"the last record is {age / 60:.0f} min old", False)
    for one in data.get("findings") or ():
        if isinstance(one, dict) and _certain(one):
            place = "" if one.get("gpu") is None else f"gpu {_number(one.get('gpu')):.0f}: "
            return GateAnswer(False, f"{place}{_plain(one.get('message'))} [{_plain(one.get('check'))}]")
    return GateAnswer(True, f"no certain fault {max(age, 0) / 60:.0f} min ago")


def _record(path: str) -> tuple[Mapping[str, Any] | None, str]:
    try:
        descriptor = os.open(path, _FLAGS)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None, "the record is not a regular file"
            if not _ours(descriptor):
                return None, "others can change the record"
            content = stream.read(MOST_BYTES + 1)
        data = json.loads(content) if len(content) <= MOST_BYTES else None
    except FileNotFoundError:
        return None, "no record yet"
    except OSError as error:
        return None, f"the record cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        data = None
    good = isinstance(data, dict) and isinstance(data.get("gpus"), list) and isinstance(data.get("findings"), list)
    return (data, "") if good else (None, "the record makes no sense")


def _ours(descriptor: int) -> bool:
    """Whether root and we alone wrote a record: else anybody could close the node to the jobs of others."""
    status = os.fstat(descriptor)
    mine = getattr(os, "geteuid", lambda: status.st_uid)()
    return owner_of(status, descriptor) in (0, mine) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _certain(one: Mapping[str, Any]) -> bool:
    """Seen in both looks of a run; a line of the log is there in both, however old it is."""
    words = [one.get(name) for name in ("check", "severity", "confidence")]
    if not all(isinstance(word, str) for word in words) or _number(one.get("looks")) < 2:
        return False
    return words[0] not in EVENTS and class_of(str(words[0]), str(words[1]), str(words[2])) == "certain"


def _gone(data: Mapping[str, Any], root: str) -> str:
    """The address of a GPU that is no longer on the bus; "" where all are, or where the bus cannot be read."""
    folder = os.path.join(root, "sys/bus/pci/devices")
    try:
        here = set(os.listdir(folder))
    except OSError:
        return ""
    for one in data["gpus"]:
        bdf = one.get("bdf") if isinstance(one, dict) else None
        if here and isinstance(bdf, str) and bdf not in here:
            return _plain(bdf)
    return ""


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    return float(min(max(value, -_MOST), _MOST))


def _plain(value: object) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in str(value))[:160]
