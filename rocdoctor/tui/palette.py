"""What the palette (ctrl+p) offers: screens, actions of the current one, manual pages, other evidence, the theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.markup import escape
from rich.text import Text
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.shell_command import as_named
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.background import Background
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import Session, session_of


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One entry: its words, what it does in a sentence, what is called; ``first``: offered before anything is typed."""

    words: str
    about: str
    call: Callable[[], Any]
    first: bool = True


class Commands(Provider):
    """All commands by name."""

    @property
    def _rocdoctor(self) -> Session:
        return session_of(self.app)

    async def discover(self) -> Hits:
        """What is offered before anything is typed."""
        for one in self._all():
            if one.first:
                yield DiscoveryHit(Text(one.words), one.call, text=one.words, help=escape(one.about))

    async def search(self, query: str) -> Hits:
        """What the typed words mean."""
        matcher = self.matcher(query)
        for one in self._all():
            score = max(matcher.match(one.words), 0.8 * matcher.match(one.about))
            if score > 0:
                yield Hit(score, Text(one.words), one.call, text=one.words, help=escape(one.about))

    def _all(self) -> Iterator[PaletteEntry]:
        app = self._rocdoctor
        for key, area in zip(KEYS, AREAS, strict=False):
            yield PaletteEntry(f"Go to {area.name} (key {key})", area.about, partial(app.action_area, area.module))
        if isinstance(self.screen, Page):
            yield from _actions(app, self.screen)
        yield from _everywhere(app)
        for name, title in app.look.titles.items():
            yield PaletteEntry(f"Explain {one_line(name)}", one_line(title), partial(explain, app, name), first=False)


def _actions(app: Session, page: Page) -> Iterator[PaletteEntry]:
    """What can be done on this screen: its own keys, with their words."""
    here = next(area.name for area in AREAS if area.module == page.AREA)
    seen: set[str] = set()
    # Its own list, not what is bound at the moment: a text that has the focus takes letters away, and of two keys for
    # one action the one of the key bar is named.
    own = [one for one in type(page).BINDINGS if isinstance(one, Binding) and one.description]
    for one in sorted(own, key=lambda one: not one.show):
        if one.action not in seen and not one.action.startswith("app.") and page.offers(one):
            seen.add(one.action)
            words = f"{here}: {one.description} (key {one.key_display or one.key})"
            yield PaletteEntry(words, one.tooltip or "on this screen", partial(app.run_action, one.action, page))


def _everywhere(app: Session) -> Iterator[PaletteEntry]:
    from rocdoctor.tui.open_evidence import open_in_all_screens

    yield PaletteEntry(
        "Open evidence...", "a bundle, a folder, an archive or a log, on all screens", partial(open_in_all_screens, app)
    )
    from rocdoctor.tui.linting import lint_a_path

    yield PaletteEntry("Lint a file...", "scripts, job files, Dockerfiles, or a folder", partial(lint_a_path, app))
    about = "your own limit, beside those of the cards (key a on Thermals)"
    yield PaletteEntry("Alarm at a temperature...", about, app.action_ask_alarm)
    yield PaletteEntry("Back to the evidence before (key b)", "after other evidence was opened", app.action_earlier)
    yield PaletteEntry(
        "Copy the first command", "the one thing to do first, to the clipboard", partial(copy_first, app)
    )
    yield PaletteEntry(
        "Report as text (key t)", "for screen readers, copying and small terminals", app.action_text_report
    )
    yield PaletteEntry("Check the machine again (key r)", "asks it everything again", app.action_reload)
    yield PaletteEntry("Help (key ?)", "keys and screens", app.action_help)
    yield PaletteEntry("Change theme...", "colours of the screens", app.search_themes)
    yield PaletteEntry("Quit (key q)", "leave rocdoctor", app.action_quit)


def copy_first(app: Session) -> None:
    """The command to do first, to the clipboard."""
    from rocdoctor.report.diagnosis.headline import headline

    command = clean(headline(app.look.diagnosis).command) if app.look.diagnosis else ""
    if command:
        app.copy(command, as_named(command))
    else:
        app.notify("there is no command to copy")


def explain(app: Session, name: str) -> None:
    """The manual page of a check, over the screen."""
    from rocdoctor.tui.widgets.reader import Reader

    def work(task: Background[str]) -> str:
        from rocdoctor.service.manual_pages import page

        return page(name)

    def failed(error: Exception) -> None:
        app.notify(one_line(str(error)), severity="error", markup=False)

    Background(app, work, done=lambda text: app.push_screen(Reader(one_line(name), text)), failed=failed)
