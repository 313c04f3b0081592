"""What a figure measured, beside its limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PROGRAM = (sys.executable, "-m", "rocdoctor")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. ``ok``: within its limit; None: it was not made here, and ``result`` says why."""

    what: str
    limit: str
    result: str
    ok: bool | None


def most(what: str, value: float, limit: float, unit: str = "") -> Row:
    """A measurement that may be at most so much."""
    return Row(what, f"<= {limit:g}{unit}", f"{value:.4g}{unit}", value <= limit)


def share(what: str, found: int, of: int, least: float) -> Row:
    """A count that is at least this share (0 to 1) of all; of none it shows nothing, and is not within its limit."""
    return Row(what, f">= {least * 100:g} %", f"{found} of {of}", of > 0 and found >= least * of)


def none(what: str, found: Sequence[object]) -> Row:
    """What may not happen; the first three of what did are shown."""
    shown = f" ({', '.join(str(one) for one in found[:3])})" if found else ""
    return Row(what, "0", f"{len(found)}{shown}", not found)


def holds(what: str, ok: bool, result: str = "") -> Row:
    """What has to be so."""
    return Row(what, "yes", result or ("yes" if ok else "no"), ok)


def skipped(what: str, why: str) -> Row:
    """What could not be tried here."""
    return Row(what, "", f"not tried: {why}", None)


@dataclass(frozen=True, slots=True)
class Setting:
    """``seed``: of everything random; ``nodes``: of a whole fleet; ``heavy``: engines too; ``folder``: for files."""

    seed: int
    nodes: int = 10_000
    heavy: bool = True
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="rd-acceptance-")))

    def place(self, name: str) -> Path:
        """A new folder of this name."""
        found = self.folder / name
        found.mkdir(parents=True)
        return found


class Ran(NamedTuple):
    """How a program ended, and what it cost: CPU seconds of it and its children, MiB at most."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_mib: float

    def data(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def ran(words: Sequence[object], **variables: str) -> Ran:
    """Run a program to its end and count what it used."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        argv = [str(one) for one in words]
        child = subprocess.Popen(argv, stdout=out, stderr=err, cwd=ROOT, env={**os.environ, **variables})
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", errors="replace"))
    return Ran(child.returncode, texts[0], texts[1], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def fleet(*words: object) -> Ran:
    """``rocdoctor fleet WORD...``."""
    return ran((*PROGRAM, "fleet", *words))


def tests(what: str, *names: str, **variables: str) -> Row:
    """Tests of this project that prove something, by their names."""
    found = ran((sys.executable, "-m", "pytest", "-n0", "-m", "", "-rs", *names), **variables)
    last = (found.out.strip() or found.err.strip()).rpartition("\n")[2]
    if found.code == 0 and "passed" not in last:
        return skipped(what, last)
    return Row(what, "pass", last, found.code == 0)
