"""The list of findings: headings that cannot be chosen, rows that can; fast with hundreds of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.widgets.option_list import Option

from rocdoctor.model.printable import one_line
from rocdoctor.report.text import wrap
from rocdoctor.tui.findings.findings_list import FindingsRow, FindingsSection
from rocdoctor.tui.style import SEVERITY_STYLE, STATE_STYLE
from rocdoctor.tui.widgets.options import Options

_INDENT = 10


class FindingOptions(Options):
    """Rows below headings. ``row`` is the one under the cursor."""

    DEFAULT_CSS: ClassVar[str] = """
    FindingOptions { border: none; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    FindingOptions:focus { border: none; }
    FindingOptions > .option-list--option-disabled { color: $foreground; text-style: bold; }
    FindingOptions > .option-list--option-highlighted, FindingOptions:focus > .option-list--option-highlighted {
        background: $primary 15%; color: $foreground; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(id="list")
        self._rows: dict[int, FindingsRow] = {}
        self._shown: list[tuple[str, str]] = []
        self._last: FindingsRow | None = None
        self._sections: tuple[FindingsSection, ...] = ()

    @property
    def rows(self) -> list[FindingsRow]:
        """All rows, in order."""
        return list(self._rows.values())

    @property
    def row(self) -> FindingsRow | None:
        """The chosen row."""
        return None if self.highlighted is None else self._rows.get(self.highlighted)

    @property
    def beside(self) -> list[FindingsRow]:
        """The rows below and above the chosen one."""
        rows, chosen = self.rows, self.row
        at = rows.index(chosen) if chosen is not None else 0
        return [*rows[at + 1 : at + 2], *rows[max(0, at - 1) : at]]

    def fill(self, sections: Iterable[FindingsSection]) -> None:
        """Show these rows, and stay on the row that was chosen last where it is there (again)."""
        self._sections = tuple(sections)
        self._lay()

    def on_resize(self) -> None:
        """Whole sentences where all of them fit."""
        self._lay()
        super().on_resize()

    def _prompts(self, width: int) -> list[tuple[Text, FindingsRow | None]]:
        prompts: list[tuple[Text, FindingsRow | None]] = []
        for section in self._sections:
            prompts.append((Text(section.heading, style="bold"), None))
            prompts += [(row_text(row, width), row) for row in section.rows]
        return prompts

    def _lay(self) -> None:
        self._last = before = self.row or self._last
        prompts, room = self._prompts(0), self.scrollable_content_region
        # Only a list that has its height whatever is in it is laid out by that height.
        if self.screen.has_class("wide") and len(prompts) < room.height:
            whole = self._prompts(room.width)
            if sum(text.plain.count("\n") + 1 for text, _ in whole) <= room.height:
                prompts = whole
        shown = [(text.markup, row.word if row is not None else "") for text, row in prompts]
        self._rows = {number: row for number, (_, row) in enumerate(prompts) if row is not None}
        if shown == self._shown:
            return
        place = self.scroll_offset
        self._shown = shown
        self.clear_options()
        self.add_options([Option(text, disabled=row is None) for text, row in prompts])
        wanted = self._where(before)
        self.highlighted = wanted
        if before is not None and wanted is not None and self._rows[wanted].key == before.key:
            self.scroll_to(y=place.y, animate=False)

    def go_to(self, key: tuple[str, str, str]) -> bool:
        """Choose the row of a key; whether it is there."""
        at = next((number for number, row in self._rows.items() if row.key == key), None)
        if at is not None:
            self.highlighted = at
        return at is not None

    def forget(self) -> None:
        """Begin with the first row of what is shown next."""
        self.fill(())
        self._last = None

    def _where(self, before: FindingsRow | None) -> int | None:
        """The same row, else one of the same check and state, else of the same check, else the first."""
        if before is not None:
            for same in (
                lambda row: row.key == before.key,
                lambda row: (row.state, row.check) == (before.state, before.check),
                lambda row: row.check == before.check,
            ):
                for number, row in self._rows.items():
                    if same(row):
                        return number
        return next(iter(self._rows), None)


def row_text(row: FindingsRow, width: int = 0) -> Text:
    """One row: how grave, the check, the subjects, and the beginning of what it says; with a width all of it, below."""
    text = Text("  ", no_wrap=True, overflow="ellipsis")
    text.append(f"{row.word:<7} ", style=SEVERITY_STYLE.get(row.word) or STATE_STYLE.get(row.state, ""))
    text.append(row.check)
    if row.where:
        text.append(f"  {row.where}")
    if row.follows:
        text.append("  follows from it", style="italic")
    said = row.said
    if said and width > 2 * _INDENT:
        text.append("\n" + "\n".join(wrap(one_line(said), width, " " * _INDENT)), style="dim")
    elif said:
        text.append(f"  {one_line(said)[:200]}", style="dim")
    return text
