"""The evidence as a file that is safe to post: what will be in it, what was masked, where it was written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import ScreenResume
from textual.widgets import Input

from rocdoctor.host.base import Host
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.tui.background import Background
from rocdoctor.tui.draw.lines import hung
from rocdoctor.tui.look import Look
from rocdoctor.tui.page import Page
from rocdoctor.tui.session import same_evidence
from rocdoctor.tui.widgets.ask import Ask
from rocdoctor.tui.widgets.painted import Painted
from rocdoctor.tui.widgets.rows import Lines, Rows

if TYPE_CHECKING:
    from rocdoctor.model.finding import Diagnosis
    from rocdoctor.tui.bundle.contents import Contents

_NOTE = "Give a new file or a folder. Only you can read it; nothing is overwritten. Read it before you post it."


class BundlePage(Page):
    """Every question with its answer, to look through, and one key to write them."""

    AREA = "bundle"
    ROOMY: ClassVar[Mapping[str, int]] = {"wide": 130}  # the answer stands beside the questions
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Read", tooltip="read the answer, as it will appear in the file"),
        Binding("w", "write", "Write", tooltip="write the file; asks where"),
        Binding("slash", "search", "Search", key_display="/", tooltip="search the questions"),
        Binding("m", "masked", "Masked", tooltip="to the next place where something was masked"),
        Binding("g", "pack", "Pack", tooltip="write it compressed (gzip), or as text"),
        Binding("c", "copy", "Copy path", show=False, tooltip="the path of the written file, to the clipboard"),
        Binding("escape", "back", "Back", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("c", "copy the path of the written file"),
        ("escape", "from the answer to the questions, then to the overview"),
    )
    CSS = """
    BundlePage #head { height: auto; max-height: 9; padding: 0 1; }
    BundlePage #search-line { height: 1; }
    BundlePage #search-label { width: 9; padding: 0 1; }
    BundlePage Input { height: 1; border: none; width: 1fr; background: $boost; padding: 0; }
    BundlePage #hits { width: auto; padding: 0 1; }
    BundlePage #view, BundlePage #questions { width: 1fr; }
    BundlePage #view-title { height: 1; background: $panel; padding: 0 1; }
    BundlePage #answer { padding: 0 1; height: 1fr; }
    BundlePage.wide #view { border-left: solid $panel; }
    """
    AUTO_FOCUS = "#questions"
    OWN_KEYS = True

    def __init__(self) -> None:
        super().__init__()
        self._work: Background[Contents] | None = None
        self._contents: Contents | None = None
        self._of: tuple[Host, Diagnosis | None] | None = None
        self._hits: list[int] = []
        self._path: Path | None = None
        self._written = ""
        self._packs = False
        self._stepped = -1  # the row whose masked places are stepped through
        self._drawn = ("", "")  # question and text of the answer that is shown
        self.reading = False

    def body(self) -> ComposeResult:
        """What it holds; the questions; an answer."""
        yield Painted("", id="head", markup=False)
        with Horizontal(id="search-line"):
            yield Painted("search", id="search-label")
            yield Input(id="search", placeholder="key /")
            yield Painted("", id="hits")
        with Horizontal():
            yield Rows(id="questions")
            with Vertical(id="view"):
                yield Painted("", id="view-title", markup=False)
                yield Lines(id="answer")

    def show(self, look: Look) -> None:
        """Put the bundle together once all has been answered."""
        host = self.rocdoctor.host
        if self._of is not None and not same_evidence(self._of[0], host):
            self._forget()
        if look.busy:
            if self._contents is None:
                self._say("Waiting until all questions are answered; then this screen shows what a bundle contains.")
            return
        if self._of == (host, look.diagnosis):
            return
        self._of = (host, look.diagnosis)
        if self._work is not None:
            self._work.cancel()
            self._work = None
        of, machine = self._of, look.diagnosis.machine if look.diagnosis is not None else None

        def work(task: Background[Contents]) -> Contents:
            from rocdoctor.tui.bundle.contents import gather

            return gather(host, machine)

        def begin() -> None:
            if self._of is of:
                self._work = Background(self.app, work, done=self._gathered, failed=self._failed)

        if self._contents is None:
            self._list(look)
            self.call_after_refresh(begin)  # its thread would hold up what is seen first
        else:
            begin()

    def _list(self, look: Look) -> None:
        """What was asked, before its answers are masked."""
        from rocdoctor.tui.bundle.contents import Listed
        from rocdoctor.tui.bundle.drawing import first_head, row

        listed = Listed(look.told.values())
        self.query_one("#head", Painted).update(first_head(listed))
        rows = self.query_one("#questions", Rows)
        self.query_one("#view-title", Painted).update(Text("being masked ..."))
        rows.set(listed.count + 1, lambda index, width: row(listed.row(index), width, index == rows.cursor))

    @property
    def filling(self) -> bool:
        """Whether the bundle is being put together for the first time."""
        begun = self._of is not None and (self._work is None or self._work.running)
        return self._contents is None and begun

    def _forget(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self._contents, self._of, self._path, self._written, self._hits = None, None, None, "", []
        self.query_one("#search", Input).value = ""
        self.query_one("#questions", Rows).set(0, lambda index, width: Text())
        self._drawn = ("", "")
        self.query_one("#answer", Lines).put(None)
        self._see(False)
        self.query_one("#questions").focus()

    def _say(self, words: str) -> None:
        self.query_one("#head", Painted).update(Text(words))

    def _failed(self, error: Exception) -> None:
        self._say(f"No bundle can be made: {one_line(str(error)) or type(error).__name__}")

    def _gathered(self, contents: Contents) -> None:
        before = self._question
        self._contents = contents
        self._draw_head()
        self._find(self.query_one("#questions", Rows).cursor, before)
        self._go_to_wanted()

    async def on_screen_resume(self, event: ScreenResume) -> None:
        """Go to the answer that another screen leads to."""
        await super().on_screen_resume(event)
        self.call_after_refresh(self._go_to_wanted)

    def _go_to_wanted(self) -> None:
        wanted, contents = self.rocdoctor.wanted_answer, self._contents
        if not wanted or contents is None:
            return
        self.rocdoctor.wanted_answer = ""
        questions = [one.question for one in contents.rows]
        at = questions.index(one_line(wanted)) if one_line(wanted) in questions else None
        if at is None:
            self.notify(f"this bundle has no answer to: {wanted}", markup=False)
            return
        self.query_one("#search", Input).value = ""
        self._find(at)
        self.action_read()

    def _draw_head(self) -> None:
        if self._contents is not None:
            from rocdoctor.tui.bundle.drawing import head

            self.query_one("#head", Painted).update(head(self._contents, self._packs, self._written))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the questions that the words are in."""
        self._find(0)

    @property
    def _question(self) -> str:
        """The one under the cursor."""
        at = self.query_one("#questions", Rows).cursor
        return self._contents.rows[self._hits[at]].question if self._contents and at < len(self._hits) else ""

    def _find(self, cursor: int, question: str = "") -> None:
        """Show what the words are in; the cursor goes to the question where it is there, else to its place."""
        contents = self._contents
        if contents is None:
            return
        from rocdoctor.tui.bundle.contents import search
        from rocdoctor.tui.bundle.drawing import row

        self._hits = hits = search(contents, self.query_one("#search", Input).value)
        found = [contents.rows[hit].question for hit in hits] if question else []
        cursor = found.index(question) if question in found else cursor
        rows = self.query_one("#questions", Rows)
        rows.set(len(hits), lambda index, width: row(contents.rows[hits[index]], width, index == rows.cursor), cursor)
        self.query_one("#hits", Painted).update(Text(f"{len(hits)} of {len(contents.rows)}"))
        self._draw_answer()

    def on_input_submitted(self) -> None:
        """From the words to the questions."""
        self.query_one("#questions").focus()

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Show the answer beside the question."""
        if event.rows.id == "questions":
            self._draw_answer()

    def on_rows_chosen(self) -> None:
        """A click reads."""
        self.action_read()

    def _draw_answer(self) -> None:
        answer, index = self.query_one("#answer", Lines), self.query_one("#questions", Rows).cursor
        if self._contents is None or not self.query_one("#view").display:
            return
        if index >= len(self._hits):
            self._drawn = ("", "")
            answer.put(None)
            self.query_one("#view-title", Painted).update(Text("no question contains these words"))
            return
        from rocdoctor.tui.bundle.contents import text_of

        row = self._contents.rows[self._hits[index]]
        back = "" if self.has_class("wide") else "Escape: back to the list  "
        title = back + " ".join(filter(None, (row.question, f"({binary_size(row.size_bytes or 0)})", row.state)))
        self.query_one("#view-title", Painted).update(Text(title, no_wrap=True, overflow="ellipsis"))
        from rocdoctor.report.machine.bundle_document import masked_spans

        text = text_of(self._contents, self._hits[index])
        if (row.question, text) != self._drawn:  # else the place where somebody reads stays
            self._drawn = (row.question, text)
            answer.put(partial(hung, text), masked_spans)

    def adapt(self) -> None:
        """Both beside each other where there is room."""
        super().adapt()
        self._see(self.reading)
        self._draw_answer()

    def _see(self, reading: bool) -> None:
        """The answer or the questions, or both. Displays alone change: a class would style all widgets anew."""
        self.reading = reading
        wide = self.has_class("wide")
        for name in ("head", "search-line", "questions"):
            self.query_one(f"#{name}").display = wide or not reading
        self.query_one("#view").display = wide or reading

    def action_read(self) -> None:
        """The answer in place of the list."""
        self._see(True)
        self.query_one("#answer").focus()
        self._draw_answer()

    def action_masked(self) -> None:
        """The next line with something masked: further down in this answer, else in the next one that has some."""
        contents, rows, answer = self._contents, self.query_one("#questions", Rows), self.query_one("#answer", Lines)
        if contents is None:
            return
        reading = self.query_one("#view").display and rows.cursor < len(self._hits)
        if self._stepped == rows.cursor and reading and answer.step():
            return
        from rocdoctor.tui.bundle.contents import next_masked

        here = self._hits and contents.rows[self._hits[rows.cursor]].masked and self._stepped != rows.cursor
        at = rows.cursor if here else next_masked(contents, self._hits, rows.cursor)
        if at is None:
            self.notify("nothing was masked in these answers")
            return
        self._stepped = rows.cursor = at
        self.action_read()
        self.call_after_refresh(answer.step)

    def action_search(self) -> None:
        """Type words."""
        self._see(False)
        self.query_one("#search").focus()

    def action_back(self) -> None:
        """One step back: from the answer, from the words, from the screen."""
        if self.reading or isinstance(self.focused, Input):
            self._see(False)
            self.query_one("#questions").focus()
        else:
            self.app.run_worker(self.rocdoctor.action_area("overview"))

    def action_pack(self) -> None:
        """Packed or as text."""
        self._packs = not self._packs
        self._draw_head()

    def action_copy(self) -> None:
        """The path of the written file."""
        if self._path is None:
            self.notify("nothing is written yet (w writes)")
        else:
            self.rocdoctor.copy(str(self._path), one_line(str(self._path)))

    def action_write(self) -> None:
        """Ask where, and write."""
        contents = self._contents
        if contents is None:
            self.notify("the bundle is not put together yet")
            return
        from rocdoctor.service.bundles import own_name

        def answered(path: str | None) -> None:
            if path is not None:
                self._store(contents, path)

        self.app.push_screen(Ask("write the bundle: file", own_name(), _NOTE, "Write"), answered)

    def _store(self, contents: Contents, path: str) -> None:
        packs = self._packs

        def work(task: Background[tuple[Path, int, bool]]) -> tuple[Path, int, bool]:
            from rocdoctor.tui.bundle.contents import store

            return store(contents, path, packs)

        def failed(error: Exception) -> None:
            self._written = f"Not written: {one_line(str(error))}"
            self._draw_head()
            self.notify(self._written, severity="error", timeout=10, markup=False)

        Background(self.app, work, done=self._stored, failed=failed)

    def _stored(self, result: tuple[Path, int, bool]) -> None:
        self._path, size, packed = result
        self._written = (
            f"Written: {self._path} ({binary_size(size)}{', compressed' if packed else ''}; c copies the path)"
        )
        self._draw_head()
        self.notify(self._written, markup=False)
