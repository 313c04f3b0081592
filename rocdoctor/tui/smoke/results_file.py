"""The results of smoke tests as a file of their own: what ``rocdoctor smoke --json`` prints. Slow: for a thread."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from rocdoctor.model.facts import SmokeRun
from rocdoctor.report.smoke.smoke_document import as_json
from rocdoctor.train.smoke.figures.judge_figures import LowFigure


def own_name() -> str:
    """The name that results of this second get."""
    return time.strftime("rocdoctor-smoke-%Y%m%d-%H%M%S") + ".json"


def text(runs: Sequence[SmokeRun], low: Sequence[LowFigure]) -> str:
    """What the file holds."""
    return json.dumps(as_json(runs, low), indent=2) + "\n"
