"""Smoke tests as a grid of modes and ranks, and all of one mode. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from rocdoctor.insight.jobs.smoke_modes import LAYERS
from rocdoctor.model.facts import ModeResult, SmokeRun
from rocdoctor.model.printable import one_line
from rocdoctor.report.smoke.smoke_document import LEGEND, largest, name_of, run_words, signs_of
from rocdoctor.tui.smoke.run_session import ModeProgress
from rocdoctor.tui.style import GOOD, RISK, STATE_STYLE, WRONG

_NAME = 26
_CELL = 5
_MARK = 4
_NUMBERS = 26
_SIGNS = {"pass": "ok", "fail": "FAIL", "crashed": "DEAD", "not-applicable": "-", "unknown": "?"}
_SIGN_STYLES = {"ok": GOOD, "FAIL": WRONG, "DEAD": WRONG, "off": RISK, "lost": RISK}
STATE_WORDS = {
    "pass": "passed: the right numbers on every rank",
    "fail": "FAILED: wrong numbers, or far too late",
    "crashed": "DEAD: a rank died, hung or raised an error",
    "not-applicable": "not tested here",
    "unknown": "unknown",
}
_WAITING = "..."


@dataclass(frozen=True, slots=True)
class GridRow:
    """A line of the grid: one mode in one section. ``result`` is its verdict, ``progress`` how far it is.

    ``waits``: the run has not come to it yet.
    """

    section: int
    mode: str
    title: str = ""
    result: ModeResult | None = None
    progress: ModeProgress | None = None
    running: bool = False
    waits: bool = False


@dataclass(frozen=True, slots=True)
class GridSection:
    """Modes on the same ranks, with their heading; ``world`` 0: nothing was run on any."""

    heading: str
    world: int
    rows: tuple[GridRow, ...]


def recorded(runs: Sequence[SmokeRun], titles: Mapping[str, str]) -> list[GridSection]:
    """The grid of finished runs, and the modes that none of them tried."""
    found = [
        GridSection(
            run_words(run),
            run.world,
            tuple(GridRow(at, one.mode, titles.get(one.mode, ""), one) for one in run.modes),
        )
        for at, run in enumerate(runs)
    ]
    tried = {one.mode for run in runs for one in run.modes}
    return [*found, *untried(tried, titles, len(found))]


def running(
    passes: Sequence[Mapping[str, ModeProgress]],
    current: str,
    wanted: Sequence[str],
    titles: Mapping[str, str],
    world: int,
    over: str = "",
) -> list[GridSection]:
    """The grid while events arrive; ``world`` 0: as many ranks as have answered. ``over``: how it ended, if it did."""
    found: list[GridSection] = []
    for at, one in enumerate(passes):
        last = at == len(passes) - 1
        ranks = max([world, *(rank + 1 for each in one.values() for rank in each.ranks)])
        names = [*dict.fromkeys([*one, *(wanted if last else ())])]
        names.sort(key=lambda name: wanted.index(name) if name in wanted else -1)
        rows = tuple(
            GridRow(
                at,
                name,
                titles.get(name, ""),
                progress=one.get(name),
                running=last and name == current and name in one,
                waits=not over and name not in one,
            )
            for name in names
        )
        which = f", set {at + 1} of ranks" if len(passes) > 1 else ""
        found.append(GridSection(f"{(over or 'running') if last else 'done'}{which}", ranks, rows))
    return found


def untried(tried: Collection[str], titles: Mapping[str, str], number: int) -> list[GridSection]:
    """The modes that were not tried, with what they are."""
    rows = tuple(GridRow(number, mode, title) for mode, title in titles.items() if mode not in tried)
    heading = "not run" if tried else "modes"
    return [GridSection(heading, 0, rows)] if rows else []


def heading(section: GridSection, width: int, marks: bool) -> Text:
    """The section's name and the heads of its columns."""
    text = Text()
    text.append(one_line(section.heading), style="bold")
    if section.world:
        ranks = " ".join(f"{rank:>{_CELL - 1}}" for rank in range(section.world))
        crowded = _crowded(section.world, width, marks)
        numbers = "  difference (allowed)" if _room(section.world, width, marks) >= _NUMBERS else ""
        lead = " " * (_MARK if marks else 0)
        columns = f"{'mode':<{_NAME}}ranks" if crowded else f"{'mode':<{_NAME - 5}}rank {ranks}"
        end = _NAME + (_CELL * section.world if not crowded else 12)
        ended = any(row.result is not None for row in section.rows)
        last = f"    time{numbers}" if ended else " state"
        text.append(f"\n{lead}{columns:<{end}}{last}".rstrip(), style="dim")
    return text


def line(row: GridRow, world: int, width: int, mark: bool | None) -> Text:
    """One mode. ``mark``: whether it is chosen; None where there is nothing to choose."""
    text = Text(no_wrap=True, overflow="ellipsis")
    if mark is not None:
        text.append("[x] " if mark else "[ ] ", style="bold" if mark else "dim")
    text.append(f"{one_line(row.mode)[: _NAME - 1]:<{_NAME}}", style="bold" if row.running else "")
    if row.result is None and row.progress is None:
        room = width - _NAME - (_MARK if mark is not None else 0)
        text.append(_fitting(one_line(row.title), room) if not world else "", style="dim")
        return text
    signs = _signs(row, world)
    crowded = _crowded(world, width, mark is not None)
    if crowded:
        right = signs.count("ok")
        cells = f"{right} of {len(signs)} ok" if right or {"FAIL", "DEAD"} & set(signs) else signs[0]
        text.append(f"{cells:<12}", style=_worst(signs))
    else:
        for sign in signs:
            text.append(f"{sign:>{_CELL - 1}} ", style=_SIGN_STYLES.get(sign, ""))
        text.append(" " * (_CELL * (world - len(signs))))
    if row.result is None:
        state = row.progress.state if row.progress is not None else ""
        words = "running" if row.running else _done_word(state) or "not ended"
        text.append(f" {words}", style=STATE_STYLE.get(state, "bold"))
        return text
    if row.result.state in ("not-applicable", "unknown"):
        text.append(" not tested" if row.result.state == "not-applicable" else " unknown", style="dim")
        return text
    text.append(f" {row.result.wall_s:5.2f} s")
    if _room(world, width, mark is not None) >= _NUMBERS:
        text.append(f"  {largest(row.result)}")
    return text


def detail(row: GridRow, live: bool) -> Text:
    """All of one mode: what it is, its verdict, the fault with its layer and ranks, every number."""
    text = Text()
    text.append(one_line(row.mode), style="bold")
    if row.title:
        text.append(f": {one_line(row.title)}")
    text.append("\n")
    one = row.result
    if one is None:
        text.append(_progress_words(row, live))
        return text
    text.append(STATE_WORDS[one.state], style=STATE_STYLE.get(one.state, ""))
    text.append(f", {one.wall_s:.2f} s\n")
    if one.message:
        text.append(f"{one_line(one.message)}\n")
    if one.layer:
        text.append(f"Likely layer: {LAYERS[one.layer]}.\n", style="bold")
    if one.named:
        text.append(f"Fault at {_ranks_words(one)}.\n", style="bold")
    for name, error in one.max_error.items():
        text.append(f"{one_line(name):<10} largest difference {error:.1e}")
        allowed = one.tolerance.get(name)
        text.append("\n" if allowed is None else f", allowed {allowed:.1e}{_times(error, allowed)}\n")
    for rank, sign in zip(one.ranks, signs_of(one), strict=False):  # no rank has one sign all the same
        if rank.state != "pass" or rank.message or len(one.ranks) <= 8:
            gpu = f" ({one_line(rank.gpu)})" if rank.gpu else ""
            words = f": {one_line(rank.message)}" if rank.message else ""
            text.append(f"rank {rank.rank}{gpu}: {sign}{words}\n")
    text.rstrip()
    return text


def untested(runs: Sequence[SmokeRun]) -> str:
    """What these runs cannot show, in a sentence; empty where that is nothing."""
    said: list[str] = []
    for at, run in enumerate(runs):
        if run.untested:
            which = f"run {at + 1}" if len(runs) > 1 else "this run"
            said.append(f"Not covered by {which}: {', '.join(map(one_line, run.untested))}.")
    return " ".join(said)


def about(run: SmokeRun) -> Iterator[str]:
    """Notes, the modes that could not be tried, and what the signs in the grid mean."""
    for note in run.notes:
        yield f"note: {one_line(note)}"
    skipped = [name_of(one) for one in run.modes if one.state in ("not-applicable", "unknown")]
    if skipped:
        yield f"not tested in this run: {', '.join(skipped)}"
    signs = {sign for one in run.modes for sign in signs_of(one)}
    words = [words for sign, words in LEGEND.items() if sign in signs]
    if words:
        yield "; ".join(words)


# -- parts


def _crowded(world: int, width: int, marks: bool) -> bool:
    return (_MARK if marks else 0) + _NAME + _CELL * world + 9 > width


def _room(world: int, width: int, marks: bool) -> int:
    """Columns that are left behind the time."""
    cells = 12 if _crowded(world, width, marks) else _CELL * world
    return width - (_MARK if marks else 0) - _NAME - cells - 9


def _signs(row: GridRow, world: int) -> list[str]:
    if row.result is not None:
        return signs_of(row.result)
    ranks = row.progress.ranks if row.progress is not None else {}
    left = _WAITING if row.running else ""
    return [_SIGNS.get(ranks[rank], "?") if rank in ranks else left for rank in range(world)]


def _worst(signs: Sequence[str]) -> str:
    return next((_SIGN_STYLES[one] for one in ("DEAD", "FAIL", "lost", "off") if one in signs), "")


def _fitting(words: str, room: int) -> str:
    """As much as there is room for; the details have the whole."""
    return words if len(words) <= room else words[: room - 1].rstrip() + "…"


def _done_word(state: str) -> str:
    return {"": "", "pass": "pass", "fail": "FAIL", "crashed": "DEAD", "not-applicable": "not tested"}.get(state, state)


def _progress_words(row: GridRow, live: bool) -> str:
    if row.running:
        answered = len(row.progress.ranks) if row.progress is not None else 0
        return f"running; {answered} ranks have answered" if answered != 1 else "running; 1 rank has answered"
    if row.progress is not None:
        return STATE_WORDS.get(row.progress.state, "begun, without a verdict")
    if row.waits:
        return "not begun yet"
    return "not run" + ("; space selects it, s starts" if live else " in this evidence")


def _ranks_words(one: ModeResult) -> str:
    named = [rank for rank in one.ranks if rank.named]
    words = [f"rank {rank.rank}" + (f" ({one_line(rank.gpu)})" if rank.gpu else "") for rank in named]
    return ", ".join(words[:8]) + (f" and {len(words) - 8} more" if len(words) > 8 else "")


def _times(error: float, allowed: float) -> str:
    if error <= allowed or allowed <= 0:
        return ""
    return f": {error / allowed:.3g} times too large"
