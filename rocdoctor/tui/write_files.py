"""Writing files from a screen: ask where, ask again before anything is written over, say what was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from rocdoctor.host.live.accounts import expanded
from rocdoctor.model.printable import one_line
from rocdoctor.tui.background import Background
from rocdoctor.tui.widgets.ask import Ask, Confirm

if TYPE_CHECKING:
    from rocdoctor.train.emit.files import File

FOLDER = "rocdoctor-plan"
_NOTE = "A folder; it is created if it does not exist. Files that exist are overwritten only after another question."
_FILE_NOTE = "Give a new file or a folder. Only you can read it; "
_Result = tuple[list[Path], list[Path]]
"""Files that stand there already, and those that were written."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to write: the ``name`` that it gets in a folder, its text (made in a thread), what to do with it then.

    ``over``: one that exists may be written over, after another question.
    """

    name: str
    text: Callable[[], str]
    executable: bool = False
    over: bool = False
    then: str = ""


def ask_and_write(app: App[Any], files: Sequence[File], say: Callable[[str], object]) -> None:
    """The whole conversation about files of a folder; ``say`` gets what came of it."""

    def answered(folder: str | None) -> None:
        if folder is not None:
            write(False, folder)

    def write(force: bool, folder: str) -> None:
        def work(task: Background[_Result]) -> _Result:
            from rocdoctor.tui.recommend.plan_form_values import standing, store

            there = [] if force else standing(folder, files)
            return (there, []) if there else ([], store(folder, files, force))

        _do(app, work, lambda: write(True, folder), say)

    names = ", ".join(one.name for one in files)
    app.push_screen(Ask("write the files: folder", FOLDER, f"Files: {names}\n{_NOTE}", "Write"), answered)


def ask_and_store(app: App[Any], title: str, new: NewFile) -> None:
    """The whole conversation about one file, which only this user can read."""

    def answered(path: str | None) -> None:
        if path is not None:
            write(False, path)

    def write(force: bool, path: str) -> None:
        _do(app, lambda task: _stored(path, new, force), lambda: write(True, path), lambda words: None, new.then)

    rest = "one that exists is overwritten only after another question." if new.over else "nothing is overwritten."
    app.push_screen(Ask(f"{title}: file", new.name, _FILE_NOTE + rest, "Write"), answered)


def _stored(path: str, new: NewFile, force: bool) -> _Result:
    from rocdoctor.service.errors import UsageError
    from rocdoctor.service.new_files import write_new

    given = Path(os.path.abspath(expanded(path)))
    file = given / new.name if given.is_dir() else given
    if not force and os.path.lexists(file):
        if new.over:
            return [file], []
        raise UsageError(f"{file}: already exists; give another name")
    write_new(file, new.text(), new.executable, force)
    return [], [file]


def _do(
    app: App[Any],
    work: Callable[[Background[_Result]], _Result],
    over: Callable[[], None],
    say: Callable[[str], object],
    then: str = "",
) -> None:
    """Write beside the screen; ``over`` writes over what is there already, where the person says so."""

    def done(result: _Result) -> None:
        there, written = result
        if there:
            names = "\n".join(f"  {one_line(str(path))}" for path in there)
            those = "These files exist" if len(there) > 1 else "This file exists"
            question = f"{those} already:\n{names}\nOverwrite {'them' if len(there) > 1 else 'it'}?"
            app.push_screen(Confirm("overwrite files", question, "Write over"), lambda yes: over() if yes else None)
            return
        words = "Written: " + ", ".join(one_line(str(path)) for path in written)
        say(words)
        app.notify(words + (f"; {then}" if then else ""), markup=False)

    def failed(error: Exception) -> None:
        words = f"Not written: {one_line(str(error))}"
        say(words)
        app.notify(words, severity="error", timeout=10, markup=False)

    Background[_Result](app, work, done=done, failed=failed)
