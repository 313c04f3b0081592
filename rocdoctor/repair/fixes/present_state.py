"""What commands of root have changed, as it is now: undoing leaves what somebody else has set since."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.model.units import binary_size
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import MOST_BYTES, Refused

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = "remount,size="


def is_member(user: str, group: str, place: TargetMachine) -> bool | None:
    """Whether a person is listed in a group; None where the group is not in the file."""
    try:
        text = read_regular(place.real("/etc/group"), MOST_BYTES).decode("latin-1")
    except OSError:
        return None
    rows = [line.split(":") for line in text.splitlines()]
    lists = [row[3].strip().split(",") for row in rows if row[0] == group and len(row) > 3]
    return any(user in one for one in lists) if lists else None


def taken_back(command: Sequence[str], did: Sequence[str], place: TargetMachine) -> bool:
    """Whether what a command would take back is as before already.

    ``did`` is what was run, () where it is not known that it ended well.

    Raises:
        Refused: somebody has set something else since.
    """
    if command[:2] == ("gpasswd", "-d"):
        return is_member(command[2], command[3], place) is False
    if command[0] != "mount" or not did:
        return False
    try:
        status = os.statvfs(place.real("/dev/shm"))
    except OSError:
        return False
    now, before, ours = status.f_blocks * status.f_frsize, _bytes(command[2]), _bytes(did[2])
    page = os.sysconf("SC_PAGE_SIZE")  # the kernel rounds up to whole pages
    if 0 <= now - before < page:
        return True
    if 0 <= now - ours < page:
        return False
    held = f"it has {binary_size(now)} now, which rocdoctor did not set; it had {binary_size(before)}"
    raise Refused(f"/dev/shm: {held}")


def _bytes(option: str) -> int:
    text = option.removeprefix(_SIZE)
    unit = _UNITS.get(text[-1:])
    return int(text) if unit is None else int(text[:-1]) * unit
