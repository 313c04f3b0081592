"""How long the handlers of the screens hold the event loop, on a machine of 32 GPUs: ``python -m tools.bench tui``.

Everything that an asyncio loop does is a callback that runs through ``Handle._run``: a message handler is a step of its
widget's task, a frame is drawn in the step of a timer. While one runs, no key is heard. So each call of ``Handle._run``
is measured, by two clocks: the time that passed, which other programs on the machine and the app's own threads lengthen
(one thread of Python runs at a time), and the processor's time of the loop's thread, which they do not. Python's
collection of garbage happens inside some of the steps; its share is told apart. The app runs without a terminal: what
a terminal takes to show the characters is not in the figures, composing them is.

The machine is a fixture of eight GPUs four times over, each copy in a PCI domain and on NUMA nodes of its own.
"""

from __future__ import annotations

import asyncio
import compileall
import gc
import re
import statistics
import threading
import time
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rocdoctor
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.model.lazy_re import regex

BUDGET_S = 0.05
FIXTURE = Path(__file__).parents[2] / "fixtures" / "mi300x-8gpu.capture"
_COPIES, _GPUS, _NODES, _CPUS = 4, 8, 2, 128  # of the fixture: GPUs, NUMA nodes, logical CPUs
_KEYS = (*["down"] * 30, *["pagedown"] * 6, "end", "home", "tab", *["down"] * 10, "tab", *["down"] * 10)
_SIZES = ((80, 24), (200, 60))
_TOOLS = ("run rocminfo", "run rocm-smi", "run amd-smi", "run lspci")

# What differs between the copies: (pattern, what a copy's number adds to the number in it). Card 0 is no GPU.
_NUMBERS = (
    (regex(r"(?<=/card)\d{1,3}\b"), _GPUS + 1),
    (regex(r"(?<=/renderD)\d{1,4}\b"), _GPUS),
    (regex(r"(?<=mlx5_)\d{1,3}\b"), _GPUS),
    (regex(r"(?<=/node/node)\d{1,3}\b"), _NODES),
    (regex(r"(?<=drm_render_minor )\d{1,4}\b"), _GPUS),
    (regex(r"(?<=^domain )\d{1,4}\b", re.MULTILINE), 1),
    (regex(r"(?<=hive_id )\d{1,30}\b"), 1),
    (regex(r"(?<=topology/nodes/)(?![01]\b)\d{1,3}\b"), _GPUS),
    (regex(r"(?:(?<=node_from )|(?<=node_to ))(?![01]\b)\d{1,3}\b"), _GPUS),
)
_DOMAIN = regex(r"(?<![0-9a-f])0000:(?=[0-9a-f]{2}[:/])")
_INTERFACE = regex(r"\benp(?=\d)")


def many_gpus(copies: int = _COPIES) -> CaptureHost:
    """The fixture several times over, as the capture of one machine."""
    one = CaptureHost(parse(FIXTURE.read_bytes()), f"{_GPUS * copies} GPUs")
    answers = dict(one.capture.answers)
    for question, answer in one.capture.answers.items():
        if question.startswith(_TOOLS):
            answers[question] = Answer(question, "absent")
        for copy in range(1, copies):
            other = _moved(question, copy)
            if other != question:
                moved = _content(other, _moved(answer.text, copy), copy) if answer.ok else ""
                answers[other] = replace(answer, question=other, data=moved.encode())
            elif question.startswith("list ") and answer.ok:
                lines = [*answers[question].text.splitlines(), *_moved(answer.text, copy).splitlines()]
                answers[question] = replace(answer, data="\n".join(dict.fromkeys(lines)).encode())
    nodes = range(_NODES * copies)
    for node in nodes:
        question = f"read /sys/devices/system/node/node{node}/distance"
        row = " ".join("10" if other == node else "32" for other in nodes)
        answers[question] = Answer(question, "ok", row.encode())
    online = "read /sys/devices/system/node/online"
    answers[online] = Answer(online, "ok", f"0-{nodes[-1]}".encode())
    return CaptureHost(replace(one.capture, answers=answers), one.origin)


def _moved(text: str, copy: int) -> str:
    for pattern, step in _NUMBERS:
        text = pattern.sub(lambda match, step=step: str(int(match[0]) + copy * step), text)  # type: ignore[misc]
    return _INTERFACE.sub(f"enP{copy}p", _DOMAIN.sub(f"{copy:04x}:", text))


def _content(question: str, text: str, copy: int) -> str:
    """Answers that are bare numbers."""
    if question.endswith("/numa_node") and text.isdigit():
        return str(int(text) + copy * _NODES)
    if question.endswith("/gpu_id") and text.isdigit():
        return str(int(text) + copy)
    if question.endswith("/cpulist"):
        return re.sub(r"\d+", lambda match: str(int(match[0]) + copy * _CPUS), text)
    return text


@dataclass(frozen=True, slots=True)
class Held:
    """One callback: seconds that passed, those of the processor, of these those of garbage, what was handled."""

    passed_s: float
    busy_s: float
    garbage_s: float
    what: str


@contextmanager
def watching() -> Iterator[list[Held]]:
    """The callbacks that the loop of this thread runs meanwhile."""
    from textual.message_pump import MessagePump

    held: list[Held] = []
    handled: list[str] = []
    collecting, mine = [0.0, 0.0], threading.get_ident()  # [start, sum of this callback]
    plain_run, plain_dispatch = Handle._run, MessagePump._dispatch_message

    def run(self: Handle) -> None:
        if threading.get_ident() != mine:
            return plain_run(self)
        handled.clear()
        collecting[1] = 0.0
        began, busy = time.perf_counter(), time.thread_time()
        try:
            return plain_run(self)
        finally:
            passed, spent = time.perf_counter() - began, time.thread_time() - busy
            held.append(Held(passed, spent, collecting[1], ", ".join(handled[:3]) or _name(self)))

    async def dispatch(self: MessagePump, message: Any) -> None:
        handled.append(f"{type(self).__name__} {type(message).__name__}")
        await plain_dispatch(self, message)

    def collected(phase: str, info: dict[str, int]) -> None:
        if threading.get_ident() != mine:
            return
        if phase == "start":
            collecting[0] = time.thread_time()
        else:
            collecting[1] += time.thread_time() - collecting[0]

    Handle._run, MessagePump._dispatch_message = run, dispatch  # type: ignore[method-assign]
    gc.callbacks.append(collected)
    try:
        yield held
    finally:
        gc.callbacks.remove(collected)
        Handle._run, MessagePump._dispatch_message = plain_run, plain_dispatch  # type: ignore[method-assign]


def _name(handle: Any) -> str:
    """What a callback belongs to: its task, or its function."""
    function = getattr(handle, "_callback", None)
    task = getattr(function, "__self__", None)
    if isinstance(task, asyncio.Task):
        return task.get_name()[:60]
    return getattr(function, "__qualname__", type(function).__name__)


async def measure(size: tuple[int, int]) -> dict[str, list[Held]]:
    """The callbacks by what was done: the looking, then each screen opened, and moved about in with keys."""
    from rocdoctor.tui.app import RocdoctorApp
    from rocdoctor.tui.areas import AREAS, KEYS
    from tools.docs.pictures import settled

    found: dict[str, list[Held]] = {}
    app = RocdoctorApp(many_gpus())
    app.animation_level = "none"
    with watching() as held:
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            found["start"] = [*held]
            for digit, area in zip(KEYS, AREAS, strict=False):
                if find_spec(f"rocdoctor.tui.{area.module}.screen") is None:
                    continue
                held.clear()
                app.set_focus(None)  # in a field a digit would be text
                await pilot.press(digit)
                await settled(app, pilot)
                found[f"{area.module}, opened"] = [*held]
                held.clear()
                for key in _KEYS:
                    await pilot.press(key)
                await settled(app, pilot)
                found[f"{area.module}, keys"] = [*held]
    return found


def report() -> None:
    """Print a table for each size of the terminal; the modules of a screen are read in with the first of them."""
    compileall.compile_dir(Path(rocdoctor.__file__).parent, quiet=2)  # byte code is cached on a user's machine
    print(f"{'callbacks of the loop, 32 GPUs':<30} number   median   longest      busy   budget 50 ms")
    for size in _SIZES:
        for done, held in asyncio.run(measure(size)).items():
            print(f"{f'{size[0]}x{size[1]} {done}':<30} {_row(held)}")


def _row(held: list[Held]) -> str:
    median = statistics.median(one.passed_s for one in held)
    longest, busiest = max(one.passed_s for one in held), max(one.busy_s for one in held)
    return f"{len(held):6} {median * 1e3:5.2f} ms {longest * 1e3:6.1f} ms {busiest * 1e3:6.1f} ms   {_verdict(held)}"


def _verdict(held: list[Held]) -> str:
    """The callbacks over the budget by the processor's clock, or else by the one on the wall."""
    over = sorted((one for one in held if one.busy_s > BUDGET_S), key=lambda one: -one.busy_s)
    if over:
        named = [f"{one.busy_s * 1e3:.0f} ms {one.what}{_garbage(one)}" for one in over[:2]]
        return f"{len(over)} over: {'; '.join(named)}"
    late = sum(one.passed_s > BUDGET_S for one in held)
    return f"within; {late} had to wait for other threads or programs" if late else "within"


def _garbage(one: Held) -> str:
    return f" (garbage {one.garbage_s * 1e3:.0f} ms)" if one.garbage_s > one.busy_s / 10 else ""
