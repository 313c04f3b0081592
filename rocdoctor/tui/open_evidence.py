"""Opening other evidence from the screens: ask for a path, read it beside the screen, show it or say why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rocdoctor.host.base import Host
from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.patience import DEADLINE_S
from rocdoctor.model.printable import one_line
from rocdoctor.tui.background import Background

if TYPE_CHECKING:
    from rocdoctor.tui.session import Session

NOTE = "A bundle, a folder (a sosreport, a copy of /sys and /proc), an archive, or a text file such as a log."


def read(path: str) -> Host:
    """The evidence at a path as a person types it; raises InputError."""
    from rocdoctor.host.live.silent_places import no_answer, silent_place
    from rocdoctor.service.errors import InputError
    from rocdoctor.service.evidence import open_evidence

    if path == "-":  # standard input is the keyboard here
        raise InputError("-: standard input is the keyboard of these screens; paste the text on screen 9")
    path = expanded(path)
    if silent := silent_place([path], DEADLINE_S):
        raise InputError(no_answer(silent, DEADLINE_S))
    return open_evidence(path)


def ask(app: Session, then: Callable[[str], object]) -> None:
    """Ask for a path."""
    from rocdoctor.tui.widgets.ask import Ask

    def answered(path: str | None) -> None:
        if path is not None:
            then(path)

    app.push_screen(Ask("open evidence: path", note=NOTE, done="Open"), answered)


def open_in_all_screens(app: Session) -> None:
    """Ask for a path and look at that evidence from now on; ``b`` returns."""

    def start(path: str) -> None:
        app.notify(f"reading {one_line(path)} ...", markup=False)
        Background[Host](app, lambda task: read(path), done=lambda host: show(app, host), failed=failed)

    def failed(error: Exception) -> None:
        app.notify(one_line(str(error)), severity="error", timeout=10, markup=False)

    ask(app, start)


def show(app: Session, host: Host) -> None:
    """All screens over this evidence, beginning with the first."""
    app.open(host)
    app.run_worker(app.action_area("overview"))
    app.notify(f"now showing {one_line(host.origin)}; b returns to what was open before", markup=False)
