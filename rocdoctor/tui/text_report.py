"""The report as plain text, outside the screens: screen readers, copying and small terminals read it as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from rocdoctor.tui.app import RocdoctorApp


def report_text(app: RocdoctorApp, columns: int) -> str:
    """What ``rocdoctor check`` prints."""
    diagnosis = app.look.diagnosis
    if diagnosis is None:
        return "Still asking the machine; there is nothing to report yet.\n"
    from rocdoctor.report.text import render

    return render(diagnosis, width=max(60, min(columns, 100)))


def show_text(app: RocdoctorApp) -> None:
    """Leave the screens, show the report (in ``$PAGER``, else ``less``, else as it is), and come back."""
    text = report_text(app, app.size.width)
    try:
        with app.suspend():
            _page(text)
    except SuspendNotSupported:
        app.notify("this terminal cannot leave the screens; run: rocdoctor check")


def _page(text: str) -> None:
    chosen = os.environ.get("PAGER", "").split() or ["less"]
    program = shutil.which(chosen[0])
    if program is not None:
        with contextlib.suppress(OSError):
            # -X and no colours: what was read stays on the terminal.
            environment = {**os.environ, "LESS": "-X", "LESSSECURE": "1"}
            subprocess.run([program, *chosen[1:]], input=text.encode(), env=environment, check=False)
            return
    sys.stdout.write(text + "\nPress Enter to return to the screens.")
    sys.stdout.flush()
    sys.stdin.readline()
