"""Gives torch's CPU build GPUs that are not there: found by PYTHONPATH in the interpreter under test.

ROCDOCTOR_STAND_IN names a JSON file that tells which (``layer.py``).
"""

from __future__ import annotations

import os
import sys

if "ROCDOCTOR_STAND_IN" in os.environ and "ROCDOCTOR_SMOKE_RUN" in os.environ:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import layer  # type: ignore[import-not-found, unused-ignore]

    layer.put(os.environ["ROCDOCTOR_STAND_IN"])
