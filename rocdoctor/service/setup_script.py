"""The shell script of a set-up plan, as the command and the screens write it."""

from __future__ import annotations

import os
from collections.abc import Callable

from rocdoctor.host.base import Host
from rocdoctor.model.evidence import value_or
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.report.masked import discretion_of

_SUBJECTS = {"live": "this machine", "bundle": "a bundle", "folder": "a folder", "text": "pasted text"}


def subject_words(host: Host) -> str:
    """What a plan was made from, in words."""
    return _SUBJECTS.get(host.kind, "evidence")


def made_for_root(diagnosis: Diagnosis) -> bool:
    """Whether the commands would be typed by root, so that no ``sudo`` stands before them."""
    return value_or(diagnosis.machine.user.uid, None) == 0


def from_anywhere(python: str | None) -> str | None:
    """An interpreter by a path that does not depend on the current folder, which the script leaves."""
    return os.path.abspath(python) if python and os.sep in python and not python.startswith("~") else python


def discretion(host: Host) -> Callable[[str], str]:
    """What becomes of a word of this evidence before it is told: that of this machine was masked when it was asked."""
    return str if host.kind == "live" else discretion_of(host)


def setup_script(plan: SetupPlan, diagnosis: Diagnosis, host: Host, python: str | None = None) -> str:
    """The script. From evidence it starts nothing that the evidence names; ``python`` is the reader's interpreter."""
    from rocdoctor.repair.setup.evidence_script import for_reader
    from rocdoctor.repair.setup.script import render

    foreign = ""
    if host.kind != "live":
        plan, foreign = for_reader(plan, from_anywhere(python))
    return render(plan, subject_words(host), made_for_root(diagnosis), foreign)
