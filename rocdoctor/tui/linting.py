"""Linting from the screens: the files of a plan, or a file or folder that a person names; read over the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rocdoctor.host.live.accounts import expanded
from rocdoctor.model.printable import clean, one_line
from rocdoctor.tui.background import Background

if TYPE_CHECKING:
    from rocdoctor.lint.linted_file import Advised
    from rocdoctor.model.facts import Machine
    from rocdoctor.train.emit.files import File
    from rocdoctor.tui.session import Session

NOTE = "A script, Python, a .env file, a Dockerfile, YAML, a job file; or a folder of them. Nothing is changed."
_COLUMNS = 94  # of the frame that it is read in


def lint_a_path(app: Session) -> None:
    """Ask for a file or a folder, and show what the linter finds in it on the machine of the screens."""
    from rocdoctor.tui.widgets.ask import Ask

    def answered(path: str | None) -> None:
        if path is not None:
            machine, named, columns = _machine(app), app.host.kind != "live", _columns(app)
            app.notify(f"reading {one_line(path)} ...", markup=False)
            _read_over(app, f"lint {one_line(path)}", lambda: _of_path(path, machine, named, columns))

    app.push_screen(Ask("lint: file or folder", note=NOTE, done="Lint"), answered)


def lint_files(app: Session, files: Callable[[], Sequence[File]], here: bool) -> None:
    """Show what the linter finds in files that are not written yet, made in a thread.

    ``here``: they are for the machine of the screens, not for one that was described.
    """
    from rocdoctor.model.facts import Machine

    machine = _machine(app) if here else Machine()
    named, columns = app.host.kind != "live", _columns(app)
    _read_over(app, "lint: the files of this plan", lambda: _of_files(files(), machine, named, columns))


def _machine(app: Session) -> Machine:
    from rocdoctor.model.facts import Machine

    return app.look.diagnosis_now.machine if app.look.diagnosis_now is not None else Machine()


def _columns(app: Session) -> int:
    return min(_COLUMNS, app.size.width * 98 // 100 - 6)


def _read_over(app: Session, title: str, text: Callable[[], str]) -> None:
    from rocdoctor.tui.widgets.reader import Reader

    def failed(error: Exception) -> None:
        app.notify(one_line(str(error)) or type(error).__name__, severity="error", timeout=10, markup=False)

    Background[str](app, lambda task: text(), done=lambda said: app.push_screen(Reader(title, said)), failed=failed)


def _of_path(path: str, machine: Machine, named: bool, columns: int) -> str:
    from rocdoctor.host.live.patience import DEADLINE_S
    from rocdoctor.host.live.silent_places import no_answer, silent_place
    from rocdoctor.service.errors import InputError
    from rocdoctor.service.linting import read_files

    if path == "-":  # standard input is the keyboard here
        raise InputError("-: standard input is the keyboard of these screens; name a file or a folder")
    path = expanded(path)
    if silent := silent_place([path], DEADLINE_S):
        raise InputError(no_answer(silent, DEADLINE_S))
    files, notes, read = read_files([path])
    if not read:
        raise InputError(notes[0] if notes else "no file to read")
    return _said(files, notes, machine, named, columns)


def _of_files(files: Sequence[File], machine: Machine, named: bool, columns: int) -> str:
    from rocdoctor.lint.linted_file import read_advised

    found = [(one.name, read_advised(one.name, one.text)) for one in files]
    notes = [f"{name}: not a file that the linter reads" for name, one in found if one is None]
    return _said([one for _, one in found if one is not None], notes, machine, named, columns)


def _said(files: Sequence[Advised], notes: Sequence[str], machine: Machine, named: bool, columns: int) -> str:
    """The document of the command, and below it what was not judged."""
    from rocdoctor.report.lint.lint_document import document
    from rocdoctor.report.text import render
    from rocdoctor.service.linting import lint

    text = render(document(lint(files, machine, named).verdicts, len(files)), columns).rstrip("\n")
    return "\n".join([text, "", *map(clean, notes)]).rstrip("\n") + "\n"
