"""Two plans side by side, as a document and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.report.document import GAP, Block, Fixed, Heading, Para, Row, Table, Title
from rocdoctor.report.plan.recommend_document import FITS, TERMS, title
from rocdoctor.report.text import wrap
from rocdoctor.train.recommend.compared import Side, alike, settings, times
from rocdoctor.train.recommend.estimate import answer_of
from rocdoctor.train.recommend.explain.value_reasons import gib, room

_NAMES = ("A", "B")
_COLUMN = 20
_Line = tuple[str, str, str]


def headline(first: Side, second: Side) -> str:
    """One sentence: which fits, which is faster and by how much, which holds less."""
    for name, one in zip(_NAMES, (first, second), strict=True):
        if one.result is None:
            reason = one_line(one.needed[0]) if one.needed else "Nothing fits."
            return f"There is no plan for {name}. {reason[:1].upper()}{reason[1:]}"
    if first.result is None or second.result is None:
        return ""
    verdicts = (first.result.fits, second.result.fits)
    if all(one.first == one.second for one in settings(first, second)):
        return f"A and B are the same configuration, which {FITS[verdicts[0]]}."
    if verdicts[0] == verdicts[1]:
        said = "Both fit" if verdicts[0] == "yes" else f"Each of them {FITS[verdicts[0]]}"
    else:
        said = " and ".join(f"{name} {FITS[one]}" for name, one in zip(_NAMES, verdicts, strict=True))
    ratio = times(first, second)
    if ratio is None or first.tokens_per_s is None or second.tokens_per_s is None:
        said += "; it is not known which is faster, because no table has the peak rate of a GPU"
    else:
        rates = (first.tokens_per_s, second.tokens_per_s)
        fast, slow = (0, 1) if ratio >= 1 else (1, 0)
        figures = f"{rates[fast]:.0f} against {rates[slow]:.0f} tokens/s in all"
        if alike(ratio):
            both = f"{rates[0]:.0f} and {rates[1]:.0f} tokens/s in all"
            said += f"; they are equally fast, within an estimate's error ({both})"
        else:
            said += f"; {_NAMES[fast]} is {rates[fast] / rates[slow]:.2f} times as fast ({figures})"
    held = first.result.memory.high - second.result.memory.high
    if abs(held) >= 0.05 * 2**30:
        less, more = ("A", "B") if held < 0 else ("B", "A")
        said += f", and {less}'s highest estimate is {gib(abs(held))} per GPU below {more}'s"
    return f"{said}."


def document(first: Side, second: Side) -> list[Block]:
    """Both with what differs first; settings that agree are in one line."""
    blocks: list[Block] = [Title("rocdoctor recommend --compare"), Para(headline(first, second), bold=True), GAP]
    blocks += [
        Row(f"{name}  ", one_line(one.label), "  ", 3) for name, one in zip(_NAMES, (first, second), strict=True)
    ]
    for name, one in zip(_NAMES, (first, second), strict=True):
        if one.result is None and len(one.needed) > 1:
            blocks += [GAP, Heading(f"What would fit for {name}")]
            blocks += [Para(one_line(line), "  - ", "    ", item=True) for line in one.needed[1:]]
    found = settings(first, second)
    differing = [(_title(one.key), one.first, one.second) for one in found if one.first != one.second]
    blocks += _table("What differs", "setting", differing)
    blocks += _table("Memory of one GPU", "", _memory(first, second))
    blocks += _table("Speed", "", _speed(first, second))
    same = [f"{_title(one.key)} {one_line(one.first)}" for one in found if one.first == one.second]
    if same:
        blocks += [GAP, Heading("The same in both"), Para("; ".join(same), "  ", "  ")]
    return blocks


def _title(key: str) -> str:
    return {"gpus": "GPUs", "step": "one step"}.get(key, title(key))


def _each(first: Side, second: Side, words: Callable[[Side], str | None]) -> tuple[str, str]:
    one, two = (words(side) or "-" for side in (first, second))
    return one, two


def _memory(first: Side, second: Side) -> list[_Line]:
    def term(key: str) -> Callable[[Side], str | None]:
        return lambda side: gib(getattr(side.result.memory, key)) if side.result is not None else None

    lines = [(words, *_each(first, second, term(key))) for key, words in TERMS]
    lines.append(("at least", *_each(first, second, term("low"))))
    lines.append(("at most", *_each(first, second, term("high"))))
    lines.append(
        ("to plan with", *_each(first, second, lambda one: gib(room(one.result.work)) if one.result else None))
    )
    lines.append(("verdict", *_each(first, second, lambda one: FITS[one.result.fits] if one.result else None)))
    return [line for line in lines if not {"0.0 GiB", "-"}.issuperset(line[1:])]


def _speed(first: Side, second: Side) -> list[_Line]:
    def rate(side: Side) -> str | None:
        told = side.result.speed if side.result is not None else None
        return f"{told.tokens_per_s_per_gpu:.0f} tokens/s" if told is not None else None

    def share(side: Side) -> str | None:
        told = side.result.speed if side.result is not None else None
        return f"{told.mfu:.0%}, bound by {told.bound_by}" if told is not None else None

    lines = [
        ("one GPU", *_each(first, second, rate)),
        (
            "all GPUs",
            *_each(first, second, lambda one: f"{one.tokens_per_s:.0f} tokens/s" if one.tokens_per_s else None),
        ),
        ("one step", *_each(first, second, lambda one: f"{one.step_s:.2f} s" if one.step_s else None)),
        ("MFU", *_each(first, second, share)),
    ]
    return lines if any(line[1:] != ("-", "-") for line in lines) else []


def _table(heading: str, corner: str, lines: Sequence[_Line]) -> Iterable[Block]:
    if not lines:
        return ()
    rows = tuple((name, one_line(one), one_line(two)) for name, one, two in lines)
    return (GAP, Heading(heading), Table((corner, *_NAMES), rows, partial(_laid, rows)))


def _laid(rows: Sequence[_Line], width: int) -> tuple[Block, ...]:
    """Three columns, long words broken inside their own."""
    name_column = max(_COLUMN, *(len(name) + 2 for name, _, _ in rows))
    column = max(12, min(40, (width - 2 - name_column) // 2 - 2))
    lines = [f"  {'':{name_column}}{'A':{column}}  B"]
    for name, *both in rows:
        cells = [wrap(one, column, "") or [""] for one in both]
        for number in range(max(map(len, cells))):
            one, two = (cell[number] if number < len(cell) else "" for cell in cells)
            lines.append(f"  {'' if number else name:{name_column}}{one:{column}}  {two}".rstrip())
    return (Fixed(tuple(line.rstrip() for line in lines)),)


def as_json(first: Side, second: Side) -> dict[str, Any]:
    """``rocdoctor.compare/1``: what differs, and each side as ``estimate`` gives it."""
    return {
        "schema": "rocdoctor.compare/1",
        "headline": headline(first, second),
        "times": _rounded(times(first, second), 3),
        "sides": [_side(name, one) for name, one in zip(_NAMES, (first, second), strict=True)],
        "settings": [
            {"key": one.key, "a": one.first, "b": one.second, "same": one.first == one.second}
            for one in settings(first, second)
        ],
    }


def _side(name: str, one: Side) -> dict[str, Any]:
    answer = answer_of(one.result) if one.result is not None else {}
    return {
        "name": name,
        "label": one.label,
        "fits": answer.get("fits", "no"),
        "memory_gib": answer.get("memory_gib"),
        "tokens_per_s_per_gpu": answer.get("tokens_per_s_per_gpu"),
        "tokens_per_s": _rounded(one.tokens_per_s, 1),
        "step_s": _rounded(one.step_s, 3),
        "mfu": answer.get("mfu"),
        "bound_by": answer.get("bound_by"),
        "needed": list(one.needed),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
