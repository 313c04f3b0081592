"""The processes on a GPU as text, and the command that judges one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from rocdoctor.collect.gpus.gpu_users import GpuUser, GpuUsers
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.report.text import wrap
from rocdoctor.tui.style import UNKNOWN
from rocdoctor.tui.thermals.gpu_values import HEAD

MOST_USERS = 6
_NO_NAME = "(its name cannot be seen from here)"


# What lists them without us, as the steps of a report name it (judging/next_steps.py); of other GPUs this screen does.
_LISTS = {"amd": "rocm-smi --showpids", "nvidia": "nvidia-smi"}
_OURS = "rocdoctor (key 4)"


def unrecorded(vendors: Iterable[str]) -> str:
    """How to find out which process holds a GPU where a recording does not say it."""
    commands = " or ".join(dict.fromkeys(_LISTS.get(one, _OURS) for one in vendors))
    return f"not recorded; on that machine {commands} shows it"


def user_lines(
    users: GpuUsers | None,
    place: int | None,
    width: int,
    inside: bool = False,
    vendor: str = "",
    most: int = MOST_USERS,
) -> Text:
    """Who holds the GPU at that place of ``users``, who holds most first; empty where nobody has asked.

    ``inside`` a container: drivers number the processes of the host, and those outside cannot be looked into.
    ``vendor``: of a GPU of a recording, which did not ask who holds it.
    """
    text = Text()
    if users is None or place is None:
        return text
    each = users.by_gpu.get(place, ())
    if vendor and users.why and not each:
        _labelled(text, "held by", f"unknown: {unrecorded([vendor])}", width, UNKNOWN)
        return text
    said = [_words(one, inside) for one in each[:most]]
    if len(each) > most:
        said.append(f"and {len(each) - most} more processes")
    others = f"{users.hidden} processes of other users could not be read" if users.hidden else ""
    unseen = users.why or ("" if each else users.untold.get(place, "")) or others
    if inside and not unseen:
        unseen = "those outside this container may be invisible"
    if not each:
        unknown = bool(users.why or place in users.untold)
        said.append("unknown" if unknown else "no process that can be seen from here" if unseen else "nobody")
    for at, line in enumerate(said):
        _labelled(text, "held by" if at == 0 else "", line, width, "" if each else UNKNOWN if unseen else "")
    if unseen:
        _labelled(text, "", f"({one_line(unseen)})", width, UNKNOWN)
    if command := judge_command(users, place):
        _labelled(text, "", f"{command} judges it", width, "dim")
    return text


def _labelled(text: Text, name: str, said: str, width: int, style: str) -> None:
    for at, part in enumerate(wrap(said, max(20, width - HEAD - 2), "", "  ")):
        text.append(f"{name if at == 0 else '':<{HEAD}}")
        text.append(part, style=style)
        text.append("\n")


def _words(one: GpuUser, inside: bool) -> str:
    unseen = "(perhaps the host's number; its name cannot be seen from here)" if inside else _NO_NAME
    name = one_line(one.name) if one.name else unseen
    holds = binary_size(one.vram_bytes) if one.vram_bytes is not None else "has it open"
    since = f", running for {duration(one.age_s)}" if one.age_s is not None else ""
    return f"process {one.pid} {name}: {holds}{since}"


def judge_command(users: GpuUsers | None, place: int | None) -> str:
    """What judges the process that holds most, of those that can be looked into; "" where there is none.

    A number without a name may be the host's, and here another process or none.
    """
    each = users.by_gpu.get(place, ()) if users is not None and place is not None else ()
    return next((f"rocdoctor check --pid {one.pid}" for one in each if one.name), "")
