"""``python -m tools.smoke_repeat``: the quick set many times on a healthy machine; each fault is a false alarm."""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from rocdoctor.host import output
from rocdoctor.host.live.interpreter import interpreter_of_root
from rocdoctor.train.smoke.run.request import Request, perform


def main() -> int:
    """Print each fault with its run, then the count and the median time of a run; exit status 1 when there was one."""
    parser = argparse.ArgumentParser(prog="python -m tools.smoke_repeat", description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=100, help="how many runs (100)")
    parser.add_argument("--world", type=int, default=2, help="ranks (2)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter with torch (this one)")
    parser.add_argument("--modes", default="", help="these modes, separated by commas (the quick set)")
    options = parser.parse_args()
    interpreter, why = interpreter_of_root(options.python)
    if interpreter is None:
        parser.error(f"{why}; name another one with --python")
    request = Request(modes=tuple(filter(None, options.modes.split(","))), world=options.world, device="cpu")
    alarms, seconds, modes = 0, [], 0
    for number in range(1, options.runs + 1):
        began = time.monotonic()
        for run in perform(request, interpreter):
            modes = sum(one.state == "pass" for one in run.modes)
            for one in run.modes:
                if one.state in ("fail", "crashed"):
                    alarms += 1
                    output.line(f"run {number}: {one.mode}: {one.state}: {one.message}")
        seconds.append(time.monotonic() - began)
    middle = statistics.median(seconds) if seconds else 0.0
    output.line(
        f"{options.runs} runs on {options.world} ranks, {modes} modes passed in the last: {alarms} false alarms; "
        f"a run took {middle:.1f} s (median), {max(seconds, default=0.0):.1f} s at most"
    )
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
