"""The grid of smoke tests as a list that can be walked through: a line a mode, sections with headings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.text import Text
from textual.widgets.option_list import Option

from rocdoctor.tui.smoke.grid_drawing import GridRow, GridSection, heading, line
from rocdoctor.tui.widgets.options import SearchedOptions

_LEAST = 50


class SmokeGrid(SearchedOptions):
    """Modes and ranks. The selection stays at its mode while the grid changes."""

    def __init__(self) -> None:
        super().__init__(id="grid")
        self.sections: Sequence[GridSection] = ()
        self._rows: list[GridRow | None] = []  # one an option; None is a heading
        self._led: int | None = None
        self._chosen: Collection[str] | None = None
        self._width = 0

    @property
    def selected(self) -> GridRow | None:
        """The row under the cursor."""
        at = self.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def chosen_by_hand(self, event: SearchedOptions.OptionHighlighted) -> bool:
        """Whether a person moved the cursor, and not ``lead``; a place that it has left since tells nothing."""
        return event.option_index == self.highlighted != self._led

    def put(self, sections: Sequence[GridSection], chosen: Collection[str] | None) -> None:
        """Show these sections. ``chosen``: the modes that are marked; None where nothing can be chosen."""
        self._width = self.scrollable_content_region.width
        width = max(_LEAST, self._width)
        before, keys = self.selected, _keys(self._rows)
        self.sections, self._chosen = sections, chosen
        self._rows = []
        prompts: list[Text] = []
        for one in sections:
            self._rows.append(None)
            prompts.append(heading(one, width, chosen is not None))
            for row in one.rows:
                self._rows.append(row)
                prompts.append(line(row, one.world, width, None if chosen is None else row.mode in chosen))
        if _keys(self._rows) == keys:
            for at, prompt in enumerate(prompts):
                self.replace_option_prompt_at_index(at, prompt)
            return
        self.clear_options()
        self.add_options([Option(text, disabled=row is None) for text, row in zip(prompts, self._rows, strict=True)])
        self.highlighted = self._place_of(before)
        self._led = self.highlighted

    def on_resize(self) -> None:
        """Lines for another width."""
        if self.scrollable_content_region.width != self._width:
            self.put(self.sections, self._chosen)

    def lead(self, to_result: bool = False) -> None:
        """Move the cursor to the mode that runs, or to the first fault (without one, to the first mode)."""
        at = self._place_of(None) if to_result else self._first(lambda one: one.running)
        if at is not None and self.highlighted != at:
            self._led = at
            self.highlighted = at

    def _place_of(self, row: GridRow | None) -> int | None:
        """Where a mode of before is now; without one the first fault, else the first mode."""
        places = (self._first(lambda one: row is not None and one.mode == row.mode), self._first(_bad))
        return next((at for at in places if at is not None), self._first(lambda one: True))

    def _first(self, is_it: Callable[[GridRow], bool]) -> int | None:
        return next((at for at, one in enumerate(self._rows) if one is not None and is_it(one)), None)


def _keys(rows: Sequence[GridRow | None]) -> list[tuple[int, str] | None]:
    return [None if row is None else (row.section, row.mode) for row in rows]


def _bad(row: GridRow) -> bool:
    return row.result is not None and row.result.state in ("fail", "crashed")
