"""The ten acceptance figures of `rocdoctor fleet`: what each measures, its limit, and what came out.

    python -m tools.fleet_acceptance             # all of them: half an hour on two idle cores
    python -m tools.fleet_acceptance 2 3 9       # some
    python -m tools.fleet_acceptance --light     # without engines (Slurm, ssh, Prometheus) and at a tenth of the size

Engines are used where they are installed (slurm-wlm, munge, openssh-server, clustershell; prometheus with promtool on
PATH; kmock by pip) and root may make namespaces; otherwise the row says "not tried". CPU seconds are of the process
and its children, so they hold on a busy machine too. Exit status is 1 if a row is over its limit.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from random import SystemRandom

from tools.fleet_acceptance import acting, faults, hangs, outages, outputs, pairs, replay, scale, slow
from tools.fleet_acceptance.rows import Row, Setting

Figure = Callable[[Setting], Iterator[Row]]
FIGURES: dict[int, tuple[str, Figure]] = {
    1: ("size", scale.figure),
    2: ("planted faults", faults.figure),
    3: ("slow GPUs", slow.figure),
    4: ("pairs of the network", pairs.figure),
    5: ("outages", outages.figure),
    6: ("never above the cap", acting.bounds),
    7: ("a real Slurm of 10,000 nodes", acting.slurm),
    8: ("hangs", hangs.figure),
    9: ("replay and bad input", replay.figure),
    10: ("outputs", outputs.figure),
}


def main() -> int:
    """Run what was asked for and print a line for each measurement."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.fleet_acceptance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figure", nargs="*", type=int, choices=[*FIGURES, []], help="1 to 10 (all)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6), help="(a new one)")
    parser.add_argument("--light", action="store_true", help="no engines, a tenth of the size")
    asked = parser.parse_args()
    setting = Setting(asked.seed, 1000 if asked.light else 10_000, not asked.light)
    print(f"seed {asked.seed}, {setting.nodes} nodes", flush=True)
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # engines are ended, whoever ends this
    try:
        for number in asked.figure or FIGURES:
            title, figure = FIGURES[number]
            began = time.monotonic()
            for row in figure(setting):
                mark = {True: "ok", False: "OVER", None: "-"}[row.ok]
                print(f"{number:>2}  {mark:<4}  {row.what:<58}  {row.limit:<14}  {row.result}", flush=True)
                failed += row.ok is False
            print(f"{number:>2}        {title}: {time.monotonic() - began:.0f} s", flush=True)
    finally:
        shutil.rmtree(setting.folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
