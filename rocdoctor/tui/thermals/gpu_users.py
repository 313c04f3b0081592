"""The processes on a GPU as text, and the command that judges one. Pure."""

from __future__ import annotations

from rich.text import Text

from rocdoctor.collect.gpus.gpu_users import GpuUser, GpuUsers
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.report.text import wrap
from rocdoctor.tui.style import UNKNOWN
from rocdoctor.tui.thermals.gpu_values import HEAD

_MOST = 6


def user_lines(users: GpuUsers | None, place: int | None, width: int) -> Text:
    """Who holds the GPU at that place of ``users``, who holds most first; empty where nobody has asked."""
    text = Text()
    if users is None or place is None:
        return text
    each = users.by_gpu.get(place, ())
    said = [_words(one) for one in each[:_MOST]]
    if len(each) > _MOST:
        said.append(f"and {len(each) - _MOST} more processes")
    unseen = users.why or (f"{users.hidden} processes of others could not be looked into" if users.hidden else "")
    if not each:
        said.append("unknown" if users.why else "nobody that this user may see" if users.hidden else "nobody")
    for at, line in enumerate(said):
        _labelled(text, "held by" if at == 0 else "", line, width, "" if each else UNKNOWN if unseen else "")
    if unseen:
        _labelled(text, "", f"({one_line(unseen)})", width, UNKNOWN)
    if each:
        _labelled(text, "", f"{judge_command(users, place)} judges it", width, "dim")
    return text


def _labelled(text: Text, name: str, said: str, width: int, style: str) -> None:
    for at, part in enumerate(wrap(said, max(20, width - HEAD - 2), "", "  ")):
        text.append(f"{name if at == 0 else '':<{HEAD}}")
        text.append(part, style=style)
        text.append("\n")


def _words(one: GpuUser) -> str:
    name = one_line(one.name) if one.name else "(its name is not to be seen from here)"
    holds = binary_size(one.vram_bytes) if one.vram_bytes is not None else "has it open"
    since = f", running for {duration(one.age_s)}" if one.age_s is not None else ""
    return f"process {one.pid} {name}: {holds}{since}"


def judge_command(users: GpuUsers | None, place: int | None) -> str:
    """What judges the process that holds most of a GPU; "" where there is none."""
    each = users.by_gpu.get(place, ()) if users is not None and place is not None else ()
    return f"rocdoctor check --pid {each[0].pid}" if each else ""
