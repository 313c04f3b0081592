"""What is shown of the findings, in words; a click on a part of the line does what its key does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message
from textual.widgets import Input, Static

from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import Subject
from rocdoctor.tui.findings.findings_list import (
    STATES,
    Filter,
    FindingsSection,
    next_area,
    next_severity,
    next_state,
    state_counts,
)

_PARTS = (("f", "state"), ("s", "severity"), ("a", "area"), ("slash", "text"))


class FilterBar(Static):
    """The filter in words."""

    class Pressed(Message):
        """A part was clicked on; ``part`` is ``state``, ``severity``, ``area`` or ``text``."""

        def __init__(self, part: str) -> None:
            super().__init__()
            self.part = part

    def __init__(self) -> None:
        super().__init__("")
        self._ends: list[tuple[int, str]] = []

    def say(self, wanted: Filter, counts: Mapping[str, int]) -> None:
        """Show the filter, and how many rows it does not show for their state."""
        text, self._ends = filter_text(wanted, counts)
        self.update(text)

    def on_click(self, event: Click) -> None:
        """What the key of this part does."""
        if event.y == 0:
            part = next((part for end, part in self._ends if event.x < end), None)
            if part is not None:
                self.post_message(self.Pressed(part))


class FilterPanel(Vertical):
    """The filter: its line in words, and below it the line in which words to look for are typed."""

    DEFAULT_CSS: ClassVar[str] = """
    FilterPanel { height: auto; }
    FilterPanel FilterBar { height: auto; max-height: 2; }
    FilterPanel Input, FilterPanel Input:focus { display: none; height: 1; border: none; padding: 0 1; }
    FilterPanel Input.open, FilterPanel Input.open:focus { display: block; }
    """

    class Changed(Message):
        """Something else is let through now."""

    class Left(Message):
        """The line for words was left."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = Filter()
        self._sections: tuple[FindingsSection, ...] = ()

    def compose(self) -> ComposeResult:
        """The line, and the input that is hidden at first."""
        yield FilterBar()
        yield Input(placeholder="words to look for; Enter keeps them, Escape clears them", id="search")

    def of(self, sections: Sequence[FindingsSection]) -> None:
        """What there is to choose from."""
        self._sections = tuple(sections)
        self._say()

    def _say(self) -> None:
        self.query_one(FilterBar).say(self.filter, state_counts(self._sections))

    def _set(self, wanted: Filter) -> None:
        if wanted != self.filter:
            self.filter = wanted
            self._say()
            self.post_message(self.Changed())

    def next(self, part: str) -> None:
        """The next choice of state, severity or area."""
        if part == "state":
            self._set(replace(self.filter, state=next_state(self._sections, self.filter.state)))
        elif part == "severity":
            self._set(replace(self.filter, severity=next_severity(self._sections, self.filter)))
        else:
            self._set(replace(self.filter, area=next_area(self._sections, self.filter)))

    def clear(self) -> bool:
        """Let through what is let through at the beginning; whether that is a change."""
        changed = self.filter != Filter()
        self._set(Filter())
        self.query_one(Input).value = ""
        return changed

    def only(self, subject: Subject) -> None:
        """Let through the findings of one part of the machine alone."""
        self.clear()
        self._set(Filter(subject=subject))

    def search(self) -> None:
        """Open the line for words."""
        line = self.query_one(Input)
        line.add_class("open")
        line.focus()

    def leave_search(self) -> bool:
        """Close it and forget the words; whether it was open."""
        line = self.query_one(Input)
        if not line.has_class("open"):
            return False
        line.value = ""
        self._set(replace(self.filter, text=""))
        self._close()
        return True

    def _close(self) -> None:
        self.query_one(Input).remove_class("open")
        self.post_message(self.Left())

    def on_filter_bar_pressed(self, event: FilterBar.Pressed) -> None:
        """A click on the line."""
        event.stop()
        if event.part == "text":
            self.search()
        else:
            self.next(event.part)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        event.stop()
        self._set(replace(self.filter, text=event.value.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the words."""
        event.stop()
        self._close()


def filter_text(wanted: Filter, counts: Mapping[str, int]) -> tuple[Text, list[tuple[int, str]]]:
    """(the line, where each part ends)."""
    names = dict(STATES)
    number = f" {counts.get(wanted.state, 0)}" if wanted.state else ""
    values = {
        "state": names[wanted.state] + number,
        "severity": wanted.severity or "all",
        "area": wanted.area or "all",
        "text": f"'{one_line(wanted.text)}'" if wanted.text else "any",
    }
    text, ends = Text(" "), list[tuple[int, str]]()
    for key, part in _PARTS:
        text.append("/" if key == "slash" else key, style="bold")
        text.append(f" {part}: ", style="dim")
        changed = getattr(wanted, part) != getattr(Filter(), part)
        text.append(values[part], style="bold" if changed else "")
        text.append("  ")
        ends.append((text.cell_len, part))
    others = [f"{counts[state]} {names[state]}" for state in ("crashed", "unknown") if counts.get(state)]
    if wanted.subject is not None:
        text.append(f"\n {wanted.subject.label} only (Escape: all)  ", style="bold")  # the line is full as it is
    if others and wanted.state == "fail":
        text.append("also " + ", ".join(others), style="italic")
    return text, ends
