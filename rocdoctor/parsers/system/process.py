"""A process and its user: /proc/PID/status, `id`, and the group and password files (names of groups, not of people)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.cpuset import canonical_list
from rocdoctor.parsers.formats.text import lines_of, to_int

_ID_UID = regex(r"\buid=(\d{1,10})")
_ID_GID = regex(r"\bgid=(\d{1,10})")
_ID_GROUPS = regex(r"\bgroups=([0-9(),A-Za-z_.$@\\ -]{1,20000})")
_ID_GROUP = regex(r"(\d{1,10})(?:\(([^()]{1,64})\))?")
_STATE = regex(r"([A-Za-z])(?: \(([a-z -]{1,24})\))?")


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """/proc/PID/status: ids are effective ones, sizes in bytes, ``state`` the kernel's letter ("D": cannot be killed).

    ``lines`` by field name.
    """

    name: str | None = None
    state: str | None = None
    pid: int | None = None
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] | None = None
    cpus_allowed: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserIds:
    """`id`: numbers of the user and of the groups, with the group names that were printed."""

    uid: int | None = None
    groups: dict[int, str | None] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One line of a group file, without its members."""

    name: str
    gid: int


_LABELS = {
    "Name": "name",
    "State": "state",
    "Pid": "pid",
    "Uid": "uid",
    "Gid": "gid",
    "Groups": "groups",
    "VmRSS": "rss_bytes",
    "CapEff": "effective_capabilities",
    "Cpus_allowed_list": "cpus_allowed",
}


def parse_status(text: str) -> ProcessStatus:
    """Reads /proc/PID/status (proc_pid_status(5)); its kB are 1024 bytes."""
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, raw in enumerate(lines_of(text, 500), 1):
        label, colon, value = raw.partition(":")
        if colon and label in _LABELS and label not in found:
            found[label] = value.strip()
            lines[_LABELS[label]] = line
    state = _STATE.match(found.get("State", ""))
    uids, gids = _numbers(found.get("Uid")), _numbers(found.get("Gid"))
    return ProcessStatus(
        name=found.get("Name") or None,
        state=state.group(1) if state else None,
        pid=to_int(found.get("Pid")),
        uid=uids[1] if uids and len(uids) > 1 else None,
        gid=gids[1] if gids and len(gids) > 1 else None,
        groups=_numbers(found.get("Groups")),
        cpus_allowed=canonical_list(found.get("Cpus_allowed_list", "")),
        lines=lines,
    )


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    numbers = tuple(to_int(word) for word in text.split()[:70_000])
    return None if None in numbers else tuple(number for number in numbers if number is not None)


def parse_group_file(text: str) -> tuple[Group, ...]:
    """Reads /etc/group or `getent group` lines "name:password:gid:members"; members are not kept."""
    groups: list[Group] = []
    for raw in lines_of(text, 20_000):
        parts = raw.strip().split(":")
        gid = to_int(parts[2]) if len(parts) >= 3 else None
        if gid is not None and 0 <= gid < 2**32 and parts[0] and not parts[0].startswith("#"):
            groups.append(Group(parts[0], gid))
    return tuple(groups)


def group_names(text: str) -> dict[int, str]:
    """Group names by number; of two names for one number the first counts."""
    names: dict[int, str] = {}
    for group in parse_group_file(text):
        names.setdefault(group.gid, group.name)
    return names


def groups_with_member(text: str, user: str) -> tuple[str, ...]:
    """The groups whose member list has ``user``: what a new login would get besides the primary group."""
    found: list[str] = []
    for raw in lines_of(text, 20_000):
        parts = raw.strip().split(":")
        if len(parts) == 4 and user and user in [member.strip() for member in parts[3].split(",")]:
            found.append(parts[0])
    return tuple(found)


def parse_id(text: str) -> UserIds | None:
    """Reads `id` ("uid=1000(...) gid=1000(...) groups=1000(...),44(video)"); the name of the user is not kept."""
    for line, raw in enumerate(lines_of(text, 10_000), 1):
        uid, gid = _ID_UID.search(raw), _ID_GID.search(raw)
        if uid is None or gid is None:
            continue
        listed = _ID_GROUPS.search(raw)
        groups = {}
        if listed:
            groups = {int(entry.group(1)): entry.group(2) for entry in _ID_GROUP.finditer(listed.group(1))}
        return UserIds(int(uid.group(1)), groups, line)
    return None
