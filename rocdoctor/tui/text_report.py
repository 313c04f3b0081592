"""The report as plain text, outside the screens: screen readers, copying and small terminals read it as it is."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from rocdoctor.tui.session import Session


def report_text(app: Session, columns: int) -> str:
    """What ``rocdoctor check`` prints."""
    diagnosis = app.look.diagnosis
    if diagnosis is None:
        return "Still asking the machine; there is nothing to report yet.\n"
    from rocdoctor.report.diagnosis.text import render

    return render(diagnosis, width=max(60, min(columns, 100)))


def show_text(app: Session) -> None:
    """Leave the screens, show the report (in ``$PAGER``, else ``less``, else as it is), and come back."""
    from rocdoctor.host.live.pager import page

    text = report_text(app, app.size.width)
    try:
        with app.suspend():
            # Ctrl+C belongs to the pager meanwhile. A function, since a pager would inherit that signals are ignored.
            before = signal.signal(signal.SIGINT, lambda number, frame: None)
            try:
                page(text)
            finally:
                signal.signal(signal.SIGINT, before)
    except SuspendNotSupported:
        app.notify("this terminal cannot leave the screens; run: rocdoctor check")
