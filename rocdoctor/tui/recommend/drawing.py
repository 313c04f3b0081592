"""A plan, drawn: the report of ``rocdoctor recommend`` with memory as a bar, and rows of models and files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from rocdoctor.model.printable import clean, one_line
from rocdoctor.tui.style import SEVERITY_STYLE, STATE_STYLE

if TYPE_CHECKING:
    from rocdoctor.train.recommend.plan import Plan, Recommendation

_MOST_COLUMNS = 110
# What the command line calls an option is a field here.
_FIELD = ("change it with --seq", "the field sequence changes it")
_BAR_STYLES = {"yes": STATE_STYLE["pass"], "tight": SEVERITY_STYLE["warning"], "no": SEVERITY_STYLE["error"]}


def plan_text(
    answer: Recommendation, width: int, command: str = "", apply: str = "", unfit: Sequence[str] = ()
) -> Text:
    """The whole answer. ``command`` gives the same on the command line; ``apply`` names a change that a key makes.

    ``unfit``: what speaks against GPUs that it uses, which is said before everything else.
    """
    from rocdoctor.report.plan.recommend_document import document
    from rocdoctor.report.text import render, wrap

    columns = max(40, min(width, _MOST_COLUMNS))
    answer = _of_the_form(answer)
    head, *blocks = clean(render(document(answer), columns)).rstrip("\n").split("\n\n")
    text = Text(style="bold")
    for one in unfit:
        text.append("\n".join(wrap(f"! {one}", columns, "", "  ")) + "\n", style=SEVERITY_STYLE["error"])
    text.append(("\n" if unfit else "") + head)
    if answer.plan is None and apply:
        text.append(f"\nKey a applies the smallest change: {one_line(apply)}.", style="not bold")
    if answer.plan is not None:
        text.append("\n\n" + "\n".join(memory_bar(answer.plan, columns)), style=_style(answer.plan))
    for block in blocks[: -1 if answer.plan is not None else None]:
        title, _, rest = block.partition("\n")
        text.append(f"\n\n{title}", style="bold")
        text.append(f"\n{rest}", style="not bold")
    if answer.plan is not None:
        text.append(f"\n\n{answer.considered} plans were compared. Files: key f. Memory: key m.", style="not bold")
        if answer.plan.result.speed is not None:
            text.append("\nMFU is the share of the peak rate that training itself uses.", style="not bold dim")
    if command:
        text.append("\n\nOn the command line (key c copies)", style="bold")
        text.append(f"\n  {clean(command)}", style="not bold")
    return text


def _of_the_form(answer: Recommendation) -> Recommendation:
    """The answer with notes that name fields instead of options."""
    derived = tuple(one.replace(*_FIELD) for one in answer.workload.derived)
    answer = replace(answer, workload=replace(answer.workload, derived=derived))
    if answer.plan is None:
        return answer
    return replace(answer, plan=replace(answer.plan, notes=tuple(one.replace(*_FIELD) for one in answer.plan.notes)))


def _style(plan: Plan) -> str:
    return f"not bold {_BAR_STYLES[plan.result.fits].removeprefix('bold ')}"


def memory_bar(plan: Plan, columns: int) -> list[str]:
    """The memory of one GPU against what can be planned with: ``#`` surely held, ``+`` perhaps, ``.`` free."""
    from rocdoctor.train.recommend.explain.value_reasons import gib, room

    found, limit = plan.result.memory, room(plan.work)
    cells = max(10, columns - 14)
    low, high = (min(cells, round(cells * one / limit)) for one in (found.low, found.high))
    bar = "#" * low + "+" * (high - low) + "." * (cells - high)
    unit = "process" if plan.fleet.vendor == "cpu" else "GPU"
    words = f"each {unit} holds {gib(found.low)} (#) to {gib(found.high)} (+) of {gib(limit)}; "
    words += f"{gib(plan.work.gpu.usable_bytes)} are usable"
    return [f"memory      [{bar}]", *_folded(words, columns)]


def _folded(words: str, columns: int) -> list[str]:
    return textwrap.wrap(words, columns, initial_indent=" " * 12, subsequent_indent=" " * 12)


def model_row(name: str, parameters: float | None, width: int, here: bool) -> Text:
    """One model: a mark where the cursor is, its name, its parameters."""
    size = (
        "" if parameters is None else f"{parameters / 1e9:.2f} B" if parameters < 1e11 else f"{parameters / 1e9:.0f} B"
    )
    room_left = max(4, width - 11)
    text = Text(("> " if here else "  ") + one_line(name))
    text.truncate(room_left, overflow="ellipsis", pad=True)
    text.append(f"{size:>9}")
    return text


def target_row(name: str, chosen: bool, here: bool) -> Text:
    """One target: a mark where the cursor is, a cross where it is chosen."""
    return Text(("> " if here else "  ") + ("[x] " if chosen else "[ ] ") + name)


def file_row(name: str, here: bool) -> Text:
    """One file."""
    return Text(("> " if here else "  ") + one_line(name))
