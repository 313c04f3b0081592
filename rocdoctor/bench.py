"""Measures what the design budgets: medians of whole runs, the interpreter's own start included.

``python -m rocdoctor.bench [--runs N]`` prints a table; nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TOOL = [sys.executable, "-m", "rocdoctor"]
_STUCK = "#!/bin/sh\nexec sleep 600\n"


def measure(command: list[str], runs: int, environment: dict[str, str] | None = None) -> tuple[float, float]:
    """(median seconds, largest resident set in MiB) of some runs of a command after one to warm up, output thrown away.

    Byte code is cached as on a user's machine, whatever this shell says of that.
    """
    environment = dict(os.environ if environment is None else environment)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds, peaks = [], []
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    for _ in range(runs):
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        seconds.append(time.perf_counter() - began)
        peaks.append(usage.ru_maxrss / 1024)
    return statistics.median(seconds), max(peaks)


def _first_frame(runs: int) -> tuple[float, float]:
    program = (
        "import asyncio, os\n"
        "from rocdoctor.cli import parser\n"
        "from rocdoctor.commands.common import open_host\n"
        "from rocdoctor.tui.app import RocdoctorApp\n"
        "async def go():\n"
        "    async with RocdoctorApp(open_host(parser().parse_args(['tui']))).run_test(size=(80, 24)):\n"
        "        os._exit(0)\n"  # the frame is there; what is asked after it is another figure
        "asyncio.run(go())\n"
    )
    return measure([sys.executable, "-c", program], runs)


def _row(what: str, budget: str, found: tuple[float, float]) -> None:
    print(f"{what:<52} {budget:>16}  {found[0]:6.2f} s  {found[1]:5.0f} MiB")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=5)
    runs = options.parse_args().runs
    print(f"{'medians of ' + str(runs) + ' runs':<52} {'budget':>16}  measured")
    _row("rocdoctor --help", "0.15 s", measure([*_TOOL, "--help"], runs))
    _row("rocdoctor explain gpu-without-driver", "0.15 s", measure([*_TOOL, "explain", "gpu-without-driver"], runs))
    _row("rocdoctor list", "0.15 s", measure([*_TOOL, "list"], runs))
    _row("rocdoctor check, this machine", "0.7 s, 60 MiB", measure([*_TOOL, "check"], runs))
    big = sorted(Path(__file__).parents[1].glob("fixtures/*8gpu*.capture"))
    for capture in big[:3]:
        _row(f"replay of {capture.stem}", "0.3 s", measure([*_TOOL, "check", "--from", str(capture)], runs))
    _row("first frame of the screens", "0.4 s", _first_frame(runs))
    with tempfile.TemporaryDirectory() as folder:
        stuck = Path(folder) / "dmesg"
        stuck.write_text(_STUCK)
        stuck.chmod(0o755)
        # As root only folders of root are searched for programs: the folder is ours, so it is found.
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
        _row(
            "check with one stuck tool, --timeout 2",
            "deadline + 0.7 s",
            measure([*_TOOL, "check", "--timeout", "2"], 1, environment),
        )
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"(this benchmark itself: {own:.0f} MiB)")


if __name__ == "__main__":
    main()
