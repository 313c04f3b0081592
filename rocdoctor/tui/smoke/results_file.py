"""The results of smoke tests as a file of their own: what ``rocdoctor smoke --json`` prints. Slow: for a thread."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.model.facts import SmokeRun
from rocdoctor.report.smoke.smoke_document import as_json
from rocdoctor.train.smoke.figures.judge_figures import LowFigure


def own_name() -> str:
    """The name that results of this second get."""
    return time.strftime("rocdoctor-smoke-%Y%m%d-%H%M%S") + ".json"


def store(runs: Sequence[SmokeRun], low: Sequence[LowFigure], path: str) -> Path:
    """The absolute path of the new file, which only this user can read; in a folder it gets a name of its own.

    Raises OSError where it cannot be written, FileExistsError where there is something of that name.
    """
    given = Path(os.path.abspath(os.path.expanduser(path)))
    file = given / own_name() if given.is_dir() else given
    with folder_for(file.parent) as folder:
        write_new(file, (json.dumps(as_json(runs, low), indent=2) + "\n").encode(), folder=folder)
    return file
