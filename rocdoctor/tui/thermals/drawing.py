"""Temperatures, power, clocks and memory of GPUs as text: a line each, and all of one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from rocdoctor.collect.gpus.gpu_users import GpuUsers
from rocdoctor.collect.gpus.sensors import CpuSensors
from rocdoctor.insight.gpus.gpu_health import telling
from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.judging.gpu_standing import GpuStanding
from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.report.machine.summary import gpu_words
from rocdoctor.train.smoke.figures.sampler import Reading, reading_of
from rocdoctor.tui.alarms import past_own
from rocdoctor.tui.style import NOTE, RISK, UNKNOWN, WRONG, heat_style
from rocdoctor.tui.thermals.gpu_plots import SPANS, plots
from rocdoctor.tui.thermals.gpu_users import MOST_USERS, user_lines
from rocdoctor.tui.thermals.gpu_values import HEAD, number, of_limit, share_of, values
from rocdoctor.tui.thermals.live_values import Event, held_down
from rocdoctor.tui.thermals.plot import LEAST_LINES
from rocdoctor.tui.thermals.sparkline import Scale, bar, scale_of, sparkline
from rocdoctor.tui.thermals.standing_marks import finding_line, mark, marked

WIDE, VERY_WIDE = 110, 150
_WHOLE, _TEMP = 77, 18
_KINDS = {"heat": "heat", "outside": "outside", "power": "power cap"}
KIND_WORDS = {
    "heat": "heat",
    "outside": "a signal from outside the GPU (power supply, regulator, board)",
    "power": "a limit of power or current (normal under full load)",
}
_STYLES = {
    "heat": WRONG,
    "outside": WRONG,
    "power cap": RISK,
    "no answer": WRONG,
    "unknown": UNKNOWN,
    "asleep": NOTE,
    "too hot": WRONG,
    "own limit": WRONG,
}
# Columns that a block of details needs beside another, and the least lines that it has.
_BLOCK, _LEAST_LINES = 90, 5
_LOW, _FEW_USERS = 16, 2  # lines of details with room for so many processes above the values
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class GpuNow:
    """A GPU and what was seen of it. ``silent_s``: it has not answered for so long; ``counted``: it counts throttling.

    ``series`` are the looks at it, oldest first; ``active`` what holds its clocks down, where it is watched.
    ``place``: its index in ``users``, who holds the GPUs; ``inside``: seen from within a container.
    ``own_c``: the user's limit of temperatures. ``standing``: what was found of it.
    """

    gpu: Gpu
    series: tuple[Reading, ...] = ()
    active: tuple[Event, ...] = ()
    silent_s: float | None = None
    counted: bool = False
    users: GpuUsers | None = None
    place: int | None = None
    inside: bool = False
    own_c: float | None = None
    standing: GpuStanding | None = None


def temperatures(views: Sequence[GpuNow]) -> Scale | None:
    """The one scale of all histories of temperatures, so that they can be compared."""
    return scale_of([[each.temp_c for each in one.series] for one in views], SPANS["temperature"])


def header(width: int, watched: bool = False, scale: Scale | None = None) -> Text:
    """The heads of the columns of ``row``; ``watched``: there is a history, on that scale."""
    heads = ("gpu", "hottest, °C", "power, W", "clock, MHz", "use", "mem., GiB", "slowed by")
    text = _cells(heads, width, ("", "", ""))
    if not watched or width < VERY_WIDE:
        return text
    return text.append("  temperature before" + (f", {scale[0]:.0f} to {scale[1]:.0f} °C" if scale else ""))


def row(now: GpuNow, width: int, scale: Scale | None = None) -> Text:
    """One GPU in one line."""
    gpu = now.gpu
    hottest = telling(gpu)
    power, cap = value_or(gpu.power.now_w, None), value_or(gpu.power.cap_w, None)
    used, total = value_or(gpu.vram_used_bytes, None), value_or(gpu.vram_bytes, None)
    clock, most = main_clock(gpu)
    busy = value_or(gpu.busy_percent, None)
    temp_cell = "unknown"
    if hottest is not None:
        degrees = of_limit(hottest.input_c, hottest.crit_c)
        name = one_line(hottest.sensor.label)
        if len(name) + 1 + len(degrees) > _TEMP:  # "junction 101/100": better than half a name
            degrees = degrees.replace(" of ", "/")
        temp_cell = f"{name[: _TEMP - 1 - len(degrees)]} {degrees}"
    if nothing_known(now):
        line = Text(f"{marked(gpu.index, now.standing):<{4 if width >= WIDE else 3}} ", no_wrap=True)
        mark(line, gpu.index, now.standing)
        return line.append("nothing is known about its sensors", style=_STYLES["unknown"])
    cells = (
        marked(gpu.index, now.standing),
        temp_cell,
        of_limit(power, cap),
        of_limit(clock, most),
        "unknown" if busy is None else f"{busy} %",
        of_limit(_gib(used), _gib(total)),
        state(now),
    )
    bars = (
        bar(share_of(hottest.input_c, hottest.crit_c) if hottest is not None else None, 10),
        bar(share_of(power, cap), 10),
        bar(None if busy is None else busy / 100, 10),
    )
    text = _cells(cells, width, bars)
    text.highlight_words(["unknown"], _STYLES["unknown"])
    mark(text, gpu.index, now.standing)
    hot = heat_style(hottest) if hottest is not None else ""
    hot = WRONG if past_own(gpu, now.own_c) else hot
    if hot:
        start = text.plain.index(temp_cell)
        text.stylize(hot, start, start + _TEMP + (11 if width >= WIDE else 0))
    word = cells[-1]
    if word in _STYLES:
        text.highlight_words([word], _STYLES[word])
    if width >= VERY_WIDE and now.series:
        room = width - text.cell_len - 4
        text.append("  " + sparkline([one.temp_c for one in now.series], room, SPANS["temperature"], scale))
    return text


def nothing_known(now: GpuNow) -> bool:
    """Whether there is nothing to tell of its sensors, not even that it sleeps or is silent."""
    return not now.series and now.silent_s is None and not asleep(now.gpu) and not _senses(now.gpu)


def _senses(gpu: Gpu) -> bool:
    """Whether anything is known that its sensors or its driver measure."""
    measured = (gpu.power.now_w, gpu.busy_percent, gpu.vram_used_bytes, gpu.vram_used_percent, gpu.throttle)
    of_parts = (*(one.input_c for one in gpu.temps), *gpu.clocks_mhz.values())
    return any(isinstance(one, Known) for one in (*measured, *of_parts))


def state(now: GpuNow) -> str:
    """What holds the clocks down, in a word; or why that is not known."""
    if now.silent_s is not None:
        return "no answer"
    if asleep(now.gpu):
        return "asleep"
    kinds = {one.kind for one in now.active}
    if not kinds and not now.series:
        seen = reading_of(now.gpu, 0.0)
        kinds = set(held_down(seen.limits, seen.slowed))
    for kind, word in _KINDS.items():
        if kind in kinds:
            return word
    hottest = telling(now.gpu)
    if hottest is not None and hottest.margin_c is not None and hottest.margin_c <= 0:
        return "too hot"
    if past_own(now.gpu, now.own_c):
        return "own limit"
    return "nothing" if now.counted or isinstance(now.gpu.throttle, Known) else "unknown"


def asleep(gpu: Gpu) -> bool:
    """It sleeps and was left asleep."""
    return value_or(gpu.runtime_status, "") == "suspended"


def detail(now: GpuNow, width: int, scale: Scale | None = None, height: int = 0, plotted: bool = False) -> Text:
    """All of one GPU: each value beside its limit, the history, and why something is unknown.

    ``scale`` is that of the temperatures of all GPUs. In the lines that are left of ``height`` the history is drawn as
    plots; ``plotted``: nothing else is shown where there are some.
    """
    gpu = now.gpu
    text = Text()
    if plotted and (drawn := plots(now.series, width, height - 1, scale, now.own_c)):
        text.append(f"{gpu.label}  ", style="bold")
        return text.append_text(Text(one_line(gpu_words(gpu, ("amdgpu", "nvidia"))))).append_text(_below(drawn))
    text.append(f"{gpu.label}  ", style="bold")
    text.append(one_line(gpu_words(gpu, ("amdgpu", "nvidia"))) + "\n")
    text.append_text(finding_line(now.standing))
    if asleep(gpu):
        text.append("It is asleep and was not woken: asking its driver would wake it.\n")
        return text
    if now.silent_s is not None:
        text.append(f"It has not answered for {now.silent_s:.0f} s.\n", style=WRONG)
    vendor = "" if now.series else gpu.vendor  # without looks it is of a recording
    most = _FEW_USERS if 0 < height < _LOW else MOST_USERS
    text.append_text(user_lines(now.users, now.place, width, now.inside, vendor, most))
    unknown: dict[str, list[str]] = {}
    for name, share, words, style in values(gpu, unknown, now.series):
        text.append(f"{name:<{HEAD}}")
        text.append(f"{bar(share, _bar_width(width))} ", style=style or NOTE)
        text.append(f"{words}\n")
    text.append(f"{'slowed by':<{HEAD + _bar_width(width) + 1}}{_held_words(now)}\n")
    reasons = Text()
    for why, names in unknown.items():
        reasons.append(f"unknown: {', '.join(names)}\n  {why}\n", style=UNKNOWN)
    taken = sum(max(1, -(-len(line) // width)) for line in (text.plain + reasons.plain).splitlines())
    if drawn := plots(now.series, width, height - taken, scale, now.own_c):
        text.rstrip()
        text.append_text(_below(drawn)).append("\n")
    else:
        for line in _history(now.series, width, scale):
            text.append(line + "\n")
    text.append_text(reasons)
    text.rstrip()
    return text


def _below(lines: Sequence[Text]) -> Text:
    text = Text()
    for line in lines:
        text.append("\n").append_text(line)
    return text


def details(views: Sequence[GpuNow], at: int, width: int, height: int, plotted: bool = False) -> Text | Table:
    """All of each GPU, side by side and below each other, where that fits; else of the one at ``at``.

    ``plotted``: the plots of that one alone.
    """
    columns = max(1, width // _BLOCK)
    scale = temperatures(views)
    deep = -(-len(views) // columns)
    alone = plotted and len(views[at].series) > 1
    blocks: list[Text] = []
    if not alone and len(views) > 1 and width >= _BLOCK and deep * _LEAST_LINES <= height:
        tall, room = 0, height // deep - 1
        for view in views:
            blocks.append(detail(view, width // columns, scale))
            tall = max(tall, len(blocks[-1].plain.splitlines()))
            if tall > room:  # nobody sees any of them
                blocks = []
                break
        if blocks and room - tall >= LEAST_LINES:
            blocks = [detail(each, width // columns - 2, scale, room) for each in views]
    if not blocks:
        return detail(views[at], width, scale, height, plotted)
    for each in blocks[:-columns]:
        each.append("\n")  # a blank line between the rows
    grid = Table.grid(expand=True, padding=(0, 2))
    for _ in range(columns):
        grid.add_column(ratio=1)
    for first in range(0, len(blocks), columns):
        grid.add_row(*blocks[first : first + columns])
    return grid


def cpu_line(cpu: CpuSensors, recorded: bool) -> Text:
    """The processors in one line."""
    text = Text()
    text.append("CPU  ", style="bold")
    known: list[str] = []
    if cpu.temp_c is not None:
        known.append(f"{cpu.temp_c:.0f} °C (hottest sensor)")
    if cpu.clock_mhz is not None:
        low = cpu.slowest_mhz if cpu.slowest_mhz is not None else cpu.clock_mhz
        known.append(f"cores at {low:.0f} to {cpu.clock_mhz:.0f} MHz")
    if cpu.temp_c is None:
        why = "not in this evidence" if recorded else "no sensor reports it; virtual machines have none"
        known.append(f"temperature unknown ({why})")
    text.append(", ".join(known))
    return text


def no_finding(gpu: Gpu, verdicts: Iterable[Verdict]) -> str:
    """What is said where nothing is found of a GPU: that is no proof where its verdicts are unknown."""
    unknown = sum(one.state == "unknown" and one.subject == gpu.subject for one in verdicts)
    return f"no finding of {gpu.label}" + (f"; {unknown} of its verdicts are unknown" if unknown else "")


def no_gpus(diagnosis: Diagnosis | None) -> Text:
    """What stands where no GPU is known; None: not asked yet."""
    if diagnosis is None:
        return Text("Asking for GPUs.")
    none = "This machine has no GPU; only its CPUs have sensors"
    return Text(f"{none if diagnosis.machine.gpus_complete else no_gpu_words(diagnosis.machine)}.", style="bold")


def no_events(views: Sequence[GpuNow]) -> Text:
    """What stands where nothing has slowed a GPU down: that counts only where something would tell."""
    silent = [one.gpu.index for one in views if not (one.counted or isinstance(one.gpu.throttle, Known))]
    if not silent:
        return Text("nothing since this screen was opened")
    if len(silent) == len(views):
        return Text("unknown: nothing here shows when a GPU is slowed down", style=UNKNOWN)
    said = (
        f"nothing since this screen was opened; unknown for gpu {number_ranges(silent)}, of which nothing is reported"
    )
    return Text(said)


def event_lines(events: Sequence[Event], names: dict[str, str]) -> Text:
    """Events, newest first; ``names``: how a GPU is called."""
    text = Text()
    for one in reversed(events):
        when = one.first if one.first == one.last else f"{one.first} to {one.last}"
        text.append(when, style="bold")
        text.append(f"  {one_line(names.get(one.gpu, one.gpu))}  ")
        text.append(KIND_WORDS[one.kind], style="" if one.kind == "power" else WRONG)
        often = f", began {one.times} times" if one.times > 1 else ""
        text.append(f": {one_line(', '.join(one.reasons))}{often}{', now' if one.active else ''}\n")
    text.rstrip()
    return text


def main_clock(gpu: Gpu) -> tuple[float | None, float | None]:
    """The clock that computes, and its most, in MHz."""
    name = next((one for one in ("sclk", "graphics") if isinstance(gpu.clocks_mhz.get(one), Known)), None)
    if name is None:
        return None, None
    most = gpu.max_clocks_mhz.get(name)
    return value_or(gpu.clocks_mhz[name], None), value_or(most, None) if most is not None else None


# -- parts


def _cells(cells: Sequence[str], width: int, bars: Sequence[str]) -> Text:
    """Columns: all with bars where there is much room, all, or the most telling ones."""
    gpu, temp, power, clock, use, memory, slowed = cells
    if width >= WIDE:
        line = f"{gpu:<4} {temp:<{_TEMP}} {bars[0]:<10}  {power:>12} {bars[1]:<10}  {clock:>12}  {use:>7} {bars[2]:<10}"
        return Text(f"{line}  {memory:>10}  {slowed:<9}", no_wrap=True)
    if width >= _WHOLE:
        line = f"{gpu:<3} {temp:<{_TEMP}} {power:>12} {clock:>12} {use:>7} {memory:>10} {slowed:<9}"
        return Text(line, no_wrap=True)
    return Text(f"{gpu:<3} {temp:<{_TEMP}} {power:>12} {use:>7} {slowed:<9}", no_wrap=True)


def _gib(size: int | None) -> float | None:
    return None if size is None else size / _GIB


def _bar_width(width: int) -> int:
    return 16 if width < 100 else 30


def _held_words(now: GpuNow) -> str:
    flags = tuple(value_or(now.gpu.throttle, ()))
    if now.active or not now.series:
        seen = reading_of(now.gpu, 0.0)
        kinds = {one.kind: one.reasons for one in now.active} or held_down(seen.limits, seen.slowed)
        if kinds:
            return "; ".join(f"{KIND_WORDS[kind]}: {one_line(', '.join(names))}" for kind, names in kinds.items())
    word = state(now)
    if flags:
        return f"nothing that reduces speed; reported: {one_line(', '.join(flags))}"
    if word == "too hot":
        told = now.counted or isinstance(now.gpu.throttle, Known)
        return "nothing that the driver reports" if told else "unknown: it is too hot, and nothing more is reported"
    return word


def _history(series: Sequence[Reading], width: int, scale: Scale | None) -> list[str]:
    if len(series) < 2:
        return []
    rows: tuple[tuple[str, str, Callable[[Reading], float | None]], ...] = (
        ("temperature", "°C", lambda one: one.temp_c),
        ("power", "W", lambda one: one.power_w),
        ("clock", "MHz", lambda one: one.clock_mhz),
        ("use", "%", lambda one: one.busy_percent),
    )
    room = max(10, min(60, width - HEAD - 22))
    lines = [f"{_time_words(series[-1].at_s - series[-min(len(series), room)].at_s)}, the newest on the right:"]
    for name, unit, value in rows:
        values = [value(one) for one in series][-room:]
        known = [one for one in values if one is not None]
        if known:
            ends = f"{number(min(known))} to {number(max(known))} {unit}"
            drawn = sparkline(values, room, SPANS[name], scale if name == "temperature" else None)
            lines.append(f"{name:<{HEAD}}{drawn:<{room}}  {ends}")
    return lines if len(lines) > 1 else []


def _time_words(seconds: float) -> str:
    return f"the last {seconds / 60:.0f} min" if seconds >= 120 else f"the last {seconds:.0f} s"
