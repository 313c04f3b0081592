"""Plants one fault into a launch: into the launcher before its program begins, or into a rank when torch is there.

Python runs this file at start when its folder is on PYTHONPATH. ROCDOCTOR_PLANT_LAUNCH holds ``NAME RANK``; the fault
acts at RANK (``all``: everywhere). Faults change the launcher, the library or the process; never the comparison.
"""

from __future__ import annotations

import os
import sys


def _plant() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import launch_faults  # type: ignore[import-not-found, unused-ignore]

    name, rank = os.environ["ROCDOCTOR_PLANT_LAUNCH"].split()
    launcher = "-m" in sys.orig_argv[:4]
    if not launcher and "launched" in sys.orig_argv:
        if rank in ("all", os.environ.get("RANK")) and name in launch_faults.RANK:
            launch_faults.RANK[name]()
    elif launcher and name in launch_faults.LAUNCHER:
        launch_faults.LAUNCHER[name]()


if "ROCDOCTOR_PLANT_LAUNCH" in os.environ and "ROCDOCTOR_SMOKE_RUN" in os.environ:
    _plant()
