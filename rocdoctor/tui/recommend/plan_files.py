"""The files of a plan: targets to choose, the files that they make, the text of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from rocdoctor.model.printable import clean, one_line
from rocdoctor.train.emit.targets import TARGETS
from rocdoctor.tui.background import Background
from rocdoctor.tui.draw.lines import cut
from rocdoctor.tui.recommend.drawing import file_row, target_row
from rocdoctor.tui.recommend.plan_form_values import Emission, Form, counter, emission, usual_targets
from rocdoctor.tui.widgets.rows import Lines, Rows
from rocdoctor.tui.write_files import ask_and_write

if TYPE_CHECKING:
    from rocdoctor.model.facts import Machine
    from rocdoctor.train.emit.files import File
    from rocdoctor.train.recommend.plan import Recommendation

_NAMES = tuple(TARGETS)
# Stands before the rest of a line that is longer than the room: what follows is no line of the file.
_AGAIN = "    ... "


class PlanFiles(Horizontal):
    """The files of the plan that ``of`` names; they are made when ``make`` is called, or other targets are chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "pick", "Choose", show=False)]
    DEFAULT_CSS = """
    PlanFiles #lists { width: 26; border-right: solid $panel; }
    PlanFiles .title { height: 1; background: $panel; padding: 0 1; }
    PlanFiles #targets { height: 3fr; max-height: 11; }
    PlanFiles #about { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    PlanFiles #files { height: 1fr; min-height: 2; }
    PlanFiles #content-box { width: 1fr; }
    PlanFiles #said { height: auto; max-height: 6; padding: 0 1; }
    PlanFiles #content { height: 1fr; padding: 0 1; }
    """

    def __init__(self, **options: Any) -> None:
        """``options`` are those of a container (id, classes)."""
        super().__init__(**options)
        self.targets: tuple[str, ...] = ()
        self.emission: Emission | None = None
        self._plan: tuple[Form, Machine | None, Recommendation] | None = None
        self._work: Background[Emission] | None = None
        self._shown = ""
        self._built = False

    async def build(self) -> None:
        """Two lists and a text, from when they are first looked at: a plan is opened far more often than its files."""
        if self._built:
            return
        self._built = True
        await self.mount(
            Vertical(
                Static("targets (space chooses)", classes="title"),
                Rows(id="targets"),
                Static("", id="about", markup=False),
                Static("files", classes="title"),
                Rows(id="files"),
                id="lists",
            ),
            Vertical(
                Static("", id="name", classes="title", markup=False),
                Static("", id="said", markup=False),
                Lines(id="content"),
                id="content-box",
            ),
        )
        self._list_files()

    def of(self, form: Form, machine: Machine | None, answer: Recommendation) -> None:
        """The files of another plan from now on."""
        self.stop()
        self._plan, self.emission = (form, machine, answer), None
        self._list_files()

    def forget(self) -> None:
        """There is no plan any more."""
        self.stop()
        self._plan, self.emission, self.targets = None, None, ()
        self._list_files()

    def make(self) -> None:
        """Make the files, unless they are made already."""
        if self._plan is not None and self.emission is None and not self.busy:
            self._emit(self.targets or usual_targets(self._plan[2]))

    def maker(self) -> Callable[[], Sequence[File]]:
        """What gives the files in a thread, made there unless they are made already; raises UsageError with why not."""
        made, plan, targets = self.emission, self._plan, self.targets

        def files() -> Sequence[File]:
            from rocdoctor.service.errors import UsageError

            found = made
            if found is None and plan is not None:
                found = emission(plan[0], plan[1], targets or usual_targets(plan[2]), lambda: None)
            if found is None or not found.files:
                raise UsageError(found.problem if found is not None else "there is no plan whose files could be made")
            return found.files

        return files

    @property
    def busy(self) -> bool:
        """Files are being made."""
        return self._work is not None and self._work.running

    def stop(self) -> None:
        """Nobody waits for files any more."""
        if self._work is not None and self._work.running:
            self._work.cancel()
            self.say("Stopped; space on a target continues.")

    def _emit(self, targets: tuple[str, ...]) -> None:
        if self._work is not None:
            self._work.cancel()
        self._choose(targets)
        if self._plan is None:
            return
        form, machine, first = self._plan
        wanted = self.targets

        def work(task: Background[Emission]) -> Emission:
            return emission(
                form, machine, wanted, counter(task, self.say, "planning within what these files can express")
            )

        def done(made: Emission) -> None:
            self.emission = made
            self._list_files()
            self.say(made_words(first, made))

        def failed(error: Exception) -> None:
            self.say(one_line(str(error)) or type(error).__name__)

        self._work = Background(self.app, work, done=done, failed=failed)

    def write(self) -> None:
        """Ask where to, and write."""
        if self.emission is None or not self.emission.files:
            self.app.notify("there are no files to write yet (f makes them)")
        else:
            ask_and_write(self.app, self.emission.files, self.say)

    def _choose(self, targets: tuple[str, ...]) -> None:
        self.targets = tuple(name for name in _NAMES if name in targets)
        rows = self.query_one("#targets", Rows)
        rows.set(
            len(_NAMES),
            lambda index, width: target_row(_NAMES[index], _NAMES[index] in self.targets, index == rows.cursor),
            rows.cursor,
        )
        self._about()

    def say(self, words: str) -> None:
        """Words above the text."""
        self.query_one("#said", Static).update(Text(words))

    def _list_files(self) -> None:
        """The file of the same name stays chosen."""
        if not self._built:
            return
        before = self._shown
        names = [one.name for one in self.emission.files] if self.emission is not None else []
        rows = self.query_one("#files", Rows)
        cursor = names.index(before) if before in names else 0
        rows.set(len(names), lambda index, width: file_row(names[index], index == rows.cursor), cursor)
        self._content()

    def _content(self) -> None:
        content, at = self.query_one("#content", Lines), self.query_one("#files", Rows).cursor
        files = self.emission.files if self.emission is not None else ()
        if at >= len(files):
            self.query_one("#name", Static).update("no file")
            content.put(None)
            return
        one = files[at]
        self._shown = one.name
        program = " (a program to run)" if one.executable else ""
        self.query_one("#name", Static).update(f"{one_line(one.name)}{program}")
        content.put(partial(cut, clean(one.text).rstrip("\n"), again=_AGAIN))

    def _about(self) -> None:
        name = _NAMES[self.query_one("#targets", Rows).cursor]
        self.query_one("#about", Static).update(TARGETS[name])

    def on_rows_moved(self, event: Rows.Moved) -> None:
        """Say what the target is; show the file."""
        event.stop()
        if event.rows.id == "targets":
            self._about()
        elif event.rows.id == "files":
            self._content()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """A click on the target of the cursor chooses it, or leaves it out."""
        event.stop()
        if event.rows.id == "targets":
            self.action_pick()

    def action_pick(self) -> None:
        """Choose the target of the cursor, or leave it out."""
        name = _NAMES[self.query_one("#targets", Rows).cursor]
        rest = tuple(one for one in self.targets if one != name)
        self._emit(rest if name in self.targets else (*self.targets, name))


def made_words(first: Recommendation, made: Emission) -> str:
    """What is to be said of files: why there are none, or that they are of another plan than the one shown."""
    if made.problem or made.answer is None:
        return one_line(made.problem)
    from rocdoctor.report.plan.recommend_document import headline

    one, other = first.plan, made.answer.plan
    if one is not None and other is not None and one.spec == other.spec:
        return ""
    return f"These files can express only a different plan. {headline(made.answer)}"
