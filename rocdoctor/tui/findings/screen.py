"""What is wrong: the list by root cause, and the page of the chosen finding with its evidence, fix and verification."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import ScreenResume
from textual.timer import Timer
from textual.widgets import OptionList, Static

from rocdoctor.host.base import Host
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.printable import clean
from rocdoctor.model.shell_command import as_named
from rocdoctor.model.subject import Subject
from rocdoctor.tui.background import Background
from rocdoctor.tui.findings.details import Details, look_up
from rocdoctor.tui.findings.empty_list import no_rows
from rocdoctor.tui.findings.filter_bar import FilterPanel
from rocdoctor.tui.findings.finding_options import FindingOptions
from rocdoctor.tui.findings.finding_page import page, plain
from rocdoctor.tui.findings.findings_list import FindingsRow, FindingsSection, filtered, sections
from rocdoctor.tui.findings.mending import Mending
from rocdoctor.tui.findings.verifying import Verifying
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.widgets.flow import FlowText, StillScroll

_REST_S = 0.04  # while somebody runs through the list, pages are not looked up
Key = tuple[str, str, str]


class FindingsPage(Page):
    """The list, and the page of what is chosen in it: beside it where there is room, else below."""

    AREA = "findings"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 120}  # the page stands beside the list
    AUTO_FOCUS = "#list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "verify", "Verify", tooltip="verify the fix here"),
        Binding("F", "apply", "Fix", tooltip="apply the fix here, after a question"),
        Binding("u", "undo", "Undo", tooltip="take back the fix that was applied from this row, after a question"),
        Binding("c", "copy_fix", "Copy", tooltip="copy the command of the fix, or the parameter"),
        Binding("e", "evidence", "Evidence", show=False),
        Binding("slash", "search", "Search", key_display="/", tooltip="show only findings with some words"),
        Binding("f", "filter('state')", "Filter", tooltip="found, unknown, crashed, not applicable, passed, all"),
        Binding("s", "filter('severity')", "Severity", show=False),
        Binding("a", "filter('area')", "Area", show=False),
        Binding("y", "copy_all", "Copy all", show=False),
        Binding("n", "step(1)", "Next", show=False),
        Binding("p", "step(-1)", "Previous", show=False),
        Binding("space", "scroll(1)", "Page down", show=False),
        Binding("backspace", "scroll(-1)", "Page up", show=False),
        Binding("escape", "leave", "Back", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("s, a", "filter by severity, by area (GPU, driver, links ...)"),
        ("y", "copy the whole page as text"),
        ("e", "the whole answer that shows it, as in a bundle"),
        ("Enter", "only the page; Escape returns to the list"),
        ("n, p", "next and previous finding; in the list also arrows"),
        ("space", "scroll the page down, backspace up"),
        ("Tab", "from the list to the page and back, for the arrows"),
        ("Escape", "leave the search, a verification or a filter"),
    )
    CSS = """
    FindingsPage #both { layout: vertical; height: 1fr; }
    FindingsPage FindingOptions { height: auto; max-height: 40%; }
    FindingsPage #detail { height: 1fr; border-top: solid $accent; padding: 0 1; }
    FindingsPage #detail:focus { border-top: heavy $accent; }
    FindingsPage #verification { display: none; height: auto; border: round $accent; padding: 0 1; margin-bottom: 1; }
    FindingsPage #verification.open { display: block; }
    FindingsPage #page, FindingsPage #empty { height: auto; }
    FindingsPage #empty { display: none; padding: 1 2; }
    FindingsPage.nothing #both { display: none; }
    FindingsPage.nothing #empty { display: block; }
    FindingsPage.alone FindingOptions { display: none; }
    FindingsPage.wide #both { layout: horizontal; }
    FindingsPage.wide FindingOptions { width: 42%; max-width: 88; height: 100%; max-height: 100%; }
    FindingsPage.wide #detail { border-top: none; border-left: solid $accent; height: 100%; }
    FindingsPage.wide #detail:focus { border-left: heavy $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._diagnosis: Diagnosis | None = None
        self._sections: tuple[FindingsSection, ...] = ()
        self._details: dict[Key, Details] = {}
        self._said: Text | None = None  # of the verification
        self._read: set[Key] = set()  # whose details are of this diagnosis
        self._seen: Key | None = None
        self._pause: Timer | None = None
        self._lookup: Background[dict[Key, Details]] | None = None
        self._verifying = Verifying(self, self.copy, self.draw_verification)
        self._mending = Mending(self, self._rows, self._draw_mending)

    def body(self) -> ComposeResult:
        """The filter, the list, the page."""
        yield FilterPanel()
        with Container(id="both"):
            yield FindingOptions()
            with StillScroll(id="detail"):
                yield Static(id="verification")
                yield FlowText(id="page")
        yield Static(id="empty")

    # -- what is known

    def show(self, look: Look) -> None:
        """Another step of the looking; the filter and the row stay as far as they can."""
        host = self.rocdoctor.host
        if self._host is not None and host is not self._host:
            self._verifying.forget()
            if not same_evidence(self._host, host):
                self._forget()
        self._host = host
        if look.diagnosis is not self._diagnosis:
            self._diagnosis = look.diagnosis
            self._read.clear()
            self._sections = sections(look.diagnosis, look.preliminary) if look.diagnosis is not None else ()
        self._fill()
        self._go_to_wanted()

    async def on_screen_resume(self, event: ScreenResume) -> None:
        """Go to the finding that another screen leads to."""
        await super().on_screen_resume(event)
        self.call_after_refresh(self._go_to_wanted)

    def _go_to_wanted(self) -> None:
        wanted, self.rocdoctor.wanted = self.rocdoctor.wanted, None
        if isinstance(wanted, Subject):
            self.query_one(FilterPanel).only(wanted)
            self._fill()
        elif wanted is not None:
            options = self.query_one(FindingOptions)
            if not options.go_to(wanted) and self.query_one(FilterPanel).clear():
                self._fill()
                options.go_to(wanted)

    def _forget(self) -> None:
        self.query_one(FilterPanel).clear()
        if self._lookup is not None:
            self._lookup.cancel()
        self._details.clear()
        self._seen = None
        self.query_one(FindingOptions).forget()
        self.remove_class("alone")

    def _fill(self) -> None:
        """Put what the filter lets through into the list."""
        panel = self.query_one(FilterPanel)
        panel.of(self._sections)
        shown = filtered(self._sections, panel.filter, self.look.titles, self._mending.keys)
        self.set_class(not shown, "nothing")
        if not shown:
            self.query_one("#empty", Static).update(no_rows(self.look, panel.filter, bool(self._sections)))
        self.query_one(FindingOptions).fill(shown)
        self._chosen()

    def _rows(self) -> list[FindingsRow]:
        return [row for section in self._sections for row in section.rows]

    def _draw_mending(self) -> None:
        """What came of a fix: its rows stay in the list as long as it can be taken back."""
        self._fill()
        self.draw_verification()

    # -- the chosen row

    @property
    def row(self) -> FindingsRow | None:
        """The chosen row."""
        return self.query_one(FindingOptions).row

    @property
    def at_work(self) -> bool:
        """Whether the page of the chosen row is still being looked up."""
        return self._pause is not None or (self._lookup is not None and self._lookup.running)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show its page."""
        event.stop()
        self._chosen()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """The page alone where both share the height."""
        event.stop()
        if not self.has_class("wide"):
            self.add_class("alone")
        self.query_one("#detail").focus()
        self._draw()

    def _chosen(self) -> None:
        row = self.row
        if row is None:
            return
        if row.key != self._seen:
            self._seen = row.key
            self.query_one("#detail").scroll_home(animate=False)
        self._draw()
        if all(one.key in self._read for one in (row, *self.query_one(FindingOptions).beside)):
            return
        if self._lookup is not None:
            self._lookup.cancel()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_REST_S, self._look_up)

    def _look_up(self) -> None:
        self._pause = None
        row, diagnosis, host = self.row, self._diagnosis, self._host
        if row is None or diagnosis is None or host is None:
            return

        # With the rows beside it: the page of the next one is then drawn once, not first without its details.
        wanted = [row, *self.query_one(FindingOptions).beside]

        def work(task: Background[dict[Key, Details]]) -> dict[Key, Details]:
            return {one.key: look_up(host, one, diagnosis) for one in wanted if one.key not in self._read}

        def done(found: dict[Key, Details]) -> None:
            self._details.update(found)
            self._read.update(found)
            self._draw()

        self._lookup = Background(self.app, work, done)

    def _draw(self) -> None:
        row = self.row
        if row is None or self._diagnosis is None:
            return
        self._name_keys()
        self.query_one("#page", FlowText).set(partial(page, row, self._diagnosis, self._details.get(row.key)))
        self.draw_verification()

    def _name_keys(self) -> None:
        self.refresh_bindings()
        words = "Escape: back to the list" if self.has_class("alone") else "Enter: only this page"
        named = self.row is not None and not self.has_class("wide")
        self.query_one("#detail").border_title = f"{words}, space: more" if named else None

    def draw_verification(self) -> None:
        """What the verification of this row says, or nothing."""
        row = self.row
        said = self._verifying.text(row) or self._mending.text(row) if row is not None else None
        if said == self._said:
            return
        self._said = said
        panel = self.query_one("#verification", Static)
        panel.set_class(said is not None, "open")
        panel.update(said or Text())

    def adapt(self) -> None:
        """Beside each other where there is room."""
        super().adapt()
        if self.has_class("wide"):
            self.remove_class("alone")
        self._name_keys()

    # -- moving

    def action_step(self, by: int) -> None:
        """The next row or the one before."""
        options = self.query_one(FindingOptions)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_scroll(self, by: int) -> None:
        """A page of the text."""
        detail = self.query_one("#detail")
        if by > 0:
            detail.scroll_page_down(animate=False)
        else:
            detail.scroll_page_up(animate=False)

    def action_leave(self) -> None:
        """One step back: from the search, a verification, the page alone, the filter, this screen."""
        panel = self.query_one(FilterPanel)
        if panel.leave_search():
            return
        if self._verifying.cancel():
            self.notify("cancelled")
        elif self.has_class("alone"):
            self.remove_class("alone")
            self.query_one("#list").focus()
            self.call_after_refresh(self._draw)
        elif self._verifying.put_away(self.row) or self._mending.put_away(self.row):
            self.draw_verification()
        elif not panel.clear():
            self.app.run_worker(self.rocdoctor.action_area("overview"))

    # -- filtering

    def action_filter(self, part: str) -> None:
        """The next choice of state, severity or area."""
        self.query_one(FilterPanel).next(part)

    def action_search(self) -> None:
        """Open the line for words."""
        self.query_one(FilterPanel).search()

    def on_filter_panel_changed(self, event: FilterPanel.Changed) -> None:
        """Show what it lets through now."""
        event.stop()
        self._fill()

    def on_filter_panel_left(self, event: FilterPanel.Left) -> None:
        """Back to the list."""
        event.stop()
        self.query_one("#list").focus()

    # -- what can be done with a finding

    def copy(self, text: str, what: str) -> None:
        """To the clipboard, and say what came of it."""
        self.rocdoctor.copy(text, what)

    def action_copy_fix(self) -> None:
        """The command of the fix."""
        fix = self.row.finding.fix if self.row is not None and self.row.finding is not None else None
        if fix is not None and fix.command:
            self.copy(clean(fix.command), as_named(clean(fix.command)))
        else:
            self.notify(f"{'this fix has no command' if fix else 'there is no fix here'}; y copies the whole page")

    def action_copy_all(self) -> None:
        """The page as text."""
        if self.row is not None and self._diagnosis is not None:
            text = plain(self.row, self._diagnosis, self._details.get(self.row.key))
            self.copy(text, f"the text of {self.row.check}, {len(text.splitlines())} lines")

    async def action_evidence(self) -> None:
        """The whole answer behind the first line of evidence."""
        finding = self.row.finding if self.row is not None else None
        question = next((one.source for one in finding.evidence if one.source), "") if finding else ""
        if question:
            await self.rocdoctor.show_answer(question)
        else:
            self.notify("no answer is cited here")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A fix is applied to this machine alone, where a program may do it, and taken back where it was applied."""
        if action in ("verify", "copy_fix"):
            return self.row is not None and self.row.finding is not None
        if action == "apply":
            return self._mending.offered(self.row, self._host)
        return action != "undo" or self._mending.undoable(self.row) is not None

    @property
    def holds(self) -> str:
        """A fix that is being applied."""
        return "a fix is being applied" if self._mending.running else ""

    def action_apply(self) -> None:
        """Show what the fix would change, ask, do it."""
        if self.row is not None and self._diagnosis is not None:
            self._mending.press(self.row, self._diagnosis)

    def action_undo(self) -> None:
        """Take back the fix that was applied from this row, after a question."""
        if self.row is not None:
            self._mending.take_back(self.row)

    def action_verify(self) -> None:
        """Verify the fix of this finding."""
        if self.row is not None and self._host is not None and self._diagnosis is not None:
            self._verifying.press(self.row, self._host.kind, self._diagnosis.verdicts)
            self.query_one("#detail").scroll_home(animate=False)
            self.draw_verification()
