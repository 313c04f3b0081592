"""Runs the program that traces memory in the interpreter under test; it gets a deadline and never outlives us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocdoctor.host.base import Answer
from rocdoctor.host.live.interpreter import chosen
from rocdoctor.host.live.programs import child_environment, find_interpreter, invoking_user
from rocdoctor.host.live.run_program import run_bounded

_PROGRAM = Path(__file__).parents[1] / "probe" / "memory_trace.py"
# Variables that would give torch's fake process group a rank and a size of somebody else's launch.
_LAUNCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def trace_memory(python: str | None, request: Mapping[str, Any], limit_s: float, trust_python: bool = False) -> Answer:
    """The program's answer; ``python`` as ``--python`` names it. A GPU is never touched."""
    question = "trace memory"
    if invoking_user() is not None and not python:
        return Answer(question, "failed", note="run through sudo: root's interpreter is not the user's (--python PATH)")
    interpreter = find_interpreter(python)
    if interpreter is None:
        return Answer(question, "absent", note="no Python interpreter found")
    how = chosen(interpreter, "import", trust=trust_python)
    if how.refused:
        return Answer(question, "failed", note=how.refused)
    usual = child_environment() if how.environment is None else how.environment
    kept = {name: value for name, value in usual.items() if name not in _LAUNCH}
    hidden = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    argv = [interpreter, "-B", str(_PROGRAM), json.dumps(request, sort_keys=True)]
    return run_bounded(question, argv, limit_s, {**kept, **hidden}, how.who)
