"""Writing files from a screen: ask for a folder, ask again before anything is written over, say what was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from rocdoctor.model.printable import one_line
from rocdoctor.tui.background import Background
from rocdoctor.tui.widgets.ask import Ask, Confirm

if TYPE_CHECKING:
    from rocdoctor.train.emit.files import File

FOLDER = "rocdoctor-plan"
_NOTE = "A folder; it is made where it is missing. Files that exist are written over only after another question."
_Result = tuple[list[Path], list[Path]]


def ask_and_write(app: App[Any], files: Sequence[File], say: Callable[[str], object]) -> None:
    """The whole conversation; ``say`` gets what came of it."""

    def answered(folder: str | None) -> None:
        if folder is not None:
            _write(app, folder, files, say, force=False)

    names = ", ".join(one.name for one in files)
    app.push_screen(Ask("write the files: folder", FOLDER, f"Files: {names}\n{_NOTE}", "Write"), answered)


def _write(app: App[Any], folder: str, files: Sequence[File], say: Callable[[str], object], force: bool) -> None:
    def work(task: Background[_Result]) -> _Result:
        from rocdoctor.tui.recommend.plan_form_values import standing, store

        there = [] if force else standing(folder, files)
        return (there, []) if there else ([], store(folder, files, force))

    def again(yes: bool | None) -> None:
        if yes:
            _write(app, folder, files, say, force=True)

    def done(result: _Result) -> None:
        there, written = result
        if there:
            names = "\n".join(f"  {one_line(str(path))}" for path in there)
            question = f"These files exist already:\n{names}\nWrite over them?"
            app.push_screen(Confirm("write over files", question, "Write over"), again)
            return
        words = "Written: " + ", ".join(one_line(str(path)) for path in written)
        say(words)
        app.notify(words, markup=False)

    def failed(error: Exception) -> None:
        words = f"Not written: {one_line(str(error))}"
        say(words)
        app.notify(words, severity="error", timeout=10, markup=False)

    Background[_Result](app, work, done=done, failed=failed)
