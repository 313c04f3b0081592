"""The bundle, drawn: what it holds in a few lines, and one line for each question."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.tui.bundle.contents import BundleRow, Contents, Listed
from rocdoctor.tui.style import STATE_STYLE

_STYLES = {
    "answered": STATE_STYLE["pass"],
    "denied": STATE_STYLE["unknown"],
    "timed out": STATE_STYLE["fail"],
    "failed": STATE_STYLE["fail"],
    "absent": STATE_STYLE["not-applicable"],
}
_SIZE, _STATE = 10, 13


def head(contents: Contents, packs: bool, written: str) -> Text:
    """How much it holds, what was masked, and where it was written."""
    text = Text()
    text.append_text(_counted(len(contents.rows) - 1, contents.states))
    size = f"\nThe file: {binary_size(contents.size_bytes)} of text"
    if packs:
        size += f", written compressed (gzip): {binary_size(contents.packed_bytes)}"
    else:
        size += f" ({binary_size(contents.packed_bytes)} compressed: g)"
    text.append(size + ". Nothing is sent anywhere.")
    text.append(f"\n{contents.made.said}")
    if written:
        text.append(f"\n{one_line(written)}", style="bold")
    return text


def first_head(listed: Listed) -> Text:
    """The same while the answers are being masked."""
    text = _counted(listed.count, listed.states)
    text.append(f"\nAbout {binary_size(listed.size_bytes)} of text. Nothing is sent anywhere.")
    return text.append("\nThe answers are being masked, and the report is written ...")


def _counted(count: int, states: Mapping[str, int]) -> Text:
    text = Text().append(f"{count} questions with their answers", style="bold")
    listed = ", ".join(f"{number} {words}" for words, number in states.items())
    return text.append(f" ({listed})" if listed else "")


def row(one: BundleRow, width: int, here: bool) -> Text:
    """One question: a mark where the cursor is, m where something was masked, the question, its size, its state."""
    room = max(10, width - _SIZE - _STATE - 4)
    name = Text(("> " if here else "m " if one.masked else "  ") + one.question)
    name.truncate(room, overflow="ellipsis", pad=True)
    size = "" if one.size_bytes is None else binary_size(one.size_bytes)
    name.append(f"{size:>{_SIZE}}  ")
    name.append(one.state, style=_STYLES.get(one.state, ""))
    return name
