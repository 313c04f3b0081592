"""The user's pager, for text that is read outside the screens."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from rocdoctor.host import output
from rocdoctor.host.live.programs import find_helper, interpreter_environment
from rocdoctor.host.live.trust import privileged

_PROMPT = "q returns to the screens, space scrolls, / searches"


def page(text: str) -> None:
    """Show the text in ``$PAGER``, else in ``less``; where neither starts, print it and wait for Enter.

    For root it is ``less``: what the variable names may be a shell, and its words or this text what that runs.
    """
    chosen = ([] if privileged() else os.environ.get("PAGER", "").split()) or ["less"]
    program = find_helper(chosen[0])
    if program is not None:
        with contextlib.suppress(OSError):
            # -X: what was read stays on the terminal.
            environment = {**interpreter_environment(os.environ), "LESS": f"-X -Ps{_PROMPT}$", "LESSSECURE": "1"}
            subprocess.run([program, *chosen[1:]], input=text.encode(), env=environment, check=False)
            return
    output.show(text + "\nPress Enter to return to the screens.", flush=True)
    sys.stdin.readline()
